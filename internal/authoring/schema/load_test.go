package schema_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

func TestAWSSchemas(t *testing.T) {
	dir := fixtures.Dir(t, "schemas/aws")
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) < 600 {
		t.Fatalf("%d schemas, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, problems := schema.Load(file, data, schema.Config{})
		if problems.HasErrors() {
			t.Errorf("%v", problems.Err())
			continue
		}
		if s.Kind != schema.Resource || s.TypeName.Value == "" || len(s.Properties()) == 0 {
			t.Errorf("%s: kind %s, type %q, %d properties", file, s.Kind, s.TypeName.Value, len(s.Properties()))
		}
		for _, p := range s.PrimaryIdentifier {
			if s.Property(p.Tokens) == nil {
				t.Errorf("%s: the identifier %s leads nowhere", file, p)
			}
		}
		for _, p := range append(append(append([]schema.Path{}, s.ReadOnly...), s.CreateOnly...), s.WriteOnly...) {
			if s.Property(p.Tokens) == nil {
				t.Logf("%s: %s leads nowhere, tokens %v", filepath.Base(file), p, p.Tokens)
			}
		}
		if s.Property(document.Pointer{"Nope"}) != nil {
			t.Errorf("%s declares the property Nope", file)
		}
	}
}
