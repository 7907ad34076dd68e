package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// A Violation is one way in which a model violates its schema. The message never contains
// values of the model, which may be secrets; it may contain what the schema requires.
type Violation struct {
	Pointer document.Pointer // into the model
	Keyword string           // of JSON Schema: "maxLength"; "" when the check was stopped
	Message string           // without the pointer: "has 9 characters; the maximum is 8"

	// Want and Got are the required and the actual value, in the terms of JSON Schema: the
	// types of "type", the numbers of "maxLength" and similar keywords. For "required" Want is
	// the missing key. Both are "" for the other keywords.
	Want, Got string
}

// String reads: /Name: has 9 characters; the maximum is 8 [maxLength].
func (v Violation) String() string {
	at := v.Pointer.String()
	if at == "" {
		at = "the model"
	}
	return fmt.Sprintf("%s: %s [%s]", at, v.Message, v.Keyword)
}

// CheckConfig selects the rules for a model. The zero CheckConfig is all of draft-07 without
// formats, which are annotations.
type CheckConfig struct {
	// Shape applies only what the handler contract demands of returned models (resource
	// handler contract, "Returned models must conform to the shape of the schema"): not
	// required, dependencies, propertyNames, if/then/else and the combiners.
	Shape bool

	// Node is the schema to apply; nil is the whole schema. The handlerSchema of a list
	// handler is one.
	Node *document.Value

	// Steps bounds the work of the check, in addition to what grows with the model: a step is a
	// schema applied to a value. Zero means about a million.
	Steps int
}

// A check may take so many steps, and more for larger models. Combiners within combiners
// multiply: without a bound, a schema of a few kilobytes can keep a validator busy for
// years.
const (
	maxSteps         = 1 << 20
	maxStepsForValue = 64
)

// Check lists how the model breaks the schema, in the order of the keywords, then of
// sorted keys and items; nil when it does not. A pattern that cannot be compiled or that
// takes too long decides nothing. References that cannot be resolved, which Load has reported,
// accept everything.
func (s *Schema) Check(model any, cfg CheckConfig) []Violation {
	node := cfg.Node
	c := &checker{schema: s, shape: cfg.Shape, most: cmp.Or(cfg.Steps, maxSteps) + maxStepsForValue*countValues(model), indexes: map[*document.Value]map[string]*document.Value{}}
	if node == nil {
		node = s.Root
		if _, object := model.(map[string]any); !object {
			return []Violation{{Keyword: "type", Message: "must be an object but is " + kindOf(model)}}
		}
	}
	c.validate(model, node, nil)
	if c.steps > c.most {
		return []Violation{{Message: "the schema is too complex to check: its combiners multiply"}}
	}
	return c.found
}

func countValues(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += countValues(item)
		}
	case map[string]any:
		for _, value := range v {
			n += countValues(value)
		}
	}
	return n
}

// A checker is one check.
type checker struct {
	schema  *Schema
	shape   bool
	found   []Violation
	steps   int
	most    int // steps
	hints   int
	active  []frame // the schemas that are being applied to the same value
	indexes map[*document.Value]map[string]*document.Value
}

// index returns the members of an object by key. It is made once per check, because an
// object of the schema is usually applied many times, to the items of an array.
func (c *checker) index(v *document.Value) map[string]*document.Value {
	if v == nil || v.Kind != document.Object {
		return nil
	}
	if known := c.indexes[v]; known != nil {
		return known
	}
	out := make(map[string]*document.Value, len(v.Members))
	for _, m := range v.Members {
		out[m.Key] = m.Value
	}
	c.indexes[v] = out
	return out
}

type frame struct {
	node *document.Value
	at   int // the length of the pointer
}

func (c *checker) fail(at document.Pointer, keyword, format string, args ...any) {
	c.found = append(c.found, Violation{Pointer: at.Append(), Keyword: keyword, Message: fmt.Sprintf(format, args...)})
}

// failBy is fail for keywords with a required value.
func (c *checker) failBy(at document.Pointer, keyword, want, got, format string, args ...any) {
	c.fail(at, keyword, format, args...)
	last := &c.found[len(c.found)-1]
	last.Want, last.Got = want, got
}

// valid checks without recording violations.
func (c *checker) valid(v any, node *document.Value, at document.Pointer) bool {
	before := len(c.found)
	c.validate(v, node, at)
	ok := len(c.found) == before
	c.found = c.found[:before]
	return ok
}

