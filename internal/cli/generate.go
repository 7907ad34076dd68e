package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

type generateOptions struct {
	check, canary, localOnly  bool
	targets                   []string
	cdk                       string
	endpoint, region, profile string
}

func newGenerate(c *app) *cobra.Command {
	var opts generateOptions
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Generate code, role template and docs from the schema",
		Long: `Generate the files that are derived from the schema: the models and the code around the handlers, the
template of the execution role, and the reference documentation in docs/. For a module, generate
schema.json from the fragment.

cfn never changes files that it did not generate, and does not rewrite files that are up to date, so
their modification times are kept. The files in example_inputs/ follow the schema until you edit them.
Generated pages in docs/ that are no longer needed are deleted; your own files there are kept.

The command makes no network calls: the schemas of a hook's targets come from target-schemas/,
target-info.json and --target-schemas. If one is missing and cfn-lint is installed for the Python in
PATH, its schema is copied to target-schemas/.

cfn init writes go.mod, and cfn never changes it again. If it prevents a build, because it names
another module or does not require the handler library, cfn prints a warning; --check reports it as
stale.

--cdk also writes an L1 construct of the resource type or module for the AWS CDK, into the folder cdk/;
cfn types export --cdk writes those of several types into the folder of an app.

Exit code of --check: 0 if everything is up to date, 1 if a file is missing, stale or left over. Files
of the official cfn are equivalent if they declare the same for the handlers: their wording is another
one, and cfn generate replaces them. They do not change the exit code.`,
		Example: `  cfn generate
  cfn generate --check
  cfn generate --target-schemas ../schemas/aws-s3-bucket.json ../schemas/aws-sqs-queue.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.generate(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.check, "check", false, "list the files that are not up to date, change nothing, and exit with 1 if there are any")
	flags.StringArrayVar(&opts.targets, "target-schemas", nil, "`FILES` or folders with the schemas of a hook's targets")
	flags.BoolVar(&opts.localOnly, "local-only", false, "accepted for compatibility: cfn only uses local schemas of a hook's targets")
	flags.Var(&enum{&opts.cdk, codegen.CDKLanguages}, "cdk", "also write a construct for the AWS CDK in a language: `typescript|python`")
	flags.BoolVar(&opts.canary, "local-code-generation", false, "also generate canary templates from contract-tests-artifacts/")
	flags.StringVar(&opts.endpoint, "endpoint-url", "", "accepted for compatibility: no service is called (`URL`)")
	flags.StringVar(&opts.region, "region", "", "accepted for compatibility: no service is called (`NAME`)")
	flags.StringVar(&opts.profile, "profile", "", "accepted for compatibility: no service is called (`NAME`)")
	annotate(flags, multiValue, "target-schemas")
	annotate(flags, addition, "check", "cdk")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func (c *app) generate(ctx context.Context, opts generateOptions) error {
	p, s, err := c.loadProject(ctx)
	if err != nil {
		return err
	}
	if p.Kind == schema.Module {
		return c.generateModule(ctx, p, opts)
	}
	if !project.KnownLanguage(p.Language) {
		return withHint(&project.UnknownLanguageError{Language: p.Language}, `fix "language" in %s`, p.Name(project.SettingsFile))
	}
	if !codegen.CanGenerate(p.Language) {
		return withHint(&noGeneratorError{p.Language}, "generate the code with the official cfn and its plugin for %s; cfn tests and packages the project as before", p.Language)
	}
	in, err := c.codegenInput(p, s)
	if err == nil {
		err = c.bindProject(p, &in)
	}
	if err != nil {
		return err
	}
	for i, name := range opts.targets {
		opts.targets[i] = c.path(name)
	}
	found, err := c.findTargets(ctx, p, s, opts.targets)
	if err != nil {
		return err
	}
	inMemory := found
	if !opts.check {
		if err := writeTargets(p, found); err != nil {
			return err
		}
		inMemory = nil
	}
	files, err := c.generated(p, in, opts.targets, inMemory)
	if err != nil {
		return err
	}
	files, edited, err := c.optional(p, s, files, opts)
	if err != nil {
		return err
	}
	statuses, err := applyGenerated(ctx, p, files, opts.check)
	if err != nil {
		return err
	}
	c.warnEdited(p, edited)
	statuses = notOnce(statuses, files)
	for _, file := range found {
		statuses = append(statuses, project.Status{Name: file.Path, State: project.Missing})
	}
	unbuildable, err := c.checkGoMod(p, in.Flavour)
	if err != nil {
		return err
	}
	if unbuildable && opts.check {
		statuses = append(statuses, project.Status{Name: "go.mod", State: project.Stale})
	}
	return c.reportGenerated(p, statuses, opts.check)
}

// optional adds the files that options ask for, and those that nobody has edited. edited are the others that have changed.
func (c *app) optional(p *project.Project, s *schema.Schema, files []codegen.File, opts generateOptions) (all []codegen.File, edited []string, err error) {
	if opts.canary {
		canaries, err := c.canaries(p)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, canaries...)
	}
	all, edited, err = p.Refresh(s, files)
	if err != nil || opts.cdk == "" {
		return all, edited, err
	}
	file, err := construct(p, s, opts.cdk)
	return append(all, file), edited, err
}

// warnEdited names handlers that would have been generated anew, if their author had not changed them.
func (c *app) warnEdited(p *project.Project, edited []string) {
	for _, name := range edited {
		c.notef("warning: %s was edited and is kept, but the handlers that cfn generates have changed\n", p.Name(name))
		c.hint("to compare, generate the project again in another folder: cfn init --project DIR")
	}
}

// canaries are the templates of canaries.
func (c *app) canaries(p *project.Project) ([]codegen.File, error) {
	canaries, problems, err := p.Canaries()
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return nil, err
	}
	_ = diag.Print(c.Stderr, problems, "text") // warnings; see notef
	if len(canaries) == 0 {
		c.logger.Info("Skipping Canary Auto-Generation")
	}
	return canaries, nil
}

// checkGoMod warns if the go.mod of a project in Go keeps its sources from being built.
func (c *app) checkGoMod(p *project.Project, flavour codegen.Flavour) (unbuildable bool, err error) {
	if p.Language != "go" {
		return false, nil
	}
	problems, err := p.CheckGoMod(flavour)
	if err != nil {
		return false, err
	}
	return len(problems) > 0, diag.Print(c.Stderr, problems, "text")
}

// generateModule writes schema.json, or compares it.
func (c *app) generateModule(ctx context.Context, p *project.Project, opts generateOptions) error {
	f, problems, err := p.Fragment()
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return err
	}
	var state project.State
	if opts.check {
		state, err = p.ModuleSchemaState(f)
	} else {
		state, err = p.WriteModuleSchema(ctx, f)
	}
	if err != nil {
		return err
	}
	statuses := []project.Status{{Name: project.ModuleSchema, State: state}}
	if opts.cdk != "" {
		text := f.Schema(p.TypeName)
		parsed, problems := schema.Load(project.ModuleSchema, text, schema.Config{Kind: schema.Module})
		if parsed == nil {
			return problems.Err()
		}
		file, err := construct(p, parsed, opts.cdk)
		if err != nil {
			return err
		}
		more, err := applyGenerated(ctx, p, []codegen.File{file}, opts.check)
		if err != nil {
			return err
		}
		statuses = append(statuses, more...)
	}
	return c.reportGenerated(p, statuses, opts.check)
}

// construct is the L1 construct of the project's type for the AWS CDK.
func construct(p *project.Project, s *schema.Schema, language string) (codegen.File, error) {
	if p.Kind == schema.Hook {
		return codegen.File{}, withHint(errors.New("option --cdk: a hook has no construct"), "leave it out: hooks are invoked for the resources of an app, whoever wrote them")
	}
	file, err := codegen.CDK(s, p.TypeName, language)
	file.Path = "cdk/" + file.Path
	return file, err
}

// applyGenerated writes generated files into the project, or compares them with those that are there.
func applyGenerated(ctx context.Context, p *project.Project, files []codegen.File, check bool) ([]project.Status, error) {
	if check {
		return project.Compare(p.Dir, files)
	}
	return project.Write(ctx, p.Dir, files, project.Regenerate)
}

// reportGenerated prints what was done, or what is left to do.
func (c *app) reportGenerated(p *project.Project, statuses []project.Status, check bool) error {
	for _, status := range statuses {
		c.logger.Debug("Generated file", "name", status.Name, "was", string(status.State))
	}
	if c.format == "json" {
		if err := c.printStatuses(p, statuses); err != nil {
			return err
		}
	}
	if check {
		return c.reportCheck(p, statuses)
	}
	for _, status := range statuses {
		if status.State == project.Foreign {
			c.notef("warning: %s was not changed because cfn did not generate it\n", p.Name(status.Name))
		}
	}
	if c.format == "text" {
		c.printf("Generated files for %s\n", p.TypeName)
	}
	return nil
}

// notOnce leaves out the files that only cfn init writes; the statuses of leftovers stay.
func notOnce(statuses []project.Status, files []codegen.File) []project.Status {
	var out []project.Status
	for i, status := range statuses {
		if i >= len(files) || files[i].Mode != codegen.Once {
			out = append(out, status)
		}
	}
	return out
}

// reportCheck prints what "generate" would do. Files that cfn did not generate are never
// stale, and those that differ from ours only in wording need not be replaced.
func (c *app) reportCheck(p *project.Project, statuses []project.Status) error {
	stale, ours, equivalent := 0, 0, 0
	for _, status := range statuses {
		switch status.State {
		case project.Equivalent:
			equivalent++
		case project.Missing, project.Stale, project.Leftover:
			stale++
			if status.Name != "go.mod" {
				ours++
			}
			if c.format == "text" {
				c.printf("%s: %s\n", status.State, p.Name(status.Name))
			}
		}
	}
	if c.format == "text" && equivalent > 0 {
		c.printf("only the wording differs in %s of the official cfn\n", words.Count(equivalent, "file"))
	}
	if stale > 0 {
		if ours > 0 {
			c.hint("run cfn generate to update the generated files")
		}
		return &exitError{code: exitFailure}
	}
	if c.format == "text" {
		c.printf("Generated files for %s are up to date\n", p.TypeName)
	}
	return nil
}

func (c *app) printStatuses(p *project.Project, statuses []project.Status) error {
	type file struct {
		Name  string        `json:"name"`
		State project.State `json:"state"`
	}
	out := struct {
		TypeName string `json:"typeName"`
		Files    []file `json:"files"`
	}{TypeName: p.TypeName, Files: []file{}}
	for _, status := range statuses {
		out.Files = append(out.Files, file{status.Name, status.State})
	}
	return c.printJSON(out)
}

// generated returns the files that follow from the schema of a resource type or a hook, and from
// those of its targets in the project, in files and folders, and in memory.
func (c *app) generated(p *project.Project, in codegen.Input, extra []string, found []codegen.File) ([]codegen.File, error) {
	if p.Kind == schema.Hook {
		targets, missing, problems, err := p.Targets(in.Schema, extra, found...)
		if err == nil {
			err = problems.Err()
		}
		if err != nil {
			return nil, err
		}
		_ = diag.Print(c.Stderr, problems, "text") // warnings; see notef
		c.noteMissing(missing)
		in.Targets = project.TargetSchemas(targets)
	}
	return codegen.Generate(in)
}

// A noGeneratorError says that cfn cannot generate code in a language.
type noGeneratorError struct{ language string }

func (e *noGeneratorError) Error() string {
	return "code generation for " + e.language + " is not supported yet; no file was changed"
}

// codegenInput describes the project to the generator.
func (c *app) codegenInput(p *project.Project, s *schema.Schema) (codegen.Input, error) {
	in := codegen.Input{
		Schema: s, TypeName: p.TypeName, SchemaFile: p.SchemaFile(), Language: p.Language,
		ImportPath: p.ImportPath(), Entrypoint: p.Entrypoint, Runtime: p.Runtime, Version: c.Version,
	}
	if input := languageOf(p.Language).input; input != nil {
		return in, input(p, &in)
	}
	return in, nil
}
