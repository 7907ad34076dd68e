package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// makePrivate makes the files of an SQLite database private to their owner, whatever the
// folder allows: type configurations, logs and recorded requests are unencrypted in them. It
// creates the database before SQLite would; SQLite gives its other files the same mode. It
// also restricts existing files; a file system that does not support that does not prevent the
// start.
func (s *Store) makePrivate(database, blobs string) error {
	file, err := os.OpenFile(database, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = file.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, path := range []string{database, database + "-wal", database + "-shm", blobs} {
		if err := s.closeToOthers(path); err != nil {
			return err
		}
	}
	return nil
}

// closeToOthers takes away what a path allows to others than its owner. The permissions
// of Windows are inherited from the folder, and are not to be seen in a mode.
func (s *Store) closeToOthers(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0:
		return nil
	}
	mode := info.Mode().Perm() &^ 0o077
	if err := os.Chmod(path, mode); err != nil {
		s.logger.Warn("others than its owner may use what the store keeps, and that cannot be changed",
			"path", path, "mode", fmt.Sprintf("%#o", info.Mode().Perm()), "error", err)
		return nil
	}
	s.logger.Warn("others than its owner could use what the store keeps: its mode is changed",
		"path", path, "was", fmt.Sprintf("%#o", info.Mode().Perm()), "is", fmt.Sprintf("%#o", mode))
	return nil
}
