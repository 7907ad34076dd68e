package invoke

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// A Status is the status of an operation.
type Status string

// The statuses that a handler may answer with.
const (
	InProgress Status = "IN_PROGRESS"
	Success    Status = "SUCCESS"
	Failed     Status = "FAILED"

	// SkipStackHook is the success of a hook on a change set that makes the hook on the
	// stack unnecessary.
	SkipStackHook Status = "CHANGE_SET_SUCCESS_SKIP_STACK_HOOK"
)

// A Code is a handler error code, as the handler wrote it.
type Code string

// The codes that the product itself asks about; [Codes] holds all of them.
const (
	NotFound        Code = "NotFound"
	AlreadyExists   Code = "AlreadyExists"
	NotStabilized   Code = "NotStabilized"
	InternalFailure Code = "InternalFailure"
	InvalidRequest  Code = "InvalidRequest"
	Throttling      Code = "Throttling"
)

// codes are all handler error codes ("Resource type handler error codes" of the user
// guide, and those that the official tool takes beyond it) with whether the service
// tries again after them.
var codes = map[Code]bool{
	"AccessDenied": false, AlreadyExists: false, "GeneralServiceException": false,
	"HandlerInternalFailure": false, InternalFailure: false, "InvalidCredentials": false,
	InvalidRequest: false, "InvalidTypeConfiguration": false, "NetworkFailure": true,
	"NonCompliant": false, NotFound: false, NotStabilized: false, "NotUpdatable": false,
	"ResourceConflict": true, "ServiceInternalError": true, "ServiceLimitExceeded": false,
	Throttling: true, "Unknown": false, "UnsupportedTarget": false,
}

// Known reports whether the code is one of the handler contract. The service records any
// other as InternalFailure.
func (c Code) Known() bool { _, ok := codes[c]; return ok }

// Retriable reports whether the operation may succeed when it is tried again.
func (c Code) Retriable() bool { return codes[c] }

// An Event is the progress event that a handler answered a call with. Models are shapes
// of encoding/json with json.Number.
type Event struct {
	Status    Status
	ErrorCode Code   // "" if absent or null
	Message   string // "" if absent or null

	CallbackContext any           // nil if absent or null
	CallbackDelay   time.Duration // 0 if absent or null; may be negative

	// Model and Models are what the handler returned, with scalars that it sent as
	// strings converted to the types of the schema. Nil if absent or null; the model of
	// an empty object is an empty map.
	Model  map[string]any
	Models []map[string]any

	// RawModel and RawModels are the same as they came.
	RawModel  map[string]any
	RawModels []map[string]any

	NextToken string // "" after the last page

	// Members are the names of all members of the reply in the order written, also of
	// those that are null.
	Members []string

	// Raised describes the uncaught exception that the library of the handler made this event of, according to
	// the log of the call, secrets hidden: "raised TypeError: … (src/handlers.py:38)". "" if none is known.
	Raised string

	// Reply is the reply as it was read. Nil for an event that did not come from one.
	Reply *document.Value
}

// Terminal reports whether the operation is over.
func (e *Event) Terminal() bool { return e.Status != InProgress }

// limits of a reply: what Lambda lets a function answer, and a depth beyond any schema.
var replyLimits = document.Limits{Bytes: 6<<20 + 100, Depth: 200}

// longestDelay is the longest a handler may ask to wait: the largest timeoutInMinutes
// that a schema may declare.
const longestDelay = 2160 * time.Minute

// Decode reads the reply of a handler to a call of the action. Every error is a
// [*ProtocolError]. The schema, which may be nil, is what models are recast by.
func Decode(reply []byte, action Action, s *schema.Schema) (*Event, error) {
	return decode(reply, action, s, func(text string) string { return text })
}

// decode is [Decode] that quotes the reply in its errors without secrets. Hide takes them
// out before anything is cut: what a cut leaves of one could not be found any more.
func decode(reply []byte, action Action, s *schema.Schema, hide func(string) string) (*Event, error) {
	quoted := func(reason string) error {
		return &ProtocolError{Reason: reason, Reply: excerpt([]byte(hide(string(reply))))}
	}
	doc, reason := parseReply(reply)
	if reason != "" {
		return nil, quoted(reason)
	}
	e, err := decodeEvent(doc, action, s, hide)
	if err != nil {
		return nil, quoted(err.Error())
	}
	return e, nil
}

// parseReply reads the object in a reply, or returns why the reply is invalid.
func parseReply(reply []byte) (doc *document.Value, reason string) {
	text := bytes.TrimSpace(reply)
	switch {
	case len(text) == 0:
		return nil, "it answered with nothing"
	case len(reply) > replyLimits.Bytes:
		return nil, fmt.Sprintf("its answer has %d bytes, more than the %d that Lambda lets through", len(reply), replyLimits.Bytes)
	case text[0] == '<':
		return nil, "it answered with HTML or XML, not with a progress event: is the endpoint one of Lambda?"
	}
	doc, problems := document.ParseJSON("reply", reply, replyLimits)
	for _, p := range problems {
		if p.Severity == diag.Error {
			return nil, fmt.Sprintf("its answer is not JSON: %s (line %d, column %d)", p.Message, max(p.At.Start.Line, 1), max(p.At.Start.Column, 1))
		}
	}
	if doc == nil || doc.Kind != document.Object {
		return nil, fmt.Sprintf("it answered with %s, not with a progress event", article(doc))
	}
	return doc, ""
}

