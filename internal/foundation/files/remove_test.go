package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/files"
)

func TestRemoveAllStaysInTheFolder(t *testing.T) {
	dir := t.TempDir()
	canary := filepath.Join(dir, "outside", "canary")
	write := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(canary)
	write(filepath.Join(dir, "in", "gone", "below", "file"))
	links := map[string]string{"gone/link": "../../outside", "gone/below/absolute": filepath.Dir(canary), "link": "../outside"}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, "in", filepath.FromSlash(name))); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	inside := filepath.Join(dir, "in")
	for _, name := range []string{"gone", "link", "missing"} {
		if err := files.RemoveAll(inside, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(inside); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	for _, name := range []string{"", ".", "..", "../outside", "a/b", "/", filepath.Dir(canary)} {
		if err := files.RemoveAll(inside, name); err == nil {
			t.Errorf("%q was removed", name)
		}
	}
	if _, err := os.Stat(canary); err != nil {
		t.Error("a file outside of the folder:", err)
	}
	if err := files.RemoveAll(filepath.Join(dir, "no folder"), "x"); err != nil {
		t.Error("a missing folder:", err)
	}
}

func TestRemoveAllOpensFolders(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("permissions do not bind this user")
	}
	dir := t.TempDir()
	shut := filepath.Join(dir, "tree", "a", "b")
	if err := os.MkdirAll(shut, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(shut, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{shut, filepath.Dir(shut)} {
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.RemoveAll(dir, "tree"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "tree")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the tree is still there:", err)
	}
}

func TestRemoveAllDeepTrees(t *testing.T) {
	dir := t.TempDir()
	at, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("d", 200)
	for range 50 { // a path of 10,000 bytes
		if err := at.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		below, err := at.OpenRoot(name)
		if err != nil {
			t.Fatal(err)
		}
		_ = at.Close()
		at = below
	}
	_ = at.Close()
	if err := files.RemoveAll(dir, name); err != nil {
		t.Fatal(err)
	}
}
