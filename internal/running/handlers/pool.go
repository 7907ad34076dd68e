package handlers

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/cfnlog"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/functions"
)

// Config sets up a Pool. Store and Dir must be set.
type Config struct {
	Store *store.Store // with the packages among its blobs

	// Dir is a folder for unpacked packages. Several pools and programs may share one.
	Dir string

	// Logs gets the output of handlers. It may be nil.
	Logs LogSink

	// Endpoint is the AWS_ENDPOINT_URL of handlers; it is called when a handler is started.
	// With nil, or an empty result, it is not set.
	Endpoint func() string

	// Environ is the environment that handlers are started from, as os.Environ gives it.
	// They get the part of it that a program needs to run, and nothing that names another
	// place for AWS than Endpoint. Nil means os.Environ().
	Environ []string

	// Env are variables of every handler, as NAME=VALUE. The values of those with the name of
	// a secret are hidden in logs.
	Env []string

	// Credentials are the credentials of handlers; it is called when a handler is started. A
	// handler whose credentials expire is ended some time before, when it is idle, and started
	// with new ones when it is called again. Nil means the account as the access key, which is
	// how callers of a server without keys set their account, and dummies for the rest.
	Credentials func(context.Context, bundle.Spec) (aws.Credentials, error)

	// Targets returns the schema of a type that a hook is called for and whose schema is not in its package, nil if there is
	// none: which values are secrets there. With nil all values of such targets are.
	Targets func(ctx context.Context, place awswire.Place, typeName string) *schema.Schema

	// Sandbox is what handlers see of this machine. The zero value is no sandbox.
	Sandbox sandbox.Settings

	// Files are what all handlers may read besides, such as certificates; missing ones are left out.
	Files []string

	// Network is what a handler finds in a network of its own. Nil means nothing.
	Network func(bundle.Spec) lambda.Network

	// Refusal is why no process is started. Empty means that they are.
	Refusal string

	// IdleTimeout is how long a handler without work keeps its processes. Zero means
	// 10 minutes. One that was only probed keeps them for half a minute at most.
	IdleTimeout time.Duration

	// MaxFunctions bounds the handlers that have processes at once. Zero means 64. One
	// more takes the place of the one that was idle longest; if none is idle, it waits.
	MaxFunctions int

	// MaxProcesses bounds the processes of one handler, and with them its calls at once.
	// Zero means 10.
	MaxProcesses int

	// InitTimeout bounds the time that a process may take to start. Zero means 30 s:
	// three times Lambda's, for a machine that does other things as well.
	InitTimeout time.Duration

	// ProbeTimeout bounds a Probe, unpacking included. Zero means 2 minutes.
	ProbeTimeout time.Duration

	// Deployed finds the functions of stacks. Nil: there are none.
	Deployed *functions.Functions
	// ProcessEnv are more variables of a process, which has those of env. Nil: none.
	ProcessEnv func(env []string) ([]string, error)

	// Functions are those that are not the handlers of types. Their names differ.
	Functions []Named

	// KeepInvocations and KeepFor bound what is kept of past calls: 10,000 of them and
	// 7 days where they are zero. A negative KeepInvocations keeps none.
	KeepInvocations int
	KeepFor         time.Duration

	// KeepPackages is how long an unused package stays unpacked. Zero means 7 days.
	KeepPackages time.Duration

	Logger *slog.Logger     // nil discards
	Now    func() time.Time // nil is time.Now
}

func (c Config) complete() Config {
	durations := map[*time.Duration]time.Duration{
		&c.IdleTimeout: 10 * time.Minute, &c.InitTimeout: 30 * time.Second, &c.ProbeTimeout: 2 * time.Minute,
		&c.KeepFor: 7 * 24 * time.Hour, &c.KeepPackages: 7 * 24 * time.Hour,
	}
	for field, value := range durations {
		if *field == 0 {
			*field = value
		}
	}
	if c.MaxFunctions == 0 {
		c.MaxFunctions = 64
	}
	if c.KeepInvocations == 0 {
		c.KeepInvocations = 10_000
	}
	c.Sandbox.Environ = c.Env
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Credentials == nil {
		c.Credentials = func(_ context.Context, s bundle.Spec) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: s.Account, SecretAccessKey: lambda.DummySecret, SessionToken: lambda.DummyToken}, nil
		}
	}
	return c
}

