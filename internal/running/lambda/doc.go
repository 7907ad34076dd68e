// Package lambda runs a function as a local process. It serves the Lambda Runtime API to the
// process and the Lambda Invoke API to callers, and needs neither containers nor an AWS
// account.
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
// [Function.Call] and [Endpoint.Call] return an error exactly when the function did not
// answer: it crashed, hung, was refused, or reported an error itself. The errors are typed,
// see errors.go. Callers interpret the reply; this package does not depend on CloudFormation.
//
// # One port per process
//
// The Runtime API names its server by host and port only, so the port identifies the process:
// every process gets its own listener on 127.0.0.1, closed when the process ends. A process
// therefore cannot take or answer the invocation of another one, and requests from browser
// pages are refused.
//
// # No process survives
//
// Each process leads a process group that is killed as a whole. On Linux this program adopts
// orphans (PR_SET_CHILD_SUBREAPER) and identifies their handler by an inherited limit, so that
// descendants end with their handler, and count towards its memory, even if they left the
// group and the session and cleared their environment; the log counts those that a handler left
// behind. On macOS those that left the group keep
// running: see [HoldsDescendants].
//
// On Linux the kernel kills the process when the program that started it dies, even by
// SIGKILL; on Windows the job object does, descendants included. On macOS, after a SIGKILL of
// the program, functions have to notice the closed connection, on which the usual runtimes
// exit. When this program dies by SIGKILL, descendants of the process end with it on Windows;
// on Linux the next program that calls [KillOrphans] kills them; on macOS they keep running.
//
// The protocols are those of the Lambda developer guide ("Using the Lambda
// runtime API for custom runtimes", 2018-06-01) and the Lambda API reference
// ("Invoke", 2015-03-31). Left out: extensions, response streaming to callers,
// SnapStart, several invocations at once within one process.
package lambda
