package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A wakeup names what has to be looked at. The table wakeups has one row for a kind and
// id, waiting or running or both, and counts in attempts how often it failed in a row:
//
//	due   node
//	set   ''    waits for its time
//	NULL  set   its worker runs on that node
//	set   set   its worker runs, and has to run once more
//
// set_at is when due was set, by the same clock.
type wakeup struct {
	Kind     string `db:"kind"`
	ID       string `db:"id"`
	Attempts int64  `db:"attempts"`
}

func (w wakeup) key() string { return w.Kind + "\x00" + w.ID }

// Wake runs the worker of a kind for id, at a time; the zero time means now. It happens if the
// transaction commits.
//
// One wake-up waits for a kind and id: of two, the earlier time counts. While the worker runs,
// Wake makes it run one more time afterwards, however often it is called. A wake-up survives
// the process. Its kind needs no worker here: the wake-up waits for one.
func (tx *Tx) Wake(ctx context.Context, kind, id string, at time.Time) error {
	return tx.WakeAll(ctx, kind, []string{id}, at)
}

// WakeAll is Wake for several ids, which must differ, in few statements.
func (tx *Tx) WakeAll(ctx context.Context, kind string, ids []string, at time.Time) error {
	now, due := tx.store.Now(), At(at)
	if at.IsZero() {
		due = now
	}
	size := 1
	if tx.postgres {
		size = insertAtOnce
	}
	for part := range slices.Chunk(ids, size) {
		args := make([]any, 0, 4*len(part))
		for _, id := range part {
			if kind == "" || id == "" {
				return fmt.Errorf("wake: kind %q and id %q must not be empty", kind, id)
			}
			args = append(args, kind, id, due, now)
		}
		_, err := Exec(ctx, tx, "INSERT INTO wakeups (kind, id, due, set_at) VALUES "+tuples(len(part), "(?, ?, ?, ?)")+`
			ON CONFLICT (kind, id) DO UPDATE SET due = excluded.due, set_at = excluded.set_at WHERE wakeups.due IS NULL OR excluded.due < wakeups.due`, args...)
		if err != nil {
			return fmt.Errorf("wake %s %s: %w", kind, part[0], err)
		}
		tx.woken = true
	}
	return nil
}

// CancelWake cancels a waiting wake-up for a kind and id, if the transaction commits. A
// running worker is not stopped, and runs again only on its own request.
func (tx *Tx) CancelWake(ctx context.Context, kind, id string) error {
	_, err := Exec(ctx, tx, "DELETE FROM wakeups WHERE kind = ? AND id = ? AND node = ''", kind, id)
	if err == nil {
		_, err = Exec(ctx, tx, "UPDATE wakeups SET due = NULL WHERE kind = ? AND id = ? AND due IS NOT NULL", kind, id)
	}
	if err != nil {
		return fmt.Errorf("unwake %s %s: %w", kind, id, err)
	}
	return nil
}

// claim assigns due wake-ups to this node, and returns them, the most urgent first.
func (s *Store) claim(ctx context.Context, node string, limit int) ([]wakeup, error) {
	lock := ""
	if s.isPostgres() {
		lock = " FOR UPDATE SKIP LOCKED"
	}
	var rows []wakeup
	err := Query(ctx, s.on(s.writer), &rows, `UPDATE wakeups SET node = ?, due = NULL WHERE (kind, id) IN (
			SELECT kind, id FROM wakeups WHERE node = '' AND due <= ? ORDER BY due LIMIT ?`+lock+`)
		RETURNING kind, id, attempts`, node, s.Now(), limit)
	return rows, err
}

// claimed are the wake-ups that the table says this node has.
func (s *Store) claimed(ctx context.Context, node string) ([]wakeup, error) {
	var rows []wakeup
	err := Query(ctx, s.Read(), &rows, "SELECT kind, id, attempts FROM wakeups WHERE node = ?", node)
	return rows, err
}

// An outcome is what came of a worker: its wake-up runs again at a time, or, for the zero
// time, only if something is waiting.
type outcome struct {
	wakeup
	node  string
	again Time
	done  chan struct{} // closed when it is written
}

// unclaim gives wake-ups of one node back after their workers ended. Those that are no
// longer the node's are left alone. With an error it returns those that are still to be given
// back.
func (s *Store) unclaim(ctx context.Context, outcomes []outcome) (left []outcome, err error) {
	if left, err = s.unclaimDone(ctx, outcomes); err != nil {
		return outcomes, err
	}
	return left, s.unclaimWaiting(ctx, left)
}

