package handler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

type statusErr int

func (e statusErr) Error() string       { return fmt.Sprintf("status %d", int(e)) }
func (e statusErr) HTTPStatusCode() int { return int(e) }

type apiErr struct {
	code   string
	status int
}

func (e apiErr) Error() string        { return "operation error" }
func (e apiErr) ErrorCode() string    { return e.code }
func (e apiErr) ErrorMessage() string { return "said" }
func (e apiErr) HTTPStatusCode() int  { return e.status }

func TestFromError(t *testing.T) {
	tests := []struct {
		name    string
		err     error
		code    Code
		message string
	}{
		{"own error, wrapped", fmt.Errorf("reading: %w", NotFound("A::B::C", "x")), CodeNotFound, "Resource of type 'A::B::C' with identifier 'x' was not found."},
		{"own error without a message", &Error{Code: CodeThrottling}, CodeThrottling, "Throttling"},
		{"own error with an unknown code", &Error{Code: "Mine", Message: "m"}, CodeInternalFailure, "m"},
		{"deadline", fmt.Errorf("call: %w", context.DeadlineExceeded), CodeInternalFailure, "The handler ran out of time: call: context deadline exceeded"},
		{"deadline of an HTTP request", &url.Error{Op: "Get", URL: "http://x", Err: context.DeadlineExceeded}, CodeNetworkFailure, `Get "http://x": context deadline exceeded`},
		{"network time-out", &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, CodeNetworkFailure, "dial: i/o timeout"},
		{"network", &net.OpError{Op: "dial", Err: errors.New("refused")}, CodeNetworkFailure, "dial: refused"},
		{"HTTP client", &url.Error{Op: "Get", URL: "http://x", Err: errors.New("EOF")}, CodeNetworkFailure, `Get "http://x": EOF`},
		{"name service", &net.DNSError{Err: "no such host", Name: "x"}, CodeNetworkFailure, "lookup x: no such host"},
		{"a file is not a network", &os.PathError{Op: "open", Path: "f", Err: syscall.ENOTDIR}, CodeInternalFailure, "open f: not a directory"},
		{"cancelled", context.Canceled, CodeInternalFailure, "context canceled"},
		{"anything", errors.New("boom"), CodeInternalFailure, "boom"},
		{"throttling of an API", apiErr{"ThrottlingException", 400}, CodeThrottling, "said (ThrottlingException)"},
		{"access of an API", apiErr{"AccessDeniedException", 400}, CodeAccessDenied, "said (AccessDeniedException)"},
		{"credentials", apiErr{"ExpiredTokenException", 403}, CodeInvalidCredentials, "said (ExpiredTokenException)"},
		{"EC2 not found", apiErr{"InvalidInstanceID.NotFound", 400}, CodeNotFound, "said (InvalidInstanceID.NotFound)"},
		{"EC2 duplicate", apiErr{"InvalidGroup.Duplicate", 400}, CodeAlreadyExists, "said (InvalidGroup.Duplicate)"},
		{"limit", apiErr{"LimitExceededException", 400}, CodeServiceLimitExceeded, "said (LimitExceededException)"},
		{"limit of one thing", apiErr{"InstanceLimitExceeded", 400}, CodeServiceLimitExceeded, "said (InstanceLimitExceeded)"},
		{"limit of requests", apiErr{"RequestLimitExceeded", 503}, CodeThrottling, "said (RequestLimitExceeded)"},
		{"thing not found", apiErr{"TableNotFoundException", 400}, CodeNotFound, "said (TableNotFoundException)"},
		{"unknown code of an API with a status", apiErr{"Odd", 500}, CodeServiceInternalError, "said (Odd)"},
		{"unknown code of an API without a status", apiErr{"Odd", 0}, CodeGeneralServiceException, "said (Odd)"},
		{"400", statusErr(400), CodeInvalidRequest, "status 400"}, {"401", statusErr(401), CodeAccessDenied, "status 401"},
		{"403", statusErr(403), CodeAccessDenied, "status 403"}, {"404", statusErr(404), CodeNotFound, "status 404"},
		{"409", statusErr(409), CodeResourceConflict, "status 409"}, {"410", statusErr(410), CodeNotFound, "status 410"},
		{"418", statusErr(418), CodeGeneralServiceException, "status 418"}, {"429", statusErr(429), CodeThrottling, "status 429"},
		{"500", statusErr(500), CodeServiceInternalError, "status 500"}, {"503", statusErr(503), CodeServiceInternalError, "status 503"},
		{"511", statusErr(511), CodeAccessDenied, "status 511"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := FromError(test.err)
			if got.Code != test.code || got.Error() != test.message {
				t.Errorf("got %s %q, want %s %q", got.Code, got.Error(), test.code, test.message)
			}
		})
	}
	if FromError(nil) != nil {
		t.Error("nil became an error")
	}
}

