//go:build unix

package lambda_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// compiled compiles the modules in a folder, and returns the folder with them and the interpreter's program.
func compiled(t *testing.T, ctx context.Context, mode sandbox.Mode, dir string) (string, lambda.Program, error) {
	t.Helper()
	r := &lambda.Runtimes{Scripts: t.TempDir()}
	p, err := r.Prepare(t.Context(), "python3", "app.handler", dir)
	var missing *lambda.RuntimeError
	if errors.As(err, &missing) && os.Getenv("CI") != "true" {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	into := t.TempDir()
	root, err := os.OpenRoot(into)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	return into, p, p.Compiler.Compile(ctx, sandbox.Settings{Mode: mode}, dir, root)
}

// modes are those that this system has.
func modes() []sandbox.Mode {
	if sandbox.Check() != nil {
		return []sandbox.Mode{sandbox.Off}
	}
	return []sandbox.Mode{sandbox.Off, sandbox.Required}
}

// TestCompiler compiles modules, some of which cannot be, and none of which is run.
func TestCompiler(t *testing.T) {
	run := "import os\nprint('4 1\\nranx')\nos.mkdir('/tmp/formwork-was-run')\nraise SystemExit\n"
	dir := code(t, map[string]string{
		"app.py":       "from lib import value\ndef handler(e, c): return [value.five, value.__cached__, own.__cached__]\nimport own",
		"own.py":       "assert __name__ == 'own'\n",
		"lib/value.py": "five = 5\n", "broken.py": "def (", "coding.py": "# coding: nothing\n", "nul.py": "x = '\x00'\n",
		"deep.py": strings.Repeat("(", 5000), "warns.py": "x = '\\d'\nif 1 is 1: pass\n", "text.txt": "x", "lib/__pycache__/x.py": "",
		"sitecustomize.py": run, "usercustomize.py": run, "compileall.py": run, "marshal.py": run, "os.py": run, "importlib/__init__.py": run, "importlib/util.py": run, "a.pth": "import os; " + run,
	})
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link.py")); err != nil {
		t.Fatal(err)
	}
	want := []string{"app.pyc", "compileall.pyc", "importlib/__init__.pyc", "importlib/util.pyc", "lib/__pycache__/x.pyc", "lib/value.pyc", "marshal.pyc", "os.pyc", "own.pyc", "sitecustomize.pyc", "usercustomize.pyc", "warns.pyc"}
	for _, mode := range modes() {
		into, _, err := compiled(t, t.Context(), mode, dir)
		if err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
		var found []string
		err = fs.WalkDir(os.DirFS(into), ".", func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				found = append(found, path)
			}
			return err
		})
		if err != nil || !slices.Equal(found, want) {
			t.Errorf("%s: compiled %q, %v, want %q", mode, found, err, want)
		}
	}
	if _, err := os.Stat("/tmp/formwork-was-run"); err == nil {
		t.Error("a module was run")
	}
}

// TestCompiledModulesAreUsed: a function uses them as long as they are those of its sources, and only if it runs with the
// same options.
func TestCompiledModulesAreUsed(t *testing.T) {
	for _, mode := range modes() {
		dir := code(t, map[string]string{
			"app.py": "import lib.value, json.decoder\ndef handler(e, c): return [lib.value.number, lib.value.__cached__, json.decoder.__cached__]\n", "lib/value.py": "number = 5\n",
		})
		into, p, err := compiled(t, t.Context(), mode, dir)
		if err != nil {
			t.Fatal(err)
		}
		ask := func(folder string, env ...string) string {
			t.Helper()
			f, err := lambda.Start(t.Context(), lambda.Config{
				Name: "f", Command: p.Command, Runtime: p.Runtime, Dir: dir, Env: slices.Concat(p.Env, []string{"PYTHONDONTWRITEBYTECODE=1"}, env), Handler: p.Handler,
				Sandbox: sandbox.Settings{Mode: mode}, Compiled: func() string { return folder },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			result, err := f.Invoke(t.Context(), []byte("{}"))
			if err != nil {
				t.Fatal(err)
			}
			return string(result.Payload)
		}
		own := `"` + filepath.Join(into, "lib", "value.pyc") + `"`
		for _, test := range []struct {
			what, folder, env string
			uses              bool
		}{
			{"as it is", into, "", true},
			{"without assertions", into, "PYTHONOPTIMIZE=1", false},
			{"without the folder", "", "", false},
			{"with the folder of a template", "", "FORMWORK_COMPILED=" + into, false},
		} {
			got := ask(test.folder, test.env)
			if !strings.HasPrefix(got, "[5, ") || strings.Contains(got, own) != test.uses || strings.Contains(got, into+"/json") {
				t.Errorf("%s, %s: %s", mode, test.what, got)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "lib", "value.py"), []byte("number = 6\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := ask(into, ""); !strings.HasPrefix(got, "[6, ") {
			t.Errorf("%s: with another source: %s", mode, got)
		}
	}
}

// TestCompilerStops: it ends with its context, and says so.
func TestCompilerStops(t *testing.T) {
	dir := code(t, map[string]string{"a.py": "x = 1\n"})
	for _, mode := range modes() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := compiled(t, ctx, mode, dir); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// TestWorthwhile: a small function is not compiled, which would take longer than it saves.
func TestWorthwhile(t *testing.T) {
	c := &lambda.Compiler{}
	line := strings.Repeat("x = 1\n", 10_000)
	for want, files := range map[bool]map[string]string{
		false: {"app.py": line, "data.txt": strings.Repeat(line, 10)},
		true:  {"app.py": line, "lib/a.py": line, "lib/b.py": line},
	} {
		if got := c.Worthwhile(code(t, files)); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
