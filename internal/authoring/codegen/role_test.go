package codegen

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

const hookSchema = `{
	"typeName": "Aa::Bb::Hook", "description": "A hook.", "additionalProperties": false,
	"typeConfiguration": {"properties": {"Level": {"type": "integer", "description": "How strict."}}, "required": ["Level"], "additionalProperties": false},
	"handlers": {
		"preDelete": {"targetNames": ["AWS::S3::*"], "permissions": ["s3:ListBucket"]},
		"preCreate": {"targetNames": ["AWS::S3::*", "AWS::EC2::Instance"], "permissions": ["s3:GetBucket*", "s3:ListBucket"]}
	}
}`

// role is the template as cfn-cli.md §4.1 fixes it, in the shapes of encoding/json.
func role(kind, purpose, principal, policy, effect, actions string, seconds int) string {
	return fmt.Sprintf(`{"AWSTemplateFormatVersion": "2010-09-09",
	"Description": "This CloudFormation template creates a role assumed by CloudFormation %s on behalf of the customer.\n",
	"Resources": {"ExecutionRole": {"Type": "AWS::IAM::Role", "Properties": {
		"MaxSessionDuration": %d,
		"AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": %s}, "Action": "sts:AssumeRole",
			"Condition": {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}},
				"StringLike": {"aws:SourceArn": {"Fn::Sub": "arn:${AWS::Partition}:cloudformation:${AWS::Region}:${AWS::AccountId}:type/%s/*"}}}}]},
		"Path": "/",
		"Policies": [{"PolicyName": "%s", "PolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "%s", "Action": %s, "Resource": "*"}]}}]}}},
	"Outputs": {"ExecutionRoleArn": {"Value": {"Fn::GetAtt": "ExecutionRole.Arn"}}}}`, purpose, seconds, principal, kind, policy, effect, actions)
}

func TestRoleTemplate(t *testing.T) {
	resource := func(handlers string) string {
		return `{"typeName": "Aa::Bb::Cc", "description": "d", "properties": {"A": {"type": "string"}}, "primaryIdentifier": ["/properties/A"], "additionalProperties": false, "handlers": ` + handlers + `}`
	}
	want := func(effect, actions string, seconds int) string {
		return role("resource/Aa-Bb-Cc", "during CRUDL operations to mutate resources", `"resources.cloudformation.amazonaws.com"`, "ResourceTypePolicy", effect, actions, seconds)
	}
	for _, c := range []struct{ name, schema, file, want string }{
		{"permissions are a sorted set", resource(`{"create": {"permissions": ["b:Two", "", "a:One"]}, "read": {"permissions": ["a:One", "B:Zero"]}}`), "resource-role.yaml",
			want("Allow", `["B:Zero", "a:One", "b:Two"]`, 8400)},
		{"no permissions", resource(`{"read": {"permissions": []}}`), "resource-role.yaml", want("Deny", `["*"]`, 8400)},
		{"no handlers", resource(`{}`), "resource-role.yaml", want("Deny", `["*"]`, 8400)},
		{"at least an hour", resource(`{"create": {"permissions": [], "timeoutInMinutes": 2}}`), "resource-role.yaml", want("Deny", `["*"]`, 3600)},
		{"the longest counts", resource(`{"create": {"permissions": [], "timeoutInMinutes": 130}, "delete": {"permissions": [], "timeoutInMinutes": 2}}`), "resource-role.yaml", want("Deny", `["*"]`, 9100)},
		{"a missing time-out counts", resource(`{"create": {"permissions": [], "timeoutInMinutes": 2}, "delete": {"permissions": []}}`), "resource-role.yaml", want("Deny", `["*"]`, 8400)},
		{"at most twelve hours", resource(`{"create": {"permissions": [], "timeoutInMinutes": 2160}}`), "resource-role.yaml", want("Deny", `["*"]`, 43200)},
		{"strange permissions are quoted", resource(`{"create": {"permissions": ["a:*", "\"b: #\\c"]}}`), "resource-role.yaml", want("Allow", `["\"b: #\\c", "a:*"]`, 8400)},
		{"a hook", hookSchema, "hook-role.yaml", role("hook/Aa-Bb-Hook", "during Hook operations", `["hooks.cloudformation.amazonaws.com", "resources.cloudformation.amazonaws.com"]`, "HookTypePolicy", "Allow", `["s3:GetBucket*", "s3:ListBucket"]`, 8400)},
	} {
		t.Run(c.name, func(t *testing.T) {
			files, err := Generate(Input{Schema: parse(t, c.schema)})
			if err != nil {
				t.Fatal(err)
			}
			text := fileNamed(t, files, c.file)
			if !IsGenerated(c.file, []byte(text)) {
				t.Error("the file does not say that it is generated")
			}
			var got, want any
			if err := yaml.Unmarshal([]byte(text), &got); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			asJSON, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			var again any
			if err := json.Unmarshal(asJSON, &again); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(again, want) {
				t.Errorf("got %s\nwant %s", asJSON, c.want)
			}
		})
	}
	t.Run("no handlers at all", func(t *testing.T) {
		s := parse(t, strings.Replace(resource("{}"), `, "handlers": {}`, "", 1))
		files, err := Generate(Input{Schema: s})
		if err != nil || slices.ContainsFunc(files, func(f File) bool { return strings.HasSuffix(f.Path, "-role.yaml") }) {
			t.Errorf("files %v, error %v: there is nothing that the role could be for", files, err)
		}
	})
}
