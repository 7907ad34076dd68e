package formwork_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// sleeps are the files whose tests call time.Sleep, with the reason.
var sleeps = map[string]string{
	"internal/authoring/lsp/session_test.go":          "in a bubble of synctest",
	"internal/foundation/store/process_test.go":       "another node is slow; a lease of the database passes and nothing may happen",
	"internal/proving/contract/shrink_test.go":        "in a bubble of synctest",
	"internal/proving/contract/stub_test.go":          "in a bubble of synctest",
	"internal/proving/customtest/customtest_test.go":  "a response comes too late",
	"internal/running/lambda/main_test.go":            "handlers that hang or are slow, in processes of their own",
	"internal/running/lambda/watch_test.go":           "in a bubble of synctest; the first look at files, of which there is no sign",
	"internal/running/stack/durable_test.go":          "the store is closed at different moments",
	"internal/running/stack/failing_handlers_test.go": "in a bubble of synctest",
	"internal/running/stack/hooks_rig_test.go":        "a hook of a benchmark takes its time",
	"internal/running/stack/sequence_test.go":         "in a bubble of synctest",
	"local/auth_test.go":                              "handlers that hang or are slow, in processes of their own",
	"local/process_test.go":                           "letRun, for campaigns: servers die at any moment",
}

// TestTestsDoNotSleep: a test that sleeps is too slow on an idle machine and fails on a busy one.
func TestTestsDoNotSleep(t *testing.T) {
	found := map[string]bool{}
	eachGoFile(t, func(path string, source []byte) {
		if !strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "examples/") {
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok || call.Sel.Name != "Sleep" {
				return true
			}
			if from, ok := call.X.(*ast.Ident); ok && from.Name == "time" {
				found[path] = true
				if sleeps[path] == "" {
					t.Errorf("%s sleeps: wait with fixtures.Await, inject a clock, or use testing/synctest", files.Position(call.Pos()))
				}
			}
			return true
		})
	})
	for path := range sleeps {
		if !found[path] {
			t.Errorf("%s does not sleep any more: delete it from the list", path)
		}
	}
}
