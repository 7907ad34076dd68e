package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
)

// runMain runs a command line in a folder and returns what it wrote.
func runMain(ctx context.Context, dir string, stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	var out, errs strings.Builder
	code = Main(ctx, Env{
		Stdin: stdin, Stdout: &out, Stderr: &errs, Environ: []string{"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI"}, Dir: dir, Version: "1.2.3",
	}, args)
	return code, out.String(), errs.String()
}

// TestErrorsBecomeExitCodes pins the only place where they do.
func TestErrorsBecomeExitCodes(t *testing.T) {
	problems := diag.List{{ID: "a/b", Message: "wrong"}, {ID: "a/c", Severity: diag.Warning, Message: "odd"}}
	tests := []struct {
		name   string
		err    error
		code   int
		stderr string
	}{
		{"none", nil, 0, ""},
		{"failure", fmt.Errorf("read x: %w", os.ErrNotExist), 1, "error: read x: file does not exist\n"},
		{"failure with a hint", fmt.Errorf("outer: %w", withHint(errors.New("inner"), "do %s", "this")), 1, "error: outer: inner\nhint: do this\n"},
		{"problems", problems.Err(), 1, "error: wrong [a/b]\n"},
		{"problems with a hint", withHint(problems.Err(), "do this"), 1, "error: wrong [a/b]\nhint: do this\n"},
		{"said already", &exitError{code: 1}, 1, ""},
		{"own code", &exitError{3, "stale"}, 3, "stale\n"},
		{"usage", usagef("no %s", "way"), 2, "usage: cfn [OPTION …]\ncfn: error: no way\n"},
		{"downstream", &downstreamError{withHint(errors.New("AccessDenied"), "ask")}, 2, "error: AccessDenied\nhint: ask\n"},
		{"bug", bugError{err: errors.New("no such state")}, 127,
			"=== This is a bug in cfn ===\nno such state\n---\nYour project is not at fault. Please report it at https://github.com/formwork-dev/formwork/issues with\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			c := &app{Env: &Env{Stderr: &out, Version: "1.2.3"}}
			c.discardLog()
			cmd := &cobra.Command{Use: "cfn"}
			cmd.Flags().BoolP("help", "h", false, "")
			code := c.report(cmd, test.err, []string{"validate"})
			if got := out.String(); code != test.code || !strings.HasPrefix(got, test.stderr) || test.stderr == "" && got != "" {
				t.Errorf("code %d, want %d; stderr\n%s", code, test.code, got)
			}
		})
	}
}

// panicReader stands for a bug in the code of a command.
type panicReader struct{ io.Writer }

func (panicReader) Write([]byte) (int, error) { panic("the impossible happened") }

func TestPanicIsReportedAsABug(t *testing.T) {
	dir := t.TempDir()
	var errs strings.Builder
	code := Main(t.Context(), Env{Stdout: panicReader{}, Stderr: &errs, Dir: dir, Version: "1.2.3"}, []string{"completion", "bash"})
	got := errs.String()
	for _, part := range []string{"the impossible happened", "version: cfn 1.2.3 (go", "command: cfn completion bash", "trace:\n"} {
		if code != 127 || !strings.Contains(got, part) {
			t.Errorf("code %d, stderr lacks %q:\n%s", code, part, got)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestResultThatCannotBeWritten(t *testing.T) {
	var errs strings.Builder
	code := Main(t.Context(), Env{Stdout: fullDisk{}, Stderr: &errs, Dir: t.TempDir(), Version: "1.2.3"}, []string{"completion", "fish"})
	if code != exitFailure || !strings.Contains(errs.String(), "no space left on device") {
		t.Errorf("code %d, stderr %q", code, errs.String())
	}
	errs.Reset()
	code = Main(t.Context(), Env{Stdout: fullDisk{}, Stderr: &errs, Dir: t.TempDir(), Version: "1.2.3"}, nil)
	if code != exitFailure || errs.String() != "error: write the result: no space left on device\n" {
		t.Errorf("code %d, stderr %q", code, errs.String())
	}
}

func TestInterruptedCommand(t *testing.T) {
	dir := t.TempDir()
	if code, _, stderr := runMain(t.Context(), dir, nil, "init", "-a", "r", "-t", "Acme::Foo::Bar", "go", "-p", "example.com/bar"); code != 0 {
		t.Fatal(stderr)
	}
	if err := os.Remove(filepath.Join(dir, "Makefile")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "cmd", "main.go")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, stdout, stderr := runMain(ctx, dir, nil, "generate")
	if code != exitInterrupted || stderr != "interrupted\n" || stdout != "" {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "cmd", "main.go")); !os.IsNotExist(err) {
		t.Error("the file was written")
	}
}

func TestInterruptedInitLeavesNothing(t *testing.T) {
	for name, args := range map[string][]string{
		"while asking":  {"init", "--project", "p"},
		"while writing": {"init", "--project", "p", "-a", "r", "-t", "Acme::Foo::Bar", "go", "-p", "example.com/bar"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			stdin, typing := io.Pipe()
			defer typing.Close()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			code, _, stderr := runMain(ctx, dir, stdin, args...)
			if code != exitFailure || stderr != "\naborted\n" {
				t.Errorf("code %d, stderr %q", code, stderr)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("the folder holds %v, %v", left, err)
			}
		})
	}
}

func TestLogHoldsNoSecret(t *testing.T) {
	dir := t.TempDir()
	c := &app{Env: &Env{Stderr: io.Discard, Dir: dir, Environ: []string{"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI"}}}
	if err := os.WriteFile(filepath.Join(dir, ".rpdk-config"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.start(&cobra.Command{Use: "invoke"}); err != nil {
		t.Fatal(err)
	}
	c.log.Hide(secret.Configuration, "hunter2!")
	c.logger.Debug("request", "payload", `{"desired": {"Password": "x", "Pin": "hunter2!"}, "key": "wJalrXUtnFEMI"}`)
	c.closeLog()
	text, err := os.ReadFile(filepath.Join(dir, "rpdk.log"))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text); strings.Contains(got, "hunter2") || strings.Contains(got, "wJalr") || strings.Contains(got, `"x"`) || !strings.Contains(got, "request") {
		t.Errorf("the log is\n%s", got)
	}
}

// BenchmarkVersion is the time from Main's start to its end, without that of the process.
func BenchmarkVersion(b *testing.B) {
	for b.Loop() {
		if code, _, _ := runMain(b.Context(), "/", nil, "--version"); code != 0 {
			b.Fatal(code)
		}
	}
}

// BenchmarkGenerate is a run on a project that is up to date.
func BenchmarkGenerate(b *testing.B) {
	dir := b.TempDir()
	if code, _, stderr := runMain(b.Context(), dir, nil, "init", "-a", "r", "-t", "Acme::Foo::Bar", "go", "-p", "example.com/bar"); code != 0 {
		b.Fatal(stderr)
	}
	for b.Loop() {
		if code, _, stderr := runMain(b.Context(), dir, nil, "generate"); code != 0 {
			b.Fatal(stderr)
		}
	}
}
