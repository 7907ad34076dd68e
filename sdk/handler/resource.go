package handler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
)

// An Extension is a [Resource] or a [Hook].
type Extension interface {
	build() (*Function, error)
}

// A Function answers invocations of an extension in this process. It is safe
// for concurrent use as far as the handlers are.
type Function struct {
	call func(ctx context.Context, payload []byte) ([]byte, error)
}

// New compiles the schema of an extension. It fails when TypeName or the
// schema cannot be used; the message is for the author.
func New(e Extension) (*Function, error) { return e.build() }

// Call answers one invocation: a request as JSON in, a progress event as JSON
// out. The only error is a payload that is not JSON; every other fault is a
// FAILED event. That includes a panic of the handler and of what is called
// around it, such as the MarshalJSON of a model, but not one in a goroutine
// that the handler started: nothing can stop that from ending the process.
func (f *Function) Call(ctx context.Context, payload []byte) ([]byte, error) {
	return f.call(ctx, payload)
}

// A Resource is a resource type: M is its model, C its type configuration.
// TypeName must be set; a handler that is nil is not there, and its action is
// answered FAILED with InvalidRequest, or with NotUpdatable for UPDATE.
type Resource[M, C any] struct {
	// TypeName is the name of the type, such as "Initech::TPS::Report".
	TypeName string

	// Schema is the text of the type schema. With it, requests are brought
	// into the types of the schema, CREATE and UPDATE are validated, a READ,
	// UPDATE or DELETE without an identifier is NotFound, and write-only values
	// are kept out of events and logs. Nil does without.
	Schema []byte

	Create func(context.Context, Request[M, C]) Event[M]
	Read   func(context.Context, Request[M, C]) Event[M]
	Update func(context.Context, Request[M, C]) Event[M]
	Delete func(context.Context, Request[M, C]) Event[M]
	List   func(context.Context, Request[M, C]) Event[M]

	// SkipValidation passes on what the schema does not allow. By default the
	// first call of a CREATE or UPDATE answers InvalidRequest for it, and
	// InvalidTypeConfiguration for a type configuration that breaks its schema,
	// apart from patterns and lengths: see the README.
	SkipValidation bool

	// LogHandler takes the log records, secrets already removed. Nil writes
	// JSON lines from level Info up to standard error.
	LogHandler slog.Handler
}

// resourceFunction is a Resource whose schema is compiled.
type resourceFunction[M, C any] struct {
	Resource[M, C]
	schema   *schema // nil without one
	handlers map[Action]func(context.Context, Request[M, C]) Event[M]
}

func (r Resource[M, C]) build() (*Function, error) {
	if r.TypeName == "" {
		return nil, errors.New("start resource: TypeName is empty")
	}
	f := &resourceFunction[M, C]{Resource: r, handlers: map[Action]func(context.Context, Request[M, C]) Event[M]{
		ActionCreate: r.Create, ActionRead: r.Read, ActionUpdate: r.Update, ActionDelete: r.Delete, ActionList: r.List,
	}}
	if r.Schema != nil {
		s, err := parseSchema(r.Schema)
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", r.TypeName, err)
		}
		f.schema = s
	}
	if f.LogHandler == nil {
		f.LogHandler = slog.NewJSONHandler(os.Stderr, nil)
	}
	return &Function{call: f.answer}, nil
}

// A resourceReply is the wire form of an event.
type resourceReply struct {
	Status               Status  `json:"status"`
	ErrorCode            Code    `json:"errorCode,omitempty"`
	Message              string  `json:"message,omitempty"`
	CallbackContext      *Memory `json:"callbackContext,omitempty"`
	CallbackDelaySeconds int64   `json:"callbackDelaySeconds"`
	ResourceModel        any     `json:"resourceModel,omitempty"`
	ResourceModels       []any   `json:"resourceModels,omitzero"`
	NextToken            string  `json:"nextToken,omitempty"`
	BearerToken          string  `json:"bearerToken,omitempty"`
}

// An incoming is a request between the wire and the handler.
type incoming[M, C any] struct {
	req      Request[M, C]
	desired  any // trees, in the types of the schema
	previous any
	redact   *redactor
}

