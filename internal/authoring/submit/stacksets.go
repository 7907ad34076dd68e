package submit

import (
	"context"
	"errors"
	"iter"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// StackSets lists the stack sets of the region, with deleted ones if all is set.
func (r *Remote) StackSets(ctx context.Context, all bool) iter.Seq2[types.StackSetSummary, error] {
	in := &cloudformation.ListStackSetsInput{}
	if !all {
		in.Status = types.StackSetStatusActive
	}
	return pages(func(token *string) ([]types.StackSetSummary, *string, error) {
		in.NextToken = token
		out, err := r.cloudformation.ListStackSets(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		return out.Summaries, out.NextToken, nil
	})
}

// StackSet describes a stack set, nil if it does not exist.
func (r *Remote) StackSet(ctx context.Context, name string) (*types.StackSet, error) {
	out, err := r.cloudformation.DescribeStackSet(ctx, &cloudformation.DescribeStackSetInput{StackSetName: &name})
	var missing *types.StackSetNotFoundException
	switch {
	case errors.As(err, &missing):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return out.StackSet, nil
}

// StackInstances lists the instances of a stack set.
func (r *Remote) StackInstances(ctx context.Context, set string) ([]types.StackInstanceSummary, error) {
	in := &cloudformation.ListStackInstancesInput{StackSetName: &set}
	return collect(pages(func(token *string) ([]types.StackInstanceSummary, *string, error) {
		in.NextToken = token
		out, err := r.cloudformation.ListStackInstances(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		return out.Summaries, out.NextToken, nil
	}))
}

// StackSetOperations lists the operations on a stack set, the newest first.
func (r *Remote) StackSetOperations(ctx context.Context, set string) iter.Seq2[types.StackSetOperationSummary, error] {
	in := &cloudformation.ListStackSetOperationsInput{StackSetName: &set}
	return pages(func(token *string) ([]types.StackSetOperationSummary, *string, error) {
		in.NextToken = token
		out, err := r.cloudformation.ListStackSetOperations(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		return out.Summaries, out.NextToken, nil
	})
}

// StackSetResults lists what an operation on a stack set did to each instance.
func (r *Remote) StackSetResults(ctx context.Context, set, operation string) ([]types.StackSetOperationResultSummary, error) {
	in := &cloudformation.ListStackSetOperationResultsInput{StackSetName: &set, OperationId: &operation}
	return collect(pages(func(token *string) ([]types.StackSetOperationResultSummary, *string, error) {
		in.NextToken = token
		out, err := r.cloudformation.ListStackSetOperationResults(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		return out.Summaries, out.NextToken, nil
	}))
}

func collect[T any](list iter.Seq2[T, error]) (found []T, err error) {
	for item, err := range list {
		if err != nil {
			return nil, err
		}
		found = append(found, item)
	}
	return found, nil
}

// FollowStackSet waits for the end of an operation on a stack set, and reports its results each
// time that it has looked.
func (r *Remote) FollowStackSet(ctx context.Context, set, operation string, report func([]types.StackSetOperationResultSummary)) (*types.StackSetOperation, error) {
	for {
		out, err := r.cloudformation.DescribeStackSetOperation(ctx, &cloudformation.DescribeStackSetOperationInput{StackSetName: &set, OperationId: &operation})
		if err != nil {
			return nil, err
		}
		results, err := r.StackSetResults(ctx, set, operation)
		if err != nil {
			return nil, err
		}
		report(results)
		switch out.StackSetOperation.Status {
		case types.StackSetOperationStatusRunning, types.StackSetOperationStatusQueued, types.StackSetOperationStatusStopping:
		default:
			return out.StackSetOperation, nil
		}
		if err := r.waitAgain(ctx); err != nil {
			return out.StackSetOperation, err
		}
	}
}
