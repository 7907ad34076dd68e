//go:build unix

package handlers_test

import (
	"context"
	"os"
	"testing"
)

// BenchmarkInvoke calls a handler whose process is there, through the pool: secrets
// looked for, the log carried and the call recorded.
func BenchmarkInvoke(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	payload := []byte(`{"action":"CREATE","bearerToken":"11111111-2222-3333-4444-555555555555","awsAccountId":"111122223333","region":"eu-central-1","resourceType":"Acme::Test::Thing",` +
		`"requestData":{"callerCredentials":{"accessKeyId":"AKIAIOSFODNN7EXAMPLE","secretAccessKey":"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY","sessionToken":"token"},"resourceProperties":{"Name":"x","Password":"correct horse"},"logicalResourceId":"x"}}`)
	for _, handler := range []struct {
		name, runtime, program, file, text string
	}{
		{"binary", "provided.al2023", "sh", "bootstrap", "#!/bin/sh\n" + roleVar + "=handler exec '" + self + "'\n"},
		{"python", "python3.11", "python3", "app.py", "def handler(e, c): return {'status': 'SUCCESS', 'resourceModel': {'Name': 'x'}}"},
		{"node", "nodejs20.x", "node", "app.js", "exports.handler = async () => ({ status: 'SUCCESS', resourceModel: { Name: 'x' } })"},
	} {
		b.Run(handler.name, func(b *testing.B) {
			needs(b, handler.program)
			pool := newBench(b, nil)
			f := pool.function(b, pool.put(b, pack(b, handler.runtime, "app.handler", map[string]string{handler.file: handler.text})))
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
}

// BenchmarkColdStart starts a handler anew for each call, from its unpacked package.
func BenchmarkColdStart(b *testing.B) {
	for _, handler := range []struct{ name, runtime, program, file, text string }{
		{"python", "python3.11", "python3", "app.py", "def handler(e, c): return 1"},
		{"node", "nodejs20.x", "node", "app.js", "exports.handler = async () => 1"},
	} {
		b.Run(handler.name, func(b *testing.B) {
			needs(b, handler.program)
			pool := newBench(b, nil)
			spec := pool.put(b, pack(b, handler.runtime, "app.handler", map[string]string{handler.file: handler.text}))
			f := pool.function(b, spec)
			for b.Loop() {
				if _, err := f.Call(context.Background(), []byte("{}")); err != nil {
					b.Fatal(err)
				}
				pool.Remove(spec)
			}
		})
	}
}
