// Package files writes files in folders that may be hostile, such as a project that was just
// cloned.
//
// A link, a pipe or a device may be in the place of a file. The package never follows a link
// out of the folder, never writes to a file that is not regular, and never waits for the other
// end of a pipe. A file is replaced completely or not at all.
package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// ErrIrregular is the cause of errors about something that is not a regular file: a link,
// a pipe, a device, a socket or a folder.
var ErrIrregular = errors.New("it is not a regular file")

// Open opens a regular file for reading. It follows links. The error is an *[fs.PathError]; it
// wraps [ErrIrregular] if the path is not a regular file.
func Open(path string) (*os.File, error) {
	// Opening some devices has side effects, hence the check before. The flag prevents a pipe
	// that replaces the file meanwhile from blocking until it has a writer.
	info, err := os.Stat(path)
	var failed *fs.PathError
	if errors.As(err, &failed) {
		failed.Op = "open" // which was expected
	}
	if err != nil {
		return nil, err
	}
	irregular := &fs.PathError{Op: "read", Path: path, Err: ErrIrregular}
	if !info.Mode().IsRegular() {
		return nil, irregular
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err == nil && !info.Mode().IsRegular() {
		err = irregular
	}
	if err != nil {
		_ = file.Close() // it was not read
		return nil, err
	}
	return file, nil
}

// Append opens a file of a folder for appending, and creates it with the mode if it does
// not exist. The name has no separators. The error wraps [ErrIrregular] if the name is
// taken by anything but a regular file.
func Append(dir, name string, mode fs.FileMode) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // the file does not need it
	irregular := &fs.PathError{Op: "open", Path: filepath.Join(dir, name), Err: ErrIrregular}
	flags := os.O_APPEND | os.O_WRONLY | syscall.O_NONBLOCK
	before, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		flags |= os.O_CREATE | os.O_EXCL // does not follow a link that is created meanwhile
	case err != nil:
		return nil, err
	case !before.Mode().IsRegular():
		return nil, irregular
	}
	file, err := root.OpenFile(name, flags, mode)
	if err != nil {
		return nil, err
	}
	after, err := file.Stat()
	if err == nil && (!after.Mode().IsRegular() || before != nil && !os.SameFile(before, after)) {
		err = irregular
	}
	if err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	return file, nil
}

// Write replaces a file below a folder, or creates it with its parent folders. The name is
// relative to the folder. Afterwards the file is complete or unchanged. A link in place of the
// file is replaced, not followed.
//
// The error is a *[LinkError] if a link in the path leaves the folder, wraps [ErrIrregular] if
// the name is taken by a folder, a pipe or a device, or is that of the file system.
func Write(dir, name string, data []byte, mode fs.FileMode) error {
	name = filepath.Clean(name)
	if !filepath.IsLocal(name) {
		return &fs.PathError{Op: "write", Path: name, Err: errors.New("it is outside the folder")}
	}
	if err := LinkOut(dir, filepath.ToSlash(filepath.Dir(name))); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	info, err := root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 {
		return &fs.PathError{Op: "write", Path: filepath.Join(dir, name), Err: ErrIrregular}
	}
	temp := filepath.Join(filepath.Dir(name), ".cfn-"+rand.Text())
	file, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Chmod(mode), file.Close()); err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp) // it may already be renamed
	}
	return err
}

// Put writes a file that the user named by its path. Within dir it is [Write]. Elsewhere, it
// writes to a device or a pipe such as /dev/stdout, and a pipe without a reader is an error; a
// link to one is followed.
func Put(dir, path string, data []byte, mode fs.FileMode) error {
	if name, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(name) && name != "." {
		return Write(dir, name, data, mode)
	}
	if info, err := os.Stat(path); err == nil && info.Mode()&(fs.ModeDevice|fs.ModeNamedPipe) != 0 {
		file, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		_, err = file.Write(data)
		return errors.Join(err, file.Close())
	}
	parent := filepath.Dir(path)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	return Write(parent, filepath.Base(path), data, mode)
}

// A LinkError is the error for a link in a folder that leads out of it, where something
// was to be written or packed.
type LinkError struct {
	Name   string // of the link, slash-separated, relative to the folder
	Target string // what the link says
}

func (e *LinkError) Error() string {
	return fmt.Sprintf("%s is a link that leads out of the project, to %s: put there what it leads to", e.Name, e.Target)
}

// LinkOut follows a slash-separated name within a folder. The error is a *[LinkError] if a
// link in the path or at its end leaves the folder. A link that cannot be resolved is an
// error, too; a name that does not exist is not.
func LinkOut(dir, name string) error {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	at := ""
	for part := range strings.SplitSeq(filepath.ToSlash(filepath.Clean(name)), "/") {
		at = filepath.Join(at, part)
		full := filepath.Join(dir, at)
		info, err := os.Lstat(full)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		target, err := os.Readlink(full)
		if err != nil {
			return err
		}
		real, err := filepath.EvalSymlinks(full)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is a link to %s, which does not exist", filepath.ToSlash(at), target)
		}
		if err != nil {
			return err
		}
		if rel, err := filepath.Rel(root, real); err != nil || !filepath.IsLocal(rel) {
			return &LinkError{Name: filepath.ToSlash(at), Target: target}
		}
	}
	return nil
}

// Pattern is the pattern of [filepath.Glob] that matches only the path. Patterns have no escapes on
// Windows, where names with brackets are rare: there, it is the path itself.
func Pattern(path string) string {
	if runtime.GOOS == "windows" {
		return path
	}
	return patternEscapes.Replace(path)
}

var patternEscapes = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// Exists reports whether there is a file or folder, or a link that leads to one.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
