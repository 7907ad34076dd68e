package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	if err := os.Mkdir(filepath.Join(dir, "Shelf"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		writeText(t, filepath.Join(dir, f.Name), string(f.Data))
		if f.Name == "notes.smithy" {
			text := strings.NewReplacer("restJson1", "restXml", "@service(", `@xmlNamespace(uri: "urn:notes") @service(`).Replace(string(f.Data))
			writeText(t, filepath.Join(dir, "restXml.smithy"), text)
		}
	}
	for _, c := range []struct{ project, resource, option, description string }{
		{"Book", "Book", "--from-openapi", "library.yaml"},
		{"Shelf", "Shelf", "--from-openapi", "library.yaml"},
		{"Event", "Event", "--from-openapi", "library.yaml"},
		{"Note", "Note", "--from-smithy", "notes.smithy"},
		{"restXml", "Note", "--from-smithy", "restXml.smithy"},
		{"Group", "Group", "--from-smithy", "groups.smithy"},
	} {
		t.Run(c.project, func(t *testing.T) {
			run := func(args ...string) {
				args = slices.Insert(args, 1, "--project", c.project)
				if code, out, errs := runIn(t.Context(), dir, environ, args...); code != 0 || args[0] == "test" && !strings.Contains(out, " passed") {
					t.Errorf("%q: %d\n%s%s", args, code, out, errs)
				}
			}
			run("init", c.option, c.description, "--resource", c.resource, "-t", "Acme::Library::"+c.resource, "python312")
			writeText(t, filepath.Join(dir, c.project, "requirements.txt"), "") // PYTHONPATH has the library
			for _, args := range [][]string{{"test", "--suite", "all"}, {"test", "--in-stack"}} {
				run(append(args, "--stub", "--time-scale", "1000")...)
			}
			run("generate", "--check")
			if c.project == "Group" { // whose create is finished by updates, any of which can fail for a moment
				run("test", "--stub", "--faults", "--time-scale", "1000", "--", "-k", "contract_create_cut or contract_create_throttled")
			}
		})
	}
}
