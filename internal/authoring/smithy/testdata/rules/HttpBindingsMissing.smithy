// want [WARNING] a#P: One or more operations in the `a#S` service define the `http` trait, but this operation is missing the `http` trait. | HttpBindingsMissing
$version: "2"
namespace a
service S { operations: [O, P] }
@http(method: "POST", uri: "/")
operation O {}
operation P {}
