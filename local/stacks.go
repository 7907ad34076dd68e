package local

import (
	"context"
	"errors"
	"time"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/cloudcontrol"
	"github.com/formwork-dev/formwork/internal/document"
	"github.com/formwork-dev/formwork/internal/operation"
	"github.com/formwork-dev/formwork/internal/s3"
	"github.com/formwork-dev/formwork/internal/stack"
	"github.com/formwork-dev/formwork/internal/store"
	"github.com/formwork-dev/formwork/internal/template"
)

// holdAnswers is long enough for a small stack of quick resources.
const holdAnswers = 200 * time.Millisecond

// openStacks sets up the engine of stacks and that of the operations on their resources,
// which know each other.
func (c *CloudFormation) openStacks() {
	c.operations = operation.New(operation.Config{
		Store: c.store, Types: c, Owners: map[string]operation.Owner{stack.Owner: stackOwner{c}, cloudcontrol.Owner: cloudControlOwner{c}},
		Prepare: c.prepare, TimeScale: c.config.TimeScale, Logger: c.config.Logger, Now: c.config.Now,
	})
	c.stacks = stack.New(stack.Config{
		Store: c.store, Types: c, Operations: c.operations, Objects: objects{c.s3}, References: references{c.services},
		Macros: c.macros.For, Endpoint: c.url, Hold: holdAnswers, Logger: c.config.Logger, Now: c.config.Now,
	})
}

// openCloudControl sets up the engine of requests on single resources.
func (c *CloudFormation) openCloudControl() {
	c.cloudControl = cloudcontrol.New(cloudcontrol.Config{
		Store: c.store, Types: c, Operations: c.operations, Hold: holdAnswers, Now: c.config.Now,
	})
}

// cloudControlOwner is the engine of requests, which is made after the engine that reports to it.
type cloudControlOwner struct{ c *CloudFormation }

func (o cloudControlOwner) Progressed(ctx context.Context, tx *store.Tx, state operation.State) error {
	return o.c.cloudControl.Progressed(ctx, tx, state)
}

// stackOwner is the engine of stacks, which is made after the engine that reports to it.
type stackOwner struct{ c *CloudFormation }

func (o stackOwner) Progressed(ctx context.Context, tx *store.Tx, state operation.State) error {
	return o.c.stacks.Progressed(ctx, tx, state)
}

// prepare completes the calls of providers.
func (c *CloudFormation) prepare(ctx context.Context, request operation.Request) (operation.Request, error) {
	return c.stacks.Prepare(ctx, request)
}

// objects fetches templates from our own S3, whichever form their URL has.
type objects struct{ s3 *s3.Service }

func (o objects) Object(ctx context.Context, caller awswire.Caller, url string, limit int64) ([]byte, error) {
	at, err := o.s3.ParseURL(url)
	if err != nil {
		return nil, stack.ErrNotObject
	}
	object, err := o.s3.Open(ctx, caller.Account, at)
	var refusal *awswire.Error
	switch {
	case errors.As(err, &refusal):
		return nil, awswire.ValidationErrorf("TemplateURL must reference a valid S3 object to which you have access.")
	case err != nil:
		return nil, err
	}
	defer func() { _ = object.Close() }() // it was only read
	var large *document.TooLargeError
	text, err := document.ReadAll(object, limit)
	if errors.As(err, &large) {
		return make([]byte, limit+1), nil // the engine refuses it by its own limit
	}
	return text, err
}

// StoredParameters implements stack.References.
func (r references) StoredParameters(ctx context.Context, caller awswire.Caller, names []string) (map[string]template.Stored, error) {
	out := map[string]template.Stored{}
	for _, name := range names {
		value, kind, err := r.services.Parameter(ctx, caller, name, false)
		var refusal *awswire.Error
		switch {
		case errors.As(err, &refusal): // it is not there
		case err != nil:
			return nil, err
		default:
			out[name] = template.Stored{Type: string(kind), Value: value}
		}
	}
	return out, nil
}
