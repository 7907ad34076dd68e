package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/running/stub"
)

type stubOptions struct {
	service, host, journal string
	port                   int
	allowRemote            bool
	fail                   []string
	deleteTwice            string
	config                 stub.Config
}

func newStub(c *app) *cobra.Command {
	opts := &stubOptions{}
	cmd := &cobra.Command{
		Use:   "stub [MODEL]",
		Short: "Serve a stub of a service, made from its OpenAPI description or Smithy model",
		Long: `Serve the service that MODEL describes on this machine: it stores what is created, validates requests by
the shapes of the description, and answers in its form, with its pages and its errors. MODEL is an
OpenAPI description, or a Smithy model: a file, a folder or a .jar. Without it, the API is that of the
file api.yaml of the project, which cfn init --from-openapi or --from-smithy wrote.

Handlers and other clients call it instead of the service. The options make it slow, forgetful or
failing in the same way in each run. POST /_stub/reset deletes everything, GET /_stub/state shows what
is stored, POST /_stub/token is an endpoint for OAuth tokens. Ctrl-C stops the server.

Exit code: 0; 1 if the API cannot be served, the port is in use or a file cannot be written.`,
		Example: `  cfn stub shop.yaml
  cfn stub model/ --service example.weather#Weather --slow 3 --page-size 1
  cfn stub shop.yaml --fail "POST /orders@2" --throttle 0.2 --journal calls.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return noArguments(nil, args[1:])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.serveStub(cmd.Context(), args, opts) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.service, "service", "", "the `ID` of the model's service, as namespace#Name")
	flags.StringVar(&opts.config.Resource, "resource", "", "serve only the resource `NAME` and what it is in")
	flags.StringVar(&opts.host, "host", "127.0.0.1", "the `ADDRESS` to listen on")
	flags.IntVar(&opts.port, "port", 4010, "the port `N` to listen on; 0 selects a free port")
	flags.BoolVar(&opts.allowRemote, "allow-remote", false, "let other machines use the stub")
	flags.StringVar(&opts.config.Data, "data", "", "keep the state in `FILE`")
	flags.StringVar(&opts.journal, "journal", "", "append each call to `FILE` as a line of JSON, without secrets")
	flags.Uint64Var(&opts.config.Seed, "seed", 0, "the seed `N` of identifiers and of throttling")
	flags.IntVar(&opts.config.PageSize, "page-size", 100, "the maximum number `N` of items of a page")
	flags.IntVar(&opts.config.Slow, "slow", 0, "show a transitional state in `N` reads after each change")
	flags.IntVar(&opts.config.Eventual, "eventual", 0, "hide a new resource from `N` reads and lists")
	flags.Float64Var(&opts.config.Throttle, "throttle", 0, "throttle the `SHARE` of calls, from 0 to 1")
	flags.StringArrayVar(&opts.fail, "fail", nil, "let call N of an operation fail, as `OPERATION@N` (may be repeated)")
	c.choice(flags, &opts.deleteTwice, "delete-twice", "the status when a resource is deleted that does not exist", "404", "204")
	flags.BoolVar(&opts.config.NoAuth, "no-auth", false, "accept requests without credentials")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// check completes the configuration from the options.
func (o *stubOptions) check() error {
	ip := net.ParseIP(o.host)
	if !o.allowRemote && (o.host == "" || ip != nil && !ip.IsLoopback()) {
		return withHint(fmt.Errorf("--host %s: other machines could use the stub", o.host), "listen on 127.0.0.1, or pass --allow-remote to allow this")
	}
	for _, option := range []struct {
		name         string
		value, least int
	}{{"page-size", o.config.PageSize, 1}, {"slow", o.config.Slow, 0}, {"eventual", o.config.Eventual, 0}} {
		if option.value < option.least || option.value > 10_000 {
			return usagef("option --%s: %d is not between %d and 10000", option.name, option.value, option.least)
		}
	}
	if !(o.config.Throttle >= 0 && o.config.Throttle <= 1) {
		return usagef("option --throttle: %v is not between 0 and 1", o.config.Throttle)
	}
	for _, text := range o.fail {
		at := strings.LastIndex(text, "@")
		n := 0
		if at >= 0 {
			n, _ = strconv.Atoi(text[at+1:])
		}
		if n < 1 {
			return usagef("option --fail: %q is not OPERATION@N with N from 1", text)
		}
		o.config.Fail = append(o.config.Fail, stub.Failure{Operation: text[:at], Call: n})
	}
	if o.deleteTwice == "204" {
		o.config.DeleteTwice = 204
	}
	return nil
}

// serveStub serves the stub until ctx ends.
func (c *app) serveStub(ctx context.Context, args []string, opts *stubOptions) error {
	if err := opts.check(); err != nil {
		return err
	}
	from, err := c.modelOptions(args, opts.service)
	if err != nil {
		return err
	}
	a, problems, err := c.readAPI(from)
	if err != nil {
		return err
	}
	if err := diag.Print(c.Stderr, problems, "text"); err != nil {
		return err
	}
	config := opts.config
	config.API, config.Now = a, c.Now
	if config.Data != "" {
		config.Data = c.path(config.Data)
	}
	if opts.journal != "" {
		path := c.path(opts.journal)
		journal, err := files.Append(filepath.Dir(path), filepath.Base(path), 0o600)
		if err != nil {
			return fmt.Errorf("open the journal: %w", err)
		}
		defer func() { _ = journal.Close() }() // each line was written
		config.Journal = journal
	}
	handler, err := stub.New(config)
	if err != nil {
		return err
	}
	if len(handler.Resources()) == 0 {
		return withHint(errors.New("the API has no resource that can be created, read and deleted"), "run cfn init with --list to see why")
	}
	server, err := lambda.Listen(lambda.ServerConfig{Handler: handler, Address: net.JoinHostPort(opts.host, strconv.Itoa(opts.port)), AllowRemote: opts.allowRemote, Logger: c.logger})
	if err != nil {
		return err
	}
	defer server.Close()
	if c.format == "json" {
		err = c.printJSON(struct {
			API       string   `json:"api"`
			Resources []string `json:"resources"`
			URL       string   `json:"url"`
		}{a.Name, handler.Resources(), server.URL()})
		if err != nil {
			return err
		}
	} else {
		c.printf("Serving %s (%s: %s) at %s (press Ctrl-C to end)\n", words.Flat(a.Name), words.Count(len(handler.Resources()), "resource"),
			words.Flat(words.Cut(strings.Join(handler.Resources(), ", "), 300)), server.URL())
	}
	return server.Serve(ctx)
}

// modelOptions are the options of cfn init for the API that the arguments or the project name.
func (c *app) modelOptions(args []string, service string) (initOptions, error) {
	var from initOptions
	from.smithy.service = service
	if len(args) == 0 {
		settings, err := c.readAPISettings()
		if err != nil {
			return from, err
		}
		from.useSource(c, settings)
		if from.api.openapi == "" && from.model == "" {
			return from, usagef("pass an OpenAPI description or a Smithy model: the project has no source in %s", apiSettingsFile)
		}
		return from, nil
	}
	smithy, err := isSmithy(c.path(args[0]))
	if err != nil {
		return from, missingFile(err, args[0], "pass the path of an OpenAPI description or a Smithy model")
	}
	if smithy {
		from.model = args[0]
		return from, nil
	}
	from.api.openapi = args[0]
	return from, nil
}

// isSmithy reports whether a path is one of a Smithy model: a folder, a .jar, or a file in the
// language of Smithy or its JSON.
func isSmithy(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case info.IsDir(), ext == ".smithy", ext == ".jar":
		return true, nil
	case ext != ".json":
		return false, nil
	}
	data, err := document.ReadFile(path, 32<<20)
	if err != nil {
		return false, err
	}
	root, _ := document.ParseJSON(path, data, document.Limits{Bytes: 32 << 20, Depth: 256, Values: 1 << 21})
	return root.Get("smithy") != nil, nil
}
