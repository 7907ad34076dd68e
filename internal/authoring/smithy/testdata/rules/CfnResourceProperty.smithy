// want [ERROR] a#R: The alternative resource primary identifier, `no`, must be a property of the resource. | CfnResourceProperty
// want [ERROR] a#R: The `x` property of the generated `Name` CloudFormation resource targets multiple shapes: [smithy.api#Integer, smithy.api#String]. | CfnResourceProperty
$version: "2"
namespace a
use aws.cloudformation#cfnResource
use aws.cloudformation#cfnMutability
use aws.cloudformation#cfnAdditionalIdentifier
@cfnResource(name: "Name", primaryIdentifier: "no", additionalSchemas: [S, T])
resource R { identifiers: { id: String } }
structure S { x: String }
structure T { x: Integer }
