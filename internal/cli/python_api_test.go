package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestPythonCallsAPI: handlers in Python that call an API pass all tests against a stub of it, unedited, alone and
// in stacks. The APIs are those of the test for Go.
func TestPythonCallsAPI(t *testing.T) {
	python := os.Getenv("FORMWORK_OFFICIAL_PYTHON")
	site, err := exec.CommandContext(t.Context(), python, "-c", "import cloudformation_cli_python_lib as l, os; print(os.path.dirname(os.path.dirname(l.__file__)))").Output()
	if python == "" || err != nil {
		t.Skip("FORMWORK_OFFICIAL_PYTHON names no Python with the package cloudformation-cli-python-lib")
	}
	archive, err := txtar.ParseFile("testdata/test_stub.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir, environ := t.TempDir(), append(os.Environ(), "PYTHONPATH="+strings.TrimSpace(string(site)))
	for _, f := range archive.Files {
		if f.Name == "library.yaml" || f.Name == "notes.smithy" {
			writeText(t, filepath.Join(dir, f.Name), string(f.Data))
		}
	}
	for _, c := range []struct {
		name string
		from []string
	}{
		{"Book", []string{"--from-openapi", "library.yaml"}},
		{"Event", []string{"--from-openapi", "library.yaml"}},
		{"Note", []string{"--from-smithy", "notes.smithy", "--service", "example#Notes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			init := append([]string{"init", "--project", c.name, "--resource", c.name, "-t", "Acme::Library::" + c.name, "python312"}, c.from...)
			if code, _, errs := runIn(t.Context(), dir, environ, init...); code != 0 {
				t.Fatal(errs)
			}
			writeText(t, filepath.Join(dir, c.name, "requirements.txt"), "") // PYTHONPATH has the library
			for _, args := range [][]string{{"test", "--suite", "all"}, {"test", "--in-stack"}} {
				args = append(args, "--project", c.name, "--stub", "--time-scale", "1000")
				if code, out, errs := runIn(t.Context(), dir, environ, args...); code != 0 || !strings.Contains(out, " passed") {
					t.Errorf("%q: %d\n%s%s", args, code, out, errs)
				}
			}
			if code, out, errs := runIn(t.Context(), dir, environ, "generate", "--project", c.name, "--check"); code != 0 {
				t.Errorf("generate --check: %d\n%s%s", code, out, errs)
			}
		})
	}
}
