package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/document"
	"github.com/formwork-dev/formwork/internal/schema"
)

// A generator makes models that a schema accepts, the same ones for the same seed. All
// properties that an input may have are present, also those that are not required, except
// where a choice between branches or a schema that contains itself forbids it.
type generator struct {
	schema *schema.Schema
	random *rand.Rand
	update bool              // leave create-only properties out
	inside []*document.Value // the schemas around the current one
}

// newGenerator makes a generator. Different names give different models for one seed.
func newGenerator(s *schema.Schema, seed uint64, name string) *generator {
	h := fnv.New64a()
	h.Write([]byte(name))
	return &generator{schema: s, random: rand.New(rand.NewPCG(seed, h.Sum64()))}
}

// A GenerateError says that no input can be made for a property.
type GenerateError struct {
	Pointer document.Pointer // of the property in the model
	Reason  string
}

func (e *GenerateError) Error() string {
	at := e.Pointer.String()
	if at == "" {
		at = "the resource as a whole"
	}
	return fmt.Sprintf("no input can be generated for %s: %s; write inputs/inputs_1_create.json and inputs/inputs_1_update.json", at, e.Reason)
}

// errRecursion ends the generation of a schema within itself.
var errRecursion = errors.New("it contains itself")

// attempts is how often a value is made anew when chance has made one that does not fit.
const attempts = 50

// model makes an input for a create, or for an update without what only a create may set.
func (g *generator) model(update bool) (map[string]any, error) {
	g.update = update
	var last error
	for range attempts {
		value, err := g.object(g.schema.Root, nil)
		if err != nil {
			return nil, err
		}
		if last = g.check(value); last == nil {
			return value, nil
		}
	}
	return nil, last
}

// check holds a generated model against the whole schema. Parts of an update are absent
// on purpose, so that only its values are checked.
func (g *generator) check(model map[string]any) error {
	for _, v := range g.schema.Check(model, schema.CheckConfig{Shape: g.update}) {
		return &GenerateError{Pointer: v.Pointer, Reason: fmt.Sprintf("what was tried breaks %s: %s", v.Keyword, v.Message)}
	}
	return nil
}

func (g *generator) fault(at document.Pointer, format string, args ...any) error {
	return &GenerateError{Pointer: at, Reason: fmt.Sprintf(format, args...)}
}

// value makes a value for a schema.
func (g *generator) value(node *document.Value, at document.Pointer) (any, error) {
	node, err := g.schema.Resolve(node)
	if err != nil {
		return nil, g.fault(at, "%s", err)
	}
	if around := occurrences(g.inside, node); around > 1 || len(g.inside) > 40 {
		return nil, errRecursion
	}
	g.inside = append(g.inside, node)
	defer func() { g.inside = g.inside[:len(g.inside)-1] }()
	node = g.choose(node)
	if constant := node.Get("const"); constant != nil {
		return constant.Any(), nil
	}
	if enum := node.Get("enum"); enum != nil && len(enum.Items) > 0 {
		return enum.Items[g.random.IntN(len(enum.Items))].Any(), nil
	}
	switch kind := g.kind(node); kind {
	case "object":
		return g.object(node, at)
	case "array":
		return g.array(node, at)
	case "string":
		return g.text(node, at)
	case "integer", "number":
		return g.number(node, kind == "integer", at)
	case "boolean":
		return g.random.IntN(2) == 0, nil
	default:
		return nil, g.fault(at, "its type is %s", kind)
	}
}

func occurrences(nodes []*document.Value, node *document.Value) int {
	n := 0
	for _, other := range nodes {
		if other == node {
			n++
		}
	}
	return n
}

// kind is the type to make; where the schema does not say, what its keywords are about.
func (g *generator) kind(node *document.Value) string {
	switch t := node.Get("type"); {
	case t != nil && t.Kind == document.String:
		return t.Text
	case t != nil && t.Kind == document.Array:
		for _, name := range t.Strings() {
			if name != "null" {
				return name
			}
		}
	case node.Get("items") != nil:
		return "array"
	case node.Get("properties") != nil, node.Get("patternProperties") != nil, len(node.Members) == 0:
		return "object"
	}
	for _, keyword := range []string{"pattern", "minLength", "maxLength", "format"} {
		if node.Get(keyword) != nil {
			return "string"
		}
	}
	for _, keyword := range []string{"minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"} {
		if node.Get(keyword) != nil {
			return "number"
		}
	}
	return "object"
}

