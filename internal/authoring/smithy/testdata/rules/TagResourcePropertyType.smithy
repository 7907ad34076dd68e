// want [ERROR] a#R: Tag property must be a list shape targeting a member containing a pair of strings, or a Map shape targeting a string member. | TagResourcePropertyType
$version: "2"
namespace a
use aws.api#taggable
use aws.api#tagEnabled
@taggable(property: "tags")
resource R {
    properties: { tags: String }
    create: C
}
operation C {
    input := { tags: String }
}
