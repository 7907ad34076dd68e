package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A setRig makes change sets of the stack "app".
type setRig struct {
	*rig
	t      *testing.T
	caller awswire.Caller
}

func eachSetRig(t *testing.T, test func(t *testing.T, g *setRig)) {
	t.Helper()
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			t.Parallel()
			test(t, &setRig{newRig(t, place), t, owner})
		})
	}
}

// done returns what handlers were called for since the last time, sorted.
func (g *setRig) done() string {
	g.world.mu.Lock()
	defer g.world.mu.Unlock()
	calls := slices.Sorted(slices.Values(g.world.calls))
	g.world.calls = nil
	return strings.Join(calls, ", ")
}

// create makes a change set and waits until it is there.
func (g *setRig) create(name string, kind types.ChangeSetType, body string, change ...func(*cloudformation.CreateChangeSetInput)) *cloudformation.DescribeChangeSetOutput {
	g.t.Helper()
	in := &cloudformation.CreateChangeSetInput{StackName: aws.String("app"), ChangeSetName: aws.String(name), ChangeSetType: kind, TemplateBody: aws.String(body)}
	for _, f := range change {
		f(in)
	}
	out, err := g.CreateChangeSet(g.t.Context(), g.caller, in)
	if err != nil {
		g.t.Fatal(err)
	}
	return g.planned(*out.Id)
}

func (g *setRig) planned(arn string) *cloudformation.DescribeChangeSetOutput {
	g.t.Helper()
	var c *cloudformation.DescribeChangeSetOutput
	fixtures.Await(g.t, "the plan of the change set", func() bool {
		c = g.describe(arn)
		return c.Status != types.ChangeSetStatusCreatePending && c.Status != types.ChangeSetStatusCreateInProgress
	})
	return c
}

func (g *setRig) describe(arn string) *cloudformation.DescribeChangeSetOutput {
	g.t.Helper()
	c, err := g.DescribeChangeSet(g.t.Context(), g.caller, &cloudformation.DescribeChangeSetInput{ChangeSetName: aws.String(arn)})
	if err != nil {
		g.t.Fatal(err)
	}
	return c
}

// execute executes a change set and waits for the end of its operation.
func (g *setRig) execute(arn string) types.Stack {
	g.t.Helper()
	if _, err := g.ExecuteChangeSet(g.t.Context(), g.caller, &cloudformation.ExecuteChangeSetInput{ChangeSetName: aws.String(arn)}); err != nil {
		g.t.Fatal(err)
	}
	return g.settled("app")
}

func (g *setRig) names() string {
	g.t.Helper()
	out, err := g.ListChangeSets(g.t.Context(), g.caller, &cloudformation.ListChangeSetsInput{StackName: aws.String("app")})
	if err != nil {
		g.t.Fatal(err)
	}
	var names []string
	for _, s := range out.Summaries {
		names = append(names, fmt.Sprintf("%s %s %s", *s.ChangeSetName, s.Status, s.ExecutionStatus))
	}
	return strings.Join(names, ", ")
}

// refusedWith checks the code and the message of a refusal.
func refusedWith(t *testing.T, err error, code, message string) {
	t.Helper()
	var refusal *awswire.Error
	if !errors.As(err, &refusal) || refusal.Code != code || refusal.Message != message {
		t.Errorf("got %v, want %s: %s", err, code, message)
	}
}

