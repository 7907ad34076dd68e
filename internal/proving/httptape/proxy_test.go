package httptape

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/formwork-dev/formwork/internal/foundation/envvar"
)

// TestMain is also the child process of TestChildProcess.
func TestMain(m *testing.M) {
	if os.Getenv("HTTPTAPE_CHILD") == "1" {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

// child makes calls as a handler does: with nothing set up but its environment.
func child() int {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err == nil {
		var out *sts.GetCallerIdentityOutput
		if out, err = sts.NewFromConfig(cfg).GetCallerIdentity(ctx, nil); err == nil {
			fmt.Fprint(os.Stdout, "sts ", aws.ToString(out.Account), "\n")
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sts:", err)
		return 1
	}
	response, err := http.DefaultClient.Get("https://api.initech.example/v1/memo")
	if err != nil {
		fmt.Fprintln(os.Stderr, "memo:", err)
		return 1
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	fmt.Fprint(os.Stdout, "memo ", response.Status, " ", string(body), "\n")
	return 0
}

// elsewhere is the network: it answers for every host.
type elsewhere struct {
	handler http.Handler
	calls   atomic.Int32
}

func (e *elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	e.calls.Add(1)
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, r)
	response := w.Result()
	response.Request = r
	return response, nil
}

func start(t *testing.T, cfg Config) *Proxy {
	t.Helper()
	cfg.Dir = t.TempDir()
	p, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *Proxy) variable(name string) string { return envvar.Get(p.Env(), name) }

// client goes through the proxy, for loopback hosts as well.
func client(t *testing.T, p *Proxy) *http.Client {
	t.Helper()
	proxy, err := url.Parse(p.variable("HTTPS_PROXY"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(p.variable("SSL_CERT_FILE"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(data)
	transport := &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}

func get(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	response, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

const identity = `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>arn:aws:iam::123456789012:user/milton</Arn><UserId>AIDA</UserId><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`

func services(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Host, "sts."):
		w.Header().Set("Content-Type", "text/xml")
		fmt.Fprint(w, identity)
	case r.URL.Host == "api.initech.example":
		fmt.Fprint(w, "did you get it?")
	default:
		http.NotFound(w, r)
	}
}

// TestChildProcess records the calls of a process and replays them to another one. All
// that the process gets is its environment.
func TestChildProcess(t *testing.T) {
	network := &elsewhere{handler: http.HandlerFunc(services)}
	tape := &Tape{Info: Info{TypeName: "Initech::TPS::Report", Seed: 7}}
	p := start(t, Config{Mode: Record, Tape: tape, Upstream: network})
	run := func(p *Proxy, secret string) string {
		t.Helper()
		cmd := exec.Command(os.Args[0])
		cmd.Env = append([]string{"HTTPTAPE_CHILD=1", "HOME=" + t.TempDir(), "AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=AKIAPLANTED", "AWS_SECRET_ACCESS_KEY=" + secret, "AWS_SESSION_TOKEN=" + secret + "token"}, p.Env()...)
		var warnings bytes.Buffer // the SDK complains there of connections that end early
		cmd.Stderr = &warnings
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s%s", err, out, &warnings)
		}
		return string(out)
	}
	want := "sts 123456789012\nmemo 200 OK did you get it?\n"
	if got := run(p, "planted-secret-key"); got != want {
		t.Errorf("recording: %s", got)
	}
	var file bytes.Buffer
	if err := tape.Write(&file, nil); err != nil {
		t.Fatal(err)
	}
	for _, planted := range []string{"planted-secret-key", "AKIAPLANTED"} {
		if strings.Contains(file.String(), planted) {
			t.Errorf("%s is in the recording:\n%s", planted, file.String())
		}
	}
	again, err := Read(&file)
	if err != nil || again.Len() != 2 || again.Info.Seed != 7 {
		t.Fatal(err, again)
	}
	made := network.calls.Load()
	if got := run(start(t, Config{Mode: Replay, Tape: again}), "another-secret"); got != want {
		t.Errorf("replay: %s", got)
	}
	if network.calls.Load() != made || len(again.Unplayed()) > 0 {
		t.Errorf("%d calls to the network, unplayed %q", network.calls.Load()-made, again.Unplayed())
	}
}

func TestCertificateFile(t *testing.T) {
	p := start(t, Config{})
	path := p.variable("SSL_CERT_FILE")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	data, err := os.ReadFile(path)
	if err != nil || bytes.Contains(data, []byte("PRIVATE")) || bytes.Count(data, []byte("BEGIN")) != 1 {
		t.Errorf("%v\n%s", err, data)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside it: %v %v", entries, err)
	}
	for _, name := range []string{"AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"} {
		if p.variable(name) != path {
			t.Errorf("%s is %s", name, p.variable(name))
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestNothingLeavesTheMachineUnasked(t *testing.T) {
	network := &elsewhere{handler: http.HandlerFunc(services)}
	p := start(t, Config{Upstream: network})
	c := client(t, p)
	for _, url := range []string{"https://api.initech.example/v1/memo?access_token=planted", "http://api.initech.example/", "https://192.0.2.1/"} {
		if status, body := get(t, c, url); status != http.StatusBadGateway || !strings.Contains(body, "network calls to other machines require --record") || strings.Contains(body, "planted") {
			t.Errorf("%s: %d %s", url, status, body)
		}
	}
	exchanges := p.Exchanges()
	if len(exchanges) != 3 || !exchanges[0].Refused || exchanges[0].Name != "GET https://api.initech.example/v1/memo?access_token=%3Chidden%3E" {
		t.Errorf("%+v", exchanges)
	}
	if n := network.calls.Load(); n != 0 {
		t.Errorf("%d calls were forwarded", n)
	}
}

func TestLoopbackIsForwarded(t *testing.T) {
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "secure ", r.Host) }))
	defer secure.Close()
	open := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "open ", r.URL) }))
	defer open.Close()
	p := start(t, Config{Upstream: secure.Client().Transport})
	c := client(t, p)
	if status, body := get(t, c, secure.URL); status != 200 || body != "secure "+strings.TrimPrefix(secure.URL, "https://") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := get(t, c, open.URL+"/a%2Fb?c=d"); status != 200 || body != "open /a%2Fb?c=d" {
		t.Errorf("%d %s", status, body)
	}
}

