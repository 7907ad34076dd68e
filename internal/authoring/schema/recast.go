package schema

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// Recast converts scalars that were written as strings to the types of the schema: "5" becomes
// the number 5 where only numbers are allowed, "true" the boolean; a number or a boolean
// becomes its text where only strings are allowed. Values that already match, that have no
// schema, or that cannot be converted are not changed. The input is not modified.
func (s *Schema) Recast(model any) any { return s.recast(model, s.scope()) }

func (s *Schema) recast(v any, in *scope) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = s.recast(value, s.below(in, key))
		}
		return out
	case []any:
		items := s.below(in, "*")
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = s.recast(item, items)
		}
		return out
	}
	return recastScalar(v, typesOf(in.nodes))
}

// Allows reports whether the schema allows a JSON type for what the tokens name. What the schema does not
// mention, or mentions without a type, may have any.
func (s *Schema) Allows(tokens document.Pointer, typeName string) bool {
	in := s.scope()
	for _, token := range tokens {
		in = s.below(in, token)
	}
	allowed := typesOf(in.nodes)
	return allowed == 0 || allowed&typeNames[typeName] != 0
}

// types is a set of JSON types; the empty set means that all are allowed.
type types uint8

const (
	typeString types = 1 << iota
	typeInteger
	typeNumber
	typeBoolean
	typeObject
	typeArray
	typeNull
)

var typeNames = map[string]types{
	"string": typeString, "integer": typeInteger, "number": typeNumber, "boolean": typeBoolean,
	"object": typeObject, "array": typeArray, "null": typeNull,
}

// declaredTypes reads the keyword "type" of one schema.
func declaredTypes(node *document.Value) types {
	declared := node.Get("type")
	if declared == nil {
		return 0
	}
	if declared.Kind == document.String {
		return typeNames[declared.Text]
	}
	var out types
	for _, name := range declared.Strings() {
		out |= typeNames[name]
	}
	return out
}

func typesOf(nodes []*document.Value) types {
	var out types
	for _, node := range nodes {
		out |= declaredTypes(node)
	}
	return out
}

func recastScalar(v any, allowed types) any {
	if allowed == 0 {
		return v
	}
	switch v := v.(type) {
	case string:
		if allowed&typeString != 0 {
			return v
		}
		if number, ok := decimalOf(json.Number(v)); ok && (allowed&typeNumber != 0 || allowed&typeInteger != 0 && number.isInteger()) {
			return json.Number(v)
		}
		if allowed&typeBoolean != 0 {
			switch strings.ToLower(v) {
			case "true":
				return true
			case "false":
				return false
			}
		}
	case bool:
		if allowed == typeString {
			return strconv.FormatBool(v)
		}
	case json.Number:
		if allowed == typeString {
			return v.String()
		}
	}
	return v
}
