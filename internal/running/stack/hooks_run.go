package stack

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// reasonHooks marks a step whose hooks run: its operation has not begun.
const reasonHooks = "hooks"

// The owners of evaluations, by what is evaluated.
const (
	HooksOnResource  = "stack-resource"   // key: the id of the step
	HooksOnStack     = "stack"            // key: the id of the operation
	HooksOnChangeSet = "stack-change-set" // key: the id of the change set
)

// hooksFor are the hooks that an operation on a stack has to pass. The deletion of a nested stack
// that is part of something else than the deletion of its root passes none, as that of any other
// resource.
func (e *Engine) hooksFor(ctx context.Context, s *stackRow) (hook.Set, error) {
	if e.config.Hooks == nil {
		return nil, nil
	}
	hooks, err := e.config.Hooks.InUse(ctx, s.caller())
	if err != nil || len(hooks) == 0 {
		return nil, err
	}
	for child := s; child.ParentID != "" && s.Status == types.StackStatusDeleteInProgress; {
		parent, err := store.Find[stackRow](ctx, e.store.Read(), "arn = ?", child.ParentID)
		if err != nil || parent == nil || parent.Status != types.StackStatusDeleteInProgress {
			return nil, err
		}
		child = parent
	}
	return hooks, nil
}

// hookPoints are the invocation points of steps. A replacement is an update of the resource.
var hookPoints = map[plan.Action]invoke.Action{
	plan.Create: invoke.CreatePreProvision, plan.Update: invoke.UpdatePreProvision, plan.Replace: invoke.UpdatePreProvision,
	plan.Remake: invoke.UpdatePreProvision, plan.Delete: invoke.DeletePreProvision,
}

// hookedCall starts the operation of a step when the hooks that see the resource let it pass.
// The properties are those of the resource after and before. It reports whether there are no hooks to wait for.
func (r *run) hookedCall(s *stepRow, typ *operation.Type, request operation.Request, desired, previous map[string]any) bool {
	r.call(s, typ, request)
	if len(r.prepared.hooks) == 0 || s.Plan.Get().Rollback || s.Action == plan.Delete && !r.deletesStack() {
		return true
	}
	target := hook.Target{
		Kind: hook.Resource, Name: typ.Name, Action: hookPoints[s.Action], LogicalID: s.LogicalID, StackName: r.stack.Name, RoleARN: r.stack.RoleARN,
	}
	if s.Action == plan.Remake {
		target.Name = r.next.Template.Resource(s.LogicalID).Type
	}
	hooks := r.prepared.hooks.For(target)
	if len(hooks) == 0 {
		return true
	}
	last := len(r.writes.begin) - 1
	spec := r.writes.begin[last]
	r.writes.begin = r.writes.begin[:last]
	s.Reason = reasonHooks
	r.writes.evaluate = append(r.writes.evaluate, &hook.Evaluation{
		ID: s.CallID, Owner: HooksOnResource, Key: s.ID, Caller: spec.Request.Caller, Target: target, TargetID: s.LogicalID,
		StackID: r.stack.ARN, ChangeSetID: r.op.ChangeSetID, Desired: recast(typ, desired), Previous: recast(typ, previous),
		Secrets: spec.Request.Secrets, Hooks: hooks, Then: &spec,
	})
	return false
}

// deletesStack reports whether the deletion of the whole stack was requested. What else is
// deleted passes no hooks.
func (r *run) deletesStack() bool {
	return r.op.Kind == types.OperationTypeDeleteStack && r.options.OnFailure != types.OnFailureDelete
}

// stackPoints are the invocation points of operations.
var stackPoints = map[types.OperationType]invoke.Action{
	types.OperationTypeCreateStack: invoke.CreatePreProvision, types.OperationTypeUpdateStack: invoke.UpdatePreProvision,
	types.OperationTypeDeleteStack: invoke.DeletePreProvision,
}

// stackEvaluation is the id of the evaluation of an operation.
func stackEvaluation(op *operationRow) string { return op.ID + "-stack" }