func TestChangeSetLife(t *testing.T) {
	t.Parallel()
	eachSetRig(t, func(t *testing.T, g *setRig) {
		first := g.create("one", types.ChangeSetTypeCreate, things("A: {Properties: {Name: a}}", "B: {Properties: {Note: !Ref A}}"))
		if first.Status != types.ChangeSetStatusCreateComplete || first.ExecutionStatus != types.ExecutionStatusAvailable || len(first.Changes) != 2 {
			t.Fatalf("after creation: %s", encode(first))
		}
		review := g.settled("app")
		if review.StackStatus != types.StackStatusReviewInProgress || aws.ToString(review.StackStatusReason) != "User Initiated" || review.ChangeSetId != nil {
			t.Errorf("in review: %s", encode(review))
		}
		events, err := g.DescribeStackEvents(t.Context(), g.caller, &cloudformation.DescribeStackEventsInput{StackName: aws.String("app")})
		if err != nil || len(events.StackEvents) != 1 || events.StackEvents[0].ResourceStatus != "REVIEW_IN_PROGRESS" || *events.StackEvents[0].PhysicalResourceId != *review.StackId {
			t.Errorf("the event of the review: %s, %v", encode(events), err)
		}
		created := g.execute(*first.ChangeSetId)
		if created.StackStatus != types.StackStatusCreateComplete || aws.ToString(created.ChangeSetId) != *first.ChangeSetId || created.LastUpdatedTime == nil {
			t.Errorf("after execution: %s", encode(created))
		}
		if got := g.done(); got != "CREATE A, CREATE B" {
			t.Errorf("done: %s", got)
		}
		if c := g.describe(*first.ChangeSetId); c.Status != types.ChangeSetStatusCreateComplete || c.ExecutionStatus != types.ExecutionStatusExecuteComplete {
			t.Errorf("the executed set: %s %s", c.Status, c.ExecutionStatus)
		}
		_, err = g.DescribeChangeSet(t.Context(), g.caller, &cloudformation.DescribeChangeSetInput{ChangeSetName: aws.String("one"), StackName: aws.String("app")})
		refusedWith(t, err, "ChangeSetNotFoundException", "ChangeSet [one] does not exist")

		second := g.create("one", types.ChangeSetTypeUpdate, things("A: {Properties: {Name: b}}", "B: {Properties: {Note: !Ref A}}"))
		g.create("two", types.ChangeSetTypeUpdate, things("A: {Properties: {Name: a}}"))
		if got := g.names(); got != "one CREATE_COMPLETE AVAILABLE, two CREATE_COMPLETE AVAILABLE" {
			t.Errorf("list: %s", got)
		}
		checkSetStates(t, g, *second.ChangeSetId)
		if replaced := second.Changes[0].ResourceChange; replaced.Replacement != types.ReplacementTrue || len(second.Changes) != 2 {
			t.Errorf("the plan: %s", encode(second.Changes))
		}
		updated := g.execute(*second.ChangeSetId)
		if updated.StackStatus != types.StackStatusUpdateComplete {
			t.Errorf("after the update: %s", encode(updated))
		}
		if got := g.done(); got != "CREATE A, DELETE A, UPDATE B" {
			t.Errorf("done: %s", got)
		}
		if got := g.names(); got != "" {
			t.Errorf("the other change sets are still there: %s", got)
		}
		for name, stack := range map[string]*string{"one": aws.String("app"), "never": aws.String("app"), *second.ChangeSetId + "x": nil} {
			if _, err := g.DeleteChangeSet(t.Context(), g.caller, &cloudformation.DeleteChangeSetInput{ChangeSetName: aws.String(name), StackName: stack}); err != nil {
				t.Errorf("delete %s: %v", name, err)
			}
		}
		_, err = g.DeleteChangeSet(t.Context(), g.caller, &cloudformation.DeleteChangeSetInput{ChangeSetName: second.ChangeSetId})
		refusedWith(t, err, "InvalidChangeSetStatusException", "Cannot delete ChangeSet in execution status EXECUTE_COMPLETE")
	})
}

// checkSetStates looks at the change sets "one" and "two" of a stack as Go callers see them.
func checkSetStates(t *testing.T, g *setRig, arn string) {
	t.Helper()
	list, err := g.ChangeSets(t.Context(), g.caller.Place, "app", 10)
	if err != nil || len(list) != 2 || list[0].Name != "two" || list[1].Name != "one" || !list[1].Executable() || list[1].Changes != nil {
		t.Errorf("the list: %s, %v", encode(list), err)
	}
	if list, err = g.ChangeSets(t.Context(), g.caller.Place, "app", 1); err != nil || len(list) != 1 {
		t.Errorf("at most one: %s, %v", encode(list), err)
	}
	for _, name := range []string{"one", arn} {
		set, err := g.ChangeSet(t.Context(), g.caller.Place, "app", name)
		if err != nil || set.ARN != arn || len(set.Changes) != 2 || set.Kind != types.ChangeSetTypeUpdate || !strings.Contains(aws.ToString(set.Changes[0].ResourceChange.AfterContext), `"b"`) {
			t.Errorf("%s: %s, %v", name, encode(set), err)
		}
	}
	_, err = g.ChangeSet(t.Context(), g.caller.Place, "app", "never")
	refusedWith(t, err, "ChangeSetNotFoundException", "ChangeSet [never] does not exist")
}

