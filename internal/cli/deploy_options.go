package cli

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// deployOptions are the options of cfn deploy.
type deployOptions struct {
	remoteOptions
	stackName, paramsFile, role, bucket  string
	onFailure, policy, policyOut         string
	parameters, tags                     []string
	extensions, recordings               []string // of a rehearsal
	seen                                 []string // recordings for the policy
	capabilities                         capabilities
	disableRollback, noWait, plan, yes   bool
	express, revertDrift, importExisting bool
	noValidation, enforce, rehearse      bool
	protect                              optionalBool
}

// flags defines the options of cfn deploy.
func (o *deployOptions) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.stackName, "stack-name", "", "the `NAME` of the stack (default: the name of the template file)")
	flags.StringArrayVar(&o.parameters, "parameter", nil, "pass `KEY=VALUE` as the value of a parameter (may be repeated)")
	flags.StringVar(&o.paramsFile, "params-file", "", "read parameters and tags from the JSON or YAML `FILE`")
	flags.StringArrayVar(&o.tags, "tag", nil, "set the tag `KEY=VALUE` on the stack and its resources (may be repeated)")
	o.capabilities.flag(flags)
	flags.StringVar(&o.role, "role-arn", "", "the `ARN` of the role that CloudFormation assumes")
	flags.StringVar(&o.bucket, "s3-bucket", "", "upload a large template to the bucket `NAME`")
	flags.BoolVar(&o.disableRollback, "disable-rollback", false, "keep created resources if the deployment fails")
	flags.Var(&enum{&o.onFailure, []string{"ROLLBACK", "DELETE", "DO_NOTHING"}}, "on-failure", "what happens if the deployment fails: `ROLLBACK|DELETE|DO_NOTHING`")
	cmd.MarkFlagsMutuallyExclusive("disable-rollback", "on-failure")
	flags.BoolVar(&o.express, "express", false, "do not wait until resources are ready")
	flags.BoolVar(&o.revertDrift, "revert-drift", false, "also reset resources that were changed outside of the stack")
	flags.BoolVar(&o.importExisting, "import-existing-resources", false, "import resources whose names are already in use")
	flags.BoolVar(&o.noValidation, "no-validation", false, "do not check properties and names before the deployment")
	flags.StringVar(&o.policy, "policy", "", "set the stack policy in the JSON `FILE`")
	flags.StringVar(&o.policyOut, "policy-out", "", "write the IAM policy that the changes need to the JSON `FILE`")
	flags.StringArrayVar(&o.seen, "recording", nil, "add the actions that handlers called in the recording `FILE` of cfn test to the policy (may be repeated)")
	flags.Var(&o.protect, "protect", "turn termination protection on; --protect=false turns it off")
	flags.Lookup("protect").NoOptDefVal = "true"
	flags.BoolVar(&o.enforce, "enforce-context", false, "fail if the update changes what the metadata of the deployed template says must never change")
	flags.BoolVar(&o.plan, "plan", false, "only show the changes")
	flags.BoolVar(&o.rehearse, "rehearse", false, "only show what the update will do, also if a step fails")
	o.extensionFlags(flags)
	flags.BoolVar(&o.yes, "yes", false, "do not ask for confirmation")
	flags.BoolVar(&o.noWait, "no-wait", false, "do not wait for the deployment to finish")
	cmd.MarkFlagsMutuallyExclusive("plan", "rehearse", "yes")
	for _, name := range []string{"policy-out", "revert-drift", "import-existing-resources", "no-wait", "policy", "protect", "disable-rollback", "on-failure", "express", "enforce-context"} {
		cmd.MarkFlagsMutuallyExclusive("rehearse", name)
	}
	o.remoteOptions.flags(flags)
}

// optionalBool is an option that is true, false or, as its zero value, not passed.
type optionalBool struct{ value *bool }

