package stack

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

var tokens = regexp.MustCompile(`RequestToken: [0-9a-f-]{36}`)

// TestCreateAndDelete takes a chain of resources through its life.
func TestCreateAndDelete(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things(
			"B: {Properties: {Note: !GetAtt A.Id}}", "A: {Properties: {Name: a}}", "C: {DependsOn: [B]}") + `Outputs: {Note: {Value: !GetAtt B.Note, Export: {Name: note}}}`)})
		g.expectStatus(s, types.StackStatusCreateComplete, "")
		if len(s.Outputs) != 1 || *s.Outputs[0].OutputValue != "a-1" {
			t.Errorf("outputs: %v", s.Outputs)
		}
		g.expect("s", 0,
			"s CREATE_IN_PROGRESS (User Initiated)",
			"A CREATE_IN_PROGRESS", "A CREATE_IN_PROGRESS a-1 (Resource creation Initiated)", "A CREATE_COMPLETE a-1",
			"B CREATE_IN_PROGRESS", "B CREATE_IN_PROGRESS b-1 (Resource creation Initiated)", "B CREATE_COMPLETE b-1",
			"C CREATE_IN_PROGRESS", "C CREATE_IN_PROGRESS c-1 (Resource creation Initiated)", "C CREATE_COMPLETE c-1",
			"s CREATE_COMPLETE",
		)
		n := len(g.story("s"))
		s = g.delete(*s.StackId, &cloudformation.DeleteStackInput{})
		g.expectStatus(s, types.StackStatusDeleteComplete, "")
		g.expect(*s.StackId, n,
			"s DELETE_IN_PROGRESS (User Initiated)",
			"C DELETE_IN_PROGRESS c-1", "C DELETE_COMPLETE c-1", "B DELETE_IN_PROGRESS b-1", "B DELETE_COMPLETE b-1",
			"A DELETE_IN_PROGRESS a-1", "A DELETE_COMPLETE a-1",
			"s DELETE_COMPLETE",
		)
		if left := g.world.ids(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// TestCreateFails has a handler fail in every way that decides how the stack ends.
func TestCreateFails(t *testing.T) {
	t.Parallel()
	failure := `A CREATE_FAILED (Resource handler returned message: "no" (RequestToken: U, HandlerErrorCode: InvalidRequest))`
	tests := map[string]struct {
		in     cloudformation.CreateStackInput
		policy string
		story  []string
		status types.StackStatus
		reason string
		left   []string
	}{
		"rolled back": {
			story: []string{
				failure, "s ROLLBACK_IN_PROGRESS (The following resource(s) failed to create: [A]. Rollback requested by user.)",
				"A DELETE_COMPLETE", "B DELETE_IN_PROGRESS b-1", "B DELETE_COMPLETE b-1", "s ROLLBACK_COMPLETE",
			}, status: types.StackStatusRollbackComplete,
		},
		"kept": {
			in:     cloudformation.CreateStackInput{DisableRollback: aws.Bool(true)},
			story:  []string{failure, "s CREATE_FAILED (The following resource(s) failed to create: [A])"},
			status: types.StackStatusCreateFailed, reason: "The following resource(s) failed to create: [A]", left: []string{"b-1"},
		},
		"deleted": {
			in: cloudformation.CreateStackInput{OnFailure: types.OnFailureDelete},
			story: []string{
				failure, "s DELETE_IN_PROGRESS (The following resource(s) failed to create: [A]. Delete requested by user.)",
				"A DELETE_COMPLETE", "B DELETE_IN_PROGRESS b-1", "B DELETE_COMPLETE b-1", "s DELETE_COMPLETE",
			}, status: types.StackStatusDeleteComplete,
		},
		"retained": {
			policy: ", DeletionPolicy: Retain",
			story: []string{
				failure, "s ROLLBACK_IN_PROGRESS (The following resource(s) failed to create: [A]. Rollback requested by user.)",
				"A DELETE_COMPLETE", "B DELETE_SKIPPED b-1", "s ROLLBACK_COMPLETE",
			}, status: types.StackStatusRollbackComplete, left: []string{"b-1"},
		},
		"retained except on create": {
			policy: ", DeletionPolicy: RetainExceptOnCreate",
			story: []string{
				failure, "s ROLLBACK_IN_PROGRESS (The following resource(s) failed to create: [A]. Rollback requested by user.)",
				"A DELETE_COMPLETE", "B DELETE_IN_PROGRESS b-1", "B DELETE_COMPLETE b-1", "s ROLLBACK_COMPLETE",
			}, status: types.StackStatusRollbackComplete,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := onSQLite(t)
			g.world.script("CREATE A", behavior{code: "InvalidRequest", message: "no"})
			test.in.TemplateBody = aws.String(things("B: {Properties: {Note: b}"+test.policy+"}", "A: {DependsOn: B}"))
			s := g.create(&test.in)
			g.expectStatus(s, test.status, test.reason)
			g.expect(*s.StackId, 0, slices.Concat([]string{
				"s CREATE_IN_PROGRESS (User Initiated)", "B CREATE_IN_PROGRESS", "B CREATE_IN_PROGRESS b-1 (Resource creation Initiated)",
				"B CREATE_COMPLETE b-1", "A CREATE_IN_PROGRESS",
			}, test.story)...)
			if left := g.world.ids(); !slices.Equal(left, test.left) {
				t.Errorf("left: %v, want %v", left, test.left)
			}
		})
	}
}

// TestSiblingsAreCancelled has one resource fail while another one is being created.
func TestSiblingsAreCancelled(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	hold := make(chan struct{})
	g.world.script("CREATE B", behavior{wait: time.Millisecond}, behavior{hold: hold})
	g.world.script("CREATE A", behavior{hold: hold, code: "InternalFailure", message: "oh"})
	if _, err := g.CreateStack(t.Context(), owner, &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(things("A: {}", "B: {}", "C: {DependsOn: A}"))}); err != nil {
		t.Fatal(err)
	}
	g.happens("B CREATE_IN_PROGRESS b-1 (Resource creation Initiated)")
	close(hold)
	s := g.settled("s")
	g.expectStatus(s, types.StackStatusRollbackComplete, "")
	if left := g.world.ids(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	t.Log(g.story("s"))
}
