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

// createRenamable creates a file that can be renamed while it is open, if it does not exist: the system
// otherwise reports a sharing violation.
func createRenamable(path string) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "create", Path: path, Err: err}
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	handle, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE, share, nil, windows.CREATE_NEW, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &os.PathError{Op: "create", Path: path, Err: err}
	}
	return os.NewFile(uintptr(handle), path), nil
}

// owned reports true: the folder for temporary files is the user's own here.
func owned(fs.FileInfo) bool { return true }
