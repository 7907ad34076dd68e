// want [NOTE] a#S: Structure member `a` is marked with the `httpQueryParams` trait, and `httpQuery` traits are applied to the following members: `b`. | HttpQueryParamsTrait
$version: "2"
namespace a
structure S {
    @httpQueryParams
    a: M
    @httpQuery("b")
    b: String
}
map M { key: String, value: String }
