// want [ERROR] a#O: An operation can appear only once in an entire service closure. This operation is illegally bound into the `a#S` service closure from multiple shapes: (resource: `a#R`), (service: `a#S`) | SingleOperationBinding
$version: "2"
namespace a
service S { operations: [O], resources: [R] }
resource R { operations: [O] }
operation O {}
