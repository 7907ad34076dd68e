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

// module is a compiled module as the runtime sends it.
func module(name, data string) string {
	return fmt.Sprintf("%d %d\n%s%s", len(name), len(data), name, data)
}

func keep(dir, body string) error { return keepCompiled(dir, bufio.NewReader(strings.NewReader(body))) }

func TestCompiledModulesAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "cache")
	for body, want := range map[string]string{
		module("usr/lib/a.pyc", "1") + module("b.pyc", ""): "", module("usr/lib/a.pyc", "22"): "", "": "",
		module("../out.pyc", "x"): "not the path", module("/out.pyc", "x"): "not the path", module("a.py", "x"): "not the path", module("", "x"): "expected the lengths",
		"1 99999999999\na": "expected the lengths", "9999 1\na": "expected the lengths", "-1 -1\n": "expected the lengths", "x": "expected the lengths",
		strings.Repeat("1", 100_000): "expected the lengths", "5 9\nc.pycshort": "incomplete", "9 9\nc.py": "incomplete", "5 1\nd.pyc": "incomplete",
	} {
		if err := keep(dir, body); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", body, err, want)
		}
	}
	var found []string
	err := filepath.WalkDir(filepath.Dir(filepath.Dir(dir)), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found = append(found, entry.Name())
		}
		return err
	})
	if got := strings.Join(found, " "); err != nil || got != "b.pyc a.pyc" {
		t.Errorf("kept %s, %v", got, err)
	}
}

// TestCompiledModulesAreLimited: neither links nor many or large modules take a process beyond its folder and its size.
func TestCompiledModulesAreLimited(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Skip("no links here: ", err)
	}
	if err := keep(dir, module("link/a.pyc", "x")); err == nil {
		t.Error("a link was followed")
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("behind the link: %v, %v", left, err)
	}
	large := module("large.pyc", string(bytes.Repeat([]byte("x"), mostCompiledBytes-10)))
	if err := keep(dir, large); err != nil {
		t.Fatal(err)
	}
	if err := keep(dir, large); err != nil {
		t.Errorf("in its own place: %v", err)
	}
	if err := keep(dir, module("more.pyc", strings.Repeat("y", 11))); !errors.Is(err, errFull) {
		t.Errorf("beyond the size: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "more.pyc")); err == nil {
		t.Error("more than the size is kept")
	}
}
