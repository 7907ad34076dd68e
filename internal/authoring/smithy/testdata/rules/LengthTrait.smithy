// want [ERROR] a#S: A length trait is applied with a negative `min` value. | LengthTrait
// want [ERROR] a#S: A length trait is applied with a `min` value greater than its `max` value. | LengthTrait
// want [ERROR] a#S: A length trait is applied with a negative `max` value. | LengthTrait
$version: "2"
namespace a
@length(min: -1, max: -2)
string S
