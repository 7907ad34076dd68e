// want [WARNING] a#S: A pattern trait is applied without a leading '^' and trailing '$' | PatternTrait
$version: "2"
namespace a
@pattern("x")
string S
