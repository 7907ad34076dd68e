package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	neturl "net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/build"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/envvar"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// The functions of a project, as template.yml names them.
const (
	typeFunction   = "TypeFunction"
	testEntrypoint = "TestEntrypoint"
)

func newStartLambda(c *app) *cobra.Command {
	var opts struct {
		host               string
		port               int
		watch, allowRemote bool
	}
	local := &handlerOptions{}
	cmd := &cobra.Command{
		Use:   "start-lambda",
		Short: "Serve the handlers of the project like a local AWS Lambda",
		Long: `Run the handlers of the project as local processes and serve them with the Invoke API of AWS Lambda,
like "sam local start-lambda" but without containers. The functions are TypeFunction and
TestEntrypoint, at http://127.0.0.1:3001. Call them from the AWS CLI, the SDKs, the official
CloudFormation CLI, or cfn test and cfn invoke with --endpoint.

The output of the handlers is written to standard error. Ctrl-C stops the server and all processes.

The project is built first if a source has changed, and with --watch again whenever one changes. With
--debug, the processes wait for a debugger before the first call; those of TestEntrypoint at the next port.`,
		Example: `  cfn start-lambda --watch
  aws lambda invoke --endpoint-url http://127.0.0.1:3001 --no-sign-request \
      --function-name TypeFunction --payload fileb://event.json out.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ip := net.ParseIP(opts.host)
			if !opts.allowRemote && (opts.host == "" || ip != nil && !ip.IsLoopback()) {
				return withHint(fmt.Errorf("--host %s: other machines could run the functions without authentication", opts.host),
					"listen on 127.0.0.1, or pass --allow-remote to allow this")
			}
			p, s, err := c.loadProject(cmd.Context())
			if err != nil {
				return err
			}
			if p.Kind == schema.Module {
				return errors.New("a module has no handlers")
			}
			if err := c.updateSources(cmd.Context(), p, s, local.noBuild); err != nil {
				return err
			}
			return c.startLambda(cmd.Context(), p, local, lambda.ServerConfig{
				Address: net.JoinHostPort(opts.host, strconv.Itoa(opts.port)), AllowRemote: opts.allowRemote, Logger: c.logger,
			}, opts.watch)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.host, "host", "127.0.0.1", "the `ADDRESS` to listen on")
	flags.IntVar(&opts.port, "port", 3001, "the port `N` to listen on; 0 selects a free port")
	flags.BoolVar(&opts.watch, "watch", false, "rebuild and restart when a source changes")
	flags.BoolVar(&opts.allowRemote, "allow-remote", false, "let other machines run the handlers, without authentication")
	flags.StringVar(&local.region, "region", invoke.DefaultRegion, "the `NAME` of the region in the environment of the handlers")
	local.flags(cmd)
	return cmd
}

// handlerOptions are the options of the commands that run handlers.
type handlerOptions struct {
	endpoint, functionName, region, profile string
	dockerImage                             string

	env       []string // --env
	noBuild   bool
	debug     bool
	debugPort int // -1: the usual one of the language
	sandbox   sandboxOptions
}

// flags adds the options that the official tool does not have.
func (o *handlerOptions) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&o.env, "env", nil, "pass the environment variable `NAME[=VALUE]` to the handlers (may be repeated)")
	flags.BoolVar(&o.noBuild, "no-build", false, "run what was built before, without checking whether it is up to date")
	o.sandbox.flags(flags)
	o.debugFlags(flags)
	annotate(flags, addition, "env", "no-build", "sandbox", "mount", "network", "reach")
}

// official adds the options that cfn invoke and cfn test share with the official tool.
func (o *handlerOptions) official(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&o.endpoint, "endpoint", "", "call the handlers at the Lambda endpoint `URL` (default: run the handlers of the project)")
	flags.StringVar(&o.functionName, "function-name", typeFunction, "the `NAME` of the function to call")
	flags.StringVar(&o.region, "region", invoke.DefaultRegion, "the `NAME` of the region that handlers receive")
	flags.StringVar(&o.profile, "profile", "", "pass the credentials of the AWS profile `NAME` to the handlers")
}

// checkDocker refuses containers.
func (o *handlerOptions) checkDocker() error {
	if o.dockerImage == "" {
		return nil
	}
	if o.endpoint != "" || o.functionName != typeFunction {
		return &exitError{exitFailure, "Cannot specify both --docker-image and --endpoint or --function-name"}
	}
	return withHint(errors.New("--docker-image is not supported: cfn runs handlers as local processes and never starts a container"),
		"remove the option, or start the container yourself and pass its Lambda endpoint with --endpoint")
}

// function opens the handlers of a project. Without --endpoint they run as local
// processes, which close ends. output, if not nil, receives what local handlers write.
func (o *handlerOptions) function(ctx context.Context, c *app, p *project.Project, s *schema.Schema, aws *invoke.AWS, output io.Writer) (f invoke.Function, close func(), err error) {
	url := o.endpoint
	if url == "" && !project.KnownLanguage(p.Language) {
		return nil, nil, withHint(&project.UnknownLanguageError{Language: p.Language},
			`fix "language" in %s, or start your own Lambda endpoint and pass --endpoint URL`, p.Name(project.SettingsFile))
	}
	if url != "" {
		if err := invoke.CheckLocal(c.Getenv, url); err != nil {
			return nil, nil, err
		}
		endpoint := &lambda.Endpoint{
			URL: url, FunctionName: o.functionName, Region: o.region, Credentials: aws.SDK.Credentials, Timeout: -1,
			// cfn serve reads the account and the region from the signature. Calls over the
			// network without TLS are not signed: a session token is part of the signature.
			Sign:    onThisMachine(url),
			LogTail: strings.HasPrefix(url, "https://"), // the local endpoints of others refuse to
		}
		return logged{endpoint}, func() {}, nil
	}
	if o.functionName != typeFunction && o.functionName != testEntrypoint {
		return nil, nil, withHint(fmt.Errorf("unknown function %q: the project has %s and %s", o.functionName, typeFunction, testEntrypoint),
			"pass --endpoint URL with the Lambda endpoint of the function")
	}
	if err := c.updateSources(ctx, p, s, o.noBuild); err != nil {
		return nil, nil, err
	}
	config, err := o.config(ctx, c, p, o.functionName)
	if err != nil {
		return nil, nil, err
	}
	config.AccountID, config.Output = aws.AccountID, output
	o.sandbox.note(c, config.Sandbox)
	c.warnUnseen(&config)
	function, err := lambda.Start(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	return logged{function}, func() { function.Close() }, nil
}

// onThisMachine reports whether an endpoint is one of this machine.
func onThisMachine(endpoint string) bool {
	u, err := neturl.Parse(endpoint)
	return err == nil && invoke.Loopback(u.Hostname())
}

// ownEndpoint is what there is to do for handlers that cfn cannot start.
const ownEndpoint = "start them yourself as a Lambda endpoint, for example with sam local start-lambda, and name it if it is elsewhere: --endpoint URL"

// config describes a local function of the project, built if need be.
func (o *handlerOptions) config(ctx context.Context, c *app, p *project.Project, name string) (lambda.Config, error) {
	if name == testEntrypoint {
		test := *p
		test.Entrypoint = cmp.Or(p.TestEntrypoint, p.Entrypoint)
		p = &test
	}
	debugger, err := o.debugged(c, p)
	if err != nil {
		return lambda.Config{}, err
	}
	config, err := c.tools().Run(ctx, p, build.Options{NoBuild: o.noBuild, Debug: o.debug, Debugger: debugger})
	if err != nil {
		return lambda.Config{}, err
	}
	config.Debug = debugger
	config.Name, config.Region, config.Environ, config.Logger = name, o.region, c.Environ, c.logger
	if config.Sandbox, err = o.sandbox.settings(c, p.Dir); err != nil {
		return config, err
	}
	config.Env = append(config.Env, "AWS_SAM_LOCAL=true") // as in sam local start-lambda, in which the official tool has handlers run
	if name == testEntrypoint {
		config.Env = append(config.Env, "MODE=Test")
	}
	given, err := c.handedOn("--env", o.env)
	config.Env, config.Sandbox.Environ = append(config.Env, given...), given
	return config, err
}

// handedOn is the variables NAME=VALUE that an option names for handlers. One without a
// value is taken from the environment of cfn; it is an error if it is not set there.
func (c *app) handedOn(option string, entries []string) ([]string, error) {
	out := make([]string, 0, len(entries))
	for _, entry := range entries {
		name, _, given := strings.Cut(entry, "=")
		if name == "" {
			return nil, usagef("option %s: expected NAME=VALUE, or the NAME of a variable that is set", option)
		}
		if given {
			out = append(out, entry)
			continue
		}
		value, set := envvar.Lookup(c.Environ, name)
		if !set {
			return nil, &usageError{message: fmt.Sprintf("option %s: the variable %s is not set", option, name), hint: fmt.Sprintf("set it, or pass its value: %s %s=VALUE", option, name)}
		}
		out = append(out, name+"="+value)
	}
	return out, nil
}

// startLambda serves the functions until ctx ends.
func (c *app) startLambda(ctx context.Context, p *project.Project, o *handlerOptions, config lambda.ServerConfig, watch bool) error {
	if !project.KnownLanguage(p.Language) {
		return withHint(&project.UnknownLanguageError{Language: p.Language}, `fix "language" in %s`, p.Name(project.SettingsFile))
	}
	if !build.RunsHere(p) {
		return withHint(fmt.Errorf("cfn cannot start handlers in %s: it runs handlers in Go, Python, TypeScript and Java, and programs for the provided runtimes", p.Language),
			"start them yourself, for example with sam local start-lambda; cfn test and cfn invoke then call them at http://%s, or at --endpoint URL", lambda.DefaultAddress)
	}
	if err := o.checkDebug(); err != nil {
		return err
	}
	handler := &lambda.Handler{Functions: map[string]lambda.Invoker{}, Region: o.region, Logger: c.logger}
	config.Handler = handler
	server, err := lambda.Listen(config)
	if err != nil {
		return err
	}
	defer server.Close()                                              // closed already if it has served
	if _, port, err := net.SplitHostPort(server.Addr()); err == nil { // the handlers may call each other
		o.sandbox.reach = append(o.sandbox.reach, net.JoinHostPort("127.0.0.1", port))
	}
	var functions []*lambda.Function
	var waiting sync.WaitGroup
	defer func() {
		for _, f := range functions {
			f.Close()
		}
		waiting.Wait()
	}()
	options := o
	for _, name := range []string{typeFunction, testEntrypoint} {
		if name == testEntrypoint {
			options = o.beside(p)
		}
		function, err := options.config(ctx, c, p, name)
		if err != nil {
			return err
		}
		if len(functions) == 0 {
			o.sandbox.note(c, function.Sandbox)
			c.warnUnseen(&function)
		}
		function.Output = c.Stderr
		function.Lazy = name == testEntrypoint || o.debug // rarely called; a process that waits for a debugger is not ready
		f, err := lambda.Start(ctx, function)
		if err != nil {
			return err
		}
		functions = append(functions, f)
		handler.Functions[name] = f
	}
	fmt.Fprintf(c.Stdout, "Serving the functions %s and %s at %s (press Ctrl-C to end)\n", typeFunction, testEntrypoint, server.URL())
	wait := func() {
		if o.debug { // start a process that a debugger can attach to
			waiting.Go(func() { c.warm(ctx, functions[0]) })
		}
	}
	wait()
	watched := make(chan error, 1)
	watching, stop := context.WithCancel(ctx)
	go func() { watched <- c.watch(watching, p, o, functions, watch, wait) }()
	err = server.Serve(ctx)
	stop()
	return errors.Join(err, <-watched)
}

// warm starts a process before the first call. Without one, the first call reports the failure, too.
func (c *app) warm(ctx context.Context, f *lambda.Function) {
	if err := f.Warm(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, lambda.ErrClosed) {
		fmt.Fprintf(c.Stderr, "error: %v\n", err)
	}
}

// watch builds the project again when a source changes, and then calls renewed.
func (c *app) watch(ctx context.Context, p *project.Project, o *handlerOptions, functions []*lambda.Function, on bool, renewed func()) error {
	if !on {
		return nil
	}
	config, known := c.tools().Watch(p, build.Options{Debug: o.debug})
	if !known {
		return fmt.Errorf("--watch requires a Go project: cfn cannot build handlers in %s", p.Language)
	}
	config.Renew = functions
	config.Report = func(b lambda.Build) {
		if b.Err != nil {
			fmt.Fprintf(c.Stderr, "%s changed; the handlers do not build, those of before go on:\n%s\n", strings.Join(b.Changed, ", "), strings.TrimRight(b.Output, "\n"))
			return
		}
		fmt.Fprintf(c.Stderr, "%s changed; built in %s\n", strings.Join(b.Changed, ", "), b.Duration.Round(time.Millisecond))
		renewed()
	}
	return lambda.Watch(ctx, config)
}

// logged is a function whose log comes with each reply.
type logged struct{ lambda.Invoker }

func (l logged) Call(ctx context.Context, payload []byte) ([]byte, error) {
	reply, _, err := l.CallLogged(ctx, payload)
	return reply, err
}

// CallLogged leaves out of the log what Lambda adds to it.
func (l logged) CallLogged(ctx context.Context, payload []byte) (reply, log []byte, err error) {
	result, err := l.Invoke(ctx, payload)
	var kept strings.Builder
	for line := range strings.Lines(string(result.Log)) {
		if !lambda.IsFrame(line) && !strings.HasPrefix(line, result.RequestID+" ") {
			kept.WriteString(line)
		}
	}
	if err != nil {
		return nil, []byte(kept.String()), err
	}
	return result.Payload, []byte(kept.String()), nil
}
