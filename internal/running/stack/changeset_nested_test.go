package stack

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/running/plan"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

func withNested(in *cloudformation.CreateChangeSetInput) { in.IncludeNestedStacks = aws.Bool(true) }

// nests is a nested stack of a template: "N: u P=!Ref A".
func nests(id, url string, parameters ...string) string {
	line := fmt.Sprintf("%s: {Type: 'AWS::CloudFormation::Stack', Properties: {TemplateURL: 'https://t/%s'", id, url)
	if len(parameters) > 0 {
		line += ", Parameters: {" + strings.Join(parameters, ", ") + "}"
	}
	return line + "}}"
}

// changes are those of a change set: "Add A, Modify B +set".
func changes(set *cloudformation.DescribeChangeSetOutput) string {
	var out []string
	for _, c := range set.Changes {
		line := string(c.ResourceChange.Action) + " " + *c.ResourceChange.LogicalResourceId
		if c.ResourceChange.ChangeSetId != nil {
			line += " +set"
		}
		out = append(out, line)
	}
	return strings.Join(out, ", ")
}

func (g *setRig) childOf(set *cloudformation.DescribeChangeSetOutput, id string) *cloudformation.DescribeChangeSetOutput {
	g.t.Helper()
	for _, c := range set.Changes {
		if *c.ResourceChange.LogicalResourceId == id && c.ResourceChange.ChangeSetId != nil {
			return g.describe(*c.ResourceChange.ChangeSetId)
		}
	}
	g.t.Fatalf("%s has no change set in %s", id, encode(set.Changes))
	return nil
}

const (
	childTemplate = "Parameters: {P: {Type: String, AllowedPattern: '[a-z0-9-]+'}}\n"
	childOutput   = "Outputs: {O: {Value: !Ref C}}\n"
)

func TestNestedChangeSets(t *testing.T) {
	t.Parallel()
	eachSetRig(t, func(t *testing.T, g *setRig) {
		g.world.offers("https://t/leaf", things("L: {}"))
		g.world.offers("https://t/mid", childTemplate+things("C: {Properties: {Note: !Ref P}}", nests("M", "leaf"))+childOutput)
		body := things("A: {}", nests("N", "mid", "P: !Ref A"), "B: {Properties: {Note: !GetAtt N.Outputs.O}}")
		set := g.create("one", types.ChangeSetTypeCreate, body, withNested)
		if got := changes(set); got != "Add A, Add B, Add N +set" {
			t.Fatalf("changes: %s (%s)", got, aws.ToString(set.StatusReason))
		}
		child := g.childOf(set, "N")
		if *child.ParentChangeSetId != *set.ChangeSetId || *child.RootChangeSetId != *set.ChangeSetId || set.RootChangeSetId != nil || changes(child) != "Add C, Add M +set" {
			t.Errorf("the child: %s", encode(child))
		}
		if p := child.Parameters[0]; *p.ParameterValue != plan.Pending {
			t.Errorf("a parameter that is not known: %s", encode(p))
		}
		leaf := g.childOf(child, "M")
		if *leaf.ParentChangeSetId != *child.ChangeSetId || *leaf.RootChangeSetId != *set.ChangeSetId {
			t.Errorf("the leaf: %s", encode(leaf))
		}
		if s := g.settled(*child.StackId); s.StackStatus != types.StackStatusReviewInProgress || aws.ToString(s.ParentId) == "" {
			t.Errorf("the nested stack: %s", encode(s))
		}
		for what, err := range map[string]error{
			"executed": ignore(g.ExecuteChangeSet(t.Context(), owner, &cloudformation.ExecuteChangeSetInput{ChangeSetName: child.ChangeSetId})),
			"deleted":  ignore(g.DeleteChangeSet(t.Context(), owner, &cloudformation.DeleteChangeSetInput{ChangeSetName: child.ChangeSetId})),
		} {
			refusedWith(t, err, "ValidationError", fmt.Sprintf("ChangeSet [%s] belongs to a nested stack and cannot be %s by itself. Use its root change set [%s].",
				*child.ChangeSetId, what, *set.ChangeSetId))
		}

		// The execution makes the stacks that were shown.
		g.world.offers("https://t/mid", things("X: {}")) // what is behind the URL now is not what was shown
		g.expectStatus(g.execute(*set.ChangeSetId), types.StackStatusCreateComplete, "")
		if done := g.done(); done != "CREATE A, CREATE B, CREATE C, CREATE L" {
			t.Errorf("calls: %s", done)
		}
		if s := g.settled(*child.StackId); s.StackStatus != types.StackStatusCreateComplete || *s.ChangeSetId != *child.ChangeSetId || *s.Parameters[0].ParameterValue != g.physicalID("app", "A") {
			t.Errorf("the nested stack: %s", encode(s))
		}
		if c := g.describe(*leaf.ChangeSetId); c.ExecutionStatus != types.ExecutionStatusExecuteComplete {
			t.Errorf("the set of the leaf: %s", c.ExecutionStatus)
		}

		// Without a change below, nothing is visited.
		g.world.offers("https://t/mid", childTemplate+things("C: {Properties: {Note: !Ref P}}", nests("M", "leaf"))+childOutput)
		same := g.create("same", types.ChangeSetTypeUpdate, body, withNested)
		if same.Status != types.ChangeSetStatusFailed || aws.ToString(same.StatusReason) != reasonNoChanges {
			t.Errorf("no changes: %s %s, %s", same.Status, aws.ToString(same.StatusReason), encode(same.Changes))
		}
		// A change in the leaf alone.
		g.world.offers("https://t/leaf", things("L: {Properties: {Note: new}}"))
		deep := g.create("deep", types.ChangeSetTypeUpdate, body, withNested)
		if got := changes(deep); got != "Modify B, Modify N +set" {
			t.Errorf("a change below: %s", got)
		}
		g.expectStatus(g.execute(*deep.ChangeSetId), types.StackStatusUpdateComplete, "")
		if done := g.done(); done != "UPDATE L" {
			t.Errorf("calls: %s", done)
		}
	})
}

