// want [WARNING] a#S: Service marked `aws.api#TagEnabled` is missing an operation named 'UntagResource.' | ServiceTagging
// want [DANGER] a#S: Shape `a#TagResource` does not satisfy 'TagResource' operation requirements. | ServiceTagging
$version: "2"
namespace a
use aws.api#taggable
use aws.api#tagEnabled
@tagEnabled
service S { operations: [TagResource] }
operation TagResource {}
