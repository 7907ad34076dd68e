package contract

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// Tests that others refer to.
const (
	stackCreateName  = "stack_create"  // its subject is the creation that others only need
	stackReplaceName = "stack_replace" // it may have an input of its own
)

// stackCases are the tests in stacks in the order in which they run.
var stackCases = []stackCase{
	stackTest(stackCreateName, "A stack with the resource is created; its physical ID is the primary identifier.",
		"Create handlers", []string{"create", "delete"}, []string{"create.applied", "create.identifier"}, nil, stackCreate),
	stackTest("stack_read_after_create", "Once the stack is created, the resource can be read by its physical ID, with the properties of the template.",
		"Create handlers", []string{"create", "read"}, []string{"create.read", "create.match"}, nil, stackReadAfterCreate),
	stackTest("stack_list_after_create", "Once the stack is created, a list contains the physical ID.",
		"List handlers", []string{"create", "list"}, []string{"create.list"}, nil, stackListAfterCreate),
	stackTest("stack_attributes", "Ref is the primary identifier, and Fn::GetAtt returns the read-only properties as a read does.",
		"readOnlyProperties", []string{"create", "read"}, []string{"read.complete", "create.read-only"}, nil, stackAttributes),
	stackTest("stack_no_change_update", "An update with the same template changes nothing and calls no handler.",
		"Update handlers", []string{"create"}, []string{"update.applied"}, nil, stackNoChangeUpdate),
	stackTest("stack_drift_none", "Right after the creation the resource has not drifted; without a read handler it is not checked.",
		"Preventing false drift detection results for resource types", []string{"create"}, []string{"drift.none"}, nil, stackDriftNone),
	stackTest("stack_update_in_place", "An update of the template is applied to the same resource; what the template leaves out is removed.",
		"Update handlers", []string{"create", "update"}, []string{"update.match", "update.identifier-stays", "update.removed", "update.creates-nothing"}, nil, stackUpdateInPlace),
	stackTest("stack_change_set", "A change set says what its execution then does.",
		"createOnlyProperties", []string{"create"}, []string{"update.applied", "update.create-only"}, nil, stackChangeSet),
	stackTest("stack_tags", "When only the tags of the stack change, the resource is updated in place; its own tags stay, those of the stack are replaced.",
		"tagging", []string{"create", "read", "update"}, []string{"tags.update"}, skipUnlessTagsCanChange, stackTagsCase),
	stackTest("stack_drift_detect", "A property that was changed outside of the stack is found, and no other.",
		"Preventing false drift detection results for resource types", []string{"create", "read", "update"}, []string{"read.complete"}, nil, stackDriftDetect),
	stackTest("stack_rollback_update", "When another resource fails after the update, the resource is updated back.",
		"Update handlers", []string{"create", "update"}, []string{"update.applied", "update.removed"}, nil, stackRollbackUpdate),
	stackTest(stackReplaceName, "Another value of a create-only property replaces the resource: a new one is created, the old one deleted.",
		"createOnlyProperties", []string{"create", "delete"}, []string{"update.create-only", "delete.stable"}, nil, stackReplace),
	stackTest("stack_rollback_replace", "When another resource fails after a replacement, the new resource is deleted, and the old one stays.",
		"createOnlyProperties", []string{"create", "delete"}, []string{"delete.stable"}, nil, stackRollbackReplace),
	stackTest("stack_delete", "When the stack is deleted, the resource can neither be read nor listed.",
		"Delete handlers", []string{"create", "delete"}, []string{"delete.success", "delete.stable", "delete.list"}, nil, stackDelete),
	stackTest("stack_rollback_create", "When another resource fails, the created resource is deleted.",
		"Delete handlers", []string{"create", "delete"}, []string{"delete.stable", "leak.delete"}, nil, stackRollbackCreate),
	stackTest("stack_drift_deleted", "A resource that was deleted outside of the stack is found, and the stack can still be deleted.",
		"Delete handlers", []string{"create", "read", "delete"}, []string{"read.not-found", "delete.not-found"}, nil, stackDriftDeleted),
	stackTest("stack_import", "A resource that its stack retains is imported into another stack as it is.",
		"Read handlers", []string{"create", "read", "delete"}, []string{"read.input", "read.complete"}, nil, stackImport),
	lastStackTest(stackTest("stack_nothing_left", "At the end nothing that the stacks created can be read or listed.",
		"Delete handlers", []string{"create", "delete"}, []string{"leak.delete", "leak.identifier"}, nil, stackNothingLeft)),
}

func stackTest(name, clause, spec string, needs, clauses []string, skip func(*schema.Schema) string, run func(context.Context, *stackRun) error) stackCase {
	return stackCase{Case: Case{ID: stackFile + "::" + name, Needs: needs, Clause: clause, Clauses: clauses, Skip: skip}, spec: spec, run: run}
}

func lastStackTest(c stackCase) stackCase {
	c.last = true
	return c
}

func stackCreate(ctx context.Context, r *stackRun) error {
	if err := r.without(ctx); err != nil {
		return err
	}
	_, err := r.fresh(ctx)
	r.broken = err
	return err
}

