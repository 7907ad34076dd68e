package server

import (
	"context"
	"net/http"

	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// serveFunction answers a call of the Invoke API, at the path that was read and signed.
func (s *Server) serveFunction(w http.ResponseWriter, r *http.Request, target awswire.Target, caller awswire.Caller) {
	if p, ok := ProcessOf(r.Context()); ok && p.Account != caller.Account {
		awswire.WriteError(w, r, awswire.RESTJSON, caller.RequestID, awswire.Errorf("AccessDeniedException", http.StatusForbidden, "functions of account %s cannot invoke those of account %s", p.Account, caller.Account))
		return
	}
	at := *r.URL
	at.Path, at.RawPath = target.Path, ""
	r = r.WithContext(r.Context())
	r.URL = &at
	s.lambda.Serve(w, r, s.functionsOf(r, caller))
}

// functionsOf finds the functions of the account and region of a caller, and then waits
// for room for the payload of the request.
func (s *Server) functionsOf(r *http.Request, caller awswire.Caller) lambda.Lookup {
	return func(ctx context.Context, name, qualifier string) (lambda.Invoker, error) {
		function, err := s.config.Functions(ctx, caller, name, qualifier)
		if err == nil {
			err = s.payload(ctx, r)
		}
		return function, err
	}
}

// StopInvocations ends the invocations under way, and refuses later ones.
func (s *Server) StopInvocations() { s.lambda.Stop() }

// Wait returns when the asynchronous invocations under way are done, or ctx ends.
func (s *Server) Wait(ctx context.Context) error { return s.lambda.Wait(ctx) }
