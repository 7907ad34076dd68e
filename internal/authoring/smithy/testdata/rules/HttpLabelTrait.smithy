// want [ERROR] a#O: This operation uses `a#OInput` as input, but the following URI labels found in the operation's `http` trait do not have a corresponding member marked with the `httpLabel` trait: `a` | HttpLabelTrait
// want [ERROR] a#OInput$b: This `b` structure member is marked with the `httpLabel` trait, but no corresponding `http` URI label could be found | HttpLabelTrait
$version: "2"
namespace a
@http(method: "POST", uri: "/{a}")
operation O {
    input := {
        @required @httpLabel
        b: String
    }
}
