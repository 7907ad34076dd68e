// Package permissions computes which permissions of IAM an operation on a stack needs, and compares them with a policy.
//
// The schemas of types declare the actions that their handlers call. [Compute] takes those of the types that change, for
// the handlers that the change runs: a resource that is created can also be deleted, by the rollback. To these it adds
// what schemas leave out: actions on tags, keys and roles that are passed, functions that are invoked, references that
// are resolved, and the requests to CloudFormation itself. Each [Entry] has its reason.
//
// What must stay true:
//
//   - Nothing is invented: an ARN of which a part is not known has "*" there.
//   - What is not known is reported: types without a schema, handlers that declare nothing, actions that IAM does not have.
//   - A permission to pass a role names the role.
package permissions