func TestChangeSetWithoutChanges(t *testing.T) {
	t.Parallel()
	eachSetRig(t, func(t *testing.T, g *setRig) {
		body := things("A: {Properties: {Size: 1}}")
		g.execute(*g.create("one", types.ChangeSetTypeCreate, body).ChangeSetId)
		same := g.create("two", "", body)
		if same.Status != types.ChangeSetStatusFailed || same.ExecutionStatus != types.ExecutionStatusUnavailable || aws.ToString(same.StatusReason) != reasonNoChanges {
			t.Fatalf("no changes: %s", encode(same))
		}
		_, err := g.ExecuteChangeSet(t.Context(), g.caller, &cloudformation.ExecuteChangeSetInput{ChangeSetName: same.ChangeSetId})
		refusedWith(t, err, "InvalidChangeSetStatusException", fmt.Sprintf("ChangeSet [%s] cannot be executed in its current status of [FAILED]", *same.ChangeSetId))
		if output := g.create("three", "", body+"Outputs: {O: {Value: x}}\n"); output.Status != types.ChangeSetStatusCreateComplete || len(output.Changes) != 0 {
			t.Errorf("an output alone: %s", encode(output))
		}
	})
}

func TestChangeSetObsolete(t *testing.T) {
	t.Parallel()
	eachSetRig(t, func(t *testing.T, g *setRig) {
		g.execute(*g.create("one", types.ChangeSetTypeCreate, things("A: {Properties: {Size: 1}}")).ChangeSetId)
		two := g.create("two", types.ChangeSetTypeUpdate, things("A: {Properties: {Size: 2}}"))
		if _, err := g.UpdateStack(t.Context(), g.caller, &cloudformation.UpdateStackInput{StackName: aws.String("app"), TemplateBody: aws.String(things("A: {Properties: {Size: 3}}"))}); err != nil {
			t.Fatal(err)
		}
		if s := g.settled("app"); s.StackStatus != types.StackStatusUpdateComplete || s.ChangeSetId != nil {
			t.Fatalf("after the update: %s", encode(s))
		}
		if c := g.describe(*two.ChangeSetId); c.ExecutionStatus != types.ExecutionStatusObsolete {
			t.Errorf("the other set: %s", c.ExecutionStatus)
		}
		_, err := g.ExecuteChangeSet(t.Context(), g.caller, &cloudformation.ExecuteChangeSetInput{ChangeSetName: two.ChangeSetId})
		refusedWith(t, err, "InvalidChangeSetStatusException", fmt.Sprintf("ChangeSet [%s] cannot be executed in its current execution status of [OBSOLETE]", *two.ChangeSetId))
	})
}

func TestCreateStackInReview(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	one := g.create("one", types.ChangeSetTypeCreate, things("A: {}"))
	created := g.rig.create(&cloudformation.CreateStackInput{StackName: aws.String("app"), TemplateBody: aws.String(things("B: {}"))})
	if *created.StackId != *one.StackId || created.StackStatus != types.StackStatusCreateComplete || created.ChangeSetId != nil {
		t.Errorf("the stack: %s", encode(created))
	}
	if c := g.describe(*one.ChangeSetId); c.ExecutionStatus != types.ExecutionStatusObsolete {
		t.Errorf("the change set: %s", c.ExecutionStatus)
	}
	if got := g.done(); got != "CREATE B" {
		t.Errorf("done: %s", got)
	}
	g.execute(*g.create("two", types.ChangeSetTypeUpdate, things("B: {Properties: {Size: 2}}")).ChangeSetId)
	if gone := g.rig.delete(*one.StackId, &cloudformation.DeleteStackInput{}); gone.LastUpdatedTime == nil || gone.ChangeSetId != nil {
		t.Errorf("the deleted stack: %s", encode(gone))
	}
	_, err := g.DescribeChangeSet(t.Context(), g.caller, &cloudformation.DescribeChangeSetInput{ChangeSetName: one.ChangeSetId})
	refusedWith(t, err, "ChangeSetNotFoundException", fmt.Sprintf("ChangeSet [%s] does not exist", *one.ChangeSetId))
}

