package server

import (
	"cmp"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"sync"
	"time"
)

// A checkup looks whether the server can work, at most once in a second, however many ask.
type checkup struct {
	mu   sync.Mutex
	last time.Time
	err  error
}

func (c *checkup) state(now time.Time, look func(context.Context) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if look == nil || !c.last.IsZero() && now.Sub(c.last) < time.Second && !now.Before(c.last) {
		return c.err
	}
	// Not the context of the request: other requests get the result, too.
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	c.last, c.err = now, look(ctx)
	return c.err
}

// health reports whether the server can work: 200, or 503 with the reason. Clients of this
// program recognize a local CloudFormation by the product.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	state := struct {
		Product string `json:"product"`
		Version string `json:"version"`
		Status  string `json:"status"` // "ok", why not, or "degraded" and why
		Region  string `json:"region"`
		Account string `json:"account"`
		Auth    bool   `json:"auth"` // signatures are checked

		TimeScale float64  `json:"timeScale,omitempty"` // delays of handlers are divided by it
		Simulate  []string `json:"simulate,omitempty"`  // patterns of types that are simulated
		Delegate  []string `json:"delegate,omitempty"`  // patterns of types whose resources are in emulators, with their URLs
	}{
		"formwork", s.config.Version, "ok", s.config.Default.Region, s.config.Default.Account, s.config.Verifier != nil,
		s.config.TimeScale, s.config.Simulate, s.config.Delegate,
	}
	status := http.StatusOK
	if err := s.checkup.state(s.config.Now(), s.config.Healthy); err != nil {
		status, state.Status = http.StatusServiceUnavailable, "the store does not work; the log of the server says why"
		if ip := net.ParseIP(hostname(r.RemoteAddr)); ip != nil && ip.IsLoopback() {
			state.Status = err.Error() // names hosts and folders
		}
		s.config.Logger.Warn("the server cannot work", "error", err)
	} else if s.memory.check() != nil {
		state.Status = "degraded: low on memory; requests that need much of it are refused" // with 200: a restart would stop what is under way
	}
	writeState(w, status, state)
}

// isServices reports whether a path is one of those where tools wait for a local AWS: the state of its
// services, as LocalStack and others have it.
func isServices(path string) bool { return path == "/health" || path == "/_localstack/health" }

// servicesByName are the services whose names there differ from those that requests are signed for.
var servicesByName = map[string]string{"cloudcontrolapi": "cloudcontrol", "states": "stepfunctions"}

// services answers such a tool: 200 and every service running, or 503 and all of them with an error.
// Scripts search the text for "name": "running", with the blank.
func (s *Server) services(w http.ResponseWriter) {
	status, state := http.StatusOK, "running"
	if err := s.checkup.state(s.config.Now(), s.config.Healthy); err != nil {
		status, state = http.StatusServiceUnavailable, "error"
		s.config.Logger.Warn("the server cannot work", "error", err)
	}
	services := map[string]string{"lambda": state, "s3": state}
	for name := range s.tables {
		if name != "formwork" {
			services[cmp.Or(servicesByName[name], name)] = state
		}
	}
	writeState(w, status, map[string]any{"services": services, "edition": "formwork", "version": s.config.Version})
}

// writeState answers with the state of the server.
func writeState(w http.ResponseWriter, status int, state any) {
	body, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		panic(err) // plain values only
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}
