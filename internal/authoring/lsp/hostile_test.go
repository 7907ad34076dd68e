package lsp

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// hostileTexts are texts of documents that nobody types.
func hostileTexts() map[string]string {
	const open = `{"typeName": "A::B::C", "description": "d", "additionalProperties": false, "primaryIdentifier": ["/properties/P"], `
	properties := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"P%d": `+format+`, `, i, i+1)
		}
		return b.String()
	}
	return map[string]string{
		"deep lists":            open + `"properties": ` + strings.Repeat("[", 100_000),
		"deep properties":       open + strings.Repeat(`"properties": {"P": {`, 20_000),
		"a long line":           open + `"properties": {"P": {"type": "string", "description": "` + strings.Repeat("é😀 ", 300_000) + `"}}}`,
		"many lines":            open + strings.Repeat("\n", 300_000) + `"properties": {"P": {"type": "string"}}}`,
		"lines of old":          strings.Repeat(open+"\r", 3_000),
		"many properties":       open + `"properties": {` + properties(3_000, `{"type": "string", "$comment": "%d"}`) + `"P": {"type": "string"}}}`,
		"many duplicates":       open + `"properties": {` + strings.Repeat(`"P": {"type": "string"}, `, 5_000) + `"P": {}}}`,
		"a chain of references": open + `"properties": {` + properties(2_000, `{"$ref": "#/properties/P%d"}`) + `"P": {"$ref": "#/properties/P0"}}}`,
		"references in circles": open + `"definitions": {"A": {"allOf": [{"$ref": "#/definitions/A"}, {"$ref": "#"}]}}, "properties": {"P": {"$ref": "#/definitions/A"}, "Q": {"items": {"$ref": "#/properties/Q"}}}}`,
		"what combines itself":  open + `"properties": {"P": ` + strings.Repeat(`{"oneOf": [{"type": "string"}, `, 5_000) + `{}` + strings.Repeat(`]}`, 5_000) + `}}`,
		"patterns":              open + `"properties": {"P": {"type": "string", "pattern": "^(a+)+$", "default": "` + strings.Repeat("a", 60) + `!", "enum": ["` + strings.Repeat("a", 60) + `!"]}}}`,
		"numbers":               open + `"properties": {"P": {"type": "integer", "maximum": 1e999999999, "minimum": -` + strings.Repeat("9", 100_000) + `}}}`,
		"names of JavaScript":   open + `"__proto__": {"constructor": {"prototype": 1}}, "properties": {"__proto__": {"type": "toString"}, "P": {"$ref": "#/properties/__proto__"}}}`,
		"no Unicode":            open + `"\ud800": "\udfff\ud800", "properties": {"P\u0000": {"type": "string"}, "\ufffe\u202e": {}}}`,
		"control characters":    open + "\"prop\x00erties\x1b[2J\x07\u2028\u0085\": {\"P\": {}}}",
		"long pointers":         open + `"readOnlyProperties": ["/properties` + strings.Repeat("/*/~1~0", 20_000) + `"], "properties": {"P": {}}}`,
		"a string without end":  open + `"properties": {"P": "` + strings.Repeat(`\"`, 200_000),
	}
}

const hostileSchema = "file:///work/acme-store-bucket.json"

// hostilePlaces are positions that no cursor has.
var hostilePlaces = []string{
	`{"line": 0, "character": 0}`, `{"line": 0, "character": 4294967295}`, `{"line": 2147483647, "character": 2147483647}`, `{"line": 1, "character": 100}`, `{"line": -1, "character": -1}`, `{"line": 0.5, "character": 1e400}`,
	`{}`, `null`, `{"line": "0", "character": []}`,
}

// TestHostileDocuments opens documents that nobody types, in each role, and asks everything about places that no cursor
// has: each request is answered, and the server goes on. What it says stays small.
func TestHostileDocuments(t *testing.T) {
	config := withProject(map[string]string{"acme-store-bucket.json": bucket})
	for name, text := range hostileTexts() {
		t.Run(name, func(t *testing.T) {
			c := connect(t, config, everything)
			for _, uri := range []string{hostileSchema, "file:///work/inputs/inputs_1_create.json", "file:///work/overrides.json"} {
				c.opens(uri, text)
				said := c.published(uri)
				size := 0
				for _, d := range said.Diagnostics {
					size += len(d.Message)
				}
				if len(said.Diagnostics) == 0 && uri == hostileSchema || size > 1<<20 {
					t.Errorf("%s: %d problems of %d bytes", uri, len(said.Diagnostics), size)
				}
				for method, places := range map[string][]string{"hover": hostilePlaces, "completion": hostilePlaces, "definition": hostilePlaces, "codeAction": hostilePlaces, "documentSymbol": hostilePlaces[:1]} {
					for _, place := range places {
						raw, err := c.call("textDocument/"+method, fmt.Sprintf(`{"textDocument": {"uri": %q}, "position": %s, "range": {"start": %s, "end": %s}, "context": {"diagnostics": []}}`, uri, place, place, place))
						var refused *responseError
						if err != nil && (!errors.As(err, &refused) || refused.Code != codeInvalidParams) || len(raw) > 16<<20 {
							t.Errorf("%s at %s: %d bytes, %v", method, place, len(raw), err)
						}
					}
				}
			}
		})
	}
}

// TestHostileEdits changes documents in places that they do not have, and names documents that are none.
func TestHostileEdits(t *testing.T) {
	c := connect(t, withProject(map[string]string{"acme-store-bucket.json": bucket}), everything)
	const uri = hostileSchema
	outline := func() string {
		t.Helper()
		c.opens(uri, bucket)
		raw, err := c.call("textDocument/documentSymbol", `{"textDocument": {"uri": "`+uri+`"}}`)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	before := outline()
	for _, uri := range []string{"", "file:", "file://", "file:///", "file:///work/../../../etc/passwd", "file://evil.example/x.json", "https://evil.example/x.json", "untitled:1", "file:///%00.json", "file:///%zz", "file:///work/" + strings.Repeat("x", 1<<20) + ".json", "\x00", "C:\\x.json"} {
		c.opens(uri, bucket)
		c.notify("textDocument/didClose", `{"textDocument": {"uri": `+quote(uri)+`}}`)
	}
	for i, start := range hostilePlaces {
		for j, end := range hostilePlaces {
			c.opens(uri, bucket)
			c.notify("textDocument/didChange", fmt.Sprintf(`{"textDocument": {"uri": %q, "version": %d}, "contentChanges": [{"range": {"start": %s, "end": %s}, "text": "x"}]}`, uri, i*100+j, start, end))
		}
	}
	for _, params := range []string{`null`, `[]`, `{}`, `{"textDocument": null}`, `{"textDocument": {"uri": 5}}`, `{"textDocument": {"uri": "` + uri + `"}, "contentChanges": [null, 5, {"text": null}]}`} {
		for _, method := range []string{"didOpen", "didChange", "didSave", "didClose", "willSave"} {
			c.notify("textDocument/"+method, params)
		}
		c.notify("workspace/didChangeWatchedFiles", params)
		c.notify("$/cancelRequest", params)
	}
	if after := outline(); after != before || !strings.Contains(after, "Size") {
		t.Errorf("the outline afterwards: %s\nwas %s", after, before)
	}
}

// TestHostileTemplates asks everything about templates that nobody types.
func TestHostileTemplates(t *testing.T) {
	const open = "Resources:\n  A:\n    Type: AWS::SQS::Queue\n    Properties:\n      QueueName: "
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"brackets":            open + strings.Repeat("[", 300_000),
		"braces":              open + strings.Repeat("{a: ", 100_000),
		"dashes":              open + "\n" + strings.Repeat("- ", 400_000),
		"tags":                open + strings.Repeat("!Sub ", 100_000),
		"indentations":        open + "\n" + many(1_000, "%[1]*[1]d:\n"),
		"words":               open + "\n" + strings.Repeat("        word\n", 50_000),
		"quotes":              open + "\n" + strings.Repeat("        \"x\n        'y\n", 20_000),
		"one quote":           open + `"` + strings.Repeat("x\n ", 200_000),
		"a text":              open + "|\n" + strings.Repeat("        ${A} ${!B} ${A.Arn}\n", 20_000),
		"resources":           "Resources:\n" + many(5_000, "  R%d: {Type: AWS::SQS::Queue}\n"),
		"uses":                open + "!Sub '" + strings.Repeat("${A}", 20_000) + "'",
		"unknown uses":        "Transform: AWS::LanguageExtensions\nResources:\n" + many(200, "  Fn::ForEach::L%d: [I, [a], {'X${I}${I}${I}${I}${I}': {Type: AWS::SQS::Queue}}]\n") + "Outputs: {O: {Value: !Sub '" + many(2_000, "${U%d}") + "'}}",
		"aliases":             "Resources: &a\n  A: &b {Type: AWS::SQS::Queue}\n" + many(1_000, "  B%d: *b\n"),
		"conditions":          "Parameters:\n" + many(40, "  P%d: {Type: String, AllowedValues: [a, b]}\n") + "Conditions:\n" + many(40, "  C%[1]d: !Equals [!Ref P%[1]d, a]\n") + open + "x\n      Tags:\n" + many(40, "        - !If [C%d, {Key: a, Value: b}, {Key: 1}]\n"),
		"too large":           open + "x\n" + strings.Repeat("# x\n", 300_000),
		"control characters":  open + "\x00\x1b[2J\u2028\u0085\ufffe \xff",
		"lines of old":        strings.ReplaceAll(open, "\n", "\r") + "x",
		"the mark":            open + cursorMark + "\n      " + cursorMark + ": " + cursorMark,
		"a loop in a loop":    "Resources:\n  " + strings.Repeat("Fn::ForEach::A: [B, [c], {", 2_000),
		"names of JavaScript": "Resources:\n  __proto__: {Type: constructor}\n  constructor: {Type: __proto__, DependsOn: __proto__}",
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t, Config{Templates: testTemplates(t)})
			for _, offset := range []int{0, len(open), len(text) / 2, len(text)} {
				s.answerAll(t, "file:///work/x.template.yaml", text, min(offset, len(text)))
			}
			found, _ := s.judge(s.newSnapshot("file:///work/x.template.yaml", nil, text))
			if name == "too large" && ids(found) != "1:template/too-large" {
				t.Errorf("the problems are %s", ids(found))
			}
		})
	}
}
