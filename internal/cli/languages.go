package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// A language is what the commands know about handlers in one language. The functions of a
// single language are in files named after it; to add one, add a row to [languages], and to the
// tables of internal/authoring/codegen and internal/authoring/project.
type language struct {
	prefix string // of the names in the settings: "python" stands for python312 and so on

	// initFlags are the options of "cfn init LANGUAGE"; settle asks for those that are not set.
	initFlags func(cmd *cobra.Command, opts *initOptions)
	settle    func(c *app, ctx context.Context, w wizard, opts initOptions, config *project.InitConfig) error

	// handlers is the file that the author of a new project continues with.
	handlers func(config project.InitConfig) string

	// input completes what the generator gets to know of a project.
	input func(p *project.Project, in *codegen.Input) error

	// run is how handlers run as a local process, built if need be. Nil means that cfn cannot
	// start them.
	run func(o *handlerOptions, ctx context.Context, c *app, p *project.Project) (lambda.Config, error)

	// watch is what builds the handlers again, from which folders. The report of a good build is
	// the word built.
	watch func(o *handlerOptions, c *app, p *project.Project) lambda.WatchConfig

	// session is whether the library refuses credentials without a session token.
	session bool

	// debug is where handlers wait for a debugger. Nil means that one attaches to their process.
	debug *debugPort

	// pack builds what is packed. Nil means [app.buildForLambda].
	pack func(c *app, ctx context.Context, p *project.Project, o archiveOptions, config *project.ArchiveConfig) error
}

// languages is a function because the rows refer to functions that refer to it.
func languages() []language {
	return []language{
		{
			prefix: "go", initFlags: goInitFlags, settle: (*app).settleGo, handlers: goHandlers,
			input: goInput, run: (*handlerOptions).runProgram, watch: watchGo,
		},
		{
			prefix: "python", initFlags: pythonInitFlags, settle: (*app).settlePython, handlers: pythonHandlers,
			run: (*handlerOptions).runPython, watch: watchPython, debug: pythonDebugPort,
		},
		{
			prefix: "java", initFlags: javaInitFlags, settle: (*app).settleJava, handlers: javaHandlers,
			input: javaInput, run: (*handlerOptions).runJava, watch: watchJava, debug: javaDebugPort, session: true,
		},
		{
			prefix: "typescript", initFlags: pythonInitFlags, settle: (*app).settlePython, handlers: typeScriptHandlers,
			run: (*handlerOptions).runTypeScript, watch: watchTypeScript, debug: nodeDebugPort, pack: (*app).packTypeScript,
		},
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

// runner is how cfn starts the handlers of a project, nil if it cannot. The programs of the
// "provided" runtimes implement the protocol themselves, whatever their language.
func runner(p *project.Project) func(*handlerOptions, context.Context, *app, *project.Project) (lambda.Config, error) {
	if run := languageOf(p.Language).run; run != nil {
		return run
	}
	if strings.HasPrefix(p.Runtime, "provided") {
		return (*handlerOptions).runProgram
	}
	return nil
}

// runtimeHint is the error of a runtime that cannot be used, with its hint in the place of hints.
func runtimeHint(err error) error {
	var missing *lambda.RuntimeError
	if !errors.As(err, &missing) || missing.Hint == "" {
		return err
	}
	return withHint(&lambda.RuntimeError{Runtime: missing.Runtime, Reason: strings.TrimRight(missing.Reason, "\n")}, "%s", missing.Hint)
}

// runsHere reports whether cfn can start the handlers of a project.
func runsHere(p *project.Project) bool { return runner(p) != nil }

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
	handlers, err := readOptional(p.Path("cmd/resource/resource.go"))
	in.GoMod, in.Flavour = goMod, codegen.FlavourOf(goMod, handlers)
	return err
}

func watchGo(o *handlerOptions, c *app, p *project.Project) lambda.WatchConfig {
	return lambda.WatchConfig{
		Build: buildCommand(o.program(p), o.debug), Dir: p.Dir, Dirs: sourceDirs(p.Dir),
		Run: func(ctx context.Context, command []string, dir string) ([]byte, error) {
			own, err := c.buildEnviron()
			if err != nil {
				return nil, err
			}
			cmd := exec.CommandContext(ctx, command[0], command[1:]...)
			cmd.Dir = dir
			cmd.Env = append(slices.Clone(own), "CGO_ENABLED=0")
			lambda.EndWithDescendants(cmd)
			return cmd.CombinedOutput()
		},
	}
}

// awsOfHandlers is what the credentials of a project's handlers are found with.
func (c *app) awsOfHandlers(p *project.Project, profile, region string) invoke.AWSConfig {
	return invoke.AWSConfig{Profile: profile, Region: region, Session: languageOf(p.Language).session, Getenv: c.Getenv, Now: c.Now}
}
