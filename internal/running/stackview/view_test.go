package stackview

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/authoring/template"
)

// stackStory makes events of a stack, one second apart, from lines "ID STATUS REASON". The
// stack itself is called stack.
func stackStory(lines ...string) (events []types.StackEvent) {
	for i, line := range lines {
		part := append(strings.SplitN(line, " ", 3), "")
		e := types.StackEvent{
			StackId: aws.String("arn:stack"), StackName: aws.String("stack"), LogicalResourceId: aws.String(part[0]), PhysicalResourceId: aws.String(""),
			ResourceType: aws.String("Acme::Web::Site"), ResourceStatus: types.ResourceStatus(part[1]), ResourceStatusReason: aws.String(part[2]),
			Timestamp: aws.Time(time.Unix(int64(i), 0)), EventId: aws.String(fmt.Sprint(i)),
		}
		if part[0] == "stack" {
			e.ResourceType, e.PhysicalResourceId = aws.String("AWS::CloudFormation::Stack"), e.StackId
		}
		events = append(events, e)
	}
	return events
}

func TestRootCause(t *testing.T) {
	tests := map[string]struct {
		events                      []types.StackEvent
		id, message, code, alsoFail string
	}{
		"nothing failed": {events: stackStory("stack CREATE_IN_PROGRESS", "A CREATE_COMPLETE", "stack CREATE_COMPLETE")},
		"the first of two, not what was cancelled": {
			events: stackStory("stack CREATE_IN_PROGRESS", "C CREATE_FAILED Resource creation cancelled",
				`A CREATE_FAILED Resource handler returned message: "it said "no"" (RequestToken: 1-2, HandlerErrorCode: InvalidRequest)`,
				"B CREATE_FAILED other", "stack ROLLBACK_IN_PROGRESS The following resource(s) failed to create: [A, B, C].", "B DELETE_FAILED x"),
			id: "A", message: `it said "no"`, code: "InvalidRequest", alsoFail: "B",
		},
		"only the stack says why": {
			events: stackStory("stack CREATE_IN_PROGRESS User Initiated", "A CREATE_FAILED Resource creation cancelled", "stack ROLLBACK_IN_PROGRESS Stack creation time exceeded"),
			id:     "stack", message: "Stack creation time exceeded",
		},
		"without an error code": {
			events: stackStory(`A UPDATE_FAILED Resource handler returned message: "m" (RequestToken: 1)`), id: "A", message: "m",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cause := FindRootCause(test.events)
			if cause == nil {
				cause = &RootCause{}
			}
			if cause.LogicalID != test.id || cause.Message != test.message || cause.ErrorCode != test.code || strings.Join(cause.AlsoFailed, ",") != test.alsoFail {
				t.Errorf("got %+v", cause)
			}
		})
	}
}

// hookStory is the creation of A that hooks refuse, and its rollback.
func hookStory(mode types.HookFailureMode) []types.StackEvent {
	events := stackStory("stack CREATE_IN_PROGRESS", "A CREATE_IN_PROGRESS", "A CREATE_IN_PROGRESS", "A CREATE_IN_PROGRESS",
		"A CREATE_FAILED The following hook(s) failed: [Acme::Notes::Policy]", "stack ROLLBACK_IN_PROGRESS The following resource(s) failed to create: [A]. ",
		"A DELETE_IN_PROGRESS", "A DELETE_COMPLETE", "stack ROLLBACK_COMPLETE")
	for i, status := range []types.HookStatus{types.HookStatusHookInProgress, types.HookStatusHookCompleteFailed} {
		e := &events[2+i]
		e.HookType, e.HookStatus, e.HookFailureMode = aws.String("Acme::Notes::Policy"), status, mode
		e.HookStatusReason = aws.String([]string{"Invoking hook", "Hook failed with message: no spam,\x1b please"}[i])
	}
	return events
}

