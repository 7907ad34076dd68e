package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/authoring/api"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/proving/contract"
	"github.com/formwork-dev/formwork/internal/proving/httptape"
	"github.com/formwork-dev/formwork/internal/proving/sample"
	"github.com/formwork-dev/formwork/internal/running/stub"
)

// testStubOptions are the options of cfn test about a stub of the service that the handlers call.
type testStubOptions struct {
	stub    bool
	service *stubService // nil without --stub
}

func (o *testStubOptions) stubFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.stub, "stub", false, "run a stub of the service, made from the description in "+apiSettingsFile+", for handlers that call an API")
	annotate(flags, addition, "stub")
}

// A stubService is a stub that runs for the time of a test.
type stubService struct {
	url         *url.URL
	keys        map[string]any // the values of binding.Auth.Keys
	binding     *api.Binding
	unremovable []string // properties that no update can remove
	absent      []string // properties that the stub never returns
}

// checkStub checks the combination of options.
func (opts *testOptions) checkStub() error {
	if !opts.stub {
		return nil
	}
	for _, name := range []string{"endpoint", "typeconfig", "upgrade-from", "record", "replay-http"} {
		if opts.changed(name) {
			return usagef("option --stub: not allowed with --%s", name)
		}
	}
	return nil
}

// startStub starts the service that --stub requests. Nothing of it remains after stop.
func (c *app) startStub(opts *testOptions, p *project.Project, s *schema.Schema) (stop func(), err error) {
	if !opts.stub || opts.arguments.CollectOnly {
		return func() {}, nil
	}
	from, err := c.projectAPI(p)
	if err != nil {
		return nil, withHint(fmt.Errorf("option --stub: %w", err), "--stub is for projects that cfn init --from-openapi or --from-smithy started")
	}
	binding, problems := from.derived.Bind()
	if binding == nil {
		return nil, problems.Err()
	}
	handler, err := stub.New(stub.Config{API: from.api, Resource: from.resource.Name, Seed: opts.seed, Now: c.Now, AnyParent: true})
	if err != nil {
		return nil, fmt.Errorf("option --stub: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the stub: %w", err)
	}
	at := &url.URL{Scheme: "http", Host: listener.Addr().String()}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, IdleTimeout: 5 * time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	opts.service = &stubService{url: at, binding: binding, unremovable: from.derived.Unremovable()}
	if opts.service.keys, err = madeUp(binding.Auth.Keys, s.TypeConfiguration); err != nil {
		return nil, fmt.Errorf("option --stub: %w", err)
	}
	for _, property := range from.derived.Properties {
		if property.ReadOnly && stub.Absent(property.Name) {
			opts.service.absent = append(opts.service.absent, property.Name)
		}
	}
	opts.reachStub(at.Host)
	return func() {
		_ = server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			c.logger.Debug("The stub has stopped", "error", err)
		}
	}, nil
}

// reachStub lets handlers in a sandbox connect to an address.
func (opts *testOptions) reachStub(host string) {
	opts.sandbox.reach = append(opts.sandbox.reach, host)
}

// behindProxy leads the calls for the stub through a proxy, if there is one.
func (opts *testOptions) behindProxy(proxy *httptape.Proxy, config *contract.Config) error {
	if opts.service == nil || proxy == nil {
		return nil
	}
	front, err := proxy.Before(opts.service.url)
	if err != nil {
		return err
	}
	at, err := url.Parse(front)
	if err != nil {
		return err
	}
	opts.reachStub(at.Host)
	config.TypeConfiguration = opts.service.configuration(at)
	return nil
}

const anyCredential = "made-up" // the stub accepts every one

// madeUp are values for keys and headers of a type configuration.
func madeUp(keys []api.BoundKey, configuration *schema.Schema) (map[string]any, error) {
	out := map[string]any{}
	for _, key := range keys {
		out[key.Property] = anyCredential
		if key.Secret || configuration == nil {
			continue
		}
		node := configuration.Root.Get("properties").Get(key.Property)
		if len(node.Distinct()) <= 2 { // a type and a description: it can be any text
			continue
		}
		value, err := sample.New(configuration, sample.Config{}).Value(node)
		if err != nil {
			return nil, fmt.Errorf("%s of the type configuration: %w", key.Property, err)
		}
		out[key.Property] = value
	}
	return out, nil
}

// configuration is the type configuration for handlers that reach the stub at an address.
func (s *stubService) configuration(at *url.URL) map[string]any {
	out := maps.Clone(s.keys)
	out["Endpoint"] = at.String()
	switch s.binding.Auth.Kind {
	case "bearer":
		out["BearerToken"] = anyCredential
	case "basic":
		out["Basic"] = map[string]any{"Username": anyCredential, "Password": anyCredential}
	case "oauth2":
		out["OAuth"] = map[string]any{"ClientId": anyCredential, "ClientSecret": anyCredential, "TokenUrl": at.String() + "/_stub/token"}
	}
	return out
}

// configure completes the configuration of tests that run against the stub.
func (s *stubService) configure(config *contract.Config) {
	config.TypeConfiguration, config.Inapplicable = s.configuration(s.url), s.inapplicable
	config.Unremovable, config.Absent = s.unremovable, s.absent
}

// inapplicable returns why a test cannot pass: creating is repeatable only if the service, or a look-up that
// an earlier call has made, tells a repetition from another request.
func (s *stubService) inapplicable(c *contract.Case) string {
	name, find := c.Name(), s.binding.Find
	repeated := []string{"contract_create_same_token", "contract_create_same_token_twice", "contract_create_same_token_at_once", "contract_create_lost_response", "contract_create_two_faults", "contract_create_late_context"}
	switch {
	case find.By == "identifier" && name == "contract_create_same_token":
		return "the API has no idempotency key: to a create that starts anew, its own resource is one that exists"
	case find.By == "list" && slices.Contains(repeated, name):
		return "the API has no idempotency key, and the identifier is unknown until a create has succeeded"
	case find.By == "none" && (slices.Contains(repeated, name) || slices.Contains([]string{"contract_create_server_error", "contract_create_cut", "contract_create_outage"}, name)):
		return "the API has no idempotency key, and a resource whose response was lost cannot be found: " + find.Reason
	}
	return ""
}
