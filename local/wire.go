package local

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/formwork-dev/formwork/internal/foundation/seal"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/builtin"
	"github.com/formwork-dev/formwork/internal/running/cloudcontrol"
	"github.com/formwork-dev/formwork/internal/running/console"
	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/internal/running/delegate"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/running/macro"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/refactor"
	"github.com/formwork-dev/formwork/internal/running/registry"
	"github.com/formwork-dev/formwork/internal/running/server"
	"github.com/formwork-dev/formwork/internal/running/simulate"
	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/running/stackset"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/events"
	"github.com/formwork-dev/formwork/internal/services/functions"
	"github.com/formwork-dev/formwork/internal/services/logs"
	"github.com/formwork-dev/formwork/internal/services/s3"
	"github.com/formwork-dev/formwork/internal/services/sns"
	"github.com/formwork-dev/formwork/internal/services/states"
)

// holdAnswers is long enough for a small stack of quick resources.
const holdAnswers = 200 * time.Millisecond

// wire makes the services and engines, each after what it depends on, puts them behind the server and
// starts their work. What depends on each other in both directions is connected at the end: the
// catalog and the engines that types come from, engines and the owners of what they carry out.
//
//nolint:funlen // a list: what it would be divided into would hide the order
func (c *CloudFormation) wire(ctx context.Context, key []byte, verifier *awswire.Verifier, tracer trace.TracerProvider) error {
	config, scale, logger, now := &c.config, c.config.TimeScale, c.config.Logger, c.config.Now

	// The services of AWS that need no functions, except for the events of buckets.
	var topics *sns.Service // below: it calls functions
	buckets := s3.New(s3.Config{
		Store: c.store, Hosts: config.bucketHosts(), Logger: logger,
		Notify: func(ctx context.Context, tx *store.Tx, n s3.Notification) error {
			return topics.Deliver(ctx, tx, n.Source, n.Function, n.Event)
		},
	})
	groups := logs.New(logs.Config{Store: c.store, Logger: logger})
	c.atEnd(closing(groups.Close))
	objects, keys := objects{buckets}, keys{c.services.Sessions()}

	// Functions: those that the user named, those of stacks, and the handlers of types.
	deployed := functions.New(functions.Config{Store: c.store, Dir: filepath.Join(config.Dir, "functions")})
	allowed := deployed
	if !config.RunLambda {
		allowed = nil
	}
	types := &operation.Catalog{}
	pool, err := c.newPool(groups, allowed, keys, types)
	if err != nil {
		return err
	}
	c.atEnd(closing(pool.Close))
	tokens := operation.NewTokens(operation.TokensConfig{Store: c.store, Now: now})

	// The registry, with the operations that its tests and all below consist of.
	operations := operation.New(operation.Config{
		Store: c.store, Types: types, Prepare: stack.Prepare(c.services.Resolve), Places: map[string]operation.Places{registry.TestOwner: {}},
		Around: config.around(), TimeScale: scale, Logger: logger, Now: now,
	})
	served, err := builtin.Schemas(config.RunLambda)
	if err != nil {
		return err
	}
	shelf := simulate.New(simulate.Config{Store: c.store, Patterns: config.Simulate, Served: served, Now: now})
	c.shelf = shelf
	var delegates *delegate.Delegates // below: it passes on to types of engines
	managed := &hook.ManagedHooks{Store: c.store, Guard: hook.Guard{Program: config.guardProgram, Object: objects.rules, Environ: []string{"LANG=C.UTF-8"}}, Credentials: keys.of, Targets: types.Schema}
	extensions := registry.New(registry.Config{
		Store: c.store, Fetch: objects.fetch, Functions: registered{pool}, Resolve: c.services.Resolve, Credentials: keys.of, Deliver: objects.deliver, Targets: types.Schema,
		Imported: shelf, Delegated: func(typeName string) string { return delegates.Mark(typeName) }, ManagedHooks: managed, Operations: operations, Logger: logger, Now: now,
	})

	// What calls functions by their names.
	directory := &handlers.Directory{
		Pool: pool, Handler: extensions.Handler, Tokens: tokens, Logger: logger,
		Delegated: func(ctx context.Context, caller awswire.Caller, name, qualifier string) (lambda.Invoker, error) {
			return delegates.Function(ctx, caller, name, qualifier)
		},
	}
	managed.Functions = directory // which finds handlers in the registry, which lists these hooks
	topics = sns.New(sns.Config{Store: c.store, Functions: directory, Logger: logger, Now: now})
	rules := events.New(events.Config{Store: c.store, Functions: directory, TimeScale: scale, Logger: logger, Now: now})
	machines := states.New(states.Config{Store: c.store, Functions: directory, TimeScale: scale, Logger: logger, Now: now})
	macros := macro.New(macro.Config{
		Store: c.store, S3: buckets, Functions: directory, Logger: logger, Translator: macro.Translator{Environ: config.Environ, Dir: filepath.Join(config.Dir, spoolDir)},
	})
	custom := customresource.New(customresource.Config{
		Store: c.store, Functions: directory, Find: directory.Find, Topics: topics, Resume: operations.Resume, InProgress: operations.InProgressWith, Endpoint: c.url, SecureEndpoint: c.secureURL,
		Alone: config.Database == "", TimeScale: scale, Logger: logger, Now: now,
	})

	// The engines that provision resources.
	documents := payloads{buckets, keys.sessions, c.url}
	hooks := hook.New(hook.Config{
		Store: c.store, Sources: []hook.Source{extensions, managed}, Operations: operations, Offer: documents.offer, Withdraw: documents.withdraw, Logger: logger, Now: now,
	})
	stacks := stack.New(stack.Config{
		Store: c.store, Types: types, Operations: operations, Hooks: hooks, Object: objects.template, HasObjects: objects.any, Resolve: c.services.Resolve,
		StoredParameters: c.services.StoredParameters, Macros: macros.For, Fragment: extensions.Fragment, Notify: topics.Notify, Endpoint: c.url, Hold: holdAnswers, Logger: logger, Now: now,
		SimulateSignals: len(config.Simulate) > 0 && !config.AwaitSignals, TimeScale: scale,
	})
	refactors := refactor.New(refactor.Config{Store: c.store, Stacks: stacks, Types: types, Operations: operations, Hold: holdAnswers, Now: now})
	sets := stackset.New(stackset.Config{Store: c.store, Stacks: stacks, Reaches: config.reaches, Logger: logger, Now: now})
	requests := cloudcontrol.New(cloudcontrol.Config{Store: c.store, Types: types, Operations: operations, Hooks: hooks, Hold: holdAnswers, Now: now})
	own, err := builtin.New(builtin.Config{
		Store: c.store, Imported: shelf.Imported,
		Tables: append(c.services.Tables(), groups.Table(), server.Registry(extensions)), S3: buckets.Serve, Macros: macros, ManagedHooks: managed,
		Published: extensions.Published, PublisherOf: extensions.PublisherOf, Functions: deployed, RunLambda: config.RunLambda, Objects: objects.code, StateMachines: machines, StackSets: server.StackSets(sets),
	})
	if err != nil {
		return err
	}

	// What depends on each other in both directions.
	delegates, err = c.delegates(ctx, shelf, objects, operations)
	if err != nil {
		return err
	}
	*types = operation.Catalog{
		Registered: extensions, Stacks: stacks.OwnTypes(), Custom: custom, Delegated: delegates, Builtin: own, Simulated: shelf,
		Left: []operation.Types{own.Left(), delegates.Left()}, Preferred: shelf.Preferred, Where: delegates.Where, Served: own.Has, Shelved: shelf.Has,
	}
	operations.Own(stack.Owner, stacks)
	operations.Own(cloudcontrol.Owner, requests)
	operations.Own(registry.TestOwner, extensions.Tests())
	operations.Own(hook.OwnerName, hooks)
	hooks.Own(stack.HooksOnResource, stacks)
	hooks.Own(stack.HooksOnStack, stacks.OnStacks())
	hooks.Own(stack.HooksOnChangeSet, stacks.OnChangeSets())
	hooks.Own(cloudcontrol.HooksOwner, requests)
	stacks.OnBegin(refactors.Obsolete)
	stacks.OnEnd(sets.Ended)

	home := awswire.Place{Account: config.Account, Region: config.Region}
	c.console = console.New(console.Config{
		Registry: extensions, Stacks: stacks, Refactors: refactors, Requests: requests, Hooks: hooks, StackSets: sets, Calls: pool, Logs: groups, Places: places{extensions, stacks, sets}.all,
		Default: home, Version: config.Version, Docs: config.Docs, Warning: c.notSandboxed(), Now: now, Logger: logger,
		FormKey: seal.Derive(key, "forms of the console"), SignIn: verifier != nil, TimeScale: scale,
	})
	c.atEnd(closing(c.store.StopWork))
	c.server = server.New(server.Config{
		Registry: extensions, Services: c.services, Logs: groups, S3: buckets, Stacks: stacks, Refactors: refactors, StackSets: sets, CloudControl: requests, Shelf: shelf, Types: types, Tokens: tokens,
		Functions: directory.Function, Responses: custom, Topics: topics, Rules: rules, States: machines, Console: c.console, ConsoleToken: c.console.TokenFor,
		Authority: c.authority(), Verifier: verifier, Lookup: c.services.Key, Default: home, Hosts: config.Hosts, AnyHost: verifier != nil,
		MemoryLimit: config.MemoryLimit, Live: config.live, BodyTimeout: config.BodyTimeout, SpoolDir: filepath.Join(config.Dir, spoolDir), Readers: c.store.Readers(), Healthy: c.healthy,
		Figures:   &server.Figures{Handlers: pool.Running, Registry: extensions.Busy, WakeUps: c.store.Waiting, StoreSize: c.store.Size},
		TimeScale: scale, Simulate: config.Simulate, Delegate: config.Delegate, Version: config.Version, Tracer: tracer, Logger: logger, Now: now,
	})
	c.atEnd(c.server.Wait)
	c.atEnd(func(context.Context) error { c.server.StopInvocations(); return nil })
	c.atEnd(func(context.Context) error { c.console.Close(); return nil })

	workers, err := c.store.SweepHourly(ctx, store.Sweep{
		Expire: []func(context.Context, time.Time) error{
			buckets.Expire, c.services.Expire, extensions.Expire, operations.Expire, requests.Expire, hooks.Expire, tokens.Expire,
			custom.Expire, deployed.Expire, machines.Expire, sets.Expire, delegates.Expire,
		},
		Keeps: []func(context.Context, string) (bool, error){buckets.Keeps, extensions.KeepsBlob, deployed.KeepsBlob},
	})
	if err != nil {
		return err
	}
	for _, of := range []func() map[string]store.Worker{
		extensions.Workers, operations.Workers, stacks.Workers, refactors.Workers, custom.Workers, machines.Workers, rules.Workers, topics.Workers, sets.Workers,
	} {
		maps.Copy(workers, of())
	}
	return c.store.Work(ctx, workers)
}

// authority is the certificate of the authority for clients that use the server as a proxy, nil if it
// does not listen.
func (c *CloudFormation) authority() []byte {
	if c.config.secure == "" {
		return nil
	}
	return c.trust.Authority().PEM()
}

// reaches reports whether the stack sets of an account may have stacks in another account. Without
// keys, whoever connects acts for every account.
func (c *Config) reaches(admin, _ string) bool {
	return c.Keys == nil || slices.Contains(c.StackSetAdmins, admin)
}

// bucketHosts are the host names of which a bucket may be a subdomain; nil means the usual ones.
func (c *Config) bucketHosts() []string {
	if len(c.Hosts) == 0 {
		return nil
	}
	return append([]string{"localhost", "s3.localhost"}, c.Hosts...)
}
