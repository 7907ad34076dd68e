package schema_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// resource is a schema with the given properties and further top-level members.
func resource(properties, more string) string {
	return `{"typeName":"Initech::TPS::Report","description":"A report.","additionalProperties":false,"tagging":{"taggable":false},
"properties":{"Id":{"type":"string"}` + prefixed(properties) + `},"readOnlyProperties":["/properties/Id"],"primaryIdentifier":["/properties/Id"]` + prefixed(more) + `}`
}

func prefixed(text string) string {
	if text == "" {
		return ""
	}
	return "," + text
}

func TestReferences(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"common.json":      `{"definitions":{"A":{"type":"integer"},"Back":{"$ref":"sub/deep.json#/definitions/D"},"Home":{"$ref":"report.json#/definitions/Own"}}}`,
		"sub/deep.json":    `{"definitions":{"D":{"$ref":"near.json#/definitions/N"}}}`,
		"sub/near.json":    `{"definitions":{"N":{"type":"boolean"}}}`,
		"broken.json":      `{"definitions":`,
		"a b.json":         `{"definitions":{"A":{"type":"number"}}}`,
		"folder/file.json": `{}`,
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	remote := func(url string) ([]byte, error) {
		switch url {
		case "https://example.com/types/common.json":
			return []byte(`{"definitions":{"A":{"type":"array","items":{"$ref":"#/definitions/B"}},"B":{"$ref":"other.json#"}}}`), nil
		case "https://example.com/types/other.json":
			return []byte(`{"type":"null"}`), nil
		}
		return nil, errors.New("no such document")
	}
	for _, test := range []struct {
		name, ref, more string
		remote          func(string) ([]byte, error)
		want            string // the type that is found, or the beginning of the problem
	}{
		{name: "local", ref: "#/definitions/Own", want: "object"},
		{name: "the document itself", ref: "#", want: "none"},
		{name: "percent and tilde", ref: "#/definitions/Odd/patternProperties/%5Ea~1b~0%25", want: "string"},
		{name: "list handler's name of the document", ref: "resource-schema.json#/definitions/Own", want: "object"},
		{name: "a chain", ref: "#/definitions/Chain", want: "object"},
		{name: "a property", ref: "#/properties/Id", want: "string"},
		{name: "a file beside", ref: "common.json#/definitions/A", want: "integer"},
		{name: "a file with a blank", ref: "a%20b.json#/definitions/A", want: "number"},
		{name: "a file relative to a file", ref: "common.json#/definitions/Back", want: "boolean"},
		{name: "and back", ref: "common.json#/definitions/Home", want: "object"},
		{name: "remote", ref: "https://example.com/types/common.json#/definitions/B", remote: remote, want: "null"},
		{name: "relative to $id", ref: "common.json#/definitions/B", more: `"$id":"https://example.com/types/report.json"`, remote: remote, want: "null"},
		{name: "its own $id", ref: "https://example.com/types/report.json#/definitions/Own", more: `"$id":"https://example.com/types/report.json"`, want: "object"},
		{name: "beside, with an $id, offline", ref: "common.json#/definitions/A", more: `"$id":"https://example.com/types/report.json"`, want: "integer"},
		{name: "offline", ref: "https://example.com/types/common.json#/definitions/B", want: "schema/ref-offline"},
		{name: "offline relative", ref: "nowhere.json#/x", more: `"$id":"https://example.com/types/report.json"`, want: "schema/ref-offline"},
		{name: "remote fails", ref: "https://example.com/none.json", remote: remote, want: "schema/ref-unresolved: no such document"},
		{name: "no such file", ref: "nowhere.json#/x", want: "schema/ref-unresolved: file nowhere.json does not exist"},
		{name: "broken file", ref: "broken.json#/x", want: "schema/ref-unresolved: broken.json:1:16"},
		{name: "out of the folder", ref: "../secret.json#", want: "schema/ref-unresolved: is outside the folder"},
		{name: "an absolute path", ref: "/etc/passwd", want: "schema/ref-unresolved: is outside the folder"},
		{name: "a folder", ref: "folder#", want: "schema/ref-unresolved: is not a file"},
		{name: "another scheme", ref: "file:///etc/passwd", want: "schema/ref-unresolved: file: are not followed"},
		{name: "nothing there", ref: "#/definitions/None", want: "schema/ref-unresolved: there is nothing at"},
		{name: "no pointer", ref: "#definitions/Own", want: "schema/ref-unresolved: is not a JSON pointer"},
		{name: "half an escape", ref: "#/definitions/%4", want: "schema/ref-unresolved: does not start an escape"},
		{name: "no schema", ref: "#/description", want: "schema/ref-unresolved: is a string, not a schema"},
		{name: "a circle", ref: "#/definitions/Ring1", want: "references form a cycle"},
		{name: "itself", ref: "#/properties/P", want: "references form a cycle"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := resource(fmt.Sprintf(`"P":{"$ref":%q,"description":"beside","default":{"$ref":"#/not/a/reference"}}`, test.ref), `"definitions":{
				"Own":{"type":"object","properties":{"Next":{"$ref":"#/definitions/Own"}},"additionalProperties":false},
				"Odd":{"type":"object","patternProperties":{"^a/b~%":{"type":"string"}},"additionalProperties":false},
				"Chain":{"$ref":"#/definitions/Chain2"},"Chain2":{"$ref":"#/definitions/Own"},
				"Ring1":{"$ref":"#/definitions/Ring2"},"Ring2":{"$ref":"#/definitions/Ring1"}}`+prefixed(test.more))
			s, problems := schema.Load(filepath.Join(dir, "report.json"), []byte(text), schema.Config{Remote: test.remote})
			for _, p := range problems {
				if p.Severity != diag.Error {
					continue
				}
				id, words, _ := strings.Cut(test.want, ": ")
				if p.ID != id || !strings.Contains(p.Message, words) {
					t.Errorf("%s [%s], want %q", p.Message, p.ID, test.want)
				}
				if id == p.ID {
					if p.Pointer != "/properties/P/$ref" || p.At.Start.Line != 2 {
						t.Errorf("reported at %s, %s", p.At, p.Pointer)
					}
				}
			}
			node, err := s.Resolve(s.Root.Lookup(document.Pointer{"properties", "P"}))
			switch {
			case strings.HasPrefix(test.want, "schema/"):
				if !problems.HasErrors() || err == nil {
					t.Errorf("resolved to %v, problems %v", node, problems)
				}
			case err != nil:
				if err.Error() != test.want {
					t.Error(err)
				}
			default:
				got := "none"
				if declared := node.Get("type"); declared != nil {
					got = declared.Text
				}
				if got != test.want {
					t.Errorf("resolved to type %s, want %s", got, test.want)
				}
			}
		})
	}
}

