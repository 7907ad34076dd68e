package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/proving/contract"
)

// TestProgressOfTests: a terminal shows which test runs and that inputs are being made
// smaller, on a line that is erased before results are printed. Anything else shows nothing.
func TestProgressOfTests(t *testing.T) {
	c := contract.Case{ID: "handler_create.py::contract_create_read"}
	for terminal, want := range map[bool]string{
		false: "",
		true:  "[1/2] contract_create_read …\r\x1b[K[1/2] contract_create_read failed: finding smaller inputs …\r\x1b[K",
	} {
		var out strings.Builder
		p := &testProgress{app: &app{Env: &Env{Stderr: &out, Terminal: Terminal{Stderr: terminal}}, errScreen: &out}}
		for _, e := range []contract.Event{
			{Kind: contract.Planned, Plan: &contract.Plan{Cases: make([]contract.Case, 2), Sets: make([]contract.InputSet, 1)}},
			{Kind: contract.Started, Case: &c}, {Kind: contract.Shrinking, Case: &c}, {Kind: contract.Finished}, {Kind: contract.Ended},
		} {
			p.Report(e)
		}
		if out.String() != want {
			t.Errorf("terminal %t: %q, want %q", terminal, out.String(), want)
		}
	}
}

func TestShrinkTime(t *testing.T) {
	for text, want := range map[string]time.Duration{"off": -1, "0": -1, "0s": -1, "30s": 30 * time.Second, "2m": 2 * time.Minute} {
		var got shrinkTime
		if err := got.Set(text); err != nil || time.Duration(got) != want {
			t.Errorf("%s: %v, %v", text, time.Duration(got), err)
		}
	}
	var got shrinkTime
	for _, text := range []string{"", "never", "-3s", "10"} {
		if err := got.Set(text); err == nil {
			t.Errorf("%q is taken as %v", text, time.Duration(got))
		}
	}
}
