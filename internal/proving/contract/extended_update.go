package contract

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/drift"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// change updates the shared resource, which is from then on what the update made of it.
func (r *run) change(ctx context.Context, update map[string]any, req invoke.Request) (map[string]any, error) {
	req.Action, req.Previous = invoke.Update, r.shared.model
	if req.Model == nil {
		req.Model = update
	}
	event, err := r.succeeded(ctx, req, "An update handler ends with SUCCESS once the resource is as requested; its input is valid.")
	if err != nil {
		return nil, err
	}
	r.shared.input, r.shared.model = update, event.Model
	return event.Model, nil
}

// again is an update request with the current properties of the shared resource.
func (r *run) again() map[string]any {
	s := r.cfg.Schema
	out := schema.Clone(r.shared.input)
	for key, value := range r.shared.model {
		if _, given := out[key]; !given && s.IsReadOnly(document.Pointer{key}) {
			out[key] = value
		}
	}
	for _, paths := range append([][]schema.Path{s.PrimaryIdentifier}, s.AdditionalIdentifiers...) {
		for _, path := range paths {
			if values, ok := schema.Identifier(r.shared.model, []schema.Path{path}); ok && !slices.Contains(path.Tokens, "*") {
				invoke.Put(out, path.Tokens, values[0])
			}
		}
	}
	return out
}

func updateConsistent(ctx context.Context, r *run) error {
	update, err := r.updateInput(r.shared.model)
	if err != nil {
		return err
	}
	model, err := r.change(ctx, update, invoke.Request{})
	if err != nil {
		return err
	}
	return r.stays(ctx, update, model, "UPDATE")
}

func updateComplete(ctx context.Context, r *run) error {
	update, err := r.updateInput(r.shared.model)
	if err != nil {
		return err
	}
	s := r.cfg.Schema
	var left []presetValue
	for _, preset := range defaultsOf(s) {
		if shorter := without(update, preset.at); len(preset.at) == 1 && !s.IsCreateOnly(preset.at) && len(s.Check(shorter, schema.CheckConfig{})) == 0 {
			update = shorter
			left = append(left, preset)
		}
	}
	model, err := r.change(ctx, update, invoke.Request{})
	if err != nil {
		return err
	}
	for _, preset := range left {
		if valueAt(model, preset.at) == nil {
			return r.violation(clauseText("update.defaults"), "the model of UPDATE lacks %s, which has a default value", preset.at)
		}
	}
	return r.complete(ctx, model, "UPDATE", "update.read-only")
}

func updateDrifted(ctx context.Context, r *run) error {
	update, err := r.updateInput(r.shared.model)
	if err != nil {
		return err
	}
	if _, err := r.change(ctx, update, invoke.Request{}); err != nil {
		return err
	}
	return drifted(ctx, r)
}

// drifted compares the last requested model with what a read returns, as drift detection does.
func drifted(ctx context.Context, r *run) error {
	event, err := r.succeeded(ctx, invoke.Request{Action: invoke.Read, Model: r.shared.model}, clauseText("create.read"))
	if err != nil {
		return err
	}
	result, err := r.drift.Compare(ctx, r.shared.input, event.Model)
	if err != nil {
		return fmt.Errorf("compare the models: %w", err)
	}
	if result.Status == drift.InSync {
		return nil
	}
	differences := make([]schema.Difference, len(result.Differences))
	for i, d := range result.Differences {
		differences[i] = asDifference(d)
	}
	mismatch := r.mismatch(differences)
	mismatch.Clause, mismatch.Message = clauseText("drift.none"), "the resource has drifted: "+mismatch.Message
	return mismatch
}

// updateCollections takes one member out of every collection that has two.
func updateCollections(ctx context.Context, r *run) error {
	update, err := r.updateInputWith(r.shared.model, func(model map[string]any) bool {
		shorter, _ := r.shortened(model)
		return shorter != nil
	})
	if err != nil {
		return err
	}
	if _, err := r.change(ctx, update, invoke.Request{}); err != nil {
		return err
	}
	shorter, gone := r.shortened(r.again())
	if shorter == nil {
		return skipped("No collection of the input has a member that can be left out. Skipping test.")
	}
	model, err := r.change(ctx, shorter, invoke.Request{})
	if err != nil {
		return err
	}
	read, err := r.read(ctx, model)
	if err != nil {
		return err
	}
	for _, m := range []map[string]any{model, read} {
		if differences := r.differences(shorter, m); len(differences) > 0 {
			mismatch := r.mismatch(differences)
			mismatch.Clause = clauseText("update.collections")
			return mismatch
		}
		for _, at := range gone {
			if valueAt(m, at) != nil {
				return r.violation(clauseText("update.collections"), "%s is still there, although the update left it out", at)
			}
		}
	}
	return nil
}

