// want [DANGER] a#S: Invalid SDK service ID value, `AWS Foo Service`: Must not contain any of the following company names: [`AWS`, `Amazon`, `Aws`];Must not case-insensitively end with `service` | SdkServiceId
$version: "2"
namespace a
@aws.api#service(sdkId: "AWS Foo Service")
service S {}
