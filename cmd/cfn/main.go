// Command cfn develops CloudFormation extensions, offline. Everything it does is in
// internal/cli.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"golang.org/x/term"

	_ "github.com/formwork-dev/formwork/cmd/cfn/collect"
	"github.com/formwork-dev/formwork/internal/cli"
)

// version is set by the linker for a release: -ldflags "-X main.version=1.2.3".
var version string

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := cli.Signals(context.Background())
	defer stop()
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: the working folder is gone: %s\n", err)
		return 1
	}
	terminal := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	return cli.Main(ctx, cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Terminal: cli.Terminal{Stdin: terminal(os.Stdin), Stdout: terminal(os.Stdout), Stderr: terminal(os.Stderr)},
		Environ:  os.Environ(),
		Dir:      dir,
		Version:  releaseVersion(),
	}, os.Args[1:])
}

// releaseVersion is what the linker set, or the version of the module that
// "go install …@v1.2.3" built; every other build is a development build.
func releaseVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		if v, ok := strings.CutPrefix(info.Main.Version, "v"); ok && !strings.ContainsAny(v, "-+") {
			return v
		}
	}
	return "0.1.0-dev"
}
