package invoke

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestRedirects: the clients of commands follow redirects within a server, and between those of AWS, only.
func TestRedirects(t *testing.T) {
	for _, test := range []struct {
		from, to string
		followed bool
	}{
		{"http://127.0.0.1:1/a", "http://127.0.0.1:1/b", true},
		{"http://127.0.0.1:1/a", "http://127.0.0.1:2/a", false},
		{"http://127.0.0.1:1/a", "http://localhost:1/a", false},
		{"https://cfn.example/a", "https://CFN.example/b", true},
		{"http://cfn.example/a", "https://cfn.example/a", true},
		{"https://cfn.example/a", "http://cfn.example/a", false},
		{"https://cfn.example/a", "https://evil.example/a", false},
		{"https://b.s3.amazonaws.com/k", "https://b.s3.eu-west-1.amazonaws.com/k", true},
		{"https://b.s3.amazonaws.com/k", "http://b.s3.eu-west-1.amazonaws.com/k", false},
		{"https://b.s3.amazonaws.com/k", "https://amazonaws.com.evil.example/k", false},
		{"https://evilamazonaws.com/k", "https://s3.amazonaws.com/k", false},
	} {
		from := httptest.NewRequest(http.MethodGet, test.from, nil)
		err := CheckRedirect(httptest.NewRequest(http.MethodGet, test.to, nil), []*http.Request{from})
		if (err == nil) != test.followed {
			t.Errorf("%s to %s: %v", test.from, test.to, err)
		}
	}
	first := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
	via := []*http.Request{first, first, first, first, first, first, first, first, first, first}
	if err := CheckRedirect(first, via); err == nil {
		t.Error("redirects have no limit")
	}
}

// TestLocalClientRedirects sends a request whose redirect the SDK's own client would follow.
func TestLocalClientRedirects(t *testing.T) {
	called := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "/within":
			http.Redirect(w, r, "/there", http.StatusPermanentRedirect)
		case "/circle":
			http.Redirect(w, r, "/circle", http.StatusTemporaryRedirect)
		}
	}))
	defer server.Close()
	for path, want := range map[string]string{"/within": "", "/circle": server.URL + " redirects 10 times", "/away": server.URL + " redirects to " + other.URL + ", which is another server; cfn does not follow it"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := LocalClient(func(string) string { return "" }).Do(request)
		if err == nil {
			response.Body.Close()
		}
		var refused *AnswerError
		if errors.As(err, &refused) != (want != "") || refused != nil && refused.Error() != want {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if called {
		t.Error("the other server was called")
	}
}

// dripping is a response of one byte a second, without an end until its request ends.
type dripping struct{ length int }

func (d dripping) Do(r *http.Request) (*http.Response, error) {
	return &http.Response{Body: &drip{ctx: r.Context(), left: d.length}}, nil
}

type drip struct {
	ctx    context.Context
	left   int
	closed bool
}

func (d *drip) Read(p []byte) (int, error) {
	if d.left == 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(time.Second):
		p[0] = 'x'
		d.left--
		return 1, nil
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
}

func (d *drip) Close() error { d.closed = true; return nil }

func TestBounded(t *testing.T) {
	for name, test := range map[string]struct {
		length int
		read   int
		want   string
	}{
		"slow, but complete": {100, 100, ""},
		"without an end":     {-1, 119, "http://127.0.0.1:1 did not complete its response within 2m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:1/", nil)
				request.URL = &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
				response, err := Bounded(dripping{test.length}).Do(request)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(response.Body)
				if len(text) < test.read || len(text) > test.read+1 || (err == nil) != (test.want == "") || err != nil && err.Error() != test.want {
					t.Errorf("%d bytes, %v", len(text), err)
				}
				var late *AnswerError
				if err != nil && (!errors.As(err, &late) || late.RetryableError()) {
					t.Errorf("%v is tried again", err)
				}
				if err := response.Body.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
	// An error of the request itself is that of the client.
	failing := errors.New("failed")
	if _, err := Bounded(failingClient{failing}).Do(httptest.NewRequest(http.MethodGet, "/", strings.NewReader(""))); !errors.Is(err, failing) {
		t.Error(err)
	}
}

// TestBoundedSize: a response has at most as many bytes as a template of 1 MB needs in XML, and more.
func TestBoundedSize(t *testing.T) {
	for size, want := range map[int]string{maxResponse: "", maxResponse + 1: "http://127.0.0.1:1 sends a response of more than 16 MB"} {
		request := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:1/", nil)
		response, err := Bounded(largeClient(size)).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, response.Body)
		if err == nil && want != "" || err != nil && err.Error() != want || err == nil && n != int64(size) {
			t.Errorf("%d of %d bytes, %v", n, size, err)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A largeClient answers with as many bytes.
type largeClient int

func (n largeClient) Do(*http.Request) (*http.Response, error) {
	return &http.Response{Body: io.NopCloser(strings.NewReader(strings.Repeat("x", int(n))))}, nil
}

type failingClient struct{ err error }

func (f failingClient) Do(*http.Request) (*http.Response, error) { return nil, f.err }
