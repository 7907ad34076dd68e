// want [ERROR] a#S: Error validating trait `a#t`.n: integer value must be < 2147483647, but found 9999999999 | TraitValue
// want [WARNING] a#S: Error validating trait `a#t`: Member `z` does not exist in `a#t` | TraitValue.UnknownMember.a#t.z
// want [ERROR] a#S: Error validating trait `a#t`: Missing required structure member `r` for `a#t` | TraitValue
$version: "2"
namespace a
@trait
structure t {
    n: Integer
    @required
    r: String
}
@t(n: 9999999999, z: 1)
string S
