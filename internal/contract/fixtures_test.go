package contract

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/formwork-dev/formwork/internal/fixtures"
	"github.com/formwork-dev/formwork/internal/schema"
)

// TestGenerateFromPublishedSchemas makes inputs from every schema that AWS has published,
// and holds them against the schema. The share is a ratchet: what cannot be generated is
// named, and written by hand in a project.
func TestGenerateFromPublishedSchemas(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "schemas/aws"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no schemas", err)
	}
	done, refused := 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, problems := schema.Load(filepath.Base(file), data, schema.Config{})
		if s == nil {
			t.Fatal(problems)
		}
		for _, update := range []bool{false, true} {
			model, err := newGenerator(s, 1, "").model(update)
			if err != nil {
				refused++
				t.Logf("%s: %v", filepath.Base(file), err)
				continue
			}
			done++
			if !update && len(s.Check(model, schema.CheckConfig{})) > 0 {
				t.Errorf("%s: an invalid model was made", file)
			}
		}
	}
	t.Logf("%d models made, %d refused", done, refused)
	if done*100 < (done+refused)*98 {
		t.Errorf("only %d of %d models could be made", done, done+refused)
	}
}