// choose merges a schema with all its allOf and one each of its anyOf and oneOf.
func (g *generator) choose(node *document.Value) *document.Value {
	for range 8 { // a branch may have combiners of its own
		all, anyOf, oneOf := node.Get("allOf"), node.Get("anyOf"), node.Get("oneOf")
		if all == nil && anyOf == nil && oneOf == nil {
			return node
		}
		merged := &document.Value{Kind: document.Object, At: node.At}
		for _, m := range node.Members {
			if m.Key != "allOf" && m.Key != "anyOf" && m.Key != "oneOf" {
				merged.Members = append(merged.Members, m)
			}
		}
		if all != nil {
			for _, branch := range all.Items {
				g.merge(merged, branch)
			}
		}
		for _, branches := range []*document.Value{anyOf, oneOf} {
			if branches == nil || len(branches.Items) == 0 {
				continue
			}
			chosen := g.random.IntN(len(branches.Items))
			g.merge(merged, branches.Items[chosen])
			if branches == oneOf {
				g.forbid(merged, branches.Items, chosen)
			}
		}
		node = merged
	}
	return node
}

// merge adds the keywords of a branch to a schema. Properties and required names are
// united; of other keywords the branch's counts.
func (g *generator) merge(into, branch *document.Value) {
	branch, err := g.schema.Resolve(branch)
	if err != nil {
		return
	}
	for _, m := range branch.Members {
		old := into.Member(m.Key)
		switch {
		case old == nil:
			into.Members = append(into.Members, m)
		case m.Key == "properties" && old.Value.Kind == document.Object:
			both := *old.Value
			both.Members = append(slices.Clone(both.Members), m.Value.Members...)
			old.Value = &both
		case (m.Key == "required" || m.Key == "allOf") && old.Value.Kind == document.Array:
			both := *old.Value
			both.Items = append(slices.Clone(both.Items), m.Value.Items...)
			old.Value = &both
		default:
			old.Value = m.Value
		}
	}
}

// forbid takes away what only the other branches of a oneOf require: with it, two of them
// would hold.
func (g *generator) forbid(merged *document.Value, branches []*document.Value, chosen int) {
	properties := merged.Member("properties")
	if properties == nil {
		return
	}
	required := merged.Get("required").Strings()
	var drop []string
	for i, branch := range branches {
		if branch, err := g.schema.Resolve(branch); err == nil && i != chosen {
			for _, name := range branch.Get("required").Strings() {
				if !slices.Contains(required, name) {
					drop = append(drop, name)
				}
			}
		}
	}
	kept := *properties.Value
	kept.Members = slices.DeleteFunc(slices.Clone(kept.Members), func(m document.Member) bool { return slices.Contains(drop, m.Key) })
	properties.Value = &kept
}

func (g *generator) object(node *document.Value, at document.Pointer) (map[string]any, error) {
	if len(at) == 0 {
		node = g.choose(node)
	}
	out := map[string]any{}
	required := node.Get("required").Strings()
	for _, m := range membersOf(node.Get("properties")) {
		place := at.Append(m.Key)
		if g.schema.IsReadOnly(place) || g.update && g.schema.IsCreateOnly(place) {
			continue
		}
		value, err := g.value(m.Value, place)
		if errors.Is(err, errRecursion) && !slices.Contains(required, m.Key) {
			continue
		}
		if err != nil {
			return nil, g.recursive(err, place)
		}
		out[m.Key] = value
	}
	if len(out) > 0 {
		return out, nil
	}
	for _, m := range membersOf(node.Get("patternProperties")) {
		key, err := g.match(m.Key, 0, 64)
		if err != nil {
			return nil, g.fault(at, "the pattern of its keys: %s", err)
		}
		value, err := g.value(m.Value, at.Append(key))
		if errors.Is(err, errRecursion) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[key] = value
	}
	return out, nil
}

// recursive makes an error of a recursion that cannot be left out.
func (g *generator) recursive(err error, at document.Pointer) error {
	if errors.Is(err, errRecursion) && len(g.inside) < 2 {
		return g.fault(at, "%s", err)
	}
	return err
}

func (g *generator) array(node *document.Value, at document.Pointer) (any, error) {
	least, most := g.bounds(node, "minItems", "maxItems", 1, 3)
	items := node.Get("items")
	if items == nil {
		items = &document.Value{Kind: document.Object, Members: []document.Member{{Key: "type", Value: &document.Value{Kind: document.String, Text: "string"}}}}
	}
	unique := node.Get("uniqueItems")
	out := []any{}
	seen := map[string]bool{}
	n := least + g.random.IntN(most-least+1)
	for tries := 0; len(out) < n; tries++ {
		item, err := g.value(items, at.Append(strconv.Itoa(len(out))))
		if errors.Is(err, errRecursion) && node.Get("minItems") == nil {
			return []any{}, nil
		}
		if err != nil {
			return nil, err
		}
		key, _ := json.Marshal(item)
		if unique != nil && unique.Bool && seen[string(key)] {
			if tries > attempts*n {
				if required, _ := g.bounds(node, "minItems", "maxItems", 0, 0); len(out) >= required {
					return out, nil
				}
				return nil, g.fault(at, "not enough different items are possible")
			}
			continue
		}
		seen[string(key)] = true
		out = append(out, item)
	}
	return out, nil
}

