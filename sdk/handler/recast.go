package handler

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"
)

// recast brings a value into the types that the schema requires. Callers may
// send every primitive as a string, as CloudFormation itself long did:
//
//	"5"    where integer is allowed and string is not  5, exactly, of any size
//	"1.5"  number                                      1.5
//	"true" boolean                                     true (any case)
//	5      where only string is allowed                "5"
//	true   where only string is allowed                "true"
//	5.0    integer                                     5
//	null   member of an object                         absent
//
// What fits nothing stays as it is: telling so is the validator's part. With
// drop, which comes after the validator, undeclared properties of closed
// objects are left out, and those that differ from a declared one in letter
// case only: encoding/json would take them for it.
func recast(value any, schema *node, drop bool) any {
	return recaster{drop: drop}.value(value, alternatives(schema), 0)
}

type recaster struct{ drop bool }

// maxValueDepth bounds the nesting of models.
const maxValueDepth = 512

// alternatives lists a schema and all that its references and combiners say
// about the same value.
func alternatives(n *node) []*node {
	var found []*node
	var add func(n *node)
	add = func(n *node) {
		n = n.resolve()
		if n == nil || slices.Contains(found, n) || len(found) > 256 {
			return
		}
		found = append(found, n)
		for _, list := range [][]*node{n.allOf, n.anyOf, n.oneOf, {n.thenNode, n.elseNode}} {
			for _, sub := range list {
				add(sub)
			}
		}
	}
	add(n)
	return found
}

func (r recaster) value(value any, schemas []*node, depth int) any {
	if depth > maxValueDepth {
		return value
	}
	switch value := value.(type) {
	case map[string]any:
		return r.object(value, schemas, depth)
	case []any:
		return r.array(value, schemas, depth)
	case string:
		return fromString(value, schemas)
	case json.Number:
		return fromNumber(value, schemas)
	case bool:
		if onlyStrings(schemas) {
			if value {
				return "true"
			}
			return "false"
		}
	}
	return value
}

func (r recaster) object(value map[string]any, schemas []*node, depth int) any {
	declared, closed := map[string]bool{}, false
	for _, n := range schemas {
		for name := range n.properties {
			declared[name] = true
		}
		closed = closed || n.additional != nil && n.additional.never
	}
	out := make(map[string]any, len(value))
	for name, member := range value {
		if member == nil {
			continue
		}
		under, known := memberSchemas(name, schemas)
		if r.drop && !known && (closed || foldsToDeclared(name, declared)) {
			continue
		}
		out[name] = r.value(member, under, depth+1)
	}
	return out
}

func foldsToDeclared(name string, declared map[string]bool) bool {
	for other := range declared {
		if strings.EqualFold(name, other) {
			return true
		}
	}
	return false
}

// memberSchemas lists what the schemas say about a member. It is known when a
// property or a pattern names it.
func memberSchemas(name string, schemas []*node) (under []*node, known bool) {
	for _, n := range schemas {
		matched := false
		if sub, ok := n.properties[name]; ok {
			under, matched = append(under, alternatives(sub)...), true
		}
		for _, pattern := range n.patterns {
			if pattern.re == nil || pattern.re.MatchString(name) {
				under, matched = append(under, alternatives(pattern.schema)...), true
			}
		}
		if !matched && n.additional != nil && !n.additional.never {
			under = append(under, alternatives(n.additional)...)
		}
		known = known || matched
	}
	return under, known
}

func (r recaster) array(value []any, schemas []*node, depth int) any {
	out := make([]any, len(value))
	for i, item := range value {
		var under []*node
		for _, n := range schemas {
			switch {
			case i < len(n.tuple):
				under = append(under, alternatives(n.tuple[i])...)
			case len(n.tuple) > 0:
				under = append(under, alternatives(n.extraItems)...)
			default:
				under = append(under, alternatives(n.items)...)
			}
		}
		out[i] = r.value(item, under, depth+1)
	}
	return out
}

// typesOf is the set of types that the schemas name together.
func typesOf(schemas []*node) (types []string) {
	for _, n := range schemas {
		types = append(types, n.types...)
	}
	return types
}

func onlyStrings(schemas []*node) bool {
	types := typesOf(schemas)
	return len(types) > 0 && !slices.ContainsFunc(types, func(name string) bool { return name != "string" && name != "null" })
}

func fromString(value string, schemas []*node) any {
	types := typesOf(schemas)
	if len(types) == 0 || slices.Contains(types, "string") {
		return value
	}
	if isNumber(value) {
		if slices.Contains(types, "integer") {
			if whole, ok := wholeNumber(json.Number(value)); ok {
				return whole
			}
		}
		if slices.Contains(types, "number") {
			return json.Number(value)
		}
	}
	if slices.Contains(types, "boolean") {
		switch strings.ToLower(value) {
		case "true":
			return true
		case "false":
			return false
		}
	}
	return value
}

func fromNumber(value json.Number, schemas []*node) any {
	types := typesOf(schemas)
	if onlyStrings(schemas) {
		return value.String()
	}
	if slices.Contains(types, "integer") && !slices.Contains(types, "number") {
		if whole, ok := wholeNumber(value); ok {
			return whole
		}
	}
	return value
}

// isNumber reports whether the text is a JSON number.
func isNumber(text string) bool {
	if text == "" || len(text) > maxNumberLength || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return false
	}
	return json.Valid([]byte(text))
}

// maxNumberLength and maxExponent keep arithmetic on hostile numbers cheap.
const (
	maxNumberLength = 400
	maxExponent     = 400
)

// rational is the exact value of a number; ok is false for one out of bounds.
func rational(number json.Number) (*big.Rat, bool) {
	text := number.String()
	if len(text) > maxNumberLength {
		return nil, false
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, ok := new(big.Int).SetString(strings.TrimPrefix(text[i+1:], "+"), 10)
		if !ok || !exponent.IsInt64() || exponent.Int64() > maxExponent || exponent.Int64() < -maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

// wholeNumber writes 5.0 and 5e0 as 5; ok is false for what has a fraction.
func wholeNumber(number json.Number) (json.Number, bool) {
	text := number.String()
	if !strings.ContainsAny(text, ".eE") {
		if text == "-0" {
			return "0", true
		}
		return number, true
	}
	value, ok := rational(number)
	if !ok || !value.IsInt() {
		return "", false
	}
	return json.Number(value.Num().String()), true
}
