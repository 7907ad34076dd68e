// want [ERROR] a#O: Example input of `e`.n: Expected number value for integer shape, `smithy.api#Integer`; found string value, `x` | ExamplesTrait
// want [ERROR] a#O: Example: `f` has both output and error defined, only one should be present. | ExamplesTrait
// want [ERROR] a#O: Error parameters provided for operation without the `a#E` error: `g` | ExamplesTrait
$version: "2"
namespace a
@examples([
    {title: "e", input: {n: "x"}}
    {title: "f", output: {}, error: {shapeId: E, content: {}}}
    {title: "g", error: {shapeId: E, content: {}}}
])
operation O {
    input := { n: Integer }
}
@error("client")
structure E {}
