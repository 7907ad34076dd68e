package local

import (
	"context"
	"slices"

	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/registry"
	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/running/stackset"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// registered runs the handlers of registered versions.
type registered struct{ *handlers.Pool }

func (f registered) Function(ctx context.Context, spec bundle.Spec) (invoke.Function, error) {
	return f.Pool.Function(ctx, spec)
}

// places are where there is something to look at.
type places struct {
	registry *registry.Registry
	stacks   *stack.Engine
	sets     *stackset.Engine
}

func (p places) all(ctx context.Context) ([]awswire.Place, error) {
	found, err := p.registry.Places(ctx)
	if err != nil {
		return found, err
	}
	more, err := p.stacks.Places(ctx)
	if err != nil {
		return found, err
	}
	sets, err := p.sets.Places(ctx)
	return slices.Concat(found, more, sets), err
}
