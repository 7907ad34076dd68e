package server

import (
	"context"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/lambda"
)

// functionsOf finds the functions of the account and region of a caller.
func (s *Server) functionsOf(caller awswire.Caller) lambda.Lookup {
	return func(ctx context.Context, name, qualifier string) (lambda.Invoker, error) {
		return s.config.Functions(ctx, caller, name, qualifier)
	}
}

// Wait returns when the asynchronous invocations under way are done, or ctx ends.
func (s *Server) Wait(ctx context.Context) error { return s.lambda.Wait(ctx) }
