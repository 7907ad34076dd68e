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

import (
	"context"
	"time"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/schema"
)

// A Spec names the handler of one version of a type.
type Spec struct {
	awswire.Place
	Kind       schema.Kind
	TypeName   string // as in the schema, not an alias
	Version    string // "00000001"
	Package    string // hash of the blob
	Runtime    string // "provided.al2023", "python3.12"; empty means what the package says
	Entrypoint string // likewise
	LogGroup   string // empty means that of Lambda: "/aws/lambda/" and the function's name
	Role       string // ARN of the execution role, "" for none: whose credentials the handler has
}

// A LogSink takes what handlers print.
type LogSink interface {
	// Append adds lines to the end of a log stream, creating group and stream if they do not
	// exist. It is called by one goroutine at a time for a pool. Lines that cannot be written
	// are lost.
	Append(ctx context.Context, place awswire.Place, group, stream string, lines []Line) error
}

// A Line is one line of output without its end.
type Line struct {
	Time time.Time
	Text string
}
