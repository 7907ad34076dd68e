package template

import (
	"context"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

const (
	forEach       = "Fn::ForEach::"
	maxLoops      = 5       // that nest
	maxIterations = 1 << 16 // of all loops of a template
)

// extend runs AWS::LanguageExtensions: loops first, then the functions that can be computed
// from literals and parameters. What depends on resources stays, for later.
func (x *expansion) extend(ctx context.Context, root *document.Value) (*document.Value, error) {
	l := &loops{x: x, ctx: ctx, scope: x.scope(root)}
	out := *root
	out.Members = nil
	for _, m := range root.Distinct() {
		var err error
		switch m.Key {
		case "Conditions", "Outputs", "Resources":
			if m.Value.Kind != document.Object {
				break
			}
			m.Value, err = l.section(m.Key, m.Value)
		}
		if err != nil {
			return nil, err
		}
		if m.Key == "Resources" || len(m.Value.Members) > 0 || m.Value.Kind != document.Object {
			out.Members = append(out.Members, m)
		}
	}
	f := &folder{scope: x.scope(&out)}
	for i, m := range out.Members {
		switch m.Key {
		case "Conditions", "Outputs", "Resources":
			var err error
			if out.Members[i].Value, err = f.section(m.Key, m.Value); err != nil {
				return nil, err
			}
		}
	}
	return &out, nil
}

// loops expands Fn::ForEach.
type loops struct {
	x          *expansion
	ctx        context.Context
	scope      *Scope
	iterations int
	bytes      int // of the result
}

// section expands the loops of a section, and those in the properties of resources.
func (l *loops) section(name string, v *document.Value) (*document.Value, error) {
	out, err := l.object(v, nil, true)
	if err != nil || name != "Resources" {
		return out, err
	}
	for i, m := range out.Members {
		properties := m.Value.Member("Properties")
		if properties == nil || !hasLoop(properties.Value) {
			continue
		}
		inner, err := l.deep(properties.Value)
		if err != nil {
			return nil, err
		}
		if err := l.spend(ShallowCost(m.Value), m.Value); err != nil {
			return nil, err
		}
		out.Members[i].Value = replace(m.Value, "Properties", inner)
	}
	return out, nil
}

func hasLoop(v *document.Value) bool {
	if slices.ContainsFunc(v.Items, hasLoop) {
		return true
	}
	for _, m := range v.Members {
		if strings.HasPrefix(m.Key, forEach) || hasLoop(m.Value) {
			return true
		}
	}
	return false
}

// replace returns a copy of an object with another value for a key.
func replace(v *document.Value, key string, value *document.Value) *document.Value {
	out := *v
	out.Members = slices.Clone(v.Members)
	for i := range out.Members {
		if out.Members[i].Key == key {
			out.Members[i].Value = value
		}
	}
	return &out
}

// deep expands the loops anywhere in a value.
func (l *loops) deep(v *document.Value) (*document.Value, error) {
	if !hasLoop(v) {
		return v, nil
	}
	if err := l.spend(ShallowCost(v), v); err != nil {
		return nil, err
	}
	out := *v
	if v.Kind == document.Object {
		expanded, err := l.object(v, nil, false)
		if err != nil {
			return nil, err
		}
		out = *expanded
	}
	out.Items = slices.Clone(out.Items)
	out.Members = slices.Clone(out.Members)
	for i := range out.Items {
		var err error
		if out.Items[i], err = l.deep(out.Items[i]); err != nil {
			return nil, err
		}
	}
	for i := range out.Members {
		var err error
		if out.Members[i].Value, err = l.deep(out.Members[i].Value); err != nil {
			return nil, err
		}
	}
	return &out, nil
}

// object expands the loops among the keys of an object. outer are the identifiers around.
func (l *loops) object(v *document.Value, outer []string, named bool) (*document.Value, error) {
	if err := l.spend(ShallowCost(v), v); err != nil {
		return nil, err
	}
	out := *v
	out.Members = make([]document.Member, 0, len(v.Members))
	taken := make(map[string]bool, len(v.Members))
	add := func(loop string, m document.Member) error {
		if taken[m.Key] {
			return extendError(m.KeyAt, "Fn::ForEach expansion in '%s' produced logical IDs that conflict with existing entries: %s", loop, m.Key)
		}
		taken[m.Key] = true
		out.Members = append(out.Members, m)
		return nil
	}
	for _, m := range v.Distinct() {
		if !strings.HasPrefix(m.Key, forEach) {
			if err := add(m.Key, m); err != nil {
				return nil, err
			}
			continue
		}
		if err := l.loop(m, outer, named, func(made document.Member) error { return add(m.Key, made) }); err != nil {
			return nil, err
		}
	}
	return &out, nil
}

// loop expands one Fn::ForEach.
func (l *loops) loop(m document.Member, outer []string, named bool, add func(document.Member) error) error {
	id, items, body, err := l.layout(m, outer)
	if err != nil {
		return err
	}
	inner := append(slices.Clone(outer), id)
	for _, item := range items {
		if err := l.iterate(m); err != nil {
			return err
		}
		made, err := l.substitute(body, substitution{id, item, alphanumerics(item)})
		if err != nil {
			return err
		}
		if hasLoopKey(made) {
			if made, err = l.object(made, inner, named); err != nil {
				return err
			}
		}
		for _, member := range made.Members {
			if len(outer) == 0 { // results of inner loops are visited, too
				if l.bytes += len(member.Key) + weight(member.Value); l.bytes > 2*MaxBytes {
					return refuse("too-large", m.KeyAt, nil)
				}
			}
			if err := l.spend(memberCost, member.Value); err != nil {
				return err
			}
			if err := add(member); err != nil {
				return err
			}
		}
	}
	return nil
}

func hasLoopKey(v *document.Value) bool {
	return slices.ContainsFunc(v.Members, func(m document.Member) bool { return strings.HasPrefix(m.Key, forEach) })
}

// iterate counts one pass of a loop.
func (l *loops) iterate(m document.Member) error {
	if l.iterations++; l.iterations > maxIterations {
		return refuse("too-large", m.KeyAt, nil)
	}
	if l.iterations%256 == 0 {
		return l.ctx.Err()
	}
	return nil
}

// layout reads [identifier, collection, body].
func (l *loops) layout(m document.Member, outer []string) (id string, items []string, body *document.Value, err error) {
	incorrect := extendError(m.KeyAt, "%s layout is incorrect", m.Key)
	args, ok := arguments(m.Value, 3, 3)
	name := strings.TrimPrefix(m.Key, forEach)
	if !ok || args[0].Kind != document.String || args[0].Text == "" || args[2].Kind != document.Object || name == "" {
		return "", nil, nil, incorrect
	}
	id, body = args[0].Text, args[2]
	parameters := l.x.t.parameters
	switch {
	case len(outer) >= maxLoops:
		return "", nil, nil, extendError(m.KeyAt, "Fn::ForEach nesting depth exceeds the maximum allowed depth of %d", maxLoops)
	case parameters[id] != nil:
		return "", nil, nil, extendError(m.KeyAt, "%s: identifier '%s' conflicts with parameter name", m.Key, id)
	case slices.Contains(outer, id):
		return "", nil, nil, extendError(m.KeyAt, "%s: identifier '%s' conflicts with another loop identifier", m.Key, id)
	case parameters[name] != nil:
		return "", nil, nil, extendError(m.KeyAt, "%s: loop name '%s' conflicts with parameter name", m.Key, name)
	}
	for _, member := range body.Members {
		if !strings.HasPrefix(member.Key, forEach) && !strings.Contains(member.Key, "${"+id+"}") && !strings.Contains(member.Key, "&{"+id+"}") {
			return "", nil, nil, incorrect
		}
	}
	value, evalErr := l.scope.Evaluate(args[1], NoReferences{}, "Fn::ForEach")
	if ends(evalErr) {
		return "", nil, nil, evalErr
	}
	list, ok := value.([]any)
	if evalErr != nil || !ok {
		return "", nil, nil, incorrect
	}
	for _, item := range list {
		s, ok := toText(item)
		if !ok {
			return "", nil, nil, incorrect
		}
		items = append(items, s)
	}
	return id, items, body, nil
}

// alphanumerics is the value of &{Identifier}.
func alphanumerics(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 128 && alphanumeric(string(r)) {
			return r
		}
		return -1
	}, s)
}

