package local

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/foundation/seal"
	"github.com/formwork-dev/formwork/internal/services/awslite"
	"github.com/formwork-dev/formwork/internal/services/logs"
	"go.opentelemetry.io/otel/trace"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/console"
	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/server"
	"github.com/formwork-dev/formwork/internal/running/simulate"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/functions"
)

// Config sets up a CloudFormation. The zero value is one that keeps nothing.
type Config struct {
	// Dir is the data folder. It is created if it does not exist, and one process at a time
	// can use it. Empty means a temporary one, which Close removes.
	Dir string

	// Database is the URL of a PostgreSQL database (postgres://…) for the state. Empty means
	// SQLite in Dir. Unpacked handlers are in Dir in either case.
	Database string

	// SecretsKey is a file with the key that seals what is secret in the store: 64 hexadecimal digits, which
	// other users than those of its group cannot read. All servers of one database need the same key. Empty
	// means [KeyFile] in Dir, which is made if it does not exist.
	SecretsKey string

	// Account and Region of requests that name none. Empty means 000000000000 and us-east-1.
	Account, Region string

	// Keys is a key file: a line for each key, ACCESS_KEY_ID SECRET ACCOUNT; "#" starts a
	// comment. With keys, the signatures of requests are verified; with nil, every request is
	// served, for the account whose number is its access key. KeysName is the name of the file
	// in errors.
	Keys     []byte
	KeysName string

	// Hosts are accepted host names of requests, beside 127.0.0.1 and localhost; a bucket of
	// S3 may be a subdomain of them.
	Hosts []string

	// URL is where handlers reach this CloudFormation. Empty means the host of the latest
	// request to this machine or to one of Hosts.
	URL string

	// Version of the program, for /healthz and clients.
	Version string

	// Docs serves the documentation of this version below the console. Nil: its pages have no links to it.
	Docs http.Handler

	// Environ is the environment that handlers are started from, as os.Environ gives it;
	// they get the part of it that a program needs to run. With OTEL_EXPORTER_OTLP_ENDPOINT
	// in it, traces are sent there. Nil means os.Environ().
	Environ []string

	// HandlerEnv are variables of every handler, as NAME=VALUE. The values of those with the
	// name of a secret are hidden in logs.
	HandlerEnv []string

	// Sandbox is whether handlers and functions run in a sandbox: "on", where the system allows it,
	// "off", or "required". Empty means "on". Mounts are the files and folders of this machine that
	// they see nevertheless, as PATH or PATH:rw.
	Sandbox string
	Mounts  []string

	// Network is what handlers in a sandbox reach: "open", other machines and what is named of this one; "named", what
	// is named; or "host", all that this machine reaches. Empty means "open", and "named" with Keys. Named are this
	// server, Endpoints, and the addresses of Reach, as HOST:PORT.
	Network string
	Reach   []string

	// TrustHandlers has handlers run with Keys of several accounts where nothing keeps the code of one account from
	// the calls of another: without a sandbox, and with the network "host".
	TrustHandlers bool

	// BodyTimeout bounds the wait for more of a request's body, however long that is. Zero
	// means 30 s.
	BodyTimeout time.Duration

	// MemoryLimit is how many bytes this process is to take. While more than half of them are live, requests that
	// need much memory are refused with ServiceUnavailable, which SDKs retry. Zero means no limit. That garbage is
	// collected in time is for the caller: see debug.SetMemoryLimit.
	MemoryLimit int64

	// TimeScale divides the callback delays of handlers, and the waits between retries. Zero
	// means 1.
	TimeScale float64

	// Simulate are patterns of type names, "AWS::SQS::*". Types that they match and whose
	// published schemas were imported can be used without handlers. Nothing is simulated
	// that is not named here.
	Simulate []string

	// AwaitSignals has stacks wait for the signals of simulated resources, which nothing sends. Otherwise
	// such resources, and wait conditions that only simulated resources know, are complete at once.
	AwaitSignals bool

	// PublicParameters are values of public parameters of Systems Manager, by names that begin with
	// /aws/service/. The others have made-up values.
	PublicParameters map[string]string

	// Delegate are types whose resources are made in an emulator of AWS that runs on this machine, as
	// PATTERN[,PATTERN]=URL, or =none for those that are not. See package delegate for the order.
	Delegate []string

	// Functions are functions to run macros and to call by the Lambda Invoke API: NAME=DIR,
	// NAME=BINARY or NAME=URL. They exist in every account and region.
	Functions []string

	// RunLambda has stacks deploy functions (AWS::Lambda::Function) with what is around them,
	// and runs their code as local processes. Otherwise such types do not exist: code of a
	// template runs only where the user allows it.
	RunLambda bool

	// StackSetAdmins are the accounts whose stack sets may have stacks in other accounts. Without
	// Keys all accounts may.
	StackSetAdmins []string

	// AllowHosts are the hosts that clients on this machine reach through a Server as their proxy,
	// beside those of AWS: names, "*.example.com", or "*".
	AllowHosts []string

	// Endpoints are services of AWS that other programs emulate, as SERVICE=URL, with the name of
	// the service as in AWS_ENDPOINT_URL_<SERVICE>. Handlers reach them there.
	Endpoints []string

	// Around is called for each call of a handler or of another provider of a resource, and makes it by next or
	// answers itself: tests look at calls with it, and have them fail. Nil makes them all.
	Around func(ctx context.Context, call ResourceCall, next func(context.Context) (ResourceAnswer, error)) (ResourceAnswer, error)

	Logger *slog.Logger     // nil: nowhere
	Now    func() time.Time // nil: time.Now

	live      func() uint64 // of server.Config
	secure    string        // the address over TLS; "" if no Server listens
	lambdaURL string        // of LambdaAddress, "" for none
}

