package console

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

func loaded(t testing.TB, text string) *schemaReader {
	t.Helper()
	s, problems := schema.Load("", []byte(text), schema.Config{})
	if s == nil {
		t.Fatal(problems)
	}
	return newSchemaReader(s)
}

// outline writes properties down, one line each.
func outline(list []*property, indent string) string {
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintf(&b, "%s%s%s: %s", indent, p.Name, p.Label, p.Type)
		if p.Required {
			b.WriteString(" required")
		}
		for _, m := range p.Marks {
			b.WriteString(" [" + m + "]")
		}
		for _, f := range p.Facts {
			b.WriteString(" (" + f.Name + " " + f.Value + ")")
		}
		if len(p.Values) > 0 {
			b.WriteString(" " + strings.Join(p.Values, "|"))
		}
		if p.Deeper != "" {
			b.WriteString(" …" + p.Deeper)
		}
		b.WriteString("\n" + outline(p.Children, indent+"  "))
	}
	return b.String()
}

func TestDocumentation(t *testing.T) {
	r := loaded(t, `{
		"typeName": "Acme::Test::Thing", "description": "x", "additionalProperties": false,
		"definitions": {
			"Tag": {"type": "object", "required": ["Key"], "properties": {"Key": {"type": "string", "minLength": 1, "maxLength": 128}, "Value": {"type": "string", "maxLength": 256}}},
			"Tree": {"type": "object", "properties": {"Name": {"type": "string"}, "Left": {"$ref": "#/definitions/Tree"}}}
		},
		"properties": {
			"Arn": {"type": "string", "format": "uri"},
			"Name": {"type": "string", "pattern": "^[a-z]+$", "minLength": 3, "maxLength": 3},
			"Size": {"type": "integer", "minimum": 0, "default": 5}, "Ratio": {"type": "number", "exclusiveMaximum": 1, "multipleOf": 0.1},
			"Mode": {"type": "string", "enum": ["on", "off", ""]},
			"Tags": {"type": "array", "uniqueItems": true, "insertionOrder": false, "maxItems": 50, "items": {"$ref": "#/definitions/Tag"}},
			"Matrix": {"type": "array", "items": {"type": "array", "items": {"type": "object", "properties": {"Cell": {"type": ["string", "boolean"]}}}}},
			"Labels": {"type": "object", "patternProperties": {"^[a-z]+$": {"$ref": "#/definitions/Tag"}}},
			"Open": {"type": "object", "additionalProperties": {"type": "integer"}},
			"Tree": {"$ref": "#/definitions/Tree"},
			"Choice": {"oneOf": [{"type": "object", "title": "First", "properties": {"A": {"type": "string"}}}, {"type": "object", "properties": {"B": {"const": true}}}]},
			"Both": {"allOf": [{"properties": {"C": {"type": "null"}}}], "anyOf": [{"required": ["C"]}, {"required": ["D", "E"]}]},
			"Gone": {"$ref": "#/definitions/Nowhere"}, "Any": {}
		},
		"required": ["Name", "Mode"], "primaryIdentifier": ["/properties/Arn"], "additionalIdentifiers": [["/properties/Name"]],
		"readOnlyProperties": ["/properties/Arn"], "writeOnlyProperties": ["/properties/Tags/*/Value"], "createOnlyProperties": ["/properties/Name"],
		"conditionalCreateOnlyProperties": ["/properties/Size"], "deprecatedProperties": ["/properties/Mode"]
	}`)
	got, _, _ := r.document(nil)
	want := `Arn: string [primary identifier] [read-only] (format uri)
Name: string required [additional identifier] [create-only] (pattern ^[a-z]+$) (length exactly 3)
Size: integer [conditionally create-only] (default 5) (value from 0)
Ratio: number (multiple of 0.1) (value up to 1 (not included))
Mode: string required [deprecated] on|off|""
Tags: set of Tag (items up to 50) (order any)
  Key: string required (length 1 to 128)
  Value: string [write-only] (length up to 256)
Matrix: list of list of object
  Cell: string or boolean
Labels: map of Tag
  *: Tag (name ^[a-z]+$)
    Key: string required (length 1 to 128)
    Value: string (length up to 256)
Open: map of integer
  *: integer
Tree: Tree
  Name: string
  Left: Tree …recursive
Choice: First or object
  one of 2, alternative 1: First: 
    A: string
  one of 2, alternative 2: 
    B: any (always true)
Both: object (requires C, or D and E)
  C: null
Gone: Nowhere
Any: any
`
	if diff := cmp.Diff(want, outline(got, "")); diff != "" {
		t.Error(diff)
	}
	// A property has a page of its own, wherever it stands.
	for path, want := range map[string]string{"Tags": "Key|Value", "Labels/*": "Key|Value", "Tree/Left": "Name|Left", "Matrix/*/*": "Cell", "Arn": ""} {
		inner, parent, ok := r.document(strings.Split(path, "/"))
		var names []string
		for _, p := range inner {
			names = append(names, p.Name)
		}
		if !ok || parent == nil || strings.Join(names, "|") != want {
			t.Errorf("%s: %v, %v", path, names, ok)
		}
	}
	if _, _, ok := r.document([]string{"Tags", "Key"}); ok {
		t.Error("a path that leads nowhere has a page")
	}
	for text, want := range map[string]string{"va": "Tags.*.Value", "tags.*": "Tags.*.Key Tags.*.Value", "/Tree/Left": "Tree.Left", "nothing": "", "left": "Tree.Left"} {
		hits, all := r.search(text)
		var paths []string
		for _, h := range hits {
			paths = append(paths, h.Dotted())
		}
		if got := strings.Join(paths, " "); got != want || !all {
			t.Errorf("search %q: %s, want %s", text, got, want)
		}
	}
}

