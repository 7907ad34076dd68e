//go:build unix

package handlers_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// modulesCode returns where its module came from, whether it could change it, and the response to a module of its own.
const modulesCode = `
import os, urllib.error, urllib.request, large
def handler(e, c):
    changed = []
    for path, mode in ((large.__cached__, "r+b"), (os.path.join(os.path.dirname(large.__cached__), "new.pyc"), "wb")):
        try:
            open(path, mode).close()
            changed.append(path)
        except OSError:
            pass
    try:
        url = "http://%s/formwork/compiled" % os.environ["AWS_LAMBDA_RUNTIME_API"]
        status = urllib.request.urlopen(urllib.request.Request(url, data=b"9 1\nlarge.pycx")).status
    except urllib.error.HTTPError as x:
        status = x.code
    return {"cached": large.__cached__, "changed": changed, "status": status, "value": large.value}
`

// TestCompiledModules: the modules of a large function are compiled once for each account and region, out of its reach,
// and again when they are damaged.
func TestCompiledModules(t *testing.T) {
	needs(t, "python3")
	mode := sandbox.Required
	if mode.Err() != nil {
		mode = sandbox.Off
	}
	dir := t.TempDir()
	b := benchAt(t, store.Config{Dir: filepath.Join(dir, "data")}, func(c *handlers.Config) {
		c.Dir = filepath.Join(dir, "data", "handlers")
		c.Sandbox = sandbox.Settings{Mode: mode, Hide: []string{filepath.Join(dir, "data")}}
	})
	spec := b.put(t, pack(t, "python3", "app.handler", map[string]string{
		"app.py": modulesCode, "large.py": "value = 5\n" + strings.Repeat("# nothing\n", 14_000),
	}))
	call := func(spec bundle.Spec) string {
		t.Helper()
		b.Remove(spec) // in a new process
		result, err := b.function(t, spec).Invoke(t.Context(), []byte("{}"))
		var r struct {
			Cached  string
			Changed []string
			Status  int
			Value   int
		}
		if err == nil {
			err = json.Unmarshal(result.Payload, &r)
		}
		if err != nil || r.Status != 404 || r.Value != 5 || len(r.Changed) > 0 && mode == sandbox.Required {
			t.Fatalf("%s: %s, %v", mode, result.Payload, err)
		}
		return r.Cached
	}
	usesCompiled := func(spec bundle.Spec) (cached string) {
		t.Helper()
		fixtures.Await(t, "compiled modules", func() bool {
			cached = call(spec)
			return filepath.Dir(filepath.Dir(cached)) == filepath.Join(dir, "data", "handlers", "compiled")
		})
		return cached
	}
	first := usesCompiled(spec)
	for _, change := range []awswire.Place{{Account: "222222222222", Region: region}, {Account: account, Region: "eu-west-3"}} {
		place := spec
		place.Place = change
		if got := call(place); got == first {
			t.Errorf("%s: %+v uses the modules of another place", mode, place)
		}
		if got := usesCompiled(place); got == first {
			t.Errorf("%s: uses %s", mode, got)
		}
	}
	if err := os.Chmod(first, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(first, 100); err != nil {
		t.Fatal(err)
	}
	if got := call(spec); got == first {
		t.Errorf("%s: damaged modules are used", mode)
	}
	if got := usesCompiled(spec); got != first {
		t.Errorf("%s: uses %s after damage, want %s", mode, got, first)
	}
}

// TestOwnFolderIsNotCompiled: nothing is written about functions in the user's own folders, which change at any time.
func TestOwnFolderIsNotCompiled(t *testing.T) {
	needs(t, "python3")
	own := folder(t, map[string]string{
		"app.py": "import large\ndef handler(e, c): return 5\n", "large.py": strings.Repeat("# nothing\n", 14_000),
	})
	b, d := directory(t, "f="+own)
	if result, err := d.Call(t.Context(), caller, "f", []byte("{}"), nil); err != nil || string(result.Payload) != "5" {
		t.Fatalf("%s, %v", result.Payload, err)
	}
	if err := b.Close(); err != nil { // what runs in the background has ended
		t.Fatal(err)
	}
	if found, err := filepath.Glob(filepath.Join(own, "*")); err != nil || len(found) != 2 {
		t.Errorf("in the folder: %q, %v", found, err)
	}
	if found, err := filepath.Glob(filepath.Join(b.dir, "compiled", "*")); err != nil || len(found) != 0 {
		t.Errorf("compiled: %q, %v", found, err)
	}
}
