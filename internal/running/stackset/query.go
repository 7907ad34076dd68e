package stackset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The queries of this file are for Go callers. Parameters with NoEcho are masked.

// A Summary is a set in a list.
type Summary struct {
	Name, ID    string
	ARN         string
	Status      types.StackSetStatus
	Description string
	Instances   int
	Current     int // of the instances
	CreatedAt   time.Time
}

// A Query selects sets of one place.
type Query struct {
	awswire.Place

	Deleted bool   // those that were deleted instead of those that live
	After   string // Name of the last set of the previous page, "" for the first page
	Limit   int
}

// Sets lists sets, by name.
func (e *Engine) Sets(ctx context.Context, q Query) ([]Summary, error) {
	var rows []setRow
	err := store.Query(ctx, e.store.Read(), &rows, "SELECT "+store.Columns[setRow]("template", "parameters")+" FROM stack_sets WHERE account = ? AND region = ? AND live = ? AND name > ? ORDER BY name, created_at LIMIT ?",
		q.Account, q.Region, !q.Deleted, q.After, q.Limit)
	if err != nil {
		return nil, fmt.Errorf("list stack sets: %w", err)
	}
	return e.summaries(ctx, rows)
}

// summaries adds to sets how many instances they have.
func (e *Engine) summaries(ctx context.Context, sets []setRow) ([]Summary, error) {
	if len(sets) == 0 {
		return nil, nil
	}
	ids := make([]string, len(sets))
	for i := range sets {
		ids[i] = sets[i].ID
	}
	var counts []struct {
		SetID   string `db:"set_id"`
		All     int    `db:"instances"`
		Current int    `db:"current_instances"`
	}
	err := store.Query(ctx, e.store.Read(), &counts, "SELECT set_id, COUNT(*) AS instances, SUM(CASE WHEN status = ? THEN 1 ELSE 0 END) AS current_instances FROM stack_set_instances WHERE set_id IN (?) GROUP BY set_id",
		types.StackInstanceStatusCurrent, store.In(ids))
	if err != nil {
		return nil, fmt.Errorf("count the instances of stack sets: %w", err)
	}
	out := make([]Summary, len(sets))
	for i := range sets {
		s := &sets[i]
		out[i] = Summary{Name: s.Name, ID: s.id(), ARN: s.arn(), Status: s.status(), Description: s.Description, CreatedAt: s.CreatedAt.Time}
		for _, c := range counts {
			if c.SetID == s.ID {
				out[i].Instances, out[i].Current = c.All, c.Current
			}
		}
	}
	return out, nil
}

// A State is a set with its instances and its latest operations.
type State struct {
	Summary
	Parameters []types.Parameter
	Instances  []InstanceState  // by region and account, at most maxInstances
	Operations []OperationState // the latest first, at most maxOperations
	Left       int              // how many instances are not in Instances
}

const (
	maxInstances  = 1000
	maxOperations = 20
)

// An InstanceState is the stack of a set in one place.
type InstanceState struct {
	awswire.Place
	Status   types.StackInstanceStatus
	Detailed types.StackInstanceDetailedStatus
	Reason   string
	Drift    types.StackDriftStatus
	StackARN string // "" without a stack
}

// An OperationState is an operation on a set.
type OperationState struct {
	ID                 string
	Action             types.StackSetOperationAction
	Status             types.StackSetOperationStatus
	StartedAt, EndedAt time.Time // EndedAt is zero while it runs
	Counts             map[types.StackSetOperationResultStatus]int
	Failures           []FailureState // at most maxFailures
}

const maxFailures = 20

// A FailureState is why an operation failed in a place.
type FailureState struct {
	awswire.Place
	Reason string
}

