package registry

import (
	"testing"

	"github.com/formwork-dev/formwork/internal/proving/contract"
)

func TestOneCauseIsToldOnce(t *testing.T) {
	result := func(id, message string) *contract.Result {
		return &contract.Result{Case: &contract.Case{ID: id}, Outcome: contract.Failed, Message: message}
	}
	got := describeSummary(&contract.Summary{Passed: 2, Failed: 3, Results: []*contract.Result{
		result("a.py::contract_one", "CREATE failed"), result("a.py::contract_two", "it is late"), result("b.py::contract_three", "CREATE failed"),
	}})
	want := "3 of 5 contract tests failed: CREATE failed (a.py::contract_one, b.py::contract_three); it is late (a.py::contract_two)"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
