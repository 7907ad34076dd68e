package contract

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// Text is a [Reporter] that writes what pytest would, as far as people and scripts read
// it: one line for each case with its outcome in capitals, the failures in full, a
// summary.
type Text struct {
	W io.Writer

	// Verbosity -1 writes one letter for each case, 0 one line, 1 and more the time line
	// of every case as well.
	Verbosity int

	// Live writes what handlers write as it comes.
	Live bool

	// Traceback is how failures are shown: "short", "long" with all requests and responses,
	// "line" for one line each, "no". Empty means "short".
	Traceback string

	total, done int
	sets        bool // there are several
	set         string
	file        string
	failures    []*Result
	err         error
}

// Err is the first error of W. Later output is dropped; the run continues, since it has to
// clean up.
func (t *Text) Err() error { return t.err }

func (t *Text) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.W, format, args...)
	}
}

// Report writes what an event says.
func (t *Text) Report(e Event) {
	switch e.Kind {
	case Planned:
		t.plan(e.Plan)
	case Started:
		t.heading(e.Set, e.Wire)
	case Called:
		if t.Live && e.Call.Log != "" {
			t.printf("%s\n%s\n", e.Call, strings.TrimRight(t.printed(e.Call.Log), "\n"))
		}
	case Finished:
		t.finished(e.Result)
	case Ended:
		t.summary(e.Summary)
	}
}

func (t *Text) plan(p *Plan) {
	if p.Custom {
		t.total = len(p.Cases)
		line := fmt.Sprintf("%s: %s of the custom resource protocol", p.TypeName, words.Count(len(p.Cases), "test"))
		if p.Deselected > 0 {
			line += fmt.Sprintf(", %d deselected", p.Deselected)
		}
		t.printf("%s\n", line)
		return
	}
	t.total, t.sets = len(p.Cases)*len(p.Sets), len(p.Sets) > 1
	inputs := fmt.Sprintf("inputs generated with seed %d", deref(p.Seed))
	if p.Sets[0].Number > 0 {
		inputs = fmt.Sprintf("inputs_%d", p.Sets[0].Number)
		if len(p.Sets) > 1 {
			inputs = fmt.Sprintf("%d sets of inputs", len(p.Sets))
		}
	}
	line := fmt.Sprintf("%s: %s", p.TypeName, words.Count(len(p.Cases), "contract test"))
	if p.InStacks {
		line = fmt.Sprintf("%s: %s in stacks", p.TypeName, words.Count(len(p.Cases), "test"))
	}
	if p.Upgrade != "" {
		line = fmt.Sprintf("%s: %s from %s", p.TypeName, words.Count(len(p.Cases), "upgrade test"), p.Upgrade)
	}
	if p.Deselected > 0 {
		line += fmt.Sprintf(", %d deselected", p.Deselected)
	}
	t.printf("%s, %s\n", line, inputs)
}

func deref(seed *uint64) uint64 {
	if seed == nil {
		return 0
	}
	return *seed
}

func (t *Text) heading(set int, wire invoke.Wire) {
	if name := setName(set, wire); t.sets && name != t.set {
		t.set, t.file = name, ""
		t.printf("\n%s\n", name)
	}
}

// setName is how reports call a set of inputs: "inputs_2", "inputs_2, strings", "strings".
func setName(set int, wire invoke.Wire) string {
	switch {
	case set == 0:
		return string(wire)
	case wire == "":
		return fmt.Sprintf("inputs_%d", set)
	}
	return fmt.Sprintf("inputs_%d, %s", set, wire)
}

var outcomeWords = map[Outcome]string{Passed: "PASSED", Failed: "FAILED", Skipped: "SKIPPED", Errored: "ERROR"}

func (t *Text) finished(r *Result) {
	if r.broken() {
		t.failures = append(t.failures, r)
	}
	if r.Phase != Teardown {
		t.done++
	}
	if t.Verbosity < 0 {
		t.letter(r)
		return
	}
	line := r.ID() + " " + outcomeWords[r.Outcome]
	if r.Outcome == Skipped {
		line += " (" + r.Message + ")"
	}
	if r.Note != "" {
		line += " (" + r.Note + ")"
	}
	t.printf("%-70s [%3d%%]\n", line, 100*t.done/max(t.total, 1))
	if t.Verbosity > 0 {
		t.timeline(r)
	}
}

func (t *Text) letter(r *Result) {
	if t.file != r.Case.File() {
		if t.file != "" {
			t.printf("\n")
		}
		t.file = r.Case.File()
		t.printf("%s ", t.file)
	}
	letter := map[Outcome]string{Passed: ".", Failed: "F", Skipped: "s", Errored: "E"}[r.Outcome]
	t.printf("%s", letter)
	if t.done == t.total {
		t.printf("\n")
	}
}

func (t *Text) timeline(r *Result) {
	for i := range r.Calls {
		t.printf("  %s\n", &r.Calls[i])
	}
}

