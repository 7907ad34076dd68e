// want [ERROR] a#R: A `resourceDelimiter` can only be set for an `absolute` ARN. | ArnTrait
$version: "2"
namespace a
@aws.api#arn(template: "x", resourceDelimiter: "/")
resource R {}
