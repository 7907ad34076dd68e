// want [WARNING] a#O: The input of this operation should target a shape that starts with the operation's name, 'O', but the targeted shape is `a#X` | OperationInputOutputName.input
// want [ERROR] a#X: Shapes marked with the @input trait cannot be used as input by multiple operations: `a#O`, `a#P` | OperationInputOutputMisuse
// want [WARNING] a#ORequest: The name of this shape implies that it is the input of a#O, but that operation uses a#X for input. | OperationNameAmbiguity
$version: "2"
namespace a
operation O { input: X }
operation P { input: X }
@input
structure X {}
structure ORequest {}
