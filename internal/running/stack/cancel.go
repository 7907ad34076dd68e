package stack

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// CancelUpdateStack stops an update: running steps finish, no new ones start, and the stack is
// rolled back.
func (e *Engine) CancelUpdateStack(ctx context.Context, caller awswire.Caller, in *cloudformation.CancelUpdateStackInput) (*cloudformation.CancelUpdateStackOutput, error) {
	err := e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		s, err := requireStack(ctx, tx, caller, in.StackName, "missing")
		if err != nil {
			return err
		}
		token := aws.ToString(in.ClientRequestToken)
		if s.Status != types.StackStatusUpdateInProgress {
			again, err := canceledBefore(ctx, tx, s, token)
			if !again && err == nil {
				err = refuse("cancel")
			}
			return err
		}
		return e.cancelUpdate(ctx, tx, s, token)
	})
	if err != nil {
		return nil, err
	}
	return &cloudformation.CancelUpdateStackOutput{}, nil
}

// canceledBefore reports whether the last operation on a stack was canceled by a request with a token.
func canceledBefore(ctx context.Context, tx *store.Tx, s *stackRow, token string) (bool, error) {
	operations := s.Settings.Get().LastOperations
	if token == "" || len(operations) == 0 {
		return false, nil
	}
	op, err := store.Find[operationRow](ctx, tx, "id = ?", aws.ToString(operations[0].OperationId))
	return err == nil && op != nil && op.Options.Get().CancelToken == token, err
}

// cancelUpdate has the operation of a stack stop, if the transaction commits.
func (e *Engine) cancelUpdate(ctx context.Context, tx *store.Tx, s *stackRow, token string) error {
	op, err := store.Find[operationRow](ctx, tx, "id = ?", s.OperationID)
	if err != nil || op == nil || op.Cancelled {
		return err
	}
	if op.refactored() {
		return refuse("cancel")
	}
	options := op.Options.Get()
	options.CancelToken = token
	op.Options, op.Cancelled = store.JSONOf(options), true
	if err := store.Swap(ctx, tx, op, &op.RowVersion); err != nil {
		return err
	}
	return tx.Wake(ctx, wakeKind, s.ID, time.Time{})
}
