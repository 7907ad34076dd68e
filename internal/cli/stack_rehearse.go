package cli

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/proving/httptape"
	"github.com/formwork-dev/formwork/internal/proving/rehearsal"
	"github.com/formwork-dev/formwork/local"
)

// rehearseOptions are the options of cfn stack rehearse.
type rehearseOptions struct {
	deployOptions
	parallel, maxRuns int
	limit             time.Duration
}

func newStackRehearse(c *app, remote *remoteOptions) *cobra.Command {
	o := &rehearseOptions{}
	cmd := &cobra.Command{
		Use:   "rehearse STACK [TEMPLATE]",
		Short: "Show what an update of a stack will do, also if a step fails",
		Long: `Show what an update of a deployed stack will do, and what happens if one of its steps fails, before it is
real. cfn reads the stack on AWS or in cfn serve, and changes nothing there. It builds the same stack in
local CloudFormations of its own, runs the update in one of them, and then again with a failure at each step:
in which status the stack ends, where the rollback is stuck, what is left over and what is lost for good.
No function or service is called: new resources follow the schemas of their types.

The Guard Hooks of the account run, and with --extension PATH the hook or the resource type in a project or a
package: its handler runs in the sandbox, without a network. --replay-http FILE answers its network calls from
a recording of "cfn test --record". What cannot run is listed: a type is simulated, a hook is left out.
Nested stacks are looked into; what is in one is named NESTED.LOGICALID.

Without TEMPLATE the deployed template is used, for new values of parameters. Transforms but
AWS::LanguageExtensions are not run: pass the processed template.

The page of --format html has the same as the text. The report contains names and no values of properties.

Exit code: 0 if the update succeeds or there is nothing to change; 3 if it is refused or fails; 1 if a file
cannot be read or the rehearsal was not done in time; 2 if the stack does not exist or the service returned
an error; 130 after Ctrl-C.`,
		Example: `  cfn stack rehearse shop app.yaml
  cfn stack rehearse shop --parameter Size=5
  cfn stack rehearse shop app.yaml --format html > rehearsal.html
  cfn stack rehearse shop app.yaml --extension ../order --extension policy.zip`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return &usageError{command: cmd, message: "expected STACK and at most one TEMPLATE", hint: "pass the name of the stack and the path of the template"}
			}
			return nil
		},
		ValidArgsFunction: c.completeStacks(remote),
		Annotations:       map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.remoteOptions = *remote
			return c.rehearseStack(cmd.Context(), o, args)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.parameters, "parameter", nil, "pass `KEY=VALUE` as the value of a parameter (may be repeated)")
	flags.StringVar(&o.paramsFile, "params-file", "", "read parameters and tags from the JSON or YAML `FILE`")
	flags.StringArrayVar(&o.tags, "tag", nil, "set the tag `KEY=VALUE` on the stack and its resources (may be repeated)")
	o.extensionFlags(flags)
	flags.IntVar(&o.parallel, "parallel", 0, "the `NUMBER` of runs at the same time (default: of processors)")
	flags.IntVar(&o.maxRuns, "max-runs", defaultRuns, "the `NUMBER` of failures that are rehearsed at most")
	flags.DurationVar(&o.limit, "timeout", defaultRehearsal, "the `TIME` after which the rehearsal is given up")
	c.formatFlag(cmd, "text", "json", "html")
	return cmd
}

// The bounds of a rehearsal without options.
const (
	defaultRuns      = 200
	defaultRehearsal = 15 * time.Minute
	maxRehearsal     = 12 * time.Hour
)

func (c *app) rehearseStack(ctx context.Context, o *rehearseOptions, args []string) error {
	switch {
	case o.maxRuns < 0 || o.parallel < 0:
		return usagef("options --max-runs and --parallel: expected a number that is not negative")
	case o.limit <= 0 || o.limit > maxRehearsal:
		return usagef("option --timeout: expected a time that is more than 0 and at most %s", maxRehearsal)
	}
	d := &deployment{name: args[0]}
	var err error
	if len(args) == 2 {
		o.stackName = "stack" // the argument may be an ARN
		if d, err = o.request(c, args[1]); err != nil {
			return err
		}
		d.name = args[0]
	} else if err = o.values(c, d); err != nil {
		return err
	}
	return c.rehearse(ctx, o, d)
}

