package stack

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// ExecuteChangeSet starts the operation that a change set planned. The stack must not have
// changed since: another operation makes the change set obsolete.
func (e *Engine) ExecuteChangeSet(ctx context.Context, caller awswire.Caller, in *cloudformation.ExecuteChangeSetInput) (*cloudformation.ExecuteChangeSetOutput, error) {
	token, hash := aws.ToString(in.ClientRequestToken), requestHash(in)
	var stackID string
	err := e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		c, err := e.findSet(ctx, tx, caller, in.ChangeSetName, in.StackName)
		if err != nil {
			return err
		}
		if c == nil { // one that was executed has lost its name
			if stackID, err = executedByName(ctx, tx, caller, in, token, hash); stackID == "" && err == nil {
				err = refuse("change-set-missing", aws.ToString(in.ChangeSetName))
			}
			return err
		}
		s, err := store.Find[stackRow](ctx, tx, "id = ?", c.StackID)
		if err != nil || s == nil {
			return err
		}
		stackID = s.ID
		if again, err := executedBefore(ctx, tx, c, token, hash); again || err != nil {
			return err
		}
		options := c.Options.Get()
		if err := c.executable(s); err != nil {
			return err
		}
		if err := childrenReady(ctx, tx, c); err != nil {
			return err
		}
		if options.OnStackFailure != "" && aws.ToBool(in.DisableRollback) {
			return refuse("change-set-rollback")
		}
		return e.executeSet(ctx, tx, caller, s, c, options, in, token, hash)
	})
	if err != nil {
		return nil, err
	}
	operation.Hold(ctx, e.config.Hold, func(ctx context.Context) (bool, error) {
		s, err := store.Find[stackRow](ctx, e.store.Read(), "id = ?", stackID)
		return s == nil || s.OperationID == "", err
	})
	return &cloudformation.ExecuteChangeSetOutput{}, nil
}

// executable refuses a change set that is not ready, or whose stack is not.
func (c *changeSetRow) executable(s *stackRow) error {
	switch {
	case c.ParentID != "":
		return refuse("change-set-nested", c.ARN, "executed", c.RootID)
	case c.Status != types.ChangeSetStatusCreateComplete:
		return refuse("change-set-status", c.ARN, c.Status)
	case c.ExecutionStatus != types.ExecutionStatusAvailable:
		return refuse("change-set-executed", c.ARN, c.ExecutionStatus)
	case c.Kind == types.ChangeSetTypeCreate && s.Status != types.StackStatusReviewInProgress,
		c.Kind == types.ChangeSetTypeImport && s.Status != types.StackStatusReviewInProgress && !slices.Contains(updatable, s.Status),
		c.Kind == types.ChangeSetTypeUpdate && !slices.Contains(updatable, s.Status) && !slices.Contains(preservable, s.Status):
		return refuse("state", s.ARN, s.Status)
	}
	return nil
}

// executedBefore reports whether the change set was executed by the same request.
func executedBefore(ctx context.Context, tx *store.Tx, c *changeSetRow, token, hash string) (bool, error) {
	if token == "" || !c.executed() {
		return false, nil
	}
	op, err := operationOf(ctx, tx, c)
	if err != nil || op == nil || op.ClientToken != token {
		return false, err
	}
	if op.RequestHash != hash {
		return false, refuse("token", token)
	}
	return true, nil
}

// executedByName returns the id of the stack on which the same request has executed a change set,
// "" for none.
func executedByName(ctx context.Context, tx *store.Tx, caller awswire.Caller, in *cloudformation.ExecuteChangeSetInput, token, hash string) (stackID string, err error) {
	s, err := findStack(ctx, tx, caller, aws.ToString(in.StackName))
	if err != nil || s == nil {
		return "", err
	}
	op, err := begunBefore(ctx, tx, s, token, hash, "change_set_id <> '' AND kind <> ?", types.OperationTypeCreateChangeset)
	if err != nil || op == nil {
		return "", err
	}
	return s.ID, nil
}

// begunBefore returns the operation on a stack that began with the same request and token, nil for
// none. The condition selects the kinds of operations that the request begins.
func begunBefore(ctx context.Context, tx *store.Tx, s *stackRow, token, hash, condition string, args ...any) (*operationRow, error) {
	if token == "" {
		return nil, nil
	}
	return store.Find[operationRow](ctx, tx, "stack_id = ? AND client_token = ? AND request_hash = ? AND "+condition, append([]any{s.ID, token, hash}, args...)...)
}

