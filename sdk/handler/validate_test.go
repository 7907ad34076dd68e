package handler

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestValidationMessages(t *testing.T) {
	tests := []struct{ name, schema, value, want string }{
		{"type list", `{"type":["string","array"]}`, `5`, "#: expected type: String or Array, found: Integer"},
		{"number for integer", `{"type":"integer"}`, `1.5`, "#: expected type: Integer, found: Number"},
		{"whole number for integer", `{"type":"integer"}`, `15e-1`, "#: expected type: Integer, found: Number"},
		{"null", `{"type":"string"}`, `null`, "#: expected type: String, found: Null"},
		{"limits", `{"properties":{"a":{"minimum":2,"maximum":1,"exclusiveMinimum":1.5,"exclusiveMaximum":1.5,"multipleOf":0.7}}}`, `{"a":1.5}`,
			"#/a: must be at least 2|#/a: must be at most 1|#/a: must be greater than 1.5|#/a: must be less than 1.5|#/a: must be a multiple of 0.7"},
		{"huge number", `{"minimum":1}`, `1e999999999`, "#: is a number out of bounds"},
		{"length in code points", `{"minLength":3,"maxLength":1}`, `"äö"`, "#: expected minLength: 3, actual: 2|#: expected maxLength: 1, actual: 2"},
		{"items", `{"minItems":3,"maxItems":1,"uniqueItems":true,"items":{"type":"integer"},"contains":{"const":9}}`, `[1,1.0]`,
			"#: array items are not unique|#: expected maximum item count: 1, found: 2|#: expected minimum item count: 3, found: 2|#: failed validation constraint for keyword [contains]"},
		{"tuple", `{"items":[{"type":"string"}],"additionalItems":{"type":"null"}}`, `[1,2]`, "#/0: expected type: String, found: Integer|#/1: expected type: Null, found: Integer"},
		{"object", `{"minProperties":3,"maxProperties":1,"propertyNames":{"maxLength":1},"patternProperties":{"^b":{"type":"string"}},"additionalProperties":{"type":"boolean"}}`, `{"a/b":1,"b":2}`,
			"#: maximum size: 1, found: 2|#: minimum size: 3, found: 2|#: property name [a/b] is not permitted|#/a~1b: expected type: Boolean, found: Integer|#/b: expected type: String, found: Integer"},
		{"dependencies", `{"dependencies":{"a":["b","c"],"b":{"required":["d"]}}}`, `{"a":1,"b":2}`, "#: property [c] is required by [a]|#: required key [d] not found"},
		{"hidden values", `{"enum":["s1"],"const":"s2","pattern":"^s3$","not":{"type":"string"}}`, `"topsecret"`,
			"#: failed validation constraint for keyword [const]|#: failed validation constraint for keyword [enum]|#: failed validation constraint for keyword [not]|#: failed validation constraint for keyword [pattern]"},
		{"anyOf", `{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, "#: must match at least one of 2 alternatives and matches none (1: #: required key [a] not found; 2: #: required key [b] not found)"},
		{"oneOf", `{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1,"b":1}`, "#: must match exactly one of 2 alternatives and matches 2"},
		{"if, then", `{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, "#: required key [b] not found"},
		{"false", `{"properties":{"a":false}}`, `{"a":1}`, "#/a: is not permitted"},
		{"patterns of other engines", `{"pattern":"(?=x)x","patternProperties":{"(?!y)":{"type":"null"}},"additionalProperties":false}`, `{"a":1}`, ""},
		{"end of text as Java writes it", `{"items":{"pattern":"^(a|\\\\Z)\\Z"}}`, `["a","\\Z","a\n"]`, "#/2: failed validation constraint for keyword [pattern]"},
		{"recursion", `{"definitions":{"n":{"properties":{"next":{"$ref":"#/definitions/n"},"v":{"type":"integer"}}}},"$ref":"#/definitions/n"}`, `{"next":{"next":{"v":"x"}}}`, "#/next/next/v: expected type: Integer, found: String"},
		{"references in a circle", `{"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}},"$ref":"#/definitions/a"}`, `5`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := parseSchema([]byte(test.schema))
			if err != nil {
				t.Fatal(err)
			}
			value, err := decodeTree([]byte(test.value))
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, v := range validate(value, s.root, nil) {
				lines = append(lines, v.String())
			}
			want := strings.Split(test.want, "|")
			if test.want == "" {
				want = nil
			}
			if fmt.Sprint(sorted(lines)) != fmt.Sprint(sorted(want)) {
				t.Errorf("got  %q\nwant %q", lines, want)
			}
		})
	}
}

