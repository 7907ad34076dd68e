package module

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/template"
)

// The random test generates templates with modules and, from the same description, templates in
// which a person has written everything out: with the full names, the values of parameters in place,
// and Fn::Join for Fn::Sub. Both must mean the same.
type (
	// A randomPart is a fragment, or the template.
	randomPart struct {
		flags, texts int // numbers of parameters: F0… are yes or no, T0… anything
		entries      []randomEntry
	}
	// A randomEntry is a resource, or a module if of is set. It refers only to earlier ones.
	randomEntry struct {
		name      string
		of        *randomPart
		flags     []int // arguments: the parent's parameter, or -1 and -2 for yes and no
		texts     []randomValue
		values    []randomValue // properties of a resource
		dependsOn []string
		condition bool // C of its part
	}
	randomValue struct {
		kind  string // literal, text, ref, att, sub, join, if
		n     int
		path  []string // from a part to a resource
		short bool     // names are concatenated instead of joined by dots
		parts []randomValue
	}
)

type generator struct {
	*rand.Rand
	parts []*randomPart // by depth from the bottom; the modules that can be used
}

// part generates a part whose modules are at most depth levels deep.
func (g *generator) part(depth, flags, texts int) *randomPart {
	p := &randomPart{flags: flags, texts: texts}
	var paths [][]string
	for i := range 1 + g.IntN(4) {
		e := randomEntry{name: fmt.Sprintf("%c", 'A'+i), condition: g.IntN(4) == 0}
		for _, earlier := range p.entries {
			if g.IntN(4) == 0 {
				e.dependsOn = append(e.dependsOn, earlier.name)
			}
		}
		if depth > 0 && g.IntN(2) == 0 {
			e.of = g.module(depth - 1)
			for range e.of.flags {
				e.flags = append(e.flags, g.IntN(flags+2)-2)
			}
			for range e.of.texts {
				e.texts = append(e.texts, g.value(p, paths, 2))
			}
			for _, inner := range e.of.paths() {
				paths = append(paths, append([]string{e.name}, inner...))
			}
		} else {
			for range 1 + g.IntN(3) {
				e.values = append(e.values, g.value(p, paths, 3))
			}
			paths = append(paths, []string{e.name})
		}
		p.entries = append(p.entries, e)
	}
	return p
}

// module returns a new module, or one that is used already.
func (g *generator) module(depth int) *randomPart {
	if len(g.parts) > 0 && g.IntN(3) == 0 {
		if p := g.parts[g.IntN(len(g.parts))]; p.levels() <= depth {
			return p
		}
	}
	p := g.part(depth, 1+g.IntN(2), g.IntN(3))
	g.parts = append(g.parts, p)
	return p
}

func (p *randomPart) levels() int {
	deepest := 0
	for _, e := range p.entries {
		if e.of != nil {
			deepest = max(deepest, 1+e.of.levels())
		}
	}
	return deepest
}

// paths are those to the resources of a part.
func (p *randomPart) paths() (out [][]string) {
	for _, e := range p.entries {
		if e.of == nil {
			out = append(out, []string{e.name})
			continue
		}
		for _, inner := range e.of.paths() {
			out = append(out, append([]string{e.name}, inner...))
		}
	}
	return out
}

func (g *generator) value(p *randomPart, paths [][]string, depth int) randomValue {
	kinds := []string{"literal", "literal"}
	if p.texts > 0 {
		kinds = append(kinds, "text", "text")
	}
	if len(paths) > 0 {
		kinds = append(kinds, "ref", "att")
	}
	if depth > 0 {
		kinds = append(kinds, "sub", "sub", "join", "if")
	}
	v := randomValue{kind: kinds[g.IntN(len(kinds))], n: g.IntN(max(p.texts, 4)), short: g.IntN(2) == 0}
	switch v.kind {
	case "text":
		v.n = g.IntN(p.texts)
	case "ref", "att":
		v.path = paths[g.IntN(len(paths))]
	case "if":
		v.parts = []randomValue{g.value(p, paths, depth-1), g.value(p, paths, depth-1)}
	case "sub", "join":
		for range 1 + g.IntN(3) {
			inner := depth - 1
			if v.kind == "sub" {
				inner = 0 // a text has only names
			}
			v.parts = append(v.parts, g.value(p, paths, inner))
		}
	}
	return v
}

var literals = []string{"x", "a${!b}", "", "$"}

type jsonObject = map[string]any

