package contract

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/invoke"
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

// failed are the tests that a handler fails.
func (o *officialSuite) failed(t *testing.T, cfg Config) []string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		payload, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		reply, err := cfg.Function.Call(r.Context(), payload)
		if err != nil {
			reply = []byte(`{"errorType":"Error","errorMessage":"the function failed"}`)
		}
		if _, err := w.Write(reply); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	set := cfg.Inputs.Sets[0]
	job, err := json.Marshal(map[string]any{"schema": cfg.Schema.Root.Any(), "url": server.URL, "inputs": map[string]any{"CREATE": set.Create, "UPDATE": set.Update}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.in.Write(append(job, '\n')); err != nil {
		t.Fatal(err)
	}
	var answer struct{ Failed []string }
	if !o.out.Scan() {
		t.Fatal("the official suite ended", o.out.Err())
	}
	if err := json.Unmarshal(o.out.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Failed
}

// TestWhatPassesHerePassesThere runs every defect that the tests of this package know
// through the official suite, too: what the core suite takes, the official one has to take.
func TestWhatPassesHerePassesThere(t *testing.T) {
	official := startOfficialSuite(t)
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
	refused := 0
	for _, f := range flavours {
		if f.stringified {
			continue // the service reads such models by the schema, the official suite does not
		}
		defects := []string{""}
		if f.name == "asynchronous" {
			defects = append(defects, slices.Compact(names)...)
		}
		for _, name := range defects {
			ours, theirs := Config{Schema: f.schema(t), Function: invoke.Function(newStub(f, name)), Inputs: f.inputs()}, Config{Schema: f.schema(t), Function: newStub(f, name), Inputs: f.inputs()}
			ours.TimeScale = -1
			summary, err := Run(t.Context(), ours)
			if err != nil {
				t.Fatal(err)
			}
			failed := official.failed(t, theirs)
			if summary.OK() && len(failed) > 0 {
				t.Errorf("%s, %q: passes here and not there: %v", f.name, name, failed)
			}
			if name == "" && !summary.OK() {
				t.Errorf("%s: the correct handler fails:\n%s", f.name, outcomes(summary))
			}
			if len(failed) > 0 {
				refused++
			}
			if !summary.OK() && len(failed) == 0 {
				t.Logf("%s, %q: passes there only: %s", f.name, name, strings.ReplaceAll(failures(summary), "\n", "; "))
			}
		}
	}
	if refused == 0 {
		t.Error("the official suite refused nothing")
	}
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
