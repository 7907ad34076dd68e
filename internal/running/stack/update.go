package stack

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// updatable are the statuses from which a stack can be updated.
var updatable = []types.StackStatus{
	types.StackStatusCreateComplete, types.StackStatusUpdateComplete, types.StackStatusUpdateRollbackComplete,
	types.StackStatusImportComplete, types.StackStatusImportRollbackComplete,
}

// preservable are those from which it can be updated with rollback disabled.
var preservable = []types.StackStatus{types.StackStatusCreateFailed, types.StackStatusUpdateFailed}

// UpdateStack starts the update of a stack.
func (e *Engine) UpdateStack(ctx context.Context, caller awswire.Caller, in *cloudformation.UpdateStackInput) (*cloudformation.UpdateStackOutput, error) {
	s, err := requireStack(ctx, e.store.Read(), caller, in.StackName, "missing")
	if err != nil {
		return nil, err
	}
	token, hash := aws.ToString(in.ClientRequestToken), requestHash(in)
	again, err := e.begunWith(ctx, s, types.OperationTypeUpdateStack, token, hash)
	switch {
	case err != nil:
		return nil, err
	case again:
		return &cloudformation.UpdateStackOutput{StackId: aws.String(s.ARN)}, nil
	}
	if err := checkRollbackConfiguration(in.RollbackConfiguration); err != nil {
		return nil, err
	}
	options := operationOptions{
		OnFailure: onFailure("", in.DisableRollback, in.DeploymentConfig), RetainExceptOnCreate: aws.ToBool(in.RetainExceptOnCreate),
		DisableValidation: aws.ToBool(in.DisableValidation), ResourceTypes: in.ResourceTypes, Mode: modeOf(in.DeploymentConfig),
	}
	if !slices.Contains(updatable, s.Status) && !slices.Contains(preservable, s.Status) {
		return nil, refuse("state", s.ARN, s.Status)
	}
	if err := refusePreserved(s, options); err != nil {
		return nil, err
	}
	policy, err := e.policyOf(ctx, caller, in.StackPolicyBody, in.StackPolicyURL, "policy-both")
	if err != nil {
		return nil, err
	}
	if options.PolicyDuringUpdate, err = e.policyOf(ctx, caller, in.StackPolicyDuringUpdateBody, in.StackPolicyDuringUpdateURL, "policy-both-update"); err != nil {
		return nil, err
	}
	previous, err := store.Find[deploymentRow](ctx, e.store.Read(), "id = ?", s.DeploymentID)
	if err != nil {
		return nil, err
	}
	row, next, problem, err := e.transformedDeployment(ctx, caller, s, deploymentInput{
		Body: in.TemplateBody, URL: in.TemplateURL, UsePrevious: aws.ToBool(in.UsePreviousTemplate), Parameters: in.Parameters,
		Tags: in.Tags, Capabilities: in.Capabilities, NotificationARNs: in.NotificationARNs, ResourceTypes: in.ResourceTypes, Previous: previous,
	})
	if err != nil {
		return nil, err
	}
	options.Problem = problem
	changes := problem != "" || row.transforms // what they make is known only afterwards: the service updates
	if !changes {
		if changes, err = e.changes(ctx, s, previous, row, next); err != nil {
			return nil, err
		}
	}
	topics := previous == nil || !row.NotificationARNs.Equal(previous.NotificationARNs)
	if !changes && policy == "" && in.RollbackConfiguration == nil && !topics && (in.RoleARN == nil || *in.RoleARN == s.RoleARN) {
		return nil, refuse("no-updates")
	}
	id, err := e.beginUpdate(ctx, caller, s, updateInput{in: in, row: row, options: options, policy: policy, token: token, hash: hash})
	if err != nil {
		return nil, err
	}
	return &cloudformation.UpdateStackOutput{StackId: aws.String(s.ARN), OperationId: aws.String(id)}, nil
}

// refusePreserved refuses an update with rollback of a stack that failed and was left as it was.
func refusePreserved(s *stackRow, options operationOptions) error {
	if slices.Contains(preservable, s.Status) && options.OnFailure != types.OnFailureDoNothing {
		return refuse("preserved", s.Status)
	}
	return nil
}

type updateInput struct {
	in                  *cloudformation.UpdateStackInput
	row                 *deploymentRow
	options             operationOptions
	policy, token, hash string
}

// beginUpdate writes the update that UpdateStack prepared.
func (e *Engine) beginUpdate(ctx context.Context, caller awswire.Caller, s *stackRow, in updateInput) (id string, err error) {
	err = e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		current, err := store.Find[stackRow](ctx, tx, "id = ?", s.ID)
		if err != nil || current == nil {
			return err
		}
		if current.RowVersion != s.RowVersion && current.OperationID != s.OperationID {
			return refuse("state", s.ARN, current.Status)
		}
		settings := current.Settings.Get()
		settings.DisableRollback = in.options.OnFailure == types.OnFailureDoNothing
		settings.RetainExceptOnCreate, settings.Mode = in.options.RetainExceptOnCreate, in.options.Mode
		if in.in.RollbackConfiguration != nil {
			settings.Rollback = in.in.RollbackConfiguration
		}
		if in.policy != "" {
			current.Policy = in.policy
		}
		if in.in.RoleARN != nil {
			current.RoleARN = *in.in.RoleARN
		}
		current.UpdatedAt, current.ChangeSetID = e.now(), ""
		id, err = e.begin(ctx, tx, current, beginInput{
			kind: types.OperationTypeUpdateStack, status: types.StackStatusUpdateInProgress, deployment: in.row,
			options: in.options, settings: &settings, token: in.token, hash: in.hash, caller: caller,
		})
		return err
	})
	return id, err
}

