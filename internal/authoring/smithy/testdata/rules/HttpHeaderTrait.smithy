// want [DANGER] a#S$a: `Host` is not an allowed HTTP header binding | HttpHeaderTrait
// want [DANGER] a#S$b: `x y` is not a valid HTTP header field name according to section 5.6.2 of RFC 9110 | HttpHeaderTrait
// want [ERROR] a#S: `httpHeader` field name binding conflicts found for the `x-z` header in the following structure members: `c`, `d` | HttpHeaderTrait
$version: "2"
namespace a
structure S {
    @httpHeader("Host")
    a: String
    @httpHeader("x y")
    b: String
    @httpHeader("X-Z")
    c: String
    @httpHeader("x-z")
    d: String
}
