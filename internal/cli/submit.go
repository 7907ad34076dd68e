package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/authoring/build"
	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/proving/sample"
	"github.com/formwork-dev/formwork/internal/running/bundle"
)

// submitOptions are the options of cfn submit.
type submitOptions struct {
	remoteOptions
	packageOptions
	dryRun, setDefault, useDocker, noDocker, noWait bool
}

// packageOptions select what is registered, and where; cfn publish has them, too.
type packageOptions struct {
	role, archive, bucket, regions string
	noRole                         bool
	build                          build.PackageOptions
	timeout                        time.Duration
}

func newSubmit(c *app) *cobra.Command {
	opts := &submitOptions{}
	cmd := &cobra.Command{
		Use:   "submit",
		Short: "Register the extension with CloudFormation",
		Long: `Check and package the project, upload the archive, and register it with CloudFormation as a new version
of the type. Registration is asynchronous: cfn waits for the result, or with --no-wait prints the
command that shows it.

On AWS, the archive is uploaded to the bucket of the stack CloudFormationManagedUploadInfrastructure,
which the official tool uses, too; cfn creates the stack if it does not exist. The handlers run with
--role-arn, or with the role of the stack <type-name>-role-stack, which cfn creates from
resource-role.yaml or hook-role.yaml. With --s3-bucket, and --role-arn or --no-role, cfn creates and
updates no stack.

"cfn serve" on this machine needs no stacks, roles or credentials. cfn uses it if AWS_ENDPOINT_URL is set
to it; run eval "$(cfn env)" to set it.

The handlers of a Go project are built first if bin/bootstrap is missing or older than its sources;
--no-build packages them as they are. --package registers an existing archive and builds nothing. With
--regions, cfn registers in all regions at the same time; a failure in one does not affect the others.

Exit code: 0 if everything was registered; 1 if the project or the configuration is invalid; 2 if a
service returned an error, a registration failed, or the wait timed out.`,
		Example: `  cfn submit --dry-run
  cfn submit --set-default
  cfn submit --package acme-foo-bar.zip --role-arn arn:aws:iam::123456789012:role/handlers
  cfn submit --regions us-east-1,eu-west-1 --format json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := opts.check(); err != nil {
				return err
			}
			if opts.dryRun && opts.archive == "" {
				return c.pack(cmd.Context(), opts.build, "Dry run complete")
			}
			return c.submit(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.dryRun, "dry-run", false, "check and package the project without registering it")
	opts.remoteOptions.flags(flags)
	flags.BoolVar(&opts.setDefault, "set-default", false, "make the new version the default version")
	flags.StringVar(&opts.role, "role-arn", "", "the `ARN` of the role that the handlers run with")
	flags.BoolVar(&opts.noRole, "no-role", false, "pass no role to CloudFormation")
	flags.BoolVar(&opts.useDocker, "use-docker", false, "build the handlers in a container, if the language supports it")
	flags.BoolVar(&opts.noDocker, "no-docker", false, "build the handlers without a container")
	opts.packageOptions.flags(flags)
	flags.BoolVar(&opts.noWait, "no-wait", false, "do not wait for the registration to finish")
	annotate(flags, addition, "no-wait")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// flags adds the options that the official tool does not have.
func (o *packageOptions) flags(flags *pflag.FlagSet) {
	flags.StringVar(&o.archive, "package", "", "register the existing archive `ZIP` instead of packaging the project")
	flags.StringVar(&o.bucket, "s3-bucket", "", "upload to the bucket `NAME` instead of the bucket of the managed upload stack")
	flags.DurationVar(&o.timeout, "timeout", submit.DefaultTimeout, "stop waiting after `DURATION`, such as 90s or 2h")
	flags.StringVar(&o.regions, "regions", "", "register in each of the regions `A,B,…`")
	archiveFlags(flags, &o.build)
	annotate(flags, addition, "package", "s3-bucket", "timeout", "regions")
}

// check refuses options that contradict each other.
func (o *submitOptions) check() error {
	switch {
	case o.useDocker && o.noDocker:
		return usagef("option --no-docker: not allowed with --use-docker")
	case o.noWait && o.setDefault:
		return usagef("option --no-wait: not allowed with --set-default, which needs the finished registration")
	}
	return o.packageOptions.check(o.region)
}

func (o *packageOptions) check(region string) error {
	switch {
	case o.role != "" && o.noRole:
		return usagef("option --no-role: not allowed with --role-arn")
	case o.regions != "" && region != "":
		return usagef("option --regions: not allowed with --region")
	case o.timeout <= 0:
		return usagef("option --timeout: %s is not a positive duration", o.timeout)
	}
	_, err := o.regionList()
	return err
}

var regionName = lazyregexp.New(`^[a-z]{2,}(-[a-z]+)+-[0-9]+$`)

// regionList are the regions of --regions, each once; none if it was not given.
func (o *packageOptions) regionList() ([]string, error) {
	if o.regions == "" {
		return nil, nil
	}
	var out []string
	for name := range strings.SplitSeq(o.regions, ",") {
		name = strings.TrimSpace(name)
		if !regionName.MatchString(name) {
			return nil, usagef("option --regions: %q is not a region such as us-east-1; separate regions with commas", name)
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, nil
}

// open opens the registries of all the regions that are meant.
func (o *packageOptions) open(ctx context.Context, c *app, remote *remoteOptions) ([]*submit.Remote, error) {
	regions, err := o.regionList()
	if err != nil {
		return nil, err
	}
	first := *remote
	if len(regions) > 0 {
		first.region = regions[0]
	}
	r, err := c.openRemote(ctx, &first)
	if err != nil {
		return nil, err
	}
	out := []*submit.Remote{r}
	for _, region := range regions[min(1, len(regions)):] {
		out = append(out, r.In(region))
	}
	return out, nil
}

// prepare packs the extension and opens the registries for it, in this order: errors of the
// project are reported without an account.
func (o *packageOptions) prepare(ctx context.Context, c *app, remote *remoteOptions) (*submit.Request, []*submit.Remote, error) {
	q, noRole, err := o.extension(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	remotes, err := o.open(ctx, c, remote)
	if err == nil && noRole != nil && !remotes[0].Local {
		err = noRole
	}
	return q, remotes, err
}

// maxPackage bounds, in bytes, a zip that is read to be registered: what the service takes.
const maxPackage = 256 << 20

// extension packs the project, or reads the named package, and returns the package, with the
// template of the role if one is needed. noRole is why there is no template, which is an error
// only where stacks are created.
func (o *packageOptions) extension(ctx context.Context, c *app) (q *submit.Request, noRole, err error) {
	q = &submit.Request{RoleARN: o.role, Bucket: o.bucket}
	roleWanted := o.role == "" && !o.noRole
	if o.archive != "" {
		b, data, err := c.readPackage(ctx, o.archive)
		if err != nil {
			return nil, nil, err
		}
		q.Kind, q.TypeName, q.Schema, q.Archive = b.Kind, b.TypeName, b.Schema, data
		if roleWanted && q.Kind != schema.Module && hasHandlers(b.Schema) {
			q.RoleTemplate, noRole = roleOf(b)
		}
		return q, noRole, nil
	}
	p, s, archive, err := c.archive(ctx, o.build)
	if err != nil {
		return nil, nil, err
	}
	if _, err := c.checkPackage(ctx, p.ArchiveFile(), archive.Data); err != nil {
		return nil, nil, err
	}
	q.Kind, q.TypeName, q.Schema, q.Archive = p.Kind, p.TypeName, s, archive.Data
	if roleWanted && hasHandlers(s) {
		name := p.Name(roleFile(p.Kind))
		q.RoleTemplate, err = document.ReadFile(p.Path(roleFile(p.Kind)), template.MaxBody)
		if errors.Is(err, fs.ErrNotExist) {
			return q, withHint(fmt.Errorf("%s does not exist; it is the template of the role for the handlers", name),
				"run cfn generate to write it, pass --role-arn with an existing role, or pass --no-role to register without a role"), nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read the template of the role: %w", err)
		}
	}
	return q, nil, nil
}

func hasHandlers(s *schema.Schema) bool { return s != nil && s.Root.Get("handlers") != nil }

// readPackage reads and checks an archive as the registry will.
func (c *app) readPackage(ctx context.Context, name string) (*bundle.Bundle, []byte, error) {
	data, err := document.ReadFile(c.path(name), maxPackage)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, withHint(fmt.Errorf("package %s does not exist", name), "run cfn package to create it")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the package: %w", err)
	}
	b, err := c.checkPackage(ctx, name, data)
	return b, data, err
}

// checkPackage checks an archive as the registry does, before it is uploaded.
func (c *app) checkPackage(ctx context.Context, name string, data []byte) (*bundle.Bundle, error) {
	b, problems, err := bundle.Read(ctx, bytes.NewReader(data), int64(len(data)), bundle.Config{Label: name})
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return nil, err
	}
	for _, w := range problems {
		if w.ID == "project/runtime-retired" { // AWS refuses it, cfn serve does not
			c.notef("warning: %s; %s\n", w.Message, w.Hint)
			continue
		}
		c.logger.Debug(w.Message, "at", w.At, "id", w.ID, "severity", w.Severity)
	}
	return b, nil
}

// roleOf makes the template of the role of a package: it follows from the schema.
func roleOf(b *bundle.Bundle) ([]byte, error) {
	files, err := codegen.Generate(codegen.Input{Schema: b.Schema, TypeName: b.TypeName})
	if err != nil {
		return nil, fmt.Errorf("create the template of the role: %w", err)
	}
	for _, f := range files {
		if path.Base(f.Path) == roleFile(b.Kind) {
			return f.Data, nil
		}
	}
	return nil, fmt.Errorf("the schema of %s has no role; pass --role-arn", b.TypeName)
}

// A submitted is what has become of a submission in one region.
type submitted struct {
	Region string `json:"region"`
	submit.Registration
	Default bool   `json:"default"` // --set-default was carried out
	off     bool   // a hook without a configuration
	uses    string // the default version, if it is another one
	regionFailure
}

func (c *app) submit(ctx context.Context, opts *submitOptions) error {
	if opts.dryRun {
		b, _, err := c.readPackage(ctx, opts.archive)
		if err != nil {
			return err
		}
		c.printf("Dry run complete: %s contains %s; no problems found\n", opts.archive, b.TypeName)
		return nil
	}
	q, remotes, err := opts.prepare(ctx, c, &opts.remoteOptions)
	if err != nil {
		return err
	}
	results := make([]submitted, len(remotes))
	c.eachRegion(remotes, func(i int, r *submit.Remote, show *status) {
		one := submission{app: c, opts: opts, remote: r, show: show, request: *q, several: len(remotes) > 1}
		results[i] = one.run(ctx)
	})
	return c.submittedAll(ctx, q, results, opts)
}

// submittedAll shows the results of all regions and decides on the exit code.
func (c *app) submittedAll(ctx context.Context, q *submit.Request, results []submitted, opts *submitOptions) error {
	failed := 0
	for _, r := range results {
		if r.err != nil {
			failed++
		}
	}
	if c.format == "json" {
		err := c.printJSON(struct {
			TypeName string      `json:"typeName"`
			SHA256   string      `json:"sha256"`
			Bytes    int         `json:"bytes"`
			Regions  []submitted `json:"regions"`
		}{q.TypeName, submit.Sum(q.Archive), len(q.Archive), results})
		if err != nil {
			return err
		}
	}
	for _, r := range results {
		if r.off {
			c.notef("%s", turnOn(q, &r, opts))
		}
		if r.uses != "" {
			c.notef("stacks in %s still use version %s of %s. To make version %s the default, run: cfn types default %s%s\n",
				r.Region, r.uses, q.TypeName, r.Version(), r.VersionARN, opts.again(r.Region))
		}
		if ctx.Err() != nil && r.Token != "" && r.err != nil {
			c.notef("the registration continues in %s; to see its result, run: %s\n", r.Region, opts.goOn(&r))
		}
	}
	if len(results) == 1 || ctx.Err() != nil && failed > 0 {
		i := slices.IndexFunc(results, func(r submitted) bool { return r.err != nil })
		return results[max(i, 0)].err
	}
	if c.format != "json" {
		table := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintf(table, "\nREGION\tSTATUS\tVERSION\tTOKEN\n")
		for _, r := range results {
			state := string(r.Status)
			if r.err != nil && r.Status == "" {
				state = "ERROR"
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.Region, state, r.Version(), r.Token)
		}
		_ = table.Flush() // the writer below remembers its failure
	}
	for _, r := range results {
		c.complain(r.Region, &r.regionFailure)
	}
	if failed > 0 {
		return &exitError{exitDownstream, fmt.Sprintf("not registered in %d of %d regions", failed, len(results))}
	}
	return nil
}

// turnOn says that a hook is off, and the command that turns it on. The values that its configuration
// requires are examples.
func turnOn(q *submit.Request, r *submitted, opts *submitOptions) string {
	properties, edit := map[string]any{}, ""
	if s := q.Schema.TypeConfiguration; s != nil && len(s.Required) > 0 {
		if example, err := sample.New(s, sample.Config{Profile: sample.Minimal}).Create(); err == nil {
			properties, edit = example, ", with your values in Properties"
		}
	}
	configuration, err := compactJSON(map[string]any{"CloudFormationConfiguration": map[string]any{
		"HookConfiguration": map[string]any{"TargetStacks": "ALL", "FailureMode": "FAIL", "Properties": properties},
	}})
	if err != nil {
		panic(err) // a sample of a schema
	}
	return fmt.Sprintf("%s is off until it is configured. To turn it on for all stacks, run%s:\n  cfn types configure %s --type HOOK%s --configuration %s\n",
		q.TypeName, edit, q.TypeName, opts.again(r.Region), shellQuote(string(configuration)))
}

// goOn is the command that shows a registration later.
func (o *submitOptions) goOn(r *submitted) string {
	return fmt.Sprintf("cfn types registrations %s --wait%s", r.Token, o.again(r.Region))
}

// A submission is the registration in one region. What it prints is the official tool's,
// word for word.
type submission struct {
	*app
	opts    *submitOptions
	remote  *submit.Remote
	show    *status
	request submit.Request
	several bool
}

// say prints a line of the result; with several regions it starts with the region.
func (s *submission) say(format string, args ...any) {
	if s.format == "json" {
		return
	}
	line := fmt.Sprintf(format, args...) + "\n"
	if s.several {
		line = s.remote.Region + ": " + line
	}
	s.show.printf("%s", line)
}

func (s *submission) run(ctx context.Context) submitted {
	out := submitted{Region: s.remote.Region}
	if err := s.carryOut(ctx, &out); err != nil {
		out.fail(err)
	}
	return out
}

func (s *submission) carryOut(ctx context.Context, out *submitted) error {
	report := func(text string) { s.show.set(s.remote.Region, text) }
	s.request.Report = report
	token, err := s.remote.Register(ctx, s.request)
	if err != nil {
		return s.serviceError(err)
	}
	out.Token, out.Status = token, "IN_PROGRESS"
	if s.opts.noWait {
		s.say("Successfully submitted type with registration token '%s'.", token)
		s.say("To see its result, run: %s", s.opts.goOn(out))
		return nil
	}
	s.say("Successfully submitted type. Waiting for registration with token '%s' to complete.", token)
	registration, err := s.remote.Wait(ctx, token, s.opts.timeout, report)
	if registration.Status != "" {
		out.Registration = *registration
	}
	var failed *submit.FailedError
	var timeout *submit.TimeoutError
	switch {
	case errors.As(err, &failed):
		s.say("Failed to register the type with registration token '%s'.", token)
		s.say("Please see response for additional information: '%s'", response(registration))
		return &downstreamError{fmt.Errorf("Type registration error: %s", registration.Description)}
	case errors.As(err, &timeout):
		return &downstreamError{withHint(err, "%s", s.opts.goOn(out))}
	case err != nil && ctx.Err() == nil:
		s.say("To see its result, run: %s", s.opts.goOn(out))
		return s.serviceError(err)
	case err != nil:
		return err
	}
	s.say("Registration complete.")
	s.say("%s", response(registration))
	out.off = s.request.Kind == schema.Hook && !s.configured(ctx, registration.TypeARN)
	if page := s.remote.ConsolePage(registration.TypeARN); page != "" {
		defer s.say("Console: %s", page)
	}
	if !s.opts.setDefault {
		out.uses = s.otherDefault(ctx, registration)
		return nil
	}
	if err := s.remote.SetDefault(ctx, registration.VersionARN); err != nil {
		return s.serviceError(err)
	}
	out.Default = true
	s.say("Set default version to '%s", registration.VersionARN)
	return nil
}

// firstVersion is the version that the registry makes the default one.
const firstVersion = "00000001"

// otherDefault is the version that stacks use, "" if it is the registered one or cannot be found out.
func (s *submission) otherDefault(ctx context.Context, registration *submit.Registration) string {
	if registration.Version() == firstVersion {
		return ""
	}
	out, err := s.remote.CloudFormation().DescribeType(ctx, &cloudformation.DescribeTypeInput{Arn: &registration.TypeARN})
	if err != nil || aws.ToString(out.DefaultVersionId) == registration.Version() {
		return ""
	}
	return aws.ToString(out.DefaultVersionId)
}

// configured reports whether the type has a configuration. What cannot be found out counts as none.
func (s *submission) configured(ctx context.Context, typeARN string) bool {
	out, err := s.remote.CloudFormation().BatchDescribeTypeConfigurations(ctx, &cloudformation.BatchDescribeTypeConfigurationsInput{
		TypeConfigurationIdentifiers: []types.TypeConfigurationIdentifier{{TypeArn: &typeARN}},
	})
	return err == nil && len(out.TypeConfigurations) > 0 && aws.ToString(out.TypeConfigurations[0].Configuration) != "{}"
}

// response is the state of a registration as the official tool shows it: a dictionary of
// Python.
func response(r *submit.Registration) string {
	out := fmt.Sprintf("{'ProgressStatus': '%s'", r.Status)
	for _, member := range []struct{ name, value string }{{"Description", r.Description}, {"TypeArn", r.TypeARN}, {"TypeVersionArn", r.VersionARN}} {
		if member.value != "" {
			out += fmt.Sprintf(", '%s': %s", member.name, pythonQuote(member.value))
		}
	}
	return out + "}"
}

// pythonQuote quotes a text as Python's repr does.
func pythonQuote(text string) string {
	quote := "'"
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		quote = `"`
	}
	text = strings.NewReplacer(`\`, `\\`, quote, `\`+quote, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(text)
	return quote + text + quote
}
