package local_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/smithy-go"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/local"
)

// childVar makes the test binary a server of its own, so that it can be killed. Its value
// is a serverOptions in JSON. With FORMWORK_CFN set to a cfn program, that is run instead.
const childVar = "TEST_LOCAL_CHILD"

// serverOptions are what a server process is started with.
type serverOptions struct {
	Dir, Database string
	Address       string // empty: any free port
	Auth          string // key file

	TimeScale   float64
	Simulate    []string
	Delegate    []string
	Functions   []string
	MemoryLimit int64

	life      time.Duration // after which the process is killed, even though it is starting; 0: it is not
	Temporary string        // the folder with those of the tests, which handlers use
}

// serveAsChild is what the test binary does with childVar set.
func serveAsChild(options string) error {
	var o serverOptions
	if err := json.Unmarshal([]byte(options), &o); err != nil {
		return err
	}
	go func() { // a server does not outlive a test that was killed
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	config := local.ServerConfig{Address: o.Address, Config: local.Config{
		Logger:     slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		HandlerEnv: []string{"REPORTS_DIR=" + o.reports()}, Mounts: []string{o.reports() + ":rw", o.Temporary + ":rw"},
		Dir: o.Dir, Database: o.Database, TimeScale: o.TimeScale, Simulate: o.Simulate, Delegate: o.Delegate, Functions: o.Functions, MemoryLimit: o.MemoryLimit,
	}}
	if o.MemoryLimit > 0 {
		debug.SetMemoryLimit(o.MemoryLimit)
	}
	if o.Auth != "" {
		keys, err := os.ReadFile(o.Auth)
		if err != nil {
			return err
		}
		config.Keys = keys
	}
	server, err := local.Listen(ctx, config)
	if err != nil {
		return err
	}
	fmt.Printf("{\"endpoint\": %q}\n", server.URL())
	return server.Serve(ctx)
}

// reports is where the handlers of the example keep their reports, beside the folder of the server.
func (o serverOptions) reports() string { return o.Dir + "-reports" }

// A process is a server that runs by itself.
type process struct {
	cmd    *exec.Cmd
	url    string
	stderr lockedBuffer
	ended  chan struct{}
	err    error // how it ended; read after ended
	took   time.Duration
}

// startProcess starts a server and waits until it says where it listens. A server that
// ends before that gives an error with what it wrote.
func startProcess(t testing.TB, o serverOptions) (*process, error) {
	t.Helper()
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	p := &process{ended: make(chan struct{})}
	if program := os.Getenv("FORMWORK_CFN"); program != "" {
		args := []string{"serve", "--format", "json", "--address", o.Address, "--lambda-address", "", "--data", o.Dir, "--handler-env", "REPORTS_DIR=" + o.reports(), "--mount", o.reports() + ":rw", "--mount", os.TempDir() + ":rw"}
		if o.Database != "" {
			args = append(args, "--database", o.Database)
		}
		if o.Auth != "" {
			args = append(args, "--auth", o.Auth)
		}
		if o.TimeScale != 0 {
			args = append(args, "--time-scale", fmt.Sprint(o.TimeScale))
		}
		for _, pattern := range o.Simulate {
			args = append(args, "--simulate", pattern)
		}
		for _, rule := range o.Delegate {
			args = append(args, "--delegate", rule)
		}
		for _, function := range o.Functions {
			args = append(args, "--function", function)
		}
		p.cmd = exec.Command(program, args...)
		p.cmd.Env = os.Environ()
	} else {
		o.Temporary = os.TempDir()
		options, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		p.cmd = exec.Command(os.Args[0])
		p.cmd.Env = append(os.Environ(), childVar+"="+string(options))
	}
	if err := os.MkdirAll(o.reports(), 0o700); err != nil {
		t.Fatal(err)
	}
	// Temporary files go where the test can count them.
	temporary := o.Dir + "-tmp"
	if err := os.MkdirAll(temporary, 0o700); err != nil {
		t.Fatal(err)
	}
	p.cmd.Env = append(p.cmd.Env, "TMPDIR="+temporary)
	p.cmd.Stderr = &p.stderr
	if _, err := p.cmd.StdinPipe(); err != nil { // the child ends with it
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if o.life > 0 {
		defer time.AfterFunc(o.life, func() { _ = p.cmd.Process.Kill() }).Stop()
	}
	decoder := json.NewDecoder(bufio.NewReader(stdout))
	var ready struct{ Endpoint string }
	err = decoder.Decode(&ready)
	p.took = time.Since(started)
	go func() {
		_, _ = io.Copy(io.Discard, stdout)
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() { p.kill() })
	if err != nil || ready.Endpoint == "" {
		<-p.ended
		return nil, fmt.Errorf("the server does not start: %w: %s", cmp.Or(p.err, err), p.stderr.String())
	}
	p.url = ready.Endpoint
	return p, nil
}

// freeAddress is one that nothing listens at, for servers that are to have the same one.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// mustStart starts a server.
func mustStart(t testing.TB, o serverOptions) *process {
	t.Helper()
	p, err := startProcess(t, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// kill ends the process as kill -9 does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// terminate asks the process to end, and reports how long that took.
func (p *process) terminate(t testing.TB) time.Duration {
	t.Helper()
	started := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(2 * time.Minute):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // for its goroutines
		<-p.ended
		t.Fatalf("the server does not end: %s", p.stderr.String())
	}
	if p.err != nil {
		t.Errorf("the server ended with %v: %s", p.err, p.stderr.String())
	}
	return time.Since(started)
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

const (
	account = "123456789012"
	region  = "eu-west-1"
)

// clients are those of the SDK for one endpoint, without retries: what the server answers
// is what the test sees.
type clients struct {
	*cloudformation.Client
	s3     *s3.Client
	ssm    *ssm.Client
	lambda *lambda.Client
}

func newClients(t testing.TB, url string) clients {
	who := credentials.NewStaticCredentialsProvider(account, "secret", "")
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	over, once := &http.Client{Transport: patientBody{transport}}, aws.NopRetryer{}
	return clients{
		Client: cloudformation.New(cloudformation.Options{BaseEndpoint: &url, Region: region, Credentials: who, Retryer: once, HTTPClient: over}),
		s3:     s3.New(s3.Options{BaseEndpoint: &url, Region: region, Credentials: who, Retryer: once, HTTPClient: over, UsePathStyle: true}),
		ssm:    ssm.New(ssm.Options{BaseEndpoint: &url, Region: region, Credentials: who, Retryer: once, HTTPClient: over}),
		lambda: lambda.New(lambda.Options{BaseEndpoint: &url, Region: region, Credentials: who, Retryer: once, HTTPClient: over}),
	}
}

// patientBody keeps the SDK from cutting its own connections off. The SDK closes the body of
// a request as soon as there is an answer, and reading it fails from then on: a transport
// that has not yet seen the end of the body that it has written, because the server was
// that quick, takes the connection for broken while the answer is being read.
type patientBody struct{ http.RoundTripper }

func (p patientBody) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return p.RoundTripper.RoundTrip(r)
}

// eachPlace runs a test on every kind of database.
func eachPlace(t *testing.T, test func(t *testing.T, o serverOptions)) {
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			o := serverOptions{Dir: place.Dir, Database: place.DSN}
			if o.Dir == "" {
				o.Dir = filepath.Join(t.TempDir(), "data")
			}
			test(t, o)
		})
	}
}

