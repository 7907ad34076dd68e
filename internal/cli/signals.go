package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilDone calls read, which cannot be interrupted, and returns early when ctx ends: nothing
// may be written to the pipe or the terminal that it reads from.
func untilDone[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	case r := <-done:
		return r.value, r.err
	}
}

// errTerminated is the cause of the end of a context of [Signals] after SIGTERM: a shutdown of
// the system, a time limit of CI. It is context.Canceled as well, because
// what waits for the network returns the cause of the end and not ctx.Err.
var errTerminated error = terminatedError{}

type terminatedError struct{}

func (terminatedError) Error() string { return "terminated" }

func (terminatedError) Is(target error) bool { return target == context.Canceled }

// Signals returns a context that the first SIGINT or SIGTERM ends. The second signal ends
// the process at once, as does any after stop.
//
// A command that is stopped by SIGINT or SIGTERM exits with 130. The
// exceptions are those of the official tool, and servers, which end only by a signal: cfn
// invoke exits with 0 after SIGINT, because Ctrl-C is the way to stop waiting for a handler,
// but with 130 after SIGTERM; cfn init exits with 1, cfn start-lambda, cfn stub and cfn lsp with 0.
func Signals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	received := make(chan os.Signal, 1)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer signal.Stop(received)
		select {
		case <-ctx.Done():
		case s := <-received:
			var cause error // that of ctx.Err
			if s == syscall.SIGTERM {
				cause = errTerminated
			}
			cancel(cause)
		}
	}()
	return ctx, func() {
		signal.Stop(received)
		cancel(nil)
	}
}
