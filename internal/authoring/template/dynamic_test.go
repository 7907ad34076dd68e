package template

import (
	"context"
	"errors"
	"reflect"
	"testing"
)

func TestDynamicReferences(t *testing.T) {
	for text, want := range map[string]DynamicReference{
		"{{resolve:ssm:/a/b}}":                                  {Service: "ssm", Name: "/a/b"},
		"{{resolve:ssm:/a/b:3}}":                                {Service: "ssm", Name: "/a/b", Version: "3"},
		"{{resolve:ssm:/a/b:label}}":                            {Service: "ssm"},
		"{{resolve:ssm-secure:a:1}}":                            {Service: "ssm-secure", Name: "a", Version: "1"},
		"{{resolve:ssm:arn:aws:ssm:us-east-1:1:parameter/a:2}}": {Service: "ssm", Name: "arn:aws:ssm:us-east-1:1:parameter/a", Version: "2"},
		"{{resolve:secretsmanager:s}}":                          {Service: "secretsmanager", Name: "s"},
		"{{resolve:secretsmanager:s:SecretString:k}}":           {Service: "secretsmanager", Name: "s", JSONKey: "k"},
		"{{resolve:secretsmanager:arn:aws:secretsmanager:us-east-1:1:secret:s-x:SecretString:k:STAGE}}": {Service: "secretsmanager", Name: "arn:aws:secretsmanager:us-east-1:1:secret:s-x", JSONKey: "k", Stage: "STAGE"},
		"{{resolve:secretsmanager:s:SecretString:::v}}":                                                 {Service: "secretsmanager", Name: "s", Version: "v"},
		"{{resolve:secretsmanager:s:SecretString:k:stage:v}}":                                           {Service: "secretsmanager"},
	} {
		want.Text = text
		got := DynamicReferences(map[string]any{"a": []any{"x" + text + "y", text}})
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
	if got := DynamicReferences("{{resolve:other:x}} {{resolve:ssm:x {{"); got != nil {
		t.Errorf("got %v", got)
	}
}

type resolver map[string]string

func (r resolver) ResolveReference(_ context.Context, ref DynamicReference) (string, error) {
	value, ok := r[ref.Name]
	if !ok {
		return "", errors.New("not found")
	}
	return value, nil
}

func TestResolveDynamic(t *testing.T) {
	ctx := context.Background()
	// What a reference stands for is not resolved again.
	r := resolver{"a": "1", "b": "{{resolve:ssm:a}}"}
	value := map[string]any{"k": []any{"x{{resolve:ssm:a}}-{{resolve:ssm:b}}", true, Unknown}, "plain": "{{resolve:other:a}}{{resolve:ssm:a}}"}
	got, err := ResolveDynamic(ctx, value, r)
	want := map[string]any{"k": []any{"x1-{{resolve:ssm:a}}", true, Unknown}, "plain": "{{resolve:other:a}}1"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if value["plain"] != "{{resolve:other:a}}{{resolve:ssm:a}}" {
		t.Error("the value itself was changed")
	}
	if _, err := ResolveDynamic(ctx, []any{"{{resolve:ssm:none}}"}, r); err == nil || err.Error() != "not found" {
		t.Errorf("got %v", err)
	}
	if _, err := ResolveDynamic(ctx, "{{resolve:ssm:a:x}}", r); err == nil || err.Error() != "Incorrect format is used in the following SSM reference: [{{resolve:ssm:a:x}}]" {
		t.Errorf("got %v", err)
	}
}

func TestSecretKey(t *testing.T) {
	for _, tt := range []struct{ secret, key, want, failure string }{
		{"plain", "", "plain", ""},
		{`{"k": "v", "n": 1.50, "o": {"a": 1}}`, "k", "v", ""},
		{`{"k": "v", "n": 1.50}`, "n", "1.50", ""},
		{`{"o": {"a": 1}}`, "o", `{"a":1}`, ""},
		{`{"k": "v"}`, "x", "", "Could not find a value associated with JSONKey in SecretString"},
		{"plain", "k", "", "Could not parse SecretString JSON"},
	} {
		if got, failure := SecretKey(tt.secret, tt.key); got != tt.want || failure != tt.failure {
			t.Errorf("%s %s: got %q, %q", tt.secret, tt.key, got, failure)
		}
	}
}

func TestSummary(t *testing.T) {
	parsed, err := Parse("t", []byte(`{"AWSTemplateFormatVersion": "2010-09-09", "Metadata": {"TopicName": "it's", "n": [1, true]}, "Transform": "M",
		"Resources": {"A": {"Type": "T"}, "R": {"Type": "AWS::IAM::Role"}, "B": {"Type": "T"}, "P": {"Type": "AWS::IAM::Policy", "Properties": {"PolicyName": "x"}}}}`), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := Summary{
		Version: "2010-09-09", Metadata: `{'TopicName': 'it\'s', 'n': [1, true]}`, Transforms: []string{"M"},
		Capabilities:       []string{CapabilityIAM, CapabilityAutoExpand},
		CapabilitiesReason: "The following resource(s) require capabilities: [AWS::IAM::Role, AWS::IAM::Policy] The following transform(s) require capabilities: [M]",
		Types:              []TypeSummary{{"T", []string{"A", "B"}}, {"AWS::IAM::Role", []string{"R"}}, {"AWS::IAM::Policy", []string{"P"}}},
	}
	if got := parsed.Summary(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestBindKeepsPreviousValues(t *testing.T) {
	parsed, err := Parse("t", []byte("Parameters: {A: {Type: String}, B: {Type: String, NoEcho: true}, S: {Type: 'AWS::SSM::Parameter::Value<List<String>>'}}\n"+simple), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	previous := &Parameters{Bound: []Bound{{Key: "B", Value: "old"}, {Key: "S", Value: "list", Resolved: "stale", Stored: true, List: true}}}
	bound, err := parsed.Bind(context.Background(), BindInput{Previous: previous, Store: stored{}, Supplied: []Supplied{
		{Key: "A", HasValue: true}, {Key: "B", UsePrevious: true}, {Key: "S", UsePrevious: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Bound{{Key: "A"}, {Key: "B", Value: "old", NoEcho: true}, {Key: "S", Value: "list", Resolved: "a,b", Stored: true, List: true}}
	if !reflect.DeepEqual(bound.Bound, want) {
		t.Errorf("got  %+v\nwant %+v", bound.Bound, want)
	}
	if b, _ := bound.Get("B"); b.Shown() != Mask {
		t.Error("a NoEcho parameter is shown")
	}
	if bound.Equal(previous) || !bound.Equal(bound) {
		t.Error("Equal")
	}
}
