package template_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/template"
)

// formatted formats twice: the second time changes nothing.
func formatted(t *testing.T, text string, to template.Syntax) string {
	t.Helper()
	out, err := template.Format("t", []byte(text), to)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	again, err := template.Format("t", out.Text, to)
	if err != nil || !bytes.Equal(again.Text, out.Text) {
		t.Errorf("%v, formatted twice:\n%s\nonce:\n%s\nof\n%s", err, again.Text, out.Text, text)
	}
	return string(out.Text)
}

func TestFormatYAML(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"indentation", "A:\n    B:\n          C: 1\n          D: 2\n    E: 3\n", "A:\n  B:\n    C: 1\n    D: 2\n  E: 3\n"},
		{"lists are indented", "A:\n- x\n-   B: 1\n    C: 2\n- - y\n  - z\nD: 1\n", "A:\n  - x\n  - B: 1\n    C: 2\n  - - y\n    - z\nD: 1\n"},
		{"a dash alone", "A:\n-\n    B: 1\n- # why\n    C: 2\n-\n", "A:\n  -\n    B: 1\n  - # why\n    C: 2\n  -\n"},
		{"order, quotes and scalars stay", "B: \"ON\"\nA: '012'\nC: 012\nD: 0x1F\nE: ~\nF: 12:30:45\nG: \"\\u00e9\"\n", "B: \"ON\"\nA: '012'\nC: 012\nD: 0x1F\nE: ~\nF: 12:30:45\nG: \"\\u00e9\"\n"},
		{"comments", "# top\n\n\n# \u00a0\nA: # a\n    # before B\n    B: 1   # b\n      # deeper\n    # after B\n# before C\nC: 'x # y'\n    # last\n", "# top\n\n# \u00a0\nA: # a\n  # before B\n  B: 1   # b\n  # deeper\n  # after B\n# before C\nC: 'x # y'\n# last\n"},
		{"blank lines", "\n\nA: 1\n\n\n\nB: 2   \n\n\n", "A: 1\n\nB: 2\n"},
		{"CRLF", "A: 1\r\n# c\r\nB: |\r\n    x\r\n\r\n    y\r\n", "A: 1\n# c\nB: |\n  x\n\n  y\n"},
		{"no line end", "A: |-\n  x", "A: |-\n  x\n"},
		{"a text that must not get a line end", "A:\n    - |\n        x", "A:\n  - |\n    x"},
		{"a byte order mark", "\xef\xbb\xbfA: 1\n", "A: 1\n"},
		{"a literal", "A:\n    B: |\n            x \n\n              y\n            \n    C: 1\n", "A:\n  B: |\n    x \n\n      y\n\n  C: 1\n"},
		{"a literal that is long", "A:\n  B: >-\n     a\n     b\n\n     c\n  C: |+ # keeps\n     x\n\n\n  D: 1\n", "A:\n  B: >-\n    a\n    b\n\n    c\n  C: |+ # keeps\n    x\n\n\n  D: 1\n"},
		{"a literal with a number", "A:\n    B: |2\n        x\n      y\n", "A:\n  B: |2\n      x\n    y\n"},
		{"a literal in a list", "A:\n-   |\n    x\n-   B: |\n       y\n    C: 1\n", "A:\n  - |\n    x\n  - B: |\n      y\n    C: 1\n"},
		{"several lines", "A:\n    B: a\n       b\n    C: 'c\n\n      d'\n    D: {x: 1,\n        y: [1,\n        2]}\n    E: 1\n", "A:\n  B: a\n     b\n  C: 'c\n\n    d'\n  D: {x: 1,\n      y: [1,\n      2]}\n  E: 1\n"},
		{"short forms", "A: !If\n- c\n- !Sub\n  - '${x}'\n  - x: !GetAtt A.B\n- !Ref 'AWS::NoValue'\nB: !Join [',', [!Ref a, !Select [0, !GetAZs '']]]\nC:\n-   !Ref x\n-   !If\n    - a\n    - b\n    - c\n",
			"A: !If\n  - c\n  - !Sub\n    - '${x}'\n    - x: !GetAtt A.B\n  - !Ref 'AWS::NoValue'\nB: !Join [',', [!Ref a, !Select [0, !GetAZs '']]]\nC:\n  - !Ref x\n  - !If\n    - a\n    - b\n    - c\n"},
		{"a document", "---\nA:\n    B: 1\n...\n", "---\nA:\n  B: 1\n...\n"},
		{"a text that looks like a list", "A: a\n  - b\nB:\n    'x': 1\n    ? y\n    : 2\n", "A: a\n  - b\nB:\n  'x': 1\n  ? y\n  : 2\n"},
	} {
		if got := formatted(t, tc.text, ""); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}

