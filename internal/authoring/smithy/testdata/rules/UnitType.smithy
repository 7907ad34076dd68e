// want [ERROR] a#S$m: Only members of a union, enum, or intEnum can reference smithy.api#Unit | UnitType
$version: "2"
namespace a
structure S { m: Unit }
