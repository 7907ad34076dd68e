package hook

import (
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
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
	store.Row `db:"hook_evaluations AS v"`

	ID         string              `db:"id,pk"`
	Owner      string              `db:"owner"`
	OwnerKey   string              `db:"owner_key"`
	Account    string              `db:"account"`
	Region     string              `db:"region"`
	State      string              `db:"state"`
	Details    store.JSON[details] `db:"details" seal:"hook_evaluations.details"` // empty once it has ended
	CreatedAt  store.Time          `db:"created_at"`
	EndedAt    store.Time          `db:"ended_at"` // NULL while it runs
	RowVersion int64               `db:"row_version"`
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
	store.Row `db:"hook_results AS h"`

	ID           string `db:"id,pk"` // also the client request token of its calls
	EvaluationID string `db:"evaluation_id"`
	Account      string `db:"account"`
	Region       string `db:"region"`

	TypeName             string                `db:"type_name"`
	TypeARN              string                `db:"type_arn"`
	Version              string                `db:"version"`
	OriginalName         string                `db:"original_type_name"`
	ConfigurationVersion string                `db:"configuration_version"`
	FailureMode          types.HookFailureMode `db:"failure_mode"`

	Status      types.HookStatus               `db:"status"`
	Reason      string                         `db:"reason"`
	Annotations store.JSON[[]types.Annotation] `db:"annotations" seal:"hook_results.annotations"`
	SkipsStack  bool                           `db:"skips_stack"` // the hook need not see the stack

	TargetKind      Kind   `db:"target_kind"`
	TargetName      string `db:"target_name"`
	TargetID        string `db:"target_id"`
	Action          string `db:"action"` // CREATE, UPDATE, DELETE
	LogicalID       string `db:"logical_id"`
	StackID         string `db:"stack_id"` // ARN, "" outside of stacks
	ChangeSetID     string `db:"change_set_id"`
	ExecutionTarget string `db:"execution_target"` // ARN of the stack, or the token of a request of Cloud Control

	InvokedAt store.Time `db:"invoked_at"`
	EndedAt   store.Time `db:"ended_at"` // NULL while it runs
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
