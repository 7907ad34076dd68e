package stack

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/awswire"
)

// ListHookResults lists the invocations of hooks: none, since stacks invoke no hooks yet. A
// change set that exists has an empty list.
func (e *Engine) ListHookResults(ctx context.Context, caller awswire.Caller, in *cloudformation.ListHookResultsInput) (*cloudformation.ListHookResultsOutput, error) {
	out := &cloudformation.ListHookResultsOutput{HookResults: []types.HookResultSummary{}, TargetId: in.TargetId, TargetType: in.TargetType}
	switch {
	case (in.TargetId == nil) != (in.TargetType == ""):
		return nil, refuse("hook-target")
	case in.TargetId != nil && in.TypeArn != nil, in.Status != "" && in.TypeArn == nil:
		return nil, refuse("hook-filters")
	case in.TargetId == nil:
		return out, nil
	case in.TargetType != types.ListHookResultsTargetTypeChangeSet:
		return nil, refuse("hook-missing", *in.TargetId)
	}
	c, err := e.findSet(ctx, e.store.Read(), caller, in.TargetId, aws.String(""))
	if err != nil || c == nil {
		if _, refused := asRefusal(err); err != nil && !refused {
			return nil, err
		}
		return nil, refuse("hook-missing", *in.TargetId)
	}
	return out, nil
}
