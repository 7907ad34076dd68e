// want [ERROR] a#B: A resource can appear only once in an entire service closure. This resource is illegally bound into the `a#S` service closure from multiple shapes: [`a#A`, `a#S`] | SingleResourceBinding
$version: "2"
namespace a
service S { resources: [A, B] }
resource A { resources: [B] }
resource B {}
