// want [ERROR] a#S: Service attempts to rename a shape not in the service: a#Nowhere | Service
// want [ERROR] a#S: Service rename for `a#Nowhere` does not actually change the name from `Nowhere` | Service
$version: "2"
namespace a
service S { rename: {"a#Nowhere": "Nowhere"} }
string Nowhere
