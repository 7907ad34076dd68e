// want [WARNING] a#S: This shape applies a trait that is unstable: a#t | UnstableTrait.a#t
$version: "2"
namespace a
@trait @unstable
structure t {}
@t
string S