// updateInputWith is an update input that fits, if one of several generated ones does.
func (r *run) updateInputWith(created map[string]any, fits func(map[string]any) bool) (map[string]any, error) {
	before := len(r.drawn)
	update, err := r.updateInput(created)
	if err != nil || !r.generated() || fits(update) {
		return update, err
	}
	drawn := r.drawn
	for range otherTries {
		if update, err = r.updateInput(created); err == nil && fits(update) {
			r.drawn = append(r.drawn[:before:before], r.drawn[len(r.drawn)-1])
			return update, nil
		}
	}
	r.drawn = drawn[:before]
	return r.updateInput(created)
}

// shortened is a model without the last member of each collection that can do without it, and the
// places of the members of maps. It is nil if there is no such collection.
func (r *run) shortened(model map[string]any) (shorter map[string]any, gone []document.Pointer) {
	s := r.cfg.Schema
	for _, at := range r.collections(model, nil) {
		candidate, key := shorten(model, at)
		if len(s.Check(candidate, schema.CheckConfig{})) > len(s.Check(model, schema.CheckConfig{})) {
			continue
		}
		shorter, model = candidate, candidate
		if key != nil {
			gone = append(gone, key)
		}
	}
	return shorter, gone
}

// changeable reports whether an update may change or remove a property with all that is in it.
func (r *run) changeable(at document.Pointer) bool {
	s := r.cfg.Schema
	fixed := slices.Concat(s.CreateOnly, s.ConditionalCreateOnly, s.PrimaryIdentifier, slices.Concat(s.AdditionalIdentifiers...))
	if s.Tagging.Declared && !s.Tagging.TagUpdatable {
		fixed = append(fixed, s.Tagging.Property)
	}
	return !s.IsReadOnly(at) && !s.IsWriteOnly(at) && !s.IsDeprecated(at) && !slices.ContainsFunc(fixed, func(p schema.Path) bool {
		for i := range min(len(p.Tokens), len(at)) {
			if p.Tokens[i] != "*" && p.Tokens[i] != at[i] {
				return false
			}
		}
		return len(p.Tokens) > 0
	})
}

// collections finds the arrays and maps of a model with two members or more, that an
// update may change. An attribute that is left out may keep its value, which may be its default.
func (r *run) collections(v any, at document.Pointer) []document.Pointer {
	s := r.cfg.Schema
	var out []document.Pointer
	switch v := v.(type) {
	case []any:
		if len(v) > 1 && r.changeable(at) && !s.IsAttributeList(at) {
			return []document.Pointer{at}
		}
	case map[string]any:
		if len(at) > 0 && len(v) > 1 && isMap(s.Property(at)) {
			if r.changeable(at) {
				return []document.Pointer{at}
			}
			return nil
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, r.collections(v[key], at.Append(key))...)
		}
	}
	return out
}

// isMap reports whether a schema is one of a map: keys that it does not name have values.
func isMap(node *document.Value) bool {
	if node == nil || node.Get("properties") != nil {
		return false
	}
	extra := node.Get("additionalProperties")
	return node.Get("patternProperties") != nil || extra != nil && extra.Kind == document.Object
}

// shorten is a model without the last member of a collection, and the place of that member
// if the collection is a map.
func shorten(model map[string]any, at document.Pointer) (shorter map[string]any, key document.Pointer) {
	switch v := valueAt(model, at).(type) {
	case []any:
		return without(model, at.Append(strconv.Itoa(len(v)-1))), nil
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		key = at.Append(keys[len(keys)-1])
		return without(model, key), key
	}
	return model, nil
}

// frozen are the create-only properties that are no identifiers and can be seen.
func frozen(s *schema.Schema) []schema.Path {
	identifying := slices.Clone(s.PrimaryIdentifier)
	for _, paths := range s.AdditionalIdentifiers {
		identifying = append(identifying, paths...)
	}
	var out []schema.Path
	for _, path := range s.CreateOnly {
		identifies := slices.ContainsFunc(identifying, func(p schema.Path) bool { return slices.Equal(p.Tokens, path.Tokens) })
		if len(path.Tokens) > 0 && !identifies && !slices.Contains(path.Tokens, "*") && !s.IsReadOnly(path.Tokens) && !s.IsWriteOnly(path.Tokens) {
			out = append(out, path)
		}
	}
	return out
}

