package stack

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A Failure is what failed first in an operation on a stack.
type Failure struct {
	EventState                // of a resource; of the stack if none of its resources failed
	Operation  OperationState // that failed, not the one that rolls it back
	StackARN   string
	StackName  string

	Message    string    // of the handler, or the reason of the event
	ErrorCode  string    // of the handler, "" if it reported none
	Hooks      []Refusal // of hooks that refused the resource or the stack
	AlsoFailed []string  // logical ids of further resources
	Nested     *Failure  // in the nested stack that the resource is, nil if it is not known

	// Attempted reports whether the stack has another template than the one that the operation deployed: an
	// earlier one, to which it was rolled back.
	Attempted bool

	// Resources are those of the template of the operation: their logical ids, types and dependencies. Nested failures
	// have none.
	Resources []ResourceState
}

// A Refusal is the message of a hook that refused something.
type Refusal struct{ Hook, Message string }

const (
	maxFailures = 1000 // events of failures that are read of an operation
	maxDescent  = 10   // nested stacks that a failure is followed into
)

// Failures are why the latest operation on a stack failed, the earliest first: the operation that was rolled back, and the
// rollback if it failed, too. There are none if the latest operation has not failed and undoes none.
func (e *Engine) Failures(ctx context.Context, place awswire.Place, name string) ([]Failure, error) {
	s, err := e.lookUp(ctx, place, name)
	if err != nil {
		return nil, err
	}
	blamed, err := e.blamed(ctx, s, store.Time{})
	if err != nil {
		return nil, err
	}
	var out []Failure
	for i := range blamed {
		f, err := e.failure(ctx, s, &blamed[i], 0)
		if err != nil {
			return nil, err
		}
		if f != nil {
			out = append(out, *f)
		}
	}
	return out, nil
}

