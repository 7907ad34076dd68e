package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/running/registry"
)

// registrationStatuses are those that a registration can have.
var registrationStatuses = []string{"IN_PROGRESS", "COMPLETE", "FAILED"}

func newTypesRegistrations(c *app, opts *typesOptions) *cobra.Command {
	var status string
	var wait bool
	timeout := submit.DefaultTimeout
	cmd := &cobra.Command{
		Use:               "registrations [TYPE|TOKEN]",
		ValidArgsFunction: c.completeTypes(&opts.remoteOptions),
		Short:             "List the registrations of a type or show the status of one",
		Long: `With a TOKEN, show the status of that registration; --wait waits until it has finished. Without a TOKEN,
list the registrations of a type with their status; outside a project, list those of all types. With
--status, list only the tokens of the registrations with that status.`,
		Example: "  cfn types registrations 5f1a7c0e-0d0b-4b5c-9f0a-1f2e3d4c5b6a --wait\n  cfn types registrations Acme::Foo::Bar --status FAILED",
		Args:    atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && !strings.Contains(args[0], "::") && !strings.HasPrefix(args[0], "arn:") {
				return c.showRegistration(cmd.Context(), opts, args[0], wait, timeout)
			}
			if wait {
				return usagef("option --wait: requires the TOKEN of a registration")
			}
			return c.listRegistrations(cmd.Context(), opts, args, types.RegistrationStatus(status))
		},
	}
	flags := cmd.Flags()
	kindFlag(flags, &opts.kind)
	flags.Var(&enum{&status, registrationStatuses}, "status", "only the tokens of registrations with one status: `IN_PROGRESS|COMPLETE|FAILED`")
	flags.BoolVar(&wait, "wait", false, "wait for the registration to finish")
	flags.DurationVar(&timeout, "timeout", timeout, "stop waiting after `DURATION`")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func (c *app) showRegistration(ctx context.Context, opts *typesOptions, token string, wait bool, timeout time.Duration) error {
	r, err := c.openRemote(ctx, &opts.remoteOptions)
	if err != nil {
		return err
	}
	var registration *submit.Registration
	if wait {
		show := c.newStatus(r.Region)
		registration, err = r.Wait(ctx, token, timeout, func(text string) { show.set(r.Region, text) })
		show.end()
	} else {
		registration, err = r.Registration(ctx, token)
	}
	var failed *submit.FailedError
	if err != nil && !errors.As(err, &failed) {
		return c.serviceError(err)
	}
	if c.format == "json" {
		if err := c.printJSON(registration); err != nil {
			return err
		}
	} else {
		c.printf("%s\n", strings.TrimSpace(string(registration.Status)+"  "+registration.Description))
		if registration.VersionARN != "" {
			c.printf("%s\n", registration.VersionARN)
		}
	}
	if registration.Status == types.RegistrationStatusFailed {
		return &exitError{code: exitDownstream}
	}
	return nil
}

func (c *app) listRegistrations(ctx context.Context, opts *typesOptions, args []string, status types.RegistrationStatus) error {
	var of *submit.Reference
	if len(args) == 1 || files.Exists(filepath.Join(c.projectDir(), project.SettingsFile)) {
		ref, err := c.typeReference(args, opts.kind)
		if err != nil {
			return err
		}
		of = &ref
	}
	r, err := c.openRemote(ctx, &opts.remoteOptions)
	if err != nil {
		return err
	}
	type registration struct {
		Token  string `json:"token"`
		Status string `json:"status"`
	}
	statuses := registrationStatuses
	if status != "" {
		statuses = []string{string(status)}
	}
	tokens, found := []string{}, []registration{}
	for _, status := range statuses {
		for token, err := range r.Registrations(ctx, of, types.RegistrationStatus(status)) {
			if err != nil {
				return c.serviceError(err)
			}
			tokens, found = append(tokens, token), append(found, registration{token, status})
		}
	}
	switch {
	case c.format == "json":
		return c.printJSON(struct {
			Tokens        []string       `json:"registrationTokens"`
			Registrations []registration `json:"registrations"`
		}{tokens, found})
	case len(tokens) == 0 && status == "":
		c.notef("no registrations in %s\n", r.Region)
	case len(tokens) == 0:
		c.notef("no registrations with the status %s in %s; to list all, remove --status\n", status, r.Region)
	case status != "":
		c.printf("%s\n", strings.Join(tokens, "\n"))
	default:
		return c.table("TOKEN\tSTATUS", func(w *tabwriter.Writer) {
			for _, f := range found {
				fmt.Fprintf(w, "%s\t%s\n", f.Token, f.Status)
			}
		})
	}
	return nil
}

