//go:build unix

package store

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLockOfAKilledProcess: a process that was killed while it started another one leaves a copy of its lock for some
// time. It is waited for; the lock of a process that runs is not.
func TestLockOfAKilledProcess(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Skipf("skipped: %v", err)
	}
	path := filepath.Join(t.TempDir(), "lock")
	held := func(pid int) *os.File {
		t.Helper()
		if err := os.WriteFile(path, []byte(strconv.Itoa(pid)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err == nil {
			err = unix.Flock(int(file.Fd()), unix.LOCK_EX)
		}
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	copied := held(ended.Process.Pid)
	time.AfterFunc(3*copyWait, func() { _ = copied.Close() }) // with the lock
	lock, err := lockFolder(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.release(); err != nil {
		t.Fatal(err)
	}
	running := held(os.Getpid())
	defer func() { _ = running.Close() }() // it was only locked
	var locked *LockedError
	if _, err := lockFolder(path); !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("got %v, want a LockedError", err)
	}
}