func TestFormatJSON(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"json", `{"B":{"Ref":"A"},"A":[1.50,"é",[{"x":null}]],"C":{},"D":[]}`, "{\n  \"B\": { \"Ref\": \"A\" },\n  \"A\": [\n    1.50,\n    \"é\",\n    [\n      {\n        \"x\": null\n      }\n    ]\n  ],\n  \"C\": {},\n  \"D\": []\n}\n"},
		{"yaml", "A: !GetAtt B.C.D # c\nB: !Sub x\nC: yes\nD: |\n  a\n  b\n", "{\n  \"A\": { \"Fn::GetAtt\": [\"B\", \"C.D\"] },\n  \"B\": { \"Fn::Sub\": \"x\" },\n  \"C\": true,\n  \"D\": \"a\\nb\\n\"\n}\n"},
	} {
		if got := formatted(t, tc.text, template.JSON); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
	out, err := template.Format("t", []byte("# a\nA: 'x # y' # b\nB: | # c\n  # no\n"), template.JSON)
	if err != nil || out.Comments != 3 {
		t.Errorf("%+v, %v: want 3 comments", out, err)
	}
}

func TestFormatJSONAsYAML(t *testing.T) {
	const text = `{"AWSTemplateFormatVersion": "2010-09-09", "Conditions": {"C": {"Fn::And": [{"Condition": "D"}, {"Fn::Equals": ["a", "012"]}]}},
"Resources": {"Fn::ForEach::L": ["X", ["a"], {"R${X}": {"Type": "A::B::C", "Condition": "C", "Properties": {
"Encoded": {"Fn::Base64": {"Fn::Sub": "x ${Y}\n  y\n"}}, "Arn": {"Fn::GetAtt": ["A", "B.C"]}, "Dotted": {"Fn::GetAtt": "A.B"}, "Made": {"Fn::GetAtt": ["A", {"Ref": "P"}]},
"Words": ["on", "No", "~", "1e3", "0x1f", "- a", "a: b", "a #b", "#a", " a", "a ", "", "a\tb", "it's", "\u00e9\ud83d\ude00", "\u2028", "\u0000", "*", "{{resolve:ssm:x}}", "a\nb ", " a\nb", "a\n\n", "\ta\nb", "a:b", "a:", "%x", "@x", "` + "`" + `x"],
"Numbers": [1, 1.50, true, null], "Empty": {"a": {}, "b": []}, "Odd": {"Fn::Base64": 5}, "Condition": {"Condition": "x"}, "true": 1, "Nested": [[1, [2]], [{"a": 1, "b": [{"c": 2}]}]]}}}]}}`
	want := `AWSTemplateFormatVersion: '2010-09-09'
Conditions:
  C: !And
    - !Condition D
    - !Equals
      - a
      - '012'
Resources:
  'Fn::ForEach::L':
    - X
    -
      - a
    - R${X}:
        Type: A::B::C
        Condition: C
        Properties:
          Encoded: !Base64
            Fn::Sub: |
              x ${Y}
                y
          Arn: !GetAtt A.B.C
          Dotted:
            Fn::GetAtt: A.B
          Made: !GetAtt
            - A
            - !Ref P
`
	if got := formatted(t, text, template.YAML); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// And back without loss.
	first, err := template.Format("t", []byte(text), template.JSON)
	if err != nil {
		t.Fatal(err)
	}
	if back := formatted(t, formatted(t, text, template.YAML), template.JSON); back != string(first.Text) {
		t.Errorf("back:\n%s\nwant\n%s", back, first.Text)
	}
}

func TestFormatRefuses(t *testing.T) {
	for _, text := range []string{"", "A: [", "{", "[]", "a", "A: 1\nA: 2\n", `{"A": 1, "A": 2}`, "A: !Nothing x\n", "A: &x 1\nB: *x\n", "A: \x00\n"} {
		if out, err := template.Format("t", []byte(text), ""); err == nil || errors.Is(err, template.ErrFormat) {
			t.Errorf("%q: %v, %v", text, out, err)
		}
	}
}

// FuzzFormat: whatever can be formatted keeps its meaning, which Format checks itself, and is formatted once for all.
func FuzzFormat(f *testing.F) {
	for _, pattern := range []string{"../../../examples/*/*.yaml", "../../../examples/*/*/*.yaml", "../../cli/testdata/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Add([]byte("A:\n- B: |+\n\n   x\n\n  # c\n-   ? a\n    : b\n- !If\n  - {a: [\n 1]}\n  - >-\n   y\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, to := range []template.Syntax{"", template.JSON, template.YAML} {
			out, err := template.Format("t", text, to)
			if err != nil {
				continue
			}
			again, err := template.Format("t", out.Text, to)
			if err != nil || !bytes.Equal(again.Text, out.Text) {
				t.Fatalf("%s twice: %v\n%q\n%+v", to, err, out.Text, again)
			}
		}
	})
}
