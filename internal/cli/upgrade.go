package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/envvar"
	"github.com/formwork-dev/formwork/internal/proving/contract"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/local"
)

// upgradeOptions are the options of cfn test about upgrades.
type upgradeOptions struct {
	upgradeFrom          string
	downgrade, simulated bool
	modules              []string // folders with the modules in a module
}

func (o *upgradeOptions) upgradeFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.upgradeFrom, "upgrade-from", "", "test the upgrade from the old version `SOURCE`: a package (ZIP), a revision in git, or the number of a version in the registry")
	flags.BoolVar(&o.downgrade, "downgrade", false, "with --upgrade-from, also test the way back to the old version")
	flags.BoolVar(&o.simulated, "simulated", false, "with --upgrade-from, run no handlers: both versions are simulated from their schemas")
	flags.StringArrayVar(&o.modules, "modules", nil, "with --upgrade-from, find the modules in a module in the folder `DIR` (may be repeated)")
	annotate(flags, addition, "upgrade-from", "downgrade", "simulated", "modules")
}

// A lastUpdate has the models of the latest update of a resource of a stack.
type lastUpdate struct {
	mu                sync.Mutex
	desired, previous map[string]any
}

func (l *lastUpdate) around(ctx context.Context, call local.ResourceCall, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
	if call.Action == "UPDATE" && call.StackID != "" {
		l.mu.Lock()
		l.desired, l.previous = call.Desired, call.Previous
		l.mu.Unlock()
	}
	return next(ctx)
}

func (l *lastUpdate) models() (desired, previous map[string]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.desired, l.previous
}

// testUpgrade tests the upgrade from an older version of the project.
func (c *app) testUpgrade(ctx context.Context, opts *testOptions, p *project.Project, s *schema.Schema) error {
	if p.Kind == schema.Hook {
		return usagef("option --upgrade-from: only resource types and modules have upgrade tests; %s is a hook", p.TypeName)
	}
	if p.Kind != schema.Module && opts.changed("modules") {
		return usagef("option --modules: only allowed for modules; %s is a resource type", p.TypeName)
	}
	if p.Kind == schema.Module {
		for name, set := range map[string]bool{"downgrade": opts.downgrade, "simulated": opts.simulated} {
			if set {
				return usagef("option --%s: not allowed for a module, which has no handlers", name)
			}
		}
	}
	old, err := c.oldVersion(ctx, opts, p)
	if err != nil {
		return err
	}
	defer old.close()
	switch {
	case old.typeName != p.TypeName:
		return fmt.Errorf("%s is a version of %s, not of %s", old.name, old.typeName, p.TypeName)
	case p.Kind == schema.Module:
		return c.upgradeModule(ctx, opts, p, old)
	case opts.arguments.CollectOnly:
		return c.collect(contract.SelectUpgrade(old.schema, opts.downgrade, opts.arguments.Selection))
	}
	config, configuration, err := c.upgradeConfig(ctx, opts, p, s, old)
	if err != nil {
		return err
	}
	seen := &lastUpdate{}
	remote, stop, err := c.startOwn(ctx, opts, func(config *local.Config) {
		config.Around = seen.around
		if opts.simulated {
			config.Simulate, config.AwaitSignals = []string{p.TypeName}, true // a wait condition is what fails beside the resource
		}
	})
	if err != nil {
		return err
	}
	defer stop()
	if opts.simulated {
		config.Use = useSimulated(remote, old.schema, s)
	} else if config.Use, err = c.useRegistered(ctx, opts, remote, old, configuration); err != nil {
		return err
	}
	before, now := remote.TestStacks(old.schema, handlers.DefaultLogGroup), remote.TestStacks(s, handlers.DefaultLogGroup)
	config.Stacks, config.Resources, config.OldResources, config.LastLines, config.LastUpdate = now, now, before, now.LastLines, seen.models
	if opts.simulated {
		config.LastLines = nil
	}
	run := func(reporter contract.Reporter) (*contract.Summary, error) {
		config.Reporter = reporter
		summary, err := contract.RunUpgrade(ctx, *config)
		if summary != nil && err == nil {
			err = c.writeProof(p, newProof(old, s, opts.simulated, summary))
		}
		return summary, err
	}
	return c.reportStacks(opts, s, run)
}

