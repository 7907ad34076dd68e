//go:build unix

package lambda_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

func TestInvokeRealRuntime(t *testing.T) {
	c := config(t, "sdk")
	c.MemoryMB = 1000
	f := start(t, c)
	type answer struct {
		PID       int
		RequestID string
		ARN       string
		Left      time.Duration
		Memory    int
		Dir       string
	}
	var first answer
	for i := range 3 {
		result, err := f.Invoke(t.Context(), []byte(`{"Do":"nothing"}`))
		if err != nil {
			t.Fatal(err)
		}
		var got answer
		if err := json.Unmarshal(result.Payload, &got); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = got
		}
		if got.PID != first.PID || got.PID == os.Getpid() || got.PID != result.PID {
			t.Errorf("invocation %d ran in process %d (result says %d), the first in %d", i, got.PID, result.PID, first.PID)
		}
		if got.RequestID != result.RequestID {
			t.Errorf("request ID in the handler %q, in the result %q", got.RequestID, result.RequestID)
		}
		if want := "arn:aws:lambda:us-east-1:000000000000:function:TypeFunction"; got.ARN != want || f.ARN() != want {
			t.Errorf("ARN %q and %q, want %q", got.ARN, f.ARN(), want)
		}
		if got.Left <= 14*time.Minute || got.Left > 15*time.Minute {
			t.Errorf("deadline in %v, want about 15 min", got.Left)
		}
		if got.Memory != 1000 {
			t.Errorf("memory %d MB, want 1000", got.Memory)
		}
		if got.Dir != c.Dir {
			t.Errorf("working folder %q, want %q", got.Dir, c.Dir)
		}
		if (result.InitDuration > 0) != (i == 0) || result.Duration <= 0 || result.MaxMemory <= 0 {
			t.Errorf("invocation %d: init %v, duration %v, memory %d", i, result.InitDuration, result.Duration, result.MaxMemory)
		}
	}
}

