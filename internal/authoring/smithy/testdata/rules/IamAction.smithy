// want [ERROR] a#O: Operation has the `name` property of the `@aws.iam#iamAction` trait set and the deprecated `@aws.iam#actionName` trait applied. | IamAction.ConflictingProperty.name
// want [DANGER] a#O: Operation has the following resource names defined as both required and optional: [x] | IamAction.Resources.DuplicateEntries
$version: "2"
namespace a
@aws.iam#iamAction(name: "x", resources: {required: {x: {}}, optional: {x: {}}})
@aws.iam#actionName("y")
operation O {}
