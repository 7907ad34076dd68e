package smithy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// wantEvents loads files and checks that each text is part of an event with a place.
func wantEvents(t *testing.T, sources []Source, cfg Config, texts ...string) {
	t.Helper()
	m, events := Load(sources, cfg)
	events = Validate(m, events)
	for _, text := range texts {
		if !slices.ContainsFunc(events, func(e Event) bool { return strings.Contains(e.String(), text) && e.At.Start.Line > 0 }) {
			t.Errorf("no event has %q: %v", text, events)
		}
	}
}

func idl(src string) []Source { return []Source{{File: "m.smithy", Data: []byte(src)}} }

// TestFaults shows faults of the IDL with their places. What the fixtures show is not
// repeated here.
func TestFaults(t *testing.T) {
	const v2 = "$version: \"2\"\nnamespace a\n"
	tests := []struct{ name, src, event string }{
		{"nothing but a byte", "\xff", "m.smithy:1:1"},
		{"control character", v2 + "string \x00", "m.smithy:3:8"},
		{"slash", v2 + "/ x", "[ERROR] -: Syntax error at line 3, column 1: Expected a '/' to follow '/' to form a comment."},
		{"unknown control", "$foo: 1\n$version: \"2\"\n", "[WARNING] -: Unknown control statement `foo` with value `1"},
		{"version that is not a string", "$version: 2\n", "The $version control statement must have a string value, but found 2"},
		{"duplicate member", v2 + "structure A {\n a: String\n a: String\n}", "Duplicate member of `a#A`: 'a'"},
		{"name that is used", v2 + "use b#C\nstring C\n", "Shape name `C` conflicts with imported shape `b#C`"},
		{"use twice", v2 + "use b#C\nuse c#C\n", "Cannot use name `c#C` because it conflicts with `b#C`"},
		{"unknown use", v2 + "use b#C\nstring D\n", "[WARNING] -: Use statement refers to undefined shape: b#C"},
		{"dots without a pound sign", v2 + "@b.C\nstring D\n", "Invalid shape ID: a#b.C"},
		{"two defaults on a line", v2 + "structure A {\n a: Byte = 0, b: Byte\n}", "Expected a line break, but found IDENTIFIER('b')"},
		{"leading zero", v2 + "@length(min: 01)\nstring A\n", "Invalid number '01': leading zeros are not allowed"},
		{"text block on one line", v2 + "@documentation(\"\"\"x\"\"\")\nstring A\n", "Text block must start with a new line"},
		{"unknown service property", v2 + "service S {\n foo: 1\n}", "[WARNING] a#S: Expected an object with possible properties of `errors`, `operations`, `rename`, `resources`, `type`, `version`, but found additional properties: `foo`"},
		{"wrong kind of list", v2 + "resource R {\n operations: {}\n}", "Expected `operations` to be an array; found object"},
		{"documentation of nothing", v2 + "string A /// x\n", "[WARNING] -: Found documentation comments"},
		{"trait twice, of two minds", v2 + "@title(\"a\") string A\napply A @title(\"b\")\n", "Conflicting `smithy.api#title` trait found on shape `a#A`"},
		{"shape twice, of two minds", v2 + "string A\ninteger A\n", "Conflicting shape definition for `a#A` found at"},
		{"shape twice", v2 + "string A\nstring A\n", "[NOTE] a#A: Ignoring duplicate but equivalent shape definition"},
		{"metadata of two minds", "metadata a = 1\nmetadata a = 2\n", "Metadata conflict for key `a`. Defined in both `m.smithy:2:14` and `m.smithy:1:14`"},
		{"mixin that is not there", v2 + "structure A with [B] {}\n", "Cannot apply mixin to a#A: a#B not found"},
		{"mixin of itself", v2 + "@mixin structure A with [A] {}\n", "Unable to resolve mixins; cycles detected between this shape and []"},
		{"elided without source", v2 + "structure A {\n $b\n}\n", "Member target was elided"},
		{"resource that is not there", v2 + "structure A for R {\n $b\n}\n", "Cannot apply resource to elided member a#A$b: a#R not found"},
		{"bad selector", v2 + "@trait(selector: \"foo\")\nstructure t {}\n", "Error creating trait `trait`: Syntax error at line 1 column 4, near ``: Unknown shape type: foo"},
		{"box in 2.0", v2 + "@box integer A\n", "@box is not supported in Smithy IDL 2.0"},
		{"set in 2.0", v2 + "set A { member: String }\n", "set shapes cannot be used in Smithy version 2.0"},
		{"properties in 1.0", "namespace a\nresource R {\n properties: {a: String}\n}", "Resource properties can only be used with Smithy version 2 or later"},
		{"half a range", v2 + "@range\ninteger A\n", "Error creating trait `range`: One of 'min' or 'max' must be provided."},
		{"link that is none", v2 + "@externalDocumentation(a: \"b\")\nstring A\n", "Each externalDocumentation value must be a valid URL. Found \"b\" for name \"a\""},
		{"uri without slash", v2 + "@http(method: \"GET\", uri: \"x\")\noperation O {}\n", "URI pattern must start with '/'. Found x"},
		{"label twice", v2 + "@http(method: \"GET\", uri: \"/{a}/{a}\")\noperation O {}\n", "Label `a` is defined more than once in pattern: /{a}/{a}"},
		{"labels side by side", v2 + "@endpoint(hostPrefix: \"{a}{b}\")\noperation O {}\n", "Host labels must not be adjacent in a pattern. Found {a}{b}"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { wantEvents(t, idl(test.src), Config{}, test.event) })
	}
}

