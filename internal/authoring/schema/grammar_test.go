package schema

import (
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// TestGrammar: what may stand at a place, through the references and alternatives of the
// meta-schemas.
func TestGrammar(t *testing.T) {
	tests := []struct {
		kind   Kind
		at, of string // a pointer, and a keyword that the meta-schema has there
		want   string
	}{
		{Resource, "", "required", `["typeName","properties","description","primaryIdentifier","additionalProperties"]`},
		{Resource, "/replacementStrategy", "enum", `["create_then_delete","delete_then_create"]`},
		{Resource, "/properties/Name/insertionOrder", "type", `"boolean"`},
		{Resource, "/properties/A/items/properties/B/allOf/0/maxLength", "minimum", `0`},
		{Resource, "/properties/A/type/1", "enum", `["array","boolean","integer","null","number","object","string"]`},
		{Resource, "/properties/A/dependencies/B/properties/C/minItems", "type", `"integer"`},
		{Resource, "/properties/A/dependencies/B/0", "type", `"string"`},
		{Resource, "/additionalIdentifiers/0/1", "type", `"string"`},
		{Resource, "/handlers/list/handlerSchema", "required", `["properties"]`},
		{Resource, "/handlers/read/handlerSchema", "required", ""},
		{Resource, "/typeConfiguration/properties", "minProperties", `1`},
		{Resource, "/properties/A/contains/if", "type", ""},
		{Resource, "/properties/A/default/x", "type", ""},
		{Resource, "/nothing", "type", ""},
		{Hook, "/handlers/preCreate/targetNames/0", "type", `"string"`},
		{Module, "/handlers/resolve/timeoutInMinutes", "maximum", `720`},
		{TypeConfiguration, "/definitions/A/enum", "minItems", `1`},
		{Kind("NOTHING"), "", "type", ""},
	}
	for _, test := range tests {
		pointer, ok := document.ParsePointer(test.at)
		if !ok {
			t.Fatal(test.at)
		}
		got := ""
		if v := Grammar(test.kind, pointer).Get(test.of); v != nil {
			got = string(v.AppendJSON(nil))
		}
		if got != test.want {
			t.Errorf("%s %s: %s is %s, want %s", test.kind, test.at, test.of, got, test.want)
		}
	}
	if got := Grammar(Resource, strings.Split(strings.Repeat("properties/A/", 1000), "/")); got != nil {
		t.Errorf("behind a thousand steps: %s", got.AppendJSON(nil))
	}
}