// A CloudFormation answers the requests of AWS clients. Make one with Open, and Close it.
type CloudFormation struct {
	config    Config
	temporary string // the folder to remove

	store     *store.Store
	sealer    *seal.Sealer
	services  *awslite.Services
	trust     *customresource.Trust
	processes *processes
	console   *console.Console
	server    *server.Server
	shelf     *simulate.Shelf
	shown     []string // what named functions see, for the person who starts the server
	accounts  int      // with keys

	ends []func(context.Context) error // what Close does, in reverse

	mu   sync.Mutex
	seen string // the URL that the latest request was sent to

	closing sync.Once
	closed  error
}

// Open opens the store, creates it if it does not exist, and resumes unfinished work. The
// context bounds only the opening.
func Open(ctx context.Context, config Config) (*CloudFormation, error) {
	c := &CloudFormation{config: config.withDefaults()}
	if err := c.open(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c Config) withDefaults() Config {
	orDefault := func(s *string, value string) {
		if *s == "" {
			*s = value
		}
	}
	orDefault(&c.Account, "000000000000")
	orDefault(&c.Region, "us-east-1")
	orDefault(&c.Version, "0.0.0-dev")
	orDefault(&c.KeysName, "keys")
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

func (c *CloudFormation) open(ctx context.Context) error {
	if err := c.config.checkProxy(); err != nil {
		return err
	}
	if err := c.config.leadDelegates(); err != nil {
		return err
	}
	verifier, err := c.verifier()
	if err != nil {
		return err
	}
	if err := c.openFolder(); err != nil {
		return err
	}
	tracer, err := c.openTraces(ctx)
	if err != nil {
		return err
	}
	key, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	if err := c.openServices(verifier); err != nil {
		return err
	}
	if err := c.wire(ctx, key, verifier, tracer); err != nil {
		return err
	}
	c.logDifferences()
	return nil
}

// openFolder makes the folders that everything is kept in.
func (c *CloudFormation) openFolder() (err error) {
	if c.config.Dir == "" {
		if c.temporary, err = os.MkdirTemp("", "formwork-"); err != nil {
			return err
		}
		c.config.Dir = c.temporary
		c.atEnd(func(context.Context) error { return files.RemoveTemp(c.temporary) })
	}
	return nil
}

// openTraces starts sending traces if the environment requests it.
func (c *CloudFormation) openTraces(ctx context.Context) (trace.TracerProvider, error) {
	provider, stop, err := traces(ctx, c.config.Environ, c.config.Version, c.config.Logger)
	if err != nil {
		return nil, err
	}
	c.atEnd(func(ctx context.Context) error {
		if err := stop(ctx); err != nil {
			c.config.Logger.Warn("the last traces could not be sent", "error", err)
		}
		return nil
	})
	return provider, nil
}

// logDifferences logs what is otherwise than on AWS by choice.
func (c *CloudFormation) logDifferences() {
	config := &c.config
	if config.TimeScale > 1 {
		config.Logger.Warn("the delays of handlers and the waits between retries are divided", "timeScale", config.TimeScale)
	}
	if missing := c.notSandboxed(); missing != "" && config.secure == "" { // else a note of the Server
		config.Logger.Warn(missing)
	}
	if config.RunLambda {
		config.Logger.Warn("functions of templates are run; roles, policies and permissions are stored and not enforced")
	}
	if len(config.Simulate) > 0 {
		config.Logger.Warn("resources of types that match these patterns are simulated", "simulate", config.Simulate)
	}
	if len(config.Delegate) > 0 {
		config.Logger.Warn("resources of types that match these patterns are made in emulators", "delegate", config.Delegate)
	}
}

// atEnd has Close call a function before those that it has already: what was opened last is
// closed first.
func (c *CloudFormation) atEnd(end func(context.Context) error) { c.ends = append(c.ends, end) }

// closing is a function of Close that takes no context.
func closing(end func() error) func(context.Context) error {
	return func(context.Context) error { return end() }
}

// verifier checks signatures by the key file and by the temporary keys that were given
// out; it is nil without a file.
func (c *CloudFormation) verifier() (*awswire.Verifier, error) {
	if c.config.Keys == nil {
		return nil, nil
	}
	keys, err := awswire.ParseKeys(bytes.NewReader(c.config.Keys))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.config.KeysName, err)
	}
	accounts := map[string]bool{}
	for _, key := range keys {
		accounts[key.Account] = true
	}
	c.accounts = len(accounts)
	lookup := func(ctx context.Context, accessKeyID string) (awswire.Key, bool, error) {
		return c.services.Key(ctx, accessKeyID)
	}
	return &awswire.Verifier{Keys: keys, Now: c.config.Now, Lookup: lookup}, nil
}

