//go:build unix

package lambda_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	awslambda "github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"go.uber.org/goleak"

	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// The test binary doubles as the handlers: with handlerVar set it behaves as
// one of the table below instead of running tests.
const handlerVar = "TEST_HANDLER"

func TestMain(m *testing.M) {
	if name := os.Getenv(handlerVar); name != "" {
		behave, ok := handlers[name]
		if !ok {
			fmt.Fprintln(os.Stderr, "no handler", name)
			os.Exit(64)
		}
		behave()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// config describes a function that behaves as the named handler.
func config(t testing.TB, handler string) lambda.Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return lambda.Config{
		Name:    "TypeFunction",
		Command: []string{self},
		Dir:     t.TempDir(),
		Env:     []string{handlerVar + "=" + handler},
	}
}

// start starts a function, and at the end of the test closes it and counts what
// is left of its processes.
func start(t testing.TB, c lambda.Config) *lambda.Function {
	t.Helper()
	f, err := lambda.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Close()
		if left := f.Processes(); len(left) != 0 {
			t.Errorf("processes left after Close: %v", left)
		}
	})
	return f
}

// handlers are what processes under test do.
var handlers = map[string]func(){
	"sdk":         sdkHandler,
	"echo":        func() { serve(func(_ string, payload []byte) { reply(payload) }) },
	"crash-init":  func() { fmt.Fprintln(os.Stderr, "cannot read settings"); os.Exit(3) },
	"crash-mid":   func() { serve(crashMid) },
	"signal-mid":  func() { serve(func(string, []byte) { syscall.Kill(os.Getpid(), syscall.SIGSEGV); select {} }) },
	"hang":        func() { serve(func(string, []byte) { fmt.Println("about to hang"); time.Sleep(time.Hour) }) },
	"no-next":     func() { fmt.Println("listening on :8080"); time.Sleep(time.Hour) },
	"one-reply":   func() { r := take(); reply(r.payload); time.Sleep(time.Hour) },
	"garbage":     func() { serve(func(string, []byte) { reply([]byte("<html>not \xffJSON")) }) },
	"large":       func() { serve(func(_ string, p []byte) { reply(bytes.Repeat([]byte("x"), number(p))) }) },
	"large-chunk": func() { serve(func(_ string, p []byte) { replyChunked(bytes.Repeat([]byte("x"), number(p))) }) },
	"chunked":     func() { serve(func(_ string, p []byte) { replyChunked(p) }) },
	"trailer":     func() { serve(func(string, []byte) { replyTrailer() }) },
	"init-error":  initError,
	"noise":       func() { serve(func(_ string, p []byte) { makeNoise(number(p)); reply([]byte("{}")) }) },
	"print": func() {
		fmt.Println("getting ready")
		serve(func(id string, p []byte) {
			fmt.Println(string(p))
			fmt.Fprint(os.Stderr, "to stderr ", id)
			reply([]byte("{}"))
		})
	},
	"own-folders": func() { serve(ownFolders) },
	"grandchild":  func() { serve(grandchild) },
	"daemon":      func() { serve(daemon) },
	"detach":      detach,
	"sleep":       func() { fmt.Println("asleep"); time.Sleep(time.Hour) },
	"farewell":    farewell,
	"stubborn":    func() { signal.Ignore(syscall.SIGTERM); serve(func(_ string, p []byte) { reply(p) }) },
	"memory":      func() { serve(takeMemory) },
	"memory-peak": func() { serve(func(_ string, p []byte) { hold(number(p)); reply([]byte("{}")) }) },
	"next-twice":  func() { take(); _, err := next(); fmt.Fprintln(os.Stderr, "second next:", err); os.Exit(5) },
	"bad-id":      badID,
	"half-reply":  func() { serve(func(string, []byte) { halfReply(); os.Exit(7) }) },
	"env":         func() { serve(func(string, []byte) { b, _ := json.Marshal(os.Environ()); reply(b) }) },
	"nest":        nest,
	"ask":         func() { serve(ask) },
	"by-child":    byChild,
	"one-round":   func() { reply(take().payload) },
	"debugger":    waitForDebugger,
	"version":     func() { serve(func(string, []byte) { reply([]byte(strconv.Quote(os.Args[1]))) }) },
}

// sdkHandler is a handler as its authors write it.
func sdkHandler() {
	type request struct {
		Do   string
		Wait time.Duration
	}
	type answer struct {
		PID       int
		RequestID string
		ARN       string
		Left      time.Duration
		Memory    int
		Dir       string
	}
	awslambda.Start(func(ctx context.Context, r request) (any, error) {
		fmt.Println("doing", r.Do)
		switch r.Do {
		case "panic":
			panic("nothing there")
		case "fail":
			return nil, errors.New("it went wrong")
		case "sleep":
			fmt.Println("asleep")
			time.Sleep(r.Wait)
		}
		c, _ := lambdacontext.FromContext(ctx)
		deadline, _ := ctx.Deadline()
		dir, _ := os.Getwd()
		return answer{os.Getpid(), c.AwsRequestID, c.InvokedFunctionArn, time.Until(deadline), lambdacontext.MemoryLimitInMB, dir}, nil
	})
}

// farewell ends properly when asked to, even in the middle of an invocation.
func farewell() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	go func() {
		<-asked
		fmt.Println("goodbye")
		os.Exit(0)
	}()
	serve(func(string, []byte) { fmt.Println("busy"); time.Sleep(time.Hour) })
}

func crashMid(_ string, payload []byte) {
	if string(payload) != `"crash"` {
		reply(payload)
		return
	}
	for i := range 30 {
		fmt.Fprintln(os.Stderr, "line", i)
	}
	os.Exit(4)
}