func article(v *document.Value) string {
	if v == nil {
		return "null"
	}
	return v.Kind.WithArticle()
}

func decodeEvent(doc *document.Value, action Action, s *schema.Schema, hide func(string) string) (*Event, error) {
	e := &Event{Reply: doc}
	for _, m := range doc.Members {
		e.Members = append(e.Members, m.Key)
	}
	var err error
	if e.Status, err = readStatus(doc, action, hide); err != nil {
		return nil, err
	}
	if code := doc.Get("errorCode"); code != nil && code.Kind != document.Null && code.Text != "0" {
		if code.Kind != document.String {
			return nil, fmt.Errorf("its errorCode is %s, not a string", article(code))
		}
		e.ErrorCode = Code(code.Text)
	}
	if message := doc.Get("message"); message != nil && message.Kind != document.Null {
		e.Message = scalarText(message)
	}
	if token := doc.Get("nextToken"); token != nil && token.Kind != document.Null {
		e.NextToken = scalarText(token)
	}
	e.CallbackContext = doc.Get("callbackContext").Any()
	if e.CallbackDelay, err = readDelay(doc.Get("callbackDelaySeconds"), hide); err != nil {
		return nil, err
	}
	if model := doc.Get("resourceModel"); model != nil && model.Kind != document.Null {
		if e.RawModel, e.Model, err = readModel(model, s); err != nil {
			return nil, fmt.Errorf("its resourceModel is %w", err)
		}
	}
	if models := doc.Get("resourceModels"); models != nil && models.Kind != document.Null {
		if models.Kind != document.Array {
			return nil, fmt.Errorf("its resourceModels is %s, not an array", article(models))
		}
		e.Models, e.RawModels = []map[string]any{}, []map[string]any{}
		for i, item := range models.Items {
			raw, model, err := readModel(item, s)
			if err != nil {
				return nil, fmt.Errorf("number %d of its resourceModels is %w", i+1, err)
			}
			e.RawModels, e.Models = append(e.RawModels, raw), append(e.Models, model)
		}
	}
	return e, nil
}

// readStatus finds the status. Hooks answer with hookStatus; the test entrypoints of
// hooks, and resources, with status.
func readStatus(doc *document.Value, action Action, hide func(string) string) (Status, error) {
	name := "status"
	value := doc.Get(name)
	if action.Hook() {
		if hook := doc.Get("hookStatus"); hook != nil {
			name, value = "hookStatus", hook
		}
	}
	if value == nil {
		if kind, text := doc.Get("errorType"), doc.Get("errorMessage"); kind != nil || text != nil {
			return "", fmt.Errorf("it reported an error instead of a progress event: %s: %s", scalarText(kind), scalarText(text))
		}
		return "", fmt.Errorf("its response has no %s", name)
	}
	status := Status(value.Text)
	switch {
	case value.Kind != document.String:
		return "", fmt.Errorf("its %s is %s, not a string", name, article(value))
	case status == InProgress, status == Success, status == Failed, status == SkipStackHook && action.Hook():
		return status, nil
	}
	return "", fmt.Errorf("its %s is %q: expected IN_PROGRESS, SUCCESS or FAILED", name, bounded(hide(value.Text), 60))
}

func readDelay(v *document.Value, hide func(string) string) (time.Duration, error) {
	if v == nil || v.Kind == document.Null {
		return 0, nil
	}
	seconds, err := strconv.ParseFloat(v.Text, 64)
	if v.Kind != document.Number && v.Kind != document.String || err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(seconds) {
		return 0, fmt.Errorf("its callbackDelaySeconds is %s, not a number", bounded(hide(string(v.AppendJSON(nil))), 60))
	}
	if seconds > longestDelay.Seconds() {
		return 0, fmt.Errorf("its callbackDelaySeconds is %s, longer than the maximum of an operation (%.0f)", bounded(hide(v.Text), 60), longestDelay.Seconds())
	}
	return time.Duration(max(seconds, -1) * float64(time.Second)), nil
}

func readModel(v *document.Value, s *schema.Schema) (raw, recast map[string]any, err error) {
	if v.Kind != document.Object {
		return nil, nil, fmt.Errorf("%s, not an object", article(v))
	}
	raw, _ = v.Any().(map[string]any)
	recast = raw
	if s != nil {
		if converted, ok := s.Recast(raw).(map[string]any); ok {
			recast = converted
		}
	}
	return raw, recast, nil
}

// scalarText is the text of a string, and the JSON of anything else.
func scalarText(v *document.Value) string {
	if v == nil {
		return ""
	}
	if v.Kind == document.String {
		return v.Text
	}
	return string(v.AppendJSON(nil))
}

// excerptBytes bounds what of a reply is quoted in a message.
const excerptBytes = 300

func excerpt(reply []byte) string { return bounded(string(reply), excerptBytes) }

// bounded cuts a text from outside to n bytes and makes it fit for a terminal.
func bounded(text string, n int) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(words.Cut(text, n), "\uFFFD"))
}