func sorted(lines []string) map[string]bool { // fmt prints maps in the order of their keys
	set := map[string]bool{}
	for _, line := range lines {
		set[line] = true
	}
	return set
}

func TestValidationIsBounded(t *testing.T) {
	s, err := parseSchema([]byte(`{"definitions":{"n":{"anyOf":[{"properties":{"a":{"$ref":"#/definitions/n"}}},{"properties":{"a":{"$ref":"#/definitions/n"}}},{"type":"null"}],"not":{"required":["z"]}}},
		"allOf":[{"$ref":"#/definitions/n"},{"$ref":"#/definitions/n"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	value, err := decodeTree([]byte(strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(validate(value, s.root, nil)); got != "[#: is too large to be checked]" {
		t.Error(got)
	}
	deep, err := decodeTree([]byte(strings.Repeat(`[`, 600) + strings.Repeat("]", 600)))
	if err != nil {
		t.Fatal(err)
	}
	recursive, err := parseSchema([]byte(`{"items":{"$ref":"#"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(validate(deep, recursive.root, nil)); got != "[#: is too large to be checked]" {
		t.Error(got)
	}
	recast(deep, recursive.root, true)
}

func TestManyViolationsAreCut(t *testing.T) {
	var found []violation
	for i := range 25 {
		found = append(found, violation{fmt.Sprintf("#/%d", i), "is wrong"})
	}
	message := validationMessage(found)
	if strings.Count(message, "\n") != 21 || !strings.HasSuffix(message, "\n#/19: is wrong\nand 5 more") {
		t.Error(message)
	}
}

func TestSchemasThatDoNotCompile(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"a":5}}`:                      "#/properties/a: a schema must be an object or a boolean",
		`{"type":5}`:                                  "#/type: must be a name or a list of names",
		`{"type":[5]}`:                                "#/type: must be a list of names",
		`{"required":[5]}`:                            "#/required: must be a list of names",
		`{"minLength":-1}`:                            "#/minLength: must be a whole number, zero or more",
		`{"minLength":1.5}`:                           "#/minLength: must be a whole number, zero or more",
		`{"minimum":"1"}`:                             "#/minimum: must be a number",
		`{"$ref":5}`:                                  "#/$ref: only references within the document are known, such as #/definitions/Name",
		`{"items":{"$ref":"other.json"}}`:             "#/items/$ref: only references within the document are known, such as #/definitions/Name",
		`{"$ref":"#/definitions/No"}`:                 "#/$ref: #/definitions/No leads nowhere",
		`{"$ref":"#/allOf/7","allOf":[{}]}`:           "#/$ref: #/allOf/7 leads nowhere",
		`{"$ref":"#/description/a","description":""}`: "#/$ref: #/description/a leads nowhere",
		`{"typeConfiguration":5}`:                     "#/typeConfiguration: a schema must be an object or a boolean",
		`{} {}`:                                       "more than one JSON value",
		strings.Repeat(`{"not":`, 300) + "{}" + strings.Repeat("}", 300): "#" + strings.Repeat("/not", 201) + ": nested deeper than 200",
	} {
		if _, err := parseSchema([]byte(schema)); err == nil || err.Error() != "read schema: "+want {
			t.Errorf("%.60s: got %v, want %s", schema, err, want)
		}
	}
}

func TestRecast(t *testing.T) {
	const schema = `{"definitions":{"Num":{"type":"number"},"Node":{"type":"object","properties":{"Value":{"type":"integer"},"Next":{"$ref":"#/definitions/Node"}},"additionalProperties":false}},
	"properties":{
		"Int":{"type":"integer"},"Num":{"$ref":"#/definitions/Num"},"Bool":{"type":"boolean"},"Text":{"type":"string"},"TextOrInt":{"type":["string","integer"]},
		"IntOrBool":{"oneOf":[{"type":"integer"},{"type":"boolean"}]},"Any":{},"List":{"type":"array","items":{"type":"integer"}},
		"Tuple":{"type":"array","items":[{"type":"integer"},{"type":"boolean"}],"additionalItems":{"type":"number"}},
		"Map":{"type":"object","patternProperties":{"^i":{"type":"integer"}},"additionalProperties":{"type":"boolean"}},
		"Open":{"type":"object","properties":{"Value":{"type":"integer"}}},
		"Node":{"$ref":"#/definitions/Node"}},
	"additionalProperties":false}`
	s, err := parseSchema([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, in, want string }{
		{"integers", `{"Int":"5"}`, `{"Int":5}`},
		{"large integers stay exact", `{"Int":"9223372036854775807"}`, `{"Int":9223372036854775807}`},
		{"larger ones too", `{"Int":"123456789012345678901234567890"}`, `{"Int":123456789012345678901234567890}`},
		{"whole numbers", `{"Int":5.0}`, `{"Int":5}`}, {"whole texts", `{"Int":"5e2"}`, `{"Int":500}`}, {"minus zero", `{"Int":-0}`, `{"Int":0}`},
		{"fractions stay", `{"Int":"1.9"}`, `{"Int":"1.9"}`}, {"fractions of numbers stay", `{"Int":1.9}`, `{"Int":1.9}`},
		{"no other number syntax", `{"Int":"0x10","Num":"1_000","Bool":"t"}`, `{"Bool":"t","Int":"0x10","Num":"1_000"}`},
		{"empty text stays", `{"Int":"","Bool":"","Num":" 5"}`, `{"Bool":"","Int":"","Num":" 5"}`},
		{"numbers", `{"Num":"1.50"}`, `{"Num":1.50}`}, {"whole number as number", `{"Num":"3"}`, `{"Num":3}`}, {"5.0 as number stays", `{"Num":5.0}`, `{"Num":5.0}`},
		{"booleans", `{"Bool":"TRUE"}`, `{"Bool":true}`}, {"false", `{"Bool":"false"}`, `{"Bool":false}`},
		{"numbers as text", `{"Text":5.10}`, `{"Text":"5.10"}`}, {"booleans as text", `{"Text":true}`, `{"Text":"true"}`}, {"false as text", `{"Text":false}`, `{"Text":"false"}`},
		{"text stays where text may be", `{"TextOrInt":"5"}`, `{"TextOrInt":"5"}`}, {"number stays where it may be", `{"TextOrInt":5}`, `{"TextOrInt":5}`},
		{"alternatives, integer", `{"IntOrBool":"5"}`, `{"IntOrBool":5}`}, {"alternatives, boolean", `{"IntOrBool":"true"}`, `{"IntOrBool":true}`},
		{"free values stay", `{"Any":{"a":"5","b":[true,"x"]}}`, `{"Any":{"a":"5","b":[true,"x"]}}`},
		{"nulls are absent", `{"Int":null,"Any":{"a":null,"b":[null]}}`, `{"Any":{"b":[null]}}`},
		{"lists", `{"List":["1","x",3]}`, `{"List":[1,"x",3]}`}, {"tuples", `{"Tuple":["1","true","2.5"]}`, `{"Tuple":[1,true,2.5]}`},
		{"maps", `{"Map":{"i1":"1","b":"true"}}`, `{"Map":{"b":true,"i1":1}}`},
		{"other letter case is not the property", `{"int":5,"Open":{"value":"1","Other":"1"}}`, `{"Open":{"Other":"1"}}`},
		{"undeclared in a closed object", `{"Extra":1}`, `{}`},
		{"recursion", `{"Node":{"Value":"1","Next":{"Value":"2","Next":{"Value":"3","no":1}}}}`, `{"Node":{"Next":{"Next":{"Value":3},"Value":2},"Value":1}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree, err := decodeTree([]byte(test.in))
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(recast(tree, s.root, true))
			if err != nil || string(got) != test.want {
				t.Errorf("got %s (%v), want %s", got, err, test.want)
			}
		})
	}
}

func TestScrub(t *testing.T) {
	for _, test := range []struct{ name, paths, in, want string }{
		{"top", `["/properties/A"]`, `{"A":1,"B":2}`, `{"B":2}`},
		{"absent", `["/properties/A/B","/properties/C/*/D"]`, `{"A":5,"X":1}`, `{"A":5,"X":1}`},
		{"nested", `["/properties/A/B"]`, `{"A":{"B":1,"C":2}}`, `{"A":{"C":2}}`},
		{"nested in schema notation", `["/properties/A/properties/B","/properties/L/items/properties/B"]`, `{"A":{"B":1},"L":[{"B":1}]}`, `{"A":{},"L":[{}]}`},
		{"a property called properties", `["/properties/A/properties/B"]`, `{"A":{"properties":{"B":1,"C":1}}}`, `{"A":{"properties":{"C":1}}}`},
		{"array", `["/properties/A/*/B"]`, `{"A":[{"B":1,"C":2},{"C":3},5]}`, `{"A":[{"C":2},{"C":3},5]}`},
		{"array without a star", `["/properties/A/B"]`, `{"A":[{"B":1,"C":2},{"B":3}]}`, `{"A":[{"C":2},{}]}`},
		{"arrays in arrays", `["/properties/A/*/B/*/C"]`, `{"A":[{"B":[{"C":1,"D":1},{"C":2}]},{"B":[]}]}`, `{"A":[{"B":[{"D":1},{}]},{"B":[]}]}`},
		{"elements of an array", `["/properties/A/*"]`, `{"A":["x","y"],"B":1}`, `{"B":1}`},
		{"members of a map", `["/properties/M/*/B","/properties/N/*"]`, `{"M":{"x":{"B":1,"C":1},"y":{}},"N":{"a":1}}`, `{"M":{"x":{"C":1},"y":{}},"N":{}}`},
		{"escaped", `["/properties/a~1b/c~0d"]`, `{"a/b":{"c~d":1,"e":1}}`, `{"a/b":{"e":1}}`},
		{"not a path", `["A","/definitions/A",5,"/properties"]`, `{"A":1}`, `{"A":1}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := parseSchema([]byte(`{"writeOnlyProperties":` + test.paths + `}`))
			if err != nil {
				t.Fatal(err)
			}
			tree, err := decodeTree([]byte(test.in))
			if err != nil {
				t.Fatal(err)
			}
			removePaths(tree, s.writeOnly)
			if got, _ := json.Marshal(tree); string(got) != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestKeepPaths(t *testing.T) {
	tree, err := decodeTree([]byte(`{"A":{"B":1,"C":2,"D":{"E":3}},"F":4,"G":5}`))
	if err != nil {
		t.Fatal(err)
	}
	paths := [][]string{{"A", "B"}, {"A", "D", "E"}, {"F"}, {"G", "no"}, {"H"}}
	got, _ := json.Marshal(keepPaths(tree, paths))
	if string(got) != `{"A":{"B":1,"D":{"E":3}},"F":4}` {
		t.Error(string(got))
	}
	if hasPaths(tree, paths) || !hasPaths(tree, paths[:3]) {
		t.Error("hasPaths")
	}
}
