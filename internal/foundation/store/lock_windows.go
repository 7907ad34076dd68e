package store

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/windows"
)

// A folderLock is held by one process. The system gives it up with the process, however
// that ends; the file stays and says who had it last.
type folderLock struct{ file *os.File }

// The locked byte is far behind the text, because others cannot read locked bytes.
const lockedByte = 1 << 30

func lockFolder(path string) (*folderLock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	place := &windows.Overlapped{Offset: lockedByte}
	err = windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, place)
	if err != nil {
		defer file.Close()
		if !errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
			return nil, &os.PathError{Op: "lock", Path: path, Err: err}
		}
		text := make([]byte, 32)
		n, _ := file.ReadAt(text, 0)
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text[:n])))
		return nil, &LockedError{Dir: filepath.Dir(path), PID: pid}
	}
	if err := file.Truncate(0); err != nil {
		file.Close()
		return nil, err
	}
	if _, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		file.Close()
		return nil, err
	}
	return &folderLock{file}, nil
}

func (l *folderLock) release() error { return l.file.Close() }
