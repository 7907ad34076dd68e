package document

import (
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// show lists problems as the text format does, without hints.
func show(problems diag.List) string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, fmt.Sprintf("%s: %s: %s", p.At, p.ID, p.Message))
	}
	return strings.Join(lines, "|")
}

func TestParseYAMLValues(t *testing.T) {
	for _, tt := range []struct{ name, input, want string }{
		{"the core schema", "[~, null, Null, NULL, true, True, TRUE, false, False, FALSE]", `[null,null,null,null,true,true,true,false,false,false]`},
		{"words that YAML 1.1 knew", "[yes, no, on, off, y, n, nUll, tRue, 2001-01-01, 12:30:45, 1_000, 0b1, =]", `["yes","no","on","off","y","n","nUll","tRue","2001-01-01","12:30:45","1_000","0b1","="]`},
		{"numbers", "[0, -0, 12, -12, +12, 1.5, 1., .5, -.5, +.5e+3, 1e9, 1E-9, 0x1F, 0o17, 12345678901234567890.12345678901234567890]", `[0,-0,12,-12,12,1.5,1,0.5,-0.5,0.5e+3,1e9,1E-9,31,15,12345678901234567890.12345678901234567890]`},
		{"no numbers", "[., .e1, 1e, 1e+, +, -x, 0x, 0xG, 0o8, 0x+1, -0x1, 1.2.3, 1 2]", `[".",".e1","1e","1e+","+","-x","0x","0xG","0o8","0x+1","-0x1","1.2.3","1 2"]`},
		{"quotes", `['a''b', "a\tb\x41\u00e9\U0001F600\/\e\
  c", '1', "true"]`, "[\"a'b\",\"a\\tbAé😀/\\u001bc\",\"1\",\"true\"]"},
		{"blocks", "a: |\n  x\n   y\n\nb: >-\n  x\n  y\n\n  z\nc: |2+\n   x\n\n", `{"a":"x\n y\n","b":"x y\nz","c":" x\n\n"}`},
		{"plain text over lines", "a: x\n  y\n\n  z # no\nb: c", `{"a":"x y\nz","b":"c"}`},
		{"collections", "- a\n-\n- - b\n- c: d\n  e: [f, {g, h: i}, j: k]\n- {}\n- []\n", `["a",null,["b"],{"c":"d","e":["f",{"g":null,"h":"i"},{"j":"k"}]},{},[]]`},
		{"core tags", "[!!str 1, !!int 1, !!float 1, !!float 1.5, !!bool true, !!null ~, ! 1, !!seq [], !!map {}, !!str , !<tag:yaml.org,2002:str> 2]", `["1",1,1,1.5,true,null,"1",[],{},"","2"]`},
		{"aliases", "a: &a {b: [1, &c x]}\nd: *a\ne: *c\n*c : f\n", `{"a":{"b":[1,"x"]},"d":{"b":[1,"x"]},"e":"x","x":"f"}`},
		{"an anchor again", "[&a 1, *a, &a 2, *a]", `[1,1,2,2]`},
		{"merge keys", "a: &a {x: 1, y: 2, x: 3}\nb: &b {y: 4, z: 5}\nc: {k: 0, <<: [*a, *b], x: 6}\nd: {<<: *b}\n'<<': e", `{"a":{"x":1,"y":2,"x":3},"b":{"y":4,"z":5},"c":{"k":0,"y":2,"z":5,"x":6},"d":{"y":4,"z":5},"<<":"e"}`},
		{"document marks", "# top\n%YAML 1.2\n--- # first\na: b\n...\n", `{"a":"b"}`},
		{"an empty document", "---\n", `null`},
		{"line ends of YAML 1.1", "a: \"x\u2028y\u2029z\u0085\"\nb: p\u2028q\n", `{"a":"x` + "\u2028y\u2029z\u0085" + `","b":"p` + "\u2028" + `q"}`},
		{"carriage returns", "a: b\r\nc:\r  d\r", `{"a":"b","c":"d"}`},
		{"a byte order mark", "\ufeffa: b", `{"a":"b"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, problems := ParseYAML("f", []byte(tt.input), Limits{})
			if problems.HasErrors() {
				t.Fatal(show(problems))
			}
			if got := string(v.AppendJSON(nil)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestParseYAMLPlaces takes every value and every key out of the text again, by its place.
func TestParseYAMLPlaces(t *testing.T) {
	const input = "é: &x !!str ü # no\n" +
		"list: !!seq\n" +
		"- 'it''s'\n" +
		"- \"a\\\"b\n   c\"\n" +
		"- [1 , {k: v, # no\n  e: } , ]\n" +
		"- *x\n" +
		"-\n" +
		"text: |2-\n    two\n\n   one\n\n" +
		"# no\n" +
		"&k key: two\n  lines \n" +
		"merged: {<<: {m: n}, ? q}\n" +
		"none: !!null\n" +
		"last: >\n\n  x\n"
	v, problems := ParseYAML("f", []byte("\ufeff"+input), Limits{})
	if problems != nil {
		t.Fatal(show(problems))
	}
	data := "\ufeff" + input
	text := func(at diag.Range) string {
		before := data[:at.Start.Offset]
		if line := strings.Count(before, "\n") + 1; at.Start.Line != line {
			t.Errorf("byte %d is in line %d, not %d", at.Start.Offset, line, at.Start.Line)
		}
		if column := len(before) - strings.LastIndexByte(before, '\n'); at.Start.Line > 1 && at.Start.Column != column {
			t.Errorf("byte %d is in column %d, not %d", at.Start.Offset, column, at.Start.Column)
		}
		return data[at.Start.Offset:at.End.Offset]
	}
	for pointer, want := range map[string]string{
		"/é":        "é|ü",
		"/list":     "list|- 'it''s'\n- \"a\\\"b\n   c\"\n- [1 , {k: v, # no\n  e: } , ]\n- *x\n-",
		"/list/0":   "'it''s'",
		"/list/1":   "\"a\\\"b\n   c\"",
		"/list/2":   "[1 , {k: v, # no\n  e: } , ]",
		"/list/2/0": "1",
		"/list/2/1": "{k: v, # no\n  e: }", "/list/2/1/k": "k|v", "/list/2/1/e": "e|",
		"/list/3": "ü", // where the anchor is
		"/list/4": "",
		"/text":   "text|" + "|2-\n    two\n\n   one",
		"/key":    "key|two\n  lines",
		"/merged": "merged|{<<: {m: n}, ? q}", "/merged/m": "m|n", "/merged/q": "q|",
		"/none": "none|",
		"/last": "last|>\n\n  x",
	} {
		p, _ := ParsePointer(pointer)
		found := v.Lookup(p)
		if found == nil {
			t.Errorf("%s: nothing there", pointer)
			continue
		}
		got := text(found.At)
		if m := v.Lookup(p[:len(p)-1]).Member(p[len(p)-1]); m != nil {
			got = text(m.KeyAt) + "|" + got
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", pointer, got, want)
		}
	}
	if got := text(v.At); got != input[:len(input)-1] {
		t.Errorf("the document is %q", got)
	}
	if got := v.Members[0].KeyAt.String(); got != "f:1:1" {
		t.Errorf("the first key is at %s", got)
	}
}

func TestParseYAMLProblems(t *testing.T) {
	for _, tt := range []struct{ name, input, want string }{
		{"all of them", "a: !Ref b\nb: .inf\nc: -.INF\nd: .NaN\n[e]: f\na: 007\n", "f:1:4: document/tag: the tag !Ref has no equivalent in JSON|" +
			"f:2:4: document/number: .inf is a number that JSON does not have|f:3:4: document/number: -.INF is a number that JSON does not have|" +
			"f:4:4: document/number: .NaN is a number that JSON does not have|f:5:1: document/key: a key must not be a list or a mapping|" +
			"f:6:4: document/number: 007 is read as a string: versions of YAML disagree about numbers with leading zeros|" +
			`f:6:1: document/duplicate-key: duplicate key "a"; the last one is used`},
		{"keys that are no text", "{1: a, true: b, ~: c, : d}", "f:1:2: document/key: this key is of type number in YAML and is converted to a string|" +
			"f:1:8: document/key: this key is of type boolean in YAML and is converted to a string|f:1:17: document/key: this key is of type null in YAML and is converted to a string|" +
			"f:1:23: document/key: this key is of type null in YAML and is converted to a string"},
		{"tags", "[!!binary aGk=, !!set {a}, !!int x, !!int 1.5, !!bool 1, !<x> [], !!map []]", "f:1:2: document/tag: the tag !!binary has no equivalent in JSON|" +
			"f:1:17: document/tag: the tag !!set has no equivalent in JSON|f:1:34: document/tag: the tag !!int does not match the value|" +
			"f:1:43: document/tag: the tag !!int does not match the value|f:1:55: document/tag: the tag !!bool does not match the value|" +
			"f:1:58: document/tag: the tag x has no equivalent in JSON|f:1:67: document/tag: the tag !!map has no equivalent in JSON"},
		{"cycle", "a: &a [1, *a]", "f:1:11: document/alias: *a refers to a node that contains it"},
		{"unknown alias", "a: *b", "f:1:4: document/syntax: undefined anchor &b"},
		{"merge of no mapping", "<<: [1]", "f:1:1: document/merge: << merges mappings, not a value of type number"},
		{"two documents", "a: b\n---\nc: d\n", "f:2:1: document/several-documents: a second document starts here; a file can contain only one"},
		{"a faulty second document", "a: b\n---\n[", `f:3:2: document/syntax: a value is missing here`},
		{"nothing", "# nothing\n", "f:2:1: document/syntax: the document is empty"},
		{"tab", "a:\n\tb: c\n", "f:2:1: document/syntax: the indentation contains a tab"},
		{"tab in a text", "a: |\n  b\n\tc\n", "f:3:1: document/syntax: the indentation contains a tab"},
		{"at sign", "a: @b\n", "f:1:4: document/syntax: a value cannot start with this character"},
		{"percent sign", "a: b\nc: %d\n", "f:2:4: document/syntax: a value cannot start with this character"},
		{"missing colon", "é\nb: c\n", `f:2:2: document/syntax: a ":" is not allowed here`},
		{"missing colon at the end", "a: b\nc\n", `f:2:1: document/syntax: missing ":" after this key`},
		{"two colons", "é: a: b\n", `f:1:6: document/syntax: a ":" is not allowed here`},
		{"indented less", "a:\n    b: c\n  d: e\n", "f:3:3: document/syntax: this line is neither a key of the mapping above nor part of a value in it"},
		{"list and mapping", "- a\nb: c\n", "f:2:1: document/syntax: this line is neither an item of the list above nor part of one"},
		{"list beside its key", "a: - b\n", `f:1:4: document/syntax: a list cannot start here with "-"`},
		{"open bracket", "a: [b\nc: d\n", `f:2:2: document/syntax: a comma or "]" is missing`},
		{"open brace", "a: {b: c\nd: e\n", `f:2:2: document/syntax: a comma or "}" is missing`},
		{"open string", "a: \"b\nc: d\n", "f:1:4: document/syntax: unterminated string"},
		{"open string before a document", "a: 'b\n---\n", "f:1:4: document/syntax: unterminated string"},
		{"escape", `a: "\q"`, "f:1:5: document/syntax: unknown escape sequence"},
		{"half a pair", `a: "\ud83d\ude00"`, "f:1:7: document/syntax: invalid escape sequence"},
		{"hex", `a: "\xg0"`, "f:1:7: document/syntax: an escape sequence has too few hexadecimal digits"},
		{"block", "a: | b\n", "f:1:6: document/syntax: the text starts on the line of its | or >"},
		{"block digit", "a: |0\n b\n", "f:1:5: document/syntax: the digit after | or > must be from 1 to 9"},
		{"anchor without a name", "a: & b\n", "f:1:5: document/syntax: missing name after & or *"},
		{"comment", "a: \"b\"#c\n", "f:1:7: document/syntax: missing space before the # of a comment"},
		{"directive", "%FOO\n---\n", "f:1:5: document/syntax: unknown directive"},
		{"version", "%YAML 3.0\n---\n", "f:1:1: document/syntax: the YAML version of the document is not 1.1 or 1.2"},
		{"tag prefix", "a: !x!y z\n", "f:1:4: document/syntax: the tag has a prefix that is not declared"},
		{"not UTF-8", "a: b\nc: \xff\n", "f:2:4: document/syntax: byte 0xFF is not UTF-8"},
		{"control character", "a: \x00", "f:1:4: document/syntax: the text contains the control character U+0000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := ParseYAML("f", []byte(tt.input), Limits{})
			if got := show(problems); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestParseYAMLShowsWhereItBegan(t *testing.T) {
	_, problems := ParseYAML("f", []byte("a:\n  - b\n  c: d\n"), Limits{})
	if len(problems) != 1 || len(problems[0].Related) != 1 || problems[0].Related[0].At.String() != "f:2:3" || problems[0].Related[0].Message != "the list begins here" {
		t.Errorf("got %+v", problems)
	}
}

func TestParseYAMLBounds(t *testing.T) {
	bomb := "a0: &a0 [x, x]\n"
	for i := range 40 {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	merges := "a0: &a0 {x: {y: z}}\n"
	for i := range 40 {
		merges += fmt.Sprintf("a%d: &a%d {k%d: *a%d, l%d: *a%d}\n", i+1, i+1, i, i, i, i)
	}
	chain := "a0: &a0 " + strings.Repeat("[", 450) + strings.Repeat("]", 450) + "\n"
	for i := range 100 {
		chain += fmt.Sprintf("a%d: &a%d [*a%d]\n", i+1, i+1, i)
	}
	for name, tt := range map[string]struct{ input, want string }{
		"alias bomb":     {bomb, "document/too-large"},
		"merged bomb":    {merges, "document/too-large"},
		"deep aliases":   {chain, "document/too-deep"},
		"brackets":       {strings.Repeat("[", 100_000), "document/too-deep"},
		"braces":         {strings.Repeat("{a: ", 100_000), "document/too-deep"},
		"dashes":         {strings.Repeat("- ", 100_000), "document/too-deep"},
		"question marks": {strings.Repeat("? ", 100_000), "document/too-deep"},
		"mixed":          {strings.Repeat("- ", 300) + strings.Repeat("[", 300) + strings.Repeat("]", 300), "document/too-deep"},
		"many values":    {strings.Repeat("a,", 4<<20), "document/too-large"},
		"many lines":     {strings.Repeat("- a\n", 2<<20), "document/too-large"},
		"large":          {strings.Repeat(" ", 50<<20), "document/too-large"},
	} {
		t.Run(name, func(t *testing.T) {
			v, problems := ParseYAML("f", []byte(tt.input), Limits{})
			if v != nil || len(problems) != 1 || problems[0].ID != tt.want {
				t.Errorf("got %s, want %s", show(problems), tt.want)
			}
		})
	}
	if _, problems := ParseYAML("f", []byte(strings.Repeat("[", 512)+strings.Repeat("]", 512)), Limits{}); problems != nil {
		t.Errorf("512 levels: %s", show(problems))
	}
}

// TestYAMLReadsJSON reads published schemas with both parsers: values and places are the
// same to the byte.
func TestYAMLReadsJSON(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "schemas/aws"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	read := 0
	for i := 0; i < len(files); i += 12 {
		data, err := os.ReadFile(files[i])
		if err != nil {
			t.Fatal(err)
		}
		want, problems := ParseJSON("f", data, Limits{})
		if problems != nil {
			t.Fatal(files[i], problems)
		}
		got, problems := ParseYAML("f", data, Limits{})
		if problems != nil {
			t.Errorf("%s: %s", filepath.Base(files[i]), show(problems))
			continue
		}
		read++
		if where := firstDifference(want, got, nil); where != "" {
			t.Errorf("%s: %s", filepath.Base(files[i]), where)
		}
	}
	if read == 0 {
		t.Error("no schema was read")
	}
}

func firstDifference(want, got *Value, at Pointer) string {
	switch {
	case want.Kind != got.Kind || want.Text != got.Text || want.Bool != got.Bool || len(want.Items) != len(got.Items) || len(want.Members) != len(got.Members):
		return fmt.Sprintf("%s is %.80s, want %.80s", at, got.AppendJSON(nil), want.AppendJSON(nil))
	case want.At != got.At:
		return fmt.Sprintf("%s is at %v, want %v", at, got.At, want.At)
	}
	for i := range want.Items {
		if where := firstDifference(want.Items[i], got.Items[i], at.Append(fmt.Sprint(i))); where != "" {
			return where
		}
	}
	for i, m := range want.Members {
		if g := got.Members[i]; m.Key != g.Key || m.KeyAt != g.KeyAt {
			return fmt.Sprintf("%s: the key %q at %v, want %q at %v", at, g.Key, g.KeyAt, m.Key, m.KeyAt)
		}
		if where := firstDifference(m.Value, got.Members[i].Value, at.Append(m.Key)); where != "" {
			return where
		}
	}
	return ""
}

func TestParseChoosesTheLanguage(t *testing.T) {
	for _, tt := range []struct{ file, input, want string }{
		{"a.json", `{"a": 1}`, `{"a":1}`},
		{"a.json", "a: 1", "a.json:1:1: document/syntax: found 'a' where a value should be"},
		{"a.JSON", "{a: 1}", "a.JSON:1:2: document/syntax: found 'a' where a key in double quotes should be"},
		{"a.yaml", "a: 1", `{"a":1}`},
		{"a.yml", ` {"a": "\ud83d\ude00"}`, `{"a":"😀"}`},
		{"a.yaml", "{a: 1}", `{"a":1}`},
		{"a.yaml", "{a: 1", `a.yaml:1:6: document/syntax: a comma or "}" is missing`},
		{"a.template", "a: 1", `{"a":1}`},
		{"a.template", "\ufeff{\"a\": 1}", `{"a":1}`},
		{"a.template", `{"a": 1 "b": 2}`, "a.template:1:9: document/syntax: a comma is missing between two elements"},
		{"a.template", "[1, # one\n 2]", `[1,2]`},
		{"", "[1, # one\n 2]", ":1:5: document/syntax: found '#' where a value should be"},
		{"a.txt", "a: [1, # one\n 2]", `{"a":[1,2]}`},
	} {
		v, problems := Parse(tt.file, []byte(tt.input), Limits{})
		got := show(problems)
		if problems == nil {
			got = string(v.AppendJSON(nil))
		}
		if got != tt.want {
			t.Errorf("%s %q: got %s, want %s", tt.file, tt.input, got, tt.want)
		}
	}
}

// FuzzParseYAML looks for text that crashes the reader, for places outside of the text or
// out of order, for values that are no JSON, and for JSON that is read differently.
func FuzzParseYAML(f *testing.F) {
	for _, seed := range []string{
		"a: &a [1, *a]\nb: *a\n", "? [a]\n: b", "<<: {a: 1}\n", "a: |2-\n    x\n\n   y\n", "- - a\n-\n", "{a, ? b, c: }", "&a !!str\n&b k: v\n",
		"a: 'x''y'\nb: \"\\\n c\"\n", "--- a\n...\n---\n", "\ufeffa: \u2028b\u0085\n", "a:\r\n  b\rc: d", "%YAML 1.2\n---\n", `{"a":[1,2.5e-3,"x\u00e9",null,true]}`,
	} {
		f.Add([]byte(seed))
	}
	limits := Limits{Bytes: 1 << 14, Values: 1 << 12}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, problems := ParseYAML("f", data, limits)
		if v == nil && !problems.HasErrors() {
			t.Fatal("nothing was read, and nothing is wrong")
		}
		for _, p := range problems {
			if p.At.Start.Offset > len(data) || p.At.End.Offset > len(data) || p.Message == "" {
				t.Fatalf("%q: a problem outside of the text: %+v", data, p)
			}
		}
		if v == nil || problems.HasErrors() {
			return
		}
		checkPlaces(t, data, v)
		text := v.AppendJSON(nil)
		if !json.Valid(text) {
			t.Fatalf("%q was read to %s", data, text)
		}
		want, jsonProblems := ParseJSON("f", data, limits)
		if jsonProblems != nil {
			return
		}
		if got, want := v.Any(), want.Any(); !reflect.DeepEqual(plainNumbers(got), plainNumbers(want)) {
			t.Fatalf("%q: read as YAML %#v, as JSON %#v", data, got, want)
		}
	})
}

// checkPlaces makes sure that places lie in the text, the right way round.
func checkPlaces(t *testing.T, data []byte, v *Value) {
	t.Helper()
	inside := func(at diag.Range) {
		if at.Start.Offset < 0 || at.End.Offset < at.Start.Offset || at.End.Offset > len(data) || at.Start.Line < 1 || at.Start.Column < 1 {
			t.Fatalf("%q: the place %+v", data, at)
		}
	}
	inside(v.At)
	for _, item := range v.Items {
		checkPlaces(t, data, item)
	}
	for _, m := range v.Members {
		inside(m.KeyAt)
		checkPlaces(t, data, m.Value)
	}
}

// plainNumbers makes literals comparable: YAML reads 1.0 and -0 as they stand.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if r, ok := new(big.Rat).SetString(v.String()); ok && len(v) < 20 {
			return r.String()
		}
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = plainNumbers(v[key])
		}
	}
	return v
}

func BenchmarkParseYAML(b *testing.B) {
	data, err := os.ReadFile(filepath.Join(fixtures.Dir(b, "schemas/aws"), "aws-amazonmq-broker.json"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, problems := ParseYAML("f", data, Limits{}); problems != nil {
			b.Fatal(problems)
		}
	}
}

func TestDialect(t *testing.T) {
	dialect := Dialect{NoAliases: true, NoMerge: true, Booleans: true, Tag: func(tag string, at diag.Range, v *Value) *Value {
		if tag != "!Ref" {
			return nil
		}
		return &Value{Kind: Object, At: at, Members: []Member{{Key: "Ref", KeyAt: at, Value: v}}}
	}}
	for _, tt := range []struct{ text, want, problems string }{
		{"a: !Ref 5", `{"a":{"Ref":"5"}}`, ""},
		{"a: !Ref [yes, Off, 'on', y]", `{"a":{"Ref":[true,false,"on","y"]}}`, "1:10: document/boolean|1:15: document/boolean"},
		{"a: !Other x", "", "1:4: document/tag"},
		{"a: &x b\nc: *x", "", "2:4: document/alias"},
		{"a: {<<: {b: c}}", "", "1:5: document/merge"},
	} {
		v, problems := ParseYAMLDialect("f", []byte(tt.text), Limits{}, dialect)
		var got []string
		for _, p := range problems {
			got = append(got, strings.TrimPrefix(p.At.String(), "f:")+": "+p.ID)
		}
		if joined := strings.Join(got, "|"); joined != tt.problems {
			t.Errorf("%s: got %s, want %s", tt.text, joined, tt.problems)
		}
		if !problems.HasErrors() && string(v.AppendJSON(nil)) != tt.want {
			t.Errorf("%s: got %s, want %s", tt.text, v.AppendJSON(nil), tt.want)
		}
	}
	v, _ := ParseYAMLDialect("f", []byte("a: !Ref 5"), Limits{}, dialect)
	if at := v.Get("a").Members[0].KeyAt; at.Start.Column != 4 || at.End.Column != 8 {
		t.Errorf("the tag is at %v", at)
	}
}