func newTypesDefault(c *app, opts *typesOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "default [TYPE] VERSION",
		ValidArgsFunction: c.completeTypes(&opts.remoteOptions),
		Short:             "Set the default version of a type",
		Long:              "Set the default version of a type, which stacks use. VERSION is a version number or an ARN.",
		Example:           "  cfn types default Acme::Foo::Bar 00000002",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("the following arguments are required: VERSION")
			}
			return atMost(2)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			version := args[len(args)-1]
			input := &cloudformation.SetTypeDefaultVersionInput{}
			if strings.HasPrefix(version, "arn:") {
				ref, err := submit.ParseReference(version, types.RegistryType(opts.kind))
				if err != nil || ref.VersionID == "" || len(args) > 1 {
					return usagef("argument VERSION: %s is not the ARN of a version", version)
				}
				input.Arn = &version
			}
			ctx := cmd.Context()
			var r *submit.Remote
			var err error
			if input.Arn == nil {
				var ref *submit.Reference
				if r, ref, err = opts.find(ctx, c, args[:len(args)-1]); err != nil {
					return err
				}
				if err := r.Find(ctx, ref); err != nil {
					return c.serviceError(err)
				}
				version = paddedVersion(version)
				input.Type, input.TypeName, input.VersionId = ref.Kind, &ref.Name, &version
			} else if r, err = c.openRemote(ctx, &opts.remoteOptions); err != nil {
				return err
			}
			if _, err := r.CloudFormation().SetTypeDefaultVersion(ctx, input); err != nil {
				return c.serviceError(err)
			}
			return c.done("the default version is %s now", version)
		},
	}
	kindFlag(cmd.Flags(), &opts.kind)
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// paddedVersion writes the number of a version as the registry does: 2 is 00000002.
func paddedVersion(version string) string {
	if strings.Trim(version, "0123456789") == "" && len(version) < 8 {
		return strings.Repeat("0", 8-len(version)) + version
	}
	return version
}

// done prints that something was changed.
func (c *app) done(format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	if c.format == "json" {
		return c.printJSON(struct {
			Message string `json:"message"`
		}{message})
	}
	c.printf("%s\n", message)
	return nil
}

func newTypesConfigure(c *app, opts *typesOptions) *cobra.Command {
	var configuration, alias string
	cmd := &cobra.Command{
		Use:               "configure [TYPE] --configuration JSON",
		ValidArgsFunction: c.completeTypes(&opts.remoteOptions),
		Short:             "Set the configuration of a type",
		Long: `Set the configuration of a type in this account and region, as defined by the typeConfiguration of its
schema; for example, credentials of a third-party service. --configuration is JSON, file://PATH, or -
for standard input. To keep secrets out of it, use dynamic references to SSM and Secrets Manager, such
as {{resolve:secretsmanager:NAME}}. cfn never prints the configuration.

The configuration of a hook wraps its properties:
{"CloudFormationConfiguration": {"HookConfiguration": {"TargetStacks": "ALL", "FailureMode": "FAIL",
"Properties": {}}}}.`,
		Example: `  cfn types configure Acme::Foo::Bar --configuration '{"Credentials": {"ApiKey": "{{resolve:ssm-secure:key}}"}}'
  cfn types configure Acme::Foo::Bar --configuration file://configuration.json`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if configuration == "" {
				return usagef("the following arguments are required: --configuration")
			}
			return c.configure(cmd.Context(), opts, args, configuration, alias)
		},
	}
	flags := cmd.Flags()
	kindFlag(flags, &opts.kind)
	flags.StringVar(&configuration, "configuration", "", "the configuration: `JSON`, file://PATH or -")
	flags.StringVar(&alias, "alias", "", "the `NAME` of the configuration (default: default)")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// readConfiguration reads and checks a configuration before it is sent anywhere.
