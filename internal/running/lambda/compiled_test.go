package lambda

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// printed is a module as the compiler prints it.
func printed(name, data string) string {
	return fmt.Sprintf("%d %d\n%s%s", len(name), len(data), name, data)
}

func keep(t *testing.T, dir, text string) error {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	return keepModules(bufio.NewReader(strings.NewReader(text)), root, 1000, 10)
}

// TestCompiledModulesAreUntrusted: what a compiler prints stays in its folder and within its limits, if the code has taken
// it over.
func TestCompiledModulesAreUntrusted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		printed("lib/a.pyc", "1") + printed("b.pyc", ""): "", "": "",
		printed("c.pyc", "x") + printed("c.pyc", "y"): "exists",
		printed("../out.pyc", "x"):                    "not the path", printed("/out.pyc", "x"): "not the path", printed("a.py", "x"): "not the path", printed("a\x00.pyc", "x"): "not the path", printed("", "x"): "expected the lengths",
		"1 99999999999\na": "expected the lengths", "9999 1\na": "expected the lengths", "-1 -1\n": "expected the lengths", "x": "expected the lengths",
		strings.Repeat("1", 100_000): "expected the lengths", "5 9\nd.pycshort": "incomplete", "9 9\nd.py": "incomplete", "5 1\ne.pyc": "incomplete",
		printed(strings.Repeat("n", 300)+".pyc", "x"): "name too long",
	} {
		if err := keep(t, dir, text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
	large := printed("large.pyc", string(bytes.Repeat([]byte("x"), 1000-10)))
	if err := keep(t, dir, large+printed("more.pyc", strings.Repeat("y", 11))); !errors.Is(err, errFull) {
		t.Errorf("beyond the size: %v", err)
	}
	var many strings.Builder
	for i := range 11 {
		many.WriteString(printed(fmt.Sprintf("many/%d.pyc", i), ""))
	}
	if err := keep(t, dir, many.String()); !errors.Is(err, errFull) {
		t.Errorf("beyond the number: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "many")); err != nil {
		t.Fatal(err)
	}
	var found []string
	err := filepath.WalkDir(filepath.Dir(dir), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found = append(found, entry.Name())
		}
		return err
	})
	if got := strings.Join(found, " "); err != nil || got != "b.pyc c.pyc large.pyc a.pyc" {
		t.Errorf("kept %s, %v", got, err)
	}
}
