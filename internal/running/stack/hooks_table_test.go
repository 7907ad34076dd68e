package stack

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// hookName is the hook of the table.
const hookName = "Acme::Test::Hook"

// A hookOutcome is what a hook answers, and what that is.
type hookOutcome struct {
	answers []any
	status  string // without HOOK_
	reason  string
	calls   int
	gone    bool // the hook was deregistered meanwhile
}

func (o hookOutcome) passes() bool { return o.status == "COMPLETE_SUCCEEDED" }

const (
	busyAnswer = `{"hookStatus": "IN_PROGRESS", "callbackContext": {"n": 1}, "callbackDelaySeconds": 5}`
	refusing   = `{"hookStatus": "FAILED", "errorCode": "NonCompliant", "message": "no"}`
	throttled  = `{"hookStatus": "FAILED", "errorCode": "Throttling", "message": "later"}`
)

// hookOutcomes are the ways in which hooks end.
var hookOutcomes = map[string]hookOutcome{
	"passes":                   {nil, "COMPLETE_SUCCEEDED", "Hook succeeded with message: fine", 1, false},
	"refuses":                  {[]any{refusing}, "COMPLETE_FAILED", "Hook failed with message: no", 1, false},
	"passes without a message": {[]any{`{"hookStatus": "SUCCESS"}`}, "COMPLETE_SUCCEEDED", "Hook succeeded with message: ", 1, false},
	"makes the hook on the stack needless": {
		[]any{`{"hookStatus": "CHANGE_SET_SUCCESS_SKIP_STACK_HOOK", "message": "m"}`}, "COMPLETE_SUCCEEDED", "Hook succeeded with message: m", 1, false,
	},
	"refuses with an unknown code":     {[]any{`{"hookStatus": "FAILED", "errorCode": "Sorry", "message": "no"}`}, "COMPLETE_FAILED", "Hook failed with message: no", 1, false},
	"answers as a resource would":      {[]any{`{"status": "FAILED", "message": "", "resourceModel": {}}`}, "COMPLETE_FAILED", "Hook failed with message: ", 1, false},
	"is in progress and passes":        {[]any{busyAnswer, busyAnswer}, "COMPLETE_SUCCEEDED", "Hook succeeded with message: fine", 3, false},
	"is in progress for good":          {[]any{busyAnswer, busyAnswer, busyAnswer}, "FAILED", "Hook failed with message: The hook returned IN_PROGRESS 3 times.", 3, false},
	"answers the second time":          {[]any{hang{}}, "COMPLETE_SUCCEEDED", "Hook succeeded with message: fine", 2, false},
	"never answers":                    {[]any{hang{}, hang{}, hang{}}, "FAILED", "Hook failed with message: Hook execution timed out.", 3, false},
	"is throttled, and passes":         {[]any{throttled, throttled}, "COMPLETE_SUCCEEDED", "Hook succeeded with message: fine", 3, false},
	"is throttled for good":            {[]any{throttled, throttled, throttled}, "COMPLETE_FAILED", "Hook failed with message: later", 3, false},
	"crashes":                          {[]any{errCrashed}, "FAILED", "Hook failed with message: CREATE_PRE_PROVISION, call 1: no answer from the handler: the process ended", 1, false},
	"answers with an unknown status":   {[]any{`{"hookStatus": "BORED"}`}, "FAILED", `Hook failed with message: CREATE_PRE_PROVISION, call 1: the handler broke the protocol: its hookStatus is "BORED": expected IN_PROGRESS, SUCCESS or FAILED`, 1, false},
	"answers with something else":      {[]any{`[]`}, "FAILED", "Hook failed with message: CREATE_PRE_PROVISION, call 1: the handler broke the protocol: it answered with an array, not with a progress event", 1, false},
	"was deregistered in the meantime": {nil, "FAILED", "Hook failed with message: The hook Acme::Test::Hook does not exist any more.", 0, true},
}

// A hookedTarget is an operation that hooks see.
type hookedTarget struct {
	target        string   // of the hook
	before, after string   // templates: an update from one to the other, or a creation or deletion
	begun         []string // events before the hook
	row           string   // the resource and its status, in the events of the hook
	passed        []string // events after a hook that lets it pass
	failed        []string // events after one that stops it
	success       types.StackStatus
	failure       types.StackStatus
	left          [2]string // what exists after either
}

