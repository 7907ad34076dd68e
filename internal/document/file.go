package document

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// A TooLargeError is the error of the readers here for more than Max bytes.
type TooLargeError struct{ Max int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("it has more than the %d bytes that are read", e.Max)
}

// errIrregular stands where a file was named that may have no end, or never begin: a
// pipe, a device, a socket. A folder is one, too.
var errIrregular = errors.New("it is not a regular file")

// ReadFile reads a regular file of at most most bytes. A link is followed.
//
// The error is an *[fs.PathError]: fs.ErrNotExist if there is no such file, a
// *[TooLargeError], one that says that it is not a regular file, or that of the system.
func ReadFile(path string, most int64) ([]byte, error) {
	file, err := open(path)
	if err != nil {
		return nil, err
	}
	return readOpened(file, path, most)
}

// ReadHead reads the first bytes of a regular file, at most most of them. The error is
// that of [ReadFile] otherwise.
func ReadHead(path string, most int64) ([]byte, error) {
	file, err := open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errIrregular}
	}
	return io.ReadAll(io.LimitReader(file, most))
}

// open opens a file that looks like a regular one.
func open(path string) (*os.File, error) {
	// Opening some devices does something already, hence the look before. The flag
	// keeps a pipe that comes in between from waiting for somebody who writes.
	info, err := os.Stat(path)
	var failed *fs.PathError
	if errors.As(err, &failed) {
		failed.Op = "open" // for that is what was wanted
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errIrregular}
	}
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// ReadFS is [ReadFile] within a file system.
func ReadFS(files fs.FS, name string, most int64) ([]byte, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errIrregular}
	}
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	return readOpened(file, name, most)
}

func readOpened(file fs.File, path string, most int64) ([]byte, error) {
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errIrregular}
	}
	if info.Size() > most {
		return nil, &fs.PathError{Op: "read", Path: path, Err: &TooLargeError{most}}
	}
	data, err := ReadAll(file, most) // the file may grow, and some tell no size
	var large *TooLargeError
	if errors.As(err, &large) {
		err = &fs.PathError{Op: "read", Path: path, Err: large}
	}
	return data, err
}

// ReadAll reads at most most bytes to the end. The error is a *[TooLargeError] if there
// are more, else that of r; the data is nil then.
func ReadAll(r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, &TooLargeError{most}
	}
	return data, nil
}
