package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/builtin"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/running/simulate"
	"github.com/formwork-dev/formwork/internal/services/awslite"
	"github.com/formwork-dev/formwork/local"
)

const serveLong = `Run a local CloudFormation: types with versions, tests, publishing, activation and
configuration, handlers running as local processes, stacks and change sets of these types, the
Cloud Control API, and what clients and handlers need around it (S3, STS, Systems Manager
parameters, Secrets Manager, CloudWatch Logs, SNS, Step Functions, Lambda Invoke).

To use it with the aws CLI, the SDKs and cfn, set the variables that cfn env prints:

  eval "$(cfn env)"

The state is kept in the folder of --data, or with --database in PostgreSQL, which several servers can
share. By default, signatures of requests are not checked and only this machine can connect. With
--auth, signatures are checked and the server can listen on any address. Handlers of registered types
run as the user of cfn serve, without its environment; --handler-env NAME[=VALUE] sets variables for
them. Ctrl-C stops the server and all handlers.

With a COMMAND, the server runs until the command exits, by default on a free port and without keeping
any state. The COMMAND runs with the variables of cfn env, and cfn serve exits with its exit code. Use
this for tests in CI.

The console is at http://` + defaultServeAddress + `/_cfn; with --auth, the printed URL has a token that signs a
browser in, and cfn console prints a URL for one account. Metrics for Prometheus are at /metrics. If
OTEL_EXPORTER_OTLP_ENDPOINT is set, traces are sent to it.`

// serveOptions are the options of cfn serve.
type serveOptions struct {
	address, lambdaAddress, data, database, region, account, auth      string
	secretsKey, simulateSignals                                        string
	hosts, handlerEnv, simulate, delegate, functions, publicParameters []string
	temporary, infrastructure, runLambda                               bool
	setAdmins, allowHosts, endpoints                                   []string
	proxy                                                              bool
	timeScale                                                          float64
	memoryLimit                                                        string

	sandbox       sandboxOptions
	trustHandlers bool
}

