package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveAll removes the entry name of a folder with everything below it, and nothing else: the
// name is one part of a path, and no link is followed, also not one that is created meanwhile.
// Folders below it without permissions are removed as well. An entry that does not exist is not
// an error.
func RemoveAll(dir, name string) error {
	if !filepath.IsLocal(name) || name == "." || filepath.Base(name) != name {
		return &fs.PathError{Op: "remove", Path: filepath.Join(dir, name), Err: errors.New("not an entry of the folder")}
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // it was only read
	if err = root.RemoveAll(name); err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	open(root, name, mostDepth)
	return root.RemoveAll(name)
}

// RemoveTemp is RemoveAll for a folder that os.MkdirTemp made.
func RemoveTemp(path string) error { return RemoveAll(filepath.Dir(path), filepath.Base(path)) }

// mostDepth bounds the folders within folders whose permissions are changed.
const mostDepth = 10_000

// open lets this user read and change the folders of a tree. What cannot be opened is left: its
// removal reports that.
func open(root *os.Root, name string, depth int) {
	info, err := root.Lstat(name)
	if err != nil || !info.IsDir() || depth == 0 {
		return
	}
	if info.Mode().Perm()&0o700 != 0o700 && root.Chmod(name, 0o700) != nil {
		return
	}
	inside, err := root.OpenRoot(name) // one part of a path at a time: paths may be longer than the system allows
	if err != nil {
		return
	}
	defer func() { _ = inside.Close() }() // it was only read
	folder, err := inside.Open(".")
	if err != nil {
		return
	}
	entries, _ := folder.ReadDir(-1) // what was read is opened
	_ = folder.Close()
	for _, entry := range entries {
		if entry.IsDir() {
			open(inside, entry.Name(), depth-1)
		}
	}
}
