package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
)

// stackOperation makes a command that starts an operation on a stack in one of some statuses, and
// follows it.
func (c *app) stackOperation(opts *remoteOptions, verb, short string, from []types.StackStatus, begin func(context.Context, *cloudformation.Client, string) error) *cobra.Command {
	var noWait bool
	cmd := c.stackCommand(opts, verb, short, func(ctx context.Context, r *submit.Remote, stack *types.Stack) error {
		d := &deployed{app: c, remote: r, options: opts, name: aws.ToString(stack.StackName), id: aws.ToString(stack.StackId), verb: verb, Changed: true}
		if !slices.Contains(from, stack.StackStatus) {
			return &downstreamError{fmt.Errorf("stack %s is in %s; cfn stack %s is for stacks in %s", d.name, stack.StackStatus, verb, orList(from))}
		}
		after, err := r.LastStackEvent(ctx, d.id)
		if err != nil {
			return c.serviceError(err)
		}
		if err := begin(ctx, r.CloudFormation(), d.id); err != nil {
			return c.serviceError(err)
		}
		if noWait {
			return d.begun()
		}
		return d.follow(ctx, after)
	})
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "do not wait for the rollback to finish")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// orList lists statuses: A or B.
func orList(statuses []types.StackStatus) string {
	names := make([]string, len(statuses))
	for i, status := range statuses {
		names[i] = string(status)
	}
	return strings.Join(names, " or ")
}

const stackEndCodes = `

Exit code: 0 if the rollback succeeded; 2 if the stack does not exist, the service rejected the request or
the rollback failed; 130 after Ctrl-C, which stops the wait, not the rollback.`

func newStackCancel(c *app, opts *remoteOptions) *cobra.Command {
	cmd := c.stackOperation(opts, "cancel", "Cancel an update and roll it back", []types.StackStatus{types.StackStatusUpdateInProgress}, func(ctx context.Context, client *cloudformation.Client, id string) error {
		_, err := client.CancelUpdateStack(ctx, &cloudformation.CancelUpdateStackInput{StackName: &id})
		return err
	})
	cmd.Long = `Cancel the update of a stack in UPDATE_IN_PROGRESS, and wait until it is rolled back. The creation of a
stack cannot be canceled: delete the stack with "cfn destroy".` + stackEndCodes
	cmd.Example = "  cfn stack cancel shop"
	return cmd
}

func newStackContinue(c *app, opts *remoteOptions) *cobra.Command {
	var skip []string
	var role string
	cmd := c.stackOperation(opts, "continue", "Continue a rollback that failed", []types.StackStatus{types.StackStatusUpdateRollbackFailed}, func(ctx context.Context, client *cloudformation.Client, id string) error {
		_, err := client.ContinueUpdateRollback(ctx, &cloudformation.ContinueUpdateRollbackInput{StackName: &id, ResourcesToSkip: skip, RoleARN: optional(role)})
		return err
	})
	cmd.Long = `Continue the rollback of an update that failed (UPDATE_ROLLBACK_FAILED), and wait for its end. First fix
what made it fail, or skip the resources: the stack then counts them as rolled back, though they are not.` + stackEndCodes
	cmd.Example = "  cfn stack continue shop\n  cfn stack continue shop --resources-to-skip Orders,Queue"
	cmd.Flags().StringSliceVar(&skip, "resources-to-skip", nil, "do not roll back the resources with the logical IDs `A,B`; NESTED-STACK.ID in a nested stack")
	cmd.Flags().StringVar(&role, "role-arn", "", "the `ARN` of the role that CloudFormation assumes")
	return cmd
}

func newStackRollback(c *app, opts *remoteOptions) *cobra.Command {
	var retain bool
	var role string
	from := []types.StackStatus{types.StackStatusCreateFailed, types.StackStatusUpdateFailed}
	cmd := c.stackOperation(opts, "rollback", "Roll back a deployment that failed without a rollback", from, func(ctx context.Context, client *cloudformation.Client, id string) error {
		_, err := client.RollbackStack(ctx, &cloudformation.RollbackStackInput{StackName: &id, RetainExceptOnCreate: trueOrNil(retain), RoleARN: optional(role)})
		return err
	})
	cmd.Long = `Roll back a stack in CREATE_FAILED or UPDATE_FAILED, which a deployment with --disable-rollback, --express
or --on-failure DO_NOTHING has left, and wait for the end. Created resources are deleted.` + stackEndCodes
	cmd.Example = "  cfn stack rollback shop"
	cmd.Flags().BoolVar(&retain, "retain-except-on-create", false, "delete resources that this deployment created, even if their DeletionPolicy retains them")
	cmd.Flags().StringVar(&role, "role-arn", "", "the `ARN` of the role that CloudFormation assumes")
	return cmd
}
