package handler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"
)

// A Point is when a hook runs.
type Point string

// The invocation points; their handlers are preCreate, preUpdate and preDelete
// in the schema of a hook.
const (
	PointPreCreate Point = "CREATE_PRE_PROVISION"
	PointPreUpdate Point = "UPDATE_PRE_PROVISION"
	PointPreDelete Point = "DELETE_PRE_PROVISION"
)

// A Hook is a hook type; C is its configuration. TypeName must be set; a
// handler that is nil is not there, and its point is answered FAILED with
// InvalidRequest.
type Hook[C any] struct {
	// TypeName is the name of the hook, such as "Initech::TPS::CoverSheet".
	TypeName string

	// Schema is the text of the hook schema. With it, the configuration is
	// brought into the types of its typeConfiguration. Nil does without.
	Schema []byte

	PreCreate func(context.Context, HookRequest[C]) HookEvent
	PreUpdate func(context.Context, HookRequest[C]) HookEvent
	PreDelete func(context.Context, HookRequest[C]) HookEvent

	// LogHandler takes the log records, secrets already removed. Nil writes
	// JSON lines from level Info up to standard error.
	LogHandler slog.Handler

	// HTTPClient fetches target models that are too large to be sent along.
	// Nil means a client with a time-out of 10 s.
	HTTPClient *http.Client
}

// A HookRequest is one call of a hook handler.
type HookRequest[C any] struct {
	// Point is when the hook runs.
	Point Point

	// TypeName is the name of the hook.
	TypeName string

	// TargetName is the type of the target, such as "AWS::S3::Bucket";
	// TargetType is RESOURCE, STACK or CHANGE_SET; TargetLogicalID is its name
	// in the template.
	TargetName, TargetType, TargetLogicalID string

	// TargetModel is the target as JSON: for RESOURCE an object that
	// [HookRequest.Target] reads; for STACK and CHANGE_SET one with Template,
	// PreviousTemplate, ResolvedTemplate and ChangedResources. Nil when the
	// caller sent none.
	TargetModel json.RawMessage

	// TypeConfiguration is nil when none is set for the hook.
	TypeConfiguration *C

	// FirstCall and Memory are as in [Request].
	FirstCall bool
	Memory    *Memory

	Token                string // the client request token
	StackID, ChangeSetID string
	AccountID            string
	Credentials          Credentials
	Logger               *slog.Logger // as in [Request]

	ctx context.Context // as in [Request]
}

// Target reads the desired and the previous properties of a RESOURCE target
// into the variables that desired and previous point to; either may be nil.
// A target without previous properties leaves that variable alone.
//
// A hook does not have the schemas of its targets. So it is the type of the
// variable that says what a value is meant to be: "5" is read into an *int64 or
// a *float64, "true" into a *bool, and 5 or true into a *string. Into an
// interface, such as the values of a map[string]any, everything is read as it
// was sent, apart from null members, which are absent.
func (r HookRequest[C]) Target(desired, previous any) error {
	var model struct {
		ResourceProperties, PreviousResourceProperties json.RawMessage // in any letter case
	}
	if err := json.Unmarshal(r.TargetModel, &model); err != nil {
		return InvalidRequest("the target model is missing or not an object")
	}
	for _, part := range []struct {
		text json.RawMessage
		into any
	}{{model.ResourceProperties, desired}, {model.PreviousResourceProperties, previous}} {
		if len(part.text) == 0 || part.into == nil {
			continue
		}
		tree, err := decodeTree(part.text)
		if err != nil {
			return InvalidRequest("the target model is not JSON")
		}
		if err := decodeInto(recast(tree, schemaOf(part.into), false), part.into); err != nil {
			return InvalidRequest("the target model: " + err.Error())
		}
	}
	return nil
}

// A HookEvent ends one call of a hook handler. Handlers make it with the
// methods of their [HookRequest].
type HookEvent struct {
	Status      Status
	Code        Code          // of FAILED; none means InternalFailure
	Message     string        // shown to the user
	Delay       time.Duration // as in [Event]
	Annotations []Annotation  // single findings, for terminal events
}

// An Annotation is one finding of a hook.
type Annotation struct {
	Name               string           `json:"annotationName"`
	Status             AnnotationStatus `json:"status"`
	StatusMessage      string           `json:"statusMessage,omitempty"`
	RemediationMessage string           `json:"remediationMessage,omitempty"`
	RemediationLink    string           `json:"remediationLink,omitempty"`
	Severity           Severity         `json:"severityLevel,omitempty"`
}

// An AnnotationStatus is how a single check of a hook ended.
type AnnotationStatus string

// The statuses of an annotation.
const (
	AnnotationPassed  AnnotationStatus = "PASSED"
	AnnotationFailed  AnnotationStatus = "FAILED"
	AnnotationSkipped AnnotationStatus = "SKIPPED"
)

