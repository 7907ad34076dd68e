package cli

import (
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/proving/httptape"
)

// TestUndeclared: after a recording, the actions that the schema lacks are named.
func TestUndeclared(t *testing.T) {
	tape, err := httptape.Read(strings.NewReader(`{"httptape":1,"typeName":"A::B::C"}
{"method":"POST","url":"https://sqs.eu-west-1.amazonaws.com/","requestBody":"Action=CreateQueue","status":200}
{"method":"POST","url":"https://sqs.eu-west-1.amazonaws.com/","requestBody":"Action=TagQueue","status":200}`))
	if err != nil {
		t.Fatal(err)
	}
	for declared, want := range map[string]string{
		`["sqs:CreateQueue"]`: "the handlers called actions that the schema does not declare:\n  sqs:TagQueue\nhint: add them to the permissions of the handlers in the schema; cfn generate then writes them into the role\n",
		`["sqs:*"]`:           "",
	} {
		s, problems := schema.Load("s.json", []byte(`{"typeName": "A::B::C", "description": "d", "additionalProperties": false, "properties": {"Id": {"type": "string"}}, "primaryIdentifier": ["/properties/Id"],
			"tagging": {"taggable": false}, "handlers": {"create": {"permissions": `+declared+`}, "read": {"permissions": []}, "delete": {"permissions": []}}}`), schema.Config{Kind: schema.Resource})
		if s == nil {
			t.Fatal(problems.Err())
		}
		var out strings.Builder
		(&app{Env: &Env{Stderr: &out}}).noteUndeclared(tape, s)
		if out.String() != want {
			t.Errorf("%s: %q, want %q", declared, out.String(), want)
		}
	}
}
