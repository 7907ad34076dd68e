package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

func newStackSet(c *app) *cobra.Command {
	opts := &remoteOptions{}
	cmd := &cobra.Command{
		Use:   "stackset",
		Short: "Deploy a template as stacks in several accounts and regions",
		Long: `Deploy a template as stacks in several accounts and regions, and show such stack sets, their instances and
operations. A stack set belongs to the region of --region; its instances may be in any region. The stack set is
on AWS, or in "cfn serve" on this machine if AWS_ENDPOINT_URL is set to it. Its permissions are self-managed.

Exit code: 0; 1 if a file or setting is missing on this machine, or the answer was no; 2 if the stack set does
not exist, the service returned an error, or an operation failed; 130 after Ctrl-C.`,
		Args: func(*cobra.Command, []string) error {
			return errors.New("the following arguments are required: list, show, operations, results, deploy, stop or destroy")
		},
		RunE:        func(*cobra.Command, []string) error { return nil }, // Args never lets it run
		Annotations: map[string]string{"log": "none"},
	}
	opts.flags(cmd.PersistentFlags())
	cmd.AddCommand(newStackSetList(c, opts), newStackSetShow(c, opts), newStackSetOperations(c, opts), newStackSetResults(c, opts),
		newStackSetDeploy(c, opts), newStackSetStop(c, opts), newStackSetDestroy(c, opts))
	return cmd
}

// stackSetCommand makes a command about one stack set.
func (c *app) stackSetCommand(opts *remoteOptions, use, short string, maxArgs int, run func(context.Context, *submit.Remote, *types.StackSet, []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, ValidArgsFunction: c.completeStackSets(opts), Annotations: map[string]string{"log": "none"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("the following arguments are required: STACKSET")
			}
			return atMost(maxArgs)(nil, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := c.openRemote(cmd.Context(), opts)
			if err != nil {
				return err
			}
			set, err := r.StackSet(cmd.Context(), args[0])
			if err != nil {
				return c.serviceError(err)
			}
			if set == nil {
				return &downstreamError{withHint(fmt.Errorf("stack set %s does not exist in %s", args[0], r.Region), "cfn stackset list lists stack sets")}
			}
			return run(cmd.Context(), r, set, args[1:])
		},
	}
}

// completeStackSets completes the STACKSET of a command at a local server.
func (c *app) completeStackSets(o *remoteOptions) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return c.completeLocally(o, func(ctx context.Context, r *submit.Remote, add func(name string) bool) {
		for s, err := range r.StackSets(ctx, false) {
			if err != nil || !add(aws.ToString(s.StackSetName)) {
				return
			}
		}
	})
}

// A listedSet is a stack set in a list.
type listedSet struct {
	StackSetName string `json:"stackSetName"`
	StackSetID   string `json:"stackSetId"`
	Status       string `json:"status"`
	DriftStatus  string `json:"driftStatus"`
	Description  string `json:"description"`
}

