package stack

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/store"
)

// A refactorTurn is a stack in the transaction that ends its part of a refactor.
type refactorTurn struct {
	engine *Engine
	stack  *stackRow
	op     *operationRow
	now    store.Time
	events []eventRow
}

// turnOf reads a stack with the operation that the execution began.
func (e *Engine) turnOf(ctx context.Context, tx *store.Tx, rs *refactorStackRow) (*refactorTurn, error) {
	s, err := oneRow[stackRow](ctx, tx, "id = ?", rs.StackID)
	if err != nil {
		return nil, err
	}
	op, err := oneRow[operationRow](ctx, tx, "id = ?", rs.OperationID)
	if err != nil {
		return nil, err
	}
	if s == nil || op == nil || s.OperationID != op.ID {
		return nil, fmt.Errorf("the stack %s is not being refactored", rs.ARN)
	}
	return &refactorTurn{engine: e, stack: s, op: op, now: e.now()}, nil
}

// resource appends the events of a resource.
func (t *refactorTurn) resource(id, physicalID, typeName, shown string, statuses ...types.ResourceStatus) {
	for _, status := range statuses {
		row := newEvent(t.op, t.now)
		row.LogicalID, row.PhysicalID, row.Type, row.Status, row.Properties = id, physicalID, typeName, string(status), shown
		if status == types.ResourceStatusImportInProgress {
			row.Reason = reasonImportStarted
		}
		row.ID = resourceEventID(row)
		t.events = append(t.events, row)
	}
}

// status moves the stack.
func (t *refactorTurn) status(status types.StackStatus, reason string) {
	t.stack.Status, t.stack.Reason = status, shownReason(status, reason)
	event := t.engine.stackEvent(t.stack, t.op, t.now)
	event.Reason = reason
	t.events = append(t.events, event)
}

// end ends the operation.
func (t *refactorTurn) end(status types.BeaconStackOperationStatus) {
	t.op.Status, t.op.EndedAt, t.op.Phase = string(status), t.now, phaseEnd
	t.stack.OperationID = ""
}

// write writes the stack, its operation and the events.
func (t *refactorTurn) write(ctx context.Context, tx *store.Tx) error {
	if err := store.Swap(ctx, tx, t.op, &t.op.RowVersion); err != nil {
		return err
	}
	if err := store.Swap(ctx, tx, t.stack, &t.stack.RowVersion); err != nil {
		return err
	}
	return t.engine.insertEvents(ctx, tx, t.events...)
}

// moveRefactored moves the resources and makes the templates those of the stacks, all in one
// transaction: a resource is in one stack at any time.
func (e *Engine) moveRefactored(ctx context.Context, tx *store.Tx, row *refactorRow, r *refactoring) error {
	turns := make([]*refactorTurn, len(r.stacks))
	rows := make([]map[string]resourceRow, len(r.stacks))
	for i, s := range r.stacks {
		var err error
		if turns[i], err = e.turnOf(ctx, tx, &s.refactorStackRow); err != nil {
			return err
		}
		all, err := allRows[resourceRow](ctx, tx, "logical_id", "stack_id = ?", s.StackID)
		if err != nil {
			return err
		}
		rows[i] = map[string]resourceRow{}
		for _, x := range all {
			rows[i][x.LogicalID] = x
		}
	}
	moves := r.moves()
	if err := takeOut(ctx, tx, r, moves, turns, rows); err != nil {
		return err
	}
	if err := r.putIn(ctx, tx, moves, turns, rows); err != nil {
		return err
	}
	if err := r.writeExports(ctx, tx); err != nil {
		return err
	}
	for i, s := range r.stacks {
		t := turns[i]
		t.stack.DeploymentID, t.stack.StableDeploymentID, t.stack.Outputs = s.DeploymentID, s.DeploymentID, store.JSONOf(s.outputs)
		if s.Fresh {
			t.status(types.StackStatusCreateComplete, "")
		} else {
			t.status(types.StackStatusUpdateCompleteCleanupInProgress, "")
			t.status(types.StackStatusUpdateComplete, "")
		}
		t.end(opSucceeded)
		if err := t.write(ctx, tx); err != nil {
			return err
		}
	}
	row.ExecutionStatus, row.ExecutionReason = types.StackRefactorExecutionStatusExecuteComplete, ""
	return store.Swap(ctx, tx, row, &row.RowVersion)
}

// takeOut removes what moves from where it is.
func takeOut(ctx context.Context, tx *store.Tx, r *refactoring, moves []refactorMove, turns []*refactorTurn, rows []map[string]resourceRow) error {
	for _, m := range moves {
		x, ok := rows[m.From][m.Source]
		if !ok || x.PhysicalID != m.PhysicalID {
			return fmt.Errorf("the resource %s of %s is not the one that was to be moved", m.Source, r.stacks[m.From].ARN)
		}
		turns[m.From].resource(m.Source, m.PhysicalID, m.Type, x.Shown.Text(), types.ResourceStatusExportInProgress, types.ResourceStatusExportComplete)
		for _, model := range []any{(*resourceRow)(nil), (*driftRow)(nil), (*signalRow)(nil)} {
			if _, err := tx.NewDelete().Model(model).Where("stack_id = ? AND logical_id = ?", x.StackID, m.Source).Exec(ctx); err != nil {
				return fmt.Errorf("take a resource out of its stack: %w", err)
			}
		}
	}
	return nil
}

