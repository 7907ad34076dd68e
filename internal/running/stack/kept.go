package stack

import (
	"context"
	"slices"
	"sync"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// kept has what this node read of the operations that it advances: a wake-up reads only what has moved since. Nothing
// depends on it but speed. What makes it safe:
//
//   - Whoever advances an operation writes its row, compared and set. So what was read of its rows is good as long as that
//     row has the version with which it was kept, but for what reports move: those do not touch the row.
//   - Reports and hooks that move a step mark it ([stepRow.moved]) in the same transaction. A transaction that takes a
//     kept run reads the marked steps again, with their resources, and unmarks all of its steps ([run.note]).
//   - A run is in use by one transaction at a time, which takes it out. It is put back only when the transaction has
//     committed, or has changed nothing: what fails half way is read anew.
//   - What was prepared is from outside of the transaction and gets old: versions of types, values of references, hooks. It is
//     kept with its run for taking note of steps. Before anything is decided ([run.decides]), it is prepared again; of
//     the kept one only templates are used then, which never change.
type kept struct {
	mu   sync.Mutex
	runs map[string]*run // by the id of the stack
}

// maxRuns bounds how many are kept.
const maxRuns = 64

// take removes the run of an operation. It returns nil if none is kept that is as new as the row.
func (k *kept) take(op *operationRow) *run {
	k.mu.Lock()
	defer k.mu.Unlock()
	found := k.runs[op.StackID]
	delete(k.runs, op.StackID)
	if found == nil || found.op.ID != op.ID || found.op.RowVersion != op.RowVersion {
		return nil
	}
	return found
}

// forget removes the run of a stack.
func (k *kept) forget(stackID string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.runs, stackID)
}

// prepared is what a kept run was prepared with, nil for none.
func (k *kept) prepared(stackID string) *prepared {
	k.mu.Lock()
	defer k.mu.Unlock()
	if found := k.runs[stackID]; found != nil {
		return found.prepared
	}
	return nil
}

// put keeps a run.
func (k *kept) put(r *run) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.runs == nil {
		k.runs = map[string]*run{}
	}
	if len(k.runs) >= maxRuns {
		for id := range k.runs { // any
			delete(k.runs, id)
			break
		}
	}
	k.runs[r.op.StackID] = r
}

// moved marks a step that something else than its stack has moved.
func (s *stepRow) moved() { s.Seen = false }

// note takes note of the steps that moved.
func (r *run) note() {
	for _, step := range r.steps {
		step.Seen = true
	}
}

// decides reports whether there may be more to do than to take note of steps that moved: steps start
// or wait for signals, or the stage ends.
func (r *run) decides() bool {
	if r.op.Cancelled || r.op.Phase == plan.PhaseValidate || r.op.Phase == plan.PhaseHooks || r.op.Phase == plan.PhaseHooked {
		return true
	}
	for _, s := range r.steps {
		if s.Action == plan.Signal && s.State == plan.StepRunning {
			return true
		}
	}
	v := plan.Advance(r.nodes(), r.brake(r.late()))
	return len(v.Start) > 0 || v.Ended
}

// readAll reads the steps of the phase, with those of earlier operations that were cancelled and still run: an operation that
// can never succeed ends without them.
func (r *run) readAll(ctx context.Context, tx *store.Tx) error {
	steps, err := store.FindAll[stepRow](ctx, tx, "stage, logical_id, cleanup_id",
		"operation_id = ? AND stage IN (?, ?) OR state = ? AND operation_id IN (SELECT id FROM stack_operations WHERE stack_id = ? AND id <> ?)",
		r.op.ID, r.op.Phase, plan.PhaseStopping, plan.StepCancelled, r.op.StackID, r.op.ID)
	if err != nil {
		return err
	}
	for i := range steps {
		r.gotStep(&steps[i])
	}
	resources, err := store.FindAll[resourceRow](ctx, tx, "logical_id", "stack_id = ?", r.op.StackID)
	if err != nil {
		return err
	}
	for i := range resources {
		r.gotResource(&resources[i])
	}
	return r.readCleanup(ctx, tx, "stack_id = ?", r.op.StackID)
}

func (r *run) readCleanup(ctx context.Context, tx *store.Tx, where string, args ...any) error {
	cleanup, err := store.FindAll[cleanupRow](ctx, tx, "id", where, args...)
	for i := range cleanup {
		r.gotCleanup(&cleanup[i])
	}
	return err
}

// readChanged reads the steps that moved since they were kept, with their resources.
func (r *run) readChanged(ctx context.Context, tx *store.Tx) error {
	changed, err := store.FindAll[stepRow](ctx, tx, "logical_id", "operation_id = ? AND seen = ?", r.op.ID, false)
	if err != nil || len(changed) == 0 {
		return err
	}
	var ids, cleanup []string
	leftovers := false // of steps that made something and then failed
	for i := range changed {
		if changed[i].Stage != r.op.Phase && changed[i].Stage != plan.PhaseStopping {
			continue
		}
		r.gotStep(&changed[i])
		leftovers = leftovers || changed[i].Plan.Get().Forced || changed[i].State == plan.StepFailed || changed[i].State == plan.StepStopped
		if changed[i].CleanupID != "" {
			cleanup = append(cleanup, changed[i].CleanupID)
		} else {
			ids = append(ids, changed[i].LogicalID)
		}
	}
	for _, id := range ids { // it may be deleted
		delete(r.resources, id)
		delete(r.read.resources, id)
		r.refresh(id)
	}
	for _, id := range cleanup {
		delete(r.cleanup, id)
		delete(r.read.cleanup, id)
	}
	for part := range slices.Chunk(ids, 500) {
		rows, err := store.FindAll[resourceRow](ctx, tx, "logical_id", "stack_id = ? AND logical_id IN (?)", r.op.StackID, store.In(part))
		if err != nil {
			return err
		}
		for i := range rows {
			r.gotResource(&rows[i])
		}
	}
	if leftovers {
		return r.readCleanup(ctx, tx, "stack_id = ?", r.op.StackID)
	}
	for part := range slices.Chunk(cleanup, 500) {
		if err := r.readCleanup(ctx, tx, "id IN (?)", store.In(part)); err != nil {
			return err
		}
	}
	return nil
}
