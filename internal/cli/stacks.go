package cli

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// A listedStack is a stack in a list.
type listedStack struct {
	StackName   string    `json:"stackName"`
	StackID     string    `json:"stackId"`
	Status      string    `json:"status"`
	Reason      string    `json:"reason"`
	Created     time.Time `json:"created"`
	Updated     time.Time `json:"updated"` // when it was created if it was never updated
	Description string    `json:"description"`
}

func newStacks(c *app) *cobra.Command {
	opts := &remoteOptions{}
	var all bool
	cmd := &cobra.Command{
		Use:         "stacks",
		Short:       "List stacks",
		Long:        `List the stacks of the account in this region, newest first. --all includes deleted stacks.`,
		Example:     "  cfn stacks\n  cfn stacks --all --format json",
		Annotations: map[string]string{"log": "none"},
		Args:        noArguments,
		RunE:        func(cmd *cobra.Command, _ []string) error { return c.listStacks(cmd.Context(), opts, all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "include deleted stacks")
	opts.flags(cmd.Flags())
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func (c *app) listStacks(ctx context.Context, opts *remoteOptions, all bool) error {
	r, err := c.openRemote(ctx, opts)
	if err != nil {
		return err
	}
	found := []listedStack{}
	for s, err := range r.Stacks(ctx, all) {
		if err != nil {
			return c.serviceError(err)
		}
		updated := aws.ToTime(s.CreationTime)
		if s.LastUpdatedTime != nil {
			updated = *s.LastUpdatedTime
		}
		found = append(found, listedStack{
			StackName: aws.ToString(s.StackName), StackID: aws.ToString(s.StackId), Status: string(s.StackStatus), Reason: aws.ToString(s.StackStatusReason),
			Created: aws.ToTime(s.CreationTime), Updated: updated, Description: aws.ToString(s.TemplateDescription),
		})
	}
	if c.format == "json" {
		return c.printJSON(struct {
			Region string        `json:"region"`
			Stacks []listedStack `json:"stacks"`
		}{r.Region, found})
	}
	if len(found) == 0 {
		c.notef("no stacks in %s\n", r.Region)
		return nil
	}
	return c.table("STACK\tSTATUS\tUPDATED\tDESCRIPTION", func(w *tabwriter.Writer) {
		for _, s := range found {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.StackName, s.Status, day(s.Updated), short(words.Flat(s.Description)))
		}
	})
}
