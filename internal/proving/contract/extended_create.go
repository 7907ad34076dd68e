package contract

import (
	"context"
	"fmt"
	"slices"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// readsAfterwards is how often a resource is read to check that it does not change: eventually
// consistent services vary between answers.
const readsAfterwards = 3

// A presetValue is a property with a default value.
type presetValue struct {
	at    document.Pointer
	value any
}

// defaultsOf finds the properties with defaults that an input may leave out: those of the
// top level, and of objects that are not in arrays.
func defaultsOf(s *schema.Schema) []presetValue {
	var found []presetValue
	var walk func(members []document.Member, at document.Pointer)
	walk = func(members []document.Member, at document.Pointer) {
		for _, m := range members {
			place := at.Append(m.Key)
			if s.IsReadOnly(place) || s.IsWriteOnly(place) || s.IsDeprecated(place) {
				continue
			}
			node, err := s.Resolve(m.Value)
			if err != nil {
				continue
			}
			preset := m.Value.Get("default")
			if preset == nil {
				preset = node.Get("default")
			}
			if preset != nil && preset.Kind != document.Null {
				found = append(found, presetValue{place, preset.Any()})
				continue
			}
			if properties := node.Get("properties"); properties != nil && len(place) < 4 {
				walk(properties.Members, place)
			}
		}
	}
	walk(s.Properties(), nil)
	return found
}

// without is a model without what a pointer names.
func without(model map[string]any, at document.Pointer) map[string]any {
	return schema.Without(model, []schema.Path{{Tokens: at}}).(map[string]any)
}

func createDefaults(ctx context.Context, r *run) error {
	input, err := r.createInput()
	if err != nil {
		return err
	}
	s := r.cfg.Schema
	want := map[string]any{}
	for _, preset := range defaultsOf(s) {
		shorter := without(input, preset.at)
		if len(preset.at) > 1 && valueAt(shorter, preset.at[:len(preset.at)-1]) == nil {
			continue // the object that contains it is missing
		}
		if len(s.Check(shorter, schema.CheckConfig{})) > 0 {
			continue
		}
		input = shorter
		invoke.Put(want, preset.at, preset.value)
	}
	if len(want) == 0 {
		return skipped("No property with a default can be left out. Skipping test.")
	}
	model, err := r.create(ctx, input)
	if err != nil {
		return err
	}
	mismatch := r.hasDefaults(want, model, "CREATE", "create.defaults")
	if mismatch == nil {
		var read *invoke.Event
		if read, err = r.succeeded(ctx, invoke.Request{Action: invoke.Read, Model: model}, clauseText("create.read")); err == nil {
			mismatch = r.hasDefaults(want, read.Model, "READ", "read.complete")
		}
	}
	return first(mismatch, err, r.delete(ctx, model))
}

// hasDefaults compares the values of properties that were not requested with their
// defaults.
func (r *run) hasDefaults(want, model map[string]any, action, clause string) error {
	differences := r.differences(want, model)
	if len(differences) == 0 {
		return nil
	}
	return &Violation{
		Clause: clauseText(clause), Differences: differences,
		Message: "the model of " + action + " lacks a default value: " + differences[0].Pointer.String(),
	}
}

// first is the first error that is one.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func createConsistent(ctx context.Context, r *run) error {
	input, err := r.createInput()
	if err != nil {
		return err
	}
	model, err := r.create(ctx, input)
	if err != nil {
		return err
	}
	return first(r.stays(ctx, input, model, "CREATE"), r.delete(ctx, model))
}

// stays reads a resource several times.
func (r *run) stays(ctx context.Context, requested, model map[string]any, after string) error {
	for n := range readsAfterwards {
		event, err := r.operate(ctx, invoke.Request{Action: invoke.Read, Model: model})
		if err != nil {
			return err
		}
		if event.Status != invoke.Success {
			return r.violation(clauseText("stable.consistent"), "READ %d straight after %s ended with %s; expected SUCCESS", n+1, after, r.describe(event))
		}
		if differences := r.differences(requested, event.Model); len(differences) > 0 {
			mismatch := r.mismatch(differences)
			mismatch.Clause, mismatch.Message = clauseText("stable.consistent"), after+" is not done yet: "+mismatch.Message
			return mismatch
		}
	}
	return nil
}

func createSameToken(ctx context.Context, r *run) error {
	input, err := r.createInput()
	if err != nil {
		return err
	}
	before, err := r.everything(ctx)
	if err != nil {
		return err
	}
	token := r.newToken()
	var model map[string]any
	event, err := r.succeeded(ctx, invoke.Request{Action: invoke.Create, Model: input, Token: token},
		"A create handler ends with SUCCESS once the resource is as requested; its input is valid.")
	if err != nil {
		return err
	}
	model = event.Model
	again, err := r.operate(ctx, invoke.Request{Action: invoke.Create, Model: input, Token: token})
	if err != nil {
		return err
	}
	clause := clauseText("create.idempotent")
	var found error
	switch {
	case again.Status == invoke.Success && !r.sameIdentifier(model, again.Model):
		found = r.violation(clause, "CREATE with the same token made %s beside %s", r.name(again.Model), r.name(model))
	case again.Status == invoke.Failed:
		found = r.violation(clause, "CREATE with the same token ended with %s; expected SUCCESS with the resource that it made before", r.describe(again))
	case before != nil:
		if found, err = r.nothingNew(ctx, before, model, clause, "CREATE with the same token"); err != nil {
			return err
		}
	}
	return first(found, r.delete(ctx, model))
}

