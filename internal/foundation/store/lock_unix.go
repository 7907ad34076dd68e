//go:build unix

package store

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A folderLock is held by one process. The kernel gives it up with the process, however
// that ends; the file stays and says who had it last.
type folderLock struct{ file *os.File }

// A process that is being started has a copy of the file until it runs its program: if the one that starts it is killed
// meanwhile, the lock outlives it for that long. It is waited for some seconds.
const (
	copyWait  = 10 * time.Millisecond
	maxCopies = 500
)

func lockFolder(path string) (*folderLock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(&os.PathError{Op: "lock", Path: path, Err: err}, file.Close())
		}
		text := make([]byte, 32)
		n, _ := file.ReadAt(text, 0) // a file without a number is of a process that starts
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text[:n])))
		if pid == 0 || !errors.Is(unix.Kill(pid, 0), unix.ESRCH) || tries == maxCopies {
			return nil, errors.Join(&LockedError{Dir: filepath.Dir(path), PID: pid}, file.Close())
		}
		time.Sleep(copyWait)
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
