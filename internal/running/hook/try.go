package hook

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
)

// Try invokes the hooks of an evaluation one after the other and returns the results, in the order of
// Evaluation.Hooks. Nothing is written: the evaluation has no owner, and its results are not listed. Dynamic
// references in the properties are passed as they are.
func (e *Engine) Try(ctx context.Context, v *Evaluation) (out []Result, err error) {
	if (v.Target.Kind == Stack || v.Target.Kind == ChangeSet) && e.config.Withdraw != nil {
		defer func() {
			if failed := e.config.Withdraw(context.WithoutCancel(ctx), v.Caller, v.ID); failed != nil && err == nil {
				err = failed
			}
		}()
	}
	about := details{Target: v.Target, ChangeSetID: v.ChangeSetID, Payload: v.Payload}
	for i := range v.Hooks {
		result := v.result(&v.Hooks[i], e.config.NewID(), store.At(e.config.Now()))
		progress, err := e.finish(ctx, v.invocation(&v.Hooks[i], result.ID).Request, about, v.ID)
		if err != nil {
			return nil, err
		}
		verdictOf(operation.State{Progress: progress}).apply(result)
		result.EndedAt = store.At(e.config.Now())
		out = append(out, *result)
	}
	return out, nil
}

// finish makes the calls of an invocation until it has ended.
func (e *Engine) finish(ctx context.Context, request operation.Request, about details, id string) (operation.Progress, error) {
	for {
		progress, err := e.call(ctx, request, about, id)
		switch {
		case err != nil:
			return progress, err
		case progress.Status == types.OperationStatusInProgress:
			request.Callback, request.Attempts = progress.Callback, 0
		case progress.ErrorCode == string(invoke.Throttling):
			request.Attempts++
		default:
			return progress, nil
		}
		select {
		case <-ctx.Done():
			return progress, ctx.Err()
		case <-time.After(min(progress.Delay, e.config.CallTimeout)):
		}
	}
}
