package stack

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// DeleteStack starts the deletion of a stack. Deleting a missing stack succeeds.
func (e *Engine) DeleteStack(ctx context.Context, caller awswire.Caller, in *cloudformation.DeleteStackInput) (*cloudformation.DeleteStackOutput, error) {
	if aws.ToString(in.StackName) == "" {
		return nil, refuse("name-required")
	}
	err := e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		s, err := findStack(ctx, tx, caller, *in.StackName)
		if err != nil || s == nil || !s.Live {
			return err
		}
		return e.beginDelete(ctx, tx, caller, s, in)
	})
	if err != nil {
		return nil, err
	}
	return &cloudformation.DeleteStackOutput{}, nil
}

func (e *Engine) beginDelete(ctx context.Context, tx *store.Tx, caller awswire.Caller, s *stackRow, in *cloudformation.DeleteStackInput) error {
	options := operationOptions{
		RetainResources: in.RetainResources, ForceDelete: in.DeletionMode == types.DeletionModeForceDeleteStack, Mode: modeOf(in.DeploymentConfig),
	}
	if err := e.refuseDelete(ctx, tx, s, options); err != nil {
		return err
	}
	if s.Status == types.StackStatusDeleteInProgress {
		return nil
	}
	if s.Status == types.StackStatusCreateInProgress {
		return e.stopCreate(ctx, tx, s)
	}
	if inProgress(s.Status) {
		return refuse("delete-state", s.Name, s.Status)
	}
	kept, err := e.keepExports(ctx, tx, s)
	if err != nil || kept {
		return err
	}
	settings := s.Settings.Get()
	settings.DeletionMode = in.DeletionMode
	if in.RoleARN != nil {
		s.RoleARN = *in.RoleARN
	}
	_, err = e.begin(ctx, tx, s, beginInput{
		kind: types.OperationTypeDeleteStack, status: types.StackStatusDeleteInProgress, options: options, settings: &settings,
		token: aws.ToString(in.ClientRequestToken), hash: requestHash(in), caller: caller,
	})
	return err
}

// refuseDelete refuses what the service refuses at the call.
func (e *Engine) refuseDelete(ctx context.Context, tx *store.Tx, s *stackRow, options operationOptions) error {
	if s.Protected {
		return refuse("protected", s.Name)
	}
	if s.Status == types.StackStatusDeleteInProgress {
		op, err := store.Find[operationRow](ctx, tx, "id = ?", s.OperationID)
		if err != nil || op == nil {
			return err
		}
		if len(options.RetainResources) > 0 && !slices.Equal(op.Options.Get().RetainResources, options.RetainResources) {
			return refuse("retain-differs", s.Name)
		}
		return nil
	}
	if options.ForceDelete && s.Status != types.StackStatusDeleteFailed {
		return refuse("force-early", s.Name)
	}
	if len(options.RetainResources) == 0 {
		return nil
	}
	if s.Status != types.StackStatusDeleteFailed {
		return refuse("retain-early", s.Name)
	}
	for _, id := range options.RetainResources {
		x, err := store.Find[resourceRow](ctx, tx, "stack_id = ? AND logical_id = ?", s.ID, id)
		if err != nil {
			return err
		}
		if x == nil || x.Status == types.ResourceStatusDeleteComplete {
			return refuse("retain-wrong")
		}
	}
	return nil
}

// stopCreate has a stack deleted that is still being created.
func (e *Engine) stopCreate(ctx context.Context, tx *store.Tx, s *stackRow) error {
	op, err := store.Find[operationRow](ctx, tx, "id = ?", s.OperationID)
	if err != nil || op == nil {
		return err
	}
	options := op.Options.Get()
	if options.Refactor != "" {
		return refuse("delete-state", s.Name, s.Status)
	}
	options.OnFailure = types.OnFailureDelete
	op.Options, op.Cancelled = store.JSONOf(options), true
	if err := store.Swap(ctx, tx, op, &op.RowVersion); err != nil {
		return err
	}
	return tx.Wake(ctx, wakeKind, s.ID, e.now().Time)
}
