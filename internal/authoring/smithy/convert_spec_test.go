package smithy

import (
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// mustLoad loads a model written in a test and fails on errors and dangers.
func mustLoad(t testing.TB, src string) *Model {
	t.Helper()
	m, events := Load([]Source{{File: "m.smithy", Data: []byte(src)}}, Config{})
	if events = Validate(m, events); events.Fatal() {
		t.Fatal(events)
	}
	return m
}

func convertOne(t testing.TB, m *Model, settings Settings) Converted {
	t.Helper()
	out, problems := Convert(m, settings)
	if problems.HasErrors() || len(out) != 1 {
		t.Fatalf("%d schemas, problems: %v", len(out), problems)
	}
	return out[0]
}

// TestSpecificationExample checks the table of the trait page: every property with its
// mutability, read off the lists of the schema.
func TestSpecificationExample(t *testing.T) {
	m := loadFiles(t, "testdata/example.smithy")
	if events := Validate(m, nil); events.Fatal() {
		t.Fatal(events)
	}
	schema := convertOne(t, m, Settings{Service: "smithy.example#Foos", OrganizationName: "Smithy"}).Schema
	want := map[string]string{
		"AddedProperty":       "full",
		"BarProperty":         "full",
		"CreateProperty":      "create only",
		"CreateWriteProperty": "create and write only",
		"CreatedAt":           "read only",
		"FooAlias":            "full, additional identifier",
		"FooId":               "read only, primary identifier",
		"Immutable":           "create only",
		"MutableProperty":     "full",
		"Password":            "write only",
		"ReadProperty":        "read only",
		"Secret":              "write only",
		"Tags":                "full",
		"UpdatedAt":           "read only",
		"WriteProperty":       "write only",
	}
	for _, p := range schema.Get("properties").Members {
		if got := mutabilityText(schema, p.Key); got != want[p.Key] {
			t.Errorf("%s is %q, want %q", p.Key, got, want[p.Key])
		}
		delete(want, p.Key)
	}
	for name := range want {
		t.Errorf("%s is not a property", name)
	}
}

func mutabilityText(schema *document.Value, name string) string {
	on := func(list string) bool { return slices.Contains(schema.Get(list).Strings(), "/properties/"+name) }
	text := "full"
	switch {
	case on("readOnlyProperties"):
		text = "read only"
	case on("createOnlyProperties") && on("writeOnlyProperties"):
		text = "create and write only"
	case on("createOnlyProperties"):
		text = "create only"
	case on("writeOnlyProperties"):
		text = "write only"
	}
	if on("primaryIdentifier") {
		text += ", primary identifier"
	}
	if additional := schema.Get("additionalIdentifiers"); slices.ContainsFunc(additional.Items, func(v *document.Value) bool {
		return slices.Equal(v.Strings(), []string{"/properties/" + name})
	}) {
		text += ", additional identifier"
	}
	return text
}

const base = `$version: "2"
namespace a
use aws.cloudformation#cfnResource
use aws.api#taggable
use aws.api#tagEnabled
use aws.cloudformation#cfnExcludeProperty
use aws.cloudformation#cfnAdditionalIdentifier
service S {
    version: "1"
    resources: [R]
}
`

// TestConvertProblems shows what stands in place of the crashes of the reference
// implementation, and what it refuses.
func TestConvertProblems(t *testing.T) {
	settings := Settings{Service: "a#S", OrganizationName: "Acme"}
	tests := []struct {
		name, model, id, message string
		settings                 func(*Settings)
	}{
		{"no properties", `@cfnResource resource R {}`, "smithy/no-properties", "to have properties, found none", nil},
		{"no service", `@cfnResource resource R {}`, "smithy/service", "missing required property, `service`", func(s *Settings) { s.Service = "" }},
		{"unknown service", `@cfnResource resource R {}`, "smithy/service", "Shape not found in model: a#T", func(s *Settings) { s.Service = "a#T" }},
		{"no service shape", `@cfnResource resource R {}`, "smithy/service", "a#R is a resource, not a service", func(s *Settings) { s.Service = "a#R" }},
		{"no organization", `@cfnResource resource R {}`, "smithy/setting", "missing required property, `organizationName`", func(s *Settings) { s.OrganizationName = "" }},
		{"recursive structure", `@cfnResource
resource R { identifiers: {id: String}, read: G }
@readonly
operation G {
    input := { @required id: String }
    output := { @required id: String, n: N }
}
structure N { n: N }`, "smithy/recursive-structure", "a#N contains itself", nil},
		{"taggable without an operation", `@cfnResource @taggable
resource R { identifiers: {id: String} }`, "smithy/no-tag-operation", "a#R is taggable but no operation tags it", nil},
		{"tag property that is none", `@cfnResource @taggable(property: "tags")
resource R { identifiers: {id: String} }`, "smithy/tag-property", "the tag property tags is not a property of a#R", nil},
		{"identifier that is not a property", `@cfnResource(primaryIdentifier: "arn")
resource R { identifiers: {id: String}, properties: {arn: String} }`, "smithy/identifier", "the primary identifier arn of a#R is not a property", nil},
		{"recursive list", `@cfnResource(additionalSchemas: [X])
resource R { identifiers: {id: String} }
structure X { l: L }
list L { member: L }`, "smithy/recursive-list", "a#L contains itself", nil},
		{"one name for two members", `@cfnResource(additionalSchemas: [X])
resource R { identifiers: {id: String} }
structure X { ab: String, Ab: String }`, "smithy/same-name", "the members ab and Ab of a#R both become the property Ab", nil},
		{"one name for two types", `@cfnResource(name: "X")
resource R { identifiers: {id: String}, resources: [Q] }
@cfnResource(name: "X")
resource Q { identifiers: {id: String} }`, "smithy/same-type", "the resources a#Q and a#R both become Acme::S::X", nil},
		{"conflict of names", `@cfnResource(additionalSchemas: [X])
resource R { identifiers: {id: String} }
structure X { a: Loc_Dup, b: LocDup }
structure LocDup { x: String }
structure Loc_Dup { y: String }`, "smithy/name-conflict", "conflicts with a#Loc_Dup using a JSON schema pointer of #/definitions/LocDup", nil},
		{"bad pointer", `@cfnResource resource R { identifiers: {id: String} }`, "smithy/pointer", "JSON pointer must start with '/': x", func(s *Settings) {
			s.JSONAdd = map[ID][]document.Member{"a#R": {{Key: "x", Value: document.NewString("v")}}}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, events := Load([]Source{{File: "m.smithy", Data: []byte(base + test.model)}}, Config{})
			if events.hasErrors() {
				t.Fatal(events)
			}
			settings := settings
			if test.settings != nil {
				test.settings(&settings)
			}
			_, problems := Convert(m, settings)
			for _, p := range problems {
				if p.ID == test.id && strings.Contains(p.Message, test.message) {
					if p.At.Start.Line == 0 && test.id != "smithy/service" && test.id != "smithy/pointer" {
						t.Errorf("no place: %+v", p)
					}
					return
				}
			}
			t.Errorf("no problem %s with %q in %v", test.id, test.message, problems)
		})
	}
}

// TestConflictsOutsideTheService checks that shapes which no resource uses cannot spoil a
// conversion, and that lists and maps still make way for them as in the reference
// implementation.
func TestConflictsOutsideTheService(t *testing.T) {
	m := mustLoad(t, base+`@cfnResource(additionalSchemas: [X])
resource R { identifiers: {id: String} }
structure X { a: Zz, b: MM }
structure Zz { x: String }
structure Z_z { y: String }
map MM { key: String, value: String }
map M_M { key: String, value: String }
`)
	schema := convertOne(t, m, Settings{Service: "a#S", OrganizationName: "Acme"}).Schema
	var names []string
	for _, d := range schema.Get("definitions").Members {
		names = append(names, d.Key)
	}
	if want := []string{"MMA", "Zz"}; !slices.Equal(names, want) {
		t.Errorf("definitions %v, want %v", names, want)
	}
}
