// want [ERROR] a#S: Service marked `aws.api#tagEnabled` trait must have at least one `aws.api#taggable` resource. | TagEnabledService
// want [WARNING] a#S: Service marked `aws.api#tagEnabled` trait does not have consistent tagging operations implemented: {TagResource, UntagResource, and ListTagsForResource}. | TagEnabledService
$version: "2"
namespace a
use aws.api#taggable
use aws.api#tagEnabled
@tagEnabled
service S {}
