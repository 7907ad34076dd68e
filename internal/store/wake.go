package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// wakeup names what has to be looked at. The table wakeups has one row for a kind and id,
// waiting or running or both, and counts in attempts how often it failed in a row:
//
//	due   node  queued
//	set   ''    0      waits for its time
//	set   ''    set    given to River at that time
//	NULL  set   0      its worker runs on that node
//	set   set   0      its worker runs, and has to run once more
type wakeup struct {
	Kind   string
	ID     string
	Due    Time
	Queued Time
}

// Wake has the worker of a kind look at id, at a time; the zero time means now. It
// happens if the transaction commits.
//
// One wake-up waits for a kind and id: of two, the earlier time counts. While the worker
// runs, Wake has it run once more afterwards, however often it is called. A wake-up
// survives the process. Its kind needs no worker here: it waits for one.
func (tx *Tx) Wake(ctx context.Context, kind, id string, at time.Time) error {
	return tx.WakeAll(ctx, kind, []string{id}, at)
}

// WakeAll is Wake for several ids, which must differ, in few statements.
func (tx *Tx) WakeAll(ctx context.Context, kind string, ids []string, at time.Time) error {
	due := At(at)
	if at.IsZero() {
		due = tx.store.Now()
	}
	for part := range slices.Chunk(ids, 100) {
		var values strings.Builder
		args := make([]any, 0, 3*len(part))
		for i, id := range part {
			if kind == "" || id == "" {
				return fmt.Errorf("wake: kind %q and id %q must not be empty", kind, id)
			}
			if i > 0 {
				values.WriteString(", ")
			}
			values.WriteString("(?, ?, ?)")
			args = append(args, kind, id, due)
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO wakeups (kind, id, due) VALUES "+values.String()+`
			ON CONFLICT (kind, id) DO UPDATE SET due = excluded.due WHERE wakeups.due IS NULL OR excluded.due < wakeups.due`, args...)
		if err != nil {
			return fmt.Errorf("wake %s %s: %w", kind, part[0], err)
		}
		tx.woken = true
	}
	return nil
}

// Unwake takes back what is waiting for a kind and id, if the transaction commits. A
// worker that runs is not stopped, and runs again only if it asks for that itself.
func (tx *Tx) Unwake(ctx context.Context, kind, id string) error {
	_, err := tx.ExecContext(ctx, "DELETE FROM wakeups WHERE kind = ? AND id = ? AND node = ''", kind, id)
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE wakeups SET due = NULL WHERE kind = ? AND id = ? AND due IS NOT NULL", kind, id)
	}
	if err != nil {
		return fmt.Errorf("unwake %s %s: %w", kind, id, err)
	}
	return nil
}

// claim makes a wake-up that is due this node's. It says false when there is nothing to
// do: the wake-up was taken back, or another node has it. One that is this node's already
// is claimed as well: the answer to the first claim may have been lost with a connection.
// The caller sees to it that nobody else on this node has it.
func (s *Store) claim(ctx context.Context, kind, id, node string) (attempts int64, claimed bool, err error) {
	var rows []int64
	err = s.writer.NewRaw(`UPDATE wakeups SET node = ?, queued = 0, due = NULL
		WHERE kind = ? AND id = ? AND (node = ? OR node = '' AND due IS NOT NULL AND (queued > 0 OR due <= ?)) RETURNING attempts`,
		node, kind, id, node, s.Now()).Scan(ctx, &rows)
	if err != nil || len(rows) == 0 {
		return 0, false, err
	}
	return rows[0], true, nil
}

// unclaim gives a wake-up back after its worker ended: to be run again at a time, or, for
// the zero time, only if something is waiting. It says false when the wake-up was no
// longer this node's.
func (s *Store) unclaim(ctx context.Context, kind, id, node string, again Time, attempts int64) (held bool, err error) {
	err = s.writer.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		var rows []wakeup
		err := tx.NewRaw(`UPDATE wakeups SET node = '', queued = 0, attempts = ?,
				due = CASE WHEN due IS NULL OR due > ? THEN ? ELSE due END
			WHERE kind = ? AND id = ? AND node = ? RETURNING due`,
			attempts, again, again, kind, id, node).Scan(ctx, &rows)
		if err != nil || len(rows) == 0 {
			return err
		}
		held = true
		if rows[0].Due.IsZero() {
			_, err = tx.ExecContext(ctx, "DELETE FROM wakeups WHERE kind = ? AND id = ?", kind, id)
		}
		return err
	})
	return held, err
}

// due marks the wake-ups whose time has come as given to River, and returns them, the
// most urgent first.
func (s *Store) due(ctx context.Context, limit int) ([]wakeup, error) {
	lock := ""
	if s.IsPostgres() {
		lock = "FOR UPDATE SKIP LOCKED"
	}
	now := s.Now()
	var rows []wakeup
	err := s.writer.NewRaw(`UPDATE wakeups SET queued = ? WHERE (kind, id) IN (
			SELECT kind, id FROM wakeups WHERE node = '' AND due <= ? AND queued = 0
			ORDER BY due LIMIT ? ?) RETURNING kind, id, queued`,
		now, now, limit, bun.Safe(lock)).Scan(ctx, &rows)
	return rows, err
}

// requeue finds the wake-ups that were given to River and lost on the way, by a node or
// a connection that died between two steps, and has them given again. What River has
// not handed out yet is not lost, however long the queue: it is handed out in the order
// in which it was given. A wake-up that River holds twice runs once.
func (s *Store) requeue(ctx context.Context) (found int64, err error) {
	before := At(s.Now().Add(-lostAfter))
	const lost = "node = '' AND queued > 0 AND queued < ?"
	suspects, err := s.reader.NewSelect().TableExpr("wakeups").Where(lost, before).Exists(ctx)
	if err != nil || !suspects {
		return 0, err
	}
	next, err := s.nextCarried(ctx)
	if err != nil {
		return 0, err
	}
	if given := time.UnixMicro(next.Given); next.Given > 0 && given.Add(-lostAfter).Before(before.Time) {
		before = At(given.Add(-lostAfter))
	}
	return affected(s.writer.ExecContext(ctx, "UPDATE wakeups SET queued = 0 WHERE "+lost, before))
}

// nextDue is when the next wake-up has to be given to River, or zero.
func (s *Store) nextDue(ctx context.Context) (Time, error) {
	var next Time
	err := s.reader.NewRaw("SELECT min(due) FROM wakeups WHERE node = '' AND queued = 0").Scan(ctx, &next)
	return next, err
}

// reclaimAll makes every wake-up that a dead process ran or was about to run wait again.
// Only the holder of an SQLite store's lock may call it: nobody else runs anything.
// River's own tables carry nothing that the wake-ups do not know; emptying them also
// ends the leadership of the dead process, which would stand for 15 s.
func (s *Store) reclaimAll(ctx context.Context) error {
	return s.writer.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		for _, statement := range []string{
			"DELETE FROM river_job",
			"DELETE FROM river_leader",
		} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("take over from the last process: %w", err)
			}
		}
		_, err := tx.ExecContext(ctx, `UPDATE wakeups SET node = '', queued = 0, due = CASE WHEN due IS NULL THEN ? ELSE due END
			WHERE node <> '' OR queued > 0`, s.Now())
		if err != nil {
			return fmt.Errorf("take over from the last process: %w", err)
		}
		return nil
	})
}
