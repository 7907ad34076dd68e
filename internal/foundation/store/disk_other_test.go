//go:build !linux

package store

import (
	"os"
	"testing"
)

func readOnly(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() <= 0 {
		t.Skip("skipped: needs a user whom permissions bind")
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
}
