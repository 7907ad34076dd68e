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
	for _, f := range archive.Files {
		if f.Name == "library.yaml" || f.Name == "notes.smithy" {
			writeText(t, filepath.Join(dir, f.Name), string(f.Data))
		}
	}
	for name, from := range map[string][]string{
		"Book": {"--from-openapi", "library.yaml"},
		"Note": {"--from-smithy", "notes.smithy", "--service", "example#Notes"},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(args ...string) string {
				code, out, errs := runIn(t.Context(), dir, os.Environ(), append(args, "--project", name)...)
				if code != 0 {
					t.Fatalf("%q: %d\n%.6000s%.2000s", args, code, out, errs)
				}
				return out
			}
			run(append([]string{"init", "--resource", name, "-t", "Acme::Library::" + name, "java"}, from...)...)
			for _, args := range [][]string{{"--suite", "all"}, {"--in-stack"}} {
				if out := run(append([]string{"test", "--stub", "--time-scale", "1e6"}, args...)...); !strings.Contains(out, " passed, ") && !strings.Contains(out, " passed in ") {
					t.Errorf("%q:\n%s", args, out)
				}
			}
			run("generate", "--check")
		})
	}
}
