package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/authoring/typecheck"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

func newTemplate(c *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "template",
		Short: "Check and format CloudFormation templates",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.printf("%s", helpText(cmd))
			return nil
		},
		Annotations: map[string]string{"log": "none"},
	}
	cmd.AddCommand(newTemplateCheck(c), newTemplateFmt(c))
	return cmd
}

func newTemplateCheck(c *app) *cobra.Command {
	o := &checkOptions{}
	cmd := &cobra.Command{
		Use:   "check FILE…",
		Short: "Check templates for errors that CloudFormation reports when a stack is created",
		Long: `Check templates for errors that CloudFormation reports when a stack is created, with the same messages.
All problems are reported in one run with their position and an ID; for more on one, run
"cfn explain ID".

A template is JSON or YAML. Loops and the other functions of AWS::LanguageExtensions are expanded, and
so are modules: those of the folder modules next to the template, or of --modules, of the projects in the
working folder and below, and with --registry those that are registered in cfn serve. Other transforms
are not run; of such a template, the parts that do not depend on them are checked.

Conditions, mappings and rules are evaluated if every parameter has a value: a default, or a value from
--parameter.

Properties and attributes are checked against the schemas of the resource types, for every combination
of conditions that the parameters allow. The schemas come from the projects in the working folder and
below, from --schemas, with --registry from the registry of cfn serve or of AWS, from the schemas that
"cfn types import" stored in the data folder of cfn serve, and from cfn itself, which has those of the
types that cfn serve provides. Types without a schema are listed and not checked.

--against STACK compares the template with a stack on AWS or in cfn serve, with the parameters that the
stack has: it reports the properties whose change replaces a resource, and changes of what the metadata
com.aws.cloudformation.Context of the deployed template says must never change. The stack is only read.
With --enforce-context, the latter are errors.

--hooks runs the hooks that would see the stack, its change set and its resources, and reports what they
refuse: the hooks of the projects in the working folder and below, which are built if necessary, and
with --registry, --against or --endpoint-url those that are registered in cfn serve. Nothing is
deployed. What a hook refuses is an error, or a warning if its failure mode is WARN.

Exit code: 0 without errors, 1 with errors or if a file cannot be read, 2 for a usage error or if the
service returned an error.`,
		Example: `  cfn template check stack.yaml
  cfn template check stack.yaml --parameter Environment=prod
  cfn template check stack.yaml --schemas CloudformationSchema.zip
  cfn template check stack.yaml --against shop --enforce-context
  cfn template check stack.yaml --hooks --registry
  cfn template check templates/*.yaml --format sarif > problems.sarif`,
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) == 0 {
				return &usageError{command: cmd, message: "missing argument: FILE", hint: "pass the template to check"}
			}
			if err := o.check(cmd, files); err != nil {
				return err
			}
			supplied, err := suppliedParameters(cmd, o.parameters)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("region") {
				o.remote.region = o.region
			}
			return c.checkTemplates(cmd.Context(), files, o, template.InspectInput{Supplied: supplied, Pseudo: template.Pseudo{
				AccountID: checkAccount, Region: o.region, StackName: "stack",
				StackID: "arn:aws:cloudformation:" + o.region + ":" + checkAccount + ":stack/stack/00000000-0000-0000-0000-000000000000",
			}})
		},
	}
	o.flags(cmd)
	c.moduleFlags(cmd, &o.modules)
	c.formatFlag(cmd, diag.Formats...)
	return cmd
}

func (o *checkOptions) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&o.parameters, "parameter", nil, "use `KEY=VALUE` as the value of a parameter (may be repeated)")
	flags.StringVar(&o.region, "region", "us-east-1", "evaluate the template for the `REGION`")
	flags.StringArrayVar(&o.schemas, "schemas", nil, "find the schemas of types in the folder or zip `PATH` (may be repeated)")
	flags.BoolVar(&o.registry, "registry", false, "read the schemas of types from the registry of cfn serve or AWS")
	flags.StringVar(&o.remote.endpoint, "endpoint-url", "", "the `URL` of the CloudFormation endpoint, for --registry, --against and --hooks")
	flags.StringVar(&o.remote.profile, "profile", "", "the `NAME` of the AWS profile to use, for --registry and --against")
	flags.StringVar(&o.against, "against", "", "report what an update of the `STACK` to the template would replace")
	flags.BoolVar(&o.enforce, "enforce-context", false, "report changes of what must never change as errors")
	flags.BoolVar(&o.hooks, "hooks", false, "run the hooks of the projects and of cfn serve on the templates")
	flags.StringVar(&o.hookConfiguration, "typeconfig", "", "the `FILE` with the configuration of the project's hook, for --hooks")
	annotate(flags, addition, "parameter", "schemas", "registry", "endpoint-url", "profile", "against", "enforce-context", "hooks", "typeconfig")
}

// checkAccount is the account that templates are evaluated for.
const checkAccount = "123456789012"

