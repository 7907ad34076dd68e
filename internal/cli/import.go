package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// importOptions are the options of cfn import.
type importOptions struct {
	deployOptions
	resources []string
}

func newImport(c *app) *cobra.Command {
	opts := &importOptions{}
	cmd := &cobra.Command{
		Use:   "import TEMPLATE",
		Short: "Import existing resources into a stack",
		Long: `Import existing resources into a new or existing stack without creating or changing them. The stack is
on AWS, or in "cfn serve" on this machine if AWS_ENDPOINT_URL is set to it. The template contains all
resources of the stack. The imported ones need a DeletionPolicy; nothing else may change.

--resource names a resource: LOGICALID=IDENTIFIER, or LOGICALID:NAME=VALUE,NAME=VALUE with the names
of the identifying properties. If the identifier has several values, separate them with "|" in the
order of the schema.

cfn shows the imports first and asks for confirmation; without a terminal, pass --yes. --plan only
shows the imports.

Exit code: 0 if the resources are in the stack; 1 if a file or the configuration is invalid, or the
answer was no; 2 if the service rejected the request or the import failed; 3 after --plan; 130 after
Ctrl-C.`,
		Example: `  cfn import stack.yaml --stack-name shop --resource Orders=orders-1a2b --yes
  cfn import stack.yaml --resource Bucket:BucketName=shop-logs --plan`,
		Annotations: map[string]string{"log": "none"},
		Args:        oneTemplate(&opts.capabilities),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(opts.resources) == 0 {
				return &usageError{message: "missing option --resource", hint: "pass --resource LOGICALID=IDENTIFIER for each resource to import"}
			}
			request, err := opts.request(c, args[0])
			if err != nil {
				return err
			}
			return c.importResources(cmd.Context(), opts, request)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&opts.resources, "resource", nil, "import the resource `LOGICALID=IDENTIFIER` (may be repeated)")
	flags.StringVar(&opts.stackName, "stack-name", "", "the `NAME` of the stack (default: from the name of the file)")
	flags.StringArrayVar(&opts.parameters, "parameter", nil, "pass `KEY=VALUE` as the value of a parameter (may be repeated)")
	flags.StringVar(&opts.paramsFile, "params-file", "", "read parameters and tags from the JSON or YAML `FILE`")
	opts.capabilities.flag(flags)
	flags.StringVar(&opts.role, "role-arn", "", "the `ARN` of the role that CloudFormation assumes")
	flags.StringVar(&opts.bucket, "s3-bucket", "", "upload a large template to the bucket `NAME`")
	flags.BoolVar(&opts.plan, "plan", false, "only show what would be imported")
	flags.BoolVar(&opts.yes, "yes", false, "do not ask for confirmation")
	flags.BoolVar(&opts.noWait, "no-wait", false, "do not wait for the import to finish")
	cmd.MarkFlagsMutuallyExclusive("plan", "yes")
	opts.remoteOptions.flags(flags)
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func (c *app) importResources(ctx context.Context, opts *importOptions, d *deployment) error {
	if err := c.openDeployment(ctx, &opts.deployOptions, d); err != nil {
		return err
	}
	if !opts.yes && !opts.plan && (!c.Terminal.Stdin || !c.Terminal.Stderr) {
		return withHint(errors.New("confirmation required, but there is no terminal"), "pass --yes")
	}
	in, err := c.changeSetInput(ctx, &opts.deployOptions, d)
	if err != nil {
		return err
	}
	in.ChangeSetType, in.IncludeNestedStacks, in.OnStackFailure = types.ChangeSetTypeImport, nil, ""
	names, typeOf, err := d.remote.Identifiers(ctx, in.TemplateBody, in.TemplateURL)
	if err != nil {
		return c.serviceError(err)
	}
	for _, text := range opts.resources {
		resource, err := resourceToImport(text, names, typeOf)
		if err != nil {
			return err
		}
		in.ResourcesToImport = append(in.ResourcesToImport, *resource)
	}
	err = c.deployPreviewed(ctx, &opts.deployOptions, d, in)
	if hint := identifierHint(err); hint != "" {
		return withHint(err, "%s", hint)
	}
	return err
}

// What the service says of identifiers that are missing, of nothing, or not those of the template.
var (
	withoutIdentifier = lazyregexp.New(`Resources \[([\w, ]+)\] (?:is|are) missing from ResourceToImport list`)
	unknownIdentifier = lazyregexp.New(`Resource of type '([^']+)' with identifier '[^']*' was not found`)
	otherIdentifier   = lazyregexp.New(`The Identifier \[([^\]]+)\] for resource (\w+) does not match`)
)

// identifierHint is what to pass instead if an import was refused because of an identifier.
func identifierHint(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	if m := withoutIdentifier.FindStringSubmatch(text); m != nil {
		return "pass --resource " + strings.ReplaceAll(m[1], ", ", "=IDENTIFIER --resource ") + "=IDENTIFIER, too, or leave out of the template what the stack shall not have"
	}
	if m := unknownIdentifier.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("cfn resource list %s lists the identifiers", m[1])
	}
	if m := otherIdentifier.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("--resource %s and the property %s of the template must have the same value", m[2], m[1])
	}
	return ""
}

// resourceToImport reads LOGICALID=IDENTIFIER or LOGICALID:NAME=VALUE,NAME=VALUE.
func resourceToImport(text string, names map[string][]string, typeOf map[string]string) (*types.ResourceToImport, error) {
	at := strings.IndexAny(text, "=:")
	if at <= 0 || at == len(text)-1 {
		return nil, usagef("option --resource: expected LOGICALID=IDENTIFIER but got %q", text)
	}
	id, rest := text[:at], text[at+1:]
	typeName := typeOf[id]
	if typeName == "" {
		known := slices.Sorted(maps.Keys(typeOf))
		hint := cmp.Or(words.DidYouMean(id, known), "the resources of the template are "+words.Cut(strings.Join(known, ", "), 1000))
		return nil, withHint(fmt.Errorf("option --resource: the template has no resource %s that can be imported", id), "%s", hint)
	}
	identifier := map[string]string{}
	if text[at] == ':' {
		for _, pair := range strings.Split(rest, ",") {
			name, value, ok := strings.Cut(pair, "=")
			if !ok || !slices.Contains(names[typeName], name) {
				return nil, withHint(fmt.Errorf("option --resource: %s is identified by %s, not by %q", typeName, strings.Join(names[typeName], " and "), name),
					"pass --resource %s:%s=…", id, strings.Join(names[typeName], "=…,"))
			}
			identifier[name] = value
		}
	} else {
		values := strings.Split(rest, "|")
		if len(names[typeName]) == 1 {
			values = []string{rest}
		}
		if len(values) != len(names[typeName]) {
			return nil, fmt.Errorf("option --resource: %s is identified by %s; pass %s=%s", typeName, strings.Join(names[typeName], " and "), id, strings.ToUpper(strings.Join(names[typeName], "|")))
		}
		for i, name := range names[typeName] {
			identifier[name] = values[i]
		}
	}
	return &types.ResourceToImport{LogicalResourceId: aws.String(id), ResourceType: aws.String(typeName), ResourceIdentifier: identifier}, nil
}