// TestHookMessages: the message of a hook is in the lines of events, the root cause and the tree.
func TestHookMessages(t *testing.T) {
	events := hookStory(types.HookFailureModeFail)
	var lines []string
	for i := range events[1:5] {
		_, line, _ := strings.Cut(EventLine(&events[1+i]), "A  ")
		lines = append(lines, line)
	}
	want := []string{
		"Acme::Web::Site", "Acme::Web::Site  hook Acme::Notes::Policy is running",
		`Acme::Web::Site  hook Acme::Notes::Policy refused A: no spam,\u001b please`, "Acme::Web::Site  The following hook(s) failed: [Acme::Notes::Policy]",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
	if cause := FindRootCause(events); cause.Message != "hook Acme::Notes::Policy refused A: no spam,\x1b please" {
		t.Errorf("the root cause is %q", cause.Message)
	}
	v := New("stack", nil, nil)
	v.Add(events)
	if got, want := v.stateText(v.row("A"), time.Unix(9, 0)), `CREATE_FAILED  3s  hook Acme::Notes::Policy refused A: no spam,\u001b please  (now DELETE_COMPLETE)`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}

	warned := hookStory(types.HookFailureModeWarn)
	if line := EventLine(&warned[3]); !strings.HasSuffix(line, `hook Acme::Notes::Policy warns about A: no spam,\u001b please`) {
		t.Errorf("a warning is %q", line)
	}
	if cause := FindRootCause(warned); cause.Message != "The following hook(s) failed: [Acme::Notes::Policy]" {
		t.Errorf("a warning is the root cause: %q", cause.Message)
	}
}

// TestCulprit: a resource that failed keeps its mark and message through the rollback. One that
// succeeds at another attempt does not.
func TestCulprit(t *testing.T) {
	update := `A UPDATE_FAILED Resource handler returned message: "disk on fire" (RequestToken: 1, HandlerErrorCode: InternalFailure)`
	for name, test := range map[string]struct {
		events []types.StackEvent
		state  State
		text   string
	}{
		"create": {stackStory("stack CREATE_IN_PROGRESS", "A CREATE_IN_PROGRESS", "A CREATE_FAILED disk on fire", "stack ROLLBACK_IN_PROGRESS", "A DELETE_IN_PROGRESS", "A DELETE_COMPLETE"),
			Failed, "CREATE_FAILED  1s  disk on fire  (now DELETE_COMPLETE)"},
		"update": {stackStory("stack UPDATE_IN_PROGRESS", "A UPDATE_IN_PROGRESS", update, "stack UPDATE_ROLLBACK_IN_PROGRESS", "A UPDATE_IN_PROGRESS", "A UPDATE_COMPLETE"),
			Failed, "UPDATE_FAILED  1s  disk on fire  (now UPDATE_COMPLETE)"},
		"canceled":        {stackStory("stack CREATE_IN_PROGRESS", "A CREATE_IN_PROGRESS", "A CREATE_FAILED Resource creation cancelled", "A DELETE_COMPLETE"), Done, "DELETE_COMPLETE  0s"},
		"another attempt": {stackStory("stack DELETE_IN_PROGRESS", "A DELETE_FAILED in use", "A DELETE_IN_PROGRESS", "A DELETE_COMPLETE"), Done, "DELETE_COMPLETE  2s"},
	} {
		t.Run(name, func(t *testing.T) {
			v := New("stack", nil, nil)
			v.Add(test.events)
			row := v.row("A")
			if got := v.stateText(row, time.Unix(9, 0)); got != test.text || row.state() != test.state {
				t.Errorf("got %q in the state %d, want %q in %d", got, row.state(), test.text, test.state)
			}
		})
	}
}

func treeText(lines []line) string {
	var out []string
	for _, l := range lines {
		out = append(out, strings.TrimRight(l.text, " "))
	}
	return strings.Join(out, "\n")
}

