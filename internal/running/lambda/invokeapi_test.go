//go:build unix

package lambda_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsapi "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// A stub answers invocations in process.
type stub func(ctx context.Context, payload []byte) (lambda.Result, error)

func (s stub) Invoke(ctx context.Context, payload []byte) (lambda.Result, error) {
	return s(ctx, payload)
}

func echo(_ context.Context, payload []byte) (lambda.Result, error) {
	return lambda.Result{RequestID: "id-1", Payload: payload, Log: []byte(strings.Repeat("l", 5000) + "end\n")}, nil
}

func TestHandler(t *testing.T) {
	handler := &lambda.Handler{Functions: map[string]lambda.Invoker{
		"Echo": stub(echo),
		"Fail": stub(func(context.Context, []byte) (lambda.Result, error) {
			return lambda.Result{FunctionError: "Unhandled", Payload: []byte(`{"errorType":"X"}`)}, &lambda.FunctionError{}
		}),
		"Busy":   stub(func(context.Context, []byte) (lambda.Result, error) { return lambda.Result{}, &lambda.ThrottledError{} }),
		"Closed": stub(func(context.Context, []byte) (lambda.Result, error) { return lambda.Result{}, lambda.ErrClosed }),
		"Broken": stub(func(context.Context, []byte) (lambda.Result, error) {
			return lambda.Result{}, errors.New("no more ports")
		}),
		"Seventh": stub(func(_ context.Context, payload []byte) (lambda.Result, error) {
			result := lambda.Result{ExecutedVersion: "00000007", Payload: []byte("7")}
			if string(payload) == "2" {
				result.FunctionError = "Unhandled"
				return result, &lambda.FunctionError{}
			}
			return result, nil
		}),
	}}
	type headers = map[string]string
	tests := []struct {
		name, method, path string
		send               headers
		body               string
		status             int
		want               headers // "-" for absent
		reply              string
	}{
		{"plain", "POST", "Echo/invocations", nil, `{"a":1}`, 200,
			headers{"X-Amz-Executed-Version": "$LATEST", "X-Amz-Function-Error": "-", "X-Amz-Log-Result": "-", "X-Amzn-Requestid": "id-1", "Content-Type": "application/json"}, `{"a":1}`},
		{"no payload", "POST", "Echo/invocations", nil, ``, 200, nil, `{}`},
		{"qualifier", "POST", "Echo/invocations?Qualifier=live", nil, `1`, 200, nil, `1`},
		{"qualifier in the name", "POST", "Echo:$LATEST/invocations", nil, `1`, 200, nil, `1`},
		{"partial ARN", "POST", "000000000000:function:Echo/invocations", nil, `1`, 200, nil, `1`},
		{"ARN, escaped", "POST", "arn%3Aaws%3Alambda%3Aus-east-1%3A000000000000%3Afunction%3AEcho%3A7/invocations", nil, `1`, 200, nil, `1`},
		{"event", "POST", "Echo/invocations", headers{"X-Amz-Invocation-Type": "Event"}, `1`, 202, headers{"X-Amz-Executed-Version": "-"}, ``},
		{"dry run", "POST", "Fail/invocations", headers{"X-Amz-Invocation-Type": "DryRun"}, `1`, 204, nil, ``},
		{"log tail", "POST", "Echo/invocations", headers{"X-Amz-Log-Type": "Tail"}, `1`, 200,
			headers{"X-Amz-Log-Result": base64.StdEncoding.EncodeToString([]byte(strings.Repeat("l", 4092) + "end\n"))}, `1`},
		{"function error", "POST", "Fail/invocations", nil, `1`, 200, headers{"X-Amz-Function-Error": "Unhandled"}, `{"errorType":"X"}`},
		{"unknown function", "POST", "Other/invocations", nil, `1`, 404, headers{"X-Amzn-Errortype": "ResourceNotFoundException"},
			`{"Message":"Function not found: arn:aws:lambda:us-east-1:000000000000:function:Other","Type":"User"}`},
		{"throttled", "POST", "Busy/invocations", nil, `1`, 429, headers{"X-Amzn-Errortype": "TooManyRequestsException", "Retry-After": "1"}, `Rate Exceeded.`},
		{"closed", "POST", "Closed/invocations", nil, `1`, 503, headers{"X-Amzn-Errortype": "ServiceException"}, `closed`},
		{"our fault", "POST", "Broken/invocations", nil, `1`, 500, headers{"X-Amzn-Errortype": "ServiceException", "X-Amz-Executed-Version": "-"}, `An internal error occurred.`},
		{"a version", "POST", "Seventh/invocations", nil, `1`, 200, headers{"X-Amz-Executed-Version": "00000007", "X-Amz-Function-Error": "-"}, `7`},
		{"a version that fails", "POST", "Seventh/invocations", nil, `2`, 200, headers{"X-Amz-Executed-Version": "00000007", "X-Amz-Function-Error": "Unhandled"}, `7`},
		{"payload not JSON", "POST", "Echo/invocations", nil, `{"a"`, 400, headers{"X-Amzn-Errortype": "InvalidRequestContentException"}, `Could not parse request body into json`},
		{"payload too large", "POST", "Echo/invocations", nil, strings.Repeat("1", lambda.MaxRequestBytes+1), 413,
			headers{"X-Amzn-Errortype": "RequestTooLargeException"}, `Request must be smaller than 6291456 bytes`},
		{"event too large", "POST", "Echo/invocations", headers{"X-Amz-Invocation-Type": "Event"}, strings.Repeat("1", lambda.MaxEventBytes+1), 413,
			headers{"X-Amzn-Errortype": "RequestTooLargeException"}, `1048576`},
		{"two qualifiers", "POST", "Echo:a/invocations?Qualifier=b", nil, `1`, 400, headers{"X-Amzn-Errortype": "InvalidParameterValueException"}, `does not match`},
		{"bad name", "POST", "a%20b/invocations", nil, `1`, 400, headers{"X-Amzn-Errortype": "ValidationException"}, `a b`},
		{"bad type", "POST", "Echo/invocations", headers{"X-Amz-Invocation-Type": "Later"}, `1`, 400, headers{"X-Amzn-Errortype": "InvalidParameterValueException"}, `Later`},
		{"bad log type", "POST", "Echo/invocations", headers{"X-Amz-Log-Type": "All"}, `1`, 400, headers{"X-Amzn-Errortype": "InvalidParameterValueException"}, `All`},
		{"bad method", "GET", "Echo/invocations", nil, ``, 404, headers{"X-Amzn-Errortype": "UnknownOperationException"}, `POST`},
		{"bad path", "POST", "Echo", nil, ``, 404, headers{"X-Amzn-Errortype": "UnknownOperationException"}, `POST`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(test.method, "http://127.0.0.1:3001/2015-03-31/functions/"+test.path, strings.NewReader(test.body))
			for name, value := range test.send {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != test.status || !strings.Contains(w.Body.String(), test.reply) || test.reply == "" && w.Body.Len() > 0 {
				t.Errorf("%d %.200s, want %d %s", w.Code, w.Body, test.status, test.reply)
			}
			for name, want := range test.want {
				if got := w.Header().Get(name); got != want && !(want == "-" && got == "") {
					t.Errorf("%s: %.200s, want %.200s", name, got, want)
				}
			}
		})
	}
	if err := handler.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestHandlerKeepsItsFailures: callers learn under which id the cause is logged, and not
// the cause, unless an error was made for them.
func TestHandlerKeepsItsFailures(t *testing.T) {
	const secret = "open /data/code/3f2a: disk I/O error"
	fail := func(err error) lambda.Invoker {
		return stub(func(context.Context, []byte) (lambda.Result, error) { return lambda.Result{}, err })
	}
	broken := errors.New(secret)
	for _, test := range []struct {
		name   string
		target lambda.Invoker
		found  error // by Lookup
		status int
		says   string
	}{
		{name: "the invocation", target: fail(fmt.Errorf("function F: %w", broken)), status: 500},
		{name: "the search", found: broken, status: 500},
		{name: "closed", target: fail(fmt.Errorf("%s: %w", secret, lambda.ErrClosed)), status: 503, says: "function F: the function is closed"},
		{name: "a refusal", found: fmt.Errorf("%s: %w", secret, &lambda.RefusedError{Status: 403, Code: "AccessDeniedException", Message: "not yours"}), status: 403, says: "not yours"},
		{name: "a runtime", target: fail(&lambda.RuntimeError{Runtime: "java21"}), status: 400, says: "java21"},
	} {
		var log bytes.Buffer
		handler := &lambda.Handler{Logger: slog.New(slog.NewTextHandler(&log, nil))}
		lookup := func(context.Context, string, string) (lambda.Invoker, error) { return test.target, test.found }
		for _, given := range []string{"", "id-of-the-server"} {
			log.Reset()
			w := httptest.NewRecorder()
			if given != "" {
				w.Header().Set("X-Amzn-Requestid", given)
			}
			handler.Serve(w, httptest.NewRequest("POST", "http://127.0.0.1:3001/2015-03-31/functions/F/invocations", strings.NewReader("{}")), lookup)
			body := w.Body.String()
			if w.Code != test.status || !strings.Contains(body, test.says) || strings.Contains(body, "/data") {
				t.Errorf("%s: %d %s, want %d %q", test.name, w.Code, body, test.status, test.says)
			}
			if test.status != http.StatusInternalServerError {
				continue
			}
			id := w.Header().Get("X-Amzn-Requestid")
			if id == "" || given != "" && id != given || !strings.Contains(body, id) || !strings.Contains(log.String(), "request="+id) || !strings.Contains(log.String(), secret) {
				t.Errorf("%s: the request %q is answered with %s and logged as %s", test.name, id, body, log.String())
			}
		}
	}
}

func TestEvents(t *testing.T) {
	release := make(chan struct{})
	handler := &lambda.Handler{MaxEvents: 1, Functions: map[string]lambda.Invoker{
		"Slow": stub(func(ctx context.Context, _ []byte) (lambda.Result, error) {
			<-release
			return lambda.Result{}, ctx.Err()
		}),
	}}
	post := func() int {
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, "POST", "http://127.0.0.1:3001/2015-03-31/functions/Slow/invocations", nil)
		r.Header.Set("X-Amz-Invocation-Type", "Event")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		cancel()
		return w.Code
	}
	if first, second := post(), post(); first != 202 || second != 429 {
		t.Errorf("status %d, then %d; want 202, then 429", first, second)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := handler.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait returned %v while an invocation runs", err)
	}
	close(release)
	if err := handler.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if status := post(); status != 202 {
		t.Errorf("afterwards: status %d, want 202", status)
	}
	handler.Wait(t.Context())
}

