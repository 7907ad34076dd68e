package contract

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/proving/sample"
)

// longestShrinkDelay is how long the handlers may make a case wait for callbacks, in total,
// so that it is still run again for smaller inputs: each run would wait as long.
const longestShrinkDelay = time.Second

// A shrinkBudget is the time that a run may still spend on smaller inputs. All sets of
// inputs share it.
type shrinkBudget struct {
	mu          sync.Mutex
	limit, used time.Duration
	longest     time.Duration // time of the longest try
}

// allows reports whether there is time for a step of about that duration.
func (b *shrinkBudget) allows(expected time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used+max(expected, b.longest) <= b.limit
}

func (b *shrinkBudget) spend(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += max(d, 0)
	b.longest = max(b.longest, d)
}

// cost is about how long a case takes when it is run again, with the resource that it
// needs, and how much of that is waiting for callbacks.
func (s *suite) cost(calls []Call) (total, waiting time.Duration) {
	for _, c := range calls {
		total += c.Duration
		waiting += s.scaled(c.Delay)
	}
	return total + waiting, waiting
}

// shrink shrinks the generated inputs of a failed case, as long as the case fails for the same
// clause with them. Each try runs the case alone, with a separate resource, which is deleted
// again. Tries end when ShrinkTime is used up; there are none if the handlers request long
// delays, or after ctx has ended. Nothing is run again after a try, or the case itself, that may
// have left a resource: a CREATE ended without an identifier, or what it made was not deleted.
func (l *setRun) shrink(ctx context.Context, r *run, result *Result) {
	c := result.Case
	if l.undeleted || r.unsure || c.fixture != nil && r.madeUnsure {
		return
	}
	if result.Example == nil || l.cfg.ShrinkTries < 0 || c.last || l.cfg.Replay != nil || !l.answered.Load() {
		return
	}
	expected, waiting := l.cost(result.Calls)
	expected = max(expected, result.Duration)
	if len(result.Example.Inputs) == 0 || waiting > longestShrinkDelay || !l.shrinking.allows(expected) {
		return
	}
	l.report(Event{Kind: Shrinking, Case: c, Set: result.Set, Wire: result.Wire})
	within, stop := context.WithCancel(ctx)
	defer stop()
	tries := 0
	fails := func(inputs []Draw) bool {
		if tries++; tries > l.cfg.ShrinkTries || !l.shrinking.allows(expected) {
			stop() // no more candidates
		}
		if within.Err() != nil {
			return false
		}
		start := l.cfg.Now()
		again, unsure := l.try(ctx, c, inputs)
		l.shrinking.spend(l.cfg.Now().Sub(start))
		if unsure {
			stop()
		}
		return again.Outcome == result.Outcome && again.Clause == result.Clause && again.Phase == result.Phase
	}
	best := result.Example.Inputs
	if !fails(best) {
		return // it needs what other cases did before
	}
	generator := sample.New(l.cfg.Schema, sample.Config{Seed: l.cfg.Seed})
	for i := range best {
		best[i].Model = generator.Shrink(within, best[i].Model, func(model map[string]any) bool {
			candidate := slices.Clone(best)
			candidate[i].Model = model
			return fails(candidate)
		})
	}
}

// try runs a case alone with given inputs, and reports nothing. It returns whether a resource may
// be left.
func (l *setRun) try(ctx context.Context, c *Case, inputs []Draw) (result *Result, unsure bool) {
	trial := &setRun{suite: l.suite, number: l.number, inputs: l.inputs, told: map[string]bool{}, quiet: true, replay: inputs, before: l.before}
	l.mu.Lock() // so that other sets do not take what it makes for leaks
	l.setRuns = append(l.setRuns, trial)
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.setRuns = slices.DeleteFunc(l.setRuns, func(other *setRun) bool { return other == trial })
	}()
	r := trial.newRun(trial.inputs)
	result = trial.runCase(ctx, r, c)
	unsure = r.unsure || r.madeUnsure
	trial.tearDown(r, c)
	trial.sweep()
	l.left.merge(trial.left)
	l.undeleted = l.undeleted || len(trial.left) > 0
	return result, unsure || l.undeleted
}
