package contract

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// HTMLStyle is the style sheet of reports.
//
//go:embed report_html.css
var HTMLStyle string

//go:generate go run github.com/a-h/templ/cmd/templ@v0.3.977 generate -path .

// htmlPage is what the template shows.
type htmlPage struct {
	TypeName, Verdict string
	OK                bool
	Summary           *Summary
	Seed              string // "" where inputs come from files
	Tallies           []htmlTally
	Faults            []*htmlFault
	Command, What     string // what wrote the report, and about what
	Hidden            string // what it does not show
	Files             []*htmlFile
}

type htmlTally struct {
	Outcome Outcome
	Word    string
	N       int
	Share   float64 // of all tests, in percent
}

// An htmlFault is one cause with all tests that it failed.
type htmlFault struct {
	Message, Clause string
	Tests           []*htmlTest
}

type htmlFile struct {
	Name   string
	Tests  []*htmlTest
	Failed int
}

type htmlTest struct {
	*Result
	Anchor          string // of the page
	Title           string // with the set of inputs, if there are several
	Kept            string // the clause: broken, or tested if none was
	Open            bool
	Differences     []htmlDifference
	Calls           []htmlCall
	Span            time.Duration // from the first call to the end of the last
	HandlerLog      string
	StackHandlerLog string
	LogTitle        string
}

type htmlDifference struct{ Pointer, Kind, Want, Got string }

type htmlCall struct {
	*Call
	Class        string  // of the answer: "success", "progress", "failed", "none"
	Answer       string  // the status, or what is missing
	Left, Width  float64 // of the bar, in percent
	WaitLeft     float64
	Wait         float64 // of the callback delay
	RequestText  string
	ResponseText string
	LogText      string
}

// WriteHTML writes a summary as one self-contained HTML page: no script, no font, no other
// file. It shows every test with its clause, the calls of handlers as a timeline, and,
// collapsed, requests and responses.
func WriteHTML(w io.Writer, s *Summary) error {
	if err := htmlReport(newHTMLPage(s)).Render(context.Background(), w); err != nil {
		return fmt.Errorf("write the HTML report: %w", err)
	}
	return nil
}

func newHTMLPage(s *Summary) *htmlPage {
	page := &htmlPage{TypeName: s.TypeName, Summary: s, OK: s.OK(), Verdict: "The handlers keep the contract", Command: "cfn test", What: "contract tests", Hidden: "credentials, write-only values and secrets of the type configuration"}
	if s.Seed != nil {
		page.Seed = fmt.Sprint(*s.Seed)
	}
	if !s.OK() {
		page.Verdict = "The handlers break the contract"
	}
	if len(s.Results) > 0 && s.Results[0].custom() {
		page.Command, page.What, page.Verdict = "cfn cr test", "custom resource", "The handler follows the protocol of custom resources"
		page.Hidden = "credentials, secret properties, data with NoEcho and presigned URLs"
		if !s.OK() {
			page.Verdict = "The handler violates the protocol of custom resources"
		}
	}
	total := len(s.Results)
	if total == 0 {
		page.Verdict = "No tests ran"
	}
	for _, t := range []htmlTally{{Outcome: Failed, Word: "failed", N: s.Failed}, {Outcome: Errored, Word: "errors", N: s.Errors}, {Outcome: Passed, Word: "passed", N: s.Passed}, {Outcome: Skipped, Word: "skipped", N: s.Skipped}} {
		if t.N > 0 {
			t.Share = 100 * float64(t.N) / float64(total)
			page.Tallies = append(page.Tallies, t)
		}
	}
	sets := map[string]bool{}
	for _, r := range s.Results {
		sets[setName(r.Set, r.Wire)] = true
	}
	files, tests := map[string]*htmlFile{}, map[*Result]*htmlTest{}
	for i, r := range s.Results {
		test := newHTMLTest(r, i, len(sets) > 1)
		file := files[r.Case.File()]
		if file == nil {
			file = &htmlFile{Name: r.Case.File()}
			files[file.Name] = file
			page.Files = append(page.Files, file)
		}
		file.Tests = append(file.Tests, test)
		if test.Open {
			file.Failed++
		}
		tests[r] = test
	}
	for _, cause := range s.Causes() {
		fault := &htmlFault{Message: cause.First().Message, Clause: cause.First().Clause}
		for _, r := range cause.Results {
			fault.Tests = append(fault.Tests, tests[r])
		}
		page.Faults = append(page.Faults, fault)
	}
	return page
}

