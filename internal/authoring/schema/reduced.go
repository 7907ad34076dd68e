package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// Reduced returns the schema for a reader that knows less of JSON Schema: cloudformation-validate, which refuses a whole
// run for a schema with one of the keywords that are left out here. It lists what was left out, with its place.
// References to other places than definitions become definitions.
func (s *Schema) Reduced() (text []byte, leftOut []string) {
	r := &reducer{schema: s, definitions: map[*document.Value]string{}, taken: map[string]bool{}}
	definitions := s.Root.Get("definitions")
	for _, m := range definitions.Distinct() {
		r.taken[m.Key] = true
	}
	root := r.node(s.Root, nil)
	if len(r.made) > 0 {
		all := &document.Value{Kind: document.Object}
		root.Members = slices.DeleteFunc(root.Members, func(m document.Member) bool {
			if m.Key == "definitions" {
				all.Members = append(all.Members, m.Value.Members...)
			}
			return m.Key == "definitions"
		})
		for i := 0; i < len(r.made); i++ { // a definition may make another one
			all.Members = append(all.Members, document.Member{Key: r.definitions[r.made[i]], Value: r.node(r.made[i], document.Pointer{"definitions", r.definitions[r.made[i]]})})
		}
		root.Members = append(root.Members, document.Member{Key: "definitions", Value: all})
	}
	return root.Indented("  "), r.leftOut
}

type reducer struct {
	schema      *Schema
	definitions map[*document.Value]string // new ones, by what they define
	made        []*document.Value
	taken       map[string]bool
	leftOut     []string
}

// node copies a schema without what is left out.
func (r *reducer) node(v *document.Value, at document.Pointer) *document.Value {
	if v.Kind != document.Object {
		return v
	}
	out := &document.Value{Kind: document.Object}
	for _, m := range v.Distinct() {
		here := at.Append(m.Key)
		switch m.Key {
		case "properties", "patternProperties", "definitions":
			m.Value = r.each(m.Value, here)
		case "items", "additionalProperties", "if", "then", "else":
			m.Value = r.node(m.Value, here)
		case "allOf", "anyOf", "oneOf":
			items := &document.Value{Kind: document.Array}
			for i, item := range m.Value.Items {
				items.Items = append(items.Items, r.node(item, here.Append(fmt.Sprint(i))))
			}
			m.Value = items
		case "$ref":
			m.Value = r.reference(v, m.Value)
		case "dependencies":
			m.Value = r.dependencies(m.Value, here)
		case "contains", "propertyNames":
			m.Value = nil
		case "not":
			if keys := m.Value.Distinct(); len(keys) != 1 || keys[0].Key != "enum" {
				m.Value = nil
			}
		}
		if m.Value == nil {
			r.leftOut = append(r.leftOut, here.String())
			continue
		}
		out.Members = append(out.Members, m)
	}
	return out
}

func (r *reducer) each(v *document.Value, at document.Pointer) *document.Value {
	out := &document.Value{Kind: document.Object}
	for _, m := range v.Distinct() {
		m.Value = r.node(m.Value, at.Append(m.Key))
		out.Members = append(out.Members, m)
	}
	return out
}

// dependencies keeps those that are lists of names.
func (r *reducer) dependencies(v *document.Value, at document.Pointer) *document.Value {
	out := &document.Value{Kind: document.Object}
	for _, m := range v.Distinct() {
		if m.Value.Kind != document.Array {
			r.leftOut = append(r.leftOut, at.Append(m.Key).String())
			continue
		}
		out.Members = append(out.Members, m)
	}
	return out
}

// reference is a reference to a definition, nil if the target cannot be found.
func (r *reducer) reference(node, ref *document.Value) *document.Value {
	name, found := strings.CutPrefix(ref.Text, "#/definitions/")
	if found && !strings.ContainsAny(name, "/%~") {
		return ref
	}
	target, err := r.schema.Resolve(node)
	if err != nil || target == nil {
		return nil
	}
	if _, known := r.definitions[target]; !known {
		base := strings.Map(func(c rune) rune {
			if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
				return c
			}
			return -1
		}, ref.Text[strings.Index(ref.Text, "#")+1:])
		name := base
		for i := 2; name == "" || r.taken[name]; i++ {
			name = fmt.Sprintf("%s%d", base, i)
		}
		r.taken[name], r.definitions[target] = true, name
		r.made = append(r.made, target)
	}
	return &document.Value{Kind: document.String, Text: "#/definitions/" + r.definitions[target]}
}
