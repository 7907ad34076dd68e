package cloudcontrol

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// GetResourceRequestStatus returns the state of a request. Errors: a token that the account
// does not have in the region.
func (e *Engine) GetResourceRequestStatus(ctx context.Context, caller awswire.Caller, in *cloudcontrol.GetResourceRequestStatusInput) (*cloudcontrol.GetResourceRequestStatusOutput, error) {
	row, err := e.find(ctx, e.store.Read(), caller, *in.RequestToken)
	if err != nil {
		return nil, err
	}
	if running[row.Status] {
		operation.Hold(ctx, e.config.Hold, func(ctx context.Context) (bool, error) {
			found, err := e.find(ctx, e.store.Read(), caller, row.Token)
			if err == nil {
				row = found
			}
			return !running[row.Status], err
		})
	}
	events, err := e.hookEvents(ctx, row)
	return &cloudcontrol.GetResourceRequestStatusOutput{ProgressEvent: row.event(), HooksProgressEvent: events}, err
}

// CancelResourceRequest cancels a request. Work that the handler has already done is not
// undone. Errors: a request that has finished.
func (e *Engine) CancelResourceRequest(ctx context.Context, caller awswire.Caller, in *cloudcontrol.CancelResourceRequestInput) (*cloudcontrol.CancelResourceRequestOutput, error) {
	var row *requestRow
	err := e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if row, err = e.find(ctx, tx, caller, *in.RequestToken); err != nil {
			return err
		}
		switch row.Status {
		case types.OperationStatusCancelComplete, types.OperationStatusCancelInProgress:
			return nil
		case types.OperationStatusSuccess, types.OperationStatusFailed:
			return invalid("Request %s is already in status %s", row.Token, row.Status)
		}
		stopped := false
		if row.HooksToken != "" {
			if stopped, err = e.config.Hooks.Cancel(ctx, tx, row.HooksToken); err != nil {
				return err
			}
		}
		if stopped { // nothing was called
			row.Status, row.EventAt, row.Model = types.OperationStatusCancelComplete, store.At(e.config.Now()), ""
			row.EndedAt = row.EventAt
			return store.Swap(ctx, tx, row, &row.RowVersion)
		}
		if err := e.config.Operations.Cancel(ctx, tx, row.OperationID); err != nil {
			return err
		}
		row.Status, row.EventAt = types.OperationStatusCancelInProgress, store.At(e.config.Now())
		return store.Swap(ctx, tx, row, &row.RowVersion)
	})
	if err != nil {
		return nil, err
	}
	return &cloudcontrol.CancelResourceRequestOutput{ProgressEvent: row.event()}, nil
}

// defaultPage is the default number of requests on a page.
const defaultPage = 20

// ListResourceRequests returns the requests of the caller, the latest first. Those that have
// ended are kept for seven days.
func (e *Engine) ListResourceRequests(ctx context.Context, caller awswire.Caller, in *cloudcontrol.ListResourceRequestsInput) (*cloudcontrol.ListResourceRequestsOutput, error) {
	limit := defaultPage
	if in.MaxResults != nil {
		limit = int(*in.MaxResults)
	}
	filter := in.ResourceRequestStatusFilter
	if filter == nil {
		filter = &types.ResourceRequestStatusFilter{}
	}
	list := []any{"ListResourceRequests", caller.Account, caller.Region, filter.Operations, filter.OperationStatuses}
	var where store.Where
	where.And("account = ? AND region = ?", caller.Account, caller.Region)
	if len(filter.Operations) > 0 {
		where.And("operation IN (?)", store.In(filter.Operations))
	}
	if len(filter.OperationStatuses) > 0 {
		where.And("status IN (?)", store.In(filter.OperationStatuses))
	}
	if in.NextToken != nil {
		keys, ok := store.ReadPageToken(*in.NextToken, 2, list...)
		if !ok {
			return nil, invalid("Invalid NextToken")
		}
		at, err := strconv.ParseInt(keys[0], 10, 64)
		if err != nil {
			return nil, invalid("Invalid NextToken")
		}
		where.And("created_at < ? OR created_at = ? AND token > ?", at, at, keys[1])
	}
	var rows []requestRow
	if err := store.List(ctx, e.store.Read(), &rows, where.Clause()+" ORDER BY created_at DESC, token LIMIT ?", append(where.Args, limit+1)...); err != nil {
		return nil, fmt.Errorf("list requests: %w", err)
	}
	out := &cloudcontrol.ListResourceRequestsOutput{ResourceRequestStatusSummaries: []types.ProgressEvent{}}
	if len(rows) > limit {
		rows = slices.Clip(rows[:limit])
		last := rows[limit-1]
		out.NextToken = present(store.PageToken([]string{strconv.FormatInt(last.CreatedAt.UnixMicro(), 10), last.Token}, list...))
	}
	for i := range rows {
		rows[i].Model = "" // summaries have none
		out.ResourceRequestStatusSummaries = append(out.ResourceRequestStatusSummaries, *rows[i].event())
	}
	return out, nil
}
