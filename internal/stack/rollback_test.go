package stack

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
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
	for !slices.Contains(g.story("s"), "A UPDATE_IN_PROGRESS a-1") {
		time.Sleep(time.Millisecond)
	}
	if _, err := g.CancelUpdateStack(t.Context(), owner, &cloudformation.CancelUpdateStackInput{StackName: s.StackName}); err != nil {
		t.Fatal(err)
	}
	close(hold)
	g.expectStatus(g.settled("s"), types.StackStatusUpdateRollbackComplete, "")
	g.expect("s", n,
		"s UPDATE_IN_PROGRESS (User Initiated)", "A UPDATE_IN_PROGRESS a-1", "A UPDATE_COMPLETE a-1",
		"s UPDATE_ROLLBACK_IN_PROGRESS (Stack update cancelled)", "A UPDATE_IN_PROGRESS a-1", "A UPDATE_COMPLETE a-1",
		"s UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_ROLLBACK_COMPLETE")
}
