package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/authoring/build"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/proving/contract"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/inprocess"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/local"
)

// stackOptions are the options of cfn test about the tests in stacks.
type stackOptions struct {
	inStack     bool
	endpointURL string
	timeout     time.Duration

	changed func(name string) bool // reports whether an option was given
}

func (o *stackOptions) stackFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.inStack, "in-stack", false, "run the tests in stacks instead of the contract tests")
	flags.StringVar(&o.endpointURL, "endpoint-url", "", "with --in-stack, use the CloudFormation at the `URL` (default: a local one for the run); with --upgrade-from, read the old version from its registry")
	flags.DurationVar(&o.timeout, "timeout", contract.DefaultStepTimeout, "with --in-stack or --upgrade-from, limit each operation on a stack or a resource to `DURATION`")
	annotate(flags, addition, "in-stack", "endpoint-url", "timeout")
	o.changed = flags.Changed
}

// notInStacks are the options that mean nothing for the tests in stacks: CloudFormation calls
// the handlers, and sends what it sends.
var notInStacks = []string{
	"endpoint", "function-name", "role-arn", "log-group-name", "log-role-arn", "docker-image", "source-account", "source-arn", "enforce-timeout",
	"suite", "wire", "parallel", "shuffle", "cleanup", "replay", "shrink", "faults", "record", "replay-http",
	"debug", "debug-port",
}

// notRemote are the options about handlers that run on this machine.
var notRemote = []string{"env", "no-build", "typeconfig", "time-scale", "stub"}

// checkStacks checks the combination of options.
func (opts *testOptions) checkStacks() error {
	upgrade := opts.changed("upgrade-from")
	with := "--in-stack"
	switch {
	case upgrade && opts.inStack:
		return usagef("option --in-stack: not allowed with --upgrade-from, whose tests run in stacks, too")
	case upgrade:
		with = "--upgrade-from"
	case opts.downgrade:
		return usagef("option --downgrade: only allowed with --upgrade-from")
	case !upgrade && opts.changed("modules"):
		return usagef("option --modules: only allowed with --upgrade-from")
	case opts.simulated:
		return usagef("option --simulated: only allowed with --upgrade-from")
	case !opts.inStack:
		for _, name := range []string{"endpoint-url", "timeout"} {
			if opts.changed(name) {
				return usagef("option --%s: only allowed with --in-stack or --upgrade-from", name)
			}
		}
		return nil
	}
	for _, name := range notInStacks {
		if opts.changed(name) {
			return usagef("option --%s: not allowed with %s", name, with)
		}
	}
	for _, name := range notRemote {
		if opts.changed(name) && opts.endpointURL != "" && !upgrade {
			return usagef("option --%s: not allowed with --endpoint-url, whose CloudFormation runs the handlers", name)
		}
	}
	switch {
	case opts.changed("profile") && opts.endpointURL == "" && !upgrade:
		return usagef("option --profile: with --in-stack, only allowed with --endpoint-url")
	case opts.changed("endpoint-url") && opts.endpointURL == "":
		return usagef("option --endpoint-url: expected a URL")
	case opts.timeout <= 0:
		return usagef("option --timeout: %s is not a positive duration", opts.timeout)
	}
	return nil
}

