package stack

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// giveUp ends the stage of an operation on a stack that can never succeed, as if a resource had
// failed: the operation rolls back. If that cannot begin either, the operation ends where it is.
func (e *Engine) giveUp(ctx context.Context, stackID, reason string) error {
	e.kept.forget(stackID)
	err := e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		reason := reason
		r, err := e.abandoned(ctx, tx, stackID)
		if err != nil || r == nil {
			return err
		}
		if r.op.refactored() {
			return nil
		}
		r.op.Phase = r.firstPhase()
		r.stopSteps()
		how := plan.Failed
		if r.op.Phase == plan.PhaseMain {
			how, reason = r.failing(), strings.TrimSuffix(reason, ".")+r.requestedEarly()
		}
		if err := r.follow(ctx, tx, how, reason); err != nil {
			return err
		}
		if err := r.flush(ctx, tx); err != nil || r.stack.OperationID == "" {
			return err
		}
		return e.wakeStack(ctx, tx, stackID)
	})
	if !store.Permanent(err) {
		return err
	}
	return e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error { return e.endAt(ctx, tx, stackID, reason) })
}

// abandoned reads the operation of a stack without what it needs to go on, nil if there is none.
func (e *Engine) abandoned(ctx context.Context, tx *store.Tx, stackID string) (*run, error) {
	s, err := store.Find[stackRow](ctx, tx, "id = ?", stackID)
	if err != nil || s == nil || s.OperationID == "" {
		return nil, err
	}
	op, err := store.Find[operationRow](ctx, tx, "id = ?", s.OperationID)
	if err != nil || op == nil {
		return nil, err
	}
	r := &run{machine: newMachine(e, op, e.now()), prepared: &prepared{}, stack: s, before: *s, options: op.Options.Get()}
	return r, r.readAll(ctx, tx)
}

// firstPhase is the stage of an operation; before the first, that is the one which fails.
func (r *run) firstPhase() plan.Phase {
	switch r.op.Phase {
	case plan.PhaseHooks:
		r.writes.unhook = append(r.writes.unhook, stackEvaluation(r.op))
	case plan.PhaseValidate, plan.PhaseHooked:
	default:
		return r.op.Phase
	}
	return plan.First(r.op.Kind, r.options.Backward)
}

// stopSteps cancels the steps that run. Only those of a deployment have failed by that.
func (r *run) stopSteps() {
	for _, key := range r.order {
		s := r.steps[key]
		switch {
		case s.State != plan.StepRunning && s.State != plan.StepConfigured:
		case r.op.Phase == plan.PhaseMain:
			r.cancelStep(s)
		case s.CallID != "":
			s.State = plan.StepCancelled
			r.writes.cancel = append(r.writes.cancel, s.CallID)
		}
	}
}

// endsAt are the statuses of stacks whose operation ends where it is, by the status before.
var endsAt = map[types.StackStatus]types.StackStatus{
	types.StackStatusCreateInProgress:                        types.StackStatusCreateFailed,
	types.StackStatusRollbackInProgress:                      types.StackStatusRollbackFailed,
	types.StackStatusDeleteInProgress:                        types.StackStatusDeleteFailed,
	types.StackStatusUpdateInProgress:                        types.StackStatusUpdateFailed,
	types.StackStatusUpdateCompleteCleanupInProgress:         types.StackStatusUpdateComplete,
	types.StackStatusUpdateRollbackInProgress:                types.StackStatusUpdateRollbackFailed,
	types.StackStatusUpdateRollbackCompleteCleanupInProgress: types.StackStatusUpdateRollbackComplete,
	types.StackStatusImportInProgress:                        types.StackStatusImportRollbackFailed,
	types.StackStatusImportRollbackInProgress:                types.StackStatusImportRollbackFailed,
}

// endAt ends the operation of a stack and leaves its resources as they are: the stack can be
// deleted. It writes the rows of the stack and of the operation, and one event.
func (e *Engine) endAt(ctx context.Context, tx *store.Tx, stackID, reason string) error {
	s, err := store.Find[stackRow](ctx, tx, "id = ?", stackID)
	if err != nil || s == nil || s.OperationID == "" {
		return err
	}
	op, err := store.Find[operationRow](ctx, tx, "id = ?", s.OperationID)
	if err != nil {
		return err
	}
	status, ok := endsAt[s.Status]
	if !ok {
		status = s.Status
	}
	s.Status, s.DetailedStatus, s.Reason, s.OperationID = status, "", reason, ""
	if err := store.Swap(ctx, tx, s, &s.RowVersion); err != nil {
		return err
	}
	if op != nil {
		op.Status, op.EndedAt, op.Phase = string(opFailed), e.now(), plan.PhaseEnd
		if err := store.Swap(ctx, tx, op, &op.RowVersion); err != nil {
			return err
		}
	}
	if err := e.insertEvents(ctx, tx, e.stackEvent(s, op, e.now())); err != nil || e.ended == nil {
		return err
	}
	return e.ended(ctx, tx, s.ARN)
}

// giveUpSet fails a change set whose plan cannot be made.
func (e *Engine) giveUpSet(ctx context.Context, id, reason string) error {
	return e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		c, err := store.Find[changeSetRow](ctx, tx, "id = ?", id)
		if err != nil || c == nil {
			return err
		}
		s, err := store.Find[stackRow](ctx, tx, "id = ?", c.StackID)
		if err != nil || s == nil {
			return err
		}
		return e.finishSet(ctx, tx, s, id, &setResult{failed: reason}, nil)
	})
}

// giveUpDetection fails a drift detection.
func (e *Engine) giveUpDetection(ctx context.Context, id, reason string) error {
	return e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		d, err := store.Find[detectionRow](ctx, tx, "id = ?", id)
		if err != nil || d == nil || !d.EndedAt.IsZero() {
			return err
		}
		d.EndedAt, d.Status, d.Reason, d.StackStatus = e.now(), types.StackDriftDetectionStatusDetectionFailed, reason, types.StackDriftStatusUnknown
		return store.Swap(ctx, tx, d, &d.RowVersion)
	})
}