// What recordings show of stacks that are changed both ways.
func TestStackAfterChangeSetAndUpdate(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	body := things("A: {Properties: {Size: 1}}") + "Outputs: {O: {Value: x}}\n"
	one := g.create("one", types.ChangeSetTypeCreate, body, func(in *cloudformation.CreateChangeSetInput) {
		in.Capabilities = []types.Capability{types.CapabilityCapabilityIam}
	})
	g.execute(*one.ChangeSetId)
	for _, stage := range []types.TemplateStage{types.TemplateStageOriginal, types.TemplateStageProcessed} {
		shown, err := g.GetTemplate(t.Context(), g.caller, &cloudformation.GetTemplateInput{StackName: aws.String("app"), TemplateStage: stage})
		if err != nil || *shown.TemplateBody != body {
			t.Errorf("%s: %s, %v", stage, encode(shown), err)
		}
	}
	updated := g.rig.update(&cloudformation.UpdateStackInput{StackName: aws.String("app"), TemplateBody: aws.String(strings.Replace(body, "Size: 1", "Size: 2", 1))})
	if !slices.Equal(updated.Capabilities, []types.Capability{types.CapabilityCapabilityIam}) {
		t.Errorf("capabilities of an update that names none: %v", updated.Capabilities)
	}
	if two := g.create("two", types.ChangeSetTypeUpdate, body); two.Capabilities == nil || len(two.Capabilities) != 0 {
		t.Errorf("capabilities of a change set that names none: %v", two.Capabilities)
	}
	if gone := g.rig.delete(*one.StackId, &cloudformation.DeleteStackInput{}); len(gone.Outputs) != 1 {
		t.Errorf("outputs of a deleted stack: %s", encode(gone.Outputs))
	}
}

func TestAnswersWaitForTheEnd(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	g.config.Hold = 20 * time.Second
	in := &cloudformation.CreateChangeSetInput{StackName: aws.String("app"), ChangeSetName: aws.String("one"), ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: aws.String(things("A: {}"))}
	one, err := g.CreateChangeSet(t.Context(), g.caller, in)
	if err != nil {
		t.Fatal(err)
	}
	if c := g.describe(*one.Id); c.Status != types.ChangeSetStatusCreateComplete {
		t.Errorf("after CreateChangeSet: %s", c.Status)
	}
	if _, err := g.ExecuteChangeSet(t.Context(), g.caller, &cloudformation.ExecuteChangeSetInput{ChangeSetName: one.Id}); err != nil {
		t.Fatal(err)
	}
	if c := g.describe(*one.Id); c.ExecutionStatus != types.ExecutionStatusExecuteComplete {
		t.Errorf("after ExecuteChangeSet: %s", c.ExecutionStatus)
	}
	g.config.Hold = time.Millisecond
	held := make(chan struct{})
	g.world.script("UPDATE A", behavior{hold: held})
	two := g.create("two", types.ChangeSetTypeUpdate, things("A: {Properties: {Size: 2}}"))
	if _, err := g.ExecuteChangeSet(t.Context(), g.caller, &cloudformation.ExecuteChangeSetInput{ChangeSetName: two.ChangeSetId}); err != nil {
		t.Fatal(err)
	}
	if c := g.describe(*two.ChangeSetId); c.ExecutionStatus != types.ExecutionStatusExecuteInProgress {
		t.Errorf("while the handler runs: %s", c.ExecutionStatus)
	}
	close(held)
	g.settled("app")
}

func TestDeleteStackInReview(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	one := g.create("one", types.ChangeSetTypeCreate, things("A: {}"))
	if s := g.rig.delete(*one.StackId, &cloudformation.DeleteStackInput{}); s.StackStatus != types.StackStatusDeleteComplete {
		t.Errorf("the stack: %s", encode(s))
	}
	if again := g.create("one", types.ChangeSetTypeCreate, things("A: {}")); *again.StackId == *one.StackId {
		t.Error("the new stack has the ARN of the old one")
	}
}

