package sample

import (
	"maps"
	"slices"
	"strconv"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// changeTries is how often another value is looked for, for one property.
const changeTries = 8

// Update makes the input of an update from a created model: what the create was given,
// together with what it returned. Identifiers, read-only and create-only properties, and tags
// that an update cannot change, keep their values, or their absence; each other property gets a
// value that differs, where the schema allows one, and optional ones that are absent may be
// added (all of them by the profile Full, none by Minimal). Create-only properties inside of
// arrays keep their items: such an array keeps its length.
//
// A change that would break the schema together with what must stay is not made, so that
// the result breaks no rule that the created model did not break. Required properties that
// a read does not return, such as secrets, are made anew when they are absent.
//
// The error is an *[Error]: nothing in the model can be changed.
func (g *Generator) Update(created map[string]any) (map[string]any, error) {
	u := &update{g: g, src: g.draw(), run: g.start(g.cfg.Profile), model: schema.Clone(created)}
	u.fixed = slices.Concat(g.schema.ReadOnly, g.schema.CreateOnly, g.schema.ConditionalCreateOnly, g.schema.PrimaryIdentifier)
	for _, paths := range g.schema.AdditionalIdentifiers {
		u.fixed = append(u.fixed, paths...)
	}
	if g.schema.Tagging.Declared && !g.schema.Tagging.TagUpdatable {
		u.fixed = append(u.fixed, g.schema.Tagging.Property)
	}
	u.complete()
	u.breaks = u.violations()
	changed := 0
	for _, m := range g.schema.Properties() {
		at := document.Pointer{m.Key}
		if u.isFixed(at) {
			continue
		}
		old, present := u.model[m.Key]
		switch {
		case present:
			if u.change(at, old) {
				changed++
			}
		case g.cfg.Profile == Minimal:
		default:
			draw := u.src.fork("add " + m.Key)
			if (g.cfg.Profile == Full || draw.oneIn(2)) && u.insert(at) {
				changed++
			}
		}
	}
	if changed == 0 {
		return nil, fault(nil, "", "an update cannot change anything: every property is create-only or read-only, or allows only one value")
	}
	return u.model, nil
}

// An update is the making of one.
type update struct {
	g      *Generator
	src    source
	run    *run
	model  map[string]any
	fixed  []schema.Path
	breaks map[string]bool // what the created model broke already
}

// violations are the rules that the model breaks.
func (u *update) violations() map[string]bool { return u.g.violations(u.model) }

func (g *Generator) violations(model map[string]any) map[string]bool {
	out := map[string]bool{}
	for _, v := range g.schema.Check(model, schema.CheckConfig{}) {
		out[v.String()] = true
	}
	return out
}

// holds reports whether the model breaks nothing new.
func (u *update) holds() bool {
	for broken := range u.violations() {
		if !u.breaks[broken] {
			return false
		}
	}
	return true
}

// isFixed reports whether the tokens name what must stay, or something inside of it.
func (u *update) isFixed(at document.Pointer) bool {
	return slices.ContainsFunc(u.fixed, func(p schema.Path) bool {
		return len(p.Tokens) > 0 && len(p.Tokens) <= len(at) && crosses(p.Tokens, at[:len(p.Tokens)])
	})
}

// holdsFixed reports whether something inside of what the tokens name must stay.
func (u *update) holdsFixed(at document.Pointer) bool {
	return slices.ContainsFunc(u.fixed, func(p schema.Path) bool {
		return len(p.Tokens) > len(at) && crosses(p.Tokens[:len(at)], at)
	})
}

// crosses reports whether the tokens of a path of the schema name a place of a model.
func crosses(path, at document.Pointer) bool {
	for i, token := range path {
		if token != "*" && token != at[i] {
			return false
		}
	}
	return true
}

// complete adds required properties that a handler does not return.
func (u *update) complete() {
	for _, name := range u.g.schema.Required {
		at := document.Pointer{name}
		if _, present := u.model[name]; !present && !u.g.schema.IsReadOnly(at) {
			if v, ok := u.other(at, u.src.fork(name)); ok {
				u.model[name] = v
			}
		}
	}
}

// other makes a value for a place of the model.
func (u *update) other(at document.Pointer, src source) (any, bool) {
	node := u.g.schema.Property(at)
	if node == nil {
		return nil, false
	}
	u.run.most = u.run.steps + u.g.cfg.MaxSteps/16
	u.run.room = u.g.cfg.MaxValues
	v, err := u.run.value([]*document.Value{node}, at, state{src: src, depth: len(at)})
	return v, err == nil
}

// change gives the value at a place another one: a whole new one, or, where that is not
// allowed, one with a part that differs.
func (u *update) change(at document.Pointer, old any) bool {
	src := u.src.fork(at.String())
	key := canonical(old)
	for try := range changeTries {
		v, ok := u.other(at, src.at(try))
		if !ok {
			break
		}
		if v = u.keep(v, old, at); canonical(v) == key {
			continue
		}
		put(u.model, at, v)
		if u.holds() {
			return true
		}
		put(u.model, at, old)
	}
	if len(at) > 8 {
		return false
	}
	for _, below := range children(old) {
		place := at.Append(below)
		if v, _ := get(old, below); !u.isFixed(place) && u.change(place, v) {
			return true
		}
	}
	return false
}

// insert adds a property that is absent.
func (u *update) insert(at document.Pointer) bool {
	v, ok := u.other(at, u.src.fork(at.String()))
	if !ok {
		return false
	}
	put(u.model, at, u.keep(v, nil, at))
	if u.holds() {
		return true
	}
	delete(u.model, at[0])
	return false
}

// keep puts what must stay of an old value into a new one.
func (u *update) keep(v, old any, at document.Pointer) any {
	if !u.holdsFixed(at) {
		return v
	}
	switch before := old.(type) {
	case map[string]any:
		now, ok := v.(map[string]any)
		if !ok {
			return old
		}
		for _, key := range slices.Sorted(maps.Keys(before)) {
			place := at.Append(key)
			if u.isFixed(place) {
				now[key] = before[key]
			} else if _, both := now[key]; both || u.holdsFixed(place) {
				now[key] = u.keep(now[key], before[key], place)
			}
		}
		for key := range now {
			if _, was := before[key]; !was && u.isFixed(at.Append(key)) {
				delete(now, key)
			}
		}
		return now
	case []any:
		now, _ := v.([]any)
		out := make([]any, len(before))
		for i := range before {
			out[i] = before[i]
			if i < len(now) {
				out[i] = u.keep(now[i], before[i], at.Append(strconv.Itoa(i)))
			}
		}
		return out
	case nil: // the property is new, and so is all inside of it
		return v
	}
	return old
}

// children are the tokens of what a value consists of, in order.
func children(v any) []string {
	switch v := v.(type) {
	case map[string]any:
		return slices.Sorted(maps.Keys(v))
	case []any:
		out := make([]string, len(v))
		for i := range v {
			out[i] = strconv.Itoa(i)
		}
		return out
	}
	return nil
}

// get returns what a token names in a value.
func get(v any, token string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		value, ok := v[token]
		return value, ok
	case []any:
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// put sets what a pointer names, whose surroundings exist.
func put(model any, at document.Pointer, v any) {
	for _, token := range at[:len(at)-1] {
		model, _ = get(model, token)
	}
	last := at[len(at)-1]
	switch model := model.(type) {
	case map[string]any:
		model[last] = v
	case []any:
		if i, err := strconv.Atoi(last); err == nil && i >= 0 && i < len(model) {
			model[i] = v
		}
	}
}

// at returns what a pointer names.
func at(model any, p document.Pointer) (any, bool) {
	for _, token := range p {
		next, ok := get(model, token)
		if !ok {
			return nil, false
		}
		model = next
	}
	return model, true
}
