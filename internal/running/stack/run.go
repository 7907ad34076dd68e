package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// A run is a running operation with everything that moves it: what was read, and what is
// to be written with the transaction.
type run struct {
	machine

	prepared *prepared
	stack    *stackRow
	before   stackRow // stack as it was read
	options  operationOptions
	next     *plan.Deployment // the one being deployed; of a rollback, the one that it undoes
	stable   *plan.Deployment // the last stable one, may be nil

	writes  writes
	imports map[string]string // imported exports that were read, with their values
}

// The statuses of operations.
const (
	opSucceeded = types.BeaconStackOperationStatusSucceeded
	opFailed    = types.BeaconStackOperationStatusFailed
	opRunning   = types.BeaconStackOperationStatusInProgress
)

// writes are what a transaction changes besides the stack, its steps and its resources.
type writes struct {
	begin    []operation.Spec
	cancel   []string // ids of operations
	evaluate []*hook.Evaluation
	unhook   []string // ids of evaluations to cancel
	ended    []*operationRow
	begun    bool // op is new
	after    []func(ctx context.Context, tx *store.Tx) error
}

// advance is the worker of stacks: it advances the operation of a stack as far as possible.
func (e *Engine) advance(ctx context.Context, stackID string) (time.Time, error) {
	known, fresh := e.kept.prepared(stackID), false
	p := known
	for {
		if p == nil {
			var err error
			if p, err = e.prepare(ctx, stackID, known); err != nil || p == nil {
				return time.Time{}, err
			}
			known, fresh = p, true
		}
		next, again, err := e.advanceWith(ctx, stackID, p, fresh)
		switch {
		case errors.Is(err, errUnprepared), errors.Is(err, store.ErrStale):
			if ctx.Err() != nil {
				return time.Time{}, ctx.Err()
			}
			p = nil
			continue
		case err != nil:
			return time.Time{}, fmt.Errorf("advance the stack %s: %w", stackID, err)
		}
		if next == nil || next.stack.OperationID == "" {
			return time.Time{}, nil
		}
		e.kept.put(next)
		if next.op.ID != p.operationID { // a rollback started
			p = nil
			continue
		}
		return again, nil
	}
}

// advanceWith advances the operation of a stack in one transaction. It returns no run if there is
// no operation, and errUnprepared if the operation needs more than is prepared, or decides by what is not fresh.
func (e *Engine) advanceWith(ctx context.Context, stackID string, p *prepared, fresh bool) (next *run, again time.Time, err error) {
	outdated := false
	err = e.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		next, again, outdated = nil, time.Time{}, false
		r, err := e.load(ctx, tx, stackID, p)
		if err != nil || r == nil {
			return err
		}
		if outdated = !fresh && r.decides(); outdated {
			e.kept.put(r) // nothing was changed: an error would undo what shares the transaction
			return nil
		}
		if again, err = r.proceed(ctx, tx); err != nil {
			return err
		}
		next = r
		return r.flush(ctx, tx)
	})
	if err == nil && outdated {
		err = errUnprepared
	}
	return next, again, err
}

// load reads the operation of a stack, or what is kept of it and has changed since.
func (e *Engine) load(ctx context.Context, tx *store.Tx, stackID string, p *prepared) (*run, error) {
	s, err := store.Find[stackRow](ctx, tx, "id = ?", stackID)
	if err != nil || s == nil || s.OperationID == "" {
		return nil, err
	}
	if s.OperationID != p.operationID || !p.has(s.DeploymentID) || !p.has(s.StableDeploymentID) {
		return nil, errUnprepared
	}
	op, err := store.Find[operationRow](ctx, tx, "id = ?", s.OperationID)
	if err != nil || op == nil {
		return nil, err
	}
	if op.refactored() {
		return nil, nil
	}
	r := e.kept.take(op)
	if r == nil {
		r = &run{machine: newMachine(e, op, e.now())}
		err = r.readAll(ctx, tx)
	} else {
		r.op, r.now, r.events = op, e.now(), nil
		err = r.readChanged(ctx, tx)
	}
	if err != nil {
		return nil, err
	}
	r.prepared, r.stack, r.before, r.imports, r.writes, r.options = p, s, *s, nil, writes{}, op.Options.Get()
	r.next, r.stable = p.deployments[s.DeploymentID], p.deployments[s.StableDeploymentID]
	for _, d := range []*plan.Deployment{r.next, r.stable} {
		if d != nil {
			d.Scope.Renew() // each look at the operation is a request of its own
		}
	}
	return r, nil
}

// flush writes the changes. The compare-and-set of the operation makes sure that no other
// worker advanced it.
func (r *run) flush(ctx context.Context, tx *store.Tx) error {
	w := &r.writes
	for _, f := range w.after {
		if err := f(ctx, tx); err != nil {
			return err
		}
	}
	if w.begun {
		if err := store.Insert(ctx, tx, r.op); err != nil {
			return fmt.Errorf("write the operation: %w", err)
		}
	} else if err := store.Swap(ctx, tx, r.op, &r.op.RowVersion); err != nil {
		return err
	}
	for _, op := range w.ended {
		if err := store.Swap(ctx, tx, op, &op.RowVersion); err != nil {
			return err
		}
	}
	if *r.stack != r.before {
		if err := store.Swap(ctx, tx, r.stack, &r.stack.RowVersion); err != nil {
			return err
		}
	}
	if err := r.flushHooks(ctx, tx); err != nil {
		return err
	}
	if err := r.write(ctx, tx); err != nil {
		return err
	}
	for _, id := range w.cancel {
		if err := r.engine.config.Operations.Cancel(ctx, tx, id); err != nil {
			return err
		}
	}
	if len(w.begin) > 0 {
		if _, err := r.engine.config.Operations.Begin(ctx, tx, w.begin...); err != nil {
			return err
		}
	}
	return nil
}

// setStatus moves the stack and appends its event.
func (r *run) setStatus(status types.StackStatus, reason string) {
	r.stack.Status, r.stack.DetailedStatus, r.stack.Reason = status, "", shownReason(status, reason)
	event := r.engine.stackEvent(r.stack, r.op, r.now)
	event.Reason = reason
	r.events = append(r.events, event)
}

// shownReason is the reason in DescribeStacks: only for failures.
func shownReason(status types.StackStatus, reason string) string {
	if status == types.StackStatusUpdateRollbackCompleteCleanupInProgress {
		return ""
	}
	return reason
}

// inProgress are the statuses in which no other operation may start.
func inProgress(status types.StackStatus) bool {
	return slices.Contains([]types.StackStatus{
		types.StackStatusCreateInProgress, types.StackStatusRollbackInProgress, types.StackStatusDeleteInProgress,
		types.StackStatusUpdateInProgress, types.StackStatusUpdateCompleteCleanupInProgress,
		types.StackStatusUpdateRollbackInProgress, types.StackStatusUpdateRollbackCompleteCleanupInProgress,
		types.StackStatusImportInProgress, types.StackStatusImportRollbackInProgress,
	}, status)
}
