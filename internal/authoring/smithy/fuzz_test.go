package smithy

import (
	"strings"
	"testing"
)

// seeds are models with a bit of everything, whole and broken.
var seeds = []string{
	"$version: \"2\"\nnamespace a.b\n\n/// docs\n@tags([\"x\"])\nstructure S with [M] {\n    @required\n    a: String = \"x\"\n    b: L\n}\n@mixin\nstructure M {\n    c: Integer = 1\n}\nlist L {\n    member: S\n}\n",
	"$version: \"2.0\"\nmetadata k = [1, 2.5e3, {a: null, \"b\": true}, foo#Bar]\nnamespace a\nuse b#C\nresource R {\n    identifiers: {id: String}\n    properties: {p: Integer}\n    read: Get\n    operations: [Op]\n}\noperation Get {\n    input := for R {\n        @required\n        $id\n    }\n    output := {\n        $p\n    }\n}\n@readonly operation Op {}\napply Get @readonly\n",
	"namespace v1\nset S { member: String }\n@box integer I\nstructure T { i: I, j: PrimitiveInteger }\nservice V { version: \"1\", rename: {\"a#B\": \"C\"} }\n",
	"$version: \"2\"\nnamespace e\nenum E {\n    A = \"a\"\n    B\n}\nintEnum I {\n    ONE = 1\n}\nunion U {\n    x: Unit\n    y: E\n}\n@trait(selector: \"structure > member\", conflicts: [t])\nstructure t {}\nstring D = \"\"\"\n    text \\\n    block \\u00e9\"\"\"\n",
	"@foo(\"", "$version: \"9\"", "namespace a\nstructure A with [B] {}\n@mixin structure B with [A] {}", strings.Repeat("[", 100),
	"$version: \"2\"\nnamespace c\nuse aws.cloudformation#cfnResource\nservice S { version: \"1\", resources: [R] }\n@cfnResource\nresource R { identifiers: {id: String}, read: G }\n@readonly\noperation G {\n input := { @required\n id: String }\n output := { @required\n id: String\n n: N }\n}\nstructure N { n: N }\n",
}

func FuzzLexer(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		l := newLexer("f.smithy", src)
		for l.kind != tokEOF {
			start, end, line := l.start, l.end, l.line
			if end <= start {
				t.Fatalf("token %s at %d takes no text", tokens[l.kind].name, start)
			}
			l.next()
			if l.start != end || l.line < line {
				t.Fatalf("the token after offset %d begins at %d, line %d after %d", end, l.start, l.line, line)
			}
			if at := l.at(); at.Start.Column < 1 || at.End.Offset < at.Start.Offset {
				t.Fatalf("impossible place %+v", at)
			}
		}
		if l.end != len(src) {
			t.Fatalf("stopped at %d of %d bytes", l.end, len(src))
		}
	})
}

// FuzzParser takes whatever a file of the IDL may hold through loading, validation and
// conversion. A sound model must load from its own AST to the same AST.
func FuzzParser(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) { wholeWay(t, Source{File: "f.smithy", Data: []byte(src)}) })
}

func FuzzAST(f *testing.F) {
	for _, seed := range seeds {
		m, _ := Load([]Source{{File: "f.smithy", Data: []byte(seed)}}, Config{})
		f.Add(string(WriteAST(m)))
	}
	f.Add(`{"smithy": "1.0", "shapes": {"a#B": {"type": "list", "member": {"target": "a#B$member"}}, "a#C$d": {"type": "apply", "traits": {}}}}`)
	f.Fuzz(func(t *testing.T, src string) { wholeWay(t, Source{File: "f.json", Data: []byte(src)}) })
}

func wholeWay(t *testing.T, source Source) {
	m, events := Load([]Source{source}, Config{})
	sound := !events.hasErrors()
	events = Validate(m, events)
	for _, e := range events {
		if e.Message == "" || e.ID == "" {
			t.Fatalf("empty event %+v", e)
		}
	}
	if !sound {
		return
	}
	for _, s := range m.OfType(Service) {
		if !events.Fatal() {
			converted, _ := Convert(m, Settings{Service: s.ID, OrganizationName: "Acme"})
			for _, c := range converted {
				c.Check()
			}
		}
	}
	ast := WriteAST(m)
	again, events := Load([]Source{{File: "again.json", Data: ast}}, Config{})
	if events.hasErrors() {
		t.Fatalf("its own AST does not load: %v\n%s", events, ast)
	}
	if second := WriteAST(again); string(second) != string(ast) {
		t.Fatalf("its own AST loads to another: %s", firstLine(second, ast))
	}
}
