package awslite

import (
	"context"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// Expire forgets the temporary keys that have expired more than a day ago.
func (s *Services) Expire(ctx context.Context, now time.Time) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return forgetSessions(ctx, tx, now) })
}