// processesOf are the processes that run in or from a folder, were called with a file of it,
// or have one open, with their command lines.
func processesOf(dir string) map[int]string {
	found := map[int]string{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		proc := filepath.Join("/proc", entry.Name())
		command, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
		if len(command) == 0 {
			continue // a zombie, or of the kernel
		}
		line := strings.ReplaceAll(string(command), "\x00", " ")
		is := strings.Contains(line, dir+"/")
		for _, link := range []string{"cwd", "exe"} {
			target, _ := os.Readlink(filepath.Join(proc, link))
			is = is || strings.HasPrefix(target, dir+"/")
		}
		if is {
			found[pid] = line
		}
	}
	return found
}

// eventually waits until something is so.
func eventually(t testing.TB, patience time.Duration, what string, is func() bool) {
	t.Helper()
	if !fixtures.Happens(patience, is) {
		t.Errorf("not within %s: %s", patience, what) // perhaps in a goroutine of the test
	}
}

// letRun lets servers, handlers and clients work for a moment: the chance of a campaign, or the time between two requests of a
// driver that ends in any case. Nothing is asserted of it.
func letRun(d time.Duration) { time.Sleep(d) }

// codeOf is the code of the server's refusal, "" where the server did not answer.
func codeOf(err error) string {
	var refusal smithy.APIError
	if errors.As(err, &refusal) {
		return refusal.ErrorCode()
	}
	return ""
}
