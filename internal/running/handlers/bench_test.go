//go:build unix

package handlers_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/running/handlers"
)

// benchHandlers are trivial handlers, and those of packages of Acme::Test::Thing in the folder FORMWORK_BENCH_PACKAGES, such as projects with
// the official libraries.
func benchHandlers(b *testing.B) []benchHandler {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	packages, err := filepath.Glob(filepath.Join(os.Getenv("FORMWORK_BENCH_PACKAGES"), "*.zip"))
	if err != nil {
		b.Fatal(err)
	}
	all := []benchHandler{
		{"binary", "provided.al2023", "sh", "bootstrap", "#!/bin/sh\n" + roleVar + "=handler exec '" + self + "'\n"},
		{"java", "java17", "java", "Bench", "package acme;\n\npublic class Bench {\n    public java.util.Map<String, Object> handleRequest(java.util.Map<String, Object> event) {\n        return java.util.Map.of(\"status\", \"SUCCESS\");\n    }\n}\n"},
		{"python", "python3.11", "python3", "app.py", "def handler(e, c): return {'status': 'SUCCESS', 'resourceModel': {'Name': 'x'}}"},
		{"node", "nodejs20.x", "node", "app.js", "exports.handler = async () => ({ status: 'SUCCESS', resourceModel: { Name: 'x' } })"},
	}
	for _, name := range packages {
		all = append(all, benchHandler{name: strings.TrimSuffix(filepath.Base(name), ".zip"), program: "sh", file: name})
	}
	return all
}

type benchHandler struct{ name, runtime, program, file, text string }

func (h benchHandler) pack(b *testing.B) []byte {
	if h.runtime == "" {
		archive, err := os.ReadFile(h.file)
		if err != nil {
			b.Fatal(err)
		}
		return archive
	}
	if h.name == "java" {
		return javaPackage(b, h.file, h.text)
	}
	return pack(b, h.runtime, "app.handler", map[string]string{h.file: h.text})
}

// eachHandler runs a benchmark for each handler, without a sandbox and in one.
func eachHandler(b *testing.B, run func(*testing.B, *bench, benchHandler)) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for _, handler := range benchHandlers(b) {
		for _, mode := range []sandbox.Mode{sandbox.Off, sandbox.Required} {
			b.Run(handler.name+"/sandbox="+string(mode), func(b *testing.B) {
				needs(b, handler.program)
				if mode.Err() != nil {
					b.Skip(mode.Err())
				}
				run(b, newBench(b, func(c *handlers.Config) {
					c.Sandbox = sandbox.Settings{Mode: mode, Grants: []sandbox.Grant{{Path: self}}}
				}), handler)
			})
		}
	}
}

// benchPayload is the request of CREATE, with secrets to look for.
const benchPayload = `{"action":"CREATE","bearerToken":"11111111-2222-3333-4444-555555555555","awsAccountId":"111122223333","region":"eu-central-1","resourceType":"Acme::Test::Thing",` +
	`"requestData":{"callerCredentials":{"accessKeyId":"AKIAIOSFODNN7EXAMPLE","secretAccessKey":"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY","sessionToken":"token"},"resourceProperties":{"Name":"x","Password":"correct horse"},"logicalResourceId":"x"}}`

// BenchmarkInvoke calls a handler whose process is there, through the pool: secrets
// looked for, the log carried and the call recorded.
func BenchmarkInvoke(b *testing.B) {
	eachHandler(b, func(b *testing.B, pool *bench, handler benchHandler) {
		f := pool.function(b, pool.put(b, handler.pack(b)))
		call := func() {
			if _, err := f.Call(context.Background(), []byte(benchPayload)); err != nil {
				b.Fatal(err)
			}
		}
		call()
		b.ReportAllocs()
		for b.Loop() {
			call()
		}
	})
}

// BenchmarkColdStart starts a handler anew for each call, from its unpacked package. cpu-ms/op is the processor time of this
// program and of the handlers that have ended, which a busy machine changes less than the time that passes.
func BenchmarkColdStart(b *testing.B) {
	eachHandler(b, func(b *testing.B, pool *bench, handler benchHandler) {
		spec := pool.put(b, handler.pack(b))
		f := pool.function(b, spec)
		call := func() {
			if _, err := f.Call(context.Background(), []byte(benchPayload)); err != nil {
				b.Fatal(err)
			}
			pool.Remove(spec)
		}
		call() // compiles modules and fetches Lambda's client for Java
		before := processorTime(b)
		for b.Loop() {
			call()
		}
		b.ReportMetric(float64((processorTime(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
	})
}

// processorTime is what this program and its children that have ended have used.
func processorTime(b *testing.B) time.Duration {
	total := time.Duration(0)
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if err := syscall.Getrusage(who, &used); err != nil {
			b.Fatal(err)
		}
		total += time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	return total
}
