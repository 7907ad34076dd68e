package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// tryStacks runs the tests in stacks against a service.
func tryStacks(t *testing.T, cloud *fakeCloud, cfg StackConfig) *Summary {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cloud.stop = cancel
	cfg.Schema, cfg.Stacks, cfg.Resources = cloud.schema, cloud, cloud
	cfg.Now = func() time.Time { return cloud.service.clock }
	summary, err := RunStacks(ctx, cfg)
	if err != nil && cloud.stopped == 0 {
		t.Fatal(err)
	}
	return summary
}

// stackInputs are those of the suite, with an update that leaves the pages out and adds authors.
func stackInputs(k kind) Inputs {
	inputs := k.inputs()
	delete(inputs.Sets[0].Create, "Authors")
	delete(inputs.Sets[0].Update, "Pages")
	return inputs
}

// withoutHandlers is a schema that lacks handlers.
func withoutHandlers(t *testing.T, of *schema.Schema, handlers ...string) *schema.Schema {
	t.Helper()
	document := map[string]any{}
	if err := json.Unmarshal(of.Root.AppendJSON(nil), &document); err != nil {
		t.Fatal(err)
	}
	for _, name := range handlers {
		delete(document["handlers"].(map[string]any), name)
	}
	return loaded(t, document)
}

func TestCorrectTypesPassInStacks(t *testing.T) {
	ran := map[string]bool{}
	for i, k := range kindsOfService {
		if k.single {
			continue // its replacement would have to delete first
		}
		for _, from := range []string{"inputs", "generated"} {
			for _, lacks := range [][]string{nil, {"update"}, {"list"}, {"read", "list"}, {"update", "list"}} {
				if lacks != nil && (from == "generated" || i > 2) {
					continue // one synchronous, one asynchronous type, and one with a chosen identifier
				}
				t.Run(k.name+"/"+from+"/without "+strings.Join(lacks, " and "), func(t *testing.T) {
					s := newService(t, k, "")
					cloud := newFakeCloud(t, s)
					cloud.schema = withoutHandlers(t, s.schema, lacks...)
					cfg := StackConfig{Seed: 5}
					if from == "inputs" {
						cfg.Inputs = stackInputs(k)
					}
					summary := tryStacks(t, cloud, cfg)
					if !summary.OK() {
						t.Errorf("rejected:\n%s", failures(summary))
					}
					if len(s.reports) > 0 || len(summary.LeftBehind) > 0 || len(cloud.stacks) > 0 {
						t.Errorf("left behind: %v, %v, %v", s.reports, summary.LeftBehind, cloud.stacks)
					}
					for _, r := range summary.Results {
						if r.Outcome == Passed {
							ran[r.Case.Name()] = true
						}
					}
				})
			}
		}
	}
	for _, c := range stackCases {
		if !ran[c.Name()] {
			t.Errorf("%s never ran", c.ID)
		}
	}
}

