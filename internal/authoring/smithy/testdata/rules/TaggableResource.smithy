// want [WARNING] a#S: Service has resources with `aws.api#taggable` applied but does not have the `aws.api#tagEnabled` trait. | TaggableResource
// want [DANGER] a#R: Resource does not have tagging CRUD operations and is not compatible with service-wide tagging operations for service `a#S`. | TaggableResource
// want [DANGER] a#U: Update and put resource lifecycle operations should not support updating tags because it is a privileged operation that modifies access. | TaggableResource
$version: "2"
namespace a
use aws.api#taggable
use aws.api#tagEnabled
service S { resources: [R] }
@taggable(property: "tags")
resource R {
    properties: { tags: Tags }
    update: U
}
operation U {
    input := { tags: Tags }
}
map Tags { key: String, value: String }