// probedIdle is how long a handler keeps its processes that was started to see whether it
// starts: each registration leaves one, and most versions are called much later or never.
const probedIdle = 30 * time.Second

// ErrClosed is the error of a Pool that was closed. It is lambda.ErrClosed as well, and
// context.Canceled: the program stops, and no handler is to blame.
var ErrClosed error = closedError{}

type closedError struct{}

func (closedError) Error() string { return "the handlers are shut down" }

func (closedError) Is(target error) bool {
	return target == lambda.ErrClosed || target == context.Canceled
}

// A Pool runs handlers. It may be used by any number of goroutines. Make one with New, and
// Close it.
type Pool struct {
	config   Config
	cache    *bundle.Cache
	runtimes *lambda.Runtimes
	logs     *output
	recorder *recorder
	modules  *compiledModules

	functions map[string]Named // by name

	life    context.Context // ends with the Pool
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	entries map[bundle.Spec]*entry
	leaving map[*entry]bool // dropped, and still in use
	freed   chan struct{}   // closed when an entry became idle or was removed; nil if nothing waits
	closed  bool
}

// An entry is a handler that is starting or running.
type entry struct {
	spec     bundle.Spec
	ready    chan struct{} // closed when the next four are set
	function running
	secrets  *secrets
	expires  time.Time // when the credentials do; zero means never
	err      error

	uses   int       // calls in progress, and callers that wait for ready; guarded by Pool.mu
	used   time.Time // when the last one ended; likewise
	called bool      // not only probed; likewise
}

// running is what an entry calls: processes of this program, or an endpoint.
type running interface {
	lambda.Invoker
	Warm(ctx context.Context) error
	Close() error
}

// patience is how long the entry may be idle. The caller holds Pool.mu.
func (e *entry) patience(limit time.Duration) time.Duration {
	if e.called {
		return limit
	}
	return min(limit, probedIdle)
}

// New makes a Pool. It ends what handlers of a program that was killed have left behind.
func New(config Config) *Pool {
	config = config.complete()
	life, end := context.WithCancel(context.Background())
	p := &Pool{
		config:   config,
		cache:    bundle.NewCache(filepath.Join(config.Dir, "packages"), config.Now),
		runtimes: &lambda.Runtimes{Scripts: filepath.Join(config.Dir, "runtimes")},
		logs:     newOutput(config.Logs, config.Logger, config.Now),
		recorder: newRecorder(config),
		modules:  newCompiled(config),
		life:     life,
		end:      end,
		entries:  map[bundle.Spec]*entry{},
		leaving:  map[*entry]bool{},

		functions: map[string]Named{},
	}
	for _, n := range config.Functions {
		p.functions[n.Name] = n
	}
	p.running.Go(func() {
		if n := lambda.KillOrphans(); n > 0 {
			p.config.Logger.Warn("ended processes of handlers whose program was killed", "processes", n)
		}
	})
	p.running.Go(p.tend)
	return p
}

// Close ends all handlers, with what they are doing, and returns when none of their
// processes is left and everything of their logs and calls is written. It may be called
// more than once.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	all := make([]*entry, 0, len(p.entries))
	for spec, e := range p.entries {
		delete(p.entries, spec)
		all = append(all, e)
	}
	for e := range p.leaving {
		all = append(all, e)
	}
	p.wake()
	p.mu.Unlock()
	p.end()
	p.logs.unblock()
	var stopping sync.WaitGroup
	for _, e := range all {
		stopping.Go(func() { e.stop() })
	}
	stopping.Wait()
	p.running.Wait()
	p.logs.close()
	p.recorder.close()
	return nil
}

// credentialsRest is how long the credentials of a handler must still be good for when it
// is called: longer than a call may take.
const credentialsRest = 20 * time.Minute

// stale reports whether an entry's credentials might expire during a call.
func (e *entry) stale(now time.Time) bool {
	select {
	case <-e.ready:
		return e.err == nil && !e.expires.IsZero() && e.expires.Sub(now) < credentialsRest
	default:
		return false
	}
}

// stop ends the processes of an entry that is in no Pool any more.
func (e *entry) stop() {
	<-e.ready
	if e.function != nil {
		_ = e.function.Close() // never fails
	}
}

