package smithy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// A Severity is the severity of an event.
type Severity uint8

// The severities. An ERROR, and a DANGER that is not suppressed, make a model unfit for use.
const (
	SuppressedSeverity Severity = iota
	NoteSeverity
	WarningSeverity
	DangerSeverity
	ErrorSeverity
)

var severityNames = [...]string{"SUPPRESSED", "NOTE", "WARNING", "DANGER", "ERROR"}

// String is the severity as models and tools write it: "ERROR".
func (s Severity) String() string { return severityNames[s] }

func parseSeverity(name string) (Severity, bool) {
	i := slices.Index(severityNames[:], name)
	return Severity(max(i, 0)), i >= 0
}

// An Event is one finding about a model. ID, Severity, Shape and Message are those of
// the reference implementation.
type Event struct {
	ID       string // hierarchical, by dots: "TraitValue.UnknownMember.smithy.api#range.max"
	Severity Severity
	Shape    ID // "" if the event is about no shape
	Message  string
	At       diag.Range
	Hint     string // what to do, for events that are ours alone
	Reason   string // why it was suppressed
}

// String is the event in one line: [SEVERITY] shape: message | ID file:line:column.
func (e Event) String() string {
	shape := string(e.Shape)
	if shape == "" {
		shape = "-"
	}
	line := fmt.Sprintf("[%s] %s: %s | %s", e.Severity, shape, strings.ReplaceAll(e.Message, "\n", `\n`), e.ID)
	if at := e.At.String(); at != "" {
		line += " " + at
	}
	return line
}

// Events is what loading and validating found.
type Events []Event

// Fatal reports whether a model with these events is unfit for use: it has an ERROR, or a
// DANGER that nothing suppresses.
func (l Events) Fatal() bool {
	return slices.ContainsFunc(l, func(e Event) bool { return e.Severity >= DangerSeverity })
}

func (l Events) hasErrors() bool {
	return slices.ContainsFunc(l, func(e Event) bool { return e.Severity == ErrorSeverity })
}

// Sort orders by file, place, severity, ID and message.
func (l Events) Sort() {
	slices.SortStableFunc(l, func(a, b Event) int {
		return cmp.Or(
			strings.Compare(a.At.File, b.At.File),
			cmp.Compare(a.At.Start.Line, b.At.Start.Line),
			cmp.Compare(a.At.Start.Column, b.At.Start.Column),
			cmp.Compare(b.Severity, a.Severity),
			strings.Compare(a.ID, b.ID),
			strings.Compare(a.Message, b.Message),
		)
	})
}

// Problems are the events as problems, "smithy/" before their ids: ERROR and DANGER are
// errors, because the reference implementation refuses to build with either; NOTE is
// information; what is suppressed is left out.
func (l Events) Problems() diag.List {
	var out diag.List
	for _, e := range l {
		severity := diag.Error
		switch e.Severity {
		case SuppressedSeverity:
			continue
		case NoteSeverity:
			severity = diag.Info
		case WarningSeverity:
			severity = diag.Warning
		}
		message := e.Message
		if e.Shape != "" {
			message = string(e.Shape) + ": " + message
		}
		out.Add(diag.Problem{ID: "smithy/" + e.ID, Severity: severity, At: e.At, Message: message, Hint: e.Hint})
	}
	return out
}

const modelError = "Model"
const modelDeprecation = "ModelDeprecation"