// A Severity is how much a finding matters.
type Severity string

// The severities of an annotation.
const (
	SeverityInformational Severity = "INFORMATIONAL"
	SeverityLow           Severity = "LOW"
	SeverityMedium        Severity = "MEDIUM"
	SeverityHigh          Severity = "HIGH"
	SeverityCritical      Severity = "CRITICAL"
)

// Success lets the target pass.
func (r HookRequest[C]) Success(message string) HookEvent {
	return HookEvent{Status: StatusSuccess, Message: message}
}

// InProgress asks to be called again after delay.
func (r HookRequest[C]) InProgress(delay time.Duration) HookEvent {
	return HookEvent{Status: StatusInProgress, Delay: delay}
}

// Failed refuses the target with a code, mostly [CodeNonCompliant], and a message.
func (r HookRequest[C]) Failed(code Code, message string) HookEvent {
	return HookEvent{Status: StatusFailed, Code: code, Message: message}
}

// Fail refuses the target as [Request.Fail] ends an operation, and writes err
// to the log.
func (r HookRequest[C]) Fail(err error) HookEvent {
	code, message := failure(r.ctx, r.Logger, err)
	return HookEvent{Status: StatusFailed, Code: code, Message: message}
}

// Chain starts the steps of a hook.
func (r HookRequest[C]) Chain(ctx context.Context) *Chain[HookEvent] {
	return newChain(ctx, r.Memory, chainEvents[HookEvent]{
		wait:    r.InProgress,
		fail:    func(err error, _ bool) HookEvent { return r.Fail(err) },
		subject: "Hook of type '" + r.TypeName + "'",
	})
}

type hookFunction[C any] struct {
	Hook[C]
	configuration *node
	handlers      map[Point]func(context.Context, HookRequest[C]) HookEvent
}

func (h Hook[C]) build() (*Function, error) {
	if h.TypeName == "" {
		return nil, errors.New("start hook: TypeName is empty")
	}
	f := &hookFunction[C]{Hook: h, handlers: map[Point]func(context.Context, HookRequest[C]) HookEvent{
		PointPreCreate: h.PreCreate, PointPreUpdate: h.PreUpdate, PointPreDelete: h.PreDelete,
	}}
	if h.Schema != nil {
		s, err := parseSchema(h.Schema)
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", h.TypeName, err)
		}
		f.configuration = s.typeConfiguration
	}
	if f.LogHandler == nil {
		f.LogHandler = slog.NewJSONHandler(os.Stderr, nil)
	}
	if f.HTTPClient == nil {
		f.HTTPClient = &http.Client{Timeout: 10 * time.Second}
	}
	return &Function{call: f.answer}, nil
}

// A hookReply is the wire form of a hook event.
type hookReply struct {
	ClientRequestToken   string       `json:"clientRequestToken,omitempty"`
	Status               Status       `json:"hookStatus"`
	ErrorCode            Code         `json:"errorCode,omitempty"`
	Message              string       `json:"message,omitempty"`
	CallbackContext      *Memory      `json:"callbackContext,omitempty"`
	CallbackDelaySeconds int64        `json:"callbackDelaySeconds"`
	Annotations          []Annotation `json:"annotations,omitempty"`
}

func (f *hookFunction[C]) answer(ctx context.Context, payload []byte) (answer []byte, err error) {
	req, redact := HookRequest[C]{ctx: ctx}, &redactor{}
	defer func() {
		if cause := recover(); cause != nil {
			message := panicked(req.Logger, cause)
			answer, err = f.encode(req, redact, HookEvent{Status: StatusFailed, Code: CodeInternalFailure, Message: message})
		}
	}()
	top, err := openEnvelope(payload)
	if errors.Is(err, errNotJSON) {
		return nil, err
	}
	if err == nil {
		req.Token = top.text("clientRequestToken")
		err = f.read(ctx, top, &req, redact)
	}
	var event HookEvent
	if err == nil {
		event = f.handlers[req.Point](ctx, req)
	} else {
		found := FromError(err)
		event = HookEvent{Status: StatusFailed, Code: found.Code, Message: found.Error()}
	}
	return f.encode(req, redact, event)
}

// encode writes an event, and a FAILED one in place of one that is too large
// for Lambda.
func (f *hookFunction[C]) encode(req HookRequest[C], redact *redactor, event HookEvent) ([]byte, error) {
	reply := f.reply(req, event)
	reply.Message = redact.text(reply.Message)
	text, err := writeJSON(reply)
	if err == nil && len(text) <= maxPayload {
		return text, nil
	}
	return json.Marshal(hookReply{ClientRequestToken: req.Token, Status: StatusFailed, ErrorCode: CodeInternalFailure,
		Message: fmt.Sprintf("the answer has %d bytes, more than the %d that Lambda returns", len(text), maxPayload)})
}

