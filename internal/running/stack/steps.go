package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/authoring/typecheck"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// start starts a step whose dependencies are done. It may end at once.
func (r *run) start(ctx context.Context, tx *store.Tx, s *stepRow) error {
	s.StartedAt = r.now
	switch s.Action {
	case plan.Deploy, plan.None, plan.Skip:
		return r.deploy(ctx, tx, s)
	case plan.Replace:
		return r.replaceAfterUpdate(s)
	case plan.Refuse:
		r.remember(r.resources[s.LogicalID])
		r.turn(s, fails, s.Plan.Get().Denied[plan.Refuse])
		return nil
	case plan.Delete, plan.Retain:
		r.startDelete(s)
		return nil
	case plan.Tag:
		return r.startTag(s)
	case plan.Release:
		return r.release(ctx, tx, s)
	case plan.Revert:
		return r.startRevert(ctx, tx, s)
	}
	return fmt.Errorf("a step cannot begin with %q", s.Action)
}

// A target is a resource of the template with everything that it is deployed with.
type target struct {
	step       *stepRow
	res        *template.Resource
	typ        *operation.Type
	action     plan.Action
	properties map[string]any
	after      snapshot
}

// deploy decides the action for a resource whose dependencies are done, and starts it.
func (r *run) deploy(ctx context.Context, tx *store.Tx, s *stepRow) error {
	t, problem, err := r.evaluate(ctx, tx, s)
	if err != nil {
		return err
	}
	x := r.resources[s.LogicalID]
	if problem != "" {
		r.refuseStep(s, x, t, problem)
		return nil
	}
	if err := r.forgetSignals(ctx, tx, t); err != nil {
		return err
	}
	switch t.action {
	case plan.Import:
		return r.startImport(ctx, tx, t, s.Plan.Get().Import)
	case plan.Create:
		r.startCreate(t, x)
	case plan.Update:
		r.startUpdate(t, x)
	case plan.Replace, plan.Remake:
		r.startReplace(t, x)
	case plan.Skip:
		r.skip(t, x)
	default:
		r.keep(t, x)
	}
	return nil
}

// evaluate computes the properties and attributes of a deployment of a resource. problem is
// why that fails.
func (r *run) evaluate(ctx context.Context, tx *store.Tx, s *stepRow) (t *target, problem string, err error) {
	t = &target{step: s, res: r.next.Template.Resource(s.LogicalID)}
	if t.res == nil {
		return t, "", errUnprepared
	}
	var unknown string
	if t.typ, unknown = r.prepared.typeOf(t.res.Type); t.typ == nil {
		if unknown == "" {
			return t, "", errUnprepared
		}
		return t, unknown, nil
	}
	x := r.resources[s.LogicalID]
	in := plan.RefineInput{
		Next: r.next, PreviousTags: r.next.Tags, Resources: r.known(), References: values{run: r, ctx: ctx, tx: tx}, Schema: t.typ.Schema,
		Refreshed: func(properties map[string]any) bool {
			return x.ReferencesHash != r.prepared.referencesHash(anyMap(properties))
		},
	}
	if x.exists() {
		current := r.known()[s.LogicalID]
		in.Current = &current
	}
	if r.stable != nil {
		in.PreviousTags = r.stable.Tags
	}
	refined, err := s.Plan.Get().Refine(in)
	if err != nil {
		if failure := unevaluated(ctx, err); failure != nil {
			return t, "", failure
		}
		return t, EvaluationProblem(err), nil
	}
	t.action, t.properties = refined.Action, refined.Properties
	t.after = snapshot{
		Type: t.res.Type, TypeVersion: t.typ.Version, Properties: store.JSONOf(refined.Properties), Metadata: store.JSONOf(refined.Metadata),
		DependsOn: store.JSONOf(refined.DependsOn), DeletionPolicy: refined.DeletionPolicy,
		UpdateReplacePolicy: refined.UpdateReplacePolicy, ReferencesHash: r.prepared.referencesHash(anyMap(refined.Properties)),
	}
	t.after.Signals = r.awaited(t, r.creationPolicy(t.res, in.References))
	t.after.Shown = stringified(refined.Masked)
	s.Properties, s.Pending = t.after.Shown.Text(), store.JSONOf(t.after)
	return t, cmp.Or(invalidProperties(t, s.LogicalID), refined.Refused), nil
}

