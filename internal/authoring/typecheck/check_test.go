package typecheck_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/authoring/typecheck"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

const hostSchema = `{
  "typeName": "Acme::Net::Host", "description": "A host.", "additionalProperties": false, "required": ["Name"],
  "lifecycle": {"status": "sunset", "date": "2026-10-30"},
  "definitions": {"Port": {"type": "object", "additionalProperties": false, "required": ["Number"],
    "properties": {"Number": {"type": "integer", "minimum": 1}, "Old": {"type": "string"}}}},
  "properties": {
    "Id": {"type": "string"}, "Zones": {"type": "array", "items": {"type": "string"}},
    "Tags": {"type": "array", "uniqueItems": true, "items": {"type": "string"}},
    "Name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 8}, "Size": {"type": "string", "enum": ["small", "large"]},
    "Ports": {"type": "array", "maxItems": 2, "items": {"$ref": "#/definitions/Port"}}, "Cores": {"type": "integer"},
    "Secret": {"type": "string", "enum": ["x"]}, "A": {"type": "string"}, "B": {"type": "string"}},
  "dependencies": {"A": ["B"]}, "dependentExcluded": {"Cores": ["Size"]},
  "readOnlyProperties": ["/properties/Id", "/properties/Zones"], "writeOnlyProperties": ["/properties/Secret"],
  "deprecatedProperties": ["/properties/Ports/*/Old"], "primaryIdentifier": ["/properties/Id"],
  "handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "delete": {"permissions": []}}}`

func source(t testing.TB) typecheck.Source {
	t.Helper()
	host, problems := schema.Load("host.json", []byte(strings.Replace(hostSchema, `"lifecycle": {"status": "sunset", "date": "2026-10-30"},`, "", 1)), schema.Config{})
	if host == nil {
		t.Fatal(problems.Err())
	}
	old, _ := schema.Load("old.json", []byte(strings.Replace(hostSchema, "::Host", "::Old", 1)), schema.Config{})
	return typecheck.Source{
		Schema: func(name string) (*schema.Schema, error) {
			return map[string]*schema.Schema{"Acme::Net::Host": host, "Acme::Net::Old": old}[name], nil
		},
		Complete: func(name string) bool { return strings.HasPrefix(name, "AWS::") },
		Names:    func() []string { return []string{"Acme::Net::Host", "AWS::SQS::Queue"} },
	}
}

