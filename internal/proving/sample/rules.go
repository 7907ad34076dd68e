package sample

import (
	"math"
	"math/big"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// types is a set of JSON types. A number is an integer or has a fraction.
type types uint8

const (
	typeString types = 1 << iota
	typeInteger
	typeFraction
	typeBoolean
	typeObject
	typeArray
	typeNull

	typeNumber = typeInteger | typeFraction
	anyType    = typeString | typeNumber | typeBoolean | typeObject | typeArray | typeNull
)

var typeNames = map[string]types{
	"string": typeString, "integer": typeInteger, "number": typeNumber, "boolean": typeBoolean,
	"object": typeObject, "array": typeArray, "null": typeNull,
}

// rules are the keywords of one schema, read once. A keyword that is absent, or of a kind
// that validation ignores, is zero, or -1 for counts without a bound.
type rules struct {
	node  *document.Value
	never bool  // the schema false
	types types // of "type"; anyType when it says nothing

	values []*document.Value // of enum, or of const
	listed bool              // values counts, also when it is empty

	pattern, format      string
	minLength, maxLength int

	minimum, maximum, above, below, multiple *document.Value

	items, additionalItems, contains *document.Value
	tuple                            []*document.Value
	minItems, maxItems               int
	unique                           bool

	properties           []document.Member
	property             map[string]*document.Value
	patterns             []document.Member
	additional, names    *document.Value
	required             []string
	minCount, maxCount   int // of properties
	dependencies         []document.Member
	allOf, anyOf, oneOf  []*document.Value
	not, condition       *document.Value
	then, otherwise      *document.Value
	hints                []*document.Value // default and examples
	mustVerify, anything bool              // combines schemas; says nothing at all
}

func readRules(node *document.Value) *rules {
	r := &rules{
		node: node, types: anyType,
		minLength: count(node, "minLength"), maxLength: count(node, "maxLength"),
		minItems: count(node, "minItems"), maxItems: count(node, "maxItems"),
		minCount: count(node, "minProperties"), maxCount: count(node, "maxProperties"),
		pattern: text(node, "pattern"), format: text(node, "format"),
		minimum: number(node, "minimum"), maximum: number(node, "maximum"),
		above: number(node, "exclusiveMinimum"), below: number(node, "exclusiveMaximum"),
		multiple:   number(node, "multipleOf"),
		properties: node.Get("properties").Distinct(), patterns: node.Get("patternProperties").Distinct(),
		dependencies: node.Get("dependencies").Distinct(),
		required:     node.Get("required").Strings(),
		additional:   node.Get("additionalProperties"), names: node.Get("propertyNames"),
		contains: node.Get("contains"), additionalItems: node.Get("additionalItems"),
		allOf: items(node, "allOf"), anyOf: items(node, "anyOf"), oneOf: items(node, "oneOf"),
		not: node.Get("not"), condition: node.Get("if"),
	}
	if node.Kind == document.Bool {
		r.never = !node.Bool
		r.anything = node.Bool
		return r
	}
	r.types = declaredTypes(node)
	if values := node.Get("enum"); values != nil && values.Kind == document.Array {
		r.values, r.listed = values.Items, true
	}
	if only := node.Get("const"); only != nil {
		r.values, r.listed = []*document.Value{only}, true
	}
	if v := node.Get("items"); v != nil {
		if v.Kind == document.Array {
			r.tuple = v.Items
		} else {
			r.items = v
		}
	}
	unique := node.Get("uniqueItems")
	r.unique = unique != nil && unique.Kind == document.Bool && unique.Bool
	r.property = make(map[string]*document.Value, len(r.properties))
	for _, m := range r.properties {
		r.property[m.Key] = m.Value
	}
	if r.condition != nil {
		r.then, r.otherwise = node.Get("then"), node.Get("else")
	}
	if v := node.Get("default"); v != nil {
		r.hints = append(r.hints, v)
	}
	r.hints = append(r.hints, items(node, "examples")...)
	r.mustVerify = len(r.allOf)+len(r.anyOf)+len(r.oneOf)+len(r.dependencies) > 0 ||
		r.not != nil || r.condition != nil || r.names != nil || r.contains != nil
	r.anything = r.isEmpty()
	return r
}

// isEmpty reports whether the schema has no keyword that concerns a value.
func (r *rules) isEmpty() bool {
	for _, m := range r.node.Members {
		switch m.Key {
		case "description", "title", "default", "examples", "$comment", "insertionOrder", "arrayType", "relationshipRef", "$id", "format":
		default:
			return false
		}
	}
	return true
}

func items(node *document.Value, keyword string) []*document.Value {
	if v := node.Get(keyword); v != nil && v.Kind == document.Array {
		return v.Items
	}
	return nil
}

func text(node *document.Value, keyword string) string {
	if v := node.Get(keyword); v != nil && v.Kind == document.String {
		return v.Text
	}
	return ""
}

func number(node *document.Value, keyword string) *document.Value {
	if v := node.Get(keyword); v != nil && v.Kind == document.Number {
		return v
	}
	return nil
}

// count reads a keyword that counts something, -1 if it bounds nothing.
func count(node *document.Value, keyword string) int {
	v := number(node, keyword)
	if v == nil {
		return -1
	}
	n, ok := rational(v.Text)
	switch {
	case !ok:
		return math.MaxInt32 // more than any document holds
	case !n.IsInt() || n.Sign() < 0:
		return -1
	case n.Cmp(new(big.Rat).SetInt64(math.MaxInt32)) > 0:
		return math.MaxInt32
	}
	return int(n.Num().Int64())
}

// declaredTypes reads "type". The "type" at the top of an extension is not the keyword of JSON
// Schema and allows everything.
func declaredTypes(node *document.Value) types {
	declared := node.Get("type")
	if declared == nil {
		return anyType
	}
	var out types
	if declared.Kind == document.String {
		out = typeNames[declared.Text]
	}
	for _, name := range declared.Strings() {
		out |= typeNames[name]
	}
	if out == 0 {
		return anyType
	}
	return out
}

// about are the types that the keywords of a schema apply to, for schemas without "type".
func (r *rules) about() types {
	var out types
	if len(r.properties) > 0 || len(r.patterns) > 0 || r.additional != nil || len(r.required) > 0 || r.minCount > 0 || len(r.dependencies) > 0 || r.names != nil {
		out |= typeObject
	}
	if r.items != nil || len(r.tuple) > 0 || r.minItems >= 0 || r.maxItems >= 0 || r.contains != nil || r.unique {
		out |= typeArray
	}
	if r.pattern != "" || r.minLength >= 0 || r.maxLength >= 0 {
		out |= typeString
	}
	if r.minimum != nil || r.maximum != nil || r.above != nil || r.below != nil || r.multiple != nil {
		out |= typeNumber
	}
	return out
}
