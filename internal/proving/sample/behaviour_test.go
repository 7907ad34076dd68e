package sample_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/proving/sample"
)

// widget has a bit of everything.
const widgetProperties = `
	"Name": {"type": "string", "pattern": "^[a-z][a-z0-9-]{2,20}$"},
	"Kind": {"type": "string", "enum": ["small", "large"]},
	"Size": {"type": "integer", "minimum": 1, "maximum": 100},
	"Secret": {"type": "string", "minLength": 8},
	"Enabled": {"type": "boolean"},
	"Volumes": {"type": "array", "maxItems": 4, "items": {"type": "object", "properties": {
		"Path": {"type": "string"}, "Gigabytes": {"type": "integer", "minimum": 1}, "Arn": {"type": "string"}},
		"required": ["Path"], "additionalProperties": false}},
	"Network": {"type": "object", "properties": {"Zone": {"type": "string"}, "Ports": {"type": "array", "uniqueItems": true,
		"items": {"type": "integer", "minimum": 1, "maximum": 65535}}}, "additionalProperties": false},
	"Labels": {"type": "object", "patternProperties": {"^[a-z]{1,9}$": {"type": "string"}}, "additionalProperties": false}`

const widgetMore = `
	"required": ["Name", "Secret"], "writeOnlyProperties": ["/properties/Secret"],
	"createOnlyProperties": ["/properties/Name", "/properties/Volumes/*/Path", "/properties/Network/Zone"],
	"additionalIdentifiers": [["/properties/Kind"]]`

func widget(t testing.TB) *schema.Schema {
	return load(t, widgetProperties, strings.TrimSpace(widgetMore))
}