func newServe(c *app) *cobra.Command {
	var opts serveOptions
	cmd := &cobra.Command{
		Use:   "serve [-- COMMAND [ARG ...]]",
		Short: "Run a local CloudFormation for AWS clients",
		Long:  serveLong,
		Example: `  cfn serve
  cfn serve -- aws cloudformation list-types
  cfn serve --database postgres://formwork@db.example/formwork --auth keys.txt --address 0.0.0.0:4566`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 {
				return noArguments(cmd, args)
			}
			if len(args) == 0 {
				return usagef("missing COMMAND after --")
			}
			return nil
		},
		Annotations: map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, command []string) error {
			set := cmd.Flags().Changed
			config, err := opts.config(cmd.Context(), c, set, len(command) > 0)
			if err != nil {
				return err
			}
			config.Docs = c.docsHandler(cmd.Root())
			if len(command) == 0 {
				if opts.proxy {
					return &usageError{message: "option --proxy: only with a COMMAND", hint: "for other programs, cfn env --proxy prints the variables"}
				}
				return c.serve(cmd.Context(), config)
			}
			account := ""
			if set("account") {
				account = opts.account
			}
			return c.serveCommand(cmd.Context(), config, account, opts.proxy, command)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.address, "address", defaultServeAddress, "the `HOST:PORT` to listen on; port 0 selects a free port")
	flags.StringVar(&opts.lambdaAddress, "lambda-address", lambda.DefaultAddress, "the additional `HOST:PORT` for the Invoke API of AWS Lambda, which --address also serves; \"\" for none")
	flags.StringVar(&opts.data, "data", "", "the `DIR` for all data (default: a folder in the user's home)")
	flags.BoolVar(&opts.temporary, "temporary", false, "delete all data when the server stops")
	flags.StringVar(&opts.database, "database", "", "store the state in the PostgreSQL database at the `URL` postgres://…")
	flags.StringVar(&opts.secretsKey, "secrets-key", "", "encrypt secrets with the key in the `FILE`, 64 hexadecimal digits, which all servers of a database need (default: "+local.KeyFile+" in the data folder, created if missing)")
	flags.StringVar(&opts.region, "region", invoke.DefaultRegion, "the `NAME` of the region for requests that do not name one")
	flags.StringVar(&opts.account, "account", lambda.DefaultAccountID, "the account `NUMBER` used when the access key is not an account number")
	flags.StringVar(&opts.auth, "auth", "", "check signatures with the keys in the `FILE`")
	flags.StringArrayVar(&opts.hosts, "host", nil, "accept requests for the host `NAME` and for buckets under it (may be repeated)")
	flags.StringArrayVar(&opts.simulate, "simulate", nil, "simulate imported resource types that match the `PATTERN`, such as AWS::SQS::* (may be repeated)")
	flags.Var(&enum{&opts.simulateSignals, []string{"on", "off"}}, "simulate-signals", "do not wait for signals that only simulated resources could send, `MODE` on (the default) or off")
	flags.StringArrayVar(&opts.publicParameters, "public-parameter", nil, "give a public parameter of Systems Manager a value, `NAME=VALUE`, such as /aws/service/ecs/optimized-ami/amazon-linux-2023/recommended/image_id=ami-0abc (may be repeated)")
	flags.StringArrayVar(&opts.delegate, "delegate", nil, "make resources of AWS types in an emulator that runs on this machine, `PATTERN=URL`, such as AWS::SQS::*=http://127.0.0.1:4567 (may be repeated)")
	flags.BoolVar(&opts.infrastructure, "infrastructure", false, "simulate the types that the stacks of the official cfn submit need: "+strings.Join(simulate.Infrastructure(), ", "))
	flags.StringArrayVar(&opts.functions, "function", nil, "run a function for macros, custom resources and Lambda Invoke, `NAME=DIR|BINARY|URL` (may be repeated)")
	flags.StringSliceVar(&opts.setAdmins, "stack-set-admin", nil, "with --auth, let the stack sets of `ACCOUNT` create stacks in other accounts; repeatable")
	flags.BoolVar(&opts.runLambda, "run-lambda", false, "run the functions of templates as local processes: "+strings.Join(builtin.FunctionTypes(), ", "))
	flags.Float64Var(&opts.timeScale, "time-scale", 1, "divide the callback delays of handlers and the waits between retries by `N`")
	flags.StringVar(&opts.memoryLimit, "memory-limit", "", "the `SIZE` of the memory of the server itself, such as 512MB or 4GB: requests that need much memory are refused while half of it is in use; 0 for no limit (default: a quarter of the machine's memory, 256MB to 2GB)")
	flags.StringArrayVar(&opts.handlerEnv, "handler-env", nil, "set `NAME[=VALUE]` in the environment of registered handlers (may be repeated)")
	flags.StringArrayVar(&opts.allowHosts, "allow-host", nil, "let handlers and other clients of the HTTPS proxy reach the host `NAME`, *.NAME, or * for any (may be repeated)")
	flags.StringArrayVar(&opts.endpoints, "endpoint", nil, "have handlers and the COMMAND call the service at another address, `SERVICE=URL`, such as ec2=http://127.0.0.1:5000 (may be repeated)")
	flags.BoolVar(&opts.proxy, "proxy", false, "set the variables of cfn env --proxy for the COMMAND")
	flags.BoolVar(&opts.trustHandlers, "trust-handlers", false, "with --auth, run the handlers of several accounts even if nothing keeps their code from each other's calls")
	opts.sandbox.flags(flags)
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// maxTimeScale is the largest value of --time-scale: an hour becomes a millisecond and a
// half.
const maxTimeScale = 1e6

func validTimeScale(n float64) bool { return n >= 1 && n <= maxTimeScale } // false for NaN

func badTimeScale(n float64) error {
	return usagef("option --time-scale: expected a number from 1 to %g but got %g", maxTimeScale, n)
}

