package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

func TestServiceText(t *testing.T) {
	text := `{
		"typeName": "Acme::Web::Site", "description": "A site.", "additionalProperties": false,
		"properties": {
			"Name": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$"},
			"Size": {"type": "integer"}, "Mode": {"type": "string", "enum": ["a"]}, "Any": {"type": ["string", "array"]},
			"Tags": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "object", "additionalProperties": false, "properties": {"Key": {"type": "string"}}, "required": ["Key"]}}
		},
		"required": ["Name"], "primaryIdentifier": ["/properties/Name"],
		"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "delete": {"permissions": []}}
	}`
	site, problems := schema.Load("site.json", []byte(text), schema.Config{Kind: schema.Resource})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	for _, c := range []struct{ model, want string }{
		{`{}`, "#: required key [Name] not found"},
		{`{"Name": "aa", "X": 1}`, "#: extraneous key [X] is not permitted"},
		{`{"Name": false}`, "#/Name: expected type: String, found: Boolean"},
		{`{"Name": "aa", "Size": 1.5}`, "#/Size: expected type: Integer, found: Number"},
		{`{"Name": "aa", "Any": {}}`, "#/Any: expected type: String or JSONArray, found: JSONObject"},
		{`{"Name": "a"}`, "#/Name: expected minLength: 2, actual: 1"},
		{`{"Name": "aaaaa"}`, "#/Name: expected maxLength: 4, actual: 5"},
		{`{"Name": "AA"}`, "#/Name: failed validation constraint for keyword [pattern]"},
		{`{"Name": "aa", "Mode": "b"}`, "#/Mode: failed validation constraint for keyword [enum]"},
		{`{"Name": "aa", "Tags": []}`, "#/Tags: expected minimum item count: 1, found: 0"},
		{`{"Name": "aa", "Tags": [{"Key": "a"}, {"Key": "b"}, {"Key": "c"}]}`, "#/Tags: expected maximum item count: 2, found: 3"},
		{`{"Name": "aa", "Tags": [{"Key": "a", "V": 1}]}`, "#/Tags/0: extraneous key [V] is not permitted"},
		{`{"Name": "aa", "Tags": [{}]}`, "#/Tags/0: required key [Key] not found"},
	} {
		var model any
		if err := json.Unmarshal([]byte(c.model), &model); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range site.Check(model, schema.CheckConfig{}) {
			got = append(got, v.ServiceText())
		}
		if diff := cmp.Diff([]string{c.want}, got); diff != "" {
			t.Errorf("%s: %s", c.model, diff)
		}
	}
}