// invalidProperties is the reason for properties that break the schema of their type, ""
// if they do not. The validation before a deployment could not know all of them.
func invalidProperties(t *target, logicalID string) string {
	if at, found := store.FindUnstorable(anyMap(t.properties)); found {
		return "Properties validation failed for resource " + logicalID + " with message:\n#" + at + ": the character U+0000 is not allowed"
	}
	if t.action == plan.None || t.typ.Schema == nil || t.typ.LateValidation || typecheck.Unvalidated(t.res.Type) {
		return ""
	}
	problems := typecheck.Properties(t.typ.Schema, anyMap(t.properties))
	if len(problems) == 0 {
		return ""
	}
	reason := "Properties validation failed for resource " + logicalID + " with message:"
	for _, problem := range problems {
		reason += "\n" + problem.String()
	}
	return reason
}

func anyMap(m map[string]any) any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// EvaluationProblem is the reason for a value that cannot be computed.
func EvaluationProblem(err error) string {
	var asked *template.ReferenceError
	var attribute *plan.AttributeError
	if errors.As(err, &asked) && errors.As(asked.Err, &attribute) {
		return attribute.At(asked.Pointer.String())
	}
	return err.Error()
}

// keep does not change a resource, except for the stack's record of it.
func (r *run) keep(t *target, x *resourceRow) {
	after := t.after
	after.PhysicalID, after.Model, after.TypeVersion, after.Properties = x.PhysicalID, x.Model, x.TypeVersion, x.Properties
	after.Signals = nil
	before := x.snapshot()
	if encode(before) != encode(after) {
		r.remember(x)
		r.restore(x, after)
	}
	t.step.Action = plan.None
	r.done(t.step)
}

// skip records a resource as rolled back that the request to continue the rollback left out.
func (r *run) skip(t *target, x *resourceRow) {
	after := t.after
	after.PhysicalID, after.Model, after.Signals = x.PhysicalID, x.Model, nil
	x.restore(after)
	t.step.Action = plan.None
	r.turn(t.step, succeeds, "")
}

// refuseStep fails a step before anything was called.
func (r *run) refuseStep(s *stepRow, x *resourceRow, t *target, reason string) {
	if x == nil {
		r.resources[s.LogicalID] = &resourceRow{StackID: r.stack.ID, LogicalID: s.LogicalID, Type: t.res.Type, Origin: store.JSONOf(origin{Kind: originNew}), CreatedAt: r.now}
	} else if x.exists() {
		r.remember(x)
	}
	r.turn(s, fails, reason)
}

// startCreate starts the creation of a resource.
func (r *run) startCreate(t *target, x *resourceRow) {
	if x == nil {
		x = &resourceRow{StackID: r.stack.ID, LogicalID: t.res.LogicalID, Origin: store.JSONOf(origin{Kind: originNew}), CreatedAt: r.now}
		r.resources[x.LogicalID] = x
	}
	if x.PhysicalID != "" { // made by a creation that failed
		r.discard(x.LogicalID, x.snapshot(), "")
	}
	if x.Origin.IsZero() {
		x.Origin = store.JSONOf(origin{Kind: originNew})
	}
	created := t.after
	created.PhysicalID, created.Model = "", object{}
	x.restore(created)
	t.step.Action = plan.Create
	r.turn(t.step, begins, "")
	r.hookedCall(t.step, t.typ, operation.Request{Action: invoke.Create, Desired: t.properties}, t.properties, nil)
}

// startUpdate changes a resource in place.
func (r *run) startUpdate(t *target, x *resourceRow) {
	r.remember(x)
	t.step.Action, t.step.PhysicalID = plan.Update, x.PhysicalID
	r.turn(t.step, begins, "")
	before := x.Properties.Get()
	r.hookedCall(t.step, t.typ, operation.Request{
		Action: invoke.Update, Identifier: x.PhysicalID, Desired: t.properties, Previous: before,
	}, t.properties, before)
}

