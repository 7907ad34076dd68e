package cli

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/lint"
	"github.com/formwork-dev/formwork/internal/authoring/lsp"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/proving/contract"
	"github.com/formwork-dev/formwork/internal/proving/stacktest"
)

func newLSP(c *app) *cobra.Command {
	o := &checkOptions{}
	cmd := &cobra.Command{
		Use:   "lsp",
		Short: "Run the language server for editors",
		Long: `Run the language server on standard input and output. Editors start it; docs/editors.md shows how to
configure the common ones.

It supports CloudFormation templates in YAML and JSON. It reports the problems that cfn template check
reports; completes types, properties, values, names, attributes and functions; explains types and
properties; finds and renames logical IDs, parameters, conditions and mappings; and offers quick fixes.
Types come from the projects in the folders of the editor, from the imported schemas and from cfn, with
--schemas from folders or archives, and with --registry from the registry of cfn serve or AWS. If cfn
serve is running and has a stack that is named like the file, or that the initialization option "stacks"
names, it shows what an update would replace.

It supports files of stack tests, as cfn stack test reads them, with the names of their templates.

It supports the schemas of resource types, hooks and modules, type configurations, and in a project
inputs/inputs_N_*.json and overrides.json. It reports the problems that cfn validate reports, with the
same .formwork.json, and checks inputs as cfn test does. It explains keywords, properties and rules;
completes keywords, paths, references and values; goes to the definition of a path, a reference or an
input; and outlines schemas. It ignores other documents.

With -v the log is written to standard error, which editors show.

Exit code: 0 after shutdown and exit, 1 if the editor disconnects without them.`,
		Args:        noArguments,
		Annotations: map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("region") {
				o.remote.region = o.region
			}
			return c.lsp(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.Bool("stdio", true, "use the standard streams; many editors insist on saying so")
	flags.StringVar(&o.region, "region", "us-east-1", "check templates for the `REGION`")
	flags.StringArrayVar(&o.schemas, "schemas", nil, "find the schemas of types in the folder or zip `PATH` (may be repeated)")
	flags.BoolVar(&o.registry, "registry", false, "read the schemas of types from the registry of cfn serve or AWS")
	flags.StringVar(&o.remote.endpoint, "endpoint-url", "", "the `URL` of cfn serve, or with --registry of the CloudFormation endpoint")
	flags.StringVar(&o.remote.profile, "profile", "", "the `NAME` of the AWS profile to use, for --registry")
	annotate(flags, addition, "stdio", "schemas", "registry", "endpoint-url", "profile")
	c.moduleFlags(cmd, &o.modules)
	return cmd
}

func (c *app) lsp(ctx context.Context, o *checkOptions) error {
	if c.Terminal.Stdin {
		c.notef("This is a language server for editors to start; see docs/editors.md. Press Ctrl-C to stop it.\n")
	}
	cfg, err := c.schemaConfig(ctx)
	if err != nil {
		return err
	}
	err = lsp.Serve(ctx, c.Stdin, c.out, lsp.Config{
		Version:     c.Version,
		Logger:      c.logger,
		Schema:      cfg,
		Region:      o.region,
		Templates:   c.templatesForEditor(o),
		FindProject: findProject,
		StackTests: lsp.StackTests{IsFile: stacktest.IsFile, Schema: stacktest.Schema(), Names: stacktest.NamesKeyword, Check: func(name string, text []byte) diag.List {
			_, problems := stacktest.Read(name, text)
			return problems
		}},
		Lint:    c.lintForEditor,
		Explain: explainForEditor,
		CheckInputs: func(files fs.FS, s *schema.Schema) (diag.List, error) {
			_, problems, err := contract.LoadInputs(contract.InputsConfig{Files: files, Schema: s})
			return problems, err
		},
	})
	if errors.Is(err, lsp.ErrNoShutdown) {
		return &exitError{exitFailure, err.Error()}
	}
	return err
}

// findProject looks for the project of a file: its folder, or for an input the one above.
func findProject(file string) (lsp.Project, bool) {
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		p, _, err := project.Open(dir, "")
		if err == nil && p != nil {
			return lsp.Project{Dir: p.Dir, SchemaFile: p.Path(p.SchemaFile()), Kind: p.Kind}, true
		}
		if dir != filepath.Dir(file) || filepath.Base(dir) != project.InputsDir {
			return lsp.Project{}, false
		}
	}
}

// lintForEditor is what cfn validate adds in a project to the problems of a schema. That
// settings cannot be read is not news about the schema.
func (c *app) lintForEditor(s *schema.Schema, found diag.List) diag.List {
	dir := filepath.Dir(s.File)
	l := &linting{app: c, level: "auto", quiet: true}
	cfg, run, err := l.config(dir)
	if err != nil || !run {
		return found
	}
	problems := append(found, lint.Run(s, cfg)...)
	if all, err := l.apply(dir, s.TypeName.Value, problems); err == nil {
		problems = all
	}
	problems.Sort()
	return problems
}

// explainForEditor is what cfn explain says about a rule.
func explainForEditor(id string) (lsp.Explanation, bool) {
	for _, e := range allExplanations() {
		if e.ID == id {
			return lsp.Explanation{Purpose: e.Purpose, Why: e.Why, Example: e.Example}, true
		}
	}
	return lsp.Explanation{}, false
}
