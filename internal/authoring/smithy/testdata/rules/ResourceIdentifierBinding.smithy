// want [ERROR] a#L: This operation is bound as a collection operation on the `a#R` resource, but it improperly binds all of the identifiers | ResourceIdentifierBinding
// want [ERROR] a#G: This operation does not form a valid instance operation when bound to resource `a#R`. | ResourceIdentifierBinding
// want [ERROR] a#X: Conflicting resource identifier member bindings found for identifier 'id' between members: 'p', 'q' | ResourceIdentifierBinding
$version: "2"
namespace a
resource R {
    identifiers: { id: String }
    list: L
    read: G
}
@readonly
operation L {
    input := {
        @required
        id: String
    }
}
@readonly
operation G {}
structure X {
    @required @resourceIdentifier("id")
    p: String
    @required @resourceIdentifier("id")
    q: String
}
