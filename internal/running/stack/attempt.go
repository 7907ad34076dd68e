package stack

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// An Attempt is the state of a stack, and of the operation on it that began with a client request
// token.
type Attempt struct {
	ARN    string
	Live   bool // the stack exists: it is not deleted
	Status types.StackStatus
	Reason string

	Begun, Ended bool        // the operation of the token
	Failure      *EventState // why the operation failed first, nil if it did not
}

// Attempt finds a stack by its name or ARN, and the operation of a token. It returns nil if there
// is no such stack; one that was deleted is found by its ARN only.
func (e *Engine) Attempt(ctx context.Context, place awswire.Place, stack, token string) (*Attempt, error) {
	s, err := findStack(ctx, e.store.Read(), awswire.Caller{Place: place}, stack)
	if err != nil || s == nil {
		return nil, err
	}
	out := &Attempt{ARN: s.ARN, Live: s.Live, Status: s.Status, Reason: s.Reason}
	op, err := store.Find[operationRow](ctx, e.store.Read(), "stack_id = ? AND client_token = ?", s.ID, token)
	if err != nil || op == nil {
		return out, err
	}
	out.Begun, out.Ended = true, s.OperationID != op.ID
	if out.Ended {
		out.Failure, err = e.firstFailure(ctx, s, op.ID)
	}
	return out, err
}

// firstFailure is the first event of an operation that is a failure of a resource, or of the
// stack if no resource failed.
func (e *Engine) firstFailure(ctx context.Context, s *stackRow, operationID string) (*EventState, error) {
	const most = 1000
	events, err := e.Events(ctx, EventQuery{Place: s.caller().Place, Stack: s.ARN, OperationID: operationID, Failed: true, Limit: most})
	if err != nil {
		return nil, err
	}
	var found *EventState
	for i := range events { // the newest first
		if !events[i].OfStack || found == nil {
			found = &events[i]
		}
	}
	return found, nil
}

// IsNoUpdate reports whether an error is the refusal of an update that changes nothing.
func IsNoUpdate(err error) bool {
	var refused *awswire.Error
	return errors.As(err, &refused) && refused.Message == refusals["no-updates"].text
}
