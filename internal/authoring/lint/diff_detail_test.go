package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// lines is a comparison in short: severity, id without its namespace, pointer, and "+n"
// for n other places.
func lines(changes []Change) string {
	var out []string
	for _, c := range changes {
		_, name, _ := strings.Cut(c.ID, "/")
		line := strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Severity, name, c.Pointer))
		if len(c.Also) > 0 {
			line += fmt.Sprintf(" +%d", len(c.Also))
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

// TestDiff pins what the examples of the rules do not show.
func TestDiff(t *testing.T) {
	tests := []struct{ name, old, new, want string }{
		{"nothing", ``, ``, ""},
		{"the order of members, lists and enums",
			`"properties": {"Color": {"type": "string", "enum": ["A", "B"]}}, "required": ["Name", "Color"]`,
			`"required": ["Color", "Name"], "properties": {"Color": {"enum": ["B", "A"], "type": "string"}}`, ""},
		{"numbers by their value", `"properties": {"N": {"type": "number", "maximum": 1e2}}`, `"properties": {"N": {"type": "number", "maximum": 100.0}}`, ""},
		{"the order of a default is its value", `"properties": {"L": {"type": "array", "default": ["a", "b"]}}`, `"properties": {"L": {"type": "array", "default": ["b", "a"]}}`,
			"warning TFDF002 /properties/L"},
		{"a definition written out", `"properties": {"T": {"$ref": "#/definitions/Tag"}}`,
			`"properties": {"T": {"type": "object", "properties": {"Key": {"type": "string"}, "Value": {"type": "string"}}, "required": ["Value", "Key"], "additionalProperties": false}}`,
			"compatible other"},
		{"a definition of several uses, once", `"properties": {"T": {"$ref": "#/definitions/Tag"}, "U": {"$ref": "#/definitions/Tag"}}`,
			`"properties": {"T": {"$ref": "#/definitions/Tag"}, "U": {"$ref": "#/definitions/Tag"}}, "definitions": {"Tag": {"type": "object", "properties": {"Key": {"type": "string", "maxLength": 8}, "Value": {"type": "string"}}, "required": ["Key", "Value"], "additionalProperties": false}}`,
			"breaking ML005 /properties/T/Key +2"},
		{"a definition that refers to itself", `"definitions": {"N": {"type": "object", "properties": {"N": {"$ref": "#/definitions/N"}, "L": {"type": "string"}}}}, "properties": {"N": {"$ref": "#/definitions/N"}}`,
			`"definitions": {"N": {"type": "object", "properties": {"N": {"$ref": "#/definitions/N"}, "L": {"type": "integer"}}}}, "properties": {"N": {"$ref": "#/definitions/N"}}`,
			"breaking TP003 /properties/N/L"},
		{"references to nothing on both sides", `"properties": {"T": {"$ref": "#/definitions/X"}}`, `"properties": {"T": {"$ref": "#/definitions/X"}}, "description": "d"`, "compatible documentation /description"},
		{"references to documents that are not there", `"properties": {"T": {"$ref": "none.json#/X"}}`, `"properties": {"T": {"$ref": "none.json#/X"}}`, "warning unresolved /properties/T"},
		{"a new property with all its marks", ``,
			`"properties": {"X": {"type": "string", "minLength": 1}}, "createOnlyProperties": ["/properties/Name", "/properties/X"], "readOnlyProperties": ["/properties/Id"]`,
			"compatible property-added /properties/X"},
		{"a new property that is required", ``, `"properties": {"X": {"type": "string"}}, "required": ["Name", "X"]`,
			"breaking RQ001 /properties/X; compatible property-added /properties/X"},
		{"a property that is gone leaves its lists silently", ``, `"properties": {"Secret": null}, "writeOnlyProperties": null`, "breaking PR001 /properties/Secret"},
		{"a read-only property that is gone", `"readOnlyProperties": ["/properties/Id", "/properties/Color"]`, `"properties": {"Color": null}`,
			"breaking PR001 /properties/Color; breaking PR005 /properties/Color"},
		{"a path in another spelling", `"deprecatedProperties": ["/properties/Tags/*/Key"]`, `"deprecatedProperties": ["/properties/Tags/Key"]`, "compatible other"},
		{"the identifier reordered", `"primaryIdentifier": ["/properties/Id", "/properties/Name"]`, `"primaryIdentifier": ["/properties/Name", "/properties/Id"]`,
			"breaking PID001 /properties/Id; breaking PID002 /properties/Id; breaking PID001 /properties/Name; breaking PID002 /properties/Name"},
		{"properties moved into a combiner", `"properties": {"U": {"type": "object", "properties": {"A": {"type": "string"}}}}`,
			`"properties": {"U": {"type": "object", "oneOf": [{"properties": {"A": {"type": "string"}}}]}}`,
			"breaking combiner-added /properties/U"},
		{"entries of a combiner reordered", `"oneOf": [{"required": ["Name"]}, {"required": ["Color"]}]`, `"oneOf": [{"required": ["Color"]}, {"required": ["Name"]}]`, ""},
		{"allOf with an entry less", `"allOf": [{"required": ["Name"]}, {"required": ["Color"]}]`, `"allOf": [{"required": ["Name"]}]`, "compatible constraint-dropped /allOf"},
		{"anyOf with an entry more", `"anyOf": [{"required": ["Name"]}]`, `"anyOf": [{"required": ["Name"]}, {"required": ["Color"]}]`, "compatible value-added /anyOf"},
		{"a bound that refuses nothing", ``, `"properties": {"Color": {"type": "string", "minLength": 0}}`, "compatible ML002 /properties/Color"},
		{"integer becomes number", `"properties": {"N": {"type": "integer"}}`, `"properties": {"N": {"type": "number"}}`, "breaking TP003 /properties/N"},
		{"types in another order", `"properties": {"N": {"type": ["object", "string"]}}`, `"properties": {"N": {"type": ["string", "object"]}}`, ""},
		{"an enum that is gone", `"properties": {"Color": {"type": "string", "enum": ["A"]}}`, ``, "breaking ENM001 /properties/Color"},
		{"insertionOrder off", `"properties": {"L": {"type": "array", "items": {"type": "string"}}}`, `"properties": {"L": {"type": "array", "insertionOrder": false, "items": {"type": "string"}}}`,
			"compatible insertion-order /properties/L"},
		{"insertionOrder written out", `"properties": {"L": {"type": "array", "items": {"type": "string"}}}`, `"properties": {"L": {"type": "array", "insertionOrder": true, "items": {"type": "string"}}}`, "compatible other"},
		{"the pattern of the keys of a map", `"properties": {"M": {"type": "object", "patternProperties": {"a": {"type": "string"}}}}`, `"properties": {"M": {"type": "object", "patternProperties": {"b": {"type": "integer"}}}}`,
			"breaking TP003 /properties/M/*; warning map-keys /properties/M"},
		{"a tag flag by default", `"tagging": {"tagUpdatable": null}`, `"tagging": {"tagUpdatable": false}`, "breaking tag-updatable /tagging/tagUpdatable"},
		{"from taggable to tagging", `"tagging": null, "taggable": true`, `"tagging": {"cloudFormationSystemTags": false}`, "compatible tagging /tagging"},
		{"no tags any more", ``, `"tagging": {"taggable": false}`, "breaking TAG101 /tagging/taggable"},
		{"permissions in another order and case", `"handlers": {"create": {"permissions": ["a:B", "a:C"]}}`, `"handlers": {"create": {"permissions": ["A:c", "a:b"]}}`, "compatible other"},
		{"list requests become stricter", `"handlers": {"list": {"permissions": ["a:B"], "handlerSchema": {"properties": {"Name": {"type": "string"}}}}}`,
			`"handlers": {"list": {"permissions": ["a:B"], "handlerSchema": {"properties": {"Name": {"type": "string"}}, "required": ["Name"]}}}`,
			"breaking RQ001 /handlers/list/handlerSchema/properties/Name"},
		{"settings become stricter", `"typeConfiguration": {"properties": {"E": {"type": "string"}}, "additionalProperties": false}`,
			`"typeConfiguration": {"properties": {"E": {"type": "string", "maxLength": 5}}, "additionalProperties": false}`, "breaking ML005 /typeConfiguration/properties/E"},
		{"a type that is hook now", ``, `"type": "HOOK"`, "breaking type-name"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := lines(Diff(soundWith(t, test.old), soundWith(t, test.new))); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestDiffFollowsOtherDocuments: a change in a document beside the schema is one of the
// schema.
func TestDiffFollowsOtherDocuments(t *testing.T) {
	version := func(common string) *schema.Schema {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "common.json"), []byte(common), 0o600); err != nil {
			t.Fatal(err)
		}
		s, problems := schema.Load(filepath.Join(dir, "schema.json"), []byte(`{"properties": {"A": {"$ref": "common.json#/definitions/A"}}}`), schema.Config{})
		if s == nil {
			t.Fatal(problems)
		}
		return s
	}
	one, same, other := `{"definitions": {"A": {"type": "string"}}}`, `{"definitions": {"A": {"type":"string"}}}`, `{"definitions": {"A": {"type": "string", "maxLength": 5}}}`
	if got := lines(Diff(version(one), version(same))); got != "" {
		t.Errorf("the same: %s", got)
	}
	if got := lines(Diff(version(one), version(other))); got != "breaking ML005 /properties/A" {
		t.Errorf("another: %s", got)
	}
}

// TestDiffPlaces: what is new stands in the new document, what is gone in the old one.
func TestDiffPlaces(t *testing.T) {
	load := func(file, text string) *schema.Schema {
		s, problems := schema.Load(file, []byte(text), schema.Config{})
		if s == nil {
			t.Fatal(problems)
		}
		return s
	}
	old := load("old.json", "{\n\"properties\": {\"A\": {\"type\": \"string\"}}}")
	new := load("new.json", "{\n\"properties\": {\n\"B\": {\"type\": \"string\"}}}")
	var got []string
	for _, c := range Diff(old, new) {
		got = append(got, c.At.String()+" "+c.ID)
	}
	if want := "old.json:2:16 breaking/PR001, new.json:3:1 compatible/property-added"; strings.Join(got, ", ") != want {
		t.Errorf("got %v", got)
	}
}

func TestChangeAsProblem(t *testing.T) {
	c := Change{ID: "breaking/PR001", Pointer: "/properties/A", Message: "gone", Effect: "fails: x", At: diag.Range{File: "f"}, Accepted: "r"}
	if p := c.Problem(); p.ID != c.ID || p.Severity != diag.Error || p.Message != "gone: fails: x" || p.Pointer != c.Pointer || p.Hint != "accepted: r" || p.At != c.At {
		t.Errorf("%+v", p)
	}
}

// hostile are schemas that are made to exhaust whoever looks at them.
func hostile() map[string]string {
	chain, fan := &strings.Builder{}, &strings.Builder{}
	const links = 3000
	for i := range links {
		fmt.Fprintf(chain, `"D%d": {"type": "object", "properties": {"A": {"$ref": "#/definitions/D%d"}}},`, i, i+1)
	}
	const wide = 300
	for i := range wide {
		fmt.Fprintf(fan, `"D%d": {"anyOf": [{"$ref": "#/definitions/D%d"}, {"$ref": "#/definitions/D%d"}, {"properties": {"A": {"$ref": "#/definitions/D%d"}, "B%d": {"minimum": %d}}, "required": ["C"]}]},`,
			i, (i+1)%wide, (i+7)%wide, (i+3)%wide, i, i)
	}
	defaults := &strings.Builder{}
	for i := range 3000 {
		fmt.Fprintf(defaults, `"P%d": {"default": {}, "anyOf": [{"$ref": "#/definitions/D%d"}]},`, i, i%wide)
	}
	const many = 5000
	names, properties, keywords := &strings.Builder{}, &strings.Builder{}, &strings.Builder{}
	for i := range many {
		fmt.Fprintf(names, `"/properties/N%d",`, i)
		fmt.Fprintf(properties, `"P%d": {"anyOf": [{"required": ["Q"]}]},`, i)
		fmt.Fprintf(keywords, `"maxLenght%d": %d,`, i, i)
	}
	list := "[" + strings.TrimSuffix(names.String(), ",") + "]"
	paths := strings.Repeat(`"/properties/A/B/C/D",`, 20_000)
	return map[string]string{
		"a chain of definitions":      `{"properties": {"A": {"$ref": "#/definitions/D0"}}, "definitions": {` + chain.String() + fmt.Sprintf(`"D%d": {}}}`, links),
		"combiners of each other":     `{"properties": {"A": {"$ref": "#/definitions/D0"}}, "definitions": {` + strings.TrimSuffix(fan.String(), ",") + `}}`,
		"defaults of such":            `{"properties": {` + defaults.String() + `"A": {}}, "definitions": {` + strings.TrimSuffix(fan.String(), ",") + `}}`,
		"nested as deep as it may be": `{"properties": {"A": ` + strings.Repeat(`{"items":`, 500) + "{}" + strings.Repeat("}", 500) + `}}`,
		"many paths":                  `{"properties": {"A": {}}, "readOnlyProperties": [` + strings.TrimSuffix(paths, ",") + `]}`,
		"long lists":                  `{"properties": {` + properties.String() + `"A": {"required": ` + list + `, "enum": ` + list + `}}, "required": ` + list + `, "readOnlyProperties": ` + list + `, "createOnlyProperties": ` + list + `, "writeOnlyProperties": ` + list + `, "primaryIdentifier": ` + list + `, "deprecatedProperties": ` + list + `, "handlers": {"create": {"permissions": ` + list + `}}}`,
		"keywords without end":        `{"properties": {"A": {"patternProperties": {"a": {` + keywords.String() + `"type": []}}}}}`,
		"numbers without end":         `{"properties": {"A": {"type": "integer", "minimum": 1e999999999, "maximum": ` + strings.Repeat("9", 100_000) + `, "default": 1e-999999999}}}`,
		"wrong types everywhere":      `{"typeName": 1, "properties": [], "definitions": 5, "handlers": {"create": {"permissions": [[]]}, "list": {"handlerSchema": 3}}, "tagging": {"taggable": {}, "tagProperty": 7}, "primaryIdentifier": {"a": 1}, "required": {}, "additionalIdentifiers": [5, [6]], "propertyTransform": {"/properties/A": []}, "typeConfiguration": 1, "oneOf": 3}`,
		"an object only":              `{}`,
	}
}

// TestHostileSchemas: all of them are judged and compared, in the time of a test.
func TestHostileSchemas(t *testing.T) {
	schemas := map[string]*schema.Schema{}
	for name, text := range hostile() {
		s, problems := schema.Load("schema.json", []byte(text), schema.Config{})
		if s == nil {
			t.Fatalf("%s: %v", name, problems)
		}
		schemas[name] = s
	}
	sound := soundWith(t, "")
	for name, s := range schemas {
		Run(s, Config{})
		if changes := Diff(s, sound); len(changes) == 0 {
			t.Errorf("%s: no change to a sound schema", name)
		}
		Diff(sound, s)
		for _, other := range schemas {
			Diff(s, other)
		}
		if again := Diff(s, s); len(again) > 0 {
			t.Errorf("%s: %d changes from itself", name, len(again))
		}
	}
}

// TestDeepComparisonIsGivenUp: what is not looked at is said.
func TestDeepComparisonIsGivenUp(t *testing.T) {
	deep := func(leaf string) string {
		var definitions strings.Builder
		const links = 400
		for i := range links {
			fmt.Fprintf(&definitions, `"D%d": {"type": "object", "properties": {"A": {"$ref": "#/definitions/D%d"}}},`, i, i+1)
		}
		return fmt.Sprintf(`"properties": {"A": {"$ref": "#/definitions/D0"}}, "definitions": {%s "D%d": {"type": %q}}`, definitions.String(), links, leaf)
	}
	changes := Diff(soundWith(t, deep("string")), soundWith(t, deep("integer")))
	if len(changes) != 1 || changes[0].ID != "breaking/incomplete" {
		t.Errorf("%s", lines(changes))
	}
}
