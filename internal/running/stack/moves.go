package stack

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A Part is a stack during the execution of a refactor.
type Part struct {
	StackID, DraftID string
	Fresh            bool   // the refactor creates the stack
	OperationID      string // of BeginMove, which blocks others until the move or its rollback ends

	// What the stack has after the move: the evaluated outputs of its new template, the names of the exports that it
	// imports, and what each resource depends on.
	Outputs []template.OutputValue
	Imports []string
	Needs   map[string][]string
}

// A Move is a resource that changes its stack or its logical id. Stacks are numbered by their positions.
type Move struct {
	From       int64  `json:"from"`
	Source     string `json:"source"` // its logical id there
	To         int64  `json:"to"`
	Target     string `json:"target"`
	Type       string `json:"type"`
	PhysicalID string `json:"physicalId"`
}

// BeginMove begins the operation on a stack with which it takes part in a refactor, and sets its id.
func (e *Engine) BeginMove(ctx context.Context, tx *store.Tx, caller awswire.Caller, m *Member, p *Part, refactorID string) (err error) {
	begin := beginInput{
		kind: types.OperationTypeUpdateStack, status: types.StackStatusUpdateInProgress, deployment: &deploymentRow{ID: p.DraftID},
		options: operationOptions{Refactor: refactorID}, caller: caller,
	}
	s := *m.row
	if p.Fresh {
		begin.kind, begin.status = types.OperationTypeCreateStack, types.StackStatusCreateInProgress
	} else {
		s.UpdatedAt = e.now()
	}
	if p.OperationID, err = e.begin(ctx, tx, &s, begin); err != nil {
		return err
	}
	return tx.CancelWake(ctx, wakeKind, s.ID) // package refactor continues the operation
}

// refactored reports whether an operation belongs to a refactor, which moves it on.
func (op *operationRow) refactored() bool { return op.Options.Get().Refactor != "" }

// A mover is a stack in a transaction of a refactor.
type mover struct {
	engine *Engine
	part   *Part
	stack  *stackRow
	op     *operationRow
	now    store.Time
	events []eventRow

	resources map[string]*resourceRow
	read      map[string]resourceRow
}

// moverOf reads a stack with the operation that BeginMove began.
func (e *Engine) moverOf(ctx context.Context, tx *store.Tx, p *Part) (*mover, error) {
	s, err := store.Find[stackRow](ctx, tx, "id = ?", p.StackID)
	if err != nil {
		return nil, err
	}
	op, err := store.Find[operationRow](ctx, tx, "id = ?", p.OperationID)
	if err != nil {
		return nil, err
	}
	if s == nil || op == nil || s.OperationID != op.ID {
		return nil, fmt.Errorf("the stack %s is not being refactored", p.StackID)
	}
	return &mover{engine: e, part: p, stack: s, op: op, now: e.now(), resources: map[string]*resourceRow{}, read: map[string]resourceRow{}}, nil
}

// readResources reads what the stack has.
func (v *mover) readResources(ctx context.Context, tx *store.Tx) error {
	all, err := store.FindAll[resourceRow](ctx, tx, "logical_id", "stack_id = ?", v.stack.ID)
	for i := range all {
		v.resources[all[i].LogicalID], v.read[all[i].LogicalID] = &all[i], all[i]
	}
	return err
}

// resource appends the events of a resource.
func (v *mover) resource(id string, m Move, shown object, statuses ...types.ResourceStatus) {
	for _, status := range statuses {
		row := newEvent(v.op, v.now)
		row.LogicalID, row.PhysicalID, row.Type, row.Status, row.Properties = id, m.PhysicalID, m.Type, string(status), shown.Text()
		if status == types.ResourceStatusImportInProgress {
			row.Reason = reasonImportStarted
		}
		row.ID = resourceEventID(row)
		v.events = append(v.events, row)
	}
}

// status moves the stack through statuses.
func (v *mover) status(reason string, statuses ...types.StackStatus) {
	for _, status := range statuses {
		v.stack.Status, v.stack.Reason = status, shownReason(status, reason)
		event := v.engine.stackEvent(v.stack, v.op, v.now)
		event.Reason = reason
		v.events = append(v.events, event)
	}
}

// end ends the operation.
func (v *mover) end(status types.BeaconStackOperationStatus) {
	v.op.Status, v.op.EndedAt, v.op.Phase = string(status), v.now, plan.PhaseEnd
	v.stack.OperationID = ""
}

// write writes the stack, its operation and the events.
func (v *mover) write(ctx context.Context, tx *store.Tx) error {
	if err := store.Swap(ctx, tx, v.op, &v.op.RowVersion); err != nil {
		return err
	}
	if err := store.Swap(ctx, tx, v.stack, &v.stack.RowVersion); err != nil {
		return err
	}
	if err := store.Save(ctx, tx, v.read, v.resources); err != nil {
		return err
	}
	return v.engine.insertEvents(ctx, tx, v.events...)
}

