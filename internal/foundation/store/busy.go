package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// lockPatience is how long a transaction waits for the SQLite database while another program
// has it locked. Callers of the API get their answer within 5 s.
const lockPatience = 4500 * time.Millisecond

// errBusy is the error of a transaction that could not start because others waited before it
// for a locked database.
var errBusy = errors.New("the database is locked by another program")

// A lockWatch remembers when the database was last found locked.
type lockWatch struct{ at atomic.Int64 }

// saw takes note of an error.
func (w *lockWatch) saw(err error) {
	if isBusy(err) {
		w.at.Store(time.Now().UnixNano())
	}
}

func (w *lockWatch) lately() bool {
	return time.Since(time.Unix(0, w.at.Load())) < 2*lockPatience
}

// isBusy reports whether SQLite gave up because another program has locked the database.
func isBusy(err error) bool {
	var lite *sqlite.Error
	return errors.As(err, &lite) && (lite.Code()&0xff == sqlite3.SQLITE_BUSY || lite.Code()&0xff == sqlite3.SQLITE_LOCKED)
}

// lend waits for the connection that writes; begun is when the wait started. The wait fails
// when the database has been locked for all of it: transactions that waited together need not
// wait again, one after the other. The connection waits for a lock no longer than the rest of
// lockPatience.
func (s *Store) lend(ctx context.Context, begun time.Time) (conn *sql.Conn, release func(), err error) {
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var timer *time.Timer
	timer = time.AfterFunc(lockPatience, func() {
		if s.locks.lately() {
			cancel(errBusy)
			return
		}
		timer.Reset(lockPatience / 10) // it is only long
	})
	timer.Reset(max(0, lockPatience-time.Since(begun)))
	conn, err = s.writer.Conn(waiting)
	timer.Stop()
	if err != nil {
		if cause := context.Cause(waiting); ctx.Err() == nil && errors.Is(cause, errBusy) {
			err = cause
		}
		return nil, nil, err
	}
	waited := time.Since(begun)
	if waited < lockPatience/10 {
		return conn, func() { _ = conn.Close() }, nil
	}
	timeout := func(ctx context.Context, d time.Duration) error {
		_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", max(d, 0).Milliseconds()))
		return err
	}
	release = func() {
		_ = timeout(context.WithoutCancel(ctx), lockPatience)
		_ = conn.Close()
	}
	if err := timeout(ctx, lockPatience-waited); err != nil {
		release()
		return nil, nil, err
	}
	return conn, release, nil
}
