package stack

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/schema"
)

// DescribeStackRefactor says what became of a refactor.
func (e *Engine) DescribeStackRefactor(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeStackRefactorInput) (*cloudformation.DescribeStackRefactorOutput, error) {
	row, err := requireRefactor(ctx, e.store.Read(), caller, aws.ToString(in.StackRefactorId))
	if err != nil {
		return nil, err
	}
	stacks, err := stacksOfRefactor(ctx, e.store.Read(), row.ID)
	if err != nil {
		return nil, err
	}
	out := &cloudformation.DescribeStackRefactorOutput{
		StackRefactorId: aws.String(row.ID), Description: optional(row.Description), Status: row.Status, StatusReason: optional(row.Reason),
		ExecutionStatus: row.ExecutionStatus, ExecutionStatusReason: optional(row.ExecutionReason), StackIds: []string{},
	}
	for _, s := range stacks {
		id := s.ARN
		if s.Fresh && row.Status != types.StackRefactorStatusCreateComplete { // the stack is not there
			id = s.Name
		}
		out.StackIds = append(out.StackIds, id)
	}
	return out, nil
}

// ListStackRefactors lists the refactors of an account and region, the newest first.
func (e *Engine) ListStackRefactors(ctx context.Context, caller awswire.Caller, in *cloudformation.ListStackRefactorsInput) (*cloudformation.ListStackRefactorsOutput, error) {
	for _, status := range in.ExecutionStatusFilter {
		if !slices.Contains(status.Values(), status) {
			return nil, refuse("refactor-filter", status)
		}
	}
	rows, err := allRows[refactorRow](ctx, e.store.Read(), "created_at DESC, id", "account = ? AND region = ?", caller.Account, caller.Region)
	if err != nil {
		return nil, err
	}
	all := make([]types.StackRefactorSummary, 0, len(rows))
	for _, row := range rows {
		if len(in.ExecutionStatusFilter) > 0 && !slices.Contains(in.ExecutionStatusFilter, row.ExecutionStatus) {
			continue
		}
		all = append(all, types.StackRefactorSummary{
			StackRefactorId: aws.String(row.ID), Description: optional(row.Description), Status: row.Status, StatusReason: optional(row.Reason),
			ExecutionStatus: row.ExecutionStatus, ExecutionStatusReason: optional(row.ExecutionReason),
		})
	}
	out := &cloudformation.ListStackRefactorsOutput{}
	out.StackRefactorSummaries, out.NextToken, err = pageUpTo(all, in.NextToken, aws.ToInt32(in.MaxResults))
	return out, err
}

// ListStackRefactorActions lists what a refactor does: the stacks that it creates, and the
// resources that it moves.
func (e *Engine) ListStackRefactorActions(ctx context.Context, caller awswire.Caller, in *cloudformation.ListStackRefactorActionsInput) (*cloudformation.ListStackRefactorActionsOutput, error) {
	row, err := requireRefactor(ctx, e.store.Read(), caller, aws.ToString(in.StackRefactorId))
	if err != nil {
		return nil, err
	}
	stacks, err := stacksOfRefactor(ctx, e.store.Read(), row.ID)
	if err != nil {
		return nil, err
	}
	all := []types.StackRefactorAction{}
	for _, s := range stacks {
		if s.Fresh && row.Status == types.StackRefactorStatusCreateComplete {
			all = append(all, types.StackRefactorAction{
				Action: types.StackRefactorActionTypeCreate, Entity: types.StackRefactorActionEntityStack, PhysicalResourceId: aws.String(s.ARN),
				Description: aws.String(fmt.Sprintf("Stack %s created.", s.ARN)), TagResources: []types.Tag{}, UntagResources: []string{},
			})
		}
	}
	for _, m := range row.Moves.Get() {
		all = append(all, m.action(stacks))
	}
	out := &cloudformation.ListStackRefactorActionsOutput{}
	out.StackRefactorActions, out.NextToken, err = pageUpTo(all, in.NextToken, aws.ToInt32(in.MaxResults))
	return out, err
}

// action is a move as the service shows it.
func (m refactorMove) action(stacks []refactorStackRow) types.StackRefactorAction {
	from, to := stacks[m.From], stacks[m.To]
	out := types.StackRefactorAction{
		Action: types.StackRefactorActionTypeMove, Entity: types.StackRefactorActionEntityResource, PhysicalResourceId: aws.String(schema.Ref(m.Type, m.PhysicalID)),
		Description: aws.String("No configuration changes detected."), Detection: types.StackRefactorDetectionAuto,
		TagResources: []types.Tag{}, UntagResources: []string{},
		ResourceMapping: &types.ResourceMapping{
			Source:      &types.ResourceLocation{StackName: aws.String(from.ARN), LogicalResourceId: aws.String(m.Source)},
			Destination: &types.ResourceLocation{StackName: aws.String(to.ARN), LogicalResourceId: aws.String(m.Target)},
		},
	}
	if len(m.Identifier) > 0 {
		out.ResourceIdentifier = aws.String(encode(m.Identifier))
	}
	if m.Manual {
		out.Detection = types.StackRefactorDetectionManual
	}
	if !m.Tagged {
		return out
	}
	before := systemTags(&stackRow{Name: from.Name, ARN: from.ARN}, m.Source, nil)
	after := systemTags(&stackRow{Name: to.Name, ARN: to.ARN}, m.Target, nil)
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if before[key] != after[key] {
			out.UntagResources = append(out.UntagResources, key)
			out.TagResources = append(out.TagResources, types.Tag{Key: aws.String(key), Value: aws.String(after[key])})
		}
	}
	return out
}
