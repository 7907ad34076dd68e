package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// maxTogether bounds how many functions of Write share a transaction.
const maxTogether = 64

// A queue contains the functions of Write that wait for the SQLite connection that writes. The
// first one leads: it runs all waiting functions in one transaction, one after the other, so that
// many share the most expensive part, the sync of the log. If one of them fails, which is rare,
// the transaction is rolled back and all run again in another one, each behind a savepoint: a
// function that fails then rolls back only its own changes. If that transaction fails as a whole,
// each function runs again in a separate one.
type queue struct {
	mu    sync.Mutex
	turns []*turn
	led   bool // a leader is running
}

// A turn is one function of Write.
type turn struct {
	ctx   context.Context
	begun time.Time
	f     func(ctx context.Context, tx *Tx) error

	wake     chan struct{} // closed when it is over, or leads
	leads    bool
	over     bool
	err      error
	panicked any
	woken    bool
}

// errAlone reports that a transaction of several functions failed, and that this function must
// run in a separate one.
var errAlone = errors.New("the transaction that was shared with others failed")

// together runs f in a transaction that it may share with others.
func (s *Store) together(ctx context.Context, f func(ctx context.Context, tx *Tx) error) error {
	t := &turn{ctx: ctx, begun: time.Now(), f: f, wake: make(chan struct{})}
	q := &s.queue
	q.mu.Lock()
	q.turns = append(q.turns, t)
	t.leads = !q.led
	q.led = true
	q.mu.Unlock()
	if !t.leads {
		select {
		case <-t.wake:
		case <-ctx.Done():
			if q.leave(t) {
				return fmt.Errorf("begin: %w", s.explain(ctx.Err()))
			}
			<-t.wake // its turn has started: it ends soon
		}
	}
	if t.leads && !t.over {
		s.lead(t)
	}
	switch {
	case t.panicked != nil:
		panic(t.panicked)
	case errors.Is(t.err, errAlone):
		return s.alone(ctx, t.begun, &sql.TxOptions{}, f)
	case t.err != nil:
		return t.err
	}
	if t.woken {
		s.ring()
	}
	return nil
}

// leave removes a turn that has not started, and reports whether it did.
func (q *queue) leave(t *turn) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.turns, t)
	if i < 0 || t.leads {
		return false
	}
	q.turns = slices.Delete(q.turns, i, i+1)
	return true
}

// take returns the turns that are run together: the leader's first.
func (q *queue) take() []*turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.turns), maxTogether)
	taken := slices.Clone(q.turns[:n])
	q.turns = slices.Delete(q.turns, 0, n)
	return taken
}

// handOver ends the leadership: the first of those who wait is the next.
func (q *queue) handOver(done []*turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range done {
		t.over = true
		if !t.leads {
			close(t.wake)
		}
	}
	q.led = len(q.turns) > 0
	if q.led {
		next := q.turns[0]
		next.leads = true
		close(next.wake)
	}
}

// lead runs what waits. The caller's turn is the first in the queue.
func (s *Store) lead(own *turn) {
	taken := []*turn{own}
	defer func() { s.queue.handOver(taken) }()
	conn, release, err := s.durable(own.ctx, own.begun)
	if err != nil {
		s.queue.dismiss(own)
		own.err = fmt.Errorf("begin: %w", s.explain(err))
		return
	}
	defer release()
	taken = s.queue.take()
	if len(taken) == 1 {
		own.err = s.transact(own.ctx, conn, &sql.TxOptions{}, own.f)
		return
	}
	if !s.share(own.ctx, conn, taken, false) {
		s.share(own.ctx, conn, taken, true)
	}
}

// share runs functions in one transaction, with savepoints or in the expectation that none of
// them fails, and sets their errors. It reports whether the transaction was committed; if not,
// the errors are errAlone.
func (s *Store) share(ctx context.Context, conn beginner, taken []*turn, savepoints bool) (committed bool) {
	for _, t := range taken {
		t.err, t.panicked = errAlone, nil
	}
	begun, err := conn.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return false
	}
	defer func() {
		if !committed {
			_ = begun.Rollback() // what made that necessary matters more
		}
	}()
	errs := make([]error, len(taken))
	for i, t := range taken {
		if savepoints {
			errs[i] = s.runTurn(begun, t)
		} else if errs[i] = s.runFirst(begun, t); errs[i] != nil {
			return false
		}
		if errors.Is(errs[i], errAlone) {
			return false
		}
	}
	if err := begun.Commit(); err != nil {
		return false
	}
	for i, t := range taken {
		t.err = errs[i]
	}
	return true
}

// dismiss removes a turn from the queue.
func (q *queue) dismiss(t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.turns, t); i >= 0 {
		q.turns = slices.Delete(q.turns, i, i+1)
	}
}

// runFirst runs one of several functions of which none is expected to fail.
func (s *Store) runFirst(begun *sql.Tx, t *turn) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	return s.run(begun, t)
}

// runTurn runs one of several functions behind a savepoint. The error is errAlone if the
// transaction is lost.
func (s *Store) runTurn(begun *sql.Tx, t *turn) error {
	if t.ctx.Err() != nil {
		return fmt.Errorf("begin: %w", s.explain(t.ctx.Err()))
	}
	background := context.WithoutCancel(t.ctx)
	if _, err := begun.ExecContext(background, "SAVEPOINT turn"); err != nil {
		return errAlone
	}
	err := s.run(begun, t)
	if err != nil {
		if _, err := begun.ExecContext(background, "ROLLBACK TO turn"); err != nil {
			return errAlone
		}
	}
	if _, err := begun.ExecContext(background, "RELEASE turn"); err != nil {
		return errAlone
	}
	return s.explain(err)
}

// run runs a function in the transaction. The error of one that panics is errAlone, which no
// other goroutine sees.
func (s *Store) run(begun *sql.Tx, t *turn) (err error) {
	defer func() {
		if t.panicked = recover(); t.panicked != nil {
			err = errAlone
		}
	}()
	tx := &Tx{database: s.on(begun), store: s}
	err = t.f(t.ctx, tx)
	t.woken = tx.woken
	return err
}