func updateCreateOnly(ctx context.Context, r *run) error {
	tried := false
	for _, path := range frozen(r.cfg.Schema) {
		value := r.otherValue(path.Tokens, valueAt(r.shared.model, path.Tokens))
		if value == nil {
			continue
		}
		update := r.again()
		invoke.Put(update, path.Tokens, value)
		if len(r.cfg.Schema.Check(update, schema.CheckConfig{})) > len(r.cfg.Schema.Check(r.again(), schema.CheckConfig{})) {
			continue
		}
		tried = true
		event, err := r.operate(ctx, invoke.Request{Action: invoke.Update, Model: update, Previous: r.shared.model})
		if err != nil {
			return err
		}
		if event.Status != invoke.Failed || event.ErrorCode != "NotUpdatable" {
			return r.violation(clauseText("update.create-only"), "UPDATE with another %s, which is create-only, ended with %s; expected FAILED NotUpdatable", path.Tokens, r.describe(event))
		}
		if _, err := r.read(ctx, r.shared.model); err != nil {
			return err
		}
	}
	if !tried {
		return skipped("No other value is known for a create-only property. Skipping test.")
	}
	return nil
}

// otherTries is how often another value of a property is looked for.
const otherTries = 20

// otherValue makes another value for a property, nil if the schema has none or none was found.
func (r *run) otherValue(at document.Pointer, value any) any {
	s := r.cfg.Schema
	node := s.Property(at)
	if node == nil {
		return nil
	}
	if resolved, err := s.Resolve(node); err == nil {
		if choices := resolved.Get("enum"); choices != nil {
			for _, choice := range choices.Items {
				if other := choice.Any(); !reflect.DeepEqual(other, value) {
					return other
				}
			}
			return nil
		}
	}
	if was, isBool := value.(bool); isBool {
		return !was
	}
	for n := range otherTries {
		other, err := newSource(s, r.cfg.Seed, "other "+r.current.ID+" "+at.String(), n).Value(node)
		if err == nil && fmt.Sprint(other) != fmt.Sprint(value) {
			return other
		}
	}
	return nil
}

func updateCreatesNothing(ctx context.Context, r *run) error {
	before, err := r.everything(ctx)
	if err != nil {
		return err
	}
	if before == nil {
		return skipped("The list handler does not list everything. Skipping test.")
	}
	update, err := r.updateInput(r.shared.model)
	if err != nil {
		return err
	}
	was := r.shared.model
	model, err := r.change(ctx, update, invoke.Request{})
	if err != nil {
		return err
	}
	if !r.sameIdentifier(was, model) {
		return r.violation(clauseText("update.creates-nothing"), "the resource was %s, the update answered with %s", r.name(was), r.name(model))
	}
	found, err := r.nothingNew(ctx, before, model, clauseText("update.creates-nothing"), "UPDATE")
	return first(err, found)
}

func updateAdditional(ctx context.Context, r *run) error {
	s := r.cfg.Schema
	tried := false
	for _, paths := range s.AdditionalIdentifiers {
		if _, known := schema.Identifier(r.shared.model, paths); !known {
			continue
		}
		update, err := r.updateInput(r.shared.model)
		if err != nil {
			return err
		}
		request, _ := schema.Without(update, s.PrimaryIdentifier).(map[string]any)
		if len(s.Check(request, schema.CheckConfig{})) > len(s.Check(update, schema.CheckConfig{})) {
			continue // an update requires the whole model, with the primary identifier
		}
		for _, path := range paths { // which may be part of both
			values, _ := schema.Identifier(r.shared.model, []schema.Path{path})
			invoke.Put(request, path.Tokens, values[0])
		}
		tried = true
		was := r.shared.model
		event, err := r.operate(ctx, invoke.Request{Action: invoke.Update, Model: request, Previous: was})
		switch {
		case err != nil:
			return err
		case event.Status != invoke.Success:
			return r.violation(clauseText("update.additional"), "UPDATE by %s alone ended with %s; expected SUCCESS", names(paths), r.describe(event))
		case !r.sameIdentifier(was, event.Model):
			return r.violation(clauseText("update.additional"), "UPDATE by %s alone changed %s, not %s", names(paths), r.name(event.Model), r.name(was))
		}
		r.shared.input, r.shared.model = update, event.Model
	}
	if !tried {
		return skipped("The resource has no value for an additional identifier, or its schema requires the primary one. Skipping test.")
	}
	return nil
}

