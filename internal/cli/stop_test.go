package cli

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestCommandsStop stops commands while a service, or the endpoint of a handler, works on a
// request that never ends. Each cancels its request and exits with the code of its signal.
func TestCommandsStop(t *testing.T) {
	const template = `{"Resources": {"W": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}}`
	dir := stopProject(t)
	for name, text := range map[string]string{"t.json": template, "p.json": "{}", "r.json": `{"desiredResourceState": {}}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		command string
		code    int // after Ctrl-C; after SIGTERM it is exitInterrupted
	}{
		{"deploy t.json --stack-name s --yes", exitInterrupted},
		{"deploy t.json --stack-name s --plan", exitInterrupted},
		{"destroy s --yes", exitInterrupted},
		{"stacks", exitInterrupted},
		{"stack events s --follow", exitInterrupted},
		{"stack drift s", exitInterrupted},
		{"stack resources s", exitInterrupted},
		{"import t.json --resource W=x --stack-name s --plan", exitInterrupted},
		{"resource get Acme::Foo::Bar x", exitInterrupted},
		{"resource list Acme::Foo::Bar", exitInterrupted},
		{"resource create Acme::Foo::Bar --properties p.json", exitInterrupted},
		{"types list", exitInterrupted},
		{"types describe Acme::Foo::Bar", exitInterrupted},
		{"logs function", exitInterrupted},
		{"logs function --follow", exitOK},
		{"invoke --endpoint ENDPOINT resource READ r.json", exitOK},
		{"test --endpoint ENDPOINT", exitInterrupted},
		{"cr test ENDPOINT/2015-03-31/functions/f/invocations --create p.json", exitInterrupted},
		{"cr invoke ENDPOINT/2015-03-31/functions/f/invocations --create p.json", exitInterrupted},
	} {
		for signal, cause := range map[string]error{"SIGINT": nil, "SIGTERM": errTerminated} {
			t.Run(test.command+" "+signal, func(t *testing.T) {
				want := test.code
				if cause != nil {
					want = exitInterrupted
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				asked := make(chan struct{}, 100)
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/healthz" {
						_, _ = io.WriteString(w, `{"product": "formwork", "status": "ok"}`)
						return
					}
					_, _ = io.Copy(io.Discard, r.Body) // only then the server sees that the client is gone
					asked <- struct{}{}
					cancel(cause)
					<-r.Context().Done()
				}))
				defer server.Close() // waits until the request has ended
				args := strings.Fields(strings.ReplaceAll(test.command, "ENDPOINT", server.URL))
				code, stderr := stopMain(ctx, t, dir, server.URL, args)
				if code != want || len(asked) == 0 {
					t.Errorf("code %d, not %d; %d requests; stderr %q", code, want, len(asked), stderr)
				}
			})
		}
	}
}

// TestCommandsEndHandlers stops commands while the handler starts, which it never completes.
// Neither the handler nor what it has started is left.
func TestCommandsEndHandlers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the handler is a script of sh")
	}
	for _, command := range []string{"test", "invoke resource READ r.json", "start-lambda --port 0", "cr test bin/bootstrap --create r.json", "cr invoke bin/bootstrap --create r.json"} {
		t.Run(command, func(t *testing.T) {
			dir := stopProject(t)
			pids := filepath.Join(dir, "pids")
			for name, text := range map[string]string{
				"r.json":        `{"desiredResourceState": {}}`,
				"bin/bootstrap": "#!/bin/sh\nsleep 3600 &\necho $$ $! >'" + pids + ".new'\nmv '" + pids + ".new' '" + pids + "'\nwait\n",
			} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				for ctx.Err() == nil {
					if _, err := os.Stat(pids); err == nil {
						cancel()
					}
					time.Sleep(5 * time.Millisecond)
				}
			}()
			args := strings.Fields(command)
			code, stderr := stopMain(ctx, t, dir, "", args)
			text, err := os.ReadFile(pids)
			if err != nil {
				t.Fatalf("code %d without a handler: %s", code, stderr)
			}
			if want := exitInterrupted; code != want && (code != exitOK || args[0] == "test") {
				t.Errorf("code %d, stderr %q", code, stderr)
			}
			for field := range strings.FieldsSeq(string(text)) {
				pid, err := strconv.Atoi(field)
				if err != nil {
					t.Fatal(err)
				}
				if err := syscall.Kill(pid, 0); err == nil {
					t.Errorf("process %d of the handler is left", pid)
				}
			}
		})
	}
}

// stopProject is the folder of a new project.
func stopProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if code, _, stderr := runMain(t.Context(), dir, nil, "init", "-a", "r", "-t", "Acme::Foo::Bar", "go", "-p", "example.com/bar"); code != 0 {
		t.Fatal(stderr)
	}
	return dir
}

// stopMain runs a command that uses an endpoint of AWS.
func stopMain(ctx context.Context, t *testing.T, dir, endpoint string, args []string) (code int, stderr string) {
	t.Helper()
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "1", "AWS_SECRET_ACCESS_KEY": "2", "AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": endpoint, "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, value) // the SDK reads those of the process
	}
	var errs strings.Builder
	code = Main(ctx, Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &errs, Environ: os.Environ(), Dir: dir, Version: "1.2.3"}, args)
	return code, errs.String()
}
