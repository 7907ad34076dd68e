package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// This file is the contract of Wake, CancelWake and Work. It knows nothing of how wake-ups are
// handed out, so that this can be changed under it.

// soon is later than now and early enough to be waited for.
const soon = 150 * time.Millisecond

func wake(t testing.TB, s *Store, kind, id string, at time.Time) {
	t.Helper()
	err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error { return tx.Wake(ctx, kind, id, at) })
	if err != nil {
		t.Fatal(err)
	}
}

func unwake(t testing.TB, s *Store, kind, id string) {
	t.Helper()
	err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error { return tx.CancelWake(ctx, kind, id) })
	if err != nil {
		t.Fatal(err)
	}
}

func work(t testing.TB, s *Store, workers map[string]Run) {
	t.Helper()
	if err := s.Work(t.Context(), runs(workers)); err != nil {
		t.Fatal(err)
	}
}

// runs are workers that are never given up.
func runs(workers map[string]Run) map[string]Worker {
	out := map[string]Worker{}
	for kind, run := range workers {
		out[kind] = Worker{Run: run}
	}
	return out
}

// idle waits until nothing waits and nothing runs.
func idle(t testing.TB, s *Store) {
	t.Helper()
	fixtures.Await(t, "no wake-up is left", func() bool { return len(waiting(t, s)) == 0 })
}

func waiting(t testing.TB, s *Store) []string {
	t.Helper()
	var ids []string
	if err := Query(t.Context(), s.Read(), &ids, "SELECT kind || ' ' || id FROM wakeups ORDER BY kind, id"); err != nil {
		t.Fatal(err)
	}
	return ids
}

// A recorder is a worker that counts.
type recorder struct {
	mu   sync.Mutex
	runs []string
}

func (r *recorder) work(_ context.Context, id string) (time.Time, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs = append(r.runs, id)
	return time.Time{}, nil
}

func (r *recorder) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.runs))
}

func TestWakeIsPartOfItsTransaction(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		var r recorder
		work(t, s, map[string]Run{"k": r.work})
		failure := errors.New("changed my mind")
		err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
			if err := tx.Wake(ctx, "k", "undone", time.Time{}); err != nil {
				return err
			}
			return failure
		})
		if !errors.Is(err, failure) {
			t.Fatalf("got %v, want the error of the function", err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was lost")
				}
			}()
			_ = s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
				if err := tx.Wake(ctx, "k", "panicked", time.Time{}); err != nil {
					t.Error(err)
				}
				panic("out")
			})
		}()
		wake(t, s, "k", "done", time.Time{})
		idle(t, s)
		if got := r.seen(); !slices.Equal(got, []string{"done"}) {
			t.Errorf("ran %q, want only what was committed", got)
		}
	})
}

func TestWakeNeedsNames(t *testing.T) {
	s := open(t, Config{Dir: fixtures.TempDir(t)})
	for _, names := range [][2]string{{"", "id"}, {"kind", ""}} {
		err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error { return tx.Wake(ctx, names[0], names[1], time.Time{}) })
		if err == nil {
			t.Errorf("kind %q and id %q were taken", names[0], names[1])
		}
	}
}

func TestOneWakeUpWaits(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		for range 3 {
			wake(t, s, "k", "one", time.Time{})
		}
		wake(t, s, "k", "two", time.Time{})
		wake(t, s, "other", "one", time.Time{})
		var r, other recorder
		work(t, s, map[string]Run{"k": r.work, "other": other.work})
		idle(t, s)
		if got := r.seen(); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("ran %q", got)
		}
		if got := other.seen(); !slices.Equal(got, []string{"one"}) {
			t.Errorf("the other kind ran %q", got)
		}
	})
}

func TestEarlierTimeWins(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		var r recorder
		work(t, s, map[string]Run{"k": r.work})
		start := time.Now()
		wake(t, s, "k", "a", start.Add(time.Hour))
		wake(t, s, "k", "a", start.Add(soon))
		wake(t, s, "k", "b", start.Add(soon))
		wake(t, s, "k", "b", start.Add(time.Hour))
		idle(t, s)
		if early := soon - time.Since(start); early > 0 {
			t.Errorf("ran %s early", early)
		}
		if got := r.seen(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("ran %q", got)
		}
	})
}

func TestWakeWhileRunning(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		entered, proceed := make(chan int), make(chan struct{})
		var running, runs atomic.Int32
		work(t, s, map[string]Run{"k": func(context.Context, string) (time.Time, error) {
			if running.Add(1) > 1 {
				t.Error("two workers run for one id")
			}
			defer running.Add(-1)
			entered <- int(runs.Add(1))
			<-proceed
			return time.Time{}, nil
		}})
		wake(t, s, "k", "id", time.Time{})
		<-entered
		for range 5 {
			wake(t, s, "k", "id", time.Time{})
		}
		proceed <- struct{}{}
		if run := <-entered; run != 2 {
			t.Errorf("run %d", run)
		}
		proceed <- struct{}{}
		idle(t, s)
		if runs.Load() != 2 {
			t.Errorf("%d runs, want 2", runs.Load())
		}
	})
}

