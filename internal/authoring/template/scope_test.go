package template

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// known answers for resources by their names.
type known struct{ NoReferences }

func (known) Ref(name string) (any, bool) { return "id-" + name, name != "New" }
func (known) GetAtt(name, attribute string) (any, bool, error) {
	if attribute == "Wrong" {
		return nil, false, errors.New("no such attribute")
	}
	return name + ":" + attribute, name != "New", nil
}
func (known) ImportValue(name string) (string, bool, error) { return "imported-" + name, true, nil }
func (known) StackOutput(ref StackOutputRef) (string, bool, error) {
	return strings.Join([]string{ref.StackName, ref.OutputName, ref.Region}, "/"), true, nil
}

const evaluated = `
Parameters:
  Text: {Type: String, Default: t}
  Count: {Type: Number, Default: 2}
  Names: {Type: CommaDelimitedList, Default: "a, b ,c"}
  Secret: {Type: String, Default: hush, NoEcho: true}
  Secrets: {Type: CommaDelimitedList, Default: "x,y", NoEcho: true}
  Stored: {Type: "AWS::SSM::Parameter::Value<List<String>>", Default: list}
Mappings:
  M: {us-east-1: {Ami: ami-1, List: [p, q], Size: 3}}
Conditions:
  IsOn: !Equals [!Ref Text, t]
  IsOff: !Not [!Condition IsOn]
  Both: !And [!Condition IsOn, !Equals ["2", !Ref Count], !Not [!Condition IsOff]]
  Hidden: !Equals [!Ref Secret, hush]
  Mapped: !Equals [p, !Select [0, !FindInMap [M, !Ref "AWS::Region", List]]]
Resources:
  Old: {Type: T}
  New: {Type: T}
  Off: {Type: T, Condition: IsOff}
  R: {Type: T, Properties: {P: VALUE}}
`