// TestRecovery checks that one fault does not hide the next.
func TestRecovery(t *testing.T) {
	wantEvents(t, idl("$version: \"2\"\nnamespace a\nstring !\nstructure A {\n  b\n}\nstring B\nlist C { member }\n"), Config{},
		"Syntax error at line 3, column 8", "Syntax error at line 5, column 4", "Syntax error at line 8, column 17")
}

func TestASTFaults(t *testing.T) {
	tests := []struct{ name, src, event string }{
		{"no JSON", `{"smithy": `, "Error parsing JSON"},
		{"no model", `{"foo": 1}`, "not a Smithy JSON AST"},
		{"version", `{"smithy": "3"}`, "Unsupported Smithy version number: 3"},
		{"version of another kind", `{"smithy": 2}`, "Expected `smithy` member to be a string, but found number"},
		{"shapes", `{"smithy": "2", "shapes": []}`, "Expected `shapes` to be an object; found array"},
		{"metadata", `{"smithy": "2", "metadata": []}`, "Expected `metadata` to be an object; found array"},
		{"extra", `{"smithy": "2", "foo": 1}`, "[WARNING] -: Expected an object with possible properties of `metadata`, `shapes`, `smithy`, but found additional properties: `foo`"},
		{"shape", `{"smithy": "2", "shapes": {"a#B": 1}}`, "Expected object, but found number."},
		{"no type", `{"smithy": "2", "shapes": {"a#B": {}}}`, "[ERROR] a#B: Missing expected member `type`."},
		{"type", `{"smithy": "2", "shapes": {"a#B": {"type": "foo"}}}`, "Invalid shape `type`: foo"},
		{"member", `{"smithy": "2", "shapes": {"a#B": {"type": "list", "member": 1}}}`, "Expected object, but found number."},
		{"no target", `{"smithy": "2", "shapes": {"a#B": {"type": "list", "member": {}}}}`, "Missing expected member `target`."},
		{"target", `{"smithy": "2", "shapes": {"a#B": {"type": "list", "member": {"target": "x"}}}}`, "Invalid shape ID: x"},
		{"member name", `{"smithy": "2", "shapes": {"a#B": {"type": "structure", "members": {"a-b": {"target": "a#B"}}}}}`, "Invalid shape ID member: a-b"},
		{"shape with a member", `{"smithy": "2", "shapes": {"a#B$c": {"type": "string"}}}`, "Shapes of type `string` cannot contain a member in their shape ID. Found `a#B$c`"},
		{"traits", `{"smithy": "2", "shapes": {"a#B": {"type": "string", "traits": []}}}`, "Expected `traits` to be an object, but found array"},
		{"mixins", `{"smithy": "2", "shapes": {"a#B": {"type": "string", "mixins": {}}}}`, "Expected an array, but found object."},
		{"input", `{"smithy": "2", "shapes": {"a#B": {"type": "operation", "input": "a#C"}}}`, "Expected `input` to be an object; found string"},
		{"identifiers", `{"smithy": "2", "shapes": {"a#B": {"type": "resource", "identifiers": []}}}`, "Expected an object, but found array."},
		{"rename", `{"smithy": "2", "shapes": {"a#B": {"type": "service", "rename": {"a#C": 1}}}}`, "Expected rename value to be a string, but found number"},
		{"service version", `{"smithy": "2", "shapes": {"a#B": {"type": "service", "version": 1}}}`, "Expected `version` to be a string, but found number"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantEvents(t, []Source{{File: "m.json", Data: []byte(test.src)}}, Config{}, test.event)
		})
	}
}

