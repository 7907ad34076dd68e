package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/cfnlog"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// initOptions are the options of cfn init; the wizard asks for the empty ones.
type initOptions struct {
	force      bool
	kind       string
	typeName   string
	language   string
	importPath string
	namespace  string // of Java
	useDocker  bool
	noDocker   bool
	targets    string // separated by commas
	model      string // the Smithy model to start from
	smithy     smithyOptions
	api        apiOptions

	codegenModel string // of Java

	endpoint, region, profile string
}

func newInit(c *app) *cobra.Command {
	var opts initOptions
	cmd := &cobra.Command{
		Use:   "init [LANGUAGE]",
		Short: "Start a new project: a resource type, a module or a hook",
		Long: `Start a new project in the folder. cfn asks for everything that the options do not set: with a form on
a terminal, otherwise with questions on standard output and one answer per line on standard input. Set
ACCESSIBLE=1 to get plain questions on a terminal, too.

Either the whole project is written or nothing. Existing files are kept. If one of them is a schema,
the code is generated from it. With --force, or if you agree to overwrite the settings of an existing
project, all files are overwritten.

LANGUAGE is a language of the official tool, such as python312, or python for the newest runtime. Projects in Go can also be
started with --import-path alone. Without --import-path, it is the module path of an existing go.mod.

--from-smithy starts a resource type from a resource of a Smithy model and converts its schema like
cfn smithy convert. If the model has several resources, --type-name selects one; its organization and
service are used if neither the model nor the settings name any.

With --resource, the resource need not have traits of CloudFormation: it is found by its lifecycle
or by the names of operations, and the schema by their inputs and outputs. --from-openapi finds
resources by paths. --list shows what is found. The reason of each decision is printed; api.yaml in
the project overrides decisions, and --schema-only --force makes the schema again.

Projects can be started in Go, Java, Python and TypeScript; modules have no language. A project in Java, Python or
TypeScript has the files, names and settings of the official plugin, so either tool can continue with it.
cfn packages it without Docker; --use-docker only writes the setting of the official tool.`,
		Example: `  cfn init
  cfn init --artifact-type RESOURCE --type-name Acme::Billing::Invoice go --import-path example.com/invoice
  cfn init -a HOOK -t Acme::Billing::Policy python312
  cfn init -a MODULE -t Acme::Network::Vpc::MODULE --project vpc
  cfn init --from-smithy model/ --service example.weather#Weather -t Acme::Weather::City go
  cfn init --from-openapi shop.yaml --list
  cfn init --from-openapi shop.yaml --resource Order -t Acme::Shop::Order go --import-path example.com/order`,
		Args:        noArguments,
		Annotations: map[string]string{"project": "created"},
		RunE:        func(cmd *cobra.Command, _ []string) error { return c.init(cmd.Context(), opts) },
	}
	shared := cmd.PersistentFlags()
	shared.SortFlags = false
	shared.BoolVarP(&opts.force, "force", "f", false, "overwrite the files of the project")
	shared.StringVarP(&opts.typeName, "type-name", "t", "", "the `NAME` of the type: Organization::Service::Resource")
	shared.StringVarP(&opts.kind, "artifact-type", "a", "", "the `KIND` of extension: RESOURCE, MODULE or HOOK")
	shared.StringVar(&opts.targets, "target-schemas", "", "`FILES` or folders with the schemas of a hook's targets, separated by commas")
	shared.StringVar(&opts.endpoint, "endpoint-url", "", "accepted for compatibility: no service is called (`URL`)")
	shared.StringVar(&opts.region, "region", "", "accepted for compatibility: no service is called (`NAME`)")
	shared.StringVar(&opts.profile, "profile", "", "accepted for compatibility: no service is called (`NAME`)")
	c.choice(shared, &c.format, "format", "how the result is printed", "text", "json")
	cmd.Flags().StringVar(&opts.language, "language", "", "the `LANGUAGE` of the handlers; the same as the subcommand")
	cmd.Flags().StringVar(&opts.importPath, "import-path", "", "the import `PATH` of the Go module")
	shared.StringVar(&opts.model, "from-smithy", "", "start from a resource of the Smithy model `MODEL`, a file, a folder or a .jar")
	shared.StringVar(&opts.smithy.service, "service", "", "the `ID` of the model's service, as namespace#Name")
	shared.StringVar(&opts.smithy.config, "smithy-config", "", "the smithy-build.json `FILE` with the settings of the conversion")
	shared.BoolVar(&opts.smithy.modern, "modern", false, "leave out the quirks of the official converter")
	shared.StringVar(&opts.api.openapi, "from-openapi", "", "start from a resource of the OpenAPI description `FILE`")
	shared.StringVar(&opts.api.resource, "resource", "", "the `NAME` of the resource of the API")
	shared.BoolVar(&opts.api.list, "list", false, "list the resources of the API and why others are none, and write nothing")
	shared.BoolVar(&opts.api.schemaOnly, "schema-only", false, "write only the schema and "+apiSettingsFile+" of an existing project")
	annotate(shared, addition, "format", "from-smithy", "service", "smithy-config", "modern", "from-openapi", "resource", "list", "schema-only")
	annotate(cmd.Flags(), addition, "language", "import-path")
	for _, language := range project.Languages() {
		cmd.AddCommand(newInitLanguage(c, &opts, language))
	}
	return cmd
}