// stackMutants are faulty types, and CloudFormations that do something else than AWS. Each
// has to be found by a test that runs alone.
var stackMutants = []struct {
	test, message    string
	handler, service string // the mutant of the answers, or of the service
	deviates         string // of CloudFormation
	kind             kind
}{
	{test: "stack_create", handler: "create fails", message: "the creation of the stack ended in ROLLBACK_COMPLETE; expected CREATE_COMPLETE: Subject CREATE_FAILED"},
	{test: "stack_create", service: "progress of another", message: `the resource had the physical ID "id-1", then "id-99999"`, kind: kind{identifier: []string{"Id"}, callbacks: 2}},
	{test: "stack_read_after_create", handler: "identifier lies", message: `READ of the physical ID "id-4711" after the creation of the stack ended with NotFound`},
	{test: "stack_read_after_create", handler: "read leaves a property out", message: "READ after the creation of the stack: one property differs: /Title"},
	{test: "stack_list_after_create", handler: "list forgets", message: `LIST after the creation of the stack does not contain "id-1"`},
	{test: "stack_attributes", handler: "attributes change", message: `Fn::GetAtt Size returned "2"; expected "1"`},
	{test: "stack_no_change_update", deviates: "updates without changes", message: "the events of the resource during an update without changes"},
	{test: "stack_drift_none", service: "create drifts", message: "the drift after the creation of the stack is MODIFIED; expected IN_SYNC"},
	{test: "stack_update_in_place", handler: "update does nothing", message: "READ after the update of the stack: 7 properties differ"},
	{test: "stack_update_in_place", handler: "update moves it", message: `the events of the resource during the update of the stack were UPDATE_IN_PROGRESS, UPDATE_COMPLETE, DELETE_IN_PROGRESS`},
	{test: "stack_update_in_place", service: "update keeps the pages", message: "/Pages is still there, although the update left it out"},
	{test: "stack_change_set", deviates: "announces a replacement", message: `the change set reports Replacement "True"; expected "False"`},
	{test: "stack_change_set", deviates: "announces too little", message: "the change set lists changes of [Authors, Pages]; expected [Authors, Pages, Title]"},
	{test: "stack_change_set", deviates: "announces nothing", message: "the change set has 0 changes"},
	{test: "stack_change_set", handler: "update does nothing", message: "READ after the execution of the change set: 7 properties differ"},
	{test: "stack_tags", handler: "stack tags replace its own", message: "READ after the update of the tags of the stack"},
	{test: "stack_tags", handler: "system tags come back", message: `READ returns the tag "aws:cloudformation:stack-name" of the system`},
	{test: "stack_tags", handler: "earlier stack tags stay", message: "READ after the update of the tags of the stack"},
	{test: "stack_drift_detect", handler: "read is cached", message: "is IN_SYNC; expected MODIFIED"},
	{test: "stack_drift_detect", handler: "read is cut", message: "was changed outside of the stack, but /Draft differs, too"},
	{test: "stack_rollback_update", handler: "update is not undone", message: "READ after the rollback of an update"},
	{test: "stack_rollback_update", handler: "what was added stays", message: "/Authors is still there, although the update left it out"},
	{test: "stack_replace", handler: "delete leaves it", message: `READ of "id-1" after the replacement still returns the resource`},
	{test: "stack_rollback_replace", handler: "delete leaves it", message: `READ of "id-2" after the rollback of a replacement still returns the resource`},
	{test: "stack_rollback_replace", deviates: "deletes the wrong one", message: `the resource "id-1" was deleted; expected "id-2" to be`},
	{test: "stack_delete", handler: "delete leaves it", message: `READ of "id-1" after the deletion of the stack still returns the resource`},
	{test: "stack_delete", handler: "list remembers", message: `LIST after the deletion of the stack still contains "id-1"`},
	{test: "stack_rollback_create", handler: "delete leaves it", message: `READ of "id-1" after the rollback of the creation still returns the resource`},
	{test: "stack_drift_deleted", handler: "read never forgets", message: "is IN_SYNC; expected DELETED"},
	{test: "stack_drift_deleted", handler: "delete of what is gone fails", message: "the deletion of the stack ended in DELETE_FAILED; expected DELETE_COMPLETE"},
	{test: "stack_import", service: "read needs the title", message: "READ of the physical ID"},
	{test: "stack_nothing_left", service: "create doubles", message: "was not there before, and no event reported it"},
}

func TestStackMutantsAreRejected(t *testing.T) {
	for _, m := range stackMutants {
		t.Run(m.test+"/"+m.handler+m.service+m.deviates, func(t *testing.T) {
			k := m.kind
			if k.identifier == nil {
				k = kind{identifier: []string{"Id"}}
			}
			s := newService(t, k, m.service)
			cloud := newFakeCloud(t, s)
			cloud.deviates = m.deviates
			if m.handler != "" {
				cloud.handler = &saboteur{service: s, mutant: m.handler, count: map[string]int{}}
			}
			selection := m.test
			if m.test == "stack_nothing_left" {
				selection += " or stack_create"
			}
			only, err := ParseExpression(selection)
			if err != nil {
				t.Fatal(err)
			}
			summary := tryStacks(t, cloud, StackConfig{Inputs: stackInputs(k), Selection: Selection{Keywords: only}})
			at := slices.IndexFunc(summary.Results, func(r *Result) bool { return r.Case.Name() == m.test })
			if at < 0 {
				t.Fatal("the test did not run")
			}
			r := summary.Results[at]
			if r.Outcome != Failed || !strings.Contains(r.Message, m.message) || r.Clause == "" {
				t.Errorf("%s %q, clause %q; expected to fail with %q", r.Outcome, r.Message, r.Clause, m.message)
			}
		})
	}
	for _, c := range stackCases {
		found := false
		for _, m := range stackMutants {
			found = found || m.test == c.Name()
		}
		if !found {
			t.Errorf("%s rejects no mutant", c.ID)
		}
	}
}

// TestStackCaseTable holds the table of tests and that of clauses together.
func TestStackCaseTable(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range stackCases {
		if seen[c.ID] || c.Clause == "" || c.spec == "" || len(c.Needs) == 0 {
			t.Errorf("%s is there twice, or is incomplete", c.ID)
		}
		seen[c.ID] = true
		for _, id := range c.Clauses {
			if clauseText(id) == "" {
				t.Errorf("%s: there is no clause %s", c.ID, id)
			}
		}
	}
}

