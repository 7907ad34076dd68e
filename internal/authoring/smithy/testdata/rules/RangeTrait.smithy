// want [ERROR] a#I: Shape `a#I` is marked with the `range` trait, but its `min` property is a decimal (1.5) when its shape (`integer`) does not support decimals. | RangeTrait
// want [ERROR] a#I: A range trait is applied with a `min` value greater than its `max` value. | RangeTrait
$version: "2"
namespace a
@range(min: 1.5, max: 1)
integer I
