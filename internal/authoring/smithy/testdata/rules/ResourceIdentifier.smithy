// want [ERROR] a#R: Resource identifier `id` cannot also be a resource property | ResourceIdentifier
// want [ERROR] a#C: This resource is bound as a child of `a#R`, but it is invalid because its `identifiers` property is missing the following identifiers that are defined in `a#R`: [id] | ResourceIdentifier
// want [ERROR] a#D: The `identifiers` property of this resource is incompatible with its binding to `a#R`: expected the `id` member to target `smithy.api#String`, but found a target of `a#Other` | ResourceIdentifier
$version: "2"
namespace a
resource R {
    identifiers: { id: String }
    properties: { Id: String }
    resources: [C, D]
    read: G
}
resource C {}
resource D { identifiers: { id: Other } }
string Other
@readonly
operation G {
    input := for R {
        @required
        $id
        @property(name: "Id")
        x: String
    }
}
