// want [ERROR] a#S: This service uses the `a#p` protocol which does not support inline document types, but the following document types were found in the closure of the service: [a#D @  | NoInlineDocumentSupport
$version: "2"
namespace a
@trait @protocolDefinition(noInlineDocumentSupport: true)
structure p {}
@p
service S { operations: [O] }
operation O {
    input := { d: D }
}
document D
