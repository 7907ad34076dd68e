package awswire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// An Operation is one operation of a service: made with Op.
type Operation struct {
	Name string

	// Reads marks an operation that reads the database at length: those of a table wait
	// for their turn, see Table.Readers.
	Reads bool
	// NeedsMemory marks an operation that may make much of little, or begins work that does: those of a
	// table are refused while there is no memory for it, see Table.Room.
	NeedsMemory bool

	in, out reflect.Type
	call    func(ctx context.Context, caller Caller, in any) (out any, err error)
}

// Op creates an operation from f. I and O are the input and output structs of the SDK. An
// *Error of f is returned to the caller unchanged; any other error becomes InternalFailure,
// with the cause only in the log. f must return an output when it returns no error.
func Op[I, O any](name string, f func(context.Context, Caller, *I) (*O, error)) Operation {
	return Operation{
		Name: name,
		in:   reflect.TypeFor[I](),
		out:  reflect.TypeFor[O](),
		call: func(ctx context.Context, caller Caller, in any) (any, error) {
			out, err := f(ctx, caller, in.(*I))
			if err != nil {
				return nil, err
			}
			if out == nil {
				return nil, fmt.Errorf("operation %s returned neither an output nor an error", name)
			}
			return out, nil
		},
	}
}

// Reading returns the operation marked as one that Reads.
func (o Operation) Reading() Operation {
	o.Reads = true
	return o
}

// NeedingMemory returns the operation marked as one that NeedsMemory.
func (o Operation) NeedingMemory() Operation {
	o.NeedsMemory = true
	return o
}

// A Table is a service: what it is called, how it is spoken to, and what it does. It is
// made once and not changed or copied after its first use; Serve may be called by many.
type Table struct {
	Service  string   // in messages and observations: "cloudformation"
	Protocol Protocol // Query, JSON10 or JSON11

	Namespace    string // Query: the XML namespace of answers
	Version      string // Query: the API version that requests must name
	TargetPrefix string // JSON: what X-Amz-Target has before the dot

	// LowerFirst makes member names start with a small letter, as in CloudWatch Logs.
	LowerFirst bool
	// WireNames are the members that are called otherwise: "PolicyDescriptorType.Arn", the Go
	// type and field, to "arn".
	WireNames map[string]string
	// Unions are values (or pointers) of the struct types of the unions' members that occur in the
	// shapes: types.ResourceConfigMemberX{}. An operation with a union that is not listed
	// is answered with InternalFailure; Check finds it earlier.
	Unions []any

	Operations []Operation
	// Readers is how many operations that Reads are served at once, the others in the order
	// in which they came. A pool of connections does not serve those who wait in order, so
	// that beyond its size some would wait very long: of 100 clients at once, the slowest
	// hundredth six times as long as most. Zero means without bound.
	Readers int
	// Room returns [ErrMemory] if there is no memory for a request of an operation that NeedsMemory. Nil
	// means that there always is. It is not called for [Table.Call].
	Room func(ctx context.Context) error
	// NoResult are the operations whose model has no output: their Query answers have no
	// Result element, their JSON answers no body.
	NoResult []string
	// Known are operations that the service has and this server does not offer: they are
	// refused by name, not as unknown.
	Known []string

	// Constraints are what the members of an operation's input must satisfy, by the
	// operation's name. Enumerations are checked without being listed.
	Constraints map[string][]Constraint
	// ValidationCode is the code of a failed constraint. Empty means "ValidationError"
	// for Query and "ValidationException" for JSON.
	ValidationCode string
	// ErrorCodes are the codes that the wire has for error shapes where they differ.
	ErrorCodes map[string]string

	// MaxBody bounds the request's body in bytes. Zero means 2 MiB for Query, 16 MiB for
	// JSON.
	MaxBody int64

	// Logger takes the causes of internal failures. Nil discards them.
	Logger *slog.Logger

	once   sync.Once
	turns  chan struct{} // of the readers; nil without bound
	index  map[string]*operation
	known  map[string]bool
	shapes shapes
}

// operation is an Operation with its shapes compiled.
type operation struct {
	Operation
	noResult bool
	once     sync.Once
	input    *shape
	output   *shape
	rules    *rules
	err      error
}

func (t *Table) init() {
	t.once.Do(func() {
		if t.Readers > 0 {
			t.turns = make(chan struct{}, t.Readers)
		}
		t.shapes.lowerFirst = t.LowerFirst
		t.shapes.names = t.WireNames
		for _, u := range t.Unions {
			typ := reflect.TypeOf(u)
			if typ.Kind() == reflect.Pointer {
				typ = typ.Elem()
			}
			t.shapes.unions = append(t.shapes.unions, typ)
		}
		t.index = make(map[string]*operation, len(t.Operations))
		for _, o := range t.Operations {
			t.index[o.Name] = &operation{Operation: o, noResult: slices.Contains(t.NoResult, o.Name)}
		}
		t.known = make(map[string]bool, len(t.Known))
		for _, name := range t.Known {
			t.known[name] = true
		}
	})
}

