package sandbox

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// lock locks a file until it is closed or the program ends, and reports whether nobody else
// has it.
func lock(file *os.File) bool {
	return windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped)) == nil
}

// owned reports true: the folder for temporary files is the user's own here.
func owned(fs.FileInfo) bool { return true }
