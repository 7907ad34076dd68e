package files

import (
	"os"

	"golang.org/x/sys/unix"
)

// flush writes what is in the folder to the disk. One call for the whole file system
// takes less than one for each of thousands of files.
func flush(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}

// Flush writes a file of a new folder to the disk where [Place] does not do so for all of them.
func Flush(*os.File) error { return nil }

// flushNames writes the names in a folder to the disk.
func flushNames(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