func (b *optionalBool) Set(text string) error {
	on, err := strconv.ParseBool(text)
	b.value = &on
	return err
}

func (b *optionalBool) String() string {
	if b.value == nil {
		return ""
	}
	return strconv.FormatBool(*b.value)
}

func (b *optionalBool) Type() string { return "bool" }

// trueOrNil is the value of an option in a request, which does not have it if it is off.
func trueOrNil(on bool) *bool {
	if !on {
		return nil
	}
	return &on
}

// config is the mode of the deployment, nil for the standard one.
func (o *deployOptions) config() *types.DeploymentConfig {
	if !o.express {
		return nil
	}
	return &types.DeploymentConfig{Mode: types.DeploymentConfigModeExpress}
}

// rollbackDisabled is what requests say of a rollback; nil leaves it to the service, whose
// express mode has none.
func (o *deployOptions) rollbackDisabled() *bool {
	switch {
	case o.onFailure != "":
		return aws.Bool(o.onFailure == "DO_NOTHING")
	case o.express && !o.disableRollback:
		return nil
	}
	return &o.disableRollback
}

// asksBefore reports whether the changes are shown and confirmed before a deployment.
func (c *app) asksBefore(o *deployOptions) bool {
	return !o.yes && c.Terminal.Stdin && c.Terminal.Stderr && c.format == "text"
}

// maxStackPolicy bounds a stack policy, in bytes; the service has the same limit.
const maxStackPolicy = 16384

// readStackPolicy reads the file of --policy.
func (c *app) readStackPolicy(file string) (*string, error) {
	data, err := document.ReadFile(c.path(file), maxStackPolicy)
	if err != nil {
		return nil, missingFile(err, file, "pass the path of a stack policy in JSON")
	}
	if _, problems := document.ParseJSON(file, data, document.Limits{}); problems.Err() != nil {
		return nil, problems.Err()
	}
	return aws.String(string(data)), nil
}

// guardStack sets the policy and the termination protection of a stack that exists, around the request that begins its update.
// If it does not begin, both are as before.
func (c *app) guardStack(ctx context.Context, o *deployOptions, d *deployment, id string, begin func() error) error {
	if d.existing == nil {
		return begin()
	}
	if err := c.withPolicy(ctx, d, id, begin); err != nil {
		return err
	}
	if on := o.protect.value; on != nil {
		if _, err := d.remote.CloudFormation().UpdateTerminationProtection(ctx, &cloudformation.UpdateTerminationProtectionInput{StackName: &id, EnableTerminationProtection: on}); err != nil {
			return c.serviceError(err)
		}
	}
	return nil
}

// withPolicy sets the policy of a stack before the request that begins its update, which then follows it, and the previous one
// again if the update does not begin. The first policy is set after the request: the service cannot delete a policy.
func (c *app) withPolicy(ctx context.Context, d *deployment, id string, begin func() error) error {
	if d.policy == nil {
		return begin()
	}
	client := d.remote.CloudFormation()
	found, err := client.GetStackPolicy(ctx, &cloudformation.GetStackPolicyInput{StackName: &id})
	if err != nil {
		return c.serviceError(err)
	}
	before := aws.ToString(found.StackPolicyBody)
	set := func(ctx context.Context, policy string) error {
		if _, err := client.SetStackPolicy(ctx, &cloudformation.SetStackPolicyInput{StackName: &id, StackPolicyBody: &policy}); err != nil {
			return c.serviceError(err)
		}
		return nil
	}
	if before == "" {
		if err := begin(); err != nil {
			return err
		}
		return set(ctx, *d.policy)
	}
	if err := set(ctx, *d.policy); err != nil {
		return err
	}
	if err := begin(); err != nil {
		if restoreErr := set(context.WithoutCancel(ctx), before); restoreErr != nil {
			c.notef("warning: the stack policy of %s was changed: %v\n", d.name, restoreErr)
		}
		return err
	}
	return nil
}
