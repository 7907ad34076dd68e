package contract

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// A Reporter is notified of the events of a run, in order.
type Reporter interface {
	// Report takes one event. It is called by one goroutine.
	Report(Event)
}

// Reporters notifies several.
type Reporters []Reporter

// Report passes the event to each.
func (r Reporters) Report(e Event) {
	for _, reporter := range r {
		reporter.Report(e)
	}
}

// A Kind is the kind of an [Event], which determines its field.
type Kind int

// The kinds of events.
const (
	Planned   Kind = iota // Plan: once, at the start
	Started               // Case and Set: before each case
	Called                // Call: after each call of a handler
	Shrinking             // Case and Set: a case failed, and is now run with smaller inputs
	Finished              // Result: after each case, and for each failed teardown
	Ended                 // Summary: once, at the end
)

// An Event is something that happened in a run.
type Event struct {
	Kind    Kind
	Plan    *Plan
	Case    *Case
	Set     int         // 0 where inputs are generated
	Wire    invoke.Wire // set where everything runs in both ways
	Call    *Call
	Result  *Result
	Summary *Summary
}

// A Plan is what a run is going to do.
type Plan struct {
	TypeName   string
	Cases      []Case
	Deselected int
	Sets       []InputSet
	Seed       *uint64 // nil where nothing depends on it
	Suite      Suite
	InStacks   bool   // the tests are those of [RunStacks]
	Upgrade    string // the old version, if the tests are those of [RunUpgrade]
	Custom     bool   // the tests are those of [SuiteCustom]; there are no Sets
}

// An Outcome is how a case ended. The words are those of pytest.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
	Errored Outcome = "error" // the resource that the case needs could not be made or removed
)

// A Phase is the part of a case that ended it.
type Phase string

// The phases.
const (
	Setup     Phase = "setup"
	CallPhase Phase = "call"
	Teardown  Phase = "teardown" // of a whole file, reported for its last case
)

// A Result is how a case ended, secrets hidden.
type Result struct {
	Case        *Case
	Set         int         // 0 where inputs are generated
	Wire        invoke.Wire // set where everything runs in both ways
	Outcome     Outcome
	Phase       Phase
	Message     string // "" if passed
	Note        string // what the case found out; "" for most
	Clause      string // of the contract that was broken; "" if none was
	Differences []schema.Difference
	Duration    time.Duration

	// More are further clauses that were broken while the case ran, by events that have
	// nothing to do with what it is about.
	More []*Violation

	// Untested are clauses of the case that it could not exercise, with the reasons.
	Untested []Untested

	// Rules are the IDs of the rules that were violated, where the suite has rules with IDs.
	Rules []string

	// Announced are the changes of the schema that announce what an upgrade test found.
	Announced []Announced

	// Example is what runs the case again with the same generated inputs. Nil if the case
	// passed or its inputs come from files.
	Example *Example

	// Calls are those of the case, in the order made. If the case did not pass, the calls
	// that made the resource which it shares with others come first, marked as Setup.
	Calls []Call

	// HandlerLog is what the handlers wrote, of a test in stacks that did not pass: the stack called
	// them, not the test. "" if it is not known.
	HandlerLog string
}

// ID is the name of the case.
func (r *Result) ID() string { return r.Case.ID }

// Log is what the handlers wrote during the case, the last lines of it if it is long.
func (r *Result) Log() string { return r.log(func(log string) string { return log }) }

func (r *Result) log(printed func(string) string) string {
	var b strings.Builder
	for _, c := range r.Calls {
		b.WriteString(c.Log)
	}
	return tail(printed(b.String()), 40, 8<<10)
}

// custom reports whether the test is one of [SuiteCustom].
func (r *Result) custom() bool { return r.Case.Suite == SuiteCustom }

// clauseTitle is what reports call the clause.
func (r *Result) clauseTitle() string {
	if r.custom() {
		return "the rule"
	}
	return "the contract"
}

// inStacks reports whether the test works on stacks.
func (r *Result) inStacks() bool {
	return r.Case.File() == stackFile || r.Case.File() == upgradeFile
}

// logTitle is what reports call the log: in stacks it is made of events.
func (r *Result) logTitle() string {
	if r.inStacks() {
		return "stack events"
	}
	return "handler log"
}

// tail is the end of a text: at most so many lines and bytes.
func tail(text string, lines, size int) string {
	text = strings.TrimRight(text, "\n")
	if len(text) > size {
		text = text[len(text)-size:]
		_, text, _ = strings.Cut(text, "\n")
	}
	all := strings.Split(text, "\n")
	if len(all) > lines {
		all = append([]string{fmt.Sprintf("… %d lines before", len(all)-lines)}, all[len(all)-lines:]...)
	}
	return strings.Join(all, "\n")
}

