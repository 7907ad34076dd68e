package refactor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// DescribeStackRefactor says what became of a refactor.
func (e *Engine) DescribeStackRefactor(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeStackRefactorInput) (*cloudformation.DescribeStackRefactorOutput, error) {
	row, err := require(ctx, e.store.Read(), caller, aws.ToString(in.StackRefactorId))
	if err != nil {
		return nil, err
	}
	stacks, err := stacksOf(ctx, e.store.Read(), row.ID)
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
			return nil, refuse("filter", status)
		}
	}
	rows, err := list(ctx, e.store.Read(), 0, "account = ? AND region = ?", caller.Account, caller.Region)
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
	out.StackRefactorSummaries, out.NextToken, err = stack.PageUpTo(all, in.NextToken, aws.ToInt32(in.MaxResults))
	return out, err
}

// ListStackRefactorActions lists what a refactor does: the stacks that it creates, and the
// resources that it moves.
func (e *Engine) ListStackRefactorActions(ctx context.Context, caller awswire.Caller, in *cloudformation.ListStackRefactorActionsInput) (*cloudformation.ListStackRefactorActionsOutput, error) {
	row, err := require(ctx, e.store.Read(), caller, aws.ToString(in.StackRefactorId))
	if err != nil {
		return nil, err
	}
	stacks, err := stacksOf(ctx, e.store.Read(), row.ID)
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
	out.StackRefactorActions, out.NextToken, err = stack.PageUpTo(all, in.NextToken, aws.ToInt32(in.MaxResults))
	return out, err
}

// action is a move as the service shows it.
func (m move) action(stacks []stackRow) types.StackRefactorAction {
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
		out.ResourceIdentifier = aws.String(store.JSONOf(m.Identifier).Text())
	}
	if m.Manual {
		out.Detection = types.StackRefactorDetectionManual
	}
	if !m.Tagged {
		return out
	}
	before := stack.SystemTags(from.Name, from.ARN, m.Source)
	after := stack.SystemTags(to.Name, to.ARN, m.Target)
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if before[key] != after[key] {
			out.UntagResources = append(out.UntagResources, key)
			out.TagResources = append(out.TagResources, types.Tag{Key: aws.String(key), Value: aws.String(after[key])})
		}
	}
	return out
}

// optional is a text of an answer, nil for none.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// A State is a refactor as one of its stacks sees it.
type State struct {
	ID, Description string
	Status          types.StackRefactorStatus
	Reason          string
	Execution       types.StackRefactorExecutionStatus
	ExecutionReason string
	CreatedAt       time.Time
	Moves           []MoveState
}

// A MoveState is a resource that a refactor moves or renames.
type MoveState struct {
	FromStack, FromID string // names
	ToStack, ToID     string
	Type, PhysicalID  string
}

// Executable reports whether the refactor can be executed now.
func (r *State) Executable() bool {
	return r.Execution == types.StackRefactorExecutionStatusAvailable
}

// ofStack selects the refactors that a stack is part of.
const ofStack = "id IN (SELECT refactor_id FROM stack_refactor_stacks WHERE stack_id = ?)"

// Refactors lists the refactors that a stack is part of, the newest first, at most limit of them.
func (e *Engine) Refactors(ctx context.Context, place awswire.Place, stackName string, limit int) ([]State, error) {
	id, err := e.stacks.StackID(ctx, place, stackName)
	if err != nil {
		return nil, err
	}
	rows, err := list(ctx, e.store.Read(), limit, ofStack, id)
	if err != nil {
		return nil, err
	}
	out := make([]State, len(rows))
	for i, row := range rows {
		out[i] = State{
			ID: row.ID, Description: row.Description, Status: row.Status, Reason: row.Reason, Execution: row.ExecutionStatus,
			ExecutionReason: row.ExecutionReason, CreatedAt: row.CreatedAt.Time,
		}
		stacks, err := stacksOf(ctx, e.store.Read(), row.ID)
		if err != nil {
			return nil, err
		}
		for _, m := range row.Moves.Get() {
			out[i].Moves = append(out[i].Moves, MoveState{stacks[m.From].Name, m.Source, stacks[m.To].Name, m.Target, m.Type, schema.Ref(m.Type, m.PhysicalID)})
		}
	}
	return out, nil
}

// Mark changes whenever a refactor of a stack does.
func (e *Engine) Mark(ctx context.Context, place awswire.Place, stackName string) (mark int64, err error) {
	id, err := e.stacks.StackID(ctx, place, stackName)
	if err != nil {
		return 0, err
	}
	err = store.Query(ctx, e.store.Read(), &mark, "SELECT COALESCE(SUM(row_version), 0) + 1000003 * COUNT(*) FROM stack_refactors WHERE "+ofStack, id)
	return mark, err
}
