package stack

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// UpdateTerminationProtection protects a stack from deletion, or no longer.
func (e *Engine) UpdateTerminationProtection(ctx context.Context, caller awswire.Caller, in *cloudformation.UpdateTerminationProtectionInput) (*cloudformation.UpdateTerminationProtectionOutput, error) {
	s, err := requireStack(ctx, e.store.Read(), caller, in.StackName, "missing")
	if err != nil {
		return nil, err
	}
	if !s.Live {
		return nil, refuse("state", s.ARN, s.Status)
	}
	if s.ParentID != "" {
		return nil, refuse("protected-child", s.RootID)
	}
	if err := e.protect(ctx, s.ID, s.ARN, aws.ToBool(in.EnableTerminationProtection)); err != nil {
		return nil, err
	}
	return &cloudformation.UpdateTerminationProtectionOutput{StackId: aws.String(s.ARN)}, nil
}

// protect sets the termination protection of a stack and of those nested in it.
func (e *Engine) protect(ctx context.Context, id, arn string, on bool) error {
	return e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		rows, err := store.FindAll[stackRow](ctx, tx, "id", "id = ? OR root_id = ? AND live", id, arn)
		if err != nil {
			return err
		}
		for i := range rows {
			rows[i].Protected = on
			if err := store.Swap(ctx, tx, &rows[i], &rows[i].RowVersion); err != nil {
				return err
			}
		}
		return nil
	})
}
