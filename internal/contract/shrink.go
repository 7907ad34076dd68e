package contract

import (
	"context"
	"slices"
	"time"

	"github.com/formwork-dev/formwork/internal/sample"
)

// Bounds of the search for smaller inputs of a failed case.
const (
	shrinkSlowest = 2 * time.Second  // a case that takes longer is not run again
	shrinkTime    = 10 * time.Second // for one case
)

// shrink makes the generated inputs of a failed case smaller, as long as the case fails for
// the same clause with them. Each try is a run of the case alone, with a resource of its
// own, which is deleted again.
func (l *lane) shrink(ctx context.Context, c *Case, result *Result) {
	if result.Example == nil || c.last || l.cfg.Replay != nil || !l.answered.Load() || result.Duration > shrinkSlowest {
		return
	}
	start, tries := l.cfg.Now(), 0
	fails := func(inputs []Draw) bool {
		if tries++; tries > l.cfg.ShrinkTries || ctx.Err() != nil || l.cfg.Now().Sub(start) > shrinkTime {
			return false
		}
		again := l.try(ctx, c, inputs)
		return again.Outcome == result.Outcome && again.Clause == result.Clause && again.Phase == result.Phase
	}
	best := result.Example.Inputs
	if len(best) == 0 || !fails(best) {
		return // it needs what other cases did before
	}
	generator := sample.New(l.cfg.Schema, sample.Config{Seed: l.cfg.Seed})
	for i := range best {
		best[i].Model = generator.Shrink(best[i].Model, func(model map[string]any) bool {
			candidate := slices.Clone(best)
			candidate[i].Model = model
			return fails(candidate)
		})
	}
}

// try runs a case alone with given inputs, and reports nothing.
func (l *lane) try(ctx context.Context, c *Case, inputs []Draw) *Result {
	trial := &lane{suite: l.suite, number: l.number, inputs: l.inputs, told: map[string]bool{}, quiet: true, replay: inputs, before: l.before}
	l.mu.Lock() // so that other sets do not take what it makes for leaks
	l.lanes = append(l.lanes, trial)
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lanes = slices.DeleteFunc(l.lanes, func(other *lane) bool { return other == trial })
	}()
	r := trial.newRun(trial.inputs)
	result := trial.runCase(ctx, r, c)
	trial.tearDown(ctx, r, c)
	trial.sweep(ctx)
	l.left = append(l.left, trial.left...)
	return result
}
