package stack

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// TestSeveralHooks has three hooks see one resource: all are invoked, and those with the mode
// FAIL that refuse are named together.
func TestSeveralHooks(t *testing.T) {
	inBubble(t, func(g *rig) {
		hooks := &g.world.hooks
		hooks.add("Acme::Test::B", on("FAIL"), "*")
		hooks.add("Acme::Test::A", on("FAIL"), "*")
		hooks.add("Acme::Test::C", on("WARN"), "*")
		refused := `{"hookStatus": "FAILED", "errorCode": "NonCompliant", "message": "no", "annotations": [
			{"annotationName": "N", "status": "FAILED", "statusMessage": "S", "remediationMessage": "R", "remediationLink": "https://l.test", "severityLevel": "HIGH"},
			{"annotationName": "odd", "status": "MAYBE"}, "odd"]}`
		hooks.answer("Acme::Test::A", busyAnswer, refused)
		hooks.answer("Acme::Test::B", refusing)
		hooks.answer("Acme::Test::C", refusing)
		s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {}"))})
		g.expectStatus(s, types.StackStatusRollbackComplete, "")
		story := strings.Join(g.hookStory(*s.StackId), "\n")
		for _, want := range []string{
			"A CREATE_IN_PROGRESS [Acme::Test::A FAIL IN_PROGRESS: Invoking hook]\nA CREATE_IN_PROGRESS [Acme::Test::B FAIL IN_PROGRESS: Invoking hook]\n" +
				"A CREATE_IN_PROGRESS [Acme::Test::C WARN IN_PROGRESS: Invoking hook]\n",
			"[Acme::Test::C WARN COMPLETE_FAILED: Hook failed with message: no. Failure was ignored under WARN mode.]\n",
			"[Acme::Test::A FAIL COMPLETE_FAILED: Hook failed with message: no]\nA CREATE_FAILED (The following hook(s) failed: [Acme::Test::A, Acme::Test::B])\n",
		} {
			if !strings.Contains(story, want) {
				t.Errorf("events:\n%s\nlack:\n%s", story, want)
			}
		}
		if len(g.world.calls) > 0 {
			t.Errorf("calls of handlers: %v", g.world.calls)
		}
		out, err := g.ListHookResults(g.t.Context(), owner, &cloudformation.ListHookResultsInput{
			TypeArn: aws.String("arn:aws:cloudformation:eu-west-1:123456789012:type/hook/Acme-Test-A"), Status: types.HookStatusHookCompleteFailed,
		})
		if err != nil || len(out.HookResults) != 1 || *out.HookResults[0].HookExecutionTarget != *s.StackId || out.HookResults[0].InvokedAt == nil {
			t.Fatalf("results: %s, %v", encode(out), err)
		}
		one, err := g.GetHookResult(g.t.Context(), owner, &cloudformation.GetHookResultInput{HookResultId: out.HookResults[0].HookResultId})
		if err != nil {
			t.Fatal(err)
		}
		if len(one.Annotations) != 1 || one.Annotations[0].SeverityLevel != types.AnnotationSeverityLevelHigh || *one.Annotations[0].RemediationLink != "https://l.test" {
			t.Errorf("annotations: %s", encode(one.Annotations))
		}
		if want := (types.HookTarget{Action: "CREATE", TargetId: aws.String("A"), TargetType: "RESOURCE", TargetTypeName: aws.String("Acme::Test::Thing")}); encode(one.Target) != encode(want) {
			t.Errorf("target: %s", encode(one.Target))
		}
		elsewhere := owner
		elsewhere.Region = "us-east-1"
		if _, err := g.GetHookResult(g.t.Context(), elsewhere, &cloudformation.GetHookResultInput{HookResultId: one.HookResultId}); refusal(g.t, err) != "HookResultNotFoundException: Hook result with ID "+*one.HookResultId+" was not found" {
			t.Error(err)
		}
		all, err := g.DescribeEvents(g.t.Context(), owner, &cloudformation.DescribeEventsInput{StackName: s.StackId})
		if err != nil {
			t.Fatal(err)
		}
		failures := 0
		for _, e := range all.OperationEvents {
			if e.EventType == types.EventTypeHookInvocationError && e.HookType != nil && e.HookStatus == types.HookStatusHookCompleteFailed {
				failures++
			}
		}
		if failures != 3 {
			t.Errorf("%d events of hooks that failed, want 3", failures)
		}
	})
}

