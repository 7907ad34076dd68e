package registry

import (
	"context"
	"fmt"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// Busy is the work in progress in all accounts and regions.
type Busy struct {
	Registrations int64 `db:"registrations"` // in progress
	Tests         int64 `db:"tests"`         // that run or wait for their turn
}

// Busy counts what is in progress, on all nodes together.
func (r *Registry) Busy(ctx context.Context) (Busy, error) {
	var busy Busy
	err := store.Query(ctx, r.store.Read(), &busy, "SELECT\n\t\t(SELECT count(*) FROM registrations WHERE status = 'IN_PROGRESS') AS registrations,\n\t\t(SELECT count(*) FROM test_runs WHERE status = 'IN_PROGRESS') AS tests")
	if err != nil {
		return Busy{}, fmt.Errorf("count what is in progress: %w", err)
	}
	return busy, nil
}
