// want [ERROR] a#S: The httpApiKeyAuth trait must have an `in` value of `header` when a `scheme` is provided, found: query | HttpApiKeyAuthTrait
$version: "2"
namespace a
@httpApiKeyAuth(name: "x", in: "query", scheme: "y")
service S {}
