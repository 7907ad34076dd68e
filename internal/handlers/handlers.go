// Package handlers runs the handlers of registered types: it unpacks a package when its
// handler is first called, keeps the handler as local processes while it is in use, and
// ends them when it is not.
//
// Output of the processes is written, line by line, to a [LogSink] with the log groups and
// streams of Lambda. Requests and responses are stored for a while in the table invocations.
// Neither contains secrets: credentials, values that a schema calls write-only and values of
// type configurations are hidden in both, in all the spellings that package secret supports.
//
// Left out: what a call means. A [Function] is an invoke.Function and a lambda.Invoker.
package handlers
