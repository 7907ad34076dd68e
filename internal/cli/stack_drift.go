package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// A stackDrift is the drift of a stack with --format json.
type stackDrift struct {
	StackName string          `json:"stackName"`
	Region    string          `json:"region"`
	Status    string          `json:"status"` // DRIFTED, IN_SYNC, UNKNOWN or NOT_CHECKED
	Reason    string          `json:"reason"` // of a detection that failed
	Resources []resourceDrift `json:"resources"`
}

// A resourceDrift is the drift of one resource.
type resourceDrift struct {
	LogicalID    string          `json:"logicalId"`
	PhysicalID   string          `json:"physicalId"`
	ResourceType string          `json:"resourceType"`
	Status       string          `json:"status"`
	Reason       string          `json:"reason"`
	Differences  []propertyDrift `json:"differences"`
}

// A propertyDrift is one place that differs.
type propertyDrift struct {
	PropertyPath   string `json:"propertyPath"`
	ExpectedValue  string `json:"expectedValue"`
	ActualValue    string `json:"actualValue"`
	DifferenceType string `json:"differenceType"`
}

func newStackDrift(c *app, opts *remoteOptions) *cobra.Command {
	var diff bool
	cmd := c.stackCommand(opts, "drift", "Detect the drift of a stack from its template", func(ctx context.Context, r *submit.Remote, stack *types.Stack) error {
		return c.stackDrift(ctx, r, stack, diff)
	})
	cmd.Long = `Detect the drift of a stack: read each resource and compare it with the template. The command waits for
the result and lists the resources. Only properties that the template sets are compared. NOT_CHECKED
means that the type cannot be read, UNKNOWN that its read handler failed.

--diff shows the expected and the actual value of each property that differs.

Exit code: 0 if the stack is in sync; 3 if it has drifted; 2 if it does not exist, the service returned
an error or a resource could not be read.`
	cmd.Example = "  cfn stack drift shop\n  cfn stack drift shop --diff\n  cfn stack drift shop --format json"
	cmd.Flags().BoolVar(&diff, "diff", false, "show the properties that differ")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func (c *app) stackDrift(ctx context.Context, r *submit.Remote, stack *types.Stack, diff bool) error {
	id := aws.ToString(stack.StackId)
	detection, err := r.DetectDrift(ctx, id)
	if err != nil {
		return c.serviceError(err)
	}
	out := stackDrift{
		StackName: aws.ToString(stack.StackName), Region: r.Region, Status: string(detection.StackDriftStatus),
		Reason: aws.ToString(detection.DetectionStatusReason), Resources: []resourceDrift{},
	}
	found, err := r.ResourceDrifts(ctx, id)
	if err != nil {
		return c.serviceError(err)
	}
	for i := range found {
		out.Resources = append(out.Resources, driftOfResource(&found[i]))
	}
	if c.format == "json" {
		if err := c.printJSON(out); err != nil {
			return err
		}
	} else if err := c.showDrift(out, diff); err != nil {
		return err
	}
	switch {
	case detection.DetectionStatus == types.StackDriftDetectionStatusDetectionFailed:
		return &exitError{exitDownstream, ""}
	case detection.StackDriftStatus == types.StackDriftStatusDrifted:
		return &exitError{exitPending, ""}
	}
	return nil
}

func driftOfResource(d *types.StackResourceDrift) resourceDrift {
	out := resourceDrift{
		LogicalID: aws.ToString(d.LogicalResourceId), PhysicalID: aws.ToString(d.PhysicalResourceId), ResourceType: aws.ToString(d.ResourceType),
		Status: string(d.StackResourceDriftStatus), Reason: aws.ToString(d.DriftStatusReason), Differences: []propertyDrift{},
	}
	for _, p := range d.PropertyDifferences {
		out.Differences = append(out.Differences, propertyDrift{
			aws.ToString(p.PropertyPath), aws.ToString(p.ExpectedValue), aws.ToString(p.ActualValue), string(p.DifferenceType),
		})
	}
	return out
}

// showDrift lists the resources of a stack.
func (c *app) showDrift(out stackDrift, diff bool) error {
	c.printf("%s in %s: %s\n", out.StackName, out.Region, out.Status)
	if out.Reason != "" {
		c.printf("%s\n", words.Flat(out.Reason))
	}
	if len(out.Resources) == 0 {
		return nil
	}
	if !diff {
		return c.table("RESOURCE\tTYPE\tDRIFT\tDIFFERENCES", func(w *tabwriter.Writer) {
			for _, d := range out.Resources {
				var paths []string
				for _, p := range d.Differences {
					paths = append(paths, words.Flat(p.PropertyPath))
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", words.Flat(d.LogicalID), words.Flat(d.ResourceType), d.Status, cmp.Or(strings.Join(paths, " "), short(words.Flat(d.Reason)), "-"))
			}
		})
	}
	for _, d := range out.Resources {
		c.printf("%s (%s): %s\n", words.Flat(d.LogicalID), words.Flat(d.ResourceType), d.Status)
		if d.Reason != "" {
			c.printf("    %s\n", words.Flat(d.Reason))
		}
		for _, p := range d.Differences {
			c.printf("    %s: %s\n", words.Flat(p.PropertyPath), p.DifferenceType)
			if p.DifferenceType != string(types.DifferenceTypeAdd) {
				c.printf("        expected: %s\n", words.Flat(p.ExpectedValue))
			}
			if p.DifferenceType != string(types.DifferenceTypeRemove) {
				c.printf("        actual:   %s\n", words.Flat(p.ActualValue))
			}
		}
	}
	return nil
}