func TestChangeSetRefusals(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	body := things("A: {Properties: {Size: 1}}")
	one := g.create("one", types.ChangeSetTypeCreate, body, func(in *cloudformation.CreateChangeSetInput) { in.ClientToken = aws.String("t1") })
	set := func(change func(*cloudformation.CreateChangeSetInput)) error {
		in := &cloudformation.CreateChangeSetInput{
			StackName: aws.String("app"), ChangeSetName: aws.String("one"), ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: aws.String(body), ClientToken: aws.String("t1"),
		}
		change(in)
		out, err := g.CreateChangeSet(t.Context(), g.caller, in)
		if err == nil && *out.Id != *one.ChangeSetId {
			t.Errorf("another change set was made: %s", *out.Id)
		}
		return err
	}
	if err := set(func(*cloudformation.CreateChangeSetInput) {}); err != nil {
		t.Errorf("the same request with the same token: %v", err)
	}
	for _, tc := range []struct {
		change        func(*cloudformation.CreateChangeSetInput)
		code, message string
	}{
		{func(in *cloudformation.CreateChangeSetInput) { in.ClientToken = aws.String("t2") }, "AlreadyExistsException", "ChangeSet cannot be created due to a mismatch with existing attribute ClientToken"},
		{func(in *cloudformation.CreateChangeSetInput) { in.ClientToken = nil }, "AlreadyExistsException", "ChangeSet [one] already exists"},
		{func(in *cloudformation.CreateChangeSetInput) { in.ChangeSetType = types.ChangeSetTypeUpdate }, "ValidationError",
			"Stack:" + *one.StackId + " is in REVIEW_IN_PROGRESS state and can not be updated."},
		{func(in *cloudformation.CreateChangeSetInput) {
			in.StackName, in.ChangeSetType = aws.String("none"), types.ChangeSetTypeUpdate
		}, "ValidationError", "Stack [none] does not exist"},
		{func(in *cloudformation.CreateChangeSetInput) { in.ChangeSetType = types.ChangeSetTypeImport }, "ValidationError", "Must Provide at least one resource to import"},
		{func(in *cloudformation.CreateChangeSetInput) { in.ChangeSetType = "OTHER" }, "ValidationError", "1 validation error detected: Value 'OTHER' at 'changeSetType' failed to satisfy constraint: Member must satisfy enum value set: [IMPORT, UPDATE, CREATE]"},
		{func(in *cloudformation.CreateChangeSetInput) { in.DeploymentMode = types.DeploymentModeRevertDrift }, "ValidationError", "DeploymentMode REVERT_DRIFT can be specified only for a change set of the type UPDATE, without IncludeNestedStacks."},
		{func(in *cloudformation.CreateChangeSetInput) {
			in.ChangeSetName, in.TemplateBody = aws.String("two"), aws.String("{}")
		}, "ValidationError",
			"Template format error: At least one Resources member must be defined."},
	} {
		refusedWith(t, set(tc.change), tc.code, tc.message)
	}
	_, err := g.DescribeChangeSet(t.Context(), g.caller, &cloudformation.DescribeChangeSetInput{ChangeSetName: aws.String("x"), StackName: aws.String("nostack")})
	refusedWith(t, err, "ValidationError", "Stack [nostack] does not exist")
	_, err = g.DeleteChangeSet(t.Context(), g.caller, &cloudformation.DeleteChangeSetInput{ChangeSetName: aws.String("x")})
	refusedWith(t, err, "ValidationError", "StackName must be specified if ChangeSetName is not specified as an ARN.")
	_, err = g.ExecuteChangeSet(t.Context(), g.caller, &cloudformation.ExecuteChangeSetInput{ChangeSetName: aws.String("x"), StackName: aws.String("app")})
	refusedWith(t, err, "ChangeSetNotFoundException", "ChangeSet [x] does not exist")
	_, err = g.DescribeChangeSet(t.Context(), awswire.Caller{Place: awswire.Place{Account: "210987654321", Region: "eu-west-1"}}, &cloudformation.DescribeChangeSetInput{ChangeSetName: one.ChangeSetId})
	refusedWith(t, err, "ChangeSetNotFoundException", fmt.Sprintf("ChangeSet [%s] does not exist", *one.ChangeSetId))

	if _, err := g.DeleteChangeSet(t.Context(), g.caller, &cloudformation.DeleteChangeSetInput{ChangeSetName: one.ChangeSetId}); err != nil {
		t.Fatal(err)
	}
	_, err = g.DescribeChangeSet(t.Context(), g.caller, &cloudformation.DescribeChangeSetInput{ChangeSetName: one.ChangeSetId})
	refusedWith(t, err, "ChangeSetNotFoundException", fmt.Sprintf("ChangeSet [%s] does not exist", *one.ChangeSetId))
	if s := g.settled("app"); s.StackStatus != types.StackStatusReviewInProgress {
		t.Errorf("the stack of a deleted change set: %s", s.StackStatus)
	}
	g.execute(*g.create("one", types.ChangeSetTypeCreate, body).ChangeSetId)
	refusedWith(t, set(func(in *cloudformation.CreateChangeSetInput) {}), "ValidationError", "Stack [app] already exists and cannot be created again with the changeSet [one].")
}

