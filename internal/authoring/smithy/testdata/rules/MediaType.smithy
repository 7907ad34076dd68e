// want [ERROR] a#S: Invalid mediaType value, "nope":  | MediaType
$version: "2"
namespace a
@mediaType("nope")
string S