// TestEndpointsOfAWS: Go programs use no proxy for loopback.
func TestEndpointsOfAWS(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host, r.URL.Path) }))
	defer server.Close()
	tape := &Tape{}
	p := start(t, Config{Mode: Record, Tape: tape, Environ: []string{"AWS_ENDPOINT_URL=" + server.URL, "AWS_ENDPOINT_URL_S3=" + server.URL + "/s3", "AWS_ENDPOINT_URL_STS=https://sts.initech.example"}})
	address := p.variable("AWS_ENDPOINT_URL")
	if address == "" || address == server.URL || p.variable("AWS_ENDPOINT_URL_S3") != address+"/s3" || p.variable("AWS_ENDPOINT_URL_STS") != "" {
		t.Fatal(p.Env())
	}
	if status, body := get(t, &http.Client{}, address+"/x"); status != 200 || body != strings.TrimPrefix(address, "http://")+"/x" {
		t.Errorf("%d %s: the Host is what was signed", status, body)
	}
	if tape.entries[0].URL != server.URL+"/x" {
		t.Errorf("recorded as %s", tape.entries[0].URL)
	}
}

// caller is a client of AWS that goes through the proxy and does not wait between tries.
func caller(t *testing.T, p *Proxy) aws.Config {
	return aws.Config{
		Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("AKIA", "planted-secret-key", "planted-token"), HTTPClient: client(t, p),
		Retryer: func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = time.Millisecond; o.RateLimiter = unlimited{} })
		},
	}
}

type unlimited struct{}

func (unlimited) GetToken(context.Context, uint) (func() error, error) {
	return func() error { return nil }, nil
}
func (unlimited) AddTokens(uint) error { return nil }