// A substitution replaces ${id} and Ref: id by a value, and &{id} by its letters.
type substitution struct{ id, value, letters string }

// substitute returns a value after a substitution. What does not change is shared.
func (l *loops) substitute(v *document.Value, s substitution) (*document.Value, error) {
	switch v.Kind {
	case document.String:
		made, err := l.replaceText(v.Text, v, s)
		if err != nil || made == v.Text {
			return v, err
		}
		return text(made, v.At), l.spend(valueCost, v)
	case document.Array, document.Object:
	default:
		return v, nil
	}
	if len(v.Members) == 1 && v.Members[0].Key == "Ref" && v.Members[0].Value.Kind == document.String && v.Members[0].Value.Text == s.id {
		return text(s.value, v.At), l.spend(valueCost, v)
	}
	out := v
	change := func() error {
		if out != v {
			return nil
		}
		clone := *v
		clone.Items, clone.Members = slices.Clone(v.Items), slices.Clone(v.Members)
		out = &clone
		return l.spend(ShallowCost(v), v)
	}
	for i, item := range v.Items {
		made, err := l.substitute(item, s)
		if err == nil && made != item {
			if err = change(); err == nil {
				out.Items[i] = made
			}
		}
		if err != nil {
			return nil, err
		}
	}
	for i, m := range v.Members {
		key, err := l.replaceText(m.Key, v, s)
		if err != nil {
			return nil, err
		}
		made, err := l.substitute(m.Value, s)
		if err == nil && (key != m.Key || made != m.Value) {
			if err = change(); err == nil {
				out.Members[i].Key, out.Members[i].Value = key, made
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// replaceText replaces the identifier in a text, which is in a value.
func (l *loops) replaceText(text string, in *document.Value, s substitution) (string, error) {
	if !strings.Contains(text, "{") {
		return text, nil
	}
	for _, r := range []struct{ from, to string }{{"${" + s.id + "}", s.value}, {"&{" + s.id + "}", s.letters}} {
		n := strings.Count(text, r.from)
		if n == 0 {
			continue
		}
		if err := l.spend(len(text)+n*len(r.to), in); err != nil {
			return "", err
		}
		text = strings.ReplaceAll(text, r.from, r.to)
	}
	return text, nil
}

func (l *loops) spend(bytes int, v *document.Value) error {
	return l.x.budget.Spend(bytes, v.At, nil)
}

// weight is about how many bytes a value has as JSON.
func weight(v *document.Value) int {
	n := len(v.Text) + 2
	for _, item := range v.Items {
		n += weight(item) + 1
	}
	for _, m := range v.Members {
		n += len(m.Key) + 4 + weight(m.Value)
	}
	return n
}