func TestUnwake(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		entered, proceed := make(chan string), make(chan struct{})
		work(t, s, map[string]Run{"k": func(_ context.Context, id string) (time.Time, error) {
			entered <- id
			<-proceed
			return time.Time{}, nil
		}})
		wake(t, s, "k", "later", time.Now().Add(time.Hour))
		unwake(t, s, "k", "later")
		if got := waiting(t, s); len(got) != 0 {
			t.Errorf("still waiting: %q", got)
		}
		unwake(t, s, "k", "never woken")

		wake(t, s, "k", "running", time.Time{})
		<-entered
		wake(t, s, "k", "running", time.Time{})
		unwake(t, s, "k", "running")
		proceed <- struct{}{}
		idle(t, s)
		wake(t, s, "k", "running", time.Time{}) // what was taken back can be woken again
		<-entered
		proceed <- struct{}{}
		idle(t, s)
	})
}

func TestAgain(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		var runs atomic.Int32
		var next time.Time
		work(t, s, map[string]Run{"k": func(context.Context, string) (time.Time, error) {
			if time.Now().Before(next) {
				t.Errorf("ran %s early", time.Until(next))
			}
			if runs.Add(1) == 3 {
				return time.Time{}, nil
			}
			next = time.Now().Add(soon).Truncate(time.Microsecond)
			return next, nil
		}})
		wake(t, s, "k", "id", time.Time{})
		idle(t, s)
		if runs.Load() != 3 {
			t.Errorf("%d runs, want 3", runs.Load())
		}
	})
}

// A clock is set by the test.
type clock struct{ micros atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.micros.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMicro())
	return c
}

func (c *clock) now() time.Time          { return time.UnixMicro(c.micros.Load()) }
func (c *clock) advance(d time.Duration) { c.micros.Add(d.Microseconds()) }

// TestFailuresBackOff also shows that a wake-up far away is heard of when its time comes:
// no wait is a multiple of anybody's interval.
func TestFailuresBackOff(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		clock := newClock()
		config.Now, config.Poll = clock.now, 5*time.Millisecond
		s := open(t, config)
		ran := make(chan time.Time)
		fail := true
		work(t, s, map[string]Run{"k": func(context.Context, string) (time.Time, error) {
			ran <- clock.now()
			switch {
			case !fail:
				return time.Time{}, nil
			case clock.now().Second()%2 == 0:
				panic("the worker's fault")
			}
			return time.Time{}, errors.New("the world's fault")
		}})
		wake(t, s, "k", "id", time.Time{})
		last := <-ran
		for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			settled(t, s)
			clock.advance(want*time.Second - time.Microsecond)
			select {
			case <-ran:
				t.Fatalf("ran before %ds were over", want)
			case <-time.After(30 * time.Millisecond):
			}
			clock.advance(time.Microsecond)
			at := <-ran
			if got := at.Sub(last); got != want*time.Second {
				t.Fatalf("waited %s, want %ds", got, want)
			}
			last = at
		}
		settled(t, s)
		fail = false
		wake(t, s, "k", "id", time.Time{}) // does not wait for the end of the minute
		<-ran
		idle(t, s)
		fail = true
		wake(t, s, "k", "id", time.Time{})
		<-ran
		settled(t, s)
		clock.advance(time.Second) // success has reset the wait
		<-ran
	})
}

// settled waits until the outcome of the last run is in the table.
func settled(t *testing.T, s *Store) {
	t.Helper()
	fixtures.Await(t, "no worker runs", func() bool {
		running, err := Count(t.Context(), s.Read(), "FROM wakeups WHERE node <> ''")
		if err != nil {
			t.Fatal(err)
		}
		return running == 0
	})
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		failures int64
		want     time.Duration
	}{{0, time.Second}, {1, 2 * time.Second}, {5, 32 * time.Second}, {6, time.Minute}, {64, time.Minute}, {1 << 40, time.Minute}} {
		if got := retryAfter(c.failures); got != c.want {
			t.Errorf("after %d failures: %s, want %s", c.failures, got, c.want)
		}
	}
}

func TestUnknownKindWaitsForItsWorker(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		clock := newClock()
		config.Now, config.Poll = clock.now, 5*time.Millisecond
		s := open(t, config)
		var old recorder
		work(t, s, map[string]Run{"old": old.work})
		wake(t, s, "new", "id", time.Time{})
		fixtures.Await(t, "it was tried", func() bool {
			n, err := Count(t.Context(), s.Read(), "FROM wakeups WHERE attempts > 0 AND node = ''")
			return err == nil && n == 1
		})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		clock.advance(time.Minute)
		s = open(t, config)
		var r recorder
		work(t, s, map[string]Run{"new": r.work})
		idle(t, s)
		if got := r.seen(); !slices.Equal(got, []string{"id"}) {
			t.Errorf("ran %q", got)
		}
	})
}

func TestCloseWaits(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		entered, proceed := make(chan struct{}), make(chan struct{})
		work(t, s, map[string]Run{"k": func(ctx context.Context, _ string) (time.Time, error) {
			close(entered)
			<-proceed
			return time.Time{}, ctx.Err()
		}})
		wake(t, s, "k", "id", time.Time{})
		<-entered
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		close(proceed)
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
		if got := waiting(t, open(t, config)); len(got) != 0 {
			t.Errorf("left %q, which had been finished", got)
		}
	})
}

