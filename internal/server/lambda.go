package server

import (
	"context"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/lambda"
)

// callerKey is where the context of an invocation has its awswire.Caller.
type callerKey struct{}

// lookup finds the function of an invocation for the account and region of its caller.
func (s *Server) lookup(ctx context.Context, name, qualifier string) (lambda.Invoker, error) {
	caller, _ := ctx.Value(callerKey{}).(awswire.Caller)
	return s.config.Functions(ctx, caller, name, qualifier)
}

// Wait returns when the asynchronous invocations under way are done, or ctx ends.
func (s *Server) Wait(ctx context.Context) error { return s.lambda.Wait(ctx) }
