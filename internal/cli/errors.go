package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/build"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// A run function returns one of these, or any other error: that is a failure of the
// environment (a file that cannot be read, a missing tool), shown as one line, exit code 1.
//
//	type              shown as                                  exit code
//	*usageError       usage, message, hint on stderr            2
//	*downstreamError  "error: …" on stderr, with its hint       2
//	*build.ToolError  the same                                  2
//	*exitError        its message, if any, on stderr            its code
//	*diag.Invalid     the problems on stderr                    1
//	bugError, panic   a block on how to report it, on stderr    127
//	other             "error: …" on stderr, with its hint       1
//
// With --format json, an error that is shown after nothing was printed is printed on
// stdout as well: {"error": {"message", "hint", "exitCode"}}, or as the list of problems.

// usageError is a command line that cfn does not understand.
type usageError struct {
	command *cobra.Command // whose usage is shown; nil shows that of the running command
	message string
	hint    string
}

func (e *usageError) Error() string { return e.message }

// usagef makes a usage error of the running command.
func usagef(format string, args ...any) error {
	return &usageError{message: fmt.Sprintf(format, args...)}
}

// downstreamError is the failure of something that cfn called, such as an AWS service.
type downstreamError struct{ err error }

func (e *downstreamError) Error() string { return e.err.Error() }
func (e *downstreamError) Unwrap() error { return e.err }

// exitError ends the command with a code after all messages were printed.
type exitError struct {
	code    int
	message string // "" if the output of the command already says it
}

func (e *exitError) Error() string { return e.message }

// withHint adds to an error what the user can type or do instead.
func withHint(err error, format string, args ...any) error {
	return diag.WithHint(err, format, args...)
}

// bugError is a state that cfn's own code rules out.
type bugError struct {
	err   error
	stack []byte // nil if it was no panic
}

func (e bugError) Error() string { return e.err.Error() }

// report shows the error to the user, writes it to the log, and returns the exit code.
func (c *app) report(cmd *cobra.Command, err error, args []string) int {
	code := exitOK
	if err != nil {
		code = c.show(cmd, err, args)
	}
	if c.started {
		c.logger.Debug("Finished", "code", code)
	}
	return code
}

func (c *app) show(cmd *cobra.Command, err error, args []string) int {
	var (
		usage      *usageError
		downstream *downstreamError
		tool       *build.ToolError
		exit       *exitError
		invalid    *diag.Invalid
		bug        bugError
		hinted     *diag.Hinted
	)
	hint := ""
	var notLocal *invoke.NotLocalError
	switch {
	case errors.As(err, &hinted):
		hint = hinted.Hint
	case errors.As(err, &notLocal):
		hint = notLocalHint
	}
	c.logger.Debug("Failed", "error", err)
	switch {
	case errors.As(err, &bug):
		c.showBug(bug, args)
		return exitBug
	case errors.As(err, &usage):
		if usage.command != nil {
			cmd = usage.command
		}
		c.notef("%s\n%s: error: %s\n", shortUsage(cmd), cmd.CommandPath(), usage.message)
		c.hint(usage.hint)
		return exitUsage
	case errors.As(err, &exit):
		if exit.message != "" {
			c.notef("%s\n", exit.message)
		}
		return exit.code
	case errors.As(err, &downstream), errors.As(err, &tool):
		var failed error = tool
		if downstream != nil {
			failed = downstream
		}
		c.notef("error: %s\n", failed)
		c.hint(hint)
		if path := c.logPath(); path != "" {
			c.notef("Details are in %s.\n", path)
		}
		c.showJSON(failed.Error(), hint, exitDownstream)
		return exitDownstream
	case errors.As(err, &invalid):
		c.showProblems(invalid.Problems)
		c.hint(hint)
		return exitFailure
	}
	text := err.Error()
	var function *lambda.FunctionError
	atStart := errors.As(err, &function) && function.Init
	if atStart {
		var instead string
		text, instead = startFailure(text, function)
		hint = cmp.Or(hint, instead)
	}
	c.notef("error: %s\n", text)
	if atStart && len(function.StackTrace) > 0 {
		c.notef("%s\n", function.Trace())
	}
	c.hint(hint)
	c.showJSON(text, hint, exitFailure)
	return exitFailure
}

// showProblems shows errors, and warnings with -v only.
func (c *app) showProblems(problems diag.List) {
	shown := problems
	if c.verbose == 0 {
		shown = nil
		for _, p := range problems {
			if p.Severity == diag.Error {
				shown.Add(p)
			}
		}
	}
	_ = diag.Print(c.Stderr, shown, "text") // see notef
	if c.format == "json" && !c.out.some {
		_ = diag.Print(c.Stdout, problems, "json") // see printf
	}
}

// showJSON prints an error as JSON, for scripts that requested JSON.
func (c *app) showJSON(message, hint string, code int) {
	if c.format != "json" || c.out.some {
		return
	}
	type failure struct {
		Message  string `json:"message"`
		Hint     string `json:"hint"`
		ExitCode int    `json:"exitCode"`
	}
	_ = c.printJSON(struct {
		Error failure `json:"error"`
	}{failure{message, hint, code}}) // see printf
}

func (c *app) hint(text string) {
	if text != "" {
		c.notef("hint: %s\n", text)
	}
}

func (c *app) logPath() string {
	if c.log == nil || c.log.Path() == "" {
		return ""
	}
	return c.shown(c.log.Path())
}

// showBug reports a bug of cfn, with the data for a bug report.
func (c *app) showBug(bug bugError, args []string) {
	if bug.stack != nil {
		c.logger.Debug("Panic", "error", bug.err, "stack", string(bug.stack))
	}
	c.notef("=== This is a bug in cfn ===\n%s\n---\n", bug.err)
	c.notef("Your project is not at fault. Please report it at https://github.com/formwork-dev/formwork/issues with\n")
	c.notef("  version: %s\n  command: cfn %s\n", c.platform(), strings.Join(args, " "))
	if path := c.logPath(); path != "" {
		c.notef("  log:     the end of %s\n", path)
	} else if bug.stack != nil {
		c.notef("  trace:\n%s", bug.stack)
	}
}

// together is the library's error of options that exclude each other.
var together = lazyregexp.New(`^if any flags in the group \[.*\] are set none of the others can be; \[(\S+) (\S+).*\] were all set$`)

// exclusive says in words of our own that options exclude each other.
func exclusive(text string) string {
	if m := together.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("option --%s: not allowed with --%s", m[2], m[1])
	}
	return text
}

// sentence cuts an error of the flag library to its first line.
func sentence(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}
