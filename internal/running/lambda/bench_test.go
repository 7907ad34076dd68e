//go:build unix

package lambda_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

var payload = []byte(`{"action":"READ","requestData":{"resourceProperties":{"Id":"r-1"}}}`)

// bootstrap builds a handler with the real runtime.
func bootstrap(b *testing.B) lambda.Config {
	b.Helper()
	path := filepath.Join(b.TempDir(), "bootstrap")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", path, "./testdata/bootstrap").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return lambda.Config{Name: "TypeFunction", Command: []string{path}}
}

// BenchmarkCold is the start of a process, one invocation, and its end.
func BenchmarkCold(b *testing.B) {
	c := bootstrap(b)
	for _, mode := range []sandbox.Mode{sandbox.Off, sandbox.Required} {
		b.Run("sandbox="+string(mode), func(b *testing.B) {
			if err := mode.Err(); err != nil {
				b.Skip(err)
			}
			c := c
			c.Sandbox.Mode, c.Dir = mode, b.TempDir()
			for b.Loop() {
				f, err := lambda.Start(b.Context(), c)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := f.Call(b.Context(), payload); err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
		})
	}
}

// BenchmarkWarm is what an invocation of a running process adds.
func BenchmarkWarm(b *testing.B) {
	f := start(b, bootstrap(b))
	for b.Loop() {
		if _, err := f.Call(b.Context(), payload); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWarmParallel is the same from many callers, with two processes.
func BenchmarkWarmParallel(b *testing.B) {
	c := bootstrap(b)
	c.MaxProcesses = 2
	f := start(b, c)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := f.Call(b.Context(), payload); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkWarmHTTP goes through the Invoke API in addition.
func BenchmarkWarmHTTP(b *testing.B) {
	f := start(b, bootstrap(b))
	s := listen(b, map[string]lambda.Invoker{"TypeFunction": f})
	e := &lambda.Endpoint{URL: s.URL(), FunctionName: "TypeFunction"}
	for b.Loop() {
		if _, err := e.Call(b.Context(), payload); err != nil {
			b.Fatal(err)
		}
	}
}
