package schema

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// use does with a schema and a model whatever can be done with them.
func use(t *testing.T, s *Schema, model any) {
	before, err := json.Marshal(model)
	if err != nil {
		t.Skip()
	}
	for _, cfg := range []CheckConfig{{}, {Shape: true}} {
		for _, v := range s.Check(model, cfg) {
			if v.Message == "" {
				t.Errorf("a violation without a message: %+v", v)
			}
		}
	}
	recast := s.Recast(model)
	if again := s.Recast(recast); !reflect.DeepEqual(recast, again) {
		t.Errorf("recasting twice: %v, then %v", recast, again)
	}
	for _, cfg := range []CompareConfig{{}, {AllowExtra: true}} {
		if d := s.Compare(model, model, cfg); len(d) > 0 {
			t.Errorf("a model differs from itself: %v", d)
		}
		s.Compare(model, recast, cfg)
	}
	for _, paths := range [][]Path{s.ReadOnly, s.WriteOnly, s.PrimaryIdentifier} {
		rest := Without(model, paths)
		for _, at := range Present(rest, paths) {
			t.Errorf("%s is still there: %v", at, rest)
		}
		Identifier(model, paths)
	}
	if after, err := json.Marshal(model); err != nil || string(after) != string(before) {
		t.Errorf("the model was changed from %s to %s", before, after)
	}
}

