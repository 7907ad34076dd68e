package api

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/smithy"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// A tally counts what rules find of what is right.
type tally struct{ hits, found, right int }

func (c *tally) add(found, right []string) {
	c.found, c.right = c.found+len(found), c.right+len(right)
	for _, name := range found {
		if slices.Contains(right, name) {
			c.hits++
		}
	}
}

func (c tally) precision() float64 { return float64(c.hits) / float64(max(c.found, 1)) }
func (c tally) recall() float64    { return float64(c.hits) / float64(max(c.right, 1)) }

// TestShapesAgainstTraits makes the schemas of public models by shapes alone and compares them
// with those that the traits for CloudFormation in the same models give.
func TestShapesAgainstTraits(t *testing.T) {
	dir := fixtures.Dir(t, "smithy/models")
	models, err := filepath.Glob(filepath.Join(dir, "*", "model.json"))
	if err != nil || len(models) == 0 {
		t.Fatalf("no models in %s: %v", dir, err)
	}
	counts := map[string]*tally{"properties": {}, "identifier": {}, "readOnly": {}, "createOnly": {}, "writeOnly": {}}
	types, invalid := 0, 0
	for _, path := range models {
		sources, err := smithy.ReadSources(path)
		if err != nil {
			t.Fatal(err)
		}
		m, _ := smithy.Load(sources, smithy.Config{})
		a, err := FromSmithy(m, "")
		if err != nil {
			t.Fatal(err)
		}
		expected, err := filepath.Glob(filepath.Join(filepath.Dir(path), "expected", "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range expected {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, _ := schema.Load(file, data, schema.Config{Kind: schema.Resource})
			typeName := want.TypeName.Value
			name := typeName[strings.LastIndex(typeName, "::")+2:]
			r := a.Resource(name)
			if r == nil {
				continue
			}
			types++
			d, problems := Derive(a, r, typeName, &Settings{})
			if problems.HasErrors() {
				t.Logf("%s: %v", typeName, problems.Err())
				invalid++
				continue
			}
			got, problems := schema.Load("derived.json", d.JSON(), schema.Config{Kind: schema.Resource})
			if problems.HasErrors() {
				t.Errorf("%s: %v", typeName, problems.Err())
				continue
			}
			count(counts, r.Name, got, want)
			if testing.Verbose() {
				g, w := names(r.Name, paths(got.PrimaryIdentifier)), names(r.Name, paths(want.PrimaryIdentifier))
				if !slices.Equal(g, w) {
					t.Logf("%s: identifier %v, by traits %v", typeName, g, w)
				}
			}
		}
	}
	for name, c := range counts {
		t.Logf("%-10s precision %.2f, recall %.2f (%d of %d)", name, c.precision(), c.recall(), c.hits, c.right)
	}
	t.Logf("%d types, %d without a schema", types, invalid)
	// Write-only properties differ on purpose: the converter marks what a response has in another structure.
	floors := map[string][2]float64{ // precision, recall
		"properties": {.93, .97}, "identifier": {.88, .91}, "readOnly": {.91, .89}, "createOnly": {.77, .85}, "writeOnly": {.95, 0},
	}
	if types < 70 || invalid > 0 {
		t.Errorf("%d types were compared and %d have no schema, expected at least 70 and 0", types, invalid)
	}
	for name, floor := range floors {
		if c := counts[name]; c.precision() < floor[0] || c.recall() < floor[1] {
			t.Errorf("%s: precision %.3f and recall %.3f, expected at least %.2f and %.2f", name, c.precision(), c.recall(), floor[0], floor[1])
		}
	}
}

func count(counts map[string]*tally, noun string, got, want *schema.Schema) {
	properties := func(s *schema.Schema) (out []string) {
		for _, m := range s.Properties() {
			out = append(out, "/properties/"+m.Key)
		}
		return out
	}
	for name, of := range map[string]func(*schema.Schema) []string{
		"properties": properties,
		"identifier": func(s *schema.Schema) []string { return paths(s.PrimaryIdentifier) },
		"readOnly":   func(s *schema.Schema) []string { return paths(s.ReadOnly) },
		"createOnly": func(s *schema.Schema) []string { return paths(s.CreateOnly) },
		"writeOnly":  func(s *schema.Schema) []string { return paths(s.WriteOnly) },
	} {
		found, known := names(noun, of(got)), names(noun, properties(want))
		if name != "properties" { // what the other schema leaves out is no mistake
			found = slices.DeleteFunc(found, func(n string) bool { return !slices.Contains(known, n) })
		}
		counts[name].add(found, names(noun, of(want)))
	}
}

func paths(list []schema.Path) (out []string) {
	for _, p := range list {
		out = append(out, p.Text)
	}
	return out
}

// names are the top-level properties of paths, without case and noun.
func names(noun string, paths []string) (out []string) {
	for _, p := range paths {
		if name := norm(strings.TrimPrefix(p, "/properties/")); !strings.Contains(strings.TrimPrefix(p, "/properties/"), "/") {
			if rest := strings.TrimPrefix(name, norm(noun)); rest != "" {
				name = rest
			}
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