// Set returns a set of a place by its name or id. The error is an *awswire.Error if it does not
// exist.
func (e *Engine) Set(ctx context.Context, place awswire.Place, name string) (*State, error) {
	s, err := setOf(ctx, e.store.Read(), place, name)
	if err == nil && s == nil {
		err = noSet(name)
	}
	if err != nil {
		return nil, err
	}
	out := &State{}
	summaries, err := e.summaries(ctx, []setRow{*s})
	if err != nil {
		return nil, err
	}
	out.Summary = summaries[0]
	out.Parameters = shown(s.Parameters.Get(), s.parsedTemplate())
	var rows []instanceRow
	err = store.Query(ctx, e.store.Read(), &rows, "SELECT "+store.Columns[instanceRow]("overrides")+" FROM stack_set_instances WHERE set_id = ? ORDER BY region, account LIMIT ?",
		s.ID, maxInstances)
	if err != nil {
		return nil, fmt.Errorf("list the instances of a stack set: %w", err)
	}
	out.Left = out.Summary.Instances - len(rows)
	for i := range rows {
		row := &rows[i]
		out.Instances = append(out.Instances, InstanceState{row.place(), row.Status, row.Detailed, row.Reason, row.Drift, row.StackARN})
	}
	out.Operations, err = e.latestOperations(ctx, s)
	return out, err
}

func (e *Engine) latestOperations(ctx context.Context, s *setRow) ([]OperationState, error) {
	var rows []operationRow
	if err := store.Query(ctx, e.store.Read(), &rows, "SELECT "+store.Columns[operationRow]("input")+" FROM stack_set_operations WHERE set_id = ? ORDER BY seq DESC LIMIT ?",
		s.ID, maxOperations); err != nil {
		return nil, fmt.Errorf("list the operations of a stack set: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	var counts []struct {
		OperationID string                              `db:"operation_id"`
		Status      types.StackSetOperationResultStatus `db:"status"`
		N           int                                 `db:"n"`
	}
	err := store.Query(ctx, e.store.Read(), &counts, "SELECT operation_id, status, COUNT(*) AS n FROM stack_set_results WHERE set_id = ? AND operation_id IN (?) GROUP BY operation_id, status",
		s.ID, store.In(ids))
	if err != nil {
		return nil, fmt.Errorf("count the results of operations: %w", err)
	}
	out := make([]OperationState, len(rows))
	for i := range rows {
		op := &rows[i]
		out[i] = OperationState{ID: op.ID, Action: op.Action, Status: op.Status, StartedAt: op.CreatedAt.Time, EndedAt: op.EndedAt.Time, Counts: map[types.StackSetOperationResultStatus]int{}}
		for _, c := range counts {
			if c.OperationID == op.ID {
				out[i].Counts[c.Status] = c.N
			}
		}
		if out[i].Counts[types.StackSetOperationResultStatusFailed] > 0 {
			if out[i].Failures, err = e.failureStates(ctx, op); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// failureStates are the first failures of an operation.
func (e *Engine) failureStates(ctx context.Context, op *operationRow) ([]FailureState, error) {
	var rows []resultRow
	err := store.List(ctx, e.store.Read(), &rows, "WHERE set_id = ? AND operation_id = ? AND status = ? ORDER BY position LIMIT ?",
		op.SetID, op.ID, types.StackSetOperationResultStatusFailed, maxFailures)
	if err != nil {
		return nil, fmt.Errorf("read the results of an operation: %w", err)
	}
	out := make([]FailureState, len(rows))
	for i := range rows {
		out[i] = FailureState{rows[i].place(), rows[i].Reason}
	}
	return out, nil
}

// Mark changes whenever a set of a place, or an operation on one, does.
func (e *Engine) Mark(ctx context.Context, place awswire.Place) (int64, error) {
	var sets, operations int64
	err := store.Query(ctx, e.store.Read(), &sets, "SELECT COALESCE(SUM(row_version), 0) + 1000003 * COUNT(*) FROM stack_sets WHERE account = ? AND region = ?",
		place.Account, place.Region)
	again := store.Query(ctx, e.store.Read(), &operations, "SELECT COALESCE(SUM(row_version), 0) FROM stack_set_operations WHERE set_id IN (SELECT id FROM stack_sets WHERE account = ? AND region = ?)",
		place.Account, place.Region)
	return sets + operations, errors.Join(err, again)
}

// Places lists the accounts and regions that have sets.
func (e *Engine) Places(ctx context.Context) ([]awswire.Place, error) {
	var rows []setRow
	if err := store.Query(ctx, e.store.Read(), &rows, "SELECT DISTINCT account, region FROM stack_sets WHERE live"); err != nil {
		return nil, fmt.Errorf("list the places of stack sets: %w", err)
	}
	out := make([]awswire.Place, len(rows))
	for i := range rows {
		out[i] = awswire.Place{Account: rows[i].Account, Region: rows[i].Region}
	}
	return slices.Compact(out), nil
}
