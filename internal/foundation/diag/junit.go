package diag

import (
	"encoding/xml"
	"fmt"
	"io"
)

// The shape that CI servers read: a suite for each file, a case for each problem.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitFailure `xml:"failure,omitempty"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// printJUnit writes errors as failures; warnings and remarks are cases that pass and
// carry their text. A clean list is one passing case, since CI servers take a report
// without any for a run that did not happen.
func printJUnit(w io.Writer, l List) error {
	var out junitSuites
	for _, p := range l {
		if n := len(out.Suites); n == 0 || out.Suites[n-1].Name != p.At.File {
			out.Suites = append(out.Suites, junitSuite{Name: p.At.File})
		}
		suite := &out.Suites[len(out.Suites)-1]
		text := p.Message
		if at := p.At.String(); at != "" {
			text = at + ": " + text
		}
		if p.Hint != "" {
			text += "\nhint: " + p.Hint
		}
		name := p.ID
		if p.At.Start.Known() {
			name = fmt.Sprintf("%s:%d:%d", p.ID, p.At.Start.Line, p.At.Start.Column)
		}
		c := junitCase{Name: name, Class: p.At.File}
		suite.Tests++
		out.Tests++
		if p.Severity == Error {
			suite.Failures++
			out.Failures++
			c.Failure = &junitFailure{Message: p.Message, Type: p.ID, Text: text}
		} else {
			c.Output = p.Severity.String() + ": " + text
		}
		suite.Cases = append(suite.Cases, c)
	}
	if out.Tests == 0 {
		out.Tests = 1
		out.Suites = []junitSuite{{Name: "cfn", Tests: 1, Cases: []junitCase{{Name: "no problems", Class: "cfn"}}}}
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
