// Package server answers HTTP requests: those of AWS clients, and the few of browsers and monitors. It contains no logic
// of the services: each is a table of operations, one file per service, with the engine behind it and the constraints
// on its input.
//
// # The way of a request
//
// [Server.ServeHTTP] decides, in this order:
//
//  1. A page of another origin, or a host name that is not ours, is refused (guard.go). A browser would send such a request
//     for any page that the user looks at.
//  2. Pages of this server: /healthz, /health, /metrics, the certificate of the proxy, response URLs of custom resources and
//     wait conditions, the console. They count only if the request is not signed and is for this host: a bucket may
//     have an object of that name.
//  3. Everything else is a call of an API. awswire.Reader finds service, host and path once; awswire.CallerFinder checks the
//     signature and returns account and region; the table of the service decodes the body into the input shape of the
//     SDK, checks it against the constraints and calls the engine.
//
// # What to know before changing it
//
//   - A new operation is a row in the table of its service. The limits of members are constraints in that row, not code in the
//     engine: see constraints.go for those that several services share.
//   - Errors for callers are *awswire.Error. Any other error is answered as InternalFailure with the id of the request, and its
//     text goes to the log only, because it may name files or values of other accounts.
//   - Bodies are bounded by service, and read from disk when they are large (SpoolDir). A client that stops sending is cut
//     off after BodyTimeout. With a MemoryLimit, requests that may need much memory are refused with
//     ServiceUnavailable (memory.go), which SDKs retry.
//   - Names that callers choose never become labels of metrics: unknown services count as "other".
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/running/cloudcontrol"
	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/refactor"
	"github.com/formwork-dev/formwork/internal/running/registry"
	"github.com/formwork-dev/formwork/internal/running/simulate"
	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/running/stackset"
	"github.com/formwork-dev/formwork/internal/services/awslite"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/events"
	"github.com/formwork-dev/formwork/internal/services/logs"
	"github.com/formwork-dev/formwork/internal/services/s3"
	"github.com/formwork-dev/formwork/internal/services/sns"
	"github.com/formwork-dev/formwork/internal/services/states"
)

// Config sets up a server. Registry, Services, Logs, S3, Stacks, CloudControl, Shelf, Tokens, Functions and ConsoleToken must be set.
type Config struct {
	Registry *registry.Registry
	Services *awslite.Services
	Logs     *logs.Service
	S3       *s3.Service

	// Stacks are the operations on stacks, and Refactors those on stack refactors.
	Stacks    *stack.Engine
	Refactors *refactor.Engine

	// CloudControl are the requests on single resources.
	CloudControl *cloudcontrol.Engine

	// Shelf stores published schemas.
	Shelf *simulate.Shelf

	// Types finds what provisions a type.
	Types operation.Types

	// TimeScale, Simulate and Delegate are reported to clients: the scale of delays and the
	// simulated types.
	TimeScale float64
	Simulate  []string
	Delegate  []string

	Tokens *operation.Tokens // of handlers that report their progress

	// Functions finds the handler of a registered type for the Invoke API of Lambda.
	Functions func(ctx context.Context, caller awswire.Caller, name, qualifier string) (lambda.Invoker, error)

	Topics *sns.Service

	// Rules are the rules of EventBridge.
	Rules *events.Service

	// StackSets answers the operations on stack sets.
	StackSets *stackset.Engine

	// States answers requests of Step Functions.
	States *states.Service

	// Responses takes what the providers of custom resources put at response URLs. Nil takes none.
	Responses customresource.Inbox

	// Authority is the certificate, as PEM, of the authority for clients that use this server as a
	// proxy. Nil means that it is none.
	Authority []byte

	// Console answers below /_cfn. It may be nil. ConsoleToken is a token with which a browser
	// signs in to an account there, "" if nobody has to.
	Console      http.Handler
	ConsoleToken func(account string) string

	// Verifier checks signatures, Lookup finds temporary keys, and Default is the place of
	// requests that name none; see awswire.CallerFinder.
	Verifier *awswire.Verifier
	Lookup   func(ctx context.Context, accessKeyID string) (awswire.Key, bool, error)
	Default  awswire.Place

	// Hosts are accepted host names of requests, beside this machine's; buckets may be
	// subdomains of them. With AnyHost every name is accepted.
	Hosts   []string
	AnyHost bool

	// Healthy returns nil if the server can work, or why it cannot.
	Healthy func(ctx context.Context) error

	// Readers is how many requests to CloudFormation may read at once; best as many as there
	// are connections to read with. Zero means 16.
	Readers int

	// SpoolDir is the folder for large bodies of requests until they can be worked on. Empty
	// means the system's folder of temporary files.
	SpoolDir string

	// BodyTimeout is how long a client may take for the next piece of a body. Zero means 30 s.
	BodyTimeout time.Duration

	// MemoryLimit is how many bytes the process may take. While more than half of them are live, requests that
	// need much memory are refused. Zero means no limit. Live is how many bytes are live; nil means those that the
	// last collection found.
	MemoryLimit int64
	Live        func() uint64

	Version string
	Figures *Figures // more metrics; nil: none

	Tracer trace.TracerProvider // nil: no traces
	Logger *slog.Logger         // nil: nowhere
	Now    func() time.Time     // nil: time.Now
	NewID  func() string        // nil: random UUIDs
}

