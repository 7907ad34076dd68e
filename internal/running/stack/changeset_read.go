package stack

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// DescribeChangeSet shows a change set with its plan.
func (e *Engine) DescribeChangeSet(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeChangeSetInput) (*cloudformation.DescribeChangeSetOutput, error) {
	db := e.store.Read()
	c, err := e.requireSet(ctx, db, caller, in.ChangeSetName, in.StackName)
	if err != nil {
		return nil, err
	}
	s, err := store.Find[stackRow](ctx, db, "id = ?", c.StackID)
	if err != nil || s == nil {
		return nil, err
	}
	row, err := store.Find[deploymentRow](ctx, db, "id = ?", c.DeploymentID)
	if err != nil || row == nil {
		return nil, err
	}
	out := &cloudformation.DescribeChangeSetOutput{
		ChangeSetId: aws.String(c.ARN), ChangeSetName: aws.String(c.Name), StackId: aws.String(s.ARN), StackName: aws.String(s.Name),
		CreationTime: timePtr(c.CreatedAt), Status: c.Status, Description: optional(c.Description), StatusReason: optional(c.shownReason(aws.ToBool(in.IncludePropertyValues))),
		RollbackConfiguration: &types.RollbackConfiguration{}, Changes: []types.Change{},
		ParentChangeSetId: optional(c.ParentID), RootChangeSetId: optional(c.RootID),
	}
	if out.ExecutionStatus, err = executionOf(ctx, db, c); err != nil {
		return nil, err
	}
	describeRequest(out, c, row)
	planned := c.Plan.Get()
	if planned.Drift != "" {
		out.DeploymentMode, out.StackDriftStatus = types.DeploymentModeRevertDrift, planned.Drift
	}
	out.Changes, out.NextToken, err = pageOf(planned.Shown(aws.ToBool(in.IncludePropertyValues)), in.NextToken)
	return out, err
}

// shownReason is the reason of the status. A warning about the values of properties is shown with them only.
func (c *changeSetRow) shownReason(values bool) string {
	if !values && strings.HasPrefix(c.Reason, incompletePrefix) {
		return ""
	}
	return c.Reason
}

// describeRequest fills in what the change set was made with.
func describeRequest(out *cloudformation.DescribeChangeSetOutput, c *changeSetRow, row *deploymentRow) {
	options, bound := c.Options.Get(), row.Parameters.Get()
	out.Tags, out.Capabilities, out.NotificationARNs = row.Tags.Get(), row.Capabilities.Get(), row.NotificationARNs.Get()
	if out.NotificationARNs == nil {
		out.NotificationARNs = []string{}
	}
	if out.Capabilities == nil {
		out.Capabilities = []types.Capability{}
	}
	if len(out.Tags) == 0 {
		out.Tags = nil
	}
	if options.Rollback != nil {
		out.RollbackConfiguration = options.Rollback
	}
	out.IncludeNestedStacks, out.OnStackFailure, out.DeploymentConfig = aws.Bool(options.Nested), options.OnStackFailure, options.DeploymentConfig
	out.Parameters = ShownParameters(&bound)
}

// ListChangeSets lists the change sets of a stack that were not executed, the oldest first.
func (e *Engine) ListChangeSets(ctx context.Context, caller awswire.Caller, in *cloudformation.ListChangeSetsInput) (*cloudformation.ListChangeSetsOutput, error) {
	db := e.store.Read()
	s, err := requireStack(ctx, db, caller, in.StackName, "missing")
	if err != nil {
		return nil, err
	}
	var rows []changeSetRow
	err = store.Query(ctx, db, &rows, "SELECT "+store.Columns[changeSetRow]("plan")+" FROM change_sets WHERE stack_id = ? AND live ORDER BY created_at, id",
		s.ID)
	if err != nil {
		return nil, fmt.Errorf("list change sets: %w", err)
	}
	all := make([]types.ChangeSetSummary, 0, len(rows))
	for _, c := range rows {
		all = append(all, types.ChangeSetSummary{
			ChangeSetId: aws.String(c.ARN), ChangeSetName: aws.String(c.Name), StackId: aws.String(s.ARN), StackName: aws.String(s.Name),
			CreationTime: timePtr(c.CreatedAt), Status: c.Status, ExecutionStatus: c.ExecutionStatus, StatusReason: optional(c.shownReason(false)),
			Description: optional(c.Description), IncludeNestedStacks: aws.Bool(c.Options.Get().Nested),
			ParentChangeSetId: optional(c.ParentID), RootChangeSetId: optional(c.RootID),
		})
	}
	out := &cloudformation.ListChangeSetsOutput{}
	out.Summaries, out.NextToken, err = pageOf(all, in.NextToken)
	return out, err
}

// PageUpTo is pageOf with a page of at most limit entries; 0 is the usual size.
func PageUpTo[T any](all []T, token *string, limit int32) ([]T, *string, error) {
	page, next, err := pageOf(all, token)
	if err != nil || limit <= 0 || int(limit) >= len(page) {
		return page, next, err
	}
	from, err := offset(token)
	return page[:limit], aws.String(strconv.FormatInt(from+int64(limit), 10)), err
}

// pageOf cuts the page off a list that a NextToken names.
func pageOf[T any](all []T, token *string) ([]T, *string, error) {
	from, err := offset(token)
	if err != nil {
		return nil, nil, err
	}
	if from > int64(len(all)) {
		return nil, nil, refuse("next-token")
	}
	page, next := paged(all[from:], from)
	return page, next, nil
}
