package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A changeSetRow is a change set. Its plan is made by a wake-up after the request.
type changeSetRow struct {
	store.Row `db:"change_sets AS cs"`

	ID              string                       `db:"id,pk"`
	StackID         string                       `db:"stack_id"`
	Account         string                       `db:"account"`
	Region          string                       `db:"region"`
	Name            string                       `db:"name"`
	ARN             string                       `db:"arn"`
	Live            bool                         `db:"live"` // found by its name; an executed one only by its ARN
	Kind            types.ChangeSetType          `db:"kind"`
	Status          types.ChangeSetStatus        `db:"status"`
	ExecutionStatus types.ExecutionStatus        `db:"execution_status"` // EXECUTE_IN_PROGRESS: what its operation says
	Reason          string                       `db:"reason"`
	Description     string                       `db:"description"`
	ClientToken     string                       `db:"client_token"`
	RequestHash     string                       `db:"request_hash"`
	Options         store.JSON[changeSetOptions] `db:"options"`
	DeploymentID    string                       `db:"deployment_id"`
	Plan            store.JSON[plan.Plan]        `db:"plan" seal:"change_sets.plan"`
	ParentID        string                       `db:"parent_id"`
	RootID          string                       `db:"root_id"`
	CreatedAt       store.Time                   `db:"created_at"`
	RowVersion      int64                        `db:"row_version"`
}

// creating reports whether the plan of the change set is still being made.
func (c *changeSetRow) creating() bool {
	return c.Status == types.ChangeSetStatusCreatePending || c.Status == types.ChangeSetStatusCreateInProgress
}

// executed reports whether the change set was executed, whatever came of it.
func (c *changeSetRow) executed() bool {
	return c.ExecutionStatus == types.ExecutionStatusExecuteInProgress
}

// changeSetOptions are the options of a change set that matter when it is executed or shown.
type changeSetOptions struct {
	RoleARN           string                       `json:"roleArn,omitempty"`
	Rollback          *types.RollbackConfiguration `json:"rollback,omitempty"`
	ResourceTypes     []string                     `json:"resourceTypes,omitempty"`
	OnStackFailure    types.OnStackFailure         `json:"onStackFailure,omitempty"`
	DeploymentConfig  *types.DeploymentConfig      `json:"deploymentConfig,omitempty"`
	DisableValidation bool                         `json:"disableValidation,omitempty"`
	Nested            bool                         `json:"nested,omitempty"` // IncludeNestedStacks
	Import            []importRequest              `json:"import,omitempty"` // ResourcesToImport
	ImportExisting    bool                         `json:"importExisting,omitempty"`
	RevertDrift       bool                         `json:"revertDrift,omitempty"` // DeploymentMode REVERT_DRIFT
}

// changeSetKind is the kind of wake-up that makes the plan of a change set.
const changeSetKind = "changeset"

// CreateChangeSet accepts a change set. What the service refuses at the call is refused; a
// wake-up makes the plan.
func (e *Engine) CreateChangeSet(ctx context.Context, caller awswire.Caller, in *cloudformation.CreateChangeSetInput) (*cloudformation.CreateChangeSetOutput, error) {
	if err := unsupportedSet(in); err != nil {
		return nil, err
	}
	if err := checkRollbackConfiguration(in.RollbackConfiguration); err != nil {
		return nil, err
	}
	row := &changeSetRow{
		ID: e.newID(), Account: caller.Account, Region: caller.Region, Name: aws.ToString(in.ChangeSetName), Live: true, Kind: in.ChangeSetType,
		Status: types.ChangeSetStatusCreatePending, ExecutionStatus: types.ExecutionStatusUnavailable, Description: aws.ToString(in.Description),
		ClientToken: aws.ToString(in.ClientToken), RequestHash: requestHash(in), CreatedAt: e.now(), RowVersion: 1,
	}
	options := changeSetOptions{
		RoleARN: aws.ToString(in.RoleARN), Rollback: in.RollbackConfiguration, ResourceTypes: in.ResourceTypes, OnStackFailure: in.OnStackFailure,
		DeploymentConfig: in.DeploymentConfig, DisableValidation: aws.ToBool(in.DisableValidation), Nested: aws.ToBool(in.IncludeNestedStacks),
		Import: importRequests(in.ResourcesToImport), ImportExisting: aws.ToBool(in.ImportExistingResources),
		RevertDrift: in.DeploymentMode == types.DeploymentModeRevertDrift,
	}
	row.Options = store.JSONOf(options)
	if row.Kind == "" {
		row.Kind = types.ChangeSetTypeUpdate
	}
	row.ARN = changeSetARN(caller, row)
	s, again, err := e.stackOfSet(ctx, caller, in, row)
	if err != nil || again != nil {
		return again, err
	}
	previous, err := store.Find[deploymentRow](ctx, e.store.Read(), "id = ?", s.DeploymentID)
	if err != nil {
		return nil, err
	}
	deployment, err := e.acceptDeployment(ctx, caller, s, deploymentInput{
		Body: in.TemplateBody, URL: in.TemplateURL, UsePrevious: aws.ToBool(in.UsePreviousTemplate), Parameters: in.Parameters, Tags: in.Tags,
		Capabilities: in.Capabilities, NotificationARNs: in.NotificationARNs, ResourceTypes: in.ResourceTypes, Previous: previous, Expanded: true,
	})
	if err != nil {
		return nil, err
	}
	if err := e.checkImportRequest(ctx, s, deployment, row, options); err != nil {
		return nil, err
	}
	row.DeploymentID = deployment.ID
	err = e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error { return e.writeSet(ctx, tx, caller, s, row, deployment) })
	if err != nil {
		return nil, err
	}
	operation.Hold(ctx, e.config.Hold, func(ctx context.Context) (bool, error) {
		c, err := store.Find[changeSetRow](ctx, e.store.Read(), "id = ?", row.ID)
		return c == nil || !c.creating(), err
	})
	return &cloudformation.CreateChangeSetOutput{Id: aws.String(row.ARN), StackId: aws.String(s.ARN)}, nil
}