// listen serves the functions on a free port until the end of the test.
func listen(t testing.TB, functions map[string]lambda.Invoker) *lambda.Server {
	t.Helper()
	s, err := lambda.Listen(lambda.ServerConfig{Handler: &lambda.Handler{Functions: functions}, Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.Serve(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		serving.Wait()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return s
}

func TestServerRefusesPages(t *testing.T) {
	s := listen(t, map[string]lambda.Invoker{"Echo": stub(echo)})
	tests := []struct {
		host, header, value string
		status              int
	}{
		{s.Addr(), "", "", 200},
		{"localhost:3001", "", "", 200},
		{"LOCALHOST", "", "", 200},
		{"[::1]:3001", "", "", 200},
		{"evil.example", "", "", 403},
		{"127.0.0.1.evil.example:3001", "", "", 403},
		{"", "", "", 400},
		{s.Addr(), "Origin", "https://evil.example", 403},
		{s.Addr(), "Sec-Fetch-Site", "cross-site", 403},
	}
	for _, test := range tests {
		body := "POST /2015-03-31/functions/Echo/invocations HTTP/1.1\r\nHost: " + test.host + "\r\nConnection: close\r\nContent-Length: 1\r\n"
		if test.host == "" {
			body = strings.Replace(body, "Host: \r\n", "", 1)
		}
		if test.header != "" {
			body += test.header + ": " + test.value + "\r\n"
		}
		if got := rawStatus(t, s.Addr(), body+"\r\n1"); got != test.status {
			t.Errorf("host %q, %s %s: status %d, want %d", test.host, test.header, test.value, got, test.status)
		}
	}
}

func TestListenRefuses(t *testing.T) {
	taken := listen(t, nil)
	for _, test := range []struct{ address, want string }{
		{"0.0.0.0:0", "other machines could run the functions"},
		{":0", "other machines could run the functions"},
		{"192.0.2.1:3001", "other machines could run the functions"},
		{"3001", "expected HOST:PORT, such as 127.0.0.1:3001"},
		{taken.Addr(), "the port is in use"},
	} {
		s, err := lambda.Listen(lambda.ServerConfig{Address: test.address})
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", test.address, err, test.want)
		}
	}
	s, err := lambda.Listen(lambda.ServerConfig{Address: "0.0.0.0:0", AllowRemote: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func TestServeFinishesRequests(t *testing.T) {
	begun := make(chan struct{})
	var s *lambda.Server
	slow := stub(func(ctx context.Context, payload []byte) (lambda.Result, error) {
		close(begun)
		fixtures.Happens(fixtures.Patience, func() bool { // until the server stops
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
			if err == nil {
				conn.Close()
			}
			return err != nil
		})
		return lambda.Result{Payload: payload}, ctx.Err()
	})
	var err error
	s, err = lambda.Listen(lambda.ServerConfig{Handler: &lambda.Handler{Functions: map[string]lambda.Invoker{"Slow": slow}}, Address: "127.0.0.1:0", GracePeriod: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	reply := make(chan string, 1)
	go func() {
		got, err := (&lambda.Endpoint{URL: s.URL(), FunctionName: "Slow"}).Call(context.Background(), []byte(`"x"`))
		reply <- fmt.Sprintf("%s %v", got, err)
	}()
	if err := s.Serve(ctx); err != nil {
		t.Error(err)
	}
	if got := <-reply; got != `"x" <nil>` {
		t.Error("the request under way got", got)
	}
}

// TestAWSClient calls with the SDK as its users do.
func TestAWSClient(t *testing.T) {
	f := start(t, config(t, "sdk"))
	s := listen(t, map[string]lambda.Invoker{"TypeFunction": f, "TestEntrypoint": f})
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := awsapi.New(awsapi.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(s.URL()), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""), HTTPClient: &http.Client{Transport: transport},
	})
	invoke := func(name, payload string) (*awsapi.InvokeOutput, error) {
		return client.Invoke(t.Context(), &awsapi.InvokeInput{FunctionName: aws.String(name), Payload: []byte(payload), LogType: types.LogTypeTail})
	}
	out, err := invoke("TestEntrypoint", `{"Do":"nothing"}`)
	if err != nil {
		t.Fatal(err)
	}
	log, err := base64.StdEncoding.DecodeString(aws.ToString(out.LogResult))
	if out.StatusCode != 200 || aws.ToString(out.ExecutedVersion) != "$LATEST" || out.FunctionError != nil || !strings.Contains(string(log), "\ndoing nothing\nEND RequestId: ") {
		t.Errorf("status %d, version %s, error %v, log %s %v", out.StatusCode, aws.ToString(out.ExecutedVersion), out.FunctionError, log, err)
	}
	out, err = invoke(f.ARN(), `{"Do":"panic"}`)
	if err != nil || aws.ToString(out.FunctionError) != "Unhandled" || !strings.Contains(string(out.Payload), `"errorMessage":"nothing there"`) {
		t.Errorf("panic: %+v, %v", out, err)
	}
	out, err = invoke("TypeFunction", `{"Do":"nothing"}`)
	if err != nil || out.FunctionError != nil {
		t.Errorf("after the panic: %+v, %v", out, err)
	}
	_, err = invoke("Other", `{}`)
	var missing *types.ResourceNotFoundException
	if !errors.As(err, &missing) || !strings.Contains(missing.ErrorMessage(), "Function not found: arn:") {
		t.Errorf("unknown function: %v", err)
	}
	_, err = invoke("TypeFunction", strings.Repeat("1", lambda.MaxRequestBytes+1))
	var large *types.RequestTooLargeException
	if !errors.As(err, &large) {
		t.Errorf("large payload: %v", err)
	}
}

// TestBoto3 calls as the official tool does: with botocore, unsigned.
func TestBoto3(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.CommandContext(t.Context(), python, "-c", "import boto3").Run()
	}
	if err != nil {
		t.Skip("Python with boto3 is not installed")
	}
	f := start(t, config(t, "sdk"))
	s := listen(t, map[string]lambda.Invoker{"TypeFunction": f})
	script := `
import boto3, json, sys
from botocore import UNSIGNED
from botocore.config import Config
c = boto3.client("lambda", endpoint_url=sys.argv[1], region_name="us-east-1", use_ssl=False, verify=False,
    config=Config(signature_version=UNSIGNED, retries={"max_attempts": 0}))
r = c.invoke(FunctionName="TypeFunction", Payload=json.dumps({"Do": "nothing"}))
print(r["StatusCode"], "FunctionError" in r, "PID" in json.load(r["Payload"]))
r = c.invoke(FunctionName="TypeFunction", Payload=json.dumps({"Do": "fail"}))
print(r["StatusCode"], r["FunctionError"], json.load(r["Payload"])["errorMessage"])
try:
    c.invoke(FunctionName="Other", Payload="{}")
except c.exceptions.ResourceNotFoundException as e:
    print(e.response["Error"]["Code"])
`
	out, err := exec.CommandContext(t.Context(), python, "-c", script, s.URL()).CombinedOutput()
	want := "200 False True\n200 Unhandled it went wrong\nResourceNotFoundException\n"
	if err != nil || string(out) != want {
		t.Errorf("got %s, %v; want %s", out, err, want)
	}
}

func rawStatus(t *testing.T, address, request string) int {
	t.Helper()
	conn, err := dial(t, address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, request)
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	var status int
	fmt.Sscanf(string(answer), "HTTP/1.1 %d", &status)
	return status
}

// TestHandlerLookup finds functions by asking, with the caller's request at hand.
func TestHandlerLookup(t *testing.T) {
	asked := ""
	handler := &lambda.Handler{Functions: map[string]lambda.Invoker{"Fixed": stub(echo)}}
	lookupFor := func(caller string) lambda.Lookup {
		return func(_ context.Context, name, qualifier string) (lambda.Invoker, error) {
			asked = fmt.Sprint(caller, " ", name, " ", qualifier)
			switch name {
			case "Gone":
				return nil, nil
			case "Secret":
				return nil, &lambda.RefusedError{Status: 403, Code: "AccessDeniedException", Message: "not yours"}
			case "Broken":
				return nil, errors.New("no database")
			case "Java":
				return nil, &lambda.RuntimeError{Runtime: "java17", Reason: "is not run here"}
			}
			return stub(echo), nil
		}
	}
	for _, test := range []struct {
		path   string
		status int
		code   string
		asked  string
	}{
		{"Found/invocations?Qualifier=00000002", 200, "", "caller Found 00000002"},
		{"arn%3Aaws%3Alambda%3Aus-east-1%3A000000000000%3Afunction%3AFound%3A7/invocations", 200, "", "caller Found 7"},
		{"Fixed/invocations", 200, "", ""},
		{"Gone/invocations", 404, "ResourceNotFoundException", "caller Gone "},
		{"Secret/invocations", 403, "AccessDeniedException", "caller Secret "},
		{"Broken/invocations", 500, "ServiceException", "caller Broken "},
		{"Java/invocations", 400, "InvalidParameterValueException", "caller Java "},
	} {
		asked = ""
		r := httptest.NewRequest("POST", "/2015-03-31/functions/"+test.path, strings.NewReader("1"))
		w := httptest.NewRecorder()
		handler.Serve(w, r, lookupFor("caller"))
		if w.Code != test.status || w.Header().Get("X-Amzn-Errortype") != test.code || asked != test.asked {
			t.Errorf("%s: %d %s, asked %q", test.path, w.Code, w.Header().Get("X-Amzn-Errortype"), asked)
		}
	}
}
