//go:build unix

package lambda_test

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// TestDebugAddress: a process is started when its port is free, and can be attached to when it says so.
func TestDebugAddress(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := config(t, "print")
	var started atomic.Int64
	c.Debug = &lambda.Debug{Address: listener.Addr().String(), Listening: "getting ready", Started: func(pid int) { started.Store(int64(pid)) }}
	time.AfterFunc(300*time.Millisecond, func() { _ = listener.Close() })
	begun := time.Now()
	f := start(t, c)
	if took := time.Since(begun); took < 250*time.Millisecond {
		t.Errorf("the process was started after %s, while the port was in use", took)
	}
	if got := int(started.Load()); got != f.Processes()[0] {
		t.Errorf("Started was called for %d, want %d", got, f.Processes()[0])
	}
	started.Store(0)
	c.Debug.Address, c.Debug.Listening = "", "something else"
	other := start(t, c)
	if _, err := other.Invoke(t.Context(), []byte(`{}`)); err != nil || started.Load() != 0 {
		t.Errorf("Started was called for a process that does not listen: %v", err)
	}
}
