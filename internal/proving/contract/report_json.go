package contract

import (
	"encoding/json"
	"io"
	"time"

	"github.com/formwork-dev/formwork/internal/running/invoke"
)

type jsonReport struct {
	TypeName   string     `json:"typeName"`
	Seed       *uint64    `json:"seed,omitempty"`
	Passed     int        `json:"passed"`
	Failed     int        `json:"failed"`
	Skipped    int        `json:"skipped"`
	Errors     int        `json:"errors"`
	Seconds    float64    `json:"seconds"`
	Tests      []jsonTest `json:"tests"`
	Silent     bool       `json:"silent,omitempty"` // ended early: no call was answered
	LeftBehind []string   `json:"leftBehind"`

	NotExercised []jsonUntested `json:"notExercised"` // clauses that no test of the run exercised
}

type jsonUntested struct {
	Clause string `json:"clause"` // ID, in docs/contract.md
	Reason string `json:"reason"`
}

type jsonTest struct {
	ID          string           `json:"id"`
	Suite       Suite            `json:"suite"`
	Set         int              `json:"set,omitempty"`  // of the inputs
	Wire        invoke.Wire      `json:"wire,omitempty"` // if both encodings were requested
	Outcome     Outcome          `json:"outcome"`
	Phase       Phase            `json:"phase"`
	Seconds     float64          `json:"seconds"`
	Message     string           `json:"message"`
	Note        string           `json:"note,omitempty"`      // what the test found out
	Clause      string           `json:"clause"`              // broken, or tested if none was
	Clauses     []string         `json:"clauses,omitempty"`   // of the clause that the test checks, in docs/contract.md
	Rules       []string         `json:"rules,omitempty"`     // IDs of the rules of the custom resource protocol that were violated
	Announced   []Announced      `json:"announced,omitempty"` // changes of the schema that announce what an upgrade test found
	Cause       int              `json:"cause,omitempty"`     // number of the cause that failed the test, from 1
	More        []jsonViolation  `json:"more,omitempty"`
	Differences []jsonDifference `json:"differences,omitempty"`
	Calls       []jsonCall       `json:"calls"`
	Log         string           `json:"log,omitempty"`
	HandlerLog  string           `json:"handlerLog,omitempty"` // of tests in stacks, whose log is the events
}

// A jsonViolation is a further clause that was broken.
type jsonViolation struct {
	Message string `json:"message"`
	Clause  string `json:"clause"`
}

type jsonDifference struct {
	Pointer string `json:"pointer"`
	Kind    string `json:"kind"`
	Want    any    `json:"want,omitempty"`
	Got     any    `json:"got,omitempty"`
}

type jsonCall struct {
	Action    invoke.Action `json:"action"`
	Number    int           `json:"number"`
	Setup     bool          `json:"setup,omitempty"` // made the resource that tests share
	Offset    float64       `json:"offsetSeconds"`
	Seconds   float64       `json:"seconds"`
	Status    invoke.Status `json:"status,omitempty"`
	ErrorCode invoke.Code   `json:"errorCode,omitempty"`
	Message   string        `json:"message,omitempty"`
	Delay     float64       `json:"delaySeconds,omitempty"`
	Error     string        `json:"error,omitempty"`
	Request   any           `json:"request,omitempty"`  // only of custom resources
	Response  any           `json:"response,omitempty"` // the same; text if it is not JSON
}

// WriteJSON writes a summary as one JSON document:
// {"typeName","seed","passed","failed","skipped","errors","seconds","tests":[{"id","suite",
// "set","wire","outcome","phase","seconds","message","clause","clauses","rules","cause","more",
// "differences","calls","log","handlerLog"}],"leftBehind","notExercised":[{"clause","reason"}]}. Tests with the same cause failed for the same.
func WriteJSON(w io.Writer, s *Summary) error {
	out := jsonReport{
		TypeName: s.TypeName, Seed: s.Seed, Passed: s.Passed, Failed: s.Failed, Skipped: s.Skipped, Errors: s.Errors,
		Seconds: round(s.Duration), Silent: s.Silent, Tests: []jsonTest{}, LeftBehind: append([]string{}, s.LeftBehind...),
		NotExercised: []jsonUntested{},
	}
	for _, u := range s.Untested {
		out.NotExercised = append(out.NotExercised, jsonUntested{u.Clause, u.Why})
	}
	causes := map[*Result]int{}
	for i, cause := range s.Causes() {
		for _, r := range cause.Results {
			causes[r] = i + 1
		}
	}
	for _, r := range s.Results {
		test := jsonTest{
			Cause: causes[r],
			ID:    r.ID(), Suite: r.Case.suite(), Clauses: r.Case.Clauses, Rules: r.Rules, Announced: r.Announced, Set: r.Set, Wire: r.Wire, Outcome: r.Outcome, Phase: r.Phase, Seconds: round(r.Duration), Message: r.Message, Note: r.Note, Clause: r.Clause, Calls: []jsonCall{},
		}
		if test.Clause == "" {
			test.Clause = r.Case.Clause
		}
		for _, v := range r.More {
			test.More = append(test.More, jsonViolation{v.Message, v.Clause})
		}
		for _, d := range r.Differences {
			test.Differences = append(test.Differences, jsonDifference{d.Pointer.String(), d.Kind, d.Want, d.Got})
		}
		for _, c := range r.Calls {
			call := jsonCall{
				Action: c.Action, Number: c.Number, Setup: c.Setup, Offset: round(c.Offset), Seconds: round(c.Duration), Status: c.Status, ErrorCode: c.ErrorCode,
				Message: c.Message, Delay: round(c.Delay), Error: c.Err,
			}
			if r.custom() {
				call.Request, call.Response = jsonOrText(c.Request), jsonOrText(c.Response)
			}
			test.Calls = append(test.Calls, call)
		}
		if r.broken() {
			test.Log, test.HandlerLog = r.Log(), r.HandlerLog
		}
		out.Tests = append(out.Tests, test)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// jsonOrText is JSON as it is, and anything else as a string; nil for nothing.
func jsonOrText(data []byte) any {
	switch {
	case data == nil:
		return nil
	case json.Valid(data):
		return json.RawMessage(data)
	}
	return string(data)
}

// round is a duration in seconds, to the millisecond.
func round(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }
