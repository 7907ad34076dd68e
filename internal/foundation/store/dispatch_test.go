package store

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// This file is about how wake-ups are handed out, beneath the contract in wake_test.go.

// TestLostClaim claims a wake-up for a node that does not hear of it, as when the answer
// of the database is lost with its connection.
func TestLostClaim(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		config.Poll = 5 * time.Millisecond
		s := open(t, config)
		var r recorder
		work(t, s, map[string]Run{"k": r.work})
		if _, err := Exec(t.Context(), s.on(s.writer), "INSERT INTO wakeups (kind, id, due, node) VALUES ('k', 'id', NULL, ?)", s.dispatch.lease.tenure().node); err != nil {
			t.Fatal(err)
		}
		idle(t, s)
		if got := r.seen(); !slices.Equal(got, []string{"id"}) {
			t.Errorf("ran %q", got)
		}
	})
}

func TestClaim(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		clock := newClock()
		config.Now = clock.now
		s := open(t, config)
		for i, id := range []string{"c", "b", "a", "later"} {
			wake(t, s, "k", id, clock.now().Add(time.Duration(-i)*time.Second))
		}
		wake(t, s, "k", "later", time.Time{}) // no later than before
		wake(t, s, "k", "tomorrow", clock.now().Add(24*time.Hour))
		claim := func(limit int) (ids []string) {
			t.Helper()
			rows, err := s.claim(t.Context(), "node", limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				ids = append(ids, row.ID)
			}
			slices.Sort(ids)
			return ids
		}
		if got := claim(2); !slices.Equal(got, []string{"a", "later"}) {
			t.Errorf("claimed %q, want the two that have waited longest", got)
		}
		if got := claim(10); !slices.Equal(got, []string{"b", "c"}) {
			t.Errorf("claimed %q, want the rest of what is due", got)
		}
		if got := claim(10); len(got) != 0 {
			t.Errorf("claimed %q twice", got)
		}
	})
}

// TestUnclaim writes outcomes of every kind at once.
func TestUnclaim(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		clock := newClock()
		config.Now = clock.now
		s := open(t, config)
		now := clock.now()
		at := func(d time.Duration) Time { return At(now.Add(d)) }
		out := func(id string, again Time, attempts int64) outcome {
			return outcome{wakeup: wakeup{Kind: "k", ID: id, Attempts: attempts}, node: "node", again: again}
		}
		for _, id := range []string{"done", "woken", "again", "earlier", "failed", "gone"} {
			wake(t, s, "k", id, time.Time{})
		}
		if rows, err := s.claim(t.Context(), "node", 10); err != nil || len(rows) != 6 {
			t.Fatalf("claimed %v, %v", rows, err)
		}
		for _, id := range []string{"woken", "earlier"} {
			wake(t, s, "k", id, time.Time{})
		}
		if _, err := Exec(t.Context(), s.on(s.writer), "UPDATE wakeups SET node = 'other' WHERE id = 'gone'"); err != nil {
			t.Fatal(err)
		}
		outcomes := []outcome{out("done", Time{}, 0), out("woken", Time{}, 0), out("again", at(time.Hour), 0), out("earlier", at(time.Hour), 0), out("failed", at(time.Minute), 3), out("gone", Time{}, 0)}
		for range 2 { // the answer to the first may have been lost
			if _, err := s.unclaim(t.Context(), outcomes); err != nil {
				t.Fatal(err)
			}
		}
		var rows []struct {
			ID       string `db:"id"`
			Due      Time   `db:"due"`
			Node     string `db:"node"`
			Attempts int64  `db:"attempts"`
		}
		if err := Query(t.Context(), s.Read(), &rows, "SELECT id, due, node, attempts FROM wakeups ORDER BY id"); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range rows {
			due := "never"
			if !row.Due.IsZero() {
				due = row.Due.Sub(now).String()
			}
			got = append(got, fmt.Sprintf("%s %s %q %d", row.ID, due, row.Node, row.Attempts))
		}
		want := []string{`again 1h0m0s "" 0`, `earlier 0s "" 0`, `failed 1m0s "" 3`, `gone never "other" 0`, `woken 0s "" 0`}
		if !slices.Equal(got, want) {
			t.Errorf("the table has\n%q, want\n%q", got, want)
		}
	})
}

// TestRunsOfOneIDNeverOverlap has a worker outlive its lease: the next run in the same
// process waits for it.
func TestRunsOfOneIDNeverOverlap(t *testing.T) {
	config := postgres(t)
	config.Lease = 500 * time.Millisecond
	s := open(t, config)
	entered, proceed := make(chan int, 10), make(chan struct{})
	run := 0
	work(t, s, map[string]Run{"k": func(context.Context, string) (time.Time, error) {
		run++ // the race detector has an eye on it
		entered <- run
		if run == 1 {
			<-proceed
		}
		return time.Time{}, nil
	}})
	wake(t, s, "k", "id", time.Time{})
	<-entered
	first := s.dispatch.lease.tenure().node
	if _, err := Exec(t.Context(), s.on(s.writer), "DELETE FROM nodes"); err != nil { // taken for dead
		t.Fatal(err)
	}
	fixtures.Await(t, "the wake-up is claimed under the next lease", func() bool {
		n, err := Count(t.Context(), s.Read(), "FROM wakeups WHERE node NOT IN ('', ?)", first)
		return err == nil && n == 1
	})
	select {
	case <-entered:
		t.Fatal("two runs at a time")
	case <-time.After(50 * time.Millisecond):
	}
	close(proceed)
	<-entered
	idle(t, s)
}

// TestClockGoesBack sets the clock back by an hour, while the store is open and while it is not:
// what was to run in a moment still does.
func TestClockGoesBack(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		config.Poll = 5 * time.Millisecond
		clock := newClock()
		config.Now = clock.now
		s := open(t, config)
		var r recorder
		again := clock.now().Add(time.Hour)
		work(t, s, map[string]Run{"k": r.work, "again": func(context.Context, string) (time.Time, error) { return again, nil }})
		wake(t, s, "again", "id", time.Time{}) // waits for the time that it asked for
		wake(t, s, "k", "soon", clock.now().Add(time.Minute))
		wake(t, s, "k", "tomorrow", clock.now().Add(24*time.Hour))
		clock.advance(-3 * time.Second) // no matter
		if fixtures.Happens(50*time.Millisecond, func() bool { return len(r.seen()) > 0 }) {
			t.Errorf("ran %q before the clock was set", r.seen())
		}
		clock.advance(-time.Hour)
		fixtures.Await(t, "what waited is looked at", func() bool { return len(r.seen()) == 2 })
		if got := slices.Sorted(slices.Values(r.seen())); !slices.Equal(got, []string{"soon", "tomorrow"}) {
			t.Errorf("ran %q", got)
		}
		wake(t, s, "k", "later", clock.now().Add(time.Minute))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		clock.advance(-time.Hour)
		s = open(t, config)
		work(t, s, map[string]Run{"k": r.work})
		fixtures.Await(t, "what waited when the store was closed is looked at", func() bool { return slices.Contains(r.seen(), "later") })
	})
}

// TestClockOfTheDatabaseGoesBack has a node die before the clock of the database is set back by
// an hour: its work is taken over after a lease, not after an hour.
func TestClockOfTheDatabaseGoesBack(t *testing.T) {
	config := postgres(t)
	config.Lease = 500 * time.Millisecond
	s := open(t, config)
	if _, err := Exec(t.Context(), s.on(s.writer), "INSERT INTO nodes (id, seen) SELECT 'dead', "+databaseTime+" + 3600000000"); err != nil {
		t.Fatal(err)
	}
	if _, err := Exec(t.Context(), s.on(s.writer), "INSERT INTO wakeups (kind, id, due, node) VALUES ('k', 'id', NULL, 'dead')"); err != nil {
		t.Fatal(err)
	}
	var r recorder
	work(t, s, map[string]Run{"k": r.work})
	fixtures.Await(t, "the work of the dead node is taken over", func() bool { return slices.Equal(r.seen(), []string{"id"}) })
}
