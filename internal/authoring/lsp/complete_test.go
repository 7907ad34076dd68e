package lsp

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// bucket is a resource type with one of everything.
const bucket = `{
  "typeName": "Acme::Store::Bucket",
  "description": "A bucket.",
  "additionalProperties": false,
  "definitions": {
    "Tag": {"type": "object", "additionalProperties": false, "required": ["Key"], "properties": {
      "Key": {"type": "string", "description": "The name of the *tag*."},
      "Value": {"type": "string"}
    }},
    "Node": {"type": "object", "additionalProperties": false, "properties": {"Next": {"$ref": "#/definitions/Node"}, "Label": {"type": "string"}}}
  },
  "properties": {
    "Id": {"type": "string", "description": "Made by the service."},
    "Name": {"type": "string", "minLength": 3, "pattern": "^[a-z]+$"},
    "Class": {"type": "string", "enum": ["STANDARD", "COLD"], "default": "STANDARD"},
    "Versioned": {"type": "boolean"},
    "Size": {"type": "integer", "examples": [10]},
    "Secret": {"type": "string"},
    "Labels": {"type": "object", "additionalProperties": false, "patternProperties": {"^[a-z]+$": {"type": "string", "enum": ["a", "b"]}}},
    "Rule": {"oneOf": [
      {"type": "object", "additionalProperties": false, "required": ["Days"], "properties": {"Days": {"type": "integer"}}},
      {"type": "object", "additionalProperties": false, "properties": {"Date": {"type": "string"}}}
    ]},
    "Head": {"$ref": "#/definitions/Node"},
    "Tags": {"type": "array", "insertionOrder": false, "uniqueItems": true, "items": {"$ref": "#/definitions/Tag"}}
  },
  "required": ["Name"],
  "primaryIdentifier": ["/properties/Id"],
  "readOnlyProperties": ["/properties/Id"],
  "writeOnlyProperties": ["/properties/Secret"],
  "createOnlyProperties": ["/properties/Name"],
  "tagging": {"taggable": true, "tagOnCreate": true, "tagUpdatable": true, "cloudFormationSystemTags": true, "tagProperty": "/properties/Tags", "permissions": []},
  "propertyTransform": {"/properties/Class": "$uppercase(Class)"},
  "handlers": {
    "create": {"permissions": ["store:Create"]},
    "read": {"permissions": ["store:Get"]},
    "update": {"permissions": ["store:Update"]},
    "delete": {"permissions": ["store:Delete"]},
    "list": {"permissions": ["store:List"]}
  }
}
`

// withProject is a config that has one project in memory, with bucket as its schema.
func withProject(files map[string]string) Config {
	dir := filepath.FromSlash("/work")
	return Config{
		AfterFunc: func(_ time.Duration, f func()) func() bool { go f(); return func() bool { return false } },
		FindProject: func(string) (Project, bool) {
			return Project{dir, filepath.Join(dir, "acme-store-bucket.json"), schema.Resource}, true
		},
		ReadFile: func(path string) ([]byte, error) {
			name, err := filepath.Rel(dir, path)
			if text, ok := files[filepath.ToSlash(name)]; ok {
				return []byte(text), nil
			}
			if err == nil {
				err = fs.ErrNotExist
			}
			return nil, err
		},
	}
}

// labels asks for proposals at the mark.
func propose(t testing.TB, c *client, name, marked string) (string, completionList) {
	t.Helper()
	text, offset := cut(t, marked)
	uri := "file:///work/" + name
	c.opens(uri, text)
	raw, err := c.call("textDocument/completion", at(uri, text, offset))
	c.notify("textDocument/didClose", `{"textDocument": {"uri": `+quote(uri)+`}}`)
	return text, decode[completionList](t, raw, err)
}

func labels(list completionList) string {
	slices.SortStableFunc(list.Items, func(a, b completionItem) int { return strings.Compare(a.SortText, b.SortText) })
	var out []string
	for _, item := range list.Items {
		out = append(out, item.Label)
	}
	return strings.Join(out, " ")
}

// replaced is bucket with another text in the place of one of its lines' parts.
func replaced(old, new string) string { return strings.Replace(bucket, old, new, 1) }