// hookStack has the hooks on the stack evaluate an operation that begins. It reports whether
// the operation has to wait for them.
func (r *run) hookStack(ctx context.Context, tx *store.Tx) (bool, error) {
	switch {
	case r.op.Phase == plan.PhaseHooks: // it was cancelled
		r.writes.unhook = append(r.writes.unhook, stackEvaluation(r.op))
		return false, nil
	case r.op.Phase != plan.PhaseValidate, len(r.prepared.hooks) == 0, stackPoints[r.op.Kind] == "":
		return false, nil
	}
	target := hook.Target{
		Kind: hook.Stack, Name: string(hook.Stack), Action: stackPoints[r.op.Kind], LogicalID: r.stack.Name, StackName: r.stack.Name, RoleARN: r.stack.RoleARN,
	}
	hooks := r.prepared.hooks.For(target)
	if len(hooks) > 0 && r.op.ChangeSetID != "" {
		var err error
		if hooks, err = r.engine.config.Hooks.Unskipped(ctx, tx, hooks, r.op.ChangeSetID); err != nil {
			return false, err
		}
	}
	if len(hooks) == 0 {
		return false, nil
	}
	v := &hook.Evaluation{
		ID: stackEvaluation(r.op), Owner: HooksOnStack, Key: r.op.ID, Caller: r.stack.caller(), Target: target, TargetID: r.stack.ARN,
		StackID: r.stack.ARN, ChangeSetID: r.op.ChangeSetID, Hooks: hooks, Payload: encode(r.stackPayload()),
		Secrets: map[secret.Reason][]string{secret.NoEcho: r.secrets()},
	}
	v.Caller.AccessKeyID = r.op.Caller
	r.writes.evaluate = append(r.writes.evaluate, v)
	r.op.Phase = plan.PhaseHooks
	return true, nil
}

// stackPayload is the document that hooks on a stack fetch. Before a deletion it has no templates.
func (r *run) stackPayload() map[string]string {
	payload := map[string]string{"template": "", "previousTemplate": ""}
	if r.op.Kind == types.OperationTypeDeleteStack {
		return payload
	}
	if row := r.prepared.rows[r.stack.DeploymentID]; row != nil {
		payload["template"] = row.Original
	}
	if row := r.prepared.rows[r.stack.StableDeploymentID]; row != nil && r.op.Kind != types.OperationTypeCreateStack {
		payload["previousTemplate"] = row.Original
	}
	return payload
}

// flushHooks begins and cancels evaluations.
func (r *run) flushHooks(ctx context.Context, tx *store.Tx) error {
	w, hooks := &r.writes, r.engine.config.Hooks
	for _, id := range w.unhook {
		if _, err := hooks.Cancel(ctx, tx, id); err != nil {
			return err
		}
	}
	if len(w.evaluate) == 0 {
		return nil
	}
	results, err := hooks.Begin(ctx, tx, w.evaluate...)
	if err != nil {
		return err
	}
	for i, v := range w.evaluate {
		for n := range results[i] {
			details := hookDetails(&results[i][n])
			if v.Owner == HooksOnResource {
				r.turnHooked(r.steps[v.Target.LogicalID], hooked, "", details)
			} else {
				r.events = append(r.events, r.engine.stackHookEvent(r.stack, r.op, r.now, details))
			}
		}
	}
	return nil
}

// stackHookEvent is the event of a hook on a stack.
func (e *Engine) stackHookEvent(s *stackRow, op *operationRow, at store.Time, details store.JSON[eventDetails]) eventRow {
	row := e.stackEvent(s, op, at)
	row.ID, row.Reason, row.Details = s.Name+"-"+row.ID, "", details
	return row
}

// hookDetails are the members of the event of a result.
func hookDetails(result *hook.Result) store.JSON[eventDetails] {
	return store.JSONOf(eventDetails{
		HookType: result.TypeName, HookStatus: string(result.Status), HookStatusReason: result.Reason,
		HookInvocationPoint: string(types.HookInvocationPointPreProvision), HookFailureMode: string(result.FailureMode), HookInvocationID: result.ID,
	})
}