func (c *checker) validate(v any, node *document.Value, at document.Pointer) {
	c.steps++
	if c.steps > c.most {
		return
	}
	if node.Kind == document.Bool {
		if !node.Bool {
			c.fail(at, "false", "nothing is allowed here")
		}
		return
	}
	if ref := node.Get("$ref"); ref != nil && ref.Kind == document.String {
		if target, err := c.schema.Resolve(node); err == nil {
			c.validate(v, target, at)
		}
		return
	}
	for _, f := range c.active { // a schema that refers to itself for the same value
		if f.node == node && f.at == len(at) {
			return
		}
	}
	c.active = append(c.active, frame{node, len(at)})
	defer func() { c.active = c.active[:len(c.active)-1] }()

	if !c.checkType(v, node, at) {
		return
	}
	c.checkValues(v, node, at)
	switch v := v.(type) {
	case string:
		c.checkString(v, node, at)
	case []any:
		c.checkArray(v, node, at)
	case map[string]any:
		c.checkObject(v, node, at)
	default:
		if d, ok := decimalOf(v); ok {
			c.checkNumber(d, node, at)
		}
	}
	if !c.shape {
		c.checkCombiners(v, node, at)
	}
}

// checkType returns false if the type is wrong, because no other message would help then. The
// "type" at the top of an extension is not the keyword of JSON Schema and allows everything.
func (c *checker) checkType(v any, node *document.Value, at document.Pointer) bool {
	allowed := declaredTypes(node)
	if allowed == 0 || allowed&typeOf(v) != 0 {
		return true
	}
	names := node.Get("type").Strings()
	if names == nil {
		names = []string{node.Get("type").Str()}
	}
	c.failBy(at, "type", strings.Join(names, ", "), typeName(v), "must be %s but is %s", oneOf(names), kindOf(v))
	return false
}

// typeOf returns the types that a value has: a whole number is an integer and a number.
func typeOf(v any) types {
	switch v := v.(type) {
	case nil:
		return typeNull
	case bool:
		return typeBoolean
	case string:
		return typeString
	case []any:
		return typeArray
	case map[string]any:
		return typeObject
	default:
		if d, ok := decimalOf(v); ok && d.isInteger() {
			return typeNumber | typeInteger
		}
		return typeNumber
	}
}

// typeName is the type of a value as JSON Schema names it.
func typeName(v any) string {
	switch t := typeOf(v); {
	case t == typeNull:
		return "null"
	case t == typeBoolean:
		return "boolean"
	case t == typeString:
		return "string"
	case t == typeArray:
		return "array"
	case t == typeObject:
		return "object"
	case t&typeInteger != 0:
		return "integer"
	}
	return "number"
}

func kindOf(v any) string {
	switch typeOf(v) {
	case typeNull:
		return "null"
	case typeBoolean:
		return "a boolean"
	case typeString:
		return "a string"
	case typeArray:
		return "an array"
	case typeObject:
		return "an object"
	case typeNumber:
		return "a number with a fraction"
	}
	return "a number"
}

func (c *checker) checkValues(v any, node *document.Value, at document.Pointer) {
	if want := node.Get("const"); want != nil && !equal(v, want) {
		c.fail(at, "const", "is not the only allowed value, %s", shortText(want))
	}
	enum := node.Get("enum")
	if enum == nil || enum.Kind != document.Array {
		return
	}
	c.steps += len(enum.Items) / 16
	for _, item := range enum.Items {
		if equal(v, item) {
			return
		}
	}
	var allowed []string
	for _, item := range enum.Items[:min(len(enum.Items), 20)] {
		allowed = append(allowed, shortText(item))
	}
	c.fail(at, "enum", "is not one of the %d allowed values: %s", len(enum.Items), diag.Cut(strings.Join(allowed, ", ")))
}

// equal compares a value of a model with one of the schema as JSON Schema does.
func equal(v any, want *document.Value) bool {
	switch v := v.(type) {
	case nil:
		return want.Kind == document.Null
	case bool:
		return want.Kind == document.Bool && v == want.Bool
	case string:
		return want.Kind == document.String && v == want.Text
	case []any, map[string]any:
		return (want.Kind == document.Array || want.Kind == document.Object) && canonical(v) == canonical(want.Any())
	}
	if want.Kind != document.Number {
		return false
	}
	a, ok := decimalOf(v)
	b, both := parseDecimal(want.Text)
	return ok && both && a.compare(b) == 0
}

// bound reads the keyword of a schema that counts something.
func bound(node *document.Value, keyword string) (int, bool) {
	v := node.Get(keyword)
	if v == nil || v.Kind != document.Number {
		return 0, false
	}
	d, ok := parseDecimal(v.Text)
	if !ok || !d.isInteger() || d.negative {
		return 0, false
	}
	if d.exponent > 9 {
		return 1 << 30, true // more than any document holds
	}
	n, err := strconv.Atoi(d.digits + strings.Repeat("0", int(d.exponent)-len(d.digits)))
	return n, err == nil || d.digits == ""
}

