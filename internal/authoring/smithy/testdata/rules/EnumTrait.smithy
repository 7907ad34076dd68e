// want [ERROR] a#S: Duplicate enum trait values found with the same `value` property of 'x' | EnumTrait
// want [WARNING] a#S: Enums should define the `name` property to allow rich types to be generated in code generators. | EnumNamesPresent
$version: "2"
namespace a
@enum([{value: "x"}, {value: "x"}])
string S
