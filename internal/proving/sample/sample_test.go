package sample_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/proving/sample"
)

// load makes a schema of properties, and of what else is given.
func load(t testing.TB, properties, more string) *schema.Schema {
	t.Helper()
	text := `{"typeName": "Test::Sample::Thing", "description": "d", "additionalProperties": false,
		"primaryIdentifier": ["/properties/Id"], "readOnlyProperties": ["/properties/Id"],
		"properties": {"Id": {"type": "string"}` + prefixed(",", properties) + `}` + prefixed(",", more) + `}`
	if !json.Valid([]byte(text)) {
		t.Fatalf("no JSON: %s", text)
	}
	s, problems := schema.Load("thing.json", []byte(text), schema.Config{})
	if s == nil {
		t.Fatal(problems)
	}
	return s
}

func prefixed(comma, text string) string {
	if text == "" {
		return ""
	}
	return comma + text
}

// satisfiable are schemas of a property V, or of the whole model, from which every profile
// must make a valid model for every seed.
var satisfiable = []struct{ name, properties, more string }{
	{"type list", `"V": {"type": ["object", "string"]}`, ``},
	{"type null", `"V": {"type": ["null", "integer"]}`, ``},
	{"no keywords", `"V": {}`, ``},
	{"true", `"V": true`, ``},
	{"inferred object", `"V": {"properties": {"A": {"type": "boolean"}}, "required": ["A"]}`, ``},
	{"inferred array", `"V": {"items": {"type": "boolean"}, "minItems": 2}`, ``},
	{"enum", `"V": {"type": "string", "enum": ["a", "b"]}`, ``},
	{"enum narrowed", `"V": {"enum": ["a", "bb", "ccc", 7, null], "type": "string", "minLength": 3}`, ``},
	{"enums together", `"V": {"allOf": [{"enum": ["a", "b", "c"]}, {"enum": ["c", "d"]}]}`, ``},
	{"enum of objects", `"V": {"type": "object", "enum": [{"a": 1}, {"b": [2]}]}`, ``},
	{"const", `"V": {"const": {"a": [1, 2.50, "x"]}}`, ``},
	{"minLength", `"V": {"type": "string", "minLength": 1000}`, ``},
	{"maxLength 0", `"V": {"type": "string", "maxLength": 0}`, ``},
	{"length of code points", `"V": {"type": "string", "pattern": "^[\\u{1F600}-\\u{1F64F}]+$", "minLength": 5, "maxLength": 5}`, ``},
	{"pattern and length", `"V": {"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$", "minLength": 40, "maxLength": 41}`, ``},
	{"pattern unanchored", `"V": {"type": "string", "pattern": "[0-9]{3}", "minLength": 20, "maxLength": 20}`, ``},
	{"patterns together", `"V": {"type": "string", "allOf": [{"pattern": "^[a-z]{6}$"}, {"pattern": "^[aeiou]"}, {"pattern": "a$"}]}`, ``},
	{"look-ahead for length", `"V": {"type": "string", "pattern": "^(?=.{40,128}$)arn:.*$"}`, ``},
	{"look-ahead for kinds", `"V": {"type": "string", "pattern": "^(?=.*[A-Z])(?=.*[0-9])(?=.*[!@#$%])[A-Za-z0-9!@#$%]{12,}$"}`, ``},
	{"negative look-ahead", `"V": {"type": "string", "pattern": "^(?!aws:)(?!.*--)[a-z:-]{3,9}$"}`, ``},
	{"look-behind", `"V": {"type": "string", "pattern": "^[a-z0-9-]{3,9}(?<!-)$"}`, ``},
	{"back reference", `"V": {"type": "string", "pattern": "^(['\"])[a-z]{3}\\1$"}`, ``},
	{"word boundary", `"V": {"type": "string", "pattern": "\\bfoo\\b [a-z]+\\b"}`, ``},
	{"ignored case", `"V": {"type": "string", "pattern": "(?i)^x[a-c]yz$"}`, ``},
	{"category", `"V": {"type": "string", "pattern": "^[\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]{2,}$"}`, ``},
	{"category outside of ASCII", `"V": {"type": "string", "pattern": "^\\p{Script=Greek}{3}$"}`, ``},
	{"control characters only", `"V": {"type": "string", "pattern": "^[\\t\\n]{2}$"}`, ``},
	{"nested repetition", `"V": {"type": "string", "pattern": "^((a|b){2}c){3}$", "minLength": 9}`, ``},
	{"formats", `"V": {"type": "array", "minItems": 3, "maxItems": 3, "items": [{"type": "string", "format": "date-time"}, {"type": "string", "format": "no-such"}, {"type": "string", "format": "uuid", "maxLength": 3}]}`, ``},
	{"format and pattern", `"V": {"type": "string", "format": "ipv4", "pattern": "^[0-9.]+$"}`, ``},
	{"integer bounds", `"V": {"type": "integer", "minimum": -3, "maximum": -3}`, ``},
	{"integer between fractions", `"V": {"type": "integer", "minimum": 0.5, "maximum": 1.5}`, ``},
	{"exclusive bounds", `"V": {"type": "integer", "exclusiveMinimum": 4, "exclusiveMaximum": 6}`, ``},
	{"number in a narrow gap", `"V": {"type": "number", "exclusiveMinimum": 0.1, "exclusiveMaximum": 0.10000001}`, ``},
	{"multipleOf", `"V": {"type": "number", "multipleOf": 0.01, "minimum": 0.29, "maximum": 0.295}`, ``},
	{"multiplesOf together", `"V": {"type": "integer", "allOf": [{"multipleOf": 6}, {"multipleOf": 4}], "minimum": 1, "maximum": 12}`, ``},
	{"huge numbers", `"V": {"type": "integer", "minimum": 1e30}`, ``},
	{"numbers beyond calculation", `"V": {"type": "number", "minimum": 1e999999}`, ``},
	{"items", `"V": {"type": "array", "items": {"type": "integer"}, "minItems": 5, "maxItems": 5}`, ``},
	{"tuple", `"V": {"type": "array", "items": [{"type": "integer"}, {"const": "x"}], "additionalItems": {"type": "boolean"}, "minItems": 4}`, ``},
	{"unique", `"V": {"type": "array", "items": {"enum": ["a", "b", "c", 1, 1.0, 2]}, "uniqueItems": true, "minItems": 5}`, ``},
	{"unique booleans", `"V": {"type": "array", "items": {"type": "boolean"}, "uniqueItems": true, "minItems": 2}`, ``},
	{"contains", `"V": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 100}, "contains": {"minimum": 99}}`, ``},
	{"free-form", `"V": {"type": "object", "minProperties": 3, "maxProperties": 3}`, ``},
	{"patternProperties", `"V": {"type": "object", "patternProperties": {"^[a-z]{2}$": {"type": "integer"}, "^[A-Z]": {"const": "x"}}, "additionalProperties": false, "minProperties": 4}`, ``},
	{"additionalProperties", `"V": {"type": "object", "properties": {"A": {"type": "string"}}, "additionalProperties": {"type": "integer"}, "minProperties": 3}`, ``},
	{"propertyNames", `"V": {"type": "object", "propertyNames": {"pattern": "^x-[a-z]{3}$"}, "minProperties": 2}`, ``},
	{"minProperties of optional ones", `"V": {"type": "object", "properties": {"A": {"type": "string"}, "B": {"type": "string"}, "C": {"type": "string"}}, "additionalProperties": false, "minProperties": 2, "maxProperties": 2}`, ``},
	{"required, not declared", `"V": {"type": "object", "required": ["A"]}`, ``},
	{"dependencies", `"V": {"type": "object", "properties": {"A": {"type": "string"}, "B": {"type": "string"}, "C": {"type": "integer"}}, "dependencies": {"A": ["B"], "B": {"required": ["C"], "properties": {"C": {"minimum": 10}}}}, "required": ["A"], "additionalProperties": false}`, ``},
	{"oneOf of required", `"A": {"type": "string"}, "B": {"type": "string"}, "C": {"type": "string"}`, `"oneOf": [{"required": ["A"]}, {"required": ["B", "C"]}]`},
	{"anyOf of required", `"A": {"type": "string"}, "B": {"type": "string"}`, `"anyOf": [{"required": ["A"]}, {"required": ["B"]}]`},
	{"allOf of oneOf", `"A": {"type": "string"}, "B": {"type": "string"}, "C": {"type": "string"}, "D": {"type": "string"}`, `"allOf": [{"oneOf": [{"required": ["A"]}, {"required": ["B"]}]}, {"oneOf": [{"required": ["C"]}, {"required": ["D"]}]}]`},
	{"oneOf by a kind", `"V": {"type": "object", "oneOf": [{"properties": {"Kind": {"const": "a"}, "X": {"type": "integer"}}, "required": ["Kind", "X"]}, {"properties": {"Kind": {"const": "b"}, "X": {"type": "string"}}, "required": ["Kind", "X"]}]}`, ``},
	{"oneOf that overlaps", `"V": {"oneOf": [{"type": "integer", "minimum": 1, "maximum": 10}, {"type": "integer", "minimum": 8, "maximum": 20}]}`, ``},
	{"oneOf closed and empty", `"V": {"type": "object", "oneOf": [{"properties": {"A": {"type": "string"}}, "additionalProperties": false}, {"properties": {"B": {"type": "string"}}, "additionalProperties": false}]}`, ``},
	{"not", `"V": {"type": "integer", "minimum": 1, "maximum": 3, "not": {"enum": [1, 2]}}`, ``},
	{"not required", `"A": {"type": "string"}, "B": {"type": "string"}`, `"not": {"required": ["A", "B"]}`},
	{"if then else", `"V": {"type": "object", "properties": {"K": {"enum": ["a", "b"]}, "N": {"type": "integer"}}, "required": ["K"], "if": {"properties": {"K": {"const": "a"}}}, "then": {"required": ["N"]}, "else": {"properties": {"N": false}}}`, ``},
	{"recursion", `"V": {"$ref": "#/definitions/Tree"}`, `"definitions": {"Tree": {"type": "object", "properties": {"Left": {"$ref": "#/definitions/Tree"}, "Right": {"$ref": "#/definitions/Tree"}, "Name": {"type": "string"}}, "required": ["Name"], "additionalProperties": false}}`},
	{"recursion in a choice", `"V": {"$ref": "#/definitions/Expr"}`, `"definitions": {"Expr": {"oneOf": [{"type": "object", "properties": {"And": {"type": "array", "minItems": 2, "items": {"$ref": "#/definitions/Expr"}}}, "required": ["And"], "additionalProperties": false}, {"type": "object", "properties": {"Leaf": {"type": "string"}}, "required": ["Leaf"], "additionalProperties": false}]}}`},
	{"a reference to itself only", `"V": {"$ref": "#/definitions/A"}`, `"definitions": {"A": {"$ref": "#/definitions/A"}}`},
	{"default for a hard pattern", `"V": {"type": "string", "pattern": "^(?=[a-f]+$)(?=(?:..)+$)(?=.*abc)(?=.{8}$)(?!.*aa)a[a-f]*f$", "default": "abcdabcf"}`, ``},
	{"optional but impossible", `"V": {"type": "string"}, "W": {"type": "integer", "minimum": 2, "maximum": 1}, "X": false`, ``},
}