// count applies a pair of keywords that bound how many there are of something.
func (c *checker) count(n int, node *document.Value, at document.Pointer, least, most, what string) {
	if bound, ok := bound(node, least); ok && n < bound {
		c.failBy(at, least, strconv.Itoa(bound), strconv.Itoa(n), "has %d %s; the minimum is %d", n, what, bound)
	}
	if bound, ok := bound(node, most); ok && n > bound {
		c.failBy(at, most, strconv.Itoa(bound), strconv.Itoa(n), "has %d %s; the maximum is %d", n, what, bound)
	}
}

func (c *checker) checkString(v string, node *document.Value, at document.Pointer) {
	if node.Get("minLength") != nil || node.Get("maxLength") != nil {
		c.count(utf8.RuneCountInString(v), node, at, "minLength", "maxLength", "characters")
	}
	if text := node.Get("pattern"); text != nil && text.Kind == document.String && c.schema.refs.match(text.Text, v) == noMatch {
		c.fail(at, "pattern", "does not match the pattern %s", diag.Cut(text.Text))
	}
}

func (c *checker) checkNumber(v decimal, node *document.Value, at document.Pointer) {
	for _, limit := range [...]struct {
		keyword, message string
		broken           func(order int) bool
	}{
		{"minimum", "is less than %s", func(order int) bool { return order < 0 }},
		{"maximum", "is more than %s", func(order int) bool { return order > 0 }},
		{"exclusiveMinimum", "is not more than %s", func(order int) bool { return order <= 0 }},
		{"exclusiveMaximum", "is not less than %s", func(order int) bool { return order >= 0 }},
	} {
		if bound := node.Get(limit.keyword); bound != nil && bound.Kind == document.Number {
			if d, ok := parseDecimal(bound.Text); ok && limit.broken(v.compare(d)) {
				c.fail(at, limit.keyword, limit.message, diag.Cut(bound.Text))
			}
		}
	}
	if factor := node.Get("multipleOf"); factor != nil && factor.Kind == document.Number {
		if d, ok := parseDecimal(factor.Text); ok && !v.multipleOf(d) {
			c.fail(at, "multipleOf", "is not a multiple of %s", diag.Cut(factor.Text))
		}
	}
}

func (c *checker) checkArray(v []any, node *document.Value, at document.Pointer) {
	c.count(len(v), node, at, "minItems", "maxItems", "items")
	if unique := node.Get("uniqueItems"); unique != nil && unique.Kind == document.Bool && unique.Bool {
		first := make(map[string]int, len(v))
		for i, item := range v {
			key := canonical(item)
			if j, again := first[key]; again {
				c.fail(at, "uniqueItems", "has the same item at indexes %d and %d", j, i)
				break
			}
			first[key] = i
		}
	}
	if items := node.Get("items"); items != nil {
		if items.Kind == document.Array {
			tuple := min(len(items.Items), len(v))
			for i, item := range v[:tuple] {
				c.validate(item, items.Items[i], at.Append(strconv.Itoa(i)))
			}
			if rest := node.Get("additionalItems"); rest != nil {
				for i := tuple; i < len(v) && len(v) > len(items.Items); i++ {
					c.validate(v[i], rest, at.Append(strconv.Itoa(i)))
				}
			}
		} else {
			for i, item := range v {
				c.validate(item, items, at.Append(strconv.Itoa(i)))
			}
		}
	}
	if contains := node.Get("contains"); contains != nil {
		for i, item := range v {
			if c.valid(item, contains, at.Append(strconv.Itoa(i))) {
				return
			}
		}
		c.fail(at, "contains", `has no item that matches "contains"`)
	}
}

func (c *checker) checkObject(v map[string]any, node *document.Value, at document.Pointer) {
	c.count(len(v), node, at, "minProperties", "maxProperties", "properties")
	if !c.shape {
		c.checkRequired(v, node, at)
	}
	properties := c.index(node.Get("properties"))
	patterns := node.Get("patternProperties").Distinct()
	additional := node.Get("additionalProperties")
	c.steps += len(v) * len(patterns) / 4
	for _, key := range sortedKeys(v) {
		below := at.Append(key)
		declared := false
		if child := properties[key]; child != nil {
			declared = true
			c.validate(v[key], child, below)
		}
		for _, m := range patterns {
			switch c.schema.refs.match(m.Key, key) {
			case matches:
				declared = true
				c.validate(v[key], m.Value, below)
			case undecided:
				declared = true
			}
		}
		switch {
		case declared || additional == nil:
		case additional.Kind == document.Bool && !additional.Bool:
			hint := ""
			if c.hints++; c.hints < maxHints && len(properties) < 1000 {
				if near := words.DidYouMean(key, slices.Sorted(maps.Keys(properties))); near != "" {
					hint = ": " + near
				}
			}
			c.fail(below, "additionalProperties", "the schema has no such property%s", hint)
		default:
			c.validate(v[key], additional, below)
		}
	}
}

