// Package cli contains the commands of cfn: one file per command, each with its flags, its
// help and a run function that returns an error.
//
// The command line is the official CloudFormation CLI's: its commands, options, prompts, file
// names and exit codes, including abbreviations of long options. docs/compatibility.md lists
// the intended differences.
//
// # How a command works
//
// [Main] is the only way in: it takes everything of the outside world as an [Env], finds the command, runs it and turns its
// error into an exit code. Only this package knows flags, the terminal and exit codes; only cmd/cfn calls os.Exit. A
// command is a constructor, newValidate, that declares the flags, and a method of app, which has the environment and the
// streams. root.go has the list of commands, with their groups in the help.
//
//   - Results go to standard output, in the format of --format; progress, prompts and problems go to standard error. With
//     --format json an error is a document, too.
//   - A run function returns a usageError for a wrong command line, a downstreamError for what a service or a build tool did, problems
//     of a document as diag.Invalid, and any other error as it is. errors.go has the table of what is printed, and of the exit codes.
//   - Prompts have an option for every answer, and are asked only on a terminal: elsewhere the command fails and names the
//     option.
//   - endpoint.go has the options that say which CloudFormation a command calls; package submit makes the clients.
//
// # Tests
//
// testdata/<command>_<aspect>.txtar are scripts that run in this process; "go test ./internal/cli -update" rewrites
// what they expect. A new flag needs a line in the help, in docs and in a script.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/foundation/cfnlog"
	"github.com/formwork-dev/formwork/internal/foundation/envvar"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// Env is the outside world of a command. All fields but Now must be set.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Terminal       Terminal
	Environ        []string // "NAME=value", as os.Environ gives it
	Dir            string   // the working folder, absolute
	Version        string   // "1.2.3", or "1.2.3-dev" for a build that is not a release
	Now            func() time.Time
}

// Terminal reports which of the three streams are terminals.
type Terminal struct{ Stdin, Stdout, Stderr bool }

// Getenv returns the value of an environment variable, "" if it is not set.
func (e *Env) Getenv(name string) string {
	return envvar.Get(e.Environ, name)
}

// The exit codes of the official tool. Codes from 3 up are free for new meanings.
const (
	exitOK          = 0
	exitFailure     = 1   // an error of the project, the configuration or a test
	exitUsage       = 2   // an invalid command line
	exitDownstream  = 2   // an error of a service or a build tool that cfn called
	exitBug         = 127 // a bug of cfn
	exitInterrupted = 130 // stopped by a signal; see Signals
)

// Main runs the command line, args without the program's name, and returns the exit code.
func Main(ctx context.Context, env Env, args []string) (code int) {
	if env.Now == nil {
		env.Now = time.Now
	}
	out := &output{to: env.Stdout}
	c := &app{Env: &env, screen: env.Stdout, errScreen: env.Stderr, out: out}
	shown, noted := &screenText{to: out, raw: c.forPrograms}, &screenText{to: env.Stderr}
	env.Stdout, env.Stderr = shown, noted
	defer noted.end()
	c.discardLog()
	defer c.closeLog()
	defer func() {
		if p := recover(); p != nil {
			code = c.report(nil, bugError{fmt.Errorf("%v", p), debug.Stack()}, args)
		}
	}()
	root := newRoot(c)
	if completing(args) {
		eachCommand(root, completeValues)
	}
	commandLine, err := normalize(root, args)
	if err != nil {
		return c.report(root, err, args)
	}
	if slices.Equal(commandLine, []string{"--version"}) {
		c.printf("cfn %s\n", c.Version)
		return c.report(root, out.err, args)
	}
	root.SetArgs(commandLine)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	command, err := root.ExecuteContextC(ctx)
	if err != nil && !c.started {
		var u *usageError
		if !errors.As(err, &u) {
			err = &usageError{command: command, message: sentence(exclusive(err.Error()))}
		}
	}
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = &exitError{code: exitInterrupted, message: "interrupted"}
	}
	shown.end()
	if err == nil && out.err != nil {
		err = fmt.Errorf("write the result: %w", out.err)
	}
	return c.report(command, err, args)
}

