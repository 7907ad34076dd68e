package hook

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/uptrace/bun"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/operation"
	"github.com/formwork-dev/formwork/internal/store"
)

// The states of evaluations.
const (
	running   = "running"
	passed    = "passed"
	failed    = "failed"
	cancelled = "cancelled"
)

// An evaluationRow is the evaluation of one target.
type evaluationRow struct {
	bun.BaseModel `bun:"table:hook_evaluations,alias:v"`

	ID         string              `bun:"id,pk"`
	Owner      string              `bun:"owner"`
	OwnerKey   string              `bun:"owner_key"`
	Account    string              `bun:"account"`
	Region     string              `bun:"region"`
	State      string              `bun:"state"`
	Details    store.JSON[details] `bun:"details" seal:"hook_evaluations.details"` // empty once it has ended
	CreatedAt  store.Time          `bun:"created_at"`
	EndedAt    store.Time          `bun:"ended_at"` // NULL while it runs
	RowVersion int64               `bun:"row_version"`
}

// details are what an evaluation needs while it runs.
type details struct {
	Target      Target
	ChangeSetID string          `json:",omitempty"`
	Payload     string          `json:",omitempty"`
	Then        *operation.Spec `json:",omitempty"`
}

// A Result is what came of one invocation of a hook.
type Result struct {
	bun.BaseModel `bun:"table:hook_results,alias:h"`

	ID           string `bun:"id,pk"` // also the client request token of its calls
	EvaluationID string `bun:"evaluation_id"`
	Account      string `bun:"account"`
	Region       string `bun:"region"`

	TypeName             string                `bun:"type_name"`
	TypeARN              string                `bun:"type_arn"`
	Version              string                `bun:"version"`
	OriginalName         string                `bun:"original_type_name"`
	ConfigurationVersion string                `bun:"configuration_version"`
	FailureMode          types.HookFailureMode `bun:"failure_mode"`

	Status      types.HookStatus               `bun:"status"`
	Reason      string                         `bun:"reason"`
	Annotations store.JSON[[]types.Annotation] `bun:"annotations" seal:"hook_results.annotations"`
	SkipsStack  bool                           `bun:"skips_stack"` // the hook need not see the stack

	TargetKind      Kind   `bun:"target_kind"`
	TargetName      string `bun:"target_name"`
	TargetID        string `bun:"target_id"`
	Action          string `bun:"action"` // CREATE, UPDATE, DELETE
	LogicalID       string `bun:"logical_id"`
	StackID         string `bun:"stack_id"` // ARN, "" outside of stacks
	ChangeSetID     string `bun:"change_set_id"`
	ExecutionTarget string `bun:"execution_target"` // ARN of the stack, or the token of a request of Cloud Control

	InvokedAt store.Time `bun:"invoked_at"`
	EndedAt   store.Time `bun:"ended_at"` // NULL while it runs
}

// Ended reports whether the invocation is over.
func (r *Result) Ended() bool { return r.Status != types.HookStatusHookInProgress }

// Refused reports whether the hook did not let the target pass, or did not answer.
func (r *Result) Refused() bool {
	return r.Status == types.HookStatusHookCompleteFailed || r.Status == types.HookStatusHookFailed
}

// Blocks reports whether the result stops what the hook looked at.
func (r *Result) Blocks() bool { return r.Refused() && r.FailureMode == types.HookFailureModeFail }

// place are the account and region of the result.
func (r *Result) place() awswire.Place { return awswire.Place{Account: r.Account, Region: r.Region} }

// byID is the condition of the row with an id.
const byID = "id = ?"

// find reads the row that satisfies a condition on an id, nil if it does not exist.
func find[T any](ctx context.Context, db bun.IDB, where, id string) (*T, error) {
	row := new(T)
	err := db.NewSelect().Model(row).Where(where, id).Limit(1).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %T: %w", *row, err)
	}
	return row, nil
}
