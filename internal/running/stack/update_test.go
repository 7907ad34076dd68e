package stack

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// handlerFailed is the reason of a resource whose handler failed in the way of the tests.
const handlerFailed = `(Resource handler returned message: "no" (RequestToken: U, HandlerErrorCode: InvalidRequest))`

// TestUpdates takes a stack of three resources to another template, in every way that an
// update ends.
func TestUpdates(t *testing.T) {
	t.Parallel()
	const before = "A: {Properties: {Name: a, Note: 1}}"
	type test struct {
		before, after []string
		in            cloudformation.UpdateStackInput
		script        func(w *world)
		story         []string
		status        types.StackStatus
		reason        string
		left          []string
	}
	no := behavior{code: "InvalidRequest", message: "no"}
	tests := map[string]test{
		"in place": {
			before: []string{before}, after: []string{"A: {Properties: {Name: a, Note: 2}}"},
			story: []string{
				"s UPDATE_IN_PROGRESS (User Initiated)", "A UPDATE_IN_PROGRESS a-1", "A UPDATE_COMPLETE a-1",
				"s UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_COMPLETE",
			}, status: types.StackStatusUpdateComplete, left: []string{"a-1"},
		},
		"an UpdatePolicy changes with the properties": {
			before: []string{before}, after: []string{"A: {Properties: {Name: a, Note: 2}, UpdatePolicy: {AutoScalingRollingUpdate: {MaxBatchSize: !Ref 'AWS::NoValue', PauseTime: PT5M}}}"},
			story: []string{
				"s UPDATE_IN_PROGRESS (User Initiated)", "A UPDATE_IN_PROGRESS a-1", "A UPDATE_COMPLETE a-1",
				"s UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_COMPLETE",
			}, status: types.StackStatusUpdateComplete, left: []string{"a-1"},
		},
		"an UpdatePolicy alone": {
			before: []string{before}, after: []string{"A: {Properties: {Name: a, Note: 1}, UpdatePolicy: {UseOnlineResharding: true}}"},
			story: []string{
				"s UPDATE_IN_PROGRESS (User Initiated)",
				"s UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_COMPLETE",
			}, status: types.StackStatusUpdateComplete, left: []string{"a-1"},
		},
		"what does not change": {
			before: []string{before, "B: {Properties: {Note: !GetAtt A.Name}}"}, after: []string{"A: {Properties: {Name: a, Note: 2}}", "B: {Properties: {Note: !GetAtt A.Name}}"},
			story: []string{
				"s UPDATE_IN_PROGRESS (User Initiated)", "A UPDATE_IN_PROGRESS a-1", "A UPDATE_COMPLETE a-1",
				"s UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_COMPLETE",
			}, status: types.StackStatusUpdateComplete, left: []string{"a-1", "b-1"},
		},
		"replacement": {
			before: []string{before}, after: []string{"A: {Properties: {Name: b}}"},
			story: []string{
				"s UPDATE_IN_PROGRESS (User Initiated)",
				"A UPDATE_IN_PROGRESS a-1 (Requested update requires the creation of a new physical resource; hence creating one.)",
				"A UPDATE_IN_PROGRESS a-2 (Resource creation Initiated)", "A UPDATE_COMPLETE a-2",
				"s UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "A DELETE_IN_PROGRESS a-1", "A DELETE_COMPLETE a-1", "s UPDATE_COMPLETE",
			}, status: types.StackStatusUpdateComplete, left: []string{"a-2"},
		},
		"replacement that keeps the old one": {
			before: []string{before}, after: []string{"A: {Properties: {Name: b}, UpdateReplacePolicy: Retain}"},
			story: []string{
				"s UPDATE_IN_PROGRESS (User Initiated)",
				"A UPDATE_IN_PROGRESS a-1 (Requested update requires the creation of a new physical resource; hence creating one.)",
				"A UPDATE_IN_PROGRESS a-2 (Resource creation Initiated)", "A UPDATE_COMPLETE a-2",
				"s UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "A DELETE_SKIPPED a-1", "s UPDATE_COMPLETE",
			}, status: types.StackStatusUpdateComplete, left: []string{"a-1", "a-2"},
		},
		"replacement after the handler refused": {
			before: []string{before}, after: []string{"A: {Properties: {Name: a, Class: c}}"},
			script: func(w *world) { w.script("UPDATE A", behavior{code: "NotUpdatable"}) },
			story: []string{
				"s UPDATE_IN_PROGRESS (User Initiated)", "A UPDATE_IN_PROGRESS a-1",
				"A UPDATE_IN_PROGRESS a-1 (Requested update requires the creation of a new physical resource; hence creating one.)",
				"A UPDATE_IN_PROGRESS a-2 (Resource creation Initiated)", "A UPDATE_COMPLETE a-2",
				"s UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "A DELETE_IN_PROGRESS a-1", "A DELETE_COMPLETE a-1", "s UPDATE_COMPLETE",
			}, status: types.StackStatusUpdateComplete, left: []string{"a-2"},
		},
		"deleted before it is created": {
			before: []string{"A: {Type: 'Acme::Test::Remade', Properties: {Name: a}}"}, after: []string{"A: {Type: 'Acme::Test::Remade', Properties: {Name: b}}"},
			story: []string{
				"s UPDATE_IN_PROGRESS (User Initiated)",
				"A UPDATE_IN_PROGRESS a-1 (Requested update requires the creation of a new physical resource; hence creating one.)",
				"A DELETE_IN_PROGRESS a-1", "A DELETE_COMPLETE a-1", "A UPDATE_IN_PROGRESS a-2 (Resource creation Initiated)", "A UPDATE_COMPLETE a-2",
				"s UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_COMPLETE",
			}, status: types.StackStatusUpdateComplete, left: []string{"a-2"},
		},
		"removal": {
			before: []string{before, "B: {DependsOn: A}"}, after: []string{before},
			story: []string{
				"s UPDATE_IN_PROGRESS (User Initiated)", "s UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
				"B DELETE_IN_PROGRESS b-1", "B DELETE_COMPLETE b-1", "s UPDATE_COMPLETE",
			}, status: types.StackStatusUpdateComplete, left: []string{"a-1"},
		},
		"removal that fails": {
			before: []string{before, "B: {}"}, after: []string{before},
			script: func(w *world) { w.script("DELETE B", no) },
			story: []string{
				"s UPDATE_IN_PROGRESS (User Initiated)", "s UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
				"B DELETE_IN_PROGRESS b-1", "B DELETE_FAILED b-1 " + handlerFailed, "s UPDATE_COMPLETE",
			}, status: types.StackStatusUpdateComplete, left: []string{"a-1", "b-1"},
		},
		"failure": {
			before: []string{before, "B: {DependsOn: A, Properties: {Note: 1}}"}, after: []string{"A: {Properties: {Name: a, Note: 2}}", "B: {DependsOn: A, Properties: {Note: 2}}", "C: {DependsOn: B}"},
			script: func(w *world) { w.script("UPDATE B", no) },
			story: []string{
				"s UPDATE_IN_PROGRESS (User Initiated)", "A UPDATE_IN_PROGRESS a-1", "A UPDATE_COMPLETE a-1",
				"B UPDATE_IN_PROGRESS b-1", "B UPDATE_FAILED b-1 " + handlerFailed,
				"s UPDATE_ROLLBACK_IN_PROGRESS (The following resource(s) failed to update: [B]. )",
				"A UPDATE_IN_PROGRESS a-1", "A UPDATE_COMPLETE a-1", "B UPDATE_IN_PROGRESS b-1", "B UPDATE_COMPLETE b-1",
				"s UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_ROLLBACK_COMPLETE",
			}, status: types.StackStatusUpdateRollbackComplete, left: []string{"a-1", "b-1"},
		},
		"failure after a replacement": {
			before: []string{before}, after: []string{"A: {Properties: {Name: b}}", "B: {DependsOn: A}"},
			script: func(w *world) { w.script("CREATE B", no) },
			story: []string{
				"s UPDATE_IN_PROGRESS (User Initiated)",
				"A UPDATE_IN_PROGRESS a-1 (Requested update requires the creation of a new physical resource; hence creating one.)",
				"A UPDATE_IN_PROGRESS a-2 (Resource creation Initiated)", "A UPDATE_COMPLETE a-2",
				"B CREATE_IN_PROGRESS", "B CREATE_FAILED " + handlerFailed,
				"s UPDATE_ROLLBACK_IN_PROGRESS (The following resource(s) failed to create: [B]. )", "A UPDATE_COMPLETE a-1",
				"s UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "B DELETE_COMPLETE", "A DELETE_IN_PROGRESS a-2", "A DELETE_COMPLETE a-2", "s UPDATE_ROLLBACK_COMPLETE",
			}, status: types.StackStatusUpdateRollbackComplete, left: []string{"a-1"},
		},
		"failure after a deletion": {
			before: []string{"A: {Type: 'Acme::Test::Remade', Properties: {Name: a}}"}, after: []string{"A: {Type: 'Acme::Test::Remade', Properties: {Name: b}}", "B: {DependsOn: A}"},
			script: func(w *world) { w.script("CREATE B", no) },
			story: []string{
				"s UPDATE_IN_PROGRESS (User Initiated)",
				"A UPDATE_IN_PROGRESS a-1 (Requested update requires the creation of a new physical resource; hence creating one.)",
				"A DELETE_IN_PROGRESS a-1", "A DELETE_COMPLETE a-1", "A UPDATE_IN_PROGRESS a-2 (Resource creation Initiated)", "A UPDATE_COMPLETE a-2",
				"B CREATE_IN_PROGRESS", "B CREATE_FAILED " + handlerFailed,
				"s UPDATE_ROLLBACK_IN_PROGRESS (The following resource(s) failed to create: [B]. )",
				"A UPDATE_IN_PROGRESS a-2", "A DELETE_IN_PROGRESS a-2", "A DELETE_COMPLETE a-2", "A UPDATE_IN_PROGRESS a-3 (Resource creation Initiated)", "A UPDATE_COMPLETE a-3",
				"s UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "B DELETE_COMPLETE", "s UPDATE_ROLLBACK_COMPLETE",
			}, status: types.StackStatusUpdateRollbackComplete, left: []string{"a-3"},
		},
		"failure that is kept": {
			before: []string{before}, after: []string{"A: {Properties: {Name: a, Note: 2}}", "B: {DependsOn: A}"},
			in:     cloudformation.UpdateStackInput{DisableRollback: aws.Bool(true)},
			script: func(w *world) { w.script("CREATE B", behavior{wait: time.Millisecond, unidentified: true}, no) },
			story: []string{
				"s UPDATE_IN_PROGRESS (User Initiated)", "A UPDATE_IN_PROGRESS a-1", "A UPDATE_COMPLETE a-1", "B CREATE_IN_PROGRESS",
				"B CREATE_FAILED " + handlerFailed, "s UPDATE_FAILED (The following resource(s) failed to create: [B]. )",
			}, status: types.StackStatusUpdateFailed, reason: "The following resource(s) failed to create: [B]. ", left: []string{"a-1"},
		},
		"rollback that fails": {
			before: []string{before}, after: []string{"A: {Properties: {Name: a, Note: 2}}", "B: {DependsOn: A}"},
			script: func(w *world) { w.script("CREATE B", no); w.script("UPDATE A", behavior{}, no) },
			story: []string{
				"s UPDATE_IN_PROGRESS (User Initiated)", "A UPDATE_IN_PROGRESS a-1", "A UPDATE_COMPLETE a-1",
				"B CREATE_IN_PROGRESS", "B CREATE_FAILED " + handlerFailed,
				"s UPDATE_ROLLBACK_IN_PROGRESS (The following resource(s) failed to create: [B]. )",
				"A UPDATE_IN_PROGRESS a-1", "A UPDATE_FAILED a-1 " + handlerFailed,
				"s UPDATE_ROLLBACK_FAILED (The following resource(s) failed to update: [A]. )",
			}, status: types.StackStatusUpdateRollbackFailed, reason: "The following resource(s) failed to update: [A]. ", left: []string{"a-1"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := onSQLite(t)
			g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things(test.before...))})
			if test.script != nil {
				test.script(g.world)
			}
			n := len(g.story("s"))
			test.in.TemplateBody = aws.String(things(test.after...))
			s := g.update(&test.in)
			g.expectStatus(s, test.status, test.reason)
			g.expect("s", n, test.story...)
			if left := g.world.ids(); !slices.Equal(left, test.left) {
				t.Errorf("left: %v, want %v", left, test.left)
			}
			g.delete(*s.StackId, &cloudformation.DeleteStackInput{})
			if left := g.world.ids(); len(left) > 0 && name != "replacement that keeps the old one" {
				t.Errorf("left after the stack was deleted: %v", left)
			}
		})
	}
}
