package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
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
)

// typesOptions are those that the commands below cfn types share.
type typesOptions struct {
	remoteOptions
	kind string
}

func newTypes(c *app) *cobra.Command {
	opts := &typesOptions{}
	cmd := &cobra.Command{
		Use:   "types",
		Short: "List and change the types in the registry",
		Long: `List and change the types that are registered in an account and region: on AWS, or in "cfn serve" on
this machine if AWS_ENDPOINT_URL is set to it.

TYPE is the name or ARN of a type and defaults to the type of the project. If a name could be that of a
resource type or a hook, cfn looks up which one exists.

Exit code: 0; 1 if a file or setting is missing on this machine; 2 if the registry returned an error.`,
		Args: func(*cobra.Command, []string) error {
			return errors.New("the following arguments are required: list, describe, versions, registrations, default, configure, activate, deactivate, deregister, import or export")
		},
		RunE: func(*cobra.Command, []string) error { return nil }, // Args never lets it run
	}
	opts.remoteOptions.flags(cmd.PersistentFlags())
	cmd.AddCommand(
		newTypesList(c, opts), newTypesDescribe(c, opts), newTypesVersions(c, opts), newTypesRegistrations(c, opts), newTypesDefault(c, opts),
		newTypesConfigure(c, opts), newTypesActivate(c, opts), newTypesDeactivate(c, opts), newTypesDeregister(c, opts), newTypesImport(c, opts),
		newTypesExport(c, opts),
	)
	return cmd
}

// find opens the registry and the type that is meant.
func (o *typesOptions) find(ctx context.Context, c *app, args []string) (*submit.Remote, *submit.Reference, error) {
	ref, err := c.typeReference(args, o.kind)
	if err != nil {
		return nil, nil, err
	}
	r, err := c.openRemote(ctx, &o.remoteOptions)
	return r, &ref, err
}

// A listedType is a type in a list.
type listedType struct {
	TypeName       string    `json:"typeName"`
	Type           string    `json:"type"`
	ARN            string    `json:"arn"`
	DefaultVersion string    `json:"defaultVersion"`
	PublicVersion  string    `json:"publicVersion"`
	Publisher      string    `json:"publisher"`
	Activated      bool      `json:"activated"`
	LastUpdated    time.Time `json:"lastUpdated"`
	Description    string    `json:"description"`
}

