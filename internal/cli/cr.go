package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/proving/customtest"
	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

func newCustomResource(c *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cr",
		Short: "Write and test handlers of custom resources, and make resource types of them",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.printf("%s", helpText(cmd))
			return nil
		},
		Annotations: map[string]string{"log": "none"},
	}
	cmd.AddCommand(newCustomInit(c), newCustomInvoke(c), newCustomTest(c), newCustomConvert(c))
	return cmd
}

// handlerForms is the part of the help about HANDLER.
const handlerForms = `HANDLER is one of these:

  DIR             a folder with the program bootstrap, with a handler in Python or JavaScript, or with
                  a Go program, which is built first if bootstrap is missing or older than its sources
  BINARY          a program for a provided runtime of AWS Lambda
  FILE            a source in Python or JavaScript with the function handler or lambda_handler
  FILE:FUNCTION   another function of such a source: index.py:main
  URL             a function of a Lambda Invoke API that can reach this machine:
                  http://127.0.0.1:3001/2015-03-31/functions/NAME/invocations

Handlers run as local processes without your environment and with dummy credentials. Pass what they
need with --env: --env TABLE=orders --env AWS_PROFILE.

The ResponseURL is an https URL on this machine. Processes trust its certificate by NODE_EXTRA_CA_CERTS,
SSL_CERT_FILE, REQUESTS_CA_BUNDLE and CURL_CA_BUNDLE; those of Node reach it also at port 443. For a
handler at a URL, and with --http, it is an http URL.`

// customOptions are the options of the commands that call handlers of custom resources.
type customOptions struct {
	typeName, region string
	timeout          time.Duration
	wait, noBuild    bool
	http             bool
	env, secrets     []string
	sandbox          sandboxOptions
}

func (o *customOptions) flags(flags *pflag.FlagSet) {
	flags.StringVar(&o.typeName, "type", "Custom::Resource", "the `TYPE` of the resource in requests")
	flags.DurationVar(&o.timeout, "timeout", customtest.DefaultTimeout, "how long to wait for each response, from 1s to 15m: the `DURATION` is also the time limit of the function")
	flags.BoolVar(&o.wait, "wait", false, "wait for the response after the invocation has returned, for handlers that let something else respond")
	flags.StringArrayVar(&o.secrets, "secret", nil, "hide the values of the property `NAME` in all output (may be repeated)")
	flags.StringArrayVar(&o.env, "env", nil, "pass the environment variable `NAME[=VALUE]` to the handler (may be repeated)")
	o.sandbox.flags(flags)
	flags.BoolVar(&o.noBuild, "no-build", false, "run the program of a Go folder as it is, without checking whether it is up to date")
	flags.BoolVar(&o.http, "http", false, "send a ResponseURL with http, for handlers that do not trust the certificate of cfn")
	flags.StringVar(&o.region, "region", invoke.DefaultRegion, "the `NAME` of the region in requests and in the environment of the handler")
}

// check checks the options.
func (o *customOptions) check() error {
	if err := customresource.CheckType(o.typeName); err != nil {
		return usagef("option --type: %v", err)
	}
	if o.timeout < time.Second || o.timeout > lambda.DefaultTimeout {
		return usagef("option --timeout: expected a duration from 1s to 15m but got %s", o.timeout)
	}
	return nil
}

// oneHandler is for commands with the argument HANDLER.
func oneHandler(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return errors.New("missing argument: HANDLER")
	case 1:
		return nil
	}
	return noArguments(nil, args[1:])
}

// maxCustomProperties bounds a file with properties.
const maxCustomProperties = 1 << 20

