package stack

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// ContinueUpdateRollback tries a rollback again that failed.
func (e *Engine) ContinueUpdateRollback(ctx context.Context, caller awswire.Caller, in *cloudformation.ContinueUpdateRollbackInput) (*cloudformation.ContinueUpdateRollbackOutput, error) {
	force := aws.ToBool(in.ForceRollback)
	if force && len(in.ResourcesToSkip) > 0 {
		return nil, refuse("skip-force")
	}
	err := e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		s, err := requireStack(ctx, tx, caller, in.StackName, "missing")
		if err != nil {
			return err
		}
		if s.ParentID != "" {
			return refuse("continue-child")
		}
		token, hash := aws.ToString(in.ClientRequestToken), requestHash(in)
		if s.Status != types.StackStatusUpdateRollbackFailed {
			again, err := begunBefore(ctx, tx, s, token, hash, "kind = ?", types.OperationTypeContinueRollback)
			if again == nil && err == nil {
				err = refuse("continue", s.ARN, s.Status)
			}
			return err
		}
		if err := e.checkSkipped(ctx, tx, s, in.ResourcesToSkip); err != nil {
			return err
		}
		_, err = e.begin(ctx, tx, s, beginInput{
			kind: types.OperationTypeContinueRollback, status: types.StackStatusUpdateRollbackInProgress,
			options: operationOptions{SkipResources: in.ResourcesToSkip, ForceRollback: force},
			token:   token, hash: hash, caller: caller,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &cloudformation.ContinueUpdateRollbackOutput{}, nil
}

// checkSkipped refuses to skip resources whose rollback has not failed. CHILD.RESOURCE names
// one in a nested stack, by the name of that stack. A nested stack itself can be skipped only
// if it is gone, or going.
func (e *Engine) checkSkipped(ctx context.Context, tx *store.Tx, s *stackRow, skipped []string) error {
	for _, id := range skipped {
		of, logicalID := s, id
		if child, below, nested := strings.Cut(id, "."); nested {
			var err error
			logicalID = below
			if of, err = store.Find[stackRow](ctx, tx, "account = ? AND region = ? AND name = ? AND live AND root_id = ?", s.Account, s.Region, child, cmp.Or(s.RootID, s.ARN)); err != nil {
				return err
			}
			if of == nil || of.Status != types.StackStatusUpdateRollbackFailed {
				return refuse("skip", id)
			}
		}
		x, err := store.Find[resourceRow](ctx, tx, "stack_id = ? AND logical_id = ?", of.ID, logicalID)
		if err != nil {
			return err
		}
		if x == nil || x.Status != types.ResourceStatusUpdateFailed {
			return refuse("skip", id)
		}
		if !natureOf(x.Type).contains {
			continue
		}
		child, err := store.Find[stackRow](ctx, tx, "arn = ?", x.PhysicalID)
		if err != nil {
			return err
		}
		if child != nil && !slices.Contains(skippable, child.Status) {
			return refuse("skip-nested", id, child.Status)
		}
	}
	return nil
}

// skippable are the statuses in which a nested stack can be skipped.
var skippable = []types.StackStatus{types.StackStatusDeleteInProgress, types.StackStatusDeleteComplete, types.StackStatusDeleteFailed}

// RollbackStack takes a stack back that failed and was left as it was.
func (e *Engine) RollbackStack(ctx context.Context, caller awswire.Caller, in *cloudformation.RollbackStackInput) (*cloudformation.RollbackStackOutput, error) {
	out := &cloudformation.RollbackStackOutput{}
	err := e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		s, err := requireStack(ctx, tx, caller, in.StackName, "missing")
		if err != nil {
			return err
		}
		if s.ParentID != "" {
			return refuse("rollback-child")
		}
		token, hash := aws.ToString(in.ClientRequestToken), requestHash(in)
		status := types.StackStatusUpdateRollbackInProgress
		switch s.Status {
		case types.StackStatusUpdateFailed:
		case types.StackStatusCreateFailed:
			status = types.StackStatusRollbackInProgress
		default:
			again, err := begunBefore(ctx, tx, s, token, hash, "kind = ?", types.OperationTypeRollback)
			if err != nil {
				return err
			}
			if again == nil {
				return refuse("rollback", s.ARN, s.Status)
			}
			out.StackId, out.OperationId = aws.String(s.ARN), aws.String(again.ID)
			return nil
		}
		if s.StableDeploymentID == "" {
			status = types.StackStatusRollbackInProgress
		}
		options := operationOptions{OnFailure: types.OnFailureRollback, RetainExceptOnCreate: aws.ToBool(in.RetainExceptOnCreate), Mode: modeOf(in.DeploymentConfig)}
		id, err := e.begin(ctx, tx, s, beginInput{
			kind: types.OperationTypeRollback, status: status, options: options,
			token: token, hash: hash, caller: caller,
		})
		out.StackId, out.OperationId = aws.String(s.ARN), aws.String(id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
