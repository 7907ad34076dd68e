package contract

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// written is a schema with lines to point at.
const written = `{
  "typeName": "Initech::TPS::Report",
  "description": "A report.",
  "additionalProperties": false,
  "properties": {
    "Id": {"type": "string"},
    "Title": {"type": "string"}
  },
  "primaryIdentifier": ["/properties/Id"],
  "readOnlyProperties": ["/properties/Id"],
  "handlers": {
    "create": {"permissions": []},
    "read": {"permissions": []},
    "delete": {"permissions": []}
  }
}`

func writtenSchema(t *testing.T) *schema.Schema {
	t.Helper()
	s, problems := schema.Load("report.json", []byte(written), schema.Config{})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	return s
}

func someFailures() *Summary {
	result := func(id string, needs []string, outcome Outcome, phase Phase, message string, calls ...Call) *Result {
		return &Result{Case: &Case{ID: id, Needs: needs, Clause: "tested"}, Outcome: outcome, Phase: phase, Message: message, Clause: "broken", Calls: calls}
	}
	read := result("handler_create.py::contract_create_read", []string{"create", "read"}, Failed, CallPhase, "one property differs\nmore", Call{Action: "CREATE"}, Call{Action: "READ"})
	read.More = []*Violation{{Clause: "another", Message: "it took too long"}}
	read.Differences = []schema.Difference{{Pointer: []string{"Title"}, Kind: "missing", Want: "a"}}
	return &Summary{TypeName: "Initech::TPS::Report", Failed: 2, Errors: 1, Passed: 1, LeftBehind: []string{"/Id=7: DELETE answered FAILED"}, Results: []*Result{
		read,
		result("handler_delete.py::contract_delete_read", []string{"delete", "read"}, Errored, Teardown, "it stays", Call{Action: "DELETE"}),
		result("faults.py::contract_create_killed", []string{"create"}, Failed, CallPhase, "CREATE call 2 made after the process was killed: it is gone", Call{Action: "CREATE"}, Call{Action: "LIST"}),
		result("handler_misc.py::contract_check_asserts_work", nil, Passed, CallPhase, ""),
	}}
}

func TestProblems(t *testing.T) {
	var got []string
	for _, p := range Problems(someFailures(), writtenSchema(t)) {
		text := fmt.Sprintf("%s %s %s %s: %s", p.At, p.Severity, p.ID, p.Pointer, p.Message)
		for _, n := range p.Related {
			text += fmt.Sprintf(" (%s %s)", n.At, n.Message)
		}
		got = append(got, text)
	}
	want := []string{
		`report.json:13:5 error contract/contract_create_read /handlers/read: one property differs (report.json:7:14 /Title: requested "a", returned nothing)`,
		`report.json:13:5 error contract/contract_create_read /handlers/read: it took too long`,
		`report.json:14:5 error contract/contract_delete_read /handlers/delete: at teardown: it stays`,
		`report.json:12:5 error contract/contract_create_killed /handlers/create: CREATE call 2 made after the process was killed: it is gone`,
		`report.json warning contract/left-behind : left behind: /Id=7: DELETE answered FAILED`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestSARIFAndGitHub(t *testing.T) {
	var b strings.Builder
	if err := WriteSARIF(&b, someFailures(), writtenSchema(t)); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Version string
		Runs    []struct {
			Results []struct {
				RuleID    string `json:"ruleId"`
				Locations []struct {
					PhysicalLocation struct {
						Region struct{ StartLine int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(b.String()), &log); err != nil || log.Version != "2.1.0" || len(log.Runs[0].Results) != 5 || log.Runs[0].Results[0].Locations[0].PhysicalLocation.Region.StartLine != 13 {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	if err := WriteGitHub(&b, someFailures(), writtenSchema(t)); err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(b.String(), "\n"); first != "::error file=report.json,title=contract/contract_create_read,line=13,col=5::one property differs%0Ahint: broken" {
		t.Error(first)
	}
	if list := Problems(&Summary{}, writtenSchema(t)); list.Count(diag.Error) != 0 {
		t.Error(list)
	}
}
