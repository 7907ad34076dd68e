package macro

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// runner runs the transforms of a caller's templates.
type runner struct {
	*Macros
	caller awswire.Caller
}

// A request is what the function of a macro gets.
type request struct {
	Region      string          `json:"region"`
	AccountID   string          `json:"accountId"`
	Fragment    json.RawMessage `json:"fragment"`
	TransformID string          `json:"transformId"`
	Params      json.RawMessage `json:"params"`
	RequestID   string          `json:"requestId"`
	Values      map[string]any  `json:"templateParameterValues"`
}

// Transform implements template.Macros.
func (r runner) Transform(ctx context.Context, call template.MacroCall) ([]byte, error) {
	if call.Name == template.Serverless {
		return r.config.Translator.translate(ctx, r.caller, call)
	}
	if strings.HasPrefix(call.Name, "AWS::") {
		return nil, template.ErrNoMacro
	}
	macro, err := r.Get(ctx, r.caller.Place, call.Name)
	var refusal *awswire.Error
	switch {
	case errors.As(err, &refusal):
		return nil, template.ErrNoMacro
	case err != nil:
		return nil, err
	}
	id := r.config.NewID()
	payload, err := json.Marshal(request{
		Region: r.caller.Region, AccountID: r.caller.Account, Fragment: call.Fragment, TransformID: call.TransformID,
		Params: call.Params, RequestID: id, Values: call.Values,
	})
	if err != nil {
		return nil, err
	}
	timeout := fmt.Errorf("the function %s did not respond within %s", macro.Function, r.config.Timeout)
	bounded, cancel := context.WithTimeoutCause(ctx, r.config.Timeout, timeout)
	defer cancel()
	result, err := r.config.Functions.Call(bounded, r.caller, macro.Function, payload, call.Secrets)
	var failure *lambda.FunctionError
	var none *lambda.RefusedError
	switch {
	case errors.As(err, &failure):
		// The service reads what a failed function answers like any response.
		r.malformed(ctx, call, macro, err.Error())
		return result.Payload, nil
	case errors.As(err, &none):
		return nil, errors.New(none.Message)
	case errors.Is(err, timeout):
		return nil, timeout
	case err != nil:
		return nil, err
	}
	return r.checked(ctx, call, macro, id, result.Payload), nil
}

// checked is a response if it answers the request of the id; otherwise one that the
// template refuses as malformed.
func (r runner) checked(ctx context.Context, call template.MacroCall, macro *Macro, id string, payload []byte) []byte {
	var response struct {
		RequestID *string `json:"requestId"`
	}
	switch err := json.Unmarshal(payload, &response); {
	case err != nil:
		r.malformed(ctx, call, macro, "not an object with the string requestId")
	case response.RequestID == nil:
		r.malformed(ctx, call, macro, "requestId is missing")
	case *response.RequestID != id:
		r.malformed(ctx, call, macro, "requestId is not that of the request")
	default:
		return payload
	}
	return []byte("null")
}

// malformed logs why a response is refused, which the service does not say.
func (r runner) malformed(ctx context.Context, call template.MacroCall, macro *Macro, why string) {
	r.config.Logger.WarnContext(ctx, "malformed response of a macro", "macro", call.TransformID, "function", macro.Function, "reason", why)
}
