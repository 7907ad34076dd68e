package stack

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/authoring/typecheck"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// begin is the first stage of an operation: it rejects errors that can be found before
// anything changes.
func (r *run) begin(ctx context.Context, tx *store.Tx) error {
	if waits, err := r.hookStack(ctx, tx); waits || err != nil {
		return err
	}
	first := plan.First(r.op.Kind, r.options.Backward)
	switch {
	case first == plan.PhaseDelete && r.options.HooksFailed != "":
		r.op.Phase = first
		return r.follow(ctx, tx, plan.Failed, r.options.HooksFailed)
	case first != plan.PhaseMain, r.options.Backward:
		r.enter(first)
		return nil
	}
	r.op.Phase = plan.PhaseMain
	problem := cmp.Or(r.options.Problem, r.options.HooksFailed, r.prepared.problem)
	if problem == "" {
		problem = r.checkAttributes()
	}
	if problem != "" {
		how := plan.Failed
		if r.options.OnFailure == types.OnFailureDoNothing {
			how = plan.Preserved
		}
		return r.follow(ctx, tx, how, strings.TrimSuffix(problem, ".")+r.requestedEarly())
	}
	if !r.options.DisableValidation && r.op.ChangeSetID == "" {
		if problems := append(r.validate(ctx, tx), r.prepared.conflicts...); len(problems) > 0 {
			return r.refuseAll(ctx, tx, problems)
		}
	}
	r.enter(plan.PhaseMain)
	return nil
}

// requestedEarly is what follows a reason that ends an operation before it has begun with any
// resource: other than the failure of resources, it names the rollback of updates, too.
func (r *run) requestedEarly() string {
	if r.options.OnFailure == types.OnFailureRollback {
		return ". " + reasonRollbackRequested
	}
	return r.requested()
}

// checkAttributes finds a referenced attribute that no resource of the type has, or that can only be written.
func (r *run) checkAttributes() string {
	lacks := func(name, attribute string) bool {
		typ := r.typeOf(name)
		return typ != nil && attribute != "" && !typecheck.HasAttribute(typ, attribute)
	}
	text := func(path []string, name, attribute string) string {
		found := &plan.AttributeError{LogicalID: name, Type: r.next.Template.Resource(name).Type, Attribute: attribute}
		return fmt.Sprintf("[Error] /%s/Fn::GetAtt: %s", strings.Join(path, "/"), found)
	}
	for _, res := range r.next.Scope.ActiveResources() {
		for _, d := range r.next.Scope.Dependencies(res) {
			if d.Kind == template.DependsOnAttribute && lacks(d.Name, d.Attribute) {
				return text(append([]string{"Resources", res.LogicalID}, d.Path...), d.Name, d.Attribute)
			}
		}
	}
	for _, o := range r.next.Template.Outputs {
		if !r.next.Scope.OutputActive(o) {
			continue
		}
		for _, d := range r.next.Scope.Dependencies(&template.Resource{Properties: o.Value}) {
			if d.Kind == template.DependsOnAttribute && lacks(d.Name, d.Attribute) {
				return text(append([]string{"Outputs", o.Name, "Value"}, d.Path[1:]...), d.Name, d.Attribute)
			}
		}
	}
	return ""
}

// typeOf is the schema of the type of a resource, nil if none is known.
func (r *run) typeOf(logicalID string) *schema.Schema {
	res := r.next.Template.Resource(logicalID)
	if res == nil {
		return nil
	}
	typ, _ := r.prepared.typeOf(res.Type)
	if typ == nil {
		return nil
	}
	return typ.Schema
}

// A validationProblem is one that the validation before a deployment found.
type validationProblem struct{ check, logicalID, typeName, path, reason string }

// The checks of the validation, by the names that events have for them.
const (
	checkProperties = "PROPERTY_VALIDATION"
	checkNames      = "NAME_CONFLICT_VALIDATION"
	checkBuckets    = "BUCKET_EMPTINESS_VALIDATION" // warns; only of change sets
)

// warns reports whether the problem does not prevent the execution of a change set.
func (p validationProblem) warns() bool { return p.check == checkBuckets }

// validationEvent is the event of a problem.
func (e *Engine) validationEvent(op *operationRow, at store.Time, p validationProblem) eventRow {
	details := eventDetails{ValidationName: p.check, ValidationPath: p.path}
	if p.warns() {
		details.ValidationMode = string(types.HookFailureModeWarn)
	}
	row := newEvent(op, at)
	row.ID, row.Kind, row.LogicalID, row.Type, row.Reason, row.Details = e.newID(), eventValidation, p.logicalID, p.typeName, p.reason, store.JSONOf(details)
	return row
}

// validate validates the known properties of all resources against the schemas of their types.
func (r *run) validate(ctx context.Context, tx *store.Tx) []validationProblem {
	var out []validationProblem
	for _, res := range r.next.Scope.ActiveResources() {
		typ, _ := r.prepared.typeOf(res.Type)
		if typ == nil || typ.Schema == nil || typ.LateValidation || typecheck.Unvalidated(res.Type) {
			continue
		}
		value, err := r.next.Scope.Properties(res, values{run: r, ctx: ctx, tx: tx})
		if err != nil {
			continue // it fails with the resource
		}
		for _, problem := range typecheck.Properties(typ.Schema, value) {
			out = append(out, validationProblem{
				check: checkProperties, logicalID: res.LogicalID, typeName: res.Type, reason: problem.String(),
				path: "/Resources/" + res.LogicalID + "/Properties" + problem.At.String(),
			})
		}
	}
	return out
}

// refuseAll ends an operation whose validation failed: a create is rolled back by a separate
// operation, an update does not change the stack.
func (r *run) refuseAll(ctx context.Context, tx *store.Tx, problems []validationProblem) error {
	for _, p := range problems {
		r.events = append(r.events, r.engine.validationEvent(r.op, r.now, p))
	}
	reason := fmt.Sprintf(reasonInvalid, len(problems))
	refused, _ := plan.Following(r.op.Kind, r.stack.Status, plan.PhaseMain, plan.Preserved)
	back, _ := plan.Following(r.op.Kind, r.stack.Status, plan.PhaseMain, plan.Failed)
	r.setStatus(refused.Status, reason)
	last := &r.events[len(r.events)-1]
	last.DetailedStatus, r.stack.DetailedStatus = types.DetailedStatusValidationFailed, types.DetailedStatusValidationFailed
	if r.options.OnFailure == types.OnFailureDoNothing {
		return r.end(ctx, tx, refused)
	}
	r.beginRollback(back)
	r.setStatus(back.Status, reasonInvalidRollback)
	r.enter(back.Next)
	return nil
}
