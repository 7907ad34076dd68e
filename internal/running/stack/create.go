package stack

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// CreateStack starts the creation of a stack.
func (e *Engine) CreateStack(ctx context.Context, caller awswire.Caller, in *cloudformation.CreateStackInput) (*cloudformation.CreateStackOutput, error) {
	if in.DisableRollback != nil && in.OnFailure != "" {
		return nil, refuse("on-failure-both")
	}
	if err := checkRollbackConfiguration(in.RollbackConfiguration); err != nil {
		return nil, err
	}
	name, hash := aws.ToString(in.StackName), requestHash(in)
	s, err := liveStack(ctx, e.store.Read(), caller, name)
	if err != nil {
		return nil, err
	}
	again, err := e.begunWith(ctx, s, types.OperationTypeCreateStack, aws.ToString(in.ClientRequestToken), hash)
	switch {
	case err != nil:
		return nil, err
	case again:
		return &cloudformation.CreateStackOutput{StackId: aws.String(s.ARN)}, nil
	case s == nil || s.Status != types.StackStatusReviewInProgress: // one that exists is refused later
		s = e.newStack(caller, name)
	}
	policy, err := e.policyOf(ctx, caller, in.StackPolicyBody, in.StackPolicyURL, "policy-both")
	if err != nil {
		return nil, err
	}
	s.Policy, s.RoleARN, s.Protected = policy, aws.ToString(in.RoleARN), aws.ToBool(in.EnableTerminationProtection)
	row, _, problem, err := e.transformedDeployment(ctx, caller, s, deploymentInput{
		Body: in.TemplateBody, URL: in.TemplateURL, Parameters: in.Parameters, Tags: in.Tags, Capabilities: in.Capabilities,
		NotificationARNs: in.NotificationARNs, ResourceTypes: in.ResourceTypes,
	})
	if err != nil {
		return nil, err
	}
	options := operationOptions{
		OnFailure: onFailure(in.OnFailure, in.DisableRollback, in.DeploymentConfig), RetainExceptOnCreate: aws.ToBool(in.RetainExceptOnCreate),
		DisableValidation: aws.ToBool(in.DisableValidation), ResourceTypes: in.ResourceTypes, Mode: modeOf(in.DeploymentConfig), Problem: problem,
	}
	settings := stackSettings{
		DisableRollback: options.OnFailure == types.OnFailureDoNothing, RetainExceptOnCreate: options.RetainExceptOnCreate,
		TimeoutInMinutes: aws.ToInt32(in.TimeoutInMinutes), Rollback: in.RollbackConfiguration, Mode: options.Mode,
	}
	var id string
	err = e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		fresh := *s
		taken, err := liveStack(ctx, tx, caller, name)
		switch {
		case err != nil:
			return err
		case taken == nil:
			if err := store.Insert(ctx, tx, &fresh); err != nil {
				return fmt.Errorf("write the stack: %w", err)
			}
		case taken.ID != s.ID || taken.Status != types.StackStatusReviewInProgress:
			return refuse("exists", name)
		default:
			fresh.RowVersion = taken.RowVersion
		}
		id, err = e.begin(ctx, tx, &fresh, beginInput{
			kind: types.OperationTypeCreateStack, status: types.StackStatusCreateInProgress, deployment: row, options: options, settings: &settings,
			token: aws.ToString(in.ClientRequestToken), hash: hash, caller: caller,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &cloudformation.CreateStackOutput{StackId: aws.String(s.ARN), OperationId: aws.String(id)}, nil
}

// newStack is a stack that is not written yet.
func (e *Engine) newStack(caller awswire.Caller, name string) *stackRow {
	id := e.config.NewStackID()
	return &stackRow{
		ID: id, Account: caller.Account, Region: caller.Region, Name: name, ARN: stackARN(caller, name, id), Live: true,
		Status: types.StackStatusReviewInProgress, CreatedAt: e.now(), RowVersion: 1,
	}
}

// begunWith reports whether the operation that runs on a stack began with the same request, which has a token.
func (e *Engine) begunWith(ctx context.Context, s *stackRow, kind types.OperationType, token, hash string) (bool, error) {
	if s == nil || token == "" {
		return false, nil
	}
	op, err := store.Find[operationRow](ctx, e.store.Read(), "stack_id = ? AND client_token = ? AND kind = ?", s.ID, token, kind)
	switch {
	case err != nil || op == nil:
		return false, err
	case op.RequestHash != hash:
		return false, refuse("token", token)
	}
	return s.OperationID == op.ID, nil
}

// onFailure is what an operation does when it fails.
func onFailure(asked types.OnFailure, disableRollback *bool, config *types.DeploymentConfig) types.OnFailure {
	switch {
	case asked != "":
		return asked
	case disableRollback != nil && *disableRollback:
		return types.OnFailureDoNothing
	case disableRollback != nil:
		return types.OnFailureRollback
	case config != nil && config.DisableRollback != nil && *config.DisableRollback:
		return types.OnFailureDoNothing
	case config != nil && config.DisableRollback == nil && config.Mode == types.DeploymentConfigModeExpress:
		return types.OnFailureDoNothing
	}
	return types.OnFailureRollback
}

func modeOf(config *types.DeploymentConfig) types.DeploymentConfigMode {
	if config == nil {
		return ""
	}
	return config.Mode
}

// A beginInput is an operation to start.
type beginInput struct {
	kind       types.OperationType
	status     types.StackStatus
	reason     string         // "" is User Initiated
	deployment *deploymentRow // nil keeps the one of the stack; one that is in the database has no CreatedAt
	options    operationOptions
	settings   *stackSettings // nil keeps those of the stack
	token      string
	hash       string
	changeSet  string // ARN
	caller     awswire.Caller
}

// begin starts an operation on a stack whose row is current, and returns its id.
func (e *Engine) begin(ctx context.Context, tx *store.Tx, s *stackRow, in beginInput) (string, error) {
	if in.kind == types.OperationTypeRollback || in.kind == types.OperationTypeContinueRollback {
		if err := continueFrom(ctx, tx, s, &in); err != nil {
			return "", err
		}
	}
	op := &operationRow{
		ID: e.newID(), StackID: s.ID, Kind: in.kind, Status: string(opRunning), Phase: plan.PhaseValidate, ClientToken: in.token,
		RequestHash: in.hash, ChangeSetID: in.changeSet, Caller: in.caller.AccessKeyID, StartedAt: e.now(), RowVersion: 1,
	}
	if in.kind == types.OperationTypeCreateStack {
		op.ID = e.config.NewStackID()
	}
	settings := s.Settings.Get()
	if in.settings != nil {
		last := settings.LastOperations
		settings = *in.settings
		settings.LastOperations = last
	}
	if in.kind == types.OperationTypeCreateStack && settings.TimeoutInMinutes > 0 {
		op.Deadline = store.At(op.StartedAt.Add(time.Duration(settings.TimeoutInMinutes) * time.Minute))
	}
	settings.LastOperations = latest(settings.LastOperations, op)
	if d := in.deployment; d != nil {
		if !d.CreatedAt.IsZero() {
			if _, err := store.InsertOr(ctx, tx, "ON CONFLICT (id) DO NOTHING", d); err != nil {
				return "", fmt.Errorf("write the deployment: %w", err)
			}
		}
		in.options.Before, s.DeploymentID = s.DeploymentID, d.ID
	}
	op.DeploymentID, op.Options = s.DeploymentID, store.JSONOf(in.options)
	reason := cmp.Or(in.reason, reasonUserInitiated)
	s.OperationID, s.Status, s.DetailedStatus, s.Reason, s.Settings = op.ID, in.status, "", reason, store.JSONOf(settings)
	if err := store.Insert(ctx, tx, op); err != nil {
		return "", fmt.Errorf("write the operation: %w", err)
	}
	if err := store.Swap(ctx, tx, s, &s.RowVersion); err != nil {
		return "", err
	}
	if err := e.obsolete(ctx, tx, s.ID); err != nil {
		return "", err
	}
	if e.begun != nil {
		if err := e.begun(ctx, tx, s.ID, s.ARN); err != nil {
			return "", err
		}
	}
	event := e.stackEvent(s, op, op.StartedAt)
	if in.kind == types.OperationTypeCreateStack {
		event.ID = op.ID
	}
	if err := e.insertEvents(ctx, tx, event); err != nil {
		return "", err
	}
	return op.ID, tx.Wake(ctx, wakeKind, s.ID, time.Time{})
}

// continueFrom has a rollback continue what the last operation on the stack left.
func continueFrom(ctx context.Context, tx *store.Tx, s *stackRow, in *beginInput) error {
	operations := s.Settings.Get().LastOperations
	if len(operations) == 0 {
		return nil
	}
	last, err := store.Find[operationRow](ctx, tx, "id = ?", aws.ToString(operations[0].OperationId))
	if err != nil || last == nil {
		return err
	}
	options := last.Options.Get()
	in.options.Undoes = cmp.Or(in.options.Undoes, options.Undoes, last.ID)
	in.options.Backward = in.options.Backward || in.kind == types.OperationTypeContinueRollback && options.Backward
	return nil
}

// liveStack finds the live stack of a name, nil if it does not exist.
func liveStack(ctx context.Context, db store.DB, caller awswire.Caller, name string) (*stackRow, error) {
	return store.Find[stackRow](ctx, db, "account = ? AND region = ? AND name = ? AND live", caller.Account, caller.Region, name)
}

// findStack finds a stack by its name or ARN: deleted ones only by their ARN. It returns nil
// if it does not exist.
func findStack(ctx context.Context, db store.DB, caller awswire.Caller, nameOrARN string) (*stackRow, error) {
	if isARN(nameOrARN) {
		return store.Find[stackRow](ctx, db, "account = ? AND region = ? AND arn = ?", caller.Account, caller.Region, nameOrARN)
	}
	return liveStack(ctx, db, caller, nameOrARN)
}

// requireStack is findStack with the refusal of the table if there is no such stack.
func requireStack(ctx context.Context, db store.DB, caller awswire.Caller, nameOrARN *string, refusal string) (*stackRow, error) {
	if aws.ToString(nameOrARN) == "" {
		return nil, refuse("name-required")
	}
	s, err := findStack(ctx, db, caller, *nameOrARN)
	if err == nil && s == nil {
		err = refuse(refusal, *nameOrARN)
	}
	return s, err
}