// unsupportedSet refuses change sets whose options do not go together.
func unsupportedSet(in *cloudformation.CreateChangeSetInput) error {
	switch {
	case in.ChangeSetType != "" && !slices.Contains(in.ChangeSetType.Values(), in.ChangeSetType):
		return refuse("change-set-kind", in.ChangeSetType)
	case len(in.ResourcesToImport) == 0 && in.ChangeSetType == types.ChangeSetTypeImport:
		return refuse("import-none")
	case len(in.ResourcesToImport) > 0 && in.ChangeSetType != types.ChangeSetTypeImport:
		return refuse("import-kind")
	case in.ChangeSetType == types.ChangeSetTypeCreate && slices.ContainsFunc(in.Parameters, func(p types.Parameter) bool { return aws.ToBool(p.UsePreviousValue) }):
		return refuse("previous-create")
	case in.DeploymentMode == "":
	case !slices.Contains(in.DeploymentMode.Values(), in.DeploymentMode):
		return refuse("change-set-mode", in.DeploymentMode)
	case in.ChangeSetType != "" && in.ChangeSetType != types.ChangeSetTypeUpdate, aws.ToBool(in.IncludeNestedStacks):
		return refuse("change-set-revert")
	}
	return nil
}

// stackOfSet finds the stack of a new change set, or makes one that is not written yet. A
// request that was made before with the same token is answered as it was.
func (e *Engine) stackOfSet(ctx context.Context, caller awswire.Caller, in *cloudformation.CreateChangeSetInput, row *changeSetRow) (*stackRow, *cloudformation.CreateChangeSetOutput, error) {
	name := aws.ToString(in.StackName)
	if name == "" {
		return nil, nil, refuse("name-required")
	}
	s, err := findStack(ctx, e.store.Read(), caller, name)
	switch {
	case err != nil:
		return nil, nil, err
	case s == nil && (row.Kind == types.ChangeSetTypeUpdate || isARN(name)):
		return nil, nil, refuse("missing", name)
	case s == nil:
		s = e.newStack(caller, name)
		s.Reason = reasonUserInitiated
		return s, nil, nil
	}
	same, err := store.Find[changeSetRow](ctx, e.store.Read(), "stack_id = ? AND name = ? AND live", s.ID, row.Name)
	if err != nil {
		return nil, nil, err
	}
	if same != nil && row.ClientToken != "" && same.ClientToken == row.ClientToken && same.RequestHash == row.RequestHash {
		return nil, &cloudformation.CreateChangeSetOutput{Id: aws.String(same.ARN), StackId: aws.String(s.ARN)}, nil
	}
	return s, nil, row.fits(s, same)
}

// fits refuses a change set that its stack cannot take: same is the live one of its name.
func (c *changeSetRow) fits(s *stackRow, same *changeSetRow) error {
	switch review := s.Status == types.StackStatusReviewInProgress; {
	case c.Kind == types.ChangeSetTypeCreate && !review && s.Live:
		return refuse("change-set-again", s.Name, c.Name)
	case c.Kind == types.ChangeSetTypeCreate && !review:
		return refuse("change-set-again", s.ARN, c.Name)
	case c.Kind == types.ChangeSetTypeUpdate && !slices.Contains(updatable, s.Status) && !slices.Contains(preservable, s.Status),
		c.Kind == types.ChangeSetTypeImport && !review && !slices.Contains(updatable, s.Status):
		return refuse("state", s.ARN, s.Status)
	case same != nil && same.ClientToken != c.ClientToken && c.ClientToken != "":
		return refuse("change-set-token")
	case same != nil:
		return refuse("change-set-exists", c.Name)
	}
	return nil
}

// writeSet writes a change set, and the stack that it creates. Others may have come first.
func (e *Engine) writeSet(ctx context.Context, tx *store.Tx, caller awswire.Caller, s *stackRow, row *changeSetRow, deployment *deploymentRow) error {
	row.StackID = s.ID
	current, err := store.Find[stackRow](ctx, tx, "id = ?", s.ID)
	if err != nil {
		return err
	}
	if current == nil {
		if err := e.writeReview(ctx, tx, caller, s, row); err != nil {
			return err
		}
	} else {
		same, err := store.Find[changeSetRow](ctx, tx, "stack_id = ? AND name = ? AND live", s.ID, row.Name)
		if err != nil {
			return err
		}
		if err := row.fits(current, same); err != nil {
			return err
		}
	}
	if err := errors.Join(store.Insert(ctx, tx, deployment), store.Insert(ctx, tx, row)); err != nil {
		return fmt.Errorf("write the change set: %w", err)
	}
	return tx.Wake(ctx, changeSetKind, row.ID, time.Time{})
}

