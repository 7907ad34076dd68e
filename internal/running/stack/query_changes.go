package stack

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A ChangeSetState is the current state of a change set.
type ChangeSetState struct {
	Name, ARN   string
	StackARN    string
	Kind        types.ChangeSetType
	Status      types.ChangeSetStatus
	Execution   types.ExecutionStatus
	Reason      string
	Description string
	ParentARN   string // of the change set that contains this one, else ""
	CreatedAt   time.Time
	Changes     []types.Change // with property values, secrets masked; nil in lists
}

// Executable reports whether the change set can be executed now.
func (c *ChangeSetState) Executable() bool {
	return c.Execution == types.ExecutionStatusAvailable && c.ParentARN == ""
}

// ChangeSets lists the change sets of a stack that were not executed, the newest first, at
// most limit of them.
func (e *Engine) ChangeSets(ctx context.Context, place awswire.Place, stack string, limit int) ([]ChangeSetState, error) {
	s, err := e.lookUp(ctx, place, stack)
	if err != nil {
		return nil, err
	}
	var rows []changeSetRow
	err = store.Query(ctx, e.store.Read(), &rows, "SELECT "+store.Columns[changeSetRow]("plan", "options")+" FROM change_sets AS cs WHERE cs.stack_id = ? AND cs.live ORDER BY cs.created_at DESC, cs.id LIMIT ?",
		s.ID, limit)
	if err != nil {
		return nil, fmt.Errorf("list change sets: %w", err)
	}
	out := make([]ChangeSetState, len(rows))
	for i := range rows {
		out[i] = changeSetState(s, &rows[i])
	}
	return out, nil
}

// ChangeSet returns a change set of a stack, by its name or ARN, with its changes. An executed
// one has only its ARN.
func (e *Engine) ChangeSet(ctx context.Context, place awswire.Place, stack, name string) (*ChangeSetState, error) {
	db := e.store.Read()
	s, err := e.lookUp(ctx, place, stack)
	if err != nil {
		return nil, err
	}
	c, err := e.requireSet(ctx, db, awswire.Caller{Place: place}, &name, &s.ARN)
	if err != nil {
		return nil, err
	}
	if c.StackID != s.ID {
		return nil, refuse("change-set-missing", name)
	}
	out := changeSetState(s, c)
	if out.Execution, err = executionOf(ctx, db, c); err != nil {
		return nil, err
	}
	planned := c.Plan.Get()
	out.Changes = planned.Shown(true)
	return &out, nil
}

func changeSetState(s *stackRow, c *changeSetRow) ChangeSetState {
	return ChangeSetState{
		Name: c.Name, ARN: c.ARN, StackARN: s.ARN, Kind: c.Kind, Status: c.Status, Execution: c.ExecutionStatus, Reason: c.Reason,
		Description: c.Description, ParentARN: c.ParentID, CreatedAt: c.CreatedAt.Time,
	}
}

// A DriftState is what drift detections found of a stack.
type DriftState struct {
	Status     types.StackDriftStatus // of the latest detection of the whole stack; NOT_CHECKED without one
	Running    bool                   // a detection runs
	Reason     string                 // why the latest detection failed, "" if it did not
	CheckedAt  time.Time              // zero if there was no detection
	Detectable bool                   // the status of the stack allows a detection

	// Resources are those of the stack whose drift was detected, sorted by logical id.
	// Secrets are masked.
	Resources []types.StackResourceDrift
}

// Drift returns what drift detections found of a stack.
func (e *Engine) Drift(ctx context.Context, place awswire.Place, name string) (*DriftState, error) {
	db := e.store.Read()
	s, err := e.stackToDetect(ctx, db, awswire.Caller{Place: place}, &name)
	out := &DriftState{Status: types.StackDriftStatusNotChecked, Detectable: err == nil}
	if err != nil {
		if s, err = e.lookUp(ctx, place, name); err != nil {
			return nil, err
		}
	}
	var latest []detectionRow
	if err := store.List(ctx, db, &latest, "WHERE dd.stack_id = ? ORDER BY dd.started_at DESC, dd.id LIMIT 1", s.ID); err != nil {
		return nil, fmt.Errorf("look up the drift detection: %w", err)
	}
	if len(latest) > 0 {
		d := &latest[0]
		out.Running, out.Reason, out.CheckedAt = d.EndedAt.IsZero(), d.Reason, d.StartedAt.Time
		if !out.Running {
			out.Status = d.StackStatus
		}
	}
	rows, err := currentDrifts(ctx, db, s)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		out.Resources = append(out.Resources, *rows[i].shown(s))
	}
	return out, nil
}

// changeMark sums what changes with the change sets and the drift of a stack.
func changeMark(ctx context.Context, db store.DB, stackID string) (int64, error) {
	var sum int64
	for _, table := range []string{"change_sets", "stack_drift_detections"} {
		var n int64
		if err := store.Query(ctx, db, &n, "SELECT COALESCE(SUM(row_version), 0) + 1000003 * COUNT(*) FROM "+table+" WHERE stack_id = ?", stackID); err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}