func TestCloseCutsShort(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		config.StopTimeout = time.Second
		s := open(t, config)
		entered := make(chan struct{})
		work(t, s, map[string]Run{"k": func(ctx context.Context, _ string) (time.Time, error) {
			close(entered)
			<-ctx.Done()
			return time.Time{}, ctx.Err()
		}})
		wake(t, s, "k", "id", time.Time{})
		<-entered
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, config)
		var r recorder
		work(t, s, map[string]Run{"k": r.work})
		idle(t, s)
		if got := r.seen(); !slices.Equal(got, []string{"id"}) {
			t.Errorf("the next store ran %q, want what was cut short", got)
		}
	})
}

func TestCloseReportsAStuckWorker(t *testing.T) {
	config := Config{Dir: fixtures.TempDir(t), StopTimeout: 20 * time.Millisecond}
	s, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	entered, never := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(never) })
	work(t, s, map[string]Run{"k": func(context.Context, string) (time.Time, error) {
		close(entered)
		<-never
		return time.Time{}, nil
	}})
	wake(t, s, "k", "id", time.Time{})
	<-entered
	if err := s.Close(); err == nil {
		t.Error("no word of the worker that does not end")
	}
	open(t, config) // and yet the folder is free
}

func TestWorkOnce(t *testing.T) {
	s := open(t, Config{Dir: fixtures.TempDir(t)})
	work(t, s, map[string]Run{})
	if err := s.Work(t.Context(), nil); err == nil {
		t.Error("two sets of workers")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if err := s.Work(t.Context(), nil); err == nil {
		t.Error("work on a closed store")
	}
}

func TestConcurrencyIsBounded(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		config.Concurrency = 3
		s := open(t, config)
		var running, most atomic.Int32
		work(t, s, map[string]Run{"k": func(context.Context, string) (time.Time, error) {
			most.Store(max(most.Load(), running.Add(1)))
			fixtures.Happens(time.Millisecond, func() bool { return running.Load() > 3 })
			running.Add(-1)
			return time.Time{}, nil
		}})
		for i := range 30 {
			wake(t, s, "k", fmt.Sprint(i), time.Time{})
		}
		idle(t, s)
		if most.Load() > 3 {
			t.Errorf("%d ran at once, want at most 3", most.Load())
		}
	})
}

// TestManyWriters wakes the same ids from many sides while their workers run: every
// wake-up is followed by a run that began after it, and no two runs of an id overlap.
func TestManyWriters(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		const ids, writers, rounds = 7, 8, 20
		var asked, answered, running [ids]atomic.Int64
		work(t, s, map[string]Run{"k": func(_ context.Context, id string) (time.Time, error) {
			var i int
			if _, err := fmt.Sscan(id, &i); err != nil {
				return time.Time{}, err
			}
			if running[i].Add(1) > 1 {
				t.Error("two workers run for one id")
			}
			defer running[i].Add(-1)
			answered[i].Store(asked[i].Load())
			return time.Time{}, nil
		}})
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				for round := range rounds {
					i := (w + round) % ids
					asked[i].Add(1)
					if err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
						return tx.Wake(ctx, "k", fmt.Sprint(i), time.Time{})
					}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		idle(t, s)
		for i := range ids {
			if asked[i].Load() != answered[i].Load() {
				t.Errorf("id %d: asked %d times, the last run saw %d", i, asked[i].Load(), answered[i].Load())
			}
		}
	})
}

// TestReclaimedBetween has a wake-up that was done come again, and be claimed, before the other
// outcomes of its batch are written.
func TestReclaimedBetween(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		wake := func(ids ...string) {
			t.Helper()
			if err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error { return tx.WakeAll(ctx, "k", ids, time.Time{}) }); err != nil {
				t.Fatal(err)
			}
		}
		claim := func(want int) (out []outcome) {
			t.Helper()
			rows, err := s.claim(t.Context(), "node", 10)
			if err != nil || len(rows) != want {
				t.Fatalf("%v, %v", rows, err)
			}
			for _, row := range rows {
				out = append(out, outcome{wakeup: row, node: "node"})
			}
			return out
		}
		wake("a", "b")
		first := claim(2)
		wake("b") // while its worker runs
		left, err := s.unclaimDone(t.Context(), first)
		if err != nil || len(left) != 1 || left[0].ID != "b" {
			t.Fatalf("%v, %v", left, err)
		}
		wake("a")
		again := claim(1)
		if err := s.unclaimWaiting(t.Context(), left); err != nil {
			t.Fatal(err)
		}
		again[0].again = At(s.Now().Add(-time.Second)) // its worker runs again soon
		if _, err := s.unclaim(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		if _, err := s.unclaim(t.Context(), claim(2)); err != nil {
			t.Fatal(err)
		}
		if rows := waiting(t, s); len(rows) != 0 {
			t.Errorf("left: %v", rows)
		}
	})
}
