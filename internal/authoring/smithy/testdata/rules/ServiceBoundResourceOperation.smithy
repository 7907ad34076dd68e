// want [WARNING] a#O: The `a#O` operation is bound to the `a#S` service but has members that match identifiers of the following resource shapes: [`a#R`]. | ServiceBoundResourceOperation.a#S.O
$version: "2"
namespace a
service S { operations: [O], resources: [R] }
resource R { identifiers: { id: String } }
operation O {
    input := {
        @required
        id: String
    }
}
