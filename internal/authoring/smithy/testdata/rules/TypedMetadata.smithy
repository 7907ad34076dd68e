// want [ERROR] -: metadata.k: Expected number value for integer shape, `a#K`; found string value, `x` | TypedMetadata.k
$version: "2"
metadata k = "x"
namespace a
@metadata(key: "k")
integer K
