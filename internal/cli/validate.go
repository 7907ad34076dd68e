package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/diag"
	"github.com/formwork-dev/formwork/internal/project"
	"github.com/formwork-dev/formwork/internal/schema"
)

func newValidate(c *app) *cobra.Command {
	var level string
	cmd := &cobra.Command{
		Use:   "validate [PATH…]",
		Short: "Check the project's settings and its schema or fragment, or any schemas",
		Long: `Check the project's settings and its schema (resource types and hooks) or template
fragment (modules). All problems are shown in one run, each with its place, an ID and, where
there is one, a hint; "cfn explain ID" says more. Warnings do not fail the command.

For a module, schema.json is written from the fragment, as the official tool does.

A PATH is a schema file, the folder of a project, or a folder of schemas and projects: of it
the JSON and YAML files with a typeName and the projects directly below are checked. Nothing
is written then.

--lint says how far the check goes beyond what the registry asks for. "faults" finds what
contradicts itself or means nothing: a path to no property, a minimum above the maximum.
"all" adds the house style of AWS, under the ids of its resource-schema-guard-rail. "auto" is
"all" for PATHs and where there is a .formwork.json, else "faults", so that the command
without arguments says no more than it must. The file .formwork.json, beside the schema or
above it in the repository, sets severities and suppresses findings for a reason:

  {"rules": {"lint/ARN002": "off", "lint/PR007": "error"},
   "suppress": [{"id": "lint/TAG015", "pointer": "/tagging", "reason": "no tags there"}]}

A schema may refer to documents beside it. A reference to the network is followed only with
--allow-remote or the environment variable CFN_REMOTE_REFS=1. Without it, what the reference
names is looked for in the folders of --registry-schemas, and of the environment variable
CFN_REGISTRY_SCHEMAS: one file for each type, as the registry hands them out, found by its
name, its $id or its typeName. All other commands obey the two variables.

Exit code: 0 without errors, 1 with errors.`,
		Example: `  cfn validate
  cfn validate initech-tps-report.json other-type/
  cfn validate --registry-schemas ~/aws-schemas acme-net-vpc.json
  cfn validate --lint all --format sarif . > problems.sarif`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			if len(paths) > 0 {
				return c.validatePaths(cmd.Context(), paths, level)
			}
			return c.validate(cmd.Context(), level)
		},
	}
	c.formatFlag(cmd, diag.Formats...)
	c.choice(cmd.Flags(), &level, "lint", "what is looked for beyond what the registry asks for", lintLevels...)
	annotate(cmd.Flags(), addition, "lint")
	c.referenceFlags(cmd)
	return cmd
}

func (c *app) validate(ctx context.Context, level string) error {
	p, s, fragment, problems, err := c.check(ctx)
	if err != nil {
		return err
	}
	l := &linting{app: c, level: level, quiet: true}
	if problems, err = l.judge(c.projectDir(), s, problems); err != nil {
		return err
	}
	problems.Sort()
	if err := c.printer(c.source).Print(c.Stdout, problems, c.format); err != nil {
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

// check looks at everything in the project but what lint says. With faulty settings the
// project is nil and the list says why; only modules have a fragment, and no schema.
func (c *app) check(ctx context.Context) (*project.Project, *schema.Schema, *project.Fragment, diag.List, error) {
	p, problems, err := c.openProject()
	if err != nil || p == nil {
		return nil, nil, nil, problems, err
	}
	if p.Kind == schema.Module {
		fragment, more, err := p.Fragment()
		return p, nil, fragment, append(problems, more...), err
	}
	s, more, err := c.loadSchema(ctx, p)
	problems = append(problems, more...)
	if err == nil && !problems.HasErrors() {
		more, err = p.CheckExamples(s)
		problems = append(problems, more...)
	}
	return p, s, nil, problems, err
}