// Remove ends the handlers of a type that was deregistered: those of one version, or of
// all if spec has none. Calls in progress are not cut off.
func (p *Pool) Remove(spec bundle.Spec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s, e := range p.entries {
		if s.Place == spec.Place && s.Kind == spec.Kind && s.TypeName == spec.TypeName &&
			(spec.Version == "" || s.Version == spec.Version) {
			p.drop(e)
		}
	}
}

// drop removes an entry from the Pool and stops it as soon as it is idle. The caller holds mu,
// and the Pool is not closed: a closed one has no entries.
func (p *Pool) drop(e *entry) {
	delete(p.entries, e.spec)
	if e.uses > 0 {
		p.leaving[e] = true
	} else {
		p.running.Go(e.stop)
	}
	p.wake()
}

// wake notifies those who wait for a place. The caller holds mu.
func (p *Pool) wake() {
	if p.freed != nil {
		close(p.freed)
		p.freed = nil
	}
}

// acquire returns a started handler, which the caller must release. Callers that come
// while it starts wait for the same start.
func (p *Pool) acquire(ctx context.Context, spec bundle.Spec) (*entry, error) {
	e, err := p.enter(ctx, spec)
	if err != nil {
		return nil, err
	}
	select {
	case <-e.ready:
	case <-ctx.Done():
		p.release(e)
		return nil, fmt.Errorf("start the handler of %s: %w", spec.TypeName, context.Cause(ctx))
	}
	if e.err != nil {
		p.release(e)
		return nil, e.err
	}
	return e, nil
}

// enter counts a use of the entry for spec, and creates it if it does not exist.
func (p *Pool) enter(ctx context.Context, spec bundle.Spec) (*entry, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if p.closed {
			return nil, ErrClosed
		}
		if e := p.entries[spec]; e != nil && e.stale(p.config.Now()) {
			p.drop(e)
		} else if e != nil {
			e.uses++
			return e, nil
		}
		if len(p.entries) < p.config.MaxFunctions || p.evict() {
			e := &entry{spec: spec, ready: make(chan struct{}), uses: 1}
			p.entries[spec] = e
			p.running.Go(func() { p.start(e) })
			return e, nil
		}
		if p.freed == nil {
			p.freed = make(chan struct{})
		}
		freed := p.freed
		p.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
		}
		p.mu.Lock()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("start the handler of %s: the limit of %d running handlers is reached and all are busy: %w", spec.TypeName, p.config.MaxFunctions, context.Cause(ctx))
		}
	}
}

// evict drops the entry that was idle longest, if any is idle. The caller holds mu.
func (p *Pool) evict() bool {
	var oldest *entry
	for _, e := range p.entries {
		if e.uses == 0 && (oldest == nil || e.used.Before(oldest.used)) {
			oldest = e
		}
	}
	if oldest != nil {
		p.drop(oldest)
	}
	return oldest != nil
}

// Running is how many handlers have processes, or may have.
func (p *Pool) Running() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.entries) + len(p.leaving)
}

// targets finds the schemas of what a hook is called for: in its package, else those of the server.
func (p *Pool) targets(spec bundle.Spec, code *bundle.Code) func(name string) *schema.Schema {
	byName := map[string]*schema.Schema{}
	for _, target := range code.Targets {
		byName[target.TypeName.Value] = target
	}
	return func(name string) *schema.Schema {
		if found := byName[name]; found != nil || p.config.Targets == nil {
			return found
		}
		return p.config.Targets(p.life, spec.Place, name)
	}
}

// release ends a use.
func (p *Pool) release(e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.uses--
	e.used = p.config.Now()
	if e.uses > 0 {
		return
	}
	if p.leaving[e] && !p.closed { // else Close stops it
		delete(p.leaving, e)
		p.running.Go(e.stop)
	}
	p.wake()
}

// start creates the function of an entry. It continues if its first caller gives up: others
// may wait for it.
func (p *Pool) start(e *entry) {
	e.err = p.prepare(p.life, e)
	if e.err != nil && p.life.Err() != nil {
		e.err = ErrClosed
	}
	close(e.ready)
	if e.err == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.entries[e.spec] == e { // the next caller tries again
		delete(p.entries, e.spec)
		p.wake()
	}
}