const ruler = "======================================================================"

// title centres a text in a line, as pytest does.
func title(text string) string {
	side := max(3, (len(ruler)-len(text)-2)/2)
	return ruler[:side] + " " + text + " " + ruler[:side]
}

func (t *Text) summary(s *Summary) {
	if t.Verbosity < 0 && t.done < t.total {
		t.printf("\n")
	}
	if len(t.failures) > 0 && t.Traceback != "no" {
		t.printf("\n%s\n", title("FAILURES"))
		for _, cause := range s.Causes() {
			t.cause(cause)
		}
	}
	if len(t.failures) > 0 {
		t.printf("\n%s\n", title("short test summary info"))
		for _, r := range t.failures {
			t.printf("%s %s - %s\n", outcomeWords[r.Outcome], t.name(r), firstLine(r.Message))
		}
	}
	if s.Silent && t.done < t.total {
		t.printf("\nthe handler did not respond to any call; skipped the other %s\n", words.Count(t.total-t.done, "test"))
	}
	if len(s.LeftBehind) > 0 {
		t.printf("\nthese resources were not deleted; delete them manually:\n")
		for _, line := range s.LeftBehind {
			t.printf("  %s\n", line)
		}
	}
	if len(s.Untested) > 0 {
		t.printf("\nclauses of the contract that were not exercised:\n")
		for _, line := range s.untestedByReason() {
			t.printf("  %s\n", line)
		}
	}
	if !s.OK() && s.Seed != nil && s.Shuffled {
		t.printf("\nthe tests were shuffled; to repeat this order, pass --shuffle --seed %d\n", *s.Seed)
	} else if !s.OK() && s.Seed != nil {
		t.printf("\nthe inputs were generated; to generate the same inputs, pass --seed %d\n", *s.Seed)
	}
	var parts []string
	for _, part := range []struct {
		n    int
		word string
	}{{s.Failed, "failed"}, {s.Passed, "passed"}, {s.Skipped, "skipped"}, {s.Errors, "errors"}} {
		if part.n == 1 && part.word == "errors" {
			part.word = "error"
		}
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.word))
		}
	}
	if len(parts) == 0 {
		parts = []string{"no tests ran"}
	}
	t.printf("%s\n", title(fmt.Sprintf("%s in %.2fs", strings.Join(parts, ", "), s.Duration.Seconds())))
}

// name is the ID of a result, with its set if there are several.
func (t *Text) name(r *Result) string {
	if t.sets {
		return fmt.Sprintf("%s [%s]", r.ID(), setName(r.Set, r.Wire))
	}
	return r.ID()
}

// cause shows the first failure of a cause in full, and the names of the others.
func (t *Text) cause(c *Cause) {
	t.failure(c.First())
	others := c.Results[1:]
	if t.Traceback == "line" {
		for _, r := range others {
			t.failure(r)
		}
		return
	}
	if len(others) == 0 {
		return
	}
	t.printf("  %s failed with the same cause:\n", words.Count(len(others), "more test"))
	for _, r := range others {
		t.printf("    %s\n", t.name(r))
	}
}

func (t *Text) failure(r *Result) {
	if t.Traceback == "line" {
		t.printf("%s: %s\n", t.name(r), firstLine(r.Message))
		return
	}
	where := ""
	if r.Phase != CallPhase {
		where = " at " + string(r.Phase)
	}
	t.printf("\n%s%s\n", t.name(r), where)
	t.printf("  %s\n", indent(r.Message, "  "))
	if r.Clause != "" {
		t.printf("  %s: %s\n", r.clauseTitle(), r.Clause)
	}
	if len(r.Differences) > 0 {
		t.printf("  differences:\n")
		for _, d := range r.Differences {
			t.printf("    %s\n", d)
		}
	}
	for _, v := range r.More {
		t.printf("  also: %s\n    %s: %s\n", indent(v.Message, "    "), r.clauseTitle(), v.Clause)
	}
	if len(r.Calls) > 0 {
		t.printf("  calls:\n")
		for i := range r.Calls {
			c := &r.Calls[i]
			t.printf("  %s\n", c)
			if t.Traceback == "long" {
				t.printf("      request: %s\n", indent(string(c.Request), "      "))
				if c.Response != nil {
					t.printf("      response: %s\n", indent(string(bytes.TrimSpace(c.Response)), "      "))
				}
			}
		}
	}
	if log := r.log(t.printed); log != "" {
		t.printf("  %s:\n    %s\n", r.logTitle(), indent(log, "    "))
	}
	if r.HandlerLog != "" {
		t.printf("  handler log:\n    %s\n", indent(t.printed(r.HandlerLog), "    "))
	}
}

// printed is a log as it is shown: complete with all requests and responses.
func (t *Text) printed(log string) string {
	if t.Traceback == "long" {
		return log
	}
	return invoke.PrintedLog(log)
}

func indent(text, by string) string { return strings.ReplaceAll(text, "\n", "\n"+by) }
