package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A Difference is one place where two models differ.
type Difference struct {
	Pointer   document.Pointer // into the model that was wanted; of extra items into the other
	Kind      string           // "missing", "extra" or "changed", of what was got
	Want, Got any              // nil for the side that has nothing there
}

// String reads: /Tags/1/Value: requested "a", returned nothing.
func (d Difference) String() string {
	at := d.Pointer.String()
	if at == "" {
		at = "the model"
	}
	want, got := jsonText(d.Want), jsonText(d.Got)
	switch d.Kind {
	case "missing":
		got = "nothing"
	case "extra":
		want = "nothing"
	}
	return fmt.Sprintf("%s: requested %s, returned %s", at, want, got)
}

// CompareConfig defines what counts as a difference. The zero CompareConfig requires equality.
type CompareConfig struct {
	// AllowExtra compares what was requested with what a service returns. Objects of the second
	// model, at any depth, may have keys that the first has not: a service fills in defaults. So
	// may arrays of the arrayType AttributeList have more items, which are compared in any order;
	// extra items of other arrays are differences. Deprecated properties may be missing.
	AllowExtra bool

	// Alike, if set, is called for the places of the first model where the models differ, the
	// inner ones first, but not for items that only one of them has. got is nil where the
	// second model has nothing; equal compares got with another value than the wanted one, by
	// the schema of the place. The first result makes got count as equal, the second makes all
	// differences at the place one difference.
	Alike func(at document.Pointer, got any, equal func(want any) bool) (alike, whole bool)
}

// Compare lists where the second model differs from the first, in the order of the first.
//
// Numbers are compared by value (1 is 1.0, and not true), objects by their keys. A key with
// null counts as absent: a model has no nulls. The items of an array are compared in order,
// unless the schema declares that their order does not matter (insertionOrder false, beside a
// $ref or at its target): then each wanted item needs a distinct match among the actual items,
// in any order; if items are also unique, duplicates do not count. That applies at any depth.
//
// Unordered items that are alike but not equal are shown as changed items, in the way
// that needs the fewest words; for very large arrays as missing and extra ones.
func (s *Schema) Compare(want, got any, cfg CompareConfig) []Difference {
	c := &comparison{schema: s, extra: cfg.AllowExtra, alike: cfg.Alike}
	return c.compare(want, got, s.scope(), nil)
}

// A comparison is bounded: pairing unordered items takes quadratic time, so once budget
// comparisons are spent, arrays are only paired by equality.
type comparison struct {
	schema *Schema
	extra  bool
	alike  func(document.Pointer, any, func(any) bool) (alike, whole bool)
	spent  int
}

const compareBudget = 1 << 20

// A scope is what the schema says about one place of a model. It remembers what it says
// about the places below.
type scope struct {
	nodes             []*document.Value
	unordered, unique bool
	attributes        bool // an array of the arrayType AttributeList

	known map[string]*scope
}

// scope is what the schema says about the whole model.
func (s *Schema) scope() *scope { return &scope{nodes: s.expand(s.Root)} }

// nothing is the scope of what the schema does not mention.
var nothing = &scope{}

// below descends into one key, or with "*" into one item.
func (s *Schema) below(in *scope, token string) *scope {
	if len(in.nodes) == 0 {
		return nothing
	}
	if out := in.known[token]; out != nil {
		return out
	}
	var raw []*document.Value
	s.children(in.nodes, token, func(node *document.Value) { raw = append(raw, node) })
	if len(raw) == 0 {
		return nothing
	}
	out := &scope{nodes: s.expand(raw...)}
	for _, node := range slices.Concat(raw, out.nodes) { // next to a $ref too: it is not a validation
		out.unordered = out.unordered || isBool(node.Get("insertionOrder"), false)
		out.unique = out.unique || isBool(node.Get("uniqueItems"), true)
		out.attributes = out.attributes || isAttributeList(node)
	}
	if in.known == nil {
		in.known = map[string]*scope{}
	}
	in.known[token] = out
	return out
}

// agree reports whether an object has a key without a difference. The differences' pointers
// continue below the object after depth tokens.
func agree(want map[string]any, found []Difference, depth int) bool {
	differ := map[string]bool{}
	for _, d := range found {
		if len(d.Pointer) <= depth {
			return false
		}
		if _, wanted := want[d.Pointer[depth]]; wanted {
			differ[d.Pointer[depth]] = true
		}
	}
	return len(differ) < len(want)
}

func isAttributeList(node *document.Value) bool {
	kind := node.Get("arrayType")
	return kind != nil && kind.Kind == document.String && kind.Text == "AttributeList"
}

func isBool(v *document.Value, want bool) bool {
	return v != nil && v.Kind == document.Bool && v.Bool == want
}

