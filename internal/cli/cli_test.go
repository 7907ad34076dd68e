package cli

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/term"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

var update = flag.Bool("update", false, "rewrite the golden parts of the scripts")

// TestMain lets the scripts run cfn in the test binary's own process.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"cfn": func() {
			ctx, stop := Signals(context.Background())
			dir, err := os.Getwd()
			if err != nil {
				panic(err)
			}
			code := Main(ctx, Env{
				Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
				Terminal: Terminal{Stdin: isTerminal(os.Stdin), Stdout: isTerminal(os.Stdout), Stderr: isTerminal(os.Stderr)},
				Environ:  os.Environ(), Dir: dir, Version: "0.1.0-dev",
			}, os.Args[1:])
			stop()
			os.Exit(code)
		},
	})
}

func isTerminal(file *os.File) bool { return term.IsTerminal(int(file.Fd())) }

// TestScripts runs testdata/*.txtar: <command>_<aspect>.txtar, one aspect each. With
// -update, what "cmp stdout", "cmp stderr" and "cmp" compare with is rewritten.
//
// The scripts have the variables REPO, the folder of this module, and CFN, the path of
// the program for scripts that change PATH, and the command
//
//	exitcode N cfn ARGS…	runs cfn, which must end with this exit code
//	aws VERB ARGS…	a stand-in for AWS: see awsCommand
//	local [PATTERN…]	starts a local CloudFormation, which simulates types, and sets the environment for it
func TestScripts(t *testing.T) {
	folder, err := os.Getwd() // that of the package
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "CGO_ENABLED"} {
				if value := goEnv(name); value != "" {
					env.Setenv(name, value)
				}
			}
			env.Setenv("FORMWORK_CLIENTS", os.Getenv("FORMWORK_CLIENTS")) // may be empty
			// The same sources in folders of other names are not compiled again.
			env.Setenv("GOFLAGS", strings.TrimSpace(env.Getenv("GOFLAGS")+" -trimpath"))
			env.Setenv("REPO", filepath.Dir(filepath.Dir(folder)))
			env.Setenv("TERM", "dumb")
			env.Setenv("CFN", filepath.Join(strings.Split(env.Getenv("PATH"), string(filepath.ListSeparator))[0], "cfn"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "sandbox" {
				return false, fmt.Errorf("unknown condition %s", name)
			}
			return sandbox.Check() == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode": exitCode,
			"aws":      awsCommand(),
			"local":    localCloudFormation,
			"upload":   upload,
			"policy":   policy,
		},
	})
}

// exitCode runs a program of the script and compares how it ends.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N PROGRAM ARGS…")
	}
	want, program := args[0], args[1:]
	got := "0"
	if err := ts.Exec(program[0], program[1:]...); err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != want {
		ts.Fatalf("%s: exit code %s, want %s", strings.Join(program, " "), got, want)
	}
}
