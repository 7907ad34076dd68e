// want [ERROR] a#S$b: member shape targets an unresolved shape `a#T`. Did you mean a#O, a#S? | Target.UnresolvedShape
// want [ERROR] a#O: operation shape `input` relationships must target a structure shape, but found (string: `smithy.api#String`) | Target
$version: "2"
namespace a
structure S {
    b: T
}
operation O {
    input: String
}