// A Call is one call of a handler within a case, secrets hidden.
type Call struct {
	Action    invoke.Action
	Number    int           // within its operation, from 1
	Offset    time.Duration // since the first call of the result, or the start of the case
	Setup     bool          // made the resource that several cases share
	Duration  time.Duration
	Status    invoke.Status // "" without an event
	ErrorCode invoke.Code
	Message   string
	Delay     time.Duration // until the next call of the operation
	Err       string        // why there is no event, or no next call; "" otherwise
	Request   []byte        // JSON
	Response  []byte        // JSON, or the beginning of another reply; may be nil
	Log       string

	start time.Time
}

// String is the call as one line of a time line.
func (c *Call) String() string {
	action := string(c.Action)
	if c.Number > 1 {
		action += fmt.Sprintf(" again (%d)", c.Number)
	}
	text := fmt.Sprintf("%9s  %-16s %8s", fmt.Sprintf("%+.3fs", c.Offset.Seconds()), action, seconds(c.Duration))
	if c.Status != "" {
		text += "  " + string(c.Status)
	}
	if c.ErrorCode != "" {
		text += " " + string(c.ErrorCode)
	}
	if c.Delay > 0 {
		text += fmt.Sprintf(", next call in %s", c.Delay)
	}
	if c.Setup {
		text += "  (setup)"
	}
	if c.Message != "" {
		text += fmt.Sprintf("  %q", firstLine(c.Message))
	}
	if c.Err != "" {
		text += "  " + firstLine(c.Err)
	}
	return text
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3fs", d.Seconds()) }

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return words.Cut(first, 200)
}

// A Summary is what came out of a run.
type Summary struct {
	TypeName string
	Seed     *uint64 // nil where nothing depends on it
	Shuffled bool    // the order of the cases depends on Seed
	Results  []*Result

	Passed, Failed, Skipped, Errors int

	Duration time.Duration

	// Silent means that the run ended after the first failure, because no call was answered
	// with a progress event: the other cases would have failed the same way.
	Silent bool

	// Untested are the clauses that no test of the run has exercised.
	Untested []Untested

	// LeftBehind names resources that the run created and could not delete, in one line for each cause.
	LeftBehind []string
}

// Add counts a result and keeps it.
func (s *Summary) Add(r *Result) {
	switch r.Outcome {
	case Passed:
		s.Passed++
	case Failed:
		s.Failed++
	case Skipped:
		s.Skipped++
	case Errored:
		s.Errors++
	}
	s.Results = append(s.Results, r)
}

// OK reports whether the handlers kept the contract as far as it was tested.
func (s *Summary) OK() bool { return s.Failed == 0 && s.Errors == 0 }

// skipped is the error of a case that means nothing for the schema.
type skipped string

func (s skipped) Error() string { return string(s) }

// result describes how a case ended.
func (r *run) result(c *Case, phase Phase, err error) *Result {
	result := &Result{
		Case: c, Set: r.inputs.Number, Wire: r.setRun.inputs.Wire, Phase: phase, Outcome: Passed, Note: r.note, Untested: r.notExercised, Calls: r.calls, Duration: max(0, r.cfg.Now().Sub(r.start)), More: r.observed,
	}
	var (
		reason skipped
		broken *Violation
	)
	if err == nil && len(r.observed) > 0 {
		err, result.More = r.observed[0], r.observed[1:]
	}
	switch {
	case err == nil:
		return result
	case errors.As(err, &reason):
		result.Outcome = Skipped
	case phase == CallPhase:
		result.Outcome = Failed
	default:
		result.Outcome = Errored
	}
	result.Message = r.redactor.Text(err.Error())
	if result.Outcome == Skipped {
		return result
	}
	if c.fixture != nil && phase != Teardown {
		result.Calls = timeline(r.making, r.calls)
	}
	if errors.As(err, &broken) {
		result.Clause, result.Differences = broken.Clause, broken.Differences
	}
	if r.generated() && phase != Teardown && r.cfg.Schema.Kind != schema.Hook {
		result.Example = r.example(c, result)
	}
	return result
}

// timeline puts the calls that made a shared resource before those of a case. The case
// follows at once: what other cases did in between is not a part of it.
func timeline(setup, own []Call) []Call {
	out := make([]Call, 0, len(setup)+len(own))
	var end time.Duration
	for _, c := range setup {
		c.Setup, c.Offset = true, max(0, c.start.Sub(setup[0].start))
		end = max(end, c.Offset+c.Duration)
		out = append(out, c)
	}
	for _, c := range own {
		if len(setup) > 0 {
			c.Offset = end + max(0, c.start.Sub(own[0].start))
		}
		out = append(out, c)
	}
	return out
}