// modular writes a value as the author of a module does.
func (v randomValue) modular() any {
	separator := "."
	if v.short {
		separator = ""
	}
	name := strings.Join(v.path, separator)
	switch v.kind {
	case "literal":
		return literals[v.n]
	case "text":
		return jsonObject{"Ref": fmt.Sprintf("T%d", v.n)}
	case "ref":
		return jsonObject{"Ref": name}
	case "att":
		id, attribute, _ := strings.Cut(name+".X.Y", ".")
		return jsonObject{"Fn::GetAtt": []any{id, attribute}}
	case "if":
		return jsonObject{"Fn::If": []any{"C", v.parts[0].modular(), v.parts[1].modular()}}
	case "join":
		return jsonObject{"Fn::Join": []any{"-", each(v.parts, randomValue.modular)}}
	}
	var b strings.Builder
	for _, p := range v.parts {
		separator := "."
		if p.short {
			separator = ""
		}
		switch name := strings.Join(p.path, separator); p.kind {
		case "literal":
			b.WriteString(literals[p.n][:min(1, len(literals[p.n]))])
			b.WriteByte(' ')
		case "text":
			fmt.Fprintf(&b, "${T%d}", p.n)
		case "ref":
			b.WriteString("${" + name + "}")
		case "att":
			b.WriteString("${" + name + ".X.Y}")
		}
	}
	return jsonObject{"Fn::Sub": b.String()}
}

func each(parts []randomValue, f func(randomValue) any) []any {
	out := make([]any, len(parts))
	for i, p := range parts {
		out[i] = f(p)
	}
	return out
}

// A placement is where a part is written out.
type placement struct {
	prefix     string
	flags      []any
	texts      []any
	dependsOn  []string
	conditions []string
}

// flat writes a value out.
func (v randomValue) flat(c placement) any {
	id := c.prefix + strings.Join(v.path, "")
	inner := func(p randomValue) any { return p.flat(c) }
	switch v.kind {
	case "literal":
		return literals[v.n]
	case "text":
		return c.texts[v.n]
	case "ref":
		return jsonObject{"Ref": id}
	case "att":
		return jsonObject{"Fn::GetAtt": []any{id, "X.Y"}}
	case "if":
		return jsonObject{"Fn::If": []any{c.prefix + "C", inner(v.parts[0]), inner(v.parts[1])}}
	case "join":
		return jsonObject{"Fn::Join": []any{"-", each(v.parts, inner)}}
	}
	return jsonObject{"Fn::Join": []any{"", each(v.parts, func(p randomValue) any {
		if p.kind == "literal" {
			return literals[p.n][:min(1, len(literals[p.n]))] + " "
		}
		return inner(p)
	})}}
}

// fragment is a part as the text of a fragment; types names the modules.
func (p *randomPart) fragment(types map[*randomPart]string) jsonObject {
	resources := jsonObject{}
	for _, e := range p.entries {
		r := jsonObject{"Type": "T::T::T"}
		properties := jsonObject{}
		for i, v := range e.values {
			properties[fmt.Sprintf("V%d", i)] = v.modular()
		}
		if e.of != nil {
			r["Type"] = "Acme::" + types[e.of] + "::Part::MODULE"
			for i, flag := range e.flags {
				properties[fmt.Sprintf("F%d", i)] = flagArgument(flag, func(n int) any { return jsonObject{"Ref": fmt.Sprintf("F%d", n)} })
			}
			for i, v := range e.texts {
				properties[fmt.Sprintf("T%d", i)] = v.modular()
			}
		}
		r["Properties"] = properties
		if e.dependsOn != nil {
			r["DependsOn"] = e.dependsOn
		}
		if e.condition {
			r["Condition"] = "C"
		}
		resources[e.name] = r
	}
	parameters := jsonObject{}
	for i := range p.flags {
		parameters[fmt.Sprintf("F%d", i)] = jsonObject{"Type": "String"}
	}
	for i := range p.texts {
		parameters[fmt.Sprintf("T%d", i)] = jsonObject{"Type": "String"}
	}
	return jsonObject{"Parameters": parameters, "Resources": resources, "Conditions": jsonObject{"C": jsonObject{"Fn::Equals": []any{jsonObject{"Ref": "F0"}, "yes"}}}}
}

func flagArgument(flag int, parent func(int) any) any {
	switch flag {
	case -1:
		return "yes"
	case -2:
		return "no"
	}
	return parent(flag)
}

