package contract

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// stackChangeSet executes a change set: an update in place, or a replacement where the type
// allows nothing else.
func stackChangeSet(ctx context.Context, r *stackRun) error {
	inPlace := r.inPlace() == nil
	if !inPlace && r.noReplacement != nil {
		return r.noReplacement
	}
	live, err := r.stack(ctx)
	if err != nil {
		return err
	}
	next, replacement := r.replacing(live), "True"
	if inPlace {
		next, replacement = r.other(live), "False"
	}
	template := r.text(stackTemplate{properties: next})
	op := &StackOperation{Action: StackUpdate, Stack: live.name, Template: template, Tags: live.tags}
	seen, err := r.preview(ctx, op, next)
	if err != nil {
		return refused(err, "create a change set")
	}
	const clause = "A change set lists the changed properties, and whether they replace the resource: by createOnlyProperties, or if there is no update handler."
	if v := announced(seen, replacement, changed(live.properties, next), r.tagKey(), clause); v != nil {
		return v
	}
	op.ChangeSet = seen.ID
	out, err := r.operate(ctx, op, next)
	if err != nil {
		return refused(err, "execute the change set")
	}
	if inPlace {
		if v := judge(out, expectation{what: "the execution of the change set", status: "UPDATE_COMPLETE", history: updatedHistory, clause: clauseText("update.applied")}); v != nil {
			return v
		}
		if v := stays(out, live.identifier, "the execution of the change set"); v != nil {
			return v
		}
		live.properties = next
		_, err = r.settled(ctx, live.identifier, next, "the execution of the change set")
		return err
	}
	return r.afterReplacement(ctx, live, out, next, "the execution of the change set")
}

// tagKey is the name of the property with the tags, which a service may report as tags.
func (r *stackRun) tagKey() string {
	if at := r.cfg.Schema.Tagging.Property.Tokens; len(at) > 0 {
		return at[0]
	}
	return ""
}

// announced holds the changes of a change set against what the templates differ in.
func announced(seen *StackPreview, replacement string, properties []string, tags, clause string) *Violation {
	if len(seen.Changes) != 1 || seen.Changes[0].LogicalID != subject || seen.Changes[0].Action != "Modify" {
		return violated(clause, "the change set has %s; expected one change, which modifies the resource", words.Count(len(seen.Changes), "change"))
	}
	change := seen.Changes[0]
	if change.Replacement != replacement {
		return violated(clause, "the change set reports Replacement %q; expected %q", change.Replacement, replacement)
	}
	untagged := func(names []string) []string {
		out := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == tags })
		slices.Sort(out)
		return slices.Compact(out)
	}
	if got, want := untagged(change.Properties), untagged(properties); !slices.Equal(got, want) {
		return violated(clause, "the change set lists changes of [%s]; expected [%s]", strings.Join(got, ", "), strings.Join(want, ", "))
	}
	return nil
}

// replacing are the properties of a replacement: those of the two inputs that the stack does
// not have.
func (r *stackRun) replacing(live *liveStack) map[string]any {
	if reflect.DeepEqual(live.properties, r.replaced) {
		return r.created
	}
	return r.replaced
}

// deletesFirst reports whether a replacement deletes the old resource first.
func (r *stackRun) deletesFirst() bool {
	return r.cfg.Schema.ReplacementStrategy == "delete_then_create"
}

// afterReplacement wants the old resource to be gone and another one to be in its place.
func (r *stackRun) afterReplacement(ctx context.Context, live *liveStack, out *StackOutcome, next map[string]any, what string) error {
	was := live.identifier
	if v := judge(out, expectation{what: what, status: "UPDATE_COMPLETE", history: replacedHistory, anyWay: r.deletesFirst(), clause: clauseReplaced}); v != nil {
		return v
	}
	now, v := successor(out, was)
	if v != nil {
		return v
	}
	if v := deletedInstead(out, was); v != nil {
		return v
	}
	live.identifier, live.properties = now, next
	if _, err := r.settled(ctx, now, next, what); err != nil {
		return err
	}
	return r.gone(ctx, was, what)
}

func stackReplace(ctx context.Context, r *stackRun) error {
	if r.noReplacement != nil {
		return r.noReplacement
	}
	live, err := r.stack(ctx)
	if err != nil {
		return err
	}
	next := r.replacing(live)
	out, err := r.update(ctx, live, stackTemplate{properties: next})
	if err != nil {
		return err
	}
	return r.afterReplacement(ctx, live, out, next, "the replacement")
}

