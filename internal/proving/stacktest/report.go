package stacktest

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// Line is one line about a result, for people.
func (r *Result) Line() string {
	word, rest := "ok", fmt.Sprintf("(%.2fs)", r.Took.Seconds())
	switch {
	case r.Skipped != "":
		word, rest = "skip", "("+r.Skipped+")"
	case r.Failed():
		word = "FAIL"
	}
	return strings.TrimSpace(fmt.Sprintf("%-4s  %s: %s", word, r.File, strings.TrimSpace(r.Name()+" "+rest)))
}

// Again is the command line that repeats a case, with its words quoted by a function.
func (r *Result) Again(quote func(string) string) string {
	line := "cfn stack test " + quote(r.File)
	if r.Case != "" {
		line += " --case " + quote(r.Case)
	}
	return line
}

// All are the problems of a run: of files, of coverage, and the expectations that were not met.
func (s *Summary) All() diag.List {
	out := append(diag.List(nil), s.Problems...)
	for _, r := range s.Results {
		out.Add(r.problems()...)
	}
	return out
}

// problems are those of a result, with what kept it from running.
func (r *Result) problems() diag.List {
	out := append(diag.List(nil), r.Problems...)
	if r.Err != nil {
		out.Add(problemOf(r.Err, r.At))
	}
	if name := r.Name(); name != "" {
		for i := range out {
			out[i].Message = name + ": " + out[i].Message
		}
	}
	return out
}

// Sources is what the success of a run stands on, as a sentence; "" if no type was used.
func (k Kinds) Sources() string {
	var parts []string
	for _, of := range []struct {
		n    int
		text string
	}{{k.Registered, "registered"}, {k.Delegated, "delegated"}, {k.BuiltIn, "built in"}, {k.Simulated, "simulated"}} {
		if of.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", of.n, of.text))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	text := "types: " + strings.Join(parts, ", ")
	if k.Simulated > 0 {
		text += "; simulated types follow their schemas, and accept what AWS may refuse"
	}
	return text
}

// maxMissing bounds the list of what is not covered.
const maxMissing = 10

// WriteEnd writes the end of a report for people: coverage, what types there were, the counts.
func (s *Summary) WriteEnd(w io.Writer) error {
	var b strings.Builder
	for _, c := range s.Coverage {
		fmt.Fprintf(&b, "coverage of %s:", c.File)
		var missing []string
		for i, what := range covered {
			count := c.Counts[what]
			if i > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, " %s %d/%d", what, count.Covered, count.All)
			missing = append(missing, count.Missing...)
		}
		b.WriteString("\n")
		for i, text := range missing {
			if i == maxMissing {
				fmt.Fprintf(&b, "  and %d more\n", len(missing)-i)
				break
			}
			fmt.Fprintf(&b, "  %s\n", text)
		}
	}
	if text := s.Kinds.Sources(); text != "" {
		b.WriteString(text + "\n")
	}
	passed, failed, skipped := s.Count()
	fmt.Fprintf(&b, "%s passed, %d failed", words.Count(passed, "case"), failed)
	if skipped > 0 {
		fmt.Fprintf(&b, ", %d skipped", skipped)
	}
	fmt.Fprintf(&b, " in %.2fs\n", s.Took.Seconds())
	_, err := io.WriteString(w, b.String())
	return err
}

type (
	jsonSummary struct {
		Passed   int            `json:"passed"`
		Failed   int            `json:"failed"`
		Skipped  int            `json:"skipped"`
		Seconds  float64        `json:"seconds"`
		Types    Kinds          `json:"types"`
		Cases    []jsonResult   `json:"cases"`
		Coverage []jsonCoverage `json:"coverage"`
		Problems []jsonProblem  `json:"problems"`
	}
	jsonResult struct {
		File     string        `json:"file"`
		Case     string        `json:"case"`
		Variant  string        `json:"variant"`
		Status   string        `json:"status"` // passed, failed or skipped
		Reason   string        `json:"reason"` // why it was skipped
		Seconds  float64       `json:"seconds"`
		Problems []jsonProblem `json:"problems"`
	}
	jsonProblem struct {
		ID      string   `json:"id"`
		File    string   `json:"file"`
		Line    int      `json:"line"`
		Column  int      `json:"column"`
		Message string   `json:"message"`
		Hint    string   `json:"hint"`
		Notes   []string `json:"notes"`
	}
	jsonCoverage struct {
		File    string           `json:"file"`
		Percent map[string]int   `json:"percent"`
		Counts  map[string][]int `json:"counts"` // covered, all
		Missing []string         `json:"missing"`
	}
)

