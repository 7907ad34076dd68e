package cli

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/authoring/build"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
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
	port := build.DebugPortOf(p.Language)
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
	return &lambda.Debug{Address: address, Listening: port.Listening, Started: func(pid int) {
		fmt.Fprintf(c.Stderr, "process %d waits for a debugger: %s\n", pid, fmt.Sprintf(port.Attach, address))
	}}, nil
}

// portOf is the port at which handlers wait, 0 for any free one.
func (o *handlerOptions) portOf(port *build.DebugPort) int {
	if o.debugPort < 0 {
		return port.Usual
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
	if port := build.DebugPortOf(p.Language); port != nil && o.debug && o.debugPort != 0 {
		other.debugPort = o.portOf(port) + 1
		if _, err := freeAddress(other.debugPort); err != nil {
			other.debugPort = 0
		}
	}
	return &other
}
