//go:build unix

package lambda_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/formwork-dev/formwork/internal/running/lambda"
)

func dial(t *testing.T, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", address)
}

func TestEndpoint(t *testing.T) {
	f := start(t, config(t, "sdk"))
	s := listen(t, map[string]lambda.Invoker{"TypeFunction": f})
	e := &lambda.Endpoint{URL: s.URL() + "/", FunctionName: f.ARN(), LogTail: true}
	result, err := e.Invoke(t.Context(), []byte(`{"Do":"nothing"}`))
	if err != nil || !strings.Contains(string(result.Payload), `"PID"`) || !strings.Contains(string(result.Log), "doing nothing") || result.RequestID == "" {
		t.Errorf("%+v, %v", result, err)
	}
	_, err = e.Call(t.Context(), []byte(`{"Do":"fail"}`))
	is(func(e *lambda.FunctionError) bool { return e.Type == "errorString" && e.Message == "it went wrong" })(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err = e.Call(ctx, []byte(`{"Do":"sleep","Wait":100000000}`)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the deadline", err)
	}
	e.Timeout = 20 * time.Millisecond
	_, err = e.Call(t.Context(), []byte(`{"Do":"sleep","Wait":100000000}`))
	is(func(e *lambda.TimeoutError) bool { return e.Limit == 20*time.Millisecond })(t, err)
	_, err = e.Call(t.Context(), make([]byte, lambda.MaxRequestBytes+1))
	is(func(e *lambda.PayloadTooLargeError) bool { return e.Limit == lambda.MaxRequestBytes })(t, err)
}

// TestEndpointAnswers holds what is made of the answers of others.
func TestEndpointAnswers(t *testing.T) {
	tests := []struct {
		name   string
		status int
		header map[string]string
		body   string
		want   string // part of the error
		code   string
	}{
		{"page", 200, map[string]string{"Content-Type": "text/html; charset=utf-8"}, "<html><body>Welcome</body></html>", `text/html "<html><body>Welcome`, ""},
		{"page with an error", 404, map[string]string{"Content-Type": "text/html"}, "<h1>Not Found</h1>", `not the Lambda API: it returned 404 Not Found with text/html "<h1>Not Found</h1>"`, ""},
		{"garbage", 200, map[string]string{"Content-Type": "application/json"}, "{oops", `application/json "{oops" instead of JSON`, ""},
		{"nothing", 200, nil, "", `nothing instead of JSON`, ""},
		{"redirect", 302, map[string]string{"Location": "https://elsewhere.example/", "Content-Type": "text/plain"}, "", `it returned 302 Found with nothing`, ""},
		{"unknown function", 404, map[string]string{"X-Amzn-Errortype": "ResourceNotFoundException"}, `{"Message":"Function not found: F"}`, "ResourceNotFoundException: Function not found: F", "ResourceNotFoundException"},
		{"not allowed", 403, map[string]string{"X-Amzn-Errortype": "AccessDeniedException:http://internal.amazon.com/"}, `{"message":"no"}`, "AccessDeniedException: no", "AccessDeniedException"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for name, value := range test.header {
					w.Header().Set(name, value)
				}
				w.WriteHeader(test.status)
				io.WriteString(w, test.body)
			}))
			defer s.Close()
			_, err := (&lambda.Endpoint{URL: s.URL, FunctionName: "F"}).Call(t.Context(), []byte(`{}`))
			is(func(e *lambda.EndpointError) bool {
				return e.Status == test.status && e.Code == test.code && strings.Contains(e.Error(), test.want)
			})(t, err)
		})
	}
	t.Run("throttled", func(t *testing.T) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(429) }))
		defer s.Close()
		_, err := (&lambda.Endpoint{URL: s.URL, FunctionName: "F"}).Call(t.Context(), []byte(`{}`))
		is(func(e *lambda.ThrottledError) bool { return strings.Contains(e.Error(), "too many invocations") })(t, err)
	})
	t.Run("broken off", func(t *testing.T) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }))
		defer s.Close()
		_, err := (&lambda.Endpoint{URL: s.URL, FunctionName: "F"}).Call(t.Context(), []byte(`{}`))
		is(func(e *lambda.EndpointError) bool {
			return strings.Contains(e.Error(), "the connection was closed before a response")
		})(t, err)
	})
	t.Run("too large", func(t *testing.T) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Write(make([]byte, lambda.MaxResponseBytes+1))
		}))
		defer s.Close()
		_, err := (&lambda.Endpoint{URL: s.URL, FunctionName: "F"}).Call(t.Context(), []byte(`{}`))
		is(func(e *lambda.ResponseTooLargeError) bool { return e.Limit == lambda.MaxResponseBytes })(t, err)
	})
}

func TestEndpointUnreachable(t *testing.T) {
	s := listen(t, nil)
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	for _, test := range []struct{ url, want string }{
		{"http://" + gone.Addr().String(), `nothing is listening there; start "cfn start-lambda"`},
		{"127.0.0.1:3001", "not a URL such as http://127.0.0.1:3001"},
		{"ftp://127.0.0.1", "not a URL such as"},
		{"https://" + s.Addr(), "requires credentials and a region"},
	} {
		_, err := (&lambda.Endpoint{URL: test.url, FunctionName: "F"}).Call(t.Context(), []byte(`{}`))
		is(func(e *lambda.EndpointError) bool { return strings.Contains(e.Error(), test.want) })(t, err)
	}
}

func TestEndpointSigns(t *testing.T) {
	var got http.Header
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		io.WriteString(w, `{}`)
	}))
	defer s.Close()
	e := &lambda.Endpoint{
		URL: s.URL, FunctionName: "F", Region: "eu-west-1", HTTPClient: s.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("AKIA1", "secret", "token"),
		Now:         func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	}
	if _, err := e.Call(t.Context(), []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	if auth := got.Get("Authorization"); !strings.HasPrefix(auth, "AWS4-HMAC-SHA256 Credential=AKIA1/20260102/eu-west-1/lambda/aws4_request, SignedHeaders=") {
		t.Errorf("Authorization: %s", auth)
	}
	if got.Get("X-Amz-Date") != "20260102T030405Z" || got.Get("X-Amz-Security-Token") != "token" {
		t.Errorf("headers %v", got)
	}
	plain := httptest.NewServer(s.Config.Handler)
	defer plain.Close()
	e.URL, e.HTTPClient = plain.URL, nil
	if _, err := e.Call(t.Context(), []byte(`{}`)); err != nil || got.Get("Authorization") != "" {
		t.Errorf("over http: %v, Authorization %q; want none", err, got.Get("Authorization"))
	}
	e.Sign = true
	if _, err := e.Call(t.Context(), []byte(`{}`)); err != nil || !strings.Contains(got.Get("Authorization"), "/eu-west-1/lambda/") {
		t.Errorf("over http with Sign: %v, Authorization %q", err, got.Get("Authorization"))
	}
}
