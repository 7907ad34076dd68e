//go:build unix

package store

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A folderLock is held by one process. The kernel gives it up with the process, however
// that ends; the file stays and says who had it last.
type folderLock struct{ file *os.File }

func lockFolder(path string) (*folderLock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		defer file.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &os.PathError{Op: "lock", Path: path, Err: err}
		}
		text, _ := io.ReadAll(io.LimitReader(file, 32))
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		return nil, &LockedError{Dir: filepath.Dir(path), PID: pid}
	}
	lock := &folderLock{file}
	if err := lock.sign(); err != nil {
		_ = lock.release()
		return nil, err
	}
	return lock, nil
}

// sign writes the process id, for the message of a *LockedError.
func (l *folderLock) sign() error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// release unlocks before it closes: a process that is being started has a copy of the file until it
// runs its program, and the lock would last as long.
func (l *folderLock) release() error {
	return errors.Join(unix.Flock(int(l.file.Fd()), unix.LOCK_UN), l.file.Close())
}
