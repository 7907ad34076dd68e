package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/stackview"
)

func newStack(c *app) *cobra.Command {
	opts := &remoteOptions{}
	cmd := &cobra.Command{
		Use:   "stack",
		Short: "Show, follow and test stacks; cancel and roll back updates; move resources between stacks",
		Long: `Show details of a stack, which is given by its name or ARN, end an update of it, or move resources between
stacks. The stack is on AWS, or in "cfn serve" on this machine if AWS_ENDPOINT_URL is set to it. For a
deleted stack, use the ARN.

Exit code: 0; 1 if a file or setting is missing on this machine; 2 if the stack does not exist or the
service returned an error. "cfn stack test" needs no server.`,
		Args: func(*cobra.Command, []string) error {
			return errors.New("the following arguments are required: events, resources, outputs, template, drift, cancel, continue, rollback, refactor, permissions, rehearse or test")
		},
		RunE:        func(*cobra.Command, []string) error { return nil }, // Args never lets it run
		Annotations: map[string]string{"log": "none"},
	}
	opts.flags(cmd.PersistentFlags())
	cmd.AddCommand(newStackEvents(c, opts), newStackResources(c, opts), newStackOutputs(c, opts), newStackTemplate(c, opts), newStackDrift(c, opts),
		newStackCancel(c, opts), newStackContinue(c, opts), newStackRollback(c, opts), newStackRefactor(c, opts), newStackPermissions(c, opts), newStackRehearse(c, opts), newStackSuite(c, opts))
	return cmd
}

// stackCommand makes a command about one stack.
func (c *app) stackCommand(opts *remoteOptions, use, short string, run func(context.Context, *submit.Remote, *types.Stack) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " STACK", Short: short, Args: stackArgument, ValidArgsFunction: c.completeStacks(opts),
		Annotations: map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := c.openRemote(cmd.Context(), opts)
			if err != nil {
				return err
			}
			stack, err := r.Stack(cmd.Context(), args[0])
			if err != nil {
				return c.serviceError(err)
			}
			if stack == nil {
				return errNoStack(args[0], r.Region)
			}
			return run(cmd.Context(), r, stack)
		},
	}
}

// A listedEvent is an event with --format json: one line each.
type listedEvent struct {
	Time         time.Time `json:"time"`
	LogicalID    string    `json:"logicalId"`
	PhysicalID   string    `json:"physicalId"`
	ResourceType string    `json:"resourceType"`
	Status       string    `json:"status"`
	Reason       string    `json:"reason"`
	EventID      string    `json:"eventId"`
	HookType     string    `json:"hookType,omitempty"` // of the event of a hook
	HookStatus   string    `json:"hookStatus,omitempty"`
	HookReason   string    `json:"hookStatusReason,omitempty"`
}

