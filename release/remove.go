package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// removeMade removes a folder of the repository root that an earlier run has made, such as build/release.
// It follows no link: neither dir nor a folder above it may be one that leads elsewhere.
func removeMade(root, dir string) (err error) {
	dir = filepath.ToSlash(dir)
	if !fs.ValidPath(dir) || dir == "." {
		return fmt.Errorf("%s is not a folder of the repository", dir)
	}
	in, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	for above := path.Dir(dir); above != "."; above = path.Dir(above) {
		info, err := in.Lstat(above)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is not a folder: %s was not removed", above, dir)
		}
	}
	return in.RemoveAll(dir)
}
