package customtype

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/api"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
)

func parse(t *testing.T, name, text string) *Template {
	t.Helper()
	parsed, err := template.Parse(name, []byte(text), template.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &Template{Name: name, Template: parsed}
}

const preamble = `
Parameters:
  Text: {Type: String}
  Secret: {Type: String, NoEcho: true}
  Size: {Type: Number}
  Zones: {Type: List<Number>}
Conditions: {On: !Equals [a, b]}
Mappings: {Map: {east: {Port: 80, Name: x}, west: {Port: 81, Name: y}}}
Resources:
  Topic: {Type: AWS::SNS::Topic}
`

// TestPropertyTypes: the schema of a property, by its values in templates.
func TestPropertyTypes(t *testing.T) {
	for _, c := range []struct {
		values []string // of the property P in one use each; "" leaves it out
		want   string   // its schema
		flags  string   // required, writeOnly
	}{
		{[]string{"text"}, `{"type":"string"}`, "required"},
		{[]string{"text", ""}, `{"type":"string"}`, ""},
		{[]string{"true"}, `{"type":"boolean"}`, "required"},
		{[]string{"3", "4"}, `{"type":"integer"}`, "required"},
		{[]string{"3", "4.5"}, `{"type":"number"}`, "required"},
		{[]string{"3", "three"}, `{"type":"string"}`, "required"},
		{[]string{"true", "3"}, `{"type":"string"}`, "required"},
		{[]string{"[1, 2]", "[]"}, `{"insertionOrder":true,"items":{"type":"integer"},"type":"array"}`, "required"},
		{[]string{"[]"}, `{"insertionOrder":true,"items":{"type":"string"},"type":"array"}`, "required"},
		{[]string{"[a]", "a"}, `{"type":["array","string"]}`, "required"},
		{[]string{"!Ref Text"}, `{"type":"string"}`, "required"},
		{[]string{"!Ref Size"}, `{"type":"number"}`, "required"},
		{[]string{"!Ref Zones"}, `{"insertionOrder":true,"items":{"type":"number"},"type":"array"}`, "required"},
		{[]string{"!Ref Topic"}, `{"type":"string"}`, "required"},
		{[]string{"!GetAtt Topic.TopicArn"}, `{"type":"string"}`, "required"},
		{[]string{"!Split [',', 'a,b']"}, `{"insertionOrder":true,"items":{"type":"string"},"type":"array"}`, "required"},
		{[]string{"!Join [',', [a]]"}, `{"type":"string"}`, "required"},
		{[]string{"!If [On, 3, !Ref 'AWS::NoValue']"}, `{"type":"integer"}`, ""},
		{[]string{"!If [On, 3, 4]"}, `{"type":"integer"}`, "required"},
		{[]string{"!FindInMap [Map, east, Port]"}, `{"type":"integer"}`, "required"},
		{[]string{"!FindInMap [Map, !Ref Text, Name]"}, `{"type":"string"}`, "required"},
		{[]string{"!Ref Secret"}, `{"type":"string"}`, "required writeOnly"},
		{[]string{"!Sub 'x-${Secret}'"}, `{"type":"string"}`, "required writeOnly"},
		{[]string{"'{{resolve:secretsmanager:x}}'"}, `{"type":"string"}`, "required writeOnly"},
		{[]string{"'postgres://u:{{resolve:ssm-secure:x:1}}@host'"}, `{"type":"string"}`, "required writeOnly"},
		{[]string{"!Sub 'u:{{resolve:secretsmanager:${Text}}}'"}, `{"type":"string"}`, "required writeOnly"},
		{[]string{"'{{resolve:ssm:x:1}}'"}, `{"type":"string"}`, "required"},
		{[]string{"[!Ref Secret]"}, `{"insertionOrder":true,"items":{"type":"string"},"type":"array"}`, "required writeOnly"},
		{[]string{"{A: 1, B: x}", "{A: 2}"}, `{"additionalProperties":false,"properties":{"A":{"type":"integer"},"B":{"type":"string"}},"required":["A"],"type":"object"}`, "required"},
		{[]string{"{A: !Ref Secret, B: x}"}, `{"additionalProperties":false,"properties":{"A":{"type":"string"},"B":{"type":"string"}},"required":["A","B"],"type":"object"}`, "required writeOnly:/properties/P/A"},
		{[]string{"{'a.b': 1}"}, `{"type":"object"}`, "required"},
		{[]string{"{}"}, `{"type":"object"}`, "required"},
	} {
		t.Run(strings.Join(c.values, " and "), func(t *testing.T) {
			text := preamble
			for i, value := range c.values {
				text += fmt.Sprintf("  Thing%d:\n    Type: Custom::Thing\n    Properties:\n      ServiceToken: x\n", i)
				if value != "" {
					text += "      P: " + value + "\n"
				}
			}
			found, err := Find([]*Template{parse(t, "t.yaml", text)}, "")
			if err != nil {
				t.Fatal(err)
			}
			d, err := Derive(found, "Acme::Foo::Bar", true)
			if err != nil {
				t.Fatal(err)
			}
			s := load(t, d)
			got, err := json.Marshal(s["properties"].(map[string]any)["P"])
			if err != nil || string(got) != c.want {
				t.Errorf("the schema is %s; expected %s", got, c.want)
			}
			var flags []string
			if slices.Contains(listOfTexts(s["required"]), "P") {
				flags = append(flags, "required")
			}
			for _, path := range listOfTexts(s["writeOnlyProperties"]) {
				if path == "/properties/P" {
					flags = append(flags, "writeOnly")
				} else {
					flags = append(flags, "writeOnly:"+path)
				}
			}
			if got := strings.Join(flags, " "); got != c.flags {
				t.Errorf("the property is %q; expected %q", got, c.flags)
			}
		})
	}
}

// load checks a schema and returns it.
func load(t *testing.T, d *Derived) map[string]any {
	t.Helper()
	if _, problems := schema.Load("s.json", d.JSON(), schema.Config{}); problems.HasErrors() {
		t.Fatalf("%v\n%s", problems.Err(), d.JSON())
	}
	out := map[string]any{}
	if err := json.Unmarshal(d.JSON(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func listOfTexts(v any) (out []string) {
	items, _ := v.([]any)
	for _, item := range items {
		out = append(out, item.(string))
	}
	return out
}

// TestNames: properties and attributes whose names a schema cannot have, and those in each other's way.
func TestNames(t *testing.T) {
	found, err := Find([]*Template{parse(t, "t.yaml", `
Resources:
  Thing:
    Type: Custom::Thing
    Properties: {ServiceToken: x, ServiceTimeout: 90, bucket_name: a, BucketName: b, PhysicalResourceId: c, Name: d}
Outputs:
  A: {Value: !GetAtt Thing.Name}
  B: {Value: !GetAtt Thing.Endpoint.Port}
  C: {Value: !Sub "${Thing.Endpoint.Host} ${Thing.the-key}"}
  D: {Value: !GetAtt Thing.Name}
`)}, "Custom::Thing")
	if err != nil {
		t.Fatal(err)
	}
	d, err := Derive(found, "Acme::Foo::Bar", true)
	if err != nil {
		t.Fatal(err)
	}
	s := load(t, d)
	if got := listOfTexts(s["readOnlyProperties"]); !slices.Equal(got, []string{
		"/properties/PhysicalId", "/properties/NameAttribute", "/properties/Endpoint/Port", "/properties/Endpoint/Host", "/properties/TheKeyAttribute",
	}) {
		t.Errorf("read-only: %v", got)
	}
	if d.Names["bucket_name"] != "BucketName" || d.Names["BucketName"] != "BucketName2" {
		t.Errorf("names: %v", d.Names)
	}
	if got := s["handlers"].(map[string]any)["create"].(map[string]any)["timeoutInMinutes"]; got != float64(2) {
		t.Errorf("timeoutInMinutes: %v", got)
	}
	var changes []string
	for _, c := range d.Changes() {
		changes = append(changes, fmt.Sprintf("%d: %s", c.At.Start.Line, c.Text))
	}
	if got, want := strings.Join(changes, "\n"), `4: Thing: write Type: Acme::Foo::Bar
5: Thing: remove the property ServiceToken
5: Thing: remove the property ServiceTimeout
5: Thing: rename the property bucket_name to BucketName
5: Thing: rename the property BucketName to BucketName2
7: read the attribute NameAttribute instead of Name
9: read the attribute TheKeyAttribute instead of the-key
10: read the attribute NameAttribute instead of Name`; got != want {
		t.Errorf("changes:\n%s\nexpected:\n%s", got, want)
	}
}

// TestUnread: without a function that reads the resource, READ has nothing to compare, and what the function has is named.
func TestUnread(t *testing.T) {
	found, err := Find([]*Template{parse(t, "t.yaml", `
Parameters: {Secret: {Type: String, NoEcho: true}}
Resources:
  Role:
    Type: AWS::IAM::Role
    Properties: {AssumeRolePolicyDocument: {}, Policies: [{PolicyName: p, PolicyDocument: {Statement: {Effect: Allow, Action: "s3:GetObject", Resource: "*"}}}]}
  Function:
    Type: AWS::Lambda::Function
    Properties:
      Runtime: python3.12
      Handler: index.handler
      Role: !GetAtt Role.Arn
      Timeout: 300
      VpcConfig: {SubnetIds: [a]}
      Layers: [b]
      Environment: {Variables: {LEVEL: INFO, TABLE: !Ref AWS::StackName, PASSWORD: '{{resolve:secretsmanager:x}}'}}
      Code: {ZipFile: "x = 1"}
  Thing: {Type: Custom::Thing, Properties: {ServiceToken: !Sub "${Function.Arn}", Name: a, Password: !Ref Secret}}
Outputs: {Address: {Value: !GetAtt Thing.Address}}
`)}, "Thing")
	if err != nil {
		t.Fatal(err)
	}
	if p := found.Provider(); p.Source != "x = 1" || p.Handler != "index.handler" || p.Runtime != "python3.12" {
		t.Errorf("the provider is %+v", p)
	}
	d, err := Derive(found, "Acme::Foo::Bar", false)
	if err != nil {
		t.Fatal(err)
	}
	s := load(t, d)
	if got := listOfTexts(s["writeOnlyProperties"]); !slices.Equal(got, []string{"/properties/Name", "/properties/Password"}) {
		t.Errorf("write-only: %v", got)
	}
	if !slices.Equal(d.Secrets, []string{"Password"}) {
		t.Errorf("secrets: %v", d.Secrets)
	}
	permissions := s["handlers"].(map[string]any)["read"].(map[string]any)["permissions"]
	if got := listOfTexts(permissions); !slices.Equal(got, []string{"s3:GetObject", "ssm:DeleteParameter", "ssm:GetParameter", "ssm:PutParameter"}) {
		t.Errorf("permissions: %v", got)
	}
	var lost []string
	for _, l := range d.Lost {
		lost = append(lost, l.Choice)
	}
	for _, want := range []string{"createOnlyProperties", "the state of the resource", "list", "NoEcho of a response", "the time limit", "VpcConfig", "Layers", "the value of the environment variable TABLE", "the value of the environment variable PASSWORD"} {
		if !slices.Contains(lost, want) {
			t.Errorf("%q is not named: %q", want, lost)
		}
	}
	if want := []variable{{"LEVEL", "INFO"}, {"TABLE", ""}, {"PASSWORD", ""}}; !slices.Equal(d.environment, want) {
		t.Errorf("the environment is %v; expected %v", d.environment, want)
	}
}

// TestGlobals: what a function of SAM has from the section Globals, and the name of a type in a template that is not checked.
func TestGlobals(t *testing.T) {
	parsed, _ := template.Parse("t.yaml", []byte(`
Transform: AWS::Serverless-2016-10-31
Globals: {Function: {Runtime: python3.12, CodeUri: src, Timeout: 90, Environment: {Variables: {LEVEL: INFO, TABLE: a}}}}
Resources:
  Function: {Type: AWS::Serverless::Function, Properties: {Handler: index.handler, Environment: {Variables: {TABLE: b}}}}
  Thing: {Type: Custom::Thing, Properties: {ServiceToken: !GetAtt Function.Arn}}
  Wrong: {Type: 'Custom::Thing" + code', Properties: {ServiceToken: !GetAtt Function.Arn}}
`), template.ParseOptions{AsWritten: true}) // Globals is wrong until the transform has run
	templates := []*Template{{Name: "t.yaml", Template: parsed}}
	found, err := Find(templates, "Thing")
	if err != nil {
		t.Fatal(err)
	}
	if p := found.Provider(); p.Folder != "src" || p.Runtime != "python3.12" || p.Handler != "index.handler" {
		t.Errorf("the provider is %+v", p)
	}
	d, err := Derive(found, "Acme::Foo::Bar", false)
	if err != nil {
		t.Fatal(err)
	}
	if want := []variable{{"LEVEL", "INFO"}, {"TABLE", "b"}}; !slices.Equal(d.environment, want) {
		t.Errorf("the environment is %v; expected %v", d.environment, want)
	}
	if !slices.ContainsFunc(d.Lost, func(l api.Decision) bool { return l.Choice == "the time limit" }) {
		t.Errorf("the time limit of Globals is not named: %v", d.Lost)
	}
	if found, err = Find(templates, "Wrong"); err != nil {
		t.Fatal(err)
	}
	if _, err := Derive(found, "Acme::Foo::Bar", false); err == nil || !strings.Contains(err.Error(), "must be Custom:: and letters") {
		t.Errorf("the type: %v", err)
	}
}

func TestFind(t *testing.T) {
	text := `
Resources:
  A: {Type: Custom::A, Properties: {ServiceToken: x}}
  B: {Type: AWS::CloudFormation::CustomResource, Properties: {ServiceToken: y}}
  C: {Type: AWS::CloudFormation::CustomResource, Properties: {ServiceToken: y}}
  D: {Type: AWS::CloudFormation::CustomResource, Properties: {ServiceToken: z}}
`
	templates := []*Template{parse(t, "t.yaml", text)}
	for name, want := range map[string]int{"A": 1, "Custom::A": 1, "B": 2, "C": 2, "D": 1} {
		if found, err := Find(templates, name); err != nil || len(found.Uses) != want {
			t.Errorf("%s: %v, %v; expected %d uses", name, found, err, want)
		}
	}
	for _, name := range []string{"", "Custom::B", "AWS::CloudFormation::CustomResource"} {
		var unclear *UnclearError
		if _, err := Find(templates, name); !errors.As(err, &unclear) || !slices.Equal(unclear.Known, []string{"Custom::A", "B", "D"}) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