func (f *resourceFunction[M, C]) answer(ctx context.Context, payload []byte) (answer []byte, err error) {
	in := &incoming[M, C]{redact: &redactor{}}
	in.req.ctx = ctx
	defer func() {
		if cause := recover(); cause != nil {
			message := panicked(in.req.Logger, cause)
			reply := f.reply(in, Event[M]{Status: StatusFailed, Code: CodeInternalFailure, Message: message})
			answer, err = f.encode(in, reply)
		}
	}()
	top, err := openEnvelope(payload)
	if errors.Is(err, errNotJSON) {
		return nil, err
	}
	var reply resourceReply
	if err == nil {
		err = f.read(top, in)
	}
	if err == nil {
		reply = f.reply(in, f.handlers[in.req.Action](ctx, in.req))
	} else {
		reply = failedReply(err)
	}
	return f.encode(in, reply)
}

func failedReply(err error) resourceReply {
	found := FromError(err)
	return resourceReply{Status: StatusFailed, ErrorCode: found.Code, Message: found.Error()}
}

// read fills in the request. Its errors are *Error.
func (f *resourceFunction[M, C]) read(top fields, in *incoming[M, C]) error {
	top.adaptTestEvent()
	req, data := &in.req, top.object("requestData")
	req.schema = f.schema
	req.Action = Action(top.text("action"))
	req.TypeName, req.Token = f.TypeName, top.text("bearerToken")
	req.Region, req.AccountID, req.StackID = top.text("region"), top.text("awsAccountId"), top.text("stackId")
	req.Partition = partitionOf(req.Region)
	req.NextToken, req.MaxResults = top.text("nextToken"), top.count("maxResults")
	req.SnapshotRequested, req.Rollback, req.Driftable = top.truth("snapshotRequested"), top.truth("rollback"), top.truth("driftable")
	req.LogicalID = data.text("logicalResourceId")
	req.Credentials = data.credentials("callerCredentials")
	req.StackTags, req.PreviousStackTags = data.tags("stackTags"), data.tags("previousStackTags")
	req.SystemTags, req.PreviousSystemTags = data.tags("systemTags"), data.tags("previousSystemTags")
	req.FirstCall, req.Memory = top.raw("callbackContext") == nil, NewMemory()
	in.desired, in.previous = data.tree("resourceProperties"), data.tree("previousResourceProperties")
	configuration := data.tree("typeConfiguration")
	if *top.problem != nil {
		return *top.problem
	}
	in.redact = newRedactor(f.schema, []Credentials{req.Credentials, data.credentials("providerCredentials")},
		[]any{in.desired, in.previous}, configuration)
	req.Logger = slog.New(redactingHandler{f.LogHandler, in.redact}).With("type", f.TypeName, "action", string(req.Action), "logicalId", req.LogicalID)
	if f.handlers[req.Action] == nil {
		return f.noHandler(req.Action)
	}
	if context := top.raw("callbackContext"); context != nil {
		if err := req.Memory.UnmarshalJSON(context); err != nil {
			return InvalidRequest(err.Error())
		}
	}
	if err := f.configure(configuration, req); err != nil {
		return err
	}
	if err := f.models(in); err != nil {
		return err
	}
	return f.identified(in)
}

func (f *resourceFunction[M, C]) noHandler(action Action) error {
	switch action {
	case ActionUpdate:
		return Errorf(CodeNotUpdatable, "Resource of type '%s' is not updatable: it has no update handler.", f.TypeName)
	case ActionCreate, ActionRead, ActionDelete, ActionList:
		return Errorf(CodeInvalidRequest, "Resource of type '%s' has no %s handler.", f.TypeName, strings.ToLower(string(action)))
	}
	return InvalidRequest("action must be CREATE, READ, UPDATE, DELETE or LIST")
}

func (f *resourceFunction[M, C]) configure(tree any, req *Request[M, C]) error {
	if tree == nil {
		return nil
	}
	var schema *node
	if f.schema != nil {
		schema = f.schema.typeConfiguration
	}
	if f.validates(req) {
		if found := validateResolved(recast(tree, schema, false), schema); len(found) > 0 {
			return InvalidTypeConfiguration(f.TypeName, validationMessage(found))
		}
	}
	req.TypeConfiguration = new(C)
	if err := decodeInto(recast(tree, schema, true), req.TypeConfiguration); err != nil {
		return InvalidTypeConfiguration(f.TypeName, err.Error())
	}
	return nil
}