// TestInterruptedStacks stops the run at each of its operations: what exists then is deleted,
// with a CloudFormation of the run's own as with one that stays.
func TestInterruptedStacks(t *testing.T) {
	for _, again := range []string{"", " --region us-east-1"} {
		for n := 1; ; n++ {
			s := newService(t, kindsOfService[0], "")
			cloud := newFakeCloud(t, s)
			cloud.stopped = n
			summary := tryStacks(t, cloud, StackConfig{Inputs: stackInputs(kindsOfService[0]), Again: again})
			if cloud.begun < n {
				if n < 20 {
					t.Errorf("only %d operations", n)
				}
				break
			}
			if len(s.reports) > 0 || len(summary.LeftBehind) > 0 || again != "" && len(cloud.stacks) > 0 {
				t.Errorf("stopped at operation %d: left behind: %v, %v, %v", n, s.reports, summary.LeftBehind, slices.Collect(maps.Keys(cloud.stacks)))
			}
		}
	}
}

// TestStacksThatCannotBeCreated wants one failure, and one error for each test that needs the
// stack, without another attempt.
func TestStacksThatCannotBeCreated(t *testing.T) {
	s := newService(t, kindsOfService[0], "")
	cloud := newFakeCloud(t, s)
	mutant := &saboteur{service: s, mutant: "create fails", count: map[string]int{}}
	cloud.handler = mutant
	summary := tryStacks(t, cloud, StackConfig{Inputs: stackInputs(kindsOfService[0])})
	if summary.Failed != 1 || summary.Errors < 10 || len(summary.Causes()) != 1 || mutant.count["CREATE"] != 1 {
		t.Errorf("%d failed, %d errors, %d causes, %d attempts:\n%s", summary.Failed, summary.Errors, len(summary.Causes()), mutant.count["CREATE"], failures(summary))
	}
}

// hangs is a CloudFormation whose operations never end.
type hangs struct{ *fakeCloud }

