package simulate

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/proving/sample"
)

// Bounds of what is made for one resource: how deep objects and references between properties go, and how many values.
const (
	maxDepth  = 8
	maxValues = 2000
)

// value makes up the value of a property, nil if nothing fits the schema.
func (m *maker) value(at document.Pointer) any { return m.make(m.typ.Property(at), at) }

// make makes up a value: by its form, else by what the schema says.
func (m *maker) make(node *document.Value, at document.Pointer) any {
	if m.budget--; m.budget < 0 || m.depth >= maxDepth {
		return nil
	}
	m.depth++
	making := m.making
	m.making = at.String()
	defer func() { m.depth--; m.making = making }()
	if form := formOf(m.request.Type, at); form != "" {
		if value := m.formed(node, form); value != nil && m.fits(value, node) {
			return value
		}
	}
	if node == nil {
		return nil
	}
	value := m.bySchema(node, at)
	if value == nil || !m.fits(value, node) {
		value = m.sampled(node)
	}
	return value
}

// formed is a form as a value of the type that the schema has.
func (m *maker) formed(node *document.Value, form string) any {
	switch kindOf(node) {
	case "array":
		return m.members(form)
	case "integer", "number":
		return json.Number(m.expand(form))
	}
	if text := m.expand(form); text != "" {
		return text
	}
	return nil
}

// fits reports whether the schema accepts a value.
func (m *maker) fits(value any, node *document.Value) bool {
	return node == nil || len(m.typ.Check(value, schema.CheckConfig{Node: node})) == 0
}

func (m *maker) bySchema(node *document.Value, at document.Pointer) any {
	if value := node.Get("const"); value != nil {
		return value.Any()
	}
	if enum := node.Get("enum"); enum != nil && len(enum.Items) > 0 {
		return settled(enum.Items)
	}
	switch kindOf(node) {
	case "string":
		return m.text(node, at)
	case "integer", "number":
		return m.number(node, at)
	case "boolean":
		return false
	case "array":
		return m.list(node, at)
	case "object":
		return m.object(node, at)
	}
	return nil
}

// settledStates are the states of a resource at rest, the more usual ones first.
var settledStates = []string{"ACTIVE", "AVAILABLE", "ENABLED", "CREATED", "COMPLETE", "COMPLETED", "RUNNING", "READY", "SUCCEEDED", "SUCCESS", "IN_SERVICE"}

// settled is the value of an enumeration that a resource at rest has, else the first one.
func settled(values []*document.Value) any {
	for _, state := range settledStates {
		for _, value := range values {
			if text := strings.ReplaceAll(value.Text, "-", "_"); value.Kind == document.String && strings.EqualFold(text, state) {
				return value.Any()
			}
		}
	}
	return values[0].Any()
}

func (m *maker) number(node *document.Value, at document.Pointer) any {
	value := 1
	if strings.HasSuffix(at[len(at)-1], "Port") {
		value = 443
	}
	if bound := node.Get("minimum"); bound != nil {
		if n, err := strconv.Atoi(bound.Text); err == nil {
			value = max(value, n)
		}
	}
	if bound := node.Get("maximum"); bound != nil {
		if n, err := strconv.Atoi(bound.Text); err == nil {
			value = min(value, n)
		}
	}
	return json.Number(strconv.Itoa(value))
}

// list has as many members as the input that ends in "Count" says, else as few as are allowed, but one.
func (m *maker) list(node *document.Value, at document.Pointer) any {
	count := 1
	if least := node.Get("minItems"); least != nil {
		if n, ok := integer(least); ok {
			count = min(max(n, 1), maxMembers)
		}
	}
	name := at[len(at)-1]
	for _, singular := range []string{strings.TrimSuffix(name, "s"), strings.TrimSuffix(name, "es")} {
		if _, set := m.model[singular+"Count"]; set && singular != name {
			count = m.count(singular + "Count")
		}
	}
	items, err := m.typ.Resolve(node.Get("items"))
	out := []any{}
	if err != nil || items == nil || items.Kind != document.Object {
		return out
	}
	for range count {
		if member := m.make(items, at.Append("*")); member != nil {
			out = append(out, member)
		}
	}
	return out
}

// object has all properties that it can have.
func (m *maker) object(node *document.Value, at document.Pointer) any {
	out := map[string]any{}
	for _, property := range node.Get("properties").Distinct() {
		child, err := m.typ.Resolve(property.Value)
		if err != nil {
			continue
		}
		if value := m.make(child, at.Append(property.Key)); value != nil {
			out[property.Key] = value
		}
	}
	return out
}

// sampled is the last resort: the least that a complicated schema accepts.
func (m *maker) sampled(node *document.Value) any {
	made, err := sample.New(m.typ, sample.Config{Seed: m.seed(m.purpose()), ReadOnly: true, Profile: sample.Minimal}).Value(node)
	if err != nil {
		return nil
	}
	return made
}

// kindOf is the type of a value that a schema accepts, "" if it says none.
func kindOf(node *document.Value) string {
	kind := node.Get("type")
	switch {
	case kind == nil && node.Get("properties") != nil:
		return "object"
	case kind == nil && (node.Get("pattern") != nil || node.Get("format") != nil):
		return "string"
	case kind == nil:
		return ""
	case kind.Kind == document.String:
		return kind.Text
	}
	for _, one := range kind.Items {
		if one.Text != "null" {
			return one.Text
		}
	}
	return ""
}
