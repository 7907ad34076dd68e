package cli

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/formwork-dev/formwork/internal/proving/permissions"
	"github.com/formwork-dev/formwork/local"
)

// countedRequests are the operations that clients of a server request, by their names.
type countedRequests struct {
	http.Handler
	mu   sync.Mutex
	seen map[string]int
}

func (c *countedRequests) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	name := r.Header.Get("X-Amz-Target")
	if name == "" {
		form, _ := url.ParseQuery(string(body)) // of other protocols it is something else
		name = form.Get("Action")
	}
	c.mu.Lock()
	c.seen[name[strings.LastIndex(name, ".")+1:]]++
	c.mu.Unlock()
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	c.Handler.ServeHTTP(w, r)
}

// take are the operations since the last call, sorted.
func (c *countedRequests) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.seen, "")
	names := slices.Sorted(maps.Keys(c.seen))
	c.seen = map[string]int{}
	return names
}

func countedCloud(t *testing.T, config local.Config) (*countedRequests, string) {
	t.Helper()
	config.Environ = append(os.Environ(), "HOME="+t.TempDir())
	cloud, err := local.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	counted := &countedRequests{Handler: cloud, seen: map[string]int{}}
	server := httptest.NewServer(counted)
	t.Cleanup(func() {
		server.Close()
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	return counted, server.URL
}

// TestDeployCalls: the policy of a deployment has every request that the commands make.
func TestDeployCalls(t *testing.T) {
	counted, endpoint := countedCloud(t, local.Config{})
	dir := t.TempDir()
	for i, value := range []string{"a", "b"} {
		text := `{"Resources": {"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "` + value + `"}}}}`
		if err := os.WriteFile(filepath.Join(dir, "t"+string(rune('0'+i))+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		kind    permissions.Kind
		command string
		code    int
	}{
		{permissions.Create, "deploy t0.json --stack-name s --plan", exitPending}, {permissions.Create, "deploy t0.json --stack-name s", 0}, {permissions.Update, "deploy t1.json --stack-name s --plan --policy-out p.json", exitPending},
		{permissions.Update, "deploy t1.json --stack-name s", 0}, {permissions.Delete, "destroy s --yes", 0},
	} {
		counted.take()
		if code, stderr := stopMain(t.Context(), t, dir, endpoint, strings.Fields(step.command), strings.NewReader("")); code != step.code {
			t.Fatalf("%s: %d %s", step.command, code, stderr)
		}
		called := counted.take()
		if len(called) == 0 {
			t.Errorf("%s: no request", step.command)
		}
		for _, name := range called {
			if !slices.Contains(deployCalls[step.kind], name) && !slices.Contains([]string{"ListSimulated", "ListDelegated", "ListRetries"}, name) { // only cfn serve has these
				t.Errorf("%s requests %s, which its policy does not have", step.command, name)
			}
		}
	}
}
