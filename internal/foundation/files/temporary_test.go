package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"testing"
)

// TestTemporary: the file can be written and read, and leaves nothing in its folder.
func TestTemporary(t *testing.T) {
	dir := t.TempDir()
	empty := func() {
		t.Helper()
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%v, %v", entries, err)
		}
	}
	f, err := OpenTemporary(dir, "x-*")
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		empty()
	}
	if _, err := io.WriteString(f, "text"); err != nil {
		t.Fatal(err)
	}
	var got [4]byte
	if _, err := f.ReadAt(got[:], 0); err != nil || string(got[:]) != "text" {
		t.Errorf("%q, %v", got, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	empty()
	if f, err := OpenTemporary(dir+"/none", "x-*"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, %v", f, err)
	}
}