// TestFailures holds for every way to fail: the error, the document for a
// caller, and that the next invocation works where the handler would.
func TestFailures(t *testing.T) {
	tests := []struct {
		name     string
		handler  string
		payload  string
		change   func(*lambda.Config)
		check    func(t *testing.T, err error)
		message  []string // parts of the error text
		wire     string   // errorType of the document, "" for no document
		recovers string   // payload that works afterwards
	}{{
		name: "crash at start", handler: "crash-init", payload: `{}`,
		check:   is(func(e *lambda.CrashError) bool { return e.Phase == lambda.PhaseInit && e.ExitCode == 3 }),
		message: []string{"exit status 3", "before it asked for an invocation", "cannot read settings"},
		wire:    "Runtime.ExitError",
	}, {
		name: "crash in the middle", handler: "crash-mid", payload: `"crash"`,
		check: is(func(e *lambda.CrashError) bool {
			return e.Phase == lambda.PhaseInvoke && e.ExitCode == 4 && e.RequestID != "" && strings.Count(e.Output, "\n") == 9
		}),
		message: []string{"exit status 4", "during the invocation", "line 20", "line 29"},
		wire:    "Runtime.ExitError", recovers: `"fine"`,
	}, {
		name: "crash by signal", handler: "signal-mid", payload: `{}`,
		check: is(func(e *lambda.CrashError) bool { return e.ExitCode != 0 && e.Phase == lambda.PhaseInvoke }),
		wire:  "Runtime.ExitError",
	}, {
		// The limits leave a busy machine time to start the process and to print.
		name: "hang", handler: "hang", payload: `{}`, change: func(c *lambda.Config) { c.Timeout = 2050 * time.Millisecond },
		check:   is(func(e *lambda.TimeoutError) bool { return e.Limit == 2050*time.Millisecond && e.Timeout() }),
		message: []string{"Task timed out after 2.05 seconds", "about to hang"},
		wire:    "Sandbox.Timedout",
	}, {
		name: "never asks", handler: "no-next", payload: `{}`, change: func(c *lambda.Config) { c.InitTimeout = 5 * time.Second },
		check:   is(func(e *lambda.NotReadyError) bool { return e.Phase == lambda.PhaseInit }),
		message: []string{"did not ask for an invocation", "invocation/next", "within 5s of its start", "lambda.Start", "listening on :8080"},
		wire:    "Sandbox.Timedout",
	}, {
		name: "init error", handler: "init-error", payload: `{}`,
		check: is(func(e *lambda.FunctionError) bool {
			return e.Init && e.Type == "Config.Missing" && e.Message == "no table name"
		}),
		message: []string{"failed to start", "Config.Missing", "no table name"},
		wire:    "Config.Missing",
	}, {
		name: "error returned", handler: "sdk", payload: `{"Do":"fail"}`,
		check: is(func(e *lambda.FunctionError) bool {
			return !e.Init && e.Type == "errorString" && e.Message == "it went wrong"
		}),
		wire: "errorString", recovers: `{"Do":"nothing"}`,
	}, {
		name: "panic", handler: "sdk", payload: `{"Do":"panic"}`,
		check: is(func(e *lambda.FunctionError) bool {
			return e.Message == "nothing there" && slices.ContainsFunc(e.StackTrace, func(s string) bool { return strings.Contains(s, "main_test.go") })
		}),
		wire: "string", recovers: `{"Do":"nothing"}`,
	}, {
		name: "payload of the wrong form", handler: "sdk", payload: `[1]`,
		check: is(func(e *lambda.FunctionError) bool { return strings.Contains(e.Message, "cannot unmarshal array") }),
		wire:  "UnmarshalTypeError", recovers: `{"Do":"nothing"}`,
	}, {
		name: "reply too large", handler: "large", payload: strconv.Itoa(7 << 20),
		check: is(func(e *lambda.ResponseTooLargeError) bool {
			return e.Size == 7<<20 && e.Limit == lambda.MaxResponseBytes
		}),
		message: []string{"7340032 bytes", "6291556 bytes"},
		wire:    "Function.ResponseSizeTooLarge", recovers: `10`,
	}, {
		name: "reply too large, in chunks", handler: "large-chunk", payload: strconv.Itoa(lambda.MaxResponseBytes + 1),
		check: is(func(e *lambda.ResponseTooLargeError) bool { return e.Size == -1 }),
		wire:  "Function.ResponseSizeTooLarge", recovers: strconv.Itoa(lambda.MaxResponseBytes),
	}, {
		name: "half a reply", handler: "half-reply", payload: `{}`,
		check: is(func(e *lambda.CrashError) bool { return e.ExitCode == 7 && e.Phase == lambda.PhaseInvoke }),
		wire:  "Runtime.ExitError",
	}, {
		name: "error in the trailer", handler: "trailer", payload: `{}`,
		check: is(func(e *lambda.FunctionError) bool { return e.Type == "Stream.Broken" && e.Message == "half way" }),
		wire:  "Stream.Broken",
	}, {
		name: "asks twice", handler: "next-twice", payload: `{}`,
		check:   is(func(e *lambda.CrashError) bool { return e.ExitCode == 5 }),
		message: []string{"before answering this one"},
		wire:    "Runtime.ExitError",
	}, {
		name: "payload too large", handler: "echo", payload: strings.Repeat("1", lambda.MaxRequestBytes+1),
		check:    is(func(e *lambda.PayloadTooLargeError) bool { return e.Size == lambda.MaxRequestBytes+1 }),
		recovers: strings.Repeat("1", lambda.MaxRequestBytes),
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := config(t, test.handler)
			c.Lazy = true
			if test.change != nil {
				test.change(&c)
			}
			f := start(t, c)
			result, err := f.Invoke(t.Context(), []byte(test.payload))
			if err == nil {
				t.Fatalf("no error, reply %.100q", result.Payload)
			}
			test.check(t, err)
			for _, part := range test.message {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
			checkDocument(t, result, test.wire)
			if result.RequestID == "" {
				t.Error("no request ID")
			}
			if _, err := f.Call(t.Context(), []byte(test.payload)); err == nil {
				t.Error("Call: no error")
			}
			if test.recovers != "" {
				if _, err := f.Call(t.Context(), []byte(test.recovers)); err != nil {
					t.Errorf("the next invocation: %v", err)
				}
			}
		})
	}
}

// is checks the type of an error, and a condition on it.
func is[E error](condition func(E) bool) func(*testing.T, error) {
	return func(t *testing.T, err error) {
		t.Helper()
		var e E
		if !errors.As(err, &e) {
			t.Errorf("error is %T (%v), want %T", err, err, e)
		} else if !condition(e) {
			t.Errorf("not the error wanted: %+v", e)
		}
	}
}

func checkDocument(t *testing.T, result lambda.Result, wantType string) {
	t.Helper()
	if wantType == "" {
		if result.FunctionError != "" || result.Payload != nil {
			t.Errorf("function error %q with %q, want none", result.FunctionError, result.Payload)
		}
		return
	}
	var document struct{ ErrorType, ErrorMessage string }
	if err := json.Unmarshal(result.Payload, &document); err != nil {
		t.Fatalf("document %q: %v", result.Payload, err)
	}
	if result.FunctionError != "Unhandled" || document.ErrorType != wantType || document.ErrorMessage == "" {
		t.Errorf("function error %q with %+v, want type %q", result.FunctionError, document, wantType)
	}
}

