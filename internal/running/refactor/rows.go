package refactor

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A refactorRow is a stack refactor: it moves resources between stacks and renames them. A
// wake-up after the request finds out what moves; another one after its execution moves it.
type refactorRow struct {
	store.Row `db:"stack_refactors AS rf"`

	ID              string                             `db:"id,pk"`
	Account         string                             `db:"account"`
	Region          string                             `db:"region"`
	Description     string                             `db:"description"`
	Status          types.StackRefactorStatus          `db:"status"`
	Reason          string                             `db:"reason"`
	ExecutionStatus types.StackRefactorExecutionStatus `db:"execution_status"`
	ExecutionReason string                             `db:"execution_reason"`
	Mappings        store.JSON[[]mapping]              `db:"mappings"`
	Moves           store.JSON[[]move]                 `db:"moves"`
	CreatedAt       store.Time                         `db:"created_at"`
	RowVersion      int64                              `db:"row_version"`
}

// A stackRow is a stack of a refactor, with the template that it is to have.
type stackRow struct {
	store.Row `db:"stack_refactor_stacks AS rs"`

	RefactorID   string `db:"refactor_id,pk"`
	Position     int64  `db:"position,pk"`
	StackID      string `db:"stack_id"`
	Name         string `db:"name"`
	ARN          string `db:"arn"`
	Fresh        bool   `db:"fresh"` // the refactor creates the stack
	DeploymentID string `db:"deployment_id"`
	OperationID  string `db:"operation_id"` // of its execution, "" for none
}

// A mapping says where a resource is to be. Stacks are numbered by their position.
type mapping struct {
	From   int64  `json:"from"` // -1 for a stack that is not among those of the refactor
	Source string `json:"source"`
	To     int64  `json:"to"`
	Target string `json:"target"`

	Stack string `json:"stack,omitempty"` // that is not among those of the refactor
}

// A move is a resource that changes its stack or its name.
type move struct {
	stack.Move
	Identifier map[string]string `json:"identifier,omitempty"` // by the name of the property
	Manual     bool              `json:"manual,omitempty"`
	Tagged     bool              `json:"tagged,omitempty"` // the type takes the tags of the service
}

// creating reports whether it is still being found out what moves.
func (r *refactorRow) creating() bool { return r.Status == types.StackRefactorStatusCreateInProgress }

// executing reports whether the stacks are being changed.
func (r *refactorRow) executing() bool {
	return r.ExecutionStatus == types.StackRefactorExecutionStatusExecuteInProgress ||
		r.ExecutionStatus == types.StackRefactorExecutionStatusRollbackInProgress
}

// require finds a refactor of the caller.
func require(ctx context.Context, db store.DB, caller awswire.Caller, id string) (*refactorRow, error) {
	row, err := store.Find[refactorRow](ctx, db, "id = ? AND account = ? AND region = ?", id, caller.Account, caller.Region)
	if err == nil && row == nil {
		err = refuse("missing", id)
	}
	return row, err
}

// list returns refactors, the newest first.
func list(ctx context.Context, db store.DB, limit int, where string, args ...any) ([]refactorRow, error) {
	var rows []refactorRow
	clauses := "WHERE " + where + " ORDER BY created_at DESC, id"
	if limit > 0 {
		clauses += " LIMIT ?"
		args = append(args, limit)
	}
	if err := store.List(ctx, db, &rows, clauses, args...); err != nil {
		return nil, fmt.Errorf("list stack refactors: %w", err)
	}
	return rows, nil
}

// stacksOf are the stacks of a refactor in the order of the request.
func stacksOf(ctx context.Context, db store.DB, id string) ([]stackRow, error) {
	var rows []stackRow
	if err := store.List(ctx, db, &rows, "WHERE refactor_id = ? ORDER BY position", id); err != nil {
		return nil, fmt.Errorf("read the stacks of a refactor: %w", err)
	}
	return rows, nil
}

// part is the stack as [stack.Engine.Move] takes it.
func (rs *stackRow) part() *stack.Part {
	return &stack.Part{StackID: rs.StackID, DraftID: rs.DeploymentID, Fresh: rs.Fresh, OperationID: rs.OperationID}
}