// config converts the options to a configuration; set reports which were given. A server for a
// command has other defaults: any free port, no second one, and no stored data.
func (o *serveOptions) config(ctx context.Context, c *app, set func(string) bool, forCommand bool) (local.ServerConfig, error) {
	config := local.ServerConfig{
		Address: o.address, LambdaAddress: o.lambdaAddress, LambdaOptional: !set("lambda-address"),
		Config: local.Config{
			Database: o.database, Region: o.region, Account: o.account, Hosts: o.hosts, Simulate: o.simulate, Delegate: o.delegate, AwaitSignals: o.simulateSignals == "off", TimeScale: o.timeScale, RunLambda: o.runLambda, StackSetAdmins: o.setAdmins,
			AllowHosts: o.allowHosts, Endpoints: o.endpoints, Version: c.Version, Environ: c.Environ, Logger: c.serverLog(),
		},
	}
	if o.infrastructure {
		for _, name := range simulate.Infrastructure() {
			if !slices.Contains(config.Simulate, name) {
				config.Simulate = append(config.Simulate, name)
			}
		}
	}
	if err := checkPlace(o.account, o.region); err != nil {
		return config, err
	}
	if o.database != "" && !strings.HasPrefix(o.database, "postgres://") && !strings.HasPrefix(o.database, "postgresql://") {
		return config, usagef("option --database: expected postgres://USER@HOST/DATABASE") // it may hold a password
	}
	if !validTimeScale(o.timeScale) {
		return config, badTimeScale(o.timeScale)
	}
	if o.temporary && (o.data != "" || o.database != "") {
		return config, usagef("option --temporary: not allowed with --data or --database")
	}
	var err error
	if config.PublicParameters, err = publicParameters(o.publicParameters); err != nil {
		return config, err
	}
	if config.Functions, err = c.namedFunctions(o.functions); err != nil {
		return config, err
	}
	temporary := o.temporary
	if forCommand {
		temporary = o.data == "" && o.database == ""
		if !set("address") {
			config.Address = "127.0.0.1:0"
		}
		if !set("lambda-address") {
			config.LambdaAddress = ""
		}
	}
	if config.HandlerEnv, err = c.handedOn("--handler-env", o.handlerEnv); err != nil {
		return config, err
	}
	if err := o.sandbox.serve(c, "", &config.Config); err != nil {
		return config, err
	}
	if !temporary {
		if config.Dir, err = c.dataFolder(o.data); err != nil {
			return config, err
		}
	}
	if config.MemoryLimit, err = memoryLimit(o.memoryLimit); err != nil {
		return config, err
	}
	if o.secretsKey != "" {
		config.SecretsKey = c.path(o.secretsKey)
	}
	config.TrustHandlers = o.trustHandlers
	if o.trustHandlers && o.auth == "" {
		return config, usagef("option --trust-handlers: only with --auth")
	}
	if o.auth != "" {
		config.KeysName = o.auth
		config.Keys, err = c.keyFile(ctx, o.auth)
	}
	return config, err
}

// publicParameters are the values of --public-parameter by name.
func publicParameters(given []string) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range given {
		name, value, _ := strings.Cut(text, "=")
		if err := awslite.CheckPublicParameter(name, value); err != nil {
			return nil, usagef("option --public-parameter: %v", err)
		}
		if _, twice := out[name]; twice {
			return nil, usagef("option --public-parameter: duplicate name %s", name)
		}
		out[name] = value
	}
	return out, nil
}

// namedFunctions are the functions of --function, with absolute paths.
func (c *app) namedFunctions(given []string) ([]string, error) {
	var out []string
	seen := map[string]bool{}
	for _, text := range given {
		n, err := handlers.ParseNamed(text, c.Dir)
		if err != nil {
			return nil, usagef("option --function: %v", err)
		}
		if seen[n.Name] {
			return nil, usagef("option --function: duplicate name %s", n.Name)
		}
		seen[n.Name] = true
		out = append(out, n.String())
	}
	return out, nil
}

