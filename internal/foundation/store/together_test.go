package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// TestTogether has functions wait for the connection and then share a transaction: what one
// of them does wrong is only its own.
func TestTogether(t *testing.T) {
	failure := errors.New("no")
	add := func(name string) func(ctx context.Context, tx *Tx) error {
		return func(ctx context.Context, tx *Tx) error {
			_, err := Exec(ctx, tx, "INSERT INTO counters (name, n) VALUES (?, 1)", name)
			return err
		}
	}
	for name, odd := range map[string]struct {
		f    func(ctx context.Context, tx *Tx) error
		want error // of the odd one
	}{
		"fails": {func(ctx context.Context, tx *Tx) error {
			return errors.Join(add("odd")(ctx, tx), failure)
		}, failure},
		"panics": {func(ctx context.Context, tx *Tx) error {
			_ = add("odd")(ctx, tx)
			panic(failure)
		}, failure},
		"loses the transaction": {func(ctx context.Context, tx *Tx) error {
			_ = add("odd")(ctx, tx)
			_, err := Exec(ctx, tx, "ROLLBACK")
			return errors.Join(err, failure)
		}, failure},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Config{Dir: fixtures.TempDir(t)})
			counters(t, s)
			conn, release, err := s.lend(t.Context(), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			const count = 20
			errs := make([]error, count+1)
			var writing sync.WaitGroup
			for i := range count + 1 {
				f := add(fmt.Sprint(i))
				if i == count/2 {
					f = odd.f
				}
				writing.Go(func() {
					defer func() {
						if r := recover(); r != nil {
							errs[i] = r.(error)
						}
					}()
					errs[i] = s.Write(t.Context(), f)
				})
				fixtures.Await(t, "the queue", func() bool { // the leader may have taken nothing yet
					s.queue.mu.Lock()
					defer s.queue.mu.Unlock()
					return len(s.queue.turns) == i+1
				})
			}
			cancelled, cancel := context.WithCancel(t.Context())
			var gone error
			var leaving sync.WaitGroup
			leaving.Go(func() { gone = s.Write(cancelled, add("gone")) })
			fixtures.Await(t, "the queue", func() bool {
				s.queue.mu.Lock()
				defer s.queue.mu.Unlock()
				return len(s.queue.turns) == count+2
			})
			cancel()
			leaving.Wait()
			if !errors.Is(gone, context.Canceled) {
				t.Errorf("the one that was cancelled: %v", gone)
			}
			release()
			writing.Wait()
			for i, err := range errs {
				if i == count/2 && !errors.Is(err, odd.want) || i != count/2 && err != nil {
					t.Errorf("%d: %v", i, err)
				}
			}
			var names int
			if err := Query(t.Context(), s.Read(), &names, "SELECT count(*) FROM counters WHERE name <> 'odd'"); err != nil || names != count {
				t.Errorf("%d rows, expected %d; %v", names, count, err)
			}
			if err := Query(t.Context(), s.Read(), &names, "SELECT count(*) FROM counters"); err != nil || names != count {
				t.Errorf("the odd one left something: %d, %v", names, err)
			}
		})
	}
}

// TestTogetherShares looks whether functions that wait share a transaction at all.
func TestTogetherShares(t *testing.T) {
	s := open(t, Config{Dir: fixtures.TempDir(t)})
	counters(t, s, "a")
	conn, release, err := s.lend(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var writing sync.WaitGroup
	seen := make(chan int, 10)
	for i := range 10 {
		writing.Go(func() {
			err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
				if _, err := Exec(ctx, tx, "UPDATE counters SET n = n + 1"); err != nil {
					return err
				}
				var committed int // by another connection
				err := Query(ctx, s.Read(), &committed, "SELECT n FROM counters")
				seen <- committed
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
		fixtures.Await(t, "the queue", func() bool {
			s.queue.mu.Lock()
			defer s.queue.mu.Unlock()
			return len(s.queue.turns) == i+1
		})
	}
	release()
	writing.Wait()
	close(seen)
	for committed := range seen {
		if committed != 0 {
			t.Errorf("a function saw %d, which was committed before the last of them ran", committed)
		}
	}
	var n int
	if err := Query(t.Context(), s.Read(), &n, "SELECT n FROM counters"); err != nil || n != 10 {
		t.Errorf("%d, %v", n, err)
	}
}
