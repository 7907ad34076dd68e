package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/envvar"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/proving/contract"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// testOptions are the options of cfn test.
type testOptions struct {
	handlerOptions
	faultOptions
	stackOptions
	upgradeOptions
	testStubOptions
	roleARN, cloudformation  string
	enforceTimeout           int // seconds
	logGroup, logRoleARN     string
	typeConfiguration        string
	sourceAccount, sourceARN string
	exports                  string
	seed                     uint64
	suite, wire              string
	timeScale                float64
	parallel                 int
	shuffle, cleanup         bool
	replay                   string
	shrink                   shrinkTime
	arguments                contract.Arguments
}

func newTest(c *app) *cobra.Command {
	opts := &testOptions{}
	cmd := &cobra.Command{
		Use:   "test [-- PYTEST-ARGUMENT …]",
		Short: "Run the contract tests against the handlers",
		Long: `Run the contract tests for the handlers in the schema, once for each set of inputs in inputs/. The tests
delete the resources that they create, even if they fail or are interrupted.

--suite core runs the tests of the official suite, --suite extended runs tests for all other clauses
of the handler contract, and --suite all runs both; docs/contract.md lists them.

--in-stack runs other tests: it takes the type through stacks, which are created, updated, replaced,
rolled back, drifted, imported and deleted. Without --endpoint-url, cfn starts a local CloudFormation
for the run and registers the type in it; with --endpoint-url, the type must be registered there.

--upgrade-from runs the upgrade tests: stacks are made with an older version of the type, which is a package, a
revision in git, or the number of a version in the registry of a cfn serve, and then updated, drifted,
imported and deleted with the version of the project. docs/upgrade-tests.md describes them.

--stub tests handlers that call an API, as cfn init writes them, without the service: cfn runs a stub of it, made from
the description in api.yaml, and passes its URL and made-up credentials as the type configuration.

Inputs are the files inputs/inputs_N_create.json, inputs_N_update.json and inputs_N_invalid.json, and
for hooks inputs_N_pre_create.json, inputs_N_invalid_pre_create.json and so on. Only the test TEST uses
a file inputs_N_create__TEST.json. If there are no inputs, cfn generates them from the schema and
applies overrides.json. All of these files can use {{uuid}} for a string that is unique to the run,
{{env:NAME}} for an environment variable, and {{Name}} for the stack export Name. cfn looks up exports
in the file --exports, then in the environment variables CFN_EXPORT_Name and CFN_EXPORT_NAME (with _
for every character that is not a letter or digit), then in the CloudFormation at
--cloudformation-endpoint-url.

If a test fails with generated inputs, cfn makes them as small as possible and saves them in
.formwork/failures; pass --replay to rerun the test with them. A test that may have left a resource is not
repeated to make its inputs smaller.

Without --endpoint, the handlers of the project run as local processes. They are built first if a source
has changed. With --debug, they wait for a debugger before the first call, and no time limits apply.

Handlers receive the AWS credentials of the environment or of --profile, or dummy credentials if there
are none. STS is called only with --role-arn, --log-role-arn, --source-account and --source-arn, and
with --profile if the profile does not contain the account ID.

After "--", cfn accepts these arguments of pytest: -k EXPRESSION and -m EXPRESSION select tests by name
and marker, -x and --maxfail=N stop early, -v, -q, -s and --tb=short|long|line|no control the output,
--junitxml=FILE writes a report, --collect-only lists the tests, and --random-order shuffles them.

Exit code: 0 if all tests passed or were skipped, 1 if not.`,
		Example: `  cfn test
  cfn test --suite all --wire both --parallel 4
  cfn test -- -k "create and not list" --tb=long
  cfn test --replay .formwork/failures/handler_create-contract_create_read.json
  cfn test --in-stack --report html=report.html
  cfn test --upgrade-from v1.2.0 --downgrade
  cfn test --suite all --faults --stub
  cfn test --enforce-timeout 60 -- -x --junitxml=report.xml`,
		Args: func(_ *cobra.Command, args []string) (err error) {
			opts.arguments, err = contract.ParseArguments(args)
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return c.test(cmd.Context(), opts) },
	}
	opts.official(cmd)
	opts.officialTestFlags(cmd.Flags())
	opts.suiteFlags(cmd.Flags())
	opts.flags(cmd)
	opts.faultFlags(cmd)
	opts.stackFlags(cmd.Flags())
	opts.upgradeFlags(cmd.Flags())
	opts.stubFlags(cmd.Flags())
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// officialTestFlags adds the options that only the tests of the official tool have.
func (opts *testOptions) officialTestFlags(flags *pflag.FlagSet) {
	flags.StringVar(&opts.roleARN, "role-arn", "", "the `ARN` of the role whose credentials are passed to the handlers")
	flags.StringVar(&opts.cloudformation, "cloudformation-endpoint-url", "", "look up exports at the CloudFormation endpoint `URL`")
	flags.IntVar(&opts.enforceTimeout, "enforce-timeout", int(contract.DefaultEnforceTimeout/time.Second), "limit calls of read and list to `N` seconds, and all others to twice that")
	flags.StringVar(&opts.logGroup, "log-group-name", "", "the `NAME` of the log group that handlers write to")
	flags.StringVar(&opts.logRoleARN, "log-role-arn", "", "the `ARN` of the role for writing to the log group")
	flags.StringVar(&opts.dockerImage, "docker-image", "", "not supported: cfn runs handlers as local processes, not in an `IMAGE`")
	flags.StringVar(&opts.typeConfiguration, "typeconfig", "", "the `FILE` with the type configuration (default: ~/.cfn-cli/typeConfiguration.json)")
	flags.StringVar(&opts.sourceAccount, "source-account", "", "pass the source account `ID` to STS")
	flags.StringVar(&opts.sourceARN, "source-arn", "", "pass the source `ARN` to STS")
	flags.StringVar(&opts.exports, "exports", "", "read the values of exports from the JSON `FILE` {\"Name\": \"value\"}")
	flags.Uint64Var(&opts.seed, "seed", 1, "generate other inputs with another number `N`")
}

// suiteFlags adds the options about which tests run, and how, that the official tool does
// not have.
func (opts *testOptions) suiteFlags(flags *pflag.FlagSet) {
	opts.suite, opts.wire = string(contract.SuiteCore), string(invoke.WireTyped)
	flags.Var(&enum{&opts.suite, wordsOf(contract.Suites)}, "suite", "run the `SUITE` core, extended or all")
	flags.Var(&enum{&opts.wire, wordsOf([]invoke.Wire{invoke.WireTyped, invoke.WireStrings, contract.WireBoth})}, "wire", "send numbers and booleans as JSON types or as strings, as the service once did: `WIRE` is typed, strings or both")
	flags.Float64Var(&opts.timeScale, "time-scale", 1, "divide the callback delays of handlers by `N`")
	flags.IntVar(&opts.parallel, "parallel", 1, "run `N` sets of inputs at the same time")
	flags.BoolVar(&opts.shuffle, "shuffle", false, "shuffle the tests with --seed")
	flags.BoolVar(&opts.cleanup, "cleanup", false, "delete resources that appeared during the tests but that no handler reported, instead of only listing them")
	flags.StringVar(&opts.replay, "replay", "", "run the failed test in `FILE` again, with its inputs")
	opts.shrinkFlag(flags)
	annotate(flags, addition, "exports", "seed", "suite", "wire", "time-scale", "parallel", "shuffle", "cleanup", "replay")
}

func (c *app) test(ctx context.Context, opts *testOptions) error {
	if err := opts.checkDocker(); err != nil {
		return err
	}
	if err := opts.checkDebug(); err != nil {
		return err
	}
	p, s, err := c.loadProject(ctx)
	if err != nil {
		return err
	}
	if err := opts.checkStacks(); err != nil {
		return err
	}
	if err := opts.checkSuite(); err != nil {
		return err
	}
	if err := c.prepareFaults(opts, p); err != nil {
		return err
	}
	if err := opts.checkStub(); err != nil {
		return err
	}
	if opts.changed("upgrade-from") {
		return c.testUpgrade(ctx, opts, p, s)
	}
	switch p.Kind {
	case schema.Module:
		if c.format == "json" {
			return contract.WriteJSON(c.Stdout, &contract.Summary{TypeName: p.TypeName})
		}
		fmt.Fprintln(c.Stdout, "The test command is not supported in a module project")
		return nil
	}
	if len(s.Handlers) == 0 {
		return withHint(fmt.Errorf("%s: the schema declares no handlers, so there is nothing to test", s.File), `declare them with "handlers": {"create": {"permissions": []}, …}`)
	}
	stop, err := c.startStub(opts, p, s)
	if err != nil {
		return err
	}
	defer stop()
	if opts.inStack {
		return c.testInStack(ctx, opts, p, s)
	}
	if opts.arguments.CollectOnly {
		cases, deselected := contract.Select(s, opts.arguments.Selection)
		if opts.faults {
			more, left := contract.SelectFaults(&contract.Config{Schema: s, Selection: opts.arguments.Selection})
			cases, deselected = append(cases, more...), deselected+left
		}
		return c.collect(cases, deselected)
	}
	config, err := c.testConfig(ctx, opts, p, s)
	if err != nil {
		return err
	}
	err = contract.Check(config)
	if errors.Is(err, contract.ErrNothingSelected) {
		return withHint(err, "run cfn test -- --collect-only to list the tests")
	}
	if err != nil {
		return err
	}
	return c.runTests(ctx, opts, p, config)
}

// checkSuite checks the numbers among the options, and completes the selection.
func (opts *testOptions) checkSuite() error {
	switch {
	case !validTimeScale(opts.timeScale):
		return badTimeScale(opts.timeScale)
	case opts.parallel < 1:
		return usagef("option --parallel: expected a positive number but got %d", opts.parallel)
	}
	selection := &opts.arguments.Selection
	selection.Suite = contract.Suite(opts.suite)
	if opts.shuffle {
		selection.Shuffle, selection.Seed = true, opts.seed
	}
	return nil
}

// collect lists the tests without running them.
func (c *app) collect(cases []contract.Case, deselected int) error {
	if c.format == "json" {
		type test struct {
			ID     string   `json:"id"`
			Marks  []string `json:"markers"`
			Clause string   `json:"clause"`
		}
		out := struct {
			Tests []test `json:"tests"`
		}{Tests: []test{}}
		for _, t := range cases {
			out.Tests = append(out.Tests, test{t.ID, t.Markers(), t.Clause})
		}
		return c.printJSON(out)
	}
	for _, t := range cases {
		fmt.Fprintln(c.Stdout, t.ID)
	}
	fmt.Fprintf(c.Stdout, "\n%d tests collected, %d deselected\n", len(cases), deselected)
	return nil
}

// testConfig gathers everything but the handlers, so that errors of files are reported before
// anything is started.
func (c *app) testConfig(ctx context.Context, opts *testOptions, p *project.Project, s *schema.Schema) (contract.Config, error) {
	config := contract.Config{
		Schema: s, Seed: opts.seed, Region: opts.region, LogGroup: opts.logGroup, Selection: opts.arguments.Selection, Now: c.Now,
		EnforceTimeout: time.Duration(opts.enforceTimeout) * time.Second,
		Wire:           invoke.Wire(opts.wire), TimeScale: opts.timeScale, Parallel: opts.parallel, Cleanup: opts.cleanup,
		ShrinkTime: time.Duration(opts.shrink),
	}
	config.NewToken = opts.newToken(0)
	if opts.faults {
		config.Faults = &contract.Faults{}
	}
	if opts.enforceTimeout <= 0 {
		return config, usagef("option --enforce-timeout: expected a positive number of seconds but got %d", opts.enforceTimeout)
	}
	if opts.debug {
		config.EnforceTimeout, config.ShrinkTime = -1, -1 // each try would meet the breakpoints
	}
	exports, err := c.readExports(ctx, opts)
	if err != nil {
		return config, err
	}
	label := c.label()
	if label != "" {
		label += string(filepath.Separator)
	}
	inputs, problems, err := contract.LoadInputs(contract.InputsConfig{Files: os.DirFS(p.Dir), Label: label, Schema: s, Exports: exports, Env: func(name string) (string, bool) { return envvar.Lookup(c.Environ, name) }, NewToken: opts.newToken(1)})
	if err != nil {
		return config, err
	}
	if p.Kind == schema.Hook {
		targets, _, found, err := p.Targets(s, nil)
		if err != nil {
			return config, err
		}
		problems.Add(found...)
		for _, target := range targets {
			config.HookTargets = append(config.HookTargets, contract.HookTarget{Name: target.Name, Schema: target.Schema})
		}
	}
	if config.Replay, err = c.readExample(opts.replay, s); err != nil {
		return config, err
	}
	if opts.service != nil {
		opts.service.configure(&config)
	} else if config.TypeConfiguration, err = c.readTypeConfiguration(opts.typeConfiguration, p.Kind, &problems); err != nil {
		return config, err
	}
	problems.Sort()
	if problems.HasErrors() {
		return config, problems.Err()
	}
	if err := diag.Print(c.Stderr, problems, "text"); err != nil {
		return config, err
	}
	config.Inputs = *inputs
	return config, nil
}

// maxTestFile bounds, in bytes, the files in the options of a run.
const maxTestFile = 8 << 20

// readExample reads the failing example that is to be run again.
func (c *app) readExample(name string, s *schema.Schema) (*contract.Example, error) {
	if name == "" {
		return nil, nil
	}
	data, err := document.ReadFile(c.path(name), maxTestFile)
	if err != nil {
		return nil, fmt.Errorf("read the failing example: %w", err)
	}
	example, err := contract.ParseExample(name, data)
	if err != nil {
		return nil, err
	}
	if example.TypeName != s.TypeName.Value {
		return nil, fmt.Errorf("%s is a failing example of %s, not of %s", name, example.TypeName, s.TypeName.Value)
	}
	return example, nil
}

// readTypeConfiguration reads the file that is named, or the one in the home folder.
func (c *app) readTypeConfiguration(name string, kind schema.Kind, problems *diag.List) (any, error) {
	path := c.path(name)
	if name == "" {
		home := c.Getenv("HOME")
		if home == "" {
			return nil, nil
		}
		path = project.TypeConfigurationFile(home)
	} else if !files.Exists(path) {
		return nil, fmt.Errorf("type configuration file %s does not exist", name)
	}
	configuration, found, err := project.TypeConfiguration(path, c.shown(path), kind)
	if err != nil || configuration == nil {
		problems.Add(found...)
		return nil, err
	}
	problems.Add(found...)
	return configuration.Any(), nil
}

// readExports finds exports in a file, then in the environment, then where the user names
// a CloudFormation.
func (c *app) readExports(ctx context.Context, opts *testOptions) (contract.Exports, error) {
	values, err := c.listExports(ctx, opts)
	if err != nil {
		return nil, err
	}
	given := map[string]string{}
	if name := opts.exports; name != "" {
		data, err := document.ReadFile(c.path(name), maxTestFile)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("exports file %s does not exist", name)
		}
		if err != nil {
			return nil, fmt.Errorf("read the exports: %w", err)
		}
		doc, problems := document.ParseJSON(name, data, document.Limits{})
		if err := problems.Err(); err != nil {
			return nil, err
		}
		if doc.Kind != document.Object {
			return nil, withHint(fmt.Errorf("%s must contain a JSON object with exports but is a JSON %s", name, doc.Kind), `the file is {"Name": "value", …}`)
		}
		for _, m := range doc.Members {
			given[m.Key] = m.Value.Text
			if m.Value.Kind != document.String {
				given[m.Key] = string(m.Value.AppendJSON(nil))
			}
		}
	}
	return func(export string) (string, bool) {
		if value, found := given[export]; found {
			return value, true
		}
		variable := contract.ExportVariable(export)
		for _, name := range []string{variable, strings.ToUpper(variable)} {
			if value, found := envvar.Lookup(c.Environ, name); found {
				return value, true
			}
		}
		value, found := values[export]
		return value, found
	}, nil
}

