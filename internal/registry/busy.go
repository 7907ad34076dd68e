package registry

import (
	"context"
	"fmt"
)

// Busy is the work in progress in all accounts and regions.
type Busy struct {
	Registrations int64 `bun:"registrations"` // in progress
	Tests         int64 `bun:"tests"`         // that run or wait for their turn
}

// Busy counts what is in progress, on all nodes together.
func (r *Registry) Busy(ctx context.Context) (Busy, error) {
	var busy Busy
	err := r.store.Read().NewRaw(`SELECT
		(SELECT count(*) FROM registrations WHERE status = 'IN_PROGRESS') AS registrations,
		(SELECT count(*) FROM test_runs WHERE status = 'IN_PROGRESS') AS tests`).Scan(ctx, &busy)
	if err != nil {
		return Busy{}, fmt.Errorf("count what is in progress: %w", err)
	}
	return busy, nil
}