func TestKeywords(t *testing.T) {
	for _, test := range satisfiable {
		t.Run(test.name, func(t *testing.T) {
			more := test.more
			if strings.HasPrefix(test.properties, `"V"`) {
				more = strings.TrimPrefix(prefixed(", ", more)+`, "required": ["V"]`, ", ")
			}
			s := load(t, test.properties, more)
			for name, profile := range profiles {
				for seed := range uint64(20) {
					model, err := sample.New(s, sample.Config{Seed: seed, Profile: profile}).Create()
					if err != nil {
						t.Fatalf("%s, seed %d: %v", name, seed, err)
					}
					if v := s.Check(model, schema.CheckConfig{}); len(v) > 0 {
						t.Fatalf("%s, seed %d: %v breaks %v", name, seed, model, v)
					}
				}
			}
		})
	}
}

// TestImpossible: values that cannot be generated are reported at once, by place and keyword.
func TestImpossible(t *testing.T) {
	var deep strings.Builder // each level asks for both branches of the next one
	for i := range 40 {
		fmt.Fprintf(&deep, `"L%d": {"oneOf": [{"$ref": "#/definitions/L%d"}, {"$ref": "#/definitions/L%d"}]}, `, i, i+1, i+1)
	}
	deep.WriteString(`"L40": {"type": "integer"}`)
	var wide strings.Builder
	for i := range 30 {
		fmt.Fprintf(&wide, `, {"oneOf": [{"required": ["A%d"]}, {"required": ["B%d"]}]}`, i, i)
	}
	for _, test := range []struct{ name, property, definitions, at, keyword string }{
		{"false", `false`, ``, "/V", "false"},
		{"types", `{"allOf": [{"type": "string"}, {"type": "integer"}]}`, ``, "/V", "type"},
		{"enum", `{"type": "integer", "enum": ["a"]}`, ``, "/V", "enum"},
		{"const", `{"type": "integer", "const": "a"}`, ``, "/V", "const"},
		{"lengths", `{"type": "string", "minLength": 3, "maxLength": 2}`, ``, "/V", "maxLength"},
		{"a huge text", `{"type": "string", "minLength": 1000000000}`, ``, "/V", "minLength"},
		{"a huge text by pattern", `{"type": "string", "pattern": "^a{900000000}$"}`, ``, "/V", "pattern"},
		{"a huge array", `{"type": "array", "items": {"type": "integer"}, "minItems": 1000000000}`, ``, "/V", "minItems"},
		{"a huge map", `{"type": "object", "minProperties": 1e300}`, ``, "/V", "minProperties"},
		{"numbers", `{"type": "integer", "minimum": 0.1, "maximum": 0.9}`, ``, "/V", "minimum"},
		{"multiples", `{"type": "integer", "minimum": 1, "maximum": 4, "multipleOf": 5}`, ``, "/V", "multipleOf"},
		{"unique", `{"type": "array", "items": {"type": "boolean"}, "uniqueItems": true, "minItems": 3}`, ``, "/V", "uniqueItems"},
		{"a pattern for nothing", `{"type": "string", "pattern": "^a$^b$"}`, ``, "/V", "pattern"},
		{"an empty class", `{"type": "string", "pattern": "^[^\\s\\S]$"}`, ``, "/V", "pattern"},
		{"a bad pattern", `{"type": "string", "pattern": "(unclosed"}`, ``, "/V", "pattern"},
		{"a slow pattern", `{"type": "string", "pattern": "^(a+)+$(?<!a)"}`, ``, "/V", "pattern"},
		{"loops around nothing", `{"type": "string", "pattern": "^` + strings.Repeat("(", 60) + "a?" + strings.Repeat(")*", 60) + `(?!)$"}`, ``, "/V", "pattern"},
		{"many large classes", `{"type": "string", "pattern": "^` + strings.Repeat(`[^\\s\\S]`, 1000) + `$"}`, ``, "/V", "pattern"},
		{"required but not allowed", `{"type": "object", "required": ["A"], "additionalProperties": false}`, ``, "/V/A", "required"},
		{"a dependency not allowed", `{"type": "object", "required": ["A"], "properties": {"A": {"type": "string"}}, "dependencies": {"A": ["B"]}, "additionalProperties": false}`, ``, "/V/B", "dependencies"},
		{"endless", `{"$ref": "#/definitions/A"}`, `"A": {"type": "object", "properties": {"A": {"$ref": "#/definitions/A"}}, "required": ["A"]}`, "/V/A", "$ref"},
		{"endless through an array", `{"$ref": "#/definitions/A"}`, `"A": {"type": "array", "items": {"$ref": "#/definitions/A"}, "minItems": 1}`, "/V/0", "$ref"},
		{"not anything", `{"not": {}}`, ``, "/V", "not"},
		{"oneOf of the same", `{"type": "string", "oneOf": [{"minLength": 1}, {"minLength": 1}]}`, ``, "/V", "oneOf"},
		{"combiners that multiply", `{"$ref": "#/definitions/L0"}`, deep.String(), "", ""},
		{"choices that multiply", `{"type": "object", "allOf": [{"minProperties": 1}` + wide.String() + `, {"maxProperties": 29}]}`, ``, "/V", "maxProperties"},
		{"branches without end", `{"$ref": "#/definitions/A"}`, `"A": {"type": "object", "allOf": [{"$ref": "#/definitions/A"}, {"$ref": "#/definitions/B"}]}, "B": {"anyOf": [{"$ref": "#/definitions/A"}], "not": {"type": "object"}}`, "/V", "not"},
	} {
		t.Run(test.name, func(t *testing.T) {
			more := `"required": ["V"]`
			if test.definitions != "" {
				more += `, "definitions": {` + test.definitions + `}`
			}
			s := load(t, `"V": `+test.property, more)
			for name, profile := range profiles {
				model, err := sample.New(s, sample.Config{Seed: 1, Profile: profile}).Create()
				var fault *sample.Error
				switch {
				case !errors.As(err, &fault):
					t.Fatalf("%s: got %v, %v, want an *Error", name, model, err)
				case test.at != "" && (fault.Pointer.String() != test.at || fault.Keyword != test.keyword):
					t.Errorf("%s: the fault is at %s [%s], want %s [%s]: %v", name, fault.Pointer, fault.Keyword, test.at, test.keyword, err)
				case !strings.Contains(err.Error(), "write inputs/"):
					t.Errorf("%s: %v does not say what to do", name, err)
				}
			}
		})
	}
}
