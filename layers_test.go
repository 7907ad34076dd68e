package formwork_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/formwork-dev/formwork/"

// floors lists every package of the module, the lowest floor first. A package imports
// only from floors below its own. docs/architecture.md says what each one promises.
var floors = [][]string{
	{"cmd/cfn/collect", "internal/foundation/envvar", "internal/foundation/files", "internal/foundation/fixtures", "internal/foundation/lazyregexp", "internal/foundation/reach", "internal/foundation/sandbox/inside", "internal/foundation/tunnel", "internal/foundation/words"},
	{"internal/services/awswire", "internal/foundation/diag", "internal/foundation/docsite", "internal/proving/httptape", "internal/foundation/jsonata", "internal/foundation/sandbox", "internal/foundation/secret", "internal/foundation/store"},
	{"internal/foundation/cfnlog", "internal/foundation/document", "internal/running/lambda", "internal/services/logs", "internal/services/s3", "internal/foundation/seal"},
	{"internal/services/events", "internal/authoring/schema", "internal/services/sns", "internal/services/states", "internal/authoring/template"},
	{"internal/services/awslite", "internal/authoring/codegen", "internal/running/drift", "internal/running/invoke", "internal/authoring/lint", "internal/authoring/module", "internal/proving/sample", "internal/authoring/smithy", "internal/authoring/typecheck"},
	{"internal/authoring/api", "internal/proving/contract", "internal/services/functions", "internal/authoring/lsp", "internal/running/macro", "internal/running/operation", "internal/authoring/project"},
	{"internal/authoring/build", "internal/running/bundle", "internal/running/customresource", "internal/running/hook", "internal/running/simulate", "internal/running/stub", "internal/authoring/submit"},
	{"internal/running/builtin", "internal/authoring/customtype", "internal/proving/customtest", "internal/proving/permissions", "internal/running/delegate", "internal/running/handlers", "internal/running/plan"},
	{"internal/running/cloudcontrol", "internal/running/registry", "internal/running/stack"},
	{"internal/running/refactor", "internal/running/stackset", "internal/running/stackview"},
	{"internal/running/console", "internal/running/server"},
	{"local"},
	{"internal/running/inprocess"},
	{"internal/proving/rehearsal", "internal/proving/stacktest"},
	{"internal/cli"},
	{"cmd/cfn"},
}

// bans name an import or a selector that a package must not use, and what to use instead.
var bans = []struct {
	what, instead string
	allowed       []string
}{
	{"os.Exit", "return an error; cmd/cfn turns it into an exit code", []string{"cmd/cfn"}},
	{"fmt.Print", "return the text, or write to the io.Writer that was handed in", nil},
	{"fmt.Println", "return the text, or write to the io.Writer that was handed in", nil},
	{"fmt.Printf", "return the text, or write to the io.Writer that was handed in", nil},
	{"os.Stdout", "the io.Writer that was handed in", []string{"cmd/cfn"}},
	{"os.Stderr", "the io.Writer that was handed in", []string{"cmd/cfn"}},
	{"log.", "a *slog.Logger that was handed in", nil},
	{"http.DefaultClient", "a client that was handed in: being offline is a promise", nil},
	{"http.Get", "a client that was handed in: being offline is a promise", nil},
}

// TestImportsRunDownwards parses every file here rather than asking "go list": go test
// caches a result until a file that the test itself opened changes.
func TestImportsRunDownwards(t *testing.T) {
	floor := map[string]int{}
	for i, packages := range floors {
		for _, name := range packages {
			floor[name] = i
		}
	}
	seen := map[string]bool{}
	eachGoFile(t, func(path string, source []byte) {
		name := filepath.ToSlash(filepath.Dir(path))
		if name == "." {
			return
		}
		seen[name] = true
		own, listed := floor[name]
		if !listed {
			t.Errorf("%s: the package %s is on no floor: place it in floors and in docs/architecture.md", path, name)
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ImportsOnly)
		if err != nil {
			t.Error(err)
			return
		}
		for _, spec := range file.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Error(err)
			}
			ours, found := strings.CutPrefix(target, module)
			if !found {
				continue
			}
			if ours == "internal/foundation/fixtures" { // for the tests of every floor, and nothing else
				if !strings.HasSuffix(path, "_test.go") {
					t.Errorf("%s: internal/foundation/fixtures is for tests only", path)
				}
				continue
			}
			if below, ok := floor[ours]; !ok || below >= own && ours != name {
				t.Errorf("%s (floor %d) imports %s (floor %d): imports run downwards only", path, own, ours, below)
			}
		}
	})
	for name := range floor {
		if !seen[name] {
			t.Errorf("floors lists %s, which does not exist", name)
		}
	}
}