// Hooked implements [hook.Owner] for resources: it appends the events of hooks, and fails the
// resource that they stop.
func (e *Engine) Hooked(ctx context.Context, tx *store.Tx, outcome hook.Outcome) (bool, error) {
	s, err := store.Find[stepRow](ctx, tx, "id = ?", outcome.Key)
	if err != nil || s == nil || s.CallID != outcome.ID || s.State != plan.StepRunning || s.Reason != reasonHooks {
		return false, err // the step is over
	}
	op, err := store.Find[operationRow](ctx, tx, "id = ?", s.OperationID)
	if err != nil || op == nil {
		return false, err
	}
	p := newProgress(e, op, s, e.now())
	if err := p.readSubject(ctx, tx); err != nil || p.resource == nil {
		return false, err
	}
	p.turnHooked(s, hooked, "", hookDetails(&outcome.Result))
	if !outcome.Ended {
		return false, p.write(ctx, tx)
	}
	s.Reason = ""
	s.moved()
	p.now = store.At(p.now.Add(time.Millisecond))
	if len(outcome.Failed) > 0 {
		s.CallID = ""
		p.turn(s, fails, hook.FailedReason(outcome.Failed)) // nothing was called
		return false, errors.Join(p.write(ctx, tx), e.wakeStack(ctx, tx, op.StackID))
	}
	p.turn(s, hooked, hooksComplete[s.Action])
	if s.Action == plan.Remake {
		p.turn(s, removes, "")
	}
	return true, p.write(ctx, tx) // the step goes on: there is nothing for the stack to do
}

// hooksComplete are the reasons of rows that all hooks have let pass.
var hooksComplete = map[plan.Action]string{
	plan.Create: "Hook invocations complete.  Resource creation initiated", plan.Update: "Hook invocations complete.  Resource update initiated",
	plan.Replace: "Hook invocations complete.  Resource update initiated", plan.Remake: "Hook invocations complete.  Resource update initiated",
	plan.Delete: "Hook invocations complete.  Resource deletion initiated",
}

// OnStacks is the owner of evaluations of stacks.
func (e *Engine) OnStacks() hook.Owner { return ownerFunc(e.stackHooked) }

// OnChangeSets is the owner of evaluations of change sets.
func (e *Engine) OnChangeSets() hook.Owner { return ownerFunc(e.setHooked) }

// An ownerFunc is an owner of evaluations that is a function.
type ownerFunc func(ctx context.Context, tx *store.Tx, outcome hook.Outcome) (bool, error)

// Hooked implements [hook.Owner].
func (f ownerFunc) Hooked(ctx context.Context, tx *store.Tx, outcome hook.Outcome) (bool, error) {
	return f(ctx, tx, outcome)
}

// stackHooked continues the operation of a stack, or ends it with the reason.
func (e *Engine) stackHooked(ctx context.Context, tx *store.Tx, outcome hook.Outcome) (bool, error) {
	op, err := store.Find[operationRow](ctx, tx, "id = ?", outcome.Key)
	if err != nil || op == nil || op.Phase != plan.PhaseHooks {
		return false, err
	}
	s, err := store.Find[stackRow](ctx, tx, "id = ?", op.StackID)
	if err != nil || s == nil {
		return false, err
	}
	row := e.stackHookEvent(s, op, e.now(), hookDetails(&outcome.Result))
	if err := e.insertEvents(ctx, tx, row); err != nil || !outcome.Ended {
		return false, err
	}
	if len(outcome.Failed) > 0 {
		options := op.Options.Get()
		options.HooksFailed = hook.FailedReason(outcome.Failed)
		op.Options = store.JSONOf(options)
	}
	op.Phase = plan.PhaseHooked
	if err := store.Swap(ctx, tx, op, &op.RowVersion); err != nil {
		return false, err
	}
	return false, e.wakeStack(ctx, tx, s.ID)
}
