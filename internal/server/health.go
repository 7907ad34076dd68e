package server

import (
	"encoding/json"
	"net/http"
)

// health answers whether the server can work: 200, or 503 with the reason. Clients of ours
// know by the product that they talk to a local CloudFormation.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	state := struct {
		Product string `json:"product"`
		Version string `json:"version"`
		Status  string `json:"status"` // "ok", or why not
		Region  string `json:"region"`
		Account string `json:"account"`
		Auth    bool   `json:"auth"` // signatures are checked
	}{"formwork", s.config.Version, "ok", s.config.Region, s.config.Account, s.config.Verifier != nil}
	status := http.StatusOK
	if s.config.Healthy != nil {
		if err := s.config.Healthy(r.Context()); err != nil {
			status, state.Status = http.StatusServiceUnavailable, err.Error()
		}
	}
	body, err := json.Marshal(state)
	if err != nil {
		panic(err) // strings only
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}
