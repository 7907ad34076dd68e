// want [ERROR] a#S: The metadata key `suppressions` has been reserved by Smithy and may not be defined elsewhere. | MetadataTrait
// want [ERROR] a#T: A type has already been defined for the metadata key `k`. Conflicts with: [a#U] | MetadataTrait
$version: "2"
namespace a
@metadata(key: "suppressions")
string S
@metadata(key: "k")
string T
@metadata(key: "k")
string U
