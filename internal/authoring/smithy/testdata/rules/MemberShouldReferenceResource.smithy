// want [WARNING] a#S$id: This member appears to reference the following resources without being included in a `@references` trait: [`a#R`] | MemberShouldReferenceResource
$version: "2"
namespace a
resource R { identifiers: { id: Id } }
string Id
structure S { id: Id }
