package typecheck

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// A part is the properties of a resource in one scenario.
type part struct {
	*checker

	resource *template.Resource
	schema   *schema.Schema
	scope    *template.Scope
	value    any
}

// problems returns the violations of the schema, with their places.
func (p *part) problems() diag.List {
	var out diag.List
	for _, v := range Properties(p.schema, p.value) {
		out.Add(p.problem(v))
	}
	p.functions(p.value, nil, &out)
	return append(append(out, p.groups()...), p.annotations()...)
}

// ids are the IDs of the violations, by the keywords of JSON Schema.
var ids = map[string]string{
	"additionalProperties": "unknown-property", "required": "required", "dependencies": "required", "type": "type", "enum": "enum", "const": "enum",
	"pattern": "pattern", "minLength": "length", "maxLength": "length", "minItems": "items", "maxItems": "items", "uniqueItems": "items",
	"contains": "items", "minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number", "multipleOf": "number",
}

// id returns the ID of the violation of a keyword.
func id(keyword string) string {
	if name := ids[keyword]; name != "" {
		return "resource/" + name
	}
	return "resource/combination"
}

func (p *part) problem(v Violation) diag.Problem {
	place := p.scope.Locate(p.resource.Properties, v.Pointer)
	out := diag.Problem{
		ID: id(v.Keyword), At: p.at(place), Message: v.String(),
		Pointer: append(document.Pointer{"Resources", p.resource.LogicalID, "Properties"}, v.Pointer...).String(),
	}
	if v.Keyword == "additionalProperties" && place.Key.Start.Known() && !place.Inside {
		out.At = place.Key
	}
	out.Hint = p.hint(v, place)
	return out
}

// at is the place of a problem: the value or what it is the result of, and of an object or a list its key.
func (p *part) at(place template.Place) diag.Range {
	properties := p.resource.Value.Member("Properties")
	container := place.Value != nil && (place.Value.Kind == document.Object || place.Value.Kind == document.Array) && template.FunctionName(place.Value) == ""
	switch {
	case properties == nil:
		return p.resource.At
	case place.Value == p.resource.Properties && container:
		return properties.KeyAt
	case place.Key.Start.Known() && (container && !place.Branch || place.Value == nil):
		return place.Key
	case place.Value != nil:
		return place.Value.At
	}
	return properties.KeyAt
}

// hint says what to write instead, and quotes the value unless it may be a secret.
func (p *part) hint(v Violation, place template.Place) string {
	switch v.Keyword {
	case "additionalProperties":
		_, hint, _ := strings.Cut(v.Message, ": ")
		return hint
	case "required":
		return fmt.Sprintf("add the property %q", v.Want)
	}
	shown := p.shown(v.Pointer, place)
	hint := strings.TrimSpace(shown + " " + v.Message)
	if text, err := strconv.Unquote(shown); err == nil && v.Keyword == "enum" {
		if near := words.DidYouMean(text, p.schema.Property(v.Pointer).Get("enum").Strings()); near != "" {
			hint += "; " + near
		}
	}
	return hint
}

// shown is a value in a hint, "" for what is not a scalar or may be a secret.
func (p *part) shown(at document.Pointer, place template.Place) string {
	value, found := valueAt(p.value, at)
	if !found || p.schema.IsWriteOnly(at) || p.scope.Hidden(place.Value) || len(template.DynamicReferences(value)) > 0 {
		return ""
	}
	switch v := value.(type) {
	case string:
		return strconv.Quote(diag.Cut(v))
	case json.Number:
		return diag.Cut(v.String())
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// functions reports functions whose results have the wrong type whatever their values are.
func (p *part) functions(value any, at document.Pointer, out *diag.List) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			p.functions(v[key], at.Append(key), out)
		}
		return
	case []any:
		for i, item := range v {
			p.functions(item, at.Append(strconv.Itoa(i)), out)
		}
		p.repeated(v, at, out)
		return
	}
	if value != template.Unknown || p.schema.Property(at) == nil {
		return
	}
	place := p.scope.Locate(p.resource.Properties, at)
	if place.Value == nil || place.Inside {
		return
	}
	var got string
	switch kind := p.result(place.Value); {
	case kind == template.ListResult && !p.schema.Allows(at, "array"):
		got = "array"
	case kind == template.TextResult && !allowsText(p.schema, at):
		got = "string"
	default:
		return
	}
	var want []string
	for _, name := range []string{"string", "integer", "number", "boolean", "array", "object"} {
		if p.schema.Allows(at, name) {
			want = append(want, name)
		}
	}
	v := schema.Violation{Pointer: at.Append(), Keyword: "type", Want: strings.Join(want, ", "), Got: got}
	name := template.FunctionName(place.Value)
	hint := fmt.Sprintf("%s returns a %s here", name, map[string]string{"array": "list", "string": "string"}[got])
	out.Add(diag.Problem{
		ID: "resource/type", At: place.Value.At, Message: v.ServiceText(), Hint: hint,
		Pointer: append(document.Pointer{"Resources", p.resource.LogicalID, "Properties"}, at...).String(),
	})
}

