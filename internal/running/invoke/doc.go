// Package invoke carries out one handler operation, from the request to the terminal
// progress event, callbacks included.
//
// [Runner.Run] builds the request as the CloudFormation service does, calls a [Function] and
// reads the progress event. While that is IN_PROGRESS, it waits for callbackDelaySeconds and
// calls again with the callback context and the model of the event. This is the only such
// loop: the contract tests, "cfn invoke", and everything that provisions resources use it.
//
// Both ends are treated as what they are. Requests are typed JSON without nulls and
// without properties that the schema does not declare, which every handler library
// takes. Replies are hostile: bounded in size and depth, and read leniently where real
// handler libraries differ ("5" for 5, explicit nulls), strictly everywhere else.
//
// Left out: how a function is run (package lambda), what a resource type promises
// (package contract), and what follows from a failed operation.
//
// The wire format is that of protocol version 2.0.0, which has no specification: it is what
// the libraries for handlers in Java, Python, TypeScript and Go share.
package invoke

import "context"

// A Function runs one handler call. Functions are called by one goroutine at a time for
// an operation, and by several for several operations.
type Function interface {
	// Call sends a payload and returns the reply. An error means that the function did not
	// answer: it crashed, hung until ctx ended, was refused, or reported an error itself. A
	// handler that answers FAILED is not an error. Call returns soon after ctx ends.
	Call(ctx context.Context, payload []byte) ([]byte, error)
}

// A LoggedFunction is a [Function] that also returns what the handler wrote to its standard
// output and error during the call. A Runner prefers CallLogged if a function has it.
type LoggedFunction interface {
	Function
	CallLogged(ctx context.Context, payload []byte) (reply, log []byte, err error)
}
