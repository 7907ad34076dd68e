package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree is a folder to write to, and one beside it that nothing must be written to.
func tree(t *testing.T) (dir, outside string) {
	t.Helper()
	dir, outside = t.TempDir(), t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(outside, "file"), []byte("theirs"), 0o600), os.Mkdir(filepath.Join(dir, "folder"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": filepath.Join(outside, "file"), "dangling": filepath.Join(outside, "new"), "out": outside, "in": "folder"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip("skipped: no links here: ", err)
		}
	}
	return dir, outside
}

// untouched checks that nothing was written outside.
func untouched(t *testing.T, outside string) {
	t.Helper()
	entries, err := os.ReadDir(outside)
	text, readErr := os.ReadFile(filepath.Join(outside, "file"))
	if err != nil || readErr != nil || len(entries) != 1 || string(text) != "theirs" {
		t.Errorf("outside there is %v, the file says %q (%v)", entries, text, errors.Join(err, readErr))
	}
}

func TestAppend(t *testing.T) {
	dir, outside := tree(t)
	for range 2 {
		file, err := Append(dir, "log", 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString("line\n"); err != nil {
			t.Error(err)
		}
		file.Close()
	}
	if text, err := os.ReadFile(filepath.Join(dir, "log")); string(text) != "line\nline\n" {
		t.Errorf("%q, %v", text, err)
	}
	for _, name := range []string{"link", "dangling", "out", "folder"} {
		if _, err := Append(dir, name, 0o600); !errors.Is(err, ErrIrregular) {
			t.Errorf("%s: %v", name, err)
		}
	}
	untouched(t, outside)
}

func TestWrite(t *testing.T) {
	for name, want := range map[string]string{
		"new": "", "a/b/c": "", "in/new": "", "link": "", "dangling": "",
		"out/new": "out is a link that leads out of the project", "out/x/y": "out is a link that leads out of the project",
		"dangling/x": "which does not exist", "../x": "outside the folder", "folder": "not a regular file",
	} {
		dir, outside := tree(t)
		err := Write(dir, name, []byte("data"), 0o640)
		untouched(t, outside)
		noTemporaryFiles(t, dir)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if want != "" {
			continue
		}
		info, err := os.Lstat(filepath.Join(dir, name))
		text, readErr := os.ReadFile(filepath.Join(dir, name))
		if err != nil || readErr != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o600 != 0o600 || string(text) != "data" {
			t.Errorf("%s is %v with %q: %v", name, info, text, errors.Join(err, readErr))
		}
	}
}

// A file that cannot be replaced is as it was, and nothing is left beside it.
func TestWriteIsWholeOrNot(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir, "file", []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		t.Skip("skipped: nothing is forbidden to root")
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	if err := Write(dir, "file", []byte("new"), 0o600); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "file")); string(text) != "old" {
		t.Errorf("%q", text)
	}
	noTemporaryFiles(t, dir)
}

func noTemporaryFiles(t *testing.T, dir string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(dir, ".cfn-*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestPut(t *testing.T) {
	dir, outside := tree(t)
	elsewhere := filepath.Join(t.TempDir(), "a", "report")
	if err := Put(dir, elsewhere, []byte("data"), 0o600); err != nil {
		t.Error(err)
	}
	if err := Put(dir, filepath.Join(dir, "report"), []byte("data"), 0o600); err != nil {
		t.Error(err)
	}
	var link *LinkError
	if err := Put(dir, filepath.Join(dir, "out", "report"), []byte("data"), 0o600); !errors.As(err, &link) {
		t.Error(err)
	}
	if err := Put(dir, os.DevNull, []byte("data"), 0o600); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s was replaced: %v, %v", os.DevNull, info, err)
	}
	untouched(t, outside)
}