func TestCompletion(t *testing.T) {
	const of, in, over = "acme-store-bucket.json", "inputs/inputs_1_create.json", "overrides.json"
	tests := []struct{ name, file, text, want string }{
		{"keys at the top", of, `{"typeName": "Aa::Bb::Cc", "|"}`,
			"description additionalProperties properties primaryIdentifier $id $schema $comment title sourceUrl documentationUrl type definitions required allOf anyOf oneOf readOnlyProperties writeOnlyProperties createOnlyProperties conditionalCreateOnlyProperties deprecatedProperties nonPublicProperties nonPublicDefinitions additionalIdentifiers replacementStrategy tagging handlers resourceLink propertyTransform typeConfiguration"},
		{"a key half typed", of, replaced(`"required": ["Name"],`, `"read|`), "$id $schema $comment title sourceUrl documentationUrl type required allOf anyOf oneOf conditionalCreateOnlyProperties"},
		{"keys of a property", of, replaced(`"Size": {"type": "integer", "examples": [10]}`, `"Size": {"type": "integer", |}`),
			"$ref $comment title description examples default multipleOf maximum exclusiveMaximum"},
		{"keys of a property without quotes", of, replaced(`"Size": {"type": "integer", "examples": [10]}`, `"Size": {"type": "integer", min|}`), "$ref"},
		{"keys of a nested property", of, replaced(`"Days": {"type": "integer"}`, `"Days": {"type": "integer", "|": 1}`), "$ref"},
		{"types", of, replaced(`"Versioned": {"type": "boolean"}`, `"Versioned": {"type": |}`), "array boolean integer null number object string"},
		{"types, quoted", of, replaced(`"Versioned": {"type": "boolean"}`, `"Versioned": {"type": "|`), "array boolean integer null number object string"},
		{"types in a list", of, replaced(`"Versioned": {"type": "boolean"}`, `"Versioned": {"type": ["string", "|"]}`), "array boolean integer null number object"},
		{"booleans", of, replaced(`"insertionOrder": false`, `"insertionOrder": |`), "true false"},
		{"no booleans in quotes", of, replaced(`"insertionOrder": false`, `"insertionOrder": "|"`), ""},
		{"constant", of, replaced(`"additionalProperties": false`, `"additionalProperties": |`), "false"},
		{"words", of, replaced(`"required": ["Name"]`, `"replacementStrategy": "|"`), "create_then_delete delete_then_create"},
		{"default from enum", of, replaced(`"default": "STANDARD"`, `"default": "|"`), "STANDARD COLD"},
		{"references", of, replaced(`{"$ref": "#/definitions/Tag"}`, `{"$ref": "|"}`),
			"#/definitions/Tag #/definitions/Node #/properties/Id"},
		{"required names", of, replaced(`"required": ["Name"]`, `"required": ["Name", "|"]`), "Id Class Versioned Size Secret Labels Rule Head Tags"},
		{"required names inside", of, replaced(`"required": ["Key"]`, `"required": ["|"]`), "Key Value"},
		{"required names in a branch", of, replaced(`"required": ["Name"]`, `"anyOf": [{"required": ["|"]}]`), "Id Name Class"},
		{"keys of dependencies", of, replaced(`"required": ["Key"]`, `"dependencies": {"|"}`), "Key Value"},
		{"paths", of, replaced(`"/properties/Secret"`, `"/|"`), "/properties/Id /properties/Name"},
		{"paths not in the list", of, replaced(`["/properties/Secret"]`, `["/properties/Secret", "|"]`), "/properties/Id /properties/Name /properties/Class /properties/Versioned /properties/Size /properties/Labels"},
		{"paths of a list not closed", of, replaced(`["/properties/Secret"],`, `["/prop|`), "/properties/Id /properties/Name"},
		{"paths through an array", of, replaced(`"/properties/Secret"`, `"/properties/Tags/*/|"`), "/properties/Tags/*/Key /properties/Tags/*/Value"},
		{"paths through an array, star left out", of, replaced(`"/properties/Secret"`, `"/properties/Tags/|"`), "/properties/Tags/*"},
		{"paths of a type that holds itself", of, replaced(`"/properties/Secret"`, `"/properties/Head/Next/Next/|"`), "/properties/Head/Next/Next/Next /properties/Head/Next/Next/Label"},
		{"paths behind a property", of, replaced(`"/properties/Secret"`, `"/properties/Rule|"`),
			"/properties/Id /properties/Name /properties/Class /properties/Versioned /properties/Size /properties/Secret /properties/Labels /properties/Rule /properties/Head /properties/Tags /properties/Rule/Days /properties/Rule/Date"},
		{"scalars first in an identifier", of, replaced(`["/properties/Id"],`, `["|"],`), "/properties/Id /properties/Name /properties/Class /properties/Versioned /properties/Size /properties/Secret /properties/Rule /properties/Labels /properties/Head /properties/Tags"},
		{"tags first for tags", of, replaced(`"tagProperty": "/properties/Tags"`, `"tagProperty": "|"`), "/properties/Tags /properties/Id"},
		{"keys of transforms", of, replaced(`"propertyTransform": {`, `"propertyTransform": {"|", `), "/properties/Id /properties/Name /properties/Versioned"},
		{"paths of definitions", of, replaced(`"required": ["Name"]`, `"nonPublicDefinitions": ["|"]`), "/definitions/Tag /definitions/Node"},
		{"handlers", of, replaced(`"list": {"permissions": ["store:List"]}`, `"|"`), "list"},
		{"keys of a handler", of, replaced(`{"permissions": ["store:List"]}`, `{"|"}`), "permissions timeoutInMinutes handlerSchema"},
		{"permissions of other handlers", of, replaced(`["store:List"]`, `["|"]`), "store:Create store:Delete store:Get store:Update"},
		{"keys of tagging", of, replaced(`"permissions": []}`, `"|"}`), "permissions"},
		{"definitions that are referred to", of, strings.Replace(replaced(`{"$ref": "#/definitions/Tag"}`, `{"$ref": "#/definitions/Lost"}`), `"definitions": {`, `"definitions": {"|", `, 1), "Lost"},
		{"properties that are named", of, replaced(`"Secret": {"type": "string"},`, `"|"`), "Secret"},
		{"settings", of, replaced(`"required": ["Name"]`, `"typeConfiguration": {"|"}`), "additionalProperties properties description required deprecatedProperties"},
		{"nothing between a value and its comma", of, replaced(`"A bucket."`, `"A bucket." |`), ""},
		{"nothing in a name of one's own", of, replaced(`"Key": {"type"`, `"Key|": {"type"`), ""},
		{"nothing in a text", of, replaced(`"A bucket."`, `"A |bucket."`), ""},
		{"nothing in a comment", of, replaced(`"definitions": {`, "// a note |\n  \"definitions\": {"), ""},
		{"nothing in a comment behind a value", of, replaced(`"A bucket.",`, `"A bucket.", // a note |`), ""},
		{"keys behind a comment", of, "{\"typeName\": \"A::B::C\", // a note\n|}", "description"},
		{"nothing too deep", of, `{"typeName": "A::B::C", "properties": ` + strings.Repeat(`{"a":[`, 200000) + `|` + strings.Repeat(`]}`, 200000), ""},
		{"behind what is too deep", of, `{"typeName": "A::B::C", "title": ` + strings.Repeat(`[`, 400000) + strings.Repeat(`]`, 400000) + `,|}`, "description"},
		{"nothing behind the end", of, bucket + "|", ""},
		{"a hook", "hook.json", `{"typeName": "Aa::Bb::Cc", "type": "HOOK", "handlers": {"|"}}`, "preCreate preUpdate preDelete"},
		{"a module", "schema.json", `{"typeName": "Aa::Bb::Cc::MODULE", "handlers": {"|"}}`, "resolve"},
		{"a type configuration", "aa-configuration.json", `{"properties": {}, "additionalProperties": false, "|"}`, "description required deprecatedProperties"},

		{"properties", in, `{"|"}`, "Name Class Versioned Size Secret Labels Rule Head Tags"},
		{"properties not there yet", in, `{"Name": "n", "|", "Class": "COLD"}`, "Versioned Size Secret Labels Rule Head Tags"},
		{"properties of items", in, `{"Tags": [{"Key": "a"}, {"|`, "Key Value"},
		{"properties of alternatives", in, `{"Rule": {"|"}}`, "Days Date"},
		{"values of an enum", in, `{"Class": "|"}`, "STANDARD COLD"},
		{"booleans of a property", in, `{"Versioned": |}`, "true false"},
		{"examples", in, `{"Size": |}`, "10"},
		{"values of a map", in, `{"Labels": {"any": "|"}}`, "a b"},
		{"no values for text", in, `{"Name": "|"}`, ""},

		{"operations", over, `{"|"}`, "CREATE UPDATE"},
		{"pointers", over, `{"CREATE": {"|"}}`, "/Name /Class /Versioned /Size /Secret /Labels /Rule /Head /Tags"},
		{"pointers of an update", over, `{"UPDATE": {"|"}}`, "/Class /Versioned /Size /Secret /Labels /Rule /Head /Tags"},
		{"pointers into items", over, `{"CREATE": {"/Tags/0/|"}}`, "/Tags/0/Key /Tags/0/Value"},
		{"values at a pointer", over, `{"CREATE": {"/Class": "|"}}`, "STANDARD COLD"},
		{"properties at a pointer", over, `{"CREATE": {"/Tags/0": {"|"}}}`, "Key Value"},
		{"values of items", over, `{"CREATE": {"/Tags": [{"|"}]}}`, "Key Value"},
	}
	c := connect(t, withProject(map[string]string{of: bucket}), everything)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, list := propose(t, c, test.file, test.text)
			if got := labels(list); got != test.want && !strings.HasPrefix(got, test.want+" ") || test.want == "" && got != "" {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// What a proposal changes, as the text of the document afterwards.
func TestCompletionEdits(t *testing.T) {
	const of, in = "acme-store-bucket.json", "inputs/inputs_1_create.json"
	tests := []struct{ name, file, text, label, want string }{
		{"a key with its value", of, `{"typeName": "A::B::C", "prim|"}`, "primaryIdentifier", `{"typeName": "A::B::C", "primaryIdentifier": [$0]}`},
		{"a key with a dollar", of, `{"typeName": "A::B::C", "definitions": {"D": {|}}}`, "$ref", `{"typeName": "A::B::C", "definitions": {"D": {"\$ref": "$0"}}}`},
		{"a key not closed", of, "{\"typeName\": \"A::B::C\",\n \"prim|\n}", "primaryIdentifier", "{\"typeName\": \"A::B::C\",\n \"primaryIdentifier\": [$0]\n}"},
		{"a key without quotes", of, `{"typeName": "A::B::C", prim|}`, "primaryIdentifier", `{"typeName": "A::B::C", "primaryIdentifier": [$0]}`},
		{"a key before another", of, `{"desc|" "typeName": "A::B::C"}`, "description", `{"description": "$0", "typeName": "A::B::C"}`},
		{"a key that has a value", of, `{"typeName": "A::B::C", "desc|": "d", "title": "t"}`, "description", `{"typeName": "A::B::C", "description": "d", "title": "t"}`},
		{"a constant", of, `{"typeName": "A::B::C", "add|"}`, "additionalProperties", `{"typeName": "A::B::C", "additionalProperties": false$0}`},
		{"a value before a key", of, "{\"replacementStrategy\": |\n\"typeName\": \"A::B::C\"}", "delete_then_create", "{\"replacementStrategy\": \"delete_then_create\",\n\"typeName\": \"A::B::C\"}"},
		{"the whole of a string", of, `{"typeName": "A::B::C", "replacementStrategy": "cre|ate"}`, "delete_then_create", `{"typeName": "A::B::C", "replacementStrategy": "delete_then_create"}`},
		{"behind characters of several units", of, `{"typeName": "A::B::C", "title": "😀é", "prim|"}`, "primaryIdentifier", `{"typeName": "A::B::C", "title": "😀é", "primaryIdentifier": [$0]}`},
		{"a literal in an input", in, `{"Versioned": t|}`, "true", `{"Versioned": true}`},
		{"a property of an object", in, `{"Head|"}`, "Head", `{"Head": {$0}}`},
	}
	c := connect(t, withProject(map[string]string{of: bucket}), everything)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text, list := propose(t, c, test.file, test.text)
			i := slices.IndexFunc(list.Items, func(item completionItem) bool { return item.Label == test.label })
			if i < 0 {
				t.Fatalf("%s is not among %s", test.label, labels(list))
			}
			edit := list.Items[i].TextEdit
			if got := newLines(text).replace(edit.Range, edit.NewText, utf16Encoding); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// A client that knows no snippets gets none.
func TestCompletionWithoutSnippets(t *testing.T) {
	c := connect(t, Config{}, `{}`)
	_, list := propose(t, c, "x.json", `{"typeName": "A::B::C", "prim|"}`)
	labels(list) // sorts
	for _, item := range list.Items {
		if item.InsertTextFormat != formatPlain || strings.Contains(item.TextEdit.NewText, "$0") {
			t.Errorf("%s is %q", item.Label, item.TextEdit.NewText)
		}
	}
	if item := list.Items[0]; item.TextEdit.NewText != `"description": ` || item.Documentation.Kind != "plaintext" {
		t.Errorf("the first is %+v", item)
	}
}

// Every keyword that the meta-schemas know is explained, and nothing else is.
func TestKeywordTexts(t *testing.T) {
	used := map[string]bool{}
	var walk func(k schema.Kind, at document.Pointer)
	walk = func(k schema.Kind, at document.Pointer) {
		known := schema.Grammar(k, at).Get("properties")
		if known == nil || len(at) > 6 {
			return
		}
		in := areaOf(k, at)
		for _, m := range known.Members {
			if keywordText(in, m.Key) == "" {
				t.Errorf("%s: %s in %q is not explained", k, at.Append(m.Key), in)
			}
			for _, key := range []string{string(in) + " " + m.Key, m.Key} {
				if keywordTexts[key] != "" {
					used[key] = true
					break
				}
			}
			if m.Key == "properties" || m.Key == "definitions" {
				if len(at) < 3 {
					walk(k, at.Append(m.Key, "Name"))
				}
				continue
			}
			if in != propertyArea || m.Key == "relationshipRef" {
				walk(k, at.Append(m.Key))
			}
		}
	}
	for _, k := range []schema.Kind{schema.Resource, schema.Hook, schema.Module, schema.TypeConfiguration} {
		walk(k, nil)
	}
	for key := range keywordTexts {
		if !used[key] {
			t.Errorf("%q explains a key that no meta-schema has", key)
		}
	}
}
