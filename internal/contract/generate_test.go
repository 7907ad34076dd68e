package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/schema"
)

// schemaOf wraps properties and further members into the schema of a resource type.
func schemaOf(t testing.TB, properties, more string) *schema.Schema {
	t.Helper()
	text := fmt.Sprintf(`{"typeName":"A1::B2::C3","description":"x","additionalProperties":false,"primaryIdentifier":["/properties/Id"],"readOnlyProperties":["/properties/Id"],
		"handlers":{"create":{"permissions":[""]},"read":{"permissions":[""]},"delete":{"permissions":[""]}},"properties":{"Id":{"type":"string"},%s}%s}`, properties, more)
	s, problems := schema.Load("s.json", []byte(text), schema.Config{})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	return s
}

// TestGenerate makes a hundred models of each schema. That they are valid is what the
// generator itself asks of the schema; the check here is for what must be in them.
func TestGenerate(t *testing.T) {
	tests := []struct {
		name, properties, more string
		holds                  func(m map[string]any) bool
	}{
		{"read-only left out", `"A":{"type":"string"}`, "", func(m map[string]any) bool { return m["Id"] == nil && m["A"] != nil }},
		{"optional present", `"A":{"type":"string"},"B":{"type":"boolean"}`, `,"required":["A"]`, func(m map[string]any) bool { return m["A"] != nil && m["B"] != nil }},
		{"const", `"A":{"type":"string","const":"x"}`, "", func(m map[string]any) bool { return m["A"] == "x" }},
		{"enum", `"A":{"type":"integer","enum":[3,5]}`, "", func(m map[string]any) bool { n := fmt.Sprint(m["A"]); return n == "3" || n == "5" }},
		{"lengths", `"A":{"type":"string","minLength":30,"maxLength":31}`, "", func(m map[string]any) bool { n := len(m["A"].(string)); return n == 30 || n == 31 }},
		{"no length", `"A":{"type":"string","maxLength":0}`, "", func(m map[string]any) bool { return m["A"] == "" }},
		{"pattern and lengths", `"A":{"type":"string","pattern":"^[a-z]+(-[a-z]+)*$","minLength":25,"maxLength":30}`, "", func(m map[string]any) bool { return len(m["A"].(string)) >= 25 }},
		{"look-ahead", `"A":{"type":"string","pattern":"^(?!aws)[a-z]{3,5}$"}`, "", func(m map[string]any) bool { return !strings.HasPrefix(m["A"].(string), "aws") }},
		{"bounds", `"A":{"type":"integer","minimum":-3,"exclusiveMaximum":1},"B":{"type":"number","exclusiveMinimum":0,"maximum":0.5}`, "", func(m map[string]any) bool { return m["A"] != nil }},
		{"multiples", `"A":{"type":"integer","multipleOf":7,"minimum":1},"B":{"type":"number","multipleOf":0.25}`, "", func(m map[string]any) bool { return m["B"] != nil }},
		{"formats", `"A":{"type":"string","format":"date-time"},"B":{"type":"string","format":"unheard-of"}`, "", func(m map[string]any) bool { return strings.Contains(m["A"].(string), "T") }},
		{"array", `"A":{"type":"array","minItems":2,"maxItems":2,"items":{"type":"string"}}`, "", func(m map[string]any) bool { return len(m["A"].([]any)) == 2 }},
		{"unique items", `"A":{"type":"array","minItems":3,"uniqueItems":true,"items":{"type":"string","enum":["a","b","c"]}}`, "", func(m map[string]any) bool { return len(m["A"].([]any)) == 3 }},
		{"map", `"A":{"type":"object","additionalProperties":false,"patternProperties":{"^[a-z]{3}$":{"type":"integer"}}}`, "", func(m map[string]any) bool { return len(m["A"].(map[string]any)) == 1 }},
		{"oneOf of required", `"A":{"type":"string"},"B":{"type":"string"}`, `,"oneOf":[{"required":["A"]},{"required":["B"]}]`, func(m map[string]any) bool { return (m["A"] == nil) != (m["B"] == nil) }},
		{"anyOf of required", `"A":{"type":"string"},"B":{"type":"string"}`, `,"anyOf":[{"required":["A"]},{"required":["B"]}]`, func(m map[string]any) bool { return m["A"] != nil && m["B"] != nil }},
		{"allOf", `"A":{"type":"object","additionalProperties":false,"properties":{"X":{"type":"string"},"Y":{"type":"string"}},"allOf":[{"required":["X"]}]}`, "", func(m map[string]any) bool { return m["A"].(map[string]any)["X"] != nil }},
		{"several types", `"A":{"type":["integer","string"]}`, "", func(m map[string]any) bool { _, ok := m["A"].(json.Number); return ok }},
		{"recursion", `"A":{"$ref":"#/definitions/Node"}`, `,"definitions":{"Node":{"type":"object","additionalProperties":false,"properties":{"Name":{"type":"string"},"Next":{"$ref":"#/definitions/Node"},"All":{"type":"array","items":{"$ref":"#/definitions/Node"}}}}}`,
			func(m map[string]any) bool { return m["A"].(map[string]any)["Name"] != nil }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := schemaOf(t, test.properties, test.more)
			for seed := range uint64(100) {
				model, err := newGenerator(s, seed, "").model(false)
				if err != nil {
					t.Fatal(err)
				}
				if v := s.Check(model, schema.CheckConfig{}); len(v) > 0 || !test.holds(model) {
					t.Fatalf("seed %d made %v: %v", seed, model, v)
				}
			}
		})
	}
}