// pure are packages that compute from their arguments alone, and what they must not use for that.
var pure = map[string][]string{
	"internal/running/plan": {"context.", "store.", "operation.", "os.", "http.", "rand.", "slog.", "time.Now", "time.Since", "time.After"},
}

// TestPurePackages keeps the store, contexts and the clock out of what computes.
func TestPurePackages(t *testing.T) {
	eachGoFile(t, func(path string, source []byte) {
		banned := pure[filepath.ToSlash(filepath.Dir(path))]
		if banned == nil || strings.HasSuffix(path, "_test.go") {
			return
		}
		for i, line := range strings.Split(string(source), "\n") {
			code, _, _ := strings.Cut(line, "//")
			for _, what := range banned {
				if uses(code, what) {
					t.Errorf("%s:%d: %s is not used here: pass the value as an argument", path, i+1, what)
				}
			}
		}
	})
}

// TestRegexpsAreLazy keeps the start of every command free of expressions that it does not need.
func TestRegexpsAreLazy(t *testing.T) {
	eachGoFile(t, func(path string, source []byte) {
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "fixtures/") {
			return
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, source, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		for _, decl := range file.Decls {
			if _, isFunc := decl.(*ast.FuncDecl); isFunc {
				continue
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				if _, isFunc := n.(*ast.FuncLit); isFunc {
					return false
				}
				call, isCall := n.(*ast.SelectorExpr)
				if !isCall || call.Sel.Name != "MustCompile" {
					return true
				}
				if from, isName := call.X.(*ast.Ident); isName && from.Name == "regexp" {
					t.Errorf("%s: compiled at the start of every command: use lazyregexp.New", fset.Position(n.Pos()))
				}
				return true
			})
		}
	})
}

var floorRow = regexp.MustCompile("(?m)^\\| *([0-9]+) \\| `([^`]+)` \\|")

// TestArchitectureListsTheFloors holds the table that people read to the one above.
func TestArchitectureListsTheFloors(t *testing.T) {
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range floorRow.FindAllStringSubmatch(string(text), -1) {
		documented[row[2]] = row[1]
	}
	for i, packages := range floors {
		for _, name := range packages {
			if got := documented[name]; got != strconv.Itoa(i) {
				t.Errorf("docs/architecture.md: %s is on floor %d, the table says %q", name, i, got)
			}
			delete(documented, name)
		}
	}
	for name := range documented {
		t.Errorf("docs/architecture.md: the table lists %s, which is on no floor", name)
	}
}

// TestBannedCalls keeps what only one place may do out of all the others.
func TestBannedCalls(t *testing.T) {
	eachGoFile(t, func(path string, source []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		name := filepath.ToSlash(filepath.Dir(path))
		for i, line := range strings.Split(string(source), "\n") {
			code, _, _ := strings.Cut(line, "//")
			for _, ban := range bans {
				if uses(code, ban.what) && !slices.Contains(ban.allowed, name) {
					t.Errorf("%s:%d: %s is not used here: %s", path, i+1, ban.what, ban.instead)
				}
			}
		}
	})
}

// uses reports whether a line of code names what, not as a part of a longer word.
func uses(code, what string) bool {
	for rest := code; ; {
		i := strings.Index(rest, what)
		if i < 0 {
			return false
		}
		word := func(b byte) bool {
			return b == '_' || b == '.' || b == '"' || b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
		}
		end := i + len(what)
		if (i == 0 || !word(rest[i-1])) && (strings.HasSuffix(what, ".") || end == len(rest) || !word(rest[end])) {
			return true
		}
		rest = rest[end:]
	}
}

// eachGoFile calls f with every Go file of this module; nested modules have their own.
func eachGoFile(t *testing.T, f func(path string, source []byte)) {
	t.Helper()
	eachGoFileBelow(t, ".", f)
}

// eachGoFileBelow is eachGoFile for one module in the repository.
func eachGoFileBelow(t *testing.T, root string, f func(path string, source []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			hidden := strings.HasPrefix(entry.Name(), ".") && path != root
			_, nested := os.Stat(filepath.Join(path, "go.mod"))
			if hidden || entry.Name() == "testdata" || path != root && nested == nil {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		source, err := os.ReadFile(path)
		if err == nil && !bytes.HasPrefix(source, []byte("//go:build ignore\n")) { // no part of the module: run by hand
			f(path, source)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