// createAdditional creates resources that have an additional identifier of an existing one, and
// nothing else that identifies it.
func createAdditional(ctx context.Context, r *run) error {
	input, err := r.createInput()
	if err != nil {
		return err
	}
	model, err := r.create(ctx, input)
	if err != nil {
		return err
	}
	tried := false
	var found error
	for _, paths := range r.cfg.Schema.AdditionalIdentifiers {
		other := r.sameAdditional(input, paths)
		if other == nil {
			continue
		}
		tried = true
		if err := r.fails(ctx, invoke.Request{Action: invoke.Create, Model: other}, invoke.AlreadyExists, clauseText("create.exists")); err != nil {
			found = fmt.Errorf("with the same %s: %w", names(paths), err)
			break
		}
	}
	if !tried {
		found = skipped("No additional identifier of the input can be kept while the primary one changes. Skipping test.")
	}
	return first(r.delete(ctx, model), found)
}

// sameAdditional is an input that has an additional identifier of another, and no other identifier of it;
// nil if there is none.
func (r *run) sameAdditional(input map[string]any, paths []schema.Path) map[string]any {
	s := r.cfg.Schema
	if _, given := schema.Identifier(input, paths); !given || slices.ContainsFunc(paths, func(p schema.Path) bool { return s.IsReadOnly(p.Tokens) }) {
		return nil
	}
	out := schema.Clone(input)
	kept := func(p schema.Path) bool {
		return slices.ContainsFunc(paths, func(q schema.Path) bool { return slices.Equal(p.Tokens, q.Tokens) })
	}
	for i, identifier := range append([][]schema.Path{s.PrimaryIdentifier}, s.AdditionalIdentifiers...) {
		differs := false
		for _, path := range identifier {
			if kept(path) || s.IsReadOnly(path.Tokens) || slices.Contains(path.Tokens, "*") {
				differs = differs || s.IsReadOnly(path.Tokens)
				continue
			}
			if value := r.otherValue(path.Tokens, valueAt(input, path.Tokens)); value != nil {
				invoke.Put(out, path.Tokens, value)
				differs = true
			}
		}
		if i == 0 && !differs {
			return nil
		}
	}
	return out
}

// nothingNew looks for resources that did not exist before and are not the given one.
func (r *run) nothingNew(ctx context.Context, before map[string]bool, model map[string]any, clause, after string) (found, err error) {
	now, items, err := r.inventory(ctx)
	if err != nil || now == nil {
		return nil, err
	}
	for _, item := range items {
		if key := r.key(item); !before[key] && !r.sameIdentifier(item, model) {
			return r.violation(clause, "%s made %s, which no event reported", after, r.name(item)), nil
		}
	}
	return nil, nil
}

func createInvalid(ctx context.Context, r *run) error {
	input, err := r.invalidInput()
	if err != nil {
		return err
	}
	if err := r.fails(ctx, invoke.Request{Action: invoke.Create, Model: input}, invoke.InvalidRequest, clauseText("create.input")); err != nil {
		return err
	}
	s := r.cfg.Schema
	if skipUnlessIdentifierIsChosen(s) != "" {
		return nil
	}
	if _, told := schema.Identifier(input, s.PrimaryIdentifier); !told || len(s.Check(r.identity(input, s.PrimaryIdentifier), schema.CheckConfig{Shape: true})) > 0 {
		return nil
	}
	return r.fails(ctx, invoke.Request{Action: invoke.Read, Model: r.identity(input, s.PrimaryIdentifier)}, invoke.NotFound, clauseText("create.failed-first"))
}

func createUpdateDelete(ctx context.Context, r *run) error {
	input, err := r.createInput()
	if err != nil {
		return err
	}
	model, err := r.create(ctx, input)
	if err != nil {
		return err
	}
	update, err := r.updateInput(model)
	if err != nil {
		return err
	}
	if _, err := r.succeeded(ctx, invoke.Request{Action: invoke.Update, Model: update, Previous: model}, clauseText("stable.runtime")); err != nil {
		return err
	}
	return r.delete(ctx, model)
}

func typeConfiguration(_ context.Context, r *run) error {
	configuration := r.cfg.TypeConfiguration
	s := r.cfg.Schema.TypeConfiguration
	if configuration == nil {
		if len(s.Required) == 0 {
			return nil
		}
		configuration = map[string]any{}
	}
	violations := slices.DeleteFunc(s.Check(configuration, schema.CheckConfig{}), func(v schema.Violation) bool { return ofReference(s, v) })
	if len(violations) == 0 {
		return nil
	}
	return r.violation(clauseText("configuration.schema"), "the type configuration breaks its schema: %s", violations[0])
}

// ofReference reports whether a configuration violates what its schema requires of a dynamic reference:
// handlers get the value that it stands for.
func ofReference(s *schema.Schema, v schema.Violation) bool {
	return slices.Contains([]string{"pattern", "minLength", "maxLength"}, v.Keyword) && s.IsReference(v.Pointer)
}

// identity is a model with only an identifier.
func (r *run) identity(model map[string]any, paths []schema.Path) map[string]any {
	out := map[string]any{}
	for _, path := range paths {
		if values, ok := schema.Identifier(model, []schema.Path{path}); ok && !slices.Contains(path.Tokens, "*") {
			invoke.Put(out, path.Tokens, values[0])
		}
	}
	return out
}
