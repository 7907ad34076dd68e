// want [DANGER] a#S: auth trait applies authentication that is not configured on the service shape, `a#S`: [smithy.api#httpBasicAuth] | AuthTrait
$version: "2"
namespace a
@auth([httpBasicAuth])
service S {}
