package lambda

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// An Invoker is a function as the Invoke API offers it. *Function is one.
type Invoker interface {
	// Invoke runs one invocation; see Function.Invoke for the results.
	Invoke(ctx context.Context, payload []byte) (Result, error)
}

// Functions invoke functions for callers, by their names or ARNs. It is the border to the processes of
// functions; handlers.Directory implements it.
type Functions interface {
	// Call invokes a function. The secrets are values in the payload that no log may have.
	Call(ctx context.Context, caller awswire.Caller, function string, payload []byte, secrets []string) (Result, error)
}

// A Handler serves functions with the Lambda Invoke API: POST
// /2015-03-31/functions/{name}/invocations, where name may also be a partial or full ARN. It also
// answers AddPermission and RemovePermission, which have no effect.
// Requests need no signature, and a signature is not checked. All qualifiers select the same
// code, except for functions that the Lookup of Serve finds.
//
// An invocation continues when its caller hangs up, as on AWS, bounded by the
// limits of the function, and ends with Stop. The id of a request that is answered before it reaches
// a function is the X-Amzn-Requestid that the answer has already, or a new one.
// The zero value has no functions.
type Handler struct {
	// Functions are the functions by name. Do not change them while serving.
	Functions map[string]Invoker

	// Region and AccountID appear in messages. Empty means DefaultRegion and
	// DefaultAccountID.
	Region    string
	AccountID string

	// MaxEvents bounds the asynchronous invocations in progress. Zero means
	// 1000. One more is refused as throttled.
	MaxEvents int

	// Logger receives the outcome of asynchronous invocations, which no caller
	// learns, and the failures of this program. Nil means nowhere.
	Logger *slog.Logger

	mu     sync.Mutex
	events int
	idle   chan struct{}   // closed when events falls to 0; nil when nobody waits
	life   context.Context // of all invocations; nil before the first
	stop   context.CancelCauseFunc
}

var invokePath = lazyregexp.New(`^/2015-03-31/functions/([^/]+)/invocations/?$`)

// A Lookup finds functions. qualifier is "" if the request has none; ctx is that of the
// request. A nil Invoker without an error means that there is no such function; of an
// error, the caller learns what a *RefusedError or a *RuntimeError says, and otherwise that
// the service failed.
type Lookup func(ctx context.Context, name, qualifier string) (Invoker, error)

// ServeHTTP answers a call of the Invoke API from Functions.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.Serve(w, r, nil) }

// Serve answers a call of the Invoke API. lookup, if not nil, finds the functions that
// Functions does not have, for the sender of this request.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, lookup Lookup) {
	policy := policyPath.FindStringSubmatch(r.URL.Path)
	if policy != nil && (policy[2] == "" && r.Method == http.MethodPost || policy[2] != "" && r.Method == http.MethodDelete) {
		h.servePolicy(w, r, policy[1], policy[2], lookup)
		return
	}
	match := invokePath.FindStringSubmatch(r.URL.Path)
	if match == nil || r.Method != http.MethodPost {
		apiError{http.StatusNotFound, "UnknownOperationException", "this address offers POST /2015-03-31/functions/{name}/invocations only"}.write(w)
		return
	}
	invocation, failure := h.read(w, r, match[1], lookup)
	if failure != nil {
		failure.write(w)
		return
	}
	switch invocation.kind {
	case "DryRun":
		w.WriteHeader(http.StatusNoContent)
	case "Event":
		h.serveEvent(w, r, invocation)
	default:
		h.serveRequest(w, r, invocation)
	}
}

// A call is a checked request for an invocation.
type call struct {
	name    string
	target  Invoker
	kind    string // of the invocation: "RequestResponse", "Event", "DryRun"
	tail    bool
	payload []byte
}

// find finds the function that a request names.
func (h *Handler) find(w http.ResponseWriter, r *http.Request, reference string, lookup Lookup) (call, *apiError) {
	name, qualifier, ok := ParseReference(reference)
	if q := r.URL.Query().Get("Qualifier"); q != "" {
		if qualifier != "" && q != qualifier {
			return call{}, &apiError{http.StatusBadRequest, "InvalidParameterValueException",
				"The derived qualifier from the function name does not match the specified qualifier."}
		}
		qualifier = q
	}
	if !ok || !qualifierForm.MatchString(qualifier) {
		return call{}, &apiError{http.StatusBadRequest, "ValidationException",
			fmt.Sprintf("%q with qualifier %q is no name, partial ARN or ARN of a function", reference, qualifier)}
	}
	c := call{name: name, target: h.Functions[name]}
	if c.target == nil && lookup != nil {
		target, err := lookup(r.Context(), name, qualifier)
		if err != nil {
			refusal := h.refusal(w, name, err)
			return c, &refusal
		}
		c.target = target
	}
	if c.target == nil {
		return c, &apiError{http.StatusNotFound, "ResourceNotFoundException", "Function not found: " + h.arn(name)}
	}
	return c, nil
}

