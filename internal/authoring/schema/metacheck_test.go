package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// oracle compiles our meta-schemas with a library that passes the suite of draft-07.
func oracle(t testing.TB) map[Kind]*jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) { return newMetaPattern(text), nil })
	for _, format := range []string{"uri", "uri-reference"} {
		compiler.RegisterFormat(&jsonschema.Format{Name: format, Validate: func(any) error { return nil }})
	}
	for address, root := range loadMeta().parsed {
		if err := compiler.AddResource(address, root.Any()); err != nil {
			t.Fatal(err)
		}
	}
	out := map[Kind]*jsonschema.Schema{}
	for k, name := range metaNames {
		var err error
		if out[k], err = compiler.Compile(metaBase + name); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// spell is a failure as one line. The keyword and the details must be those of the library.
func spell(pointer document.Pointer, rule *document.Value, keyword string, details ...any) string {
	at := "draft-07"
	if rule != nil {
		at = fmt.Sprintf("%p", rule)
	}
	return fmt.Sprintf("%s %s %s %v", pointer, at, keyword, details)
}

// spellOurs has the failures of the checker.
func spellOurs(root *document.Value, k Kind) []string {
	var out []string
	checker := metaChecker{report: func(f failure) {
		values := make([]any, len(f.values))
		for i, v := range f.values {
			values[i] = v.Any()
		}
		var details []any
		switch f.keyword {
		case "type", "required", "additionalProperties", "pattern":
			details = []any{f.want}
		case "const", "enum", "minimum", "maximum", "exclusiveMinimum":
			details = []any{values}
		case "uniqueItems":
			details = []any{f.items}
		case "dependencies":
			details = []any{f.key}
		case "maxLength":
			details = []any{f.count, f.limit}
		}
		out = append(out, spell(f.pointer, f.rule, f.keyword, details...))
	}}
	if valid := checker.valid(loadMeta().compiled[k], root); valid != (len(out) == 0) {
		out = append(out, fmt.Sprintf("the verdict is %v", valid))
	}
	slices.Sort(out)
	return out
}

// spellLibrary has the failures of the library, without those that only group others.
func spellLibrary(e *jsonschema.ValidationError) []string {
	switch e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference:
		var out []string
		for _, cause := range e.Causes {
			out = append(out, spellLibrary(cause)...)
		}
		slices.Sort(out)
		return out
	}
	keyword := ""
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		keyword = path[0]
	}
	var details []any
	switch k := e.ErrorKind.(type) {
	case *kind.Not:
		keyword = "not"
	case *kind.Type:
		details = []any{k.Want}
	case *kind.Required:
		details = []any{k.Missing}
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties)
		details = []any{k.Properties}
	case *kind.Pattern:
		details = []any{[]string{k.Want}}
	case *kind.Const:
		details = []any{[]any{k.Want}}
	case *kind.Enum:
		details = []any{k.Want}
	case *kind.Minimum:
		details = []any{[]any{k.Want.RatString()}}
	case *kind.Maximum:
		details = []any{[]any{k.Want.RatString()}}
	case *kind.ExclusiveMinimum:
		details = []any{[]any{k.Want.RatString()}}
	case *kind.UniqueItems:
		details = []any{k.Duplicates}
	case *kind.Dependency:
		keyword, details = "dependencies", []any{k.Prop}
	case *kind.MaxLength:
		details = []any{k.Got, k.Want}
	}
	location, fragment, _ := strings.Cut(e.SchemaURL, "#")
	decoded, err := url.PathUnescape(fragment)
	if err != nil {
		panic(err)
	}
	pointer, _ := document.ParsePointer(decoded)
	return []string{spell(document.Pointer(e.InstanceLocation), loadMeta().parsed[location].Lookup(pointer), keyword, details...)}
}