func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/rules/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 8<<10 {
			f.Add(data, []byte(`{"Id":"x","Title":["5",{"A":true}],"Map":{"a":1}}`))
		}
	}
	f.Add([]byte(`{"properties":{"A":{"$ref":"#/properties/A"},"B":{"anyOf":[{"$ref":"#"},{"items":{"$ref":"#/properties/B"}}]}},"readOnlyProperties":["/properties/B/*/A","#/properties/A%2","/A.B"]}`), []byte(`{"A":[[1]],"B":[{"A":2}]}`))
	f.Fuzz(func(t *testing.T, data, modelData []byte) {
		limits := document.Limits{Bytes: 16 << 10, Depth: 64}
		s, problems := Load("", data, Config{Limits: limits})
		for _, p := range problems {
			if p.ID == "" || p.Message == "" {
				t.Errorf("a poor problem: %+v", p)
			}
		}
		if s == nil {
			if !problems.HasErrors() {
				t.Error("no schema and no error")
			}
			return
		}
		parsed, _ := document.ParseJSON("", modelData, limits)
		if parsed == nil {
			return
		}
		use(t, s, parsed.Any())
		if s.TypeConfiguration != nil {
			use(t, s.TypeConfiguration, parsed.Any())
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, text := range []string{"/properties/Tags/*/Key", "#/properties/A%20B", "/A.B", "properties/X", "/properties/T/properties/K", "/properties/T/items/K", "", "/", "~", "/properties/~2"} {
		f.Add(text)
	}
	s, problems := Load("", []byte(`{"properties":{"A":{"type":"object","properties":{"B":{"type":"string"}}},"Tags":{"items":{"properties":{"Key":{"$ref":"#/properties/A"}}}},"M":{"patternProperties":{"^a":{"$ref":"#/properties/M"}}}}}`), Config{Kind: Resource})
	if s == nil {
		f.Fatal(problems)
	}
	f.Fuzz(func(t *testing.T, text string) {
		meaning := s.readPath(text)
		if meaning.leads && s.Property(meaning.tokens) == nil {
			t.Errorf("%q leads to %v, where there is nothing", text, meaning.tokens)
		}
		covers([]Path{{Tokens: meaning.tokens}}, meaning.tokens)
	})
}

func FuzzRewrite(f *testing.F) {
	for _, text := range []string{`^[a-z]+{1,2}$`, `[\uD800\uDC00-\uDBFF\uDFFF]`, `(\p{Graph}){2}${1,2}`, `[\w-.]\x{41}`, `((a*)*{2})+`, `\`, `[\`, `(?i`, `a{`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 256 {
			return
		}
		notPortable(text)
		p := compile(text)
		if p.err == nil {
			p.match("aA0 é😀")
		} else if p.reason() == "" {
			t.Error("no reason")
		}
	})
}

func FuzzDecimal(f *testing.F) {
	for _, text := range []string{"1", "-0.0", "1e999999999", "123.450e-7", "1E+5"} {
		f.Add(text, "2.5")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, ok := parseDecimal(a)
		if valid := json.Valid([]byte(a)) && a != "" && (a[0] == '-' || a[0] >= '0' && a[0] <= '9') && strings.TrimSpace(a) == a; valid != ok {
			t.Errorf("%q is a number: %v, by encoding/json %v", a, ok, valid)
		}
		y, both := parseDecimal(b)
		if !ok || !both {
			return
		}
		if x.compare(y) != -y.compare(x) || (x.compare(y) == 0) != (x.key() == y.key()) {
			t.Errorf("%s and %s: %d, %d, keys %s, %s", a, b, x.compare(y), y.compare(x), x.key(), y.key())
		}
		x.multipleOf(y)
	})
}

// TestCheckAgreesWithAnotherValidator compares verdicts on models of real schemas.
func TestCheckAgreesWithAnotherValidator(t *testing.T) {
	files := glob(t, "schemas/aws")
	random := rand.New(rand.NewPCG(3, 4))
	models, invalid := 0, 0
	for i, file := range files {
		if i%6 != 0 {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, problems := Load(file, data, Config{})
		if problems.HasErrors() {
			t.Fatal(problems.Err())
		}
		compiler := jsonschema.NewCompiler()
		compiler.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) { return newMetaPattern(text), nil })
		for _, format := range []string{"uri", "date-time"} {
			compiler.RegisterFormat(&jsonschema.Format{Name: format, Validate: func(any) error { return nil }})
		}
		compiler.DefaultDraft(jsonschema.Draft7)
		doc := s.Root.Any().(map[string]any)
		delete(doc, "$schema")
		if err := compiler.AddResource("schema.json", doc); err != nil {
			t.Fatal(err)
		}
		other, err := compiler.Compile("schema.json")
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for range 12 {
			model, ok := invent(random, s, s.Root, 0).(map[string]any)
			if !ok {
				continue
			}
			models++
			found := s.Check(model, CheckConfig{})
			verdict := other.Validate(model)
			if verdict != nil {
				invalid++
			}
			if (verdict == nil) != (len(found) == 0) {
				text, _ := json.Marshal(model)
				t.Errorf("%s: %.2000s\nhere %v\nthere %v", filepath.Base(file), text, found, verdict)
			}
			use(t, s, model)
		}
	}
	t.Logf("%d models, %d of them invalid", models, invalid)
	if invalid == 0 || invalid == models {
		t.Error("all models have the same verdict")
	}
}

// invent makes a value that often, not always, fits a schema.
func invent(random *rand.Rand, s *Schema, node *document.Value, depth int) any {
	node, err := s.Resolve(node)
	if err != nil || node == nil {
		return "x"
	}
	if enum := node.Get("enum"); enum != nil && random.IntN(8) > 0 {
		return enum.Items[random.IntN(len(enum.Items))].Any()
	}
	kind := declaredTypes(node)
	if node == s.Root || kind == 0 && node.Get("properties") != nil {
		kind = typeObject
	}
	if random.IntN(40) == 0 {
		kind = []types{typeString, typeNumber, typeObject, typeArray, typeNull, typeBoolean}[random.IntN(6)]
	}
	switch {
	case kind&typeObject != 0:
		out := map[string]any{}
		required := map[string]bool{}
		for _, name := range node.Get("required").Strings() {
			required[name] = true
		}
		for _, m := range node.Get("properties").Distinct() {
			if required[m.Key] && random.IntN(40) > 0 || depth < 3 && random.IntN(3) == 0 {
				out[m.Key] = invent(random, s, m.Value, depth+1)
			}
		}
		for _, m := range node.Get("patternProperties").Distinct() {
			out[[]string{"a", "abc", "A1", "x-y"}[random.IntN(4)]] = invent(random, s, m.Value, depth+1)
		}
		if random.IntN(20) == 0 {
			out["Unknown"] = true
		}
		return out
	case kind&typeArray != 0:
		out := []any{}
		least, _ := bound(node, "minItems")
		for range least + random.IntN(2) {
			if items := node.Get("items"); items != nil && depth < 4 {
				out = append(out, invent(random, s, items, depth+1))
			}
		}
		return out
	case kind&typeString != 0:
		least, _ := bound(node, "minLength")
		return strings.Repeat("a1", least)[:least] + []string{"", "a", "arn:aws:s3:::b", "é😀"}[random.IntN(4)]
	case kind&(typeInteger|typeNumber) != 0:
		return json.Number([]string{"0", "1", "-1", "5.0", "2.5", "100", "1e3", "123456789012345678"}[random.IntN(8)])
	case kind&typeBoolean != 0:
		return random.IntN(2) == 0
	}
	return nil
}

func BenchmarkLoad(b *testing.B) {
	dir := fixtures.Dir(b, "schemas/aws")
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			b.Fatal(err)
		}
		return data
	}
	run := func(name string, documents ...[]byte) {
		b.Run(name, func(b *testing.B) {
			total := 0
			for _, data := range documents {
				total += len(data)
			}
			b.SetBytes(int64(total))
			b.ReportAllocs()
			for b.Loop() {
				for _, data := range documents {
					if _, problems := Load("schema.json", data, Config{}); problems.HasErrors() {
						b.Fatal(problems.Err())
					}
				}
			}
		})
	}
	run("typical", read("aws-codeartifact-domain.json"))
	run("largest", read("aws-quicksight-theme.json"))
	var all [][]byte
	for _, file := range glob(b, "schemas/aws") {
		all = append(all, read(filepath.Base(file)))
	}
	run("aws", all...)
}

// BenchmarkMetaSchemas is what the first Load of a process takes longer.
func BenchmarkMetaSchemas(b *testing.B) {
	for b.Loop() {
		if _, err := compileMeta(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkModel(b *testing.B) {
	data, err := os.ReadFile(filepath.Join(fixtures.Dir(b, "schemas/aws"), "aws-codeartifact-domain.json"))
	if err != nil {
		b.Fatal(err)
	}
	s, _ := Load("schema.json", data, Config{})
	tags := make([]any, 50)
	for i := range tags {
		tags[i] = map[string]any{"Key": "k" + strings.Repeat("x", i), "Value": "v"}
	}
	model := map[string]any{"DomainName": "my-domain", "Tags": tags}
	b.Run("Check", func(b *testing.B) {
		for b.Loop() {
			s.Check(model, CheckConfig{})
		}
	})
	b.Run("Recast", func(b *testing.B) {
		for b.Loop() {
			s.Recast(model)
		}
	})
	b.Run("Compare", func(b *testing.B) {
		for b.Loop() {
			s.Compare(model, model, CompareConfig{AllowExtra: true})
		}
	})
}
