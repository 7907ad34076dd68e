// Package hook decides which hooks see a target and runs them, durably.
//
// A target is a resource that a stack or a request of Cloud Control is about to change, a stack
// that is about to be created, updated or deleted, or a change set that is being created. An
// [Evaluation] invokes all hooks that see a target, at the same time. Each invocation is an
// operation of package operation: its calls, waits and time-outs are those of the one callback
// loop, and it is continued after a crash. When the last invocation has ended, the evaluation has
// passed or failed. What it guards is begun in the transaction in which it passes, and never
// otherwise.
//
// The rows of results are what ListHookResults and GetHookResult answer from. They are kept for
// 90 days, as at the service.
//
// The reference is the CloudFormation Hooks User Guide: "Hook configuration schema syntax
// reference", "stack level filters", "target filters", "Timeout and retry limits".
package hook
