package hook

import (
	"context"
	"fmt"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/store"
)

// A Query selects results. Empty members select all.
type Query struct {
	Place       awswire.Place
	TypeARN     string
	Status      string
	Kind        Kind   // with TargetID: results of a change set, or of a request of Cloud Control
	TargetID    string // ARN of the change set, or the token of the request
	StackID     string // ARN
	ChangeSetID string // ARN: results of the change set and of its execution
	Refused     bool   // only those that did not pass

	Before store.Time // only those invoked before, or then with a smaller id
	ID     string
	Limit  int
}

// Results returns results, the newest first.
func (e *Engine) Results(ctx context.Context, q Query) ([]Result, error) {
	var rows []Result
	query := e.store.Read().NewSelect().Model(&rows).Where("account = ? AND region = ?", q.Place.Account, q.Place.Region)
	for column, value := range map[string]string{"type_arn": q.TypeARN, "status": q.Status, "target_kind": string(q.Kind), "stack_id": q.StackID, "change_set_id": q.ChangeSetID} {
		if value != "" {
			query = query.Where(column+" = ?", value)
		}
	}
	switch {
	case q.TargetID != "" && q.Kind == CloudControl:
		query = query.Where("execution_target = ?", q.TargetID)
	case q.TargetID != "":
		query = query.Where("target_id = ?", q.TargetID)
	}
	if q.Refused {
		query = query.Where("status IN ('HOOK_COMPLETE_FAILED', 'HOOK_FAILED')")
	}
	if !q.Before.IsZero() {
		query = query.Where("invoked_at < ? OR invoked_at = ? AND id < ?", q.Before, q.Before, q.ID)
	}
	if q.Limit > 0 {
		query = query.Limit(int64(q.Limit))
	}
	if err := query.OrderExpr("invoked_at DESC, id DESC").Scan(ctx); err != nil {
		return nil, fmt.Errorf("list the results of hooks: %w", err)
	}
	return rows, nil
}

// Result returns one result, nil if the account does not have it in the region.
func (e *Engine) Result(ctx context.Context, place awswire.Place, id string) (*Result, error) {
	found, err := find[Result](ctx, e.store.Read(), byID, id)
	if err != nil || found == nil || found.place() != place {
		return nil, err
	}
	return found, nil
}