// listExports asks the CloudFormation that the user names. None means no exports.
func (c *app) listExports(ctx context.Context, opts *testOptions) (map[string]string, error) {
	if opts.cloudformation == "" {
		return nil, nil
	}
	if err := invoke.CheckLocal(c.Getenv, opts.cloudformation); err != nil {
		return nil, err
	}
	aws, err := invoke.LoadAWS(ctx, invoke.AWSConfig{Profile: opts.profile, Region: opts.region, Getenv: c.Getenv, Now: c.Now})
	if err != nil {
		return nil, err
	}
	client := contract.ExportsClient{
		URL: opts.cloudformation, Region: opts.region, Credentials: aws.SDK.Credentials, HTTP: &http.Client{Timeout: 30 * time.Second, CheckRedirect: invoke.CheckRedirect, Transport: invoke.LocalClient(c.Getenv).GetTransport()}, Now: c.Now,
	}
	values, err := client.List(ctx)
	if err != nil {
		return nil, &downstreamError{err}
	}
	return values, nil
}

// runTests starts the handlers, runs the tests and writes the reports.
func (c *app) runTests(ctx context.Context, opts *testOptions, p *project.Project, config contract.Config) error {
	settings := c.awsOfHandlers(p, opts.profile, opts.region)
	settings.RoleARN, settings.SourceAccount, settings.SourceARN = opts.roleARN, opts.sourceAccount, opts.sourceARN
	aws, err := invoke.LoadAWS(ctx, settings)
	if err != nil {
		return err
	}
	if _, err := aws.Credentials(ctx); err != nil { // a role that cannot be assumed fails here, once
		return &downstreamError{err}
	}
	config.Credentials, config.AccountID = aws, aws.AccountID
	if opts.logRoleARN != "" {
		settings.RoleARN = opts.logRoleARN
		config.LogCredentials = aws.Role(settings)
	}
	closeProxy, err := c.openProxy(opts, p, aws, &config)
	if err != nil {
		return err
	}
	defer closeProxy()
	if err := opts.behindProxy(opts.proxy, &config); err != nil {
		return err
	}
	function, stop, err := opts.function(ctx, c, p, config.Schema, aws, nil)
	if err != nil {
		return err
	}
	defer stop()
	opts.underFaults(function, &config)
	text := &contract.Text{W: c.Stdout, Verbosity: opts.arguments.Verbosity, Live: opts.arguments.Live, Traceback: opts.arguments.Traceback}
	config.Reporter = c.testReporters(opts, text)
	defer context.AfterFunc(ctx, func() {
		fmt.Fprintln(c.Stderr, "interrupted: deleting what the tests created; interrupt again to stop at once and leave it")
	})()
	summary, err := contract.Run(ctx, config)
	if summary != nil {
		if err := c.writeReports(opts, summary); err != nil {
			return err
		}
		if err := c.writeFormats(opts.reports, summary, config.Schema); err != nil {
			return err
		}
		if err := c.writeExamples(p, summary); err != nil {
			return err
		}
		if err := c.closeTape(opts, config.Schema, config.Redactor); err != nil {
			return err
		}
	}
	switch {
	case err != nil:
		return err
	case text.Err() != nil:
		return fmt.Errorf("write the report: %w", text.Err())
	case !summary.OK():
		return &exitError{exitFailure, "One or more contract tests failed"}
	}
	return nil
}

