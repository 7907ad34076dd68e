package operation

import (
	"slices"
	"testing"
	"time"
)

// TestTurns follows who gets a place for a test. A run is called by its account and a
// number.
func TestTurns(t *testing.T) {
	now := time.Now()
	turns := newTurns(Places{Calls: 3})
	enter := func(id string, want bool) {
		t.Helper()
		now = now.Add(time.Millisecond)
		if got := turns.enter(id, id[:1], now); got != want {
			t.Errorf("%s enters: %t", id, got)
		}
	}
	leave := func(account string, want ...string) {
		t.Helper()
		if got := turns.leave(account); !slices.Equal(got, want) {
			t.Errorf("after one of %s, it is the turn of %q, want %q", account, got, want)
		}
	}
	enter("a1", true)
	enter("a2", true)
	enter("a3", false) // the last place is not for the account that has the others
	enter("b1", true)
	enter("a4", false)
	enter("b2", false)
	enter("c1", false)
	leave("a", "c1")   // which has none, though it came last
	enter("a4", false) // it is not its turn
	enter("c1", true)
	leave("c", "a3") // as few as b, and longer
	enter("a3", true)
	leave("b", "b2")
	leave("a", "b2", "a4")
	enter("b3", false)
	enter("a4", true) // also before the other one whose turn it is
	enter("b2", true)
	leave("b", "b3")
	if next := turns.forget("b3"); next != nil {
		t.Errorf("it is the turn of %q", next)
	}
	leave("a")
	leave("a")
	if turns.running != 0 || len(turns.taken)+len(turns.waiting) != 0 {
		t.Errorf("left behind: %+v", turns)
	}
}

// TestTurnsOfTheGone: a run that another node has taken holds nobody up for long.
func TestTurnsOfTheGone(t *testing.T) {
	now, turns := time.Now(), newTurns(Places{Calls: 1})
	if !turns.enter("a1", "a", now) || turns.enter("b1", "b", now) || turns.enter("a2", "a", now.Add(time.Second)) {
		t.Fatal("one place, and not one run")
	}
	if next := turns.leave("a"); !slices.Equal(next, []string{"b1"}) {
		t.Errorf("it is the turn of %q", next)
	}
	if turns.enter("a2", "a", now.Add(turnRetry)) {
		t.Error("a2 enters before its turn")
	}
	if !turns.enter("a2", "a", now.Add(2*turnRetry+time.Second)) {
		t.Error("a2 waits for one that is gone")
	}
}
