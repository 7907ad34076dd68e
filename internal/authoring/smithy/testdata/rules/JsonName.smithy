// want [ERROR] a#S: This shape contains members with conflicting JSON names that resolve to 'b': a, b | JsonName
$version: "2"
namespace a
structure S {
    @jsonName("b")
    a: String
    b: String
}