// settled reads the resource and wants it to have the properties of its template.
func (r *stackRun) settled(ctx context.Context, identifier string, properties map[string]any, after string) (map[string]any, error) {
	if !r.canRead() {
		return nil, nil
	}
	model, err := r.readAfter(ctx, identifier, after)
	if err != nil {
		return nil, err
	}
	if found := differences(ctx, r.cfg.Schema, r.drift, properties, r.withoutStackTags(model)); len(found) > 0 {
		v := mismatch(r.cfg.Schema, r.cfg.Redactor, found)
		v.Message = fmt.Sprintf("READ after %s: %s", after, v.Message)
		return nil, v
	}
	return model, nil
}

// readAfter reads a resource that has to exist, and to have the identifier that it is read by.
func (r *stackRun) readAfter(ctx context.Context, identifier, after string) (map[string]any, error) {
	model, err := r.read(ctx, identifier)
	var refusal *Refusal
	switch {
	case errors.Is(err, ErrNoResource):
		return nil, violated(clauseText("leak.identifier"), "READ of the physical ID %q after %s ended with NotFound", identifier, after)
	case errors.As(err, &refusal):
		return nil, violated(clauseText("create.read"), "READ of the physical ID %q after %s failed: %s", identifier, after, refusal)
	case err != nil:
		return nil, err
	}
	if text, ok := identifierText(r.cfg.Schema, model); !ok || text != identifier {
		return nil, violated(clauseText("read.input"), "READ of the physical ID %q returned the primary identifier %q", identifier, text)
	}
	return model, nil
}

// withoutStackTags leaves the tags out of a model that CloudFormation adds: those of the system
// and of the stack.
func (r *stackRun) withoutStackTags(model map[string]any) map[string]any {
	at := r.cfg.Schema.Tagging.Property.Tokens
	if !r.cfg.Schema.Tagging.Taggable || len(at) != 1 {
		return model
	}
	added := func(key string) bool {
		return strings.HasPrefix(key, "aws:") || r.live != nil && r.live.tags[key] != ""
	}
	out := schema.Clone(model)
	switch tags := out[at[0]].(type) {
	case []any:
		out[at[0]] = slices.DeleteFunc(slices.Clone(tags), func(item any) bool {
			for key := range tagsOf(r.cfg.Schema, map[string]any{at[0]: []any{item}}) {
				return added(key)
			}
			return false
		})
	case map[string]any:
		for key := range tags {
			if added(key) {
				delete(tags, key)
			}
		}
	}
	return out
}

// gone wants a resource to be neither readable nor listed.
func (r *stackRun) gone(ctx context.Context, identifier, after string) error {
	if r.canRead() {
		_, err := r.read(ctx, identifier)
		var refusal *Refusal
		switch {
		case err == nil:
			r.loose[identifier] = true
			return violated(clauseText("delete.stable"), "READ of %q after %s still returns the resource; expected NotFound", identifier, after)
		case errors.As(err, &refusal):
			return violated(clauseText("read.not-found"), "READ of %q after %s failed: %s; expected NotFound", identifier, after, refusal)
		case !errors.Is(err, ErrNoResource):
			return err
		}
	}
	if r.cfg.Schema.Handler("list") == nil {
		return nil
	}
	found, err := r.list(ctx)
	if err != nil {
		return refused(err, "list the resources")
	}
	if slices.Contains(found, identifier) {
		return violated(clauseText("delete.list"), "LIST after %s still contains %q", after, identifier)
	}
	return nil
}

func stackReadAfterCreate(ctx context.Context, r *stackRun) error {
	live, err := r.stack(ctx)
	if err != nil {
		return err
	}
	_, err = r.settled(ctx, live.identifier, live.properties, "the creation of the stack")
	return err
}

func stackListAfterCreate(ctx context.Context, r *stackRun) error {
	live, err := r.stack(ctx)
	if err != nil {
		return err
	}
	found, err := r.list(ctx)
	if err != nil {
		return refused(err, "list the resources")
	}
	if !slices.Contains(found, live.identifier) {
		return violated(clauseText("create.list"), "LIST after the creation of the stack does not contain %q", live.identifier)
	}
	return nil
}

// maxAttributes bounds the outputs of a template.
const maxAttributes = 50