// serve runs the server until the context ends.
func (c *app) serve(ctx context.Context, config local.ServerConfig) error {
	defer collectWithin(config.MemoryLimit)()
	server, err := local.Listen(ctx, config)
	if err != nil {
		return serveHint(err, config.LambdaAddress)
	}
	for _, note := range server.Notes() {
		fmt.Fprintf(c.Stderr, "warning: %s\n", note)
	}
	for _, shown := range server.Shown() {
		c.notef("note: %s\n", shown)
	}
	kept := config.Dir
	switch {
	case config.Database != "":
		kept = "PostgreSQL; packages' files in " + config.Dir
	case config.Dir == "":
		kept = "nothing is kept"
	}
	if c.format == "json" {
		// One line, for scripts that wait for it.
		ready, err := json.Marshal(struct {
			Endpoint string `json:"endpoint"`
			Console  string `json:"console"` // with the token to sign in, if there is one
			Lambda   string `json:"lambda"`  // may be ""
			Region   string `json:"region"`
			Account  string `json:"account"`
			Data     string `json:"data"` // "" if nothing is kept
			PID      int    `json:"pid"`

			TimeScale float64  `json:"timeScale"` // delays are divided by it
			Simulate  []string `json:"simulate"`  // patterns of types; may be null
			Delegate  []string `json:"delegate"`  // patterns of types with the URLs of emulators; may be null
			Limits    string   `json:"limits"`    // how those of handlers are enforced
		}{server.URL(), server.ConsoleURL(), server.LambdaURL(), config.Region, config.Account, config.Dir, os.Getpid(), config.TimeScale, config.Simulate, config.Delegate, server.Limits()})
		if err != nil {
			return errors.Join(err, server.Close())
		}
		c.printf("%s\n", ready)
	} else {
		c.printf("Local CloudFormation at %s, region %s, account %s\n", server.URL(), config.Region, config.Account)
		c.printf("  console   %s\n", server.ConsoleURL())
		if server.LambdaURL() != "" {
			c.printf("  functions %s\n", server.LambdaURL())
		}
		c.printf("  data      %s\n", kept)
		if config.TimeScale > 1 {
			c.printf("  delays    divided by %g\n", config.TimeScale)
		}
		simulated, err := server.Simulated(ctx)
		if err != nil {
			return errors.Join(err, server.Close())
		}
		for _, line := range simulated {
			c.printf("  simulated %s\n", line)
		}
		if len(config.Delegate) > 0 {
			c.printf("  delegated %s\n", strings.Join(config.Delegate, ", "))
		}
		env := "cfn env"
		if server.URL() != "http://"+defaultServeAddress {
			env += " --endpoint " + server.URL()
		}
		if config.Keys != nil {
			env += " --auth " + shellQuote(config.KeysName)
		}
		c.printf("To use it, run in another terminal: eval \"$(%s)\"\nPress Ctrl-C to stop.\n", env)
	}
	if err := server.Serve(ctx); err != nil {
		return err
	}
	c.notef("stopped\n")
	return nil
}

// commandEnviron is the environment with variables in place of others; an empty value removes one.
func (c *app) commandEnviron(variables []variable) []string {
	environ := slices.Clone(c.Environ)
	for _, v := range variables {
		environ = slices.DeleteFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, v.name+"=") })
		if v.value != "" {
			environ = append(environ, v.name+"="+v.value)
		}
	}
	return environ
}

// serveCommand runs a command with the server, as an account; "" means that of
// the server, or of the first key.
func (c *app) serveCommand(ctx context.Context, config local.ServerConfig, account string, proxied bool, args []string) error {
	program, err := c.program(args[0])
	if err != nil {
		return err
	}
	who := accessKey{config.Account, dummySecret}
	if config.Keys != nil {
		if who, err = keyOf(config.Keys, config.KeysName, account); err != nil {
			return err
		}
	}
	server, err := local.Listen(ctx, config)
	if err != nil {
		return serveHint(err, config.LambdaAddress)
	}
	defer collectWithin(config.MemoryLimit)()
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	served := make(chan error, 1)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		err := server.Serve(serving)
		if err != nil {
			cancel(err) // the command would wait for answers that never come
		}
		served <- err
	}()

	command := exec.CommandContext(ctx, program, args[1:]...)
	command.Args[0] = args[0]
	command.Dir, command.Stdin, command.Stdout, command.Stderr = c.Dir, c.Stdin, c.screen, c.errScreen
	command.Env = append(c.commandEnviron(withKey(localVariables(c.Environ, server.URL(), config.Region, config.Account), who)), server.EndpointEnviron()...)
	if proxied {
		own, err := c.proxied(server.ProxyEnviron)
		if err != nil {
			end()
			return errors.Join(err, <-served)
		}
		command.Env = append(command.Env, own...)
	}
	command.Cancel = func() error {
		switch {
		case errors.Is(context.Cause(ctx), errTerminated):
			return command.Process.Signal(syscall.SIGTERM)
		case c.Terminal.Stdin:
			return nil // the terminal has signaled it, too
		}
		return command.Process.Signal(os.Interrupt)
	}
	if !c.Terminal.Stdin { // a person may see that a COMMAND does not end, and do something
		command.WaitDelay = 10 * time.Second
	}
	err = command.Run()
	end()
	if serveErr := <-served; serveErr != nil {
		return serveErr
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return &exitError{code: exit.ExitCode()}
	case errors.As(err, &exit): // by a signal, which shells count from 128
		return &exitError{code: killedCode(exit.ProcessState), message: fmt.Sprintf("%s: %s", args[0], exit.ProcessState)}
	case err != nil:
		return fmt.Errorf("run %s: %w", args[0], err)
	}
	return nil
}

