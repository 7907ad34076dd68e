//go:build linux

package lambda_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/lambda"
)

// TestPythonCache starts a handler where files can have a few bytes only, as on a full disk, and
// then with what that has left, and with a cache that is broken.
func TestPythonCache(t *testing.T) {
	config := interpreted(t, "python3.11", "app.handler", map[string]string{
		"app.py":   "import large\ndef handler(e, c): return large.value",
		"large.py": "value = 5\n" + strings.Repeat("def f(a, b):\n    return a.something + b.another\n", 200),
	})
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("skipped: bash sets the limit of the size of files")
	}
	cache := filepath.Join(t.TempDir(), "cache")
	config.Cache = cache
	config.Env = append(config.Env, "PYTHONDONTWRITEBYTECODE=1", lambda.PythonCache+"="+cache)
	answers := func(when string, command ...string) {
		t.Helper()
		c := config
		c.Command = append(command, config.Command...)
		f, err := lambda.Start(t.Context(), c)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		defer f.Close()
		if result, err := f.Invoke(t.Context(), []byte("{}")); err != nil || string(result.Payload) != "5" {
			t.Fatalf("%s: %s, %v", when, result.Payload, err)
		}
	}
	answers("on a full disk", "bash", "-c", `ulimit -f 1; trap '' XFSZ; exec "$@"`, "bash")
	answers("after the full disk")
	var broken int
	err := filepath.WalkDir(cache, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		broken++
		return os.Truncate(path, 100)
	})
	if err != nil || broken == 0 {
		t.Fatalf("%d modules were kept: %v", broken, err)
	}
	answers("with a broken cache")
	if left, _ := filepath.Glob(filepath.Join(cache, "*", "*.pyc.*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}
