// want [ERROR] a#O: paginated trait `inputToken` targets a member `no` that does not exist | PaginatedTrait
// want [DANGER] a#O: paginated trait `pageSize` member `n` targets a long shape, but this is not recommended. One of [`integer`] SHOULD be targeted. | PaginatedTrait.WrongShapeType.pageSize
// want [DANGER] a#O: paginated trait `outputToken` member `t` should not be required | PaginatedTrait.ShouldNotBeRequired.outputToken
// want [WARNING] a#O: paginated trait `items` contains a path with more than two parts | PaginatedTrait.DeeplyNested.items
// want [ERROR] a#P: When bound within the `a#S` service, paginated trait `inputToken` is not configured | PaginatedTrait
$version: "2"
namespace a
@paginated(inputToken: "no", outputToken: "t", pageSize: "n", items: "x.y.z")
operation O {
    input := { n: Long }
    output := {
        @required
        t: String
        x: X
    }
}
structure X { y: Y }
structure Y { z: L }
list L { member: String }
service S { operations: [P] }
@paginated(outputToken: "t")
operation P {
    output := { t: String }
}
