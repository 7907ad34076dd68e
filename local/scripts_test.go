package local_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// childTemplate is that of the nested stacks.
const childTemplate = `
Parameters: {Note: {Type: String}, Trouble: {Type: String, Default: ""}}
Conditions: {Troubled: !Not [!Equals [!Ref Trouble, ""]]}
Resources:
  Inner: {Type: Formwork::Test::Thing, Properties: {Note: !Ref Note, Trouble: !If [Troubled, !Ref Trouble, !Ref AWS::NoValue]}}
  After: {Type: Formwork::Test::Thing, Properties: {Note: !Ref Inner}}
Outputs: {Inner: {Value: !Ref Inner}}
`

// A sketch is a template with everything that the campaign is about: a chain and branches
// beside it, a replacement, a resource that stays, a nested stack, types of the server.
type sketch struct {
	name    string // of the thing A: another one replaces it
	note    string // of several
	extra   string // more resources
	without string // resources that are left out
}

func (s sketch) String() string {
	resources := map[string]string{
		"A":      fmt.Sprintf("{Type: Formwork::Test::Thing, Properties: {Name: %s, Note: first}}", s.name),
		"B":      "{Type: Formwork::Test::Thing, DependsOn: C, Properties: {Note: !Ref A}}",
		"C":      fmt.Sprintf("{Type: Formwork::Test::Thing, Properties: {Note: %s}}", s.note),
		"D":      "{Type: Formwork::Test::Thing, DependsOn: [B, Parameter], Properties: {Note: last}}",
		"Keep":   "{Type: Formwork::Test::Thing, DeletionPolicy: Retain, Properties: {Note: stays}}",
		"Bucket": fmt.Sprintf("{Type: AWS::S3::Bucket, Properties: {Tags: [{Key: note, Value: %s}]}}", s.note),
		"Child": fmt.Sprintf("{Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: https://s3.amazonaws.com/%s/child.yaml, Parameters: {Note: %s}}}",
			templatesBucket, s.note),
		"Parameter": "{Type: AWS::SSM::Parameter, Properties: {Type: String, Name: !Sub '/${AWS::StackName}/p', Value: !Sub '${A} and ${C}'}}",
	}
	var b strings.Builder
	b.WriteString("Resources:\n")
	for _, name := range []string{"A", "B", "C", "D", "Keep", "Bucket", "Child", "Parameter"} {
		if !strings.Contains(s.without, name) {
			fmt.Fprintf(&b, "  %s: %s\n", name, resources[name])
		}
	}
	for line := range strings.Lines(s.extra) {
		fmt.Fprintf(&b, "  %s\n", strings.TrimSpace(line))
	}
	b.WriteString("Outputs:\n  A: {Value: !Ref A}\n")
	if !strings.Contains(s.without, "Child") {
		b.WriteString("  Inner: {Value: !GetAtt Child.Outputs.Inner}\n")
	}
	return b.String()
}

func create(s fmt.Stringer) func(context.Context, clients, *driver, string) error {
	return func(ctx context.Context, c clients, d *driver, token string) error {
		out, err := c.CreateStack(ctx, &cloudformation.CreateStackInput{StackName: &d.stack, TemplateBody: aws.String(s.String()), ClientRequestToken: &token})
		if err == nil {
			d.id = *out.StackId
		}
		return err
	}
}

func update(s fmt.Stringer) func(context.Context, clients, *driver, string) error {
	return func(ctx context.Context, c clients, d *driver, token string) error {
		_, err := c.UpdateStack(ctx, &cloudformation.UpdateStackInput{StackName: &d.stack, TemplateBody: aws.String(s.String()), ClientRequestToken: &token})
		return err
	}
}

func remove(ctx context.Context, c clients, d *driver, token string) error {
	_, err := c.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: aws.String(d.ref()), ClientRequestToken: &token})
	return err
}

// execute makes a change set and executes it.
func execute(kind types.ChangeSetType, s fmt.Stringer, resources ...types.ResourceToImport) func(context.Context, clients, *driver, string) error {
	return func(ctx context.Context, c clients, d *driver, token string) error {
		set := "set-" + token
		_, err := c.CreateChangeSet(ctx, &cloudformation.CreateChangeSetInput{StackName: &d.stack, ChangeSetName: &set, ChangeSetType: kind, TemplateBody: aws.String(s.String()), ResourcesToImport: resources})
		if err != nil && codeOf(err) != "AlreadyExistsException" {
			return err
		}
		for {
			out, err := c.DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{StackName: &d.stack, ChangeSetName: &set})
			if err != nil {
				return err
			}
			if out.Status == types.ChangeSetStatusCreateComplete {
				break
			}
			if out.Status == types.ChangeSetStatusFailed {
				return fmt.Errorf("the change set failed: %s", aws.ToString(out.StatusReason))
			}
			letRun(20 * time.Millisecond)
		}
		_, err = c.ExecuteChangeSet(ctx, &cloudformation.ExecuteChangeSetInput{StackName: &d.stack, ChangeSetName: &set, ClientRequestToken: &token})
		return err
	}
}