// program finds the program of a command before anything is started for it.
func (c *app) program(name string) (string, error) {
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) {
		name = c.path(name)
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return "", withHint(fmt.Errorf("run %w", bare(errors.Unwrap(err), name)), "put a program and its arguments after --; to run a shell command, use cfn serve -- sh -c '…'")
	}
	return found, nil
}

// killedCode is the exit code of a process that a signal has ended, as shells count it.
func killedCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exitFailure
}

// serverLog is where the server reports what happens: the error stream, warnings only unless
// asked for more, as text or, with --format json, as JSON.
func (c *app) serverLog() *slog.Logger {
	level := slog.LevelWarn
	switch {
	case c.verbose > 1:
		level = slog.LevelDebug
	case c.verbose > 0:
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level}
	if c.format == "json" {
		return slog.New(slog.NewJSONHandler(c.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(c.Stderr, options))
}

// dataFolder is the folder of --data, or the user's own for the state of programs.
func (c *app) dataFolder(given string) (string, error) {
	if given != "" {
		return c.path(given), nil
	}
	base := dataHome(runtime.GOOS, c.Getenv)
	if base == "" {
		return "", withHint(errors.New("cannot find a home folder for the data"), "pass --data DIR, or --temporary to keep no data")
	}
	return filepath.Join(base, "formwork"), nil
}

// dataHome is where programs keep their data on a system.
func dataHome(system string, getenv func(string) string) string {
	return userFolder(system, getenv, "Application Support", "XDG_DATA_HOME", filepath.Join(".local", "share"))
}

// userFolder is a folder for programs in the user's home: the one in Library on macOS; elsewhere, the one that a
// variable names, or the one below the home. It is "" where the environment names no such folder.
func userFolder(system string, getenv func(string) string, library, variable, below string) string {
	home := getenv("HOME")
	switch {
	case system == "windows" && getenv("LOCALAPPDATA") != "":
		return getenv("LOCALAPPDATA")
	case system == "windows" && getenv("USERPROFILE") != "":
		return filepath.Join(getenv("USERPROFILE"), "AppData", "Local")
	case system == "windows":
		return ""
	case system != "darwin" && filepath.IsAbs(getenv(variable)):
		return getenv(variable)
	case home == "":
		return ""
	case system == "darwin":
		return filepath.Join(home, "Library", library)
	}
	return filepath.Join(home, below)
}

// serveHint adds a hint to the error of a server that does not start. lambdaAddress is that of
// the Invoke API, "" if it has none.
func serveHint(err error, lambdaAddress string) error {
	var open *local.ExposedError
	var taken *local.AddressInUseError
	var key *local.OtherKeyError
	var locked *store.LockedError
	switch {
	case errors.As(err, &locked):
		return withHint(err, "pass --data DIR to use another folder, or --temporary to keep no data")
	case errors.As(err, &key) && key.Shared:
		return withHint(err, "copy %s from the data folder of another server of this database to %s, or pass --secrets-key FILE", local.KeyFile, key.Path)
	case errors.As(err, &key):
		return withHint(err, "restore the %s that belongs to this folder, or use another folder: --data DIR", local.KeyFile)
	case errors.As(err, &open):
		return withHint(err, "listen on %s, or pass --auth FILE to check signatures", defaultServeAddress)
	case errors.As(err, &taken) && taken.Address == lambdaAddress:
		return withHint(err, `stop the program that uses it, or pass another address for the Invoke API: --lambda-address 127.0.0.1:0, or --lambda-address "" for none`)
	case errors.As(err, &taken):
		return withHint(err, "stop the program that uses it, or pass another address: --address 127.0.0.1:0 selects a free port")
	}
	return err
}
