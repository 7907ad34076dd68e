package stub

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/api"
)

// A kind is what is wrong with a call.
type kind int

const (
	invalid kind = iota
	unauthorized
	missing
	conflict
	mismatch // a token was used with other parameters
	throttled
	internal
	unknown // operation
	notAllowed
	unsupported
	badMedia
	tooBig
	full
)

// kinds are how the kinds look where the description declares nothing: their status, their
// name in AWS protocols, and parts of names of declared errors that fit.
var kinds = map[kind]struct {
	statuses []int
	code     string
	parts    []string
}{
	invalid:      {[]int{400, 422}, "ValidationException", []string{"validation", "invalid", "badrequest"}},
	unauthorized: {[]int{401}, "UnrecognizedClientException", []string{"unauthorized", "unauthenticated"}},
	missing:      {[]int{404, 410}, "ResourceNotFoundException", []string{"notfound", "nosuch", "doesnotexist"}},
	conflict:     {[]int{409}, "ConflictException", []string{"alreadyexists", "duplicate", "exists", "conflict", "inuse"}},
	mismatch:     {[]int{409}, "IdempotentParameterMismatchException", []string{"idempoten", "parametermismatch", "conflict"}},
	throttled:    {[]int{429}, "ThrottlingException", []string{"throttl", "toomany", "ratelimit", "ratexceed"}},
	internal:     {[]int{500, 503}, "InternalServerException", []string{"internal", "servererror", "servicefailure"}},
	unknown:      {[]int{404}, "UnknownOperationException", nil},
	notAllowed:   {[]int{405}, "UnknownOperationException", nil},
	unsupported:  {[]int{501}, "NotImplementedException", nil},
	badMedia:     {[]int{415}, "UnsupportedMediaTypeException", []string{"mediatype"}},
	tooBig:       {[]int{413}, "RequestEntityTooLargeException", nil},
	full:         {[]int{507}, "ServiceQuotaExceededException", nil},
}

// A fault is why a call is refused.
type fault struct {
	kind    kind
	message string
	allow   string // of notAllowed: the methods
}

func faultf(k kind, format string, args ...any) *fault {
	return &fault{kind: k, message: fmt.Sprintf(format, args...)}
}

// declared chooses the error of an operation that fits a fault: by its name, else by its status.
func declared(op *api.Operation, k kind) *api.Error {
	if op == nil {
		return nil
	}
	about := kinds[k]
	for _, part := range about.parts {
		for i := range op.Errors {
			if strings.Contains(plain(op.Errors[i].Name), part) {
				return &op.Errors[i]
			}
		}
	}
	for _, status := range about.statuses {
		for i := range op.Errors {
			if e := &op.Errors[i]; e.Status == status && (e.Name == "" || k != invalid) {
				return e
			}
		}
	}
	return nil
}

// outcome is the status, the name and the shape of a fault.
func (s *Stub) outcome(f *fault, c *call) (status int, code string, shape *api.Shape) {
	about := kinds[f.kind]
	status, code = about.statuses[0], about.code
	var op *api.Operation
	if c != nil {
		op = c.op
	}
	if e := declared(op, f.kind); e != nil {
		if e.Status != 0 {
			status = e.Status
		}
		if e.Name != "" {
			code = e.Name
		}
		if e.Code != "" {
			code = e.Code
		}
		return status, code, e.Shape
	}
	ops := s.api.Operations
	if op != nil {
		ops = slices.Insert(slices.Clone(ops), 0, op)
	}
	for _, other := range ops { // the form of other errors
		for _, e := range other.Errors {
			if e.Name == "" && e.Shape != nil && (shape == nil && other == op || e.Status == status || e.Status == 0 && shape == nil) {
				return status, code, e.Shape
			}
		}
	}
	return status, code, shape
}

func (f *fault) header() http.Header {
	header := http.Header{}
	if f.kind == throttled {
		header.Set("Retry-After", "1")
	}
	if f.allow != "" {
		header.Set("Allow", f.allow)
	}
	return header
}

// describe fills the shape of an error with what is known of a fault.
func (s *Stub) describe(shape *api.Shape, f *fault, status int, code string, depth int) any {
	s.makers.left--
	switch {
	case shape == nil || shape.Kind == api.Any:
		return map[string]any{"code": code, "message": f.message}
	case shape.Kind == api.String:
		return f.message
	case shape.Kind == api.List && depth < 4 && shape.Item != nil:
		return []any{s.describe(shape.Item, f, status, code, depth+1)}
	case shape.Kind != api.Structure || depth > 4 || s.makers.left <= 0:
		return s.makers.plainValue(shape, 0)
	}
	out := map[string]any{}
	for _, m := range shape.Members {
		name := plain(m.Name)
		number := m.Shape.Kind == api.Integer || m.Shape.Kind == api.Number
		switch {
		case contains(name, "message", "detail", "description", "reason", "msg") && m.Shape.Kind != api.Structure && !number, name == "title", name == "error" && m.Shape.Kind == api.String && shape.Member("message") != nil:
			if out[m.Name] = s.describe(m.Shape, f, status, code, depth+1); m.Shape.Kind == api.String && (name == "title" || name == "error") {
				out[m.Name] = http.StatusText(status)
			}
		case number && contains(name, "code", "status"):
			out[m.Name] = json.Number(fmt.Sprint(status))
		case m.Shape.Kind == api.String && len(m.Shape.Enum) == 0 && (name == "id" || contains(name, "code", "status", "type", "error")):
			out[m.Name] = code
		case m.Required || contains(name, "error") && (m.Shape.Kind == api.Structure || m.Shape.Kind == api.List):
			out[m.Name] = s.describe(m.Shape, f, status, code, depth+1)
			if m.Shape.Kind == api.String {
				out[m.Name] = s.makers.plainValue(m.Shape, 0)
			}
		}
	}
	return out
}
