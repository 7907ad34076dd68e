package collect

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestAdapt has a large heap grow by less than a small one, until its end.
func TestAdapt(t *testing.T) {
	t.Setenv("GOGC", "")
	current := func() int {
		now := debug.SetGCPercent(percent)
		debug.SetGCPercent(now)
		return now
	}
	before := debug.SetGCPercent(percent)
	defer debug.SetGCPercent(before)
	becomes := func(want int) {
		t.Helper()
		for until := time.Now().Add(time.Minute); current() != want; runtime.GC() { // cleanups run some time after a collection
			if time.Now().After(until) {
				t.Fatalf("GOGC is %d, want %d", current(), want)
			}
		}
	}
	end := Adapt()
	block := make([]byte, 150<<20)
	becomes(50)
	runtime.KeepAlive(block)
	becomes(percent)
	smaller := make([]byte, 40<<20)
	becomes(100)
	runtime.KeepAlive(smaller)
	end()
	if current() != percent {
		t.Errorf("GOGC is %d after the end, want %d", current(), percent)
	}
}

// TestAdaptLeavesGOGC leaves what the user has set.
func TestAdaptLeavesGOGC(t *testing.T) {
	t.Setenv("GOGC", "400")
	before := debug.SetGCPercent(400)
	defer debug.SetGCPercent(before)
	Adapt()()
	if now := debug.SetGCPercent(before); now != 400 {
		t.Errorf("GOGC is %d, want 400", now)
	}
}