// changes reports whether an update has anything to do.
func (e *Engine) changes(ctx context.Context, s *stackRow, previous, row *deploymentRow, next *plan.Deployment) (bool, error) {
	if previous == nil || s.Status == types.StackStatusCreateFailed || s.Status == types.StackStatusUpdateFailed {
		return true, nil
	}
	if !previous.Tags.Equal(row.Tags) || resolvesAgain(next) {
		return true, nil
	}
	input, err := e.planInput(ctx, s, next)
	if err != nil {
		return false, err
	}
	planned, err := plan.New(input.Input)
	var missing *plan.AttributeError
	switch {
	case errors.As(err, &missing):
		return true, nil // the update fails with its place
	case err != nil:
		return false, RefusedTemplate(err)
	}
	return !planned.Empty(), nil
}

// A planInput is what a plan is made of, with the types, which calls need.
type planInput struct {
	plan.Input
	Types map[string]*operation.Type
}

// planInput is what a plan of a stack starts from.
func (e *Engine) planInput(ctx context.Context, s *stackRow, next *plan.Deployment) (planInput, error) {
	input := planInput{plan.Input{Next: next, Schemas: map[string]*schema.Schema{}, References: outside{ctx, e, s}}, map[string]*operation.Type{}}
	deployments := []*plan.Deployment{next}
	if s.DeploymentID != "" {
		_, before, err := e.loadDeployment(ctx, e.store.Read(), s, s.DeploymentID, next.Scope.Budget())
		if err != nil {
			return input, err
		}
		input.Previous, deployments = before, append(deployments, before)
	}
	var err error
	if input.Tags, err = e.provisionedTags(ctx, s, input.Previous, next); err != nil {
		return input, err
	}
	if input.Resources, err = e.resourcesOf(ctx, s); err != nil {
		return input, err
	}
	looked := map[string]bool{}
	for _, d := range deployments {
		for _, r := range d.Template.Resources {
			if looked[r.Type] {
				continue
			}
			looked[r.Type] = true
			if typ, err := e.findType(ctx, s.caller(), r.Type); err == nil && typ != nil {
				input.Types[r.Type], input.Schemas[r.Type] = typ, typ.Schema
			}
		}
	}
	return input, nil
}

// provisionedTags are the tags of a stack when its resources were provisioned: those of its last stable state.
func (e *Engine) provisionedTags(ctx context.Context, s *stackRow, previous, next *plan.Deployment) (map[string]string, error) {
	switch s.StableDeploymentID {
	case "":
		return next.Tags, nil
	case s.DeploymentID:
		return previous.Tags, nil
	}
	row, err := store.Find[deploymentRow](ctx, e.store.Read(), "id = ?", s.StableDeploymentID)
	if err != nil || row == nil {
		return nil, err
	}
	return row.tags(), nil
}

// resolvesAgain reports whether an update looks up values that may have changed although the
// template has not: parameters of SSM.
func resolvesAgain(d *plan.Deployment) bool {
	return len(parameterReferences(d)) > 0 || slices.ContainsFunc(d.Parameters.Bound, func(b template.Bound) bool { return b.Stored })
}

// resourcesOf reads the resources of a stack as plans start from them.
func (e *Engine) resourcesOf(ctx context.Context, s *stackRow) (map[string]plan.Resource, error) {
	rows, err := store.FindAll[resourceRow](ctx, e.store.Read(), "logical_id", "stack_id = ?", s.ID)
	if err != nil {
		return nil, err
	}
	out := make(map[string]plan.Resource, len(rows))
	for i := range rows {
		out[rows[i].LogicalID] = rows[i].resource()
	}
	return out, nil
}

// outside resolves values outside of a stack, outside of a transaction.
type outside struct {
	ctx    context.Context
	engine *Engine
	stack  *stackRow
}

func (outside) Ref(string) (any, bool)                   { return nil, false }
func (outside) GetAtt(string, string) (any, bool, error) { return nil, false, nil }

// ImportValue implements [template.References].
func (o outside) ImportValue(name string) (string, bool, error) {
	row, err := store.Find[exportRow](o.ctx, o.engine.store.Read(), "account = ? AND region = ? AND name = ?", o.stack.Account, o.stack.Region, name)
	if err != nil || row == nil {
		return "", false, err
	}
	return row.Value, true, nil
}

// StackOutput implements [template.References]. What there is not yet fails the resource, and
// not the plan.
func (o outside) StackOutput(ref template.StackOutputRef) (string, bool, error) {
	value, known, err := stackOutputOf(o.ctx, o.engine.store.Read(), o.stack, ref)
	var missing template.ServiceError
	if errors.As(err, &missing) {
		return "", false, nil
	}
	return value, known, err
}
