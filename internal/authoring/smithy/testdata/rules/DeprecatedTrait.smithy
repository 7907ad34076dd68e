// want [WARNING] a#S: This shape applies a trait that is deprecated: a#t, gone | DeprecatedTrait
$version: "2"
namespace a
@trait @deprecated(message: "gone")
structure t {}
@t
string S
