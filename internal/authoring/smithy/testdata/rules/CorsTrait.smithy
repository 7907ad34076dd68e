// want [ERROR] a#S: The `origin` and `origins` members of the `cors` trait are mutually exclusive. | CorsTrait
$version: "2"
namespace a
@cors(origin: "https://x", origins: {y: "https://y"})
service S {}
