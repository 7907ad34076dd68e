package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Type implements operation.Types for the resource types that an account has registered or
// activated. A version that was deregistered since a resource was made with it, or that an
// activated type has moved on from, is replaced by the one in use.
func (r *Registry) Type(ctx context.Context, caller awswire.Caller, name, version string) (*operation.Type, error) {
	v, err := r.Resolve(ctx, caller, schema.Resource, name, version)
	if notFound(err) && version != "" {
		v, err = r.Resolve(ctx, caller, schema.Resource, name, "")
	}
	switch {
	case notFound(err):
		return nil, &operation.UnknownTypeError{Name: name, Hint: "register it with cfn submit, or activate it with cfn types activate"}
	case err != nil:
		return nil, err
	}
	return &operation.Type{Name: name, Version: v.VersionID, Schema: v.Schema, Provider: &provider{r, v}}, nil
}

func notFound(err error) bool {
	var refused *awswire.Error
	return errors.As(err, &refused) && refused.Code == codeTypeNotFound
}

// A provider makes the calls of the handler of one version of a resource type.
type provider struct {
	registry *Registry
	version  *Version
}

// Call implements operation.Provider.
func (p *provider) Call(ctx context.Context, request operation.Request) (operation.Progress, error) {
	if p.version.Schema.Handler(request.Action.Handler()) == nil && request.Action == invoke.Update {
		return ownFailure("NotUpdatable", "The resource type %s has no update handler.", request.Type), nil
	}
	ready, failed, err := p.ready(ctx, request.Caller, request.Type, request.Action)
	if failed != nil {
		return *failed, nil
	} else if err != nil {
		return operation.Progress{}, err
	}
	call, err := p.request(request, ready.configuration)
	if err != nil {
		return operation.Progress{}, err
	}
	ready.hide(request.Secrets)
	event, err := ready.runner.Run(ctx, call)
	return p.progress(event, err, ready.redactor)
}

// ListResources implements operation.Lister.
func (p *provider) ListResources(ctx context.Context, request operation.ListRequest) (*operation.Page, error) {
	ready, failed, err := p.ready(ctx, request.Caller, request.Type, invoke.List)
	if failed != nil {
		return &operation.Page{ErrorCode: failed.ErrorCode, Message: failed.Message}, nil
	} else if err != nil {
		return nil, err
	}
	event, err := ready.runner.Run(ctx, invoke.Request{
		Action: invoke.List, TypeName: p.version.SchemaName, TypeVersion: p.version.VersionID, Model: request.Model,
		TypeConfiguration: ready.configuration, NextToken: request.NextToken, MaxResults: request.MaxResults,
	})
	progress, err := p.progress(event, err, ready.redactor)
	if err != nil {
		return nil, err
	}
	if progress.Status != cfn.OperationStatusSuccess {
		return &operation.Page{ErrorCode: progress.ErrorCode, Message: progress.Message}, nil
	}
	page := &operation.Page{NextToken: event.NextToken}
	for _, model := range event.Models {
		identifier := operation.IdentifierOf(p.version.Schema, model)
		if identifier == "" {
			return &operation.Page{ErrorCode: string(invoke.InternalFailure), Message: "The list handler returned a model without the primary identifier."}, nil
		}
		page.Resources = append(page.Resources, operation.Listed{Identifier: identifier, Model: model})
	}
	return page, nil
}

// A ready handler can be called.
type ready struct {
	config        invoke.Config
	runner        *invoke.Runner
	configuration any
	redactor      *invoke.Redactor
}

// ready prepares a call of a handler. failed is not nil if it cannot be called.
func (p *provider) ready(ctx context.Context, caller awswire.Caller, name string, action invoke.Action) (out *ready, failed *operation.Progress, err error) {
	r, v := p.registry, p.version
	refuse := func(code invoke.Code, format string, args ...any) (*ready, *operation.Progress, error) {
		progress := ownFailure(code, format, args...)
		return nil, &progress, nil
	}
	switch {
	case v.Schema.Handler(action.Handler()) == nil:
		return refuse(invoke.InvalidRequest, "The resource type %s has no %s handler.", name, action.Handler())
	case r.config.Functions == nil || v.Runtime == "":
		return refuse(invoke.InternalFailure, "The handlers of the resource type %s cannot be run by this server.", name)
	}
	out = &ready{redactor: invoke.NewRedactor(v.Schema)}
	var resolved []string
	if out.configuration, resolved, failed, err = p.configuration(ctx, caller); failed != nil || err != nil {
		return nil, failed, err
	}
	function, err := r.config.Functions.Function(ctx, v.Function())
	switch {
	case errors.Is(err, context.Canceled), err != nil && ctx.Err() != nil:
		return nil, nil, err
	case err != nil:
		return refuse(invoke.InternalFailure, "The handler failed to start: %s", firstLine(err.Error()))
	}
	config := invoke.Config{
		Function: function, Schema: v.Schema, Region: v.Region, AccountID: v.Account, Redactor: out.redactor, Now: r.config.Now,
		MaxReinvoke: -1,
		Timeout:     -1, // the engine's deadline ends ctx
	}
	if r.config.Credentials != nil {
		config.Credentials = r.config.Credentials(caller, v.ExecutionRole)
	}
	out.config = config
	out.runner = invoke.New(config)
	if len(resolved) > 0 {
		out.hide(map[secret.Reason][]string{secret.Reference: resolved})
	}
	return out, nil, nil
}

