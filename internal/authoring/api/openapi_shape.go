package api

import (
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// undescribed is why a shape is any object.
const undescribed = "its members are not described"

// shape reads a schema. Shapes that refer to themselves are made once.
func (r *openapiReader) shape(v *document.Value, name string, depth int) *Shape {
	to, refName := r.follow(v)
	if to == nil || to.Kind != document.Object {
		return &Shape{}
	}
	if refName != "" {
		name = refName
	}
	if known := r.shapes[to]; known != nil {
		return known
	}
	out := &Shape{Name: name, Doc: to.Get("description").Str(), Nullable: nullable(to)}
	r.shapes[to] = out
	if r.members > maxMembers || depth > maxMerge*8 {
		out.Refused = "it is nested too deeply"
		return out
	}
	r.fill(out, to, depth)
	return out
}

// nullable reports whether a schema allows null beside other values.
func nullable(v *document.Value) bool {
	if v.Get("nullable").IsTrue() || slices.Contains(v.Get("type").Strings(), "null") {
		return true
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		if list := v.Get(key); list != nil && len(nonNull(list.Items)) < len(list.Items) {
			return true
		}
	}
	return false
}

// exampleOf is the first example of a schema, or nil.
func exampleOf(v *document.Value) *document.Value {
	if v.Get("example") == nil && v.Get("examples") != nil && len(v.Get("examples").Items) > 0 {
		return v.Get("examples").Items[0]
	}
	return v.Get("example")
}

// fill reads a schema into a shape.
func (r *openapiReader) fill(out *Shape, v *document.Value, depth int) {
	if alternatives := r.alternatives(v, 0); alternatives != nil {
		r.fillAlternatives(out, v, alternatives, depth)
		return
	}
	parts := r.parts(v, 0)
	types := typesOf(parts)
	switch {
	case len(types) == 1:
	case hasProperties(parts):
		types = []string{"object"}
	case slices.Contains(types, "string"):
		types = []string{"string"} // string or integer: as text
		out.More = true
	case len(types) == 2 && slices.Contains(types, "integer") && slices.Contains(types, "number"):
		types = []string{"number"}
	case len(types) == 0 && keyword(parts, "items") != nil:
		types = []string{"array"}
	case len(types) == 0 && (keyword(parts, "enum") != nil || keyword(parts, "format") != nil || keyword(parts, "pattern") != nil):
		types = []string{"string"}
	case len(types) == 0 && keyword(parts, "additionalProperties") != nil:
		types = []string{"object"}
	default:
		if len(types) > 1 {
			out.Refused = "its type is one of " + strings.Join(types, ", ")
		}
		return
	}
	switch types[0] {
	case "string":
		out.Kind = String
		r.fillString(out, parts)
	case "integer", "number":
		out.Kind = Integer
		if types[0] == "number" {
			out.Kind = Number
		}
		out.Minimum, out.Maximum = literal(keyword(parts, "minimum")), literal(keyword(parts, "maximum"))
		out.Format = keyword(parts, "format").Str()
	case "boolean":
		out.Kind = Boolean
	case "array":
		out.Kind = List
		out.Item = r.shape(keyword(parts, "items"), "", depth+1)
		out.refuseLoop()
		out.MinLen, out.MaxLen = optional(keyword(parts, "minItems")), optional(keyword(parts, "maxItems"))
		unique := keyword(parts, "uniqueItems")
		out.Unique = unique != nil && unique.Bool
	case "object":
		r.fillObject(out, parts, depth)
	}
}

func (r *openapiReader) fillString(out *Shape, parts []*document.Value) {
	out.Format = keyword(parts, "format").Str()
	switch out.Format {
	case "date-time":
		out.Kind = Timestamp
	case "byte", "binary":
		out.Kind = Blob
	case "password":
		out.Sensitive = true
	}
	out.Pattern = keyword(parts, "pattern").Str()
	out.MinLen, out.MaxLen = optional(keyword(parts, "minLength")), optional(keyword(parts, "maxLength"))
	if enum := keyword(parts, "enum"); enum != nil {
		for _, item := range enum.Items {
			if item.Kind == document.String {
				out.Enum = append(out.Enum, item.Text)
			}
		}
	}
	if only := keyword(parts, "const"); only != nil && only.Kind == document.String {
		out.Enum = []string{only.Text}
	}
}

// fillObject reads properties, or the values of a map.
func (r *openapiReader) fillObject(out *Shape, parts []*document.Value, depth int) {
	out.Kind = Structure
	required := map[string]bool{}
	for _, part := range parts {
		for _, name := range part.Get("required").Strings() {
			required[name] = true
		}
	}
	seen := map[string]bool{}
	for _, part := range parts {
		for _, entry := range part.Get("properties").Distinct() {
			if seen[entry.Key] || entry.Value.Kind != document.Object {
				continue
			}
			seen[entry.Key] = true
			if r.members++; r.members > maxMembers {
				return
			}
			m := r.member(entry, depth)
			m.Required = required[entry.Key]
			out.Members = append(out.Members, m)
		}
	}
	more := keyword(parts, "additionalProperties")
	out.More = more != nil && (more.Kind == document.Object || more.Bool)
	if len(out.Members) > 0 {
		return
	}
	if more == nil || more.Kind != document.Object || len(more.Members) == 0 {
		out.Kind = Any
		out.Refused = undescribed
		return
	}
	out.Kind, out.Item = Map, r.shape(more, "", depth+1)
	out.refuseLoop()
	out.MinLen, out.MaxLen = optional(keyword(parts, "minProperties")), optional(keyword(parts, "maxProperties"))
}

func (r *openapiReader) member(entry document.Member, depth int) *Member {
	m := &Member{Name: entry.Key, Wire: entry.Key, At: entry.KeyAt, Shape: r.shape(entry.Value, "", depth+1)}
	to, _ := r.follow(entry.Value)
	for _, v := range append([]*document.Value{entry.Value}, r.parts(to, 0)...) {
		m.ReadOnly = m.ReadOnly || v.Get("readOnly").IsTrue()
		m.WriteOnly = m.WriteOnly || v.Get("writeOnly").IsTrue()
		m.Deprecated = m.Deprecated || v.Get("deprecated").IsTrue()
		if m.Doc == "" {
			m.Doc = v.Get("description").Str()
		}
		if d := v.Get("default"); m.Default == nil && d != nil && d.Kind != document.Null {
			m.Default = d
		}
		if m.Example == nil {
			m.Example = exampleOf(v)
		}
	}
	m.Sensitive = m.Shape.Sensitive
	return m
}

// parts are the schemas that apply at the same time: those of allOf, then the schema itself.
func (r *openapiReader) parts(v *document.Value, depth int) []*document.Value {
	if v == nil || depth > maxMerge {
		return nil
	}
	var out []*document.Value
	for _, key := range []string{"allOf", "oneOf", "anyOf"} {
		list := v.Get(key)
		if list == nil || key != "allOf" && len(nonNull(list.Items)) != 1 {
			continue
		}
		for _, item := range nonNull(list.Items) {
			to, _ := r.follow(item)
			for _, part := range r.parts(to, depth+1) {
				if len(out) < 1000 && !slices.Contains(out, part) {
					out = append(out, part)
				}
			}
		}
	}
	return append(out, v)
}

// nonNull leaves out the schema that allows null.
func nonNull(items []*document.Value) (out []*document.Value) {
	for _, item := range items {
		if item.Get("type").Str() != "null" {
			out = append(out, item)
		}
	}
	return out
}

// alternatives are the schemas of oneOf and anyOf, nil unless there are at least two that are objects.
func (r *openapiReader) alternatives(v *document.Value, depth int) []*document.Value {
	for _, key := range []string{"oneOf", "anyOf"} {
		list := v.Get(key)
		if list == nil {
			continue
		}
		switch items := nonNull(list.Items); {
		case len(items) > 1:
			return items
		case len(items) == 1 && depth < maxMerge: // it may be one of several in turn
			if to, _ := r.follow(items[0]); to != nil {
				return r.alternatives(to, depth+1)
			}
		}
	}
	return nil
}

// fillAlternatives reads a value that is one of several: objects are merged into one that requires only
// what all of them require, simple values into text.
func (r *openapiReader) fillAlternatives(out *Shape, v *document.Value, alternatives []*document.Value, depth int) {
	var kinds []Kind
	var shapes []*Shape
	for _, item := range alternatives {
		s := r.shape(item, "", depth+1)
		shapes = append(shapes, s)
		if !slices.Contains(kinds, s.Kind) {
			kinds = append(kinds, s.Kind)
		}
	}
	simple := func(k Kind) bool { return k >= Boolean && k <= Timestamp }
	switch {
	case len(kinds) == 1 && kinds[0] == Structure:
		out.Kind = Structure
		seen := map[string]bool{}
		if own := r.ownMembers(v, depth); own != nil {
			out.More = own.More
			out.Members = append(out.Members, own.Members...)
			for _, m := range own.Members {
				seen[m.Name] = true
			}
		}
		for _, s := range shapes {
			out.More = out.More || s.More
			for _, m := range s.Members {
				if seen[m.Name] {
					continue
				}
				seen[m.Name] = true
				if r.members++; r.members > maxMembers {
					return
				}
				common := *m
				common.Required = !slices.ContainsFunc(shapes, func(s *Shape) bool { return s.Member(m.Name) == nil || !s.Member(m.Name).Required })
				out.Members = append(out.Members, &common)
			}
		}
	case len(kinds) == 1 && simple(kinds[0]):
		out.Kind = kinds[0]
		for _, s := range shapes {
			out.Enum = append(out.Enum, s.Enum...)
		}
		if slices.ContainsFunc(shapes, func(s *Shape) bool { return len(s.Enum) == 0 }) {
			out.Enum = nil
		}
	case !slices.ContainsFunc(kinds, func(k Kind) bool { return !simple(k) }) && slices.Contains(kinds, String):
		out.Kind, out.More = String, true
	default:
		out.Refused = "it is one of several types"
	}
}

// ownMembers are the properties that stand next to oneOf or anyOf; nil if there are none.
func (r *openapiReader) ownMembers(v *document.Value, depth int) *Shape {
	parts := r.parts(v, 0)
	if !hasProperties(parts) {
		return nil
	}
	out := &Shape{}
	r.fillObject(out, parts, depth)
	return out
}

func typesOf(parts []*document.Value) (out []string) {
	add := func(t string) {
		if t != "" && t != "null" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	for _, part := range parts {
		add(part.Get("type").Str())
		for _, t := range part.Get("type").Strings() {
			add(t)
		}
	}
	return out
}

func hasProperties(parts []*document.Value) bool {
	return slices.ContainsFunc(parts, func(v *document.Value) bool {
		p := v.Get("properties")
		return p != nil && len(p.Members) > 0
	})
}

// keyword is the value of the last part that has it: the schema itself decides.
func keyword(parts []*document.Value, key string) *document.Value {
	for _, part := range slices.Backward(parts) {
		if v := part.Get(key); v != nil {
			return v
		}
	}
	return nil
}