func (c *app) readConfiguration(ctx context.Context, given string) (*document.Value, error) {
	name, data := "--configuration", []byte(given)
	var err error
	switch file, isFile := strings.CutPrefix(given, "file://"); {
	case given == "-":
		name = "standard input"
		data, err = c.readStdin(ctx, registry.MaxConfiguration)
	case isFile:
		name = file
		data, err = document.ReadFile(c.path(file), registry.MaxConfiguration)
	case len(given) > registry.MaxConfiguration:
		err = fmt.Errorf("is larger than %d bytes, the limit of the registry", registry.MaxConfiguration)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("configuration file %s does not exist", name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	value, problems := document.ParseJSON(name, data, document.Limits{})
	if err := problems.Err(); err != nil {
		if name == "--configuration" && !strings.ContainsAny(given, "{\"") {
			return nil, withHint(err, "to read a file, pass file://%s", given)
		}
		return nil, err
	}
	if value.Kind != document.Object {
		return nil, fmt.Errorf("%s: the configuration must be a JSON object but is a JSON %s", name, value.Kind)
	}
	return value, nil
}

// hideStrings keeps what a configuration holds out of the log and out of messages: a
// service may quote it.
func (c *app) hideStrings(v *document.Value) {
	switch v.Kind {
	case document.String:
		c.log.Hide(secret.Configuration, v.Text)
	case document.Number:
		c.log.Hide(secret.Configuration, string(v.AppendJSON(nil)))
	}
	for _, item := range v.Items {
		c.hideStrings(item)
	}
	for _, m := range v.Members {
		c.hideStrings(m.Value)
	}
}

func (c *app) configure(ctx context.Context, opts *typesOptions, args []string, given, alias string) error {
	value, err := c.readConfiguration(ctx, given)
	if err != nil {
		return err
	}
	c.hideStrings(value)
	r, ref, err := opts.find(ctx, c, args)
	if err != nil {
		return err
	}
	if err := r.Find(ctx, ref); err != nil {
		return c.typeError(ctx, r, ref.Name, err)
	}
	if ref.Kind == types.RegistryTypeHook && !wrapsHook(value) {
		return withHint(fmt.Errorf("the configuration of the hook %s has no object CloudFormationConfiguration.HookConfiguration", ref.Name),
			"wrap the properties of the hook: %s", hookWrapper)
	}
	input := &cloudformation.SetTypeConfigurationInput{Configuration: aws.String(string(value.AppendJSON(nil)))}
	if ref.ARN != "" && ref.VersionID == "" {
		input.TypeArn = &ref.ARN
	} else {
		input.Type, input.TypeName = types.ThirdPartyType(ref.Kind), &ref.Name
	}
	if alias != "" {
		input.ConfigurationAlias = &alias
	}
	out, err := r.CloudFormation().SetTypeConfiguration(ctx, input)
	if err != nil {
		return c.scrubbed(c.serviceError(err))
	}
	return c.done("configured: %s", aws.ToString(out.ConfigurationArn))
}

// hookWrapper is the form of the configuration of a hook.
const hookWrapper = `{"CloudFormationConfiguration": {"HookConfiguration": {"TargetStacks": "ALL", "FailureMode": "FAIL", "Properties": {}}}}`

// wrapsHook reports whether a configuration has the form of a hook's.
func wrapsHook(v *document.Value) bool {
	for _, key := range []string{"CloudFormationConfiguration", "HookConfiguration"} {
		if v = v.Get(key); v == nil || v.Kind != document.Object {
			return false
		}
	}
	return true
}

// scrubbed is an error without what the log hides.
func (c *app) scrubbed(err error) error {
	var downstream *downstreamError
	if !errors.As(err, &downstream) {
		return err
	}
	clean := errors.New(c.log.Scrub(downstream.err.Error()))
	var hinted *diag.Hinted
	if errors.As(err, &hinted) {
		return &downstreamError{withHint(clean, "%s", hinted.Hint)}
	}
	return &downstreamError{clean}
}

func newTypesActivate(c *app, opts *typesOptions) *cobra.Command {
	var input struct {
		publisher, alias, role, logGroup, logRole, bump string
		autoUpdate                                      bool
		major                                           int64
	}
	cmd := &cobra.Command{
		Use:   "activate TYPE",
		Short: "Activate a public type in the account",
		Long: `Activate a public type in this account and region, by its public ARN or by its name and --publisher-id.
--alias gives it a different name in the account.`,
		Example: "  cfn types activate Acme::Foo::Bar --publisher-id 0123456789abcdef0123456789abcdef01234567 --alias Mine::Foo::Bar",
		Args:    typeRequired,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			r, ref, err := opts.find(ctx, c, args)
			if err != nil {
				return err
			}
			in := &cloudformation.ActivateTypeInput{TypeNameAlias: optional(input.alias), ExecutionRoleArn: optional(input.role), VersionBump: types.VersionBump(input.bump)}
			switch {
			case ref.ARN != "":
				in.PublicTypeArn = &ref.ARN
			case input.publisher == "":
				return usagef("option --publisher-id: required with the name of a type; to list publishers, run cfn types list --visibility PUBLIC --category THIRD_PARTY")
			default:
				if ref.Publisher = input.publisher; ref.Kind == "" {
					if err := r.Find(ctx, ref); err != nil {
						return c.serviceError(err)
					}
				}
				in.Type, in.TypeName, in.PublisherId = types.ThirdPartyType(ref.Kind), &ref.Name, &input.publisher
			}
			if (input.logGroup == "") != (input.logRole == "") {
				return usagef("options --log-group-name and --log-role-arn must be used together")
			}
			if input.logGroup != "" {
				in.LoggingConfig = &types.LoggingConfig{LogGroupName: &input.logGroup, LogRoleArn: &input.logRole}
			}
			if cmd.Flags().Changed("auto-update") {
				in.AutoUpdate = &input.autoUpdate
			}
			if cmd.Flags().Changed("major-version") {
				in.MajorVersion = &input.major
			}
			out, err := r.CloudFormation().ActivateType(ctx, in)
			if err != nil {
				return c.serviceError(err)
			}
			return c.done("activated: %s", aws.ToString(out.Arn))
		},
	}
	flags := cmd.Flags()
	kindFlag(flags, &opts.kind)
	flags.StringVar(&input.publisher, "publisher-id", "", "the `ID` of the publisher")
	flags.StringVar(&input.alias, "alias", "", "the `NAME` that the type has in this account")
	flags.StringVar(&input.role, "role-arn", "", "the `ARN` of the role that the handlers run with")
	flags.BoolVar(&input.autoUpdate, "auto-update", true, "update to new minor versions when they are published; --auto-update=false turns this off")
	flags.Int64Var(&input.major, "major-version", 0, "the major version `N` (default: the newest)")
	flags.Var(&enum{&input.bump, []string{"MAJOR", "MINOR"}}, "version-bump", "update an activated type to its next version: `MAJOR|MINOR`")
	flags.StringVar(&input.logGroup, "log-group-name", "", "the `NAME` of the log group that handlers write to")
	flags.StringVar(&input.logRole, "log-role-arn", "", "the `ARN` of the role for writing to the log group")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// typeRequired is for commands that mean no type of the project: what is activated is not
// the project's own.
func typeRequired(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("the following arguments are required: TYPE")
	}
	return atMost(1)(cmd, args)
}

// optional is a text of an API that is left out if it is empty.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func newTypesDeactivate(c *app, opts *typesOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "deactivate TYPE",
		ValidArgsFunction: c.completeTypes(&opts.remoteOptions),
		Short:             "Deactivate a public type",
		Long:              "Deactivate a public type in this account and region. TYPE is its name in the account: the alias if it has one.",
		Args:              typeRequired,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			r, ref, err := opts.find(ctx, c, args)
			if err != nil {
				return err
			}
			in := &cloudformation.DeactivateTypeInput{Arn: optional(ref.ARN)}
			if in.Arn == nil {
				if err := r.Find(ctx, ref); err != nil {
					return c.serviceError(err)
				}
				in.Type, in.TypeName = types.ThirdPartyType(ref.Kind), &ref.Name
			}
			if _, err := r.CloudFormation().DeactivateType(ctx, in); err != nil {
				return c.serviceError(err)
			}
			return c.done("deactivated: %s", ref.Name)
		},
	}
	kindFlag(cmd.Flags(), &opts.kind)
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func newTypesDeregister(c *app, opts *typesOptions) *cobra.Command {
	var version string
	var all, yes bool
	cmd := &cobra.Command{
		Use:               "deregister [TYPE]",
		ValidArgsFunction: c.completeTypes(&opts.remoteOptions),
		Short:             "Deregister a type or one of its versions",
		Long: `Deregister a type, or with --version-id one of its versions. The registry does not deregister a type with
several versions, or the default version of a registered type; --all deregisters the other versions and
then the type. Stacks that use the type can no longer be updated.`,
		Example: "  cfn types deregister Acme::Foo::Bar --version-id 00000001\n  cfn types deregister Acme::Foo::Bar --all --yes",
		Args:    atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all && version != "" {
				return usagef("option --all: not allowed with --version-id")
			}
			return c.deregister(cmd.Context(), opts, args, version, all, yes)
		},
	}
	flags := cmd.Flags()
	kindFlag(flags, &opts.kind)
	flags.StringVar(&version, "version-id", "", "the version `ID`")
	flags.BoolVar(&all, "all", false, "deregister all versions and the type")
	flags.BoolVar(&yes, "yes", false, "do not ask for confirmation with --all")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func (c *app) deregister(ctx context.Context, opts *typesOptions, args []string, version string, all, yes bool) error {
	r, ref, err := opts.find(ctx, c, args)
	if err != nil {
		return err
	}
	if err := r.Find(ctx, ref); err != nil {
		return c.typeError(ctx, r, ref.Name, err)
	}
	if all {
		if !yes {
			if err := c.confirm(ctx, fmt.Sprintf("Deregister %s and all its versions in %s?", ref.Name, r.Region)); err != nil {
				return err
			}
		}
		versions := []string{}
		err := r.DeregisterAll(ctx, *ref, func(version string) {
			if version != "" {
				versions = append(versions, version)
			}
		})
		if err != nil {
			if len(versions) > 0 {
				c.notef("these versions are already deregistered: %s\n", strings.Join(versions, ", "))
			}
			return c.serviceError(err)
		}
		return c.done("deregistered: %s and %d further versions", ref.Name, len(versions))
	}
	in := &cloudformation.DeregisterTypeInput{Arn: optional(ref.ARN)}
	what := ref.Name
	if in.Arn == nil || version != "" {
		in = &cloudformation.DeregisterTypeInput{Type: ref.Kind, TypeName: &ref.Name}
	}
	if version != "" {
		version = paddedVersion(version)
		in.VersionId, what = &version, what+" version "+version
	} else if ref.VersionID != "" {
		what += " version " + ref.VersionID
	}
	if _, err := r.CloudFormation().DeregisterType(ctx, in); err != nil {
		err = c.serviceError(err)
		if strings.Contains(err.Error(), "more than one active version") {
			return &downstreamError{withHint(errors.Unwrap(err), "pass --all to deregister all versions, or --version-id for one of them")}
		}
		return err
	}
	return c.done("deregistered: %s", what)
}