func newHTMLTest(r *Result, index int, sets bool) *htmlTest {
	t := &htmlTest{
		Result: r, Anchor: fmt.Sprintf("%s-%d", slug(r.ID()), index), Title: r.Case.Name(), Kept: r.Clause,
		Open: r.broken(), LogTitle: "Log of the handler",
	}
	if r.inStacks() {
		t.LogTitle = "Events of the stack"
	}
	if sets {
		t.Title += " [" + setName(r.Set, r.Wire) + "]"
	}
	if r.Phase != CallPhase {
		t.Title += " at " + string(r.Phase)
	}
	if t.Kept == "" {
		t.Kept = r.Case.Clause
	}
	if t.Open {
		t.HandlerLog, t.StackHandlerLog = r.log(invoke.PrintedLog), invoke.PrintedLog(r.HandlerLog)
	}
	for _, d := range r.Differences {
		t.Differences = append(t.Differences, htmlDifference{Pointer: orWhole(d.Pointer.String()), Kind: d.Kind, Want: valueText(d.Want), Got: valueText(d.Got)})
	}
	if len(r.Calls) == 0 {
		return t
	}
	first, last := r.Calls[0].Offset, time.Duration(0)
	for i := range r.Calls {
		first = min(first, r.Calls[i].Offset)
		last = max(last, r.Calls[i].Offset+r.Calls[i].Duration)
	}
	t.Span = last - first
	scale := func(d time.Duration) float64 { return 100 * float64(d) / float64(max(t.Span, 1)) }
	for i := range r.Calls {
		c := &r.Calls[i]
		left := scale(c.Offset - first)
		call := htmlCall{
			Call: c, Class: class(c), Left: left, Width: min(scale(c.Duration), 100-left), RequestText: string(c.Request), ResponseText: strings.TrimSpace(string(c.Response)), LogText: invoke.PrintedLog(c.Log),
		}
		call.Answer = answerWord(r, c)
		call.WaitLeft = left + call.Width
		call.Wait = min(scale(c.Delay), 100-call.WaitLeft)
		t.Calls = append(t.Calls, call)
	}
	return t
}

// answerWord is the status of a call, or what it has instead.
func answerWord(r *Result, c *Call) string {
	switch {
	case c.Status != "":
		return string(c.Status)
	case !r.custom():
		return "no event"
	case c.Response != nil:
		return "not valid"
	}
	return "no response"
}

// class is the CSS class for the answer of a call.
func class(c *Call) string {
	switch c.Status {
	case invoke.Success:
		return "success"
	case invoke.InProgress:
		return "progress"
	case invoke.Failed:
		return "failed"
	}
	return "none"
}

func orWhole(pointer string) string {
	if pointer == "" {
		return "the model"
	}
	return pointer
}

// valueText is a value as indented JSON; "" for none.
func valueText(v any) string {
	if v == nil {
		return ""
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(b.String())
}

// breaks lets a long name wrap after any "_".
func breaks(name string) templ.Component {
	return templ.Raw(strings.ReplaceAll(templ.EscapeString(name), "_", "_<wbr>"))
}

// percent is a style that places a bar.
func percent(format string, values ...any) templ.SafeCSS {
	return templ.SafeCSS(fmt.Sprintf(format, values...))
}

// Tally is how many tests the file has, and how many of them did not pass.
func (f *htmlFile) Tally() string {
	tally := words.Count(len(f.Tests), "test")
	if f.Failed > 0 {
		tally += fmt.Sprintf(", %d not passed", f.Failed)
	}
	return tally
}

// Times is when the call was made, how long it took and when the next one follows.
func (c *htmlCall) Times() string {
	times := fmt.Sprintf("at %s, took %s", seconds(c.Offset), seconds(c.Duration))
	if c.Delay > 0 {
		times += fmt.Sprintf(", next call in %s", c.Delay)
	}
	return times
}

// Name is the action, with the number of the call where there are several.
func (c *htmlCall) Name() string {
	if c.Number > 1 {
		return fmt.Sprintf("%s #%d", c.Action, c.Number)
	}
	return string(c.Action)
}

// Note is what went wrong.
func (c *htmlCall) Note() string {
	note := string(c.ErrorCode)
	if note != "" && c.Message != "" {
		note += ": "
	}
	note += c.Message
	if c.Err != "" {
		note += " " + c.Err
	}
	return note
}

// slug makes an ID of a page from a text.
func slug(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, text)
}
