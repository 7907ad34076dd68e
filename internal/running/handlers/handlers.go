// Package handlers runs the handlers of registered types and the functions of stacks: it unpacks a package when its
// handler is first called, keeps the handler as local processes while it is in use, and ends them when it is not.
//
// # From a name to a process
//
// [Directory] finds a function by its name or ARN: those that the user named when the server was started, those that stacks have
// deployed, and handlers of registered types. [Pool] has one entry for each bundle.Spec that was called: account,
// region, version, package, role. The code of an entry is unpacked once into a folder that several
// servers may share, and verified by checksums before its first use (package files). Processes are those of a
// lambda.Function: as many as calls at the same time, up to a limit.
//
// # When processes end
//
// After a time without calls; when their credentials are about to expire, so that the next call has new ones; when the version is
// deregistered or the stack's function changes; and with the server. A process never serves two accounts, because code keeps what it was given.
//
// # What is written down
//
// Output of the processes is written, line by line, to a [LogSink] with the log groups and
// streams of Lambda. Requests and responses are stored for a while in the table invocations.
// Neither contains secrets: credentials, values that a schema calls write-only and values of
// type configurations are hidden in both, in all the spellings that package secret supports.
//
// Left out: what a call means. A [Function] is an invoke.Function and a lambda.Invoker; retries, deadlines and the callback
// loop are in packages invoke and operation.
package handlers
