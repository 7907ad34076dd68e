package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// The official suite compares models differently (resource_client.py). The core suite also
// fails what it fails, even if the models are the same by the schema. If the official suite
// crashes whatever the handler does, docs/contract.md lists that and nothing is checked here:
// property transforms, and write-only or create-only properties inside of arrays. It does not know
// deprecated properties and the arrayType AttributeList, which are left out of the comparison.

const clauseExplicitNull = "An event leaves members without a value out: an errorCode, callbackDelaySeconds or nextToken of null or \"\" is a value."

// checkMembers looks for members of an event that hold nothing and that the official suite
// takes for a value.
func checkMembers(action invoke.Action, e *invoke.Event) *Violation {
	if e.Reply == nil {
		return nil
	}
	refuse := func(name, value string) *Violation {
		return violated(clauseExplicitNull, "%s answered %s with %s as %s: leave it out", action, e.Status, value, name)
	}
	if code := e.Reply.Get("errorCode"); code != nil && e.ErrorCode == "" && (code.Kind != document.Number) {
		return refuse("errorCode", string(code.AppendJSON(nil)))
	}
	if delay := e.Reply.Get("callbackDelaySeconds"); delay != nil && delay.Kind != document.Number {
		return refuse("callbackDelaySeconds", string(delay.AppendJSON(nil)))
	}
	if token := e.Reply.Get("nextToken"); action == invoke.List && token != nil && token.Kind == document.String && token.Text == "" {
		return violated(clauseList, `LIST answered SUCCESS with "" as nextToken, which asks for another page: leave it out after the last one`)
	}
	return nil
}

// checkNulls looks for nulls in a model.
func checkNulls(action invoke.Action, e *invoke.Event) *Violation {
	if at, found := findNull(e.RawModel, nil); found {
		return violated(clauseNoNull, "%s answered %s with null at %s: leave properties without a value out", action, e.Status, at)
	}
	return nil
}

// officialMismatch compares what was requested with what was returned as the official suite
// does. Both models are the same by the schema. The result is nil if it agrees.
func officialMismatch(s *schema.Schema, requested, returned map[string]any) *Violation {
	if len(s.PropertyTransform) > 0 {
		return nil // which it compares in another language
	}
	want, _ := schema.Without(requested, s.WriteOnly).(map[string]any)
	withoutForeign(s, want, nil)
	got, _ := schema.Without(returned, nil).(map[string]any)
	for _, path := range s.ReadOnly {
		for _, model := range []map[string]any{want, got} {
			if err := officialPrune(model, path.Tokens); err != nil {
				return violated(clauseMatch, "the official suite cannot remove %s, which is read-only, from a model: %s", path.Tokens, err)
			}
		}
	}
	c := officialComparison{schema: s.Root.Any()}
	if at, reason := c.compare(want, got, nil); reason != "" {
		return violated(clauseMatch, "%s: %s", at, reason)
	}
	return nil
}

// withoutForeign removes from a model what the official suite does not know, and the objects in which
// nothing else is.
func withoutForeign(s *schema.Schema, v any, at document.Pointer) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			place := at.Append(key)
			if s.IsAttributeList(place) || s.IsDeprecated(place) {
				delete(v, key)
				continue
			}
			was := isEmpty(value)
			if withoutForeign(s, value, place); isEmpty(value) && !was {
				delete(v, key)
			}
		}
	case []any:
		for _, item := range v {
			withoutForeign(s, item, at.Append("*"))
		}
	}
}

// errIndex is a path through an array without "*" for its items.
var errIndex = errors.New(`a path through an array requires "*" for its items`)

// officialPrune removes what a path names. A path with "*" that cannot be resolved from one item
// removes nothing from any.
func officialPrune(model any, path document.Pointer) error {
	places, err := officialPlaces(model, path, nil)
	if errors.Is(err, errIndex) && !slices.Contains(path, "*") {
		return err
	}
	if err != nil {
		return nil
	}
	for _, at := range slices.Backward(places) {
		if parent, ok := valueAt(model, at[:len(at)-1]).(map[string]any); ok {
			delete(parent, at[len(at)-1])
		}
	}
	return nil
}

func officialPlaces(v any, path, at document.Pointer) ([]document.Pointer, error) {
	if len(path) == 0 {
		return []document.Pointer{at}, nil
	}
	switch v := v.(type) {
	case map[string]any:
		member, ok := v[path[0]]
		if !ok {
			return nil, errors.New("not found")
		}
		return officialPlaces(member, path[1:], at.Append(path[0]))
	case []any:
		if path[0] != "*" {
			return nil, errIndex
		}
		var out []document.Pointer
		for i, item := range v {
			places, err := officialPlaces(item, path[1:], at.Append(strconv.Itoa(i)))
			if err != nil {
				return nil, err
			}
			out = append(out, places...)
		}
		return out, nil
	}
	return nil, errors.New("not found")
}

