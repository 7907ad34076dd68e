package contract

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
)

type junitReport struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string `xml:"name,attr"`
	Errors   int    `xml:"errors,attr"`
	Failures int    `xml:"failures,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Tests    int    `xml:"tests,attr"`
	Time     string `xml:"time,attr"`

	Properties *junitProperties `xml:"properties"` // the clauses that were not exercised
	Cases      []junitCase      `xml:"testcase"`
}

type junitProperties struct {
	List []junitProperty `xml:"property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Time    string       `xml:"time,attr"`
	Failure *junitDetail `xml:"failure"`
	Error   *junitDetail `xml:"error"`
	Skipped *junitDetail `xml:"skipped"`
	Output  string       `xml:"system-out,omitempty"`
}

type junitDetail struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes a summary as JUnit XML, with one test suite for each set of inputs.
func WriteJUnit(w io.Writer, s *Summary) error {
	var out junitReport
	suites := map[string]int{} // name of the set → index
	for _, r := range s.Results {
		set := setName(r.Set, r.Wire)
		index, known := suites[set]
		if !known {
			index = len(out.Suites)
			suites[set] = index
			out.Suites = append(out.Suites, junitSuite{Name: strings.TrimSpace(s.TypeName + " " + set)})
		}
		out.Suites[index].add(r)
	}
	if len(s.Untested) > 0 && len(out.Suites) > 0 {
		out.Suites[0].Properties = &junitProperties{}
		for _, u := range s.Untested {
			out.Suites[0].Properties.List = append(out.Suites[0].Properties.List, junitProperty{"not exercised: " + u.Clause, u.Why})
		}
	}
	for i := range out.Suites {
		var total float64
		for _, c := range out.Suites[i].Cases {
			seconds, _ := strconv.ParseFloat(c.Time, 64)
			total += seconds
		}
		out.Suites[i].Time = fmt.Sprintf("%.3f", total)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(r *Result) {
	c := junitCase{Class: strings.TrimSuffix(r.Case.File(), ".py"), Name: r.Case.Name(), Time: fmt.Sprintf("%.3f", r.Duration.Seconds())}
	detail := &junitDetail{Message: firstLine(r.Message)}
	switch r.Outcome {
	case Failed:
		detail.Text = r.detail()
		c.Failure = detail
		s.Failures++
	case Errored:
		detail.Text = r.detail()
		c.Error = detail
		s.Errors++
	case Skipped:
		c.Skipped = detail
		s.Skipped++
	}
	if r.broken() {
		c.Output = r.Log()
		if r.HandlerLog != "" {
			c.Output += "\n\nhandler log:\n" + r.HandlerLog
		}
	}
	s.Tests++
	s.Cases = append(s.Cases, c)
}

// detail is a failure in full.
func (r *Result) detail() string {
	var b strings.Builder
	t := &Text{W: &b}
	if r.custom() {
		t.Traceback = "long" // the response is what the rule is about
	}
	t.failure(r)
	return strings.TrimSpace(b.String())
}
