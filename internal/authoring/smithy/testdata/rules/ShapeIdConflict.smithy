// want [ERROR] a#foo: Shape ID `a#foo` conflicts with other shape IDs in the model: [`a#Foo`] | ShapeIdConflict
$version: "2"
namespace a
string foo
string Foo
