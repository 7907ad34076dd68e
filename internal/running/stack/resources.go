package stack

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

func token(n int64) *string { return aws.String(strconv.FormatInt(n, 10)) }

// maxResources is how many resources DescribeStackResources shows.
const maxResources = 100

// resourceRows are the listed resources of a stack: including those that a cleanup could not
// delete.
func (e *Engine) resourceRows(ctx context.Context, s *stackRow) ([]resourceRow, error) {
	var rows []resourceRow
	err := store.Query(ctx, e.store.Read(), &rows, "SELECT "+store.Columns[resourceRow]("properties", "model", "shown", "origin")+" FROM stack_resources WHERE stack_id = ? ORDER BY logical_id",
		s.ID)
	if err != nil {
		return nil, fmt.Errorf("list the resources: %w", err)
	}
	modules, err := currentModules(ctx, e.store.Read(), s)
	if err != nil {
		return nil, err
	}
	left, err := store.FindAll[cleanupRow](ctx, e.store.Read(), "logical_id, id", "stack_id = ? AND status = ?", s.ID, types.ResourceStatusDeleteFailed)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i].Module = plan.ModuleInfo(rows[i].Metadata.Get())
		if info, ok := modules[rows[i].LogicalID]; ok {
			rows[i].Module = info
		}
	}
	for _, c := range left {
		if !slices.ContainsFunc(rows, func(x resourceRow) bool { return x.LogicalID == c.LogicalID }) {
			rows = append(rows, resourceRow{
				StackID: s.ID, LogicalID: c.LogicalID, Type: c.Type, PhysicalID: c.PhysicalID, Status: c.Status, Reason: c.Reason, UpdatedAt: c.UpdatedAt,
				Module: c.Module.Get(),
			})
		}
	}
	return rows, nil
}

// DescribeStackResources returns the resources of a stack, or of the stack that has a
// physical one.
func (e *Engine) DescribeStackResources(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeStackResourcesInput) (*cloudformation.DescribeStackResourcesOutput, error) {
	var s *stackRow
	var err error
	switch {
	case in.StackName != nil && in.PhysicalResourceId != nil:
		return nil, refuse("both-names")
	case in.PhysicalResourceId != nil:
		s, err = e.stackOfResource(ctx, caller, *in.PhysicalResourceId)
	default:
		s, err = requireStack(ctx, e.store.Read(), caller, in.StackName, "missing-id")
	}
	if err != nil {
		return nil, err
	}
	rows, err := e.resourceRows(ctx, s)
	if err != nil {
		return nil, err
	}
	out := &cloudformation.DescribeStackResourcesOutput{StackResources: []types.StackResource{}}
	for _, x := range rows {
		if in.LogicalResourceId != nil && *in.LogicalResourceId != x.LogicalID {
			continue
		}
		if len(out.StackResources) == maxResources {
			break
		}
		out.StackResources = append(out.StackResources, shownResource(s, &x))
	}
	if in.LogicalResourceId != nil && len(out.StackResources) == 0 {
		return nil, refuse("missing-resource", *in.LogicalResourceId, s.Name)
	}
	return out, nil
}

// stackOfResource finds the stack that has a physical resource.
func (e *Engine) stackOfResource(ctx context.Context, caller awswire.Caller, physicalID string) (*stackRow, error) {
	s, err := store.Find[stackRow](ctx, e.store.Read(),
		"account = ? AND region = ? AND live AND id IN (SELECT stack_id FROM stack_resources WHERE physical_id = ?)", caller.Account, caller.Region, physicalID)
	if err != nil || s != nil {
		return s, err
	}
	id, err := e.stackOfRef(ctx, caller, physicalID)
	if err == nil && id == "" {
		err = refuse("missing-physical", physicalID)
	}
	if err != nil {
		return nil, err
	}
	return store.Find[stackRow](ctx, e.store.Read(), "id = ?", id)
}

// stackOfRef returns the id of the stack that has a resource for which Ref is not the physical id, "" for none.
func (e *Engine) stackOfRef(ctx context.Context, caller awswire.Caller, ref string) (id string, err error) {
	var rows []resourceRow
	err = store.Query(ctx, e.store.Read(), &rows, `SELECT type, physical_id, stack_id FROM stack_resources WHERE type IN (?)
		AND stack_id IN (SELECT id FROM stacks WHERE account = ? AND region = ? AND live)`, store.In(schema.RefTypes()), caller.Account, caller.Region)
	if err != nil {
		return "", fmt.Errorf("look for a physical resource: %w", err)
	}
	for i := range rows {
		if schema.Ref(rows[i].Type, rows[i].PhysicalID) == ref {
			return rows[i].StackID, nil
		}
	}
	return "", nil
}

