// want [WARNING] a#R: Suggested tag property name is '[T|t]ags'. | TagResourcePropertyName
$version: "2"
namespace a
use aws.api#taggable
use aws.api#tagEnabled
@taggable(property: "labels")
resource R {}
