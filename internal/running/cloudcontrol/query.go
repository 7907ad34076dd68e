package cloudcontrol

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A RequestQuery selects requests of one place.
type RequestQuery struct {
	awswire.Place

	// BeforeTime and BeforeToken are CreatedAt and Token of the last request of the previous
	// page.
	BeforeTime  time.Time
	BeforeToken string

	Limit int
}

// A RequestState is the current state of a request, without the properties of the resource.
type RequestState struct {
	Token      string
	Operation  types.Operation
	TypeName   string
	Identifier string // "" while it is unknown
	Status     types.OperationStatus
	ErrorCode  string
	Message    string
	CreatedAt  time.Time
	EndedAt    time.Time // zero while it runs
}

// Running reports whether the request has not ended.
func (r *RequestState) Running() bool { return running[r.Status] }

// Requests lists requests, the newest first.
func (e *Engine) Requests(ctx context.Context, q RequestQuery) ([]RequestState, error) {
	var rows []requestRow
	var where store.Where
	where.And("account = ? AND region = ?", q.Account, q.Region)
	if !q.BeforeTime.IsZero() {
		at := store.At(q.BeforeTime)
		where.And("created_at < ? OR created_at = ? AND token > ?", at, at, q.BeforeToken)
	}
	err := store.Query(ctx, e.store.Read(), &rows, "SELECT "+store.Columns[requestRow]("model", "write_only")+" FROM resource_requests "+where.Clause()+" ORDER BY created_at DESC, token LIMIT ?",
		append(where.Args, q.Limit)...)
	if err != nil {
		return nil, fmt.Errorf("list requests: %w", err)
	}
	out := make([]RequestState, len(rows))
	for i, r := range rows {
		out[i] = RequestState{
			Token: r.Token, Operation: r.Operation, TypeName: r.TypeName, Identifier: r.Identifier, Status: r.Status,
			ErrorCode: r.ErrorCode, Message: r.Message, CreatedAt: r.CreatedAt.Time, EndedAt: r.EndedAt.Time,
		}
	}
	return out, nil
}

// Mark changes whenever a request of a place does.
func (e *Engine) Mark(ctx context.Context, place awswire.Place) (int64, error) {
	var sum int64
	err := store.Query(ctx, e.store.Read(), &sum, "SELECT COALESCE(SUM(row_version), 0) + 1000003 * COUNT(*) FROM resource_requests WHERE account = ? AND region = ?",
		place.Account, place.Region)
	return sum, err
}