func (h hangs) Run(ctx context.Context, _ *StackOperation) (*StackOutcome, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// away is a CloudFormation that cannot be reached.
type away struct{ *fakeCloud }

func (a away) Run(context.Context, *StackOperation) (*StackOutcome, error) {
	return nil, errUnreachable
}

func TestStepsThatDoNotEnd(t *testing.T) {
	cloud := newFakeCloud(t, newService(t, kindsOfService[0], ""))
	for want, stacks := range map[string]Stacks{
		"CREATE_STACK had not ended after 1ms (--timeout sets the limit)": hangs{cloud},
		errUnreachable.Error(): away{cloud},
	} {
		summary, err := RunStacks(t.Context(), StackConfig{
			Schema: cloud.schema, Stacks: stacks, Resources: cloud, Inputs: stackInputs(kindsOfService[0]), StepTimeout: time.Millisecond, Again: " --region eu-west-1",
		})
		if err != nil || summary.OK() {
			t.Fatalf("%v, %v", summary, err)
		}
		if got := summary.Results[0].Message; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if len(summary.LeftBehind) == 0 || !strings.Contains(summary.LeftBehind[0], "; run cfn destroy cfn-test-initech-tps-report-") {
			t.Errorf("left behind: %v", summary.LeftBehind)
		}
	}
}

// handlerLines are what the handlers have written.
type handlerLines []string

func (h handlerLines) LastLines(context.Context, time.Time, int) ([]string, error) { return h, nil }

// TestStackReportsHideSecrets looks for the write-only value in every format.
func TestStackReportsHideSecrets(t *testing.T) {
	s := newService(t, kindsOfService[0], "")
	cloud := newFakeCloud(t, s)
	cloud.handler = &saboteur{service: s, mutant: "update does nothing", count: map[string]int{}}
	var text bytes.Buffer
	log := handlerLines{"opening the vault with correcthorsebattery", "the vault is open"}
	summary := tryStacks(t, cloud, StackConfig{Inputs: stackInputs(kindsOfService[0]), LastLines: log.LastLines, Reporter: &Text{W: &text, Verbosity: 1, Traceback: "long", Live: true}})
	if n := strings.Count(text.String(), "  handler log:\n"); n != len(summary.Causes()) {
		t.Errorf("%d logs of handlers for %d causes", n, len(summary.Causes()))
	}
	for _, write := range []func() error{
		func() error { return WriteJSON(&text, summary) }, func() error { return WriteJUnit(&text, summary) }, func() error { return WriteHTML(&text, summary) },
		func() error { return WriteSARIF(&text, summary, cloud.schema) }, func() error { return WriteGitHub(&text, summary, cloud.schema) },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(text.String(), "correcthorsebattery") {
		t.Error("a write-only value is in a report")
	}
	for _, want := range []string{"18 tests in stacks, inputs_1", "stack events:", "UPDATE_STACK", "Events of the stack",
		"Log of the handler", `"handlerLog": "opening the vault with `, "handler log:&#xA;opening the vault with ", "the vault is open", "in_stack.py::stack_update_in_place"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no report has %q", want)
		}
	}
}

func TestJudge(t *testing.T) {
	event := func(status, id string) StackEvent {
		return StackEvent{LogicalID: subject, Status: status, PhysicalID: id, Reason: "because"}
	}
	for _, c := range []struct {
		name, message string
		out           StackOutcome
		want          expectation
	}{
		{"repeated events", "", StackOutcome{Status: "CREATE_COMPLETE", Events: []StackEvent{event("CREATE_IN_PROGRESS", ""), event("CREATE_IN_PROGRESS", "a"), event("CREATE_COMPLETE", "a")}},
			expectation{status: "CREATE_COMPLETE", history: createdHistory}},
		{"no events", "the events of the resource during it were none; expected CREATE_IN_PROGRESS, CREATE_COMPLETE", StackOutcome{Status: "CREATE_COMPLETE"}, expectation{what: "it", status: "CREATE_COMPLETE", history: createdHistory}},
		{"failed cleanup", "expected UPDATE_IN_PROGRESS, UPDATE_COMPLETE, DELETE_IN_PROGRESS, DELETE_COMPLETE: Subject DELETE_FAILED: because",
			StackOutcome{Status: "UPDATE_COMPLETE", Events: []StackEvent{event("UPDATE_IN_PROGRESS", "a"), event("UPDATE_COMPLETE", "b"), event("DELETE_IN_PROGRESS", "a"), event("DELETE_FAILED", "a")}},
			expectation{status: "UPDATE_COMPLETE", history: replacedHistory}},
		{"deleted first", "", StackOutcome{Status: "UPDATE_COMPLETE", Events: []StackEvent{event("DELETE_IN_PROGRESS", "a"), event("DELETE_COMPLETE", "a"), event("UPDATE_IN_PROGRESS", "b"), event("UPDATE_COMPLETE", "b")}},
			expectation{status: "UPDATE_COMPLETE", history: replacedHistory, anyWay: true}},
		{"tags after an import", "", StackOutcome{Status: "IMPORT_COMPLETE", Events: []StackEvent{event("IMPORT_IN_PROGRESS", "a"), event("IMPORT_COMPLETE", "a"), event("UPDATE_IN_PROGRESS", "a"), event("UPDATE_COMPLETE", "a")}},
			expectation{status: "IMPORT_COMPLETE", history: importedHistory, or: taggedHistory}},
		{"reason of the stack", "it ended in ROLLBACK_FAILED; expected ROLLBACK_COMPLETE: no role", StackOutcome{Status: "ROLLBACK_FAILED", Reason: "no role"}, expectation{what: "it", status: "ROLLBACK_COMPLETE"}},
	} {
		v := judge(&c.out, c.want)
		switch {
		case v == nil && c.message != "", v != nil && c.message == "", v != nil && !strings.Contains(v.Message, c.message):
			t.Errorf("%s: %v, want %q", c.name, v, c.message)
		}
	}
}

// TestReplacementInput takes the properties of the replacement from the input of its own.
func TestReplacementInput(t *testing.T) {
	k := kindsOfService[0]
	inputs := stackInputs(k)
	own := schema.Clone(inputs.Sets[0].Create)
	own["Series"], own["Title"] = "YEARLY", "chosen"
	inputs.Sets[0].Tests = map[string]map[string]map[string]any{stackReplaceName: {DrawCreate: own}}
	cloud := newFakeCloud(t, newService(t, k, ""))
	only, err := ParseExpression(stackReplaceName)
	if err != nil {
		t.Fatal(err)
	}
	summary := tryStacks(t, cloud, StackConfig{Inputs: inputs, Selection: Selection{Keywords: only}})
	if !summary.OK() || summary.Passed != 1 {
		t.Fatalf("rejected:\n%s", failures(summary))
	}
	if requests := string(summary.Results[0].Calls[1].Request); !strings.Contains(requests, "chosen") {
		t.Errorf("the replacement was requested with %s", requests)
	}
}
