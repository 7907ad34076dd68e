package operation

import (
	"context"
	"errors"
	"time"

	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Read reads a resource and returns the terminal progress: SUCCESS with the model, or FAILED
// with the code and message of the handler. It writes no rows: a READ changes nothing, so an
// interrupted caller reads again. Transient error codes are retried as those of operations
// are, with the delays. Request.Action and Token are set here.
//
// The error is an [*UnknownTypeError] for a type that there is not, that of ctx, or one of
// this machine.
func (e *Engine) Read(ctx context.Context, request Request) (Progress, error) {
	typ, err := e.config.Types.Type(ctx, request.Caller, request.Type, request.Version)
	if err != nil {
		return Progress{}, err
	}
	request.Action, request.Token, request.Version = invoke.Read, e.config.NewID(), typ.Version
	if e.config.Prepare != nil {
		var refused *awswire.Error
		if request, err = e.config.Prepare(ctx, request); errors.As(err, &refused) {
			return Progress{Status: cfn.OperationStatusFailed, Message: refused.Message, Own: true}, nil
		}
		if err != nil {
			return Progress{}, err
		}
	}
	deadline := e.config.Now().Add(e.timeout(typ, invoke.Read))
	for {
		progress, err := e.provide(ctx, typ, request)
		if err != nil {
			return Progress{}, err
		}
		wait := progress.Delay
		switch {
		case progress.Status == cfn.OperationStatusInProgress:
			request.Attempts, request.Callback, request.Model = 0, compact(progress.Callback), progress.Model
		case progress.Status == cfn.OperationStatusFailed && invoke.Code(progress.ErrorCode).Retriable() && request.Attempts < max(0, e.config.Retries.Max):
			request.Attempts++
			wait = e.config.Retries.after(int64(request.Attempts))
		default:
			if typ.Schema != nil && progress.Model != nil {
				progress.Model, _ = typ.Schema.Recast(progress.Model).(map[string]any)
			}
			return progress, nil
		}
		wait = max(time.Duration(float64(wait)/e.config.TimeScale), time.Millisecond)
		if !e.config.Now().Add(wait).Before(deadline) {
			return Progress{
				Status: cfn.OperationStatusFailed, ErrorCode: string(invoke.NotStabilized), Own: true,
				Message: "Resource timed out waiting for completion (RequestToken: " + request.Token + ")",
			}, nil
		}
		if err := invoke.Sleep(ctx, wait); err != nil {
			return Progress{}, err
		}
	}
}
