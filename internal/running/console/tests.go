package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/proving/contract"
	"github.com/formwork-dev/formwork/internal/running/registry"
)

// testsView is the list of test runs.
type testsView struct {
	Kind, TypeName string // of which type; "" for all
	Runs           []registry.TestRun
	More           bool
}

const maxRuns = 100

func (c *Console) listTests(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	p.Title, p.Section, p.Live = "Tests", "tests", true
	v := &testsView{Kind: p.query.Get("kind"), TypeName: p.query.Get("type")}
	runs, err := c.config.Registry.TestRuns(r.Context(), c.caller(p), registry.TestQuery{Kind: schema.Kind(v.Kind), TypeName: v.TypeName, Limit: maxRuns + 1})
	if err != nil {
		return nil, err
	}
	v.Runs, v.More = runs[:min(len(runs), maxRuns)], len(runs) > maxRuns
	return p.testsBody(v), nil
}

// testView is one run of the contract tests.
type testView struct {
	Run     registry.TestRun
	Report  *report // nil without a report
	Problem string  // why the report cannot be read
	Suites  []suite
	Tallies []tally
	Faults  []breach
}

// A report is what contract.WriteJSON writes.
type report struct {
	TypeName   string   `json:"typeName"`
	Seed       *uint64  `json:"seed"`
	Passed     int      `json:"passed"`
	Failed     int      `json:"failed"`
	Skipped    int      `json:"skipped"`
	Errors     int      `json:"errors"`
	Seconds    float64  `json:"seconds"`
	Tests      []result `json:"tests"`
	Silent     bool     `json:"silent"`
	LeftBehind []string `json:"leftBehind"`
}

type result struct {
	ID          string       `json:"id"`
	Suite       string       `json:"suite"`
	Set         int          `json:"set"`
	Wire        string       `json:"wire"`
	Outcome     string       `json:"outcome"`
	Phase       string       `json:"phase"`
	Seconds     float64      `json:"seconds"`
	Message     string       `json:"message"`
	Clause      string       `json:"clause"`
	Clauses     []string     `json:"clauses"`
	Cause       int          `json:"cause"` // 0 in reports of earlier versions
	More        []violation  `json:"more"`
	Differences []difference `json:"differences"`
	Calls       []call       `json:"calls"`
	Log         string       `json:"log"`
	Anchor      string       `json:"-"`
}

type violation struct {
	Message string `json:"message"`
	Clause  string `json:"clause"`
}

type difference struct {
	Pointer string          `json:"pointer"`
	Kind    string          `json:"kind"`
	Want    json.RawMessage `json:"want"`
	Got     json.RawMessage `json:"got"`
}

type call struct {
	Action    string  `json:"action"`
	Number    int     `json:"number"`
	Offset    float64 `json:"offsetSeconds"`
	Seconds   float64 `json:"seconds"`
	Status    string  `json:"status"`
	ErrorCode string  `json:"errorCode"`
	Message   string  `json:"message"`
	Delay     float64 `json:"delaySeconds"`
	Error     string  `json:"error"`
}

// Broken reports whether the test shows an error of the handlers.
func (t *result) Broken() bool { return t.Outcome == "failed" || t.Outcome == "error" }

// File and Name are the parts of the test's name.
func (t *result) File() string { file, _, _ := strings.Cut(t.ID, "::"); return file }

// Name is the name within the file, with the inputs if there are several.
func (t *result) Name() string {
	_, name, found := strings.Cut(t.ID, "::")
	if !found {
		name = t.ID
	}
	if t.Set > 0 {
		name += " [inputs " + strconv.Itoa(t.Set) + "]"
	}
	if t.Wire != "" {
		name += " [" + t.Wire + "]"
	}
	if t.Phase == "setup" || t.Phase == "teardown" {
		name += " at " + t.Phase
	}
	return bounded(name, 500)
}

// A suite is the tests of one suite, those that failed first.
type suite struct {
	Name   string
	Tests  []*result
	Broken int
}

type tally struct {
	Outcome, Word string
	N             int
}

// A breach is one cause with all tests that it failed.
type breach struct {
	Message, Clause string
	Tests           []*result
}

