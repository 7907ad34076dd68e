package local

import (
	"context"
	"encoding/json"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/lambda"
)

// reporting lets a handler report with RecordHandlerProgress on the operation that a
// caller of Lambda Invoke has it do: its bearer token is known from the first call until
// a reply that ends the operation, and for 36 hours after a call that is never continued.
type reporting struct {
	lambda.Invoker
	cloud  *CloudFormation
	caller awswire.Caller
}

func (r reporting) Invoke(ctx context.Context, payload []byte) (lambda.Result, error) {
	var request struct {
		BearerToken string `json:"bearerToken"`
	}
	// What is no request of CloudFormation is for the handler to understand.
	if json.Unmarshal(payload, &request) != nil || request.BearerToken == "" || len(request.BearerToken) > maxBearerToken {
		return r.Invoker.Invoke(ctx, payload)
	}
	if err := r.cloud.registry.BeginProgress(ctx, r.caller, request.BearerToken); err != nil {
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
	// Also where the caller has gone away: nobody else would end it.
	if _, err := r.cloud.registry.EndProgress(context.WithoutCancel(ctx), r.caller, request.BearerToken); err != nil {
		r.cloud.config.Logger.Error("a bearer token is not forgotten before it expires", "error", err)
	}
	return result, err
}

// maxBearerToken is the longest token that RecordHandlerProgress takes.
const maxBearerToken = 128
