package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/running/stackview"
)

func newDestroy(c *app) *cobra.Command {
	opts := &remoteOptions{}
	var retain []string
	var role string
	var yes, noWait bool
	cmd := &cobra.Command{
		Use:               "destroy STACK",
		ValidArgsFunction: c.completeStacks(opts),
		Short:             "Delete a stack and its resources",
		Long: `Delete a stack with its resources and wait until they are deleted. Resources with the DeletionPolicy
Retain are kept. On a terminal cfn asks for confirmation; otherwise, pass --yes.

--retain keeps resources that an earlier attempt failed to delete (DELETE_FAILED).

Exit code: 0 if the stack is deleted, now or before, if its ARN is given; 2 if the stack does not exist,
the service rejected the request or the deletion failed; 130 after Ctrl-C, which stops the wait, not the deletion.`,
		Example:     "  cfn destroy shop-test --yes",
		Annotations: map[string]string{"log": "none"},
		Args:        stackArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			in := &cloudformation.DeleteStackInput{RetainResources: retain, RoleARN: optional(role)}
			return c.destroy(cmd.Context(), opts, args[0], in, yes, noWait)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&yes, "yes", false, "do not ask for confirmation")
	flags.StringSliceVar(&retain, "retain", nil, "leave the resources with the logical IDs `A,B` in place")
	flags.StringVar(&role, "role-arn", "", "the `ARN` of the role that CloudFormation assumes")
	flags.BoolVar(&noWait, "no-wait", false, "do not wait for the deletion to finish")
	opts.flags(flags)
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// stackArgument requires the STACK of a command.
func stackArgument(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("the following arguments are required: STACK")
	}
	return atMost(1)(nil, args)
}

func (c *app) destroy(ctx context.Context, opts *remoteOptions, name string, in *cloudformation.DeleteStackInput, yes, noWait bool) error {
	r, err := c.openRemote(ctx, opts)
	if err != nil {
		return err
	}
	stack, err := r.Stack(ctx, name)
	if err != nil {
		return c.serviceError(err)
	}
	if stack == nil {
		return errNoStack(name, r.Region)
	}
	if stack.StackStatus == "DELETE_COMPLETE" {
		c.notef("stack %s is already deleted\n", name)
		if c.format == "json" {
			return c.printJSON(stackResult{StackName: aws.ToString(stack.StackName), StackID: aws.ToString(stack.StackId), Region: r.Region, Status: "DELETE_COMPLETE", Outputs: map[string]string{}, Simulated: []string{}})
		}
		return nil
	}
	if !yes {
		if err := c.confirm(ctx, fmt.Sprintf("Delete the stack %s in %s and its resources?", aws.ToString(stack.StackName), r.Region)); err != nil {
			return err
		}
	}
	id := aws.ToString(stack.StackId)
	after, err := r.LastStackEvent(ctx, id)
	if err != nil {
		return c.serviceError(err)
	}
	out := &deployed{app: c, remote: r, options: opts, name: aws.ToString(stack.StackName), id: id, verb: "destroy", Changed: true}
	if out.graph, err = c.stackGraph(ctx, out); err != nil {
		return err
	}
	in.StackName = &id // never a newer stack of this name
	if _, err := r.CloudFormation().DeleteStack(ctx, in); err != nil {
		return c.serviceError(err)
	}
	if noWait {
		return out.begun()
	}
	return out.follow(ctx, after)
}

// stackGraph reads the template of a stack, and lists the resources that it has. Without
// the template, which is only for the display, it returns nil.
func (c *app) stackGraph(ctx context.Context, d *deployed) (*stackview.Graph, error) {
	for resource, err := range d.remote.StackResources(ctx, d.id) {
		if err != nil {
			return nil, c.serviceError(err)
		}
		if resource.ResourceStatus != "DELETE_COMPLETE" {
			d.rows = append(d.rows, &stackview.Resource{ID: aws.ToString(resource.LogicalResourceId), Type: aws.ToString(resource.ResourceType)})
		}
	}
	out, err := d.remote.CloudFormation().GetTemplate(ctx, &cloudformation.GetTemplateInput{StackName: &d.id, TemplateStage: "Processed"})
	if err != nil {
		return nil, ctx.Err()
	}
	return stackview.ReadGraph(ctx, "", []byte(aws.ToString(out.TemplateBody)), template.ParseOptions{Processed: true}, template.InspectInput{}), nil
}
