// want [ERROR] a#R: Resource property `q` is not used in the input or output of create or an instance operation. | ResourceOperationInputOutput
// want [ERROR] a#CreateInput$p: This member must target `smithy.api#Integer`. This member is used as part of the `create` operation of the `a#R` resource and conflicts with its `p` resource property. | ResourceOperationInputOutput
// want [ERROR] a#CreateInput$x: Member `x` does not target a property or identifier for resource `a#R`. | ResourceOperationInputOutput
$version: "2"
namespace a
resource R {
    identifiers: { id: String }
    properties: { p: Integer, q: String }
    create: Create
}
operation Create {
    input := {
        p: String
        x: String
    }
}
