package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// TestSweepHourly runs the sweep by the clock: first what expires, then the blobs that nobody
// keeps, and again an hour later.
func TestSweepHourly(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		var ahead atomic.Int64
		config.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		s := open(t, config)
		named, lost := put(t, s, []byte("named")), put(t, s, []byte("lost"))
		age(t, s, named, lost)
		var mu sync.Mutex
		var seen []time.Time
		failing := true
		workers, err := s.SweepHourly(t.Context(), Sweep{
			grace: time.Hour,
			Expire: []func(context.Context, time.Time) error{func(_ context.Context, now time.Time) error {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, now)
				if failing {
					failing = false
					return errors.New("not now")
				}
				return nil
			}},
			Keeps: []func(context.Context, string) (bool, error){
				func(context.Context, string) (bool, error) { return false, nil },
				func(_ context.Context, hash string) (bool, error) { return hash == named.Hash, nil },
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		work(t, s, map[string]Run{workSweep: workers[workSweep].Run})
		times := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(seen)
		}
		if n := times(); n != 0 || !has(t, s, lost.Hash) {
			t.Fatalf("swept %d times at the start", n)
		}
		ahead.Store(int64(firstSweep + time.Minute))
		s.ring()
		fixtures.Await(t, "the sweep failed once and ran", func() bool { return times() >= 2 && !has(t, s, lost.Hash) })
		if !has(t, s, named.Hash) {
			t.Error("a blob that is kept is gone")
		}
		// The next one is scheduled only after the last has ended.
		fixtures.Await(t, "the sweep runs again", func() bool {
			ahead.Add(int64(nextSweep + time.Minute))
			s.ring()
			return times() >= 3
		})
		mu.Lock()
		defer mu.Unlock()
		if gap := seen[2].Sub(seen[1]); gap < nextSweep {
			t.Errorf("%s between two sweeps", gap)
		}
	})
}
