package template

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// The wire codes of refusals.
const (
	ValidationError          = "ValidationError"
	InsufficientCapabilities = "InsufficientCapabilitiesException"
)

// An Error is a refusal with the messages of the service.
type Error struct {
	ID      string // stable: "template/no-resources"
	Code    string // the wire code
	Message string
	At      diag.Range
	Pointer document.Pointer // to the value in the template, where known
	Hint    string           // for a person; "" is that of the table

	unknown string          // a name that may be misspelled
	known   func() []string // what it may mean
}

func (e *Error) Error() string { return e.Message }

// Errors are refusals in the order in which the service finds them.
type Errors []*Error

// Error is the message of the first refusal, which is the one that the service answers.
func (e Errors) Error() string {
	if len(e) == 0 {
		return "no refusal"
	}
	return e[0].Message
}

// Unwrap lets errors.As find the first refusal.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, err := range e {
		out[i] = err
	}
	return out
}

// Problems returns the refusals as problems of a document.
func (e Errors) Problems() diag.List {
	var list diag.List
	for i, err := range e {
		near := ""
		if err.known != nil && i < maxHints {
			near = words.DidYouMean(err.unknown, err.known())
		}
		list.Add(diag.Problem{
			ID: err.ID, At: err.At, Pointer: err.Pointer.String(),
			Message: strings.TrimSuffix(err.Message, "."), Hint: cmp.Or(err.Hint, near, refusals[strings.TrimPrefix(err.ID, "template/")].hint),
		})
	}
	return list
}

// maxHints bounds for how many misspelled names of one template a near one is looked for.
const maxHints = 100

// Refused returns the refusals in an error, or nil if it is another kind of error.
func Refused(err error) Errors {
	var all Errors
	if errors.As(err, &all) {
		return all
	}
	var one *Error
	if errors.As(err, &one) {
		return Errors{one}
	}
	return nil
}

// A ReferenceError is what [References] answered, with the place that asked.
type ReferenceError struct {
	Pointer document.Pointer // "/Outputs/O/Value/Fn::GetAtt"
	At      diag.Range
	Err     error
}

func (e *ReferenceError) Error() string { return e.Err.Error() }
func (e *ReferenceError) Unwrap() error { return e.Err }

// Refusals returns the IDs of all refusals, sorted.
func Refusals() []string {
	ids := make([]string, 0, len(refusals))
	for id := range refusals {
		ids = append(ids, "template/"+id)
	}
	slices.Sort(ids)
	return ids
}

// Explain returns the text of a refusal, with the verbs of fmt where names go, and what to do
// about it. It reports false for an unknown ID.
func Explain(id string) (text, hint string, ok bool) {
	r, ok := refusals[strings.TrimPrefix(id, "template/")]
	return r.text, r.hint, ok
}

// Refuse makes the refusal of the table, for packages that take part in the expansion of
// templates. The ID has no "template/".
func Refuse(id string, at diag.Range, pointer document.Pointer, args ...any) error {
	return refuse(id, at, slices.Clone(pointer), args...)
}

// refuse makes the refusal of the table.
func refuse(id string, at diag.Range, pointer document.Pointer, args ...any) *Error {
	r, ok := refusals[id]
	if !ok {
		panic("template: unknown refusal " + id)
	}
	code := r.code
	if code == "" {
		code = ValidationError
	}
	return &Error{ID: "template/" + id, Code: code, Message: fmt.Sprintf(r.text, args...), At: at, Pointer: pointer}
}

// report collects refusals, each message once for each place.
type report struct {
	errs Errors
	slow int // matches of patterns that took too long
}

func (r *report) add(id string, at diag.Range, pointer document.Pointer, args ...any) {
	r.errs = append(r.errs, refuse(id, at, slices.Clone(pointer), args...))
}

// addUnknown adds the refusal of a name, and what it may mean.
func (r *report) addUnknown(id string, at diag.Range, pointer document.Pointer, name string, known func() []string, args ...any) {
	r.add(id, at, pointer, args...)
	last := r.errs[len(r.errs)-1]
	last.unknown, last.known = name, known
}

// syntax adds the refusal of a document that cannot be parsed. The service does not say why: the hint does.
func (r *report) syntax(id string, p diag.Problem, column int) {
	r.add(id, p.At, nil, p.At.Start.Line, column)
	hint := p.Message
	if p.Hint != "" {
		hint += ": " + p.Hint
	}
	r.errs[len(r.errs)-1].Hint = hint
}

func (r *report) err() error {
	if len(r.errs) == 0 {
		return nil
	}
	return r.errs
}

// join adds the refusals in an error. It returns an error if the work ends: another kind of error, or
// all refusals if the budget is exceeded.
func (r *report) join(err error) error {
	if err == nil {
		return nil
	}
	refused := Refused(err)
	if refused == nil {
		return err
	}
	r.errs = append(r.errs, refused...)
	if isExceeded(refused) {
		return r.err()
	}
	return nil
}

func list(names []string) string { return "[" + strings.Join(names, ", ") + "]" }