// read fills in the request, and the redactor. Its errors are *Error.
func (f *hookFunction[C]) read(ctx context.Context, top fields, req *HookRequest[C], redact *redactor) error {
	data, outer := top.object("requestData"), top.object("requestContext")
	req.TypeName, req.Point = f.TypeName, Point(top.text("actionInvocationPoint"))
	req.StackID, req.ChangeSetID, req.AccountID = top.text("stackId"), top.text("changeSetId"), top.text("awsAccountId")
	req.TargetName, req.TargetType = data.text("targetName"), data.text("targetType")
	req.TargetLogicalID, req.TargetModel = data.text("targetLogicalId"), data.raw("targetModel")
	req.Credentials = data.credentials("callerCredentials")
	req.FirstCall, req.Memory = outer.raw("callbackContext") == nil, NewMemory()
	configuration, url := top.tree("hookModel"), data.text("payload")
	*redact = *newRedactor(nil, []Credentials{req.Credentials, data.credentials("providerCredentials")}, nil, configuration)
	if *top.problem != nil {
		return *top.problem
	}
	req.Logger = slog.New(redactingHandler{f.LogHandler, redact}).With("type", f.TypeName, "point", string(req.Point), "target", req.TargetName)
	if f.handlers[req.Point] == nil {
		return Errorf(CodeInvalidRequest, "Hook of type '%s' has no handler for %s.", f.TypeName, req.Point)
	}
	if data.raw("hookEncryptionKeyArn") != nil && req.Credentials.Empty() {
		req.Logger.Warn("the credentials are encrypted with a key of the customer and cannot be used")
	}
	if context := outer.raw("callbackContext"); context != nil {
		if err := req.Memory.UnmarshalJSON(context); err != nil {
			return InvalidRequest(err.Error())
		}
	}
	if configuration != nil {
		req.TypeConfiguration = new(C)
		if err := decodeInto(recast(configuration, f.configuration, true), req.TypeConfiguration); err != nil {
			return InvalidTypeConfiguration(f.TypeName, err.Error())
		}
	}
	if text := string(req.TargetModel); url != "" && (text == "" || text == "{}") {
		model, err := f.fetch(ctx, url)
		if err != nil {
			return Errorf(CodeInternalFailure, "the target model cannot be fetched: %w", err)
		}
		req.TargetModel = model
	}
	return nil
}

// fetch gets a target model that was too large for the request. It tries three
// times while the server answers 5xx. Errors leave out the URL, which is signed.
func (f *hookFunction[C]) fetch(ctx context.Context, url string) (json.RawMessage, error) {
	for try := 1; ; try++ {
		text, status, err := f.get(ctx, url)
		switch {
		case err != nil:
			return nil, err
		case status >= 500 && try < 3:
			continue
		case status != http.StatusOK:
			return nil, fmt.Errorf("the server answered %d", status)
		case len(text) > maxInflated:
			return nil, fmt.Errorf("it is larger than %d bytes", maxInflated)
		case !json.Valid(text):
			return nil, errors.New("it is not JSON")
		}
		return text, nil
	}
}

func (f *hookFunction[C]) get(ctx context.Context, url string) ([]byte, int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil || !strings.HasPrefix(request.URL.Scheme, "http") {
		return nil, 0, errors.New("the payload is not a URL")
	}
	response, err := f.HTTPClient.Do(request)
	if err != nil {
		return nil, 0, errors.New("the server did not answer")
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxInflated+1))
	if err != nil {
		return nil, 0, errors.New("the answer broke off")
	}
	return text, response.StatusCode, nil
}

func (f *hookFunction[C]) reply(req HookRequest[C], event HookEvent) hookReply {
	reply := hookReply{ClientRequestToken: req.Token, Status: event.Status, Message: event.Message}
	switch event.Status {
	case StatusInProgress:
		reply.CallbackContext = req.Memory
		reply.CallbackDelaySeconds = delaySeconds(event.Delay)
	case StatusSuccess:
		reply.Annotations = event.Annotations
	case StatusFailed:
		reply.Annotations = event.Annotations
		reply.ErrorCode = event.Code
		if !event.Code.Known() {
			reply.ErrorCode = CodeInternalFailure
		}
		if reply.Message == "" {
			reply.Message = string(reply.ErrorCode)
		}
	default:
		reply.Status, reply.ErrorCode = StatusFailed, CodeInternalFailure
		reply.Message = fmt.Sprintf("the handler for %s returned an event with status %q; make events with the methods of the request", req.Point, event.Status)
	}
	return reply
}
