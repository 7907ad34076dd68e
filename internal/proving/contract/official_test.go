package contract

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// An officialSuite is a process that runs the official contract tests.
type officialSuite struct {
	in  io.Writer
	out *bufio.Scanner
}

// startOfficialSuite starts the official suite with the Python interpreter that the variable
// FORMWORK_OFFICIAL_PYTHON names, where the package cloudformation-cli is installed.
func startOfficialSuite(t *testing.T) *officialSuite {
	t.Helper()
	python := os.Getenv("FORMWORK_OFFICIAL_PYTHON")
	if python == "" {
		t.Skip("FORMWORK_OFFICIAL_PYTHON names no Python with the package cloudformation-cli")
	}
	cmd := exec.CommandContext(t.Context(), python, "testdata/official/suite.py")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	return &officialSuite{in, bufio.NewScanner(out)}
}

// An officialJob is one run of the official suite.
type officialJob struct {
	Kind      string         `json:"kind"`
	Schema    any            `json:"schema"`
	Inputs    any            `json:"inputs"`    // nil if the suite generates them
	Overrides any            `json:"overrides"` // of generated inputs of hooks
	Targets   map[string]any `json:"targets"`   // of hooks
	URL       string         `json:"url"`
}

// failed are the tests that a handler fails.
func (o *officialSuite) failed(t *testing.T, job officialJob, function invoke.Function) []string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		payload, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		reply, err := function.Call(r.Context(), payload)
		if err != nil {
			reply = []byte(`{"errorType":"Error","errorMessage":"the function failed"}`)
		}
		if _, err := w.Write(reply); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	job.URL = server.URL
	data, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.in.Write(append(data, '\n')); err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Failed []string
		Calls  int
	}
	if !o.out.Scan() {
		t.Fatal("the official suite ended", o.out.Err())
	}
	if err := json.Unmarshal(o.out.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Calls == 0 {
		t.Errorf("the official suite called no handler; it failed %v", answer.Failed)
	}
	return answer.Failed
}

// A verdict is what both suites say about one handler.
type verdict struct {
	handler string
	correct bool // it has no defect
	ours    *Summary
	theirs  []string // the tests that it fails
}

// agree checks that whatever the core suite accepts, the official one accepts, and that each
// refuses something: otherwise the comparison proves nothing.
func agree(t *testing.T, verdicts []verdict) {
	t.Helper()
	refused := 0
	for _, v := range verdicts {
		switch {
		case v.ours.OK() && len(v.theirs) > 0:
			t.Errorf("%s: passes here and not there: %v", v.handler, v.theirs)
		case v.correct && !v.ours.OK():
			t.Errorf("%s: the correct handler fails:\n%s", v.handler, outcomes(v.ours))
		case !v.ours.OK() && len(v.theirs) == 0:
			t.Logf("%s: passes there only: %.300s", v.handler, strings.ReplaceAll(failures(v.ours), "\n", "; "))
		}
		if len(v.theirs) > 0 {
			refused++
		}
	}
	if t.Logf("%d handlers, %d refused by the official suite", len(verdicts), refused); refused < len(verdicts)/4 {
		t.Error("the official suite refused hardly any")
	}
}

// TestWhatPassesHerePassesThere runs every defect that the tests of this package know
// through the official suite, too, with inputs from files and with those that each suite
// generates: what the core suite takes, the official one has to take.
func TestWhatPassesHerePassesThere(t *testing.T) {
	t.Parallel()
	var names []string
	for _, m := range mutants {
		if !slices.Contains([]string{"slow", "hang", "never ends", "crash"}, m.name) { // which take their time
			names = append(names, m.name)
		}
	}
	for _, m := range officialMutants {
		names = append(names, m.name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, kind := range []string{"inputs", "generated"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			official := startOfficialSuite(t)
			var verdicts []verdict
			for _, f := range flavours {
				if f.stringified {
					continue // the service reads such models by the schema, the official suite does not
				}
				defects := []string{""}
				if f.name == "asynchronous" {
					defects = append(defects, names...)
				}
				for _, name := range defects {
					cfg := Config{Schema: f.schema(t), Function: newStub(f, name), TimeScale: math.Inf(1), Seed: 7, ShrinkTries: -1}
					job := officialJob{Kind: "RESOURCE", Schema: cfg.Schema.Root.Any()}
					if kind == "inputs" {
						cfg.Inputs = f.inputs()
						set := f.inputs().Sets[0] // its own: the suite changes what it is given
						job.Inputs = map[string]any{"CREATE": set.Create, "UPDATE": set.Update}
					}
					summary, err := Run(t.Context(), cfg)
					if err != nil {
						t.Fatal(err)
					}
					verdicts = append(verdicts, verdict{fmt.Sprintf("%s, %q", f.name, name), name == "", summary, official.failed(t, job, newStub(f, name))})
				}
			}
			agree(t, verdicts)
		})
	}
}

