package stack

import (
	"cmp"
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// DescribeStackEvents returns the events of a stack, the newest first.
func (e *Engine) DescribeStackEvents(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeStackEventsInput) (*cloudformation.DescribeStackEventsOutput, error) {
	s, err := requireStack(ctx, e.store.Read(), caller, in.StackName, "missing")
	if err != nil {
		return nil, err
	}
	before, err := offset(in.NextToken)
	if err != nil {
		return nil, err
	}
	var rows []eventRow
	var where store.Where
	where.And("stack_id = ? AND kind = ?", s.ID, eventProgress)
	if before > 0 {
		where.And("seq < ?", before) // events that come meanwhile move nothing
	}
	if err := store.List(ctx, e.store.Read(), &rows, where.Clause()+" ORDER BY seq DESC LIMIT ?", append(where.Args, pageSize+1)...); err != nil {
		return nil, err
	}
	out := &cloudformation.DescribeStackEventsOutput{StackEvents: []types.StackEvent{}}
	if len(rows) > pageSize {
		rows = rows[:pageSize]
		out.NextToken = token(rows[pageSize-1].Seq)
	}
	for i := range rows {
		out.StackEvents = append(out.StackEvents, shownEvent(s, &rows[i]))
	}
	return out, nil
}

// shownEvent is an event as DescribeStackEvents shows it.
func shownEvent(s *stackRow, row *eventRow) types.StackEvent {
	details := row.Details.Get()
	out := types.StackEvent{
		EventId: aws.String(row.ID), StackId: aws.String(s.ARN), StackName: aws.String(s.Name), Timestamp: &row.At.Time,
		LogicalResourceId: aws.String(row.LogicalID), PhysicalResourceId: aws.String(schema.Ref(row.Type, row.PhysicalID)), ResourceType: aws.String(row.Type),
		ResourceStatus: types.ResourceStatus(row.Status), DetailedStatus: row.DetailedStatus,
		HookStatus: types.HookStatus(details.HookStatus), HookFailureMode: types.HookFailureMode(details.HookFailureMode),
		HookInvocationPoint: types.HookInvocationPoint(details.HookInvocationPoint),
	}
	for field, value := range map[**string]string{
		&out.ClientRequestToken: row.ClientToken, &out.OperationId: row.OperationID, &out.ResourceProperties: row.Properties,
		&out.ResourceStatusReason: row.Reason, &out.HookType: details.HookType, &out.HookStatusReason: details.HookStatusReason,
		&out.HookInvocationId: details.HookInvocationID,
	} {
		if value != "" {
			*field = aws.String(value)
		}
	}
	return out
}

// DescribeEvents returns the events of operations, the newest first.
func (e *Engine) DescribeEvents(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeEventsInput) (*cloudformation.DescribeEventsOutput, error) {
	from, err := offset(in.NextToken)
	if err != nil {
		return nil, err
	}
	s, operations, err := e.operationsToShow(ctx, caller, in)
	if err != nil {
		return nil, err
	}
	failedOnly := in.Filters != nil && aws.ToBool(in.Filters.FailedEvents)
	if failedOnly && in.OperationId == nil && len(operations) > 1 {
		operations = operations[:1] // the latest one only
	}
	var all []types.OperationEvent
	for _, op := range operations {
		events, err := e.operationEvents(ctx, s, &op, failedOnly)
		if err != nil {
			return nil, err
		}
		all = append(all, events...)
		if int64(len(all)) > from+pageSize {
			break
		}
	}
	out := &cloudformation.DescribeEventsOutput{OperationEvents: []types.OperationEvent{}}
	if from < int64(len(all)) {
		out.OperationEvents, out.NextToken = paged(all[from:], from)
	}
	return out, nil
}

// operationsToShow finds the operations for DescribeEvents, newest first.
func (e *Engine) operationsToShow(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeEventsInput) (*stackRow, []operationRow, error) {
	db := e.store.Read()
	switch {
	case in.OperationId != nil:
		op, err := store.Find[operationRow](ctx, db, "id = ?", *in.OperationId)
		if err != nil {
			return nil, nil, err
		}
		if op == nil {
			return nil, nil, refuse("operation-missing", *in.OperationId)
		}
		s, err := store.Find[stackRow](ctx, db, "id = ? AND account = ? AND region = ?", op.StackID, caller.Account, caller.Region)
		if err == nil && s == nil {
			err = refuse("operation-missing", *in.OperationId)
		}
		return s, []operationRow{*op}, err
	case in.StackName == nil && in.ChangeSetName == nil:
		return nil, nil, refuse("operation-or-stack")
	case in.ChangeSetName != nil:
		return e.changeSetOperations(ctx, caller, in)
	}
	s, err := requireStack(ctx, db, caller, in.StackName, "missing")
	if err != nil {
		return nil, nil, err
	}
	operations, err := store.FindAll[operationRow](ctx, db, "started_at DESC, id DESC", "stack_id = ?", s.ID)
	return s, operations, err
}

// changeSetOperations are the operations that created a change set.
func (e *Engine) changeSetOperations(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeEventsInput) (*stackRow, []operationRow, error) {
	db := e.store.Read()
	c, err := e.requireSet(ctx, db, caller, in.ChangeSetName, in.StackName)
	if err != nil {
		return nil, nil, err
	}
	s, err := store.Find[stackRow](ctx, db, "id = ?", c.StackID)
	if err != nil || s == nil {
		return nil, nil, err
	}
	operations, err := store.FindAll[operationRow](ctx, db, "started_at DESC, id DESC", "stack_id = ? AND change_set_id = ? AND kind = ?", s.ID, c.ARN, types.OperationTypeCreateChangeset)
	return s, operations, err
}

// operationEvents are the events of one operation, the newest first.
func (e *Engine) operationEvents(ctx context.Context, s *stackRow, op *operationRow, failedOnly bool) ([]types.OperationEvent, error) {
	rows, err := store.FindAll[eventRow](ctx, e.store.Read(), "seq DESC", "operation_id = ?", op.ID)
	if err != nil {
		return nil, err
	}
	bracketed := 0
	var out []types.OperationEvent
	for i := range rows {
		shown := operationEvent(s, op, &rows[i])
		if shown.EventType == types.EventTypeStackEvent {
			// The first and the last row of the stack bracket the operation.
			bracketed++
			if last := bracketed == 1 && !op.EndedAt.IsZero(); last {
				shown.OperationStatus, shown.EndTime = types.BeaconStackOperationStatus(op.Status), &op.EndedAt.Time
			}
		}
		if !failedOnly || isFailure(shown) {
			out = append(out, shown)
		}
	}
	return out, nil
}

func isFailure(event types.OperationEvent) bool {
	return event.EventType == types.EventTypeValidationError || event.EventType == types.EventTypeProvisioningError ||
		event.EventType == types.EventTypeHookInvocationError
}

// eventTypeProgress is what the wire has for the model's PROGRESS_EVENT.
const eventTypeProgress types.EventType = "PROGRESS"

func operationEvent(s *stackRow, op *operationRow, row *eventRow) types.OperationEvent {
	details := row.Details.Get()
	kind := op.shownKind()
	out := types.OperationEvent{
		EventId: aws.String(row.ID), StackId: aws.String(s.ARN), OperationId: aws.String(op.ID), Timestamp: &row.At.Time,
		LogicalResourceId: aws.String(row.LogicalID), PhysicalResourceId: aws.String(schema.Ref(row.Type, row.PhysicalID)), ResourceType: aws.String(row.Type),
		ResourceStatus: types.ResourceStatus(row.Status), DetailedStatus: row.DetailedStatus,
	}
	for field, value := range map[**string]string{
		&out.ClientRequestToken: row.ClientToken, &out.ResourceProperties: row.Properties, &out.ResourceStatusReason: row.Reason,
		&out.HookType: details.HookType, &out.HookStatusReason: details.HookStatusReason,
	} {
		if value != "" {
			*field = aws.String(value)
		}
	}
	switch {
	case row.Kind == eventValidation:
		out.EventType, out.OperationType, out.ResourceStatus, out.ResourceStatusReason = types.EventTypeValidationError, kind, "", nil
		out.ValidationName, out.ValidationPath = aws.String(details.ValidationName), aws.String(details.ValidationPath)
		out.ValidationStatus, out.ValidationStatusReason = types.ValidationStatusFailed, aws.String(row.Reason)
		out.ValidationFailureMode = types.HookFailureMode(cmp.Or(details.ValidationMode, string(types.HookFailureModeFail)))
	case row.PhysicalID == s.ARN && details.HookStatus == "":
		out.EventType, out.OperationType, out.OperationStatus, out.StartTime = types.EventTypeStackEvent, kind, opRunning, &op.StartedAt.Time
	case details.HookStatus != "":
		out.EventType = eventTypeProgress
		out.HookStatus, out.HookFailureMode = types.HookStatus(details.HookStatus), types.HookFailureMode(details.HookFailureMode)
		out.HookInvocationPoint = types.HookInvocationPoint(details.HookInvocationPoint)
		if out.HookStatus == types.HookStatusHookCompleteFailed || out.HookStatus == types.HookStatusHookFailed {
			out.EventType = types.EventTypeHookInvocationError
		}
	case strings.HasSuffix(row.Status, "_FAILED"):
		out.EventType = types.EventTypeProvisioningError
	default:
		out.EventType = eventTypeProgress
	}
	return out
}
