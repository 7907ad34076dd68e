package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// modelSchema has every shape that models are walked by.
const modelSchema = `{
  "typeName": "Initech::TPS::Report", "description": "A report.", "additionalProperties": false,
  "definitions": {
    "Tag": {"type": "object", "additionalProperties": false, "required": ["Key"],
      "properties": {"Key": {"type": "string", "maxLength": 8}, "Value": {"type": "string"}, "Secret": {"type": "string"}}},
    "Tags": {"type": "array", "insertionOrder": false, "uniqueItems": true, "items": {"$ref": "#/definitions/Tag"}},
    "Tree": {"type": "object", "additionalProperties": false,
      "properties": {"Name": {"type": "string"}, "Children": {"type": "array", "insertionOrder": false, "items": {"$ref": "#/definitions/Tree"}}}},
    "Self": {"$ref": "#/definitions/Self"}
  },
  "properties": {
    "Id": {"type": "string"},
    "Title": {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^[a-z]+$"},
    "Count": {"type": "integer", "minimum": 1, "maximum": 10},
    "Ratio": {"type": "number", "multipleOf": 0.1, "exclusiveMaximum": 1},
    "Flag": {"type": "boolean"},
    "Mode": {"type": "string", "enum": ["FAST", "SLOW"]},
    "Either": {"type": ["string", "integer"]},
    "Policy": {"type": "object"},
    "Pages": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3},
    "Labels": {"type": "array", "insertionOrder": false, "items": {"type": "string"}},
    "Sets": {"type": "array", "insertionOrder": false, "items": {"type": "array", "insertionOrder": false, "items": {"type": "integer"}}},
    "Tags": {"$ref": "#/definitions/Tags"},
    "Beside": {"$ref": "#/definitions/Pages2", "insertionOrder": false},
    "Map": {"type": "object", "additionalProperties": false, "patternProperties": {"^[a-z]+$": {"$ref": "#/definitions/Tag"}}},
    "Tree": {"$ref": "#/definitions/Tree"},
    "Choice": {"type": "object", "oneOf": [
      {"additionalProperties": false, "properties": {"A": {"type": "integer"}}, "required": ["A"]},
      {"additionalProperties": false, "properties": {"B": {"type": "boolean"}}, "required": ["B"]}]},
    "Loop": {"$ref": "#/definitions/Self"}
  },
  "required": ["Title"],
  "dependencies": {"Count": ["Ratio"]},
  "primaryIdentifier": ["/properties/Id"],
  "readOnlyProperties": ["/properties/Id", "/properties/Tags/*/Value", "/properties/Tree/properties/Name"],
  "writeOnlyProperties": ["/properties/Tags/Secret", "/properties/Map/*/Secret"],
  "createOnlyProperties": ["/properties/Choice.A"]
}`

func loadText(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, problems := schema.Load("model.json", []byte(text), schema.Config{})
	if s == nil {
		t.Fatal(problems.Err())
	}
	return s
}

