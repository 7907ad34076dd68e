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
		if err := os.MkdirAll(filepath.Dir(filepath.Join(parent, f.Name)), 0o755); err != nil {
			t.Fatal(err)
		}
		writeText(t, filepath.Join(parent, f.Name), string(f.Data))
	}
	if err := os.Symlink(modules, filepath.Join(parent, "node_modules")); err != nil {
		t.Fatal(err)
	}
	// The library waits for a second at the end of each call, for logs that are not sent here.
	hurry := filepath.Join(parent, "hurry.cjs")
	writeText(t, hurry, "const wait = setTimeout;\nglobalThis.setTimeout = (f, ms, ...args) => wait(f, ms === 1000 ? 0 : ms, ...args);\n")
	notes, err := os.ReadFile(filepath.Join(parent, "notes.smithy"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("restJson1", "restXml", "@service(", "@xmlNamespace(uri: \"urn:notes\")\n@service(").Replace(string(notes))
	writeText(t, filepath.Join(parent, "restXml.smithy"), text)
	note := func(model string) []string {
		return []string{"--from-smithy", "../" + model, "--service", "example#Notes", "--resource", "Note", "-t", "Acme::Notes::Note"}
	}
	for _, c := range []struct {
		name, passes string
		init         []string
	}{
		{"Book", "extended_create.py::contract_create_same_token", []string{"--from-openapi", "../library.yaml", "--resource", "Book", "-t", "Acme::Library::Book"}},
		{"Shelf", "extended_read.py::contract_read_additional_identifiers", []string{"--from-openapi", "../library.yaml", "--resource", "Shelf", "-t", "Acme::Library::Shelf"}},
		{"Note", "extended_update.py::contract_update_tags", note("notes.smithy")},
		{"restXml", "extended_update.py::contract_update_tags", note("restXml.smithy")},
		{"Group", "extended_update.py::contract_update_tags", []string{"--from-smithy", "../groups.smithy", "--resource", "Group", "-t", "Acme::Groups::Group"}},
	} {
		dir := filepath.Join(parent, c.name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		run := func(args ...string) string {
			code, out, errs := runIn(t.Context(), dir, os.Environ(), args...)
			if code != 0 {
				t.Errorf("%s: cfn %s: %d\n%.6000s%.2000s", c.name, strings.Join(args, " "), code, out, errs)
			}
			return out
		}
		run(append(append([]string{"init"}, c.init...), "typescript")...)
		run("generate", "--check")
		test := []string{"test", "--stub", "--env", "NODE_OPTIONS=--require=" + hurry, "--mount", hurry, "--mount", filepath.Join(parent, "node_modules"), "--time-scale", "1e6"}
		if out := run(append(test, "--suite", "all")...); !strings.Contains(out, c.passes+" PASSED") {
			t.Errorf("%s: %s did not pass:\n%.6000s", c.name, c.passes, out)
		}
		if out := run(append(test, "--in-stack")...); !strings.Contains(out, "in_stack.py::stack_create PASSED") {
			t.Errorf("%s: in a stack:\n%.6000s", c.name, out)
		}
		if c.name == "Shelf" { // which is looked up in the list after a lost response
			if out := run(append(test, "--faults", "--", "-k", "contract_create_server_error or contract_create_cut or contract_create_late_context")...); !strings.Contains(out, "=== 2 passed, 1 skipped") {
				t.Errorf("%s: lost responses:\n%.6000s", c.name, out)
			}
		}
		if c.name == "Group" { // whose create is finished by updates, any of which can fail for a moment
			run(append(test, "--faults", "--", "-k", "contract_create_cut or contract_create_throttled")...)
		}
	}
}