// TestBounds checks what hostile models meet: an event, and soon.
func TestBounds(t *testing.T) {
	nested := func(n int) string {
		return "$version: \"2\"\nmetadata a = " + strings.Repeat("[", n) + strings.Repeat("]", n) + "\n"
	}
	if _, events := Load(idl(nested(64)), Config{}); len(events) > 0 {
		t.Errorf("64 levels: %v", events)
	}
	wantEvents(t, idl(nested(65)), Config{}, "m.smithy:2:78", "Parser exceeded maximum allowed depth of 64")
	deep := `{"smithy": "2", "metadata": {"a": ` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}}"
	wantEvents(t, []Source{{File: "m.json", Data: []byte(deep)}}, Config{}, "arrays and objects are nested deeper than 256 levels")

	big := Source{File: "big.smithy", Data: make([]byte, 64<<20+1)}
	_, events := Load([]Source{big}, Config{})
	if len(events) != 1 || events[0].At.File != "big.smithy" || !strings.Contains(events[0].Message, "more than the 67108864 that are read") {
		t.Errorf("a file too large: %v", events)
	}

	// A chain of mixins as long as a file, and one ring of them.
	var chain, ring strings.Builder
	const links = 5000
	for i := range links {
		fmt.Fprintf(&chain, "@mixin\nstructure S%d with [S%d] {}\n", i, i+1)
		fmt.Fprintf(&ring, "@mixin\nstructure S%d with [S%d] {}\n", i, (i+1)%links)
	}
	const head = "$version: \"2\"\nnamespace a\n"
	m, events := Load(idl(head+chain.String()+fmt.Sprintf("@mixin\nstructure S%d { a: String }\n", links)), Config{})
	if s := m.Shape("a#S0"); events.hasErrors() || s == nil || s.Member("a") == nil {
		t.Errorf("the chain of mixins: %v, %v", s, events)
	}
	if _, events := Load(idl(head+ring.String()), Config{}); len(events) != links {
		t.Errorf("the ring of mixins has %d events", len(events))
	}
}

// TestTangled checks models that are made to keep the rules busy.
func TestTangled(t *testing.T) {
	const head = "namespace a\n"
	var ring, rings, tree, texts strings.Builder
	for i := range 400 {
		fmt.Fprintf(&ring, "structure S%d { a: S%d }\n", i, (i+1)%400)
	}
	for i := range 3000 {
		fmt.Fprintf(&rings, "union U%d { a: U%d, b: U%d }\nlist L%d { member: L%d }\nstructure Q%d { @required a: Q%d }\n",
			i, (i+1)%3000, (i*7+3)%3000, i, (i+1)%3000, i, (i+1)%3000)
		fmt.Fprintf(&tree, "resource R%d { identifiers: {id: String}, resources: [R%d, R%d] }\n", i, i+1, min(i+2, 3000))
		fmt.Fprintf(&texts, "%q\n", strings.Repeat("a", 30)+"b")
	}
	tests := []struct{ name, src, want string }{
		{"selector", "$version: \"2\"\nmetadata validators = [{name: \"EmitEachSelector\", id: \"X\", configuration: {selector: \"* ~> * ~> * ~> * ~> * [id=x]\"}}]\n" +
			head + ring.String(), "[ERROR] -: Checking the model takes more than 2"},
		{"rings", "$version: \"2\"\n" + head + rings.String(), "[ERROR] a#L0: Found invalid shape recursion: "},
		{"tree", "$version: \"2\"\n" + head + tree.String() + "resource R3000 { identifiers: {id: String} }\n", "Circular resource hierarchy found: "},
		{"pattern", "$version: \"2\"\n" + head + "@pattern(\"^(?!x)(a+)+$\")\nstring P\n@trait\nlist t { member: P }\n@t([" + texts.String() + "\"b\"])\n@length(min: 2, max: 1)\nstring Z\n",
			"[ERROR] a#Z: A length trait is applied with a `min` value greater"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantEvents(t, idl(test.src), Config{}, test.want)
		})
	}
}

// TestLargeModel loads and validates a model of 20 MB.
func TestLargeModel(t *testing.T) {
	if testing.Short() {
		t.Skip("20 MB take a while")
	}
	var b strings.Builder
	b.WriteString("$version: \"2\"\nnamespace a\n")
	for i := 0; b.Len() < 20<<20; i++ {
		fmt.Fprintf(&b, "/// %s\nstructure S%d {\n    a: String\n    b: Missing%d\n}\n", strings.Repeat("words ", 40), i, i%2)
	}
	b.WriteString("string Missing0\n")
	m, events := Load(idl(b.String()), Config{})
	if events.hasErrors() {
		t.Fatal(events[0])
	}
	events = Validate(m, events)
	if len(events) == 0 || events[0].ID != "Target.UnresolvedShape" || events[0].At.Start.Line == 0 {
		t.Errorf("%d events", len(events))
	}
}