// AuthorityPath is the path of Config.Authority.
const AuthorityPath = "/authority.pem"

// Server answers requests; see New.
type Server struct {
	config  Config
	guard   guard
	callers awswire.CallerFinder
	metrics *metrics
	tracer  trace.Tracer
	lambda  *lambda.Handler

	responses http.Handler // of custom resources; nil: none
	reader    awswire.Reader

	bodies   awswire.Bodies            // those of requests
	payloads awswire.Bodies            // those of invocations in progress
	tables   map[string]*awswire.Table // by the name in the credential scope
	checkup  checkup
	memory   *memory
}

// New returns the server. It owns no resources; the caller closes its parts.
func New(config Config) *Server {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.NewID == nil {
		config.NewID = uuid.NewString
	}
	if config.Readers == 0 {
		config.Readers = 16
	}
	if config.BodyTimeout == 0 {
		config.BodyTimeout = 30 * time.Second
	}
	if config.Tracer == nil {
		config.Tracer = noop.NewTracerProvider()
	}
	s := &Server{
		config:  config,
		guard:   guard{hosts: config.Hosts, any: config.AnyHost},
		callers: awswire.CallerFinder{Verifier: config.Verifier, Lookup: config.Lookup, Default: config.Default},
		metrics: newMetrics(config),
		tracer:  config.Tracer.Tracer("github.com/formwork-dev/formwork/internal/running/server"),
		tables:  map[string]*awswire.Table{},
		memory:  newMemory(config),
	}
	if config.Responses != nil {
		s.responses = customresource.Handler(config.Responses, func(err error) {
			config.Logger.Error("the response of a custom resource cannot be taken", "error", err)
		})
	}
	s.bodies.Dir = config.SpoolDir
	s.payloads.Memory = 128 << 20
	s.bodies.Room, s.payloads.Room = s.roomForBody, s.roomForBody
	s.lambda = &lambda.Handler{Region: config.Default.Region, AccountID: config.Default.Account, Logger: config.Logger}
	s.reader = awswire.Reader{Hosts: config.Hosts, Bucket: config.S3.BucketOfHost, MustSign: config.Verifier != nil}
	for _, table := range append(config.Services.Tables(), config.Logs.Table(), config.Topics.Table(), config.Rules.Table(), config.States.Table(), cloudFormation(config.Registry, config.Stacks, config.Refactors, config.StackSets, config.Tokens, config.Readers), cloudControl(config.CloudControl), formwork(config.Shelf, config.Types, config.Stacks, config.Registry, config.ConsoleToken)) {
		table.Logger, table.Room = config.Logger, s.room
		s.tables[table.Service] = table
	}
	return s
}

// ServeHTTP answers one request. What a browser could have been made to send by a page of
// another origin is refused before anything looks at it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := s.config.NewID()
	answer := &answer{ResponseWriter: w}
	body := watchBody(w, r.Body, s.config.BodyTimeout)
	r.Body = body
	defer s.bodies.Hold(r)()
	defer drain(answer, r, body)
	defer s.recover(answer, r, id)
	if len(r.TransferEncoding) > 0 {
		// The request may also have had a Content-Length, which net/http does not report, and
		// a proxy may find another end of it (RFC 9112 §6.1).
		answer.Header().Set("Connection", "close")
	}
	if err := s.guard.refuse(r); err != nil {
		target, _ := s.reader.Read(r)
		awswire.WriteError(answer, r, awswire.ProtocolOf(target.Service), id, err)
		return
	}
	answer.Header().Set("Server", "formwork/"+s.config.Version)
	switch {
	case tunneled(r):
		s.api(answer, r, id)
	case s.forPeople(r):
		refuseForPeople(answer, r, id)
	case r.URL.Path == AuthorityPath && s.forUs(r) && s.config.Authority != nil:
		answer.Header().Set("Content-Type", "application/x-pem-file")
		_, _ = answer.Write(s.config.Authority) // the client may have hung up
	case r.URL.Path == "/healthz" && s.forUs(r):
		s.health(answer, r)
	case isServices(r.URL.Path) && s.forUs(r):
		s.services(answer)
	case r.URL.Path == "/metrics" && s.forUs(r):
		s.metrics.handler().ServeHTTP(answer, r)
	case r.URL.Path == stack.WaitPath && r.Method == http.MethodPut && !signed(r):
		s.signal(answer, r, id)
	case s.responses != nil && strings.HasPrefix(r.URL.Path, customresource.URLPath) && !signed(r):
		s.responses.ServeHTTP(answer, r)
	case isConsole(r.URL.Path) && s.config.Console != nil:
		if err := s.guard.refusePage(r); err != nil {
			awswire.WriteError(answer, r, awswire.RESTJSON, id, err)
			return
		}
		s.config.Console.ServeHTTP(answer, r)
	case r.URL.Path == "/" && wantsPage(r) && s.config.Console != nil:
		http.Redirect(answer, r, "/_cfn/", http.StatusFound)
	default:
		s.api(answer, r, id)
	}
}

