// want [ERROR] a#S: An `xmlNamespace` trait is applied to the (string: `a#S`) shape with an invalid uri: a b | XmlNamespaceTrait
$version: "2"
namespace a
@xmlNamespace(uri: "a b")
string S