// read checks a request in the order in which AWS does.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, reference string, lookup Lookup) (call, *apiError) {
	c, failure := h.find(w, r, reference, lookup)
	if failure != nil {
		return c, failure
	}
	c.kind = r.Header.Get("X-Amz-Invocation-Type")
	orDefault(&c.kind, "RequestResponse")
	limit := int64(MaxRequestBytes)
	switch c.kind {
	case "RequestResponse", "DryRun":
	case "Event":
		limit = MaxEventBytes
	default:
		return c, &apiError{http.StatusBadRequest, "InvalidParameterValueException",
			fmt.Sprintf("invocation type %q: want RequestResponse, Event or DryRun", c.kind)}
	}
	switch logType := r.Header.Get("X-Amz-Log-Type"); logType {
	case "", "None":
	case "Tail":
		c.tail = true
	default:
		return c, &apiError{http.StatusBadRequest, "InvalidParameterValueException",
			fmt.Sprintf("log type %q: want None or Tail", logType)}
	}
	payload, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return c, &apiError{http.StatusRequestEntityTooLarge, "RequestTooLargeException",
			fmt.Sprintf("Request must be smaller than %d bytes for the InvokeFunction operation", limit)}
	case err != nil:
		return c, &apiError{http.StatusBadRequest, "InvalidRequestContentException", "the request broke off: " + err.Error()}
	case len(bytes.TrimSpace(payload)) == 0:
		payload = []byte("{}")
	case !json.Valid(payload):
		return c, &apiError{http.StatusBadRequest, "InvalidRequestContentException", "Could not parse request body into json"}
	}
	c.payload = payload
	return c, nil
}

// serveRequest runs an invocation while the caller waits.
func (h *Handler) serveRequest(w http.ResponseWriter, r *http.Request, c call) {
	ctx, done := h.outlive(r.Context())
	defer done()
	result, err := c.target.Invoke(ctx, c.payload)
	header := w.Header()
	if result.RequestID != "" {
		header.Set("X-Amzn-Requestid", result.RequestID)
	}
	if err != nil && result.FunctionError == "" {
		h.refusal(w, c.name, err).write(w)
		return
	}
	version := result.ExecutedVersion
	orDefault(&version, latest)
	header.Set("X-Amz-Executed-Version", version)
	if result.FunctionError != "" {
		header.Set("X-Amz-Function-Error", result.FunctionError)
	}
	if c.tail {
		tail := result.Log[max(0, len(result.Log)-maxLogTailBytes):]
		header.Set("X-Amz-Log-Result", base64.StdEncoding.EncodeToString(tail))
	}
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(result.Payload)))
	w.Write(result.Payload) // a caller that hung up needs no answer
}

// serveEvent accepts an invocation that runs on its own.
func (h *Handler) serveEvent(w http.ResponseWriter, r *http.Request, c call) {
	limit := h.MaxEvents
	orDefault(&limit, 1000)
	h.mu.Lock()
	full := h.events >= limit
	if !full {
		h.events++
	}
	h.mu.Unlock()
	if full {
		h.refusal(w, c.name, &ThrottledError{Function: c.name, Limit: limit}).write(w)
		return
	}
	ctx, done := h.outlive(r.Context())
	go func() {
		defer h.endEvent()
		defer done()
		result, err := c.target.Invoke(ctx, c.payload)
		if err != nil {
			h.logger().Warn("asynchronous invocation failed", "function", c.name, "request", result.RequestID, "error", err)
		}
	}()
	w.WriteHeader(http.StatusAccepted)
}

// Stop ends the invocations under way, and all later ones, with ErrClosed. It does not wait
// for them.
func (h *Handler) Stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.live()
	h.stop(ErrClosed)
}

// live makes the life of invocations if there is none. The caller holds mu.
func (h *Handler) live() context.Context {
	if h.life == nil {
		h.life, h.stop = context.WithCancelCause(context.Background())
	}
	return h.life
}