// newInitLanguage is the form of init that names the language first.
func newInitLanguage(c *app, opts *initOptions, language string) *cobra.Command {
	cmd := &cobra.Command{
		Use:         language,
		Short:       "Start a project with handlers in " + language,
		Args:        noArguments,
		Annotations: map[string]string{"project": "created"},
		Hidden:      project.Retired(language) != nil, // it says so when it is run
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts := *opts
			opts.language = language
			return c.init(cmd.Context(), opts)
		},
	}
	if project.Newest("python") == language {
		cmd.Aliases = []string{"python"}
	}
	if flags := languageOf(language).initFlags; flags != nil {
		flags(cmd, opts)
	} else {
		cmd.Short += " (not yet)"
	}
	return cmd
}

func (c *app) init(ctx context.Context, opts initOptions) error {
	opts.language = project.Newest(opts.language)
	if opts.language != "" && !slices.Contains(project.Languages(), opts.language) {
		return usagef("unknown language %q: choose from %s", opts.language, strings.Join(project.Languages(), ", "))
	}
	if opts.api.list {
		return c.listAPIResources(opts)
	}
	if opts.api.schemaOnly {
		return c.regenerateSchema(opts)
	}
	if c.format == "text" {
		c.printf("%s\n", "Initializing new project")
	}
	config := project.InitConfig{Version: c.Version, Overwrite: opts.force}
	for _, name := range strings.Split(opts.targets, ",") {
		if name = strings.TrimSpace(name); name != "" {
			config.TargetSchemas = append(config.TargetSchemas, c.path(name))
		}
	}
	w := c.newWizard()
	if err := c.settleOverwrite(ctx, w, &config); err != nil {
		return err
	}
	chosen, err := c.settleAPI(&opts)
	if err != nil {
		return err
	}
	if chosen == nil {
		err = c.settleModel(&opts, &config)
	}
	if err != nil {
		return err
	}
	if err := c.settleType(ctx, w, opts, &config); err != nil {
		return err
	}
	if chosen != nil {
		if err := c.deriveProject(chosen, &config); err != nil {
			return err
		}
	}
	if err := c.settleLanguage(ctx, w, opts, &config); err != nil {
		return err
	}
	return c.initialize(ctx, config, chosen)
}

// settleOverwrite looks for an existing project and asks what to do with it.
func (c *app) settleOverwrite(ctx context.Context, w wizard, config *project.InitConfig) error {
	path := filepath.Join(c.projectDir(), project.SettingsFile)
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	if config.Overwrite {
		c.notef("Overwriting settings file: %s\n", path)
		return nil
	}
	p, problems, err := c.openProject()
	if err != nil {
		return err
	}
	if err := problems.Err(); err != nil {
		return withHint(err, "pass --force to overwrite the settings")
	}
	yes, err := w.overwrite(ctx, p)
	if err != nil {
		return err
	}
	if !yes {
		return &exitError{exitFailure, "aborted: the project is as it was"}
	}
	config.Overwrite = true
	return nil
}

