package contract

import (
	"strings"
	"testing"
)

// TestOneCauseIsOneGroup: a wrong answer of READ fails many tests with random values in
// their messages. It is one group in the text, in the HTML page and in the JSON document.
func TestOneCauseIsOneGroup(t *testing.T) {
	var text, page, doc strings.Builder
	w := &wrongReader{stub: newStub(flavours[0], "")}
	summary, _ := w.run(t.Context(), t, Config{ShrinkTime: -1, Reporter: &Text{W: &text}, Selection: Selection{Suite: SuiteAll}})
	messages, others := map[string]bool{}, 0
	for _, r := range summary.Results {
		switch {
		case strings.Contains(r.Message, "wrong 1"):
			messages[r.Message] = true
		case r.broken(): // the stub keeps the contract of the core suite only
			others++
		}
	}
	causes := summary.Causes()
	if len(messages) < 5 || len(causes) != 1+others {
		t.Fatalf("%d messages, %d causes; want several messages, one cause and %d others\n%s", len(messages), len(causes), others, failures(summary))
	}
	if n := len(causes[0].Results); n != len(messages) {
		t.Errorf("the cause has %d tests, %d failed", n, len(messages))
	}
	if err := WriteHTML(&page, summary); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(&doc, summary); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), `<div class="fault">`); n != len(causes) {
		t.Errorf("the page shows %d causes", n)
	}
	if n := strings.Count(doc.String(), `"cause": 1,`); n != len(messages) {
		t.Errorf("the document has the cause %d times", n)
	}
	if n := strings.Count(text.String(), "  the contract: "); n != len(causes) {
		t.Errorf("the text shows %d failures in full", n)
	}
}

// TestCausesStaySeparate: other properties, clauses and messages are other causes.
func TestCausesStaySeparate(t *testing.T) {
	result := func(clause, message string) *Result {
		return &Result{Case: &Cases[0], Outcome: Failed, Clause: clause, Message: message}
	}
	for _, test := range []struct {
		name string
		a, b *Result
		same bool
	}{
		{"another request ID", result("c", "CREATE ended with FAILED InternalFailure: request 7f3a-11 failed"), result("c", "CREATE ended with FAILED InternalFailure: request 90bc-42 failed"), true},
		{"another identifier", result("c", "the created resource /Id=alpha is not in the list"), result("c", "the created resource /Id=beta is not in the list"), true},
		{"another quoted value", result("c", `the tag "a\"b" is missing`), result("c", `the tag "c" is missing`), true},
		{"another code", result("c", "READ ended with FAILED NotFound"), result("c", "READ ended with FAILED AccessDenied"), false},
		{"another action", result("c", "READ ended with FAILED NotFound"), result("c", "DELETE ended with FAILED NotFound"), false},
		{"another clause", result("c", "x"), result("d", "x"), false},
	} {
		summary := &Summary{Results: []*Result{test.a, test.b, {Case: &Cases[0], Outcome: Passed}}}
		if got := len(summary.Causes()) == 1; got != test.same {
			t.Errorf("%s: the same cause is %t, want %t", test.name, got, test.same)
		}
	}
}

// TestTimesBeginAtZero: the calls of a shared resource stand before those of the case, and
// no call is at a negative time, however long ago another case made the resource.
func TestTimesBeginAtZero(t *testing.T) {
	_, summary := report(t, "read forgets")
	setup := 0
	for _, r := range summary.Results {
		last := -1.0
		for _, c := range r.Calls {
			if c.Offset < 0 || c.Duration < 0 || c.Offset.Seconds() < last {
				t.Errorf("%s: %s at %v", r.ID(), c.Action, c.Offset)
			}
			last = c.Offset.Seconds()
			if c.Setup {
				setup++
			}
		}
	}
	if setup == 0 {
		t.Error("no call is marked as one of a shared resource")
	}
}