func (c *comparison) compare(want, got any, in *scope, at document.Pointer) []Difference {
	out := c.compareValues(want, got, in, at)
	if len(out) == 0 {
		return nil
	}
	return c.ask(Difference{Pointer: at, Kind: "changed", Want: want, Got: got}, out, in)
}

// ask lets the caller ignore the differences at a place, or make them one.
func (c *comparison) ask(place Difference, found []Difference, in *scope) []Difference {
	if c.alike == nil {
		return found
	}
	plain := &comparison{schema: c.schema, extra: c.extra}
	alike, whole := c.alike(place.Pointer, place.Got, func(want any) bool {
		plain.spent = c.spent
		differs := place.Got == nil || len(plain.compare(c.schema.recast(want, in), place.Got, in, place.Pointer)) > 0
		c.spent = plain.spent
		return !differs
	})
	switch {
	case alike:
		return nil
	case whole:
		return []Difference{place}
	}
	return found
}

func (c *comparison) compareValues(want, got any, in *scope, at document.Pointer) []Difference {
	c.spent++
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			return c.compareObjects(w, g, in, at)
		}
	case []any:
		if g, ok := got.([]any); ok && (in.unordered || c.extra && in.attributes) {
			return c.compareSets(w, g, in, at)
		} else if ok {
			return c.compareLists(w, g, in, at)
		}
	default:
		if sameScalar(want, got) {
			return nil
		}
	}
	return []Difference{{Pointer: at, Kind: "changed", Want: want, Got: got}}
}

// sameScalar compares two values of which the first is not an object and no array.
func sameScalar(want, got any) bool {
	switch want.(type) {
	case nil, bool, string:
		switch got.(type) {
		case nil, bool, string:
			return want == got
		}
		return false
	}
	a, ok := decimalOf(want)
	b, both := decimalOf(got)
	return ok && both && a.compare(b) == 0
}

func (c *comparison) compareObjects(want, got map[string]any, in *scope, at document.Pointer) []Difference {
	var out []Difference
	for _, key := range sortedKeys(want) {
		if want[key] == nil {
			if got[key] != nil && !c.extra {
				out = append(out, Difference{Pointer: at.Append(key), Kind: "extra", Got: got[key]})
			}
			continue
		}
		if got[key] == nil {
			if c.extra && c.deprecated(want[key], at.Append(key)) {
				continue
			}
			missing := Difference{Pointer: at.Append(key), Kind: "missing", Want: want[key]}
			out = append(out, c.ask(missing, []Difference{missing}, c.schema.below(in, key))...)
			continue
		}
		out = append(out, c.compare(want[key], got[key], c.schema.below(in, key), at.Append(key))...)
	}
	if c.extra {
		return out
	}
	for _, key := range sortedKeys(got) {
		if _, wanted := want[key]; !wanted && got[key] != nil {
			out = append(out, Difference{Pointer: at.Append(key), Kind: "extra", Got: got[key]})
		}
	}
	return out
}

// deprecated reports whether a value is deprecated, or an object in which everything is.
func (c *comparison) deprecated(v any, at document.Pointer) bool {
	if c.schema.IsDeprecated(at) {
		return true
	}
	object, _ := v.(map[string]any)
	for key, value := range object {
		if !c.deprecated(value, at.Append(key)) {
			return false
		}
	}
	return len(object) > 0
}

func (c *comparison) compareLists(want, got []any, in *scope, at document.Pointer) []Difference {
	var out []Difference
	items := c.schema.below(in, "*")
	for i, item := range want {
		place := at.Append(strconv.Itoa(i))
		if i < len(got) {
			out = append(out, c.compare(item, got[i], items, place)...)
		} else {
			out = append(out, Difference{Pointer: place, Kind: "missing", Want: item})
		}
	}
	for i := len(want); i < len(got); i++ {
		out = append(out, Difference{Pointer: at.Append(strconv.Itoa(i)), Kind: "extra", Got: got[i]})
	}
	return out
}

// compareSets pairs unordered items: first equal ones, then, if extra keys are allowed, those
// that fit; then it reports the rest with the best pairs that it finds.
func (c *comparison) compareSets(want, got []any, in *scope, at document.Pointer) []Difference {
	items := c.schema.below(in, "*")
	wanted, found := c.pairEqual(want, got, items, in.unique)
	if c.extra && len(wanted) > 0 && len(found) > 0 {
		wanted, found = c.pairFitting(want, got, wanted, found, items, at)
	}
	out := c.describe(want, got, wanted, found, items, at)
	if c.extra && in.attributes {
		out = slices.DeleteFunc(out, func(d Difference) bool { return d.Kind == "extra" && len(d.Pointer) == len(at)+1 })
	}
	return out
}