// hookedTargets are the operations on stacks and their resources.
var hookedTargets = map[string]hookedTarget{
	"CREATE of a resource": {
		target: "Acme::Test::*", after: "A: {Properties: {Note: 1}}", row: "A CREATE_IN_PROGRESS",
		begun: []string{"s CREATE_IN_PROGRESS (User Initiated)", "A CREATE_IN_PROGRESS"},
		passed: []string{
			"A CREATE_IN_PROGRESS (Hook invocations complete.  Resource creation initiated)", "A CREATE_IN_PROGRESS a-1 (Resource creation Initiated)",
			"A CREATE_COMPLETE a-1", "s CREATE_COMPLETE",
		},
		failed: []string{
			"A CREATE_FAILED (The following hook(s) failed: [Acme::Test::Hook])",
			"s ROLLBACK_IN_PROGRESS (The following resource(s) failed to create: [A]. Rollback requested by user.)", "A DELETE_COMPLETE", "s ROLLBACK_COMPLETE",
		},
		success: types.StackStatusCreateComplete, failure: types.StackStatusRollbackComplete, left: [2]string{"a-1", ""},
	},
	"UPDATE of a resource": {
		target: "Acme::Test::Thing", before: "A: {Properties: {Note: 1}}", after: "A: {Properties: {Note: 2}}", row: "A UPDATE_IN_PROGRESS",
		begun: []string{"s UPDATE_IN_PROGRESS (User Initiated)", "A UPDATE_IN_PROGRESS a-1"},
		passed: []string{
			"A UPDATE_IN_PROGRESS a-1 (Hook invocations complete.  Resource update initiated)", "A UPDATE_COMPLETE a-1",
			"s UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_COMPLETE",
		},
		failed: []string{
			"A UPDATE_FAILED a-1 (The following hook(s) failed: [Acme::Test::Hook])",
			"s UPDATE_ROLLBACK_IN_PROGRESS (The following resource(s) failed to update: [A]. )", "A UPDATE_COMPLETE a-1",
			"s UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_ROLLBACK_COMPLETE",
		},
		success: types.StackStatusUpdateComplete, failure: types.StackStatusUpdateRollbackComplete, left: [2]string{"a-1", "a-1"},
	},
	"replacement of a resource": { // the deletion of the old one passes no hooks
		target: "*::Thing", before: "A: {Properties: {Name: a}}", after: "A: {Properties: {Name: b}}", row: "A UPDATE_IN_PROGRESS",
		begun: []string{"s UPDATE_IN_PROGRESS (User Initiated)", "A UPDATE_IN_PROGRESS a-1 (" + reasonReplacing + ")"},
		passed: []string{
			"A UPDATE_IN_PROGRESS a-1 (Hook invocations complete.  Resource update initiated)", "A UPDATE_IN_PROGRESS a-2 (Resource creation Initiated)",
			"A UPDATE_COMPLETE a-2", "s UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "A DELETE_IN_PROGRESS a-1", "A DELETE_COMPLETE a-1", "s UPDATE_COMPLETE",
		},
		failed: []string{
			"A UPDATE_FAILED a-1 (The following hook(s) failed: [Acme::Test::Hook])",
			"s UPDATE_ROLLBACK_IN_PROGRESS (The following resource(s) failed to update: [A]. )", "A UPDATE_COMPLETE a-1",
			"s UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_ROLLBACK_COMPLETE",
		},
		success: types.StackStatusUpdateComplete, failure: types.StackStatusUpdateRollbackComplete, left: [2]string{"a-2", "a-1"},
	},
	"DELETE of a resource": {
		target: "Acme::Test::Thin?", before: "A: {Properties: {Note: 1}}", row: "A DELETE_IN_PROGRESS",
		begun: []string{"s DELETE_IN_PROGRESS (User Initiated)", "A DELETE_IN_PROGRESS a-1"},
		passed: []string{
			"A DELETE_IN_PROGRESS a-1 (Hook invocations complete.  Resource deletion initiated)", "A DELETE_COMPLETE a-1", "s DELETE_COMPLETE",
		},
		failed: []string{
			"A DELETE_FAILED a-1 (The following hook(s) failed: [Acme::Test::Hook])", "s DELETE_FAILED (The following resource(s) failed to delete: [A]. )",
		},
		success: types.StackStatusDeleteComplete, failure: types.StackStatusDeleteFailed, left: [2]string{"", "a-1"},
	},
	"removal of a resource": { // passes no hooks
		target: "STACK", before: "A: {}|B: {}", after: "A: {}", row: "s UPDATE_IN_PROGRESS",
		begun: []string{"s UPDATE_IN_PROGRESS (User Initiated)"},
		passed: []string{
			"s UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "B DELETE_IN_PROGRESS b-1", "B DELETE_COMPLETE b-1", "s UPDATE_COMPLETE",
		},
		failed: []string{
			"s UPDATE_ROLLBACK_IN_PROGRESS (The following hook(s) failed: [Acme::Test::Hook]. Rollback requested by user.)",
			"s UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "s UPDATE_ROLLBACK_COMPLETE",
		},
		success: types.StackStatusUpdateComplete, failure: types.StackStatusUpdateRollbackComplete, left: [2]string{"a-1", "a-1 b-1"},
	},
	"CREATE of a stack": {
		target: "STACK", after: "A: {}", row: "s CREATE_IN_PROGRESS", begun: []string{"s CREATE_IN_PROGRESS (User Initiated)"},
		passed: []string{"A CREATE_IN_PROGRESS", "A CREATE_IN_PROGRESS a-1 (Resource creation Initiated)", "A CREATE_COMPLETE a-1", "s CREATE_COMPLETE"},
		failed: []string{
			"s ROLLBACK_IN_PROGRESS (The following hook(s) failed: [Acme::Test::Hook]. Rollback requested by user.)", "s ROLLBACK_COMPLETE",
		},
		success: types.StackStatusCreateComplete, failure: types.StackStatusRollbackComplete, left: [2]string{"a-1", ""},
	},
	"DELETE of a stack": {
		target: "STACK", before: "A: {}", row: "s DELETE_IN_PROGRESS", begun: []string{"s DELETE_IN_PROGRESS (User Initiated)"},
		passed:  []string{"A DELETE_IN_PROGRESS a-1", "A DELETE_COMPLETE a-1", "s DELETE_COMPLETE"},
		failed:  []string{"s DELETE_FAILED (The following hook(s) failed: [Acme::Test::Hook])"},
		success: types.StackStatusDeleteComplete, failure: types.StackStatusDeleteFailed, left: [2]string{"", "a-1"},
	},
}

