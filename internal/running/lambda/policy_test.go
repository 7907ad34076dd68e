package lambda_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/running/lambda"
)

type idle struct{}

func (idle) Invoke(context.Context, []byte) (lambda.Result, error) { return lambda.Result{}, nil }

func TestPermissions(t *testing.T) {
	handler := &lambda.Handler{Functions: map[string]lambda.Invoker{"f": idle{}}}
	const statement = `{"StatementId": "s", "Action": "lambda:InvokeFunction", "Principal": "events.amazonaws.com"}`
	for _, test := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "f/policy", statement, 201, `{"Statement":"{\"Action\":\"lambda:InvokeFunction\"`},
		{"DELETE", "f/policy/s", "", 204, ""},
		{"POST", "f/policy", `{"StatementId": "s"}`, 400, "a permission needs StatementId, Action and Principal"},
		{"POST", "none/policy", statement, 404, "Function not found: "},
		{"DELETE", "none/policy/s", "", 404, "Function not found: "},
		{"GET", "f/policy", "", 404, "this address offers POST"},
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(test.method, "/2015-03-31/functions/"+test.path, strings.NewReader(test.body)))
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%s %s: %d %s", test.method, test.path, w.Code, w.Body)
		}
	}
}
