package stack

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// HookTrial is a template that hooks are tried on.
type HookTrial struct {
	StackName  *string // of a stack that exists, or of one that would be created
	Template   *string
	Parameters []types.Parameter // of a stack that exists, the others keep their values
}

// maxTried bounds the invocations of hooks for one template.
const maxTried = 2000

// TryHooks invokes the hooks that would see the creation of a change set for a template, the operation on the stack, and
// the resources that it creates or updates. Nothing is written, and no resource is touched. Values that are known only
// during the operation are [plan.Pending].
func (e *Engine) TryHooks(ctx context.Context, caller awswire.Caller, in HookTrial) ([]hook.Result, error) {
	s, previous, err := e.stackOfTrial(ctx, caller, in)
	if err != nil {
		return nil, err
	}
	hooks, err := e.hooksFor(ctx, s)
	if err != nil || len(hooks) == 0 {
		return nil, err
	}
	parameters := in.Parameters
	if previous != nil {
		parameters = withPrevious(parameters, previous)
	}
	row, next, err := e.newDeployment(ctx, caller, s, deploymentInput{
		Body: in.Template, Parameters: parameters, Previous: previous, Expanded: true,
		Capabilities: []types.Capability{types.CapabilityCapabilityIam, types.CapabilityCapabilityNamedIam},
	})
	if err != nil {
		return nil, err
	}
	input, err := e.planInput(ctx, s, next)
	if err != nil {
		return nil, err
	}
	planned, err := plan.New(input.Input)
	if err != nil {
		return nil, RefusedTemplate(err)
	}
	evaluations, err := e.trials(s, previous, row, input, planned)
	if err != nil {
		return nil, err
	}
	var out []hook.Result
	for _, v := range evaluations {
		if v.Hooks = hooks.For(v.Target); len(v.Hooks) == 0 {
			continue
		}
		if len(out) >= maxTried {
			return nil, awswire.ValidationErrorf("The template has more than %d targets of hooks", maxTried)
		}
		results, err := e.config.Hooks.Try(ctx, v)
		if err != nil {
			return nil, err
		}
		out = append(out, results...)
	}
	return out, nil
}

// stackOfTrial is the stack with its present deployment, or one that would be created.
func (e *Engine) stackOfTrial(ctx context.Context, caller awswire.Caller, in HookTrial) (*stackRow, *deploymentRow, error) {
	s, err := findStack(ctx, e.store.Read(), caller, aws.ToString(in.StackName))
	if err != nil || s == nil || s.DeploymentID == "" {
		return e.newStack(caller, aws.ToString(in.StackName)), nil, err
	}
	previous, err := store.Find[deploymentRow](ctx, e.store.Read(), "id = ?", s.DeploymentID)
	return s, previous, err
}

// withPrevious adds the parameters of a deployment that are not given.
func withPrevious(given []types.Parameter, previous *deploymentRow) []types.Parameter {
	known := map[string]bool{}
	for _, p := range given {
		known[aws.ToString(p.ParameterKey)] = true
	}
	parameters := previous.Parameters.Get()
	for _, b := range parameters.Bound {
		if !known[b.Key] {
			given = append(given, types.Parameter{ParameterKey: aws.String(b.Key), UsePreviousValue: aws.Bool(true)})
		}
	}
	return given
}

// trials are the evaluations of a plan, without their hooks: the change set, the stack, and the resources in the order
// in which they are made.
func (e *Engine) trials(s *stackRow, previous, row *deploymentRow, input planInput, planned *plan.Plan) ([]*hook.Evaluation, error) {
	payload := map[string]string{"template": row.Original, "previousTemplate": ""}
	point := invoke.CreatePreProvision
	if previous != nil {
		point, payload["previousTemplate"] = invoke.UpdatePreProvision, previous.Original
	}
	c := &changeSetRow{ID: e.newID(), Name: "check"}
	c.ARN = changeSetARN(s.caller(), c)
	base := hook.Evaluation{Caller: s.caller(), StackID: s.ARN, ChangeSetID: c.ARN}
	set, whole := base, base
	set.ID, set.TargetID, set.Payload = c.ID+"-set", c.ARN, encode(payloadOfSet(&setResult{row: row, plan: store.JSONOf(*planned)}))
	set.Target = hook.Target{
		Kind: hook.ChangeSet, Name: string(hook.ChangeSet), Action: invoke.CreatePreProvision, LogicalID: c.ARN, StackName: s.Name, RoleARN: s.RoleARN,
	}
	whole.ID, whole.TargetID, whole.Payload = c.ID+"-stack", s.ARN, encode(payload)
	whole.Target = hook.Target{Kind: hook.Stack, Name: string(hook.Stack), Action: point, LogicalID: s.Name, StackName: s.Name, RoleARN: s.RoleARN}
	whole.Secrets = map[secret.Reason][]string{secret.NoEcho: input.Next.Scope.Secrets()}
	out := []*hook.Evaluation{&set, &whole}
	references := planned.References(input.Input)
	for _, id := range plan.Topological(input.Next.Graph()) {
		r, change := input.Next.Template.Resource(id), planned.Change(id)
		if change == nil || changePoints[change.Action] == "" {
			continue
		}
		value, err := input.Next.Scope.Properties(r, references)
		if err != nil {
			return nil, RefusedTemplate(err)
		}
		v := base
		v.ID, v.TargetID, v.Secrets = e.newID(), r.LogicalID, whole.Secrets
		v.Target = hook.Target{
			Kind: hook.Resource, Name: r.Type, Action: changePoints[change.Action], LogicalID: r.LogicalID, StackName: s.Name, RoleARN: s.RoleARN,
		}
		v.Desired, _ = template.ReplaceUnknown(value, plan.Pending).(map[string]any)
		if was, ok := input.Resources[r.LogicalID]; ok && was.Exists() {
			v.Previous = was.Properties
		}
		if typ := input.Types[r.Type]; typ != nil {
			v.Desired, v.Previous = recast(typ, v.Desired), recast(typ, v.Previous)
		}
		out = append(out, &v)
	}
	return out, nil
}
