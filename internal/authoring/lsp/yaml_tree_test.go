package lsp

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// TestBrokenYAML reads texts as they are while somebody types.
func TestBrokenYAML(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "null"}, {"# note", "null"}, {"a", `"a"`}, {"a:", `{"a":null}`}, {"a: 1\nb", `{"a":1,"b":null}`}, {"a\nb: 1", `{"a":null,"b":1}`},
		{"a:\n  b\n  c: 1", `{"a":{"b":null,"c":1}}`}, {"a: x\n  b: 1\nc: 2", `{"a":"x","b":1,"c":2}`}, {"a: [1, 2\nb: 3", `{"a":[1,2],"b":3}`},
		{"a: {b: [1, {c\nd: 3", `{"a":{"b":[1,{"c":null}]},"d":3}`}, {"a: \"x\nb: 1", `{"a":"x","b":1}`}, {"a: 'x y\n  z: 1\nb: 1", `{"a":"x y","z":1,"b":1}`},
		{"a: !Ref\nb: !Sub x", `{"a":{"Ref":null},"b":{"Fn::Sub":"x"}}`}, {"a: !Nope [1", `{"a":[1]}`}, {"a:\n- b\n- c:\n    d\n-", `{"a":["b",{"c":"d"},null]}`},
		{"a: |\n  x: 1\n\n  y\nb: 1", `{"a":"  x: 1\n\n  y","b":1}`}, {"a: b # c\n  d", `{"a":"b","d":null}`}, {"  a: 1\nb: 2", `{"a":1,"b":2}`},
		{"a:\n    b: 1\n  c: 2", `{"a":{"b":1},"c":2}`}, {"'a b': 1\n\"c\": 2", `{"a b":1,"c":2}`}, {"a: &x 1\nb: *x", `{"a":1,"b":"*x"}`}, {"- - a\n  - b: 1\n    c", `[["a",{"b":1,"c":null}]]`},
		{"a: !If [P, {b: 1}, !Ref c]", `{"a":{"Fn::If":["P",{"b":1},{"Ref":"c"}]}}`}, {"a: x\n  y", `{"a":"x y"}`}, {"--- \na: 1\n...", `{"a":1}`}, {"\ufeffa: 1\r\nb: 2", `{"a":1,"b":2}`},
	} {
		if got := string(parseYAML(test.text).AppendJSON(nil)); got != test.want {
			t.Errorf("%q is read as %s, want %s", test.text, got, test.want)
		}
	}
	for _, deep := range []string{strings.Repeat("[", 100_000), strings.Repeat("- ", 100_000), strings.Repeat("{a: ", 100_000), strings.Repeat("!Sub ", 100_000)} {
		if got := parseYAML("a: " + deep); got == nil {
			t.Error("a deep document is not read")
		}
	}
}

// TestTolerantReaderAgrees: of templates without errors, the tolerant reader gives the tree of the strict one, but for
// the line breaks in texts.
func TestTolerantReaderAgrees(t *testing.T) {
	scripts, err := filepath.Glob("../../cli/testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, script := range scripts {
		archive, err := txtar.ParseFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.Files {
			strict, problems := document.ParseYAMLDialect("", file.Data, document.Limits{}, yamlDialect)
			if !strings.HasSuffix(file.Name, ".yaml") || problems.HasErrors() || strings.ContainsAny(string(file.Data), "&*") {
				continue
			}
			read++
			if at := firstDifference(parseYAML(string(file.Data)), strict, nil); at != nil {
				t.Errorf("%s of %s: %s differs", file.Name, script, at)
			}
		}
	}
	if read < 50 {
		t.Errorf("there are only %d templates", read)
	}
}

// firstDifference is where two trees differ: in kinds, keys, numbers of items and starts.
func firstDifference(got, want *document.Value, at document.Pointer) document.Pointer {
	here := at.Append()
	if got == nil || got.Kind != want.Kind && (want.Kind == document.Array || want.Kind == document.Object) || len(got.Members) != len(want.Members) || len(got.Items) != len(want.Items) {
		return append(here, "(value)")
	}
	if want.Kind != document.Null && got.At.Start.Offset != want.At.Start.Offset {
		return append(here, "(start)")
	}
	for i, m := range want.Members {
		if got.Members[i].Key != m.Key || got.Members[i].KeyAt.Start.Offset != m.KeyAt.Start.Offset {
			return append(here, m.Key, "(key)")
		}
		if below := firstDifference(got.Members[i].Value, m.Value, at.Append(m.Key)); below != nil {
			return below
		}
	}
	for i, item := range want.Items {
		if below := firstDifference(got.Items[i], item, at.Append("-")); below != nil {
			return below
		}
	}
	return nil
}
