// want [ERROR] a#S$b: `httpHeader` binding of `x-y` conflicts with the `httpPrefixHeaders` binding of `a#S$a` to `x-`. | HttpPrefixHeadersTrait
// want [NOTE] a#T$b: `httpHeader` binding of `x-y` conflicts with the `httpPrefixHeaders` binding of `a#T$a` to ``. | HttpPrefixHeadersTrait
$version: "2"
namespace a
structure S {
    @httpPrefixHeaders("X-")
    a: M
    @httpHeader("X-Y")
    b: String
}
structure T {
    @httpPrefixHeaders("")
    a: M
    @httpHeader("X-Y")
    b: String
}
map M { key: String, value: String }