// forUs reports whether a request is for a page of this server, not for a bucket or an object
// with the name of the page.
func (s *Server) forUs(r *http.Request) bool {
	ip := net.ParseIP(hostname(r.Host))
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && !signed(r) && (s.Own(r.Host) || ip != nil && s.config.AnyHost)
}

// wantsPage reports whether a request is from a browser in which the address was typed, not
// from an S3 client that lists its buckets: clients of AWS sign, or at least do not prefer
// HTML.
func wantsPage(r *http.Request) bool {
	return r.Method == http.MethodGet && !signed(r) && r.URL.RawQuery == "" &&
		strings.HasPrefix(r.Header.Get("Accept"), "text/html")
}

// api answers a request of an AWS client.
func (s *Server) api(w *answer, r *http.Request, id string) {
	start := s.config.Now()
	target, err := s.reader.Read(r)
	service := target.Service
	if refusal := refuseBrowser(r, service); err == nil && refusal != nil {
		err = refusal
	}
	caller := awswire.Caller{RequestID: id}
	if err == nil {
		caller, err = s.callersOf(r).Find(r, target, id)
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := s.tracer.Start(ctx, service, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("rpc.system", "aws-api"), attribute.String("rpc.service", service), attribute.String("aws.request_id", id)))
	defer span.End()
	r = r.WithContext(template.WithRoom(ctx, s.room))

	s.metrics.inFlight.Inc()
	defer s.metrics.inFlight.Dec()
	var operation, code string
	table := s.tables[service]
	switch {
	case err != nil:
		refusal := &awswire.Error{}
		if !errors.As(err, &refusal) {
			refusal = awswire.InternalFailure(id)
		}
		code = refusal.Code
		s.logCause(r, service, id, err)
		awswire.WriteError(w, r, awswire.ProtocolOf(service), id, refusal)
	case table != nil:
		operation, code = table.Serve(w, r, caller)
	case service == "s3":
		operation, code = s.config.S3.Serve(w, r, target, caller)
	case service == "lambda":
		operation = "Invoke"
		w.Header().Set("X-Amzn-Requestid", id)
		s.serveFunction(w, r, target, caller)
		code = w.Header().Get("X-Amzn-Errortype")
	default:
		code = "UnknownService"
		awswire.WriteError(w, r, awswire.ProtocolOfRequest(service, r), id, awswire.Errorf(code, http.StatusNotImplemented,
			"this server does not support the service %q; it supports %s", service, offered))
	}
	took := s.config.Now().Sub(start)
	if table == nil && service != "s3" && service != "lambda" {
		service = "other" // a caller's word, of which there is no end
	}
	s.metrics.observe(service, operation, code, took)
	if operation != "" {
		span.SetName(service + "." + operation)
		span.SetAttributes(attribute.String("rpc.method", operation))
	}
	span.SetAttributes(attribute.Int("http.response.status_code", w.status))
	if w.status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, code)
	}
	s.config.Logger.LogAttrs(r.Context(), slog.LevelInfo, "request", slog.String("service", service),
		slog.String("operation", operation), slog.String("code", code), slog.Int("status", w.status),
		slog.Duration("took", took), slog.String("account", caller.Account), slog.String("region", caller.Region), slog.String("request", id))
}

// logCause logs why a request failed if its sender did not cause the failure.
func (s *Server) logCause(r *http.Request, service, id string, err error) {
	cause := errors.Unwrap(err)
	if cause == nil {
		return
	}
	level := slog.LevelError
	if errors.Is(r.Context().Err(), context.Canceled) {
		level = slog.LevelDebug // the client hung up; not an error
	}
	s.config.Logger.Log(r.Context(), level, "the request failed", "service", service, "request", id, "error", cause)
}

// offered lists the services in the error for an unknown one.
const offered = "cloudformation, cloudcontrolapi, lambda (Invoke), s3, sns, events, states, sts, ssm, secretsmanager and logs"

// recover answers for a handler that panicked, if it has not answered yet.
func (s *Server) recover(w *answer, r *http.Request, id string) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		w.aborted = true
		panic(v)
	}
	s.config.Logger.Error("a request panicked", "request", id, "path", r.URL.Path, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	if w.status == 0 {
		awswire.WriteError(w, r, awswire.RESTJSON, id, awswire.InternalFailure(id))
	}
}

// answer remembers the status of an answer.
type answer struct {
	http.ResponseWriter
	status  int
	aborted bool // the connection is to be closed without an answer
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController flush and set deadlines.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
