package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path"
	"runtime"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// A debugPort is how handlers in one language wait for a debugger: they listen at a port.
type debugPort struct {
	usual     int    // the port that debuggers of this language use
	listening string // what a process prints when it listens
	attach    string // how a debugger is attached to the address %s
}

var (
	pythonDebugPort = &debugPort{5678, "Listening for debugpy at ", `attach a client of debugpy, such as VS Code, to %s`}
	nodeDebugPort   = &debugPort{9229, "Debugger listening on ", "node inspect %s"}
	javaDebugPort   = &debugPort{5005, "Listening for transport dt_socket at address: ", "jdb -attach %s"}
)

// debugFlags adds the options for debuggers.
func (o *handlerOptions) debugFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.debug, "debug", false, "disable time limits, and wait for a debugger before the first call")
	flags.IntVar(&o.debugPort, "debug-port", -1, "the port `N` at which handlers in Python, TypeScript and Java wait for the debugger (default: 5678, 9229 or 5005); 0 selects a free port")
	flags.Lookup("debug-port").DefValue = "0" // which the help leaves out
	annotate(flags, addition, "debug", "debug-port")
}

// checkDebug checks the options for debuggers.
func (o *handlerOptions) checkDebug() error {
	switch {
	case o.debugPort >= 0 && !o.debug:
		return usagef("option --debug-port: only allowed with --debug")
	case o.debugPort > 65535:
		return usagef("option --debug-port: %d is not a port: expected 0 to 65535", o.debugPort)
	}
	return nil
}

// unlimited removes the time limits of an operation whose handlers somebody debugs.
func (o *handlerOptions) unlimited(config *invoke.Config) {
	if o.debug {
		config.CallTimeout, config.Timeout = -1, -1
	}
}

// debugged is how a function of a project waits for a debugger, nil without --debug. The handlers
// of Go, and programs of the provided runtimes, wait until one attaches to their process.
func (o *handlerOptions) debugged(c *app, p *project.Project) (*lambda.Debug, error) {
	language := languageOf(p.Language)
	port := language.debug
	switch {
	case !o.debug:
		return nil, nil
	case port == nil && o.debugPort >= 0:
		return nil, withHint(errors.New("--debug-port is for handlers in Python, TypeScript and Java"),
			"leave it out: debuggers attach to the process, whose ID is printed")
	case port == nil:
		return &lambda.Debug{WaitForDebugger: runtime.GOOS == "linux" || runtime.GOOS == "darwin", Started: func(pid int) {
			fmt.Fprintf(c.Stderr, "process %d waits for a debugger: dlv attach %d\n", pid, pid)
		}}, nil
	}
	number := o.portOf(port)
	address, err := freeAddress(number)
	if err != nil {
		return nil, withHint(fmt.Errorf("the handlers cannot wait for a debugger at port %d: %w", number, err), "pass another port, or 0 for a free one: --debug-port N")
	}
	return &lambda.Debug{Address: address, Listening: port.listening, Started: func(pid int) {
		fmt.Fprintf(c.Stderr, "process %d waits for a debugger: %s\n", pid, fmt.Sprintf(port.attach, address))
	}}, nil
}

// portOf is the port at which handlers wait, 0 for any free one.
func (o *handlerOptions) portOf(port *debugPort) int {
	if o.debugPort < 0 {
		return port.usual
	}
	return o.debugPort
}

// freeAddress is an address of this machine at which nothing listens.
func freeAddress(port int) (string, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// beside are the options for the other function of the same server, which waits at the next port.
func (o *handlerOptions) beside(p *project.Project) *handlerOptions {
	other := *o
	if port := languageOf(p.Language).debug; port != nil && o.debug && o.debugPort != 0 {
		other.debugPort = o.portOf(port) + 1
		if _, err := freeAddress(other.debugPort); err != nil {
			other.debugPort = 0
		}
	}
	return &other
}

// debugpyWork installs debugpy if a project has none.
var debugpyWork = pipWork{what: []string{"debugpy>=1.8,<2"}, shown: "debugpy", named: "debugpy, the debugger of Python,"}

// debugpy returns the folder to find debugpy in, "" if the handlers find it by themselves. It is
// installed once, if neither the libraries nor the interpreter have it.
func (c *app) debugpy(ctx context.Context, p *project.Project, python, libraries string, noBuild bool) (string, error) {
	probe := exec.CommandContext(ctx, python, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('debugpy') is None)")
	probe.Dir, probe.Env = p.Path("src"), append(slices.Clone(c.Environ), "PYTHONPATH="+libraries)
	lambda.EndWithDescendants(probe)
	if probe.Run() == nil {
		return "", nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	const hint = "install it yourself: python -m pip install debugpy, or add debugpy to " + requirementsFile
	name := pythonDir + "/debugger-" + librariesSum(python, debugpyWork.what[0])
	if exists(p.Path(name)) {
		return p.Path(name), nil
	}
	if noBuild {
		return "", withHint(errors.New("debugpy, the debugger of Python, is not installed"), "leave out --no-build, and cfn installs it; or %s", hint)
	}
	if err := c.pipInstall(ctx, p, python, p.Path(name), debugpyWork); err != nil {
		if ctx.Err() == nil {
			return "", withHint(err, "%s", hint)
		}
		return "", err
	}
	c.removeOldLibraries(p, path.Base(name))
	return p.Path(name), nil
}
