package permissions

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// schemas of a queue, a function with a role, and a registered type.
var schemas = map[string]string{
	"AWS::SQS::Queue": `{"typeName": "AWS::SQS::Queue", "description": "d", "additionalProperties": false, "primaryIdentifier": ["/properties/QueueUrl"],
		"properties": {"QueueName": {"type": "string"}, "QueueUrl": {"type": "string"}, "KmsMasterKeyId": {"type": "string"}, "Note": {"type": "string"}, "Tags": {"type": "object"}}, "readOnlyProperties": ["/properties/QueueUrl"],
		"tagging": {"taggable": true, "permissions": ["sqs:TagQueue"]},
		"handlers": {"create": {"permissions": ["SQS:createqueue", "s3:REST.PUT.OBJECT", "iam:PassRole", "sqs:Fly"]}, "read": {"permissions": ["sqs:ListQueues"]},
			"update": {"permissions": ["sqs:SetQueueAttributes"]}, "delete": {"permissions": ["sqs:DeleteQueue"]}}}`,
	"AWS::Lambda::Function": `{"typeName": "AWS::Lambda::Function", "description": "d", "additionalProperties": false, "primaryIdentifier": ["/properties/FunctionName"],
		"properties": {"FunctionName": {"type": "string"}, "Role": {"type": "string"}, "VpcConfig": {"type": "object"}, "Tags": {"type": "object"}}, "tagging": {"taggable": true, "tagUpdatable": false},
		"handlers": {"create": {"permissions": ["lambda:CreateFunction"]}, "delete": {"permissions": ["lambda:DeleteFunction"]}, "read": {"permissions": []}}}`,
	"Acme::Shop::Order": `{"typeName": "Acme::Shop::Order", "description": "d", "additionalProperties": false, "primaryIdentifier": ["/properties/Name"],
		"properties": {"Name": {"type": "string"}}, "tagging": {"taggable": false}, "handlers": {"create": {"permissions": ["dynamodb:PutItem"]}}}`,
}

func typesOf(t *testing.T) func(string) (Type, error) {
	return func(name string) (Type, error) {
		text, ok := schemas[name]
		if !ok {
			return Type{}, nil
		}
		s, problems := schema.Load(name, []byte(text), schema.Config{Kind: schema.Resource})
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		return Type{Schema: s, Role: !strings.HasPrefix(name, "AWS::")}, nil
	}
}