func TestStartReportsFailure(t *testing.T) {
	f, err := lambda.Start(t.Context(), config(t, "crash-init"))
	if f != nil {
		t.Error("a function was returned")
	}
	is(func(e *lambda.CrashError) bool { return e.ExitCode == 3 })(t, err)
}

func TestNoNextAfterReply(t *testing.T) {
	t.Parallel() // it waits for the limit, which two starts on a busy machine must keep
	c := config(t, "one-reply")
	c.InitTimeout = 5 * time.Second
	f := start(t, c)
	if _, err := f.Call(t.Context(), []byte(`1`)); err != nil {
		t.Fatal(err)
	}
	_, err := f.Call(t.Context(), []byte(`2`))
	is(func(e *lambda.NotReadyError) bool {
		return e.Phase == lambda.PhaseIdle && strings.Contains(e.Error(), "of its last reply")
	})(t, err)
	if got, err := f.Call(t.Context(), []byte(`3`)); err != nil || string(got) != "3" {
		t.Errorf("the invocation after: %q, %v", got, err)
	}
}

// TestReplies holds that replies come through byte by byte.
func TestReplies(t *testing.T) {
	tests := []struct{ name, handler, payload, want string }{
		{"whole", "echo", `{"a": 1.0}`, `{"a": 1.0}`},
		{"empty", "echo", ``, ``},
		{"in chunks", "chunked", strings.Repeat("é", 1000), strings.Repeat("é", 1000)},
		{"not JSON", "garbage", `{}`, "<html>not \xffJSON"},
		{"wrong ID answered", "bad-id", `{}`, "400"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := start(t, config(t, test.handler))
			got, err := f.Call(t.Context(), []byte(test.payload))
			if err != nil || string(got) != test.want {
				t.Errorf("got %.100q, %v; want %.100q", got, err, test.want)
			}
		})
	}
}

func TestConcurrentCalls(t *testing.T) {
	c := config(t, "sdk")
	c.MaxProcesses = 3
	f := start(t, c)
	var most atomic.Int64
	stop := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			most.Store(max(most.Load(), int64(len(f.Processes()))))
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	pids := make(chan int, 24)
	var calls sync.WaitGroup
	for range 24 {
		calls.Go(func() {
			result, err := f.Invoke(t.Context(), []byte(`{"Do":"sleep","Wait":20000000}`))
			if err != nil {
				t.Error(err)
			}
			pids <- result.PID
		})
	}
	calls.Wait()
	close(stop)
	watch.Wait()
	close(pids)
	different := map[int]bool{}
	for pid := range pids {
		different[pid] = true
	}
	if len(different) != 3 || most.Load() > 3 {
		t.Errorf("%d processes served, at most %d at once; want 3 and 3", len(different), most.Load())
	}
}

func TestThrottle(t *testing.T) {
	for _, wait := range []time.Duration{-1, 10 * time.Millisecond} {
		busy := make(signalWriter, 1)
		c := config(t, "hang")
		c.MaxProcesses, c.QueueTimeout, c.Output = 1, wait, busy
		f := start(t, c)
		ctx, cancel := context.WithCancel(t.Context())
		var first sync.WaitGroup
		first.Go(func() { f.Invoke(ctx, nil) })
		<-busy
		_, err := f.Invoke(t.Context(), nil)
		is(func(e *lambda.ThrottledError) bool { return e.Limit == 1 })(t, err)
		cancel()
		first.Wait()
	}
}

// A signalWriter tells that something was written.
type signalWriter chan struct{}

func (w signalWriter) Write(p []byte) (int, error) {
	select {
	case w <- struct{}{}:
	default:
	}
	return len(p), nil
}

func TestContextEnds(t *testing.T) {
	c := config(t, "hang")
	c.MaxProcesses = 1
	f := start(t, c)
	cause := errors.New("the user gave up")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(30*time.Millisecond, func() { cancel(cause) })
	result, err := f.Invoke(ctx, nil)
	if !errors.Is(err, cause) || result.FunctionError != "" {
		t.Errorf("error %v, function error %q", err, result.FunctionError)
	}
	if left := f.Processes(); len(left) != 0 {
		t.Errorf("the process was left running: %v", left)
	}
	short, cancelShort := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancelShort()
	if _, err := f.Invoke(short, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the deadline", err)
	}
}

