// want [ERROR] a#S$m: This shape has an invalid member_target relationship that targets a private shape, `smithy.api#NonEmptyString`, in another namespace. | PrivateAccess
$version: "2"
namespace a
structure S { m: smithy.api#NonEmptyString }