// prepare unpacks a handler and finds out how to run it. No process is started yet.
func (p *Pool) prepare(ctx context.Context, e *entry) error {
	spec := e.spec
	var deployment *functions.Deployment
	var code *bundle.Code
	var err error
	if spec.Kind == DeployedKind {
		var dir string
		if deployment, dir, err = p.deployment(ctx, spec); err == nil {
			code = &bundle.Code{Hash: deployment.CodeHash, Dir: dir}
		}
	} else {
		code, err = p.code(ctx, spec)
	}
	if err != nil {
		return err
	}
	runtime, entrypoint := spec.Runtime, spec.Entrypoint
	if runtime == "" {
		runtime = code.Settings.Runtime
	}
	if entrypoint == "" {
		entrypoint = code.Settings.Entrypoint
	}
	credentials, err := p.config.Credentials(ctx, spec)
	if err != nil {
		return fmt.Errorf("start the handler of %s: get its credentials: %w", spec.TypeName, err)
	}
	own := ownSecrets{environment: secretValues(p.config.Env)}
	if deployment != nil {
		own.environment = append(own.environment, secretValues(deployment.Environment)...)
	}
	if credentials.CanExpire { // others are dummies, and words of any text
		e.expires, own.credentials = credentials.Expires, []string{credentials.SecretAccessKey, credentials.SessionToken}
	}
	e.secrets = newSecrets(code.Schema, p.targets(spec, code), own)
	if n := p.functions[spec.TypeName]; spec.Kind == FunctionKind && n.URL != "" {
		e.function = p.remote(n, spec, e.secrets, credentials)
		return nil
	}
	if p.config.Refusal != "" {
		return fmt.Errorf("start the handler of %s: %w", spec.TypeName, &lambda.RefusedError{Status: http.StatusForbidden, Code: "AccessDeniedException", Message: p.config.Refusal})
	}
	program, err := p.runtimes.Prepare(ctx, runtime, entrypoint, code.Dir)
	if err != nil {
		return fmt.Errorf("start the handler of %s: %w", spec.TypeName, err)
	}
	if program.OtherVersion {
		p.config.Logger.Warn("the handler runs with another version of its runtime", "type", spec.TypeName, "version", spec.Version, "difference", program.Note)
	}
	config := p.function(spec, code, program, e.secrets)
	config.Credentials = credentials
	if deployment != nil {
		config.Env = slices.Concat(config.Env, deployment.Environment)
		config.Timeout, config.MemoryMB, config.TmpMB = deployment.Timeout, max(deployment.MemoryMB, leastMemory), deployment.TmpMB
		if err := p.addLayers(ctx, &config, deployment); err != nil {
			return fmt.Errorf("start the function %s: its layers: %w", spec.TypeName, err)
		}
	}
	if p.config.ProcessEnv != nil {
		more, err := p.config.ProcessEnv(config.Env)
		if err != nil {
			return fmt.Errorf("start the handler of %s: %w", spec.TypeName, err)
		}
		config.Env = slices.Concat(config.Env, p.notGiven(more))
	}
	function, err := lambda.Start(ctx, config)
	if err != nil {
		return fmt.Errorf("start the handler of %s: %w", spec.TypeName, err)
	}
	e.function = function
	return nil
}

// combined are the variables of a process that contain what it was given.
var combined = []string{"NODE_OPTIONS", sandbox.JavaOptions, "NO_PROXY", "no_proxy"}

// notGiven are the variables that the user has not set for all handlers: those of the user count.
func (p *Pool) notGiven(environ []string) []string {
	return slices.DeleteFunc(environ, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		given := slices.ContainsFunc(p.config.Env, func(own string) bool { return strings.HasPrefix(own, name+"=") })
		return given && !slices.Contains(combined, name)
	})
}

// leastMemory bounds the memory of a process at least, in MiB: an interpreter of this machine
// takes more than those of Lambda.
const leastMemory = 512