// The tags of the stack: the second one takes the place of the first.
var (
	firstTags  = map[string]string{"formwork-stack": "first"}
	secondTags = map[string]string{"formwork-other": "second"}
)

// stackTagsCase changes the tags of the stack alone. A read may return them beside those of the
// template, or not: a handler that does has to return the present ones.
func stackTagsCase(ctx context.Context, r *stackRun) error {
	live, err := r.stack(ctx)
	if err != nil {
		return err
	}
	shown := false
	for _, tags := range []map[string]string{firstTags, secondTags} {
		live.tags = tags
		out, err := r.update(ctx, live, stackTemplate{properties: live.properties})
		if err != nil {
			return err
		}
		if v := judge(out, expectation{what: "the update of the tags of the stack", status: "UPDATE_COMPLETE", history: updatedHistory, clause: clauseText("tags.update")}); v != nil {
			return v
		}
		if v := stays(out, live.identifier, "the update of the tags"); v != nil {
			return v
		}
		model, err := r.settled(ctx, live.identifier, live.properties, "the update of the tags of the stack")
		if err != nil {
			return err
		}
		if v := taggedBy(tagsOf(r.cfg.Schema, model), tags, shown); v != nil {
			return v
		}
		shown = len(tagsOf(r.cfg.Schema, model)) > len(tagsOf(r.cfg.Schema, live.properties))
	}
	return nil
}

