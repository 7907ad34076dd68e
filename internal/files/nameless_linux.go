package files

import (
	"os"

	"golang.org/x/sys/unix"
)

// Nameless opens a temporary file that has no name at any moment: it ends with the process, however that ends.
// It is nil where the file system has none.
func Nameless() *os.File {
	dir := os.TempDir()
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), dir)
}
