package lsp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A sound document gives the same tree as the strict parser, with the same places.
func sameTree(t *testing.T, got, want *document.Value) {
	t.Helper()
	if !bytes.Equal(got.AppendJSON(nil), want.AppendJSON(nil)) {
		t.Fatalf("the tree is %s, want %s", got.AppendJSON(nil), want.AppendJSON(nil))
	}
	var check func(got, want *document.Value)
	check = func(got, want *document.Value) {
		if got.At.Start.Offset != want.At.Start.Offset || got.At.End.Offset != want.At.End.Offset {
			t.Fatalf("a %s is at %v, want %v", want.Kind, got.At, want.At)
		}
		for i := range want.Members {
			if got.Members[i].KeyAt.Start.Offset != want.Members[i].KeyAt.Start.Offset {
				t.Fatalf("the key %s is at %v", want.Members[i].Key, got.Members[i].KeyAt)
			}
			check(got.Members[i].Value, want.Members[i].Value)
		}
		for i := range want.Items {
			check(got.Items[i], want.Items[i])
		}
	}
	check(got, want)
}

func TestTreeOfBrokenText(t *testing.T) {
	tests := []struct{ text, want string }{
		{``, `null`}, {`}`, `null`}, {`"a"`, `"a"`}, {`{`, `{}`}, {`{"a"`, `{"a":null}`}, {`{"a":`, `{"a":null}`}, {`{"a": }`, `{"a":null}`},
		{`{"a": , "b": 1}`, `{"a":null,"b":1}`}, {`{"a": "b": 1}`, `{"a":null,"b":1}`}, {`{"a" "b": 1}`, `{"a":null,"b":1}`},
		{`{"a": 1 "b": 2,,}`, `{"a":1,"b":2}`}, {`{a: 1}`, `{"a":1}`}, {`{"a": tru}`, `{"a":null}`}, {`[1,,2,]`, `[1,2]`}, {`[1}`, `[1]`},
		{`{"a": [1, 2, "b": 3}`, `{"a":[1,2],"b":3}`}, {`{"a": [{"x": 1, "b": 2]}`, `{"a":[{"x":1,"b":2}]}`}, {`{"a": {"b": [1}, "c": 2}`, `{"a":{"b":[1]},"c":2}`},
		{"{\"a\": \"b,\n\"c\": 1}", `{"a":"b","c":1}`}, {"{\"a\n\"c\": 1}", `{"a":null,"c":1}`}, {`{"a": ["b]}`, `{"a":["b"]}`},
		{"// note\n{/* x */\"a\": 1 // y\n}", `{"a":1}`}, {`{{"x": 1}, "a": 1}`, `{"a":1}`}, {`{"a": "\u00e9\n\x"}`, `{"a":"\\u00e9\\n\\x"}`}, {"\ufeff{}", `{}`},
	}
	for _, test := range tests {
		if got := string(parseTree(test.text).AppendJSON(nil)); got != test.want {
			t.Errorf("%s is read as %s, want %s", test.text, got, test.want)
		}
	}
	deep := strings.Repeat(`{"a":[`, 100000)
	if got := parseTree(deep); got == nil {
		t.Error("a deep document is not read")
	}
}

var brokenSeeds = []string{
	bucket, bucket[:len(bucket)/2], strings.ReplaceAll(bucket, ",", ""), strings.ReplaceAll(bucket, `"`, ""), strings.ReplaceAll(bucket, "}", ""),
	`{"Tags": [{"Key": "{{A}}"}, {`, `{"CREATE": {"/Tags/0/Key": `, `{"typeName": "A::B::C", "required": ["x`, "{\"a\": \"\\", `{"typeName": "A::B::C", "$ref": "#/$ref"}`,
	`{"typeName": "A::B::C", "allOf": [{"$ref": "#"}], "properties": {"A": {"$ref": "#/properties/A"}, "B": {"items": {"$ref": "#/properties/B"}}}, "readOnlyProperties": ["/properties/B/*/*/`,
}

// FuzzTree: the tolerant parser reads every text, agrees with the strict one on sound
// documents, and never gives a place outside of the text.
func FuzzTree(f *testing.F) {
	for _, seed := range brokenSeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tree := parseTree(text)
		each(tree, func(v *document.Value) {
			if v.At.Start.Offset < 0 || v.At.End.Offset < v.At.Start.Offset || v.At.End.Offset > len(text) {
				t.Fatalf("a %s is at %v of %d bytes", v.Kind, v.At, len(text))
			}
		})
		if strict, problems := document.ParseJSON("", []byte(text), document.Limits{Depth: maxDepth - 1}); strict != nil && problems.Count(0) == 0 && json.Valid([]byte(strings.TrimPrefix(text, "\ufeff"))) {
			sameTree(t, tree, strict)
		}
	})
}