// testInStack runs the tests in stacks.
func (c *app) testInStack(ctx context.Context, opts *testOptions, p *project.Project, s *schema.Schema) error {
	if p.Kind != schema.Resource {
		return usagef("option --in-stack: only resource types can be tested in stacks; %s is a %s", p.TypeName, map[schema.Kind]string{schema.Hook: "hook", schema.Module: "module"}[p.Kind])
	}
	if opts.arguments.CollectOnly {
		return c.collect(contract.SelectStacks(s, opts.arguments.Selection))
	}
	base, err := c.testConfig(ctx, opts, p, s)
	if err != nil {
		return err
	}
	config := contract.StackConfig{
		Schema: s, Inputs: base.Inputs, Seed: base.Seed, Selection: base.Selection, StepTimeout: opts.timeout, Now: c.Now,
		Redactor: invoke.RedactorConfig{Schema: s, Secrets: c.log.Secrets()}.New(),
	}
	if err := contract.CheckStacks(config); err != nil {
		if errors.Is(err, contract.ErrNothingSelected) {
			err = withHint(err, "run cfn test --in-stack -- --collect-only to list the tests")
		}
		return err
	}
	var remote *submit.Remote
	if opts.endpointURL == "" {
		own, stop, err := c.ownCloudFormation(ctx, opts, base.TypeConfiguration)
		if err != nil {
			return err
		}
		defer stop()
		remote, config.CleanupTimeout = own, ownCleanup
	} else {
		at := remoteOptions{endpoint: opts.endpointURL, profile: opts.profile}
		if opts.changed("region") {
			at.region = opts.region
		}
		if remote, err = c.openRemote(ctx, &at); err != nil {
			return err
		}
		if err := c.registered(ctx, remote, &at, s); err != nil {
			return err
		}
		config.Again = at.again(remote.Region)
	}
	tester := remote.TestStacks(s, handlers.DefaultLogGroup)
	config.Stacks, config.Resources, config.LastLines = tester, tester, tester.LastLines
	return c.runInStacks(ctx, opts, config)
}

// ownCleanup bounds what is deleted after an interrupt, when the CloudFormation is one of the
// run's own: it ends in any case, and with it every stack.
const ownCleanup = 500 * time.Millisecond

func (c *app) runInStacks(ctx context.Context, opts *testOptions, config contract.StackConfig) error {
	if config.Again != "" {
		defer context.AfterFunc(ctx, func() {
			fmt.Fprintln(c.Stderr, "interrupted: deleting the stacks of the tests, whose names begin with cfn-test; interrupt again to stop at once and leave them")
		})()
	}
	return c.reportStacks(opts, config.Schema, func(reporter contract.Reporter) (*contract.Summary, error) {
		config.Reporter = reporter
		return contract.RunStacks(ctx, config)
	})
}

// reportStacks writes the reports of a run in stacks.
func (c *app) reportStacks(opts *testOptions, s *schema.Schema, run func(contract.Reporter) (*contract.Summary, error)) error {
	text := &contract.Text{W: c.Stdout, Verbosity: opts.arguments.Verbosity, Live: opts.arguments.Live, Traceback: opts.arguments.Traceback}
	summary, err := run(c.testReporters(opts, text))
	if summary != nil {
		if err := c.writeReports(opts, summary); err != nil {
			return err
		}
		if err := c.writeFormats(opts.reports, summary, s); err != nil {
			return err
		}
	}
	switch {
	case err != nil:
		return err
	case text.Err() != nil:
		return fmt.Errorf("write the report: %w", text.Err())
	case !summary.OK():
		what := "tests in stacks"
		if opts.upgradeFrom != "" {
			what = "upgrade tests"
		}
		return &exitError{exitFailure, "One or more " + what + " failed"}
	}
	return nil
}