func scopeOf(t *testing.T, resources string) *template.Scope {
	t.Helper()
	parsed, err := template.Parse("t.json", []byte(`{"Resources": {`+resources+`}}`), template.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scope, err := parsed.NewScope(template.ScopeInput{Pseudo: template.Pseudo{AccountID: "*", Region: "eu-west-1", StackName: "shop"}})
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

const queueAndFunction = `
	"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Fn::Sub": "q-${AWS::AccountId}"}, "KmsMasterKeyId": {"Ref": "K"}, "Note": "{{resolve:ssm-secure:/db/pw:1}}"}},
	"R": {"Type": "AWS::IAM::Role", "Properties": {"Path": "/app/", "AssumeRolePolicyDocument": {"Statement": {"Principal": {"Service": "lambda.amazonaws.com"}}}}},
	"K": {"Type": "AWS::KMS::Key"},
	"F": {"Type": "AWS::Lambda::Function", "Properties": {"Role": {"Fn::GetAtt": "R.Arn"}, "VpcConfig": {"SubnetIds": ["s"]}}},
	"C": {"Type": "Custom::Seed", "Properties": {"ServiceToken": {"Fn::GetAtt": "F.Arn"}}},
	"N": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "https://box.s3.eu-west-1.amazonaws.com/net.yaml"}},
	"O": {"Type": "Acme::Shop::Order"}`

func TestCompute(t *testing.T) {
	scope := scopeOf(t, queueAndFunction)
	place := Place{"aws", "eu-west-1", "123456789012", "shop"}
	change := func(id string, kind Kind) Change {
		return Change{LogicalID: id, Type: scope.Template().Resource(id).Type, Kind: kind, Scope: scope}
	}
	for _, test := range []struct {
		name   string
		change Change
		role   string
		want   []string // identity action on… why
		remark string
	}{
		{"create", change("Q", Create), "", []string{
			"caller kms:CreateGrant arn:aws:kms:eu-west-1:*:key/* key", "caller kms:Decrypt arn:aws:kms:eu-west-1:*:key/* key", "caller kms:Decrypt arn:aws:kms:eu-west-1:*:key/* reference",
			"caller kms:DescribeKey arn:aws:kms:eu-west-1:*:key/* key", "caller kms:Encrypt arn:aws:kms:eu-west-1:*:key/* key", "caller kms:GenerateDataKey arn:aws:kms:eu-west-1:*:key/* key",
			"caller sqs:CreateQueue arn:aws:sqs:eu-west-1:123456789012:q-* handler", "caller sqs:DeleteQueue arn:aws:sqs:eu-west-1:123456789012:q-* rollback", "caller sqs:Fly * handler unknown",
			"caller sqs:ListQueues * read-back", "caller sqs:TagQueue arn:aws:sqs:eu-west-1:123456789012:q-* tagging", "caller ssm:GetParameters arn:aws:ssm:eu-west-1:123456789012:parameter/db/pw reference",
		}, `"s3:REST.PUT.OBJECT", which the schema declares, is not an action and is left out`},
		{"update with a role", change("Q", Update), "arn:aws:iam::123456789012:role/deploy", []string{
			"caller iam:PassRole arn:aws:iam::123456789012:role/deploy cloudformation",
			"role kms:CreateGrant arn:aws:kms:eu-west-1:*:key/* key", "role kms:Decrypt arn:aws:kms:eu-west-1:*:key/* key", "role kms:Decrypt arn:aws:kms:eu-west-1:*:key/* reference",
			"role kms:DescribeKey arn:aws:kms:eu-west-1:*:key/* key", "role kms:Encrypt arn:aws:kms:eu-west-1:*:key/* key", "role kms:GenerateDataKey arn:aws:kms:eu-west-1:*:key/* key",
			"role sqs:ListQueues * read-back", "role sqs:SetQueueAttributes arn:aws:sqs:eu-west-1:123456789012:q-* handler", "role sqs:TagQueue arn:aws:sqs:eu-west-1:123456789012:q-* tagging",
			"role ssm:GetParameters arn:aws:ssm:eu-west-1:123456789012:parameter/db/pw reference",
		}, ""},
		{"a role of the stack is passed to the service that it trusts", change("F", Create), "", []string{
			"caller ec2:DescribeSecurityGroups * network", "caller ec2:DescribeSubnets * network", "caller ec2:DescribeVpcs * network",
			"caller iam:PassRole arn:aws:iam::123456789012:role/app/shop-R-* pass-role iam:PassedToService=[lambda.amazonaws.com]",
			"caller lambda:CreateFunction arn:aws:lambda:eu-west-1:123456789012:function:shop-F-* handler", "caller lambda:DeleteFunction arn:aws:lambda:eu-west-1:123456789012:function:shop-F-* rollback",
			"caller lambda:ListTags arn:aws:lambda:eu-west-1:123456789012:function:shop-F-* tagging", "caller lambda:TagResource arn:aws:lambda:eu-west-1:123456789012:function:shop-F-* tagging", "caller lambda:UntagResource arn:aws:lambda:eu-west-1:123456789012:function:shop-F-* tagging",
		}, "the schema declares no permissions for some handlers, so they are not known"},
		{"a custom resource", change("C", Delete), "", []string{"caller lambda:InvokeFunction arn:aws:lambda:eu-west-1:123456789012:function:shop-F-* function"}, ""},
		{"a nested stack", change("N", Delete), "", []string{
			"caller cloudformation:DeleteStack arn:aws:cloudformation:eu-west-1:123456789012:stack/shop-* cloudformation",
			"caller cloudformation:DescribeStacks arn:aws:cloudformation:eu-west-1:123456789012:stack/shop-* cloudformation",
		}, ""},
		{"a type with an execution role", change("O", Create), "", []string{"Acme::Shop::Order dynamodb:PutItem arn:aws:dynamodb:eu-west-1:123456789012:table/* handler"}, ""},
		{"a type without a schema", change("R", Create), "", nil, "no schema of the type is known, so its permissions are not known"},
		{"an ID that exists", Change{LogicalID: "F", Type: "AWS::Lambda::Function", Kind: Delete, PhysicalID: "fn"}, "", []string{"caller lambda:DeleteFunction arn:aws:lambda:eu-west-1:123456789012:function:fn handler"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			needs, err := Compute(Input{Place: place, Changes: []Change{test.change}, RoleARN: test.role, Types: typesOf(t)})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range needs.Entries {
				line := fmt.Sprintf("%s %s %s %s", e.Identity, e.Action, strings.Join(e.On, " "), e.Why)
				if e.Unknown {
					line += " unknown"
				}
				for key, values := range e.When {
					if key == "iam:PassedToService" && e.Why == "pass-role" {
						line += fmt.Sprintf(" %s=%v", key, values)
					}
				}
				got = append(got, line)
			}
			if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
			if test.remark != "" && !slices.ContainsFunc(needs.Remarks, func(r Remark) bool { return r.Text == test.remark }) {
				t.Errorf("no remark %q in %v", test.remark, needs.Remarks)
			}
		})
	}
}

// TestPublishedTypes: of each published type, nothing that a handler declares for a change is missing but what is no action, and the
// passing of roles, which names them.
func TestPublishedTypes(t *testing.T) {
	dir := filepath.Join(fixtures.Dir(t, "schemas"), "aws")
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) < 600 {
		t.Fatalf("%d schemas, %v", len(files), err)
	}
	used := map[Kind][]string{Create: {"create", "read", "delete"}, Update: {"update", "read"}, Replace: {"create", "read", "update", "delete"}, Delete: {"delete", "read"}, Import: {"read"}}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := schema.Load(file, data, schema.Config{Kind: schema.Resource})
		if s == nil {
			continue
		}
		for kind, names := range used {
			needs, err := Compute(Input{
				Place:   Place{"aws", "us-east-1", "*", "s"},
				Changes: []Change{{LogicalID: "R", Type: s.TypeName.Value, Kind: kind}}, Types: func(string) (Type, error) { return Type{Schema: s}, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			has := map[string]bool{}
			for _, e := range needs.Entries {
				has[strings.ToLower(e.Action)] = true
			}
			for _, name := range names {
				handler := s.Handler(name)
				if handler == nil || ownTypes[s.TypeName.Value] != nil {
					continue
				}
				for _, p := range handler.Permissions {
					if wellFormed.MatchString(p.Value) && !strings.EqualFold(p.Value, "iam:PassRole") && !has[strings.ToLower(p.Value)] {
						t.Errorf("%s %s: %s is missing", s.TypeName.Value, kind, p.Value)
					}
				}
			}
		}
	}
}

func TestPolicies(t *testing.T) {
	var entries []Entry
	for i := range 400 {
		entries = append(entries, Entry{Action: fmt.Sprintf("svc:Action%03d", i), On: []string{fmt.Sprintf("arn:aws:svc:::thing/%d", i%7)}})
	}
	policies := Policies(entries, MaxPolicy)
	allowed := 0
	for _, p := range policies {
		text, err := json.Marshal(p)
		if err != nil || len(text) > MaxPolicy {
			t.Errorf("%d characters, %v", len(text), err)
		}
		for _, s := range p.Statement {
			allowed += len(s.Action)
		}
	}
	if len(policies) < 2 || allowed != len(entries) {
		t.Errorf("%d policies with %d actions", len(policies), allowed)
	}
	// One action on many resources is divided, too: without a list longer than the other, both are.
	entries = entries[:0]
	for i := range 300 {
		for _, action := range []string{"svc:Make", "svc:Read", "svc:Unmake"} {
			entries = append(entries, Entry{Action: action, On: []string{fmt.Sprintf("arn:aws:svc:::a-rather-long-name-of-a-thing/%d", i)}})
		}
	}
	policies, allowed = Policies(entries, MaxPolicy), 0
	for _, p := range policies {
		if length(p) > MaxPolicy {
			t.Errorf("%d characters", length(p))
		}
		for _, s := range p.Statement {
			allowed += len(s.Action) * len(s.Resource)
		}
	}
	if len(policies) > 4 || allowed != len(entries) {
		t.Errorf("%d policies with %d actions", len(policies), allowed)
	}
	// What is allowed on everything needs no other resource.
	merged := Statements([]Entry{{Action: "a:B", On: []string{"*"}}, {Action: "a:B", On: []string{"arn:x"}}, {Action: "a:C", On: []string{"*"}}})
	if text, _ := json.Marshal(merged); string(text) != `[{"Effect":"Allow","Action":["a:B","a:C"],"Resource":["*"]}]` {
		t.Errorf("%s", text)
	}
}

func TestAgainst(t *testing.T) {
	needed := []Entry{
		{Action: "sqs:CreateQueue", On: []string{"arn:aws:sqs:eu-west-1:1:shop-*"}},
		{Action: "iam:PassRole", On: []string{"arn:aws:iam::1:role/r"}, When: map[string][]string{"iam:PassedToService": {"lambda.amazonaws.com"}}},
	}
	for _, test := range []struct{ name, policy, want string }{
		{"wildcards", `{"Statement": {"Effect": "Allow", "Action": ["SQS:*", "iam:Pass?ole"], "Resource": "*"}}`, ""},
		{"a list of policies", `[{"Statement": {"Effect": "Allow", "Action": "sqs:*", "Resource": "arn:aws:sqs:*"}}, {"Statement": {"Effect": "Allow", "NotAction": "s3:*", "Resource": "*"}}]`, ""},
		{"a narrower resource", `{"Statement": [{"Effect": "Allow", "Action": "*", "Resource": ["arn:aws:sqs:eu-west-1:1:shop-a*", "arn:aws:iam::1:role/r"]}]}`, "missing sqs:CreateQueue"},
		{"denied", `{"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}, {"Effect": "Deny", "Action": "iam:*", "NotResource": "arn:aws:s3:::*"}]}`, "missing iam:PassRole"},
		{"others denied", `{"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}, {"Effect": "Deny", "Action": "*", "Resource": ["arn:aws:iam::*:role/admin-*", "arn:aws:sqs:*:*:a-*"]}]}`, ""},
		{"denied in part", `{"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}, {"Effect": "Deny", "Action": "sqs:*", "Resource": "arn:aws:sqs:*:*:shop-orders"}]}`, "conditional sqs:CreateQueue"},
		{"denied under a condition", `{"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}, {"Effect": "Deny", "NotAction": "iam:*", "Resource": "*", "Condition": {"StringNotEquals": {"aws:RequestedRegion": "eu-west-1"}}}]}`,
			"conditional sqs:CreateQueue"},
		{"all but some of the resources", `{"Statement": [{"Effect": "Allow", "Action": "*", "NotResource": "arn:aws:sqs:*:*:shop-orders"}]}`, "missing sqs:CreateQueue"},
		{"all but other resources", `{"Statement": [{"Effect": "Allow", "Action": "*", "NotResource": "arn:aws:sqs:*:*:other-*"}]}`, ""},
		{"not a statement", `{"Statement": ["x", {"Effect": "Allow", "Action": "*", "Resource": "*"}]}`, "remark a statement that is not an object is not read"},
		{"the condition that is needed", `{"Statement": [{"Effect": "Allow", "Action": "sqs:CreateQueue", "Resource": "*"},
			{"Effect": "Allow", "Action": "iam:PassRole", "Resource": "*", "Condition": {"StringEquals": {"iam:PassedToService": ["lambda.amazonaws.com"]}}}]}`, ""},
		{"another condition", `{"Statement": [{"Effect": "Allow", "Action": ["sqs:*", "iam:*", "s3:GetObject"], "Resource": "*", "Condition": {"Bool": {"aws:SecureTransport": "true"}}}]}`,
			"conditional sqs:CreateQueue, conditional iam:PassRole, unused s3:GetObject"},
		{"a role of a template", `{"Resources": {"R": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Statement": [{"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}]},
			"ManagedPolicyArns": ["x"], "Policies": [{"PolicyDocument": {"Statement": [{"Effect": "Allow", "Action": "iam:PassRole", "Resource": {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:role/*"}}]}}]}}}}`,
			"missing sqs:CreateQueue, remark ManagedPolicyArns is not read: pass the documents of these policies, too, remark variables of Fn::Sub are taken to match everything"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root, problems := document.ParseJSON("p.json", []byte(test.policy), document.Limits{})
			if problems.HasErrors() {
				t.Fatal(problems)
			}
			given := &Given{}
			if err := given.Read(root); err != nil {
				t.Fatal(err)
			}
			var got []string
			d := given.Against(needed)
			for _, e := range d.Missing {
				got = append(got, "missing "+e.Action)
			}
			for _, e := range d.Conditional {
				got = append(got, "conditional "+e.Action)
			}
			for _, a := range d.Unused {
				got = append(got, "unused "+a)
			}
			for _, r := range d.Remarks {
				got = append(got, "remark "+r)
			}
			if text := strings.Join(got, ", "); text != test.want {
				t.Errorf("got %s\nwant %s", text, test.want)
			}
		})
	}
	if err := (&Given{}).Read(&document.Value{Kind: document.Object}); err == nil {
		t.Error("a document without a policy is accepted")
	}
}

func TestOverlaps(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"*", "", true}, {"a*", "*b", true}, {"a*", "b*", false}, {"a?", "a", false}, {"a?c", "ab*", true}, {"", "", true}, {"a", "", false},
		{"arn:*:shop-*", "arn:aws:sqs:*:*-orders", true}, {strings.Repeat("*a", 50) + "b", strings.Repeat("a", 1000), false},
	} {
		if overlaps(test.a, test.b) != test.want || overlaps(test.b, test.a) != test.want {
			t.Errorf("overlaps(%q, %q) is not %t", test.a, test.b, test.want)
		}
	}
}