// TestFaultsAreThoseOfTheService: the SDK understands them, tries again and succeeds.
func TestFaultsAreThoseOfTheService(t *testing.T) {
	for _, kind := range []Kind{Throttle, ServerError, CutBefore, CutAfter} {
		t.Run(string(kind), func(t *testing.T) {
			network := &elsewhere{handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Host, "lambda.") {
					fmt.Fprint(w, `{"Functions":[]}`)
					return
				}
				services(w, r)
			})}
			p := start(t, Config{Mode: Record, Tape: &Tape{}, Upstream: network})
			cfg := caller(t, p)
			for name, call := range map[string]func() error{
				"query": func() error { _, err := sts.NewFromConfig(cfg).GetCallerIdentity(t.Context(), nil); return err },
				"rest-json": func() error {
					_, err := lambda.NewFromConfig(cfg).ListFunctions(t.Context(), nil)
					return err
				},
			} {
				network.calls.Store(0)
				p.Inject(Fault{Kind: kind})
				if err := call(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				exchanges := p.Exchanges()
				if len(exchanges) != 2 || exchanges[0].Fault != kind || exchanges[1].Fault != "" || exchanges[1].Status != 200 {
					t.Errorf("%s: %+v", name, exchanges)
				}
				want := int32(1)
				if kind == CutAfter {
					want = 2
				}
				if n := network.calls.Load(); n != want {
					t.Errorf("%s: %d calls reached the service, want %d", name, n, want)
				}
				// All tries: the error is that of the service.
				// Where the connection ends, net/http tries again by itself before the SDK does.
				var all []Fault
				for i := range 12 {
					all = append(all, Fault{Kind: kind, Call: i})
				}
				p.Inject(all...)
				err := call()
				var refused smithy.APIError
				if err == nil || (kind == Throttle || kind == ServerError) && (!errors.As(err, &refused) || refused.ErrorCode() == "") {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func TestFaultShapes(t *testing.T) {
	request := func(host, body string, header ...string) (*http.Request, string) {
		r := httptest.NewRequest(http.MethodPost, "https://"+host+"/", strings.NewReader(body))
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		return r, body
	}
	for want, make := range map[string]func() (*http.Request, string){
		"429 application/json": func() (*http.Request, string) { return request("api.initech.example", "{}") },
		"400 application/x-amz-json-1.1": func() (*http.Request, string) {
			return request("kinesis.eu-west-1.amazonaws.com", "{}", "X-Amz-Target", "Kinesis_20131202.CreateStream")
		},
		"400 application/cbor": func() (*http.Request, string) {
			return request("monitoring.eu-west-1.amazonaws.com", "", "Smithy-Protocol", "rpc-v2-cbor")
		},
		"503 text/xml": func() (*http.Request, string) {
			return request("ec2.eu-west-1.amazonaws.com", "Action=RunInstances", "Content-Type", "application/x-www-form-urlencoded")
		},
		"503 application/xml": func() (*http.Request, string) { return request("reports.s3.eu-west-1.amazonaws.com", "") },
		"400 text/xml": func() (*http.Request, string) {
			return request("route53.amazonaws.com", "<a/>", "Content-Type", "application/xml")
		},
	} {
		r, body := make()
		w := httptest.NewRecorder()
		refusals[detect(r, r.URL.Hostname(), []byte(body))][Throttle].write(w, r)
		if got := fmt.Sprintf("%d %s", w.Code, w.Header().Get("Content-Type")); got != want {
			t.Errorf("%s: %s, want %s", r.URL.Host, got, want)
		}
	}
	if got := cborError("A", "b"); got != "\xa2\x66__type\x61A\x67message\x61b" {
		t.Errorf("%x", got)
	}
}

// TestRefusalsReachTheSDK: the reason is in the error of the client.
func TestRefusalsReachTheSDK(t *testing.T) {
	p := start(t, Config{})
	cfg := caller(t, p)
	_, query := sts.NewFromConfig(cfg).GetCallerIdentity(t.Context(), nil)
	_, rest := lambda.NewFromConfig(cfg).ListFunctions(t.Context(), nil)
	for name, err := range map[string]error{"query": query, "rest-json": rest} {
		var refused smithy.APIError
		if !errors.As(err, &refused) || refused.ErrorCode() != proxyCode || !strings.Contains(refused.ErrorMessage(), "network calls to other machines require --record") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnmatchedIsNamed(t *testing.T) {
	tape, err := Read(strings.NewReader(`{"httptape":1}
{"method":"POST","url":"https://api.initech.example/reports","requestType":"application/json","requestBody":"{\"title\":\"a\",\"clientToken\":\"x\",\"at\":\"2026-01-01T00:00:00Z\"}","status":201,"header":{"Content-Type":["application/json"]},"body":"{\"id\":1}"}
{"method":"GET","url":"https://api.initech.example/reports/1","status":200,"body":"pending"}
{"method":"GET","url":"https://api.initech.example/reports/1","status":200,"body":"filed"}
{"method":"GET","url":"https://api.initech.example/big","status":200,"missing":"it is longer than 8 MiB, or ended early"}
`))
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, Config{Mode: Replay, Tape: tape})
	c := client(t, p)
	post := func(body string) (int, string) {
		response, err := c.Post("https://api.initech.example/reports", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		data, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(data)
	}
	if status, body := post(`{"at":"2027-02-02T10:00:00.5+01:00","clientToken":"y","title":"a"}`); status != 201 || body != `{"id":1}` {
		t.Errorf("%d %s", status, body)
	}
	for _, want := range []string{"pending", "filed", "filed"} {
		if _, body := get(t, c, "https://api.initech.example/reports/1"); body != want {
			t.Errorf("%s, want %s", body, want)
		}
	}
	if status, body := post(`{"title":"a"}`); status != 502 || !strings.Contains(body, "the recording does not contain POST https://api.initech.example/reports") {
		t.Errorf("a second create was answered: %d %s", status, body)
	}
	if status, body := get(t, c, "https://api.initech.example/big"); status != 502 || !strings.Contains(body, "longer than 8 MiB") {
		t.Errorf("%d %s", status, body)
	}
	unmatched := 0
	for _, e := range p.Exchanges() {
		if e.Unmatched {
			unmatched++
		}
	}
	if unmatched != 2 {
		t.Errorf("%+v", p.Exchanges())
	}
}

// TestNoSecretIsRecorded plants secrets wherever a call can carry one.
func TestNoSecretIsRecorded(t *testing.T) {
	const known = "correct horse battery"
	redact := func(text string) string { return strings.ReplaceAll(text, known, Hidden) }
	network := &elsewhere{handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "session=planted-1")
		w.Header().Set("Location", "https://x.example/?X-Amz-Signature=planted-2&token=ok")
		w.Header().Set("X-Auth-Token", "planted-3")
		body := `{"AccessKeyId":"planted-4","SecretAccessKey":"planted-5","SecretString":"{\"user\":\"milton\",\"key\":\"planted-6\"}","Nested":[{"db_password":"planted-7"}],"Note":"it is ` + known + `","Code":"Y29ycmVjdCBob3JzZSBiYXR0ZXJ5","NextToken":"kept"}`
		if strings.HasSuffix(r.URL.Path, "xml") {
			w.Header().Set("Content-Type", "text/xml")
			body = `<R><Credentials><SecretAccessKey>planted-8</SecretAccessKey><n:SessionToken x="1">planted-9</n:SessionToken></Credentials><NextToken>kept</NextToken><Note>` + known + `</Note></R>`
		}
		if strings.HasSuffix(r.URL.Path, "odd") {
			w.Header().Set("Content-Encoding", "br")
			fmt.Fprint(w, "planted-10")
			return
		}
		if r.Header.Get("Accept-Encoding") == "gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			fmt.Fprint(z, body)
			return
		}
		fmt.Fprint(w, body)
	})}
	tape := &Tape{}
	p := start(t, Config{Mode: Record, Tape: tape, Redact: redact, Upstream: network})
	c := client(t, p)
	send := func(method, url, kind, body string, header ...string) {
		t.Helper()
		r, err := http.NewRequest(method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", kind)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		response, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
	}
	send("POST", "https://u:planted-11@a.example/json?X-Amz-Security-Token=planted-12&api_key=planted-13&q=1", "application/json", `{"Password":"planted-14","List":["`+known+`"],"Secret":123456}`,
		"Authorization", "AWS4-HMAC-SHA256 Credential=planted-15", "X-Amz-Security-Token", "planted-16", "Cookie", "planted-17")
	send("POST", "https://a.example/xml", "application/x-www-form-urlencoded; charset=utf-8", "Action=AssumeRole&MasterUserPassword=planted-18&Text=correct+horse+battery")
	send("GET", "https://a.example/odd", "", "")
	send("PUT", "https://a.example/json", "application/octet-stream", "\xff\x00 "+known)
	send("GET", "https://a.example/json", "", "", "Accept-Encoding", "gzip")
	var file bytes.Buffer
	if err := tape.Write(&file, redact); err != nil {
		t.Fatal(err)
	}
	text := file.String()
	for _, planted := range []string{"planted", "123456", known, "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5", "horse", "/wAgY29y"} {
		if strings.Contains(text, planted) {
			t.Errorf("%s is in the recording:\n%s", planted, text)
		}
	}
	for _, kept := range []string{"kept", "AssumeRole", `\"user\"`} {
		if !strings.Contains(text, kept) && !strings.Contains(text, strings.ReplaceAll(kept, `\"`, `\\\"`)) {
			t.Errorf("%s is not in the recording:\n%s", kept, text)
		}
	}
	for _, e := range p.Exchanges() {
		if strings.Contains(e.Name+e.Err, "planted") {
			t.Errorf("%+v", e)
		}
	}
	if _, err := Read(&file); err != nil {
		t.Error(err)
	}
}

func TestRecordedLate(t *testing.T) {
	tape := &Tape{}
	e := &Entry{Method: "GET", URL: "https://a.example/", Status: 200}
	e.setBodies(nil, []byte("it is known later"))
	tape.add(e)
	var b strings.Builder
	if err := tape.Write(&b, func(s string) string { return strings.ReplaceAll(s, "later", Hidden) }); err != nil || strings.Contains(b.String(), "later") {
		t.Error(err, b.String())
	}
}

func TestLongBodiesAreForwarded(t *testing.T) {
	long := strings.Repeat("x", MaxBody+10)
	network := &elsewhere{handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		if n > 0 {
			fmt.Fprint(w, n)
			return
		}
		fmt.Fprint(w, long)
	})}
	tape := &Tape{}
	p := start(t, Config{Mode: Record, Tape: tape, Upstream: network})
	c := client(t, p)
	if _, body := get(t, c, "https://a.example/"); body != long {
		t.Errorf("%d bytes came", len(body))
	}
	response, err := c.Post("https://a.example/", "text/plain", strings.NewReader(long))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); string(body) != fmt.Sprint(len(long)) {
		t.Errorf("the host got %s bytes", body)
	}
	for _, e := range tape.entries {
		if e.Missing == "" || len(e.Body) > 0 {
			t.Errorf("%s: missing %q, %d bytes", e.name(), e.Missing, len(e.Body))
		}
	}
}