// TestHookPayloads looks at what hooks are sent. The dynamic references are resolved by
// Engine.Prepare, which this rig does without.
func TestHookPayloads(t *testing.T) {
	inBubble(t, func(g *rig) {
		hooks := &g.world.hooks
		g.world.values["/p"] = "resolved"
		hooks.add(hookName, on("FAIL"), "*", "STACK")
		hooks.answer(hookName, nil, busyAnswer)
		before := things("A: {Properties: {Note: '{{resolve:ssm:/p}}', Size: '1'}}")
		s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(before)})
		after := things("A: {Properties: {Note: n, Size: 2}}")
		g.update(&cloudformation.UpdateStackInput{TemplateBody: aws.String(after)})
		g.delete(*s.StackId, &cloudformation.DeleteStackInput{})
		got := hooks.seen()
		if len(got) != 7 {
			t.Fatalf("%d requests", len(got))
		}
		type expected struct{ point, target, logical, model string }
		for i, want := range []expected{
			{"CREATE_PRE_PROVISION", "STACK", "s", "null"},
			{"CREATE_PRE_PROVISION", "Acme::Test::Thing", "A", `{"resourceProperties":{"Note":"{{resolve:ssm:/p}}","Size":1}}`},
			{"CREATE_PRE_PROVISION", "Acme::Test::Thing", "A", `{"resourceProperties":{"Note":"{{resolve:ssm:/p}}","Size":1}}`},
			{"UPDATE_PRE_PROVISION", "STACK", "s", "null"},
			{"UPDATE_PRE_PROVISION", "Acme::Test::Thing", "A", `{"previousResourceProperties":{"Note":"{{resolve:ssm:/p}}","Size":1},"resourceProperties":{"Note":"n","Size":2}}`},
			{"DELETE_PRE_PROVISION", "STACK", "s", "null"},
			{"DELETE_PRE_PROVISION", "Acme::Test::Thing", "A", `{"previousResourceProperties":{"Note":"n","Size":2},"resourceProperties":{"Note":"n","Size":2}}`},
		} {
			r := got[i]
			if now := (expected{r.ActionInvocationPoint, r.RequestData.TargetName, r.RequestData.TargetLogicalID, encode(r.RequestData.TargetModel)}); now != want {
				t.Errorf("request %d: %+v, want %+v", i, now, want)
			}
			wantType := "RESOURCE"
			if want.target == "STACK" {
				wantType = "STACK"
			}
			if r.RequestData.TargetType != wantType || (wantType == "STACK") == (r.RequestData.Payload == "") || r.StackID != *s.StackId || r.ChangeSetID != "" ||
				r.HookTypeName != hookName || r.HookTypeVersion != "00000001" || encode(r.HookModel) != `{"Limit":3}` {
				t.Errorf("request %d: %s", i, encode(r))
			}
		}
		if a, b := got[1], got[2]; a.ClientRequestToken != b.ClientRequestToken || a.RequestContext.Invocation != 1 || b.RequestContext.Invocation != 2 ||
			encode(b.RequestContext.CallbackContext) != `{"n":1}` {
			t.Errorf("second call: %s", encode(b))
		}
		want := []string{
			encode(map[string]string{"template": before, "previousTemplate": ""}), encode(map[string]string{"template": after, "previousTemplate": before}),
			encode(map[string]string{"template": "", "previousTemplate": ""}),
		}
		if !slices.Equal(hooks.all, want) || len(hooks.offered) > 0 {
			t.Errorf("payloads:\n%s\nwant\n%s", strings.Join(hooks.all, "\n"), strings.Join(want, "\n"))
		}
	})
}

// TestHooksAndSecrets has the message of a hook quote a NoEcho value: nobody sees it.
func TestHooksAndSecrets(t *testing.T) {
	inBubble(t, func(g *rig) {
		g.world.hooks.add(hookName, on("FAIL"), "*")
		g.world.hooks.answer(hookName, `{"hookStatus": "FAILED", "message": "found hunter2hunter2", "annotations": [{"annotationName": "N", "status": "FAILED", "statusMessage": "hunter2hunter2"}]}`)
		body := "Parameters: {P: {Type: String, NoEcho: true}}\n" + things("A: {Properties: {Note: !Ref P}}")
		s := g.create(&cloudformation.CreateStackInput{TemplateBody: &body, Parameters: []types.Parameter{{ParameterKey: aws.String("P"), ParameterValue: aws.String("hunter2hunter2")}}})
		if got := hooksOf(g); len(got) != 1 || strings.Contains(got[0].Reason+got[0].Annotations.Text(), "hunter2") || !strings.HasPrefix(got[0].Reason, "Hook failed with message: found ") {
			t.Errorf("result: %s", encode(got))
		}
		if story := strings.Join(g.hookStory(*s.StackId), "\n"); strings.Contains(story, "hunter2") {
			t.Errorf("events:\n%s", story)
		}
		if got := g.world.hooks.seen(); len(got) != 1 || encode(got[0].RequestData.TargetModel["resourceProperties"]) != `{"Note":"hunter2hunter2"}` {
			t.Errorf("the hook was sent %s", encode(got))
		}
	})
}

