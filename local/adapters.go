package local

import (
	"context"
	"io"
	"slices"

	"github.com/formwork-dev/formwork/internal/awslite"
	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/functions"
	"github.com/formwork-dev/formwork/internal/handlers"
	"github.com/formwork-dev/formwork/internal/invoke"
	"github.com/formwork-dev/formwork/internal/logs"
	"github.com/formwork-dev/formwork/internal/registry"
	"github.com/formwork-dev/formwork/internal/s3"
	"github.com/formwork-dev/formwork/internal/schema"
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
type registered struct{ pool *handlers.Pool }

func (f registered) Probe(ctx context.Context, spec registry.FunctionSpec) error {
	return f.pool.Probe(ctx, handlers.Spec(spec))
}

func (f registered) Remove(spec registry.FunctionSpec) { f.pool.Remove(handlers.Spec(spec)) }

func (f registered) Function(ctx context.Context, spec registry.FunctionSpec) (invoke.Function, error) {
	return f.pool.Function(ctx, handlers.Spec(spec))
}

// versions find the handlers of registered types.
type versions struct{ registry *registry.Registry }

func (v versions) Handler(ctx context.Context, caller awswire.Caller, kind schema.Kind, typeName, version string) (handlers.Spec, error) {
	found, err := v.registry.Resolve(ctx, caller, kind, typeName, version)
	if err != nil {
		return handlers.Spec{}, err
	}
	return handlers.Spec(found.Function()), nil
}

// logSink keeps the output of handlers in CloudWatch Logs.
type logSink struct{ logs *logs.Service }

func (l logSink) Append(ctx context.Context, place awswire.Place, group, stream string, lines []handlers.Line) error {
	out := make([]logs.Line, len(lines))
	for i, line := range lines {
		out[i] = logs.Line(line)
	}
	return l.logs.Append(ctx, place, group, stream, out)
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

// deployedFunctions are the functions that stacks have deployed.
type deployedFunctions struct{ functions *functions.Functions }

func (d deployedFunctions) Deployed(ctx context.Context, place awswire.Place, name, qualifier string) (*handlers.Deployment, error) {
	found, err := d.functions.Deployed(ctx, place, name, qualifier)
	if err != nil || found == nil {
		return nil, err
	}
	out := handlers.Deployment(*found)
	return &out, nil
}

func (d deployedFunctions) Unpacked(ctx context.Context, hash string) (string, error) {
	return d.functions.Unpacked(ctx, hash)
}
