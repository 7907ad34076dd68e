package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/diag"
	"github.com/formwork-dev/formwork/internal/project"
	"github.com/formwork-dev/formwork/internal/schema"
)

func newValidate(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check the project's settings and its schema or fragment",
		Long: `Check the project's settings and its schema (resource types and hooks) or template
fragment (modules). All problems are shown in one run, each with its place, an ID and, where
there is one, a hint. Warnings do not fail the command.

For a module, schema.json is written from the fragment, as the official tool does.

A schema may refer to documents beside it. References to the network are followed only if the
environment variable CFN_REMOTE_REFS is set.

Exit code: 0 without errors, 1 with errors.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.validate(cmd.Context()) },
	}
	c.formatFlag(cmd, diag.Formats...)
	return cmd
}

func (c *console) validate(ctx context.Context) error {
	p, fragment, problems, err := c.check(ctx)
	if err != nil {
		return err
	}
	problems.Sort()
	if err := diag.Print(c.Stdout, problems, c.format); err != nil {
		return err
	}
	if problems.HasErrors() {
		return &exitError{code: exitFailure}
	}
	success := map[schema.Kind]string{
		schema.Resource: "Resource schema is valid.",
		schema.Hook:     "Hook schema is valid.",
		schema.Module:   "Module fragment is valid.",
	}[p.Kind]
	if p.Kind == schema.Module {
		if _, err := p.WriteModuleSchema(ctx, fragment); err != nil {
			return err
		}
	}
	if c.format == "text" {
		c.printf("%s\n", success)
	}
	return nil
}

// check looks at everything in the project. With faulty settings the project is nil and
// the list says why; only modules have a fragment.
func (c *console) check(ctx context.Context) (*project.Project, *project.Fragment, diag.List, error) {
	p, problems, err := c.openProject()
	if err != nil || p == nil {
		return nil, nil, problems, err
	}
	var more diag.List
	var fragment *project.Fragment
	if p.Kind == schema.Module {
		fragment, more, err = p.Fragment()
	} else {
		_, more, err = c.loadSchema(ctx, p)
	}
	return p, fragment, append(problems, more...), err
}