func ignore[T any](_ T, err error) error { return err }

// TestNestedChangeSetsUnvisited: a nested stack without a change is left alone by the
// execution of a change that is elsewhere.
func TestNestedChangeSetsUnvisited(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	g.world.offers("https://t/child", things("C: {}")+childOutput)
	g.create2("app", things("A: {}", nests("N", "child"), "B: {Properties: {Note: !GetAtt N.Outputs.O}}"))
	g.done()
	set := g.create("one", types.ChangeSetTypeUpdate, things("A: {Properties: {Note: n}}", nests("N", "child"), "B: {Properties: {Note: !GetAtt N.Outputs.O}}"), withNested)
	if got := changes(set); got != "Modify A" {
		t.Fatalf("changes: %s", got)
	}
	from := len(g.story("app"))
	g.expectStatus(g.execute(*set.ChangeSetId), types.StackStatusUpdateComplete, "")
	if story := strings.Join(g.story("app")[from:], "\n"); strings.Contains(story, "N ") {
		t.Error(story)
	}
}

func TestNestedChangeSetsFail(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	g.world.offers("https://t/bad", things("C: {Properties: {Nothing: n}}"))
	body := things("A: {}", nests("N", "bad"))
	set := g.create("one", types.ChangeSetTypeCreate, body, withNested)
	child := g.childOf(set, "N")
	if want := fmt.Sprintf("Nested change set %s was not successfully created: Currently in FAILED.", *child.ChangeSetId); aws.ToString(set.StatusReason) != want || set.Status != types.ChangeSetStatusFailed {
		t.Errorf("the root: %s %s", set.Status, aws.ToString(set.StatusReason))
	}
	if !strings.Contains(aws.ToString(child.StatusReason), "AWS::EarlyValidation::PropertyValidation") {
		t.Errorf("the child: %s", aws.ToString(child.StatusReason))
	}
	events, err := g.DescribeEvents(t.Context(), owner, &cloudformation.DescribeEventsInput{
		StackName: child.StackId, ChangeSetName: child.ChangeSetId, Filters: &types.EventFilter{FailedEvents: aws.Bool(true)},
	})
	if err != nil || len(events.OperationEvents) == 0 || !strings.Contains(encode(events), "extraneous key [Nothing] is not permitted") {
		t.Errorf("events: %s, %v", encode(events), err)
	}
	// With the root go the change sets below and the stacks that only they made.
	if _, err := g.DeleteChangeSet(t.Context(), owner, &cloudformation.DeleteChangeSetInput{ChangeSetName: set.ChangeSetId}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.DescribeChangeSet(t.Context(), owner, &cloudformation.DescribeChangeSetInput{ChangeSetName: child.ChangeSetId}); err == nil {
		t.Error("the change set of the nested stack is still there")
	}
	if _, err := g.DescribeStacks(t.Context(), owner, &cloudformation.DescribeStacksInput{StackName: child.StackId}); err == nil {
		t.Error("the nested stack is still there")
	}
	for _, tc := range []struct{ name, template, reason string }{
		{"absent", "", "TemplateURL must be a supported URL."},
		{"itself", things(nests("S", "itself")), "Nested stacks are deeper than 10 levels"},
		{"type", "Resources: {C: {Type: 'Acme::No::Such'}}", "Template format error: Unrecognized resource types: [Acme::No::Such]"},
	} {
		if tc.template != "" {
			g.world.offers("https://t/"+tc.name, tc.template)
		}
		set := g.create(tc.name, types.ChangeSetTypeCreate, things(nests("N", tc.name)), withNested)
		child := set
		for child.StatusReason != nil && strings.HasPrefix(*child.StatusReason, "Nested change set") {
			child = g.describe(*child.Changes[0].ResourceChange.ChangeSetId)
		}
		if aws.ToString(child.StatusReason) != tc.reason {
			t.Errorf("%s: %s", tc.name, aws.ToString(child.StatusReason))
		}
	}
}

// TestNestedChangeSetsLeft: what an execution that failed did not reach is gone with it.
func TestNestedChangeSetsLeft(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	g.world.offers("https://t/child", things("C: {}"))
	g.create2("app", things("K: {}"))
	set := g.create("one", types.ChangeSetTypeUpdate, things("K: {}", "A: {}", strings.Replace(nests("N", "child"), "Properties:", "DependsOn: A, Properties:", 1)), withNested)
	child := g.childOf(set, "N")
	g.world.script("CREATE A", behavior{code: "InternalFailure", message: "broken"})
	if s := g.execute(*set.ChangeSetId); s.StackStatus != types.StackStatusUpdateRollbackComplete {
		t.Fatalf("the stack is in %s", s.StackStatus)
	}
	if _, err := g.DescribeStacks(t.Context(), owner, &cloudformation.DescribeStacksInput{StackName: child.StackId}); err == nil {
		t.Error("the nested stack that was never made is still there")
	}
	// A nested stack that was changed by itself makes the change set obsolete.
	g.create2("two", things("A: {}", nests("N", "child")))
	id := g.physicalID("two", "N")
	g.world.offers("https://t/child", things("C: {Properties: {Note: n}}"))
	out, err := g.CreateChangeSet(t.Context(), owner, &cloudformation.CreateChangeSetInput{
		StackName: aws.String("two"), ChangeSetName: aws.String("c"), IncludeNestedStacks: aws.Bool(true), TemplateBody: aws.String(things("A: {}", nests("N", "child"))),
	})
	if err != nil {
		t.Fatal(err)
	}
	child = g.childOf(g.planned(*out.Id), "N")
	g.update(&cloudformation.UpdateStackInput{StackName: &id, TemplateBody: aws.String(things("C: {}", "D: {}"))})
	_, err = g.ExecuteChangeSet(t.Context(), owner, &cloudformation.ExecuteChangeSetInput{ChangeSetName: out.Id})
	refusedWith(t, err, "InvalidChangeSetStatusException", fmt.Sprintf("ChangeSet [%s] cannot be executed in its current execution status of [OBSOLETE]", *child.ChangeSetId))
}
