package operation

import (
	"maps"
	"runtime"
	"sync"
	"time"
)

// turnRetry is how long an operation that waits for its turn is not looked at again, if nothing
// that ended before has woken it: its turn may come on another node, which this one does
// not hear of.
const turnRetry = 10 * time.Second

// turns shares the places of this node among accounts. A run that gets no slot is queued
// and its worker returns; a run that ends returns the next one in the queue.
//
// An account never has the last place, unless there is only one: handlers that hang keep
// their own account waiting, and no other one. Of those who wait, the next is of the
// account with the fewest calls under way, and of its operations the one that has waited longest.
type turns struct {
	places int
	retry  time.Duration

	mu      sync.Mutex
	running int
	taken   map[string]int // calls under way, by account
	waiting map[string]*turn
}

// A turn is an operation that waits.
type turn struct {
	account     string
	since, seen time.Time // when it came first, and last
}

func newTurns(places Places) *turns {
	if places.Calls == 0 {
		places.Calls = min(max(2, runtime.GOMAXPROCS(0)), 4)
	}
	if places.Retry == 0 {
		places.Retry = turnRetry
	}
	return &turns{places: places.Calls, retry: places.Retry, taken: map[string]int{}, waiting: map[string]*turn{}}
}

// enter takes a place if it is the run's turn. If not, the run waits.
func (t *turns) enter(id, account string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, w := range t.waiting {
		if now.Sub(w.seen) > 2*t.retry { // another node has it, or it was deleted
			delete(t.waiting, id)
		}
	}
	w := t.waiting[id]
	if w == nil {
		w = &turn{account: account, since: now}
		t.waiting[id] = w
	}
	w.seen = now
	for _, next := range t.next() {
		if next == id {
			delete(t.waiting, id)
			t.running++
			t.taken[account]++
			return true
		}
	}
	return false
}

// leave releases the slot of an account and returns the next run.
func (t *turns) leave(account string) (next []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	if t.taken[account]--; t.taken[account] == 0 {
		delete(t.taken, account)
	}
	return t.next()
}

// forget removes a run from the queue and returns the next run.
func (t *turns) forget(id string) (next []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting[id] == nil {
		return nil
	}
	delete(t.waiting, id)
	return t.next()
}

// next are the runs that there are places for.
func (t *turns) next() []string {
	var ids []string
	taken, waiting := maps.Clone(t.taken), maps.Clone(t.waiting)
	most := max(1, t.places-1) // of one account
	for t.running+len(ids) < t.places {
		best := ""
		for id, w := range waiting {
			if taken[w.account] < most && (best == "" || w.before(waiting[best], taken)) {
				best = id
			}
		}
		if best == "" {
			break
		}
		ids = append(ids, best)
		taken[waiting[best].account]++
		delete(waiting, best)
	}
	return ids
}

func (w *turn) before(other *turn, taken map[string]int) bool {
	if a, b := taken[w.account], taken[other.account]; a != b {
		return a < b
	}
	return w.since.Before(other.since)
}
