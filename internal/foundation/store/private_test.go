package store

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestFilesArePrivate: the folder may be one that exists, and that everybody can read.
func TestFilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes of files")
	}
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the point of the test
		t.Fatal(err)
	}
	run := func() string {
		var log bytes.Buffer
		s, err := Open(t.Context(), Config{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Blobs().Put(t.Context(), strings.NewReader("content"), 0); err != nil {
			t.Error(err)
		}
		seen := map[string]bool{}
		err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || path == dir {
				return err
			}
			seen[entry.Name()] = true
			info, err := entry.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has the mode %s", entry.Name(), info.Mode())
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		for _, name := range []string{"formwork.db", "formwork.db-wal", "formwork.db-shm", "blobs"} {
			if !seen[name] {
				t.Errorf("there is no %s", name)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		return log.String()
	}
	if log := run(); strings.Contains(log, "WARN") {
		t.Errorf("a new store warns:\n%s", log)
	}

	// As an older program left them.
	for name, mode := range map[string]fs.FileMode{"formwork.db": 0o644, "blobs": 0o755} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	log := run()
	for _, want := range []string{"formwork.db was=0644 is=0600", "blobs was=0755 is=0700"} {
		if !strings.Contains(log, want) {
			t.Errorf("no warning has %q:\n%s", want, log)
		}
	}
	if log := run(); strings.Contains(log, "WARN") {
		t.Errorf("a store that was closed to others warns again:\n%s", log)
	}
}
