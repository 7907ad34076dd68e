package project

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

func parse(t *testing.T, text string) *document.Value {
	t.Helper()
	v, problems := document.ParseJSON("", []byte(text), document.Limits{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return v
}

func TestApplyPatch(t *testing.T) {
	const before = `{"A":{"B":[1,2,3]},"C":null,"~/":1}`
	tests := []struct{ operation, want string }{
		{`{"op":"add","path":"/D","value":4}`, `{"A":{"B":[1,2,3]},"C":null,"~/":1,"D":4}`},
		{`{"op":"add","path":"/C","value":4}`, `{"A":{"B":[1,2,3]},"C":4,"~/":1}`},
		{`{"op":"add","path":"/A/B/-","value":4}`, `{"A":{"B":[1,2,3,4]},"C":null,"~/":1}`},
		{`{"op":"add","path":"/A/B/0","value":4}`, `{"A":{"B":[4,1,2,3]},"C":null,"~/":1}`},
		{`{"op":"add","path":"/A/B/3","value":4}`, `{"A":{"B":[1,2,3,4]},"C":null,"~/":1}`},
		{`{"op":"remove","path":"/A/B/1"}`, `{"A":{"B":[1,3]},"C":null,"~/":1}`},
		{`{"op":"remove","path":"/~0~1"}`, `{"A":{"B":[1,2,3]},"C":null}`},
		{`{"op":"replace","path":"/A/B","value":{}}`, `{"A":{"B":{}},"C":null,"~/":1}`},
		{`{"op":"replace","path":"/A/B/2","value":9}`, `{"A":{"B":[1,2,9]},"C":null,"~/":1}`},
		{`{"op":"replace","path":"/D","value":1}`, "the path /D does not exist"},
		{`{"op":"remove","path":"/A/B/3"}`, "the path /A/B/3 does not exist"},
		{`{"op":"remove","path":"/A/B/-"}`, "the path /A/B/- does not exist"},
		{`{"op":"add","path":"/A/B/4","value":1}`, "the path /A/B/4 does not exist"},
		{`{"op":"add","path":"/A/B/01","value":1}`, "the path /A/B/01 does not exist"},
		{`{"op":"add","path":"/C/D","value":1}`, "the path /C/D does not exist"},
		{`{"op":"add","path":"","value":1}`, `the path "" does not exist in the inputs`},
		{`{"op":"add","path":"A","value":1}`, `the path "A" does not exist in the inputs`},
		{`{"op":"add","path":"/A"}`, "the operation add has no value"},
		{`{"op":"move","from":"/A","path":"/B"}`, `invalid operation "move": use add, remove or replace`},
		{`5`, `invalid operation "": use add, remove or replace`},
	}
	for _, test := range tests {
		model := parse(t, before)
		out, err := applyPatch(model, parse(t, test.operation))
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = string(out.AppendJSON(nil))
		}
		if got != test.want {
			t.Errorf("%s\ngot  %s\nwant %s", test.operation, got, test.want)
		}
		if after := string(model.AppendJSON(nil)); after != before {
			t.Errorf("%s changed its input to %s", test.operation, after)
		}
	}
}

// Texts that YAML 1.1 or 1.2 could take for something else stay texts.
func TestTemplateTextsStayTexts(t *testing.T) {
	w := &templateWriter{}
	for _, text := range []string{"yes", "On", "n", "~", "null", "", "1e3", "017", "12:30:45", "2010-09-09", "=", "<<", "!Ref x", "a: b", "- a", "two\nlines", " lead", "\t", "é", "a #b", "true"} {
		data, err := yaml.Dump(w.text(text))
		if err != nil {
			t.Fatal(err)
		}
		var back yaml.Node
		if err := yaml.Unmarshal(data, &back); err != nil || back.Content[0].Value != text || back.Content[0].ShortTag() != "!!str" {
			t.Errorf("%q became %s", text, data)
		}
		plain := strings.TrimSpace(string(data)) == text
		if plain && (oldYAML.MatchString(text) || text == "017" || text == "2010-09-09") {
			t.Errorf("%q is not quoted", text)
		}
	}
}

func TestUniqueTextFollowsFromItsPlace(t *testing.T) {
	a, b := &templateWriter{seed: "a"}, &templateWriter{seed: "b"}
	at := document.Pointer{"Name"}
	ids := []string{a.unique(at, 0), a.unique(at, 1), a.unique(document.Pointer{"Other"}, 0), b.unique(at, 0)}
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] || len(id) != 36 {
			t.Errorf("%v", ids)
		}
		seen[id] = true
	}
	if a.unique(at, 0) != ids[0] {
		t.Error("the same place gave another text")
	}
}