// failingMacros are transforms of which none works.
type failingMacros struct{}

func (failingMacros) Include(context.Context, string) ([]byte, error) {
	return nil, errors.New("S3 bucket [b] does not exist.")
}

func (failingMacros) Transform(context.Context, template.MacroCall) ([]byte, error) {
	return nil, template.ErrNoMacro
}

func TestChangeSetFailures(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	g.config.Macros = func(awswire.Caller) template.Macros { return failingMacros{} }
	include := things("A: {Properties: {'Fn::Transform': {Name: 'AWS::Include', Parameters: {Location: 's3://b/k'}}}}")
	if c := g.create("include", types.ChangeSetTypeCreate, include); c.Status != types.ChangeSetStatusFailed || aws.ToString(c.StatusReason) != "Transform AWS::Include failed with: S3 bucket [b] does not exist." {
		t.Errorf("a transform that fails: %s", encode(c))
	}
	invalid := g.create("invalid", types.ChangeSetTypeCreate, things("A: {Properties: {Other: 1}}"))
	if invalid.Status != types.ChangeSetStatusFailed || !strings.Contains(aws.ToString(invalid.StatusReason), "AWS::EarlyValidation::PropertyValidation") {
		t.Errorf("a property that the schema does not have: %s", encode(invalid))
	}
	events, err := g.DescribeEvents(t.Context(), g.caller, &cloudformation.DescribeEventsInput{ChangeSetName: invalid.ChangeSetId, Filters: &types.EventFilter{FailedEvents: aws.Bool(true)}})
	if err != nil || !strings.Contains(encode(events), "extraneous key [Other] is not permitted") || !strings.Contains(encode(events), "/Resources/A/Properties") {
		t.Errorf("the events of the validation: %s, %v", encode(events), err)
	}
	missing := g.create("import", types.ChangeSetTypeCreate, things("A: {Properties: {Note: !ImportValue none}}"))
	want := "[WARN] --include-property-values option can return incomplete ChangeSet data because: ChangeSet creation failed for resource [A] because: No export named none"
	g.warns("an export that does not exist", missing, want)
	split := things("A: {Properties: {Note: a-b}}", "B: {Properties: {Note: !Join [_, !Split ['-', !GetAtt A.Id]]}}")
	g.warns("a text that is split later", g.create("split", types.ChangeSetTypeCreate, split), "[WARN] --include-property-values option can return incomplete ChangeSet data because: ChangeSet creation failed for resource [B] because: "+
		"Template error: every Fn::Join object requires two parameters, (1) a string delimiter and (2) a list of strings to be joined or a function that returns a list of strings (such as Fn::GetAZs) to be joined.")
	secret := "Parameters: {P: {Type: String, NoEcho: true}}\n" + things("A: {Properties: {Secret: !Ref P}}")
	masked := g.create("secret", types.ChangeSetTypeCreate, secret, func(in *cloudformation.CreateChangeSetInput) {
		in.Parameters = []types.Parameter{{ParameterKey: aws.String("P"), ParameterValue: aws.String("hunter2")}}
	})
	row, err := store.Find[changeSetRow](t.Context(), g.store.Read(), "arn = ?", *masked.ChangeSetId)
	if err != nil || strings.Contains(row.Plan.Text()+row.Options.Text()+encode(masked), "hunter2") {
		t.Errorf("a NoEcho value is in the change set: %s, %v", row.Plan.Text(), err)
	}
}

