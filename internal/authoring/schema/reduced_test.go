package schema

import (
	"slices"
	"strings"
	"testing"
)

func TestReduced(t *testing.T) {
	s, problems := Load("s.json", []byte(`{"typeName": "A::B::C", "definitions": {"D": {"$ref": "#/properties/Tree"}, "propertiesTree": {"type": "string"}},
"properties": {"not": {"type": "string", "not": {"enum": ["a"]}}, "contains": {"type": "array", "contains": {"type": "string"}, "not": {"type": "object"}},
"Tree": {"type": "object", "properties": {"Left": {"$ref": "#/properties/Tree"}}, "propertyNames": {"pattern": "a"}, "dependencies": {"Left": ["X"], "X": {"required": ["Left"]}}},
"D": {"$ref": "#/definitions/D"}, "Default": {"type": "object", "default": {"contains": 1}, "anyOf": [{"propertyNames": {}}]}, "Deep": {"$ref": "#/properties/Tree/properties/Left"}}}`), Config{Kind: Resource})
	if s == nil {
		t.Fatal(problems)
	}
	text, leftOut := s.Reduced()
	want := []string{
		"/properties/contains/contains", "/properties/contains/not", "/properties/Tree/propertyNames", "/properties/Tree/dependencies/X", "/properties/Default/anyOf/0/propertyNames",
		"/definitions/propertiesTree2/propertyNames", "/definitions/propertiesTree2/dependencies/X",
	}
	if !slices.Equal(leftOut, want) {
		t.Errorf("left out %q\nwant %q", leftOut, want)
	}
	again, problems := Load("s.json", text, Config{Kind: Resource})
	if again == nil {
		t.Fatal(problems)
	}
	for _, gone := range []string{"#/properties", `"propertyNames"`, `"if"`} {
		if strings.Contains(string(text), gone) {
			t.Errorf("%s is left:\n%s", gone, text)
		}
	}
	for _, kept := range []string{`"contains": 1`, `"#/definitions/propertiesTree2"`, `"Left": [`, `"enum": [`} {
		if !strings.Contains(string(text), kept) {
			t.Errorf("%s is missing:\n%s", kept, text)
		}
	}
}