// updateRemoves updates the shared resource to a model without optional properties.
func updateRemoves(ctx context.Context, r *run) error {
	s := r.cfg.Schema
	shorter := r.again()
	gone := false
	for _, key := range slices.Sorted(maps.Keys(r.shared.input)) {
		at := document.Pointer{key}
		candidate := without(shorter, at)
		if !r.changeable(at) || slices.Contains(r.cfg.Unremovable, key) || len(s.Check(candidate, schema.CheckConfig{})) > len(s.Check(shorter, schema.CheckConfig{})) {
			continue
		}
		shorter, gone = candidate, true
	}
	if !gone && len(r.cfg.Unremovable) > 0 {
		return skipped("Not applicable: the API has no value that removes " + strings.Join(r.cfg.Unremovable, ", "))
	}
	if !gone {
		return skipped("No property of the input can be left out. Skipping test.")
	}
	event, err := r.succeeded(ctx, invoke.Request{Action: invoke.Update, Model: shorter, Previous: r.shared.model}, "An update handler ends with SUCCESS once the resource is as requested; its input is valid.")
	if err != nil {
		return err
	}
	read, err := r.read(ctx, event.Model)
	if err != nil {
		return err
	}
	if err := r.removed(shorter, read); err != nil {
		return err
	}
	r.shared.input, r.shared.model = shorter, event.Model
	return nil
}

// The tags that a stack hands to its resources, and those that the service adds.
var (
	stackTags    = map[string]string{"formwork-stack": "first"}
	newStackTags = map[string]string{"formwork-stack": "second"}
	systemTags   = map[string]string{"aws:cloudformation:stack-name": "formwork", "aws:cloudformation:logical-id": "Resource"}
)

func createTags(ctx context.Context, r *run) error {
	input, err := r.createInput()
	if err != nil {
		return err
	}
	event, err := r.succeeded(ctx, invoke.Request{Action: invoke.Create, Model: input, StackTags: stackTags, SystemTags: systemTags}, clauseText("tags.create"))
	if err != nil {
		return err
	}
	model := event.Model
	read, err := r.succeeded(ctx, invoke.Request{Action: invoke.Read, Model: model}, clauseText("create.read"))
	if err != nil {
		return err
	}
	return first(r.tagged(input, nil, model, "tags.create"), r.tagged(input, nil, read.Model, "tags.create"), r.delete(ctx, model))
}

func updateTags(ctx context.Context, r *run) error {
	update, err := r.updateInput(r.shared.model)
	if err != nil {
		return err
	}
	before := r.tags(r.shared.model)
	model, err := r.change(ctx, update, invoke.Request{StackTags: newStackTags, PreviousStackTags: stackTags, SystemTags: systemTags, PreviousSystemTags: systemTags})
	if err != nil {
		return err
	}
	read, err := r.succeeded(ctx, invoke.Request{Action: invoke.Read, Model: model}, clauseText("create.read"))
	if err != nil {
		return err
	}
	return first(r.tagged(update, before, model, "tags.update"), r.tagged(update, before, read.Model, "tags.update"))
}

// tagged wants the requested tags in a model, none that were there before and were not
// requested again, and none of the system.
func (r *run) tagged(requested map[string]any, before map[string]string, model map[string]any, clause string) error {
	want, got := r.tags(requested), r.tags(model)
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if value, has := got[key]; !has || value != want[key] {
			return r.violation(clauseText(clause), "the tag %q was requested and not returned as requested", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		_, was := before[key]
		_, wanted := want[key]
		switch {
		case strings.HasPrefix(key, "aws:"):
			return r.violation(clauseText("tags.system"), "the tag %q of the system came back as one of the resource", key)
		case was && !wanted:
			return r.violation(clauseText(clause), "the tag %q is still there, although the update left it out", key)
		}
	}
	return nil
}

// tags reads the tags of a model: a map, or an array of keys and values.
func (r *run) tags(model map[string]any) map[string]string { return tagsOf(r.cfg.Schema, model) }

func tagsOf(s *schema.Schema, model map[string]any) map[string]string {
	out := map[string]string{}
	switch v := valueAt(model, s.Tagging.Property.Tokens).(type) {
	case map[string]any:
		for key, value := range v {
			out[key] = fmt.Sprint(value)
		}
	case []any:
		for _, item := range v {
			tag, _ := item.(map[string]any)
			key, value := "", ""
			for name, member := range tag {
				switch strings.ToLower(strings.TrimPrefix(strings.ToLower(name), "tag")) {
				case "key":
					key = fmt.Sprint(member)
				case "value":
					value = fmt.Sprint(member)
				}
			}
			if key != "" {
				out[key] = value
			}
		}
	}
	return out
}