func TestTree(t *testing.T) {
	g := ReadGraph(t.Context(), "t.yaml", []byte(`Resources:
  B: {Type: "Acme::Web::Site", Properties: {Name: !Ref A}}
  A: {Type: "Acme::Web::Site"}
  C: {Type: "Acme::Web::Site", DependsOn: [A, B]}
`), template.ParseOptions{}, template.InspectInput{})
	if place := g.PlaceIn("Template error: [C] is wrong"); place != "t.yaml:4:3" {
		t.Errorf("placeIn returns %q", place)
	}
	v := New("stack", g, g.Rows())
	v.Add(stackStory("stack CREATE_IN_PROGRESS", "A CREATE_IN_PROGRESS"))
	if got, want := treeText(drawTree(v, time.Unix(9, 0), 80, 24)), `stack  CREATE_IN_PROGRESS  9s
├─ … A  Acme::Web::Site  CREATE_IN_PROGRESS  8s
├─ · B  Acme::Web::Site  waits for A
└─ · C  Acme::Web::Site  waits for A, B`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	v.Add(stackStory("A CREATE_COMPLETE", "B CREATE_IN_PROGRESS", "B CREATE_FAILED bad \x1b[2J\nline", "stack ROLLBACK_IN_PROGRESS"))
	if got, want := treeText(drawTree(v, time.Unix(9, 0), 70, 24)), `stack  ROLLBACK_IN_PROGRESS  9s
├─ ✓ A  Acme::Web::Site  CREATE_COMPLETE  0s
├─ ✗ B  Acme::Web::Site  CREATE_FAILED  1s  bad \u001b[2J line
└─ · C  Acme::Web::Site  not started`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// Without room for all, failed ones are shown first, and no line is wider than the terminal.
	small := drawTree(v, time.Unix(9, 0), 20, 3)
	if got := treeText(small); !strings.Contains(got, "✗ B") || !strings.HasSuffix(got, "└─ 2 more resources") {
		t.Errorf("got\n%s", got)
	}
	for _, line := range small {
		if n := len([]rune(line.text)); n > 20 {
			t.Errorf("%q has %d characters", line.text, n)
		}
	}
}

// TestTreeOfDeletion: a resource waits for those that use it.
func TestTreeOfDeletion(t *testing.T) {
	g := ReadGraph(t.Context(), "", []byte(`{"Resources": {"A": {"Type": "T::T::T"}, "B": {"Type": "T::T::T", "DependsOn": "A"}}}`), template.ParseOptions{}, template.InspectInput{})
	v := New("stack", g, g.Rows())
	v.Add(stackStory("stack DELETE_IN_PROGRESS", "B DELETE_IN_PROGRESS"))
	if got := v.waitsFor(v.row("A")); !slices.Equal(got, []string{"B"}) {
		t.Errorf("A waits for %v", got)
	}
	v.Add(stackStory("B DELETE_COMPLETE"))
	if got := v.waitsFor(v.row("A")); len(got) > 0 {
		t.Errorf("A waits for %v", got)
	}
}

func TestScreenDrawsOverItself(t *testing.T) {
	var out strings.Builder
	s := &Screen{To: &out, Width: 80, Height: 24, Color: true}
	v := New("stack", nil, nil)
	v.Add(stackStory("stack CREATE_IN_PROGRESS", "A CREATE_IN_PROGRESS"))
	s.Draw(v, time.Unix(5, 0), false)
	v.Add(stackStory("A CREATE_COMPLETE"))
	s.Draw(v, time.Unix(5, 0), true)
	if got := out.String(); strings.Count(got, "\x1b[2A\r\x1b[J") != 1 || !strings.Contains(got, "\x1b[32m└─ ✓ A") {
		t.Errorf("got %q", got)
	}
}

// TestRetriesInTree: a call that is made again is in the line of its resource until the next event,
// and is new once for each retry.
func TestRetriesInTree(t *testing.T) {
	view := New("stack", nil, nil)
	view.Add(stackStory("stack CREATE_IN_PROGRESS", "A CREATE_IN_PROGRESS", "B CREATE_COMPLETE"))
	third := submit.Retry{LogicalID: "A", ErrorCode: "ServiceInternalError", Retry: 3, Limit: 5, WaitMS: 7001}
	if fresh := view.Retry([]submit.Retry{third}); len(fresh) != 1 {
		t.Errorf("new: %v", fresh)
	}
	line := func() string { return drawTree(view, time.Unix(9, 0), 200, 10)[1].text }
	if got, want := line(), "CREATE_IN_PROGRESS  8s  retry 3 of 5, next in 8 s: ServiceInternalError"; !strings.HasSuffix(got, want) {
		t.Errorf("line %q", got)
	}
	if fresh := view.Retry([]submit.Retry{third}); len(fresh) != 0 {
		t.Errorf("new again: %v", fresh)
	}
	view.Retry(nil)
	if got := line(); strings.Contains(got, "retry") {
		t.Errorf("line %q", got)
	}
}