func newStackSetList(c *app, opts *remoteOptions) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "list", Short: "List stack sets", Annotations: map[string]string{"log": "none"}, Args: noArguments,
		Long:    `List the stack sets of the account in this region. --all includes deleted stack sets.`,
		Example: "  cfn stackset list\n  cfn stackset list --all --format json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := c.openRemote(cmd.Context(), opts)
			if err != nil {
				return err
			}
			found := []listedSet{}
			for s, err := range r.StackSets(cmd.Context(), all) {
				if err != nil {
					return c.serviceError(err)
				}
				found = append(found, listedSet{aws.ToString(s.StackSetName), aws.ToString(s.StackSetId), string(s.Status), string(s.DriftStatus), aws.ToString(s.Description)})
			}
			if c.format == "json" {
				return c.printJSON(struct {
					Region    string      `json:"region"`
					StackSets []listedSet `json:"stackSets"`
				}{r.Region, found})
			}
			if len(found) == 0 {
				c.notef("no stack sets in %s\n", r.Region)
				return nil
			}
			return c.table("STACKSET\tSTATUS\tDRIFT\tDESCRIPTION", func(w *tabwriter.Writer) {
				for _, s := range found {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", words.Flat(s.StackSetName), s.Status, s.DriftStatus, short(words.Flat(s.Description)))
				}
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "include deleted stack sets")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// A listedInstance is an instance of a stack set.
type listedInstance struct {
	Account        string `json:"account"`
	Region         string `json:"region"`
	Status         string `json:"status"`
	DetailedStatus string `json:"detailedStatus"`
	Reason         string `json:"reason"`
	DriftStatus    string `json:"driftStatus"`
	StackID        string `json:"stackId"` // "" without a stack
}

func instancesOf(found []types.StackInstanceSummary) []listedInstance {
	out := []listedInstance{}
	for _, i := range found {
		detailed := ""
		if i.StackInstanceStatus != nil {
			detailed = string(i.StackInstanceStatus.DetailedStatus)
		}
		out = append(out, listedInstance{
			aws.ToString(i.Account), aws.ToString(i.Region), string(i.Status), detailed, aws.ToString(i.StatusReason), string(i.DriftStatus), aws.ToString(i.StackId),
		})
	}
	return out
}

func newStackSetShow(c *app, opts *remoteOptions) *cobra.Command {
	cmd := c.stackSetCommand(opts, "show STACKSET", "Show the instances of a stack set", 1, func(ctx context.Context, r *submit.Remote, set *types.StackSet, _ []string) error {
		found, err := r.StackInstances(ctx, aws.ToString(set.StackSetId))
		if err != nil {
			return c.serviceError(err)
		}
		instances := instancesOf(found)
		if c.format == "json" {
			return c.printJSON(struct {
				StackSetName string           `json:"stackSetName"`
				StackSetID   string           `json:"stackSetId"`
				Region       string           `json:"region"`
				Status       string           `json:"status"`
				Instances    []listedInstance `json:"instances"`
			}{aws.ToString(set.StackSetName), aws.ToString(set.StackSetId), r.Region, string(set.Status), instances})
		}
		if len(instances) == 0 {
			c.notef("stack set %s has no instances\n", aws.ToString(set.StackSetName))
			return nil
		}
		return c.table("REGION\tACCOUNT\tSTATUS\tDETAIL\tDRIFT\tREASON", func(w *tabwriter.Writer) {
			for _, i := range instances {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", i.Region, i.Account, i.Status, i.DetailedStatus, i.DriftStatus, words.Flat(i.Reason))
			}
		})
	})
	cmd.Example = "  cfn stackset show settings\n  cfn stackset show settings --format json"
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// A listedOperation is an operation on a stack set.
type listedOperation struct {
	OperationID string     `json:"operationId"`
	Action      string     `json:"action"`
	Status      string     `json:"status"`
	Failed      int32      `json:"failed"` // instances
	Created     time.Time  `json:"created"`
	Ended       *time.Time `json:"ended"` // null while it runs
}

func newStackSetOperations(c *app, opts *remoteOptions) *cobra.Command {
	cmd := c.stackSetCommand(opts, "operations STACKSET", "List the operations on a stack set, newest first", 1, func(ctx context.Context, r *submit.Remote, set *types.StackSet, _ []string) error {
		found := []listedOperation{}
		for o, err := range r.StackSetOperations(ctx, aws.ToString(set.StackSetId)) {
			if err != nil {
				return c.serviceError(err)
			}
			failed := int32(0)
			if o.StatusDetails != nil {
				failed = aws.ToInt32(o.StatusDetails.FailedStackInstancesCount)
			}
			found = append(found, listedOperation{aws.ToString(o.OperationId), string(o.Action), string(o.Status), failed, aws.ToTime(o.CreationTimestamp), o.EndTimestamp})
		}
		if c.format == "json" {
			return c.printJSON(struct {
				StackSetName string            `json:"stackSetName"`
				Operations   []listedOperation `json:"operations"`
			}{aws.ToString(set.StackSetName), found})
		}
		return c.table("OPERATION\tACTION\tSTATUS\tFAILED\tCREATED", func(w *tabwriter.Writer) {
			for _, o := range found {
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", words.Flat(o.OperationID), o.Action, o.Status, o.Failed, day(o.Created))
			}
		})
	})
	cmd.Example = "  cfn stackset operations settings"
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// A setResult is what an operation did to one instance.
type setResult struct {
	Account string `json:"account"`
	Region  string `json:"region"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
}

func setResults(found []types.StackSetOperationResultSummary) []setResult {
	out := []setResult{}
	for _, r := range found {
		out = append(out, setResult{aws.ToString(r.Account), aws.ToString(r.Region), string(r.Status), aws.ToString(r.StatusReason)})
	}
	return out
}

func newStackSetResults(c *app, opts *remoteOptions) *cobra.Command {
	cmd := c.stackSetCommand(opts, "results STACKSET [OPERATION]", "Show what an operation did to each instance", 2, func(ctx context.Context, r *submit.Remote, set *types.StackSet, args []string) error {
		id, err := c.operationOfSet(ctx, r, set, args)
		if err != nil {
			return err
		}
		found, err := r.StackSetResults(ctx, aws.ToString(set.StackSetId), id)
		if err != nil {
			return c.serviceError(err)
		}
		results := setResults(found)
		if c.format == "json" {
			return c.printJSON(struct {
				OperationID string      `json:"operationId"`
				Results     []setResult `json:"results"`
			}{id, results})
		}
		return c.table("REGION\tACCOUNT\tSTATUS\tREASON", func(w *tabwriter.Writer) {
			for _, r := range results {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Region, r.Account, r.Status, words.Flat(r.Reason))
			}
		})
	})
	cmd.Long = "Show what an operation did to each instance of a stack set. Without OPERATION, the latest operation is shown."
	cmd.Example = "  cfn stackset results settings\n  cfn stackset results settings 3f0c1d2e-4b5a-6978-8796-a5b4c3d2e1f0 --format json"
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// operationOfSet is the operation of an argument, or the latest.
func (c *app) operationOfSet(ctx context.Context, r *submit.Remote, set *types.StackSet, args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	for o, err := range r.StackSetOperations(ctx, aws.ToString(set.StackSetId)) {
		if err != nil {
			return "", c.serviceError(err)
		}
		return aws.ToString(o.OperationId), nil
	}
	return "", &downstreamError{fmt.Errorf("there was no operation on stack set %s yet", aws.ToString(set.StackSetName))}
}

func newStackSetStop(c *app, opts *remoteOptions) *cobra.Command {
	cmd := c.stackSetCommand(opts, "stop STACKSET [OPERATION]", "Stop an operation: no further instance is begun", 2, func(ctx context.Context, r *submit.Remote, set *types.StackSet, args []string) error {
		id, err := c.operationOfSet(ctx, r, set, args)
		if err != nil {
			return err
		}
		if _, err := r.CloudFormation().StopStackSetOperation(ctx, &cloudformation.StopStackSetOperationInput{StackSetName: set.StackSetId, OperationId: &id}); err != nil {
			return c.serviceError(err)
		}
		return c.followSet(ctx, r, set, id)
	})
	cmd.Long = "Stop an operation on a stack set, the latest one without OPERATION, and wait until the instances that have begun end."
	cmd.Example = "  cfn stackset stop settings"
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// followSet waits for the end of an operation, and prints its results as they come.
func (c *app) followSet(ctx context.Context, r *submit.Remote, set *types.StackSet, operation string) error {
	show := c.newStatus("")
	seen := map[string]bool{}
	var last []types.StackSetOperationResultSummary
	end, err := r.FollowStackSet(ctx, aws.ToString(set.StackSetId), operation, func(results []types.StackSetOperationResultSummary) {
		last = results
		running := 0
		for _, result := range setResults(results) {
			key := result.Region + " " + result.Account
			switch {
			case result.Status == "PENDING":
			case result.Status == "RUNNING":
				running++
			case !seen[key] && c.format == "text":
				seen[key] = true
				show.printf("%s  %s  %s%s\n", result.Region, result.Account, result.Status, after(result.Reason))
			default:
				seen[key] = true
			}
		}
		show.set("", fmt.Sprintf("%d of %d instances, %d in progress", len(seen), len(results), running))
	})
	show.end()
	if err != nil {
		if ctx.Err() != nil {
			c.notef("the operation %s continues; to stop it, run: cfn stackset stop %s %s\n", operation, aws.ToString(set.StackSetName), operation)
		}
		return c.serviceError(err)
	}
	if c.format == "json" {
		err := c.printJSON(struct {
			StackSetName string      `json:"stackSetName"`
			StackSetID   string      `json:"stackSetId"`
			Region       string      `json:"region"`
			OperationID  string      `json:"operationId"`
			Action       string      `json:"action"`
			Status       string      `json:"status"`
			Results      []setResult `json:"results"`
		}{aws.ToString(set.StackSetName), aws.ToString(set.StackSetId), r.Region, operation, string(end.Action), string(end.Status), setResults(last)})
		if err != nil {
			return err
		}
	} else {
		c.printf("Stack set %s in %s: %s %s\n", words.Flat(aws.ToString(set.StackSetName)), r.Region, end.Action, end.Status)
	}
	if end.Status == types.StackSetOperationStatusFailed {
		return &downstreamError{fmt.Errorf("the operation failed: more instances failed than are tolerated")}
	}
	return nil
}

// after is a reason behind a status.
func after(reason string) string {
	if reason == "" {
		return ""
	}
	return "  " + strings.TrimSpace(words.Flat(reason))
}
