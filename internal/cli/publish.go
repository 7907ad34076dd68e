package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// publishOptions are the options of cfn publish.
type publishOptions struct {
	remoteOptions
	packageOptions
	version, publicVersion, connection string
	acceptTerms, yes, planOnly         bool
}

func newPublish(c *app) *cobra.Command {
	opts := &publishOptions{}
	cmd := &cobra.Command{
		Use:   "publish",
		Short: "Register, test and publish the extension, in one or more regions",
		Long: `Make the extension public in one or more regions: register it, have the registry test it, make it the
default version and publish it. cfn first finds out what is already done in each region and prints the
plan. It then asks for confirmation, unless you pass --yes. --plan only prints the plan.

You can run cfn publish again at any time and from any machine. It resumes where the last run stopped,
and uses the version that cfn submit registered for the same package. The version of a package is
stored next to it in the bucket it was uploaded to, under its SHA-256; the same sources always give the
same archive.

--version-id publishes a version that is already registered and packages nothing.

The account must be a publisher in each region. --accept-terms registers it as one and accepts the
terms and conditions for publishers of CloudFormation extensions on your behalf.

Exit code: 0 if the extension is published in all regions; 1 if the project or the configuration is
invalid, the plan cannot be executed, or tests failed; 2 if a service returned an error or the wait
timed out.`,
		Example: `  cfn publish --regions us-east-1,eu-west-1 --plan
  cfn publish --regions us-east-1,eu-west-1 --yes
  cfn publish --version-id 00000003 --public-version 2.0.0`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := opts.check(); err != nil {
				return err
			}
			return c.publish(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	opts.remoteOptions.flags(flags)
	flags.StringVar(&opts.role, "role-arn", "", "the `ARN` of the role that the handlers run with")
	flags.BoolVar(&opts.noRole, "no-role", false, "pass no role to CloudFormation")
	opts.packageOptions.flags(flags)
	flags.StringVar(&opts.version, "version-id", "", "publish the registered version `ID` instead of registering a new one")
	flags.StringVar(&opts.publicVersion, "public-version", "", "publish as `MAJOR.MINOR.PATCH` (default: the next minor version)")
	flags.BoolVar(&opts.acceptTerms, "accept-terms", false, "register the account as a publisher if necessary, and accept the terms and conditions")
	flags.StringVar(&opts.connection, "connection-arn", "", "the `ARN` of the GitHub or Bitbucket connection that verifies the publisher (default: AWS Marketplace)")
	flags.BoolVar(&opts.planOnly, "plan", false, "print the plan and exit")
	flags.BoolVar(&opts.yes, "yes", false, "do not ask for confirmation")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

var publicVersionPattern = lazyregexp.New(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.[^\s]+$`)

func (o *publishOptions) check() error {
	switch {
	case o.version != "" && o.archive != "":
		return usagef("option --package: not allowed with --version-id, because that version is already registered")
	case o.publicVersion != "" && !publicVersionPattern.MatchString(o.publicVersion):
		return usagef("option --public-version: expected MAJOR.MINOR.PATCH but got %q", o.publicVersion)
	case o.connection != "" && !o.acceptTerms:
		return usagef("option --connection-arn: only with --accept-terms")
	case o.planOnly && o.yes:
		return usagef("option --yes: not allowed with --plan")
	}
	return o.packageOptions.check(o.region)
}

// publication is what is published, and where.
func (o *publishOptions) publication(ctx context.Context, c *app) (*submit.Publication, []*submit.Remote, error) {
	q := &submit.Publication{
		PublicVersion: o.publicVersion, AcceptTerms: o.acceptTerms, ConnectionARN: o.connection, Timeout: o.timeout,
	}
	if o.version == "" {
		request, remotes, err := o.prepare(ctx, c, &o.remoteOptions)
		if err == nil {
			q.Request = *request
			err = publishable(q.TypeName)
		}
		return q, remotes, err
	}
	ref, err := c.typeReference(nil, "")
	if err == nil {
		err = publishable(ref.Name)
	}
	if err != nil {
		return nil, nil, err
	}
	q.TypeName, q.Kind, q.Version, q.Bucket = ref.Name, schema.Kind(ref.Kind), paddedVersion(o.version), o.bucket
	remotes, err := o.open(ctx, c, &o.remoteOptions)
	return q, remotes, err
}

// publishable refuses names that the registry keeps for others.
func publishable(name string) error {
	if namespace, is := project.ReservedNamespace(name); is {
		return withHint(fmt.Errorf("%s cannot be published: %s", name, namespace), "use the name of your organization")
	}
	return nil
}

// A published is a plan for one region and what has become of it.
type published struct {
	Region  string           `json:"region"`
	Steps   []submit.Step    `json:"steps"`
	Blocked string           `json:"blocked"`
	Result  submit.Published `json:"result"`
	regionFailure

	plan *submit.Plan
	show *status // of what is done now: planning, then carrying out
}

func (c *app) publish(ctx context.Context, opts *publishOptions) error {
	q, remotes, err := opts.publication(ctx, c)
	if err != nil {
		return err
	}
	all := make([]*published, len(remotes))
	c.eachRegion(remotes, func(i int, r *submit.Remote, show *status) {
		show.set(r.Region, "planning")
		all[i] = c.plan(ctx, r, *q, show)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.showPlan(q.TypeName, all)
	if err := c.blocked(q.TypeName, all, opts); err != nil {
		return err
	}
	if opts.planOnly || !slices.ContainsFunc(all, func(p *published) bool { return !p.plan.Done() }) {
		return c.publishedAll(q.TypeName, all)
	}
	if !opts.yes {
		if err := c.confirm(ctx, "Carry this out? What is published cannot be taken back for those who use it."); err != nil {
			return err
		}
	}
	c.eachRegion(remotes, func(i int, _ *submit.Remote, show *status) {
		all[i].show = show
		c.carryOut(ctx, all[i], opts)
	})
	if ctx.Err() != nil {
		c.notef("stopped; operations in progress continue without cfn. Run cfn publish again to resume\n")
		return ctx.Err()
	}
	return c.publishedAll(q.TypeName, all)
}

func (c *app) plan(ctx context.Context, r *submit.Remote, q submit.Publication, show *status) *published {
	out := &published{Region: r.Region, Steps: []submit.Step{}, show: show}
	q.Report = func(text string) { out.show.set(r.Region, text) }
	plan, err := r.PlanPublish(ctx, q)
	if err != nil {
		out.fail(c.serviceError(err))
		return out
	}
	out.plan, out.Steps, out.Blocked, out.Hint = plan, plan.Steps, plan.Blocked, plan.Hint
	return out
}

// showPlan prints what is done and what will be.
func (c *app) showPlan(typeName string, all []*published) {
	if c.format == "json" {
		return
	}
	for _, p := range all {
		c.printf("%s in %s\n", typeName, p.Region)
		for _, s := range p.Steps {
			mark := "to do"
			if s.Done {
				mark = "done"
			}
			c.printf("  %-10s %-6s %s\n", s.Name, mark, s.Detail)
		}
	}
}

// blocked ends with an error if the plan of a region cannot be made, or carried out: then
// nothing is done anywhere.
func (c *app) blocked(typeName string, all []*published, opts *publishOptions) error {
	var first error
	for _, p := range all {
		err := p.err
		if p.Blocked != "" {
			err = withHint(errors.New(p.Blocked), "%s", p.Hint)
		}
		if err != nil && first == nil {
			first = err
		}
	}
	if first == nil {
		return nil
	}
	if c.format == "json" {
		if err := c.printPublished(typeName, all); err != nil {
			return err
		}
	}
	if len(all) == 1 {
		return first
	}
	for _, p := range all {
		if p.Error+p.Blocked != "" {
			c.notef("%s: %s\n", p.Region, p.Error+p.Blocked)
			c.hint(p.Hint)
		}
	}
	code := exitFailure
	var downstream *downstreamError
	if errors.As(first, &downstream) {
		code = exitDownstream
	}
	return &exitError{code, "nothing was done in any region"}
}

// carryOut runs the plan of one region.
func (c *app) carryOut(ctx context.Context, p *published, opts *publishOptions) {
	result, err := p.plan.Run(ctx)
	p.Steps = p.plan.Steps
	if result != nil {
		p.Result = *result
	}
	var tests *submit.TestsFailedError
	var failed *submit.FailedError
	var timeout *submit.TimeoutError
	switch {
	case err == nil:
	case errors.As(err, &tests):
		where := fmt.Sprintf("cfn types describe%s --version-id %s shows the state of the tests", opts.again(p.Region), p.Result.Version())
		if tests.Bucket != "" {
			where = fmt.Sprintf("their report and logs are in s3://%s; %s", tests.Bucket, where)
		}
		if !strings.Contains(tests.VersionARN, ":type/module/") { // which has no handlers to test
			where += "; to run the same tests here, use cfn test"
		}
		p.fail(withHint(err, "%s", where))
	case errors.As(err, &failed):
		p.fail(&downstreamError{err})
	case errors.As(err, &timeout):
		p.fail(&downstreamError{withHint(err, "run cfn publish again to resume")})
	default:
		p.fail(c.serviceError(err))
	}
}

func (c *app) printPublished(typeName string, all []*published) error {
	return c.printJSON(struct {
		TypeName string       `json:"typeName"`
		Regions  []*published `json:"regions"`
	}{typeName, all})
}

// publishedAll shows the results and decides on the exit code: that of the worst failure.
func (c *app) publishedAll(typeName string, all []*published) error {
	if c.format == "json" {
		if err := c.printPublished(typeName, all); err != nil {
			return err
		}
	}
	failures, code := 0, exitFailure
	ran := false
	for _, p := range all {
		var downstream *downstreamError
		if p.err != nil {
			failures++
		}
		if errors.As(p.err, &downstream) {
			code = exitDownstream
		}
		ran = ran || p.err != nil || p.Result.VersionARN != ""
	}
	if ran && c.format != "json" {
		err := c.table("\nREGION\tRESULT\tVERSION\tPUBLIC TYPE", func(w *tabwriter.Writer) {
			for _, p := range all {
				state := "published " + p.Result.PublicVersion
				if p.err != nil {
					state = "FAILED"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.Region, state, p.Result.Version(), p.Result.PublicTypeARN)
			}
		})
		if err != nil {
			return err
		}
	}
	if failures == 1 && len(all) == 1 {
		return all[0].err
	}
	for _, p := range all {
		c.complain(p.Region, &p.regionFailure)
	}
	if failures > 0 {
		return &exitError{code, fmt.Sprintf("not published in %d of %d regions; run cfn publish again to resume", failures, len(all))}
	}
	return nil
}
