// want [WARNING] a#UpdateIt: This update style operation has top-level input members marked with the @default trait. | DefaultValueInUpdate
$version: "2"
namespace a
operation UpdateIt {
    input := {
        n: Integer = 1
    }
}