// taggedBy holds the tags that a read returns against those of the stack. shown says that the
// earlier tags of the stack were returned.
func taggedBy(got, tags map[string]string, shown bool) *Violation {
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if strings.HasPrefix(key, "aws:") {
			return violated(clauseText("tags.system"), "READ returns the tag %q of the system as one of the resource", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if value, has := got[key]; shown && (!has || value != tags[key]) {
			return violated(clauseText("tags.update"), "READ returned the earlier tag of the stack, but not %q, which took its place", key)
		}
	}
	return nil
}

func stackDriftDetect(ctx context.Context, r *stackRun) error {
	if err := r.inPlace(); err != nil {
		return err
	}
	live, err := r.stack(ctx)
	if err != nil {
		return err
	}
	key, value := r.driftable(live)
	if key == "" {
		return skipped("No property that a read returns can be changed. Skipping test.")
	}
	for _, at := range schema.Present(live.properties, r.cfg.Schema.WriteOnly) {
		if len(at) > 1 && r.cfg.Schema.IsCreateOnly(at) {
			return skipped(fmt.Sprintf("An update outside of the stack cannot send %s, which is create-only and write-only. Skipping test.", at))
		}
	}
	if err := r.changeOutside(ctx, live, key, value); err != nil {
		return err
	}
	found, err := r.detect(ctx, live.name)
	if err != nil {
		return refused(err, "detect the drift of the stack")
	}
	const clause = "Drift detection compares what a read returns with the template: a property that has changed is reported, no other."
	at := document.Pointer{key}
	if found.Status != "MODIFIED" {
		return violated(clause, "the drift after a change of %s outside of the stack is %s; expected MODIFIED", at, orUnknown(found.Status))
	}
	reported := false
	for _, d := range found.Differences {
		same := d.Path == at.String() || strings.HasPrefix(d.Path, at.String()+"/")
		if !same {
			return &Violation{Clause: clause, Message: fmt.Sprintf("only %s was changed outside of the stack, but %s differs, too", at, d.Path), Differences: r.driftDifferences(found)}
		}
		reported = true
	}
	if !reported {
		return violated(clause, "the drift after a change of %s outside of the stack names no property; expected %s", at, at)
	}
	if err := r.changeOutside(ctx, live, key, live.properties[key]); err != nil {
		return err
	}
	return r.inSync(ctx, live, "the change was taken back")
}

// driftable is a property that can be changed outside of the stack, and another value for
// it: a scalar rather than a collection.
func (r *stackRun) driftable(live *liveStack) (key string, value any) {
	s := r.cfg.Schema
	other := r.other(live)
	for _, name := range changed(live.properties, other) {
		was, had := live.properties[name]
		next, has := other[name]
		at := document.Pointer{name}
		if !had || !has || name == r.tagKey() || s.IsCreateOnly(at) || r.secret(name) {
			continue
		}
		if key == "" || scalar(was) && !scalar(value) {
			key, value = name, next
		}
	}
	return key, value
}

// secret reports whether a property is write-only or has a part that is.
func (r *stackRun) secret(name string) bool {
	return slices.ContainsFunc(r.cfg.Schema.WriteOnly, func(p schema.Path) bool { return len(p.Tokens) > 0 && p.Tokens[0] == name })
}

// changeOutside changes a property of the resource without its stack. Write-only properties,
// which a read does not return, are sent again, unless no update takes them.
func (r *stackRun) changeOutside(ctx context.Context, live *liveStack, key string, value any) error {
	properties := map[string]any{key: value}
	for name, value := range live.properties {
		if r.secret(name) && !r.cfg.Schema.IsCreateOnly(document.Pointer{name}) {
			properties[name] = value
		}
	}
	err := r.change(ctx, live.identifier, properties)
	var refusal *Refusal
	if errors.As(err, &refusal) || errors.Is(err, ErrNoResource) {
		return violated(clauseText("update.applied"), "UPDATE of %s outside of the stack failed: %s", document.Pointer{key}, err)
	}
	return err
}

// driftDifferences are the differences of a drift for a report, secrets hidden.
func (r *stackRun) driftDifferences(found StackDrift) []schema.Difference {
	var out []schema.Difference
	kinds := map[string]string{"ADD": "extra", "REMOVE": "missing", "NOT_EQUAL": "changed"}
	for _, d := range found.Differences {
		at, ok := document.ParsePointer(d.Path)
		if !ok {
			at = document.Pointer{d.Path}
		}
		difference := schema.Difference{Pointer: at, Kind: kinds[d.Kind]}
		if d.Kind != "ADD" {
			difference.Want = r.cfg.Redactor.Text(d.Expected)
		}
		if d.Kind != "REMOVE" {
			difference.Got = r.cfg.Redactor.Text(d.Actual)
		}
		out = append(out, difference)
	}
	return out
}

func stackRollbackUpdate(ctx context.Context, r *stackRun) error {
	if err := r.inPlace(); err != nil {
		return err
	}
	live, err := r.stack(ctx)
	if err != nil {
		return err
	}
	next := r.other(live)
	out, err := r.update(ctx, live, stackTemplate{properties: next, fails: true})
	if err != nil {
		return err
	}
	if v := judge(out, expectation{what: "the update that fails", status: "UPDATE_ROLLBACK_COMPLETE", history: restoredHistory, clause: clauseUndone}); v != nil {
		return v
	}
	if v := stays(out, live.identifier, "the update that was rolled back"); v != nil {
		return v
	}
	model, err := r.settled(ctx, live.identifier, live.properties, "the rollback of an update")
	if err != nil || model == nil {
		return err
	}
	return removed(r.cfg.Schema, next, next, live.properties, model)
}

func stackRollbackReplace(ctx context.Context, r *stackRun) error {
	switch {
	case r.noReplacement != nil:
		return r.noReplacement
	case r.deletesFirst():
		return skipped("A replacement deletes the old resource first, so it cannot be kept. Skipping test.")
	}
	live, err := r.stack(ctx)
	if err != nil {
		return err
	}
	was := live.identifier
	out, err := r.update(ctx, live, stackTemplate{properties: r.replacing(live), fails: true})
	if err != nil {
		return err
	}
	if v := judge(out, expectation{what: "the replacement that fails", status: "UPDATE_ROLLBACK_COMPLETE", history: unreplacedHistory, or: replacedHistory, clause: clauseUndone}); v != nil {
		return v
	}
	ids := slices.DeleteFunc(identifiersOf(out.Events), func(id string) bool { return id == was })
	if len(ids) != 1 {
		return violated(clauseReplaced, "the events name %s beside %q; expected one new resource", words.Count(len(ids), "other physical ID"), was)
	}
	if v := deletedInstead(out, ids[0]); v != nil {
		return v
	}
	if _, err := r.settled(ctx, was, live.properties, "the rollback of a replacement"); err != nil {
		return err
	}
	return r.gone(ctx, ids[0], "the rollback of a replacement")
}
