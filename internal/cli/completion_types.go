package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
)

// The limits of a completion: the user waits for it, and a shell shows a screenful.
const (
	completionTime  = 2 * time.Second
	completionTypes = 500
)

// completeTypes completes the TYPE of a command: the type of the project, and the types of
// the registry where an endpoint names one. AWS itself is not called for a completion.
func (c *app) completeTypes(o *remoteOptions) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		if p, _, err := c.openProject(); err == nil && p != nil {
			names = append(names, p.TypeName)
		}
		if cmp.Or(o.endpoint, c.Getenv("AWS_ENDPOINT_URL_CLOUDFORMATION"), c.Getenv("AWS_ENDPOINT_URL")) != "" {
			names = append(names, c.registeredNames(cmd.Context(), o, begun)...)
		}
		names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, begun) })
		slices.Sort(names)
		return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
	}
}

// registeredNames lists the types of the account whose names start with a text. It is empty if
// the registry does not answer in time.
func (c *app) registeredNames(ctx context.Context, o *remoteOptions, begun string) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	r, err := submit.Open(ctx, submit.Config{Region: o.region, Profile: o.profile, Endpoint: o.endpoint, Getenv: c.Getenv, Now: c.Now, Logger: c.logger})
	if err != nil || !r.Local {
		return nil
	}
	input := cloudformation.ListTypesInput{Visibility: types.VisibilityPrivate}
	if begun != "" {
		input.Filters = &types.TypeFilters{TypeNamePrefix: &begun}
	}
	for t, err := range r.Types(ctx, input) {
		if err != nil || len(names) == completionTypes {
			return names
		}
		names = append(names, aws.ToString(t.TypeName))
	}
	return names
}
