package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send itself signals here")
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for sent, cause := range map[os.Signal]error{os.Interrupt: context.Canceled, syscall.SIGTERM: errTerminated} {
		ctx, stop := Signals(t.Context())
		if err := self.Signal(sent); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		if got := context.Cause(ctx); !errors.Is(ctx.Err(), context.Canceled) || !errors.Is(got, cause) {
			t.Errorf("%s: the context ended with %v because of %v", sent, ctx.Err(), got)
		}
		stop()
	}
}

// TestInvokeStopped stops cfn invoke while the handler works.
func TestInvokeStopped(t *testing.T) {
	for name, test := range map[string]struct {
		cause  error
		code   int
		stderr string
	}{
		"Ctrl-C":  {nil, exitOK, ""},
		"SIGTERM": {errTerminated, exitInterrupted, "interrupted\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if code, _, stderr := runMain(t.Context(), dir, nil, "init", "-a", "r", "-t", "Acme::Foo::Bar", "go", "-p", "example.com/bar"); code != 0 {
				t.Fatal(stderr)
			}
			if err := os.WriteFile(filepath.Join(dir, "r.json"), []byte(`{"desiredResourceState": {}}`), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // only then the server sees that the client is gone
				cancel(test.cause)
				<-r.Context().Done()
			}))
			defer server.Close()
			code, _, stderr := runMain(ctx, dir, strings.NewReader(""), "invoke", "--endpoint", server.URL, "resource", "READ", "r.json")
			if code != test.code || stderr != test.stderr {
				t.Errorf("code %d, stderr %q", code, stderr)
			}
		})
	}
}