// scopeOf evaluates the template with a value as the property P.
func scopeOf(t *testing.T, value string) *Scope {
	t.Helper()
	ctx := context.Background()
	parsed, err := Parse("t.yaml", []byte(strings.ReplaceAll(evaluated, "VALUE", value)), ParseOptions{Processed: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := parsed.Check(ctx, nil); err != nil {
		t.Fatal(err)
	}
	bound, err := parsed.Bind(ctx, BindInput{Store: stored{}})
	if err != nil {
		t.Fatal(err)
	}
	scope, err := parsed.NewScope(ScopeInput{Parameters: bound, Pseudo: Pseudo{
		AccountID: "123456789012", Region: "us-east-1", StackName: "s", StackID: "arn:s", NotificationARNs: []string{"arn:n"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := scope.Check(ctx); err != nil {
		t.Fatal(err)
	}
	return scope
}

func TestEvaluate(t *testing.T) {
	for _, tt := range []struct {
		value string
		want  string // JSON of P; "" if it is removed, ? if it is unknown
		mask  string // JSON of all properties as events show them; "" is {"P": want}
	}{
		{value: "x", want: `"x"`},
		{value: "1.10", want: `1.10`},
		{value: "12345678901234567890", want: `12345678901234567890`},
		{value: "yes", want: `true`},
		{value: "'yes'", want: `"yes"`},
		{value: "2001-01-01", want: `"2001-01-01"`},
		{value: "{a: [1, {b: false}]}", want: `{"a":[1,{"b":false}]}`},
		{value: "!Ref Text", want: `"t"`},
		{value: "!Ref Count", want: `"2"`},
		{value: "!Ref Names", want: `["a","b","c"]`},
		{value: "!Ref Stored", want: `["a","b"]`},
		{value: "!Ref Old", want: `"id-Old"`},
		{value: "!Ref New", want: `?`},
		{value: "[!Ref 'AWS::AccountId', !Ref 'AWS::Partition', !Ref 'AWS::URLSuffix', !Ref 'AWS::StackName', !Ref 'AWS::StackId', !Ref 'AWS::NotificationARNs']",
			want: `["123456789012","aws","amazonaws.com","s","arn:s",["arn:n"]]`},
		{value: "!Ref 'AWS::NoValue'", want: ``},
		{value: "[a, !Ref 'AWS::NoValue', {b: !If [IsOff, x, !Ref 'AWS::NoValue']}]", want: `["a",{}]`},
		{value: "!GetAtt Old.A.B", want: `"Old:A.B"`},
		{value: "{Fn::GetAtt: Old.A}", want: `"Old:A"`},
		{value: "{Fn::GetAtt: [Old, !Sub '${Text}x']}", want: `"Old:tx"`},
		{value: "!GetAtt New.A", want: `?`},
		{value: "!If [IsOn, !If [Both, deep, x], !Ref New]", want: `"deep"`},
		{value: "!If [IsOff, !Ref Off, !If [Mapped, m, n]]", want: `"m"`},
		{value: "!Join ['-', [a, !Ref Text, 3, true]]", want: `"a-t-3-true"`},
		{value: "!Join ['', !Ref Names]", want: `"abc"`},
		{value: "!Join ['-', [a, !Ref New]]", want: `?`},
		{value: "!Split [b, abc]", want: `["a","c"]`},
		{value: "!Select ['1', !Ref Names]", want: `"b"`},
		{value: "!Select [0, [a, !Ref New]]", want: `"a"`},
		{value: "!Select [!Ref Count, !Ref Names]", want: `"c"`},
		{value: "!FindInMap [M, !Ref 'AWS::Region', Ami]", want: `"ami-1"`},
		{value: "!FindInMap [M, !Ref 'AWS::Region', Size]", want: `3`},
		{value: "!FindInMap [M, x, Ami, {DefaultValue: !Ref Text}]", want: `"t"`},
		{value: "!FindInMap [X, x, Ami, {DefaultValue: [1]}]", want: `[1]`},
		{value: "!Sub 'a${Text}b${!Text}${Old}${Old.Arn}${AWS::Region}${unclosed'", want: `"atb${Text}id-OldOld:Arnus-east-1${unclosed"`},
		{value: "!Sub ['${a}-${Text}', {a: !Ref Count}]", want: `"2-t"`},
		{value: "!Sub '${New}'", want: `?`},
		{value: "!Base64 {'Fn::Sub': '${Text}'}", want: `"dA=="`},
		{value: "!GetAZs ''", want: `["us-east-1a","us-east-1b","us-east-1c","us-east-1d","us-east-1e","us-east-1f"]`},
		{value: "!GetAZs us-west-1", want: `["us-west-1b","us-west-1c"]`},
		{value: "!GetAZs ap-northeast-1", want: `["ap-northeast-1a","ap-northeast-1c","ap-northeast-1d"]`},
		{value: "!GetAZs eu-west-1", want: `["eu-west-1a","eu-west-1b","eu-west-1c"]`},
		{value: "!Cidr [10.0.0.0/16, 2, 8]", want: `["10.0.0.0/24","10.0.1.0/24"]`},
		{value: "!Cidr [10.0.0.0/16, 2]", want: `["10.0.0.0/24","10.0.1.0/24"]`},
		{value: "!Cidr ['2001:db8::/56', 2, 64]", want: `["2001:db8::/64","2001:db8:0:1::/64"]`},
		{value: "!ImportValue {'Fn::Sub': '${AWS::StackName}-x'}", want: `"imported-s-x"`},
		{value: "!GetStackOutput {StackName: !Ref Text, OutputName: o, Region: eu-west-1}", want: `"t/o/eu-west-1"`},
		{value: "{Fn::Length: !Ref Names}", want: `3`},
		{value: "{Fn::Length: [!Ref New, x]}", want: `2`},
		{value: "{Fn::ToJsonString: {z: 1, a: [!Ref Text, '\"', !Ref 'AWS::NoValue'], m: {b: !GetAtt Old.X}}}", want: `"{\"z\":1,\"a\":[\"t\",\"\\\"\"],\"m\":{\"b\":\"Old:X\"}}"`},
		{value: "{Fn::ToJsonString: [!Ref New]}", want: `?`},
		{value: "{Condition: {StringEquals: {a: b}}}", want: `{"Condition":{"StringEquals":{"a":"b"}}}`},
		{value: "{Condition: IsOn}", want: `{"Condition":"IsOn"}`},
		{value: "[{Ref: Text, Other: x}]", want: `[{"Other":"x","Ref":"Text"}]`},
		{value: "'{{resolve:ssm:x}}'", want: `"{{resolve:ssm:x}}"`},

		{value: "!Sub 'before-${Secret}-after'", want: `"before-hush-after"`, mask: `{"P":"before-****-after"}`},
		{value: "!Base64 {Ref: Secret}", want: `"aHVzaA=="`, mask: `{"P":"KioqKg=="}`},
		{value: "[hush, !Ref Secret]", want: `["hush","hush"]`, mask: `{"P":["hush","****"]}`},
		{value: "!If [Hidden, a, b]", want: `"a"`, mask: `{"****":"****"}`},
		{value: "!Select [0, !Ref Secrets]", want: `"x"`, mask: `{"P":"****"}`},
		{value: "!Select [1, !Ref Secrets]", want: `"y"`, mask: `{"****":"****"}`},
		{value: "!FindInMap [M, !Ref Secret, Ami, {DefaultValue: d}]", want: `"d"`, mask: `{"****":"****"}`},
	} {
		t.Run(tt.value, func(t *testing.T) {
			scope := scopeOf(t, tt.value)
			r := scope.Template().Resource("R")
			value, err := scope.Properties(r, known{})
			if err != nil {
				t.Fatal(err)
			}
			p, has := value.(map[string]any)["P"]
			got := asJSON(t, p)
			if !has {
				got = ""
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			masked, err := scope.Masked(r, known{})
			if err != nil {
				t.Fatal(err)
			}
			want := tt.mask
			switch {
			case want != "":
			case tt.want == "":
				want = "{}"
			default:
				want = `{"P":` + tt.want + `}`
			}
			if got := asJSON(t, masked); got != want {
				t.Errorf("masked: got  %s\nwant %s", got, want)
			}
			if (tt.mask != "") != scope.HasNoEcho(r) {
				t.Errorf("HasNoEcho is %v", scope.HasNoEcho(r))
			}
		})
	}
}

// asJSON writes a value with ? for what is unknown.
func asJSON(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(unknownAs(value))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), `"?"`, "?")
}

func unknownAs(value any) any {
	switch v := value.(type) {
	case unknown:
		return "?"
	case []any:
		out := []any{}
		for _, item := range v {
			out = append(out, unknownAs(item))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			out[key] = unknownAs(item)
		}
		return out
	}
	return value
}

func TestReferenceErrorsNameThePlace(t *testing.T) {
	scope := scopeOf(t, "[!GetAtt Old.Wrong]")
	_, err := scope.Properties(scope.Template().Resource("R"), known{})
	var reference *ReferenceError
	if !errors.As(err, &reference) || reference.Pointer.String() != "/Resources/R/Properties/P/0/Fn::GetAtt" || err.Error() != "no such attribute" {
		t.Fatalf("got %v", err)
	}
	if !reference.At.Start.Known() {
		t.Error("no place")
	}
}

func TestDependencies(t *testing.T) {
	scope := scopeOf(t, "[!If [IsOff, !Ref New, !Sub '${Old.Arn}/${Text}'], {k: !FindInMap [M, !Ref 'AWS::Region', Ami]}, !Join ['', [!Ref New]]]")
	var got []string
	names := []string{"DependsOn", "Ref", "GetAtt", "parameter", "pseudo", "mapping", "condition"}
	for _, d := range scope.Dependencies(scope.Template().Resource("R")) {
		got = append(got, strings.TrimSuffix(names[d.Kind]+" "+d.Name+" "+d.Path.String()+" "+d.Attribute, " "))
	}
	want := []string{
		"condition IsOff /Properties/P/0", "GetAtt Old /Properties/P/0 Arn", "parameter Text /Properties/P/0",
		"mapping M /Properties/P/1/k", "pseudo AWS::Region /Properties/P/1/k", "Ref New /Properties/P/2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if needs := scope.Needs(scope.Template().Resource("R")); !slices.Equal(needs, []string{"New", "Old"}) {
		t.Errorf("needs %v", needs)
	}
	if p := scope.Template().ConditionParameters("Both"); !slices.Equal(p, []string{"Count", "Text"}) {
		t.Errorf("parameters of the condition: %v", p)
	}
}

func TestOrder(t *testing.T) {
	parsed, err := Parse("t", []byte("Resources: {C: {Type: T, DependsOn: [B, X]}, X: {Type: T, Condition: IsOff}, B: {Type: T, Metadata: {a: !Ref A}}, A: {Type: T}}\nConditions: {IsOff: !Equals [a, b]}"), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scope, err := parsed.NewScope(ScopeInput{})
	if err != nil {
		t.Fatal(err)
	}
	order, err := scope.Order()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range order {
		got = append(got, r.LogicalID)
	}
	if !slices.Equal(got, []string{"A", "B", "C"}) {
		t.Errorf("got %v", got)
	}
}

// TestPoliciesWaitForTheirBuckets: a bucket policy waits for the bucket whose name it has in the same words.
func TestPoliciesWaitForTheirBuckets(t *testing.T) {
	const template = `
Parameters: {App: {Type: String, Default: a}}
Resources:
  Policy: {Type: "AWS::S3::BucketPolicy", Properties: {Bucket: !Sub "${App}-x", PolicyDocument: {}}}
  Cyclic: {Type: "AWS::S3::BucketPolicy", Properties: {Bucket: needy, PolicyDocument: {}}}
  Other: {Type: "AWS::S3::BucketPolicy", Properties: {Bucket: !Sub "${App}-y", PolicyDocument: {}}}
  Away: {Type: "AWS::S3::BucketPolicy", Properties: {Bucket: off, PolicyDocument: {}}}
  Nameless: {Type: "AWS::S3::BucketPolicy"}
  Topic: {Type: "AWS::SNS::Topic", Properties: {TopicName: !Ref Policy, BucketName: !Sub "${App}-y"}}
  Bucket: {Type: "AWS::S3::Bucket", Properties: {BucketName: !Sub "${App}-x"}}
  Between: {Type: "AWS::SNS::Topic", DependsOn: Cyclic}
  Needy: {Type: "AWS::S3::Bucket", DependsOn: Between, Properties: {BucketName: needy}}
  Off: {Type: "AWS::S3::Bucket", Condition: IsOff, Properties: {BucketName: off}}
Conditions: {IsOff: !Equals [a, b]}
`
	parsed, err := Parse("t.yaml", []byte(template), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bound, err := parsed.Bind(t.Context(), BindInput{})
	if err != nil {
		t.Fatal(err)
	}
	scope, err := parsed.NewScope(ScopeInput{Parameters: bound})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{"Policy": {"Bucket"}, "Cyclic": nil, "Other": nil, "Away": nil, "Nameless": nil, "Topic": {"Policy"}} {
		if needs := scope.Needs(parsed.Resource(name)); !slices.Equal(needs, want) {
			t.Errorf("%s needs %v, want %v", name, needs, want)
		}
	}
	if _, err := scope.Order(); err != nil {
		t.Error(err)
	}
}

func TestOutputs(t *testing.T) {
	parsed, err := Parse("t", []byte(`{"Resources": {"Old": {"Type": "T"}, "New": {"Type": "T"}}, "Outputs": {
		"A": {"Value": {"Ref": "Old"}, "Description": "d", "Export": {"Name": {"Fn::Sub": "${AWS::StackName}:a"}}},
		"B": {"Value": {"Fn::GetAtt": ["New", "X"]}},
		"C": {"Value": 3.0}}}`), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scope, err := parsed.NewScope(ScopeInput{Pseudo: Pseudo{StackName: "s"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []OutputValue
	for _, o := range parsed.Outputs {
		v, err := scope.Output(o, known{})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, v)
	}
	want := []OutputValue{
		{Name: "A", Description: "d", Value: "id-Old", ExportName: "s:a", Known: true}, {Name: "B"}, {Name: "C", Value: "3.0", Known: true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestRules(t *testing.T) {
	const body = `
Parameters:
  Env: {Type: String}
  Zones: {Type: CommaDelimitedList, Default: "a,b"}
  Subnet: {Type: "AWS::EC2::Subnet::Id", Default: s1}
Rules:
  Production:
    RuleCondition: !Equals [!Ref Env, prod]
    Assertions:
      - {Assert: !EachMemberIn [!Ref Zones, [a, b, c]], AssertDescription: known zones}
      - {Assert: !Not [!EachMemberEquals [!Ref Zones, a]], AssertDescription: not only a}
      - {Assert: !Contains [!RefAll "AWS::EC2::Subnet::Id", !ValueOf [Subnet, Id]], AssertDescription: subnets}
Resources: {R: {Type: T}}
`
	for _, tt := range []struct{ env, zones, want string }{
		{"dev", "x", ""},
		{"prod", "a,b", ""},
		{"prod", "a,x", "Template error: Rule Production failed: known zones"},
		{"prod", "a,a", "Template error: Rule Production failed: not only a"},
	} {
		err := refused(refusalCase{body: body, supplied: append(given("Env", tt.env), given("Zones", tt.zones)...)})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.env, tt.zones, got, tt.want)
		}
	}
}

func TestPartitions(t *testing.T) {
	for region, want := range map[string]string{
		"us-east-1": "aws amazonaws.com", "cn-north-1": "aws-cn amazonaws.com.cn", "us-gov-west-1": "aws-us-gov amazonaws.com",
		"eusc-de-east-1": "aws-eusc amazonaws.eu", "us-isob-east-1": "aws-iso-b sc2s.sgov.gov",
	} {
		if p := (Pseudo{Region: region}).complete(); p.Partition+" "+p.URLSuffix != want {
			t.Errorf("%s: got %s %s", region, p.Partition, p.URLSuffix)
		}
	}
}