func create(t testing.TB, s *schema.Schema, cfg sample.Config) map[string]any {
	t.Helper()
	model, err := sample.New(s, cfg).Create()
	if err != nil {
		t.Fatal(err)
	}
	return model
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestSameSeedSameBytes holds the bytes for good: a failure report names a seed, and must
// lead to the same models years later. A change here is a change that users see.
func TestSameSeedSameBytes(t *testing.T) {
	s := widget(t)
	for _, test := range []struct {
		profile sample.Profile
		want    string
	}{
		{sample.Minimal, `{"Name":"s6cn","Secret":"dekizuno"}`},
		{sample.Random, `{"Labels":{"ff":"pegadadu"},"Name":"s6cn","Secret":"keluvipami","Size":10}`},
	} {
		if got := jsonOf(t, create(t, s, sample.Config{Seed: 4711, Profile: test.profile})); got != test.want {
			t.Errorf("profile %d: got %s, want %s", test.profile, got, test.want)
		}
	}
	g := sample.New(s, sample.Config{Seed: 1})
	first, _ := g.Create()
	second, _ := g.Create()
	if reflect.DeepEqual(first, second) {
		t.Errorf("two calls made the same: %v", first)
	}
}

// TestGrowingSchema: a property that is added leaves the values of the others alone.
func TestGrowingSchema(t *testing.T) {
	before := create(t, widget(t), sample.Config{Seed: 9, Profile: sample.Full})
	after := create(t, load(t, `"Added": {"type": "array", "items": {"type": "string"}},`+widgetProperties, strings.TrimSpace(widgetMore)), sample.Config{Seed: 9, Profile: sample.Full})
	delete(after, "Added")
	if got, want := jsonOf(t, after), jsonOf(t, before); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestProfiles(t *testing.T) {
	s := widget(t)
	if got := slices.Sorted(maps.Keys(create(t, s, sample.Config{Profile: sample.Minimal}))); !slices.Equal(got, []string{"Name", "Secret"}) {
		t.Errorf("minimal: %v", got)
	}
	full := create(t, s, sample.Config{Profile: sample.Full})
	if got := slices.Sorted(maps.Keys(full)); len(got) != 8 {
		t.Errorf("full: %v", got)
	}
	volume, _ := full["Volumes"].([]any)[0].(map[string]any)
	if len(volume) != 3 {
		t.Errorf("full: a volume has %v", volume)
	}
	seen := map[int]bool{}
	for seed := range uint64(30) {
		seen[len(create(t, s, sample.Config{Seed: seed}))] = true
	}
	if len(seen) < 4 {
		t.Errorf("random models have only %v properties", seen)
	}
	if model := create(t, s, sample.Config{Profile: sample.Full, ReadOnly: true}); model["Id"] == nil {
		t.Errorf("read-only properties are absent: %v", model)
	}
}

// TestMaxValues: a schema that multiplies gives a large model, not an endless one, and all
// of its properties are still there.
func TestMaxValues(t *testing.T) {
	definitions := `"D9": {"type": "string"}`
	for i := range 9 {
		ref := fmt.Sprintf(`{"type": "array", "minItems": 0, "items": {"$ref": "#/definitions/D%d"}}`, i+1)
		definitions += fmt.Sprintf(`, "D%d": {"type": "object", "properties": {"A": %s, "B": %s, "C": %s, "D": %s}}`, i, ref, ref, ref, ref)
	}
	s := load(t, `"X": {"$ref": "#/definitions/D0"}, "Y": {"$ref": "#/definitions/D0"}, "Z": {"type": "string"}`, `"definitions": {`+definitions+`}`)
	for _, most := range []int{0, 20} {
		model := create(t, s, sample.Config{Profile: sample.Full, MaxValues: most})
		if n := strings.Count(jsonOf(t, model), `"`); len(model) != 3 || n > 40000 {
			t.Errorf("MaxValues %d: %d properties, %d quotes", most, len(model), n)
		}
	}
}

// TestRequiredReadOnly: what is required and read-only is left out, the rest is made.
func TestRequiredReadOnly(t *testing.T) {
	s := load(t, `"A": {"type": "object", "required": ["Arn", "B"], "properties": {"Arn": {"type": "string"}, "B": {"type": "string"}}},
		"C": {"type": "object", "required": ["Arn"], "properties": {"Arn": {"type": "string"}}}`,
		`"required": ["A"], "oneOf": [{"required": ["Id"]}, {"required": ["A"]}]`)
	s.ReadOnly = append(s.ReadOnly, schema.Path{Tokens: document.Pointer{"A", "Arn"}}, schema.Path{Tokens: document.Pointer{"C", "Arn"}})
	model := create(t, s, sample.Config{Profile: sample.Full})
	a, _ := model["A"].(map[string]any)
	if a == nil || a["Arn"] != nil || a["B"] == nil || model["Id"] != nil {
		t.Errorf("got %v", model)
	}
}

func TestUnicode(t *testing.T) {
	s := load(t, `"V": {"type": "string", "minLength": 20, "maxLength": 20}, "P": {"type": "string", "pattern": "^[^x]{20}$"}`, "")
	for _, test := range []struct{ unicode, want bool }{{false, false}, {true, true}} {
		found := false
		for seed := range uint64(20) {
			model := create(t, s, sample.Config{Seed: seed, Profile: sample.Full, Unicode: test.unicode})
			for _, r := range fmt.Sprint(model["V"], model["P"]) {
				found = found || r > 127
			}
			if v := s.Check(model, schema.CheckConfig{}); len(v) > 0 {
				t.Fatal(v)
			}
		}
		if found != test.want {
			t.Errorf("Unicode %v: characters outside of ASCII: %v", test.unicode, found)
		}
	}
}

func TestValue(t *testing.T) {
	s := load(t, `"Name": {"type": "string"}`, `"handlers": {"list": {"permissions": [], "handlerSchema": {"properties": {"Name": {"$ref": "resource-schema.json#/properties/Name"}}, "required": ["Name"]}}}`)
	node := s.Handler("list").Schema
	v, err := sample.New(s, sample.Config{}).Value(node)
	if err != nil {
		t.Fatal(err)
	}
	if found := s.Check(v, schema.CheckConfig{Node: node}); len(found) > 0 || v.(map[string]any)["Name"] == nil {
		t.Errorf("got %v, which breaks %v", v, found)
	}
}

func TestUpdate(t *testing.T) {
	s := widget(t)
	for seed := range uint64(50) {
		g := sample.New(s, sample.Config{Seed: seed, Profile: sample.Full})
		created, err := g.Create()
		if err != nil {
			t.Fatal(err)
		}
		created["Id"] = "id-1"    // what the create returned
		delete(created, "Secret") // what a read does not return
		before := jsonOf(t, created)
		updated, err := g.Update(created)
		if err != nil {
			t.Fatal(err)
		}
		if jsonOf(t, created) != before {
			t.Fatal("the created model was changed")
		}
		for _, name := range []string{"Id", "Name", "Kind"} {
			if !reflect.DeepEqual(updated[name], created[name]) {
				t.Errorf("seed %d: %s was changed to %v", seed, name, updated[name])
			}
		}
		for _, name := range []string{"Size", "Enabled", "Volumes", "Network", "Labels"} {
			if jsonOf(t, updated[name]) == jsonOf(t, created[name]) {
				t.Errorf("seed %d: %s was not changed: %v", seed, name, created[name])
			}
		}
		paths := func(model map[string]any) string {
			var out []string
			volumes, _ := model["Volumes"].([]any)
			for _, v := range volumes {
				out = append(out, fmt.Sprint(v.(map[string]any)["Path"]))
			}
			return fmt.Sprint(out, model["Network"].(map[string]any)["Zone"])
		}
		if got, want := paths(updated), paths(created); got != want {
			t.Errorf("seed %d: nested create-only values became %s, were %s", seed, got, want)
		}
		if updated["Secret"] == nil {
			t.Errorf("seed %d: the required secret is absent", seed)
		}
		if v := s.Check(updated, schema.CheckConfig{}); len(v) > 0 {
			t.Errorf("seed %d: the update breaks %v", seed, v)
		}
	}
}

// TestUpdateWithinACombiner: a create-only property decides for a branch, and the others
// stay within it.
// TestUpdateKeepsTags: tags stay where an update cannot change them, or the type has none.
func TestUpdateKeepsTags(t *testing.T) {
	for tagging, changes := range map[string]bool{
		`"tagging": {"taggable": true, "tagUpdatable": false, "tagProperty": "/properties/Labels"}`: false,
		`"tagging": {"taggable": true, "tagUpdatable": true, "tagProperty": "/properties/Labels"}`:  true,
		`"tagging": {"taggable": false, "tagProperty": "/properties/Labels"}`:                       false,
	} {
		s := load(t, `"Labels": {"type": "array", "minItems": 1, "items": {"type": "string"}}, "Size": {"type": "integer"}`, tagging)
		g := sample.New(s, sample.Config{Seed: 1, Profile: sample.Full})
		created, err := g.Create()
		if err != nil {
			t.Fatal(err)
		}
		updated, err := g.Update(created)
		if err != nil {
			t.Fatal(err)
		}
		if changed := jsonOf(t, updated["Labels"]) != jsonOf(t, created["Labels"]); changed != changes {
			t.Errorf("%s: %v became %v", tagging, created["Labels"], updated["Labels"])
		}
	}
}

func TestUpdateWithinACombiner(t *testing.T) {
	s := load(t, `"Kind": {"enum": ["a", "b"]}, "Value": {"type": ["string", "integer"]}`,
		`"createOnlyProperties": ["/properties/Kind"], "required": ["Kind", "Value"], "oneOf": [
			{"properties": {"Kind": {"const": "a"}, "Value": {"type": "string"}}},
			{"properties": {"Kind": {"const": "b"}, "Value": {"type": "integer"}}}]`)
	for seed := range uint64(20) {
		g := sample.New(s, sample.Config{Seed: seed})
		created, err := g.Create()
		if err != nil {
			t.Fatal(err)
		}
		updated, err := g.Update(created)
		if err != nil {
			t.Fatal(err)
		}
		if v := s.Check(updated, schema.CheckConfig{}); len(v) > 0 || updated["Kind"] != created["Kind"] || updated["Value"] == created["Value"] {
			t.Errorf("seed %d: %v became %v, which breaks %v", seed, created, updated, v)
		}
	}
}

func TestUpdateOfNothing(t *testing.T) {
	s := load(t, `"Name": {"type": "string"}, "Only": {"const": 1}`, `"createOnlyProperties": ["/properties/Name"], "required": ["Name", "Only"]`)
	g := sample.New(s, sample.Config{})
	created, err := g.Create()
	if err != nil {
		t.Fatal(err)
	}
	if updated, err := g.Update(created); err == nil || !strings.Contains(err.Error(), "create-only") {
		t.Errorf("got %v, %v", updated, err)
	}
}

func TestInvalid(t *testing.T) {
	s := load(t, widgetProperties+`,
		"Rate": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
		"Step": {"type": "integer", "multipleOf": 5}, "Only": {"const": "x"},
		"Code": {"type": "string", "minLength": 2, "maxLength": 4},
		"List": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3},
		"Map": {"type": "object", "minProperties": 1, "maxProperties": 2},
		"X": {"type": "string"}, "Y": {"type": "string"}, "P": {"type": "string"}, "Q": {"type": "string"}`,
		`"required": ["Name"], "oneOf": [{"required": ["X"]}, {"required": ["Y"]}], "dependencies": {"P": ["Q"]}`)
	g := sample.New(s, sample.Config{Seed: 3, Profile: sample.Full})
	broken := map[string]int{}
	for range 300 {
		b, err := g.Invalid()
		if err != nil {
			t.Fatal(err)
		}
		found := s.Check(b.Model, schema.CheckConfig{})
		if len(found) != 1 || found[0].Keyword != b.Keyword || found[0].Pointer.String() != b.Pointer.String() {
			t.Fatalf("%v: the model breaks %v", b, found)
		}
		broken[b.Keyword]++
	}
	for _, keyword := range []string{"type", "enum", "const", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum",
		"exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "required", "additionalProperties",
		"minProperties", "maxProperties", "dependencies", "oneOf"} {
		if broken[keyword] == 0 {
			t.Errorf("%s was never broken: %v", keyword, broken)
		}
	}
}

func TestInvalidIsTheSameForASeed(t *testing.T) {
	s := widget(t)
	texts := func() (out []string) {
		g := sample.New(s, sample.Config{Seed: 5})
		for range 20 {
			b, err := g.Invalid()
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, b.String()+jsonOf(t, b.Model))
		}
		return out
	}
	if a, b := texts(), texts(); !slices.Equal(a, b) {
		t.Errorf("got %v, then %v", a, b)
	}
}

func TestShrink(t *testing.T) {
	s := widget(t)
	for _, test := range []struct {
		name  string
		fails func(map[string]any) bool
		want  string
	}{
		{"on everything", func(map[string]any) bool { return true }, `{"Name":"aaa","Secret":"aaaaaaaa"}`},
		{"on a property", func(m map[string]any) bool { return m["Labels"] != nil }, `{"Labels":{},"Name":"aaa","Secret":"aaaaaaaa"}`},
		{"on a number", func(m map[string]any) bool {
			n, _ := m["Size"].(json.Number)
			size, _ := n.Int64()
			return size > 12
		}, `{"Name":"aaa","Secret":"aaaaaaaa","Size":13}`},
		{"on a character", func(m map[string]any) bool { return strings.Contains(fmt.Sprint(m["Secret"]), "e") }, `{"Name":"aaa","Secret":"a*ea*"}`},
		{"on an item", func(m map[string]any) bool {
			volumes, _ := m["Volumes"].([]any)
			return slices.ContainsFunc(volumes, func(v any) bool { return v.(map[string]any)["Gigabytes"] != nil })
		}, `{"Name":"aaa","Secret":"aaaaaaaa","Volumes":\[{"Gigabytes":1,"Path":""}\]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			shrunk := 0
			for seed := range uint64(40) {
				g := sample.New(s, sample.Config{Seed: seed, Profile: sample.Full})
				model, err := g.Create()
				if err != nil {
					t.Fatal(err)
				}
				if !test.fails(model) {
					continue
				}
				before, calls := jsonOf(t, model), 0
				got := g.Shrink(t.Context(), model, func(m map[string]any) bool {
					calls++
					if v := s.Check(m, schema.CheckConfig{}); len(v) > 0 {
						t.Fatalf("an invalid candidate: %v", v)
					}
					return test.fails(m)
				})
				if text := jsonOf(t, got); !regexp.MustCompile("^" + test.want + "$").MatchString(text) {
					t.Errorf("seed %d: got %s, want %s, from %s", seed, text, test.want, before)
				}
				if calls > 500 {
					t.Errorf("seed %d: %d calls", seed, calls)
				}
				if jsonOf(t, model) != before {
					t.Error("the model was changed")
				}
				shrunk++
			}
			if shrunk == 0 {
				t.Error("no model failed")
			}
		})
	}
}

// TestShrinkKeepsTheFault: a wrong input stays wrong in the same way.
func TestShrinkKeepsTheFault(t *testing.T) {
	s := widget(t)
	g := sample.New(s, sample.Config{Seed: 1, Profile: sample.Full})
	for range 20 {
		b, err := g.Invalid()
		if err != nil {
			t.Fatal(err)
		}
		got := g.Shrink(t.Context(), b.Model, func(map[string]any) bool { return true })
		found := s.Check(got, schema.CheckConfig{})
		if len(found) != 1 || found[0].Keyword != b.Keyword {
			t.Errorf("%v: the smaller model breaks %v", b, found)
		}
	}
}

// manyTexts is a schema with so many optional texts, and a model with all of them.
func manyTexts(t *testing.T, n int) (*schema.Schema, map[string]any) {
	t.Helper()
	properties, model := []string{`"Id": {"type": "string"}`}, map[string]any{}
	for i := range n {
		properties = append(properties, fmt.Sprintf(`"Text%d": {"type": "string", "maxLength": 100}`, i))
		model[fmt.Sprintf("Text%d", i)] = fmt.Sprintf("value number %d", i)
	}
	s, problems := schema.Load("many.json", []byte(`{"typeName": "Initech::TPS::Many", "description": "d", "additionalProperties": false,
		"primaryIdentifier": ["/properties/Id"], "readOnlyProperties": ["/properties/Id"], "properties": {`+strings.Join(properties, ",")+"}}"), schema.Config{})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	return s, model
}

// TestShrinkIsBounded counts what the search looks at: of a thousand properties that the
// failure does not need few are tried one by one, and of a thousand that it needs all, the
// search gives up.
func TestShrinkIsBounded(t *testing.T) {
	s, model := manyTexts(t, 1000)
	for name, test := range map[string]struct {
		fails func(map[string]any) bool
		calls int
		want  int // properties
	}{
		"none is needed": {func(map[string]any) bool { return true }, 5, 0},
		"one is needed":  {func(m map[string]any) bool { return m["Text777"] != nil }, 100, 1},
		"all are needed": {func(m map[string]any) bool { return len(m) == 1000 }, 500, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			g := sample.New(s, sample.Config{})
			got := g.Shrink(t.Context(), model, func(m map[string]any) bool { calls++; return test.fails(m) })
			if len(got) != test.want || calls > test.calls {
				t.Errorf("%d properties are left after %d calls; want %d after at most %d", len(got), calls, test.want, test.calls)
			}
		})
	}
}

// TestShrinkEndsWithTheContext: no candidate is looked at after the context has ended, and
// what was found before is kept.
func TestShrinkEndsWithTheContext(t *testing.T) {
	s, model := manyTexts(t, 50)
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	got := sample.New(s, sample.Config{}).Shrink(ctx, model, func(m map[string]any) bool {
		if calls++; calls == 4 {
			cancel()
		}
		return len(m) > 10
	})
	if calls != 4 || len(got) >= 50 || len(got) <= 10 {
		t.Errorf("%d calls, %d properties are left", calls, len(got))
	}
}

// TestUpdatesAndFaultsOfPublishedSchemas: from every published schema an update is made,
// unless none of its properties can be updated, and inputs that break one rule.
func TestUpdatesAndFaultsOfPublishedSchemas(t *testing.T) {
	all := published(t)
	updates, fixed, faults := 0, 0, map[string]int{}
	for _, file := range slices.Sorted(maps.Keys(all)) {
		s := all[file]
		g := sample.New(s, sample.Config{Seed: 1, Profile: sample.Full})
		created, err := g.Create()
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		updated, err := g.Update(created)
		switch changeable := changeable(s); {
		case err == nil:
			updates++
			wantUpdate(t, file, s, created, updated)
		case len(changeable) > 0:
			t.Errorf("%s: %v, but %v may change", file, err, changeable)
		default:
			fixed++
		}
		for range 3 {
			b, err := g.Invalid()
			if err != nil {
				t.Errorf("%s: %v", file, err)
				break
			}
			faults[b.Keyword]++
		}
	}
	t.Logf("%d updates, %d schemas without anything to update; faults: %v", updates, fixed, faults)
}

// changeable are the properties that an update may change.
func changeable(s *schema.Schema) (names []string) {
	fixed := slices.Concat(s.ReadOnly, s.CreateOnly, s.ConditionalCreateOnly, s.PrimaryIdentifier)
	for _, p := range s.AdditionalIdentifiers {
		fixed = append(fixed, p...)
	}
	for _, m := range s.Properties() {
		if !slices.ContainsFunc(fixed, func(p schema.Path) bool { return len(p.Tokens) > 0 && p.Tokens[0] == m.Key }) {
			names = append(names, m.Key)
		}
	}
	return names
}

func wantUpdate(t *testing.T, file string, s *schema.Schema, created, updated map[string]any) {
	t.Helper()
	if v := s.Check(updated, schema.CheckConfig{}); len(v) > 0 {
		t.Errorf("%s: the update breaks %v", file, v)
	}
	values := func(model map[string]any) string {
		var b bytes.Buffer
		for _, p := range slices.Concat(s.CreateOnly, s.PrimaryIdentifier) {
			for _, at := range schema.Present(model, []schema.Path{p}) {
				v, _ := schema.Identifier(model, []schema.Path{{Tokens: at}})
				fmt.Fprintln(&b, at, v)
			}
		}
		return b.String()
	}
	if got, want := values(updated), values(created); got != want {
		t.Errorf("%s: create-only values became\n%swere\n%s", file, got, want)
	}
}

// FuzzCreate: whatever the schema, what is made is valid, and making it ends.
func FuzzCreate(f *testing.F) {
	for _, test := range satisfiable {
		f.Add(`{"typeName": "A::B::C", "description": "d", "properties": {`+test.properties+`}`+prefixed(",", test.more)+`}`, uint64(1))
	}
	f.Add(`{"properties": {"A": {"type": ["", "string"]}}}`, uint64(5))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if len(text) > 4000 {
			return
		}
		s, _ := schema.Load("fuzz.json", []byte(text), schema.Config{})
		if s == nil {
			return
		}
		for _, profile := range []sample.Profile{sample.Minimal, sample.Full, sample.Random} {
			g := sample.New(s, sample.Config{Seed: seed, Profile: profile, MaxSteps: 5000, MaxValues: 200, MaxLength: 1000, MaxItems: 50})
			model, err := g.Create()
			if err != nil {
				continue
			}
			if v := s.Check(model, schema.CheckConfig{}); len(v) > 0 && len(s.ReadOnly) == 0 {
				t.Errorf("%v breaks %v", model, v)
			}
			if updated, err := g.Update(model); err == nil {
				if v := s.Check(updated, schema.CheckConfig{}); len(v) > 0 && len(s.ReadOnly) == 0 {
					t.Errorf("the update %v breaks %v", updated, v)
				}
			}
			if b, err := g.Invalid(); err == nil && len(s.Check(b.Model, schema.CheckConfig{})) != 1 {
				t.Errorf("%v does not break one rule", b.Model)
			}
		}
	})
}

func BenchmarkCreate(b *testing.B) {
	dir := fixtures.Dir(b, "schemas/aws")
	for _, file := range []string{"aws-codeartifact-domain.json", "aws-s3-bucket.json", "aws-quicksight-theme.json"} {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			b.Fatal(err)
		}
		s, _ := schema.Load(file, data, schema.Config{})
		for name, profile := range profiles {
			b.Run(strings.TrimSuffix(file, ".json")+"/"+name, func(b *testing.B) {
				g := sample.New(s, sample.Config{Profile: profile})
				for b.Loop() {
					if _, err := g.Create(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