// check returns the problems of a template, a line each.
func check(t testing.TB, body string, supplied ...template.Supplied) []string {
	t.Helper()
	found, err := template.Examine(t.Context(), "t.yaml", []byte(body), template.InspectInput{Supplied: supplied, Pseudo: template.Pseudo{Region: "us-east-1"}})
	if err != nil {
		t.Fatal(err)
	}
	if found.Template == nil {
		t.Fatalf("%v", found.Problems)
	}
	problems, err := typecheck.Check(t.Context(), found.Template, typecheck.Input{
		Supplied: supplied, Parameters: found.Parameters, Pseudo: template.Pseudo{Region: "us-east-1"}, Source: source(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range problems {
		line := fmt.Sprintf("%d:%d %s %s [%s]", p.At.Start.Line, p.At.Start.Column, p.Severity, p.Message, strings.TrimPrefix(p.ID, "resource/"))
		if p.Hint != "" {
			line += " " + p.Hint
		}
		out = append(out, line)
	}
	return out
}

// TestProperties has for each fault the twin that is right.
func TestProperties(t *testing.T) {
	const parameters = `Parameters:
  Stage: {Type: String, Default: dev, AllowedValues: [dev, prod]}
  Text: {Type: String}
  List: {Type: CommaDelimitedList}
  Number: {Type: Number}
  Bad: {Type: String, Default: GOOD, NoEcho: true}
  Free: {Type: String, Default: ""}
Conditions:
  Prod: !Equals [!Ref Stage, prod]
  Dev: !Equals [!Ref Stage, dev]
  HasFree: !Not [!Equals [!Ref Free, ""]]
Resources:
  H:
    Type: Acme::Net::Host
    Properties:
      `
	for _, test := range []struct{ name, good, bad, want string }{
		{"misspelled", "{Name: a}", "{Name: a, Cors: 1}", `16:17 error #: extraneous key [Cors] is not permitted [unknown-property] did you mean "Cores"?`},
		{"required", "{Name: !Ref Text}", "{Size: small}", `15:5 error #: required key [Name] not found [required] add the property "Name"`},
		{"required below", "{Name: a, Ports: [{Number: 1}]}", "{Name: a, Ports: [{}]}", `16:25 error #/Ports/0: required key [Number] not found [required] add the property "Number"`},
		{"depends", "{Name: a, A: x, B: y}", "{Name: a, A: x}", `15:5 error #: failed validation constraint for keyword [dependencies] [required] has the property "A", which requires "B"`},
		{"pattern", "{Name: ab}", "{Name: AB}", `16:14 error #/Name: failed validation constraint for keyword [pattern] [pattern] "AB" does not match the pattern ^[a-z]+$`},
		{"length", "{Name: abcdefgh}", "{Name: abcdefghi}", `16:14 error #/Name: expected maxLength: 8, actual: 9 [length] "abcdefghi" has 9 characters; the maximum is 8`},
		{"enum", "{Name: a, Size: small}", "{Name: a, Size: smal}", `16:23 error #/Size: failed validation constraint for keyword [enum] [enum] "smal" is not one of the 2 allowed values: "small", "large"; did you mean "small"?`},
		{"number", `{Name: a, Cores: "4"}`, "{Name: a, Cores: four}", `16:24 error #/Cores: expected type: Integer, found: String [type] "four" must be an integer but is a string`},
		{"minimum", "{Name: a, Ports: [{Number: 1}]}", "{Name: a, Ports: [{Number: 0}]}", `16:34 error #/Ports/0/Number: failed validation constraint for keyword [minimum] [number] 0 is less than 1`},
		{"items", "{Name: a, Ports: [{Number: 1}, {Number: 2}]}", "{Name: a, Ports: [{Number: 1}, {Number: 2}, {Number: 3}]}", `16:17 error #/Ports: expected maximum item count: 2, found: 3 [items] has 3 items; the maximum is 2`},
		{"write-only values are not quoted", "{Name: a, Secret: x}", "{Name: a, Secret: hush}", `16:25 error #/Secret: failed validation constraint for keyword [enum] [enum] is not one of the 1 allowed values: "x"`},
		{"NoEcho values are not quoted", "{Name: !Ref Text}", "{Name: !Ref Bad}", `16:14 error #/Name: failed validation constraint for keyword [pattern] [pattern] does not match the pattern ^[a-z]+$`},
		{"dynamic reference", "{Name: '{{resolve:ssm:NAME:1}}', Cores: '{{resolve:ssm:NAME:1}}'}", "{Name: a, Ports: '{{resolve:ssm:NAME:1}}', Cors: 1}",
			`16:50 error #: extraneous key [Cors] is not permitted [unknown-property] did you mean "Cores"?`},
		{"a list of what is not known", "{Name: !Ref Text}", "{Name: [!Ref Text]}", `16:8 error #/Name: expected type: String, found: JSONArray [type] must be a string but is an array`},
		{"an object in a branch", "{Name: !If [Prod, a, b]}", "{Name: !If [Prod, {A: x}, b]}", `16:25 error #/Name: expected type: String, found: JSONObject, if Prod is true [type] must be a string but is an object`},
		{"each branch", "{Name: !If [Prod, a, b]}", "{Name: !If [Prod, A, b]}", `16:25 error #/Name: failed validation constraint for keyword [pattern], if Prod is true [pattern] "A" does not match the pattern ^[a-z]+$`},
		{"the other branch", "{Name: !If [HasFree, a, b]}", "{Name: !If [HasFree, A, b]}", `16:28 error #/Name: failed validation constraint for keyword [pattern], if HasFree is true [pattern] "A" does not match the pattern ^[a-z]+$`},
		{"branches that exclude each other", "{Name: a, A: !If [Prod, x, !Ref AWS::NoValue], B: !If [Dev, !Ref AWS::NoValue, y]}",
			"{Name: a, A: !If [Prod, x, !Ref AWS::NoValue], B: !If [Dev, x, !Ref AWS::NoValue]}",
			`15:5 error #: failed validation constraint for keyword [dependencies], if Prod is true [required] has the property "A", which requires "B"`},
		{"whole properties", "!If [Prod, {Name: a}, {Name: b}]", "!If [Prod, {Name: a}, {Size: small}]", `16:29 error #: required key [Name] not found, if Prod is false [required] add the property "Name"`},
		{"removed items move the others", "{Name: a, Ports: [!If [Prod, {Number: 1}, !Ref AWS::NoValue], {Number: 2}]}", "{Name: a, Ports: [!If [Prod, {Number: 1}, !Ref AWS::NoValue], {Number: 0}]}",
			`16:78 error #/Ports/0/Number: failed validation constraint for keyword [minimum] [number] 0 is less than 1`},
		{"allowed values", "{Name: !Ref Stage}", "{Name: a, Size: !Ref Stage}", `16:23 error #/Size: failed validation constraint for keyword [enum] [enum] "dev" is not one of the 2 allowed values: "small", "large"`},
		{"list for a string", "{Name: !Select [0, !Split [',', !Ref Text]]}", "{Name: !Split [',', !Ref Text]}", `16:14 error #/Name: expected type: String, found: JSONArray [type] Fn::Split returns a list here`},
		{"list parameter", "{Name: !Join ['', !Ref List]}", "{Name: !Ref List}", `16:14 error #/Name: expected type: String, found: JSONArray [type] Ref returns a list here`},
		{"string for a list", "{Name: a, Ports: [{Number: !Ref Number}]}", "{Name: a, Ports: !Ref Text}", `16:24 error #/Ports: expected type: JSONArray, found: String [type] Ref returns a string here`},
		{"zones", "{Name: !Join ['', [a, b]]}", "{Name: !GetAZs ''}", `16:14 error #/Name: expected type: String, found: JSONArray [type] must be a string but is an array`},
		{"computed", "{Name: !Join ['', [a, b]]}", "{Name: !Join ['', [A, b]]}", `16:14 error #/Name: failed validation constraint for keyword [pattern] [pattern] "Ab" does not match the pattern ^[a-z]+$`},
		{"read-only", "{Name: a}", "{Name: a, Id: x}", `16:17 warning the property Id is read-only: CloudFormation ignores the value [read-only]`},
		{"deprecated", "{Name: a, Ports: [{Number: 1}]}", "{Name: a, Ports: [{Number: 1, Old: x}]}", `16:37 info the property Ports.0.Old is deprecated [deprecated]`},
		{"the same reference twice", "{Name: a, Tags: [!Ref Text, !Ref Number]}", "{Name: a, Tags: [!Ref Text, !Ref Number, !Ref Text]}",
			`16:17 error #/Tags: failed validation constraint for keyword [uniqueItems] [items] has the same item at indexes 0 and 2`},
		{"properties that exclude each other", "{Name: a, Cores: !If [Prod, 1, !Ref AWS::NoValue], Size: !If [Prod, !Ref AWS::NoValue, small]}", "{Name: a, Cores: 1, Size: small}",
			`16:17 warning the property Cores excludes Size [group]`},
		{"below what cannot be evaluated", "{Name: a, Ports: [{Number: !If [Gone, 1, 2]}, !If [Gone, 1, 2]]}", "{Name: a, Ports: [{Number: !If [Gone, 1, 2], Numbr: 1}]}",
			`16:52 error #/Ports/0: extraneous key [Numbr] is not permitted [unknown-property] did you mean "Number"?`},
		{"beside what cannot be evaluated", "{Name: !If [Gone, a, b]}", "{Name: !If [Gone, a, b], Cors: 1}", `16:32 error #: extraneous key [Cors] is not permitted [unknown-property] did you mean "Cores"?`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if found := check(t, parameters+test.good); found != nil {
				t.Errorf("the right one: %s", found)
			}
			if found := strings.Join(check(t, parameters+test.bad), "\n"); !strings.HasPrefix(found, test.want) {
				t.Errorf("got  %s\nwant %s", found, test.want)
			}
		})
	}
}

// TestGroups has the keywords for groups of properties.
func TestGroups(t *testing.T) {
	const text = `{"typeName": "Acme::Net::Host", "description": "A host.", "additionalProperties": false, "primaryIdentifier": ["/properties/A"], %s,
		"properties": {"A": {"type": "string"}, "B": {"type": "string"}, "C": {"type": "string"}}}`
	for _, test := range []struct{ keyword, good, bad, want string }{
		{`"requiredXor": ["A", "B"]`, "{A: x}", "{A: x, B: x}", "expected exactly one of the properties A, B"},
		{`"requiredXor": ["A", "B"]`, "{B: x, C: x}", "{C: x}", "expected exactly one of the properties A, B"},
		{`"requiredOr": ["A", "B"]`, "{A: x, B: x}", "{C: x}", "expected at least one of the properties A, B"},
		{`"dependentRequired": {"A": ["B", "C"]}`, "{A: x, B: x, C: x}", "{A: x, B: x}", "the property A requires B, C"},
		{`"dependentExcluded": {"A": ["B", "C"]}`, "{B: x, C: x}", "{A: x, C: x}", "the property A excludes C"},
	} {
		loaded, problems := schema.Load("host.json", []byte(fmt.Sprintf(text, test.keyword)), schema.Config{})
		if loaded == nil {
			t.Fatal(problems.Err())
		}
		for properties, want := range map[string]string{test.good: "", test.bad: test.want} {
			parsed, err := template.Parse("t.yaml", []byte("Resources: {H: {Type: Acme::Net::Host, Properties: "+properties+"}}"), template.ParseOptions{})
			if err != nil {
				t.Fatal(err)
			}
			found, err := typecheck.Check(t.Context(), parsed, typecheck.Input{Parameters: &template.Parameters{}, Source: typecheck.Source{
				Schema: func(string) (*schema.Schema, error) { return loaded, nil },
			}})
			if got := strings.Join(texts(found), "; "); err != nil || got != want {
				t.Errorf("%s, %s: %s, %v", test.keyword, properties, got, err)
			}
		}
	}
}

func texts(problems diag.List) (out []string) {
	for _, p := range problems {
		out = append(out, p.Message)
	}
	return out
}

// TestFaultyConditions checks resources of a template whose conditions cannot be evaluated, for both of their values.
func TestFaultyConditions(t *testing.T) {
	found := check(t, `Conditions:
  Bad: !Equals [!Ref Gone, a]
Resources:
  H: {Type: Acme::Net::Host, Condition: Gone, Properties: {Name: a, Size: !If [Bad, x, y]}}
`)
	if len(found) != 2 || !strings.Contains(found[0], `"x" is not one of`) || !strings.Contains(found[1], `"y" is not one of`) {
		t.Errorf("found %s", found)
	}
}

// TestReferences has the faults of references and of types.
func TestReferences(t *testing.T) {
	const host = "Resources:\n  H: {Type: Acme::Net::Host, Properties: {Name: a}}\n"
	for body, want := range map[string]string{
		host + "Outputs: {O: {Value: !GetAtt H.Id}}":                                       "",
		host + "Outputs: {O: {Value: !GetAtt H.ID}}":                                       `3:22 error Resource type Acme::Net::Host does not support attribute {ID} [attribute] did you mean "Id"?`,
		host + "Outputs: {O: {Value: !Sub '${H.Idd}'}}":                                    `3:22 error Resource type Acme::Net::Host does not support attribute {Idd} [attribute] did you mean "Id"?`,
		host + "Outputs: {O: {Value: !GetAtt H.Secret}}":                                   `3:22 error Resource type Acme::Net::Host does not support attribute {Secret} [attribute] the property is write-only: its value cannot be read`,
		host + "Outputs: {O: {Value: !GetAtt H.Name}}":                                     `3:22 warning Requested attribute Name must be a readonly property in schema for Acme::Net::Host [attribute-not-read-only]`,
		host + "Outputs: {O: {Value: !GetAtt H.Zones}}":                                    `3:22 error The Value field of every Outputs member must evaluate to a String and not a List [template/output-type]`,
		host + "Outputs: {O: {Value: !Join [',', !GetAtt H.Zones]}}":                       "",
		host + "  I: {Type: Acme::Net::Host, Properties: {Name: !GetAtt H.Zones}}":         `3:49 error #/Name: expected type: String, found: JSONArray [type] Fn::GetAtt returns a list here`,
		"Resources: {A: {Type: AWS::SQS::Queu}}":                                           `1:23 error Template format error: Unrecognized resource types: [AWS::SQS::Queu] [unknown-type] did you mean "AWS::SQS::Queue"?`,
		"Resources: {A: {Type: Acme::Net::Hots}}":                                          `1:23 warning Template format error: Unrecognized resource types: [Acme::Net::Hots] [unknown-type] did you mean "Acme::Net::Host"?`,
		"Resources: {A: {Type: Acme::X::Y}, B: {Type: Acme::X::Z}, C: {Type: Acme::X::Y}}": `1:23 info 2 types not checked, because no schema is known: Acme::X::Y, Acme::X::Z [not-checked] pass --schemas`,
		"Resources: {A: {Type: Custom::X, Properties: {ServiceToken: x, Y: 1}}, S: {Type: AWS::CloudFormation::Stack}}\nOutputs: {O: {Value: !GetAtt S.Outputs.X}}": "",
		"Resources: {A: {Type: Acme::Net::Old, Properties: {Name: a}}}":                                                                                             `1:23 warning the type Acme::Net::Old has the status "sunset" since 2026-10-30 [lifecycle]`,
	} {
		if found := strings.Join(check(t, body), "\n"); !strings.HasPrefix(found, want) || want == "" && found != "" {
			t.Errorf("%s\ngot  %s\nwant %s", body, found, want)
		}
	}
}

// TestLoops: a problem in the body of a loop is one problem, at the body.
func TestLoops(t *testing.T) {
	body := `Transform: AWS::LanguageExtensions
Parameters: {Open: {Type: String}}
Resources:
  Fn::ForEach::Hosts:
    - N
    - [a, b]
    - Host${N}:
        Type: Acme::Net::Host
        Properties: {Name: !Ref N, Cors: 1}
`
	if found := check(t, body); len(found) != 1 || !strings.HasPrefix(found[0], "9:36 error #: extraneous key [Cors]") {
		t.Errorf("got %q", found)
	}
}

// TestInactive: a resource is checked where its condition can be true, with the values that make it so.
func TestInactive(t *testing.T) {
	body := `Parameters: {Stage: {Type: String, Default: dev, AllowedValues: [dev, prod]}}
Conditions: {Prod: !Equals [!Ref Stage, prod], Never: !Equals [a, b]}
Resources:
  H: {Type: Acme::Net::Host, Condition: Prod, Properties: {Name: !If [Prod, a, B], Size: x}}
  N: {Type: Acme::Net::Host, Condition: Never, Properties: {Size: x}}
`
	want := "4:90 error #/Size: failed validation"
	if found := check(t, body); len(found) != 1 || !strings.HasPrefix(found[0], want) {
		t.Errorf("got %q", found)
	}
	if found := check(t, body, template.Supplied{Key: "Stage", Value: "dev", HasValue: true}); found != nil {
		t.Errorf("for dev: %q", found)
	}
}

// TestBounds: conditions that multiply are not tried without end, and that is said.
func TestBounds(t *testing.T) {
	var parameters, conditions, items strings.Builder
	for i := range 14 {
		fmt.Fprintf(&parameters, "  P%d: {Type: String, Default: a, AllowedValues: [a, b, c]}\n", i)
		fmt.Fprintf(&conditions, "  C%d: !Equals [!Ref P%d, a]\n", i, i)
		fmt.Fprintf(&items, "!If [C%d, {Number: 1}, !Ref AWS::NoValue], ", i)
	}
	body := "Parameters:\n" + parameters.String() + "Conditions:\n" + conditions.String() +
		"Resources:\n  H: {Type: Acme::Net::Host, Properties: {Name: a, Ports: [" + items.String() + "]}}\n"
	found := strings.Join(check(t, body), "\n")
	if !strings.Contains(found, "[combinations]") || !strings.Contains(found, "expected maximum item count: 2, found: 14") {
		t.Errorf("got %s", found)
	}
}

func TestSourceFails(t *testing.T) {
	found, err := template.Examine(t.Context(), "t.yaml", []byte("Resources: {A: {Type: Acme::X::Y}}"), template.InspectInput{})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no network")
	in := typecheck.Input{Parameters: found.Parameters, Source: typecheck.Source{Schema: func(string) (*schema.Schema, error) { return nil, broken }}}
	if _, err := typecheck.Check(t.Context(), found.Template, in); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in.Source = source(t)
	if _, err := typecheck.Check(ctx, found.Template, in); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkCheck(b *testing.B) {
	var body strings.Builder
	body.WriteString("Parameters: {Stage: {Type: String, Default: dev, AllowedValues: [dev, prod]}}\nConditions: {Prod: !Equals [!Ref Stage, prod]}\nResources:\n")
	for i := range 300 {
		fmt.Fprintf(&body, "  H%d:\n    Type: Acme::Net::Host\n    Properties: {Name: !If [Prod, a, b], Size: small, Ports: [{Number: 1}]}\n", i)
	}
	found, err := template.Examine(b.Context(), "t.yaml", []byte(body.String()), template.InspectInput{})
	if err != nil {
		b.Fatal(err)
	}
	in := typecheck.Input{Parameters: found.Parameters, Source: source(b)}
	for b.Loop() {
		if problems, err := typecheck.Check(b.Context(), found.Template, in); err != nil || problems != nil {
			b.Fatal(problems, err)
		}
	}
}
