package stack

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// failedRollback leaves a stack in UPDATE_ROLLBACK_FAILED: the rollback of A failed.
func failedRollback(t *testing.T) (*rig, types.Stack) {
	g := onSQLite(t)
	no := behavior{code: "InvalidRequest", message: "no"}
	g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {Properties: {Note: 1}}"))})
	g.world.script("UPDATE A", behavior{}, no)
	g.world.script("CREATE B", no)
	s := g.update(&cloudformation.UpdateStackInput{TemplateBody: aws.String(things("A: {Properties: {Note: 2}}", "B: {DependsOn: A}"))})
	g.expectStatus(s, types.StackStatusUpdateRollbackFailed, "The following resource(s) failed to update: [A]. ")
	return g, s
}

// TestContinueUpdateRollback takes a rollback up again that failed.
func TestContinueUpdateRollback(t *testing.T) {
	called := []string{"A UPDATE_IN_PROGRESS a-1", "A UPDATE_COMPLETE a-1"}
	tests := map[string]struct {
		in     cloudformation.ContinueUpdateRollbackInput
		script func(w *world)
		story  []string
		note   string // of A, in the end
	}{
		"again":   {story: called, note: "1"},
		"skipped": {in: cloudformation.ContinueUpdateRollbackInput{ResourcesToSkip: []string{"A"}}, story: called[1:], note: "2"},
		"forced": {
			in:     cloudformation.ContinueUpdateRollbackInput{ForceRollback: aws.Bool(true)},
			script: func(w *world) { w.script("UPDATE A", behavior{code: "InvalidRequest", message: "no"}) }, story: called, note: "2",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, s := failedRollback(t)
			if test.script != nil {
				test.script(g.world)
			}
			n := len(g.story("s"))
			test.in.StackName = s.StackId
			if _, err := g.ContinueUpdateRollback(t.Context(), owner, &test.in); err != nil {
				t.Fatal(err)
			}
			s = g.settled("s")
			g.expectStatus(s, types.StackStatusUpdateRollbackComplete, "")
			g.expect("s", n, slices.Concat([]string{"s UPDATE_ROLLBACK_IN_PROGRESS (User Initiated)"}, test.story, []string{
				"s UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "B DELETE_COMPLETE", "s UPDATE_ROLLBACK_COMPLETE",
			})...)
			if note := g.world.things["a-1"]["Note"]; note != test.note {
				t.Errorf("A has the note %v, want %s", note, test.note)
			}
			if len(s.LastOperations) != 1 || s.LastOperations[0].OperationType != types.OperationTypeContinueRollback {
				t.Errorf("operations: %v", s.LastOperations)
			}
		})
	}
}