func decode(t testing.TB, text string) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func encode(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPaths(t *testing.T) {
	s := loadText(t, modelSchema)
	for _, test := range []struct {
		paths []schema.Path
		want  string
	}{
		{s.ReadOnly, "[/Id /Tags/*/Value /Tree/Name]"},
		{s.WriteOnly, "[/Tags/*/Secret /Map/*/Secret]"},
		{s.CreateOnly, "[/Choice/A]"},
	} {
		var got []string
		for _, p := range test.paths {
			got = append(got, p.Tokens.String())
		}
		if fmt.Sprint(got) != test.want {
			t.Errorf("got %v, want %s", got, test.want)
		}
	}
	for pointer, want := range map[string][3]bool{
		"/Id":                {true, false, false},
		"/Tags":              {false, false, false},
		"/Tags/0/Value":      {true, false, false},
		"/Tags/*/Value":      {true, false, false},
		"/Tags/3/Value/Deep": {true, false, false},
		"/Tags/0/Secret":     {false, true, false},
		"/Map/any/Secret":    {false, true, false},
		"/Choice/A":          {false, false, true},
		"/Nope":              {false, false, false},
	} {
		tokens, _ := document.ParsePointer(pointer)
		if got := [3]bool{s.IsReadOnly(tokens), s.IsWriteOnly(tokens), s.IsCreateOnly(tokens)}; got != want {
			t.Errorf("%s: %v, want %v", pointer, got, want)
		}
	}
}

func TestProperty(t *testing.T) {
	s := loadText(t, modelSchema)
	for pointer, want := range map[string]string{
		"/Title":                             "string",
		"/Tags":                              "array",
		"/Tags/*":                            "object",
		"/Tags/17/Key":                       "string",
		"/Map/abc":                           "object",
		"/Map/*/Value":                       "string",
		"/Map/ABC":                           "",
		"/Tree/Children/*/Children/0/Name":   "string",
		"/Choice/B":                          "boolean",
		"/Policy/Anything":                   "",
		"/Nope":                              "",
		"/Loop":                              "",
		"/Tags/Key":                          "",
		"/Sets/0/1":                          "integer",
		"/Sets/0/1/2":                        "",
		"/Tree/Children/*/Children/*/Childr": "",
	} {
		tokens, _ := document.ParsePointer(pointer)
		got := ""
		if node := s.Property(tokens); node != nil {
			got = node.Get("type").Text
		}
		if got != want {
			t.Errorf("%s: type %q, want %q", pointer, got, want)
		}
	}
	first := s.Property(document.Pointer{"Tags", "*"})
	if second := s.Property(document.Pointer{"Map", "x"}); first != second {
		t.Error("the same definition is two values")
	}
}

func TestWithoutPresentIdentifier(t *testing.T) {
	s := loadText(t, modelSchema)
	text := `{"Id":"i","Map":{"a":{"Key":"k","Secret":"s"},"b":{"Key":"l"}},"Tags":[{"Key":"a","Secret":"x"},{"Key":"b","Secret":null},{"Key":"c","Secret":"z","Value":"v"}]}`
	model := decode(t, text)
	if got, want := encode(t, schema.Without(model, s.WriteOnly)), `{"Id":"i","Map":{"a":{"Key":"k"},"b":{"Key":"l"}},"Tags":[{"Key":"a"},{"Key":"b"},{"Key":"c","Value":"v"}]}`; got != want {
		t.Errorf("without write-only: %s", got)
	}
	if got := encode(t, model); got != text {
		t.Errorf("the model was changed: %s", got)
	}
	if got, want := fmt.Sprint(schema.Present(model, s.WriteOnly)), "[/Tags/0/Secret /Tags/2/Secret /Map/a/Secret]"; got != want {
		t.Errorf("present: %s, want %s", got, want)
	}
	returned := decode(t, `{"Tags":[{"Key":"a"},"b"],"Map":{"b":{"Key":"l"}}}`).(map[string]any)
	schema.PutBack(returned, model.(map[string]any), s.WriteOnly)
	if got, want := encode(t, returned), `{"Map":{"a":{"Secret":"s"},"b":{"Key":"l"}},"Tags":[{"Key":"a","Secret":"x"},"b"]}`; got != want {
		t.Errorf("put back: %s, want %s", got, want)
	}
	path := func(tokens ...string) schema.Path { return schema.Path{Tokens: tokens} }
	for _, test := range []struct {
		path schema.Path
		want string
	}{
		{path("Tags", "1"), `{"Tags":[1,3]}`},
		{path("Tags", "*"), `{"Tags":[]}`},
		{path("Tags"), `{}`},
		{path("Tags", "9"), `{"Tags":[1,2,3]}`},
		{path("Nope", "*"), `{"Tags":[1,2,3]}`},
		{path("*"), `{}`},
		{path(), `{"Tags":[1,2,3]}`},
	} {
		if got := encode(t, schema.Without(decode(t, `{"Tags":[1,2,3]}`), []schema.Path{test.path})); got != test.want {
			t.Errorf("without %v: %s, want %s", test.path.Tokens, got, test.want)
		}
	}
	for text, want := range map[string]string{
		`{"Id":"x"}`:            "[x] true",
		`{"Id":null}`:           "[] false",
		`{}`:                    "[] false",
		`[]`:                    "[] false",
		`{"Id":{"deep":[1,2]}}`: "[map[deep:[1 2]]] true",
	} {
		values, ok := schema.Identifier(decode(t, text), s.PrimaryIdentifier)
		if got := fmt.Sprint(values, ok); got != want {
			t.Errorf("identifier of %s: %s, want %s", text, got, want)
		}
	}
	if _, ok := schema.Identifier(map[string]any{}, nil); ok {
		t.Error("no paths are no identifier")
	}
}

func TestRecast(t *testing.T) {
	s := loadText(t, modelSchema)
	for _, test := range []struct{ name, in, want string }{
		{"integer", `{"Count":"5"}`, `{"Count":5}`},
		{"integer with a fraction stays", `{"Count":"5.5"}`, `{"Count":"5.5"}`},
		{"whole number with a point", `{"Count":"5.0"}`, `{"Count":5.0}`},
		{"number", `{"Ratio":"-1.5e3"}`, `{"Ratio":-1.5e3}`},
		{"hexadecimal stays", `{"Count":"0x10"}`, `{"Count":"0x10"}`},
		{"blank stays", `{"Count":"","Flag":" true"}`, `{"Count":"","Flag":" true"}`},
		{"long digits keep every digit", `{"Count":"123456789012345678901234567890"}`, `{"Count":123456789012345678901234567890}`},
		{"boolean", `{"Flag":"true"}`, `{"Flag":true}`},
		{"boolean in capitals", `{"Flag":"FALSE"}`, `{"Flag":false}`},
		{"number to string", `{"Title":5}`, `{"Title":"5"}`},
		{"boolean to string", `{"Title":true}`, `{"Title":"true"}`},
		{"both allowed", `{"Either":"5"}`, `{"Either":"5"}`},
		{"null stays", `{"Count":null}`, `{"Count":null}`},
		{"free-form stays", `{"Policy":{"A":"5"}}`, `{"Policy":{"A":"5"}}`},
		{"unknown stays", `{"Nope":"5"}`, `{"Nope":"5"}`},
		{"items", `{"Pages":["1",2,"x"]}`, `{"Pages":[1,2,"x"]}`},
		{"through references and maps", `{"Map":{"a":{"Key":1}},"Tags":[{"Key":true}]}`, `{"Map":{"a":{"Key":"1"}},"Tags":[{"Key":"true"}]}`},
		{"recursive", `{"Tree":{"Children":[{"Children":[{"Name":1}]}]}}`, `{"Tree":{"Children":[{"Children":[{"Name":"1"}]}]}}`},
		{"combiners", `{"Choice":{"A":"1","B":"true"}}`, `{"Choice":{"A":1,"B":true}}`},
		{"wrong shape stays", `{"Pages":"1","Tags":{"Key":1}}`, `{"Pages":"1","Tags":{"Key":1}}`},
		{"no object", `"5"`, `"5"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			model := decode(t, test.in)
			if got, want := s.Recast(model), decode(t, test.want); !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if !reflect.DeepEqual(model, decode(t, test.in)) {
				t.Error("the model was changed")
			}
		})
	}
}

func TestCheck(t *testing.T) {
	s := loadText(t, modelSchema)
	const secret = "hunter2-is-the-password"
	for _, test := range []struct {
		name, model string
		want        []string // of all of draft-07
		shape       []string // of the handler contract; nil means none
	}{
		{"valid", `{"Title":"abc"}`, nil, nil},
		{"required", `{}`, []string{`the model: is missing the property "Title" [required]`}, nil},
		{"dependencies", `{"Title":"a","Count":1}`, []string{`the model: has the property "Count", which requires "Ratio" [dependencies]`}, nil},
		{"type", `{"Title":1}`, []string{"/Title: must be a string but is a number [type]"}, []string{"/Title: must be a string but is a number [type]"}},
		{"types", `{"Title":"a","Either":1.5}`, []string{"/Either: must be a string or an integer but is a number with a fraction [type]"}, []string{"/Either: must be a string or an integer but is a number with a fraction [type]"}},
		{"null is a value", `{"Title":"a","Flag":null}`, []string{"/Flag: must be a boolean but is null [type]"}, []string{"/Flag: must be a boolean but is null [type]"}},
		{"whole number", `{"Title":"a","Count":3.0,"Ratio":0.5}`, nil, nil},
		{"length in characters", `{"Title":"äöüäöü"}`, []string{"/Title: has 6 characters; the maximum is 5 [maxLength]", "/Title: does not match the pattern ^[a-z]+$ [pattern]"}, []string{"/Title: has 6 characters; the maximum is 5 [maxLength]", "/Title: does not match the pattern ^[a-z]+$ [pattern]"}},
		{"bounds", `{"Title":"a","Count":11,"Ratio":1}`, []string{"/Count: is more than 10 [maximum]", "/Ratio: is not less than 1 [exclusiveMaximum]"}, []string{"/Count: is more than 10 [maximum]", "/Ratio: is not less than 1 [exclusiveMaximum]"}},
		{"exact multiples", `{"Title":"a","Ratio":0.3}`, nil, nil},
		{"no multiple", `{"Title":"a","Ratio":0.35}`, []string{"/Ratio: is not a multiple of 0.1 [multipleOf]"}, []string{"/Ratio: is not a multiple of 0.1 [multipleOf]"}},
		{"huge exponents", `{"Title":"a","Count":1e999999999,"Ratio":-1e-999999999}`, []string{"/Count: is more than 10 [maximum]", "/Ratio: is not a multiple of 0.1 [multipleOf]"}, []string{"/Count: is more than 10 [maximum]", "/Ratio: is not a multiple of 0.1 [multipleOf]"}},
		{"enum", `{"Title":"a","Mode":"fast"}`, []string{`/Mode: is not one of the 2 allowed values: "FAST", "SLOW" [enum]`}, []string{`/Mode: is not one of the 2 allowed values: "FAST", "SLOW" [enum]`}},
		{"unknown property", `{"Title":"a","Titel":"b"}`, []string{`/Titel: the schema has no such property: did you mean "Title"? [additionalProperties]`}, []string{`/Titel: the schema has no such property: did you mean "Title"? [additionalProperties]`}},
		{"items", `{"Title":"a","Pages":[1,2,"x",4]}`, []string{"/Pages: has 4 items; the maximum is 3 [maxItems]", "/Pages/2: must be an integer but is a string [type]"}, []string{"/Pages: has 4 items; the maximum is 3 [maxItems]", "/Pages/2: must be an integer but is a string [type]"}},
		{"unique by value", `{"Title":"a","Tags":[{"Key":"a","Value":"b"},{"Value":"b","Key":"a"}]}`, []string{"/Tags: has the same item at indexes 0 and 1 [uniqueItems]"}, []string{"/Tags: has the same item at indexes 0 and 1 [uniqueItems]"}},
		{"inside a map", `{"Title":"a","Map":{"a":{"Value":1},"B":{}}}`, []string{"/Map/B: the schema has no such property [additionalProperties]", `/Map/a: is missing the property "Key" [required]`, "/Map/a/Value: must be a string but is a number [type]"}, []string{"/Map/B: the schema has no such property [additionalProperties]", "/Map/a/Value: must be a string but is a number [type]"}},
		{"alternatives", `{"Title":"a","Choice":{}}`, []string{"/Choice: does not match any of the 2 alternatives: it needs A, or B [oneOf]"}, nil},
		{"reference to itself", `{"Title":"a","Loop":{"x":1}}`, nil, nil},
		{"no object", `[]`, []string{"the model: must be an object but is an array [type]"}, []string{"the model: must be an object but is an array [type]"}},
		{"secrets stay secret", `{"Title":"` + secret + `","Mode":"` + secret + `","Count":"` + secret + `","Ratio":0.5,"Tags":[{"Key":"` + secret + `"}]}`,
			[]string{"/Count: must be an integer but is a string [type]", `/Mode: is not one of the 2 allowed values: "FAST", "SLOW" [enum]`, "/Tags/0/Key: has 23 characters; the maximum is 8 [maxLength]", "/Title: has 23 characters; the maximum is 5 [maxLength]", "/Title: does not match the pattern ^[a-z]+$ [pattern]"},
			[]string{"/Count: must be an integer but is a string [type]", `/Mode: is not one of the 2 allowed values: "FAST", "SLOW" [enum]`, "/Tags/0/Key: has 23 characters; the maximum is 8 [maxLength]", "/Title: has 23 characters; the maximum is 5 [maxLength]", "/Title: does not match the pattern ^[a-z]+$ [pattern]"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, mode := range []struct {
				cfg  schema.CheckConfig
				want []string
			}{{schema.CheckConfig{}, test.want}, {schema.CheckConfig{Shape: true}, test.shape}} {
				var got []string
				for _, v := range s.Check(decode(t, test.model), mode.cfg) {
					got = append(got, v.String())
					if strings.Contains(v.String(), secret) {
						t.Errorf("reveals a value: %s", v)
					}
				}
				if diff := cmp.Diff(mode.want, got); diff != "" {
					t.Errorf("%+v: (-want +got)\n%s", mode.cfg, diff)
				}
			}
		})
	}
}

func TestCompare(t *testing.T) {
	text := strings.Replace(modelSchema, `"Self": {`, `"Pages2": {"type": "array", "items": {"type": "integer"}}, "Self": {`, 1)
	s := loadText(t, text)
	for _, test := range []struct {
		name, want, got string
		strict, extra   []string // differences without and with AllowExtra
	}{
		{"same", `{"Title":"a","Count":1}`, `{"Count":1,"Title":"a"}`, nil, nil},
		{"numbers by value", `{"Count":1,"Ratio":1e2}`, `{"Count":1.0,"Ratio":100}`, nil, nil},
		{"exact numbers", `{"Ratio":0.1000000000000000000001}`, `{"Ratio":0.1}`, []string{"/Ratio: requested 0.1000000000000000000001, returned 0.1"}, []string{"/Ratio: requested 0.1000000000000000000001, returned 0.1"}},
		{"huge exponents", `{"Ratio":1e999999999}`, `{"Ratio":10e999999998}`, nil, nil},
		{"true is not 1", `{"Flag":true}`, `{"Flag":1}`, []string{"/Flag: requested true, returned 1"}, []string{"/Flag: requested true, returned 1"}},
		{"text is not a number", `{"Count":1}`, `{"Count":"1"}`, []string{`/Count: requested 1, returned "1"`}, []string{`/Count: requested 1, returned "1"`}},
		{"missing", `{"Tags":[{"Key":"a","Value":"b"}]}`, `{"Tags":[{"Key":"a"}]}`, []string{`/Tags/0/Value: requested "b", returned nothing`}, []string{`/Tags/0/Value: requested "b", returned nothing`}},
		{"as it is written", `{"Title":"<a> & b"}`, `{"Title":"a"}`, []string{`/Title: requested "<a> & b", returned "a"`}, []string{`/Title: requested "<a> & b", returned "a"`}},
		{"extra", `{"Title":"a"}`, `{"Title":"a","Mode":"FAST"}`, []string{`/Mode: requested nothing, returned "FAST"`}, nil},
		{"null is absent", `{"Title":"a","Mode":null}`, `{"Title":"a","Flag":null}`, nil, nil},
		{"order matters", `{"Pages":[1,2]}`, `{"Pages":[2,1]}`, []string{"/Pages/0: requested 1, returned 2", "/Pages/1: requested 2, returned 1"}, []string{"/Pages/0: requested 1, returned 2", "/Pages/1: requested 2, returned 1"}},
		{"longer list", `{"Pages":[1]}`, `{"Pages":[1,2]}`, []string{"/Pages/1: requested nothing, returned 2"}, []string{"/Pages/1: requested nothing, returned 2"}},
		{"shorter list", `{"Pages":[1,2]}`, `{"Pages":[1]}`, []string{"/Pages/1: requested 2, returned nothing"}, []string{"/Pages/1: requested 2, returned nothing"}},
		{"unordered", `{"Labels":["a","b","c"]}`, `{"Labels":["c","a","b"]}`, nil, nil},
		{"multiset counts", `{"Labels":["a","a","b"]}`, `{"Labels":["a","b","b"]}`, []string{`/Labels/1: requested "a", returned nothing`, `/Labels/2: requested nothing, returned "b"`}, []string{`/Labels/1: requested "a", returned nothing`, `/Labels/2: requested nothing, returned "b"`}},
		{"a set does not count", `{"Tags":[{"Key":"a"},{"Key":"a"}]}`, `{"Tags":[{"Key":"a"}]}`, nil, nil},
		{"order behind a reference", `{"Tags":[{"Key":"a"},{"Key":"b"}]}`, `{"Tags":[{"Key":"b"},{"Key":"a"}]}`, nil, nil},
		{"order beside a reference", `{"Beside":[1,2]}`, `{"Beside":[2,1]}`, nil, nil},
		{"sets of sets", `{"Sets":[[1,2],[3]]}`, `{"Sets":[[3],[2,1]]}`, nil, nil},
		{"sets of sets differ inside", `{"Sets":[[1,2],[3]]}`, `{"Sets":[[3],[1,9]]}`, []string{"/Sets/0: requested [1,2], returned nothing", "/Sets/1: requested nothing, returned [1,9]"}, []string{"/Sets/0: requested [1,2], returned nothing", "/Sets/1: requested nothing, returned [1,9]"}},
		{"recursion", `{"Tree":{"Children":[{"Name":"a","Children":[{"Name":"x"},{"Name":"y"}]},{"Name":"b"}]}}`, `{"Tree":{"Children":[{"Name":"b"},{"Name":"a","Children":[{"Name":"y"},{"Name":"x"}]}]}}`, nil, nil},
		{"defaults in unordered items", `{"Tags":[{"Key":"a"},{"Key":"b"}]}`, `{"Tags":[{"Key":"b","Value":"v"},{"Key":"a","Value":"w"}]}`,
			[]string{`/Tags/0/Value: requested nothing, returned "w"`, `/Tags/1/Value: requested nothing, returned "v"`}, nil},
		{"pairs make room for each other", `{"Tags":[{},{"Key":"a"}]}`, `{"Tags":[{"Key":"a"},{"Key":"b"}]}`,
			[]string{`/Tags/0: requested {}, returned nothing`, `/Tags/1: requested nothing, returned {"Key":"b"}`}, nil},
		{"changed item", `{"Tags":[{"Key":"a","Value":"1"},{"Key":"b","Value":"2"}]}`, `{"Tags":[{"Key":"b","Value":"3"},{"Key":"a","Value":"1"}]}`,
			[]string{`/Tags/1/Value: requested "2", returned "3"`}, []string{`/Tags/1/Value: requested "2", returned "3"`}},
		{"another type", `{"Tags":[]}`, `{"Tags":{}}`, []string{`/Tags: requested [], returned {}`}, []string{`/Tags: requested [], returned {}`}},
		{"unknown arrays keep their order", `{"Nope":[1,2]}`, `{"Nope":[2,1]}`, []string{"/Nope/0: requested 1, returned 2", "/Nope/1: requested 2, returned 1"}, []string{"/Nope/0: requested 1, returned 2", "/Nope/1: requested 2, returned 1"}},
		{"whole model", `{}`, `null`, []string{"the model: requested {}, returned null"}, []string{"the model: requested {}, returned null"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, mode := range []struct {
				extra bool
				want  []string
			}{{false, test.strict}, {true, test.extra}} {
				var got []string
				for _, d := range s.Compare(decode(t, test.want), decode(t, test.got), schema.CompareConfig{AllowExtra: mode.extra}) {
					got = append(got, d.String())
				}
				if diff := cmp.Diff(mode.want, got); diff != "" {
					t.Errorf("extra keys allowed: %v (-want +got)\n%s", mode.extra, diff)
				}
			}
		})
	}
}

// TestCompareWhatAServiceReturns: deprecated properties may be missing, and attributes may be added, but only
// in what a service returns.
func TestCompareWhatAServiceReturns(t *testing.T) {
	s := loadText(t, `{
	  "typeName": "Initech::TPS::Report", "description": "A report.", "additionalProperties": false, "primaryIdentifier": ["/properties/Id"],
	  "definitions": {"Pair": {"type": "object", "additionalProperties": false, "properties": {"Key": {"type": "string"}, "Value": {"type": "string"}}},
	    "Pairs": {"type": "array", "arrayType": "AttributeList", "items": {"$ref": "#/definitions/Pair"}}},
	  "properties": {"Id": {"type": "string"}, "Old": {"type": "string"},
	    "Sender": {"type": "object", "properties": {"Name": {"type": "string"}, "Mail": {"type": "string"}}},
	    "Attributes": {"$ref": "#/definitions/Pairs"}, "Groups": {"type": "array", "items": {"type": "object", "properties": {"Attributes": {"$ref": "#/definitions/Pairs"}}}},
	    "Plain": {"type": "array", "items": {"$ref": "#/definitions/Pair"}}},
	  "deprecatedProperties": ["/properties/Old", "/properties/Sender/Name"]}`)
	for _, test := range []struct {
		want, got string
		extra     []string // differences with AllowExtra
		exact     int      // and without
	}{
		{`{"Old":"a","Id":"1"}`, `{"Id":"1"}`, nil, 1},
		{`{"Old":"a"}`, `{"Old":"b"}`, []string{"/Old changed"}, 1},
		{`{"Sender":{"Name":"a"}}`, `{}`, nil, 1},
		{`{"Sender":{"Name":"a","Mail":"m"}}`, `{"Sender":{"Mail":"m"}}`, nil, 1},
		{`{"Sender":{"Name":"a","Mail":"m"}}`, `{}`, []string{"/Sender missing"}, 1},
		{`{"Attributes":[{"Key":"a","Value":"1"}]}`, `{"Attributes":[{"Key":"b","Value":"2"},{"Key":"a","Value":"1"}]}`, nil, 3},
		{`{"Groups":[{"Attributes":[{"Key":"a","Value":"1"}]}]}`, `{"Groups":[{"Attributes":[{"Key":"b","Value":"2"},{"Key":"a","Value":"1"}]}]}`, nil, 3},
		{`{"Attributes":[{"Key":"a","Value":"1"}]}`, `{"Attributes":[{"Key":"a","Value":"2"},{"Key":"b","Value":"2"}]}`, []string{"/Attributes/0/Value changed"}, 2},
		{`{"Attributes":[{"Key":"a","Value":"1"}]}`, `{"Attributes":[{"Key":"b","Value":"2"}]}`, []string{"/Attributes/0 missing"}, 2},
		{`{"Plain":[{"Key":"a"}]}`, `{"Plain":[{"Key":"a"},{"Key":"b"}]}`, []string{"/Plain/1 extra"}, 1},
	} {
		var want, got any
		if err := errors.Join(json.Unmarshal([]byte(test.want), &want), json.Unmarshal([]byte(test.got), &got)); err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, d := range s.Compare(want, got, schema.CompareConfig{AllowExtra: true}) {
			found = append(found, d.Pointer.String()+" "+d.Kind)
		}
		if !reflect.DeepEqual(found, test.extra) {
			t.Errorf("%s and %s: %q, want %q", test.want, test.got, found, test.extra)
		}
		if exact := s.Compare(want, got, schema.CompareConfig{}); len(exact) != test.exact {
			t.Errorf("%s and %s: %v, want %d differences", test.want, test.got, exact, test.exact)
		}
	}
}
