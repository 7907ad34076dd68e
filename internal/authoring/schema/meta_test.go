package schema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// String makes it a pattern of the library, the oracle of these tests.
func (p metaPattern) String() string { return p.text }

// official compiles the official meta-schemas, the oracle of these tests, without formats.
func official(t testing.TB) map[Kind]*jsonschema.Schema {
	t.Helper()
	dir := fixtures.Dir(t, "meta-schema")
	compiler := jsonschema.NewCompiler()
	compiler.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) { return newMetaPattern(text), nil })
	for _, format := range []string{"uri", "uri-reference", "json-pointer"} {
		compiler.RegisterFormat(&jsonschema.Format{Name: format, Validate: func(any) error { return nil }})
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(file) == "meta-schema.json" {
			continue // draft-07 itself
		}
		text := strings.ReplaceAll(string(data), "https://json-schema.org/draft-07", "http://json-schema.org/draft-07")
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		id := doc.(map[string]any)["$id"].(string)
		ids[filepath.Base(file)] = id
		if err := compiler.AddResource(id, doc); err != nil {
			t.Fatal(err)
		}
	}
	out := map[Kind]*jsonschema.Schema{}
	for kind, file := range map[Kind]string{
		Resource: "provider.definition.schema.v1.json", Hook: "provider.definition.schema.hooks.v1.json", Module: "provider.definition.schema.modules.v1.json",
	} {
		if out[kind], err = compiler.Compile(ids[file]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// placeholder is what a message must not show any more.
var placeholder = regexp.MustCompile(`\{(key|name|got|value)\}`)

// TestMetaSchemasAgreeWithOfficial compares verdicts on documents that were broken in
// every way a seed can think of.
func TestMetaSchemasAgreeWithOfficial(t *testing.T) {
	oracle := official(t)
	rounds := 16
	if testing.Short() {
		rounds = 5
	}
	random := rand.New(rand.NewPCG(1, 2))
	checked, refused := 0, 0
	for kind, files := range map[Kind][]string{
		Resource: slices.Concat(glob(t, "schemas/cli-accept"), glob(t, "schemas/edge"), glob(t, "schemas/third-party/mongodb"), glob(t, "schemas/aws")[:120]),
		Hook:     slices.Concat(glob(t, "schemas/cli-hooks"), glob(t, "schemas/third-party/community/hooks")),
		Module:   glob(t, "schemas/third-party/community/modules"),
	} {
		for _, file := range files {
			if filepath.Base(file) == "index.json" {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			n := rounds
			if len(data) > 20_000 {
				n = 3
			}
			for round := range n {
				var doc any
				decoder := json.NewDecoder(strings.NewReader(string(data)))
				decoder.UseNumber()
				if err := decoder.Decode(&doc); err != nil {
					t.Fatal(err)
				}
				what := "as it is"
				if round > 0 {
					what = mutate(random, doc)
				}
				changed, err := json.Marshal(doc)
				if err != nil {
					t.Fatal(err)
				}
				root, problems := document.ParseJSON(file, changed, document.Limits{})
				if root == nil || root.Kind != document.Object {
					t.Fatalf("%s: %v", what, problems)
				}
				found := checkStructure(root, kind)
				verdict := oracle[kind].Validate(doc)
				checked++
				if verdict != nil {
					refused++
				}
				if (verdict == nil) != !found.HasErrors() {
					t.Errorf("%s, %s: here %v, officially %v", filepath.Base(file), what, found.Err(), verdict)
				}
				for _, p := range found {
					if !p.At.Start.Known() || p.Message == "" || placeholder.MatchString(p.Message) || !known(p.ID) {
						t.Errorf("%s, %s: poor problem %+v", filepath.Base(file), what, p)
					}
				}
			}
		}
	}
	t.Logf("%d documents, %d of them refused", checked, refused)
	if refused < checked/10 {
		t.Errorf("only %d of %d documents were broken", refused, checked)
	}
}

func known(id string) bool {
	return slices.ContainsFunc(Rules(), func(r Rule) bool { return r.ID == id })
}

func glob(t testing.TB, name string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(t, name), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", name, len(files), err)
	}
	return files
}

// mutate changes one random place of a document and says what it did.
func mutate(random *rand.Rand, doc any) string {
	var places []func() string
	var keys []string
	var visit func(v any, at string)
	visit = func(v any, at string) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range sortedKeys(v) {
				keys = append(keys, key)
				places = append(places, func() string {
					switch random.IntN(4) {
					case 0:
						delete(v, key)
						return "without " + at + "/" + key
					case 1:
						v[key] = junk(random)
						return fmt.Sprintf("%s/%s = %v", at, key, v[key])
					case 2:
						name := keywords[random.IntN(len(keywords))]
						v[name] = v[key]
						return fmt.Sprintf("%s/%s copied to %s", at, key, name)
					}
					name := keywords[random.IntN(len(keywords))]
					v[name] = junk(random)
					return fmt.Sprintf("%s/%s = %v", at, name, v[name])
				})
				visit(v[key], at+"/"+key)
			}
		case []any:
			for i, item := range v {
				places = append(places, func() string {
					v[i] = junk(random)
					return fmt.Sprintf("%s/%d = %v", at, i, v[i])
				})
				visit(item, fmt.Sprintf("%s/%d", at, i))
			}
		}
	}
	visit(doc, "")
	return places[random.IntN(len(places))]()
}

