package server

import (
	"context"
	"net/http"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A Process is one of a function, whose requests are known by the listener that they come from: it is in the
// network of that process. Its address, 127.0.0.1, says nothing.
type Process struct {
	awswire.Place
	Function string
}

type processKey struct{}

// OfProcess marks the requests of a process.
func OfProcess(ctx context.Context, p Process) context.Context {
	return context.WithValue(ctx, processKey{}, p)
}

// ProcessOf is the process that a request comes from, if it is known.
func ProcessOf(ctx context.Context) (p Process, ok bool) {
	p, ok = ctx.Value(processKey{}).(Process)
	return p, ok
}

// forPeople reports whether a process asks for what is for the person who runs the server.
func (s *Server) forPeople(r *http.Request) bool {
	if _, ok := ProcessOf(r.Context()); !ok {
		return false
	}
	page := r.URL.Path == AuthorityPath || r.URL.Path == "/healthz" || isServices(r.URL.Path) || r.URL.Path == "/metrics"
	return isConsole(r.URL.Path) || page && s.forUs(r) || r.URL.Path == "/" && wantsPage(r)
}

// refuseForPeople answers such a request.
func refuseForPeople(w http.ResponseWriter, r *http.Request, id string) {
	awswire.WriteError(w, r, awswire.RESTJSON, id, awswire.Errorf("AccessDenied", http.StatusForbidden, "handlers have no access to the console and the state of the server"))
}

// callersOf finds the caller of a request. One of a process that names no account is that of its own.
func (s *Server) callersOf(r *http.Request) *awswire.CallerFinder {
	callers := s.callers
	if p, ok := ProcessOf(r.Context()); ok {
		callers.Default = p.Place
	}
	return &callers
}