// outlive returns the context of an invocation: it has the values of its request, but ends
// only with Stop, or with done, which the caller must call.
func (h *Handler) outlive(request context.Context) (ctx context.Context, done func()) {
	h.mu.Lock()
	life := h.live()
	h.mu.Unlock()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(request))
	release := context.AfterFunc(life, func() { cancel(context.Cause(life)) })
	return ctx, func() {
		release()
		cancel(nil)
	}
}

func (h *Handler) endEvent() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events--
	if h.events == 0 && h.idle != nil {
		close(h.idle)
		h.idle = nil
	}
}

// Wait returns when no asynchronous invocation is in progress, or with the cause
// of ctx.
func (h *Handler) Wait(ctx context.Context) error {
	h.mu.Lock()
	if h.events == 0 {
		h.mu.Unlock()
		return nil
	}
	if h.idle == nil {
		h.idle = make(chan struct{})
	}
	idle := h.idle
	h.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *Handler) logger() *slog.Logger {
	if h.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return h.Logger
}

func (h *Handler) arn(name string) string {
	region, account := h.Region, h.AccountID
	orDefault(&region, DefaultRegion)
	orDefault(&account, DefaultAccountID)
	return functionARN(region, account, name)
}

// refusal is the answer to an invocation that could not be tried. Errors of types meant for
// callers keep their message. For any other error, which may name files and databases of this
// server, the caller gets only the request id that it is logged with.
func (h *Handler) refusal(w http.ResponseWriter, name string, err error) apiError {
	var throttled *ThrottledError
	var large *PayloadTooLargeError
	var refused *RefusedError
	var unknown *RuntimeError
	switch {
	case errors.As(err, &unknown):
		return apiError{http.StatusBadRequest, "InvalidParameterValueException", unknown.Error()}
	case errors.As(err, &refused):
		return apiError{refused.Status, refused.Code, refused.Message}
	case errors.As(err, &throttled):
		return apiError{http.StatusTooManyRequests, "TooManyRequestsException", "Rate Exceeded."}
	case errors.As(err, &large):
		return apiError{http.StatusRequestEntityTooLarge, "RequestTooLargeException", large.Error()}
	case errors.Is(err, ErrClosed):
		return apiError{http.StatusServiceUnavailable, "ServiceException", "function " + name + ": " + ErrClosed.Error()}
	}
	id := w.Header().Get("X-Amzn-Requestid")
	if id == "" {
		id = uuid.NewString()
		w.Header().Set("X-Amzn-Requestid", id)
	}
	h.logger().Error("invocation failed", "function", name, "request", id, "error", err)
	return apiError{http.StatusInternalServerError, "ServiceException", "An internal error occurred. The log of this server has its cause, under the request id " + id + "."}
}

// An apiError is a refusal in the form of the Lambda API.
type apiError struct {
	status  int
	code    string
	message string
}

func (e apiError) write(w http.ResponseWriter) {
	kind := "User"
	if e.status >= http.StatusInternalServerError {
		kind = "Service"
	}
	body := map[string]string{"Type": kind, "Message": e.message}
	if e.status == http.StatusTooManyRequests { // spelled differently by AWS, too
		body = map[string]string{"Type": kind, "message": e.message, "Reason": "ReservedFunctionConcurrentInvocationLimitExceeded"}
		w.Header().Set("Retry-After", "1")
	}
	text, _ := json.Marshal(body) // strings only
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Errortype", e.code)
	w.WriteHeader(e.status)
	w.Write(text)
}

var qualifierForm = lazyregexp.New(`^(|\$LATEST|[A-Za-z0-9_-]{1,128})$`)

// ParseReference reads the ways to name a function: "name",
// "account:function:name" and "arn:aws:lambda:region:account:function:name",
// each with ":qualifier" or without.
func ParseReference(reference string) (name, qualifier string, ok bool) {
	parts := strings.Split(reference, ":")
	switch {
	case parts[0] == "arn":
		if len(parts) < 7 || parts[2] != "lambda" || parts[5] != "function" {
			return "", "", false
		}
		parts = parts[6:]
	case len(parts) >= 3 && parts[1] == "function":
		parts = parts[2:]
	}
	if len(parts) > 2 || !functionName.MatchString(parts[0]) {
		return "", "", false
	}
	if len(parts) == 2 {
		qualifier = parts[1]
	}
	return parts[0], qualifier, true
}
