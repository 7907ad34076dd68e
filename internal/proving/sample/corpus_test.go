package sample_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dlclark/regexp2/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/proving/sample"
)

var profiles = map[string]sample.Profile{"minimal": sample.Minimal, "full": sample.Full, "random": sample.Random}

// unmakeable are the published schemas from which no model can be made, with the reason.
// A line that is no longer true fails the test.
var unmakeable = map[string]string{}

// published loads the published schemas, by file name.
func published(t testing.TB) map[string]*schema.Schema {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "schemas/aws"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no schemas: %v", err)
	}
	out := map[string]*schema.Schema{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, problems := schema.Load(filepath.Base(file), data, schema.Config{})
		if s == nil {
			t.Fatalf("%s: %v", file, problems)
		}
		out[filepath.Base(file)] = s
	}
	return out
}

// oracle is another validator for a schema, which also asserts formats.
func oracle(t testing.TB, s *schema.Schema) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft7)
	compiler.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) {
		re, err := schema.CompilePattern(text)
		return matcher{re, text}, err
	})
	doc, _ := s.Root.Any().(map[string]any)
	delete(doc, "$schema")
	if err := compiler.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	out, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatalf("%s: %v", s.File, err)
	}
	return out
}

type matcher struct {
	re   *regexp2.Regexp
	text string
}

func (m matcher) MatchString(text string) bool {
	found, err := m.re.MatchString(text)
	return err == nil && found
}

func (m matcher) String() string { return m.text }

// TestModelsOfPublishedSchemas: from every published schema, in every profile, a model is
// made that the product's own validation accepts, and so does another one.
func TestModelsOfPublishedSchemas(t *testing.T) {
	all := published(t)
	oracles := map[string]*jsonschema.Schema{}
	for file, s := range all {
		oracles[file] = oracle(t, s)
	}
	for name, profile := range profiles {
		made := 0
		for _, file := range slices.Sorted(maps.Keys(all)) {
			s := all[file]
			reason, listed := unmakeable[name+" "+file]
			model, err := sample.New(s, sample.Config{Seed: 1, Profile: profile}).Create()
			if err != nil {
				if !listed {
					t.Errorf("%s, %s: %v", file, name, err)
				}
				continue
			}
			made++
			if listed {
				t.Errorf("%s, %s: a model was made: take the line %q out of the ledger", file, name, reason)
			}
			if v := s.Check(model, schema.CheckConfig{}); len(v) > 0 {
				t.Errorf("%s, %s: the model breaks %v", file, name, v)
			}
			if err := oracles[file].Validate(model); err != nil {
				t.Errorf("%s, %s: another validator says: %v", file, name, err)
			}
			if present := schema.Present(model, s.ReadOnly); len(present) > 0 {
				t.Errorf("%s, %s: the model has the read-only %v", file, name, present)
			}
		}
		t.Logf("%s: a valid model from %d of %d schemas", name, made, len(all))
	}
}
