package document

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/formwork-dev/formwork/internal/foundation/files"
)

// A TooLargeError is the error of the readers here for more than Max bytes.
type TooLargeError struct{ Max int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("it has more than the %d bytes that are read", e.Max)
}

// ReadFile reads a regular file of at most most bytes. A link is followed.
//
// The error is an *[fs.PathError]: fs.ErrNotExist if the file does not exist, a
// *[TooLargeError], an error for a file that is not regular, or that of the system.
func ReadFile(path string, most int64) ([]byte, error) {
	file, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	return readOpened(file, path, most)
}

// ReadHead reads the first bytes of a regular file, at most most of them. The error is
// that of [ReadFile] otherwise.
func ReadHead(path string, most int64) ([]byte, error) {
	file, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: files.ErrIrregular}
	}
	return io.ReadAll(io.LimitReader(file, most))
}

// ReadFS is [ReadFile] within a file system.
func ReadFS(fsys fs.FS, name string, most int64) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: files.ErrIrregular}
	}
	file, err := fsys.Open(name)
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
		return nil, &fs.PathError{Op: "read", Path: path, Err: files.ErrIrregular}
	}
	if info.Size() > most {
		return nil, &fs.PathError{Op: "read", Path: path, Err: &TooLargeError{most}}
	}
	data, err := ReadAll(file, most) // the file may grow, and some report no size
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

// ReadOptional is [ReadFile] for a file that may be missing: it is empty then.
func ReadOptional(path string, most int64) ([]byte, error) {
	data, err := ReadFile(path, most)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}