func TestAnswersStream(t *testing.T) {
	first, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "one")
		w.(http.Flusher).Flush()
		<-release
		fmt.Fprint(w, "two")
	}))
	defer server.Close()
	c := client(t, start(t, Config{}))
	response, err := c.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	piece := make([]byte, 3)
	if _, err := io.ReadFull(response.Body, piece); err != nil || string(piece) != "one" {
		t.Fatal(err, string(piece))
	}
	close(first)
	close(release)
	if rest, err := io.ReadAll(response.Body); err != nil || string(rest) != "two" {
		t.Error(err, string(rest))
	}
}

func TestStrangeClients(t *testing.T) {
	p := start(t, Config{})
	address := strings.TrimPrefix(p.variable("HTTP_PROXY"), "http://")
	for _, sent := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT nonsense HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT db.example:5432 HTTP/1.1\r\nHost: x\r\n\r\n\x00\x00\x00\x08SSL?\r\n\r\n", "\x16\x03\x01"} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, sent)
		_ = conn.(*net.TCPConn).CloseWrite()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		answer, err := io.ReadAll(conn)
		if err != nil && !strings.Contains(err.Error(), "reset") || strings.HasPrefix(string(answer), "HTTP/1.1 2") && !strings.HasPrefix(sent, "CONNECT db") {
			t.Errorf("%q: %v %q", sent, err, answer)
		}
		conn.Close()
	}
}
