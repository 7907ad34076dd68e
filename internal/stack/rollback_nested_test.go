package stack

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// failedNestedRollback leaves the stack s and its nested stack N in UPDATE_ROLLBACK_FAILED: the
// resource X of N could be neither updated nor taken back. With deep, it is in a nested stack
// of N.
func failedNestedRollback(t *testing.T, deep bool) (g *rig, child types.Stack) {
	t.Helper()
	g = onSQLite(t)
	no := behavior{code: "InvalidRequest", message: "no"}
	inner := func(note string) string {
		return things("X: {Properties: {Note: "+note+"}}", "Y: {DependsOn: X, Properties: {Note: "+note+"}}")
	}
	for note, url := range map[string]string{"1": "before", "2": "after"} {
		if !deep {
			g.world.offers("https://t/"+url, inner(note))
			continue
		}
		g.world.offers("https://t/inner-"+url, inner(note))
		g.world.offers("https://t/"+url, things(nests("M", "inner-"+url)))
	}
	s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things(nests("N", "before")))})
	g.expectStatus(s, types.StackStatusCreateComplete, "")
	g.world.script("UPDATE X", behavior{}, no) // the update succeeds, the rollback fails
	g.world.script("UPDATE Y", no)
	s = g.update(&cloudformation.UpdateStackInput{TemplateBody: aws.String(things(nests("N", "after")))})
	g.expectStatus(s, types.StackStatusUpdateRollbackFailed, "The following resource(s) failed to update: [N]. ")
	child = s
	for _, id := range []string{"N", "M"}[:map[bool]int{false: 1, true: 2}[deep]] {
		out, err := g.DescribeStackResource(t.Context(), owner, &cloudformation.DescribeStackResourceInput{StackName: child.StackId, LogicalResourceId: aws.String(id)})
		if err != nil {
			t.Fatal(err)
		}
		child = g.settled(*out.StackResourceDetail.PhysicalResourceId)
		if child.StackStatus != types.StackStatusUpdateRollbackFailed {
			t.Fatalf("the nested stack is in %s (%s)", child.StackStatus, aws.ToString(child.StackStatusReason))
		}
	}
	return g, child
}

// TestContinueUpdateRollbackOfNestedStacks continues the rollback of a stack whose nested stack
// could not be rolled back: the nested stack's rollback is continued, too.
func TestContinueUpdateRollbackOfNestedStacks(t *testing.T) {
	for name, test := range map[string]struct {
		deep   bool
		in     func(child string) cloudformation.ContinueUpdateRollbackInput
		script []behavior
		note   string // of X, in the end
		failed bool
	}{
		"again": {in: func(string) (in cloudformation.ContinueUpdateRollbackInput) { return in }, note: "1"},
		"again, and it fails again": {in: func(string) (in cloudformation.ContinueUpdateRollbackInput) { return in }, note: "2", failed: true,
			script: []behavior{{code: "InvalidRequest", message: "no"}}},
		"skipped": {in: func(child string) (in cloudformation.ContinueUpdateRollbackInput) {
			in.ResourcesToSkip = []string{child + ".X"}
			return in
		}, note: "2"},
		"skipped further down": {deep: true, in: func(child string) (in cloudformation.ContinueUpdateRollbackInput) {
			in.ResourcesToSkip = []string{child + ".X"}
			return in
		}, note: "2"},
		"forced": {in: func(string) (in cloudformation.ContinueUpdateRollbackInput) {
			in.ForceRollback = aws.Bool(true)
			return in
		}, note: "2", script: []behavior{{code: "InvalidRequest", message: "no"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, child := failedNestedRollback(t, test.deep)
			g.world.script("UPDATE X", test.script...)
			in := test.in(*child.StackName)
			in.StackName = aws.String("s")
			n := len(g.story(*child.StackId))
			if _, err := g.ContinueUpdateRollback(t.Context(), owner, &in); err != nil {
				t.Fatal(err)
			}
			s, after := g.settled("s"), types.StackStatusUpdateRollbackComplete
			if test.failed {
				after = types.StackStatusUpdateRollbackFailed
			}
			if s.StackStatus != after || g.settled(*child.StackId).StackStatus != after {
				t.Errorf("status %s, of the nested stack %s", s.StackStatus, g.settled(*child.StackId).StackStatus)
			}
			if note := g.world.things["x-1"]["Note"]; note != test.note {
				t.Errorf("X has the note %v, want %s", note, test.note)
			}
			story := g.story(*child.StackId)[n:]
			if story[0] != "s UPDATE_ROLLBACK_IN_PROGRESS (User Initiated)" && !strings.HasSuffix(story[0], " UPDATE_ROLLBACK_IN_PROGRESS (User Initiated)") {
				t.Errorf("the nested stack: %v", story)
			}
			if skipped := len(in.ResourcesToSkip) > 0; skipped && slices.Contains(story, "X UPDATE_IN_PROGRESS x-1") {
				t.Errorf("what is skipped was called: %v", story)
			}
		})
	}
}

// TestSkipRefusals lists what of nested stacks cannot be skipped.
func TestSkipRefusals(t *testing.T) {
	g, child := failedNestedRollback(t, false)
	g.create(&cloudformation.CreateStackInput{StackName: aws.String("other"), TemplateBody: aws.String(things("X: {}"))})
	for skip, want := range map[string]string{
		"none.X":                "ValidationError: The following resources to skip are not in a failed update rollback state: [none.X]",
		"other.X":               "ValidationError: The following resources to skip are not in a failed update rollback state: [other.X]", // of no nested stack
		"N.X":                   "ValidationError: The following resources to skip are not in a failed update rollback state: [N.X]",     // a logical id
		*child.StackName + ".Z": "ValidationError: The following resources to skip are not in a failed update rollback state: [" + *child.StackName + ".Z]",
		"N":                     "ValidationError: The nested stack N cannot be skipped in status UPDATE_ROLLBACK_FAILED: it must be in one of DELETE_IN_PROGRESS, DELETE_COMPLETE or DELETE_FAILED.",
	} {
		_, err := g.ContinueUpdateRollback(t.Context(), owner, &cloudformation.ContinueUpdateRollbackInput{StackName: aws.String("s"), ResourcesToSkip: []string{skip}})
		if got := refusal(t, err); got != want {
			t.Errorf("%s: %s", skip, got)
		}
	}
	// What is gone can be skipped.
	if _, err := g.DeleteStack(t.Context(), owner, &cloudformation.DeleteStackInput{StackName: child.StackId}); err != nil {
		t.Fatal(err)
	}
	g.settled(*child.StackId)
	if _, err := g.ContinueUpdateRollback(t.Context(), owner, &cloudformation.ContinueUpdateRollbackInput{StackName: aws.String("s"), ResourcesToSkip: []string{"N"}}); err != nil {
		t.Fatal(err)
	}
	g.expectStatus(g.settled("s"), types.StackStatusUpdateRollbackComplete, "")
}