// writeReview writes a stack that only has a change set.
func (e *Engine) writeReview(ctx context.Context, tx *store.Tx, caller awswire.Caller, s *stackRow, row *changeSetRow) error {
	taken, err := liveStack(ctx, tx, caller, s.Name)
	if err != nil {
		return err
	}
	if taken != nil {
		return refuse("change-set-again", s.Name, row.Name)
	}
	fresh := *s
	if err := store.Insert(ctx, tx, &fresh); err != nil {
		return fmt.Errorf("write the stack: %w", err)
	}
	event := e.stackEvent(s, nil, row.CreatedAt)
	event.ClientToken = row.ClientToken
	return e.insertEvents(ctx, tx, event)
}

// findSet finds a change set by its ARN, or by its name and stack. One that was executed is found only by its
// ARN, and as long as its stack lives. It returns nil if it does
// not exist, and an error if the stack does not exist.
func (e *Engine) findSet(ctx context.Context, db store.DB, caller awswire.Caller, name, stack *string) (*changeSetRow, error) {
	if strings.HasPrefix(aws.ToString(name), "arn:") {
		return store.Find[changeSetRow](ctx, db, "account = ? AND region = ? AND arn = ? AND (live OR execution_status = ? AND stack_id IN (SELECT id FROM stacks WHERE live))",
			caller.Account, caller.Region, *name, types.ExecutionStatusExecuteInProgress)
	}
	if aws.ToString(stack) == "" {
		return nil, refuse("change-set-name")
	}
	s, err := requireStack(ctx, db, caller, stack, "missing")
	if err != nil {
		return nil, err
	}
	return store.Find[changeSetRow](ctx, db, "stack_id = ? AND name = ? AND live", s.ID, aws.ToString(name))
}

// requireSet is findSet with the refusal of a change set that there is not.
func (e *Engine) requireSet(ctx context.Context, db store.DB, caller awswire.Caller, name, stack *string) (*changeSetRow, error) {
	c, err := e.findSet(ctx, db, caller, name, stack)
	if err == nil && c == nil {
		err = refuse("change-set-missing", aws.ToString(name))
	}
	return c, err
}

// DeleteChangeSet deletes a change set. A missing one, or one with the name of an executed
// one, counts as deleted.
func (e *Engine) DeleteChangeSet(ctx context.Context, caller awswire.Caller, in *cloudformation.DeleteChangeSetInput) (*cloudformation.DeleteChangeSetOutput, error) {
	err := e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		c, err := e.findSet(ctx, tx, caller, in.ChangeSetName, in.StackName)
		switch {
		case err != nil || c == nil:
			return err
		case c.creating():
			return refuse("change-set-creating", c.Status)
		case c.executed():
			status, err := executionOf(ctx, tx, c)
			if err != nil {
				return err
			}
			return refuse("change-set-used", status)
		case c.ParentID != "":
			return refuse("change-set-nested", c.ARN, "deleted", c.RootID)
		}
		return e.forgetSets(ctx, tx, "id = ?", c.ID)
	})
	if err != nil {
		return nil, err
	}
	return &cloudformation.DeleteChangeSetOutput{}, nil
}

// forgetSets deletes change sets that were not executed, with what they would have deployed.
func (e *Engine) forgetSets(ctx context.Context, tx *store.Tx, where string, args ...any) error {
	rows, err := store.FindAll[changeSetRow](ctx, tx, "id", where+" AND live", args...)
	if err != nil {
		return err
	}
	for i := range rows {
		if err := e.forgetSet(ctx, tx, &rows[i]); err != nil {
			return err
		}
		if rows[i].ParentID == "" {
			if err := e.forgetChildren(ctx, tx, rows[i].ARN); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetSet deletes one change set that was not executed.
func (e *Engine) forgetSet(ctx context.Context, tx *store.Tx, c *changeSetRow) error {
	if _, err := store.Exec(ctx, tx, "DELETE FROM stack_deployments WHERE id = ?", c.DeploymentID); err != nil {
		return fmt.Errorf("delete the template of a change set: %w", err)
	}
	if _, err := store.Exec(ctx, tx, "DELETE FROM change_sets WHERE id = ?", c.ID); err != nil {
		return fmt.Errorf("delete a change set: %w", err)
	}
	return tx.CancelWake(ctx, changeSetKind, c.ID)
}

// changeSetARN is the ARN of a change set.
func changeSetARN(caller awswire.Caller, c *changeSetRow) string {
	return fmt.Sprintf("arn:%s:cloudformation:%s:%s:changeSet/%s/%s", awswire.PartitionOf(caller.Region), caller.Region, caller.Account, c.Name, c.ID)
}