// TestHooksOnChangeSets has a hook see change sets: they wait for it, fail if it refuses, and are
// told what the execution will invoke.
func TestHooksOnChangeSets(t *testing.T) {
	inBubble(t, func(r *rig) {
		g, hooks := &setRig{r, r.t.(*testing.T), owner}, &r.world.hooks
		r.create(&cloudformation.CreateStackInput{StackName: aws.String("app"), TemplateBody: aws.String(things("A: {Properties: {Note: a}}", "B: {}"))})
		hooks.add("Acme::Test::Sets", on("FAIL"), "CHANGE_SET", "STACK")
		hooks.add("Acme::Test::Things", on("WARN"), "Acme::Test::*")
		after := things("A: {Properties: {Note: b}}", "C: {}")
		hooks.answer("Acme::Test::Sets", refusing)
		refused := g.create("set", types.ChangeSetTypeUpdate, after)
		if refused.Status != types.ChangeSetStatusFailed || aws.ToString(refused.StatusReason) != "The following hook(s) failed: [Acme::Test::Sets]" || refused.ExecutionStatus != types.ExecutionStatusUnavailable {
			t.Errorf("refused: %s %s", refused.Status, aws.ToString(refused.StatusReason))
		}
		list, err := g.ListHookResults(g.t.Context(), owner, &cloudformation.ListHookResultsInput{TargetType: types.ListHookResultsTargetTypeChangeSet, TargetId: refused.ChangeSetId})
		if err != nil || len(list.HookResults) != 1 || *list.HookResults[0].HookStatusReason != "Hook failed with message: no" || list.HookResults[0].InvokedAt != nil {
			t.Errorf("results: %s, %v", encode(list), err)
		}
		events, err := g.DescribeEvents(g.t.Context(), owner, &cloudformation.DescribeEventsInput{ChangeSetName: refused.ChangeSetId, Filters: &types.EventFilter{FailedEvents: aws.Bool(true)}})
		if err != nil || len(events.OperationEvents) != 1 || events.OperationEvents[0].EventType != types.EventTypeHookInvocationError {
			t.Errorf("events: %s, %v", encode(events), err)
		}
		var payload setPayload
		if err := json.Unmarshal([]byte(hooks.all[0]), &payload); err != nil || payload.Template != after || len(payload.ChangedResources) != 3 {
			t.Fatalf("payload: %v\n%s", err, hooks.all[0])
		}
		for i, want := range []string{"UPDATE A 2", "DELETE B -", "CREATE C 3"} {
			c := payload.ChangedResources[i]
			line := "-"
			if c.LineNumber != nil {
				line = encode(*c.LineNumber)
			}
			if got := c.Action + " " + c.LogicalResourceID + " " + line; got != want || (c.BeforeContext == nil) != (c.Action == "CREATE") || (c.AfterContext == nil) != (c.Action == "DELETE") {
				t.Errorf("change %d: %s, want %s", i, encode(c), want)
			}
		}
		hooks.answer("Acme::Test::Sets", busyAnswer, `{"hookStatus": "CHANGE_SET_SUCCESS_SKIP_STACK_HOOK"}`)
		set := g.create("again", types.ChangeSetTypeUpdate, after)
		planned, err := g.DescribeChangeSetHooks(g.t.Context(), owner, &cloudformation.DescribeChangeSetHooksInput{ChangeSetName: set.ChangeSetId})
		if err != nil || set.Status != types.ChangeSetStatusCreateComplete || planned.Status != types.ChangeSetHooksStatusPlanned || len(planned.Hooks) != 2 {
			t.Fatalf("planned: %s, %v; %s", encode(planned), err, set.Status)
		}
		for i, want := range []string{"A Modify", "C Add"} {
			details := planned.Hooks[i].TargetDetails.ResourceTargetDetails
			if got := *details.LogicalResourceId + " " + string(details.ResourceAction); got != want || planned.Hooks[i].FailureMode != types.HookFailureModeWarn {
				t.Errorf("hook %d: %s", i, encode(planned.Hooks[i]))
			}
		}
		if one, err := g.DescribeChangeSetHooks(g.t.Context(), owner, &cloudformation.DescribeChangeSetHooksInput{ChangeSetName: set.ChangeSetId, LogicalResourceId: aws.String("C")}); err != nil || len(one.Hooks) != 1 {
			t.Errorf("of C: %s, %v", encode(one), err)
		}
		calls := len(hooks.seen())
		if _, err := g.ExecuteChangeSet(g.t.Context(), owner, &cloudformation.ExecuteChangeSetInput{ChangeSetName: set.ChangeSetId}); err != nil {
			t.Fatal(err)
		}
		r.expectStatus(r.settled("app"), types.StackStatusUpdateComplete, "")
		for _, request := range hooks.seen()[calls:] {
			if request.RequestData.TargetType != "RESOURCE" || request.ChangeSetID != *set.ChangeSetId {
				t.Errorf("the execution invoked %s", encode(request))
			}
		}
		if n := len(hooks.seen()) - calls; n != 2 {
			t.Errorf("%d invocations in the execution, want 2", n)
		}
	})
}