// checkRequired applies requirements that the handler contract does not have for returned
// models.
func (c *checker) checkRequired(v map[string]any, node *document.Value, at document.Pointer) {
	for _, key := range node.Get("required").Strings() {
		if _, found := v[key]; !found {
			c.failBy(at, "required", key, "", "is missing the property %q", key)
		}
	}
	for _, m := range node.Get("dependencies").Distinct() {
		if _, found := v[m.Key]; !found {
			continue
		}
		if m.Value.Kind != document.Array {
			c.validate(v, m.Value, at)
			continue
		}
		for _, key := range m.Value.Strings() {
			if _, found := v[key]; !found {
				c.fail(at, "dependencies", "has the property %q, which requires %q", m.Key, key)
			}
		}
	}
	if names := node.Get("propertyNames"); names != nil {
		for _, key := range sortedKeys(v) {
			if !c.valid(key, names, at) {
				c.fail(at, "propertyNames", "has the key %q, which is not allowed", diag.Cut(key))
			}
		}
	}
}

func (c *checker) checkCombiners(v any, node *document.Value, at document.Pointer) {
	branches := func(keyword string) []*document.Value {
		if list := node.Get(keyword); list != nil && list.Kind == document.Array {
			return list.Items
		}
		return nil
	}
	for _, branch := range branches("allOf") {
		c.validate(v, branch, at)
	}
	if anyOf := branches("anyOf"); len(anyOf) > 0 {
		c.alternatives(v, anyOf, at, "anyOf")
	}
	if oneOf := branches("oneOf"); len(oneOf) > 0 {
		if n := c.alternatives(v, oneOf, at, "oneOf"); n > 1 {
			c.fail(at, "oneOf", "matches %d of the %d alternatives; exactly one must match", n, len(oneOf))
		}
	}
	if not := node.Get("not"); not != nil && c.valid(v, not, at) {
		c.fail(at, "not", `matches the schema of "not"`)
	}
	if condition := node.Get("if"); condition != nil {
		keyword := "else"
		if c.valid(v, condition, at) {
			keyword = "then"
		}
		if branch := node.Get(keyword); branch != nil {
			c.validate(v, branch, at)
		}
	}
}

// alternatives counts the branches that a value matches. If none matches it reports the one
// failure, or those of the only branch.
func (c *checker) alternatives(v any, branches []*document.Value, at document.Pointer, keyword string) int {
	fits := 0
	var first []Violation
	for i, branch := range branches {
		before := len(c.found)
		c.validate(v, branch, at)
		if len(c.found) == before {
			fits++
		} else if i == 0 {
			first = append(first, c.found[before:]...)
		}
		c.found = c.found[:before]
	}
	switch {
	case fits > 0 || len(branches) == 0:
	case len(branches) == 1:
		c.found = append(c.found, first...)
	default:
		c.fail(at, keyword, "does not match any of the %d alternatives%s", len(branches), missingOf(first, branches))
	}
	return fits
}

// missingOf explains alternatives that all require properties, the usual case: they list which
// of them a user must set.
func missingOf(first []Violation, branches []*document.Value) string {
	var sets []string
	for _, branch := range branches {
		names := branch.Get("required").Strings()
		if len(names) == 0 {
			return ""
		}
		sets = append(sets, strings.Join(names, " and "))
	}
	if len(first) == 0 || first[0].Keyword != "required" {
		return ""
	}
	return ": it needs " + diag.Cut(strings.Join(sets, ", or "))
}

// canonical is a text that equal values share, and no others: keys in order, numbers by
// their value. Arrays keep their order.
func canonical(v any) string {
	return string(appendCanonical(nil, v))
}

func appendCanonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, 'z')
	case bool:
		if v {
			return append(b, 't')
		}
		return append(b, 'f')
	case string:
		b = append(b, 's')
		b = strconv.AppendInt(b, int64(len(v)), 10)
		return append(append(b, ':'), v...)
	case []any:
		b = append(b, '[')
		for _, item := range v {
			b = append(appendCanonical(b, item), ',')
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for _, key := range sortedKeys(v) {
			b = append(appendCanonical(append(appendCanonical(b, key), ':'), v[key]), ',')
		}
		return append(b, '}')
	}
	if d, ok := decimalOf(v); ok {
		return append(append(b, 'n'), d.key()...)
	}
	text, err := json.Marshal(v)
	if err != nil {
		text = fmt.Append(nil, v)
	}
	return append(append(b, '?'), text...)
}