// checkOptions are the options of cfn template check.
type checkOptions struct {
	parameters, schemas []string
	region              string
	registry            bool
	against             string
	enforce             bool
	hooks               bool
	hookConfiguration   string
	remote              remoteOptions
	modules             moduleOptions
}

// check checks the combination of options.
func (o *checkOptions) check(cmd *cobra.Command, files []string) error {
	switch {
	case o.against != "" && len(files) > 1:
		return &usageError{command: cmd, message: "option --against: expected one FILE", hint: "check the template of each stack by itself"}
	case o.against == "" && o.enforce:
		return &usageError{command: cmd, message: "option --enforce-context: requires --against", hint: "pass --against STACK"}
	case !o.hooks && o.hookConfiguration != "":
		return &usageError{command: cmd, message: "option --typeconfig: requires --hooks", hint: "pass --hooks"}
	}
	return nil
}

// suppliedParameters reads the values of --parameter.
func suppliedParameters(cmd *cobra.Command, values []string) ([]template.Supplied, error) {
	var out []template.Supplied
	for _, text := range values {
		key, value, found := strings.Cut(text, "=")
		if !found || key == "" {
			return nil, &usageError{command: cmd, message: fmt.Sprintf("option --parameter: expected KEY=VALUE but got %q", text)}
		}
		out = append(out, template.Supplied{Key: key, Value: value, HasValue: true})
	}
	return out, nil
}

func (c *app) checkTemplates(ctx context.Context, files []string, o *checkOptions, in template.InspectInput) error {
	schemas, err := c.openSchemas(ctx, o)
	if err != nil {
		return err
	}
	defer schemas.close()
	var stack *deployedStack
	if o.against != "" {
		if stack, err = c.openAgainst(ctx, o); err != nil {
			return err
		}
		in.Pseudo = stack.pseudo
	}
	var hooks *hookTrials
	if o.hooks {
		if hooks, err = c.openTrials(ctx, o, schemas); err != nil {
			return err
		}
		defer hooks.close()
	}
	var problems diag.List
	for _, file := range files {
		found, err := c.checkTemplate(ctx, file, o, in, templateSources{schemas, stack, hooks})
		if err != nil {
			return err
		}
		problems = append(problems, found...)
	}
	problems.Sort()
	if err := c.printer(c.source).Print(c.Stdout, problems, c.format); err != nil {
		return err
	}
	if c.format == "text" {
		c.printf("%s checked: %s, %s.\n", words.Count(len(files), "template"), words.Count(problems.Count(diag.Error), "error"), words.Count(problems.Count(diag.Warning), "warning"))
	}
	if problems.HasErrors() {
		return &exitError{code: exitFailure}
	}
	return nil
}

// templateSources are what templates are checked with.
type templateSources struct {
	schemas *schemaSource
	stack   *deployedStack // nil without --against
	hooks   *hookTrials    // nil without --hooks
}

// checkTemplate finds the problems of one template.
func (c *app) checkTemplate(ctx context.Context, file string, o *checkOptions, in template.InspectInput, with templateSources) (diag.List, error) {
	// One byte more than a template may have, so that a larger one is refused as such.
	data, err := document.ReadHead(c.path(file), template.MaxBytes+1)
	if err != nil {
		return nil, missingFile(err, file, hintTemplate)
	}
	in.Modules, in.AllModules = &foundModules{c, file, o.modules, with.schemas}, o.registry
	given := in.Supplied
	if with.stack != nil {
		in.Supplied = with.stack.supplied(file, data, given)
	}
	found, err := template.Examine(ctx, file, data, in)
	if err != nil {
		return nil, err
	}
	problems := found.Problems
	if found.Template != nil {
		more, err := typecheck.Check(ctx, found.Template, typecheck.Input{
			Supplied: in.Supplied, Parameters: found.Parameters, Pseudo: in.Pseudo, Source: with.schemas.source(),
		})
		if err != nil {
			return nil, err
		}
		problems = append(problems, more...)
	}
	broken := problems.HasErrors() // without what differs from a stack
	if with.stack != nil {
		more, err := with.stack.compare(file, found, given, with.schemas)
		if err != nil {
			return nil, err
		}
		problems = append(problems, more...)
	}
	if with.hooks != nil {
		more, err := with.hooks.check(ctx, file, data, found, broken, in.Supplied)
		if err != nil {
			return nil, err
		}
		problems = append(problems, more...)
	}
	return problems, nil
}

// foundModules are the modules in folders, of projects and of a registry, which are searched if a template has modules.
type foundModules struct {
	app     *app
	file    string
	options moduleOptions
	schemas *schemaSource
}

// Expand implements [template.Modules].
func (m *foundModules) Expand(ctx context.Context, root *document.Value, budget *template.Budget) (*document.Value, error) {
	modules, err := m.app.findModules(ctx, m.file, m.options)
	if err != nil {
		return nil, err
	}
	modules.others = m.schemas.fragment
	return (&module.Expander{Fragments: modules}).Expand(ctx, root, budget)
}
