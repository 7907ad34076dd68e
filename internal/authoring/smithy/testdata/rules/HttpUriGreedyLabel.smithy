// want [DANGER] a#O: A greedy label must be the last label in its pattern: /{a+}/{b} | HttpUriGreedyLabel.GreedyLabelIsNotLastLabel
$version: "2"
namespace a
@http(method: "POST", uri: "/{a+}/{b}")
operation O {
    input := {
        @required @httpLabel
        a: String
        @required @httpLabel
        b: String
    }
}