// TestDeadlines asks a server that never answers, with one deadline or the other.
func TestDeadlines(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	get := func(ctx context.Context, client *http.Client) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			return err
		}
		_, err = client.Do(request)
		return err
	}
	own := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	outgoing := func(run func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			return run(ctx)
		}
	}
	long, short := time.Hour, 5*time.Millisecond
	for _, test := range []struct {
		name string
		left time.Duration // of the call; 0 sets no deadline
		run  func(context.Context) error
		code Code
	}{
		{"of the call", short, own, CodeInternalFailure},
		{"of the call, in a request", short, func(ctx context.Context) error { return get(ctx, http.DefaultClient) }, CodeInternalFailure},
		{"of an operation", long, outgoing(own), CodeNetworkFailure},
		{"of an operation, without one of the call", 0, outgoing(own), CodeNetworkFailure},
		{"of a request", long, outgoing(func(ctx context.Context) error { return get(ctx, http.DefaultClient) }), CodeNetworkFailure},
		{"of an HTTP client", long, func(ctx context.Context) error { return get(ctx, &http.Client{Timeout: time.Millisecond}) }, CodeNetworkFailure},
		{"with a code of the author's", short, func(ctx context.Context) error { return Errorf(CodeNotStabilized, "wait: %w", own(ctx)) }, CodeNotStabilized},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx := t.Context()
			if test.left > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, test.left)
				defer cancel()
			}
			resource, err := New(one(func(ctx context.Context, req widgetRequest) widgetEvent {
				chain := req.Chain(ctx, &req.Desired)
				chain.Do("ask", test.run)
				return chain.Done(nil)
			}))
			if err != nil {
				t.Fatal(err)
			}
			h, err := New(hook(func(ctx context.Context, req hookRequest) HookEvent { return req.Fail(test.run(ctx)) }))
			if err != nil {
				t.Fatal(err)
			}
			for function, payload := range map[*Function]string{
				resource: `{"action":"READ","requestData":{"resourceProperties":{"Id":"w"}}}`,
				h:        `{"actionInvocationPoint":"CREATE_PRE_PROVISION"}`,
			} {
				reply, err := function.Call(ctx, []byte(payload))
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(string(reply), `"errorCode":"`+string(test.code)+`"`) {
					t.Errorf("got %s, want %s", reply, test.code)
				}
				if said := strings.Contains(string(reply), "The handler ran out of time: "); said != (test.code == CodeInternalFailure) {
					t.Errorf("%s", reply)
				}
			}
		})
	}
}

func TestErrorsKeepTheirCause(t *testing.T) {
	cause := errors.New("cause")
	if err := Errorf(CodeThrottling, "step: %w", cause); !errors.Is(err, cause) || err.Error() != "step: cause" {
		t.Error(err)
	}
	if err := FromError(cause); !errors.Is(err, cause) {
		t.Error(err)
	}
}

func TestErrorTemplates(t *testing.T) {
	tests := []struct {
		err     *Error
		code    Code
		message string
	}{
		{AlreadyExists("T", "i"), CodeAlreadyExists, "Resource of type 'T' with identifier 'i' already exists."},
		{NotStabilized("T", "i"), CodeNotStabilized, "Resource of type 'T' with identifier 'i' did not stabilize."},
		{NotUpdatable("T", "i"), CodeNotUpdatable, "Resource of type 'T' with identifier 'i' is not updatable with parameters provided."},
		{AccessDenied("s3:Get"), CodeAccessDenied, "Access denied for operation 's3:Get'."},
		{ServiceLimitExceeded("T", "r"), CodeServiceLimitExceeded, "Limit exceeded for resource of type 'T'. Reason: r"},
		{ResourceConflict("T", "i", "r"), CodeResourceConflict, "Resource of type 'T' with identifier 'i' has a conflict. Reason: r."},
		{InvalidRequest("r"), CodeInvalidRequest, "Invalid request provided: r"},
		{NonCompliant("H", "r"), CodeNonCompliant, "Hook of type 'H' returned a non-compliant status. Reason: r"},
		{UnsupportedTarget("H", "T"), CodeUnsupportedTarget, "Hook of type 'H' does not support target 'T'."},
	}
	for _, test := range tests {
		if test.err.Code != test.code || test.err.Message != test.message {
			t.Errorf("got %s %q, want %s %q", test.err.Code, test.err.Message, test.code, test.message)
		}
	}
}

func TestCodes(t *testing.T) {
	retriable := 0
	for i, code := range Codes() {
		if !code.Known() {
			t.Errorf("%s is not known", code)
		}
		if i > 0 && Codes()[i-1] >= code {
			t.Errorf("%s is out of order", code)
		}
		if code.Retriable() {
			retriable++
		}
	}
	if len(Codes()) != 21 || retriable != 4 || Code("").Known() || Code("notfound").Known() {
		t.Errorf("%d codes, %d retriable", len(Codes()), retriable)
	}
	for name, code := range apiCodes() {
		if !code.Known() {
			t.Errorf("%s maps to %s", name, code)
		}
	}
}
