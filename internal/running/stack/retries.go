package stack

import (
	"context"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A Retry is a call for a resource that is made again after it failed.
type Retry struct {
	LogicalID string
	operation.Retry
	Wait time.Duration // until then
}

// Retries lists the calls of the current operation on a stack that are waited for after they
// failed with a code that may pass.
func (e *Engine) Retries(ctx context.Context, caller awswire.Caller, name string) ([]Retry, error) {
	s, err := requireStack(ctx, e.store.Read(), caller, &name, "missing-id")
	if err != nil {
		return nil, err
	}
	steps, err := store.FindAll[stepRow](ctx, e.store.Read(), "logical_id", "operation_id = ? AND state IN (?, ?) AND call_id <> ''", s.OperationID, plan.StepRunning, plan.StepConfigured)
	if err != nil {
		return nil, err
	}
	var out []Retry
	for _, step := range steps {
		state, err := e.config.Operations.Get(ctx, step.CallID)
		if err != nil {
			return nil, err
		}
		if state != nil && state.Retry != nil {
			out = append(out, Retry{step.LogicalID, *state.Retry, max(0, state.Retry.At.Sub(e.now().Time))})
		}
	}
	return out, nil
}
