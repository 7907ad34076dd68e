// want [ERROR] a#S$m: Member with the mutability value of "write" is also marked as an additional identifier | CfnMutabilityTrait
$version: "2"
namespace a
use aws.cloudformation#cfnResource
use aws.cloudformation#cfnMutability
use aws.cloudformation#cfnAdditionalIdentifier
structure S {
    @cfnMutability("write") @cfnAdditionalIdentifier
    m: String
}
