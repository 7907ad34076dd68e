package local

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/builtin"
	"github.com/formwork-dev/formwork/internal/cloudcontrol"
	"github.com/formwork-dev/formwork/internal/customresource"
	"github.com/formwork-dev/formwork/internal/functions"
	"github.com/formwork-dev/formwork/internal/handlers"
	"github.com/formwork-dev/formwork/internal/hook"
	"github.com/formwork-dev/formwork/internal/invoke"
	"github.com/formwork-dev/formwork/internal/macro"
	"github.com/formwork-dev/formwork/internal/operation"
	"github.com/formwork-dev/formwork/internal/registry"
	"github.com/formwork-dev/formwork/internal/s3"
	"github.com/formwork-dev/formwork/internal/server"
	"github.com/formwork-dev/formwork/internal/simulate"
	"github.com/formwork-dev/formwork/internal/stack"
	"github.com/formwork-dev/formwork/internal/stackset"
	"github.com/formwork-dev/formwork/internal/store"
	"github.com/formwork-dev/formwork/internal/template"
)

// openEngines sets up the registry, what provisions resources, and the engines that do so.
func (c *CloudFormation) openEngines() error {
	config := &c.config
	c.types = &operation.Catalog{}
	c.operations = operation.New(operation.Config{
		Store: c.store, Types: c.types, Prepare: c.prepare, TimeScale: config.TimeScale, Logger: config.Logger, Now: config.Now,
		Owners: map[string]operation.Owner{stack.Owner: stackOwner{c}, cloudcontrol.Owner: cloudControlOwner{c}, registry.TestOwner: testOwner{c}, hook.OwnerName: hookOwner{c}},
		Places: map[string]operation.Places{registry.TestOwner: {}},
	})
	c.registry = registry.New(registry.Config{
		Store: c.store, Packages: packages{c.s3}, Functions: registered{c.handlers}, References: references{c.services},
		Credentials: keys{c.sessions}, Deliveries: deliveries{c.s3}, Imported: imported{c}, ManagedHooks: registeredHooks{c}, Operations: c.operations, Logger: config.Logger, Now: config.Now,
	})
	c.functions = &handlers.Directory{Pool: c.handlers, Handler: c.registry.Handler, Tokens: c.tokens, Logger: config.Logger}
	c.managedHooks = &hook.ManagedHooks{
		Store: c.store, Functions: c.functions, Credentials: keys{c.sessions}.For,
		Guard: hook.Guard{Program: c.guardProgram, Object: c.guardObject, Environ: []string{"LANG=C.UTF-8"}},
	}
	macros := macro.New(macro.Config{
		Store: c.store, S3: c.s3, Functions: c.functions, Logger: config.Logger,
		Translator: macro.Translator{Environ: config.Environ, Dir: filepath.Join(config.Dir, spoolDir)},
	})
	var allowed *functions.Functions
	if config.RunLambda {
		allowed = c.deployed
	}
	var err error
	if c.served, err = builtin.New(builtin.Config{
		Tables: append(c.services.Tables(), c.logs.Table(), server.Registry(c.registry)), S3: c.s3.Serve, Macros: macros, ManagedHooks: managedHooks{c.managedHooks}, Registry: c.registry,
		Functions: allowed, Objects: c.codeObject, StateMachines: c.states, StackSets: stackSetCalls{c},
	}); err != nil {
		return err
	}
	c.shelf = simulate.New(simulate.Config{Store: c.store, Patterns: config.Simulate, Served: c.served.Has, Now: config.Now})
	c.topics.Use(c.functions)
	c.states.Use(c.functions)
	c.rules.Use(c.functions)
	c.custom = customresource.New(customresource.Config{
		Store: c.store, Operations: c.operations, Functions: c.functions, Topics: c.topics, Endpoint: c.url, SecureEndpoint: c.secureURL,
		Alone: config.Database == "", TimeScale: config.TimeScale, Logger: config.Logger, Now: config.Now,
	})
	c.types.Custom = c.custom
	c.types.Registered, c.types.Builtin, c.types.Simulated, c.types.Preferred = c.registry, c.served, c.shelf, c.shelf.Preferred
	c.openHooks()
	c.stacks = stack.New(stack.Config{
		Store: c.store, Types: c.types, Operations: c.operations, Hooks: c.hooks, Objects: objects{c.s3}, Buckets: objects{c.s3}, References: references{c.services},
		Macros: macros.For, Modules: c.registry, Notify: c.topics.Notify, Endpoint: c.url, Hold: holdAnswers, Logger: config.Logger, Now: config.Now,
		Ended: func(ctx context.Context, tx *store.Tx, stackARN string) error {
			return c.stackSets.Ended(ctx, tx, stackARN)
		},
	})
	c.stackSets = stackset.New(stackset.Config{Store: c.store, Stacks: c.stacks, Reaches: c.reaches, Logger: config.Logger, Now: config.Now})
	c.setTable = server.StackSets(c.stackSets)
	c.types.Stacks = c.stacks.OwnTypes()
	c.hooks.Own(stack.HooksOnResource, c.stacks)
	c.hooks.Own(stack.HooksOnStack, c.stacks.OnStacks())
	c.hooks.Own(stack.HooksOnChangeSet, c.stacks.OnChangeSets())
	c.cloudControl = cloudcontrol.New(cloudcontrol.Config{
		Store: c.store, Types: c.types, Operations: c.operations, Hooks: c.hooks, Hold: holdAnswers, Now: config.Now,
	})
	c.hooks.Own(cloudcontrol.HooksOwner, c.cloudControl)
	return nil
}

