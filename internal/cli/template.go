package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/diag"
	"github.com/formwork-dev/formwork/internal/document"
	"github.com/formwork-dev/formwork/internal/template"
	"github.com/formwork-dev/formwork/internal/words"
)

func newTemplate(c *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "template",
		Short: "Check CloudFormation templates",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.printf("%s", helpText(cmd))
			return nil
		},
		Annotations: map[string]string{"log": "none"},
	}
	cmd.AddCommand(newTemplateCheck(c))
	return cmd
}

func newTemplateCheck(c *app) *cobra.Command {
	var parameters []string
	var region string
	cmd := &cobra.Command{
		Use:   "check FILE…",
		Short: "Check templates for errors that CloudFormation reports when a stack is created",
		Long: `Check templates for errors that CloudFormation reports when a stack is created, with the same messages.
All problems are reported in one run with their position and an ID; for more on one, run
"cfn explain ID".

A template is JSON or YAML. Loops and the other functions of AWS::LanguageExtensions are expanded.
Other transforms are not run; of such a template, the parts that do not depend on them are checked.

Conditions, mappings and rules are evaluated if every parameter has a value: a default, or a value from
--parameter. Resource types are not looked up.

Exit code: 0 without errors, 1 with errors or if a file cannot be read, 2 for a usage error.`,
		Example: `  cfn template check stack.yaml
  cfn template check stack.yaml --parameter Environment=prod
  cfn template check templates/*.yaml --format sarif > problems.sarif`,
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) == 0 {
				return &usageError{command: cmd, message: "missing argument: FILE", hint: "pass the template to check"}
			}
			supplied, err := suppliedParameters(cmd, parameters)
			if err != nil {
				return err
			}
			return c.checkTemplates(cmd.Context(), files, template.InspectInput{Supplied: supplied, Pseudo: template.Pseudo{
				AccountID: "123456789012", Region: region, StackName: "stack",
				StackID: "arn:aws:cloudformation:" + region + ":123456789012:stack/stack/00000000-0000-0000-0000-000000000000",
			}})
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&parameters, "parameter", nil, "use `KEY=VALUE` as the value of a parameter (may be repeated)")
	flags.StringVar(&region, "region", "us-east-1", "evaluate the template for the `REGION`")
	annotate(flags, addition, "parameter", "region")
	c.formatFlag(cmd, diag.Formats...)
	return cmd
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

func (c *app) checkTemplates(ctx context.Context, files []string, in template.InspectInput) error {
	var problems diag.List
	for _, file := range files {
		// One byte more than a template may have, so that a larger one is refused as such.
		data, err := document.ReadHead(c.path(file), template.MaxBytes+1)
		if err != nil {
			return missingFile(err, file, hintTemplate)
		}
		found, err := template.Inspect(ctx, file, data, in)
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
