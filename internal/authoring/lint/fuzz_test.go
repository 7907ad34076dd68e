package lint

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// FuzzRunAndDiff mutates two schemas: nothing crashes, equal documents do not differ, and
// whoever differs one way differs the other.
func FuzzRunAndDiff(f *testing.F) {
	f.Add([]byte(sound), []byte(sound))
	for _, rule := range ChangeRules() {
		if rule.Old != "" {
			f.Add(soundWith(f, rule.Old).Root.AppendJSON(nil), soundWith(f, rule.New).Root.AppendJSON(nil))
		}
	}
	for _, rule := range Rules() {
		if rule.check != nil {
			f.Add(soundWith(f, rule.Bad).Root.AppendJSON(nil), []byte(sound))
		}
	}
	f.Fuzz(func(t *testing.T, oldText, newText []byte) {
		old, _ := schema.Load("old.json", oldText, schema.Config{})
		new, _ := schema.Load("new.json", newText, schema.Config{})
		if old == nil || new == nil {
			return
		}
		for _, s := range []*schema.Schema{old, new} {
			for _, p := range Run(s, Config{}) {
				if p.ID == "" || p.Message == "" {
					t.Errorf("%+v", p)
				}
			}
		}
		there, back := Diff(old, new), Diff(new, old)
		if (len(there) == 0) != (len(back) == 0) {
			t.Errorf("%d changes one way, %d the other", len(there), len(back))
		}
		again, _ := schema.Load("old.json", oldText, schema.Config{})
		for _, c := range Diff(old, again) {
			if c.ID != "breaking/unresolved" { // of a document that is not there nobody knows
				t.Errorf("from itself: %+v", c)
			}
		}
		for _, c := range there {
			if changeRules[c.ID].ID == "" || c.Message == "" {
				t.Errorf("%+v", c)
			}
		}
	})
}

func FuzzSettings(f *testing.F) {
	f.Add([]byte(`{"rules": {"lint/TAG*": "off"}, "suppress": [{"id": "lint/*", "type": "A*", "pointer": "/properties/*", "reason": "r"}]}`))
	s := soundWith(f, `"tagging": null`)
	problems := Run(s, Config{})
	f.Fuzz(func(_ *testing.T, text []byte) {
		settings, _ := ParseSettings(SettingsFile, text)
		filter := settings.Filter()
		filter.Apply(problems, s.TypeName.Value)
		filter.Unused()
		settings.ApplyChanges([]Change{{ID: "breaking/PR001", Pointer: "/properties/A"}}, "")
	})
}

// published loads the schemas that AWS publishes.
func published(b *testing.B) []*schema.Schema {
	b.Helper()
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(b, "schemas/aws"), "*.json"))
	if err != nil {
		b.Fatal(err)
	}
	var out []*schema.Schema
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		s, problems := schema.Load(file, data, schema.Config{})
		if s == nil {
			b.Fatal(problems)
		}
		out = append(out, s)
	}
	return out
}

// BenchmarkRun judges all published schemas once.
func BenchmarkRun(b *testing.B) {
	schemas := published(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, s := range schemas {
			Run(s, Config{})
		}
	}
	b.ReportMetric(float64(len(schemas)), "schemas/op")
}

// BenchmarkDiff compares all published schemas with themselves, every pair looked through.
func BenchmarkDiff(b *testing.B) {
	schemas := published(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, s := range schemas {
			d := newDiffer(s, s)
			d.documents()
		}
	}
	b.ReportMetric(float64(len(schemas)), "schemas/op")
}