// failuresFolder is where failing examples are kept, within the project.
const failuresFolder = ".formwork/failures"

// writeExamples keeps the generated inputs of failed tests. Only their owner may read them.
func (c *app) writeExamples(p *project.Project, summary *contract.Summary) error {
	written := 0
	for _, r := range summary.Results {
		if r.Example == nil {
			continue
		}
		data, err := r.Example.Encode()
		if err != nil {
			return err
		}
		name := filepath.Join(failuresFolder, strings.TrimSuffix(r.Case.File(), ".py")+"-"+r.Case.Name()+".json")
		if err := files.Write(p.Dir, name, data, 0o600); err != nil {
			return fmt.Errorf("save the failing example: %w", err)
		}
		if written++; written == 1 {
			fmt.Fprintf(c.Stderr, "cfn test --replay %s runs the first failure again with its inputs\n", p.Name(name))
		}
	}
	return nil
}

// callLog writes the calls of handlers to the log, secrets hidden.
type callLog struct{ *app }

func (l callLog) Report(e contract.Event) {
	switch e.Kind {
	case contract.Started:
		l.logger.Debug("Test " + e.Case.ID)
	case contract.Called:
		l.logger.Debug("Handler called", "action", e.Call.Action, "number", e.Call.Number, "duration", e.Call.Duration, "error", e.Call.Err,
			"request", json.RawMessage(e.Call.Request), "response", string(e.Call.Response))
	case contract.Finished:
		l.logger.Debug("Test "+e.Result.ID()+" "+string(e.Result.Outcome), "message", e.Result.Message)
	}
}

func (c *app) writeReports(opts *testOptions, summary *contract.Summary) error {
	if c.format == "json" {
		if err := contract.WriteJSON(c.Stdout, summary); err != nil {
			return err
		}
	}
	if opts.arguments.JUnitXML == "" {
		return nil
	}
	var report bytes.Buffer
	if err := contract.WriteJUnit(&report, summary); err != nil {
		return err
	}
	if err := c.writeFile(opts.arguments.JUnitXML, report.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
