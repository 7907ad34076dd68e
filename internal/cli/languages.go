package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/build"
	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// A language is what the commands know about handlers in one language. To add one, add a row to [languages], and to the
// tables of codegen, project and build.
type language struct {
	prefix string // of the names in the settings: "python" stands for python312 and so on

	// initFlags are the options of "cfn init LANGUAGE"; settle asks for those that are not set.
	initFlags func(cmd *cobra.Command, opts *initOptions)
	settle    func(c *app, ctx context.Context, w wizard, opts initOptions, config *project.InitConfig) error

	// handlers is the file that the author of a new project continues with.
	handlers func(config project.InitConfig) string

	// input completes what the generator gets to know of a project.
	input func(p *project.Project, in *codegen.Input) error
}

// languages is a function because the rows refer to functions that refer to it.
func languages() []language {
	return []language{
		{prefix: "go", initFlags: goInitFlags, settle: (*app).settleGo, handlers: goHandlers, input: goInput},
		{prefix: "python", initFlags: pythonInitFlags, settle: (*app).settlePython, handlers: pythonHandlers},
		{prefix: "java", initFlags: javaInitFlags, settle: (*app).settleJava, handlers: javaHandlers, input: javaInput},
		{prefix: "typescript", initFlags: pythonInitFlags, settle: (*app).settlePython, handlers: typeScriptHandlers},
	}
}

// languageOf finds the row of a language of the settings; the zero row has no functions.
func languageOf(name string) language {
	for _, l := range languages() {
		if strings.TrimRight(name, "0123456789") == l.prefix {
			return l
		}
	}
	return language{}
}

func goInitFlags(cmd *cobra.Command, opts *initOptions) {
	cmd.Flags().StringVarP(&opts.importPath, "import-path", "p", "", "the import `PATH` of the Go module")
}

func goHandlers(config project.InitConfig) string {
	if config.Kind == schema.Hook {
		return "cmd/hook/hook.go"
	}
	return "cmd/resource/resource.go"
}

// goInput reads what decides for which library the sources are.
func goInput(p *project.Project, in *codegen.Input) error {
	_, goMod, err := p.GoModule()
	if err != nil {
		return fmt.Errorf("read go.mod: %w", err)
	}
	handlers, err := document.ReadOptional(p.Path("cmd/resource/resource.go"), maxSource)
	in.GoMod, in.Flavour = goMod, codegen.FlavourOf(goMod, handlers)
	return err
}

// awsOfHandlers is what the credentials of a project's handlers are found with.
func (c *app) awsOfHandlers(p *project.Project, profile, region string) invoke.AWSConfig {
	return invoke.AWSConfig{Profile: profile, Region: region, Session: build.NeedsSession(p.Language), Getenv: c.Getenv, Now: c.Now}
}

// javaInput reads the package of the handlers, and for which library the sources are.
func javaInput(p *project.Project, in *codegen.Input) (err error) {
	in.Namespace = strings.Join(p.Options.Get("namespace").Strings(), ".")
	if in.Pom, err = document.ReadOptional(p.Path("pom.xml"), maxSource); err != nil {
		return err
	}
	if fault := codegen.JavaLibraryFault(p.Name("pom.xml"), in.Pom); fault != "" {
		return withHint(errors.New(fault), "raise its version to 2.0.0 or later: no code can be generated for older ones")
	}
	return nil
}

func javaInitFlags(cmd *cobra.Command, opts *initOptions) {
	cmd.Flags().StringVarP(&opts.namespace, "namespace", "n", "", "the Java `PACKAGE` of the handlers (default: from the type's name)")
	cmd.Flags().StringVarP(&opts.codegenModel, "codegen-model", "c", "default", "the `NAME` of the model of code: default")
}

// settleJava finds out the package. Without an answer it is the official default.
func (c *app) settleJava(ctx context.Context, w wizard, opts initOptions, config *project.InitConfig) error {
	if opts.codegenModel != "" && opts.codegenModel != "default" {
		return withHint(usagef("option --codegen-model: %q is not supported", opts.codegenModel), "use default; handlers of the model guided_aws work unchanged")
	}
	if config.Namespace = opts.namespace; config.Namespace == "" {
		answer, err := w.namespace(ctx, codegen.JavaNamespace(config.TypeName))
		var none *noAnswerError
		if err != nil && !errors.As(err, &none) {
			return err
		}
		config.Namespace = cmp.Or(answer, codegen.JavaNamespace(config.TypeName))
	}
	if fault := codegen.JavaNamespaceFault(config.Namespace); fault != "" {
		return usagef("option --namespace: %q is invalid: %s", config.Namespace, fault)
	}
	return nil
}

func javaHandlers(config project.InitConfig) string {
	if config.Kind == schema.Hook {
		return codegen.JavaFolder(config.Namespace) + "/PreCreateHookHandler.java"
	}
	return codegen.JavaFolder(config.Namespace) + "/CreateHandler.java"
}

func pythonInitFlags(cmd *cobra.Command, opts *initOptions) {
	cmd.Flags().BoolVarP(&opts.useDocker, "use-docker", "d", false, "let the official tool package with Docker")
	cmd.Flags().BoolVar(&opts.noDocker, "no-docker", false, "let the official tool package without Docker (the default)")
}

// settlePython notes how the official tool is to package. The official plugin asks for it; cfn itself
// never uses Docker, so there is nothing to ask.
func (c *app) settlePython(_ context.Context, _ wizard, opts initOptions, config *project.InitConfig) error {
	if opts.useDocker && opts.noDocker {
		return usagef("--use-docker and --no-docker exclude each other")
	}
	config.UseDocker = opts.useDocker
	return nil
}

func pythonHandlers(config project.InitConfig) string {
	return "src/" + codegen.PythonPackage(config.TypeName) + "/handlers.py"
}

func typeScriptHandlers(project.InitConfig) string { return "src/handlers.ts" }

// tools are the toolchains of the four languages, for this command.
func (c *app) tools() *build.Tools {
	return &build.Tools{Config: build.Config{
		Environ: c.Environ, Getenv: c.Getenv, Home: c.home(), Now: c.Now, Note: c.notef, Doing: c.progress, Logger: c.logger,
	}}
}
