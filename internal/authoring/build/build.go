// Package build is the toolchains of the four languages: it finds their programs, builds handlers and their libraries for
// this machine and for Lambda, and says how they run, wait for a debugger and are built again while somebody edits them.
//
// [Tools] does that for one command. What a build writes is in folders of the project that git ignores (.formwork, bin,
// target, dist). Nothing is built twice for the same sources, and what is installed appears only when all of it is there.
// Commands that run are shown with [Config.Note] before they run. An error carries its hint ([diag.Hinted]); that of a
// program which was called is a [ToolError].
//
// To add a language, add a row to the table below, and to those of codegen, project and cli.
package build

import (
	"context"
	"errors"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// Config is what builds get from outside. All fields are required.
type Config struct {
	Environ []string                                       // NAME=VALUE, of the programs that are called
	Getenv  func(name string) string                       // a variable of Environ
	Home    string                                         // the home folder of the user, "" if unknown
	Now     func() time.Time                               // the clock
	Note    func(format string, args ...any)               // prints a message that is no result
	Doing   func(format string, args ...any) (done func()) // shows what is in progress, until done is called
	Logger  *slog.Logger
}

// Tools builds handlers for one command.
type Tools struct{ Config }

// Options are how handlers are built to run on this machine.
type Options struct {
	NoBuild bool // run what was built before
	Debug   bool // with what debuggers need

	// Debugger is where the handlers wait for a debugger; nil if they do not.
	Debugger *lambda.Debug
}

// PackageOptions are how handlers are built for Lambda.
type PackageOptions struct {
	NoBuild bool // pack what was built before; that it is older than a source is only a warning
	Arch    Arch // that the libraries are for
}

// A ToolError is the failure of a program that was called: a compiler, an installer.
type ToolError struct{ Err error }

func (e *ToolError) Error() string { return e.Err.Error() }
func (e *ToolError) Unwrap() error { return e.Err }

// A language is how handlers in one language are built and run.
type language struct {
	prefix string // of the names in the settings: "python" stands for python312 and so on

	// run is how handlers run as a local process, built if need be.
	run func(t *Tools, ctx context.Context, p *project.Project, o Options) (lambda.Config, error)

	// watch is what builds the handlers again, from which folders. The report of a good build is the word built.
	watch func(t *Tools, p *project.Project, o Options) lambda.WatchConfig

	// pack builds what is packed. Nil means that the packer takes what is there, or refuses.
	pack func(t *Tools, ctx context.Context, p *project.Project, o PackageOptions, config *project.ArchiveConfig) error

	debug   *DebugPort // nil means that a debugger attaches to the process
	session bool       // the library refuses credentials without a session token
}

// languages is a function because the rows refer to functions that refer to it.
func languages() []language {
	return []language{
		{prefix: "go", run: (*Tools).runProgram, watch: (*Tools).watchGo, pack: (*Tools).packGo},
		{prefix: "python", run: (*Tools).runPython, watch: (*Tools).watchPython, pack: (*Tools).packPython, debug: pythonDebugPort},
		{prefix: "java", run: (*Tools).runJava, watch: (*Tools).watchJava, pack: (*Tools).packJava, debug: javaDebugPort, session: true},
		{prefix: "typescript", run: (*Tools).runTypeScript, watch: (*Tools).watchTypeScript, pack: (*Tools).packTypeScript, debug: nodeDebugPort},
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

// runner is how the handlers of a project start, nil if they cannot. The programs of the "provided" runtimes implement the
// protocol themselves, whatever their language.
func runner(p *project.Project) func(*Tools, context.Context, *project.Project, Options) (lambda.Config, error) {
	if run := languageOf(p.Language).run; run != nil {
		return run
	}
	if strings.HasPrefix(p.Runtime, "provided") {
		return (*Tools).runProgram
	}
	return nil
}

// RunsHere reports whether the handlers of a project can run on this machine: those in Go, Python, TypeScript and Java, and
// programs for the provided runtimes.
func RunsHere(p *project.Project) bool { return runner(p) != nil }

// Run builds the handlers of a project, if a source has changed, and returns how they run. The project is one of [RunsHere].
func (t *Tools) Run(ctx context.Context, p *project.Project, o Options) (lambda.Config, error) {
	return runner(p)(t, ctx, p, o)
}

// Watch is how the handlers of a project are built again when a source changes; false if that is unknown.
func (t *Tools) Watch(p *project.Project, o Options) (lambda.WatchConfig, bool) {
	watch := languageOf(p.Language).watch
	if watch == nil {
		return lambda.WatchConfig{}, false
	}
	return watch(t, p, o), true
}

// Package makes sure that what is packed is not older than its sources, and completes config with what was built and the
// libraries. Modules have nothing to build. A language that cannot be packed is refused by the packer.
func (t *Tools) Package(ctx context.Context, p *project.Project, o PackageOptions, config *project.ArchiveConfig) error {
	pack := languageOf(p.Language).pack
	if p.Kind == schema.Module || pack == nil {
		return nil
	}
	return pack(t, ctx, p, o, config)
}

// NeedsSession reports whether the library of a language refuses credentials without a session token.
func NeedsSession(name string) bool { return languageOf(name).session }

// A DebugPort is how handlers in one language wait for a debugger: they listen at a port.
type DebugPort struct {
	Usual     int    // the port that debuggers of this language use
	Listening string // what a process prints when it listens
	Attach    string // how a debugger is attached to the address %s
}

var (
	pythonDebugPort = &DebugPort{5678, "Listening for debugpy at ", `attach a client of debugpy, such as VS Code, to %s`}
	nodeDebugPort   = &DebugPort{9229, "Debugger listening on ", "node inspect %s"}
	javaDebugPort   = &DebugPort{5005, "Listening for transport dt_socket at address: ", "jdb -attach %s"}
)

// DebugPortOf is how handlers in a language wait for a debugger. Nil means that one attaches to their process.
func DebugPortOf(name string) *DebugPort { return languageOf(name).debug }

// runtimeHint is the error of a runtime that cannot be used, with its hint in the place of hints.
func runtimeHint(err error) error {
	var missing *lambda.RuntimeError
	if !errors.As(err, &missing) || missing.Hint == "" {
		return err
	}
	return diag.WithHint(&lambda.RuntimeError{Runtime: missing.Runtime, Reason: strings.TrimRight(missing.Reason, "\n")}, "%s", missing.Hint)
}

// maxSource bounds a source file that is read for a hint of what it is.
const maxSource = 8 << 20

// lookPath finds a program in the PATH of the environment.
func (t *Tools) lookPath(name string) (string, error) {
	for _, dir := range filepath.SplitList(t.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// ToolEnviron is the environment of programs that build and install: that of this command, without the proxy of
// "cfn serve --proxy", which refuses the hosts that libraries come from.
func (t *Tools) ToolEnviron() ([]string, error) {
	environ, err := lambda.BuildEnviron(t.Environ)
	if err != nil {
		return nil, diag.WithHint(err, "%s", lambda.BeforeProxyHint)
	}
	return environ, nil
}

// runtimeNote is the file of a project with what was last said of the runtime of its handlers.
const runtimeNote = ".formwork/runtime"

// noteRuntime prints how the runtime differs from that of Lambda, once until that changes.
func (t *Tools) noteRuntime(p *project.Project, note string) {
	path := filepath.Join(p.Dir, filepath.FromSlash(runtimeNote))
	before, err := document.ReadFile(path, 4096)
	if err == nil && string(before) == note || note == "" && err != nil {
		return
	}
	if note != "" {
		t.Note("%s\n", note)
	}
	// Without the file the note is printed again.
	_ = files.Write(p.Dir, runtimeNote, []byte(note), 0o644)
}