// models recasts, validates and decodes the two models, and merges the tags.
func (f *resourceFunction[M, C]) models(in *incoming[M, C]) error {
	req := &in.req
	if in.desired == nil {
		in.desired = map[string]any{}
	}
	if _, ok := in.desired.(map[string]any); !ok {
		return InvalidRequest("requestData.resourceProperties must be an object")
	}
	if _, ok := in.previous.(map[string]any); !ok && in.previous != nil {
		return InvalidRequest("requestData.previousResourceProperties must be an object")
	}
	if err := f.desired(in); err != nil {
		return err
	}
	if err := decodeInto(in.desired, &req.Desired); err != nil {
		return InvalidRequest(err.Error())
	}
	req.DesiredTags = f.tags(in.desired, req.SystemTags, req.StackTags)
	req.PreviousTags = map[string]string{}
	if in.previous == nil {
		return nil
	}
	if f.schema != nil {
		in.previous = recast(in.previous, f.schema.root, true)
	}
	req.Previous = new(M)
	if err := decodeInto(in.previous, req.Previous); err != nil {
		return InvalidRequest("previousResourceProperties: " + err.Error())
	}
	req.PreviousTags = f.tags(in.previous, req.PreviousSystemTags, req.PreviousStackTags)
	return nil
}

// desired brings the desired model into the types of the schema, and on the
// first call of a CREATE or UPDATE validates it. What a user writes into a
// read-only property has no effect: it is taken out of a CREATE. An UPDATE
// keeps it, since the identifier is often read-only.
func (f *resourceFunction[M, C]) desired(in *incoming[M, C]) error {
	if f.schema == nil {
		return nil
	}
	if f.validates(&in.req) {
		unneeded := map[string]bool{}
		for _, path := range f.schema.readOnly {
			unneeded[path[0]] = true
		}
		if found := validate(recast(in.desired, f.schema.root, false), f.schema.root, unneeded); len(found) > 0 {
			return Errorf(CodeInvalidRequest, "%s", validationMessage(found))
		}
	}
	in.desired = recast(in.desired, f.schema.root, true)
	if in.req.FirstCall && in.req.Action == ActionCreate {
		removePaths(in.desired, f.schema.readOnly)
	}
	return nil
}

// identified refuses the first call of a READ, UPDATE or DELETE that does not
// say of which resource. The answer is NotFound, and not InvalidRequest: the
// contract tests update a resource that was never created, with a model that
// has no read-only identifier, and want that. Later calls get the model that
// the handler returned itself.
func (f *resourceFunction[M, C]) identified(in *incoming[M, C]) error {
	action := in.req.Action
	if f.schema == nil || !in.req.FirstCall || action != ActionRead && action != ActionUpdate && action != ActionDelete {
		return nil
	}
	missing := f.schema.missing(in.desired)
	if len(missing) == 0 {
		return nil
	}
	without := "without identifier"
	if len(missing) < len(f.schema.identifier) {
		without = "without its whole identifier"
	}
	return Errorf(CodeNotFound, "Resource of type '%s' %s was not found. Missing: %s.", f.TypeName, without, strings.Join(missing, ", "))
}

// validates reports whether the input of a call is checked against the schema.
func (f *resourceFunction[M, C]) validates(req *Request[M, C]) bool {
	return req.FirstCall && (req.Action == ActionCreate || req.Action == ActionUpdate) && !f.SkipValidation
}

func (f *resourceFunction[M, C]) tags(model any, sets ...map[string]string) map[string]string {
	path := []string{"Tags"}
	if f.schema != nil {
		path = f.schema.tagProperty
	}
	merged := MergeTags(sets...)
	visit(model, path, func(parent map[string]any, name string) { merged = MergeTags(merged, tagsOf(parent[name])) })
	return merged
}

// panicked is the message for a panic. The place in the source and the stack, one entry for
// each function, go to the log only: callers need not know how a handler is built.
func panicked(logger *slog.Logger, cause any) (message string) {
	message = fmt.Sprintf("The handler stopped unexpectedly: %v", cause)
	if logger != nil { // nil before the request is read
		defer func() { _ = recover() }() // the log itself may be what panics
		stack, place := panicStack(), "?"
		if len(stack) > 0 {
			place, _, _ = strings.Cut(stack[0], " ")
		}
		logger.Error("handler panicked at "+place, "panic", fmt.Sprint(cause), "stack", stack)
	}
	return message
}

// panicStack lists the functions that were running when the current panic began, the
// innermost first, as "file:line function". Those of the runtime are left out.
func panicStack() (stack []string) {
	callers := make([]uintptr, 100)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	began := false
	for {
		frame, more := frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			began, stack = true, nil
		case began && frame.Function != "" && !strings.HasPrefix(frame.Function, "runtime."):
			stack = append(stack, fmt.Sprintf("%s:%d %s", frame.File, frame.Line, frame.Function))
		}
		if !more {
			return stack
		}
	}
}