// settleType finds out the kind and the name of the type.
func (c *app) settleType(ctx context.Context, w wizard, opts initOptions, config *project.InitConfig) (err error) {
	kind, ok := parseKind(opts.kind)
	if !ok {
		if opts.kind != "" {
			c.notef("option --artifact-type: %q is invalid. %s\n", opts.kind, kindError)
		}
		if kind, err = w.kind(ctx); err != nil {
			return refusedValue("artifact-type", opts.kind, kindError, err)
		}
	}
	config.Kind, config.TypeName = kind, opts.typeName
	if !project.ValidTypeName(kind, config.TypeName) {
		if config.TypeName != "" {
			c.notef("option --type-name: %q is invalid: %s. %s\n", config.TypeName, schema.TypeNameFault(kind, config.TypeName), typeNameError(kind))
		}
		if config.TypeName, err = w.typeName(ctx, kind); err != nil {
			return refusedValue("type-name", opts.typeName, schema.TypeNameFault(kind, opts.typeName), err)
		}
	}
	if namespace, is := project.ReservedNamespace(config.TypeName); is {
		c.notef("warning: %s\n", namespace)
	}
	return nil
}

// settleLanguage finds out what the language of the handlers needs to know.
func (c *app) settleLanguage(ctx context.Context, w wizard, opts initOptions, config *project.InitConfig) (err error) {
	if config.Kind == schema.Module {
		return nil
	}
	config.Language = opts.language
	switch {
	case config.Language != "":
	case opts.importPath != "": // only projects in Go have one
		config.Language = "go"
	default:
		if config.Language, err = w.language(ctx); err != nil {
			return err
		}
	}
	if !project.CanStart(config.Language) {
		return withHint(fmt.Errorf("cfn cannot start projects in %s yet", opts.language),
			"use cfn init go, cfn init python or cfn init typescript; in a project in %s, cfn generate writes everything except the code", opts.language)
	}
	return languageOf(config.Language).settle(c, ctx, w, opts, config)
}