func TestResolveOfUnknownNode(t *testing.T) {
	s := loadText(t, resource("", `"definitions":{"A":{"type":"integer"}}`))
	node, problems := document.ParseJSON("", []byte(`{"$ref":"#/definitions/A"}`), document.Limits{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if target, err := s.Resolve(node); err != nil || target.Get("type").Text != "integer" {
		t.Errorf("%v, %v", target, err)
	}
	if target, err := s.Resolve(nil); target != nil || err != nil {
		t.Errorf("nil resolves to %v, %v", target, err)
	}
}

func TestTypeConfigurationRefersToTheSchemaAround(t *testing.T) {
	s := loadText(t, resource("", `"definitions":{"Key":{"type":"string","maxLength":4}},
		"typeConfiguration":{"properties":{"Keys":{"type":"array","items":{"$ref":"#/definitions/Key"}}},"required":["Keys"],"additionalProperties":false}`))
	c := s.TypeConfiguration
	if c.Kind != schema.TypeConfiguration || c.TypeName.Value != "Initech::TPS::Report" || len(c.Required) != 1 {
		t.Fatalf("%+v", c)
	}
	if got := fmt.Sprint(c.Check(decode(t, `{"Keys":["abcde"]}`), schema.CheckConfig{})); got != "[/Keys/0: has 5 characters; the maximum is 4 [maxLength]]" {
		t.Error(got)
	}
	if got := encode(t, c.Recast(decode(t, `{"Keys":[5]}`))); got != `{"Keys":["5"]}` {
		t.Error(got)
	}
}

func TestKinds(t *testing.T) {
	for text, want := range map[string]schema.Kind{
		`{}`:                                                      schema.Resource,
		`{"type":"HOOK"}`:                                         schema.Hook,
		`{"type":"MODULE"}`:                                       schema.Module,
		`{"type":"OTHER"}`:                                        schema.Resource,
		`{"typeName":"A::B::C::MODULE"}`:                          schema.Module,
		`{"handlers":{"preUpdate":{}}}`:                           schema.Hook,
		`{"handlers":{"resolve":{}}}`:                             schema.Module,
		`{"typeConfiguration":{}}`:                                schema.Hook,
		`{"typeConfiguration":{},"properties":{}}`:                schema.Resource,
		`{"properties":{},"primaryIdentifier":[]}`:                schema.Resource,
		`{"properties":{},"additionalProperties":false}`:          schema.TypeConfiguration,
		`{"typeName":"A::B::C","properties":{},"definitions":{}}`: schema.TypeConfiguration,
		`{"typeName":"A::B::C","description":"","properties":{}}`: schema.Resource,
	} {
		if s := loadText(t, text); s.Kind != want {
			t.Errorf("%s is a %s, want %s", text, s.Kind, want)
		}
	}
	s, _ := schema.Load("", []byte(`{}`), schema.Config{Kind: schema.Hook})
	if s.Kind != schema.Hook {
		t.Errorf("the caller's kind is overruled: %s", s.Kind)
	}
}

func TestDecode(t *testing.T) {
	s := loadText(t, resource(`"Tags":{"type":"object"},"List":{"type":"string"}`, `
		"sourceUrl":"https://example.com/a","documentationUrl":"https://example.com/b","required":["List"],
		"additionalIdentifiers":[["/properties/List"]],"replacementStrategy":"delete_then_create",
		"propertyTransform":{"/properties/List":"$uppercase(List)"},
		"handlers":{"list":{"permissions":[],"handlerSchema":{"properties":{"List":{"$ref":"resource-schema.json#/properties/List"}},"required":["List"]}},
			"create":{"permissions":["a:B","a:C"],"timeoutInMinutes":30.0}},
		"tagging":{"taggable":true,"tagUpdatable":false,"permissions":["a:Tag"]}`))
	create, list := s.Handler("create"), s.Handler("list")
	if s.Handlers[0].Action != "list" || create.TimeoutInMinutes != 30 || list.TimeoutInMinutes != 120 || len(create.Permissions) != 2 || create.Permissions[1].Value != "a:C" || s.Handler("read") != nil {
		t.Errorf("handlers %+v", s.Handlers)
	}
	if got := fmt.Sprint(s.Check(decode(t, `{"List":1}`), schema.CheckConfig{Node: list.Schema})); got != "[/List: must be a string but is a number [type]]" {
		t.Error(got)
	}
	if tagging := s.Tagging; !tagging.Declared || !tagging.TagOnCreate || tagging.TagUpdatable || tagging.Property.String() != "/properties/Tags" || len(tagging.Permissions) != 1 {
		t.Errorf("%+v", tagging)
	}
	if s.PropertyTransform[0].Expression.Value != "$uppercase(List)" || s.PropertyTransform[0].Path.Tokens.String() != "/List" {
		t.Errorf("%+v", s.PropertyTransform)
	}
	if s.AdditionalIdentifiers[0][0].Tokens.String() != "/List" || s.ReplacementStrategy != "delete_then_create" || s.SourceURL == "" || s.DocumentationURL == "" {
		t.Errorf("%+v", s)
	}
	plain := loadText(t, `{"taggable":false,"properties":{"A":{},"B":{},"A":{}}}`)
	if plain.Tagging.Taggable || plain.Tagging.TagOnCreate || !plain.Tagging.Declared || plain.ReplacementStrategy != "create_then_delete" {
		t.Errorf("%+v", plain.Tagging)
	}
	if got := plain.Properties(); len(got) != 2 || got[0].Key != "B" || got[1].Key != "A" {
		t.Errorf("of a repeated key the last counts: %v", got)
	}
}
