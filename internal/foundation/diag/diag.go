// Package diag represents problems in the documents that a user wrote.
//
// A [Problem] is one fault with its place, a stable ID and a hint. A [List] is the result of a
// check: parsers and checkers add to it and continue, so that one run reports every fault.
// Failures of cfn or its environment (a file that cannot be read, a network error) are
// ordinary errors and never become problems.
//
// The package prints a list in each of [Formats]; it is independent of terminals and exit
// codes.
package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity is the severity of a problem. The zero value is Error: a forgotten severity is
// never ignored.
type Severity uint8

const (
	Error   Severity = iota // the document cannot be used
	Warning                 // the document works, but is probably wrong
	Info                    // worth knowing
)

// String returns "error", "warning" or "info".
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	}
	return "info"
}

// A Position is a place in a file.
type Position struct {
	Offset int // bytes from the start of the file, from 0
	Line   int // from 1; 0 means unknown
	Column int // bytes from the start of the line, from 1
}

// Known reports whether the position is one that a reader could find.
func (p Position) Known() bool { return p.Line > 0 }

// A Range is a stretch of a file: Start is its first byte, End the byte after its last.
// The zero Range means that no place is known.
type Range struct {
	File       string // the path as the user gave it
	Start, End Position
}

// String is FILE:LINE:COLUMN, as editors and compilers write it; parts that are not
// known are left out.
func (r Range) String() string {
	if !r.Start.Known() {
		return r.File
	}
	return fmt.Sprintf("%s:%d:%d", r.File, r.Start.Line, r.Start.Column)
}

// A Problem is one thing wrong with one place in the user's input.
type Problem struct {
	ID       string // stable and namespaced: "schema/unknown-keyword"
	Severity Severity
	At       Range
	Pointer  string // JSON Pointer to the value, "" if it is the whole document or none
	Message  string // one sentence without a final period
	Hint     string // what to type instead, "" if there is nothing to suggest
	Related  []Note // other places that explain this one
}

// A Note is a second place that belongs to a problem.
type Note struct {
	At      Range
	Message string
}

// A List is the outcome of a check. A nil List means that nothing was found.
type List []Problem

// Add appends problems.
func (l *List) Add(p ...Problem) { *l = append(*l, p...) }

// Sort orders by file, place, severity and ID, and drops exact repetitions.
// Problems without a place come first.
func (l *List) Sort() {
	slices.SortStableFunc(*l, func(a, b Problem) int {
		return cmp.Or(
			strings.Compare(a.At.File, b.At.File),
			cmp.Compare(a.At.Start.Line, b.At.Start.Line),
			cmp.Compare(a.At.Start.Column, b.At.Start.Column),
			cmp.Compare(a.Severity, b.Severity),
			strings.Compare(a.ID, b.ID),
			strings.Compare(a.Pointer, b.Pointer),
			strings.Compare(a.Message, b.Message),
		)
	})
	*l = slices.CompactFunc(*l, func(a, b Problem) bool {
		return a.ID == b.ID && a.At == b.At && a.Pointer == b.Pointer && a.Message == b.Message
	})
}

// Count returns how many problems have the severity.
func (l List) Count(s Severity) int {
	n := 0
	for _, p := range l {
		if p.Severity == s {
			n++
		}
	}
	return n
}

// HasErrors reports whether the documents cannot be used.
func (l List) HasErrors() bool { return l.Count(Error) > 0 }

// Err is nil without error-severity problems, else an [*Invalid] that carries the list.
func (l List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return &Invalid{Problems: l}
}

// Invalid is the error of a caller that needed a faultless document.
// Its text is for logs; a program that talks to a user prints the Problems.
type Invalid struct{ Problems List }

func (e *Invalid) Error() string {
	var lines []string
	for _, p := range e.Problems {
		if p.Severity == Error {
			lines = append(lines, p.At.String()+": "+p.Message)
		}
	}
	return strings.Join(lines, "\n")
}

// A Rule is one kind of problem as users read it: "cfn explain" and docs/rules.md collect
// the tables of all packages that report problems.
type Rule struct {
	ID       string // stable: "document/syntax"
	Severity Severity
	Purpose  string // what it checks, one sentence
	Why      string // the consequence of a violation
	Example  string // lines "wrong: …" and "right: …", or ""
}
