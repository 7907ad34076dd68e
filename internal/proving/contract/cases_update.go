package contract

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

const clauseSameResource = "An update changes the resource that it was given; its primary identifier stays what it was."

func updateRead(ctx context.Context, r *run) error {
	if err := r.sameResource(); err != nil {
		return err
	}
	read, err := r.read(ctx, r.shared.updated)
	if err != nil {
		return err
	}
	if err := r.sameAsRequested(r.shared.update, read); err != nil {
		return err
	}
	return r.removed(r.shared.update, read)
}

const clauseRemoved = "An update is given the whole model: a property that it leaves out SHOULD be removed, or have its default value. " + stricter

// stricter says that the text of the contract does not have a clause.
const stricter = "This is stricter than the text of the contract."

// removed looks for properties that the create requested, the update left out, and the
// resource still has as they were.
func (r *run) removed(update, returned map[string]any) error {
	return removed(r.cfg.Schema, r.shared.input, r.shared.model, update, returned)
}

// removed looks for properties that were requested before, an update left out, and the
// resource still has as it had them before.
func removed(s *schema.Schema, requested, before, update, returned map[string]any) error {
	fixed := slices.Concat(s.ReadOnly, s.WriteOnly, s.CreateOnly, s.ConditionalCreateOnly, s.PrimaryIdentifier, s.Deprecated)
	for _, paths := range s.AdditionalIdentifiers {
		fixed = append(fixed, paths...)
	}
	for _, preset := range defaultsOf(s) {
		fixed = append(fixed, schema.Path{Tokens: preset.at})
	}
	for _, key := range slices.Sorted(maps.Keys(requested)) {
		_, again := update[key]
		value, has := returned[key]
		stays := slices.ContainsFunc(fixed, func(p schema.Path) bool { return len(p.Tokens) > 0 && p.Tokens[0] == key })
		if again || !has || stays || isEmpty(value) {
			continue
		}
		was := map[string]any{key: before[key]}
		if len(s.Compare(was, map[string]any{key: value}, schema.CompareConfig{})) == 0 {
			return violated(clauseRemoved, "/%s is still there, although the update left it out", key)
		}
	}
	return nil
}

func updateList(ctx context.Context, r *run) error {
	if err := r.sameResource(); err != nil {
		return err
	}
	found, err := r.listed(ctx, r.shared.updated)
	if err != nil {
		return err
	}
	if !found {
		return r.violation("After an update has succeeded, a list returns the primary identifier of the resource, on one of its pages.",
			"the updated resource %s is not in the list", r.name(r.shared.updated))
	}
	return nil
}

// sameResource compares the identifiers of the created and the updated model.
func (r *run) sameResource() error {
	if !r.sameIdentifier(r.shared.model, r.shared.updated) {
		return r.violation(clauseSameResource, "the resource was %s, the update answered with %s", r.name(r.shared.model), r.name(r.shared.updated))
	}
	return nil
}

func updateTagUpdatable(_ context.Context, r *run) error {
	return r.hasTags(r.shared.update, "update")
}

// updateWithoutCreate sends identifiers that the service assigns as the official suite does: it
// writes those of each resource into the inputs of the update, so that those of a deleted
// resource are in it when this case is run after others, and none when it is run alone.
func updateWithoutCreate(ctx context.Context, r *run) error {
	gone := maps.Clone(r.lastUpdated)
	created, err := r.createInput()
	if err != nil {
		return err
	}
	input, err := r.updateInput(created)
	if err != nil {
		return err
	}
	for key, value := range gone {
		if _, given := input[key]; !given {
			input[key] = value
		}
	}
	return r.updateOfNothing(ctx, input, created, "An update fails with NotFound, and a message, if the resource did not exist before; it never creates one.")
}

// updateWithoutIdentifier sends none, whatever was run before, and no additional identifier that
// the shared resource has: it would be enough to find it.
func updateWithoutIdentifier(ctx context.Context, r *run) error {
	created, err := r.createInput()
	if err != nil {
		return err
	}
	input, err := r.updateInput(created)
	if err != nil {
		return err
	}
	s := r.cfg.Schema
	for _, path := range slices.Concat(s.AdditionalIdentifiers...) {
		value := valueAt(input, path.Tokens)
		if value == nil || slices.ContainsFunc(s.PrimaryIdentifier, func(p schema.Path) bool { return slices.Equal(p.Tokens, path.Tokens) }) {
			continue
		}
		if shorter := without(input, path.Tokens); len(s.Check(shorter, schema.CheckConfig{})) <= len(s.Check(input, schema.CheckConfig{})) {
			input = shorter
		} else if other := r.otherValue(path.Tokens, value); other != nil {
			invoke.Put(input, path.Tokens, other)
		} else {
			return skipped(fmt.Sprintf("The schema requires %s, an additional identifier. Skipping test.", path.Tokens))
		}
	}
	return r.updateOfNothing(ctx, input, created, clauseText("update.not-found"))
}

func (r *run) updateOfNothing(ctx context.Context, input, created map[string]any, clause string) error {
	event, err := r.failed(ctx, invoke.Request{Action: invoke.Update, Model: input, Previous: created}, invoke.NotFound, clause)
	if err != nil {
		return err
	}
	if event.Message == "" {
		return r.violation(clause, "the FAILED event has no message")
	}
	return nil
}

// checkAssertsWork is the suite's test of itself. It calls no handler.
func checkAssertsWork(_ context.Context, r *run) error {
	want := map[string]any{"List": []any{"a", "b"}, "Text": "x"}
	for _, other := range []map[string]any{
		{"List": []any{"a", "c"}, "Text": "x"}, {"List": []any{"a"}, "Text": "x"}, {"List": []any{"a", "b"}}, {"List": []any{"a", "b"}, "Text": true},
	} {
		if len(r.cfg.Schema.Compare(want, other, schema.CompareConfig{AllowExtra: true})) == 0 {
			return r.violation("", "two models that differ were taken for the same")
		}
	}
	if len(r.cfg.Schema.Compare(want, want, schema.CompareConfig{})) > 0 {
		return r.violation("", "a model was found to differ from itself")
	}
	return nil
}
