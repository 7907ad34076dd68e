package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A lease is a node's right to the work that it claims. On SQLite it is the lock of the
// folder, and never ends. On PostgreSQL it is a row of nodes, which the node renews over a
// dedicated connection; if the row of a node was not renewed for Config.Lease, the others
// consider the node dead and make its work wait again. Times are by the database's clock.
type lease struct {
	store *Store
	db    *sql.DB // nil on SQLite

	mu      sync.Mutex
	current tenure
	lose    context.CancelFunc // ends it
}

// errLeaseLost is the cause with which the contexts of workers end.
var errLeaseLost = errors.New("this node did not renew its lease in time, and other nodes have taken over its work")

const (
	databaseTime = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
	signOn       = "INSERT INTO nodes (id, seen) VALUES (?, " + databaseTime + ")"
	renew        = "UPDATE nodes SET seen = " + databaseTime + " WHERE id = ?"
	// rejuvenate gives a new lease to nodes whose lease was renewed in the future, because the
	// clock has gone back since: running nodes renew it, and dead ones would otherwise seem
	// alive for that long.
	rejuvenate = "UPDATE nodes SET seen = " + databaseTime + " WHERE seen > " + databaseTime + " + ?"
	bury       = "DELETE FROM nodes WHERE seen < " + databaseTime + " - ?"
	inherit    = waitAgain + ` WHERE node <> '' AND NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.id = wakeups.node)`
)

func takeLease(ctx context.Context, s *Store) (*lease, error) {
	l := &lease{store: s}
	if s.isPostgres() {
		db, err := openPostgresPool(s.config.DSN, 1)
		if err != nil {
			return nil, err
		}
		l.db = db
	}
	if err := l.begin(ctx); err != nil {
		_ = l.close()
		return nil, fmt.Errorf("join the other nodes: %w", err)
	}
	return l, nil
}

// begin starts a lease under a new name: work that was claimed under the old one is lost.
func (l *lease) begin(ctx context.Context) error {
	node := l.store.config.NewID()
	if l.db != nil {
		if _, err := Exec(ctx, l.store.on(l.db), signOn, node); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, lose := context.WithCancel(context.Background())
	l.current, l.lose = tenure{node, ctx}, lose
	return nil
}

// A tenure is one lease, under one name. ctx ends with it.
type tenure struct {
	node string
	ctx  context.Context
}

func (l *lease) tenure() tenure {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}

// during is ctx, ended with the lease. The caller calls leave when it is done.
func (t tenure) during(ctx context.Context) (leased context.Context, leave func()) {
	leased, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(t.ctx, func() { cancel(errLeaseLost) })
	return leased, func() {
		stop()
		cancel(nil)
	}
}

// keep renews the lease and takes over from dead nodes, until ctx ends. It calls changed when
// there is more work.
func (l *lease) keep(ctx context.Context, changed func()) {
	if l.db == nil {
		return
	}
	ticker := time.NewTicker(l.store.config.Lease / 5)
	defer ticker.Stop()
	renewed := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		attempt, cancel := context.WithTimeout(ctx, l.store.config.Lease/5)
		taken, err := l.beat(attempt)
		cancel()
		switch {
		case err == nil:
			renewed = time.Now()
		case ctx.Err() != nil:
			return
		default:
			l.store.logger.WarnContext(ctx, "lease cannot be renewed", "silent", time.Since(renewed), "error", err)
			// Half of the lease leaves time for this to happen before others take over.
			if time.Since(renewed) > l.store.config.Lease/2 {
				l.lost()
			}
		}
		if taken > 0 {
			l.store.logger.InfoContext(ctx, "took over from dead nodes", "wake-ups", taken)
			changed()
		}
	}
}

// beat renews the lease, or starts a new one, and returns how many wake-ups of dead nodes wait
// again.
func (l *lease) beat(ctx context.Context) (taken int64, err error) {
	current := l.tenure()
	lost := current.ctx.Err() != nil
	if !lost {
		count, err := Exec(ctx, l.store.on(l.db), renew, current.node)
		if err != nil {
			return 0, err
		}
		if lost = count == 0; lost {
			l.lost()
		}
	}
	if lost {
		if err := l.begin(ctx); err != nil {
			return 0, err
		}
	}
	return l.takeOver(ctx)
}

// takeOver makes the work of dead nodes wait again. The transaction fails, and is left
// for the next beat, when another node does the same: a wake-up that a new node claims
// meanwhile must not be taken from it.
func (l *lease) takeOver(ctx context.Context) (taken int64, err error) {
	err = l.store.inTx(ctx, l.db, &sql.TxOptions{Isolation: sql.LevelRepeatableRead}, func(tx DB) error {
		for _, statement := range []string{rejuvenate, bury} {
			if _, err := Exec(ctx, tx, statement, l.store.config.Lease.Microseconds()); err != nil {
				return err
			}
		}
		now := l.store.Now()
		taken, err = Exec(ctx, tx, inherit, now, now)
		return err
	})
	if isConflict(err) {
		return 0, nil
	}
	return taken, err
}

// lost ends the contexts of the workers of this lease.
func (l *lease) lost() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose()
}

// end releases the lease. Claimed work waits again at once.
func (l *lease) end(ctx context.Context) {
	l.lost()
	if l.db == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := Exec(ctx, l.store.on(l.db), "DELETE FROM nodes WHERE id = ?", l.tenure().node)
	if err == nil {
		now := l.store.Now()
		_, err = Exec(ctx, l.store.on(l.db), inherit, now, now)
	}
	if err = errors.Join(err, l.close()); err != nil {
		l.store.logger.WarnContext(ctx, "lease cannot be given back; others will take over when it has ended", "error", err)
	}
}

func (l *lease) close() error {
	if l.db == nil {
		return nil
	}
	return l.db.Close()
}