// compile makes the shapes of an operation, once.
func (t *Table) compile(o *operation) error {
	o.once.Do(func() {
		if o.input, o.err = t.shapes.of(o.in); o.err != nil {
			return
		}
		if o.output, o.err = t.shapes.of(o.out); o.err != nil {
			return
		}
		o.rules, o.err = compileConstraints(o.input, t.Constraints[o.Name])
	})
	if o.err != nil {
		return fmt.Errorf("operation %s: %w", o.Name, o.err)
	}
	return nil
}

// Names lists the operations that are offered, sorted.
func (t *Table) Names() []string {
	t.init()
	return sortedKeys(t.index)
}

// Check compiles every operation and reports what is wrong with the table: a type without
// a form on the wire, a constraint on a member that does not exist, an operation twice.
// It is for the tests of the package that makes the table.
func (t *Table) Check() error {
	t.init()
	var errs []error
	if len(t.index) != len(t.Operations) {
		errs = append(errs, fmt.Errorf("%d of %d operations have the name of another", len(t.Operations)-len(t.index), len(t.Operations)))
	}
	for _, name := range sortedKeys(t.index) {
		if t.known[name] {
			errs = append(errs, fmt.Errorf("operation %s is both offered and listed as known", name))
		}
		if err := t.compile(t.index[name]); err != nil {
			errs = append(errs, err)
		}
	}
	for _, list := range [][]string{t.NoResult, sortedKeys(t.Constraints)} {
		for _, name := range list {
			if t.index[name] == nil && !t.known[name] {
				errs = append(errs, fmt.Errorf("%s is not an operation of the table", name))
			}
		}
	}
	return errors.Join(errs...)
}

// Serve answers one request of the service, and returns its operation, "" unless the table has
// it, and the error's code on the wire, "" for success.
func (t *Table) Serve(w http.ResponseWriter, r *http.Request, caller Caller) (operation, code string) {
	t.init()
	name, body, err := t.handle(r, caller)
	status := http.StatusOK
	contentType := "text/xml"
	if t.Protocol != Query {
		contentType = jsonContentType(t.Protocol)
	}
	if err != nil {
		refusal := t.refusal(r.Context(), name, caller, err)
		status, code = refusal.status(), refusal.Code
		body, contentType = errorBody(t.Protocol, t.Namespace, caller.RequestID, refusal)
	}
	h := w.Header()
	h.Set("X-Amzn-Requestid", caller.RequestID)
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
	if t.index[name] != nil || t.known[name] {
		operation = name
	}
	return operation, code
}

// handle decodes, checks, calls and encodes.
func (t *Table) handle(r *http.Request, caller Caller) (name string, body []byte, err error) {
	request, name, err := t.read(r)
	if err != nil {
		return name, nil, err
	}
	o, err := t.find(name, request.version)
	if err != nil {
		return name, nil, err
	}
	if o.NeedsMemory && t.Room != nil {
		if err := t.Room(r.Context()); err != nil {
			return name, nil, err
		}
	}
	if err := t.compile(o); err != nil {
		return name, nil, err
	}
	in := reflect.New(o.in)
	if err := request.decode(o.input, in.Elem()); err != nil {
		return name, nil, err
	}
	if err := t.check(o, in.Elem()); err != nil {
		return name, nil, err
	}
	out, err := t.call(r.Context(), o, caller, in.Interface())
	if err != nil {
		return name, nil, err
	}
	var b bytes.Buffer
	switch {
	case t.Protocol == Query:
		err = writeResponse(&b, t.Namespace, o, reflect.ValueOf(out).Elem(), caller.RequestID)
	case !o.noResult:
		err = writeJSON(&b, o.output, reflect.ValueOf(out).Elem())
	}
	return name, b.Bytes(), err
}

// Call runs an operation for a caller in this process, as a request of it would: in is a
// pointer to the SDK's input, which is checked against the constraints, and the output is a
// pointer to the SDK's output. A refusal is an *Error.
func (t *Table) Call(ctx context.Context, caller Caller, name string, in any) (any, error) {
	t.init()
	o := t.index[name]
	if o == nil {
		return nil, fmt.Errorf("%s has no operation %s", t.Service, name)
	}
	if reflect.TypeOf(in) != reflect.PointerTo(o.in) {
		return nil, fmt.Errorf("operation %s takes a *%s, not a %T", name, o.in, in)
	}
	if err := t.compile(o); err != nil {
		return nil, err
	}
	if err := t.check(o, reflect.ValueOf(in).Elem()); err != nil {
		return nil, err
	}
	return t.call(ctx, o, caller, in)
}

