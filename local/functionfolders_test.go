package local

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

// TestFunctionFolders holds which folders of functions are refused, because handlers would see too much, and that
// the server says what a function sees whose file was named.
func TestFunctionFolders(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		t.Skip("SKIPPED: no sandbox here: ", err)
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	data := filepath.Join(home, "work", "data")
	for _, dir := range []string{"", "work", "work/f", "work/data/handlers", ".aws"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, dir, "f.py"), []byte("def handler(event, context):\n    return 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(home, filepath.Join(home, "work", "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"f.py":               "",
		".":                  "function f: the code is in " + home + ", and handlers would see all of the home folder",
		"work/link":          "handlers would see all of the home folder",
		"work/f.py":          "",
		"work":               "function f: the code is in " + home + "/work, and so is " + data + ", which handlers must not see: move the code to a folder of its own",
		"work/data/handlers": "which belongs to cfn: move it to another folder",
		".aws":               "is hidden from handlers: move it to another folder, or pass --mount " + home + "/.aws",
		"work/f":             "",
		"work/f/f.py":        "",
	} {
		server, err := Listen(t.Context(), ServerConfig{Address: "127.0.0.1:0", Config: Config{Dir: data, Functions: []string{"f=" + filepath.Join(home, path)}, Environ: os.Environ()}})
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", path, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		var shown []string
		switch path {
		case "work/f/f.py":
			shown = []string{"function f sees all files in " + home + "/work/f, the folder of f.py"}
		case "f.py", "work/f.py":
			shown = []string{"function f sees only f.py of " + filepath.Dir(filepath.Join(home, path)) + ", since handlers must not see the rest: move it to a folder of its own to add files"}
		}
		if !slices.Equal(server.Shown(), shown) {
			t.Errorf("%s: shown %q", path, server.Shown())
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}