// hide keeps secrets of a request out of what the call leaves behind.
func (r *ready) hide(secrets map[secret.Reason][]string) {
	if len(secrets) == 0 {
		return
	}
	for why, values := range secrets {
		r.redactor.LearnFor(why, values...)
	}
	r.config.Function = hiding(r.config.Function, secrets)
	r.runner = invoke.New(r.config)
}

// hiding is a function whose log has none of the secrets given.
func hiding(function invoke.Function, secrets map[secret.Reason][]string) invoke.Function {
	if function, ok := function.(interface {
		Hiding(secrets map[secret.Reason][]string) invoke.Function
	}); ok {
		return function.Hiding(secrets)
	}
	return function
}

// configuration is the configuration of the type as its handlers get it, and the secrets that its
// dynamic references stand for. One that cannot be resolved fails the operation.
func (p *provider) configuration(ctx context.Context, caller awswire.Caller) (any, []string, *operation.Progress, error) {
	text, secrets, err := p.registry.Configuration(ctx, caller, p.version, "")
	var refused *awswire.Error
	switch {
	case errors.As(err, &refused):
		failed := ownFailure("InvalidTypeConfiguration", "The configuration of the type %s cannot be used: %s", p.version.TypeName, refused.Message)
		return nil, nil, &failed, nil
	case err != nil:
		return nil, nil, nil, err
	}
	configuration, err := decoded(text)
	if err != nil {
		return nil, nil, nil, errors.New("cannot read the configuration of the type") // the error would show a piece of it
	}
	return configuration, secrets, nil, nil
}

// request is one call of the handler. The model has the primary identifier, even if only
// the physical id is known.
func (p *provider) request(request operation.Request, configuration any) (invoke.Request, error) {
	model := request.Desired
	if request.Model != nil {
		model = request.Model
	}
	var callback any
	if request.Callback != nil {
		var err error
		if callback, err = decoded(request.Callback); err != nil {
			return invoke.Request{}, fmt.Errorf("cannot read the callback context of %s", request.Type)
		}
	}
	return invoke.Request{
		Action: request.Action, TypeName: p.version.SchemaName, TypeVersion: p.version.VersionID, Token: request.Token,
		LogicalID: request.LogicalID, StackID: request.StackID, Model: operation.WithIdentifier(p.version.Schema, model, request.Identifier), Previous: request.Previous,
		TypeConfiguration: configuration, CallbackContext: callback,
		StackTags: request.StackTags, PreviousStackTags: request.PreviousStackTags,
		SystemTags: request.SystemTags, PreviousSystemTags: request.PreviousSystemTags, Rollback: request.Rollback,
	}, nil
}

// progress is what came of a call. What the handler did wrong fails the operation; other
// errors say nothing about it.
func (p *provider) progress(event *invoke.Event, err error, redactor *invoke.Redactor) (operation.Progress, error) {
	var unanswered *invoke.CallError
	var broken *invoke.ProtocolError
	var late *invoke.TimeoutError
	var busy *lambda.ThrottledError
	out := operation.Progress{}
	if event != nil {
		out.Model, out.Identifier = event.Model, operation.IdentifierOf(p.version.Schema, event.Model)
	}
	switch {
	case err == nil:
		out.Status, out.ErrorCode, out.Message = cfn.OperationStatus(event.Status), string(event.ErrorCode), redactor.Text(event.Message)
		if event.Status == invoke.Failed && !event.ErrorCode.Known() {
			out.ErrorCode = string(invoke.InternalFailure)
		}
		return out, nil
	case errors.Is(err, invoke.ErrReinvokeLimit):
		out.Status, out.Delay = cfn.OperationStatusInProgress, event.CallbackDelay
		if event.CallbackContext != nil {
			out.Callback, err = json.Marshal(event.CallbackContext)
			return out, err
		}
		return out, nil
	case errors.Is(err, context.Canceled):
		return operation.Progress{}, err // the program stops
	case errors.As(err, &busy):
		out.ErrorCode = string(invoke.Throttling)
	case errors.As(err, &unanswered), errors.As(err, &broken), errors.As(err, &late):
		out.ErrorCode = string(invoke.InternalFailure)
	default:
		return operation.Progress{}, err
	}
	out.Status, out.Message = cfn.OperationStatusFailed, firstLine(redactor.Text(err.Error()))
	return out, nil
}

// ownFailure is a failure that the server found, not the handler.
func ownFailure(code invoke.Code, format string, args ...any) operation.Progress {
	return operation.Progress{Status: cfn.OperationStatusFailed, ErrorCode: string(code), Message: fmt.Sprintf(format, args...), Own: true}
}

func decoded(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// maxReason limits the text of an error, in characters.
const maxReason = 500

// firstLine is the part of an error that fits into the reason of an event. The handler's log
// has all of it.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return words.CutRunes(printable(strings.ToValidUTF8(line, "\uFFFD")), maxReason)
}
