package files

import (
	"os"

	"golang.org/x/sys/unix"
)

// openNameless opens a file without a name; nil where the file system has none.
func openNameless(dir string) *os.File {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), dir)
}
