package store

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A NewerError reports that a newer program has written the store, which this one would
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

// A LockedError reports that another process uses the folder of an SQLite store.
type LockedError struct {
	Dir string
	PID int // of the holder; 0 if unknown
}

func (e *LockedError) Error() string {
	holder := "another process"
	if e.PID != 0 {
		holder = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("%s is in use by %s: stop it, or choose another folder", e.Dir, holder)
}

// A StorageError reports a failure of the disk, the file or the server, and what to do.
type StorageError struct {
	Path   string // or which server
	What   string // "is damaged"
	Advice string
	Err    error
}

func (e *StorageError) Error() string {
	cause := strings.Join(strings.Fields(e.Err.Error()), " ") // pgx writes several lines
	return fmt.Sprintf("%s %s: %s (%s)", e.Path, e.What, e.Advice, cause)
}

func (e *StorageError) Unwrap() error { return e.Err }

// explain returns a *StorageError for an error of SQLite about the disk or its file, and for a
// PostgreSQL server that denies access, and returns every other error unchanged.
func (s *Store) explain(err error) error {
	s.locks.saw(err)
	var known *StorageError
	var connect *pgconn.ConnectError
	var lite *sqlite.Error
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case errors.As(err, &connect):
		return &StorageError{Path: "PostgreSQL", What: "cannot be reached",
			Advice: "see that the server runs, and that host, port, user, password and database in its URL are right", Err: err}
	}
	fault := func(what, advice string) error {
		return &StorageError{Path: s.file, What: what, Advice: advice, Err: err}
	}
	switch {
	case errors.Is(err, errBusy), isBusy(err):
		return fault("is locked by another program", "stop the program that uses the file")
	case !errors.As(err, &lite):
		return err
	}
	switch lite.Code() & 0xff { // without the extension, which reports where it happened
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		s.damaged.Store(true)
		return fault("is damaged or not a database", adviceDamaged)
	case sqlite3.SQLITE_FULL:
		return fault("cannot grow", adviceFull)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return fault("cannot be written", "give this user write access to the file and its folder, or choose another folder")
	case sqlite3.SQLITE_IOERR:
		return fault("cannot be read or written", "check the disk, which may be full or failing")
	}
	return err
}

const adviceLost = "restore it from a backup, or move its folder away to start with an empty database"

const adviceDamaged = "stop the server and restore the file from a backup, or move its folder away to start with an empty database"

const adviceFull = "the disk is full; make room and try again"

// explainFile is explain for errors of the store's own files, too.
func (s *Store) explainFile(err error) error {
	fault := func(what, advice string) error {
		return &StorageError{Path: s.config.Dir, What: what, Advice: advice, Err: err}
	}
	switch explained := s.explain(err); {
	case explained != err, s.config.Dir == "": //nolint:errorlint // was it changed, not what it is
		return explained
	case errors.Is(err, syscall.ENOSPC):
		return fault("cannot grow", adviceFull)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fault("cannot be written", "give this user write access to the folder, or choose another one")
	case errors.Is(err, syscall.ENOTDIR):
		return fault("is not a folder", "choose another one")
	}
	return err
}
