package sample_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/formwork-dev/formwork/internal/fixtures"
	"github.com/formwork-dev/formwork/internal/sample"
	"github.com/formwork-dev/formwork/internal/schema"
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

func TestModelsOfPublishedSchemas(t *testing.T) {
	all := published(t)
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
			if present := schema.Present(model, s.ReadOnly); len(present) > 0 {
				t.Errorf("%s, %s: the model has the read-only %v", file, name, present)
			}
		}
		t.Logf("%s: a valid model from %d of %d schemas", name, made, len(all))
	}
}