// startReplace creates the successor of a resource, which is deleted before if it is made again.
func (r *run) startReplace(t *target, x *resourceRow) {
	r.remember(x)
	t.step.Action = t.action
	r.turn(t.step, begins, reasonReplacing)
	if t.action == plan.Remake {
		t.step.PhysicalID = x.PhysicalID
		old, _ := r.prepared.typeOf(x.Type)
		if old == nil {
			old = t.typ
		}
		if r.hookedCall(t.step, old, r.deleteRequest(x.Type, x.PhysicalID, x.Properties, x.Model), t.properties, x.Properties.Get()) {
			r.turn(t.step, removes, "")
		}
		return
	}
	r.hookedCall(t.step, t.typ, operation.Request{Action: invoke.Create, Desired: t.properties}, t.properties, x.Properties.Get())
}

// replaceAfterUpdate creates the successor of a resource whose handler cannot update it, or
// that was deleted for it.
func (r *run) replaceAfterUpdate(s *stepRow) error {
	x, after := r.resources[s.LogicalID], s.Pending.Get()
	if x == nil {
		return nil
	}
	typ, _ := r.prepared.typeOf(after.Type)
	if typ == nil {
		return errUnprepared
	}
	if s.Reason != reasonGone {
		r.turn(s, reports, reasonReplacing)
	}
	after.TypeVersion = typ.Version
	s.Reason, s.PhysicalID, s.Pending = "", "", store.JSONOf(after)
	r.call(s, typ, operation.Request{Action: invoke.Create, Desired: after.Properties.Get()})
	return nil
}

// reasonGone marks a step whose old resource was deleted.
const reasonGone = "gone"

// startDelete deletes a resource, or retains it according to its policy.
func (r *run) startDelete(s *stepRow) {
	if c := r.cleanup[s.CleanupID]; c != nil {
		r.startCleanup(s, c)
		return
	}
	x := r.resources[s.LogicalID]
	if x == nil {
		r.done(s)
		return
	}
	s.Properties = shownProperties(r, x)
	switch {
	case x.PhysicalID == "":
		r.turn(s, succeeds, "")
		r.drop(x)
	case s.Action == plan.Retain:
		r.turn(s, retains, "")
		if r.op.Phase == plan.PhaseCleanup || r.op.Phase == plan.PhaseRollbackCleanup {
			r.drop(x) // the stack continues to exist
		}
	default:
		s.PhysicalID = x.PhysicalID
		r.turn(s, begins, "")
		typ, unknown := r.prepared.typeOf(x.Type)
		if typ == nil {
			r.turn(s, fails, unknown)
			return
		}
		r.noteSnapshot(typ, x.LogicalID, x.PhysicalID, x.DeletionPolicy)
		r.hookedCall(s, typ, r.deleteRequest(x.Type, x.PhysicalID, x.Properties, x.Model), nil, x.Properties.Get())
	}
}

// noteSnapshot reports that no snapshot is made of a resource whose policy requires one. Only
// types of AWS have such policies, and those are simulated here: there is no data to keep.
func (r *run) noteSnapshot(typ *operation.Type, logicalID, physicalID, policy string) {
	if policy == "Snapshot" {
		r.engine.log.Warn("no snapshot is made before the resource is deleted: its type is simulated",
			"stack", r.stack.ARN, "resource", logicalID, "type", typ.Name, "identifier", physicalID)
	}
}

// shownProperties are the properties of a resource as events of its deletion show them.
func shownProperties(r *run, x *resourceRow) string {
	if !x.Shown.IsZero() && r.stack.Status != types.StackStatusUpdateCompleteCleanupInProgress {
		return x.Shown.Text()
	}
	if r.next != nil {
		if res := r.next.Template.Resource(x.LogicalID); res != nil && r.next.Conceals(res, r.known()) {
			return encode(map[string]any{template.Mask: template.Mask})
		}
	}
	if r.stack.Status == types.StackStatusUpdateCompleteCleanupInProgress {
		return ""
	}
	return stringified(x.Properties.Get()).Text()
}

