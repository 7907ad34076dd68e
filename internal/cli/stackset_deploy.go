package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/running/stackview"
)

// setPreferences are the options for the order in which instances are deployed.
type setPreferences struct {
	concurrent, tolerance string
	parallel, soft        bool
}

func (p *setPreferences) flags(flags *pflag.FlagSet) {
	flags.StringVar(&p.concurrent, "max-concurrent", "", "deploy `N` accounts of a region at once, or N% of them (default 1)")
	flags.StringVar(&p.tolerance, "failure-tolerance", "", "go on while at most `N` accounts of a region have failed, or N% of them (default 0)")
	flags.BoolVar(&p.parallel, "parallel-regions", false, "deploy all regions at once, not one after the other")
	flags.BoolVar(&p.soft, "soft", false, "keep to --max-concurrent although more accounts could fail than are tolerated")
}

// of are the preferences of a request.
func (p *setPreferences) of() (*types.StackSetOperationPreferences, error) {
	out := &types.StackSetOperationPreferences{}
	if p.parallel {
		out.RegionConcurrencyType = types.RegionConcurrencyTypeParallel
	}
	if p.soft {
		out.ConcurrencyMode = types.ConcurrencyModeSoftFailureTolerance
	}
	for _, option := range []struct {
		name, text     string
		count, percent **int32
	}{
		{"max-concurrent", p.concurrent, &out.MaxConcurrentCount, &out.MaxConcurrentPercentage},
		{"failure-tolerance", p.tolerance, &out.FailureToleranceCount, &out.FailureTolerancePercentage},
	} {
		if option.text == "" {
			continue
		}
		text, percent := strings.CutSuffix(option.text, "%")
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 0 {
			return nil, usagef("option --%s: expected a number or a percentage such as 50%% but got %q", option.name, option.text)
		}
		if percent {
			*option.percent = aws.Int32(int32(n))
		} else {
			*option.count = aws.Int32(int32(n))
		}
	}
	return out, nil
}

// setDeployOptions are the options of cfn stackset deploy.
type setDeployOptions struct {
	setPreferences
	accounts, regions []string
	file              deployOptions // what it shares with cfn deploy
	noWait            bool
}