// write adds what a part consists of to a template without modules.
func (p *randomPart) write(c placement, resources, conditions jsonObject) {
	conditions[c.prefix+"C"] = jsonObject{"Fn::Equals": []any{c.flags[0], "yes"}}
	for _, e := range p.entries {
		depends := append([]string{}, c.dependsOn...)
		for _, name := range e.dependsOn {
			for _, earlier := range p.entries {
				switch {
				case earlier.name != name:
				case earlier.of == nil:
					depends = append(depends, c.prefix+name)
				default:
					for _, path := range earlier.of.paths() {
						depends = append(depends, c.prefix+name+strings.Join(path, ""))
					}
				}
			}
		}
		when := slices.Clone(c.conditions)
		if e.condition {
			when = append(when, c.prefix+"C")
		}
		if e.of != nil {
			inner := placement{prefix: c.prefix + e.name, dependsOn: depends, conditions: when, texts: each(e.texts, func(v randomValue) any { return v.flat(c) })}
			for _, flag := range e.flags {
				inner.flags = append(inner.flags, flagArgument(flag, func(n int) any { return c.flags[n] }))
			}
			e.of.write(inner, resources, conditions)
			continue
		}
		properties := jsonObject{}
		for i, v := range e.values {
			properties[fmt.Sprintf("V%d", i)] = v.flat(c)
		}
		r := jsonObject{"Type": "T::T::T", "Properties": properties, "DependsOn": depends}
		if len(when) > 0 {
			all := []any{jsonObject{"Fn::Equals": []any{"a", "a"}}, jsonObject{"Fn::Equals": []any{"a", "a"}}}
			for _, name := range when {
				all = append(all, jsonObject{"Condition": name})
			}
			name := "When" + c.prefix + e.name
			conditions[name], r["Condition"] = jsonObject{"Fn::And": all}, name
		}
		resources[c.prefix+e.name] = r
	}
}

// namedReferences resolve references to something that shows which one it was.
type namedReferences struct{ template.NoReferences }

func (namedReferences) Ref(id string) (any, bool) { return "ref " + id, true }

func (namedReferences) GetAtt(id, attribute string) (any, bool, error) {
	return "att " + id + "." + attribute, true, nil
}

func scopeOf(t *testing.T, text []byte) *template.Scope {
	t.Helper()
	parsed, err := template.Parse("t", text, template.ParseOptions{})
	if err == nil {
		err = parsed.Check(t.Context(), nil)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	bound, err := parsed.Bind(t.Context(), template.BindInput{Supplied: []template.Supplied{{Key: "F0", Value: "yes", HasValue: true}, {Key: "F1", Value: "no", HasValue: true}}})
	if err != nil {
		t.Fatal(err)
	}
	scope, err := parsed.NewScope(template.ScopeInput{Parameters: bound, Pseudo: template.Pseudo{AccountID: "123456789012", Region: "eu-west-1", StackName: "s", StackID: "id"}})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return scope
}

// TestExpandLikeByHand compares expanded templates with those that were written out.
func TestExpandLikeByHand(t *testing.T) {
	for seed := range uint64(400) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
		main := g.part(4, 2, 0)
		types := map[*randomPart]string{}
		for i, p := range g.parts {
			types[p] = fmt.Sprintf("P%d", i)
		}
		modules := shelf{}
		for p, name := range types {
			modules[name] = string(must(t, p.fragment(types)))
		}
		written := must(t, main.fragment(types))
		out, err := Expand(t.Context(), read(t, string(written)), modules, template.NewBudget())
		if err != nil {
			t.Fatalf("seed %d: %v\n%s\n%v", seed, err, written, modules)
		}
		resources, conditions := jsonObject{}, jsonObject{}
		main.write(placement{flags: []any{jsonObject{"Ref": "F0"}, jsonObject{"Ref": "F1"}}}, resources, conditions)
		byHand := must(t, jsonObject{"Parameters": main.fragment(types)["Parameters"], "Resources": resources, "Conditions": conditions})
		if len(resources) > template.MaxResources {
			continue
		}
		compareScopes(t, seed, scopeOf(t, out.Root.AppendJSON(nil)), scopeOf(t, byHand))
		if t.Failed() {
			t.Fatalf("seed %d\n%s\n%v\nexpanded %s\nby hand %s", seed, written, modules, compact(out.Root), byHand)
		}
	}
}

func compareScopes(t *testing.T, seed uint64, got, want *template.Scope) {
	t.Helper()
	if a, b := len(got.Template().Resources), len(want.Template().Resources); a != b {
		t.Errorf("seed %d: %d resources, want %d", seed, a, b)
	}
	for _, w := range want.Template().Resources {
		g := got.Template().Resource(w.LogicalID)
		if g == nil || got.Active(g) != want.Active(w) {
			t.Errorf("seed %d: %s is not there, or under another condition", seed, w.LogicalID)
			continue
		}
		a, errA := got.Properties(g, namedReferences{})
		b, errB := want.Properties(w, namedReferences{})
		if !reflect.DeepEqual(a, b) || (errA == nil) != (errB == nil) {
			t.Errorf("seed %d: %s is %v (%v), want %v (%v)", seed, w.LogicalID, a, errA, b, errB)
		}
		if a, b := got.Needs(g), want.Needs(w); !slices.Equal(a, b) {
			t.Errorf("seed %d: %s needs %v, want %v", seed, w.LogicalID, a, b)
		}
	}
}

func must(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