// interrupted sends a request, and another one while the operation runs.
func interrupted(first func(context.Context, clients, *driver, string) error, then func(ctx context.Context, c clients, d *driver) error) func(context.Context, clients, *driver, string) error {
	return func(ctx context.Context, c clients, d *driver, token string) error {
		if err := first(ctx, c, d, token); err != nil {
			return err
		}
		letRun(time.Duration(d.chances.IntN(400)) * time.Millisecond)
		return then(ctx, c, d)
	}
}

func cancelUpdate(ctx context.Context, c clients, d *driver) error {
	_, err := c.CancelUpdateStack(ctx, &cloudformation.CancelUpdateStackInput{StackName: &d.stack})
	if codeOf(err) == "ValidationError" {
		return nil // it is over
	}
	return err
}

func deleteNow(ctx context.Context, c clients, d *driver) error {
	_, err := c.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: aws.String(d.ref())})
	return err
}

// scripts are what stacks are taken through, by name.
var scripts = map[string][]turn{
	"life": {
		{name: "create", send: create(sketch{name: "a", note: "one"}), want: status("CREATE_COMPLETE")},
		{name: "update with a replacement", send: update(sketch{name: "b", note: "two", without: "D", extra: "E: {Type: Formwork::Test::Thing, Properties: {Note: !Ref B}}"}), want: status("UPDATE_COMPLETE")},
		{name: "update that fails at its end", send: update(sketch{name: "c", note: "three", extra: `E: {Type: Formwork::Test::Thing, Properties: {Note: !Ref B}}
			Z: {Type: Formwork::Test::Thing, DependsOn: [D, E, Keep, Bucket, Child], Properties: {Trouble: create-late}}`}), want: status("UPDATE_ROLLBACK_COMPLETE")},
		{name: "change set", send: execute(types.ChangeSetTypeUpdate, sketch{name: "d", note: "four"}), want: status("UPDATE_COMPLETE")},
		{name: "delete", send: remove, want: status("DELETE_COMPLETE")},
	},
	"failures": {
		{name: "create that fails at its end", send: create(sketch{name: "a", note: "one", without: "Keep",
			extra: "Z: {Type: Formwork::Test::Thing, DependsOn: [D, Bucket, Child], Properties: {Trouble: create}}"}), want: status("ROLLBACK_COMPLETE")},
		{name: "delete what is left", send: remove, want: status("DELETE_COMPLETE")},
	},
	"sets": {
		{name: "change set for a new stack", send: execute(types.ChangeSetTypeCreate, sketch{name: "a", note: "one"}), want: status("CREATE_COMPLETE")},
		{name: "change set that fails", send: execute(types.ChangeSetTypeUpdate, sketch{name: "b", note: "two",
			extra: "Z: {Type: Formwork::Test::Thing, DependsOn: [D, Keep, Bucket, Child], Properties: {Trouble: create-late}}"}), want: status("UPDATE_ROLLBACK_COMPLETE")},
		{name: "update among other branches that fails", send: update(sketch{name: "c", note: "five", extra: "Z: {Type: Formwork::Test::Thing, Properties: {Trouble: create}}"}),
			want: status("UPDATE_ROLLBACK_COMPLETE"), loose: true},
		{name: "update that is cancelled", send: interrupted(update(sketch{name: "d", note: "six"}), cancelUpdate), want: status("UPDATE_ROLLBACK_COMPLETE", "UPDATE_COMPLETE"), loose: true},
		{name: "delete", send: remove, want: status("DELETE_COMPLETE"), loose: true},
	},
	"stopped": {
		{name: "create that is stopped by a delete", send: interrupted(create(sketch{name: "a", note: "one", without: "Keep"}), deleteNow), want: status("DELETE_COMPLETE", "CREATE_COMPLETE"), loose: true},
		{name: "delete", send: remove, want: status("DELETE_COMPLETE"), loose: true},
	},
}

func status(names ...types.StackStatus) []types.StackStatus { return names }
