// want [ERROR] a#R: Invalid aws.api#arn trait resource, `x/{y}`. The following resource identifier names were missing from the `arn` template: `id` | ArnTemplate
// want [ERROR] a#R: Invalid aws.api#arn trait resource, `x/{y}`. Found template labels in the trait that are not the names of the identifiers of the resource: [id]. Extraneous identifiers: [`y`] | ArnTemplate
$version: "2"
namespace a
@aws.api#service(sdkId: "X")
service S { resources: [R] }
@aws.api#arn(template: "x/{y}")
resource R { identifiers: { id: String } }
