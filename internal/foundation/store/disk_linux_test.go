package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// mountTmpfs puts a small disk at dir, where that is allowed.
func mountTmpfs(t *testing.T, dir, options string, flags uintptr) {
	t.Helper()
	if err := unix.Mount("tmpfs", dir, "tmpfs", flags, options); err != nil {
		t.Skipf("skipped: a file system can be mounted by root only: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// readOnly makes dir read-only, also for root.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() == 0 {
		mountTmpfs(t, dir, "", unix.MS_RDONLY)
		return
	}
	if err := os.Chmod(dir, 0o500); err != nil { //nolint:gosec // it is a folder
		t.Fatal(err)
	}
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	mountTmpfs(t, dir, "size=4m", 0)
	s := withThings(t, Config{Dir: dir})
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("before it is full: %v", err)
	}

	content := rand.NewChaCha8([32]byte{})
	_, err := s.Blobs().Put(t.Context(), io.LimitReader(content, 8<<20), 0)
	var fault *StorageError
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), "make room") {
		t.Errorf("blob: got %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*")); err != nil || len(left) > 0 {
		t.Errorf("the blob that did not fit left %q", left)
	}

	err = nil
	for i := 0; i < 5000 && err == nil; i++ {
		err = s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
			return Insert(ctx, tx, &thing{ID: fmt.Sprint(i), Data: strings.Repeat("x", 4000)})
		})
	}
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), "full") {
		t.Errorf("row: got %v", err)
	}
	t.Log(err)
	if err := s.Check(t.Context()); !errors.As(err, &fault) || !strings.Contains(err.Error(), "full") {
		t.Errorf("the full disk is not noticed: %v", err)
	}
	if err := Query(t.Context(), s.Read(), new(int), "SELECT count(*) FROM things"); err != nil {
		t.Errorf("a full store cannot be read: %v", err)
	}
}
