package stacktest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A mismatch is one difference between what was expected and what was found.
type mismatch struct{ Path, Want, Got string }

func (m mismatch) String() string {
	text := fmt.Sprintf("expected %s but got %s", m.Want, m.Got)
	if m.Path != "" {
		text = m.Path + ": " + text
	}
	return text
}

// absent is the value of what is not there.
type absent struct{}

// A matcher compares in another way than values do. It gets the value of its key.
type matcher struct {
	text string
	of   *form
	with func(path string, want, got any) []mismatch
}

var matchers map[string]matcher

func init() {
	yes := text("a matcher", "true")
	matchers = map[string]matcher{
		"$exact": {"The value, with nothing else in it.", expected, exactly},
		"$any": {"Any value.", yes, func(path string, _, got any) []mismatch {
			if _, none := got.(absent); none {
				return []mismatch{{path, "a value", "nothing"}}
			}
			return nil
		}},
		"$absent": {"No value.", yes, func(path string, _, got any) []mismatch {
			if _, none := got.(absent); none {
				return nil
			}
			return []mismatch{{path, "nothing", shown(got)}}
		}},
		"$matches": {"A text that matches a regular expression.", text("$matches"), func(path string, want, got any) []mismatch {
			pattern, text := textOf(want), textOf(got)
			found, err := regexp.Compile(pattern)
			if err == nil && isScalar(got) && found.MatchString(text) {
				return nil
			}
			return []mismatch{{path, "a text that matches " + strconv.Quote(pattern), shown(got)}}
		}},
		"$contains": {"A list with such an item, or a text with this one in it.", expected, contains},
		"$length": {"The length of a list, an object or a text.", text("$length"), func(path string, want, got any) []mismatch {
			n := -1
			switch got := got.(type) {
			case []any:
				n = len(got)
			case map[string]any:
				n = len(got)
			case string:
				n = len([]rune(got))
			}
			if n >= 0 && strconv.Itoa(n) == textOf(want) {
				return nil
			}
			return []mismatch{{path, "the length " + textOf(want), fmt.Sprintf("%s of length %d", shown(got), max(n, 0))}}
		}},
		"$not": {"Anything else than the value.", expected, func(path string, want, got any) []mismatch {
			if match(path, want, got) != nil {
				return nil
			}
			return []mismatch{{path, "anything but " + shown(want), shown(got)}}
		}},
		"$unordered": {"A list in any order.", list("$unordered", expected), unordered},
		"$each": {"A list whose items are all so.", expected, func(path string, want, got any) (out []mismatch) {
			list, ok := got.([]any)
			if !ok {
				return []mismatch{{path, "a list", shown(got)}}
			}
			for i, item := range list {
				out = append(out, match(path+"["+strconv.Itoa(i)+"]", want, item)...)
			}
			return out
		}},
	}
}

// matchers checks the matchers in an expected value.
func (r *reader) matchers(v *document.Value) {
	for _, item := range v.Items {
		r.matchers(item)
	}
	for _, m := range v.Distinct() {
		if strings.HasPrefix(m.Key, "$") {
			switch {
			case matchers[m.Key].with == nil:
				r.add("unknown-key", m.KeyAt, "use "+strings.Join(sortedKeys(matchers), ", "), "there is no matcher %s", m.Key)
			case len(v.Distinct()) > 1:
				r.add("value", m.KeyAt, "use it as the only key of an object", "the matcher %s is beside other keys", m.Key)
			case matchers[m.Key].of != expected && !r.conformed(m.Value, matchers[m.Key].of):
			case m.Key == "$matches":
				pattern, _ := scalar(m.Value)
				if _, err := regexp.Compile(pattern); err != nil {
					r.add("value", m.Value.At, "", "%v", err)
				}
			}
		}
		r.matchers(m.Value)
	}
}

// match compares a value with what is expected: maps are subsets, lists are whole and ordered, scalars are compared as
// CloudFormation does, so that 1 is "1".
func match(path string, want, got any) []mismatch {
	switch want := want.(type) {
	case map[string]any:
		for key, of := range want {
			if m := matchers[key]; m.with != nil && len(want) == 1 {
				return m.with(path, of, got)
			}
		}
		return subset(path, want, got)
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return []mismatch{{path, shown(want), shown(got)}}
		}
		var out []mismatch
		for i := range want {
			out = append(out, match(path+"["+strconv.Itoa(i)+"]", want[i], list[i])...)
		}
		return out
	}
	if want == nil && got == nil || isScalar(got) && isScalar(want) && textOf(want) == textOf(got) {
		return nil
	}
	return []mismatch{{path, shown(want), shown(got)}}
}

func subset(path string, want map[string]any, got any) (out []mismatch) {
	found, ok := got.(map[string]any)
	if !ok {
		return []mismatch{{path, shown(want), shown(got)}}
	}
	for _, key := range sortedKeys(want) {
		var value any = absent{}
		if v, ok := found[key]; ok {
			value = v
		}
		out = append(out, match(joined(path, key), want[key], value)...)
	}
	return out
}

// exactly is match without subsets.
func exactly(path string, want, got any) []mismatch {
	out := match(path, want, got)
	wanted, isObject := want.(map[string]any)
	found, _ := got.(map[string]any)
	for _, key := range sortedKeys(found) {
		if _, ok := wanted[key]; isObject && !ok {
			out = append(out, mismatch{joined(path, key), "nothing", shown(found[key])})
		}
	}
	return out
}

func contains(path string, want, got any) []mismatch {
	switch found := got.(type) {
	case []any:
		if slices.ContainsFunc(found, func(item any) bool { return match("", want, item) == nil }) {
			return nil
		}
	case string:
		if strings.Contains(found, textOf(want)) {
			return nil
		}
	}
	return []mismatch{{path, "something that contains " + shown(want), shown(got)}}
}

func unordered(path string, want, got any) []mismatch {
	wanted, ok := want.([]any)
	found, is := got.([]any)
	if !ok || !is || len(wanted) != len(found) {
		return []mismatch{{path, shown(want) + " in any order", shown(got)}}
	}
	by := make([]int, len(found)) // which wanted item each of them is for, from 1
	var place func(w int, tried []bool) bool
	place = func(w int, tried []bool) bool {
		for i, item := range found {
			if tried[i] || match("", wanted[w], item) != nil {
				continue
			}
			tried[i] = true
			if by[i] == 0 || place(by[i]-1, tried) { // the other wanted item may have another place
				by[i] = w + 1
				return true
			}
		}
		return false
	}
	for w := range wanted {
		if !place(w, make([]bool, len(found))) {
			return []mismatch{{path, shown(want) + " in any order", shown(got)}}
		}
	}
	return nil
}

func isScalar(v any) bool {
	switch v.(type) {
	case string, bool, json.Number, float64, int, int64:
		return true
	}
	return false
}

// textOf is a scalar as CloudFormation compares it.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case nil, absent:
		return ""
	}
	return fmt.Sprint(v)
}

// maxShown bounds a value in a message, in bytes.
const maxShown = 300

// shown is a value as a message has it.
func shown(v any) string {
	if _, none := v.(absent); none {
		return "nothing"
	}
	text, err := encode(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return text
}

func joined(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
