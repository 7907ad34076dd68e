package stack

import (
	"context"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// ListHookResults lists the invocations of hooks in the last 90 days, the newest first: all of
// them, those of a hook, or those for a change set or a request of Cloud Control.
func (e *Engine) ListHookResults(ctx context.Context, caller awswire.Caller, in *cloudformation.ListHookResultsInput) (*cloudformation.ListHookResultsOutput, error) {
	out := &cloudformation.ListHookResultsOutput{HookResults: []types.HookResultSummary{}, TargetId: in.TargetId, TargetType: in.TargetType}
	switch {
	case (in.TargetId == nil) != (in.TargetType == ""):
		return nil, refuse("hook-target")
	case in.TargetId != nil && in.TypeArn != nil, in.Status != "" && in.TypeArn == nil:
		return nil, refuse("hook-filters")
	}
	q := hook.Query{
		Place: caller.Place, TypeARN: aws.ToString(in.TypeArn), Status: string(in.Status),
		Kind: hook.Kind(in.TargetType), TargetID: aws.ToString(in.TargetId), Limit: pageSize + 1,
	}
	list := []any{"ListHookResults", q.Place, q.TypeARN, q.Status, q.Kind, q.TargetID}
	if in.NextToken != nil {
		keys, ok := store.ReadPageToken(*in.NextToken, 2, list...)
		micros, err := strconv.ParseInt(append(keys, "")[0], 10, 64)
		if !ok || err != nil {
			return nil, refuse("next-token")
		}
		q.Before, q.ID = store.At(time.UnixMicro(micros)), keys[1]
	}
	found, err := e.hookResults(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && in.TargetId != nil && q.Before.IsZero() {
		if err := e.requireHookTarget(ctx, caller, in); err != nil {
			return nil, err
		}
	}
	if len(found) > pageSize {
		found = found[:pageSize]
		last := &found[pageSize-1]
		out.NextToken = aws.String(store.PageToken([]string{strconv.FormatInt(last.InvokedAt.UnixMicro(), 10), last.ID}, list...))
	}
	for i := range found {
		out.HookResults = append(out.HookResults, hookSummary(&found[i], in.TargetId == nil))
	}
	return out, nil
}

func (e *Engine) hookResults(ctx context.Context, q hook.Query) ([]hook.Result, error) {
	if e.config.Hooks == nil {
		return nil, nil
	}
	return e.config.Hooks.Results(ctx, q)
}

// requireHookTarget refuses a target without results. A change set that exists has an empty list.
func (e *Engine) requireHookTarget(ctx context.Context, caller awswire.Caller, in *cloudformation.ListHookResultsInput) error {
	if in.TargetType != types.ListHookResultsTargetTypeChangeSet {
		return refuse("hook-missing", *in.TargetId)
	}
	c, err := e.findSet(ctx, e.store.Read(), caller, in.TargetId, aws.String(""))
	if err != nil || c == nil {
		if _, refused := AsRefusal(err); err != nil && !refused {
			return err
		}
		return refuse("hook-missing", *in.TargetId)
	}
	return nil
}

// hookSummary is a result in a list. One of a target does not name the target.
func hookSummary(r *hook.Result, all bool) types.HookResultSummary {
	out := types.HookResultSummary{
		HookResultId: &r.ID, FailureMode: r.FailureMode, HookStatusReason: optional(r.Reason), InvocationPoint: types.HookInvocationPointPreProvision,
		Status: r.Status, TypeArn: &r.TypeARN, TypeName: &r.TypeName, TypeVersionId: &r.Version, TypeConfigurationVersionId: &r.ConfigurationVersion,
	}
	if all {
		out.HookExecutionTarget, out.InvokedAt = optional(r.ExecutionTarget), timePtr(r.InvokedAt)
	}
	return out
}

// GetHookResult returns an invocation of a hook with its annotations.
func (e *Engine) GetHookResult(ctx context.Context, caller awswire.Caller, in *cloudformation.GetHookResultInput) (*cloudformation.GetHookResultOutput, error) {
	id := aws.ToString(in.HookResultId)
	var r *hook.Result
	var err error
	if e.config.Hooks != nil {
		r, err = e.config.Hooks.Result(ctx, caller.Place, id)
	}
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return nil, refuse("hook-result-missing", id)
	}
	return &cloudformation.GetHookResultOutput{
		HookResultId: &r.ID, FailureMode: r.FailureMode, HookStatusReason: optional(r.Reason), InvocationPoint: types.HookInvocationPointPreProvision,
		InvokedAt: timePtr(r.InvokedAt), OriginalTypeName: optional(r.OriginalName), Status: r.Status, TypeArn: &r.TypeARN, TypeName: &r.TypeName,
		TypeVersionId: &r.Version, TypeConfigurationVersionId: &r.ConfigurationVersion, Annotations: r.Annotations.Get(),
		Target: &types.HookTarget{
			Action: types.HookTargetAction(r.Action), TargetId: &r.TargetID, TargetType: types.HookTargetType(r.TargetKind), TargetTypeName: &r.TargetName,
		},
	}, nil
}

// DescribeChangeSetHooks lists the hooks that the execution of a change set will invoke on
// resources, as the hooks are configured now.
func (e *Engine) DescribeChangeSetHooks(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeChangeSetHooksInput) (*cloudformation.DescribeChangeSetHooksOutput, error) {
	db := e.store.Read()
	c, err := e.requireSet(ctx, db, caller, in.ChangeSetName, in.StackName)
	if err != nil {
		return nil, err
	}
	s, err := store.Find[stackRow](ctx, db, "id = ?", c.StackID)
	if err != nil || s == nil {
		return nil, err
	}
	out := &cloudformation.DescribeChangeSetHooksOutput{
		ChangeSetId: aws.String(c.ARN), ChangeSetName: aws.String(c.Name), StackId: aws.String(s.ARN), StackName: aws.String(s.Name),
		Hooks: []types.ChangeSetHook{}, Status: types.ChangeSetHooksStatusPlanned,
	}
	switch {
	case c.creating():
		out.Status = types.ChangeSetHooksStatusPlanning
		return out, nil
	case c.Status != types.ChangeSetStatusCreateComplete:
		out.Status = types.ChangeSetHooksStatusUnavailable
		return out, nil
	}
	planned := c.Plan.Get()
	hooks, err := e.hooksFor(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []types.ChangeSetHook
	for i := range planned.Changes {
		change := &planned.Changes[i]
		if in.LogicalResourceId == nil || *in.LogicalResourceId == change.LogicalID {
			all = append(all, plannedHooks(hooks, s, change)...)
		}
	}
	out.Hooks, out.NextToken, err = pageOf(all, in.NextToken)
	if out.Hooks == nil {
		out.Hooks = []types.ChangeSetHook{}
	}
	return out, err
}

// changePoints are the invocation points of changes.
var changePoints = map[types.ChangeAction]invoke.Action{
	types.ChangeActionAdd: invoke.CreatePreProvision, types.ChangeActionModify: invoke.UpdatePreProvision,
}

// plannedHooks are the hooks that see a change. A resource that is removed is deleted in the
// cleanup, which passes no hooks.
func plannedHooks(hooks hook.Set, s *stackRow, change *plan.Change) []types.ChangeSetHook {
	point := changePoints[change.Action]
	if point == "" {
		return nil
	}
	var out []types.ChangeSetHook
	target := hook.Target{Kind: hook.Resource, Name: change.Type, Action: point, LogicalID: change.LogicalID, StackName: s.Name, RoleARN: s.RoleARN}
	for _, h := range hooks.For(target) {
		out = append(out, types.ChangeSetHook{
			FailureMode: h.Settings.Mode(), InvocationPoint: types.HookInvocationPointPreProvision, TypeName: aws.String(h.TypeName),
			TypeVersionId: aws.String(h.Version), TypeConfigurationVersionId: aws.String(h.ConfigurationVersion),
			TargetDetails: &types.ChangeSetHookTargetDetails{TargetType: types.HookTargetTypeResource, ResourceTargetDetails: &types.ChangeSetHookResourceTargetDetails{
				LogicalResourceId: aws.String(change.LogicalID), ResourceAction: change.Action, ResourceType: aws.String(change.Type),
			}},
		})
	}
	return out
}
