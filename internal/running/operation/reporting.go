package operation

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Reporting is a handler that may report progress with RecordHandlerProgress during calls of
// Lambda Invoke: its bearer token is valid from the first call until a reply that ends the
// operation, and for 36 hours after a call that is never continued.
type Reporting struct {
	lambda.Invoker
	Tokens *Tokens
	Caller awswire.Caller
	Logger *slog.Logger
}

// Invoke implements lambda.Invoker.
func (r Reporting) Invoke(ctx context.Context, payload []byte) (lambda.Result, error) {
	var request struct {
		BearerToken string `json:"bearerToken"`
	}
	// A payload that is not a request of CloudFormation is for the handler to understand.
	if json.Unmarshal(payload, &request) != nil || request.BearerToken == "" || len(request.BearerToken) > maxBearerToken {
		return r.Invoker.Invoke(ctx, payload)
	}
	if err := r.Tokens.Begin(ctx, r.Caller, request.BearerToken); err != nil {
		return lambda.Result{}, err
	}
	result, err := r.Invoker.Invoke(ctx, payload)
	var reply struct {
		Status     string `json:"status"`
		HookStatus string `json:"hookStatus"`
	}
	if err == nil && json.Unmarshal(result.Payload, &reply) == nil && (reply.Status == "IN_PROGRESS" || reply.HookStatus == "IN_PROGRESS") {
		return result, nil // the caller calls again, with the same token
	}
	// Even if the caller has hung up: nothing else would end it.
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateWrite)
	defer cancel()
	if _, err := r.Tokens.End(within, r.Caller, request.BearerToken); err != nil {
		r.Logger.Error("a bearer token is not forgotten before it expires", "error", err)
	}
	return result, err
}

// maxBearerToken is the longest token that RecordHandlerProgress takes.
const maxBearerToken = 128
