// Package lambda runs a function as a local process. It speaks the Lambda
// Runtime API towards the process and the Lambda Invoke API towards callers,
// and needs neither containers nor an AWS account.
//
//   - [Start] makes a [Function]: a pool of processes of one command, each
//     serving one invocation at a time and many after each other, bounded in
//     number, time, memory and output. Any bootstrap program of a "provided"
//     Lambda runtime works unchanged.
//   - [Handler] and [Server] offer functions under the Invoke API, to the AWS
//     SDKs, boto3, and the official CloudFormation CLI.
//   - [Endpoint] is the caller's side of that API, for functions that some
//     other tool or AWS itself runs.
//   - [Watch] rebuilds a function when its sources change.
//   - [Runtimes] finds the command for a function of a Lambda runtime, with small
//     programs of its own for functions in Python and JavaScript.
//
// [Function.Call] and [Endpoint.Call] return an error exactly when the
// function did not answer: it crashed, hung, was refused, or reported an error
// of its own. The errors are typed, see errors.go. What a reply means is the
// caller's business; this package knows nothing of CloudFormation.
//
// # One port per process
//
// The Runtime API names its server by host and port only, so the port is what
// tells processes apart: every process gets a listener of its own on
// 127.0.0.1, closed when the process ends. A process therefore cannot take or
// answer the invocation of another one, and a request that comes from a
// browser page is refused.
//
// # No process survives
//
// Each process leads a process group that is killed as a whole. On Linux this
// program adopts orphans (PR_SET_CHILD_SUBREAPER) and tells by an inherited limit
// whose they are, so that descendants end with their handler, and count towards
// its memory, also when they left the group and the session and cleared their
// environment. On macOS those that left the group run on: see [HoldsDescendants].
//
// On Linux the kernel kills the
// process when the program that started it dies, even by SIGKILL; on Windows
// the job object does, descendants included. On macOS a program killed by
// SIGKILL leaves its functions to notice the closed connection, on which the
// usual runtimes exit. Descendants of the process, when this program itself dies
// by SIGKILL, end with it on Windows; on Linux the next program that calls
// [KillOrphans] ends them unless they cleared their environment; on macOS nobody does.
//
// The protocols are those of the Lambda developer guide ("Using the Lambda
// runtime API for custom runtimes", 2018-06-01) and the Lambda API reference
// ("Invoke", 2015-03-31). Left out: extensions, response streaming to callers,
// SnapStart, several invocations at once within one process.
package lambda