func TestInterop(t *testing.T) {
	m := mustLoad(t, "namespace a\ninteger Plain\n@box integer Boxed\nblob B\n@streaming blob Stream\nstructure S {\n a: Plain,\n b: Boxed,\n c: Integer,\n"+
		" d: PrimitiveBoolean,\n @box e: Plain,\n f: B,\n g: Stream,\n @required h: Plain\n}\n")
	want := map[string]string{"a": "0", "b": "", "c": "", "d": "false", "e": "null", "f": "", "g": `""`, "h": "0"}
	for name, value := range want {
		got := ""
		if d := m.Shape("a#S").Member(name).Trait(traitDefault); d != nil {
			got = printJSON(d.Value)
		}
		if got != value {
			t.Errorf("the default of %s is %q, want %q", name, got, value)
		}
	}
	if d := m.Shape("a#Plain").Trait(traitDefault); d == nil || printJSON(d.Value) != "0" {
		t.Error("an integer of version 1.0 has no default of zero")
	}
}

// TestMixins checks order, inheritance of traits and what stays local.
func TestMixins(t *testing.T) {
	m := mustLoad(t, `$version: "2"
namespace a
@mixin(localTraits: [tags, private])
@tags(["m"]) @private @sensitive
structure M {
    x: String
    /// from M
    y: String
}
@mixin
structure N {
    z: Integer = 1
}
structure S with [M, N] {
    own: String
    /// from S
    $y
}
apply S$x @required
apply S$z @documentation("applied")
`)
	s := m.Shape("a#S")
	if got := memberNames(s); got != "[x, y, z, own]" {
		t.Errorf("members %s", got)
	}
	if s.Has("smithy.api#tags") || s.Has(traitPrivate) || s.Has(traitMixin) || !s.Has("smithy.api#sensitive") {
		t.Errorf("traits %v", s.Traits)
	}
	for member, want := range map[string]string{"y": `"from S"`, "z": `"applied"`} {
		if got := printJSON(s.Member(member).Trait(traitDocumentation).Value); got != want {
			t.Errorf("the documentation of %s is %s, want %s", member, got, want)
		}
	}
	if !s.Member("x").Has(traitRequired) || m.Shape("a#M$x").Has(traitRequired) {
		t.Error("a trait applied to an inherited member belongs to that member alone")
	}
	if d := s.Member("z").Trait(traitDefault); d == nil || d.Value.Text != "1" {
		t.Error("the default of the mixin member is not inherited")
	}
}

// TestFilesTogether checks what several files make of each other.
func TestFilesTogether(t *testing.T) {
	m, events := Load([]Source{
		{File: "a.smithy", Data: []byte("$version: \"2\"\nmetadata list = [1]\nnamespace a\nuse b#T\nstructure S {\n t: T\n u: b#U\n}\napply b#U @tags([\"x\"])\n")},
		{File: "b.json", Data: []byte(`{"smithy": "2.0", "metadata": {"list": [2]}, "shapes": {"b#T": {"type": "string"}, "b#U": {"type": "string", "traits": {"smithy.api#tags": ["y"]}}}}`)},
	}, Config{})
	if len(events) > 0 {
		t.Fatal(events)
	}
	if got := printJSON(m.metadata("list")); got != "[1,2]" {
		t.Errorf("metadata %s", got)
	}
	if got := printJSON(m.Shape("b#U").Trait("smithy.api#tags").Value); got != `["y","x"]` && got != `["x","y"]` {
		t.Errorf("tags %s", got)
	}
}

func TestStrict(t *testing.T) {
	const src = "$version: \"2\"\nnamespace a\n@b#c\nstring S\n"
	wantEvents(t, idl(src), Config{}, "[WARNING] a#S: Unable to resolve trait `b#c`")
	wantEvents(t, idl(src), Config{Strict: true}, "[ERROR] a#S: Unable to resolve trait `b#c`")
}

// TestOwnDefinitions checks that definitions that come with the model win over ours.
func TestOwnDefinitions(t *testing.T) {
	m := mustLoad(t, "$version: \"2\"\nnamespace aws.api\n@trait(selector: \"string\")\nstring data\n@data(\"anything\")\nstring S\n")
	if s := m.Shape("aws.api#data"); s.Type != String || s.builtin {
		t.Errorf("aws.api#data is %v", s)
	}
}