func newTypesList(c *app, opts *typesOptions) *cobra.Command {
	var filter struct {
		prefix, visibility, category, publisher, provisioning string
		deprecated                                            bool
		limit                                                 int
	}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List types",
		Long: `List the types that the account has registered or activated in this region. --visibility PUBLIC lists
the types that can be activated: on AWS including those of AWS, in "cfn serve" those that were
published there.`,
		Example: "  cfn types list\n  cfn types list --visibility PUBLIC --category THIRD_PARTY --prefix Acme::",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if filter.limit < 0 {
				return usagef("option --limit: %d is negative", filter.limit)
			}
			input := cloudformation.ListTypesInput{
				Type: types.RegistryType(opts.kind), Visibility: types.Visibility(filter.visibility), ProvisioningType: types.ProvisioningType(filter.provisioning),
			}
			if filter.deprecated {
				input.DeprecatedStatus = types.DeprecatedStatusDeprecated
			}
			if filter.prefix != "" || filter.category != "" || filter.publisher != "" {
				input.Filters = &types.TypeFilters{Category: types.Category(filter.category)}
				if filter.prefix != "" {
					input.Filters.TypeNamePrefix = &filter.prefix
				}
				if filter.publisher != "" {
					input.Filters.PublisherId = &filter.publisher
				}
			}
			return c.listTypes(cmd.Context(), opts, input, filter.limit)
		},
	}
	flags := cmd.Flags()
	kindFlag(flags, &opts.kind)
	flags.StringVar(&filter.prefix, "prefix", "", "only types whose names start with `TEXT`")
	flags.Var(&enum{&filter.visibility, []string{"PRIVATE", "PUBLIC"}}, "visibility", "types of the account, or public types: `PRIVATE|PUBLIC` (default: PRIVATE)")
	flags.Var(&enum{&filter.category, []string{"REGISTERED", "ACTIVATED", "THIRD_PARTY", "AWS_TYPES"}}, "category", "only types of one category: `REGISTERED|ACTIVATED|THIRD_PARTY|AWS_TYPES`")
	flags.StringVar(&filter.publisher, "publisher-id", "", "only types of the publisher `ID`")
	flags.Var(&enum{&filter.provisioning, []string{"FULLY_MUTABLE", "IMMUTABLE", "NON_PROVISIONABLE"}}, "provisioning-type", "only types that are `FULLY_MUTABLE|IMMUTABLE|NON_PROVISIONABLE`")
	flags.BoolVar(&filter.deprecated, "deprecated", false, "list deregistered ones instead")
	flags.IntVar(&filter.limit, "limit", 0, "at most `N` types (default: all)")
	flags.Lookup("limit").DefValue = "0"
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func (c *app) listTypes(ctx context.Context, opts *typesOptions, input cloudformation.ListTypesInput, limit int) error {
	r, err := c.openRemote(ctx, &opts.remoteOptions)
	if err != nil {
		return err
	}
	found := []listedType{}
	for t, err := range r.Types(ctx, input) {
		if err != nil {
			return c.serviceError(err)
		}
		found = append(found, listedType{
			TypeName: aws.ToString(t.TypeName), Type: string(t.Type), ARN: aws.ToString(t.TypeArn), DefaultVersion: aws.ToString(t.DefaultVersionId),
			PublicVersion: cmp.Or(aws.ToString(t.PublicVersionNumber), aws.ToString(t.LatestPublicVersion)), Publisher: cmp.Or(aws.ToString(t.PublisherName), aws.ToString(t.PublisherId)),
			Activated: aws.ToBool(t.IsActivated), LastUpdated: aws.ToTime(t.LastUpdated), Description: aws.ToString(t.Description),
		})
		if len(found) == limit {
			break
		}
	}
	if c.format == "json" {
		return c.printJSON(struct {
			Region string       `json:"region"`
			Types  []listedType `json:"types"`
		}{r.Region, found})
	}
	if len(found) == 0 {
		c.notef("no types match in %s\n", r.Region)
	}
	if input.ProvisioningType == "" && (input.Type == "" || input.Type == types.RegistryTypeResource) {
		defer c.notef("only the resource types that can be updated are listed, and all hooks and modules; for others, pass --provisioning-type IMMUTABLE or NON_PROVISIONABLE\n")
	}
	if len(found) == 0 {
		return nil
	}
	return c.table("TYPE NAME\tTYPE\tVERSION\tUPDATED\tDESCRIPTION", func(w *tabwriter.Writer) {
		for _, t := range found {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.TypeName, t.Type, cmp.Or(t.DefaultVersion, t.PublicVersion, "-"), day(t.LastUpdated), short(t.Description))
		}
	})
}

func newTypesDescribe(c *app, opts *typesOptions) *cobra.Command {
	var version, publisher, publicVersion string
	var schemaOnly bool
	cmd := &cobra.Command{
		Use:               "describe [TYPE]",
		ValidArgsFunction: c.completeTypes(&opts.remoteOptions),
		Short:             "Show a type or one of its versions",
		Long:              `Show the details of a type or of one of its versions. --schema prints only the schema.`,
		Example:           "  cfn types describe Acme::Foo::Bar\n  cfn types describe Acme::Foo::Bar --version-id 00000002 --schema",
		Args:              atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, ref, err := opts.find(cmd.Context(), c, args)
			if err != nil {
				return err
			}
			if publisher != "" {
				ref.Publisher = publisher
			}
			ref.PublicVersion = publicVersion
			out, err := r.Describe(cmd.Context(), ref, version)
			if err != nil {
				return c.typeError(cmd.Context(), r, ref.Name, err)
			}
			return c.showType(out, schemaOnly)
		},
	}
	flags := cmd.Flags()
	kindFlag(flags, &opts.kind)
	flags.StringVar(&version, "version-id", "", "the version `ID` (default: the default version)")
	flags.StringVar(&publisher, "publisher-id", "", "the public type of the publisher `ID`")
	flags.StringVar(&publicVersion, "public-version", "", "the public version `MAJOR.MINOR.PATCH` of a public type")
	flags.BoolVar(&schemaOnly, "schema", false, "print only the schema")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// showType prints a type. Members of the JSON form are those of the API.