// templateSeeds are YAML templates as they are while somebody types.
var templateSeeds = []string{
	thousandLines()[:900], "Resources:\n  A:\n    Type: AWS::SQS::Queue\n    Properties:\n      Tags: [{Key: a, Value: !Sub \"${B", "Resources:\n- - - a: b\n   c\n  d: |\n   x\n e: >-\n",
	"Resources: {A: {Type: Acme::Net::Host, Properties: {Ports: [", "Resources:\n  A: !If [P, !GetAtt 'x', \"y\n  B:\n\tC: !Sub\n    - ${A}\n    - {A: 1}", "? a\n: b\nResources: &x\n  A: *x\n  <<: *x\n",
	"Resources:\n  Fn::ForEach::A:\n    - B\n    - [a]\n    - C${B}:\n        Type: Acme::Net::Host\n        Properties:\n          N", "\ufeffResources:\r\n  A:\r    Type: X::Y::Z # c\r\n    DependsOn: [B, ]\u2028", "{\"Resources\": {\"A\": {\"Type\": \"Acme::Net::Host\", \"Properties\": {\"N",
}

// FuzzYAML: the tolerant reader of YAML reads every text, and never gives a place outside of the text; at every place
// of it, all requests are answered.
func FuzzYAML(f *testing.F) {
	for i, seed := range templateSeeds {
		f.Add(seed, uint(i*41))
	}
	config := Config{Templates: testTemplates(f)}
	f.Fuzz(func(t *testing.T, text string, offset uint) {
		if len(text) > 1<<12 {
			return
		}
		tree := parseYAML(text)
		each(tree, func(v *document.Value) {
			if v.At.Start.Offset < 0 || v.At.End.Offset < v.At.Start.Offset || v.At.End.Offset > len(text) {
				t.Fatalf("a %s is at %v of %d bytes", v.Kind, v.At, len(text))
			}
			for _, m := range v.Members {
				if m.KeyAt.Start.Offset < 0 || m.KeyAt.End.Offset < m.KeyAt.Start.Offset || m.KeyAt.End.Offset > len(text) {
					t.Fatalf("the key %q is at %v of %d bytes", m.Key, m.KeyAt, len(text))
				}
			}
		})
		at := int(offset % uint(len(text)+1))
		c := yamlCursor(text, at)
		if c.start > at || c.end < at || c.start < 0 || c.end > len(text) || strings.ContainsAny(text[c.start:c.end], "\r\n") {
			t.Fatalf("at %d of %q the proposals replace %d to %d", at, text, c.start, c.end)
		}
		s := newTestServer(t, config)
		s.answerAll(t, "file:///work/x.template.yaml", text, at)
		s.answerAll(t, "file:///work/x.template.json", text, at)
	})
}

// FuzzCursor: at every place of every text the cursor is described, what it proposes to
// replace is around it, and all requests are answered.
func FuzzCursor(f *testing.F) {
	for i, seed := range brokenSeeds {
		f.Add(seed, uint(i*37))
	}
	config := withProject(map[string]string{"acme-store-bucket.json": bucket}).withDefaults()
	f.Fuzz(func(t *testing.T, text string, offset uint) {
		if len(text) > 1<<13 {
			return
		}
		text = strings.ToValidUTF8(text, "?")
		at := int(offset % uint(len(text)+1))
		c := cursorAt(text, at)
		if c.start > at || c.end < at || c.start < 0 || c.end > len(text) || strings.ContainsAny(text[c.start:c.end], "\r\n") {
			t.Fatalf("at %d of %q the proposals replace %d to %d", at, text, c.start, c.end)
		}
		s := newTestServer(t, config)
		for _, name := range []string{"acme-store-bucket.json", "inputs/inputs_1_create.json", "overrides.json"} {
			s.answerAll(t, "file:///work/"+name, text, at)
		}
	})
}

// The pointer of a cursor leads to the value that is typed, wherever one stands.
func TestCursorAgreesWithTree(t *testing.T) {
	tree := parseTree(bucket)
	for offset := range bucket {
		at := spotAt(tree, offset)
		if at == nil || at.isKey || at.start == offset {
			continue
		}
		if c := cursorAt(bucket, offset); !c.ok || c.pointer().String() != at.pointer.String() || c.start != at.start || c.end != at.end {
			t.Fatalf("at %d: the cursor is %+v, the tree has %s", offset, c, at.pointer)
		}
	}
}

// FuzzFrames: the reader of messages takes every stream, and ends.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		"", "\r\n\r\n", "Content-Length: 2\r\n\r\n{}", "Content-Length: 99999999999999999999\r\n\r\n", "Content-Length: 4611686018427387903\r\n\r\nx",
		string(appendFrame(appendFrame(nil, []byte(`{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}`)), []byte(`{"jsonrpc": "2.0", "method": "exit"}`))),
		"Content-Type: a/b; charset=x\r\nContent-Length: 1\r\n\r\n{Content-Length: 0\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		_ = Serve(t.Context(), bytes.NewReader(data), &out, Config{})
		r := newFrameReader(&out)
		for {
			body, err := r.read()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil || !json.Valid(body) {
				t.Fatalf("the server said %q, %v", body, err)
			}
		}
	})
}
