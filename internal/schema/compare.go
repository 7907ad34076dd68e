package schema

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/formwork-dev/formwork/internal/document"
)

// A Difference is one place where two models differ.
type Difference struct {
	Pointer   document.Pointer
	Kind      string // "missing", "extra" or "changed", of what was got
	Want, Got any    // nil for the side that has nothing there
}

// String reads: /Tags/1/Value: requested "a", returned nothing.
func (d Difference) String() string {
	side := func(v any, nothing bool) string {
		if nothing {
			return "nothing"
		}
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(text)
	}
	return fmt.Sprintf("%s: requested %s, returned %s", d.Pointer,
		side(d.Want, d.Kind == "extra"), side(d.Got, d.Kind == "missing"))
}

// CompareConfig says what counts as a difference. The zero CompareConfig wants equality.
type CompareConfig struct {
	// AllowExtra lets objects of the second model have keys that the first has not.
	AllowExtra bool
}

// Compare lists where the second model differs from the first.
func (s *Schema) Compare(want, got any, cfg CompareConfig) []Difference {
	c := &comparison{schema: s, cfg: cfg}
	return c.compare(want, got, []*document.Value{s.Root}, nil)
}

type comparison struct {
	schema *Schema
	cfg    CompareConfig
}

func (c *comparison) compare(want, got any, nodes []*document.Value, at document.Pointer) []Difference {
	var out []Difference
	expanded := c.schema.expand(nodes...)
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		for _, key := range sortedKeys(w) {
			if value, found := g[key]; found {
				out = append(out, c.compare(w[key], value, c.schema.step(expanded, key), at.Append(key))...)
			} else {
				out = append(out, Difference{Pointer: at.Append(key), Kind: "missing", Want: w[key]})
			}
		}
		if !c.cfg.AllowExtra {
			for _, key := range sortedKeys(g) {
				if _, found := w[key]; !found {
					out = append(out, Difference{Pointer: at.Append(key), Kind: "extra", Got: g[key]})
				}
			}
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok {
			break
		}
		items := c.schema.step(expanded, "*")
		for i, item := range w {
			if i < len(g) {
				out = append(out, c.compare(item, g[i], items, at.Append(strconv.Itoa(i)))...)
			} else {
				out = append(out, Difference{Pointer: at.Append(strconv.Itoa(i)), Kind: "missing", Want: item})
			}
		}
		for i := len(w); i < len(g); i++ {
			out = append(out, Difference{Pointer: at.Append(strconv.Itoa(i)), Kind: "extra", Got: g[i]})
		}
		return out
	}
	a, isNumber := decimalOf(want)
	b, both := decimalOf(got)
	if isNumber && both {
		if a.compare(b) == 0 {
			return nil
		}
	} else if !isNumber && !both && scalar(want) && scalar(got) && want == got {
		return nil
	}
	return []Difference{{Pointer: at, Kind: "changed", Want: want, Got: got}}
}

func scalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}
