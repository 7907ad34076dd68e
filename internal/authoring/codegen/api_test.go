package codegen

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// thingSchema is a type with all that changes the text of handlers.
const thingSchema = `{
	"typeName": "Acme::Shop::Thing", "description": "d",
	"definitions": {"Tag": {"type": "object", "properties": {"Key": {"type": "string"}, "Value": {"type": "string"}}, "additionalProperties": false},
		"Part": {"type": "object", "properties": {"SkuName": {"type": "string"}, "At": {"type": "string"}}, "additionalProperties": false}},
	"properties": {"Id": {"type": "string"}, "Arn": {"type": "string"}, "Name": {"type": "string"}, "Size": {"type": "integer"}, "Color": {"type": "string"},
		"Made": {"type": "string"}, "Parts": {"type": "array", "items": {"$ref": "#/definitions/Part"}}, "Status": {"type": "string"},
		"Tags": {"type": "array", "items": {"$ref": "#/definitions/Tag"}}},
	"primaryIdentifier": ["/properties/Id"], "additionalIdentifiers": [["/properties/Arn"]], "readOnlyProperties": ["/properties/Id", "/properties/Arn", "/properties/Status"],
	"createOnlyProperties": ["/properties/Color"], "required": ["Name"],
	"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}, "list": {"permissions": []}},
	"typeConfiguration": {"properties": {"Endpoint": {"type": "string"}, "BearerToken": {"type": "string"}}, "additionalProperties": false},
	"additionalProperties": false
}`

// binding is the binding of a Thing, changed.
func binding(t *testing.T, change func(b map[string]any)) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/binding.json")
	if err != nil {
		t.Fatal(err)
	}
	var b map[string]any
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	change(b)
	text, err = json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func inside(b map[string]any, name string) map[string]any { return b[name].(map[string]any) }

// TestForeignProperties: what a binding calls a property does not get into sources unless it is one of the schema.
func TestForeignProperties(t *testing.T) {
	const foreign = "Name\nfunc init() {}"
	for _, language := range []string{"go", "python312", "typescript", "java"} {
		for place, change := range map[string]func(b map[string]any){
			"wait":   func(b map[string]any) { inside(b, "wait")["property"] = foreign },
			"find":   func(b map[string]any) { inside(b, "find")["properties"] = []string{foreign} },
			"update": func(b map[string]any) { b["update"].([]any)[0].(map[string]any)["changes"] = []string{foreign} },
		} {
			_, err := Generate(Input{Schema: parse(t, thingSchema), Language: language, ImportPath: "example.com/project", Binding: binding(t, change)})
			if err == nil || !strings.Contains(err.Error(), `has the property "Name\nfunc init() {}", which the schema does not have`) {
				t.Errorf("%s, %s: %v", language, place, err)
			}
		}
	}
}

func TestBrokenBinding(t *testing.T) {
	_, err := Generate(Input{Schema: parse(t, thingSchema), Language: "go", ImportPath: "example.com/project", Binding: []byte("[]")})
	if err == nil || !strings.Contains(err.Error(), "generate handlers of Acme::Shop::Thing: read the binding of the API") {
		t.Error(err)
	}
}
