package collect

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// Adapt has the heap grow by less the larger it is, until end is called: one of 10 MB may triple before garbage is
// collected, one of 500 MB would take a gigabyte more. It changes nothing if the environment sets GOGC.
func Adapt() (end func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	a := &adapting{percent: percent}
	a.next()
	return func() {
		a.ended.Store(true)
		debug.SetGCPercent(percent)
	}
}

type adapting struct {
	percent int
	ended   atomic.Bool
}

// next adapts the percentage after the next collection.
func (a *adapting) next() {
	runtime.AddCleanup(new([2]*int), func(a *adapting) {
		if a.ended.Load() {
			return
		}
		sample := [1]metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample[:])
		if wanted := percentOf(sample[0].Value.Uint64()); wanted != a.percent {
			a.percent = wanted
			debug.SetGCPercent(wanted)
		}
		a.next()
	}, a)
}

// percentOf is GOGC for a heap of which so many bytes are live.
func percentOf(live uint64) int {
	switch {
	case live < 32<<20:
		return percent
	case live < 128<<20:
		return 100
	}
	return 50
}