func (c *Console) showTest(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	id := r.PathValue("id")
	missing := &fault{Status: http.StatusNotFound, Title: "Test run not found", Message: "It may belong to another account or region."}
	runs, err := c.config.Registry.TestRuns(r.Context(), c.caller(p), registry.TestQuery{ID: id, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, missing
	}
	v := &testView{Run: runs[0]}
	p.Title, p.Section = "Tests of "+v.Run.TypeName, "tests"
	p.Live = v.Run.Ended.IsZero()
	var large *registry.ReportTooLargeError
	data, err := c.config.Registry.TestReport(r.Context(), c.caller(p), id)
	switch {
	case errors.As(err, &large):
		v.Problem = "The report is too large to be shown."
	case err != nil:
		return nil, err
	case len(data) > 0:
		v.Report = &report{}
		if err := json.Unmarshal(data, v.Report); err != nil {
			v.Report, v.Problem = nil, "The report cannot be read: "+err.Error()
			break
		}
		v.arrange()
	}
	return p.testBody(v), nil
}

// arrange puts the tests of a report in the order in which they are read.
func (v *testView) arrange() {
	for _, t := range []tally{{"failed", "failed", v.Report.Failed}, {"error", "errors", v.Report.Errors}, {"passed", "passed", v.Report.Passed}, {"skipped", "skipped", v.Report.Skipped}} {
		if t.N > 0 {
			v.Tallies = append(v.Tallies, t)
		}
	}
	suites := map[string]int{}
	for i := range v.Report.Tests {
		t := &v.Report.Tests[i]
		t.Anchor = "t-" + strconv.Itoa(i+1)
		at, found := suites[t.Suite]
		if !found {
			at = len(v.Suites)
			suites[t.Suite] = at
			v.Suites = append(v.Suites, suite{Name: t.Suite})
		}
		s := &v.Suites[at]
		s.Tests = append(s.Tests, t)
		if t.Broken() {
			s.Broken++
			v.breach(t)
		}
	}
	rank := map[string]int{"failed": 0, "error": 0, "passed": 1, "skipped": 2}
	for i := range v.Suites {
		slices.SortStableFunc(v.Suites[i].Tests, func(a, b *result) int { return cmp.Compare(rank[a.Outcome], rank[b.Outcome]) })
	}
}

// breach puts a test to those that failed for the same cause.
func (v *testView) breach(t *result) {
	for i := range v.Faults {
		if first := v.Faults[i].Tests[0]; first.Cause > 0 && first.Cause == t.Cause || first.Message == t.Message {
			v.Faults[i].Tests = append(v.Faults[i].Tests, t)
			return
		}
	}
	v.Faults = append(v.Faults, breach{Message: t.Message, Clause: t.Clause, Tests: []*result{t}})
}

// A bar is a call on the time line, in thousandths of its width.
type bar struct {
	call
	Left, Width         int
	WaitLeft, WaitWidth int // the callback delay
	Class               string
}

// Bars lay the calls of a test out in time.
func (t *result) Bars() []bar {
	first, last := 0.0, 0.0
	for i, c := range t.Calls {
		if i == 0 || c.Offset < first {
			first = c.Offset
		}
		last = max(last, c.Offset+c.Seconds)
	}
	span := max(last-first, 0.001)
	place := func(seconds float64) int { return int(max(0, min(1000, 1000*seconds/span))) }
	var bars []bar
	for _, c := range t.Calls {
		b := bar{call: c, Left: min(place(c.Offset-first), 994), Class: callClass(c.Status)}
		b.Width = max(6, min(place(c.Seconds), 1000-b.Left))
		b.WaitLeft = min(b.Left+b.Width, 1000)
		b.WaitWidth = min(place(c.Delay), 1000-b.WaitLeft)
		bars = append(bars, b)
	}
	return bars
}

func callClass(status string) string {
	switch status {
	case "SUCCESS":
		return "good"
	case "IN_PROGRESS":
		return "wait"
	}
	return "bad"
}

// A diffLine is a line of the expected value ('-'), of the actual one ('+') or of both (' ').
type diffLine struct {
	Sign string
	Text string
}

// Lines are the values of a difference line by line, equal lines once.
func (d *difference) Lines() []diffLine {
	want, got := valueLines(d.Want), valueLines(d.Got)
	if len(want)*len(got) > 250_000 {
		return append(signed("-", want), signed("+", got)...)
	}
	// The longest common subsequence, from the end.
	table := make([][]int, len(want)+1)
	for i := range table {
		table[i] = make([]int, len(got)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(got) - 1; j >= 0; j-- {
			if want[i] == got[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	var lines []diffLine
	i, j := 0, 0
	for i < len(want) && j < len(got) {
		switch {
		case want[i] == got[j]:
			lines = append(lines, diffLine{" ", want[i]})
			i, j = i+1, j+1
		case table[i+1][j] >= table[i][j+1]:
			lines = append(lines, diffLine{"-", want[i]})
			i++
		default:
			lines = append(lines, diffLine{"+", got[j]})
			j++
		}
	}
	return append(append(lines, signed("-", want[i:])...), signed("+", got[j:])...)
}

func signed(sign string, texts []string) []diffLine {
	lines := make([]diffLine, len(texts))
	for i, text := range texts {
		lines[i] = diffLine{sign, text}
	}
	return lines
}

// valueLines are the lines of a value as indented JSON; none for no value.
func valueLines(raw json.RawMessage) []string {
	if len(raw) == 0 {
		return nil
	}
	var b bytes.Buffer
	text := string(raw)
	if err := json.Indent(&b, raw, "", "  "); err == nil {
		text = b.String()
	}
	return strings.Split(bounded(text, 64<<10), "\n")
}

// At is what a difference is about.
func (d *difference) At() string { return cmp.Or(d.Pointer, "the model") }

// A clauseSection is a chapter of the handler contract.
type clauseSection struct {
	Title   string
	Clauses []contract.Clause
}

func (c *Console) showContract(_ http.ResponseWriter, _ *http.Request, p *page) (templ.Component, error) {
	p.Title, p.Section = "Handler contract", "contract"
	var sections []clauseSection
	for _, clause := range contract.Clauses {
		if n := len(sections); n == 0 || sections[n-1].Title != clause.Section {
			sections = append(sections, clauseSection{Title: clause.Section})
		}
		last := &sections[len(sections)-1]
		last.Clauses = append(last.Clauses, clause)
	}
	return p.contractBody(sections), nil
}

// clauseOf is a clause by its ID.
func clauseOf(id string) (contract.Clause, bool) {
	i := slices.IndexFunc(contract.Clauses, func(c contract.Clause) bool { return c.ID == id })
	if i < 0 {
		return contract.Clause{}, false
	}
	return contract.Clauses[i], true
}

// runTally is the summary of a run as text.
func runTally(r registry.TestRun) string {
	var said []string
	for _, t := range []tally{{Word: "failed", N: r.Failed}, {Word: "passed", N: r.Passed}, {Word: "skipped", N: r.Skipped}} {
		if t.N > 0 {
			said = append(said, itoa(t.N)+" "+t.Word)
		}
	}
	return cmp.Or(strings.Join(said, ", "), "–")
}

// verdict is the title of a run's page.
func (v *testView) verdict() string {
	switch {
	case v.Run.Ended.IsZero() && v.Report == nil:
		return "The contract tests are running"
	case v.Report != nil && len(v.Report.Tests) == 0:
		return "No tests ran"
	case v.Run.Status == types.TypeTestsStatusPassed:
		return "The handlers meet the contract"
	case v.Run.Failed > 0, v.Report != nil && v.Report.Failed+v.Report.Errors > 0:
		return "The handlers violate the contract"
	}
	return "The tests did not finish"
}

func (v *testView) seed() string {
	if v.Report.Seed == nil {
		return ""
	}
	return strconv.FormatUint(*v.Report.Seed, 10)
}

// shares is how much of the tests each outcome has, in thousandths.
func (v *testView) shares() []bar {
	var bars []bar
	left, total := 0, 0
	for _, t := range v.Tallies {
		total += t.N
	}
	for _, t := range v.Tallies {
		width := 1000 * t.N / total
		class := map[string]string{"failed": "bad", "error": "bad", "passed": "good"}[t.Outcome]
		bars = append(bars, bar{Left: left, Width: max(width-2, 3), Class: cmp.Or(class, "plain")})
		left += width
	}
	return bars
}

// suiteTally is the number of tests of a suite as text.
func suiteTally(s suite) string {
	if s.Broken == 0 {
		return count(len(s.Tests), "test")
	}
	return count(len(s.Tests), "test") + ", " + itoa(s.Broken) + " not passed"
}

// suiteName is a suite as a title.
func suiteName(name string) string {
	if name == "" {
		return "Tests"
	}
	return strings.ToUpper(name[:1]) + bounded(name[1:], 100) + " suite"
}

// note is the message of a call besides its status.
func (b *bar) note() string {
	return strings.Join(slices.DeleteFunc([]string{b.ErrorCode, b.Message, b.Error}, func(s string) bool { return s == "" }), ": ")
}

func lineClass(sign string) string {
	switch sign {
	case "-":
		return "want"
	case "+":
		return "got"
	}
	return "same"
}

// logLines are the lines of a log within a page, each with its line break.
func logLines(text string) [][]piece {
	var lines [][]piece
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		lines = append(lines, append(pieces(strings.TrimRight(line, "\r")), piece{Text: "\n"}))
	}
	return lines
}