// rehearse rehearses an update and prints the report.
func (c *app) rehearse(ctx context.Context, o *rehearseOptions, d *deployment) (err error) {
	if len(o.recordings) > 0 && len(o.extensions) == 0 {
		return usagef("option --replay-http: requires --extension")
	}
	if d.remote, err = c.openRemote(ctx, &o.remoteOptions); err != nil {
		return err
	}
	stack, err := d.remote.Stack(ctx, d.name)
	switch {
	case err != nil:
		return c.serviceError(err)
	case stack == nil || stack.StackStatus == types.StackStatusReviewInProgress || stack.StackStatus == types.StackStatusDeleteComplete:
		return errNoStack(d.name, d.remote.Region)
	}
	if err := deployable(stack, &o.remoteOptions, d.remote.Region); err != nil {
		return err
	}
	config := rehearsal.Config{
		Remote: d.remote, Stack: aws.ToString(stack.StackId), Template: d.body, File: d.file, Tags: d.tags, Parallel: o.parallel, MaxRuns: o.maxRuns, Limit: o.limit,
		Base: local.Config{Version: c.Version, Environ: c.Environ, Now: c.Now}, Getenv: c.Getenv, Logger: c.logger,
	}
	if config.Parallel == 0 {
		config.Parallel = runtime.NumCPU()
	}
	if config.Extensions, config.Recordings, err = c.rehearsedExtensions(ctx, &o.deployOptions); err != nil {
		return err
	}
	for _, p := range d.parameters {
		if !p.previous {
			config.Parameters = append(config.Parameters, types.Parameter{ParameterKey: &p.key, ParameterValue: &p.value})
		}
	}
	show := c.newStatus(d.name)
	config.Progress = func(done, total int) { show.set(d.name, fmt.Sprintf("rehearsed %d of %d failures", done, total)) }
	show.set(d.name, "reading the stack")
	report, err := rehearsal.Run(ctx, config)
	show.end()
	switch {
	case err != nil && submit.Explain(err).Code != "":
		return c.serviceError(err)
	case err != nil:
		return err
	}
	switch c.format {
	case "json":
		err = c.printJSON(report)
	case "html":
		err = report.WriteHTML(c.Stdout)
	default:
		err = report.WriteText(c.Stdout, words.Flat)
	}
	if err != nil {
		return err
	}
	if !report.Succeeds() {
		return &exitError{exitPending, ""}
	}
	return nil
}

// extensionFlags defines the options for what runs in a rehearsal.
func (o *deployOptions) extensionFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.extensions, "extension", nil, "run the handler of the hook or resource type in the project or package `PATH` in a rehearsal (may be repeated)")
	flags.StringArrayVar(&o.recordings, "replay-http", nil, "answer the network calls of these handlers from the recording `FILE` (may be repeated)")
}

// rehearsedExtensions packages the projects of --extension, and reads packages and recordings.
func (c *app) rehearsedExtensions(ctx context.Context, o *deployOptions) (extensions []*submit.Request, recordings []*httptape.Tape, err error) {
	for _, path := range o.extensions {
		info, err := os.Stat(c.path(path))
		if err != nil {
			return nil, nil, missingFile(err, path, "pass the folder of a project, or the zip that cfn package wrote")
		}
		project, archive := c.path(path), ""
		if !info.IsDir() {
			project, archive = "", path
		}
		request, err := c.suiteExtension(ctx, project, archive)
		switch {
		case err != nil:
			return nil, nil, err
		case request.Kind == schema.Module:
			return nil, nil, usagef("option --extension: %s is a module, which has no handler", request.TypeName)
		case slices.ContainsFunc(extensions, func(other *submit.Request) bool { return other.TypeName == request.TypeName }):
			return nil, nil, usagef("option --extension: %s was passed twice", request.TypeName)
		}
		extensions = append(extensions, request)
	}
	for _, name := range o.recordings {
		tape, err := c.readRecording(name)
		if err != nil {
			return nil, nil, err
		}
		recordings = append(recordings, tape)
	}
	return extensions, recordings, nil
}