// call runs the operation; a panic in it becomes an error, so that the client gets an answer.
func (t *Table) call(ctx context.Context, o *operation, caller Caller, in any) (out any, err error) {
	if o.Reads && t.turns != nil {
		select {
		case t.turns <- struct{}{}: // first come, first served
			defer func() { <-t.turns }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	defer func() {
		if v := recover(); v != nil {
			if cause, ok := v.(error); ok && errors.Is(cause, http.ErrAbortHandler) {
				panic(v)
			}
			err = fmt.Errorf("operation %s panicked: %v\n%s", o.Name, v, debug.Stack())
		}
	}()
	return o.call(ctx, caller, in)
}

// request is a request whose operation is known and whose members are not yet decoded.
type request struct {
	version string // Query: what the request names
	decode  func(sh *shape, target reflect.Value) error
}

// read parses the request up to its operation. The name is returned even with an error if it
// is known.
func (t *Table) read(r *http.Request) (request, string, error) {
	if t.Protocol == Query {
		return t.readQuery(r)
	}
	return t.readJSON(r)
}

// find is the operation of a name, or the refusal.
func (t *Table) find(name, version string) (*operation, error) {
	o := t.index[name]
	if t.Protocol == Query && version != t.Version {
		o = nil
	} else if o == nil && t.known[name] {
		return nil, Errorf("NotImplemented", http.StatusNotImplemented,
			"This server does not support the operation %s of %s yet.", name, t.Service)
	}
	switch {
	case o != nil:
		return o, nil
	case t.Protocol == Query:
		return nil, Errorf("InvalidAction", http.StatusBadRequest, "Could not find operation %s for version %s", shorten(name), shorten(version))
	default:
		return nil, Errorf("UnknownOperationException", http.StatusBadRequest, "Could not find operation %s of %s", shorten(name), t.Service)
	}
}

// refusal is what the caller sees of err.
func (t *Table) refusal(ctx context.Context, name string, caller Caller, err error) *Error {
	var refused *Error
	switch {
	case errors.As(err, &refused):
	case errors.Is(err, ErrMemory):
		refused = noMemory()
	default:
		logger := t.Logger
		if logger == nil {
			logger = slog.New(slog.DiscardHandler)
		}
		level := slog.LevelError
		if ctx.Err() != nil {
			level = slog.LevelDebug // the client hung up; not an error
		}
		logger.Log(ctx, level, "the request failed", "service", t.Service, "operation", name, "request", caller.RequestID, "error", err)
		return InternalFailure(caller.RequestID)
	}
	if wire, ok := t.ErrorCodes[refused.Code]; ok {
		renamed := *refused
		renamed.Code = wire
		return &renamed
	}
	return refused
}

// InternalFailure is the error that a caller receives in place of an internal one.
func InternalFailure(requestID string) *Error {
	return Errorf("InternalFailure", http.StatusInternalServerError,
		"The request could not be processed because of an internal error; see request %s in the log of the server.", requestID)
}

// readBody reads the body of a request, at most max bytes of it.
func readBody(r *http.Request, max int64) ([]byte, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, Errorf("UnsupportedMediaTypeException", http.StatusUnsupportedMediaType, "The content encoding %s is not supported", shorten(encoding))
	}
	return readAll(r, max)
}

// peek reads the body of a request, and puts it back.
func peek(r *http.Request, max int64) ([]byte, error) {
	body, err := readAll(r, max)
	if _, held := r.Body.(*heldBody); !held && err == nil {
		r.Body = readCloser{bytes.NewReader(body), r.Body}
	}
	return body, err
}

// readAll reads the body of a request. A held body can be read again afterwards.
func readAll(r *http.Request, max int64) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	if h, held := r.Body.(*heldBody); held {
		return h.bytes(r.Context(), max)
	}
	if r.ContentLength > max {
		return nil, tooLarge(max)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, max+1))
	if err != nil {
		return nil, brokenOff(err)
	}
	if int64(len(body)) > max {
		return nil, tooLarge(max)
	}
	return body, nil
}

func tooLarge(max int64) *Error {
	return Errorf("RequestEntityTooLarge", http.StatusRequestEntityTooLarge, "The body of the request is larger than %d bytes", max)
}

// shorten makes what a client sent fit for a message.
func shorten(s string) string {
	return words.Cut(strings.ToValidUTF8(s, "\uFFFD"), 128)
}
