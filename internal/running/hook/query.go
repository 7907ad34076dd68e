package hook

import (
	"context"
	"fmt"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
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
	var where store.Where
	where.And("account = ? AND region = ?", q.Place.Account, q.Place.Region)
	for _, only := range [][2]string{{"type_arn", q.TypeARN}, {"status", q.Status}, {"target_kind", string(q.Kind)}, {"stack_id", q.StackID}, {"change_set_id", q.ChangeSetID}} {
		if only[1] != "" {
			where.And(only[0]+" = ?", only[1])
		}
	}
	switch {
	case q.TargetID != "" && q.Kind == CloudControl:
		where.And("execution_target = ?", q.TargetID)
	case q.TargetID != "":
		where.And("target_id = ?", q.TargetID)
	}
	if q.Refused {
		where.And("status IN ('HOOK_COMPLETE_FAILED', 'HOOK_FAILED')")
	}
	if !q.Before.IsZero() {
		where.And("invoked_at < ? OR invoked_at = ? AND id < ?", q.Before, q.Before, q.ID)
	}
	clauses := where.Clause() + " ORDER BY invoked_at DESC, id DESC"
	if q.Limit > 0 {
		clauses += " LIMIT ?"
		where.Args = append(where.Args, q.Limit)
	}
	if err := store.List(ctx, e.store.Read(), &rows, clauses, where.Args...); err != nil {
		return nil, fmt.Errorf("list the results of hooks: %w", err)
	}
	return rows, nil
}

// Result returns one result, nil if the account does not have it in the region.
func (e *Engine) Result(ctx context.Context, place awswire.Place, id string) (*Result, error) {
	found, err := store.Find[Result](ctx, e.store.Read(), byID, id)
	if err != nil || found == nil || found.place() != place {
		return nil, err
	}
	return found, nil
}
