package lambda

import (
	"encoding/json"
	"io"
	"net/http"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

var policyPath = lazyregexp.New(`^/2015-03-31/functions/([^/]+)/policy(/[a-zA-Z0-9-_]{1,100})?/?$`)

// maxStatement bounds the request of a statement of a policy.
const maxStatement = 64 << 10

// servePolicy answers AddPermission and RemovePermission for an existing function. Permissions are not
// evaluated, and so not kept.
func (h *Handler) servePolicy(w http.ResponseWriter, r *http.Request, reference, statement string, lookup Lookup) {
	if _, failure := h.find(w, r, reference, lookup); failure != nil {
		failure.write(w)
		return
	}
	if statement != "" && r.Method == http.MethodDelete {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	var in struct{ StatementId, Action, Principal string }
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxStatement))
	if err != nil || json.Unmarshal(body, &in) != nil || in.StatementId == "" || in.Action == "" || in.Principal == "" {
		apiError{http.StatusBadRequest, "InvalidParameterValueException", "a permission needs StatementId, Action and Principal"}.write(w)
		return
	}
	granted, _ := json.Marshal(map[string]any{ // strings only
		"Sid": in.StatementId, "Effect": "Allow", "Principal": map[string]string{"Service": in.Principal}, "Action": in.Action, "Resource": reference,
	})
	answer, _ := json.Marshal(map[string]string{"Statement": string(granted)})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(answer) // the client has gone
}