// TestContinueUpdateRollbackRefuses lists what is refused.
func TestContinueUpdateRollbackRefuses(t *testing.T) {
	g, s := failedRollback(t)
	for want, in := range map[string]*cloudformation.ContinueUpdateRollbackInput{
		"ValidationError: Stack [x] does not exist":                                                       {StackName: aws.String("x")},
		"ValidationError: ResourcesToSkip and ForceRollback cannot be specified together.":                {StackName: s.StackName, ResourcesToSkip: []string{"A"}, ForceRollback: aws.Bool(true)},
		"ValidationError: The following resources to skip are not in a failed update rollback state: [B]": {StackName: s.StackName, ResourcesToSkip: []string{"B"}},
	} {
		_, err := g.ContinueUpdateRollback(t.Context(), owner, in)
		if got := refusal(t, err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	_, err := g.UpdateStack(t.Context(), owner, &cloudformation.UpdateStackInput{StackName: s.StackName, TemplateBody: aws.String(things("A: {}"))})
	if got := refusal(t, err); got != "ValidationError: Stack:"+*s.StackId+" is in UPDATE_ROLLBACK_FAILED state and can not be updated." {
		t.Error(got)
	}
}

// TestRollbackStack takes stacks back that failed and were left as they were.
func TestRollbackStack(t *testing.T) {
	t.Parallel()
	no := behavior{code: "InvalidRequest", message: "no"}
	t.Run("of a create", func(t *testing.T) {
		t.Parallel()
		g := onSQLite(t)
		g.world.script("CREATE B", no)
		s := g.create(&cloudformation.CreateStackInput{DisableRollback: aws.Bool(true), TemplateBody: aws.String(things("A: {}", "B: {DependsOn: A}"))})
		g.expectStatus(s, types.StackStatusCreateFailed, "The following resource(s) failed to create: [B]")
		out, err := g.RollbackStack(t.Context(), owner, &cloudformation.RollbackStackInput{StackName: s.StackName})
		if err != nil {
			t.Fatal(err)
		}
		if *out.StackId != *s.StackId || *out.OperationId == "" {
			t.Errorf("answer: %v", out)
		}
		g.expectStatus(g.settled("s"), types.StackStatusRollbackComplete, "")
		if left := g.world.ids(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
	t.Run("of an update", func(t *testing.T) {
		t.Parallel()
		g := onSQLite(t)
		g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {Properties: {Note: 1}}"))})
		g.world.script("CREATE B", no)
		s := g.update(&cloudformation.UpdateStackInput{DisableRollback: aws.Bool(true), TemplateBody: aws.String(things("A: {Properties: {Note: 2}}", "B: {DependsOn: A}"))})
		if s.StackStatus != types.StackStatusUpdateFailed {
			t.Fatal(s.StackStatus)
		}
		if _, err := g.RollbackStack(t.Context(), owner, &cloudformation.RollbackStackInput{StackName: s.StackName}); err != nil {
			t.Fatal(err)
		}
		g.expectStatus(g.settled("s"), types.StackStatusUpdateRollbackComplete, "")
		if note := g.world.things["a-1"]["Note"]; note != "1" {
			t.Errorf("A has the note %v", note)
		}
		_, err := g.RollbackStack(t.Context(), owner, &cloudformation.RollbackStackInput{StackName: s.StackName})
		if got := refusal(t, err); !strings.HasSuffix(got, "is in UPDATE_ROLLBACK_COMPLETE state and can not be rolled back.") {
			t.Error(got)
		}
	})
	t.Run("tried again", func(t *testing.T) {
		t.Parallel()
		g := onSQLite(t)
		g.world.script("CREATE B", no)
		body := aws.String(things("A: {}", "B: {DependsOn: A}"))
		g.create(&cloudformation.CreateStackInput{DisableRollback: aws.Bool(true), TemplateBody: body})
		s := g.update(&cloudformation.UpdateStackInput{DisableRollback: aws.Bool(true), TemplateBody: body})
		g.expectStatus(s, types.StackStatusUpdateComplete, "")
		if left := g.world.ids(); !slices.Equal(left, []string{"a-1", "b-1"}) {
			t.Errorf("left: %v", left)
		}
	})
}

// TestCancelUpdateStack stops an update: what runs ends, nothing new begins.
func TestCancelUpdateStack(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {Properties: {Note: 1}}"))})
	_, err := g.CancelUpdateStack(t.Context(), owner, &cloudformation.CancelUpdateStackInput{StackName: s.StackName})
	if got := refusal(t, err); got != "ValidationError: CancelUpdateStack cannot be called from current stack status" {
		t.Error(got)
	}
	hold := make(chan struct{})
	g.world.script("UPDATE A", behavior{hold: hold})
	n := len(g.story("s"))
	if _, err := g.UpdateStack(t.Context(), owner, &cloudformation.UpdateStackInput{StackName: s.StackName, TemplateBody: aws.String(things("A: {Properties: {Note: 2}}", "B: {DependsOn: A}"))}); err != nil {
		t.Fatal(err)
	}
	g.happens("A UPDATE_IN_PROGRESS a-1")
	cancel := &cloudformation.CancelUpdateStackInput{StackName: s.StackName, ClientRequestToken: aws.String("once")}
	defer func() { // a repeated request is the same one, also when all is over
		if _, err := g.CancelUpdateStack(t.Context(), owner, cancel); err != nil {
			t.Errorf("canceled again: %v", err)
		}
		_, err := g.CancelUpdateStack(t.Context(), owner, &cloudformation.CancelUpdateStackInput{StackName: s.StackName, ClientRequestToken: aws.String("another")})
		refusedWith(t, err, "ValidationError", "CancelUpdateStack cannot be called from current stack status")
	}()
	if _, err := g.CancelUpdateStack(t.Context(), owner, cancel); err != nil {
		t.Fatal(err)
	}
	close(hold)
	g.expectStatus(g.settled("s"), types.StackStatusUpdateRollbackComplete, "")
	g.expect("s", n,
		"s UPDATE_IN_PROGRESS (User Initiated)", "A UPDATE_IN_PROGRESS a-1", "A UPDATE_COMPLETE a-1",
		"s UPDATE_ROLLBACK_IN_PROGRESS (Stack update cancelled)", "A UPDATE_IN_PROGRESS a-1", "A UPDATE_COMPLETE a-1",
		"s UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_ROLLBACK_COMPLETE")
}

// TestCancelWaits stops an update that waits for signals. It does not wait any longer.
func TestCancelWaits(t *testing.T) {
	t.Parallel()
	for name, resources := range map[string][]string{
		"creation policy": {"W: {CreationPolicy: {ResourceSignal: {Timeout: PT12H}}}"},
		"wait condition":  {"H: {Type: 'AWS::CloudFormation::WaitConditionHandle'}", "W: {Type: 'AWS::CloudFormation::WaitCondition', Properties: {Handle: !Ref H}}"},
	} {
		t.Run(name, func(t *testing.T) {
			g := onSQLite(t)
			for _, name := range []string{waitConditionType, handleType} {
				typ, err := g.OwnTypes().Type(t.Context(), owner, name, "")
				if err != nil {
					t.Fatal(err)
				}
				g.world.types[name] = typ
			}
			s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {}"))})
			if _, err := g.UpdateStack(t.Context(), owner, &cloudformation.UpdateStackInput{StackName: s.StackName, TemplateBody: aws.String(things(append(resources, "A: {}")...))}); err != nil {
				t.Fatal(err)
			}
			eventOf := func(prefix string) func(string) bool {
				return func(row string) bool { return strings.HasPrefix(row, "W "+prefix) }
			}
			fixtures.Await(t, "the creation of W", func() bool { return slices.ContainsFunc(g.story("s"), eventOf("CREATE_IN_PROGRESS")) })
			if _, err := g.CancelUpdateStack(t.Context(), owner, &cloudformation.CancelUpdateStackInput{StackName: s.StackName}); err != nil {
				t.Fatal(err)
			}
			g.expectStatus(g.settled("s"), types.StackStatusUpdateRollbackComplete, "")
			if story := g.story("s"); !slices.ContainsFunc(story, eventOf("CREATE_FAILED")) || !slices.ContainsFunc(story, eventOf("DELETE_COMPLETE")) {
				t.Errorf("events: %q", story)
			}
		})
	}
}

// TestSignalsOfBefore makes a resource a second time. The signals that the first one got are
// not for it.
func TestSignalsOfBefore(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	without, with := aws.String(things("A: {}")), aws.String(things("A: {}", "W: {CreationPolicy: {ResourceSignal: {Timeout: PT12H}}}"))
	s := g.create(&cloudformation.CreateStackInput{TemplateBody: without})
	for i, physical := range []string{"w-1", "w-2"} {
		if _, err := g.UpdateStack(t.Context(), owner, &cloudformation.UpdateStackInput{StackName: s.StackName, TemplateBody: with}); err != nil {
			t.Fatal(err)
		}
		g.happens("W CREATE_IN_PROGRESS " + physical + " (Resource creation Initiated)")
		signal := &cloudformation.SignalResourceInput{StackName: s.StackName, LogicalResourceId: aws.String("W"), UniqueId: aws.String("u"), Status: types.ResourceSignalStatusSuccess}
		if _, err := g.SignalResource(t.Context(), owner, signal); err != nil {
			t.Fatalf("signal %d: %v", i, err)
		}
		g.expectStatus(g.settled("s"), types.StackStatusUpdateComplete, "")
		g.update(&cloudformation.UpdateStackInput{StackName: s.StackName, TemplateBody: without})
	}
}

// TestReplacementLeft rolls an update back whose replacement of A was made, and then failed or
// was cancelled: the rollback deletes it.
func TestReplacementLeft(t *testing.T) {
	t.Parallel()
	no := behavior{code: "InvalidRequest", message: "no"}
	for name, script := range map[string]func(g *rig) (failing string){
		"failed": func(g *rig) string {
			g.world.script("CREATE A", behavior{code: "InvalidRequest", message: "no", keep: true})
			return "A: {Properties: {Name: y}}"
		},
		"cancelled": func(g *rig) string {
			hold := make(chan struct{})
			g.world.script("CREATE A", behavior{wait: time.Hour})
			g.world.script("CREATE B", behavior{code: no.code, message: no.message, hold: hold})
			go func() {
				defer close(hold)
				fixtures.Happens(fixtures.Patience, func() bool {
					return g.t.Context().Err() != nil || slices.Contains(g.story("s"), "A UPDATE_IN_PROGRESS a-2 (Resource creation Initiated)")
				})
			}()
			return "A: {Properties: {Name: y}}\n  B: {}"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := onSQLite(t)
			g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {Properties: {Name: x}}"))})
			s := g.update(&cloudformation.UpdateStackInput{TemplateBody: aws.String(things(strings.Split(script(g), "\n  ")...))})
			if s.StackStatus != types.StackStatusUpdateRollbackComplete {
				t.Errorf("status %s", s.StackStatus)
			}
			if ids := g.world.ids(); !slices.Equal(ids, []string{"a-1"}) {
				t.Errorf("left: %v", ids)
			}
			if !slices.Contains(g.world.calls, "DELETE A") {
				t.Errorf("a-2 is not deleted: %v", g.world.calls)
			}
		})
	}
}

// TestPreservedStacks refuses updates with rollback of stacks that failed and were left as they
// were, and replacements while rollback is disabled.
func TestPreservedStacks(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	no := behavior{code: "InvalidRequest", message: "no"}
	g.world.script("CREATE B", no)
	body := aws.String(things("A: {}", "B: {DependsOn: A}"))
	g.create(&cloudformation.CreateStackInput{DisableRollback: aws.Bool(true), TemplateBody: body})
	in := &cloudformation.UpdateStackInput{StackName: aws.String("s"), TemplateBody: body}
	want := "ValidationError: This stack is currently in a non-terminal [CREATE_FAILED] state. To update the stack from this state, " +
		"please use the disable-rollback parameter with update-stack API. To rollback to the last known good state, use the rollback-stack API"
	for _, disable := range []*bool{nil, aws.Bool(false)} {
		in.DisableRollback = disable
		_, err := g.UpdateStack(t.Context(), owner, in)
		if got := refusal(t, err); got != want {
			t.Error(got)
		}
	}
	in.DisableRollback = aws.Bool(true)
	g.expectStatus(g.update(in), types.StackStatusUpdateComplete, "")
	n := len(g.story("s"))
	in.TemplateBody = aws.String(things("A: {Properties: {Name: new}}", "B: {DependsOn: A}"))
	g.expectStatus(g.update(in), types.StackStatusUpdateFailed, "The following resource(s) failed to update: [A]. ")
	g.expect("s", n, "s UPDATE_IN_PROGRESS (User Initiated)",
		"A UPDATE_FAILED a-1 (Replacement type updates not supported on stack with disable-rollback.)",
		"s UPDATE_FAILED (The following resource(s) failed to update: [A]. )")
}
