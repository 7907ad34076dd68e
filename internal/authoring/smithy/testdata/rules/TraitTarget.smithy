// want [ERROR] a#S: Trait `readonly` cannot be applied to `a#S`. This trait may only be applied to shapes that match the following selector: operation | TraitTarget
$version: "2"
namespace a
@readonly
string S