// codeObject opens the code of a function in our own S3.
func (c *CloudFormation) codeObject(ctx context.Context, caller awswire.Caller, bucket, key, version string) (io.ReadCloser, error) {
	return c.s3.Open(ctx, caller.Account, s3.Location{Bucket: bucket, Key: key, Version: version})
}

// reaches reports whether the stack sets of an account may have stacks in another account. Without
// keys, whoever connects acts for every account.
func (c *CloudFormation) reaches(admin, _ string) bool {
	return c.config.Keys == nil || slices.Contains(c.config.StackSetAdmins, admin)
}

// stackSetCalls makes calls of the engine of stack sets, which is made after the types that call it.
type stackSetCalls struct{ c *CloudFormation }

// Call implements [builtin.Service].
func (s stackSetCalls) Call(ctx context.Context, caller awswire.Caller, name string, in any) (any, error) {
	return s.c.setTable.Call(ctx, caller, name, in)
}

// holdAnswers is long enough for a small stack of quick resources.
const holdAnswers = 200 * time.Millisecond

// objects fetches templates from our own S3, whichever form their URL has.
type objects struct{ s3 *s3.Service }

func (o objects) Object(ctx context.Context, caller awswire.Caller, url string, limit int64) ([]byte, error) {
	at, err := o.s3.ParseURL(url)
	if err != nil {
		return nil, stack.ErrNotObject
	}
	object, err := o.s3.Open(ctx, caller.Account, at)
	if err != nil {
		return nil, err
	}
	defer func() { _ = object.Close() }() // it was only read
	return io.ReadAll(io.LimitReader(object, limit+1))
}

func (o objects) HasObjects(ctx context.Context, caller awswire.Caller, bucket string) (bool, error) {
	return o.s3.HasObjects(ctx, caller.Account, bucket)
}

func (r references) StoredParameters(ctx context.Context, caller awswire.Caller, names []string) (map[string]template.Stored, error) {
	found, err := r.services.StoredParameters(ctx, caller, names)
	out := make(map[string]template.Stored, len(found))
	for name, p := range found {
		out[name] = template.Stored{Type: string(p.Type), Value: p.Value}
	}
	return out, err
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

// cloudControlOwner is the engine of requests, which is made after the engine that reports to it.
type cloudControlOwner struct{ c *CloudFormation }

func (o cloudControlOwner) Progressed(ctx context.Context, tx *store.Tx, state operation.State) error {
	return o.c.cloudControl.Progressed(ctx, tx, state)
}

// testOwner is the registry as it runs tests, which is made after the engine that calls it.
type testOwner struct{ c *CloudFormation }

func (o testOwner) Actions() []invoke.Action { return o.c.registry.Tests().Actions() }

func (o testOwner) Type(ctx context.Context, caller awswire.Caller, name, version string) (*operation.Type, error) {
	return o.c.registry.Tests().Type(ctx, caller, name, version)
}

func (o testOwner) Progressed(ctx context.Context, tx *store.Tx, state operation.State) error {
	return o.c.registry.Tests().Progressed(ctx, tx, state)
}

func (o testOwner) Committed(ctx context.Context, state operation.State) {
	o.c.registry.Tests().Committed(ctx, state)
}