// openStore opens the store. What it keeps secret is sealed with the key that is returned,
// which is kept next to the data.
func (c *CloudFormation) openStore(ctx context.Context) (key []byte, err error) {
	config := &c.config
	path, load := filepath.Join(config.Dir, KeyFile), seal.LoadKey
	if config.SecretsKey != "" {
		path, load = config.SecretsKey, seal.ReadKey
	}
	if err := c.reachable(ctx, path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(config.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("the data folder cannot be created: %w", err)
	}
	if key, err = load(path); err != nil {
		return nil, err
	}
	if c.sealer, err = seal.New(key); err != nil {
		return nil, err
	}
	c.store, err = store.Open(ctx, store.Config{Dir: config.Dir, DSN: config.Database, Sealer: c.sealer, Logger: config.Logger, Now: config.Now, StopGrace: stopGrace})
	if err != nil {
		return nil, err
	}
	c.atEnd(closing(c.store.Close))
	err = c.sealer.Claim(ctx, c.store)
	var other *seal.KeyError
	if errors.As(err, &other) {
		err = &OtherKeyError{Path: path, Shared: config.Database != "", Err: other}
	}
	return key, err
}

// reachable opens a database of PostgreSQL for a moment before the first key is made for it: a
// server that cannot start leaves nothing behind.
func (c *CloudFormation) reachable(ctx context.Context, key string) error {
	if _, err := os.Stat(key); c.config.Database == "" || c.config.SecretsKey != "" || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	probe, err := store.Open(ctx, store.Config{Dir: c.config.Dir, DSN: c.config.Database, Logger: c.config.Logger})
	if err != nil {
		return err
	}
	return probe.Close()
}

// openServices sets up the services that the keys of callers and handlers come from.
func (c *CloudFormation) openServices(verifier *awswire.Verifier) (err error) {
	config := awslite.Config{Store: c.store, Sealer: c.sealer, Account: c.config.Account, IsolateAccounts: verifier != nil, PublicParameters: c.config.PublicParameters, Logger: c.config.Logger}
	if verifier != nil {
		config.Keys = verifier.Keys
	}
	c.services, err = awslite.New(config)
	return err
}

// newPool sets up what runs functions.
func (c *CloudFormation) newPool(groups *logs.Service, deployed *functions.Functions, keys keys, types *operation.Catalog) (*handlers.Pool, error) {
	config := &c.config
	if err := os.MkdirAll(filepath.Join(config.Dir, spoolDir), 0o700); err != nil {
		return nil, err
	}
	named, err := handlers.ParseAllNamed(config.Functions, "")
	if err != nil {
		return nil, err
	}
	confined, err := config.sandbox()
	if err != nil {
		return nil, err
	}
	for i, n := range named {
		if n, err = n.Confined(confined); err != nil {
			return nil, err
		}
		named[i] = n
		if shows := n.Shows(); shows != "" && confined.Mode.Active() {
			c.shown = append(c.shown, shows)
		}
	}
	refusal := c.mixed(&confined)
	if refusal != "" && (confined.Mode == sandbox.Off || confined.Network == sandbox.Host) {
		return nil, errors.New(refusal)
	}
	c.processes = newProcesses(config.Logger)
	c.atEnd(closing(c.processes.Close))
	if config.secure == "" {
		c.processes.serve(c, c)
	}
	if c.trust, err = customresource.NewTrust(filepath.Join(config.Dir, "tls"), config.Environ, config.Now()); err != nil {
		return nil, err
	}
	return handlers.New(handlers.Config{
		Store: c.store, Dir: filepath.Join(config.Dir, "handlers"), Logs: groups.Append, Endpoint: c.url, Environ: config.Environ,
		Env: config.HandlerEnv, Refusal: refusal, Network: c.network, ProcessEnv: c.processEnv, Deployed: deployed, Functions: named, Sandbox: confined, Files: c.trust.Files(), Credentials: keys.environment, Targets: types.Schema, Logger: config.Logger, Now: config.Now,
	}), nil
}

// notSandboxed is a sentence about what no sandbox keeps handlers from, "" if there is one.
func (c *CloudFormation) notSandboxed() string {
	settings, err := c.config.sandbox()
	if err != nil {
		return "" // Open has failed
	}
	return strings.Join(slices.DeleteFunc([]string{c.mixed(&settings), settings.Mode.Missing(), settings.MissingNetwork()}, func(s string) bool { return s == "" }), "; ")
}

// limits is a sentence about how the limits of handlers are enforced.
func (c *CloudFormation) limits() string {
	settings, _ := c.config.sandbox() // Open has checked them
	return settings.Mode.Limits()
}

// alwaysMounted is what handlers see beside Config.Mounts. Tests set it.
var alwaysMounted []string

// sandbox is what handlers see of this machine: nothing of what the server keeps.
func (c *Config) sandbox() (sandbox.Settings, error) {
	mode, err := sandbox.ParseMode(cmp.Or(c.Sandbox, string(sandbox.On)))
	if err != nil {
		return sandbox.Settings{}, fmt.Errorf("the sandbox: %w", err)
	}
	if err := mode.Err(); err != nil {
		return sandbox.Settings{}, err
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return sandbox.Settings{}, err
	}
	settings := sandbox.Settings{Mode: mode, Hide: []string{dir}}
	usual := sandbox.Open
	if c.Keys != nil {
		usual = sandbox.Named
	}
	if settings.Network, err = sandbox.ParseNetwork(cmp.Or(c.Network, string(usual))); err != nil {
		return settings, fmt.Errorf("the network of handlers: %w", err)
	}
	settings.Reach = c.reached(settings.Outbound())
	for _, address := range settings.Reach {
		if _, _, err := lambda.ParseReach(address); err != nil {
			return settings, fmt.Errorf("what handlers reach: %w", err)
		}
	}
	for _, mount := range slices.Concat(c.Mounts, alwaysMounted) {
		grant, err := sandbox.ParseGrant(mount, "")
		if err != nil {
			return settings, fmt.Errorf("mount %s for handlers: %w", mount, err)
		}
		settings.Grants = append(settings.Grants, grant)
	}
	return settings, nil
}

// spoolDir is the folder in Config.Dir for large bodies of requests.
const spoolDir = "bodies"

// stopGrace is how long work continues when the server stops. Longer work is interrupted, and
// resumed by the next server.
const stopGrace = 300 * time.Millisecond

// KeyFile is the file in Config.Dir with the key that seals secrets in the store. All
// servers on one database need the same one.
const KeyFile = "secrets.key"

// An OtherKeyError reports that the secrets of a store are sealed with another key than the
// one in the folder.
type OtherKeyError struct {
	Path   string // of the key file
	Shared bool   // other servers may have the right key: the store is a PostgreSQL database
	Err    error  // with the fingerprints of the two keys
}

func (e *OtherKeyError) Error() string { return e.Path + ": " + e.Err.Error() }
func (e *OtherKeyError) Unwrap() error { return e.Err }

// ServeHTTP answers one request.
func (c *CloudFormation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, inside := server.ProcessOf(r.Context()); !inside && c.config.URL == "" && c.server.Own(r.Host) {
		c.mu.Lock()
		c.seen = "http://" + r.Host
		c.mu.Unlock()
	}
	c.server.ServeHTTP(w, r)
}

// ConsolePath is the path of the console. With Keys it has the token with which a browser signs in, to
// see all accounts: it is for the one who started the server, and not for logs.
func (c *CloudFormation) ConsolePath() string {
	path := console.Prefix + "/"
	if token := c.console.Token(); token != "" {
		path += "?token=" + token
	}
	return path
}

// url is the address of this CloudFormation for handlers, "" until it is known.
func (c *CloudFormation) url() string {
	if c.config.URL != "" {
		return c.config.URL
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// secureURL is the address of this CloudFormation for the functions that it runs, "" if it is
// not served over TLS.
func (c *CloudFormation) secureURL() string { return c.config.secure }

// processEnv are the variables with which a process reaches secureURL, and all hosts of AWS there.
func (c *CloudFormation) processEnv(env []string) ([]string, error) {
	if c.config.secure == "" {
		return nil, nil
	}
	own, err := c.trust.Environ(c.config.secure, env)
	if err != nil {
		return nil, err
	}
	proxied, err := c.trust.ProxyEnviron(c.config.secure, slices.Concat(c.config.Environ, env), c.config.endpointHosts())
	if err != nil {
		return nil, err
	}
	endpoints, err := c.config.endpoints()
	for _, e := range endpoints {
		proxied = append(proxied, e.environ())
	}
	return slices.Concat(own, proxied), err
}

// healthy looks whether anything can be stored: rows, and files of handlers and bodies.
func (c *CloudFormation) healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := c.store.Check(ctx); err != nil {
		return err
	}
	return store.CheckFolder(filepath.Join(c.config.Dir, spoolDir))
}

// Close stops the work in progress, which continues when the store is opened again, and the
// handlers, and closes the store. Requests must have ended.
func (c *CloudFormation) Close() error {
	c.closing.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		var errs []error
		for _, end := range slices.Backward(c.ends) {
			errs = append(errs, end(ctx))
		}
		c.closed = errors.Join(errs...)
	})
	return c.closed
}
