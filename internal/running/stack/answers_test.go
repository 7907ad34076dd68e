package stack

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// TestPolicyByCondition decides a DeletionPolicy with Fn::If, without a transform.
func TestPolicyByCondition(t *testing.T) {
	t.Parallel()
	body := "Parameters: {Keep: {Type: String}}\nConditions: {C: !Equals [!Ref Keep, 'yes']}\n" + things("A: {DeletionPolicy: !If [C, Retain, Delete], UpdateReplacePolicy: !If [C, Retain, Delete]}")
	for keep, want := range map[string]string{"yes": "a-1", "no": ""} {
		g := onSQLite(t)
		s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(body), Parameters: []types.Parameter{{ParameterKey: aws.String("Keep"), ParameterValue: aws.String(keep)}}})
		g.expectStatus(s, types.StackStatusCreateComplete, "")
		g.expectStatus(g.delete(*s.StackId, &cloudformation.DeleteStackInput{}), types.StackStatusDeleteComplete, "")
		if left := strings.Join(g.world.ids(), " "); left != want {
			t.Errorf("Keep=%s: %q is left", keep, left)
		}
	}
}

// TestChangeSetsOfOthers are change sets that are refused for the state of their stacks.
func TestChangeSetsOfOthers(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	_, err := g.CreateChangeSet(t.Context(), owner, &cloudformation.CreateChangeSetInput{
		StackName: aws.String("app"), ChangeSetName: aws.String("one"), ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: aws.String("Parameters: {P: {Type: String}}\n" + things("A: {}")),
		Parameters: []types.Parameter{{ParameterKey: aws.String("P"), UsePreviousValue: aws.Bool(true)}},
	})
	refusedWith(t, err, "ValidationError", "Cannot specify UsePreviousValue on Parameters when ChangeSetType is CREATE")
	set := g.create("one", types.ChangeSetTypeCreate, things("A: {}"))
	valued, err := g.DescribeChangeSet(t.Context(), owner, &cloudformation.DescribeChangeSetInput{ChangeSetName: set.ChangeSetId, IncludePropertyValues: aws.Bool(true)})
	if err != nil || aws.ToString(valued.Changes[0].ResourceChange.AfterContext) != `{"Properties":{}}` {
		t.Errorf("a resource without properties: %s, %v", encode(valued), err)
	}
	s := g.execute(*set.ChangeSetId)
	if c := g.describe(*set.ChangeSetId); c.ExecutionStatus != types.ExecutionStatusExecuteComplete {
		t.Errorf("after its execution: %s", encode(c))
	}
	g.expectStatus(g.delete(*s.StackId, &cloudformation.DeleteStackInput{}), types.StackStatusDeleteComplete, "")
	_, err = g.DescribeChangeSet(t.Context(), owner, &cloudformation.DescribeChangeSetInput{ChangeSetName: set.ChangeSetId})
	refusedWith(t, err, "ChangeSetNotFoundException", "ChangeSet ["+*set.ChangeSetId+"] does not exist")
	_, err = g.CreateChangeSet(t.Context(), owner, &cloudformation.CreateChangeSetInput{
		StackName: s.StackId, ChangeSetName: aws.String("again"), ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: aws.String(things("A: {}")),
	})
	refusedWith(t, err, "ValidationError", "Stack ["+*s.StackId+"] already exists and cannot be created again with the changeSet [again].")
}

