package refactor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/uptrace/bun"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/stack"
	"github.com/formwork-dev/formwork/internal/store"
)

// A refactorRow is a stack refactor: it moves resources between stacks and renames them. A
// wake-up after the request finds out what moves; another one after its execution moves it.
type refactorRow struct {
	bun.BaseModel `bun:"table:stack_refactors,alias:rf"`

	ID              string                             `bun:"id,pk"`
	Account         string                             `bun:"account"`
	Region          string                             `bun:"region"`
	Description     string                             `bun:"description"`
	Status          types.StackRefactorStatus          `bun:"status"`
	Reason          string                             `bun:"reason"`
	ExecutionStatus types.StackRefactorExecutionStatus `bun:"execution_status"`
	ExecutionReason string                             `bun:"execution_reason"`
	Mappings        store.JSON[[]mapping]              `bun:"mappings"`
	Moves           store.JSON[[]move]                 `bun:"moves"`
	CreatedAt       store.Time                         `bun:"created_at"`
	RowVersion      int64                              `bun:"row_version"`
}

// A stackRow is a stack of a refactor, with the template that it is to have.
type stackRow struct {
	bun.BaseModel `bun:"table:stack_refactor_stacks,alias:rs"`

	RefactorID   string `bun:"refactor_id,pk"`
	Position     int64  `bun:"position,pk"`
	StackID      string `bun:"stack_id"`
	Name         string `bun:"name"`
	ARN          string `bun:"arn"`
	Fresh        bool   `bun:"fresh"` // the refactor creates the stack
	DeploymentID string `bun:"deployment_id"`
	OperationID  string `bun:"operation_id"` // of its execution, "" for none
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
func require(ctx context.Context, db bun.IDB, caller awswire.Caller, id string) (*refactorRow, error) {
	row, err := find(ctx, db, "id = ? AND account = ? AND region = ?", id, caller.Account, caller.Region)
	if err == nil && row == nil {
		err = refuse("missing", id)
	}
	return row, err
}

// find returns a refactor, nil if it does not exist.
func find(ctx context.Context, db bun.IDB, where string, args ...any) (*refactorRow, error) {
	row := &refactorRow{}
	err := db.NewSelect().Model(row).Where(where, args...).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the stack refactor: %w", err)
	}
	return row, nil
}

// list returns refactors, the newest first.
func list(ctx context.Context, db bun.IDB, limit int, where string, args ...any) ([]refactorRow, error) {
	var rows []refactorRow
	query := db.NewSelect().Model(&rows).Where(where, args...).OrderExpr("created_at DESC, id")
	if limit > 0 {
		query = query.Limit(int64(limit))
	}
	if err := query.Scan(ctx); err != nil {
		return nil, fmt.Errorf("list stack refactors: %w", err)
	}
	return rows, nil
}

// stacksOf are the stacks of a refactor in the order of the request.
func stacksOf(ctx context.Context, db bun.IDB, id string) ([]stackRow, error) {
	var rows []stackRow
	if err := db.NewSelect().Model(&rows).Where("refactor_id = ?", id).OrderExpr("position").Scan(ctx); err != nil {
		return nil, fmt.Errorf("read the stacks of a refactor: %w", err)
	}
	return rows, nil
}

// part is the stack as [stack.Engine.Move] takes it.
func (rs *stackRow) part() *stack.Part {
	return &stack.Part{StackID: rs.StackID, DraftID: rs.DeploymentID, Fresh: rs.Fresh, OperationID: rs.OperationID}
}