// stackAttributes adds outputs to the stack: an update without a change of the resource.
func stackAttributes(ctx context.Context, r *stackRun) error {
	live, err := r.stack(ctx)
	if err != nil {
		return err
	}
	model, err := r.readAfter(ctx, live.identifier, "the creation of the stack")
	if err != nil {
		return err
	}
	attributes, want := map[string]string{"Ref": ""}, map[string]string{"Ref": live.identifier}
	for _, path := range r.cfg.Schema.ReadOnly {
		value := valueAt(model, path.Tokens)
		if slices.Contains(path.Tokens, "*") || !scalar(value) || len(attributes) > maxAttributes {
			continue
		}
		name := fmt.Sprintf("Attribute%d", len(attributes))
		attributes[name], want[name] = strings.Join(path.Tokens, "."), fmt.Sprint(value)
	}
	out, err := r.update(ctx, live, stackTemplate{properties: live.properties, attributes: attributes})
	if err != nil {
		return err
	}
	clause := clauseText("create.read-only")
	if v := judge(out, expectation{what: "an update that only adds outputs", status: "UPDATE_COMPLETE", clause: clause}); v != nil {
		return v
	}
	for name, attribute := range attributes {
		got, has := out.Outputs[name]
		expression := "Fn::GetAtt " + attribute
		if attribute == "" {
			expression = "Ref"
		}
		if !has || got != want[name] {
			return violated(clause, "%s returned %q; expected %q as READ returns it", expression, r.cfg.Redactor.Text(got), r.cfg.Redactor.Text(want[name]))
		}
	}
	return nil
}

// update updates the shared stack. What the template has is noted as the properties of the
// stack when it ends in UPDATE_COMPLETE.
func (r *stackRun) update(ctx context.Context, live *liveStack, t stackTemplate) (*StackOutcome, error) {
	out, err := r.operate(ctx, &StackOperation{Action: StackUpdate, Stack: live.name, Template: r.text(t), Tags: live.tags}, t.properties)
	if err != nil {
		return nil, refused(err, "update the stack")
	}
	if out.Status == "UPDATE_COMPLETE" {
		live.properties = t.properties
	}
	return out, nil
}

func stackNoChangeUpdate(ctx context.Context, r *stackRun) error {
	live, err := r.stack(ctx)
	if err != nil {
		return err
	}
	const clause = "CloudFormation calls an update handler only for a resource whose properties or tags have changed."
	// The outputs of an earlier test are left out first, if there are any.
	template := stackTemplate{properties: live.properties}
	for range 2 {
		out, err := r.operate(ctx, &StackOperation{Action: StackUpdate, Stack: live.name, Template: r.text(template), Tags: live.tags}, live.properties)
		var refusal *Refusal
		switch {
		case errors.As(err, &refusal) && strings.Contains(refusal.Message, "No updates are to be performed"):
			_, err := r.settled(ctx, live.identifier, live.properties, "an update without changes")
			return err
		case err != nil:
			return refused(err, "update the stack")
		}
		if v := judge(out, expectation{what: "an update without changes of the resource", status: "UPDATE_COMPLETE", clause: clause}); v != nil {
			return v
		}
	}
	return violated(clause, "an update with the same template was carried out; expected it to be rejected: No updates are to be performed")
}

func stackDriftNone(ctx context.Context, r *stackRun) error {
	live, err := r.stack(ctx)
	if err != nil {
		return err
	}
	return r.inSync(ctx, live, "the creation of the stack")
}

// inSync wants the resource not to have drifted.
func (r *stackRun) inSync(ctx context.Context, live *liveStack, after string) error {
	found, err := r.detect(ctx, live.name)
	if err != nil {
		return refused(err, "detect the drift of the stack")
	}
	want := "IN_SYNC"
	if !r.canRead() {
		want = "NOT_CHECKED"
	}
	if found.Status == want || !r.canRead() && found.Status == "" {
		return nil
	}
	text := fmt.Sprintf("the drift after %s is %s; expected %s", after, orUnknown(found.Status), want)
	if found.Reason != "" {
		text += ": " + oneLine(found.Reason)
	}
	return &Violation{Clause: clauseText("drift.none"), Message: text, Differences: r.driftDifferences(found)}
}

func orUnknown(status string) string {
	if status == "" {
		return "not reported"
	}
	return status
}

func stackUpdateInPlace(ctx context.Context, r *stackRun) error {
	if err := r.inPlace(); err != nil {
		return err
	}
	live, err := r.stack(ctx)
	if err != nil {
		return err
	}
	was := live.properties
	before, err := r.modelOf(ctx, live)
	if err != nil {
		return err
	}
	next := r.other(live)
	out, err := r.update(ctx, live, stackTemplate{properties: next})
	if err != nil {
		return err
	}
	if v := judge(out, expectation{what: "the update of the stack", status: "UPDATE_COMPLETE", history: updatedHistory, clause: clauseText("update.applied")}); v != nil {
		return v
	}
	if v := stays(out, live.identifier, "the update"); v != nil {
		return v
	}
	model, err := r.settled(ctx, live.identifier, next, "the update of the stack")
	if err != nil || model == nil {
		return err
	}
	return removed(r.cfg.Schema, was, before, next, model)
}

// modelOf is the model of the resource before a test changes it; nil for types without a read
// handler.
func (r *stackRun) modelOf(ctx context.Context, live *liveStack) (map[string]any, error) {
	if !r.canRead() {
		return nil, nil
	}
	return r.readAfter(ctx, live.identifier, "the last operation on the stack")
}

// other are the properties of an update in place: those of the two inputs that the stack does
// not have.
func (r *stackRun) other(live *liveStack) map[string]any {
	if reflect.DeepEqual(live.properties, r.updated) {
		return r.created
	}
	return r.updated
}
