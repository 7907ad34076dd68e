// want [ERROR] a#O: The `requestCompression` trait can only be applied to operations which have an input shape defined | RequestCompressionTrait
// want [ERROR] a#O: Invalid compression algorithm found in `requestCompression` trait applied to `a#O`: `zip` | RequestCompressionTrait
$version: "2"
namespace a
@requestCompression(encodings: ["gzip", "zip"])
operation O {}
