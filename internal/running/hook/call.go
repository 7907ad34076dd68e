package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The limits of the service.
const (
	maxTries        = 3    // calls of which none was answered in time
	maxInProgress   = 3    // times that a hook may answer IN_PROGRESS
	maxMessage      = 4096 // characters of a message
	maxMessageCloud = 1024 // of Cloud Control
	maxAnnotations  = 100
	maxAnnotation   = 1024 // characters of each member
)

// Type implements [operation.Types]: whatever the hook is, its calls are made here.
func (e *Engine) Type(_ context.Context, _ awswire.Caller, name, version string) (*operation.Type, error) {
	return &operation.Type{Name: name, Version: version, Provider: e}, nil
}

// A verdict is what an invocation came to.
type verdict struct {
	Status      types.HookStatus
	Message     string
	Annotations []types.Annotation `json:",omitempty"`
	SkipsStack  bool               `json:",omitempty"`
}

// progress carries the verdict through its operation.
func (v verdict) progress() (operation.Progress, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return operation.Progress{}, err
	}
	p := operation.Progress{Status: types.OperationStatusSuccess}
	return p, json.Unmarshal(text, &p.Model)
}

// verdictOf reads what an operation came to. One that the operation engine ended itself has none:
// it was cancelled or took too long.
func verdictOf(state operation.State) verdict {
	p := state.Progress
	var v verdict
	text, err := json.Marshal(p.Model)
	if err == nil && p.Model != nil && json.Unmarshal(text, &v) == nil && v.Status != "" {
		return v
	}
	v = verdict{Status: types.HookStatusHookFailed, Message: p.Message}
	if p.ErrorCode == string(invoke.NotStabilized) && p.Own {
		v.Message = timedOut
	}
	return v
}

// timedOut is the message of a hook that does not finish.
const timedOut = "Hook execution timed out."

// apply writes the verdict into a result, with the texts of the service.
func (v verdict) apply(r *Result) {
	r.Status, r.SkipsStack = v.Status, v.SkipsStack
	limit := maxMessage
	if r.TargetKind == CloudControl {
		limit = maxMessageCloud
	}
	message := words.CutRunes(v.Message, limit)
	if r.Refused() {
		r.Reason = "Hook failed with message: " + message
		if !r.Blocks() {
			r.Reason += ". Failure was ignored under WARN mode."
		}
	} else {
		r.Reason = "Hook succeeded with message: " + message
	}
	if len(v.Annotations) > 0 {
		r.Annotations = store.JSONOf(v.Annotations)
	}
}

// A callback is what an invocation remembers between its calls.
type callback struct {
	Answers int             // IN_PROGRESS
	Context json.RawMessage `json:",omitempty"` // of the hook
}

// Call implements [operation.Provider]: it makes one call of a hook.
func (e *Engine) Call(ctx context.Context, request operation.Request) (operation.Progress, error) {
	row, err := store.Find[evaluationRow](ctx, e.store.Read(), "id = (SELECT evaluation_id FROM hook_results WHERE id = ?)", request.Token)
	switch {
	case err != nil:
		return operation.Progress{}, err
	case row == nil:
		return verdict{Status: types.HookStatusHookFailed, Message: "The evaluation does not exist any more."}.progress()
	case row.State != running:
		return verdict{Status: types.HookStatusHookFailed, Message: "The evaluation was cancelled."}.progress()
	}
	return e.call(ctx, request, row.Details.Get(), row.ID)
}

// call makes one call for the evaluation with an id.
func (e *Engine) call(ctx context.Context, request operation.Request, about details, id string) (operation.Progress, error) {
	var before callback
	if request.Callback != nil {
		if err := json.Unmarshal(request.Callback, &before); err != nil {
			return operation.Progress{}, fmt.Errorf("read the callback context of a hook: %w", err)
		}
	}
	ready, err := e.ready(ctx, request)
	var refused *awswire.Error
	switch {
	case errors.As(err, &refused):
		return verdict{Status: types.HookStatusHookFailed, Message: refused.Message}.progress()
	case err != nil:
		return operation.Progress{}, err
	}
	call, err := e.request(ctx, request, about, id, before, ready)
	if err != nil {
		return operation.Progress{}, err
	}
	event, err := e.runner(ready, request.Secrets).Run(ctx, call)
	return e.progress(request, before, ready, event, err)
}

