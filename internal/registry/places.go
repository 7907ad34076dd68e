package registry

import (
	"context"
	"fmt"
)

// A Place is an account in a region.
type Place struct {
	Account string `bun:"account"`
	Region  string `bun:"region"`
}

// Places lists where something was ever registered or activated, sorted.
func (r *Registry) Places(ctx context.Context) ([]Place, error) {
	var places []Place
	err := r.store.Read().NewRaw("SELECT account, region FROM types UNION SELECT account, region FROM activations ORDER BY account, region").Scan(ctx, &places)
	if err != nil {
		return nil, fmt.Errorf("list the places of types: %w", err)
	}
	return places, nil
}