// warns compares the warning of a change set about the values of properties, which is shown only with them.
func (g *setRig) warns(what string, set *cloudformation.DescribeChangeSetOutput, want string) {
	g.t.Helper()
	valued, err := g.DescribeChangeSet(g.t.Context(), g.caller, &cloudformation.DescribeChangeSetInput{ChangeSetName: set.ChangeSetId, IncludePropertyValues: aws.Bool(true)})
	if err != nil || set.Status != types.ChangeSetStatusCreateComplete || set.StatusReason != nil || aws.ToString(valued.StatusReason) != want {
		g.t.Errorf("%s: %s with the reason %q, with values %q, %v", what, set.Status, aws.ToString(set.StatusReason), aws.ToString(valued.StatusReason), err)
	}
	list, err := g.ListChangeSets(g.t.Context(), g.caller, &cloudformation.ListChangeSetsInput{StackName: set.StackName})
	if err != nil || strings.Contains(encode(list), "[WARN]") {
		g.t.Errorf("%s: %s, %v", what, encode(list), err)
	}
}

func TestChangeSetPages(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	var lines []string
	for i := range 250 {
		lines = append(lines, fmt.Sprintf("R%03d: {Properties: {Size: %d}}", i, i))
	}
	one := g.create("one", types.ChangeSetTypeCreate, things(lines...))
	seen, token := 0, (*string)(nil)
	for range 5 {
		page, err := g.DescribeChangeSet(t.Context(), g.caller, &cloudformation.DescribeChangeSetInput{ChangeSetName: one.ChangeSetId, NextToken: token, IncludePropertyValues: aws.Bool(true)})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Changes {
			if want := fmt.Sprintf("R%03d", seen); *c.ResourceChange.LogicalResourceId != want {
				t.Fatalf("got %s, want %s", *c.ResourceChange.LogicalResourceId, want)
			}
			seen++
		}
		if token = page.NextToken; token == nil {
			break
		}
	}
	if seen != 250 || token != nil {
		t.Errorf("%d changes in all pages", seen)
	}
	for _, bad := range []string{"x", "-1", "99999"} {
		_, err := g.DescribeChangeSet(t.Context(), g.caller, &cloudformation.DescribeChangeSetInput{ChangeSetName: one.ChangeSetId, NextToken: aws.String(bad)})
		refusedWith(t, err, "ValidationError", "NextToken is invalid")
	}
}

// TestChangeSetDoesNoMoreThanItShows fails resources whose change has become another one since the change set was
// made: by the schema of their type, and by the value of an export.
func TestChangeSetDoesNoMoreThanItShows(t *testing.T) {
	t.Parallel()
	exports := func(value string) string {
		return things("E: {}") + "Outputs: {O: {Value: " + value + ", Export: {Name: e}}}\n"
	}
	for name, tc := range map[string]struct {
		before, after string
		meanwhile     func(g *setRig)
		want          string
	}{
		"another schema": {
			things("A: {Properties: {Note: one}}"), things("A: {Properties: {Note: two}}"),
			func(g *setRig) {
				g.world.knows(t, strings.Replace(fixtures.Thing, `"createOnlyProperties": [`, `"createOnlyProperties": ["/properties/Note", `, 1))
			}, "is replaced",
		},
		"another export": {
			things("A: {Properties: {Note: one}}", "B: {}"), things("A: {Properties: {Note: !ImportValue e}}", "B: {Properties: {Note: new}}"),
			func(g *setRig) {
				g.update(&cloudformation.UpdateStackInput{StackName: aws.String("exporter"), TemplateBody: aws.String(exports("two"))})
			}, "is updated",
		},
		"nothing": {things("A: {Properties: {Note: one}}"), things("A: {Properties: {Note: two}}"), func(*setRig) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := &setRig{onSQLite(t), t, owner}
			g.create2("exporter", exports("one"))
			g.create2("app", tc.before)
			set := g.create("one", types.ChangeSetTypeUpdate, tc.after)
			tc.meanwhile(g)
			s := g.execute(*set.ChangeSetId)
			if tc.want == "" {
				if s.StackStatus != types.StackStatusUpdateComplete {
					t.Errorf("the stack is in %s", s.StackStatus)
				}
				return
			}
			reason := "The change set does not show that this resource " + tc.want +
				". Its type or a value from outside of the stack has changed since: create the change set again."
			if story := strings.Join(g.story("app"), "\n"); s.StackStatus != types.StackStatusUpdateRollbackComplete || !strings.Contains(story, "A UPDATE_FAILED a-1 ("+reason+")") {
				t.Errorf("the stack is in %s:\n%s", s.StackStatus, story)
			}
		})
	}
}
