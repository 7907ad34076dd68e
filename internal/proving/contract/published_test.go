package contract

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// TestCasesOfPublishedSchemas asks every case about every schema that AWS has published:
// none is there for schemas that do not exist.
func TestCasesOfPublishedSchemas(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "schemas/aws"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no schemas", err)
	}
	runs := map[string]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, problems := schema.Load(filepath.Base(file), data, schema.Config{})
		if s == nil {
			t.Fatal(problems)
		}
		for _, c := range resourceAndExtended() {
			if c.applies(s) && (c.Skip == nil || c.Skip(s) == "") {
				runs[c.ID]++
			}
		}
		for _, preset := range defaultsOf(s) {
			if s.Property(preset.at) == nil {
				t.Errorf("%s: a default at %s, which is not a property", file, preset.at)
			}
		}
	}
	for _, c := range resourceAndExtended() {
		if runs[c.ID] < 5 && c.Name() != "contract_type_configuration" { // AWS's own types have none
			t.Errorf("%s means something for %d of %d schemas", c.ID, runs[c.ID], len(files))
		}
	}
}

func resourceAndExtended() []Case {
	return append(resourceCases[:len(resourceCases):len(resourceCases)], extendedCases...)
}
