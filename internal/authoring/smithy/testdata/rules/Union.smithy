// want [ERROR] a#U: Tagged unions must have one or more members | Union
// want [NOTE] a#V$i: This union member targets `smithy.api#PrimitiveInteger`, a shape with a default value of `0`. | Union
$version: "2"
namespace a
union U {}
union V { i: PrimitiveInteger }