// putIn writes what moved where it is to be, and the dependencies of all.
func (r *refactoring) putIn(ctx context.Context, tx *store.Tx, moves []refactorMove, turns []*refactorTurn, rows []map[string]resourceRow) error {
	var changed []*resourceRow
	for _, m := range moves {
		x, t := rows[m.From][m.Source], turns[m.To]
		x.StackID, x.LogicalID, x.UpdatedAt, x.Drift = t.stack.ID, m.Target, t.now, store.JSON[types.StackResourceDriftInformation]{}
		x.Status, x.Reason = types.ResourceStatusImportComplete, ""
		x.DependsOn = store.JSONOf(r.needs(place{int(m.To), m.Target}))
		t.resource(m.Target, m.PhysicalID, m.Type, x.Shown.Text(), types.ResourceStatusImportInProgress, types.ResourceStatusImportComplete)
		// What could not be created, or is deleted, may have left its row there.
		if _, err := tx.NewDelete().Model((*resourceRow)(nil)).Where("stack_id = ? AND logical_id = ?", x.StackID, x.LogicalID).Exec(ctx); err != nil {
			return fmt.Errorf("put a resource into a stack: %w", err)
		}
		changed = append(changed, &x)
	}
	for i, s := range r.stacks {
		for _, id := range slices.Sorted(maps.Keys(s.after)) {
			at := place{i, id}
			x := rows[i][id]
			if needs := store.JSONOf(r.needs(at)); r.from[at] == at && !x.DependsOn.Equal(needs) {
				x.DependsOn = needs
				changed = append(changed, &x)
			}
		}
	}
	return store.Upsert(ctx, tx, changed, "depends_on", "updated_at")
}

// needs are the resources that one of a template depends on.
func (r *refactoring) needs(at place) []string {
	d := r.stacks[at.stack].next
	return d.Scope.Needs(d.Resource(at.id))
}

// writeExports makes what the stacks export and import what the templates say.
func (r *refactoring) writeExports(ctx context.Context, tx *store.Tx) error {
	for _, s := range r.stacks {
		for _, model := range []any{(*exportRow)(nil), (*importRow)(nil)} {
			if _, err := tx.NewDelete().Model(model).Where("stack_id = ?", s.StackID).Exec(ctx); err != nil {
				return fmt.Errorf("replace exports and imports: %w", err)
			}
		}
	}
	for _, s := range r.stacks {
		var models []any
		for _, o := range s.outputs {
			if o.Export != "" {
				models = append(models, &exportRow{Account: s.row.Account, Region: s.row.Region, Name: o.Export, StackID: s.StackID, Value: o.Value})
			}
		}
		for _, name := range slices.Sorted(maps.Keys(s.imports)) {
			models = append(models, &importRow{Account: s.row.Account, Region: s.row.Region, Name: name, StackID: s.StackID})
		}
		for _, model := range models {
			if _, err := tx.NewInsert().Model(model).Exec(ctx); err != nil {
				return fmt.Errorf("write an export or import: %w", err)
			}
		}
	}
	return nil
}

// beginRefactorRollback begins to take the stacks back to what they were.
func (e *Engine) beginRefactorRollback(ctx context.Context, tx *store.Tx, row *refactorRow, problem string) error {
	stacks, err := stacksOfRefactor(ctx, tx, row.ID)
	if err != nil {
		return err
	}
	for i := range stacks {
		t, err := e.turnOf(ctx, tx, &stacks[i])
		if err != nil {
			return err
		}
		status := types.StackStatusUpdateRollbackInProgress
		if stacks[i].Fresh {
			status = types.StackStatusRollbackInProgress
		}
		t.status(status, problem)
		if err := t.write(ctx, tx); err != nil {
			return err
		}
	}
	row.ExecutionStatus, row.ExecutionReason = types.StackRefactorExecutionStatusRollbackInProgress, problem
	if err := store.Swap(ctx, tx, row, &row.RowVersion); err != nil {
		return err
	}
	return tx.Wake(ctx, refactorKind, row.ID, time.Time{})
}

// endRefactorRollback ends the rollback of a refactor: no resource was moved.
func (e *Engine) endRefactorRollback(ctx context.Context, id string) error {
	return e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := oneRow[refactorRow](ctx, tx, "id = ?", id)
		if err != nil || row == nil || row.ExecutionStatus != types.StackRefactorExecutionStatusRollbackInProgress {
			return err
		}
		stacks, err := stacksOfRefactor(ctx, tx, id)
		if err != nil {
			return err
		}
		for i := range stacks {
			t, err := e.turnOf(ctx, tx, &stacks[i])
			if err != nil {
				return err
			}
			t.stack.DeploymentID = t.stack.StableDeploymentID
			if stacks[i].Fresh {
				t.status(types.StackStatusRollbackComplete, "")
				t.stack.DeletedAt = t.now
				t.stack.DeploymentID = stacks[i].DeploymentID
			} else {
				t.status(types.StackStatusUpdateRollbackCompleteCleanupInProgress, "")
				t.status(types.StackStatusUpdateRollbackComplete, "")
			}
			t.end(opFailed)
			if err := t.write(ctx, tx); err != nil {
				return err
			}
		}
		row.ExecutionStatus = types.StackRefactorExecutionStatusRollbackComplete
		return store.Swap(ctx, tx, row, &row.RowVersion)
	})
}
