package local_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/formwork-dev/formwork/local"
)

// TestHealthOfAFullDisk: /healthz tells when nothing can be stored, and when it can again.
func TestHealthOfAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("skipped: a file system can be mounted by root only: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	url := serving(t, local.ServerConfig{Config: local.Config{Dir: dir}}).URL()
	health := func() (int, string) {
		t.Helper()
		answer, err := http.Get(url + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var state struct{ Status string }
		if err := json.NewDecoder(answer.Body).Decode(&state); err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, state.Status
	}
	if status, state := health(); status != http.StatusOK {
		t.Fatalf("at first: %d %s", status, state)
	}
	full := filepath.Join(dir, "full")
	file, err := os.Create(full)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(file, zeros{}); err == nil {
		t.Fatal("the disk is not full")
	}
	file.Close()
	eventually(t, 5*time.Second, "the full disk is seen", func() bool {
		status, state := health()
		return status == http.StatusServiceUnavailable && strings.Contains(state, "full")
	})
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "the room is seen", func() bool { status, _ := health(); return status == http.StatusOK })
}
