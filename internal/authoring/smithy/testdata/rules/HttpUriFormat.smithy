// want [ERROR] a#O: @http trait `uri` is invalid: /é | HttpUriFormat
$version: "2"
namespace a
@http(method: "POST", uri: "/é")
operation O {}
