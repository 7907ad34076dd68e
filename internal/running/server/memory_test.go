package server

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// TestMemory refuses while more than half of the limit is live, after a look at what is garbage.
func TestMemory(t *testing.T) {
	var live, garbage uint64
	var log strings.Builder
	collections := 0
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	m := newMemory(Config{MemoryLimit: 1000, Live: func() uint64 { return live + garbage }, Now: func() time.Time { return now }, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	m.collect = func() { garbage = 0; collections++ }
	for _, step := range []struct {
		name          string
		live, garbage uint64
		after         time.Duration
		low           bool
		collections   int
	}{
		{"little", 100, 400, 0, false, 0},
		{"garbage", 100, 401, 0, false, 1},
		{"garbage again, just after a collection", 100, 401, collectAfter - 1, true, 1},
		{"the same, later", 100, 401, 1, false, 2},
		{"live", 501, 0, collectAfter, true, 3},
		{"live, just after a collection", 501, 0, 0, true, 3},
		{"freed, and nothing has collected it", 500, 1, collectAfter, false, 4},
		{"after the clock was set back", 501, 0, -time.Hour, true, 5},
		{"enough", 500, 0, 0, false, 5},
	} {
		live, garbage, now = step.live, step.garbage, now.Add(step.after)
		err := m.check()
		if errors.Is(err, awswire.ErrMemory) != step.low || collections != step.collections {
			t.Errorf("%s: %v after %d collections, want low: %v after %d", step.name, err, collections, step.low, step.collections)
		}
	}
	if got := strings.Count(log.String(), "low on memory"); got != 3 {
		t.Errorf("the log names the shortage %d times, want once for each:\n%s", got, log.String())
	}
	m.limit, live = 0, 1<<40
	if err := m.check(); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}

// TestLiveHeap reads what a collection of the runtime has found.
func TestLiveHeap(t *testing.T) {
	m := newMemory(Config{Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	m.collect()
	before := m.live()
	block := make([]byte, 64<<20)
	m.collect()
	if grown := m.live() - before; grown < 60<<20 || grown > 80<<20 {
		t.Errorf("64 MB more are %d bytes", grown)
	}
	block[0] = 1
}

func BenchmarkMemory(b *testing.B) {
	m := newMemory(Config{MemoryLimit: 1 << 40, Now: time.Now})
	for b.Loop() {
		_ = m.check()
	}
}