// keywords are keys that mean something somewhere.
var keywords = []string{
	"type", "typeName", "description", "properties", "patternProperties", "additionalProperties", "items", "enum", "const",
	"required", "allOf", "anyOf", "oneOf", "not", "if", "contains", "dependencies", "minLength", "maxLength", "pattern",
	"insertionOrder", "uniqueItems", "arrayType", "relationshipRef", "$ref", "$id", "$schema", "$comment", "title", "default",
	"examples", "multipleOf", "minimum", "maximum", "format", "handlers", "create", "list", "handlerSchema", "permissions",
	"timeoutInMinutes", "tagging", "taggable", "tagProperty", "readOnlyProperties", "primaryIdentifier", "additionalIdentifiers",
	"definitions", "remote", "schema0", "sourceUrl", "replacementStrategy", "resourceLink", "templateUri", "mappings",
	"propertyTransform", "typeConfiguration", "targetNames", "preCreate", "resolve", "moduleLink", "Resources", "Parameters",
	"CloudFormationX", "under_score", "A", "maxItems", "minProperties", "propertyNames", "readOnly", "nonPublicProperties",
}

func junk(random *rand.Rand) any {
	values := []any{
		nil, true, false, json.Number("0"), json.Number("-1"), json.Number("1.5"), json.Number("2.0"), json.Number("720"), json.Number("2160"), json.Number("2161"),
		"", "x", "string", "object", "RESOURCE", "HOOK", "MODULE", "Ab::Cd::Ef", "Ab::Cd::Ef::MODULE", "https://ab", "https://a", "/x", "https:x",
		"/properties/A", "/properties/", "Standard", "AttributeList", "create_then_delete", "delete_then_create", "123456789012",
		[]any{}, []any{"a"}, []any{"a", "a"}, []any{json.Number("1")}, []any{map[string]any{}}, []any{"string", "null"}, []any{[]any{"/properties/A"}},
		map[string]any{}, map[string]any{"type": "string"}, map[string]any{"A": map[string]any{"type": "string"}}, map[string]any{"A": json.Number("5")},
		map[string]any{"permissions": []any{}}, map[string]any{"taggable": true}, map[string]any{"properties": map[string]any{"A": map[string]any{}}},
		map[string]any{"properties": map[string]any{"A": map[string]any{}}, "additionalProperties": false},
		map[string]any{"typeName": "Ab::Cd::Ef", "propertyPath": "/properties/Arn"}, map[string]any{"a": []any{"b"}}, map[string]any{"a": map[string]any{"type": "string"}},
		map[string]any{"schema1": map[string]any{"properties": map[string]any{"A": map[string]any{}}}}, map[string]any{"if": true, "not": map[string]any{}},
		map[string]any{"templateUri": "/x", "mappings": map[string]any{"A": "/B"}}, map[string]any{"targetNames": []any{}, "permissions": []any{"a"}},
		map[string]any{"enum": []any{"a"}}, map[string]any{"type": "string", "const": "a"}, map[string]any{"properties": map[string]any{"A": map[string]any{}}, "patternProperties": map[string]any{}},
	}
	return values[random.IntN(len(values))]
}

func TestMetaSchemasCompile(t *testing.T) {
	m, err := compileMeta()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.compiled) != len(metaNames) {
		t.Errorf("%d meta-schemas, want %d", len(m.compiled), len(metaNames))
	}
	// What the documents say about failures must name rules and known fields.
	for name, root := range m.parsed {
		for _, text := range patternsIn(root) {
			if p := compile(text); p.err != nil {
				t.Errorf("%s: pattern %s: %v", name, text, p.err)
			}
		}
		eachProblem(root, func(keyword string, problem *document.Value) {
			for _, field := range problem.Members {
				if !slices.Contains([]string{"id", "message", "hint", "at"}, field.Key) || field.Value.Kind != document.String {
					t.Errorf("%s: problems.%s has the field %s", name, keyword, field.Key)
				}
			}
			if id := problem.Get("id"); id != nil && !known(id.Text) {
				t.Errorf("%s: no rule is called %s", name, id.Text)
			}
		})
	}
}

func eachProblem(v *document.Value, f func(string, *document.Value)) {
	for _, item := range v.Items {
		eachProblem(item, f)
	}
	for _, m := range v.Members {
		if m.Key == "problems" {
			for _, p := range m.Value.Members {
				f(p.Key, p.Value)
			}
			continue
		}
		eachProblem(m.Value, f)
	}
}

// patternsIn lists the patterns of a document, as keys and as values.
func patternsIn(v *document.Value) []string {
	var out []string
	for _, item := range v.Items {
		out = append(out, patternsIn(item)...)
	}
	for _, m := range v.Members {
		switch {
		case m.Key == "pattern" && m.Value.Kind == document.String:
			out = append(out, m.Value.Text)
		case m.Key == "patternProperties":
			for _, p := range m.Value.Members {
				out = append(out, p.Key)
			}
		}
		out = append(out, patternsIn(m.Value)...)
	}
	return out
}

// TestMetaPatternsHaveNoTimeout keeps a busy machine from refusing valid schemas.
func TestMetaPatternsHaveNoTimeout(t *testing.T) {
	p := newMetaPattern("^[A-Za-z0-9]{1,64}$")
	if timeout := p.re.MatchTimeout; timeout < 24*time.Hour {
		t.Errorf("a match may take %s", timeout)
	}
	if !p.MatchString("LoggingConfiguration") || p.MatchString("logging_configuration") || p.MatchString(strings.Repeat("a", 1<<20)) {
		t.Error("it does not match as it should")
	}
}
