package handler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// A fakeRuntime is the Lambda Runtime API: it hands out the payloads, then
// answers 500.
type fakeRuntime struct {
	mu       sync.Mutex
	payloads []string
	header   http.Header
	posts    []string // "path body"
	answer   int      // to posts; 0 is 202
}

func (f *fakeRuntime) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		f.posts = append(f.posts, r.URL.EscapedPath()+" "+string(body))
		w.WriteHeader(max(f.answer, http.StatusAccepted))
		return
	}
	if r.URL.Path != "/2018-06-01/runtime/invocation/next" || len(f.payloads) == 0 {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	for name, values := range f.header {
		w.Header()[name] = values
	}
	if f.header == nil {
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", fmt.Sprintf("id/%d", len(f.payloads)))
		w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
	}
	payload := f.payloads[0]
	f.payloads = f.payloads[1:]
	_, _ = io.WriteString(w, payload)
}

func serveFake(t *testing.T, f *fakeRuntime, e Extension) error {
	t.Helper()
	server := httptest.NewServer(f)
	defer server.Close()
	return serve(t.Context(), e, strings.TrimPrefix(server.URL, "http://"))
}

func TestServeManyInvocations(t *testing.T) {
	var left time.Duration
	e := one(func(ctx context.Context, req widgetRequest) widgetEvent {
		deadline, _ := ctx.Deadline()
		left = time.Until(deadline)
		if req.Desired.Name != nil {
			panic("no name wanted")
		}
		return req.Success(widget{ID: ptr("w<1>")})
	})
	fake := &fakeRuntime{payloads: []string{`{"action":"READ","bearerToken":"a","requestData":{"resourceProperties":{"Id":"w"}}}`, `no JSON`, `{"action":"READ","requestData":{"resourceProperties":{"Id":"w","Name":"x"}}}`, `{"action":"READ","bearerToken":"b","requestData":{"resourceProperties":{"Id":"w"}}}`}}
	err := serveFake(t, fake, e)
	if err == nil || err.Error() != "get next invocation: the runtime answered 500 Internal Server Error" {
		t.Error(err)
	}
	want := []string{
		`/2018-06-01/runtime/invocation/id%2F4/response {"status":"SUCCESS","callbackDelaySeconds":0,"resourceModel":{"Id":"w<1>"},"bearerToken":"a"}`,
		`/2018-06-01/runtime/invocation/id%2F3/error {"errorMessage":"the payload is not JSON","errorType":"InvalidPayload"}`,
		`/2018-06-01/runtime/invocation/id%2F2/response {"status":"FAILED","errorCode":"InternalFailure","message":"The handler stopped unexpectedly: no name wanted","callbackDelaySeconds":0}`,
		`/2018-06-01/runtime/invocation/id%2F1/response {"status":"SUCCESS","callbackDelaySeconds":0,"resourceModel":{"Id":"w<1>"},"bearerToken":"b"}`,
	}
	if got := strings.Join(fake.posts, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if left > time.Minute-answerMargin || left < 50*time.Second {
		t.Errorf("the handler had %v", left)
	}
}

func TestServeEnds(t *testing.T) {
	fine := one(func(ctx context.Context, req widgetRequest) widgetEvent {
		if _, ok := ctx.Deadline(); ok {
			return req.Fail(errors.New("a deadline out of nowhere"))
		}
		return req.Success(widget{})
	})
	if err := serve(t.Context(), fine, ""); err == nil || !strings.Contains(err.Error(), `"cfn invoke", "cfn test" or "cfn start-lambda"`) {
		t.Error(err)
	}
	if err := serve(t.Context(), fine, "bad address"); err == nil || !strings.HasPrefix(err.Error(), "get next invocation: ") {
		t.Error(err)
	}
	if err := serveFake(t, &fakeRuntime{payloads: []string{"{}"}, header: http.Header{"X": nil}}, fine); err == nil || !strings.Contains(err.Error(), "no Lambda-Runtime-Aws-Request-Id") {
		t.Error(err)
	}
	if err := serveFake(t, &fakeRuntime{payloads: []string{strings.Repeat(" ", maxRequest+1)}}, fine); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
	fake := &fakeRuntime{payloads: []string{`{"action":"READ","requestData":{"resourceProperties":{"Id":"w"}}}`}, answer: 503}
	if err := serveFake(t, fake, fine); err == nil || err.Error() != "answer invocation id/1: the runtime answered 503 Service Unavailable" {
		t.Error(err)
	}
	fake = &fakeRuntime{payloads: []string{`{"action":"READ","requestData":{"resourceProperties":{"Id":"w"}}}`, `{"action":"READ","requestData":{"resourceProperties":{"Id":"w"}}}`}, answer: 413, header: http.Header{"Lambda-Runtime-Aws-Request-Id": {"a"}}}
	if err := serveFake(t, fake, fine); err == nil || !strings.HasPrefix(err.Error(), "get next invocation") || len(fake.posts) != 2 || !strings.Contains(fake.posts[0], "SUCCESS") {
		t.Error(err, fake.posts)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := serve(ctx, fine, "127.0.0.1:1"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestServeReportsAnInitError(t *testing.T) {
	fake := &fakeRuntime{}
	err := serveFake(t, fake, Resource[widget, widgetConfig]{TypeName: "A::B::C", Schema: []byte("{")})
	if err == nil || err.Error() != "start A::B::C: read schema: unexpected EOF" {
		t.Error(err)
	}
	if got := strings.Join(fake.posts, "\n"); got != `/2018-06-01/runtime/init/error {"errorMessage":"start A::B::C: read schema: unexpected EOF","errorType":"InitError"}` {
		t.Error(got)
	}
}

func TestWithMargin(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, test := range []struct{ left, want time.Duration }{
		{time.Minute, time.Minute - answerMargin}, {time.Second, 900 * time.Millisecond}, {0, 0}, {-time.Second, -time.Second},
	} {
		if got := withMargin(now.Add(test.left), now).Sub(now); got != test.want {
			t.Errorf("%v left: got %v, want %v", test.left, got, test.want)
		}
	}
}

// TestStart runs Start in a process of its own, since it ends the process.
func TestStart(t *testing.T) {
	if os.Getenv("HANDLER_TEST_START") != "" {
		Start(one(nil))
		return
	}
	command := exec.Command(os.Args[0], "-test.run=^TestStart$")
	command.Env = append(os.Environ(), "HANDLER_TEST_START=1", "AWS_LAMBDA_RUNTIME_API=")
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "not started by hand") {
		t.Errorf("%v: %s", err, out)
	}
}

// BenchmarkServe is a warm invocation through the Runtime API over HTTP.
func BenchmarkServe(b *testing.B) {
	e := one(func(_ context.Context, req widgetRequest) widgetEvent { return req.Success(widget{ID: ptr("w")}) })
	f, err := New(e)
	if err != nil {
		b.Fatal(err)
	}
	payload := `{"action":"READ","bearerToken":"t","requestData":{"resourceProperties":{"Id":"w"}}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = io.Copy(io.Discard, r.Body)
			return
		}
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "id")
		_, _ = io.WriteString(w, payload)
	}))
	defer server.Close()
	client := &runtimeClient{base: server.URL + "/" + runtimeVersion + "/runtime/", http: server.Client()}
	for b.Loop() {
		if err := client.serveNext(b.Context(), f); err != nil {
			b.Fatal(err)
		}
	}
}