func (c *app) showType(out *cloudformation.DescribeTypeOutput, schemaOnly bool) error {
	schemaText := aws.ToString(out.Schema)
	if schemaOnly {
		var pretty bytes.Buffer
		if json.Indent(&pretty, []byte(schemaText), "", "  ") == nil {
			schemaText = pretty.String()
		}
		c.printf("%s\n", strings.TrimRight(schemaText, "\n"))
		return nil
	}
	if c.format == "json" {
		return c.printJSON(apiObject(out))
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, strings.Join(strings.Fields(value), " "))
		}
	}
	row("Type", fmt.Sprintf("%s (%s, %s)", aws.ToString(out.TypeName), out.Type, cmp.Or(out.Visibility, types.VisibilityPrivate)))
	row("ARN", aws.ToString(out.Arn))
	row("Description", aws.ToString(out.Description))
	if out.IsDefaultVersion != nil && aws.ToString(out.DefaultVersionId) != "" {
		row("Default version", fmt.Sprintf("%s%s", *out.DefaultVersionId, map[bool]string{true: ", this one"}[*out.IsDefaultVersion]))
	}
	row("Public version", aws.ToString(out.PublicVersionNumber))
	row("Latest public", aws.ToString(out.LatestPublicVersion))
	row("Publisher", aws.ToString(out.PublisherId))
	row("Activated from", aws.ToString(out.OriginalTypeName))
	row("Provisioning", string(out.ProvisioningType))
	row("State", string(out.DeprecatedStatus))
	row("Tests", strings.TrimSpace(string(out.TypeTestsStatus)+"  "+aws.ToString(out.TypeTestsStatusDescription)))
	row("Role", aws.ToString(out.ExecutionRoleArn))
	if out.LoggingConfig != nil {
		row("Log group", aws.ToString(out.LoggingConfig.LogGroupName))
	}
	row("Source", aws.ToString(out.SourceUrl))
	row("Documentation", aws.ToString(out.DocumentationUrl))
	row("Created", day(aws.ToTime(out.TimeCreated)))
	row("Updated", day(aws.ToTime(out.LastUpdated)))
	if out.ConfigurationSchema != nil {
		row("Configuration", "its schema is in --format json")
	}
	return w.Flush()
}

// apiObject is a response of the API with its set members, by their names in the API.
func apiObject(out any) map[string]any {
	data, err := json.Marshal(out)
	members := map[string]any{}
	if err != nil || json.Unmarshal(data, &members) != nil {
		return members // the SDK's structs are plain data
	}
	delete(members, "ResultMetadata")
	for name, value := range members {
		if value == nil || value == "" {
			delete(members, name)
		}
	}
	return members
}

func newTypesVersions(c *app, opts *typesOptions) *cobra.Command {
	var deprecated bool
	cmd := &cobra.Command{
		Use:               "versions [TYPE]",
		ValidArgsFunction: c.completeTypes(&opts.remoteOptions),
		Short:             "List the versions of a type",
		Args:              atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, ref, err := opts.find(cmd.Context(), c, args)
			if err != nil {
				return err
			}
			status := types.DeprecatedStatus("")
			if deprecated {
				status = types.DeprecatedStatusDeprecated
			}
			return c.listVersions(cmd.Context(), r, ref, status)
		},
	}
	kindFlag(cmd.Flags(), &opts.kind)
	cmd.Flags().BoolVar(&deprecated, "deprecated", false, "list deregistered ones instead")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func (c *app) listVersions(ctx context.Context, r *submit.Remote, ref *submit.Reference, status types.DeprecatedStatus) error {
	if err := r.Find(ctx, ref); err != nil {
		return c.typeError(ctx, r, ref.Name, err)
	}
	type version struct {
		ID      string    `json:"versionId"`
		Default bool      `json:"default"`
		Public  string    `json:"publicVersion"`
		ARN     string    `json:"arn"`
		Created time.Time `json:"created"`
	}
	found := []version{}
	for v, err := range r.Versions(ctx, *ref, status) {
		if err != nil {
			return c.serviceError(err)
		}
		found = append(found, version{aws.ToString(v.VersionId), aws.ToBool(v.IsDefaultVersion), aws.ToString(v.PublicVersionNumber), aws.ToString(v.Arn), aws.ToTime(v.TimeCreated)})
	}
	if c.format == "json" {
		return c.printJSON(struct {
			TypeName string    `json:"typeName"`
			Versions []version `json:"versions"`
		}{ref.Name, found})
	}
	if len(found) == 0 {
		c.notef("no versions of %s match\n", ref.Name)
		return nil
	}
	return c.table("VERSION\tDEFAULT\tCREATED\tARN", func(w *tabwriter.Writer) {
		for _, v := range found {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", cmp.Or(v.ID, v.Public), map[bool]string{true: "yes", false: "-"}[v.Default], day(v.Created), v.ARN)
		}
	})
}