// TestEverySchema: the schemas of AWS have pages, each property in its place once, and
// what does not fit a page can be reached.
func TestEverySchema(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "schemas/aws"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	deeper := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := loaded(t, string(data))
		list, _, _ := r.document(nil)
		seen := map[string]bool{}
		var walk func(list []*property)
		walk = func(list []*property) {
			for _, p := range flatten(list) {
				if p.Type == "" || strings.Contains(p.Type, "unknown") {
					t.Errorf("%s: %s is %q", filepath.Base(file), p.Dotted(), p.Type)
				}
				if p.Deeper != "" {
					deeper++
					if inner, _, ok := r.document(p.Path); !ok || len(inner) == 0 {
						t.Errorf("%s: what is in %s cannot be reached", filepath.Base(file), p.Dotted())
					}
				}
				seen[p.Anchor()] = true
				walk(p.Children)
			}
		}
		walk(list)
		for _, m := range r.Properties() {
			if !seen["p-"+anchorOf([]string{m.Key})] {
				t.Errorf("%s: %s is missing", filepath.Base(file), m.Key)
			}
		}
		if r.tired() {
			t.Errorf("%s takes too many steps", filepath.Base(file))
		}
	}
	if deeper == 0 {
		t.Error("no schema has more than a page: the bound is not put to the test")
	}
}

// TestHostileSchema: what takes longest is given up.
func TestHostileSchema(t *testing.T) {
	wide := make([]string, 3000)
	for i := range wide {
		wide[i] = fmt.Sprintf(`"P%d":{"$ref":"#/definitions/D"}`, i)
	}
	alternatives := strings.TrimSuffix(strings.Repeat(`{"$ref":"#/definitions/C"},{"$ref":"#/definitions/E"},`, 300), ",")
	for name, text := range map[string]string{
		"wide":      `{"typeName":"A::B::C","definitions":{"D":{"type":"object","properties":{` + strings.Join(wide, ",") + `}}},"properties":{` + strings.Join(wide, ",") + `}}`,
		"combiners": `{"typeName":"A::B::C","definitions":{"C":{"oneOf":[` + alternatives + `]},"E":{"anyOf":[` + alternatives + `],"properties":{"X":{"$ref":"#/definitions/C"}}}},"properties":{"P":{"$ref":"#/definitions/C"},"Q":{"$ref":"#/definitions/E"}}}`,
		"itself":    `{"typeName":"A::B::C","properties":{"P":{"$ref":"#"},"Q":{"type":"array","items":{"$ref":"#/properties/Q"}}}}`,
		"nested":    `{"typeName":"A::B::C","properties":{"P":` + strings.Repeat(`{"type":"array","items":`, 200) + `{}` + strings.Repeat(`}`, 200) + `}}`,
		"wrong":     `{"typeName":5,"properties":{"P":7,"Q":{"type":{},"enum":3,"items":[],"oneOf":{"a":1},"required":"x","minLength":"y"}},"definitions":[]}`,
	} {
		start := time.Now()
		r := loaded(t, text)
		list, _, _ := r.document(nil)
		r.search("x")
		if len(list) == 0 {
			t.Errorf("%s: nothing is shown", name)
		}
		t.Logf("%s: %d steps, %v", name, r.steps, time.Since(start))
	}
}

