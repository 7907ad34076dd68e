package console

import "testing"

// TestOneCauseIsOneGroup: tests that a report gives the same cause are one group, whatever
// values their messages name. Reports of earlier versions group by message.
func TestOneCauseIsOneGroup(t *testing.T) {
	v := &testView{Report: &report{Tests: []result{
		{ID: "a::1", Outcome: "failed", Message: `returned "x1"`, Cause: 1}, {ID: "a::2", Outcome: "failed", Message: "refused", Cause: 2},
		{ID: "a::3", Outcome: "error", Message: `returned "x2"`, Cause: 1},
		{ID: "a::4", Outcome: "failed", Message: "old"}, {ID: "a::5", Outcome: "failed", Message: "old"}, {ID: "a::6", Outcome: "passed"},
	}}}
	v.arrange()
	if len(v.Faults) != 3 || len(v.Faults[0].Tests) != 2 || len(v.Faults[1].Tests) != 1 || len(v.Faults[2].Tests) != 2 {
		t.Errorf("%d groups: %+v", len(v.Faults), v.Faults)
	}
}