// output remembers the first failure to write, so that a result that was lost, on a full
// disk for example, fails the command.
type output struct {
	to   io.Writer
	err  error
	some bool // something was written
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	o.some = o.some || n > 0
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// app is what commands share: the outside world, the global options and the log.
type app struct {
	*Env

	// screen and errScreen are Stdout and Stderr as Main got them, for what draws on a
	// terminal and for the commands that cfn runs for the user.
	screen, errScreen io.Writer

	out     *output // below Stdout, without its care for terminals: protocols and scripts
	project string  // --project, as given; "" is the working folder
	format  string  // --format of commands that have it
	verbose int     // how often -v was given
	refs    references
	logger  *slog.Logger
	log     *cfnlog.Log // nil until a command that logs has started
	started bool        // the command's own code runs: errors are no usage errors any more

	absolute bool // paths are shown as they are: for programs, which have another working folder
}

// projectDir is the folder of the extension project, absolute.
func (c *app) projectDir() string {
	switch {
	case c.project == "":
		return c.Dir
	case filepath.IsAbs(c.project):
		return filepath.Clean(c.project)
	}
	return filepath.Join(c.Dir, c.project)
}

// in is the same command with another working folder.
func (c *app) in(dir string) *app {
	of, env := *c, *c.Env
	env.Dir, of.Env = dir, &env
	return &of
}

// label is how messages call the project's folder: "" is the working folder.
func (c *app) label() string {
	if label := c.shown(c.projectDir()); label != "." {
		return label
	}
	return ""
}

// path makes a path that was given on the command line absolute: it counts from the
// working folder, not from --project.
func (c *app) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.Dir, name)
}

// shown is a path as the user would type it: relative to the working folder if it is
// inside it.
func (c *app) shown(path string) string {
	if rel, err := filepath.Rel(c.Dir, path); err == nil && filepath.IsLocal(rel) && !c.absolute {
		return rel
	}
	return path
}

// start is run before every command's own code. Only a folder that is a project gets a
// log file; what init says before it has made one is kept for then. A command with the
// annotation "project"="created" makes the folder, one with "log"="none" leaves no log.
func (c *app) start(cmd *cobra.Command) error {
	c.started = true
	if c.project != "" && cmd.Annotations["project"] != "created" {
		if info, err := os.Stat(c.projectDir()); err != nil || !info.IsDir() {
			return withHint(fmt.Errorf("folder %s does not exist", c.project), "pass --project DIR with the folder of an extension project")
		}
	}
	config := cfnlog.Config{Now: c.Now}
	if c.verbose > 0 {
		config.Console = c.Stderr
		if c.verbose > 1 {
			config.ConsoleLevel = slog.LevelDebug
		}
	}
	c.log = cfnlog.New(config)
	if key := c.Getenv("AWS_SECRET_ACCESS_KEY"); !invoke.IsDummy(key) {
		c.log.Hide(secret.Credentials, key, c.Getenv("AWS_SESSION_TOKEN"))
	}
	c.logger = slog.New(c.log)
	if _, err := os.Stat(filepath.Join(c.projectDir(), project.SettingsFile)); err == nil && cmd.Annotations["log"] != "none" {
		c.log.Open(filepath.Join(c.projectDir(), cfnlog.Name))
	}
	c.logger.Debug("Logging set up successfully")
	c.logger.Debug("Running "+cmd.CommandPath(), "version", c.Version)
	return nil
}

// discardLog is the state before start: nothing is logged.
func (c *app) discardLog() { c.logger = slog.New(slog.DiscardHandler) }

func (c *app) closeLog() {
	if c.log == nil {
		return
	}
	if errors.Is(c.log.Err(), files.ErrIrregular) {
		c.notef("warning: logging is off because %s is not a regular file; remove it\n", c.shown(filepath.Join(c.projectDir(), cfnlog.Name)))
	}
	_ = c.log.Close() // a log that cannot be written is no reason to fail
}

// printf writes results to Stdout. Main reports a failure.
func (c *app) printf(format string, args ...any) { _, _ = fmt.Fprintf(c.Stdout, format, args...) }

// notef writes messages that are not results to Stderr. Errors of that cannot be reported.
func (c *app) notef(format string, args ...any) { _, _ = fmt.Fprintf(c.Stderr, format, args...) }

// progress shows on a terminal what is in progress. The function that it returns wipes the
// line; without a terminal nothing is shown.
func (c *app) progress(format string, args ...any) (done func()) {
	if !c.Terminal.Stderr || c.verbose > 0 || c.Getenv("TERM") == "dumb" {
		return func() {}
	}
	c.notef("%s …", words.OneLine(fmt.Sprintf(format, args...)))
	return c.wipeLine
}

// wipeLine erases the line of the cursor. Stderr is a terminal.
func (c *app) wipeLine() { _, _ = io.WriteString(c.errScreen, "\r\x1b[K") } // see notef

// forPrograms reports whether the output format is for programs, and stdout is not a terminal.
func (c *app) forPrograms() bool {
	return c.format != "" && c.format != "text" && !c.Terminal.Stdout
}

// platform is what a bug report needs to know.
func (c *app) platform() string {
	return fmt.Sprintf("cfn %s (%s, %s/%s)", c.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