func newStackEvents(c *app, opts *remoteOptions) *cobra.Command {
	var follow, all bool
	cmd := c.stackCommand(opts, "events", "Show the events of a stack", func(ctx context.Context, r *submit.Remote, stack *types.Stack) error {
		if follow {
			d := &deployed{app: c, remote: r, options: opts, name: aws.ToString(stack.StackName), id: aws.ToString(stack.StackId), verb: "follow", Changed: true}
			return d.follow(ctx, "")
		}
		return c.stackEvents(ctx, r, aws.ToString(stack.StackId), all)
	})
	cmd.Long = `Show the events of the last operation on a stack, the oldest first; with --all, those of all operations.
With --format json each event is one line.

--follow waits for the end of the operation, and shows and leaves as cfn deploy does.`
	cmd.Example = "  cfn stack events shop\n  cfn stack events shop --follow"
	cmd.Flags().BoolVar(&follow, "follow", false, "wait for the operation to finish")
	cmd.Flags().BoolVar(&all, "all", false, "show events of all operations, not only of the last one")
	cmd.MarkFlagsMutuallyExclusive("follow", "all")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func (c *app) stackEvents(ctx context.Context, r *submit.Remote, id string, all bool) error {
	after := ""
	if all {
		after = "-" // no event has this ID: everything is newer
	}
	events, err := r.EventsAfter(ctx, id, after)
	if err != nil {
		return c.serviceError(err)
	}
	for i := range events {
		e := &events[i]
		if c.format == "text" {
			c.printf("%s\n", stackview.EventLine(e))
			continue
		}
		line, err := compactJSON(listedEvent{
			aws.ToTime(e.Timestamp), aws.ToString(e.LogicalResourceId), aws.ToString(e.PhysicalResourceId), aws.ToString(e.ResourceType),
			string(e.ResourceStatus), aws.ToString(e.ResourceStatusReason), aws.ToString(e.EventId),
			aws.ToString(e.HookType), string(e.HookStatus), aws.ToString(e.HookStatusReason),
		})
		if err != nil {
			return err
		}
		c.printf("%s\n", line)
	}
	return nil
}

// A listedResource is a resource of a stack in a list.
type listedResource struct {
	LogicalID    string    `json:"logicalId"`
	PhysicalID   string    `json:"physicalId"`
	ResourceType string    `json:"resourceType"`
	Status       string    `json:"status"`
	Reason       string    `json:"reason"`
	Updated      time.Time `json:"updated"`
	Simulated    bool      `json:"simulated"`        // by cfn serve: there is nothing behind it
	By           string    `json:"by,omitempty"`     // the emulator that it is in
	Module       string    `json:"module,omitempty"` // logical IDs of the modules that it comes from, the innermost first
}

func newStackResources(c *app, opts *remoteOptions) *cobra.Command {
	cmd := c.stackCommand(opts, "resources", "List the resources of a stack", func(ctx context.Context, r *submit.Remote, stack *types.Stack) error {
		found := []listedResource{}
		for s, err := range r.StackResources(ctx, aws.ToString(stack.StackId)) {
			if err != nil {
				return c.serviceError(err)
			}
			found = append(found, listedResource{
				aws.ToString(s.LogicalResourceId), aws.ToString(s.PhysicalResourceId), aws.ToString(s.ResourceType), string(s.ResourceStatus),
				aws.ToString(s.ResourceStatusReason), aws.ToTime(s.LastUpdatedTimestamp), false, "", moduleOf(s.ModuleInfo),
			})
		}
		if err := c.markSimulated(ctx, r, found); err != nil {
			return err
		}
		if err := c.markDelegated(ctx, r, found); err != nil {
			return err
		}
		if c.format == "json" {
			return c.printJSON(struct {
				StackName string           `json:"stackName"`
				Resources []listedResource `json:"resources"`
			}{aws.ToString(stack.StackName), found})
		}
		heading := "RESOURCE\tTYPE\tSTATUS\tPHYSICAL ID"
		modules := slices.ContainsFunc(found, func(row listedResource) bool { return row.Module != "" })
		if modules {
			heading += "\tMODULE"
		}
		return c.table(heading, func(w *tabwriter.Writer) {
			for _, row := range found {
				mark := ""
				if row.Simulated {
					mark = " (simulated)"
				}
				if row.By != "" {
					mark = " (" + row.By + ")"
				}
				fmt.Fprintf(w, "%s\t%s%s\t%s\t%s", row.LogicalID, row.ResourceType, mark, row.Status, cmp.Or(words.Flat(row.PhysicalID), "-"))
				if modules {
					fmt.Fprintf(w, "\t%s", orDash(row.Module))
				}
				fmt.Fprintln(w)
			}
		})
	})
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// moduleOf is the path of modules to a resource, "" if it comes from none.
func moduleOf(info *types.ModuleInfo) string {
	if info == nil {
		return ""
	}
	return aws.ToString(info.LogicalIdHierarchy)
}

// markSimulated marks the resources that a local server simulates.
func (c *app) markSimulated(ctx context.Context, r *submit.Remote, resources []listedResource) error {
	names := make([]submit.ResourceName, len(resources))
	for i, resource := range resources {
		names[i] = submit.ResourceName{TypeName: resource.ResourceType, Identifier: resource.PhysicalID}
	}
	simulated, err := r.Simulated(ctx, names)
	if err != nil {
		return c.serviceError(err)
	}
	for i, name := range names {
		resources[i].Simulated = slices.Contains(simulated, name)
	}
	return nil
}

// markDelegated marks the resources that a local server made in an emulator.
func (c *app) markDelegated(ctx context.Context, r *submit.Remote, resources []listedResource) error {
	names := make([]submit.DelegatedResource, len(resources))
	for i, resource := range resources {
		names[i] = submit.DelegatedResource{TypeName: resource.ResourceType, Identifier: resource.PhysicalID}
	}
	delegated, err := r.Delegated(ctx, names)
	if err != nil {
		return c.serviceError(err)
	}
	where := map[submit.DelegatedResource]string{}
	for _, found := range delegated {
		where[submit.DelegatedResource{TypeName: found.TypeName, Identifier: found.Identifier}] = found.Where
	}
	for i, name := range names {
		resources[i].By = where[name]
	}
	return nil
}

func newStackOutputs(c *app, opts *remoteOptions) *cobra.Command {
	cmd := c.stackCommand(opts, "outputs", "Show the outputs of a stack", func(_ context.Context, _ *submit.Remote, stack *types.Stack) error {
		if c.format == "json" {
			values := map[string]string{}
			for _, o := range stack.Outputs {
				values[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
			}
			return c.printJSON(values)
		}
		if len(stack.Outputs) == 0 {
			c.notef("stack %s has no outputs\n", aws.ToString(stack.StackName))
			return nil
		}
		return c.table("OUTPUT\tVALUE\tEXPORT\tDESCRIPTION", func(w *tabwriter.Writer) {
			for _, o := range stack.Outputs {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", aws.ToString(o.OutputKey), words.Flat(aws.ToString(o.OutputValue)), cmp.Or(aws.ToString(o.ExportName), "-"), short(words.Flat(aws.ToString(o.Description))))
			}
		})
	})
	cmd.Long = "Show the outputs of a stack. With --format json they are one object: {NAME: VALUE}."
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func newStackTemplate(c *app, opts *remoteOptions) *cobra.Command {
	var processed bool
	cmd := c.stackCommand(opts, "template", "Print the template of a stack", func(ctx context.Context, r *submit.Remote, stack *types.Stack) error {
		in := &cloudformation.GetTemplateInput{StackName: stack.StackId, TemplateStage: types.TemplateStageOriginal}
		if processed {
			in.TemplateStage = types.TemplateStageProcessed
		}
		out, err := r.CloudFormation().GetTemplate(ctx, in)
		if err != nil {
			return c.serviceError(err)
		}
		c.printf("%s\n", strings.TrimRight(aws.ToString(out.TemplateBody), "\n"))
		return nil
	})
	cmd.Long = "Print the template of a stack as it was passed; with --processed, as its transforms have made it."
	cmd.Flags().BoolVar(&processed, "processed", false, "print the template after transforms")
	return cmd
}

// completeStacks completes the STACK of a command at an endpoint. AWS itself is not called
// for a completion.
func (c *app) completeStacks(o *remoteOptions) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return c.completeLocally(o, func(ctx context.Context, r *submit.Remote, add func(name string) bool) {
		for s, err := range r.Stacks(ctx, false) {
			if err != nil || !add(aws.ToString(s.StackName)) {
				return
			}
		}
	})
}

// completeLocally completes the first argument of a command with what a local server has.
func (c *app) completeLocally(o *remoteOptions, list func(ctx context.Context, r *submit.Remote, add func(name string) bool)) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, args []string, begun string) (names []string, _ cobra.ShellCompDirective) {
		if len(args) > 0 || cmp.Or(o.endpoint, c.Getenv("AWS_ENDPOINT_URL_CLOUDFORMATION"), c.Getenv("AWS_ENDPOINT_URL")) == "" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		r, err := submit.Open(ctx, submit.Config{Region: o.region, Profile: o.profile, Endpoint: o.endpoint, Getenv: c.Getenv, Now: c.Now, Logger: c.logger})
		if err != nil || !r.Local {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list(ctx, r, func(name string) bool {
			if strings.HasPrefix(name, begun) {
				names = append(names, name)
			}
			return len(names) < completionTypes
		})
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
