//go:build unix

package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

var caller = awswire.Caller{Place: awswire.Place{Account: account, Region: region}}

// folder makes a folder with files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestParseNamed refuses what is no function, before anything is started.
func TestParseNamed(t *testing.T) {
	const python, script = "def handler(e, c): return e\n", "exports.handler = async (e) => e\n"
	two := folder(t, map[string]string{"one.py": python, "two.py": python})
	for text, want := range map[string]string{
		"f":                       "expected NAME=DIR, NAME=BINARY or NAME=URL",
		"f=":                      "expected NAME=DIR, NAME=BINARY or NAME=URL",
		"a b=/x":                  "expected a name of 1 to 64 letters, digits, hyphens and underscores",
		"f=/no/such":              "/no/such does not exist",
		"f=https://example.com":   "such as http://127.0.0.1:3001",
		"f=http://u:p@127.0.0.1":  "the URL must not have a user, password or query",
		"f=" + folder(t, nil):     "is empty",
		"f=" + two:                "several files of " + two + " have a handler (one.py, two.py); pass one of them",
		"f=" + two + "/one.py":    "",
		"f=http://127.0.0.1:3001": "",
		"f=/bin/sh":               "",
		"f=" + folder(t, map[string]string{"a.py": "x = 1\n"}):                          "no handler found",
		"f=" + folder(t, map[string]string{"go.mod": "module x\n"}):                     "build the Go program first: CGO_ENABLED=0 go build -o bootstrap",
		"f=" + folder(t, map[string]string{"index.js": script, "other.js": script}):     "",
		"f=" + folder(t, map[string]string{"m.mjs": "export const handler = 1\n"}):      "",
		"f=" + folder(t, map[string]string{"bootstrap": "#!/bin/sh\n", "a.py": python}): "",
	} {
		_, err := handlers.ParseNamed(text, "/")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

// noHandler is the lookup of a registry without types.
func noHandler(_ context.Context, _ awswire.Caller, _ schema.Kind, name, _ string) (bundle.Spec, error) {
	return bundle.Spec{}, awswire.Errorf("TypeNotFoundException", 0, "%s", name)
}

// directory is a directory of functions over a pool.
func directory(t *testing.T, functions ...string) (*bench, *handlers.Directory) {
	t.Helper()
	var named []handlers.Named
	for _, text := range functions {
		n, err := handlers.ParseNamed(text, "/")
		if err != nil {
			t.Fatal(err)
		}
		named = append(named, n)
	}
	b := newBench(t, func(c *handlers.Config) { c.Functions = named })
	return b, &handlers.Directory{Pool: b.Pool, Handler: noHandler}
}

// TestNamedFunctions runs functions of each kind, and new code when it was changed.
func TestNamedFunctions(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	python := folder(t, map[string]string{"app.py": "def lambda_handler(e, c):\n    print('got', e['secret'])\n    return {'n': 1}\n"})
	sources := map[string]string{"python": python}
	if _, err := exec.LookPath("node"); err == nil {
		sources["node"] = folder(t, map[string]string{"index.mjs": "export const handler = async (e) => ({n: 1})\n"})
	}
	needs(t, "python3")
	sources["binary"] = filepath.Join(folder(t, map[string]string{"go-macro": "#!/bin/sh\n" + roleVar + "=handler exec " + self + "\n"}), "go-macro")
	var functions []string
	for name, path := range sources {
		functions = append(functions, name+"="+path)
	}
	b, d := directory(t, functions...)
	for name := range sources {
		reference := fmt.Sprintf("arn:aws:lambda:%s:%s:function:%s", region, account, name)
		result, err := d.Call(t.Context(), caller, reference, []byte(`{"secret": "hunter2222"}`), []string{"hunter2222"})
		if err != nil || !strings.Contains(string(result.Payload), `"n":1`) && !strings.Contains(string(result.Payload), `"n": 1`) && name != "binary" {
			t.Errorf("%s: %s, %v", name, result.Payload, err)
		}
	}
	fixtures.Await(t, "the log", func() bool { return strings.Contains(b.text(t), "got ") })
	if text := b.text(t); strings.Contains(text, "hunter2222") || !strings.Contains(text, "got ") {
		t.Errorf("the log has %s", text)
	}
	calls := b.invocations(t, handlers.InvocationQuery{Place: caller.Place, Kind: handlers.FunctionKind, Limit: 10})
	if len(calls) != len(sources) {
		t.Errorf("%d calls are recorded, want %d", len(calls), len(sources))
	}

	path := filepath.Join(python, "app.py")
	if err := os.WriteFile(path, []byte("def lambda_handler(e, c):\n    return {'n': 22}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if result, err := d.Call(t.Context(), caller, "python", []byte(`{}`), nil); err != nil || !strings.Contains(string(result.Payload), "22") {
		t.Errorf("changed code: %s, %v", result.Payload, err)
	}
	var refused *lambda.RefusedError
	if _, err := d.Call(t.Context(), caller, "other", nil, nil); !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		t.Errorf("an unknown function: %v", err)
	}
	if _, err := d.Call(t.Context(), caller, "a b", nil, nil); !errors.As(err, &refused) || refused.Status != http.StatusBadRequest {
		t.Errorf("not a name: %v", err)
	}
}

// TestRemoteFunction calls a function at another server, and shows its log.
func TestRemoteFunction(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/2015-03-31/functions/theirs/invocations" || !strings.Contains(r.Header.Get("Authorization"), region) {
			t.Errorf("%s, %s", r.URL.Path, r.Header.Get("Authorization"))
		}
		w.Header().Set("X-Amz-Log-Result", "cHJpbnRlZAo=") // printed
		fmt.Fprint(w, `{"n": 1}`)
	}))
	defer server.Close()
	b, d := directory(t, "ours="+server.URL+"/2015-03-31/functions/theirs/invocations", "gone=http://127.0.0.1:1")
	result, err := d.Call(t.Context(), caller, "ours", []byte(`{}`), nil)
	if err != nil || string(result.Payload) != `{"n": 1}` {
		t.Errorf("%s, %v", result.Payload, err)
	}
	if _, err := d.Call(t.Context(), caller, "gone", []byte(`{}`), nil); err == nil {
		t.Error("nothing listens there")
	}
	// A function in an emulator is found after those with options, and is not one of this program.
	d.Delegated = func(_ context.Context, _ awswire.Caller, name, qualifier string) (lambda.Invoker, error) {
		switch name {
		case "ours":
			t.Error("an option is overridden")
		case "unknown":
			return nil, nil
		}
		return &lambda.Endpoint{URL: server.URL, Sign: true, Region: region, FunctionName: "theirs", Credentials: aws.AnonymousCredentials{}}, nil
	}
	if local, err := d.Find(t.Context(), caller, "delegated"); err != nil || local {
		t.Errorf("%v, %v", local, err)
	}
	if _, err := d.Function(t.Context(), caller, "unknown", ""); err == nil {
		t.Error("there is no such function")
	}
	if result, err := d.Call(t.Context(), caller, "ours", []byte(`{}`), nil); err != nil || string(result.Payload) != `{"n": 1}` {
		t.Errorf("%+v, %v", result, err)
	}
	fixtures.Await(t, "the logs", func() bool {
		text := b.text(t)
		return strings.Contains(text, "printed") && strings.Contains(text, "ERROR function gone")
	})
}
