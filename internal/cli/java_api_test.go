package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestJavaCallsAPI: handlers in Java that call an API pass all tests against a stub of it, unedited, alone and in
// stacks. The APIs are those of the test for Go.
func TestJavaCallsAPI(t *testing.T) {
	t.Parallel()
	needsMaven(t)
	archive, err := txtar.ParseFile("testdata/test_stub.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "Shelf"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		switch f.Name {
		case "library.yaml", "groups.smithy", "Shelf/api.yaml":
			writeText(t, filepath.Join(dir, f.Name), string(f.Data))
		case "notes.smithy":
			for _, protocol := range []string{"restJson1", "restXml"} {
				text := strings.NewReplacer("restJson1", protocol, "@service(", "@xmlNamespace(uri: \"urn:notes\")\n@service(").Replace(string(f.Data))
				writeText(t, filepath.Join(dir, protocol+".smithy"), text)
			}
		}
	}
	for name, from := range map[string][]string{
		"Book":    {"Book", "--from-openapi", "library.yaml"},
		"Shelf":   {"Shelf", "--from-openapi", "library.yaml"},
		"Event":   {"Event", "--from-openapi", "library.yaml"},
		"Note":    {"Note", "--from-smithy", "restJson1.smithy", "--service", "example#Notes"},
		"restXml": {"Note", "--from-smithy", "restXml.smithy", "--service", "example#Notes"},
		"Group":   {"Group", "--from-smithy", "groups.smithy"},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(command string, args ...string) string {
				code, out, errs := runIn(t.Context(), dir, os.Environ(), append([]string{command, "--project", name}, args...)...)
				if code != 0 {
					t.Fatalf("%s %q: %d\n%.6000s%.2000s", command, args, code, out, errs)
				}
				return out
			}
			run("init", append([]string{"-t", "Acme::Library::" + from[0], "java", "--resource"}, from...)...)
			suites := [][]string{{"--suite", "all"}, {"--in-stack"}}
			if name == "Event" { // whose read is a list
				suites = suites[:1]
			}
			for _, args := range suites {
				if out := run("test", append([]string{"--stub", "--time-scale", "1e6"}, args...)...); !strings.Contains(out, " passed, ") && !strings.Contains(out, " passed in ") {
					t.Errorf("%q:\n%s", args, out)
				}
			}
			run("generate", "--check")
			if name == "Shelf" { // whose create takes several calls, the first of which cannot be repeated
				if out := run("test", "--stub", "--faults", "--", "-k", "create_late_context"); !strings.Contains(out, "SKIPPED (Not applicable: the API has no idempotency key") {
					t.Error(out)
				}
			}
			if name == "Group" { // whose create is finished by updates, any of which can fail for a moment
				run("test", "--stub", "--faults", "--time-scale", "1e6", "--", "-k", "contract_create_cut or contract_create_throttled")
			}
		})
	}
}
