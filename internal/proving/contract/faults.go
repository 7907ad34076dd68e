package contract

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/proving/httptape"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// Faults are faults around a handler. The zero Faults injects those that need only the
// Function: calls delivered twice, lost answers, contexts replayed late.
type Faults struct {
	// Restarter ends the processes of the handlers. Nil leaves the tests out that kill.
	Restarter Restarter

	// Network makes outbound calls of the handlers fail. Nil leaves its tests out.
	Network *httptape.Proxy

	// Pairs is how many schedules of two faults each action is tested with, beyond every
	// single fault. Zero means [DefaultPairs]; a negative value means none.
	Pairs int
}

// DefaultPairs is the default of Faults.Pairs.
const DefaultPairs = 12

// A Restarter ends processes.
type Restarter interface {
	// Renew makes every later call run in a process that starts later.
	Renew()
}

// selected are the cases of a run: those of Select, and with Faults those of FaultCases.
func (cfg *Config) selected() (cases []Case, deselected int) {
	cases, deselected = Select(cfg.Schema, cfg.Selection)
	if cfg.Faults == nil {
		return cases, deselected
	}
	faults, left := SelectFaults(cfg)
	return append(cases, faults...), deselected + left
}

// SelectFaults returns those of [FaultCases] that a schema's handlers allow and a
// selection takes, and how many of the allowed ones it leaves out.
func SelectFaults(c *Config) (cases []Case, deselected int) {
	for _, f := range FaultCases {
		switch {
		case !f.applies(c.Schema):
		case c.Selection.Picks(&f):
			cases = append(cases, f)
		default:
			deselected++
		}
	}
	return cases, deselected
}

// An upset is a kind of fault of one call of a handler.
type upset string

// The upsets. Those of the network are the kinds of httptape.
const (
	twice  upset = "delivered twice"                             // the second answer is dropped
	atOnce upset = "delivered twice at once"                     // the worse answer is dropped
	lost   upset = "sent again after its response was lost"      // the first answer is dropped
	killed upset = "made after the process was killed"           // the call runs in another process
	late   upset = "followed by a repetition of the call before" // whose answer is dropped
)

// A fault is one upset of one operation.
type fault struct {
	upset upset         // of a call of the handler, "" if of the network
	kind  httptape.Kind // of an outbound call
	call  int           // of the handler, or outbound; from 0
	times int           // how many outbound calls in a row; 0 means one
}

func (f fault) network() bool { return f.upset == "" }

// describe describes the fault.
func (f fault) describe(action invoke.Action) string {
	switch {
	case !f.network():
		return fmt.Sprintf("%s call %d %s", action, f.call+1, f.upset)
	case f.times > 1:
		return fmt.Sprintf("%s with outbound calls %d to %d %s", action, f.call+1, f.call+f.times, f.kind)
	}
	return fmt.Sprintf("%s with %s", action, httptape.Fault{Kind: f.kind, Call: f.call})
}

// A schedule is the faults of one operation.
type schedule []fault

func (s schedule) describe(action invoke.Action) string {
	parts := make([]string, len(s))
	for i, f := range s {
		parts[i] = f.describe(action)
	}
	return strings.Join(parts, ", and ")
}

// mayFail reports whether the operation need not succeed: a service that stays away for
// long excuses every error code, but no leak.
func (s schedule) mayFail() bool {
	return slices.ContainsFunc(s, func(f fault) bool { return f.times > 1 })
}

// upsets are those of the schedule for one call of the handler.
func (s schedule) upsets(call int) map[upset]bool {
	out := map[upset]bool{}
	for _, f := range s {
		if !f.network() && f.call == call {
			out[f.upset] = true
		}
	}
	return out
}

// outbound are the faults of the network.
func (s schedule) outbound() []httptape.Fault {
	var out []httptape.Fault
	for _, f := range s {
		if !f.network() {
			continue
		}
		for i := range max(1, f.times) {
			out = append(out, httptape.Fault{Kind: f.kind, Call: f.call + i})
		}
	}
	return out
}

// Bounds of the schedules.
const (
	maxFaultyCalls = 5  // of the handler: the first of them, and the last of all
	maxOutbound    = 12 // outbound calls
	outage         = 8  // outbound calls in a row that fail: more often than clients try again
)

// extent is how far an operation reaches without faults.
type extent struct{ calls, outbound int }

// singles are the schedules of one fault, at each call in turn.
func (f family) singles(action invoke.Action, e extent) []schedule {
	var out []schedule
	for _, u := range f.upsets {
		for call := range e.calls {
			switch {
			case call >= maxFaultyCalls && call < e.calls-1:
			case u == late && call == 0: // the first call has no previous one
			case u == killed && call == 0 && action == invoke.Create: // it has done nothing yet
			default:
				out = append(out, schedule{{upset: u, call: call}})
			}
		}
	}
	for _, k := range f.kinds {
		for call := range min(e.outbound, maxOutbound) {
			out = append(out, schedule{{kind: k, call: call, times: f.times}})
		}
	}
	return out
}

// pairs are schedules of two faults, chosen by the seed.
func pairs(singles []schedule, count int, seed uint64) []schedule {
	var out []schedule
	for i := range singles {
		for j := i + 1; j < len(singles); j++ {
			out = append(out, schedule{singles[i][0], singles[j][0]})
		}
	}
	random := rand.New(rand.NewPCG(seed, uint64(len(out))))
	random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:min(len(out), count)]
}
