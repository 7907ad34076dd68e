package diag

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Formats are the names that [Print] takes, the default first.
var Formats = []string{"text", "json", "sarif", "junit", "github"}

// UnknownFormat is the error of [Print] for a format that it does not have.
type UnknownFormat struct{ Format string }

func (e *UnknownFormat) Error() string {
	return fmt.Sprintf("unknown format %q: use one of %s", e.Format, strings.Join(Formats, ", "))
}

// A Printer writes lists with the caller's data on documents and rules. The zero value has
// none.
type Printer struct {
	// Source returns the text of a file that problems name, nil if it cannot be had. The
	// columns of SARIF count the units of UTF-16: without the text of the line they are
	// left out. Nil is a Source that has none.
	Source func(file string) []byte
	// Describe returns in a sentence what the rule of an ID requires, "" if that is unknown;
	// viewers of SARIF display it. It may be nil.
	Describe func(id string) string
}

// Print writes the list in one of [Formats], as the zero [Printer] does.
func Print(w io.Writer, l List, format string) error { return Printer{}.Print(w, l, format) }

// Print writes the list in one of [Formats]. The error is an [*UnknownFormat] or that of
// the writer.
//
// In text, a problem is one line FILE:LINE:COLUMN: SEVERITY: MESSAGE [ID], then a line
// with the hint and one for each related place. In JSON the document is
// {"problems":[{"id","severity","file","line","column","pointer","message","hint"}]};
// an unknown line or column is 0, and problems is never null. SARIF is version 2.1.0;
// in JUnit errors are failures and everything else passes with its text.
func (p Printer) Print(w io.Writer, l List, format string) error {
	if !slices.Contains(Formats, format) {
		return &UnknownFormat{format}
	}
	switch format {
	case "json":
		return printJSON(w, l)
	case "sarif":
		return p.printSARIF(w, l)
	case "junit":
		return printJUnit(w, l)
	case "github":
		return printGitHub(w, l)
	}
	return printText(w, l)
}

func printText(w io.Writer, l List) error {
	var b strings.Builder
	for _, p := range l {
		if at := p.At.String(); at != "" {
			b.WriteString(at + ": ")
		}
		fmt.Fprintf(&b, "%s: %s [%s]\n", p.Severity, p.Message, p.ID)
		for _, n := range p.Related {
			fmt.Fprintf(&b, "    %s: %s\n", n.At, n.Message)
		}
		if p.Hint != "" {
			fmt.Fprintf(&b, "    hint: %s\n", p.Hint)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// jsonProblem fixes the names and the order of the members that scripts read.
type jsonProblem struct {
	ID       string `json:"id"`
	Severity string `json:"severity"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Pointer  string `json:"pointer"`
	Message  string `json:"message"`
	Hint     string `json:"hint"`
}

func printJSON(w io.Writer, l List) error {
	out := struct {
		Problems []jsonProblem `json:"problems"`
	}{Problems: []jsonProblem{}}
	for _, p := range l {
		out.Problems = append(out.Problems, jsonProblem{
			ID: p.ID, Severity: p.Severity.String(), File: p.At.File,
			Line: p.At.Start.Line, Column: p.At.Start.Column,
			Pointer: p.Pointer, Message: p.Message, Hint: p.Hint,
		})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// printGitHub writes workflow commands, which GitHub shows next to the line they name.
func printGitHub(w io.Writer, l List) error {
	levels := map[Severity]string{Error: "error", Warning: "warning", Info: "notice"}
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, p := range l {
		message := p.Message
		if p.Hint != "" {
			message += "\nhint: " + p.Hint
		}
		where := "title=" + property.Replace(p.ID)
		if p.At.File != "" {
			where = "file=" + property.Replace(p.At.File) + "," + where
		}
		if p.At.Start.Known() {
			where += fmt.Sprintf(",line=%d,col=%d", p.At.Start.Line, p.At.Start.Column)
		}
		if _, err := fmt.Fprintf(w, "::%s %s::%s\n", levels[p.Severity], where, data.Replace(message)); err != nil {
			return err
		}
	}
	return nil
}
