package plan

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// TestPhasesEnd follows operations through their phases, however these end: each operation comes to an end, in a status in
// which nothing runs.
func TestPhasesEnd(t *testing.T) {
	outcomes := []Outcome{Succeeded, Failed, Preserved, Deleting}
	var follow func(kind types.OperationType, status types.StackStatus, at Phase, depth int)
	follow = func(kind types.OperationType, status types.StackStatus, at Phase, depth int) {
		if depth > 4 {
			t.Errorf("%s in %s does not end", kind, status)
			return
		}
		ends := 0
		for _, how := range outcomes {
			next, ok := Following(kind, status, at, how)
			switch {
			case !ok:
				continue
			case next.Next == PhaseEnd && next.Ended == "":
				t.Errorf("%s in %s, %s %s: the operation does not end", kind, status, at, how)
			case next.Next == PhaseDelete: // the operation ends, and that which deletes the stack begins
				follow(types.OperationTypeDeleteStack, next.Status, next.Next, depth+1)
			case next.Next != PhaseEnd:
				follow(kind, next.Status, next.Next, depth+1)
			}
			ends++
		}
		if ends < 2 {
			t.Errorf("%s in %s, %s: %d outcomes", kind, status, at, ends)
		}
	}
	for kind, status := range map[types.OperationType]types.StackStatus{
		types.OperationTypeCreateStack: types.StackStatusCreateInProgress, types.OperationTypeUpdateStack: types.StackStatusUpdateInProgress,
		types.OperationTypeDeleteStack: types.StackStatusDeleteInProgress, ImportOperation: types.StackStatusImportInProgress,
		types.OperationTypeRollback: types.StackStatusUpdateRollbackInProgress, types.OperationTypeContinueRollback: types.StackStatusRollbackInProgress,
	} {
		follow(kind, status, First(kind, false), 0)
	}
	follow(types.OperationTypeRollback, types.StackStatusUpdateRollbackInProgress, First(types.OperationTypeRollback, true), 0)
}

// TestAdvance decides what starts, what is cancelled and when a phase ends, with C after B after A and D after none.
func TestAdvance(t *testing.T) {
	for name, test := range map[string]struct {
		states [4]State // of A to D
		brake  Brake
		want   Verdict
	}{
		"begin":                  {[4]State{StepWaiting, StepWaiting, StepWaiting, StepWaiting}, Halt, Verdict{Start: []string{"A", "D"}}},
		"configured opens":       {[4]State{StepConfigured, StepWaiting, StepWaiting, StepRunning}, Halt, Verdict{Start: []string{"B"}}},
		"nothing starts":         {[4]State{StepDone, StepWaiting, StepWaiting, StepRunning}, Drain, Verdict{}},
		"what runs is cancelled": {[4]State{StepFailed, StepWaiting, StepWaiting, StepRunning}, Halt, Verdict{Cancel: []string{"D"}, Skip: []string{"B", "C"}, Ended: true, Failed: []string{"A"}}},
		"what runs ends":         {[4]State{StepFailed, StepWaiting, StepWaiting, StepRunning}, KeepOn, Verdict{Failed: []string{"A"}}},
		"the rest never runs":    {[4]State{StepFailed, StepWaiting, StepWaiting, StepDone}, KeepOn, Verdict{Skip: []string{"B", "C"}, Ended: true, Failed: []string{"A"}}},
		"without a failure":      {[4]State{StepDone, StepRunning, StepWaiting, StepDone}, Halted, Verdict{Cancel: []string{"B"}, Skip: []string{"C"}, Ended: true}},
		"end":                    {[4]State{StepDone, StepDone, StepDone, StepDone}, Halt, Verdict{Ended: true}},
	} {
		after := [][]string{nil, {"A"}, {"B", "elsewhere"}, nil}
		nodes := make([]Node, len(after))
		for i, state := range test.states {
			nodes[i] = Node{Key: string(rune('A' + i)), After: after[i], State: state}
		}
		if got := Advance(nodes, test.brake); JSONText(got) != JSONText(test.want) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// TestStepsOfRollbacks lists what steps say about rollbacks and the Express mode.
func TestStepsOfRollbacks(t *testing.T) {
	next := deployment(t, things("A: {}", "N: {Type: 'AWS::CloudFormation::Stack', Properties: {TemplateURL: u}}"), nil)
	have := Have{
		Resources: []Held{{LogicalID: "A", Type: "Acme::Test::Thing", Exists: true, Changed: true}, {LogicalID: "N", Type: NestedStack, Exists: true, New: true}},
		Leftovers: []Leftover{{ID: "l", LogicalID: "L", Type: "Acme::Test::Thing"}},
	}
	type flags struct{ rollback, forced, express bool }
	for name, test := range map[string]struct {
		at      Phase
		request Request
		want    []flags // by the order of steps
	}{
		"main":             {PhaseMain, Request{Next: next, Force: true, Express: true}, []flags{{express: true}, {}}},
		"backward":         {PhaseMain, Request{Next: next, Backward: true, Force: true}, []flags{{rollback: true, forced: true}, {rollback: true, forced: true}}},
		"rollback":         {PhaseRollback, Request{Force: true, Express: true}, []flags{{true, true, true}}},
		"rollback-cleanup": {PhaseRollbackCleanup, Request{Force: true, Express: true}, []flags{{}, {express: true}}},
		"delete":           {PhaseDelete, Request{Express: true}, []flags{{express: true}, {}, {express: true}}},
		"validate":         {PhaseValidate, Request{}, nil},
	} {
		var got []flags
		for _, s := range have.Steps(test.at, test.request) {
			got = append(got, flags{s.Rollback, s.Forced, s.Express})
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
