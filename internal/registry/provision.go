package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/invoke"
	"github.com/formwork-dev/formwork/internal/lambda"
	"github.com/formwork-dev/formwork/internal/operation"
	"github.com/formwork-dev/formwork/internal/schema"
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
	r, v := p.registry, p.version
	switch {
	case v.Schema.Handler(request.Action.Handler()) == nil && request.Action == invoke.Update:
		return ownFailure("NotUpdatable", "The resource type %s has no update handler.", request.Type), nil
	case v.Schema.Handler(request.Action.Handler()) == nil:
		return ownFailure(invoke.InvalidRequest, "The resource type %s has no %s handler.", request.Type, request.Action.Handler()), nil
	case r.config.Functions == nil || v.Runtime == "":
		return ownFailure(invoke.InternalFailure, "The handlers of the resource type %s cannot be run by this server.", request.Type), nil
	}
	configuration, failed, err := p.configuration(ctx, request.Caller)
	if failed != nil {
		return *failed, nil
	} else if err != nil {
		return operation.Progress{}, err
	}
	function, err := r.config.Functions.Function(ctx, v.Function())
	switch {
	case errors.Is(err, context.Canceled), err != nil && ctx.Err() != nil:
		return operation.Progress{}, err
	case err != nil:
		return ownFailure(invoke.InternalFailure, "The handler does not start: %s", firstLine(err.Error())), nil
	}
	redactor := invoke.NewRedactor(v.Schema)
	config := invoke.Config{
		Function: function, Schema: v.Schema, Region: v.Region, AccountID: v.Account, Redactor: redactor, Now: r.config.Now,
		MaxReinvoke: -1,
		Timeout:     -1, // the engine's deadline ends ctx
	}
	if r.config.Credentials != nil {
		config.Credentials = r.config.Credentials.For(request.Caller, v.ExecutionRole)
	}
	call, err := p.request(request, configuration)
	if err != nil {
		return operation.Progress{}, err
	}
	event, err := invoke.New(config).Run(ctx, call)
	return p.progress(event, err, redactor)
}

// configuration is the configuration of the type as its handlers get it. A dynamic
// reference that leads nowhere fails the operation.
func (p *provider) configuration(ctx context.Context, caller awswire.Caller) (any, *operation.Progress, error) {
	text, err := p.registry.Configuration(ctx, caller, p.version, "")
	var refused *awswire.Error
	switch {
	case errors.As(err, &refused):
		failed := ownFailure("InvalidTypeConfiguration", "The configuration of the type %s cannot be used: %s", p.version.TypeName, refused.Message)
		return nil, &failed, nil
	case err != nil:
		return nil, nil, err
	}
	configuration, err := decoded(text)
	if err != nil {
		return nil, nil, errors.New("the configuration of the type is not readable") // the error would show a piece of it
	}
	return configuration, nil, nil
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
			return invoke.Request{}, fmt.Errorf("the callback context of %s is not readable", request.Type)
		}
	}
	return invoke.Request{
		Action: request.Action, TypeName: p.version.SchemaName, TypeVersion: p.version.VersionID, Token: request.Token,
		LogicalID: request.LogicalID, StackID: request.StackID, Model: withIdentifier(p.version.Schema, model, request.Identifier), Previous: request.Previous,
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
		out.Model, out.Identifier = event.Model, identifierOf(p.version.Schema, event.Model)
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

// identifierOf is the physical id of a model: the values of the primary identifier, joined
// with "|". It is "" if one of them is missing or is not a scalar.
func identifierOf(s *schema.Schema, model map[string]any) string {
	values, ok := schema.Identifier(model, s.PrimaryIdentifier)
	if !ok {
		return ""
	}
	texts := make([]string, len(values))
	for i, value := range values {
		switch value := value.(type) {
		case string:
			texts[i] = value
		case json.Number, bool, float64:
			texts[i] = fmt.Sprint(value)
		default:
			return ""
		}
	}
	return strings.Join(texts, "|")
}

// withIdentifier is a model with the values of a physical id where it has none itself.
func withIdentifier(s *schema.Schema, model map[string]any, identifier string) map[string]any {
	paths := s.PrimaryIdentifier
	if _, known := schema.Identifier(model, paths); known || identifier == "" {
		return model
	}
	texts := []string{identifier}
	if len(paths) > 1 {
		texts = strings.Split(identifier, "|")
	}
	if len(texts) != len(paths) {
		return model
	}
	filled := maps.Clone(model)
	if filled == nil {
		filled = map[string]any{}
	}
	for i, path := range paths {
		if _, known := schema.Identifier(filled, paths[i:i+1]); !known {
			copied, _ := schema.Without(filled, nil).(map[string]any) // Put changes in place
			filled, _ = invoke.Put(copied, path.Tokens, texts[i]).(map[string]any)
		}
	}
	filled, _ = s.Recast(filled).(map[string]any)
	return filled
}

func decoded(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// maxReason bounds what is told of an error, in characters.
const maxReason = 500

// firstLine is the part of an error that fits into the reason of an event. The whole stands
// in the handler's log.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return cutTo(printable(strings.ToValidUTF8(line, "\uFFFD")), maxReason)
}
