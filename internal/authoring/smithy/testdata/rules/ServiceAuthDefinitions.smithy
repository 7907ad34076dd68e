// want [WARNING] a#S: This service uses multiple authentication schemes but does not have the `@auth` trait applied. | ServiceAuthDefinitions
$version: "2"
namespace a
@httpBasicAuth @httpDigestAuth
service S {}