// TestMetaCheckerAgreesWithLibrary compares every failure, not only the verdict, on schemas that were
// broken in many ways.
func TestMetaCheckerAgreesWithLibrary(t *testing.T) {
	library := oracle(t)
	rounds := 8
	if testing.Short() {
		rounds = 4
	}
	random := rand.New(rand.NewPCG(3, 4))
	checked, failures := 0, map[string]int{}
	for k, files := range map[Kind][]string{
		Resource:          slices.Concat(glob(t, "schemas/cli-accept"), glob(t, "schemas/edge"), glob(t, "schemas/third-party/mongodb"), glob(t, "schemas/aws")[:150]),
		Hook:              slices.Concat(glob(t, "schemas/cli-hooks"), glob(t, "schemas/third-party/community/hooks")),
		Module:            glob(t, "schemas/third-party/community/modules"),
		TypeConfiguration: glob(t, "schemas/cli-accept"),
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
				for range round % 4 { // up to three faults at once
					mutate(random, doc)
				}
				if object, ok := doc.(map[string]any); ok && round%4 == 3 {
					object["definitions"] = map[string]any{"X": map[string]any{"type": "array", "contains": breakDraft07(random)}}
				}
				if object, ok := doc.(map[string]any); ok && round%4 == 2 {
					object["sourceUrl"] = "https://example.com/" + strings.Repeat("ä", 4000+random.IntN(200))
					object["definitions"] = map[string]any{"X": map[string]any{"type": "number", "multipleOf": json.Number(fmt.Sprint(random.IntN(3) - 1))}}
				}
				changed, err := json.Marshal(doc)
				if err != nil {
					t.Fatal(err)
				}
				root, problems := document.ParseJSON(file, changed, document.Limits{})
				if root == nil {
					t.Fatal(problems)
				}
				ours := spellOurs(root, k)
				var theirs []string
				if invalid := (*jsonschema.ValidationError)(nil); errors.As(library[k].Validate(doc), &invalid) {
					theirs = spellLibrary(invalid)
				}
				checked++
				for _, line := range ours {
					failures[strings.Split(line+"   ", " ")[2]]++
				}
				if !slices.Equal(ours, theirs) {
					t.Fatalf("%s: ours\n  %s\nthe library\n  %s\n%.3000s", filepath.Base(file), strings.Join(ours, "\n  "), strings.Join(theirs, "\n  "), changed)
				}
			}
		}
	}
	t.Logf("%d documents, failures %v", checked, failures)
	for _, keyword := range []string{"type", "required", "additionalProperties", "enum", "const", "pattern", "minItems", "minProperties", "uniqueItems", "minimum", "maximum", "exclusiveMinimum", "dependencies", "not", "anyOf", "allOf", "maxLength"} {
		if failures[keyword] == 0 {
			t.Errorf("no document failed by %s", keyword)
		}
	}
}

// breakDraft07 is a schema of draft-07 with a fault in it, or none.
func breakDraft07(random *rand.Rand) any {
	schemas := []string{
		`{"items": [{"type": "string"}, true], "not": {"enum": [1, 1.0]}}`, `{"items": 5}`, `{"minLength": -1}`, `{"maxLength": 1.5}`,
		`{"type": ["string", "string"]}`, `{"type": "text"}`, `{"dependencies": {"a": ["b", "b"]}}`, `{"dependencies": {"a": {"multipleOf": 0}}}`,
		`{"properties": {"a": {"if": 1}}, "definitions": {"b": {"allOf": []}}}`, `{"required": ["a", "a"], "patternProperties": {"(": {}}}`,
		`true`, `null`, `{"$ref": 1, "format": "x", "enum": []}`, `{"contains": {"contains": {"exclusiveMinimum": "1"}}}`, `{"const": {"a": 1e500}, "default": [{}]}`,
	}
	var out any
	decoder := json.NewDecoder(strings.NewReader(schemas[random.IntN(len(schemas))]))
	decoder.UseNumber()
	if err := decoder.Decode(&out); err != nil {
		panic(err)
	}
	return out
}

// TestMetaCompilerLeavesNothingUnchecked refuses a keyword that the checker does not know.
func TestMetaCompilerLeavesNothingUnchecked(t *testing.T) {
	for _, text := range []string{
		`{"contentEncoding": "base64"}`, `{"properties": {"a": {"oneOf": []}}}`, `{"$ref": "#/a", "type": "string"}`, `{"$ref": "#/missing"}`,
		`{"items": [5]}`, `{"propertyNames": {"maxLength": 5}}`, `{"pattern": "("}`, `{"patternProperties": {"(": true}}`, `{"minItems": -1}`,
	} {
		root, _ := document.ParseJSON("x.json", []byte(text), document.Limits{})
		compiler := metaCompiler{meta: &metaSchema{parsed: map[string]*document.Value{metaBase + "x.json": root}}, rules: map[*document.Value]*metaRule{}}
		if _, err := compiler.compile(root, "x.json"); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
