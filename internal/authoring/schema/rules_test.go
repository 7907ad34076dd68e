package schema_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// TestRules loads every document in testdata/rules and compares all that is said about it
// with the text beside it. A rule without a document that breaks it fails the test.
func TestRules(t *testing.T) {
	files, err := filepath.Glob("testdata/rules/*.json")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, problems := schema.Load(filepath.ToSlash(file), data, schema.Config{})
			var got bytes.Buffer
			if err := diag.Print(&got, problems, "text"); err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				shown[p.ID] = true
				if p.Severity == diag.Error && p.Hint == "" && p.ID != "schema/out-of-range" && p.ID != "schema/too-long" && p.ID != "schema/ref-unresolved" && p.ID != "schema/property-name" {
					t.Errorf("%s: an error without a hint: %s", p.At, p.Message)
				}
				if strings.HasSuffix(p.Message, ".") || strings.Contains(p.Message, "\n") {
					t.Errorf("%s: not one sentence without a period: %q", p.At, p.Message)
				}
			}
			if strings.HasPrefix(name, "clean") && len(problems) > 0 {
				t.Errorf("a faultless document has problems:\n%s", got.String())
			}
			golden := strings.TrimSuffix(file, ".json") + ".txt"
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
			}
		})
	}
	seen := map[string]bool{}
	for _, rule := range schema.Rules() {
		if !shown[rule.ID] {
			t.Errorf("%s: no document in testdata/rules breaks it", rule.ID)
		}
		if seen[rule.ID] {
			t.Errorf("%s is duplicated in the table", rule.ID)
		}
		seen[rule.ID] = true
		if rule.Purpose == "" || rule.Why == "" || rule.Example == "" {
			t.Errorf("%s does not explain itself", rule.ID)
		}
		if !strings.HasSuffix(rule.Purpose, ".") || !strings.HasSuffix(rule.Why, ".") {
			t.Errorf("%s: purpose and why are sentences", rule.ID)
		}
	}
	for id := range shown {
		if !seen[id] {
			t.Errorf("%s is reported, but is not a rule", id)
		}
	}
}
