package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A Tx is a transaction of Write.
type Tx struct {
	*database
	store *Store
	woken bool // there are new wake-ups: the clock must check them after the commit
}

// insideWrite marks the context of a function that Write runs.
type insideWrite struct{}

// maxAttempts bounds how often a transaction is run against others that touch the same
// rows. The waits between sum up to about six seconds.
const maxAttempts = 60

// maxDuplicates bounds how often a transaction is run again because of a duplicate key, or
// because it went on after a statement that failed. PostgreSQL reports a duplicate key, and not
// a conflict, to a transaction that inserted a row without looking for it first; the next
// attempt finds the row that another transaction inserted. What went on may have taken a
// conflict for something else. A faulty transaction fails with the same error at every attempt.
const maxDuplicates = 3

// Write runs f in one transaction, which commits when f returns nil.
//
// No two transactions see each other half done: SQLite runs one at a time, PostgreSQL
// runs them serializable and has f run again when it lost against another. So f must
// change nothing but rows of the transaction and variables that it sets anew each time,
// must not wait for anything outside, and must not call Write: that fails on either
// database when it is given f's context, and with another one waits for itself on SQLite.
//
// The error is that of f or of the database; a failure of the disk or the server is wrapped in
// a *StorageError.
func (s *Store) Write(ctx context.Context, f func(ctx context.Context, tx *Tx) error) error {
	if ctx.Value(insideWrite{}) == s {
		return errors.New("write: called inside another write")
	}
	options := &sql.TxOptions{}
	if s.isPostgres() {
		options.Isolation = sql.LevelSerializable
	}
	inner := context.WithValue(ctx, insideWrite{}, s)
	for attempt := 1; ; attempt++ {
		var err error
		if s.isPostgres() {
			err = s.alone(inner, time.Now(), options, f)
		} else {
			err = s.together(inner, f)
		}
		if err == nil {
			return nil
		}
		if attempt == maxAttempts || !isConflict(err) && (!isDuplicate(err) || attempt > maxDuplicates) {
			return err
		}
		if err := pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// alone runs f in a separate transaction. begun is when the wait for it started.
func (s *Store) alone(ctx context.Context, begun time.Time, options *sql.TxOptions, f func(ctx context.Context, tx *Tx) error) error {
	conn, release, err := s.durable(ctx, begun)
	if err != nil {
		return fmt.Errorf("begin: %w", s.explain(err))
	}
	defer release()
	return s.transact(ctx, conn, options, f)
}

func (s *Store) transact(ctx context.Context, conn beginner, options *sql.TxOptions, f func(ctx context.Context, tx *Tx) error) error {
	begun, err := conn.BeginTx(ctx, options)
	if err != nil {
		return fmt.Errorf("begin: %w", s.explain(err))
	}
	done := false
	defer func() {
		if !done { // f failed or panicked; its own error is the one that matters
			_ = begun.Rollback()
		}
	}()
	tx := &Tx{database: s.on(begun), store: s}
	if err := f(ctx, tx); err != nil {
		return s.explain(err)
	}
	done = true
	if err := begun.Commit(); err != nil {
		return fmt.Errorf("commit: %w", s.explain(err))
	}
	if tx.woken {
		s.ring()
	}
	return nil
}

// inTx runs f in a transaction that is not one of Write.
func (s *Store) inTx(ctx context.Context, conn beginner, options *sql.TxOptions, f func(tx DB) error) error {
	begun, err := conn.BeginTx(ctx, options)
	if err != nil {
		return err
	}
	if err := f(s.on(begun)); err != nil {
		return errors.Join(err, begun.Rollback())
	}
	return begun.Commit()
}

// A beginner is a database or a connection to it.
type beginner interface {
	BeginTx(ctx context.Context, options *sql.TxOptions) (*sql.Tx, error)
}

// durable lends the connection whose commits survive the loss of power. On PostgreSQL all do;
// the SQLite connection is set to sync its log while it is lent.
func (s *Store) durable(ctx context.Context, begun time.Time) (beginner, func(), error) {
	if s.isPostgres() {
		return s.writer, func() {}, nil
	}
	conn, giveBack, err := s.lend(ctx, begun)
	if err != nil {
		return nil, nil, err
	}
	release := func() {
		// Where this fails, the next user of the connection syncs more than it has to.
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA synchronous = NORMAL")
		giveBack()
	}
	if _, err := conn.ExecContext(ctx, "PRAGMA synchronous = FULL"); err != nil {
		release()
		return nil, nil, err
	}
	return conn, release, nil
}

// isConflict reports whether PostgreSQL aborted a transaction because of a conflict with
// another one, so that it can be run again.
func isConflict(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	return pg.Code == "40001" || pg.Code == "40P01" // serialization failure, deadlock
}

// isDuplicate reports whether PostgreSQL rejected a duplicate key, or a statement after one that
// failed.
func isDuplicate(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "23505" || pg.Code == "25P02")
}

// pause waits a random while, longer with each attempt, so that two transactions do not
// meet again.
func pause(ctx context.Context, attempt int) error {
	limit := min(time.Millisecond<<min(attempt, 10), 200*time.Millisecond)
	timer := time.NewTimer(rand.N(limit))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