// pairEqual takes equal items away and returns the indexes of the others.
func (c *comparison) pairEqual(want, got []any, items *scope, unique bool) (wanted, found []int) {
	places := map[string][]int{}
	seen := map[string]bool{}
	for i, item := range got {
		key := string(c.key(nil, item, items))
		if unique && len(places[key]) > 0 {
			continue
		}
		places[key] = append(places[key], i)
	}
	for i, item := range want {
		key := string(c.key(nil, item, items))
		if unique && seen[key] {
			continue
		}
		seen[key] = true
		if rest := places[key]; len(rest) > 0 {
			places[key] = rest[1:]
			continue
		}
		wanted = append(wanted, i)
	}
	for _, rest := range places {
		found = append(found, rest...)
	}
	slices.Sort(found)
	return wanted, found
}

// key is [canonical] by the schema: unordered arrays in the order of their items' keys,
// members with null left out.
func (c *comparison) key(b []byte, v any, in *scope) []byte {
	c.spent++
	switch v := v.(type) {
	case []any:
		items := c.schema.below(in, "*")
		keys := make([]string, len(v))
		for i, item := range v {
			keys[i] = string(c.key(nil, item, items))
		}
		if in.unordered {
			slices.Sort(keys)
			if in.unique {
				keys = slices.Compact(keys)
			}
		}
		b = append(b, '[')
		for _, key := range keys {
			b = append(append(b, key...), ',')
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for _, key := range sortedKeys(v) {
			if v[key] != nil {
				b = append(appendCanonical(b, key), ':')
				b = append(c.key(b, v[key], c.schema.below(in, key)), ',')
			}
		}
		return append(b, '}')
	}
	return appendCanonical(b, v)
}

// pairFitting finds the largest number of pairs in which the actual item matches the wanted
// one, and returns the unpaired items. An item may match several, so existing pairs are
// changed when that allows more (augmenting paths).
func (c *comparison) pairFitting(want, got []any, wanted, found []int, items *scope, at document.Pointer) (restWanted, restFound []int) {
	if len(wanted)*len(found) > compareBudget || c.spent > compareBudget {
		return wanted, found
	}
	fits := make([][]int, len(wanted))
	for a, i := range wanted {
		for b, j := range found {
			if c.spent > compareBudget {
				return wanted, found
			}
			if len(c.compare(want[i], got[j], items, at.Append(strconv.Itoa(i)))) == 0 {
				fits[a] = append(fits[a], b)
			}
		}
	}
	partner := make([]int, len(found)) // of each found item, 1 + the wanted one
	for a := range wanted {
		augment(a, fits, partner, make([]bool, len(found)))
	}
	taken := make([]bool, len(wanted))
	for b, a := range partner {
		if a == 0 {
			restFound = append(restFound, found[b])
		} else {
			taken[a-1] = true
		}
	}
	for a, i := range wanted {
		if !taken[a] {
			restWanted = append(restWanted, i)
		}
	}
	return restWanted, restFound
}

func augment(a int, fits [][]int, partner []int, tried []bool) bool {
	for _, b := range fits[a] {
		if tried[b] {
			continue
		}
		tried[b] = true
		if partner[b] == 0 || augment(partner[b]-1, fits, partner, tried) {
			partner[b] = a + 1
			return true
		}
	}
	return false
}

// maxAlike bounds how many items that stayed alone are compared with each other.
const maxAlike = 16

// describe reports the unpaired items of two unordered arrays: objects that have something in
// common as changed, everything else as missing and extra.
func (c *comparison) describe(want, got []any, wanted, found []int, items *scope, at document.Pointer) []Difference {
	var out []Difference
	used := map[int]bool{}
	for _, i := range wanted {
		place := at.Append(strconv.Itoa(i))
		best, least := -1, []Difference(nil)
		if w, ok := want[i].(map[string]any); ok && len(wanted) <= maxAlike && len(found) <= maxAlike && c.spent < compareBudget {
			for _, j := range found {
				if used[j] {
					continue
				}
				d := c.compare(want[i], got[j], items, place)
				if agree(w, d, len(place)) && (best < 0 || len(d) < len(least)) {
					best, least = j, d
				}
			}
		}
		if best < 0 {
			out = append(out, Difference{Pointer: place, Kind: "missing", Want: want[i]})
			continue
		}
		used[best] = true
		out = append(out, least...)
	}
	for _, j := range found {
		if !used[j] {
			out = append(out, Difference{Pointer: at.Append(strconv.Itoa(j)), Kind: "extra", Got: got[j]})
		}
	}
	return out
}

func jsonText(v any) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // people read it
	if encoder.Encode(v) != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(out.String(), "\n")
}