func jsonProblems(l diag.List) []jsonProblem {
	out := []jsonProblem{}
	for _, p := range l {
		of := jsonProblem{ID: p.ID, File: p.At.File, Line: p.At.Start.Line, Column: p.At.Start.Column, Message: p.Message, Hint: p.Hint, Notes: []string{}}
		for _, n := range p.Related {
			of.Notes = append(of.Notes, n.Message)
		}
		out = append(out, of)
	}
	return out
}

func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

// WriteJSON writes the summary as JSON.
func (s *Summary) WriteJSON(w io.Writer) error {
	out := jsonSummary{Seconds: seconds(s.Took), Types: s.Kinds, Cases: []jsonResult{}, Coverage: []jsonCoverage{}, Problems: jsonProblems(s.Problems)}
	out.Passed, out.Failed, out.Skipped = s.Count()
	for _, r := range s.Results {
		of := jsonResult{File: r.File, Case: r.Case, Variant: r.Variant, Status: "passed", Reason: r.Skipped, Seconds: seconds(r.Took), Problems: jsonProblems(r.problems())}
		switch {
		case r.Skipped != "":
			of.Status = "skipped"
		case r.Failed():
			of.Status = "failed"
		}
		out.Cases = append(out.Cases, of)
	}
	for _, c := range s.Coverage {
		of := jsonCoverage{File: c.File, Percent: map[string]int{}, Counts: map[string][]int{}, Missing: []string{}}
		for _, what := range covered {
			count := c.Counts[what]
			of.Percent[what], of.Counts[what] = count.Percent(), []int{count.Covered, count.All}
			of.Missing = append(of.Missing, count.Missing...)
		}
		out.Coverage = append(out.Coverage, of)
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(out)
}

type (
	junitRun struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string    `xml:"name,attr"`
		Class   string    `xml:"classname,attr"`
		Time    string    `xml:"time,attr"`
		Failure *junitBad `xml:"failure,omitempty"`
		Error   *junitBad `xml:"error,omitempty"`
		Skipped *junitBad `xml:"skipped,omitempty"`
		Output  string    `xml:"system-out,omitempty"`
	}
	junitBad struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the summary as CI servers read it: a suite for each file, a failure for an expectation that was not
// met, an error for what kept a case from running. again is the command that repeats a case.
func (s *Summary) WriteJUnit(w io.Writer, again func(*Result) string) error {
	var out junitRun
	suite := func(file string) *junitSuite {
		for i := range out.Suites {
			if out.Suites[i].Name == file {
				return &out.Suites[i]
			}
		}
		out.Suites = append(out.Suites, junitSuite{Name: file, Time: "0"})
		return &out.Suites[len(out.Suites)-1]
	}
	took := map[string]time.Duration{}
	for _, r := range s.Results {
		of := suite(r.File)
		name := r.Name()
		if name == "" {
			name = r.File
		}
		c := junitCase{Name: name, Class: r.File, Time: fmt.Sprintf("%.3f", r.Took.Seconds())}
		of.Tests++
		switch {
		case r.Skipped != "":
			of.Skipped++
			c.Skipped = &junitBad{Message: r.Skipped}
		case r.Err != nil:
			of.Errors++
			c.Error, c.Output = &junitBad{Message: r.Err.Error()}, again(r)
		case r.Failed():
			of.Failures++
			c.Failure, c.Output = &junitBad{Message: r.Problems[0].Message, Text: listing(r.Problems)}, again(r)
		}
		of.Cases = append(of.Cases, c)
		took[r.File] += r.Took
		of.Time = fmt.Sprintf("%.3f", took[r.File].Seconds())
	}
	for _, p := range s.Problems {
		of := suite(p.At.File)
		of.Tests++
		c := junitCase{Name: p.ID, Class: p.At.File, Time: "0"}
		if p.Severity == diag.Error {
			of.Errors++
			c.Error = &junitBad{Message: p.Message, Text: listing(diag.List{p})}
		}
		of.Cases = append(of.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// listing is a list of problems as text.
func listing(l diag.List) string {
	var b strings.Builder
	if err := diag.Print(&b, l, "text"); err != nil {
		return ""
	}
	return b.String()
}