func TestCloseInterrupts(t *testing.T) {
	c := config(t, "hang")
	f := start(t, c)
	time.AfterFunc(30*time.Millisecond, func() { f.Close() })
	if _, err := f.Invoke(t.Context(), nil); !errors.Is(err, lambda.ErrClosed) {
		t.Errorf("running: error %v, want ErrClosed", err)
	}
	f.Close()
	if _, err := f.Invoke(t.Context(), nil); !errors.Is(err, lambda.ErrClosed) {
		t.Errorf("later: error %v, want ErrClosed", err)
	}
	if err := f.Warm(t.Context()); !errors.Is(err, lambda.ErrClosed) {
		t.Errorf("Warm: error %v, want ErrClosed", err)
	}
}

func TestCloseAsksFirst(t *testing.T) {
	for _, busy := range []bool{false, true} {
		said := make(signalWriter, 1)
		var printed bytes.Buffer
		c := config(t, "farewell")
		c.Output = io.MultiWriter(&printed, said)
		f := start(t, c)
		var call sync.WaitGroup
		if busy {
			call.Go(func() {
				if _, err := f.Invoke(context.Background(), nil); !errors.Is(err, lambda.ErrClosed) {
					t.Errorf("error %v, want ErrClosed", err)
				}
			})
			<-said
		}
		f.Close()
		call.Wait()
		if !strings.HasSuffix(printed.String(), "goodbye\n") {
			t.Errorf("busy %v: printed %q", busy, printed.String())
		}
	}
}

func TestCloseKillsStubborn(t *testing.T) {
	c := config(t, "stubborn")
	c.GracePeriod = 50 * time.Millisecond
	f := start(t, c)
	pid := f.Processes()[0]
	f.Close()
	if alive(pid) {
		t.Errorf("process %d ignored SIGTERM and lives on", pid)
	}
}

func TestIdleProcessKilled(t *testing.T) {
	f := start(t, config(t, "echo"))
	pid := f.Processes()[0]
	syscall.Kill(pid, syscall.SIGKILL)
	fixtures.Await(t, "the end of the process", func() bool { return len(f.Processes()) == 0 })
	result, err := f.Invoke(t.Context(), []byte(`1`))
	if err != nil || result.PID == pid {
		t.Errorf("process %d, error %v; want a new process", result.PID, err)
	}
}

// TestDescendants holds that no descendant survives, whether it stays in the
// group or leaves it, and whether the process is killed, crashes or is closed.
func TestDescendants(t *testing.T) {
	for _, payload := range []string{`"reply"`, `"crash"`} {
		c := config(t, "grandchild")
		f := start(t, c)
		result, err := f.Invoke(t.Context(), []byte(payload))
		list := string(result.Payload)
		if payload == `"crash"` {
			is(func(e *lambda.CrashError) bool { list = e.Output; return e.ExitCode == 9 })(t, err)
		} else if err != nil {
			t.Fatal(err)
		}
		list, _, _ = strings.Cut(list[strings.IndexByte(list, '['):], "\n")
		var pids []int
		if err := json.Unmarshal([]byte(list), &pids); err != nil || len(pids) != 2 {
			t.Fatalf("pids %q: %v", list, err)
		}
		f.Close()
		fixtures.Await(t, "the end of all descendants", func() bool { return !slices.ContainsFunc(pids, alive) })
	}
}

// TestDaemons holds that a process ends with its handler which left the session, cleared its
// environment and lost its parent, that no other handler's does, that its memory is counted,
// and that nothing of it remains in the table of processes.
func TestDaemons(t *testing.T) {
	if err := lambda.HoldsDescendants(); err != nil {
		t.Skip("skipped:", err)
	}
	leave := func(f *lambda.Function, megabytes string) int {
		t.Helper()
		result, err := f.Invoke(t.Context(), []byte(megabytes))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(result.Payload)))
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	c := config(t, "daemon")
	var log lockedBuffer
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	f, other := start(t, c), start(t, c)
	mine, others := leave(f, "1"), leave(other, "1")
	if !alive(mine) || !alive(others) {
		t.Fatal("the daemons do not run")
	}
	f.Close()
	if alive(mine) || !alive(others) {
		t.Errorf("after the end of its handler a daemon runs: %t; that of another handler: %t", alive(mine), alive(others))
	}
	if text := log.String(); strings.Count(text, "a handler left processes behind") != 1 || !strings.Contains(text, "processes=1") {
		t.Errorf("the log does not count the daemon:\n%s", text)
	}
	other.Close()
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", others)); err == nil {
		t.Errorf("process %d is still there", others)
	}

	c.MemoryMB = 200
	f = start(t, c)
	leave(f, "300")
	for range 500 { // until the daemon has its memory, and the next call meets it
		_, err := f.Invoke(t.Context(), []byte("1"))
		if limit := new(lambda.MemoryError); errors.As(err, &limit) {
			return
		}
	}
	t.Error("300 MB of a daemon were not counted")
}