// upgradeConfig gathers what the tests need beside a CloudFormation, with the settings of the type.
func (c *app) upgradeConfig(ctx context.Context, opts *testOptions, p *project.Project, s *schema.Schema, old *oldVersion) (*contract.UpgradeConfig, any, error) {
	base, err := c.testConfig(ctx, opts, p, s)
	if err != nil {
		return nil, nil, err
	}
	config := &contract.UpgradeConfig{Old: old.schema, From: old.name, Downgrade: opts.downgrade, Secrets: c.log.Secrets()}
	config.StackConfig = contract.StackConfig{
		Schema: s, Seed: base.Seed, Selection: base.Selection, StepTimeout: opts.timeout, Now: c.Now, CleanupTimeout: ownCleanup,
	}
	inputs, err := c.oldInputs(ctx, opts, p, old)
	if err != nil {
		return nil, nil, err
	}
	config.Inputs = *inputs
	changes, problems, err := c.compare(side{schemas: []*schema.Schema{old.schema}}, side{schemas: []*schema.Schema{s}, dir: p.Dir})
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return nil, nil, err
	}
	config.Changes = changes
	err = contract.CheckUpgrade(config)
	if errors.Is(err, contract.ErrNothingSelected) {
		err = withHint(err, "run cfn test --upgrade-from %s -- --collect-only to list the tests", shellQuote(opts.upgradeFrom))
	}
	return config, base.TypeConfiguration, err
}

// oldInputs are the inputs of the old version or, if it has none, those of the project that the old schema accepts; else they are
// generated.
func (c *app) oldInputs(ctx context.Context, opts *testOptions, p *project.Project, old *oldVersion) (*contract.Inputs, error) {
	exports, err := c.readExports(ctx, opts)
	if err != nil {
		return nil, err
	}
	from := contract.InputsConfig{
		Files: old.files, Label: old.name + ":", Schema: old.schema, Exports: exports, Env: func(name string) (string, bool) { return envvar.Lookup(c.Environ, name) },
	}
	if old.files != nil {
		inputs, found, err := contract.LoadInputs(from)
		if err != nil || found.HasErrors() {
			return nil, errors.Join(err, found.Err())
		}
		if len(inputs.Sets) > 0 || inputs.Overrides != nil {
			return inputs, nil
		}
	}
	from.Files, from.Label = os.DirFS(p.Dir), ""
	inputs, problems, err := contract.LoadInputs(from)
	if err != nil {
		return nil, err
	}
	if problems.HasErrors() {
		c.notef("note: %s has no inputs, and its schema does not accept those of the project: the inputs are generated\n", old.name)
		return &contract.Inputs{}, nil
	}
	return inputs, nil
}

// useRegistered registers both versions.
func (c *app) useRegistered(ctx context.Context, opts *testOptions, remote *submit.Remote, old *oldVersion, configuration any) (func(context.Context, contract.Version) error, error) {
	request, err := opts.ownExtension(ctx, c)
	if err != nil {
		return nil, err
	}
	var versions [2]string
	for i, q := range []*submit.Request{old.request, request} {
		registered, err := c.registerOwn(ctx, remote, q, configuration, opts.timeout)
		if err != nil {
			if i == int(contract.OldVersion) {
				err = withHint(fmt.Errorf("register the old version, %s: %w", old.name, err), "to compare the schemas without handlers, pass --simulated")
			}
			return nil, err
		}
		versions[i], configuration = registered.VersionARN, nil
	}
	return func(ctx context.Context, v contract.Version) error { return remote.SetDefault(ctx, versions[v]) }, nil
}

// useSimulated simulates each version by its schema.
func useSimulated(remote *submit.Remote, old, new *schema.Schema) func(context.Context, contract.Version) error {
	schemas := [2]*schema.Schema{old, new}
	return func(ctx context.Context, v contract.Version) error {
		s := schemas[v]
		_, err := remote.ImportTypes(ctx, []submit.TypeSchema{{Name: s.TypeName.Value, Schema: string(s.Root.AppendJSON(nil))}}, nil)
		return err
	}
}