// An officialComparison compares models as compare_model does.
type officialComparison struct{ schema any }

// compare returns the place of the first difference and a description, "" if the models match.
func (c officialComparison) compare(want, got any, at document.Pointer) (document.Pointer, string) {
	object, ok := want.(map[string]any)
	if !ok {
		if !officialEqual(want, got) {
			return at, "the values differ"
		}
		return nil, ""
	}
	other, ok := got.(map[string]any)
	if !ok && len(object) > 0 {
		return at, "an object was requested and something else returned"
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		place := at.Append(key)
		value, has := other[key]
		if !has {
			return place, "it was requested and not returned"
		}
		switch want := object[key].(type) {
		case map[string]any:
			if place, reason := c.compare(want, value, place); reason != "" {
				return place, reason
			}
		case []any:
			if place, reason := c.collection(want, value, place); reason != "" {
				return place, reason
			}
		default:
			if !officialEqual(want, value) {
				return place, "the values differ"
			}
		}
	}
	return nil, ""
}

// collection compares two arrays. The official suite hashes the items of an unordered one
// unchanged, so that nothing may be added to an item.
func (c officialComparison) collection(want []any, got any, at document.Pointer) (document.Pointer, string) {
	items, ok := got.([]any)
	if !ok || len(items) != len(want) {
		return at, fmt.Sprintf("%d items were requested, and not as many returned", len(want))
	}
	if c.ordered(at) {
		for i := range want {
			if place, reason := c.compare(want[i], items[i], at); reason != "" {
				return place, reason + fmt.Sprintf(" (item %d; the official suite finds no insertionOrder of false for it)", i+1)
			}
		}
		return nil, ""
	}
	hashes := func(items []any) map[string]bool {
		out := map[string]bool{}
		for _, item := range items {
			out[officialHash(item)] = true
		}
		return out
	}
	if !maps.Equal(hashes(want), hashes(items)) {
		return at, "the official suite compares the items of a collection without an order exactly: nothing may be added to an item"
	}
	return nil, ""
}

// ordered reports whether the schema at a place has no insertionOrder of false, as
// traverse_raw_schema finds the schema.
func (c officialComparison) ordered(at document.Pointer) bool {
	root, _ := c.schema.(map[string]any)
	definitions, _ := root["definitions"].(map[string]any)
	node := root["properties"]
	for _, step := range at {
		properties, ok := node.(map[string]any)
		if !ok || properties[step] == nil {
			return true
		}
		node = properties[step]
		direct, isObject := node.(map[string]any)
		if last := slices.Index(at, step) == len(at)-1; last && isObject && direct["$ref"] == nil {
			continue
		}
		if ref := lookupKey(node, "$ref"); ref != nil {
			text, _ := ref.(string)
			if node, ok = definitions[text[strings.LastIndexByte(text, '/')+1:]]; !ok {
				return true
			}
		}
		if inner := lookupKey(node, "properties"); inner != nil {
			node = inner
		}
	}
	found, ok := node.(map[string]any)
	return !ok || found["insertionOrder"] != false
}

// lookupKey finds the value of a key anywhere in a value.
func lookupKey(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		if found, has := v[key]; has {
			return found
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if found := lookupKey(v[name], key); found != nil {
				return found
			}
		}
	case []any:
		for _, item := range v {
			if found := lookupKey(item, key); found != nil {
				return found
			}
		}
	}
	return nil
}

// officialEqual compares as Python does: 1 equals 1.0.
func officialEqual(a, b any) bool { return officialText(a, true) == officialText(b, true) }

// officialHash is what item_hash hashes: arrays inside of items all have the same hash.
func officialHash(v any) string { return officialText(v, false) }

func officialText(v any, equal bool) string {
	switch v := v.(type) {
	case map[string]any:
		var b strings.Builder
		for _, key := range slices.Sorted(maps.Keys(v)) {
			fmt.Fprintf(&b, "%q:%s,", key, officialText(v[key], equal))
		}
		return "{" + b.String() + "}"
	case []any:
		if !equal {
			return "[]"
		}
		var b strings.Builder
		for _, item := range v {
			b.WriteString(officialText(item, equal) + ",")
		}
		return "[" + b.String() + "]"
	case json.Number:
		return numberText(v.String(), equal)
	case string:
		return strconv.Quote(v)
	}
	return fmt.Sprint(v)
}

// numberText writes a number so that numbers which Python takes for the same have the same
// text: whole ones and others apart, unless they are compared by value.
func numberText(text string, equal bool) string {
	if !strings.ContainsAny(text, ".eE") {
		return strings.TrimPrefix(text, "+")
	}
	f, err := strconv.ParseFloat(text, 64)
	if err == nil && equal && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.FormatInt(int64(f), 10)
	}
	return "float " + strconv.FormatFloat(f, 'g', -1, 64)
}