func FuzzDocumentation(f *testing.F) {
	f.Add(`{"typeName":"A::B::C","properties":{"P":{"$ref":"#"}}}`, "/P/P", "p")
	f.Add(`{"properties":{"P":{"oneOf":[{"properties":{"Q":{"items":{"$ref":"#/properties/P"}}}}]}}}`, "/P/Q/*", "q")
	f.Fuzz(func(t *testing.T, text, at, search string) {
		s, _ := schema.Load("", []byte(text), schema.Config{})
		if s == nil {
			return
		}
		r := newSchemaReader(s)
		r.document(nil)
		r.document(strings.Split(at, "/")[1:])
		r.search(search)
	})
}

func TestProse(t *testing.T) {
	for text, want := range map[string]string{
		"plain <b>text</b>":                          "plain <b>text</b>",
		"with `code` and `more`":                     "with {code} and {more}",
		"see [the page](https://a.example/x), or so": "see [the page|https://a.example/x], or so",
		"see https://a.example/x?y=1.":               "see [https://a.example/x?y=1|https://a.example/x?y=1].",
		"no [link](javascript:alert(1))":             "no [link](javascript:alert(1))",
		"no [link](https://user:pw@a.example)":       "no link",
		"one\n\n* two\n- three":                      "one/•two/•three",
		"un`closed":                                  "un`closed",
		"":                                           "",
	} {
		var out []string
		for _, b := range prose(text) {
			var line strings.Builder
			if b.Item {
				line.WriteString("•")
			}
			for _, s := range b.Spans {
				switch {
				case s.Code:
					line.WriteString("{" + s.Text + "}")
				case s.Link != "":
					line.WriteString("[" + s.Text + "|" + s.Link + "]")
				default:
					line.WriteString(s.Text)
				}
			}
			out = append(out, line.String())
		}
		if got := strings.Join(out, "/"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if blocks := prose(strings.Repeat("x\n", 100_000)); len(blocks) > maxBlocks+1 {
		t.Errorf("%d blocks", len(blocks))
	}
}

func TestMask(t *testing.T) {
	for text, want := range map[string]string{
		`{"A":"secret","B":[1,true,null,{"C":"{{resolve:ssm:/a/b}}"}]}`:                                          `{"A":"••••••","B":["••••••","••••••",null,{"C":"{{resolve:ssm:/a/b}}"}]}`,
		`{"A":"{{resolve:ssm:/a}} secret","B":"{{resolve:ssm:{{x}}}}"}`:                                          `{"A":"••••••","B":"••••••"}`,
		`{"HookConfiguration":{"TargetStacks":"ALL","FailureMode":"other","Properties":{"FailureMode":"FAIL"}}}`: `{"HookConfiguration":{"FailureMode":"••••••","Properties":{"FailureMode":"FAIL"},"TargetStacks":"ALL"}}`,
		`no json`: hidden, `"secret"`: `"••••••"`, strings.Repeat(`{"a":`, 500) + `"secret"` + strings.Repeat(`}`, 500): "",
	} {
		got := mask(text)
		if strings.Contains(got, "secret") {
			t.Errorf("%s: %s", text, got)
		}
		if flat := strings.NewReplacer("\n", "", "  ", "", ": ", ":").Replace(got); want != "" && flat != want {
			t.Errorf("%s: %s, want %s", text, flat, want)
		}
	}
}

func TestPieces(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                                    "plain",
		"\x1b[31mred\x1b[0m plain":                 "<f2>red<> plain",
		"\x1b[1;92mok\x1b[22;39m":                  "<f11 bold>ok",
		"\x1b[38;5;9mx\x1b[38;2;1;2;3my":           "<f10>x<>y",
		"\x1b[48;5;200;4mx":                        "<underline>x",
		"\x1b[2J\x1b[1;1Ha\x1b]0;title\ab":         "ab",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1b[": "", "\x1b": "", "a\x1b(Bb": "aBb", "\x1b[31": "", "x\x07\x00\u202ey": "xy", "a\nb": "a b",
		"\x1b[38m\x1b[38;5mx": "x", "\x1b[99999999999999999999mx": "x",
	} {
		var b strings.Builder
		class := ""
		for _, p := range pieces(text) {
			if p.Class != class {
				b.WriteString("<" + p.Class + ">")
				class = p.Class
			}
			b.WriteString(p.Text)
		}
		if b.String() != want {
			t.Errorf("%q: %q, want %q", text, b.String(), want)
		}
	}
	long := pieces(strings.Repeat("ü", maxLine))
	if n := len(long[0].Text); n > maxLine || long[len(long)-1].Text != " …" {
		t.Errorf("%d bytes of a long line", n)
	}
}

func FuzzPieces(f *testing.F) {
	f.Add("\x1b[31;1mred\x1b[0m")
	f.Add("\x1b]0;title\x07x\x1b[38;5;")
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range pieces(text) {
			if strings.ContainsAny(p.Text, "\x1b\n\x00\x07") || strings.Trim(p.Class, "abcdefghijklmnopqrstuvwxyz0123456789 ") != "" {
				t.Errorf("%q: %q", text, p)
			}
		}
	})
}

func TestDifferenceLines(t *testing.T) {
	for _, test := range []struct{ want, got, lines string }{
		{`"a"`, `"b"`, `-"a"|+"b"`},
		{`{"a":1,"b":2}`, `{"a":1,"b":3}`, ` {|   "a": 1,|-  "b": 2|+  "b": 3| }`},
		{`"a"`, ``, `-"a"`}, {``, `[1]`, `+[|+  1|+]`}, {``, ``, ``},
	} {
		d := difference{Want: []byte(test.want), Got: []byte(test.got)}
		var lines []string
		for _, l := range d.Lines() {
			lines = append(lines, l.Sign+l.Text)
		}
		if got := strings.Join(lines, "|"); got != test.lines {
			t.Errorf("%s, %s: %s, want %s", test.want, test.got, got, test.lines)
		}
	}
	large := "[" + strings.TrimSuffix(strings.Repeat("1,", 2000), ",") + "]"
	if n := len((&difference{Want: []byte(large), Got: []byte(large)}).Lines()); n != 4004 {
		t.Errorf("%d lines of two large values", n)
	}
}

func TestSourceKeepsText(t *testing.T) {
	text := read(t, "schemas/third-party/mongodb", "mongodb-atlas-cluster.json") + `{"a": "b\"c: d\\", "n": [-1.5e3, true, null], broken "x`
	var b strings.Builder
	for _, line := range highlight(text) {
		for _, token := range line {
			b.WriteString(token.Text)
		}
		b.WriteByte('\n')
	}
	want := strings.ReplaceAll(strings.TrimRight(text, "\n"), "\r", "") + "\n"
	if b.String() != want {
		t.Error(cmp.Diff(want, b.String()))
	}
	if got := tokens(`"a": "b: \"", true`); !slices.Equal(got, []token{{"k", `"a"`}, {"", ": "}, {"s", `"b: \""`}, {"", ", "}, {"n", "true"}}) {
		t.Errorf("%q", got)
	}
}

func TestCacheIsBounded(t *testing.T) {
	var c schemaCache
	for i := range 3 * maxCached {
		text := fmt.Sprintf(`{"typeName":"A::B::C%d"}`, i)
		first, _ := c.load(text, "RESOURCE")
		if again, _ := c.load(text, "RESOURCE"); again != first || first == nil {
			t.Fatal("a schema is read twice")
		}
	}
	if len(c.entries) > maxCached {
		t.Errorf("%d schemas are kept", len(c.entries))
	}
	for i := range 20 {
		c.load(fmt.Sprintf(`{"typeName":"A::B::C","description":%q}`, strings.Repeat("x", 1<<20+i)), "RESOURCE")
	}
	if c.bytes > maxCachedBytes {
		t.Errorf("%d bytes are kept", c.bytes)
	}
	if s, problem := c.load("no schema", "RESOURCE"); s != nil || problem == "" {
		t.Errorf("what is no schema: %v %q", s, problem)
	}
}