// unclaimDone deletes the finished wake-ups and returns the other outcomes: those that run
// again, and those that were woken meanwhile. A deleted wake-up may have been created again
// and may run again before this returns, so the old outcome must not change it.
func (s *Store) unclaimDone(ctx context.Context, outcomes []outcome) (left []outcome, err error) {
	var done []any
	for _, o := range outcomes {
		if o.again.IsZero() {
			done = append(done, o.Kind, o.ID)
		}
	}
	if len(done) == 0 {
		return outcomes, nil
	}
	query := "DELETE FROM wakeups WHERE node = ? AND due IS NULL AND (kind, id) IN (VALUES " + tuples(len(done)/2, "(?, ?)") + ") RETURNING kind, id, attempts"
	var rows []wakeup
	if err := Query(ctx, s.on(s.writer), &rows, query, append([]any{outcomes[0].node}, done...)...); err != nil {
		return nil, err
	}
	deleted := map[string]bool{}
	for _, row := range rows {
		deleted[row.key()] = true
	}
	for _, o := range outcomes {
		if !deleted[o.key()] {
			left = append(left, o)
		}
	}
	return left, nil
}

// unclaimWaiting has wake-ups wait again.
func (s *Store) unclaimWaiting(ctx context.Context, outcomes []outcome) error {
	if len(outcomes) == 0 {
		return nil
	}
	var values []any
	for _, o := range outcomes {
		values = append(values, o.Kind, o.ID, o.again, o.Attempts)
	}
	query := `UPDATE wakeups SET node = '', attempts = v.column4,
			set_at = CASE WHEN due IS NULL OR due > v.column3 THEN CAST(? AS BIGINT) ELSE set_at END,
			due = CASE WHEN due IS NULL OR due > v.column3 THEN v.column3 ELSE due END
		FROM (VALUES ` + tuples(len(outcomes), "(?, ?, CAST(? AS BIGINT), CAST(? AS BIGINT))") + `) AS v WHERE wakeups.kind = v.column1 AND wakeups.id = v.column2 AND wakeups.node = ?`
	_, err := Exec(ctx, s.on(s.writer), query, slices.Concat([]any{s.Now()}, values, []any{outcomes[0].node})...)
	return err
}

func tuples(n int, one string) string { return strings.TrimSuffix(strings.Repeat(one+", ", n), ", ") }

// waitAgain has wake-ups wait again that were claimed: at once, unless they were woken for
// another time. Its arguments are the time, twice.
const waitAgain = `UPDATE wakeups SET node = '', set_at = CASE WHEN due IS NULL THEN ? ELSE set_at END, due = CASE WHEN due IS NULL THEN ? ELSE due END`

// clockTolerance is how far the clocks of nodes may differ, and how far a clock may go back
// without effect.
const clockTolerance = 5 * time.Second

// pullBack makes wake-ups due that were set in the future: the clock has gone back since, and
// their time may now be far away. It returns how many.
func (s *Store) pullBack(ctx context.Context) (int64, error) {
	const far = " FROM wakeups WHERE due > ? AND set_at > ?"
	now := s.Now()
	later, found := At(now.Add(clockTolerance)), int64(0)
	if err := Query(ctx, s.Read(), &found, "SELECT count(*)"+far, now, later); err != nil || found == 0 {
		return 0, err
	}
	return Exec(ctx, s.on(s.writer), "UPDATE wakeups SET due = ?, set_at = ? WHERE (kind, id) IN (SELECT kind, id"+far+")", now, now, now, later)
}

// giveBack has a wake-up of this node wait again, at once.
func (s *Store) giveBack(ctx context.Context, node string, w wakeup) error {
	now := s.Now()
	_, err := Exec(ctx, s.on(s.writer), waitAgain+" WHERE kind = ? AND id = ? AND node = ?", now, now, w.Kind, w.ID, node)
	return err
}

// nextDue is when the next wake-up is due, or zero.
func (s *Store) nextDue(ctx context.Context) (Time, error) {
	var next Time
	err := Query(ctx, s.Read(), &next, "SELECT min(due) FROM wakeups WHERE node = ''")
	return next, err
}

// reclaimAll makes every wake-up that a dead process ran wait again. Only the holder of an
// SQLite store's lock may call it: no other process runs workers.
func (s *Store) reclaimAll(ctx context.Context) error {
	now := s.Now()
	_, err := Exec(ctx, s.on(s.writer), waitAgain+" WHERE node <> ''", now, now)
	if err != nil {
		return fmt.Errorf("take over from the previous process: %w", err)
	}
	return nil
}