// bounds reads a minimum and a maximum, kept in order and near each other.
func (g *generator) bounds(node *document.Value, low, high string, least, most int) (int, int) {
	if v := whole(node.Get(low)); v >= 0 {
		least = v
		most = max(most, least)
	}
	if v := whole(node.Get(high)); v >= 0 {
		most = min(most, v)
		if node.Get(low) == nil {
			least = min(least, most)
		}
	}
	return least, max(least, most)
}

// whole is a count in a schema, -1 if there is none.
func whole(v *document.Value) int {
	if v == nil || v.Kind != document.Number {
		return -1
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	if err != nil || f < 0 || f > 1e6 {
		return -1
	}
	return int(f)
}

func (g *generator) number(node *document.Value, integer bool, at document.Pointer) (any, error) {
	low, high := math.Inf(-1), math.Inf(1)
	step := 1.0
	if !integer {
		step = 0.5
	}
	if v := node.Get("multipleOf"); v != nil {
		step, _ = strconv.ParseFloat(v.Text, 64)
	}
	for keyword, apply := range map[string]func(float64){
		"minimum":          func(f float64) { low = max(low, f) },
		"exclusiveMinimum": func(f float64) { low = max(low, f+step/2) },
		"maximum":          func(f float64) { high = min(high, f) },
		"exclusiveMaximum": func(f float64) { high = min(high, f-step/2) },
	} {
		if v := node.Get(keyword); v != nil && v.Kind == document.Number {
			if f, err := strconv.ParseFloat(v.Text, 64); err == nil {
				apply(f)
			}
		}
	}
	switch {
	case math.IsInf(low, -1) && math.IsInf(high, 1):
		low, high = step, 100*step
	case math.IsInf(low, -1):
		low = high - 100*step
	case math.IsInf(high, 1):
		high = low + 100*step
	}
	first, last := math.Ceil(low/step), math.Floor(high/step)
	if step <= 0 || first > last || math.Abs(last) > 1<<53 {
		return nil, g.fault(at, "no number lies between its bounds")
	}
	n := first + math.Floor(g.random.Float64()*min(last-first+1, 1000))
	if v := node.Get("multipleOf"); v == nil && integer {
		return json.Number(strconv.FormatFloat(n, 'f', -1, 64)), nil
	}
	return json.Number(strconv.FormatFloat(n*step, 'g', 12, 64)), nil
}

// formats are texts of the formats that schemas use. Other formats are annotations.
var formats = map[string]func(*rand.Rand) string{
	"date-time": func(r *rand.Rand) string { return moment(r).Format(time.RFC3339) },
	"timestamp": func(r *rand.Rand) string { return moment(r).Format(time.RFC3339) },
	"date":      func(r *rand.Rand) string { return moment(r).Format(time.DateOnly) },
	"time":      func(r *rand.Rand) string { return moment(r).Format("15:04:05Z") },
	"email":     func(r *rand.Rand) string { return letters(r, 8) + "@example.com" },
	"uri":       func(r *rand.Rand) string { return "https://example.com/" + letters(r, 8) },
	"hostname":  func(r *rand.Rand) string { return letters(r, 8) + ".example.com" },
	"ipv4":      func(r *rand.Rand) string { return fmt.Sprintf("192.0.2.%d", 1+r.IntN(254)) },
	"ipv6":      func(r *rand.Rand) string { return fmt.Sprintf("2001:db8::%x", 1+r.IntN(0xfffe)) },
	"uuid": func(r *rand.Rand) string {
		return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<12), r.IntN(1<<12), r.Int64N(1<<48))
	},
	"arn": func(r *rand.Rand) string {
		return "arn:aws:service:us-east-1:000000000000:thing/" + letters(r, 8)
	},
}

func moment(r *rand.Rand) time.Time { return time.Unix(1_600_000_000+r.Int64N(100_000_000), 0).UTC() }

func letters(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}

func (g *generator) text(node *document.Value, at document.Pointer) (any, error) {
	least, most := g.bounds(node, "minLength", "maxLength", 0, math.MaxInt)
	if pattern := node.Get("pattern"); pattern != nil && pattern.Kind == document.String {
		text, err := g.match(pattern.Text, least, most)
		if err != nil {
			return nil, g.fault(at, "its pattern: %s", err)
		}
		return text, nil
	}
	if format := node.Get("format"); format != nil {
		if make := formats[format.Text]; make != nil {
			return make(g.random), nil
		}
	}
	return letters(g.random, min(max(8, least), most)), nil
}

// hasPrefixAny tells whether text begins with one of the beginnings.
func hasPrefixAny(text string, beginnings ...string) bool {
	return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(text, b) })
}

func membersOf(v *document.Value) []document.Member {
	if v == nil {
		return nil
	}
	return v.Members
}
