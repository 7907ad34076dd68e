package stackset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// operationOf finds an operation of a set.
func operationOf(ctx context.Context, db store.DB, s *setRow, id *string) (*operationRow, error) {
	op, err := store.Find[operationRow](ctx, db, "set_id = ? AND id = ?", s.ID, aws.ToString(id))
	if err == nil && op == nil {
		err = noOperation(s, aws.ToString(id))
	}
	return op, err
}

func timeOf(t store.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t.Time
}

func textOf(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// page is how many results a page of a list has if the request does not say.
const page = 100

// paged reads a page of a list, and returns the token of the next page. The condition after
// selects what follows the key of a row in the order.
func paged[T any](ctx context.Context, db store.DB, rows *[]T, query string, where store.Where, order, after string, most *int32, token *string, keyOf func(*T) string, list ...any) (next *string, err error) {
	if token != nil {
		keys, ok := store.ReadPageToken(*token, 1, list...)
		if !ok {
			return nil, invalid("NextToken is invalid")
		}
		where.And(after, keys[0])
	}
	size := page
	if most != nil {
		size = int(*most)
	}
	if err := store.Query(ctx, db, rows, query+where.Clause()+" ORDER BY "+order+" LIMIT ?", append(where.Args, size+1)...); err != nil {
		return nil, fmt.Errorf("read a page: %w", err)
	}
	if len(*rows) > size {
		*rows = (*rows)[:size]
		next = aws.String(store.PageToken([]string{keyOf(&(*rows)[size-1])}, list...))
	}
	return next, nil
}

// ListStackSets lists sets, by name.
func (e *Engine) ListStackSets(ctx context.Context, caller awswire.Caller, in *cloudformation.ListStackSetsInput) (*cloudformation.ListStackSetsOutput, error) {
	if err := selfManaged(in.CallAs, "", nil); err != nil {
		return nil, err
	}
	var rows []setRow
	query := "SELECT " + store.Columns[setRow]("template", "parameters") + " FROM stack_sets "
	var where store.Where
	where.And("account = ? AND region = ?", caller.Account, caller.Region)
	switch in.Status {
	case types.StackSetStatusActive:
		where.And("live")
	case types.StackSetStatusDeleted:
		where.And("NOT live")
	}
	next, err := paged(ctx, e.store.Read(), &rows, query, where, "name || ':' || id", "name || ':' || id > ?", in.MaxResults, in.NextToken, (*setRow).id, "ListStackSets", caller.Account, caller.Region, in.Status)
	if err != nil {
		return nil, err
	}
	out := &cloudformation.ListStackSetsOutput{NextToken: next, Summaries: []types.StackSetSummary{}}
	for i := range rows {
		s := &rows[i]
		drift, checked := types.StackDriftStatusNotChecked, (*time.Time)(nil)
		if d := s.Drift.Get(); d != nil {
			drift, checked = types.StackDriftStatus(d.DriftStatus), d.LastDriftCheckTimestamp
		}
		out.Summaries = append(out.Summaries, types.StackSetSummary{
			StackSetName: &s.Name, StackSetId: aws.String(s.id()), Status: s.status(), Description: textOf(s.Description), PermissionModel: types.PermissionModelsSelfManaged,
			DriftStatus: drift, LastDriftCheckTimestamp: checked, ManagedExecution: &types.ManagedExecution{Active: &s.Managed},
		})
	}
	return out, nil
}

func (i *instanceRow) key() string { return i.Region + "/" + i.Account }

// DescribeStackInstance describes an instance.
func (e *Engine) DescribeStackInstance(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeStackInstanceInput) (*cloudformation.DescribeStackInstanceOutput, error) {
	s, i, err := e.instance(ctx, caller, in.StackSetName, in.StackInstanceAccount, in.StackInstanceRegion, in.CallAs)
	if err != nil {
		return nil, err
	}
	return &cloudformation.DescribeStackInstanceOutput{StackInstance: &types.StackInstance{
		StackSetId: aws.String(s.id()), Account: &i.Account, Region: &i.Region, StackId: textOf(i.StackARN), Status: i.Status, StatusReason: textOf(i.Reason),
		StackInstanceStatus: &types.StackInstanceComprehensiveStatus{DetailedStatus: i.Detailed}, ParameterOverrides: shown(i.Overrides.Get(), s.parsedTemplate()),
		DriftStatus: i.Drift, LastDriftCheckTimestamp: timeOf(i.DriftAt), LastOperationId: textOf(i.Operation), OrganizationalUnitId: aws.String(""),
	}}, nil
}

// instance finds an instance with its set.
func (e *Engine) instance(ctx context.Context, caller awswire.Caller, name, account, region *string, callAs types.CallAs) (*setRow, *instanceRow, error) {
	s, err := set(ctx, e.store.Read(), caller, name, callAs)
	if err != nil {
		return nil, nil, err
	}
	i, err := store.Find[instanceRow](ctx, e.store.Read(), "set_id = ? AND account = ? AND region = ?", s.ID, aws.ToString(account), aws.ToString(region))
	if err == nil && i == nil {
		err = noInstance(s, aws.ToString(account), aws.ToString(region))
	}
	return s, i, err
}

// instanceColumns are what ListStackInstances filters by.
var instanceColumns = map[types.StackInstanceFilterName]string{
	types.StackInstanceFilterNameDetailedStatus: "detailed_status", types.StackInstanceFilterNameLastOperationId: "last_operation_id", types.StackInstanceFilterNameDriftStatus: "drift_status",
}

// ListStackInstances lists the instances of a set, by region and account.
func (e *Engine) ListStackInstances(ctx context.Context, caller awswire.Caller, in *cloudformation.ListStackInstancesInput) (*cloudformation.ListStackInstancesOutput, error) {
	s, err := set(ctx, e.store.Read(), caller, in.StackSetName, in.CallAs)
	if err != nil {
		return nil, err
	}
	var rows []instanceRow
	query := "SELECT " + store.Columns[instanceRow]("overrides") + " FROM stack_set_instances "
	var where store.Where
	where.And("set_id = ?", s.ID)
	list := []any{"ListStackInstances", s.ID, aws.ToString(in.StackInstanceAccount), aws.ToString(in.StackInstanceRegion)}
	if in.StackInstanceAccount != nil {
		where.And("account = ?", *in.StackInstanceAccount)
	}
	if in.StackInstanceRegion != nil {
		where.And("region = ?", *in.StackInstanceRegion)
	}
	for _, filter := range in.Filters {
		column := instanceColumns[filter.Name]
		if column == "" {
			return nil, invalid("Filter name %s is not supported", filter.Name)
		}
		where.And(column+" = ?", aws.ToString(filter.Values))
		list = append(list, column, aws.ToString(filter.Values))
	}
	next, err := paged(ctx, e.store.Read(), &rows, query, where, "region || '/' || account", "region || '/' || account > ?", in.MaxResults, in.NextToken, (*instanceRow).key, list...)
	if err != nil {
		return nil, err
	}
	out := &cloudformation.ListStackInstancesOutput{NextToken: next, Summaries: []types.StackInstanceSummary{}}
	for n := range rows {
		i := &rows[n]
		out.Summaries = append(out.Summaries, types.StackInstanceSummary{
			StackSetId: aws.String(s.id()), Account: &i.Account, Region: &i.Region, StackId: textOf(i.StackARN), Status: i.Status, StatusReason: textOf(i.Reason),
			StackInstanceStatus: &types.StackInstanceComprehensiveStatus{DetailedStatus: i.Detailed}, OrganizationalUnitId: aws.String(""),
			DriftStatus: i.Drift, LastDriftCheckTimestamp: timeOf(i.DriftAt), LastOperationId: textOf(i.Operation),
		})
	}
	return out, nil
}

// failures counts the instances in which an operation failed.
func (e *Engine) failures(ctx context.Context, op *operationRow) (*types.StackSetOperationStatusDetails, error) {
	n, err := store.Count(ctx, e.store.Read(), "FROM stack_set_results WHERE set_id = ? AND operation_id = ? AND status = ?",
		op.SetID, op.ID, types.StackSetOperationResultStatusFailed)
	if err != nil {
		return nil, fmt.Errorf("count failures: %w", err)
	}
	return &types.StackSetOperationStatusDetails{FailedStackInstancesCount: aws.Int32(int32(min(n, maxTargets)))}, nil
}

// DescribeStackSetOperation describes an operation.
func (e *Engine) DescribeStackSetOperation(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeStackSetOperationInput) (*cloudformation.DescribeStackSetOperationOutput, error) {
	s, err := set(ctx, e.store.Read(), caller, in.StackSetName, in.CallAs)
	if err != nil {
		return nil, err
	}
	op, err := operationOf(ctx, e.store.Read(), s, in.OperationId)
	if err != nil {
		return nil, err
	}
	details, err := e.failures(ctx, op)
	if err != nil {
		return nil, err
	}
	asked := op.Input.Get()
	out := &types.StackSetOperation{
		OperationId: &op.ID, StackSetId: aws.String(s.id()), Action: op.Action, Status: op.Status, StatusReason: textOf(op.Reason), StatusDetails: details,
		OperationPreferences: &asked.Preferences, RetainStacks: asked.Retain, AdministrationRoleARN: &op.AdminRole, ExecutionRoleName: &op.Role,
		CreationTimestamp: &op.CreatedAt.Time, EndTimestamp: timeOf(op.EndedAt), StackSetDriftDetectionDetails: op.Drift.Get(),
	}
	if out.OperationPreferences.RegionOrder == nil {
		out.OperationPreferences.RegionOrder = []string{}
	}
	return &cloudformation.DescribeStackSetOperationOutput{StackSetOperation: out}, nil
}

func (o *operationRow) key() string { return fmt.Sprint(o.Seq) }

// ListStackSetOperations lists the operations of a set, the newest first.
func (e *Engine) ListStackSetOperations(ctx context.Context, caller awswire.Caller, in *cloudformation.ListStackSetOperationsInput) (*cloudformation.ListStackSetOperationsOutput, error) {
	s, err := set(ctx, e.store.Read(), caller, in.StackSetName, in.CallAs)
	if err != nil {
		return nil, err
	}
	var rows []operationRow
	query := "SELECT " + store.Columns[operationRow]() + " FROM stack_set_operations "
	var where store.Where
	where.And("set_id = ?", s.ID)
	next, err := paged(ctx, e.store.Read(), &rows, query, where, "seq DESC", "seq < CAST(? AS BIGINT)", in.MaxResults, in.NextToken, (*operationRow).key, "ListStackSetOperations", s.ID)
	if err != nil {
		return nil, err
	}
	out := &cloudformation.ListStackSetOperationsOutput{NextToken: next, Summaries: []types.StackSetOperationSummary{}}
	for n := range rows {
		op := &rows[n]
		details, err := e.failures(ctx, op)
		if err != nil {
			return nil, err
		}
		asked := op.Input.Get()
		out.Summaries = append(out.Summaries, types.StackSetOperationSummary{
			OperationId: &op.ID, Action: op.Action, Status: op.Status, StatusReason: textOf(op.Reason), StatusDetails: details,
			CreationTimestamp: &op.CreatedAt.Time, EndTimestamp: timeOf(op.EndedAt), OperationPreferences: &asked.Preferences,
		})
	}
	return out, nil
}

func (r *resultRow) key() string { return fmt.Sprintf("%06d", r.Position) }

// ListStackSetOperationResults lists what an operation did, in the order of the request.
func (e *Engine) ListStackSetOperationResults(ctx context.Context, caller awswire.Caller, in *cloudformation.ListStackSetOperationResultsInput) (*cloudformation.ListStackSetOperationResultsOutput, error) {
	s, err := set(ctx, e.store.Read(), caller, in.StackSetName, in.CallAs)
	if err != nil {
		return nil, err
	}
	op, err := operationOf(ctx, e.store.Read(), s, in.OperationId)
	if err != nil {
		return nil, err
	}
	rows, err := store.FindAll[resultRow](ctx, e.store.Read(), "position", "set_id = ? AND operation_id = ?", s.ID, op.ID)
	if err != nil {
		return nil, err
	}
	list := []any{"ListStackSetOperationResults", s.ID, op.ID}
	for _, filter := range in.Filters {
		want := types.StackSetOperationResultStatus(aws.ToString(filter.Values))
		rows = slices.DeleteFunc(rows, func(r resultRow) bool { return r.Status != want })
		list = append(list, want)
	}
	if in.NextToken != nil {
		keys, ok := store.ReadPageToken(*in.NextToken, 1, list...)
		if !ok {
			return nil, invalid("NextToken is invalid")
		}
		rows = slices.DeleteFunc(rows, func(r resultRow) bool { return strings.Compare(r.key(), keys[0]) <= 0 })
	}
	size := page
	if in.MaxResults != nil {
		size = int(*in.MaxResults)
	}
	out := &cloudformation.ListStackSetOperationResultsOutput{Summaries: []types.StackSetOperationResultSummary{}}
	if len(rows) > size {
		rows = rows[:size]
		out.NextToken = aws.String(store.PageToken([]string{rows[size-1].key()}, list...))
	}
	for n := range rows {
		r := &rows[n]
		summary := types.StackSetOperationResultSummary{Account: &r.Account, Region: &r.Region, Status: r.Status, StatusReason: textOf(r.Reason), OrganizationalUnitId: aws.String("")}
		if r.Status != types.StackSetOperationResultStatusPending && r.Status != types.StackSetOperationResultStatusCancelled {
			summary.AccountGateResult = &types.AccountGateResult{Status: types.AccountGateStatusSkipped, StatusReason: aws.String("Function not found")}
		}
		out.Summaries = append(out.Summaries, summary)
	}
	return out, nil
}

// ListStackSetAutoDeploymentTargets lists none: there is no automatic deployment.
func (e *Engine) ListStackSetAutoDeploymentTargets(ctx context.Context, caller awswire.Caller, in *cloudformation.ListStackSetAutoDeploymentTargetsInput) (*cloudformation.ListStackSetAutoDeploymentTargetsOutput, error) {
	if _, err := set(ctx, e.store.Read(), caller, in.StackSetName, in.CallAs); err != nil {
		return nil, err
	}
	return nil, invalid("AutoDeployment is not supported")
}

// DetectStackSetDrift begins the drift detection of all instances.
func (e *Engine) DetectStackSetDrift(ctx context.Context, caller awswire.Caller, in *cloudformation.DetectStackSetDriftInput) (*cloudformation.DetectStackSetDriftOutput, error) {
	begin, err := e.request(caller, types.StackSetOperationActionDetectDrift, in.OperationId, in.OperationPreferences, input{})
	if err != nil {
		return nil, err
	}
	err = e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		s, err := set(ctx, tx, caller, in.StackSetName, in.CallAs)
		if err != nil {
			return err
		}
		if !s.Live {
			return noSet(aws.ToString(in.StackSetName))
		}
		return e.accept(ctx, tx, s, begin)
	})
	if err != nil {
		return nil, err
	}
	return &cloudformation.DetectStackSetDriftOutput{OperationId: &begin.ID}, nil
}

