package formwork_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unlinked are packages that a dependency brings back easily and that every command would pay for, in
// size or at its start: docs/decisions/0024-traces-without-grpc.md and 0025-meta-schemas-have-their-own-checker.md.
var unlinked = []string{"google.golang.org/grpc", "github.com/santhosh-tekuri/jsonschema", "golang.org/x/net/trace"}

// TestLinkedMethods holds the release binary free of lookups of methods by name, with which the
// linker keeps all exported methods (docs/decisions/0021-no-methods-by-name.md), and of packages that
// it does not need.
func TestLinkedMethods(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary")
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w -dumpdep", "-o", filepath.Join(t.TempDir(), "cfn"), "./cmd/cfn")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%.2000s", err, out)
	}
	from := map[string]string{} // a symbol to the first that needs it
	for line := range bytes.Lines(out) {
		user, used, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " -> ")
		if !ok {
			continue
		}
		user, _, _ = strings.Cut(user, " <")
		used, marks, _ := strings.Cut(used, " <")
		if _, seen := from[used]; !seen {
			from[used] = user
		}
		if strings.Contains(marks, "ReflectMethod") {
			t.Fatalf("the binary looks methods up by name:\n  %s", strings.Join(chain(from, used), "\n  called by "))
		}
		if slices.ContainsFunc(unlinked, func(prefix string) bool { return strings.HasPrefix(used, prefix) }) {
			t.Fatalf("a package is linked that the binary does not need:\n  %s", strings.Join(chain(from, used), "\n  called by "))
		}
	}
	if len(from) < 1000 {
		t.Fatalf("the linker listed %d symbols only", len(from))
	}
}

// chain is how the linker came to a symbol, up to the start of the program.
func chain(from map[string]string, symbol string) []string {
	var names []string
	for symbol != "" && !slices.Contains(names, symbol) {
		names = append(names, symbol)
		symbol = from[symbol]
	}
	return names
}
