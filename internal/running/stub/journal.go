package stub

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/api"
)

// note writes a call into the journal, without credentials and without the values of
// sensitive members.
func (s *Stub) note(c *call, r *http.Request, status int, problem *fault) {
	s.number++
	if s.config.Journal == nil {
		return
	}
	line := struct {
		Number    int       `json:"n"`
		Time      time.Time `json:"time"`
		Method    string    `json:"method"`
		Path      string    `json:"path"`
		Operation string    `json:"operation,omitempty"`
		Action    action    `json:"action,omitempty"`
		Resource  string    `json:"resource,omitempty"`
		Status    int       `json:"status"`
		Problem   string    `json:"problem,omitempty"`
		Input     any       `json:"input,omitempty"`
	}{Number: s.number, Time: s.config.Now().UTC(), Method: r.Method, Path: cut(r.URL.Path), Status: status}
	if problem != nil {
		line.Problem = problem.message
	}
	if c != nil {
		line.Operation, line.Action = c.op.Name, c.role.action
		if c.role.resource != nil {
			line.Resource = c.role.resource.Name
		}
		names := secrets(c.op.Body, &api.Shape{Kind: api.Structure, Members: c.op.Params})
		names["authorization"], names["cookie"] = true, true
		for _, scheme := range s.api.Auth {
			names[plain(scheme.Key)] = true
		}
		line.Input = hide(c.input(), names)
	}
	text, err := json.Marshal(line)
	if err != nil {
		return
	}
	_, _ = s.config.Journal.Write(append(text, '\n')) // a journal that cannot be written must not change the answers
}
