package local

import (
	"context"
	"io"
	"slices"

	"github.com/formwork-dev/formwork/internal/awslite"
	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/bundle"
	"github.com/formwork-dev/formwork/internal/handlers"
	"github.com/formwork-dev/formwork/internal/invoke"
	"github.com/formwork-dev/formwork/internal/registry"
	"github.com/formwork-dev/formwork/internal/s3"
	"github.com/formwork-dev/formwork/internal/stack"
	"github.com/formwork-dev/formwork/internal/stackset"
)

// packages fetches what RegisterType is pointed to from our own S3, whichever form its URL
// has: nothing is fetched from the network.
type packages struct{ s3 *s3.Service }

func (p packages) Fetch(ctx context.Context, caller awswire.Caller, url string) (io.ReadCloser, error) {
	at, err := p.s3.ParseURL(url)
	if err != nil {
		return nil, awswire.ValidationErrorf("SchemaHandlerPackage: %s", err)
	}
	return p.s3.Open(ctx, caller.Account, at)
}

// deliveries puts the logs of tests into buckets.
type deliveries struct{ s3 *s3.Service }

func (d deliveries) Deliver(ctx context.Context, caller awswire.Caller, bucket, key string, body io.ReadSeeker) error {
	_, err := d.s3.Put(ctx, caller.Account, s3.Location{Bucket: bucket, Key: key}, "application/zip", body)
	return err
}

// references resolves dynamic references by our own parameters and secrets.
type references struct{ services *awslite.Services }

func (r references) Resolve(ctx context.Context, caller awswire.Caller, service, reference string) (string, error) {
	return r.services.Resolve(ctx, caller, service, reference)
}

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

func (p places) Places(ctx context.Context) ([]awswire.Place, error) {
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
