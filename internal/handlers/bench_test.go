//go:build unix

package handlers_test

import (
	"context"
	"os"
	"testing"

	"github.com/formwork-dev/formwork/internal/handlers"
	"github.com/formwork-dev/formwork/internal/sandbox"
)

// benchHandlers are trivial handlers.
func benchHandlers(b *testing.B) []benchHandler {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	return []benchHandler{
		{"binary", "provided.al2023", "sh", "bootstrap", "#!/bin/sh\n" + roleVar + "=handler exec '" + self + "'\n"},
		{"java", "java17", "java", "Bench", "package acme;\n\npublic class Bench {\n    public java.util.Map<String, Object> handleRequest(java.util.Map<String, Object> event) {\n        return java.util.Map.of(\"status\", \"SUCCESS\");\n    }\n}\n"},
		{"python", "python3.11", "python3", "app.py", "def handler(e, c): return {'status': 'SUCCESS', 'resourceModel': {'Name': 'x'}}"},
		{"node", "nodejs20.x", "node", "app.js", "exports.handler = async () => ({ status: 'SUCCESS', resourceModel: { Name: 'x' } })"},
	}
}

type benchHandler struct{ name, runtime, program, file, text string }

func (h benchHandler) pack(b *testing.B) []byte {
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

// BenchmarkInvoke calls a handler whose process is there, through the pool: secrets
// looked for, the log carried and the call recorded.
func BenchmarkInvoke(b *testing.B) {
	payload := []byte(`{"action":"CREATE","bearerToken":"11111111-2222-3333-4444-555555555555","awsAccountId":"111122223333","region":"eu-central-1","resourceType":"Acme::Test::Thing",` +
		`"requestData":{"callerCredentials":{"accessKeyId":"AKIAIOSFODNN7EXAMPLE","secretAccessKey":"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY","sessionToken":"token"},"resourceProperties":{"Name":"x","Password":"correct horse"},"logicalResourceId":"x"}}`)
	eachHandler(b, func(b *testing.B, pool *bench, handler benchHandler) {
		f := pool.function(b, pool.put(b, handler.pack(b)))
		call := func() {
			if _, err := f.Call(context.Background(), payload); err != nil {
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

// BenchmarkColdStart starts a handler anew for each call, from its unpacked package.
func BenchmarkColdStart(b *testing.B) {
	eachHandler(b, func(b *testing.B, pool *bench, handler benchHandler) {
		spec := pool.put(b, handler.pack(b))
		f := pool.function(b, spec)
		for b.Loop() {
			if _, err := f.Call(context.Background(), []byte("{}")); err != nil {
				b.Fatal(err)
			}
			pool.Remove(spec)
		}
	})
}