// Move moves resources between stacks, makes the drafts their templates and ends their operations, in the transaction: at
// any time, a resource is in one stack.
func (e *Engine) Move(ctx context.Context, tx *store.Tx, parts []*Part, moves []Move) error {
	movers := make([]*mover, len(parts))
	for i, p := range parts {
		var err error
		if movers[i], err = e.moverOf(ctx, tx, p); err != nil {
			return err
		}
		if err := movers[i].readResources(ctx, tx); err != nil {
			return err
		}
	}
	if err := moveResources(ctx, tx, movers, moves); err != nil {
		return err
	}
	for _, v := range movers { // first all: a name may move from one stack to another
		if err := forgetExports(ctx, tx, v.stack); err != nil {
			return err
		}
	}
	for _, v := range movers {
		outputs := outputsOf(v.part.Outputs)
		if err := writeExports(ctx, tx, v.stack, outputs); err != nil {
			return err
		}
		if err := replaceImports(ctx, tx, v.stack, v.part.Imports); err != nil {
			return err
		}
		v.stack.DeploymentID, v.stack.StableDeploymentID, v.stack.Outputs = v.part.DraftID, v.part.DraftID, store.JSONOf(outputs)
		if v.part.Fresh {
			v.status("", types.StackStatusCreateComplete)
		} else {
			v.status("", types.StackStatusUpdateCompleteCleanupInProgress, types.StackStatusUpdateComplete)
		}
		v.end(opSucceeded)
		if err := v.write(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// moveResources takes what moves out of its stacks, puts it where it is to be, and sets the dependencies of all.
func moveResources(ctx context.Context, tx *store.Tx, movers []*mover, moves []Move) error {
	moved := make([]resourceRow, len(moves))
	for i, m := range moves {
		from := movers[m.From]
		x := from.resources[m.Source]
		if x == nil || x.PhysicalID != m.PhysicalID {
			return fmt.Errorf("the resource %s of %s is not the one that was to be moved", m.Source, from.stack.ARN)
		}
		moved[i] = *x
		delete(from.resources, m.Source)
		from.resource(m.Source, m, x.Shown, types.ResourceStatusExportInProgress, types.ResourceStatusExportComplete)
		for _, table := range []string{"stack_resource_drifts", "stack_signals"} {
			if _, err := store.Exec(ctx, tx, "DELETE FROM "+table+" WHERE stack_id = ? AND logical_id = ?", x.StackID, m.Source); err != nil {
				return fmt.Errorf("take a resource out of its stack: %w", err)
			}
		}
	}
	for i, m := range moves {
		to, x := movers[m.To], &moved[i]
		x.StackID, x.LogicalID, x.UpdatedAt, x.Drift = to.stack.ID, m.Target, to.now, store.JSON[types.StackResourceDriftInformation]{}
		x.Status, x.Reason = types.ResourceStatusImportComplete, ""
		to.resource(m.Target, m, x.Shown, types.ResourceStatusImportInProgress, types.ResourceStatusImportComplete)
		to.resources[m.Target] = x // also of what could not be created, or is deleted
	}
	for _, v := range movers {
		for id, needs := range v.part.Needs {
			if x, after := v.resources[id], store.JSONOf(needs); !x.DependsOn.Equal(after) {
				x.DependsOn = after
			}
		}
	}
	return nil
}

// RevertMove begins the rollback of a stack whose resources cannot be moved. Nothing of it was changed.
func (e *Engine) RevertMove(ctx context.Context, tx *store.Tx, p *Part, problem string) error {
	v, err := e.moverOf(ctx, tx, p)
	if err != nil {
		return err
	}
	status := types.StackStatusUpdateRollbackInProgress
	if p.Fresh {
		status = types.StackStatusRollbackInProgress
	}
	v.status(problem, status)
	return v.write(ctx, tx)
}

// EndRevertedMove ends the rollback that RevertMove began.
func (e *Engine) EndRevertedMove(ctx context.Context, tx *store.Tx, p *Part) error {
	v, err := e.moverOf(ctx, tx, p)
	if err != nil {
		return err
	}
	if p.Fresh {
		v.status("", types.StackStatusRollbackComplete)
		v.stack.DeletedAt, v.stack.DeploymentID = v.now, p.DraftID
	} else {
		v.stack.DeploymentID = v.stack.StableDeploymentID
		v.status("", types.StackStatusUpdateRollbackCompleteCleanupInProgress, types.StackStatusUpdateRollbackComplete)
	}
	v.end(opFailed)
	return v.write(ctx, tx)
}

// GiveUpMove ends the operation on a stack whose rollback cannot end otherwise.
func (e *Engine) GiveUpMove(ctx context.Context, tx *store.Tx, p *Part, reason string) error {
	return e.endAt(ctx, tx, p.StackID, reason)
}
