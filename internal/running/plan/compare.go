package plan

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
)

// Pending replaces in a change set a value that is known only after its execution.
const Pending = "{{changeSet:KNOWN_AFTER_APPLY}}"

// A Difference is a top-level property that has another value than before.
type Difference struct {
	name          string
	change        types.AttributeChangeType
	before, after any
	Recreation    types.RequiresRecreation
}

// Differences returns the properties that differ, sorted by name. A value that is not known
// yet differs from every other.
func Differences(before, after map[string]any, s *schema.Schema) []Difference {
	names := maps.Clone(before)
	if names == nil {
		names = map[string]any{}
	}
	maps.Copy(names, after)
	var out []Difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := before[name]
		is, has := after[name]
		if had == has && Equal(was, is) {
			continue
		}
		d := Difference{name: name, change: types.AttributeChangeTypeModify, before: was, after: is}
		switch {
		case !had:
			d.change = types.AttributeChangeTypeAdd
		case !has:
			d.change = types.AttributeChangeTypeRemove
		}
		d.Recreation = Recreation(s, name, was, is)
		out = append(out, d)
	}
	return out
}

// Recreation reports whether a change of a property from one value to another replaces the
// resource.
func Recreation(s *schema.Schema, name string, before, after any) types.RequiresRecreation {
	if s == nil {
		return types.RequiresRecreationNever
	}
	switch {
	case s.Handler("update") == nil && len(s.Handlers) > 0,
		touches(s.CreateOnly, name, before, after),
		touches(Without(s.PrimaryIdentifier, s.ReadOnly), name, before, after):
		return types.RequiresRecreationAlways
	case touches(s.ConditionalCreateOnly, name, before, after):
		return types.RequiresRecreationConditionally
	}
	return types.RequiresRecreationNever
}

// Without returns the paths that are not among others.
func Without(paths, others []schema.Path) []schema.Path {
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
		if len(p.Tokens) > 0 && p.Tokens[0] == name && !Equal(Below(before, p.Tokens[1:]), Below(after, p.Tokens[1:])) {
			return true
		}
	}
	return false
}

// Below returns what the tokens of a path name in a value: nil for nothing, a list of what
// each item has where a token is "*". A part that is not known has everything.
func Below(v any, tokens []string) any {
	if len(tokens) == 0 || v == template.Unknown {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		if tokens[0] != "*" {
			return Below(v[tokens[0]], tokens[1:])
		}
		out := map[string]any{}
		for key, item := range v {
			if found := Below(item, tokens[1:]); found != nil {
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
			if found := Below(item, rest); found != nil {
				out = append(out, found)
			}
		}
		return out
	}
	return nil
}

// Equal compares as the service does, which keeps all scalars as text: 1 and "1" are
// equal, as are true and "true". What is not known is equal to nothing.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, Equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	}
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	left, isText := Scalar(a)
	right, bothText := Scalar(b)
	return isText && bothText && left == right
}

// Scalar returns the text of a scalar.
func Scalar(v any) (string, bool) {
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
	if text, ok := Scalar(v); ok {
		return text
	}
	return Pending
}

// ShownText is a value in BeforeValue and AfterValue: text unchanged, others as JSON.
func ShownText(v any) string {
	switch v := shown(v).(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return JSONText(v)
	}
}

// JSONText is a value as JSON for people: & and < are written as they are.
func JSONText(v any) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "" // shown values are maps, lists and strings
	}
	return strings.TrimRight(out.String(), "\n")
}
