package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

func newValidate(c *app) *cobra.Command {
	var level string
	cmd := &cobra.Command{
		Use:   "validate [PATH…]",
		Short: "Check a project or schemas",
		Long: `Check the project's settings and its schema (resource types and hooks) or template fragment (modules).
All problems are reported in one run, each with its position, an ID and often a hint; for more on one,
run "cfn explain ID". Warnings do not fail the command.

For a module, schema.json is generated from the fragment, as the official tool does.

A PATH is a schema file, the folder of a project, or a folder of schemas and projects. In such a folder,
cfn checks the JSON and YAML files with a typeName and the projects directly below it. With a PATH,
nothing is written.

--lint sets the checks beyond those of the registry. "faults" finds contradictions and mistakes, such as
a path to a missing property or a minimum above the maximum. "all" adds the style rules of AWS, with
the IDs of its resource-schema-guard-rail. "auto" is "all" for a PATH and for projects with a
.formwork.json, otherwise "faults", and shows what two rules report once. The file .formwork.json, next to the schema or above it in the
repository, sets severities and suppresses findings with a reason:

  {"rules": {"lint/ARN002": "off", "lint/PR007": "error"},
   "suppress": [{"id": "lint/TAG015", "pointer": "/tagging", "reason": "no tags there"}]}

A schema can refer to documents next to it. References to the network are followed only with
--allow-remote or the environment variable CFN_REMOTE_REFS=1. Otherwise, their targets are searched in
the folders of --registry-schemas and of the environment variable CFN_REGISTRY_SCHEMAS, which contain
one file for each type, as the registry returns it, found by file name, $id or typeName. The other
commands use the two variables, too.

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
	c.choice(cmd.Flags(), &level, "lint", "checks beyond those of the registry", lintLevels...)
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

// check checks everything in the project except for lint rules. With invalid settings the
// project is nil and the list contains the reasons; only modules have a fragment, and no
// schema.
func (c *app) check(ctx context.Context) (*project.Project, *schema.Schema, *module.Fragment, diag.List, error) {
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
