package store

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A NewerError says that a newer program has written the store, which this one would
// misread.
type NewerError struct {
	Where   string // the file, or "the PostgreSQL database"
	Store   int64  // the version of the store
	Program int64  // the newest version that this program knows
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s is of version %d, and this program knows versions up to %d: use the newer program that wrote it, or another folder or database",
		e.Where, e.Store, e.Program)
}

// A LockedError says that another process has the folder of an SQLite store.
type LockedError struct {
	Dir string
	PID int // of the holder; 0 when it cannot be told
}

func (e *LockedError) Error() string {
	holder := "another process"
	if e.PID != 0 {
		holder = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("%s is in use by %s: stop it, or choose another folder", e.Dir, holder)
}

// A StorageError says that the disk or the file is at fault, and what to do.
type StorageError struct {
	Path   string
	What   string // "is damaged"
	Advice string
	Err    error
}

func (e *StorageError) Error() string {
	return fmt.Sprintf("%s %s: %s (%v)", e.Path, e.What, e.Advice, e.Err)
}

func (e *StorageError) Unwrap() error { return e.Err }

// explain makes a *StorageError of what SQLite or the file system says about the disk or
// the file, and leaves every other error as it is.
func (s *Store) explain(err error) error {
	var known *StorageError
	if err == nil || errors.As(err, &known) {
		return err
	}
	fault := func(path, what, advice string) error {
		return &StorageError{Path: path, What: what, Advice: advice, Err: err}
	}
	damaged := func() error {
		return fault(s.file, "is damaged or no database", "restore it from a copy, or move it away together with its -wal and -shm files to begin with an empty store")
	}
	full := func(path string) error {
		return fault(path, "cannot grow", "the disk is full; make room and try again")
	}
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		switch lite.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return damaged()
		case sqlite3.SQLITE_FULL:
			return full(s.file)
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
			return fault(s.file, "cannot be written", "allow this user to write the file and its folder, or choose another folder")
		case sqlite3.SQLITE_IOERR:
			return fault(s.file, "cannot be read or written", "look after the disk, which may be full or failing")
		}
		return err
	}
	if s.config.Dir == "" {
		return err
	}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return full(s.config.Dir)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fault(s.config.Dir, "cannot be written", "allow this user to write the folder, or choose another one")
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return fault(s.config.Dir, "is no folder", "choose another one")
	}
	return err
}