// TestCancelHooks cancels stacks while hooks run: nothing is called after that.
func TestCancelHooks(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"STACK", "Acme::Test::Thing"} {
		for _, test := range []string{"delete", "cancel", "time-out"} {
			t.Run(test+" "+target, func(t *testing.T) {
				g := onSQLite(t)
				hooks, held := &g.world.hooks, make(chan struct{})
				in := &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(things("A: {Properties: {Note: 1}}"))}
				if test == "cancel" {
					g.create(in)
				}
				hooks.add(hookName, on("FAIL"), target)
				hooks.answer(hookName, held)
				calls := len(g.world.calls)
				var err error
				if test == "cancel" {
					_, err = g.UpdateStack(t.Context(), owner, &cloudformation.UpdateStackInput{StackName: in.StackName, TemplateBody: aws.String(things("A: {Properties: {Note: 2}}"))})
				} else {
					_, err = g.CreateStack(t.Context(), owner, in)
				}
				if err != nil {
					t.Fatal(err)
				}
				fixtures.Await(t, "a call of the hook", func() bool { return len(hooks.seen()) == 1 })
				arn := g.describe("s").StackId
				switch test {
				case "cancel":
					_, err = g.CancelUpdateStack(t.Context(), owner, &cloudformation.CancelUpdateStackInput{StackName: arn})
				default:
					_, err = g.DeleteStack(t.Context(), owner, &cloudformation.DeleteStackInput{StackName: arn})
				}
				if err != nil {
					t.Fatal(err)
				}
				if test == "cancel" && target != "STACK" { // what runs is waited for
					close(held)
				}
				s := g.settled(*arn)
				if test == "cancel" && s.StackStatus != types.StackStatusUpdateRollbackComplete || test != "cancel" && s.StackStatus != types.StackStatusDeleteComplete {
					t.Errorf("status %s\n%s", s.StackStatus, strings.Join(g.hookStory(*arn), "\n"))
				}
				if test != "cancel" || target == "STACK" {
					close(held)
					if got := g.world.calls[calls:]; len(got) > 0 {
						t.Errorf("calls of handlers: %v", got)
					}
				}
				fixtures.Await(t, "the result", func() bool { return hooksOf(g)[0].Ended() })
			})
		}
	}
}

// describe is a stack as it is shown now.
func (g *rig) describe(name string) types.Stack {
	g.t.Helper()
	out, err := g.DescribeStacks(g.t.Context(), owner, &cloudformation.DescribeStacksInput{StackName: aws.String(name)})
	if err != nil {
		g.t.Fatal(err)
	}
	return out.Stacks[0]
}

// TestHooksTakenOver stops the engine while a hook runs. The next one calls it again with the same
// token, and only then begins with the resource.
func TestHooksTakenOver(t *testing.T) {
	t.Parallel()
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			w := newWorld(t)
			first := newRigIn(t, place, w)
			w.hooks.add(hookName, on("FAIL"), "*")
			w.hooks.answer(hookName, hang{})
			if _, err := first.CreateStack(t.Context(), owner, &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(things("A: {}"))}); err != nil {
				t.Fatal(err)
			}
			fixtures.Await(t, "a call of the hook", func() bool { return len(w.hooks.seen()) == 1 })
			if err := first.store.Close(); err != nil {
				t.Fatal(err)
			}
			second := newRigIn(t, place, w)
			s := second.settled("s")
			second.expectStatus(s, types.StackStatusCreateComplete, "")
			got := w.hooks.seen()
			if len(got) != 2 || got[0].ClientRequestToken != got[1].ClientRequestToken {
				t.Errorf("calls of the hook: %s", encode(got))
			}
			if !slices.Equal(w.calls, []string{"CREATE A"}) {
				t.Errorf("calls of the handler: %v", w.calls)
			}
			if results := hooksOf(second); len(results) != 1 {
				t.Errorf("results: %s", encode(results))
			}
		})
	}
}
