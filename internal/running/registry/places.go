package registry

import (
	"context"
	"fmt"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Places lists where something was ever registered or activated, sorted.
func (r *Registry) Places(ctx context.Context) ([]awswire.Place, error) {
	var places []awswire.Place
	err := store.Query(ctx, r.store.Read(), &places, "SELECT account, region FROM types UNION SELECT account, region FROM activations ORDER BY account, region")
	if err != nil {
		return nil, fmt.Errorf("list the places of types: %w", err)
	}
	return places, nil
}
