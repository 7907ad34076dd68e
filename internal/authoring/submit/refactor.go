package submit

import (
	"cmp"
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/proving/contract"
)

// CreateRefactor creates a stack refactor and waits until the service has found out what moves.
func (r *Remote) CreateRefactor(ctx context.Context, in *cloudformation.CreateStackRefactorInput) (*cloudformation.DescribeStackRefactorOutput, error) {
	out, err := r.cloudformation.CreateStackRefactor(ctx, in)
	if err != nil {
		return nil, err
	}
	return r.FollowRefactor(ctx, aws.ToString(out.StackRefactorId))
}

// Refactor creates a stack refactor and executes it. One that fails is a [*contract.Refusal].
func (r *Remote) Refactor(ctx context.Context, in *cloudformation.CreateStackRefactorInput) error {
	made, err := r.CreateRefactor(ctx, in)
	if err != nil {
		return err
	}
	if made.Status != types.StackRefactorStatusCreateComplete {
		return &contract.Refusal{Code: "StackRefactorFailed", Message: cmp.Or(aws.ToString(made.StatusReason), string(made.Status))}
	}
	if _, err := r.cloudformation.ExecuteStackRefactor(ctx, &cloudformation.ExecuteStackRefactorInput{StackRefactorId: made.StackRefactorId}); err != nil {
		return err
	}
	end, err := r.FollowRefactor(ctx, aws.ToString(made.StackRefactorId))
	if err != nil {
		return err
	}
	if end.ExecutionStatus != types.StackRefactorExecutionStatusExecuteComplete {
		return &contract.Refusal{Code: "StackRefactorFailed", Message: cmp.Or(aws.ToString(end.ExecutionStatusReason), string(end.ExecutionStatus))}
	}
	return nil
}

// FollowRefactor waits until nothing of a stack refactor is in progress.
func (r *Remote) FollowRefactor(ctx context.Context, id string) (*cloudformation.DescribeStackRefactorOutput, error) {
	for {
		out, err := r.cloudformation.DescribeStackRefactor(ctx, &cloudformation.DescribeStackRefactorInput{StackRefactorId: &id})
		if err != nil {
			return nil, err
		}
		busy := out.Status == types.StackRefactorStatusCreateInProgress ||
			out.ExecutionStatus == types.StackRefactorExecutionStatusExecuteInProgress ||
			out.ExecutionStatus == types.StackRefactorExecutionStatusRollbackInProgress
		if !busy {
			return out, nil
		}
		if err := r.waitAgain(ctx); err != nil {
			return out, err
		}
	}
}

// RefactorActions lists what a stack refactor does.
func (r *Remote) RefactorActions(ctx context.Context, id string) ([]types.StackRefactorAction, error) {
	in := &cloudformation.ListStackRefactorActionsInput{StackRefactorId: &id}
	var found []types.StackRefactorAction
	actions := pages(func(token *string) ([]types.StackRefactorAction, *string, error) {
		in.NextToken = token
		out, err := r.cloudformation.ListStackRefactorActions(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		return out.StackRefactorActions, out.NextToken, nil
	})
	for action, err := range actions {
		if err != nil {
			return nil, err
		}
		found = append(found, action)
	}
	return found, nil
}