// function describes a handler to package lambda.
func (p *Pool) function(spec bundle.Spec, code *bundle.Code, program lambda.Program, hide *secrets) lambda.Config {
	env := slices.Concat(program.Env, p.config.Env)
	env = append(env, "PYTHONDONTWRITEBYTECODE=1") // the code is as read-only as on Lambda
	if p.config.Endpoint != nil {
		if url := p.config.Endpoint(); url != "" {
			env = append(env, "AWS_ENDPOINT_URL="+url)
		}
	}
	runtime := program.Runtime
	runtime.Files = slices.Concat(runtime.Files, p.config.Files)
	if spec.Kind == FunctionKind { // the user has named the folder
		runtime.Files = append(runtime.Files, sandbox.NodeModules(code.Dir)...)
	}
	var network lambda.Network
	if p.config.Network != nil {
		network = p.config.Network(spec)
	}
	return lambda.Config{
		Name:         functionName(spec),
		Network:      network,
		Environ:      withoutEndpoints(p.config.Environ),
		Command:      program.Command,
		Note:         program.Note,
		Dir:          code.Dir,
		Env:          env,
		Handler:      program.Handler,
		Sandbox:      p.config.Sandbox,
		Runtime:      runtime,
		Compiled:     p.compiled(spec, code, program.Compiler),
		Region:       spec.Region,
		AccountID:    spec.Account,
		MaxProcesses: p.config.MaxProcesses,
		InitTimeout:  p.config.InitTimeout,
		LogGroup:     logGroup(spec),
		Stream:       p.logs.stream(spec, hide, program.Note),
		Logger:       p.config.Logger,
		Now:          p.config.Now,
		Lazy:         true,
	}
}

// secretValues are the values of variables with the name of a secret.
func secretValues(env []string) (values []string) {
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if cfnlog.SecretName(name) || strings.Contains(strings.ToUpper(name), "TOKEN") {
			values = append(values, value)
		}
	}
	return values
}

// withoutEndpoints is an environment without the variables that name another place for
// AWS: where the program itself was started from, they may be those of a real account.
func withoutEndpoints(environ []string) []string {
	if environ == nil {
		environ = os.Environ()
	}
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		return strings.HasPrefix(entry, "AWS_ENDPOINT_URL") || strings.HasPrefix(entry, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=")
	})
}

// open reads the package of a handler from the store.
func (p *Pool) open(ctx context.Context, spec bundle.Spec) (*bundle.Bundle, func(), error) {
	blob, size, err := p.config.Store.Blobs().Open(ctx, spec.Package)
	if err != nil {
		return nil, nil, err
	}
	done := func() { _ = blob.Close() } // it was only read
	b, problems, err := bundle.Read(ctx, blob, size, bundle.Config{Kind: spec.Kind, TypeName: spec.TypeName})
	if err == nil && problems.HasErrors() { // the registry takes none that has
		err = &diag.Invalid{Problems: problems}
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return b, done, nil
}

// tend ends idle handlers, and removes unused packages.
func (p *Pool) tend() {
	ticker := time.NewTicker(min(max(p.config.IdleTimeout/4, time.Millisecond), 30*time.Second))
	defer ticker.Stop()
	var swept time.Time
	for {
		if now := p.config.Now(); now.Sub(swept) >= time.Hour {
			swept = now
			p.sweep()
		}
		select {
		case <-p.life.Done():
			return
		case <-ticker.C:
		}
		p.mu.Lock()
		for _, e := range p.entries {
			if now := p.config.Now(); e.uses == 0 && now.Sub(e.used) >= e.patience(p.config.IdleTimeout) || e.stale(now) {
				p.drop(e)
			}
		}
		p.mu.Unlock()
	}
}

func (p *Pool) sweep() {
	p.mu.Lock()
	var used []string
	for spec := range p.entries {
		if !isFunction(spec) {
			used = append(used, spec.Package)
		}
	}
	p.mu.Unlock()
	for _, hash := range used {
		p.cache.Touch(hash)
	}
	if _, err := p.cache.Sweep(p.life, p.config.KeepPackages); err != nil && p.life.Err() == nil {
		p.config.Logger.Warn("unpacked packages cannot be removed", "error", err)
	}
	if _, err := p.modules.folders.Sweep(p.life, p.config.Now(), p.config.KeepPackages, nil); err != nil && p.life.Err() == nil {
		p.config.Logger.Warn("compiled modules cannot be removed", "error", err)
	}
}