// startCleanup deletes what was replaced. Its events have no properties.
func (r *run) startCleanup(s *stepRow, c *cleanupRow) {
	if s.Action == plan.Retain {
		r.turn(s, retains, "")
		delete(r.cleanup, c.ID)
		return
	}
	s.PhysicalID = c.PhysicalID
	r.turn(s, begins, "")
	typ, unknown := r.prepared.typeOf(c.Type)
	if typ == nil {
		r.turn(s, fails, unknown)
		return
	}
	r.noteSnapshot(typ, c.LogicalID, c.PhysicalID, c.Policy)
	r.call(s, typ, r.deleteRequest(c.Type, c.PhysicalID, c.Properties, c.Model))
}

// deleteRequest deletes a physical resource. Custom resources get the properties of the
// template and nothing else.
func (r *run) deleteRequest(typeName, physicalID string, properties, model object) operation.Request {
	known := map[string]any{}
	maps.Copy(known, properties.Get())
	if !natureOf(typeName).bare {
		maps.Copy(known, model.Get())
	}
	return operation.Request{Action: invoke.Delete, Identifier: physicalID, Desired: known}
}

// stringified are properties as events show them.
func stringified(properties map[string]any) object {
	out, _ := template.StringifyScalars(anyMap(properties), plan.Pending).(map[string]any)
	return store.JSONOf(out)
}

// hidesSecrets reports whether the properties of a resource come from what is not shown.
func (r *run) hidesSecrets(logicalID string) bool {
	for _, d := range []*plan.Deployment{r.next, r.stable} {
		if d == nil {
			continue
		}
		if res := d.Template.Resource(logicalID); res != nil && d.Conceals(res, r.known()) {
			return true
		}
	}
	return false
}

// secrets are the values of the NoEcho parameters, of before and after, and of the attributes
// that are not shown.
func (r *run) secrets() (values []string) {
	for _, d := range []*plan.Deployment{r.next, r.stable} {
		if d != nil {
			values = append(values, d.Scope.Secrets()...)
		}
	}
	for _, known := range r.known() {
		values = append(values, known.Concealed()...)
	}
	return values
}

// call starts the operation of a step.
func (r *run) call(s *stepRow, typ *operation.Type, request operation.Request) {
	r.setState(s, plan.StepRunning)
	s.CallID = r.engine.newID()
	caller := r.stack.caller()
	caller.AccessKeyID = r.op.Caller
	request.Desired, request.Previous = recast(typ, request.Desired), recast(typ, request.Previous)
	request.Caller, request.Type, request.Version = caller, typ.Name, typ.Version
	request.StackID, request.StackName, request.LogicalID = r.stack.ARN, r.stack.Name, s.LogicalID
	planned := s.Plan.Get()
	request.Rollback = planned.Rollback && request.Action != invoke.Delete
	request.StackTags, request.SystemTags = r.next.Tags, systemTags(r.stack, s.LogicalID, typ.Schema)
	if typ.Placeholder && request.Action == invoke.Create {
		request.Placeholder = generatedID(r.stack.Name, s.LogicalID, s.CallID)
	}
	if r.hidesSecrets(s.LogicalID) {
		request.Secrets = map[secret.Reason][]string{secret.NoEcho: r.secrets()}
	}
	if request.Action == invoke.Update {
		request.PreviousSystemTags = request.SystemTags
		if r.stable != nil {
			request.PreviousStackTags = r.stable.Tags
		}
	}
	if s.Action == plan.Revert && r.stable != nil {
		request.StackTags, request.PreviousStackTags = r.stable.Tags, r.next.Tags
	}
	r.writes.begin = append(r.writes.begin, operation.Spec{
		ID: s.CallID, Owner: Owner, Key: s.ID, Request: request, ReadAfter: request.Action != invoke.Delete && request.Action != invoke.Read,
		AwaitInputs: planned.Express && request.Action == invoke.Create && len(planned.After) > 0,
	})
}

// recast converts the values of a template to the types of the schema.
func recast(typ *operation.Type, model map[string]any) map[string]any {
	if typ.Schema == nil || model == nil {
		return model
	}
	out, _ := typ.Schema.Recast(model).(map[string]any)
	return out
}
