// want [ERROR] a#OInput: `httpQuery` parameter name binding conflicts found for the `q` parameter in the following structure members: `a`, `b` | HttpQueryTrait
// want [ERROR] a#OInput: `httpQuery` name `lit` conflicts with the `http` trait of the `a#O` operation: `/?lit=1` | HttpQueryTrait
$version: "2"
namespace a
@http(method: "POST", uri: "/?lit=1")
operation O {
    input := {
        @httpQuery("q")
        a: String
        @httpQuery("q")
        b: String
        @httpQuery("lit")
        c: String
    }
}
