package stack

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/operation"
	"github.com/formwork-dev/formwork/internal/schema"
	"github.com/formwork-dev/formwork/internal/template"
)

// Pending replaces in a change set a value that is known only after its execution.
const Pending = "{{changeSet:KNOWN_AFTER_APPLY}}"

// A difference is a top-level property that has another value than before.
type difference struct {
	name          string
	change        types.AttributeChangeType
	before, after any
	recreation    types.RequiresRecreation
}

// differences returns the properties that differ, sorted by name. A value that is not known
// yet differs from every other.
func differences(before, after map[string]any, typ *operation.Type) []difference {
	names := maps.Clone(before)
	if names == nil {
		names = map[string]any{}
	}
	maps.Copy(names, after)
	var out []difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := before[name]
		is, has := after[name]
		if had == has && equalValues(was, is) {
			continue
		}
		d := difference{name: name, change: types.AttributeChangeTypeModify, before: was, after: is}
		switch {
		case !had:
			d.change = types.AttributeChangeTypeAdd
		case !has:
			d.change = types.AttributeChangeTypeRemove
		}
		d.recreation = recreation(typ, name, was, is)
		out = append(out, d)
	}
	return out
}

// recreation reports whether a change of a property from one value to another replaces the
// resource.
func recreation(typ *operation.Type, name string, before, after any) types.RequiresRecreation {
	if typ == nil || typ.Schema == nil {
		return types.RequiresRecreationNever
	}
	s := typ.Schema
	switch {
	case s.Handler("update") == nil && len(s.Handlers) > 0,
		touches(s.CreateOnly, name, before, after),
		touches(without(s.PrimaryIdentifier, s.ReadOnly), name, before, after):
		return types.RequiresRecreationAlways
	case touches(s.ConditionalCreateOnly, name, before, after):
		return types.RequiresRecreationConditionally
	}
	return types.RequiresRecreationNever
}

// without returns the paths that are not among others.
func without(paths, others []schema.Path) []schema.Path {
	var out []schema.Path
	for _, p := range paths {
		if !slices.ContainsFunc(others, func(o schema.Path) bool { return slices.Equal(o.Tokens, p.Tokens) }) {
			out = append(out, p)
		}
	}
	return out
}

// touches reports whether the values of a property differ in what one of the paths names.
func touches(paths []schema.Path, name string, before, after any) bool {
	for _, p := range paths {
		if len(p.Tokens) > 0 && p.Tokens[0] == name && !equalValues(below(before, p.Tokens[1:]), below(after, p.Tokens[1:])) {
			return true
		}
	}
	return false
}

// below returns what the tokens of a path name in a value: nil for nothing, a list of what
// each item has where a token is "*". A part that is not known has everything.
func below(v any, tokens []string) any {
	if len(tokens) == 0 || v == template.Unknown {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		if tokens[0] != "*" {
			return below(v[tokens[0]], tokens[1:])
		}
		out := map[string]any{}
		for key, item := range v {
			if found := below(item, tokens[1:]); found != nil {
				out[key] = found
			}
		}
		return out
	case []any:
		rest := tokens
		if tokens[0] == "*" {
			rest = tokens[1:]
		}
		out := []any{}
		for _, item := range v {
			if found := below(item, rest); found != nil {
				out = append(out, found)
			}
		}
		return out
	}
	return nil
}

// equalValues compares as the service does, which keeps all scalars as text: 1 and "1" are
// equal, as are true and "true". What is not known is equal to nothing.
func equalValues(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equalValues)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalValues)
	}
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	left, isText := scalar(a)
	right, bothText := scalar(b)
	return isText && bothText && left == right
}

// scalar returns the text of a scalar.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return v.String(), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case int:
		return strconv.Itoa(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	}
	return "", false
}

// shown returns a value as contexts have it: scalars as text, what is not known as [Pending].
func shown(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = shown(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = shown(item)
		}
		return out
	case nil:
		return nil
	}
	if text, ok := scalar(v); ok {
		return text
	}
	return Pending
}

// shownText is a value in BeforeValue and AfterValue: text unchanged, others as JSON.
func shownText(v any) string {
	switch v := shown(v).(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return jsonText(v)
	}
}

func jsonText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "" // shown values are maps, lists and strings
	}
	return string(data)
}