// TestValidateTemplateTypes refuses types that do not exist, as the other operations do.
func TestValidateTemplateTypes(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	unknown := "Resources: {A: {Type: 'Acme::No::Such'}}\n"
	_, err := g.ValidateTemplate(t.Context(), owner, &cloudformation.ValidateTemplateInput{TemplateBody: &unknown})
	if got := refusal(t, err); got != "ValidationError: Template format error: Unrecognized resource types: [Acme::No::Such]" {
		t.Error(got)
	}
	for _, body := range []string{things("A: {}"), "Transform: Mine\n" + unknown} { // a transform may replace the type
		if _, err := g.ValidateTemplate(t.Context(), owner, &cloudformation.ValidateTemplateInput{TemplateBody: &body}); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestUnprovisionableTypes refuses registered types that lack a handler that a stack needs.
func TestUnprovisionableTypes(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	typ := typeOf(t, `{"typeName": "Acme::Test::Lame", "description": "d", "additionalProperties": false, "properties": {"Id": {"type": "string"}},
		"primaryIdentifier": ["/properties/Id"], "handlers": {"read": {"permissions": []}}}`)
	typ.Version, typ.Provider = "00000001", g.world
	g.world.types[typ.Name] = typ
	_, err := g.CreateStack(t.Context(), owner, &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String("Resources: {A: {Type: 'Acme::Test::Lame'}}")})
	if got := refusal(t, err); got != "ValidationError: Template format error: Unrecognized resource types: [Acme::Test::Lame]" {
		t.Error(got)
	}
}

// TestContinueRollbackOfChild refuses a nested stack: its root stack is continued.
func TestContinueRollbackOfChild(t *testing.T) {
	g, child := failedNestedRollback(t, false)
	_, err := g.ContinueUpdateRollback(t.Context(), owner, &cloudformation.ContinueUpdateRollbackInput{StackName: child.StackId})
	if got := refusal(t, err); got != "ValidationError: RollbackUpdatedStack cannot be invoked on child stacks" {
		t.Error(got)
	}
}

// plainMacros answers with the template that it gets.
type plainMacros struct{}

func (plainMacros) Include(context.Context, string) ([]byte, error) { return nil, nil }
func (plainMacros) Transform(_ context.Context, call template.MacroCall) ([]byte, error) {
	return []byte(`{"requestId": "r", "status": "success", "fragment": ` + string(call.Fragment) + `}`), nil
}

// TestUpdateWithTransform updates with the template of before: what a transform makes of it is known afterwards.
func TestUpdateWithTransform(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.config.Macros = func(awswire.Caller) template.Macros { return plainMacros{} }
	plain, transformed := things("A: {}"), "Transform: Mine\n"+things("A: {}")
	capabilities := []types.Capability{types.CapabilityCapabilityAutoExpand}
	g.create(&cloudformation.CreateStackInput{StackName: aws.String("plain"), TemplateBody: &plain})
	_, err := g.UpdateStack(t.Context(), owner, &cloudformation.UpdateStackInput{StackName: aws.String("plain"), TemplateBody: &plain})
	if got := refusal(t, err); got != "ValidationError: No updates are to be performed." {
		t.Error(got)
	}
	g.create(&cloudformation.CreateStackInput{TemplateBody: &transformed, Capabilities: capabilities})
	g.expectStatus(g.update(&cloudformation.UpdateStackInput{TemplateBody: &transformed, Capabilities: capabilities}), types.StackStatusUpdateComplete, "")
	if n := len(slices.DeleteFunc(g.world.calls, func(call string) bool { return !strings.HasPrefix(call, "UPDATE") })); n != 0 {
		t.Errorf("%d resources were updated", n)
	}
}

// TestNestExistingStack imports a stack into another one.
func TestNestExistingStack(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	body := "Parameters: {Note: {Type: String, Default: n}}\n" + things("X: {Properties: {Note: !Ref Note}}")
	g.world.offers("https://t/kid", body)
	g.world.offers("https://t/other", things("Y: {}"))
	kid := g.rig.create(&cloudformation.CreateStackInput{StackName: aws.String("kid"), TemplateBody: &body})
	g.rig.create(&cloudformation.CreateStackInput{StackName: aws.String("app"), TemplateBody: aws.String(things("A: {}"))})
	parent := g.rig.create(&cloudformation.CreateStackInput{StackName: aws.String("parent"), TemplateBody: aws.String(things(nests("N", "kid")))})
	outer := func(lines ...string) string {
		line := strings.Join(lines, "")
		return things("A: {}", strings.Replace(line, "Properties:", "DeletionPolicy: Retain, Properties:", 1))
	}
	importing := func(identifier map[string]string) func(*cloudformation.CreateChangeSetInput) {
		return func(in *cloudformation.CreateChangeSetInput) {
			in.ResourcesToImport = []types.ResourceToImport{{LogicalResourceId: aws.String("Kid"), ResourceType: aws.String(stackType), ResourceIdentifier: identifier}}
		}
	}
	arn := *kid.StackId
	in := &cloudformation.CreateChangeSetInput{StackName: aws.String("app"), ChangeSetName: aws.String("x"), ChangeSetType: types.ChangeSetTypeImport, TemplateBody: aws.String(outer(nests("Kid", "kid")))}
	importing(map[string]string{"Id": arn})(in)
	_, err := g.CreateChangeSet(t.Context(), owner, in)
	refusedWith(t, err, "ValidationError", "Invalid resource identifier for resource type AWS::CloudFormation::Stack. Expected [StackId]")
	for name, test := range map[string]struct{ id, body, want string }{
		"missing":   {strings.Replace(arn, "/kid/", "/nobody/", 1), outer(nests("Kid", "kid")), "Stack not found"},
		"itself":    {*g.settled("app").StackId, outer(nests("Kid", "kid")), "cannot be nested in itself"},
		"children":  {*parent.StackId, outer(nests("Kid", "kid")), "Stacks to be imported cannot have any child stacks."},
		"template":  {arn, outer(nests("Kid", "other")), "differs from that of stack " + arn},
		"parameter": {arn, outer(nests("Kid", "kid", "Note: m")), "The parameter Note of Kid differs"},
	} {
		if set := g.create("x"+name, types.ChangeSetTypeImport, test.body, importing(map[string]string{"StackId": test.id})); set.Status != types.ChangeSetStatusFailed || !strings.Contains(aws.ToString(set.StatusReason), test.want) {
			t.Errorf("%s: %s %q", name, set.Status, aws.ToString(set.StatusReason))
		}
	}
	set := g.create("nest", types.ChangeSetTypeImport, outer(nests("Kid", "kid", "Note: n")), importing(map[string]string{"StackId": arn}))
	g.expectStatus(g.execute(*set.ChangeSetId), types.StackStatusImportComplete, "")
	if kid = g.settled(arn); aws.ToString(kid.ParentId) != *g.settled("app").StackId || aws.ToString(kid.RootId) != *kid.ParentId {
		t.Errorf("the nested stack: %s", encode(kid))
	}
	set = g.create("twice", types.ChangeSetTypeImport, outer(nests("Kid", "kid", "Note: n"))+"  M: {Type: 'AWS::CloudFormation::Stack', DeletionPolicy: Retain, Properties: {TemplateURL: 'https://t/kid'}}\n",
		func(in *cloudformation.CreateChangeSetInput) {
			in.ResourcesToImport = []types.ResourceToImport{{LogicalResourceId: aws.String("M"), ResourceType: aws.String(stackType), ResourceIdentifier: map[string]string{"StackId": arn}}}
		})
	if want := arn + " already exists in stack " + *kid.ParentId; aws.ToString(set.StatusReason) != want {
		t.Errorf("nested twice: %s %q", set.Status, aws.ToString(set.StatusReason))
	}
	g.world.offers("https://t/kid2", strings.Replace(body, "Default: n", "Default: m", 1))
	g.expectStatus(g.update(&cloudformation.UpdateStackInput{StackName: aws.String("app"), TemplateBody: aws.String(outer(nests("Kid", "kid2")))}), types.StackStatusUpdateComplete, "")
	summary, err := g.GetTemplateSummary(t.Context(), owner, &cloudformation.GetTemplateSummaryInput{TemplateBody: aws.String(outer(nests("Kid", "kid")))})
	if err != nil || !strings.Contains(encode(summary.ResourceIdentifierSummaries), `"StackId"`) {
		t.Errorf("%s, %v", encode(summary), err)
	}
}

// TestPolicyOfFallbacks has a handler that cannot update a resource, whose replacement the stack policy denies.
func TestPolicyOfFallbacks(t *testing.T) {
	g := onSQLite(t)
	g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {}")), StackPolicyBody: aws.String(`{"Statement": [
		{"Effect": "Allow", "Action": "Update:*", "Principal": "*", "Resource": "*"}, {"Effect": "Deny", "Action": "Update:Replace", "Principal": "*", "Resource": "*"}]}`)})
	g.world.script("UPDATE A", behavior{code: "NotUpdatable", message: "no"})
	n := len(g.story("s"))
	s := g.update(&cloudformation.UpdateStackInput{TemplateBody: aws.String(things("A: {Properties: {Note: 1}}"))})
	g.expectStatus(s, types.StackStatusUpdateRollbackComplete, "")
	if row := "A UPDATE_FAILED a-1 (Action denied by stack policy: Statement [#2] does not allow [Update:Replace] for resource [LogicalResourceId/A];)"; g.story("s")[n+2] != row {
		t.Errorf("the events are\n%s\nwant %s", strings.Join(g.story("s")[n:], "\n"), row)
	}
	if ids := g.world.ids(); !slices.Equal(ids, []string{"a-1"}) {
		t.Errorf("left: %v", ids)
	}
}
