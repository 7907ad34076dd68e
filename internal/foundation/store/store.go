package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Config says where a store is. Either Dir or DSN must be set.
type Config struct {
	// Dir is the folder of an SQLite store: formwork.db, blobs and lock. It is made,
	// readable by its owner only, when it does not exist; those in it are so in any folder.
	// A PostgreSQL store needs none.
	Dir string

	// DSN is the URL of a PostgreSQL database (postgres://…), and then Dir is not used.
	// Empty means SQLite in Dir.
	DSN string

	// Sealer encrypts the columns whose fields have a tag seal. Nil writes them in clear.
	Sealer Sealer

	// Logger hears what happens in the background. Nil discards it.
	Logger *slog.Logger

	// Now is the clock for rows and wake-ups. Nil means time.Now.
	Now func() time.Time

	// NewID generates the names of nodes, which must not repeat. Nil means random ones.
	NewID func() string

	// Concurrency is how many workers run at once. Zero means 64.
	Concurrency int

	// MaxConns bounds the connections to PostgreSQL. Zero means 16.
	MaxConns int

	// Poll is how often the table of wake-ups is read without a notification: after a node of
	// a shared database died, or the clock was set. Zero means 1 s.
	Poll time.Duration

	// Lease is how long a node of a shared database may be silent before others take over its
	// work. Zero means 15 s. A node that loses its lease cancels its workers' contexts.
	Lease time.Duration

	// StopGrace is how long Close lets running workers continue before it cancels their
	// contexts, and StopTimeout how long it waits for them after that. Zero means 1 s and 10
	// s.
	StopGrace   time.Duration
	StopTimeout time.Duration
}

// A Store is an open store. Its methods may be called from several goroutines.
type Store struct {
	config Config
	logger *slog.Logger
	file   string // of an SQLite database

	writer  *sql.DB // SQLite: one connection; PostgreSQL: the pool
	reader  *sql.DB // PostgreSQL: the same pool
	lock    *folderLock
	blobs   *Blobs
	locks   lockWatch
	damaged atomic.Bool // SQLite: a statement has found that the file is
	queue   queue       // SQLite: of Write

	mu       sync.Mutex
	dispatch *dispatcher
	closed   bool
}

// Open opens a store, creates it if it does not exist, and migrates it to the schema of this
// program.
//
// Besides database errors, the error is a *NewerError if a newer program has written the
// store, a *LockedError if another process uses the folder of an SQLite store, and a
// *StorageError if the disk or the file fails.
func Open(ctx context.Context, config Config) (*Store, error) {
	config = config.withDefaults()
	s := &Store{config: config, logger: config.Logger}
	open := s.openSQLite
	switch {
	case config.DSN != "":
		open = s.openPostgres
	case config.Dir == "":
		return nil, errors.New("open store: missing folder or database URL")
	}
	if err := open(ctx); err != nil {
		_ = s.release() // the first error is the one that matters
		return nil, fmt.Errorf("open store: %w", s.explainFile(err))
	}
	return s, nil
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = rand.Text
	}
	orInt := func(v *int, def int) {
		if *v <= 0 {
			*v = def
		}
	}
	orDuration := func(v *time.Duration, def time.Duration) {
		if *v <= 0 {
			*v = def
		}
	}
	orInt(&c.Concurrency, 64)
	orInt(&c.MaxConns, 16)
	orDuration(&c.Poll, time.Second)
	orDuration(&c.Lease, 15*time.Second)
	orDuration(&c.StopGrace, time.Second)
	orDuration(&c.StopTimeout, 10*time.Second)
	return c
}

// Close stops the workers and closes the store. Running workers get StopGrace to end, then
// their contexts are canceled; the next process that opens the store resumes unfinished work.
// The error reports that a worker did not end even then.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	return errors.Join(s.StopWork(), s.release())
}

// StopWork stops the workers as Close does and leaves the store open, for callers that must
// stop what the workers used before they close the store.
func (s *Store) StopWork() error {
	s.mu.Lock()
	dispatch := s.dispatch
	s.dispatch = nil
	s.mu.Unlock()
	if dispatch == nil {
		return nil
	}
	return dispatch.stop()
}

// release returns what Open took, as far as it came.
func (s *Store) release() error {
	var errs []error
	if s.reader != nil && s.reader != s.writer {
		errs = append(errs, s.reader.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.release())
	}
	return errors.Join(errs...)
}

// isPostgres reports whether several nodes share the store through PostgreSQL. Use SQL that
// both databases understand; this is for the exceptions.
func (s *Store) isPostgres() bool { return s.config.DSN != "" }

// Now is the time by the store's clock.
func (s *Store) Now() Time { return At(s.config.Now()) }

// Blobs are the store's blobs.
func (s *Store) Blobs() *Blobs { return s.blobs }

// Read queries what has been committed. On SQLite it cannot write.
func (s *Store) Read() DB { return s.on(s.reader) }

// on executes statements by a connection.
func (s *Store) on(c conn) *database { return &database{c, s.isPostgres(), s.config.Sealer} }

// Readers is how many queries of Read can run at once. More wait, in no order.
func (s *Store) Readers() int { return s.reader.Stats().MaxOpenConnections }

func (s *Store) openSQLite(ctx context.Context) error {
	dir, err := filepath.Abs(s.config.Dir)
	if err != nil {
		return err
	}
	s.config.Dir = dir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if s.lock, err = lockFolder(filepath.Join(dir, "lock")); err != nil {
		return err
	}
	s.file = filepath.Join(dir, "formwork.db")
	blobs := filepath.Join(dir, "blobs")
	if err := s.requireDatabase(blobs); err != nil {
		return err
	}
	if err := s.makePrivate(s.file, blobs); err != nil {
		return err
	}
	if s.writer, s.reader, err = openSQLiteFile(s.file); err != nil {
		return err
	}
	if err := s.migrate(ctx); err != nil {
		return err
	}
	if err := s.reclaimAll(ctx); err != nil {
		return err
	}
	s.blobs, err = newFileBlobs(s, blobs)
	return err
}

// requireDatabase refuses a folder whose database is gone: its folder for incoming blobs is made
// after the database.
func (s *Store) requireDatabase(blobs string) error {
	if _, err := os.Stat(filepath.Join(blobs, incoming)); err != nil {
		return nil //nolint:nilerr // there was no database, or what is wrong shows next
	}
	info, err := os.Stat(s.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &StorageError{Path: s.file, What: "is missing", Advice: adviceLost, Err: errors.New("the folder has the blobs of a database")}
	case err == nil && info.Size() == 0:
		return &StorageError{Path: s.file, What: "is empty", Advice: adviceLost, Err: errors.New("the folder has the blobs of a database")}
	}
	return err
}

func (s *Store) openPostgres(ctx context.Context) error {
	db, err := openPostgresPool(s.config.DSN, s.config.MaxConns)
	if err != nil {
		return err
	}
	s.writer, s.reader = db, db
	if err := s.migrate(ctx); err != nil {
		return err
	}
	s.blobs = newTableBlobs(s)
	return nil
}