// TestUpload: a template that is uploaded is written to its bucket and read from it, whatever its URL looks like.
func TestUpload(t *testing.T) {
	for url, want := range map[string]string{
		"https://my.box.s3.eu-west-1.amazonaws.com/templates/a.template": "arn:aws:s3:::my.box/*",
		"http://127.0.0.1:4566/box/templates/a.template":                 "arn:aws:s3:::box/*",
	} {
		needs, err := Compute(Input{Place: Place{"aws", "eu-west-1", "*", "shop"}, Upload: url})
		if err != nil || len(needs.Entries) != 2 || needs.Entries[0].Action != "s3:GetObject" || needs.Entries[1].Action != "s3:PutObject" || !slices.Equal(needs.Entries[1].On, []string{want}) {
			t.Errorf("%s: %+v, %v", url, needs, err)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, test := range []struct {
		pattern, other string
		want           bool
	}{
		{"*", "", true}, {"a*", "a", true}, {"a*c", "abc*c", true}, {"a*", "*", false}, {"?", "*", false}, {"?", "?", true}, {"a?c", "abc", true},
		{"abc", "abc*", false}, {"*-*", "a-*", true}, {strings.Repeat("*a", 50), strings.Repeat("a", 100), true}, {strings.Repeat("*a", 50) + "b", strings.Repeat("a", 1000), false},
	} {
		if got := covers(test.pattern, test.other); got != test.want {
			t.Errorf("covers(%q, %q) = %t", test.pattern, test.other, got)
		}
	}
}