// ready finds the hook.
func (e *Engine) ready(ctx context.Context, request operation.Request) (*Ready, error) {
	for _, source := range e.config.Sources {
		ready, ok, err := source.Ready(ctx, request.Caller, request.Type, request.Version)
		if ok || err != nil {
			return ready, err
		}
	}
	return nil, awswire.Errorf("TypeNotFoundException", 0, "The hook %s does not exist any more.", request.Type)
}

// runner makes a single call.
func (e *Engine) runner(ready *Ready, secrets map[secret.Reason][]string) *invoke.Runner {
	config := ready.Config
	config.MaxReinvoke, config.Timeout, config.CallTimeout = -1, -1, e.config.CallTimeout
	if config.Redactor == nil {
		config.Redactor = invoke.NewRedactor(config.Schema)
	}
	ready.Config.Redactor = config.Redactor
	for why, values := range secrets {
		config.Redactor.LearnFor(why, values...)
	}
	if function, ok := config.Function.(interface {
		Hiding(secrets map[secret.Reason][]string) invoke.Function
	}); ok && len(secrets) > 0 {
		config.Function = function.Hiding(secrets)
	}
	return invoke.New(config)
}

// request is the request of a call.
func (e *Engine) request(ctx context.Context, request operation.Request, about details, id string, before callback, ready *Ready) (invoke.Request, error) {
	out := invoke.Request{
		Action: request.Action, TypeName: ready.TypeName, TypeVersion: request.Version, Token: request.Token, LogicalID: request.LogicalID,
		StackID: request.StackID, NoStack: request.StackID == "", ChangeSetID: about.ChangeSetID, TypeConfiguration: ready.Properties,
		Invocation: before.Answers + request.Attempts + 1,
		Target:     invoke.Target{Name: about.Target.Name, Type: about.Target.Kind.TargetType(), LogicalID: request.LogicalID},
	}
	if before.Context != nil {
		decoder := json.NewDecoder(bytes.NewReader(before.Context))
		decoder.UseNumber()
		if err := decoder.Decode(&out.CallbackContext); err != nil {
			return out, fmt.Errorf("read the callback context of a hook: %w", err)
		}
	}
	switch about.Target.Kind {
	case Resource, CloudControl:
		out.Target.Model = TargetModel(request.Action, request.Desired, request.Previous)
	default:
		if ready.Whole {
			out.Target.Payload = about.Payload
			break
		}
		if e.config.Offer == nil {
			return out, errors.New("there is no place for the payloads of hooks")
		}
		url, err := e.config.Offer(ctx, request.Caller, id, about.Payload)
		if err != nil {
			return out, fmt.Errorf("offer the payload of a hook: %w", err)
		}
		out.Target.Payload = url
	}
	return out, nil
}

// TargetModel is the targetModel of a resource. Before a deletion there are only the properties
// that the resource has: the libraries read them as resourceProperties, functions of Lambda Hooks
// as previousResourceProperties.
func TargetModel(action invoke.Action, desired, previous map[string]any) map[string]any {
	model := map[string]any{"resourceProperties": object(desired)}
	if action == invoke.DeletePreProvision {
		model["resourceProperties"] = object(previous)
	}
	if action != invoke.CreatePreProvision {
		model["previousResourceProperties"] = object(previous)
	}
	return model
}