// reply checks an event and gives it its wire form.
func (f *resourceFunction[M, C]) reply(in *incoming[M, C], event Event[M]) resourceReply {
	action := in.req.Action
	if fault := f.fault(action, event); fault != "" {
		in.req.Logger.Error("handler broke the contract", "fault", fault)
		event = Event[M]{Status: StatusFailed, Code: CodeInternalFailure, Message: fault, Model: event.Model}
	}
	reply := resourceReply{Status: event.Status, Message: event.Message}
	switch event.Status {
	case StatusInProgress:
		reply.CallbackContext = in.req.Memory
		reply.CallbackDelaySeconds = delaySeconds(event.Delay)
	case StatusFailed:
		reply.ErrorCode = event.Code
		if !event.Code.Known() {
			reply.ErrorCode = CodeInternalFailure
		}
	case StatusSuccess:
		if action == ActionDelete {
			return reply
		}
		if action == ActionList {
			return f.listReply(reply, event)
		}
	}
	model, err := f.replyModel(in, event)
	if err != nil {
		return failedReply(Errorf(CodeInternalFailure, "the model that the handler returned cannot be sent: %w", err))
	}
	if model != nil {
		if event.Terminal() && f.schema != nil {
			removePaths(model, f.schema.writeOnly)
		}
		reply.ResourceModel = model
	}
	return reply
}

// fault says how an event breaks the contract; empty if it does not.
func (f *resourceFunction[M, C]) fault(action Action, event Event[M]) string {
	switch {
	case event.Status == StatusInProgress && (action == ActionRead || action == ActionList):
		return fmt.Sprintf("the %s handler answered IN_PROGRESS; READ and LIST must end in one call, with SUCCESS or FAILED", action)
	case event.Status == StatusSuccess && event.Model == nil && action != ActionDelete && action != ActionList:
		return fmt.Sprintf("the %s handler answered SUCCESS without a model", action)
	case event.Status != StatusInProgress && event.Status != StatusSuccess && event.Status != StatusFailed:
		return fmt.Sprintf("the %s handler returned an event with status %q; make events with the methods of the request", action, event.Status)
	}
	return ""
}

func (f *resourceFunction[M, C]) listReply(reply resourceReply, event Event[M]) resourceReply {
	reply.NextToken = event.NextToken
	reply.ResourceModels = []any{}
	for i := range event.Models {
		model, err := encodeTree(&event.Models[i])
		if err != nil {
			return failedReply(Errorf(CodeInternalFailure, "model %d of the page cannot be sent: %w", i, err))
		}
		if f.schema != nil {
			removePaths(model, f.schema.writeOnly)
		}
		reply.ResourceModels = append(reply.ResourceModels, model)
	}
	return reply
}

// replyModel is the model of the event, or the desired one where the caller
// needs a model: to call again, or to clean up what an operation that was
// in progress may have left.
func (f *resourceFunction[M, C]) replyModel(in *incoming[M, C], event Event[M]) (map[string]any, error) {
	if event.Model != nil {
		return encodeTree(event.Model)
	}
	failedLate := event.Status == StatusFailed && event.Code != CodeAlreadyExists &&
		(in.req.Action == ActionUpdate || in.req.Action == ActionCreate && !in.req.FirstCall)
	if _, ok := in.desired.(map[string]any); ok && (event.Status == StatusInProgress || failedLate) {
		return encodeTree(in.desired)
	}
	return nil, nil
}

// encode writes the reply, and a FAILED event in place of one that is too
// large for Lambda. That event keeps the identifier, so that nothing is lost.
func (f *resourceFunction[M, C]) encode(in *incoming[M, C], reply resourceReply) ([]byte, error) {
	reply.BearerToken = in.req.Token
	reply.Message = in.redact.text(reply.Message)
	text, err := writeJSON(reply)
	if err == nil && len(text) <= maxPayload {
		return text, nil
	}
	failed := failedReply(Errorf(CodeInternalFailure, "the answer to %s has %d bytes, more than the %d that Lambda returns%s",
		in.req.Action, len(text), maxPayload, map[bool]string{true: "; return fewer models per page"}[in.req.Action == ActionList]))
	if err != nil {
		failed = failedReply(Errorf(CodeInternalFailure, "the answer cannot be written as JSON: %w", err))
	}
	failed.BearerToken = reply.BearerToken
	if model, ok := reply.ResourceModel.(map[string]any); ok && f.schema != nil && hasPaths(model, f.schema.identifier) {
		failed.ResourceModel = keepPaths(model, f.schema.identifier)
	}
	return json.Marshal(failed)
}
