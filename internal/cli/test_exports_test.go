package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestExportsOfElsewhere: a server on this machine that sends the request elsewhere does
// not get it out of the local environment.
func TestExportsOfElsewhere(t *testing.T) {
	server := httptest.NewServer(http.RedirectHandler("http://cloudformation.example.invalid/", http.StatusTemporaryRedirect))
	defer server.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	c := &app{Env: &Env{Environ: []string{"FORMWORK_ENDPOINT=" + server.URL}}}
	values, err := c.listExports(t.Context(), &testOptions{cloudformation: server.URL, handlerOptions: handlerOptions{region: "eu-west-1"}})
	if values != nil || err == nil || !strings.Contains(err.Error(), "cfn does not follow it") {
		t.Errorf("%v, %v", values, err)
	}
}