// ownCloudFormation starts a local CloudFormation for the run and registers the project's type.
// Nothing of it remains after stop.
func (c *app) ownCloudFormation(ctx context.Context, opts *testOptions, configuration any) (remote *submit.Remote, stop func(), err error) {
	request, err := opts.ownExtension(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	remote, stop, err = c.startOwn(ctx, opts, func(*local.Config) {})
	if err != nil {
		return nil, nil, err
	}
	if _, err := c.registerOwn(ctx, remote, request, configuration, opts.timeout); err != nil {
		stop()
		return nil, nil, err
	}
	return remote, stop, nil
}

// ownExtension packages the project.
func (opts *testOptions) ownExtension(ctx context.Context, c *app) (*submit.Request, error) {
	what := packageOptions{noRole: true, build: build.PackageOptions{NoBuild: opts.noBuild, Arch: build.X86}, timeout: opts.timeout}
	request, _, err := what.extension(ctx, c)
	return request, err
}

// startOwn starts a local CloudFormation for the run. Nothing of it remains after stop.
func (c *app) startOwn(ctx context.Context, opts *testOptions, complete func(*local.Config)) (remote *submit.Remote, stop func(), err error) {
	config := local.ServerConfig{
		Address: "127.0.0.1:0", GracePeriod: 200 * time.Millisecond,
		Config: local.Config{Region: opts.region, Account: lambda.DefaultAccountID, Version: c.Version, Environ: c.Environ, Logger: c.logger},
	}
	config.TimeScale = opts.timeScale
	if config.HandlerEnv, err = c.handedOn("--env", opts.env); err != nil {
		return nil, nil, err
	}
	if err := opts.sandbox.serve(c, c.projectDir(), &config.Config); err != nil {
		return nil, nil, err
	}
	complete(&config.Config)
	return c.serveOwn(ctx, config)
}

// serveOwn starts a local CloudFormation in this process. Nothing of it remains after stop.
func (c *app) serveOwn(ctx context.Context, config local.ServerConfig) (remote *submit.Remote, stop func(), err error) {
	server, err := inprocess.Start(ctx, config, submit.Config{Getenv: c.Getenv, Now: c.Now, Logger: c.logger, Pause: 20 * time.Millisecond}, c.logger)
	if err != nil {
		return nil, nil, c.serviceError(err)
	}
	for _, note := range server.Notes {
		c.notef("warning: %s\n", note)
	}
	return server.Remote, server.Stop, nil
}

// registerOwn registers a version of the type at a local CloudFormation of this process.
func (c *app) registerOwn(ctx context.Context, remote *submit.Remote, request *submit.Request, configuration any, timeout time.Duration) (*submit.Registration, error) {
	defer c.progress("registering %s", request.TypeName)()
	token, err := remote.Register(ctx, *request)
	if err != nil {
		return nil, c.serviceError(err)
	}
	registered, err := remote.Wait(ctx, token, timeout, nil)
	if err != nil || configuration == nil {
		return registered, c.serviceError(err)
	}
	text, err := json.Marshal(configuration)
	if err != nil {
		return nil, err
	}
	_, err = remote.CloudFormation().SetTypeConfiguration(ctx, &cloudformation.SetTypeConfigurationInput{
		Type: types.ThirdPartyTypeResource, TypeName: &request.TypeName, Configuration: aws.String(string(text)), ConfigurationAlias: aws.String("default"),
	})
	return registered, c.serviceError(err)
}

// registered wants the type to be registered at the CloudFormation, and warns if another schema
// is.
func (c *app) registered(ctx context.Context, r *submit.Remote, at *remoteOptions, s *schema.Schema) error {
	name := s.TypeName.Value
	out, err := r.CloudFormation().DescribeType(ctx, &cloudformation.DescribeTypeInput{Type: types.RegistryTypeResource, TypeName: &name})
	command := "cfn submit --set-default" + at.again(r.Region)
	var unknown *types.TypeNotFoundException
	switch {
	case errors.As(err, &unknown):
		return withHint(fmt.Errorf("%s is not registered at %s in %s", name, at.endpoint, r.Region), "to register it, run: %s", command)
	case err != nil:
		return c.serviceError(err)
	}
	if !sameJSON(aws.ToString(out.Schema), s) {
		c.notef("warning: the schema of %s that is registered in %s differs from that of the project, which the tests use\n", name, r.Region)
		c.hint("to register that of the project, run: " + command)
	}
	return nil
}

// sameJSON reports whether the text of a schema says the same as a schema.
func sameJSON(text string, s *schema.Schema) bool {
	var registered, own any
	if json.Unmarshal([]byte(text), &registered) != nil || json.Unmarshal(s.Root.AppendJSON(nil), &own) != nil {
		return false
	}
	return reflect.DeepEqual(registered, own)
}