// readCustomProperties reads a JSON object; "" is no file. The values of secret properties are hidden
// from now on.
func (c *app) readCustomProperties(ctx context.Context, option, name string, o *customOptions) (map[string]any, error) {
	if name == "" {
		return nil, nil
	}
	var data []byte
	var err error
	if name == "-" {
		data, err = c.readStdin(ctx, maxCustomProperties)
	} else {
		data, err = document.ReadFile(c.path(name), maxCustomProperties)
	}
	var large *document.TooLargeError
	switch {
	case errors.As(err, &large):
		return nil, fmt.Errorf("option --%s: %s has more than %d bytes", option, name, maxCustomProperties)
	case err != nil:
		return nil, missingFile(err, name, "the file has the properties of the resource as JSON: {\"Name\": \"value\"}")
	}
	var doc *document.Value
	var problems diag.List
	if extension := filepath.Ext(name); extension == ".yaml" || extension == ".yml" {
		doc, problems = document.ParseYAML(name, data, document.Limits{})
	} else {
		doc, problems = document.ParseJSON(name, data, document.Limits{})
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	properties, ok := doc.Any().(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: expected a JSON object with the properties of the resource but got %s", name, doc.Kind)
	}
	c.hideProperties(properties, o.secrets)
	return properties, nil
}

// hideProperties hides the values of the properties with one of some names, at any depth.
func (c *app) hideProperties(value any, names []string) {
	switch v := value.(type) {
	case map[string]any:
		for name, item := range v {
			if slices.Contains(names, name) {
				c.log.Secrets().AddFor(secret.Reason("property "+name), customtest.Leaves(item)...)
			} else {
				c.hideProperties(item, names)
			}
		}
	case []any:
		for _, item := range v {
			c.hideProperties(item, names)
		}
	}
}

// A customHandler is a handler that is ready to be called.
type customHandler struct {
	name     string // for reports
	function invoke.LoggedFunction
	renew    func() // nil for handlers at a URL
	receiver *customtest.Receiver
	close    func()
}

var notInName = lazyregexp.New(`[^A-Za-z0-9_-]+`)

// openHandler starts the handler that a command line names, and what takes its responses.
func (c *app) openHandler(ctx context.Context, o *customOptions, text string) (*customHandler, error) {
	if err := c.buildCustom(ctx, o, text); err != nil {
		return nil, err
	}
	source, err := handlers.FindSource(text, c.Dir)
	if err != nil {
		return nil, withHint(fmt.Errorf("argument HANDLER: %w", err), "see cfn cr test --help for the handlers that cfn can run")
	}
	scratch, err := os.MkdirTemp("", "cfn-cr")
	if err != nil {
		return nil, err
	}
	h := &customHandler{name: c.handlerName(text)}
	closers := []func(){func() { _ = files.RemoveTemp(scratch) }} // only caches are left if this fails
	h.close = func() {
		for _, f := range slices.Backward(closers) {
			f()
		}
	}
	receiving := customtest.ReceiverConfig{Now: c.Now, Logger: c.logger}
	if source.URL == "" && !o.http {
		if receiving.Trust, err = customresource.NewTrust(filepath.Join(scratch, "tls"), c.Environ, c.Now()); err != nil {
			h.close()
			return nil, err
		}
	}
	if h.receiver, err = customtest.Listen(ctx, receiving); err != nil {
		h.close()
		return nil, err
	}
	closers = append(closers, func() { _ = h.receiver.Close() })
	if source.URL != "" {
		if err = c.openRemoteHandler(o, h, source); err != nil {
			h.close()
			return nil, err
		}
		return h, nil
	}
	function, err := c.startHandler(ctx, o, h, source, scratch)
	if err != nil {
		h.close()
		return nil, err
	}
	closers = append(closers, func() { _ = function.Close() })
	h.function, h.renew = logged{function}, function.Renew
	return h, nil
}

// openRemoteHandler sets up a handler that another program runs.
func (c *app) openRemoteHandler(o *customOptions, h *customHandler, source handlers.Source) error {
	at, err := url.Parse(source.URL)
	if err != nil {
		return usagef("argument HANDLER: %v", err)
	}
	if err := invoke.CheckLocal(c.Getenv, source.URL); err != nil {
		return err
	}
	h.name = at.Host + "/" + source.Function
	h.function = logged{&lambda.Endpoint{URL: source.URL, FunctionName: source.Function, Region: o.region, Timeout: -1}}
	return nil
}

// startHandler starts a handler as a local process.
func (c *app) startHandler(ctx context.Context, o *customOptions, h *customHandler, source handlers.Source, scratch string) (*lambda.Function, error) {
	config, err := source.Config(ctx, scratch)
	if err != nil {
		return nil, err
	}
	if config.Sandbox, err = o.sandbox.settings(c, c.Dir); err != nil {
		return nil, err
	}
	if err := config.Sandbox.CheckCode(config.Dir); err != nil {
		return nil, err
	}
	o.sandbox.note(c, config.Sandbox)
	given, err := c.handedOn("--env", o.env)
	if err != nil {
		return nil, err
	}
	config.Env, config.Sandbox.Environ = append(config.Env, given...), given
	config.Runtime.Files = append(config.Runtime.Files, h.receiver.Files()...)
	config.Sandbox.Reach = append(config.Sandbox.Reach, h.receiver.Address())
	trusted, err := h.receiver.Environ(config.Env)
	if err != nil {
		return nil, err
	}
	config.Env = append(config.Env, trusted...)
	config.Name, config.Region, config.Environ, config.Logger, config.MaxProcesses = functionName(h.name), o.region, c.Environ, c.logger, 1
	config.Timeout = -1                                            // the Sender ends invocations
	config.InitTimeout = max(o.timeout, lambda.DefaultInitTimeout) // as on Lambda, a slow start continues in the invocation
	c.warnUnseen(&config)
	return lambda.Start(ctx, config)
}

// handlerName is how reports call the handler of a command line.
func (c *app) handlerName(text string) string {
	if strings.Contains(text, "://") {
		return text
	}
	return filepath.Base(c.path(text))
}

// functionName makes the name of a function from that of a handler.
func functionName(name string) string {
	const longest = 64
	name = strings.Trim(notInName.ReplaceAllString(name, "-"), "-")
	if name = name[:min(len(name), longest)]; name == "" {
		return "handler"
	}
	return name
}

// buildCustom builds the program of a folder with a Go program.
func (c *app) buildCustom(ctx context.Context, o *customOptions, text string) error {
	if strings.Contains(text, "://") || o.noBuild {
		return nil
	}
	return c.tools().BuildFolder(ctx, c.path(text), text)
}

// identity is what requests say about where they come from.
func (o *customOptions) identity(name string) customtest.Identity {
	return customtest.Identity{
		Type: o.typeName, LogicalID: "Resource", Region: o.region, Account: lambda.DefaultAccountID,
		ServiceToken: fmt.Sprintf("arn:aws:lambda:%s:%s:function:%s", o.region, lambda.DefaultAccountID, functionName(name)),
	}
}

// printLog prints what a handler wrote, as a person reads it.
func printLog(w io.Writer, log string) {
	if log = strings.TrimRight(invoke.PrintedLog(log), "\n"); log != "" {
		_, _ = fmt.Fprintln(w, log) // see notef
	}
}