func TestRenew(t *testing.T) {
	var out lockedBuffer
	c := config(t, "sdk")
	c.Output = &out
	f := start(t, c)
	slow := make(chan lambda.Result, 1)
	go func() {
		result, err := f.Invoke(t.Context(), []byte(`{"Do":"sleep","Wait":200000000}`))
		if err != nil {
			t.Error("the running invocation:", err)
		}
		slow <- result
	}()
	fixtures.Await(t, "the running invocation", func() bool { return strings.Contains(out.String(), "asleep") })
	f.Renew()
	result, err := f.Invoke(t.Context(), []byte(`{"Do":"nothing"}`))
	if err != nil {
		t.Fatal(err)
	}
	old := <-slow
	if old.PID == result.PID {
		t.Error("the old process was used again")
	}
	fixtures.Await(t, "the old process to go", func() bool { return !slices.Contains(f.Processes(), old.PID) })
	if again, err := f.Invoke(t.Context(), []byte(`{"Do":"nothing"}`)); err != nil || again.PID != result.PID {
		t.Errorf("process %d, %v; want %d again", again.PID, err, result.PID)
	}
}

func TestLog(t *testing.T) {
	var tee bytes.Buffer
	c := config(t, "print")
	c.Output = &tee
	c.NewID = func() string { return "id-1" }
	f := start(t, c)
	result, err := f.Invoke(t.Context(), []byte(`"hello"`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"getting ready", "START RequestId: id-1 Version: $LATEST", `"hello"`, "to stderr id-1", "END RequestId: id-1"}
	lines := strings.Split(strings.TrimSpace(string(result.Log)), "\n")
	if len(lines) != 6 || !slices.Equal(lines[:5], want) {
		t.Errorf("log:\n%s\nwant:\n%s\nand a report", result.Log, strings.Join(want, "\n"))
	}
	report := lines[len(lines)-1]
	for _, part := range []string{"REPORT RequestId: id-1\tDuration: ", " ms\tBilled Duration: ", "Memory Size: 2048 MB\tMax Memory Used: ", "Init Duration: "} {
		if !strings.Contains(report, part) {
			t.Errorf("report %q lacks %q", report, part)
		}
	}
	for i := range 50 { // the text belongs to its invocation, each time
		text := fmt.Sprintf("%q", fmt.Sprint("number ", i))
		result, err := f.Invoke(t.Context(), []byte(text))
		if err != nil || strings.Count(string(result.Log), "number") != 1 || !strings.Contains(string(result.Log), text) {
			t.Fatalf("invocation %d: log %s, %v", i, result.Log, err)
		}
	}
	f.Close()
	if !strings.HasPrefix(tee.String(), "getting ready\n\"hello\"\nto stderr id-1") {
		t.Errorf("tee got %.100q", tee.String())
	}
}

func TestLogIsBounded(t *testing.T) {
	c := config(t, "noise")
	c.LogBytes = 1000
	f := start(t, c)
	result, err := f.Invoke(t.Context(), []byte("20000000"))
	if err != nil {
		t.Fatal(err)
	}
	log := string(result.Log)
	if len(log) > 1500 || !strings.Contains(log, "[19999010 bytes of output left out]\n") || !strings.Contains(log, "019999990\nEND ") {
		t.Errorf("log of %d bytes: %s", len(log), log)
	}
}

// TestRuntimeAPIGuarded holds that the process's own address is of no use to a
// page in a browser, nor for what the protocol does not know.
func TestRuntimeAPIGuarded(t *testing.T) {
	f := start(t, config(t, "ask"))
	for _, test := range []struct {
		method, path, host, origin string
		status                     int
	}{
		{"GET", "invocation/next", "", "https://evil.example", 403},
		{"GET", "invocation/next", "evil.example", "", 403},
		{"GET", "restore/next", "", "", 404},
		{"DELETE", "invocation/next", "", "", 404},
		{"POST", "invocation/other/error", "", "", 400},
		{"POST", "init/error", "", "", 403},
	} {
		question, err := json.Marshal(question{test.method, "", "/2018-06-01/runtime/" + test.path, test.host, test.origin})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := f.Call(t.Context(), question)
		if err != nil || !bytes.HasPrefix(answer, []byte(`"`+strconv.Itoa(test.status)+" ")) || !bytes.Contains(answer, []byte(`errorType`)) {
			t.Errorf("%+v: %s, %v", test, answer, err)
		}
	}
}