// settleGo finds out the import path.
func (c *app) settleGo(ctx context.Context, w wizard, opts initOptions, config *project.InitConfig) (err error) {
	config.ImportPath = strings.ReplaceAll(opts.importPath, `\`, "/")
	if config.ImportPath == "" {
		path, err := project.ModulePath(c.projectDir())
		if err != nil {
			return fmt.Errorf("read go.mod: %w", err)
		}
		if validImportPath(path) {
			c.notef("Using the import path of go.mod: %s\n", path)
			config.ImportPath = path
		}
	}
	if !validImportPath(config.ImportPath) {
		if config.ImportPath != "" {
			c.notef("option --import-path: %q is invalid. %s\n", opts.importPath, importPathError)
		}
		if config.ImportPath, err = w.importPath(ctx, "example.com/"+schema.Hyphenated(config.TypeName)); err != nil {
			return refusedValue("import-path", opts.importPath, importPathError, err)
		}
	}
	return nil
}

// refusedValue is the error of an unanswered question. If it was asked because of the value of
// an option, the error is about that value.
func refusedValue(option, value, complaint string, err error) error {
	var none *noAnswerError
	if value == "" || !errors.As(err, &none) {
		return err
	}
	return withHint(fmt.Errorf("option --%s: %q is invalid", option, value), "%s", complaint)
}

// initialize writes the project and says what comes next.
func (c *app) initialize(ctx context.Context, config project.InitConfig, from *chosenResource) error {
	files, err := c.writeProject(ctx, config)
	if err != nil {
		return err
	}
	if c.format == "json" {
		return c.printJSON(struct {
			TypeName string        `json:"typeName"`
			Kind     string        `json:"kind"`
			Dir      string        `json:"dir"`
			Files    []writtenFile `json:"files"`
			*derivation
		}{config.TypeName, string(config.Kind), c.projectDir(), files, from.derivation()})
	}
	c.printf("Initialized a new project in %s\n", c.projectDir())
	if from != nil {
		if err := c.printDerived(from.derived); err != nil {
			return err
		}
	}
	c.printNextSteps(config)
	return nil
}

// A writtenFile is a file of a new project.
type writtenFile struct {
	Name   string `json:"name"`
	Action string `json:"action"` // created, overwritten, removed, kept or unchanged
}

// writeProject writes a new project. If that fails, a folder that was created for it is removed.
func (c *app) writeProject(ctx context.Context, config project.InitConfig) (written []writtenFile, err error) {
	dir := c.projectDir()
	if made := missingFolders(dir); len(made) > 0 {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("create the project folder: %w", err)
		}
		defer func() {
			for _, dir := range made {
				if err == nil || os.Remove(dir) != nil { // fails if it is not empty
					return
				}
			}
		}()
	}
	done := c.progress("Writing the project")
	statuses, problems, err := project.Init(ctx, dir, c.label(), config)
	done()
	var retired *project.RetiredError
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil, errAborted()
	case errors.As(err, &retired):
		return nil, withHint(err, "use the newest one: cfn init python")
	case err != nil:
		return nil, err
	case problems.HasErrors():
		return nil, withHint(&diag.Invalid{Problems: problems}, "pass --force to overwrite the schema with an example")
	}
	if err := c.warnOfGoMod(); err != nil {
		return nil, err
	}
	c.log.Open(filepath.Join(dir, cfnlog.Name))
	written = []writtenFile{}
	for _, status := range statuses {
		action := initialized(status.State, config.Overwrite)
		c.logger.Info(status.Name+": "+action, "state", string(status.State))
		written = append(written, writtenFile{status.Name, action})
	}
	return written, nil
}

// printNextSteps lists the commands that lead from a new project to a registered type.
func (c *app) printNextSteps(config project.InitConfig) {
	file := schema.Hyphenated(config.TypeName) + ".json"
	handlers := ""
	if named := languageOf(config.Language).handlers; named != nil {
		handlers = named(config)
	}
	type step struct{ what, command string }
	steps := []step{
		{"describe the resource in " + file, "cfn validate"},
		{"write the handlers in " + handlers, "cfn generate"},
		{"test the handlers against the contract", "cfn test"},
		{"register the type; cfn serve runs a local registry", "cfn submit --set-default"},
	}
	if config.Binding != nil && codegen.BindingFile(codegen.Input{Language: config.Language, TypeName: config.TypeName, Namespace: config.Namespace}) != "" {
		steps[0].what = "check " + file + ", which is made from the API"
		steps[1] = step{"after a change of the API or of " + apiSettingsFile, "cfn generate"}
		steps[2] = step{"test the handlers against a stub of the service", "cfn test --stub"}
	}
	if config.Adapt != nil { // the schema and the handlers are complete
		steps[0].what, steps[1].what = "after a change of "+file, "after a change of "+file
	}
	switch config.Kind {
	case schema.Hook:
		steps[0].what = "describe the hook in " + file
	case schema.Module:
		steps = []step{{"write the template in " + project.FragmentsDir, "cfn validate"}, steps[3]}
	}
	c.printf("\nNext steps:\n")
	if label := c.label(); label != "" {
		c.printf("  cd %s\n", shellQuote(label))
	}
	for _, s := range steps {
		c.printf("  %-26s # %s\n", s.command, s.what)
	}
}

// missingFolders lists a folder and those above it that do not exist, the deepest first.
func missingFolders(dir string) (missing []string) {
	for {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			return missing
		}
		missing = append(missing, dir)
		dir = filepath.Dir(dir)
	}
}

// warnOfGoMod looks at the go.mod of a project that was just started: it may have been
// there before.
func (c *app) warnOfGoMod() error {
	p, _, err := c.openProject()
	if err != nil || p == nil {
		return err
	}
	_, err = c.checkGoMod(p, codegen.FlavourSDK)
	return err
}

// initialized describes what init did with a file.
func initialized(state project.State, overwrite bool) string {
	switch {
	case state == project.Missing:
		return "created"
	case state == project.Leftover:
		return "removed"
	case state == project.Current:
		return "unchanged"
	case overwrite || state == project.Stale || state == project.Equivalent:
		return "overwritten"
	}
	return "kept"
}