// executeSet starts the operation and deletes the other change sets of the stack.
func (e *Engine) executeSet(ctx context.Context, tx *store.Tx, caller awswire.Caller, s *stackRow, c *changeSetRow, set changeSetOptions,
	in *cloudformation.ExecuteChangeSetInput, token, hash string) error {
	asked := types.OnFailure("")
	if set.OnStackFailure != "" {
		asked = types.OnFailure(set.OnStackFailure)
	}
	options := operationOptions{
		OnFailure: onFailure(asked, in.DisableRollback, set.DeploymentConfig), RetainExceptOnCreate: aws.ToBool(in.RetainExceptOnCreate),
		DisableValidation: set.DisableValidation, ResourceTypes: set.ResourceTypes, Mode: modeOf(set.DeploymentConfig),
		WasReview: c.Kind == types.ChangeSetTypeCreate,
	}
	if err := refusePreserved(s, options); err != nil {
		return err
	}
	planned, settings := c.Plan.Get(), s.Settings.Get()
	options.Import, options.Nested, options.NestedPlanned = planned.Imported(), planned.ChildSets(), set.Nested
	if c.Kind == types.ChangeSetTypeImport {
		options.OnFailure = types.OnFailureRollback
	}
	settings.DisableRollback = options.OnFailure == types.OnFailureDoNothing
	settings.RetainExceptOnCreate, settings.Mode = options.RetainExceptOnCreate, options.Mode
	if set.Rollback != nil {
		settings.Rollback = set.Rollback
	}
	if set.RoleARN != "" {
		s.RoleARN = set.RoleARN
	}
	if err := adoptLive(ctx, tx, s, &planned); err != nil {
		return err
	}
	c.Live, c.ExecutionStatus = false, types.ExecutionStatusExecuteInProgress
	if err := store.Swap(ctx, tx, c, &c.RowVersion); err != nil {
		return err
	}
	if err := e.forgetSets(ctx, tx, "stack_id = ?", s.ID); err != nil {
		return err
	}
	s.ChangeSetID, s.UpdatedAt = c.ARN, e.now()
	begin := beginInput{
		kind: types.OperationTypeUpdateStack, status: types.StackStatusUpdateInProgress, deployment: &deploymentRow{ID: c.DeploymentID},
		options: options, settings: &settings, token: token, hash: hash, changeSet: c.ARN, caller: caller,
	}
	if c.Kind == types.ChangeSetTypeCreate {
		begin.kind, begin.status = types.OperationTypeCreateStack, types.StackStatusCreateInProgress
	}
	if c.Kind == types.ChangeSetTypeImport {
		begin.kind, begin.status = plan.ImportOperation, types.StackStatusImportInProgress
	}
	_, err := e.begin(ctx, tx, s, begin)
	return err
}

// plannedMain are the steps that the change set of an operation planned, nil for none. The template of a nested
// stack may be another one than was planned, if values of its parameters were not known then.
func (e *Engine) plannedMain(ctx context.Context, s *stackRow, op *operationRow, p *prepared) ([]plan.Step, error) {
	if op.ChangeSetID == "" {
		return nil, nil
	}
	c, err := store.Find[changeSetRow](ctx, e.store.Read(), "account = ? AND region = ? AND arn = ?", s.Account, s.Region, op.ChangeSetID)
	if err != nil || c == nil {
		return nil, err
	}
	if now := p.rows[op.DeploymentID]; c.DeploymentID != op.DeploymentID {
		row, err := store.Find[deploymentRow](ctx, e.store.Read(), "id = ?", c.DeploymentID)
		if err != nil || row == nil || row.Processed != now.Processed || !row.Parameters.Equal(now.Parameters) {
			return nil, err
		}
	}
	return c.Plan.Get().Main, nil
}

// obsolete marks the change sets of a stack that something else has changed.
func (e *Engine) obsolete(ctx context.Context, tx *store.Tx, stackID string) error {
	_, err := store.Exec(ctx, tx, "UPDATE change_sets SET execution_status = ?, row_version = row_version + 1 WHERE stack_id = ? AND live AND status <> ?",
		types.ExecutionStatusObsolete, stackID, types.ChangeSetStatusFailed)
	if err != nil {
		return fmt.Errorf("mark change sets obsolete: %w", err)
	}
	return nil
}

// operationOf is the operation that executed a change set, nil if it was not executed.
func operationOf(ctx context.Context, db store.DB, c *changeSetRow) (*operationRow, error) {
	return store.Find[operationRow](ctx, db, "stack_id = ? AND change_set_id = ? AND kind <> ?", c.StackID, c.ARN, types.OperationTypeCreateChangeset)
}

// executionOf is the execution status of a change set: of one that was executed, what became
// of its operation.
func executionOf(ctx context.Context, db store.DB, c *changeSetRow) (types.ExecutionStatus, error) {
	if !c.executed() {
		return c.ExecutionStatus, nil
	}
	op, err := operationOf(ctx, db, c)
	switch {
	case err != nil || op == nil || op.Status == string(opRunning):
		return types.ExecutionStatusExecuteInProgress, err
	case op.Status == string(opSucceeded):
		return types.ExecutionStatusExecuteComplete, nil
	}
	return types.ExecutionStatusExecuteFailed, nil
}