// repeated reports items of a list that are the same function, where the schema wants items to differ.
func (p *part) repeated(items []any, at document.Pointer, out *diag.List) {
	if unique := p.schema.Property(at).Get("uniqueItems"); unique == nil || !unique.Bool {
		return
	}
	seen := map[string]int{}
	for i, item := range items {
		place := p.scope.Locate(p.resource.Properties, at.Append(strconv.Itoa(i)))
		if item != template.Unknown || place.Value == nil || place.Inside {
			continue
		}
		text := string(place.Value.AppendJSON(nil))
		if before, found := seen[text]; found {
			v := schema.Violation{Pointer: at, Keyword: "uniqueItems", Message: fmt.Sprintf("has the same item at indexes %d and %d", before, i)}
			where, words := v.Service()
			out.Add(p.problem(Violation{Violation: v, At: where, Text: words}))
			return
		}
		seen[text] = i
	}
}

// groups reports properties that are missing beside others, or that exclude each other, by keywords that schemas have
// for other tools. CloudFormation does not know them, but the handlers of the types do.
func (p *part) groups() diag.List {
	value, _ := p.value.(map[string]any)
	given := func(names []string) (out []string) {
		for _, name := range names {
			if _, ok := value[name]; ok {
				out = append(out, name)
			}
		}
		return out
	}
	var out diag.List
	add := func(name, format string, args ...any) {
		at := document.Pointer{}
		if name != "" {
			at = at.Append(name)
		}
		place := p.scope.Locate(p.resource.Properties, at)
		where := p.at(place)
		if place.Key.Start.Known() {
			where = place.Key
		}
		out.Add(diag.Problem{
			ID: "resource/group", Severity: diag.Warning, At: where, Message: fmt.Sprintf(format, args...),
			Pointer: append(document.Pointer{"Resources", p.resource.LogicalID, "Properties"}, at...).String(),
		})
	}
	root := p.schema.Root
	if names := root.Get("requiredXor").Strings(); len(names) > 0 && len(given(names)) != 1 {
		add("", "expected exactly one of the properties %s", strings.Join(names, ", "))
	}
	if names := root.Get("requiredOr").Strings(); len(names) > 0 && len(given(names)) == 0 {
		add("", "expected at least one of the properties %s", strings.Join(names, ", "))
	}
	for _, m := range root.Get("dependentRequired").Distinct() {
		if names := m.Value.Strings(); len(given([]string{m.Key})) == 1 && len(given(names)) < len(names) {
			add(m.Key, "the property %s requires %s", m.Key, strings.Join(names, ", "))
		}
	}
	for _, m := range root.Get("dependentExcluded").Distinct() {
		if names := given(m.Value.Strings()); len(given([]string{m.Key})) == 1 && len(names) > 0 {
			add(m.Key, "the property %s excludes %s", m.Key, strings.Join(names, ", "))
		}
	}
	return out
}

// annotations reports properties that CloudFormation ignores or that their publisher gives up.
func (p *part) annotations() diag.List {
	var out diag.List
	for _, a := range []struct {
		paths    []schema.Path
		id, text string
		severity diag.Severity
	}{
		{p.schema.ReadOnly, "read-only", "the property %s is read-only: CloudFormation ignores the value", diag.Warning},
		{p.schema.Deprecated, "deprecated", "the property %s is deprecated", diag.Info},
	} {
		for _, at := range schema.Present(p.value, a.paths) {
			if a.id == "read-only" && (p.schema.IsCreateOnly(at) || len(at) == 1 && slices.Contains(p.schema.Required, at[0])) {
				continue // published schemas list some properties that a template sets
			}
			place := p.scope.Locate(p.resource.Properties, at)
			where := p.at(place)
			if place.Key.Start.Known() {
				where = place.Key
			}
			out.Add(diag.Problem{
				ID: "resource/" + a.id, Severity: a.severity, At: where, Message: fmt.Sprintf(a.text, strings.Join(at, ".")),
				Pointer: append(document.Pointer{"Resources", p.resource.LogicalID, "Properties"}, at...).String(),
			})
		}
	}
	return out
}