// TestHooksThatPassHerePassThere does the same with hooks.
func TestHooksThatPassHerePassThere(t *testing.T) {
	t.Parallel()
	official := startOfficialSuite(t)
	s, report := hookSchemaOf(t, officialHookText), reportSchema(t)
	targets := func() map[string]any {
		return map[string]any{"Initech::TPS::Report": map[string]any{"TargetName": "Initech::TPS::Report", "TargetType": "RESOURCE", "Schema": report.Root.Any()}}
	}
	none := map[string]any{"resourceProperties": map[string]any{"/Cover": "none"}}
	overrides := fstest.MapFS{"overrides.json": {Data: []byte(`{"INVALID": {"Initech::TPS::Report": {"resourceProperties": {"/Cover": "none"}}}}`)}}
	for kind, files := range map[string]fstest.MapFS{"inputs": hookFiles(), "generated": overrides} {
		t.Run(kind, func(t *testing.T) {
			job := officialJob{Kind: "HOOK", Schema: s.Root.Any()}
			if kind == "generated" {
				job.Overrides = map[string]any{"INVALID": map[string]any{"Initech::TPS::Report": none}}
			} else {
				job.Inputs = officialHookInputs(t, files)
			}
			var verdicts []verdict
			for _, mutant := range append(slices.Sorted(maps.Keys(hookMutants)), "", "null code", "null delay", "late null code", "null message", "null result") {
				for _, callbacks := range []bool{false, true} {
					if callbacks && mutant != "" && !strings.HasPrefix(mutant, "progress") && !strings.HasPrefix(mutant, "null") {
						continue // whose defect shows without them
					}
					name := fmt.Sprintf("%q, callbacks: %t", mutant, callbacks)
					job.Targets = targets() // the suite adds to it
					theirs := official.failed(t, job, &clerk{mutant: mutant, callbacks: callbacks})
					verdicts = append(verdicts, verdict{name, mutant == "", tryHookOf(t, s, &clerk{mutant: mutant, callbacks: callbacks}, files, SuiteCore), theirs})
				}
			}
			agree(t, verdicts)
		})
	}
}

// officialHookText is a hook without targets that are stacks: for those, the official suite
// knows no inputs, and fails whatever the hook answers.
var officialHookText = strings.ReplaceAll(hookText, `,"STACK"`, "")

// officialHookInputs are inputs as the official tool reads them: by its name for the kind.
func officialHookInputs(t *testing.T, files fstest.MapFS) map[string]any {
	t.Helper()
	inputs := map[string]any{}
	for name, file := range files {
		kind := strings.TrimSuffix(strings.TrimPrefix(name, "inputs/inputs_1_"), ".json")
		before, point, _ := strings.Cut(kind, "pre_")
		var input any
		if err := json.Unmarshal(file.Data, &input); err != nil {
			t.Fatal(err)
		}
		inputs[strings.ToUpper(before+point)+"_PRE_PROVISION"] = input
	}
	return inputs
}

// officialMutants are answers that the schema allows and the official suite, or the
// service, does not.
var officialMutants = []mutant{
	{name: "null in create", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "CREATE answered SUCCESS with null at /Kind", clause: clauseNoNull},
	{name: "progress with null", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "CREATE answered IN_PROGRESS with null at /Kind", clause: clauseNoNull},
	{name: "null in read", id: "handler_create.py::contract_create_read", outcome: Failed, message: "READ answered SUCCESS with null at /Kind", clause: clauseNoNull},
	{name: "null code", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "null as errorCode", clause: clauseExplicitNull},
	{name: "null delay", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "null as callbackDelaySeconds", clause: clauseExplicitNull},
	{name: "null after delete", id: "handler_delete.py::contract_delete_read", outcome: Errored, message: "null as resourceModel", clause: clauseNoModel},
	{name: "empty token", id: "handler_create.py::contract_create_list", outcome: Failed, message: `"" as nextToken`, clause: clauseList},
	{name: "read without message", id: "handler_delete.py::contract_delete_read", outcome: Failed, message: "READ answered FAILED NotFound without a message", clause: clauseMessage},
	{name: "update keeps", id: "handler_update.py::contract_update_read", outcome: Failed, message: "/Draft is still there", clause: clauseRemoved},
	{name: "labels grow", id: "handler_create.py::contract_create_delete", outcome: Failed, message: "nothing may be added to an item", clause: clauseMatch},
}

// spoil makes an event one that the official suite or the service refuses.
func (s *stub) spoil(action string, event map[string]any) {
	model, _ := event["resourceModel"].(map[string]any)
	succeeded := event["status"] == "SUCCESS"
	switch {
	case s.mutant == "null in create" && action == "CREATE" && succeeded, s.mutant == "progress with null" && event["status"] == "IN_PROGRESS",
		s.mutant == "null in read" && action == "READ" && succeeded:
		model["Kind"] = nil
	case s.mutant == "null code" && action == "CREATE" && succeeded:
		event["errorCode"] = nil
	case s.mutant == "null delay" && action == "CREATE" && succeeded:
		event["callbackDelaySeconds"] = nil
	case s.mutant == "null after delete" && action == "DELETE" && succeeded:
		event["resourceModel"] = nil
	case s.mutant == "empty token" && action == "LIST" && event["nextToken"] == nil:
		event["nextToken"] = ""
	case s.mutant == "read without message" && action == "READ" && !succeeded:
		delete(event, "message")
	case s.mutant == "labels grow" && model != nil:
		if labels, ok := model["Labels"].([]any); ok {
			grown := make([]any, len(labels))
			for i := range labels {
				label := maps.Clone(labels[i].(map[string]any))
				label["Source"] = "user"
				grown[i] = label
			}
			model["Labels"] = grown
		}
	}
}