func shownResource(s *stackRow, x *resourceRow) types.StackResource {
	out := types.StackResource{
		StackId: aws.String(s.ARN), StackName: aws.String(s.Name), LogicalResourceId: aws.String(x.LogicalID), ResourceType: aws.String(x.Type),
		ResourceStatus: x.Status, Timestamp: &x.UpdatedAt.Time, DriftInformation: resourceDrift(x),
		ModuleInfo: x.Module,
	}
	out.PhysicalResourceId, out.ResourceStatusReason = optional(schema.Ref(x.Type, x.PhysicalID)), optional(x.Reason)
	return out
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return aws.String(text)
}

// resourceDrift is the drift status of a resource.
func resourceDrift(x *resourceRow) *types.StackResourceDriftInformation {
	out := x.Drift.Get()
	if x.Drift.IsZero() {
		out.StackResourceDriftStatus = types.StackResourceDriftStatusNotChecked
	}
	return &out
}

// DescribeStackResource returns one resource of a stack.
func (e *Engine) DescribeStackResource(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeStackResourceInput) (*cloudformation.DescribeStackResourceOutput, error) {
	s, err := requireStack(ctx, e.store.Read(), caller, in.StackName, "missing-quoted")
	if err != nil {
		return nil, err
	}
	rows, err := e.resourceRows(ctx, s)
	if err != nil {
		return nil, err
	}
	id := aws.ToString(in.LogicalResourceId)
	i := slices.IndexFunc(rows, func(x resourceRow) bool { return x.LogicalID == id })
	if i < 0 {
		return nil, refuse("missing-resource", id, s.Name)
	}
	x := &rows[i]
	shown := shownResource(s, x)
	detail := &types.StackResourceDetail{
		StackId: shown.StackId, StackName: shown.StackName, LogicalResourceId: shown.LogicalResourceId, PhysicalResourceId: shown.PhysicalResourceId,
		ResourceType: shown.ResourceType, ResourceStatus: shown.ResourceStatus, ResourceStatusReason: shown.ResourceStatusReason,
		LastUpdatedTimestamp: shown.Timestamp, DriftInformation: shown.DriftInformation, Metadata: aws.String(cmp.Or(x.Metadata.Text(), "{}")),
		ModuleInfo: shown.ModuleInfo,
	}
	return &cloudformation.DescribeStackResourceOutput{StackResourceDetail: detail}, nil
}

// ListStackResources returns the resources of a stack in pages.
func (e *Engine) ListStackResources(ctx context.Context, caller awswire.Caller, in *cloudformation.ListStackResourcesInput) (*cloudformation.ListStackResourcesOutput, error) {
	s, err := requireStack(ctx, e.store.Read(), caller, in.StackName, "missing-id")
	if err != nil {
		return nil, err
	}
	from, err := offset(in.NextToken)
	if err != nil {
		return nil, err
	}
	rows, err := e.resourceRows(ctx, s)
	if err != nil {
		return nil, err
	}
	out := &cloudformation.ListStackResourcesOutput{StackResourceSummaries: []types.StackResourceSummary{}}
	if from < int64(len(rows)) {
		rows, out.NextToken = paged(rows[from:], from)
	} else {
		rows = nil
	}
	for i := range rows {
		shown := shownResource(s, &rows[i])
		out.StackResourceSummaries = append(out.StackResourceSummaries, types.StackResourceSummary{
			LogicalResourceId: shown.LogicalResourceId, PhysicalResourceId: shown.PhysicalResourceId, ResourceType: shown.ResourceType,
			ResourceStatus: shown.ResourceStatus, ResourceStatusReason: shown.ResourceStatusReason, LastUpdatedTimestamp: shown.Timestamp,
			ModuleInfo: shown.ModuleInfo,
			DriftInformation: &types.StackResourceDriftInformationSummary{
				StackResourceDriftStatus: shown.DriftInformation.StackResourceDriftStatus, LastCheckTimestamp: shown.DriftInformation.LastCheckTimestamp,
			},
		})
	}
	return out, nil
}