func initError() {
	body := `{"errorType":"Config.Missing","errorMessage":"no table name"}`
	post("init/error", strings.NewReader(body))
	os.Exit(1)
}

// grandchild leaves processes behind: one in the group, one that left it.
func grandchild(_ string, payload []byte) {
	var pids []int
	for _, leave := range []bool{false, true} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), handlerVar+"=sleep")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: leave}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		pids = append(pids, cmd.Process.Pid)
	}
	b, _ := json.Marshal(pids)
	if string(payload) == `"crash"` {
		fmt.Printf("%s\n", b)
		os.Exit(9)
	}
	reply(b)
}

// daemon leaves a process behind as daemons are made: in a session of its own, without the
// environment, and without its parent. It replies with its ID.
func daemon(_ string, payload []byte) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{handlerVar + "=detach", "HOLD=" + strings.Trim(string(payload), `"`)}
	out, err := cmd.Output()
	if err != nil {
		panic(err)
	}
	reply(out)
}

func detach() {
	if os.Getenv("LEFT") != "" {
		hold(number([]byte(os.Getenv("HOLD"))))
		time.Sleep(time.Hour)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LEFT=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	fmt.Println(cmd.Process.Pid)
}

func takeMemory(_ string, payload []byte) {
	var held [][]byte
	for range number(payload) {
		held = append(held, hold(1))
		time.Sleep(time.Millisecond)
	}
	time.Sleep(time.Hour)
	fmt.Println(len(held))
}

func hold(megabytes int) []byte {
	b := make([]byte, megabytes<<20)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	return b
}

func badID() {
	take()
	status := post("invocation/00000000-0000-0000-0000-000000000000/response", strings.NewReader("{}"))
	reply([]byte(strconv.Itoa(status)))
	select {}
}

// halfReply announces a reply and ends before it is all sent.
func halfReply() {
	pr, pw := io.Pipe()
	go func() {
		pw.Write([]byte(`{"half":`))
		time.Sleep(20 * time.Millisecond)
		pw.CloseWithError(io.ErrUnexpectedEOF)
	}()
	post("invocation/"+current+"/response", pr)
}

// nest starts a function of its own, says which processes that has, and waits.
func nest() {
	self, _ := os.Executable()
	c := lambda.Config{Name: "Inner", Command: []string{self}, Env: []string{handlerVar + "=hang"}, MaxProcesses: 1}
	f, err := lambda.Start(context.Background(), c)
	if err != nil {
		panic(err)
	}
	fmt.Println(f.Processes()[0])
	f.Invoke(context.Background(), []byte("{}"))
}

func makeNoise(bytes int) {
	w := bufio.NewWriterSize(os.Stderr, 64<<10)
	for i := 0; i < bytes; i += 10 {
		fmt.Fprintf(w, "%09d\n", i)
	}
	w.Flush()
}

func number(payload []byte) int {
	n, err := strconv.Atoi(string(payload))
	if err != nil {
		panic(err)
	}
	return n
}

// The rest is a Runtime API client of few lines, for what the real one does not
// do.
type request struct {
	id      string
	payload []byte
}

var current string // the request ID being served, in a handler process

func base() string { return "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/" }

func serve(handle func(id string, payload []byte)) {
	for {
		r := take()
		handle(r.id, r.payload)
	}
}

func take() request {
	r, err := next()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return r
}

func next() (request, error) {
	resp, err := http.Get(base() + "invocation/next")
	if err != nil {
		return request{}, err
	}
	defer resp.Body.Close()
	payload, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, payload)
	}
	current = resp.Header.Get("Lambda-Runtime-Aws-Request-Id")
	return request{current, payload}, err
}

func reply(payload []byte) { post("invocation/"+current+"/response", bytes.NewReader(payload)) }

func replyChunked(payload []byte) {
	post("invocation/"+current+"/response", io.MultiReader(bytes.NewReader(payload[:len(payload)/2]), bytes.NewReader(payload[len(payload)/2:])))
}

func replyTrailer() {
	req, _ := http.NewRequest("POST", base()+"invocation/"+current+"/response", io.MultiReader(strings.NewReader("[1,2,")))
	req.Trailer = http.Header{"Lambda-Runtime-Function-Error-Type": {"Stream.Broken"}, "Lambda-Runtime-Function-Error-Body": {"eyJlcnJvclR5cGUiOiJTdHJlYW0uQnJva2VuIiwiZXJyb3JNZXNzYWdlIjoiaGFsZiB3YXkifQ=="}}
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
	}
}

func post(path string, body io.Reader) int {
	resp, err := http.Post(base()+path, "application/json", body)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 0
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
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

// ownFolders lists the folders of the process after it has removed what was in them, or ends as
// the payload says.
func ownFolders(_ string, payload []byte) {
	tmp, home := os.Getenv("TMPDIR"), os.Getenv("HOME")
	var list []string
	switch string(payload) {
	case `"given"`:
		list = []string{tmp, home, os.Getenv("JAVA_TOOL_OPTIONS")}
	case `"crash"`:
		os.Exit(3)
	case `"timeout"`:
		time.Sleep(time.Hour)
	default:
		for _, dir := range []string{tmp, home} {
			if os.WriteFile(dir+"/file", nil, 0o600) != nil || exec.Command("sh", "-c", `rm -rf "$1"/* && mkdir "$1/shut" && touch "$1/shut/file" && chmod 0 "$1/shut"`, "sh", dir).Run() != nil {
				dir = "cannot write to " + dir
			}
			list = append(list, dir)
		}
	}
	text, _ := json.Marshal(list)
	reply(text)
}
