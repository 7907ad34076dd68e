package lambda_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// confined is the configuration of a handler in a sandbox.
func confined(t testing.TB, handler string) lambda.Config {
	t.Helper()
	if err := sandbox.Check(); err != nil {
		t.Skip("SKIPPED: no sandbox here: ", err)
	}
	c := config(t, handler)
	c.Sandbox.Mode = sandbox.Required
	return c
}

// TestInSandbox holds that what callers see of a process is the same in a sandbox.
func TestInSandbox(t *testing.T) {
	t.Run("answers", func(t *testing.T) {
		f := start(t, confined(t, "echo"))
		for _, payload := range []string{`"a"`, `"b"`} {
			if reply, err := f.Call(t.Context(), []byte(payload)); err != nil || string(reply) != payload {
				t.Errorf("got %s, %v", reply, err)
			}
		}
	})
	t.Run("environment", func(t *testing.T) {
		reply, err := start(t, confined(t, "env")).Call(t.Context(), nil)
		var entries []string
		if err != nil || json.Unmarshal(reply, &entries) != nil {
			t.Fatal(string(reply), err)
		}
		for _, want := range []string{"TMPDIR=/tmp", "HOME=/home/function", "JAVA_TOOL_OPTIONS=-Djava.io.tmpdir=/tmp -Duser.home=/home/function"} {
			if !slices.Contains(entries, want) {
				t.Errorf("no %s in %q", want, entries)
			}
		}
	})
	t.Run("crash", func(t *testing.T) {
		_, err := start(t, confined(t, "crash-mid")).Call(t.Context(), []byte(`"crash"`))
		is(func(e *lambda.CrashError) bool {
			return e.ExitCode > 0 && e.Status == "exit status "+strconv.Itoa(e.ExitCode)
		})(t, err)
	})
	t.Run("signal", func(t *testing.T) {
		_, err := start(t, confined(t, "signal-mid")).Call(t.Context(), []byte("{}"))
		is(func(e *lambda.CrashError) bool { return e.ExitCode != 0 && strings.Contains(err.Error(), e.Status) })(t, err)
	})
	t.Run("timeout", func(t *testing.T) {
		c := confined(t, "hang")
		c.Timeout = 500 * time.Millisecond
		_, err := start(t, c).Call(t.Context(), []byte("{}"))
		is(func(e *lambda.TimeoutError) bool { return strings.Contains(e.Output, "about to hang") })(t, err)
	})
	t.Run("memory", func(t *testing.T) {
		c := confined(t, "memory")
		c.MemoryMB = 100
		_, err := start(t, c).Call(t.Context(), []byte("2000"))
		is(func(e *lambda.MemoryError) bool { return e.Used > e.Limit })(t, err)
	})
	t.Run("farewell", func(t *testing.T) { // SIGTERM reaches it before it is killed
		var out lockedBuffer
		c := confined(t, "farewell")
		c.Output, c.GracePeriod = &out, 30*time.Second
		f := start(t, c)
		called := make(chan error, 1)
		go func() { _, err := f.Call(t.Context(), []byte("{}")); called <- err }()
		fixtures.Await(t, "the invocation", func() bool { return strings.Contains(out.String(), "busy") })
		f.Close()
		<-called // ErrClosed, or the end of the process
		if !strings.Contains(out.String(), "goodbye") {
			t.Errorf("printed %q", out.String())
		}
	})
	t.Run("missing program", func(t *testing.T) {
		c := confined(t, "echo")
		c.Command = []string{filepath.Join(c.Dir, "missing")}
		_, err := lambda.Start(t.Context(), c)
		is(func(e *lambda.StartError) bool { return strings.Contains(e.Reason, "there is no such file") })(t, err)
	})
	t.Run("process IDs", func(t *testing.T) {
		f := start(t, confined(t, "echo"))
		result, err := f.Invoke(t.Context(), []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		exe, err := os.Readlink("/proc/" + strconv.Itoa(result.PID) + "/exe")
		environ, _ := os.ReadFile("/proc/" + strconv.Itoa(result.PID) + "/environ")
		if err != nil || !strings.Contains(string(environ), handlerVar+"=echo") || !slices.Equal(f.Processes(), []int{result.PID}) {
			t.Errorf("process %d of %v is %s, %v", result.PID, f.Processes(), exe, err)
		}
	})
}

// TestControlGroups holds that a process that takes memory faster than it is measured is ended by the system,
// and the result says so, with a sandbox and without one.
func TestControlGroups(t *testing.T) {
	if err := sandbox.ControlGroups(); err != nil {
		t.Skip("SKIPPED: no control groups here: ", err)
	}
	for _, mode := range []sandbox.Mode{sandbox.On, sandbox.Off} {
		c := config(t, "memory-peak")
		c.Sandbox.Mode, c.MemoryMB, c.TmpMB = mode, 128, 16
		f := start(t, c)
		result, err := f.Invoke(t.Context(), []byte("1500"))
		is(func(e *lambda.MemoryError) bool { return e.Used > e.Limit && e.RequestID == result.RequestID })(t, err)
		checkDocument(t, result, "Runtime.OutOfMemory")
		if text := err.Error(); !strings.Contains(text, "the limit is 128 MB") {
			t.Errorf("sandbox=%s: %s", mode, text)
		}
		if _, err := f.Invoke(t.Context(), []byte("1")); err != nil {
			t.Errorf("sandbox=%s: the next call: %v", mode, err)
		}
	}
}

// TestWithoutSandbox pretends that the system has none.
func TestWithoutSandbox(t *testing.T) {
	defer sandbox.Forbid("this is a container")()
	c := config(t, "env")
	c.Sandbox.Mode = sandbox.Required
	if _, err := lambda.Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), "the sandbox is required: this is a container") {
		t.Errorf("required: %v", err)
	}
	c.Sandbox.Mode = sandbox.On
	reply, err := start(t, c).Call(t.Context(), nil)
	if err != nil || !strings.Contains(string(reply), `"TMPDIR=`+sandbox.Base()) {
		t.Errorf("got %s, %v", reply, err)
	}
	for mode, want := range map[sandbox.Mode]string{sandbox.On: "handlers run without a sandbox: this is a container", sandbox.Off: "the sandbox of handlers is off", "": "the sandbox of handlers is off"} {
		if got := mode.Missing(); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q", mode, got)
		}
	}
	var unavailable *sandbox.UnavailableError
	if !errors.As(sandbox.Required.Err(), &unavailable) || sandbox.On.Active() || sandbox.On.Err() != nil {
		t.Error("the mode on is an error, or active")
	}
}