func object(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// progress is what came of a call. What the hook did wrong fails the invocation; other errors say
// nothing about it.
func (e *Engine) progress(request operation.Request, before callback, ready *Ready, event *invoke.Event, err error) (operation.Progress, error) {
	redactor := ready.Config.Redactor
	var unanswered *invoke.CallError
	var broken *invoke.ProtocolError
	var late *invoke.TimeoutError
	var busy *lambda.ThrottledError
	failed := func(message string) (operation.Progress, error) {
		return verdict{Status: types.HookStatusHookFailed, Message: message}.progress()
	}
	switch {
	case err == nil && event.Status == invoke.Failed && event.ErrorCode.Retriable() && request.Attempts < maxTries-1:
		return operation.Progress{Status: types.OperationStatusFailed, ErrorCode: string(invoke.Throttling)}, nil
	case err == nil:
		return judged(event, redactor).progress()
	case errors.Is(err, invoke.ErrReinvokeLimit):
		return inProgress(event, before)
	case errors.Is(err, context.Canceled):
		return operation.Progress{}, err // the program stops
	case errors.As(err, &late), errors.As(err, &busy):
		if request.Attempts < maxTries-1 {
			return operation.Progress{Status: types.OperationStatusFailed, ErrorCode: string(invoke.Throttling), Delay: time.Second}, nil
		}
		if late != nil {
			return failed(timedOut)
		}
		return failed(line(redactor.Text(err.Error())))
	case errors.As(err, &unanswered), errors.As(err, &broken):
		return failed(line(redactor.Text(err.Error())))
	}
	return operation.Progress{}, err
}

// judged is the verdict of a hook that has finished.
func judged(event *invoke.Event, redactor *invoke.Redactor) verdict {
	v := verdict{Status: types.HookStatusHookCompleteSucceeded, Message: redactor.Text(event.Message), SkipsStack: event.Status == invoke.SkipStackHook}
	if event.Status == invoke.Failed {
		v.Status = types.HookStatusHookCompleteFailed
	}
	v.Annotations = annotations(event.Reply, redactor.Text)
	return v
}

// inProgress keeps what a hook wants to be called again with.
func inProgress(event *invoke.Event, before callback) (operation.Progress, error) {
	next := callback{Answers: before.Answers + 1}
	if next.Answers >= maxInProgress {
		return verdict{
			Status: types.HookStatusHookFailed, Message: fmt.Sprintf("The hook returned IN_PROGRESS %d times.", next.Answers),
		}.progress()
	}
	var err error
	if event.CallbackContext != nil {
		if next.Context, err = json.Marshal(event.CallbackContext); err != nil {
			return operation.Progress{}, err
		}
	}
	p := operation.Progress{Status: types.OperationStatusInProgress, Delay: event.CallbackDelay}
	p.Callback, err = json.Marshal(next)
	return p, err
}

// annotations reads the annotations of a reply. Those without a name, or with a status that does
// not exist, are left out.
func annotations(reply *document.Value, hide func(string) string) []types.Annotation {
	if reply == nil {
		return nil
	}
	list := reply.Get("annotations")
	if list == nil || list.Kind != document.Array {
		return nil
	}
	var out []types.Annotation
	for _, item := range list.Items {
		var a types.Annotation
		text := func(name string) *string {
			if v := item.Get(name); v != nil && v.Kind == document.String {
				shown := words.CutRunes(hide(v.Text), maxAnnotation)
				return &shown
			}
			return nil
		}
		a.AnnotationName, a.StatusMessage = text("annotationName"), text("statusMessage")
		a.RemediationMessage, a.RemediationLink = text("remediationMessage"), text("remediationLink")
		if status := text("status"); status != nil {
			a.Status = known(types.AnnotationStatus(*status))
		}
		if level := text("severityLevel"); level != nil {
			a.SeverityLevel = known(types.AnnotationSeverityLevel(*level))
		}
		if a.AnnotationName != nil && a.Status != "" && len(out) < maxAnnotations {
			out = append(out, a)
		}
	}
	return out
}

// known is a value of an enumeration, "" for any other.
func known[T interface {
	~string
	Values() []T
}](value T) T {
	for _, v := range value.Values() {
		if v == value {
			return v
		}
	}
	return ""
}

// line is the part of an error that a reason has room for. The log of the hook has all of it.
func line(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return words.CutRunes(strings.Map(func(c rune) rune {
		if c < ' ' {
			return -1
		}
		return c
	}, strings.ToValidUTF8(first, "\uFFFD")), maxMessage)
}