// blamed are the operations to which a stack owes its status, the earliest first, of those that began until a time, zero
// for now: the latest one unless it has succeeded, after the one that it undoes. The latest is that before a deletion
// that was requested later.
func (e *Engine) blamed(ctx context.Context, s *stackRow, until store.Time) ([]operationRow, error) {
	var rows []operationRow
	var where store.Where
	where.And("stack_id = ? AND kind <> ?", s.ID, types.OperationTypeCreateChangeset)
	if !until.IsZero() {
		where.And("started_at <= ?", until)
	}
	if err := store.List(ctx, e.store.Read(), &rows, where.Clause()+" ORDER BY started_at DESC, id DESC LIMIT 2", where.Args...); err != nil {
		return nil, fmt.Errorf("read the latest operations: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	last := rows[0]
	if last.Kind == types.OperationTypeDeleteStack && last.Status == string(opSucceeded) && last.Options.Get().Undoes == "" && len(rows) > 1 {
		last = rows[1]
	}
	var out []operationRow
	if id := last.Options.Get().Undoes; id != "" && id != last.ID {
		undone, err := store.Find[operationRow](ctx, e.store.Read(), "id = ? AND stack_id = ?", id, s.ID)
		if err != nil {
			return nil, err
		}
		if undone != nil {
			out = append(out, *undone)
		}
	}
	if last.Status != string(opSucceeded) {
		out = append(out, last)
	}
	return out, nil
}

// failure is what failed first in an operation; nil if nothing has.
func (e *Engine) failure(ctx context.Context, s *stackRow, op *operationRow, depth int) (*Failure, error) {
	rows, err := e.failedEvents(ctx, s, op)
	if err != nil {
		return nil, err
	}
	out := &Failure{Operation: operationState(op), StackARN: s.ARN, StackName: s.Name, Attempted: op.DeploymentID != s.DeploymentID}
	var first *eventRow
	for i := range rows {
		switch row := &rows[i]; {
		case first == nil:
			first = row
		case row.LogicalID != first.LogicalID && !slices.Contains(out.AlsoFailed, row.LogicalID):
			out.AlsoFailed = append(out.AlsoFailed, row.LogicalID)
		}
	}
	if first == nil {
		if first, err = e.ownFailure(ctx, s, op); err != nil || first == nil {
			return nil, err
		}
	}
	out.EventState = eventState(s, first)
	out.Message, out.ErrorCode = HandlerMessage(first.Reason)
	if out.Hooks, err = e.refusals(ctx, s, op, first.LogicalID); err != nil {
		return nil, err
	}
	if depth == 0 {
		if out.Resources, err = e.resourcesOfTemplate(ctx, s, op); err != nil {
			return nil, err
		}
	}
	if natureOf(first.Type).contains && first.PhysicalID != s.ARN && depth < maxDescent {
		out.Nested, err = e.nestedFailure(ctx, s, first, depth)
	}
	return out, err
}

// failedEvents are the failures of resources in an operation, the first one first, but for those that are
// consequences of others.
func (e *Engine) failedEvents(ctx context.Context, s *stackRow, op *operationRow) ([]eventRow, error) {
	var rows []eventRow
	err := store.Query(ctx, e.store.Read(), &rows, "SELECT "+store.Columns[eventRow]("properties")+" FROM stack_events AS e WHERE e.stack_id = ? AND e.operation_id = ? AND (e.status LIKE '%!_FAILED' ESCAPE '!' OR e.kind = ?) ORDER BY e.seq LIMIT ?",
		s.ID, op.ID, eventValidation, maxFailures)
	if err != nil {
		return nil, fmt.Errorf("read the failures of an operation: %w", err)
	}
	return slices.DeleteFunc(rows, func(row eventRow) bool {
		if row.Kind == eventValidation {
			return row.Details.Get().ValidationMode == string(types.HookFailureModeWarn)
		}
		return row.PhysicalID == s.ARN || slices.Contains([]string{reasonCreateCancelled, reasonUpdateCancelled, reasonImportCancelled}, row.Reason)
	}), nil
}

// ownFailure is the event with which a stack failed without a resource: a hook refused the stack, or the time ran out. It
// is of the operation, or the first one of its rollback.
func (e *Engine) ownFailure(ctx context.Context, s *stackRow, op *operationRow) (*eventRow, error) {
	ids, err := e.withRollbacks(ctx, op)
	if err != nil {
		return nil, err
	}
	var rows []eventRow
	err = store.Query(ctx, e.store.Read(), &rows, "SELECT "+store.Columns[eventRow]("properties")+" FROM stack_events AS e WHERE e.stack_id = ? AND e.physical_id = ? AND e.operation_id IN (?) AND e.reason NOT IN ('', ?) AND (e.status LIKE '%!_FAILED' ESCAPE '!' OR e.status LIKE '%ROLLBACK!_IN!_PROGRESS' ESCAPE '!' OR e.status = ?) ORDER BY e.seq LIMIT 1",
		s.ID, s.ARN, store.In(ids), reasonUserInitiated, types.StackStatusDeleteInProgress)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// withRollbacks returns the ids of an operation and of those that undo it.
func (e *Engine) withRollbacks(ctx context.Context, op *operationRow) ([]string, error) {
	var later []operationRow
	err := store.List(ctx, e.store.Read(), &later, "WHERE o.stack_id = ? AND o.started_at >= ? AND o.id <> ? ORDER BY o.started_at, o.id LIMIT ?",
		op.StackID, op.StartedAt, op.ID, maxOperations)
	ids := []string{op.ID}
	for i := range later {
		if later[i].Options.Get().Undoes == op.ID {
			ids = append(ids, later[i].ID)
		}
	}
	return ids, err
}

// refusals are the messages of the hooks that refused a resource or the stack in an operation.
func (e *Engine) refusals(ctx context.Context, s *stackRow, op *operationRow, logicalID string) ([]Refusal, error) {
	var rows []eventRow
	err := store.Query(ctx, e.store.Read(), &rows, "SELECT "+store.Columns[eventRow]("properties")+" FROM stack_events AS e WHERE e.stack_id = ? AND e.operation_id = ? AND e.logical_id = ? ORDER BY e.seq LIMIT ?",
		s.ID, op.ID, logicalID, maxFailures)
	if err != nil {
		return nil, fmt.Errorf("read the events of a resource: %w", err)
	}
	var out []Refusal
	for i := range rows {
		d := rows[i].Details.Get()
		failed := d.HookStatus == string(types.HookStatusHookCompleteFailed) || d.HookStatus == string(types.HookStatusHookFailed)
		if failed && d.HookFailureMode != string(types.HookFailureModeWarn) {
			out = append(out, Refusal{Hook: d.HookType, Message: strings.TrimPrefix(d.HookStatusReason, hookFailedPrefix)})
		}
	}
	return out, nil
}

// hookFailedPrefix is what the reason of a hook that refused something begins with.
const hookFailedPrefix = "Hook failed with message: "

// resourcesOfTemplate are the resources of the template of an operation, sorted by their logical ids. There are none if
// the template was never processed.
func (e *Engine) resourcesOfTemplate(ctx context.Context, s *stackRow, op *operationRow) ([]ResourceState, error) {
	known, _, err := e.declared(ctx, cmp.Or(op.DeploymentID, s.DeploymentID))
	var out []ResourceState
	for _, id := range slices.Sorted(maps.Keys(known)) {
		r := known[id]
		out = append(out, ResourceState{LogicalID: id, Type: r.Type, Path: r.Path, DependsOn: r.Needs})
	}
	return out, err
}

// A StackOperation is an operation on a stack in a list of those on all stacks.
type StackOperation struct {
	OperationState
	Rollback *OperationState // of the operation, nil if it was not rolled back
	Stack    Summary         // without its description and the number of its resources
}

// LatestOperations lists operations on the stacks of a place that are not nested, the latest first. A rollback is that of the
// operation that it undoes.
func (e *Engine) LatestOperations(ctx context.Context, place awswire.Place, limit int) ([]StackOperation, error) {
	var rows []operationRow
	db := e.store.Read()
	err := store.List(ctx, db, &rows, "WHERE o.stack_id IN (SELECT id FROM stacks WHERE account = ? AND region = ? AND parent_id = '') AND o.kind <> ? ORDER BY o.started_at DESC, o.id DESC LIMIT ?",
		place.Account, place.Region, types.OperationTypeCreateChangeset, 2*limit)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].StackID
	}
	stacks, err := store.FindAll[stackRow](ctx, db, "id", "id IN (?)", store.In(ids))
	if err != nil {
		return nil, err
	}
	rollbacks := map[string]*OperationState{}
	var out []StackOperation
	for i := range rows {
		op := &rows[i]
		state := operationState(op)
		if undoes := op.Options.Get().Undoes; undoes != "" {
			if rollbacks[undoes] == nil {
				rollbacks[undoes] = &state // the latest attempt
			}
			continue
		}
		at := slices.IndexFunc(stacks, func(s stackRow) bool { return s.ID == op.StackID })
		if at >= 0 && len(out) < limit {
			out = append(out, StackOperation{OperationState: state, Rollback: rollbacks[op.ID], Stack: summarized(&stacks[at], nil)})
		}
	}
	return out, nil
}

// nestedFailure is what failed first in the nested stack of an event, nil if that is not known.
func (e *Engine) nestedFailure(ctx context.Context, s *stackRow, of *eventRow, depth int) (*Failure, error) {
	child, err := store.Find[stackRow](ctx, e.store.Read(), "arn = ? AND account = ? AND region = ?", of.PhysicalID, s.Account, s.Region)
	if err != nil || child == nil {
		return nil, err
	}
	blamed, err := e.blamed(ctx, child, of.At)
	if err != nil || len(blamed) == 0 {
		return nil, err
	}
	return e.failure(ctx, child, &blamed[0], depth+1)
}