func newStackSetDeploy(c *app, opts *remoteOptions) *cobra.Command {
	o := &setDeployOptions{}
	cmd := &cobra.Command{
		Use:   "deploy TEMPLATE --accounts A,B --regions R,S",
		Short: "Create or update a stack set and its instances",
		Long: `Create a stack set from a template with an instance in each account and region, or update the stack set and all
its instances and add those that are missing, and wait for the result. Regions are deployed one after the
other, in the order of --regions, accounts one by one; --max-concurrent and --parallel-regions are faster.
When more accounts of a region fail than --failure-tolerance allows, the others are canceled.

The name defaults to that of the template file. A parameter that is not passed keeps its value in the stack
set, or gets its default. Instances keep their own parameters.

Ctrl-C stops the wait, not the operation: see cfn stackset stop.`,
		Example: `  cfn stackset deploy settings.yaml --accounts 111111111111 --regions us-east-1,eu-west-1
  cfn stackset deploy settings.yaml --name shop --parameter Stage=prod --accounts 111111111111,222222222222 --regions us-east-1 --max-concurrent 100% --failure-tolerance 1`,
		Annotations: map[string]string{"log": "none"},
		Args:        oneTemplate(&o.file.capabilities),
		RunE:        func(cmd *cobra.Command, args []string) error { return c.deploySet(cmd.Context(), opts, o, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.file.stackName, "name", "", "the `NAME` of the stack set (default: the name of the template file)")
	flags.StringSliceVar(&o.accounts, "accounts", nil, "deploy to the accounts `A,B`")
	flags.StringSliceVar(&o.regions, "regions", nil, "deploy to the regions `R,S`, in this order")
	flags.StringArrayVar(&o.file.parameters, "parameter", nil, "pass `KEY=VALUE` as the value of a parameter (may be repeated)")
	flags.StringVar(&o.file.paramsFile, "params-file", "", "read parameters and tags from the JSON or YAML `FILE`")
	flags.StringArrayVar(&o.file.tags, "tag", nil, "set the tag `KEY=VALUE` on the stacks and their resources (may be repeated)")
	o.file.capabilities.flag(flags)
	flags.StringVar(&o.file.bucket, "s3-bucket", "", "upload a large template to the bucket `NAME`")
	flags.BoolVar(&o.noWait, "no-wait", false, "do not wait for the operation to finish")
	annotate(flags, addition, "regions")
	o.setPreferences.flags(flags)
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// deploySet creates or updates a set, and adds the instances that are missing.
func (c *app) deploySet(ctx context.Context, opts *remoteOptions, o *setDeployOptions, file string) error {
	p, err := o.of()
	if err != nil {
		return err
	}
	p.RegionOrder = o.regions
	d, err := o.file.request(c, file)
	if err != nil {
		return err
	}
	r, err := c.openRemote(ctx, opts)
	if err != nil {
		return err
	}
	d.remote = r
	set, err := r.StackSet(ctx, d.name)
	if err != nil {
		return c.serviceError(err)
	}
	if set == nil && (len(o.accounts) == 0 || len(o.regions) == 0) {
		return usagef("the following arguments are required: --accounts and --regions, because stack set %s does not exist in %s", d.name, r.Region)
	}
	body, url, err := c.templateForRequest(ctx, &o.file, d)
	if err != nil {
		return err
	}
	if set == nil {
		set, err = c.createSet(ctx, r, o, d, body, url)
	} else {
		err = c.updateSet(ctx, r, o, d, set, p, body, url)
	}
	if err != nil || len(o.accounts) == 0 || len(o.regions) == 0 {
		return err
	}
	instances, err := r.StackInstances(ctx, aws.ToString(set.StackSetId))
	if err != nil {
		return c.serviceError(err)
	}
	if !misses(instances, o.accounts, o.regions) {
		return nil
	}
	out, err := r.CloudFormation().CreateStackInstances(ctx, &cloudformation.CreateStackInstancesInput{
		StackSetName: set.StackSetId, Accounts: o.accounts, Regions: o.regions, OperationPreferences: p,
	})
	if err != nil {
		return c.serviceError(err)
	}
	return c.endSet(ctx, r, o, set, aws.ToString(out.OperationId))
}

// endSet waits for an operation unless it should not.
func (c *app) endSet(ctx context.Context, r *submit.Remote, o *setDeployOptions, set *types.StackSet, operation string) error {
	if !o.noWait {
		return c.followSet(ctx, r, set, operation)
	}
	if c.format == "json" {
		return c.printJSON(struct {
			StackSetName string `json:"stackSetName"`
			OperationID  string `json:"operationId"`
		}{aws.ToString(set.StackSetName), operation})
	}
	c.printf("%s\n", operation)
	return nil
}

func (c *app) createSet(ctx context.Context, r *submit.Remote, o *setDeployOptions, d *deployment, body, url *string) (*types.StackSet, error) {
	in := &cloudformation.CreateStackSetInput{
		StackSetName: &d.name, TemplateBody: body, TemplateURL: url, Tags: d.tags, Capabilities: o.file.capabilities, Parameters: d.apiParameters(),
	}
	out, err := r.CloudFormation().CreateStackSet(ctx, in)
	if err != nil {
		return nil, c.serviceError(err)
	}
	return &types.StackSet{StackSetName: &d.name, StackSetId: out.StackSetId}, nil
}

func (c *app) updateSet(ctx context.Context, r *submit.Remote, o *setDeployOptions, d *deployment, set *types.StackSet, p *types.StackSetOperationPreferences, body, url *string) error {
	d.existing = &types.Stack{Parameters: set.Parameters}
	d.graph = stackview.ReadGraph(ctx, d.file, d.body, template.ParseOptions{}, template.InspectInput{Supplied: d.supplied()})
	in := &cloudformation.UpdateStackSetInput{
		StackSetName: set.StackSetId, TemplateBody: body, TemplateURL: url, Tags: d.tags, Capabilities: o.file.capabilities,
		OperationPreferences: p, Parameters: d.apiParameters(),
	}
	out, err := r.CloudFormation().UpdateStackSet(ctx, in)
	if err != nil {
		return c.serviceError(err)
	}
	return c.endSet(ctx, r, o, set, aws.ToString(out.OperationId))
}

// misses reports whether a set has no instance in one of the accounts and regions.
func misses(instances []types.StackInstanceSummary, accounts, regions []string) bool {
	have := map[string]bool{}
	for _, i := range instances {
		have[aws.ToString(i.Account)+" "+aws.ToString(i.Region)] = true
	}
	for _, account := range accounts {
		for _, region := range regions {
			if !have[account+" "+region] {
				return true
			}
		}
	}
	return false
}

func newStackSetDestroy(c *app, opts *remoteOptions) *cobra.Command {
	var retain, yes bool
	p := &setPreferences{}
	cmd := c.stackSetCommand(opts, "destroy STACKSET", "Delete a stack set with its instances", 1, func(ctx context.Context, r *submit.Remote, set *types.StackSet, _ []string) error {
		preferences, err := p.of()
		if err != nil {
			return err
		}
		instances, err := r.StackInstances(ctx, aws.ToString(set.StackSetId))
		if err != nil {
			return c.serviceError(err)
		}
		if !yes {
			question := fmt.Sprintf("Delete the stack set %s with %d stacks?", aws.ToString(set.StackSetName), len(instances))
			if retain {
				question = fmt.Sprintf("Delete the stack set %s and leave its %d stacks?", aws.ToString(set.StackSetName), len(instances))
			}
			if err := c.confirm(ctx, question); err != nil {
				return err
			}
		}
		if len(instances) > 0 {
			in := &cloudformation.DeleteStackInstancesInput{StackSetName: set.StackSetId, RetainStacks: &retain, OperationPreferences: preferences}
			for _, i := range instances {
				if !slices.Contains(in.Accounts, aws.ToString(i.Account)) {
					in.Accounts = append(in.Accounts, aws.ToString(i.Account))
				}
				if !slices.Contains(in.Regions, aws.ToString(i.Region)) {
					in.Regions = append(in.Regions, aws.ToString(i.Region))
				}
			}
			out, err := r.CloudFormation().DeleteStackInstances(ctx, in)
			if err != nil {
				return c.serviceError(err)
			}
			if err := c.followSet(ctx, r, set, aws.ToString(out.OperationId)); err != nil {
				return err
			}
		}
		if _, err := r.CloudFormation().DeleteStackSet(ctx, &cloudformation.DeleteStackSetInput{StackSetName: set.StackSetId}); err != nil {
			return c.serviceError(err)
		}
		c.notef("stack set %s is deleted\n", aws.ToString(set.StackSetName))
		return nil
	})
	cmd.Long = `Delete the stacks of all instances of a stack set, and then the stack set. --retain-stacks leaves the stacks. On a
terminal cfn asks for confirmation; otherwise, pass --yes.`
	cmd.Example = "  cfn stackset destroy settings --yes"
	flags := cmd.Flags()
	flags.BoolVar(&yes, "yes", false, "do not ask for confirmation")
	flags.BoolVar(&retain, "retain-stacks", false, "leave the stacks in place")
	p.flags(flags)
	c.formatFlag(cmd, "text", "json")
	return cmd
}