// TestHookTable has hooks end in all ways, on all targets, in both failure modes: the events, the
// status and what is left are those that the service shows.
func TestHookTable(t *testing.T) {
	situations := 0
	for what, target := range hookedTargets {
		for how, outcome := range hookOutcomes {
			if what != "CREATE of a resource" && how != "passes" && how != "refuses" {
				continue // how a hook ends does not depend on its target
			}
			for _, mode := range []string{"FAIL", "WARN"} {
				situations++
				t.Run(what+"/"+how+"/"+mode, func(t *testing.T) { t.Parallel(); target.run(t, outcome, mode) })
			}
		}
	}
	if situations < 40 {
		t.Errorf("%d situations", situations)
	}
}

func (h hookedTarget) run(t *testing.T, outcome hookOutcome, mode string) {
	body := func(lines string) *string { return aws.String(things(strings.Split(lines, "|")...)) }
	inBubble(t, func(g *rig) {
		from, arn := 0, ""
		if h.before != "" {
			arn = *g.create(&cloudformation.CreateStackInput{TemplateBody: body(h.before)}).StackId
			from = len(g.story("s"))
		}
		hooks := &g.world.hooks
		hooks.add(hookName, on(mode), h.target)
		hooks.add("Acme::Test::Other", on("FAIL"), "Acme::Other::Thing", "CHANGE_SET")
		hooks.answer(hookName, outcome.answers...)
		hooks.gone = outcome.gone
		var s types.Stack
		switch {
		case h.before == "":
			s = g.create(&cloudformation.CreateStackInput{TemplateBody: body(h.after)})
		case h.after == "":
			s = g.delete(arn, &cloudformation.DeleteStackInput{})
		default:
			s = g.update(&cloudformation.UpdateStackInput{TemplateBody: body(h.after)})
		}
		ignored, proceeds := "", outcome.passes()
		if !proceeds && mode == "WARN" {
			ignored, proceeds = ". Failure was ignored under WARN mode.", true
		}
		want := slices.Concat(h.begun, []string{
			h.row + " [" + hookName + " " + mode + " IN_PROGRESS: Invoking hook]",
			h.row + " [" + hookName + " " + mode + " " + outcome.status + ": " + outcome.reason + ignored + "]",
		})
		after, status, left := h.failed, h.failure, h.left[1]
		if proceeds {
			after, status, left = h.passed, h.success, h.left[0]
		}
		g.expectHooks(*s.StackId, from, append(want, after...)...)
		if got := strings.Join(g.world.ids(), " "); s.StackStatus != status || got != left {
			t.Errorf("status %s, want %s; left %q, want %q", s.StackStatus, status, got, left)
		}
		if got := len(hooks.seen()); got != outcome.calls {
			t.Errorf("%d calls of the hook, want %d", got, outcome.calls)
		}
		if len(hooks.offered) != 0 {
			t.Errorf("payloads are left: %v", hooks.offered)
		}
	})
}
