package files

import (
	"io"
	"os"
	"testing"
)

// TestNameless: the file can be written and read, and its folder stays empty.
func TestNameless(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	f := Nameless()
	if f == nil {
		t.Skip("skipped: the file system has no files without names")
	}
	defer f.Close()
	if _, err := io.WriteString(f, "text"); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
	var got [4]byte
	if _, err := f.ReadAt(got[:], 0); err != nil || string(got[:]) != "text" {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("TMPDIR", dir+"/none")
	if f := Nameless(); f != nil {
		t.Error("a file in a folder that does not exist")
		f.Close()
	}
}
