package awslite

import (
	"context"
	"database/sql"

	"github.com/formwork-dev/formwork/internal/store"
)

// Expire forgets the temporary keys that have expired more than a day ago, and counts them.
func (s *Services) Expire(ctx context.Context) (sessions int, err error) {
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		sessions, err = s.forgetSessions(ctx, tx)
		return err
	})
	return sessions, err
}

// affected is how many rows a statement has changed.
func affected(result sql.Result) int {
	n, err := result.RowsAffected()
	if err != nil {
		return 0 // both drivers count
	}
	return int(n)
}
