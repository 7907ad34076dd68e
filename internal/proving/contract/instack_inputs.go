package contract

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// makeInputs makes the properties of the templates from the inputs, or from the schema.
func (r *stackRun) makeInputs() error {
	s := r.cfg.Schema
	var create, update map[string]any
	switch overrides := r.cfg.Inputs.Overrides; {
	case r.inputs.Number > 0:
		create, update = schema.Clone(r.inputs.Create), r.inputs.Update
		if update == nil {
			r.noUpdate = skipped(fmt.Sprintf("inputs/inputs_%d_update.json is missing. Skipping test.", r.inputs.Number))
		}
	default:
		var err error
		if create, err = newSource(s, r.cfg.Seed, stackFile, 0).Create(); err != nil {
			return err
		}
		if overrides != nil {
			apply(s, create, overrides.Create, false)
		}
		if update, err = newSource(s, r.cfg.Seed, stackFile, 1).Update(create); err != nil {
			r.noUpdate, update = skipped("No property can be updated. Skipping test."), nil
		} else if overrides != nil {
			apply(s, update, overrides.Update, true)
		}
	}
	r.created = r.properties(create)
	if update != nil {
		r.updated = r.properties(schema.Clone(update))
		r.noUpdate = r.keepCreateOnly(r.updated)
	}
	r.replaced, r.noReplacement = r.replacement()
	for _, model := range []map[string]any{r.created, r.updated, r.replaced} {
		r.cfg.Redactor.Observe(encoded(map[string]any{"resourceProperties": model}))
	}
	return nil
}

// properties are those of an input that a template may have.
func (r *stackRun) properties(model map[string]any) map[string]any {
	out, _ := schema.Without(model, r.cfg.Schema.ReadOnly).(map[string]any)
	for key, value := range out { // an object of read-only properties alone
		if m, ok := value.(map[string]any); ok && len(m) == 0 && r.hasReadOnly(key) {
			delete(out, key)
		}
	}
	return out
}

// hasReadOnly reports whether something below a property is read-only.
func (r *stackRun) hasReadOnly(key string) bool {
	return slices.ContainsFunc(r.cfg.Schema.ReadOnly, func(p schema.Path) bool { return len(p.Tokens) > 1 && p.Tokens[0] == key })
}

// keepCreateOnly gives an update the create-only properties that it leaves out: a template
// without them would replace the resource. The error says why it is not an update in place.
func (r *stackRun) keepCreateOnly(update map[string]any) error {
	for _, path := range slices.Concat(r.cfg.Schema.CreateOnly, r.cfg.Schema.ConditionalCreateOnly, r.cfg.Schema.PrimaryIdentifier) {
		if slices.Contains(path.Tokens, "*") || r.cfg.Schema.IsReadOnly(path.Tokens) {
			continue
		}
		was, is := valueAt(r.created, path.Tokens), valueAt(update, path.Tokens)
		switch {
		case was != nil && is == nil:
			invoke.Put(update, path.Tokens, was)
		case fmt.Sprint(was) != fmt.Sprint(is):
			return skipped(fmt.Sprintf("The update input changes %s, which replaces the resource. Skipping test.", path.Tokens))
		}
	}
	if reflect.DeepEqual(r.created, update) {
		return skipped("The update input changes nothing. Skipping test.")
	}
	return nil
}

// inPlace reports whether the resource can be updated without being replaced. If not, the
// error says why.
func (r *stackRun) inPlace() error {
	if r.cfg.Schema.Handler("update") == nil {
		return skipped("The type has no update handler. Skipping test.")
	}
	return r.noUpdate
}

// replacement are properties that CloudFormation can only apply by replacing the resource:
// those of the input for the test stack_replace, or others in the place of create-only ones.
func (r *stackRun) replacement() (map[string]any, error) {
	if own := r.inputs.Tests[stackReplaceName][DrawCreate]; own != nil {
		return r.properties(schema.Clone(own)), nil
	}
	s := r.cfg.Schema
	out := schema.Clone(r.created)
	chosen := false
	for _, paths := range append([][]schema.Path{s.PrimaryIdentifier}, s.AdditionalIdentifiers...) {
		for _, path := range paths {
			if !s.IsReadOnly(path.Tokens) && r.putOther(out, path.Tokens) {
				chosen = chosen || s.IsCreateOnly(path.Tokens)
			}
		}
	}
	if chosen {
		return out, nil
	}
	for _, path := range frozen(s) {
		if r.putOther(out, path.Tokens) {
			return out, nil
		}
	}
	if s.Handler("update") == nil {
		if r.updated != nil && !reflect.DeepEqual(r.created, r.updated) {
			return r.updated, nil
		}
		return nil, skipped("No other input is known. Skipping test.")
	}
	return nil, skipped("No property that can be changed is create-only. Skipping test.")
}

// putOther puts another value at a place of a model. It reports whether one was found that
// breaks no rule of the schema.
func (r *stackRun) putOther(model map[string]any, at document.Pointer) bool {
	if slices.Contains(at, "*") {
		return false
	}
	s := r.cfg.Schema
	faults := len(s.Check(model, schema.CheckConfig{}))
	for n := range 5 {
		drawn, err := newSource(s, r.cfg.Seed, stackFile+" replacement", n).Create()
		if err != nil {
			return false
		}
		was, other := valueAt(model, at), valueAt(drawn, at)
		if other == nil || fmt.Sprint(was) == fmt.Sprint(other) {
			continue
		}
		trial := schema.Clone(model)
		invoke.Put(trial, at, other)
		if len(s.Check(trial, schema.CheckConfig{})) > faults {
			continue
		}
		invoke.Put(model, at, other)
		return true
	}
	return false
}

// changed are the names of the properties that differ.
func changed(a, b map[string]any) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(a)) {
		if other, has := b[key]; !has || !reflect.DeepEqual(a[key], other) {
			out = append(out, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b)) {
		if _, has := a[key]; !has {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// identifierText is the primary identifier of a model as CloudFormation writes it.
func identifierText(s *schema.Schema, model map[string]any) (string, bool) {
	values, ok := schema.Identifier(model, s.PrimaryIdentifier)
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = fmt.Sprint(v)
	}
	return strings.Join(parts, "|"), ok
}

// identifierValues splits an identifier by the names of its properties, as an import names
// them.
func identifierValues(s *schema.Schema, identifier string) map[string]string {
	values := []string{identifier}
	if len(s.PrimaryIdentifier) > 1 {
		values = strings.Split(identifier, "|")
	}
	out := map[string]string{}
	for i, path := range s.PrimaryIdentifier {
		if n := len(path.Tokens); i < len(values) && n > 0 {
			out[path.Tokens[n-1]] = values[i]
		}
	}
	return out
}
