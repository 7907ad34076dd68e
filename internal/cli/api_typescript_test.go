package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestTypeScriptAPI makes handlers that call an API in TypeScript, and tests them unedited against a stub of the service,
// with the library of the official plug-in and the compiler that FORMWORK_CLIENTS has.
func TestTypeScriptAPI(t *testing.T) {
	t.Parallel() // the library waits for a second in each call
	modules := filepath.Join(os.Getenv("FORMWORK_CLIENTS"), "typescript", "node_modules")
	if _, err := os.Stat(filepath.Join(modules, ".bin", "tsc")); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("FORMWORK_CLIENTS has no folder typescript: see .ci/run")
		}
		t.Skip("FORMWORK_CLIENTS has no folder typescript with the library of the official plug-in")
	}
	archive, err := txtar.ParseFile("testdata/test_stub.txtar")
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	for _, f := range archive.Files {
		writeText(t, filepath.Join(parent, f.Name), string(f.Data))
	}
	if err := os.Symlink(modules, filepath.Join(parent, "node_modules")); err != nil {
		t.Fatal(err)
	}
	// The library waits for a second at the end of each call, for logs that are not sent here.
	hurry := filepath.Join(parent, "hurry.cjs")
	writeText(t, hurry, "const wait = setTimeout;\nglobalThis.setTimeout = (f, ms, ...args) => wait(f, ms === 1000 ? 0 : ms, ...args);\n")
	for name, args := range map[string][]string{
		"Acme::Library::Book": {"--from-openapi", "../library.yaml", "--resource", "Book"},
		"Acme::Notes::Note":   {"--from-smithy", "../notes.smithy", "--service", "example#Notes", "--resource", "Note"},
	} {
		dir := filepath.Join(parent, filepath.Base(strings.ReplaceAll(name, "::", "/")))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		run := func(args ...string) string {
			code, out, errs := runIn(t.Context(), dir, os.Environ(), args...)
			if code != 0 {
				t.Errorf("%s: cfn %s: %d\n%.6000s%.2000s", name, strings.Join(args, " "), code, out, errs)
			}
			return out
		}
		run(append(append([]string{"init"}, args...), "-t", name, "typescript")...)
		run("generate", "--check")
		test := []string{"test", "--stub", "--env", "NODE_OPTIONS=--require=" + hurry, "--mount", hurry, "--mount", filepath.Join(parent, "node_modules"), "--time-scale", "1e6"}
		if out := run(append(test, "--suite", "all")...); !strings.Contains(out, "extended_create.py::contract_create_same_token PASSED") {
			t.Errorf("%s: the token is not sent:\n%.6000s", name, out)
		}
		if out := run(append(test, "--in-stack")...); !strings.Contains(out, "in_stack.py::stack_create PASSED") {
			t.Errorf("%s: in a stack:\n%.6000s", name, out)
		}
	}
}