// ListStackInstanceResourceDrifts lists what the last drift detection found in an instance.
func (e *Engine) ListStackInstanceResourceDrifts(ctx context.Context, caller awswire.Caller, in *cloudformation.ListStackInstanceResourceDriftsInput) (*cloudformation.ListStackInstanceResourceDriftsOutput, error) {
	s, i, err := e.instance(ctx, caller, in.StackSetName, in.StackInstanceAccount, in.StackInstanceRegion, in.CallAs)
	if err != nil {
		return nil, err
	}
	if _, err := operationOf(ctx, e.store.Read(), s, in.OperationId); err != nil {
		return nil, err
	}
	out := &cloudformation.ListStackInstanceResourceDriftsOutput{Summaries: []types.StackInstanceResourceDriftsSummary{}}
	if i.StackARN == "" {
		return out, nil
	}
	found, err := e.config.Stacks.DescribeStackResourceDrifts(ctx, at(caller, i.place()), &cloudformation.DescribeStackResourceDriftsInput{
		StackName: &i.StackARN, NextToken: in.NextToken, MaxResults: in.MaxResults, StackResourceDriftStatusFilters: in.StackInstanceResourceDriftStatuses,
	})
	if err != nil {
		return nil, err
	}
	out.NextToken = found.NextToken
	for _, d := range found.StackResourceDrifts {
		out.Summaries = append(out.Summaries, types.StackInstanceResourceDriftsSummary{
			StackId: d.StackId, LogicalResourceId: d.LogicalResourceId, PhysicalResourceId: d.PhysicalResourceId, PhysicalResourceIdContext: d.PhysicalResourceIdContext,
			ResourceType: d.ResourceType, PropertyDifferences: d.PropertyDifferences, StackResourceDriftStatus: d.StackResourceDriftStatus, Timestamp: d.Timestamp,
		})
	}
	return out, nil
}

// keepEnded is how long operations are kept, as on AWS.
const keepEnded = 90 * 24 * time.Hour

// Expire forgets operations that ended long ago.
func (e *Engine) Expire(ctx context.Context, now time.Time) error {
	before := store.At(now.Add(-keepEnded))
	return e.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		_, err := store.Exec(ctx, tx, `DELETE FROM stack_set_results AS r WHERE EXISTS (SELECT 1 FROM stack_set_operations AS o
			WHERE o.set_id = r.set_id AND o.id = r.operation_id AND o.ended_at < ?)`, before)
		if err != nil {
			return fmt.Errorf("forget old results: %w", err)
		}
		if _, err := store.Exec(ctx, tx, "DELETE FROM stack_set_operations WHERE ended_at < ?", before); err != nil {
			return fmt.Errorf("forget old operations: %w", err)
		}
		return nil
	})
}