func TestGenerateSaysWhatItCannot(t *testing.T) {
	tests := []struct{ name, properties, more, want string }{
		{"reference back", `"A":{"type":"object","additionalProperties":false,"properties":{"B":{"type":"string","pattern":"^(a)\\1$"}}}`, "", "no input can be generated for /A/B: its pattern"},
		{"impossible bounds", `"A":{"type":"integer","minimum":5,"maximum":4}`, "", "/A: no number lies between its bounds"},
		{"impossible length", `"A":{"type":"string","pattern":"^[a-z]{2}$","minLength":3}`, "", `no text of "^[a-z]{2}$" was found`},
		{"too few items", `"A":{"type":"array","minItems":3,"uniqueItems":true,"items":{"type":"boolean"}}`, "", "/A: not enough different items are possible"},
		{"endless", `"A":{"$ref":"#/definitions/Node"}`, `,"required":["A"],"definitions":{"Node":{"type":"object","additionalProperties":false,"required":["Next"],"properties":{"Next":{"$ref":"#/definitions/Node"}}}}`, "/A/Next: it contains itself"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := newGenerator(schemaOf(t, test.properties, test.more), 1, "").model(false)
			var unable *GenerateError
			if !errors.As(err, &unable) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "inputs/inputs_1_create.json") {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestGenerateUpdate(t *testing.T) {
	s := schemaOf(t, `"A":{"type":"string"},"B":{"type":"string"},"C":{"type":"object","additionalProperties":false,"properties":{"D":{"type":"string"},"E":{"type":"string"}}}`,
		`,"required":["B"],"createOnlyProperties":["/properties/B","/properties/C/D"]`)
	model, err := newGenerator(s, 1, "").model(true)
	if err != nil {
		t.Fatal(err)
	}
	inner, _ := model["C"].(map[string]any)
	if model["A"] == nil || model["B"] != nil || inner["D"] != nil || inner["E"] == nil {
		t.Errorf("made %v", model)
	}
}

func BenchmarkGenerate(b *testing.B) {
	s := flavours[0].schema(b)
	g := newGenerator(s, 1, "")
	for b.Loop() {
		if _, err := g.model(false); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzMatch(f *testing.F) {
	for _, pattern := range []string{`^[a-z]{3,9}$`, `^(?!aws:)[\p{L}\p{Z}]*$`, `((a|b)*c){2,5}`, `\u0041[^\\]+\Z`, `(?<n>x)`, `[`, `(a{900}){900}`} {
		f.Add(pattern, uint8(3), uint8(9))
	}
	s := flavours[0].schema(f)
	f.Fuzz(func(t *testing.T, pattern string, low, high uint8) {
		least, most := int(low), int(high)
		g := newGenerator(s, 1, "")
		text, err := g.match(pattern, least, most)
		if err == nil && (utf8.RuneCountInString(text) < least || utf8.RuneCountInString(text) > most) {
			t.Errorf("%q made %q, which is not between %d and %d long", pattern, text, least, most)
		}
	})
}
