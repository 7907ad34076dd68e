//go:build unix

package lambda_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// code writes a function's files and returns their folder.
func code(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// interpreted makes the configuration of a function that an interpreter runs.
func interpreted(t testing.TB, name, handler string, files map[string]string) lambda.Config {
	t.Helper()
	dir := code(t, files)
	r := &lambda.Runtimes{Scripts: t.TempDir()}
	p, err := r.Prepare(t.Context(), name, handler, dir)
	var missing *lambda.RuntimeError
	if errors.As(err, &missing) && os.Getenv("CI") != "true" {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return lambda.Config{
		Name: "TypeFunction", Command: p.Command, Dir: dir, Env: p.Env, Handler: p.Handler, MaxProcesses: 1,
		Region: "eu-west-1", AccountID: "123456789012", NewID: func() string { return "11111111-2222-3333-4444-555555555555" },
	}
}

const pythonContext = `
import json, os, sys
def handler(event, context):
    left = context.get_remaining_time_in_millis()
    return {
        "event": event, "id": context.aws_request_id, "arn": context.invoked_function_arn,
        "function": context.function_name, "version": context.function_version, "memory": context.memory_limit_in_mb,
        "group": context.log_group_name, "stream": context.log_stream_name == os.environ["AWS_LAMBDA_LOG_STREAM_NAME"],
        "left": 0 < left <= 900000, "identity": context.identity.cognito_identity_id, "client": context.client_context,
        "cwd": os.getcwd() == os.environ["LAMBDA_TASK_ROOT"], "path": sys.path[0] == os.environ["LAMBDA_TASK_ROOT"],
        "execution": os.environ["AWS_EXECUTION_ENV"], "handler": os.environ["_HANDLER"],
    }
`

const nodeContext = `
exports.handler = async (event, context) => {
  const left = context.getRemainingTimeInMillis();
  return {
    event, id: context.awsRequestId, arn: context.invokedFunctionArn,
    function: context.functionName, version: context.functionVersion, memory: context.memoryLimitInMB,
    group: context.logGroupName, stream: context.logStreamName === process.env.AWS_LAMBDA_LOG_STREAM_NAME,
    left: 0 < left && left <= 900000, identity: context.identity ?? null, client: context.clientContext ?? null,
    cwd: process.cwd() === process.env.LAMBDA_TASK_ROOT, path: true,
    execution: process.env.AWS_EXECUTION_ENV, handler: process.env._HANDLER,
  };
};
`

// TestRuntimeContext asks handlers what they see.
func TestRuntimeContext(t *testing.T) {
	for runtime, files := range map[string]map[string]string{
		"python3.11": {"src/code/app.py": pythonContext},
		"nodejs20.x": {"src/code/app.js": nodeContext},
	} {
		t.Run(runtime, func(t *testing.T) {
			f := start(t, interpreted(t, runtime, "src/code/app.handler", files))
			reply, err := f.Call(t.Context(), []byte(`{"text":"ä\u0000","n":[1,2.5,null,true]}`))
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal(reply, &got); err != nil {
				t.Fatalf("%v: %s", err, reply)
			}
			want := map[string]any{
				"event": map[string]any{"text": "ä\x00", "n": []any{1.0, 2.5, nil, true}},
				"id":    "11111111-2222-3333-4444-555555555555", "arn": "arn:aws:lambda:eu-west-1:123456789012:function:TypeFunction",
				"function": "TypeFunction", "version": "$LATEST", "memory": "2048", "group": "/aws/lambda/TypeFunction",
				"stream": true, "left": true, "identity": nil, "client": nil, "cwd": true, "path": true,
				"execution": "AWS_Lambda_" + runtime, "handler": "src/code/app.handler",
			}
			for key, value := range want {
				if g, w := fmt.Sprint(got[key]), fmt.Sprint(value); g != w {
					t.Errorf("%s: got %s, want %s", key, g, w)
				}
			}
		})
	}
}

// TestRuntimeAnswers runs handlers of each form and fault, and compares their answers, or
// the type and the message of their errors.
func TestRuntimeAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		runtime, handler, text string // the handler's module is text, its file by the runtime
		files                  map[string]string
		event                  string
		want                   string // the reply, or type: message
		init                   bool   // the error is one of the start
	}{
		"python dots":      {runtime: "python3.11", handler: "a.b.handler", files: map[string]string{"a/__init__.py": "", "a/b.py": "def handler(e, c): return e"}, want: `{}`},
		"python slashes":   {runtime: "python3.11", handler: "a/b.handler", files: map[string]string{"a/b.py": "def handler(e, c): return 'b'"}, want: `"b"`},
		"python relative":  {runtime: "python3.11", handler: "a.b.handler", files: map[string]string{"a/__init__.py": "", "a/c.py": "X = 5", "a/b.py": "from .c import X\ndef handler(e, c): return X"}, want: `5`},
		"python callable":  {runtime: "python3.11", handler: "app.handler", text: "class H:\n  def __call__(self, e, c): return 1\nhandler = H()", want: `1`},
		"python none":      {runtime: "python3.11", handler: "app.handler", text: "def handler(e, c): pass", want: `null`},
		"python decimal":   {runtime: "python3.11", handler: "app.handler", text: "import decimal\ndef handler(e, c): return decimal.Decimal('1.5')", want: `1.5`},
		"python shadows":   {runtime: "python3.11", handler: "app.handler", files: map[string]string{"json.py": "x = 1", "app.py": "import json\ndef handler(e, c): return len(json.dumps(e))"}, want: `2`},
		"python fails":     {runtime: "python3.11", handler: "app.handler", text: "def handler(e, c): raise KeyError('Name')", want: `KeyError: 'Name'`},
		"python set":       {runtime: "python3.11", handler: "app.handler", text: "def handler(e, c): return {1}", want: `Runtime.MarshalError: Unable to marshal response: Object of type set is not JSON serializable`},
		"python no module": {runtime: "python3.11", handler: "gone.handler", text: "", init: true, want: `Runtime.ImportModuleError: Unable to import module 'gone': No module named 'gone'`},
		"python no boto3": {runtime: "python3.11", handler: "app.handler", text: "raise ModuleNotFoundError(\"No module named 'boto3'\", name='boto3')", init: true,
			want: `Runtime.ImportModuleError: Unable to import module 'app': No module named 'boto3'; Lambda provides it, here it must be installed: `},
		"python no import":  {runtime: "python3.11", handler: "app.handler", text: "import nosuchthing", init: true, want: `Runtime.ImportModuleError: Unable to import module 'app': No module named 'nosuchthing'`},
		"python no func":    {runtime: "python3.11", handler: "app.handler", text: "x = 1", init: true, want: `Runtime.HandlerNotFound: Handler 'handler' missing on module 'app'`},
		"python bad name":   {runtime: "python3.11", handler: "handler", text: "", init: true, want: `Runtime.MalformedHandlerName: Bad handler 'handler': not enough values to unpack (expected 2, got 1)`},
		"python builtin":    {runtime: "python3.11", handler: "sys.handler", text: "", init: true, want: `Runtime.BuiltInModuleConflict: Cannot use built-in module sys as a handler module`},
		"python syntax":     {runtime: "python3.11", handler: "app.handler", text: "def handler(e, c:", init: true, want: `Runtime.UserCodeSyntaxError: Syntax error in module 'app'`},
		"python init fails": {runtime: "python3.11", handler: "app.handler", text: "raise RuntimeError('no table')", init: true, want: `RuntimeError: no table`},

		"node callback":      {runtime: "nodejs20.x", handler: "app.handler", text: "exports.handler = (e, c, cb) => setTimeout(() => cb(null, e), 5)", want: `{}`},
		"node callback late": {runtime: "nodejs20.x", handler: "app.handler", text: "exports.handler = (e, c, cb) => { let n = 0; setTimeout(() => console.log(n = 7), 30); cb(null, { toJSON: () => n }) }", want: `7`},
		"node callback now":  {runtime: "nodejs20.x", handler: "app.handler", text: "exports.handler = (e, c, cb) => { c.callbackWaitsForEmptyEventLoop = false; setInterval(() => {}, 1e6); cb(null, 1) }", want: `1`},
		"node async":         {runtime: "nodejs20.x", handler: "dist/app.ns.handler", files: map[string]string{"dist/app.js": "exports.ns = { handler: async (e) => [e] }"}, want: `[{}]`},
		"node module":        {runtime: "nodejs20.x", handler: "app.handler", files: map[string]string{"app.mjs": "import os from 'node:os'; const x = await Promise.resolve(3); export const handler = async () => typeof os.EOL + x"}, want: `"string3"`},
		"node type module":   {runtime: "nodejs20.x", handler: "app.handler", files: map[string]string{"package.json": `{"type":"module"}`, "app.js": "export const handler = async () => import.meta.url.endsWith('app.js')"}, want: `true`},
		"node cjs":           {runtime: "nodejs20.x", handler: "app.handler", files: map[string]string{"package.json": `{"type":"module"}`, "app.cjs": "exports.handler = async () => require('./lib/x.cjs')", "lib/x.cjs": "module.exports = 4"}, want: `4`},
		"node done":          {runtime: "nodejs20.x", handler: "app.handler", text: "exports.handler = (e, c) => c.done(null, 2)", want: `2`},
		"node nothing":       {runtime: "nodejs20.x", handler: "app.handler", text: "exports.handler = () => {}", want: `null`},
		"node undefined":     {runtime: "nodejs20.x", handler: "app.handler", text: "exports.handler = async () => undefined", want: `null`},
		"node fails":         {runtime: "nodejs20.x", handler: "app.handler", text: "exports.handler = async () => { throw new TypeError('bad') }", want: `TypeError: bad`},
		"node callback err":  {runtime: "nodejs20.x", handler: "app.handler", text: "exports.handler = (e, c, cb) => cb(new RangeError('far'))", want: `RangeError: far`},
		"node throws text":   {runtime: "nodejs20.x", handler: "app.handler", text: "exports.handler = () => { throw 'text' }", want: `string: text`},
		"node never":         {runtime: "nodejs20.x", handler: "app.handler", text: "exports.handler = () => new Promise(() => {})", want: `Runtime.NodeJsExit: the promise of the handler was never settled, and nothing is left to wait for`},
		"node cycle":         {runtime: "nodejs20.x", handler: "app.handler", text: "exports.handler = async () => { const x = {}; x.x = x; return x }", want: `Runtime.MarshalError: Unable to stringify response body: Converting circular`},
		"node uncaught":      {runtime: "nodejs20.x", handler: "app.handler", text: "exports.handler = () => new Promise(() => setTimeout(() => { throw new Error('late') }, 1))", want: `Runtime.UncaughtException: late`},
		"node rejection":     {runtime: "nodejs20.x", handler: "app.handler", text: "exports.handler = () => new Promise(() => { Promise.reject(new Error('lost')) })", want: `Runtime.UnhandledPromiseRejection: lost`},
		"node no module":     {runtime: "nodejs20.x", handler: "gone.handler", text: "", init: true, want: `Runtime.ImportModuleError: Error: Cannot find module 'gone'`},
		"node no import":     {runtime: "nodejs20.x", handler: "app.handler", text: "require('nosuchthing')", init: true, want: `Runtime.ImportModuleError: Error: Cannot find module 'nosuchthing'`},
		"node no func":       {runtime: "nodejs20.x", handler: "app.handler", text: "exports.other = 1", init: true, want: `Runtime.HandlerNotFound: app.handler is undefined or not exported`},
		"node bad name":      {runtime: "nodejs20.x", handler: "handler", text: "", init: true, want: `Runtime.MalformedHandlerName: Bad handler 'handler'`},
		"node syntax":        {runtime: "nodejs20.x", handler: "app.handler", text: "exports.handler = (", init: true, want: `Runtime.UserCodeSyntaxError: SyntaxError: Unexpected`},
		"node init fails":    {runtime: "nodejs20.x", handler: "app.handler", text: "throw new Error('no table')", init: true, want: `Error: no table`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.files == nil {
				test.files = map[string]string{"app.py": test.text}
				if strings.HasPrefix(test.runtime, "node") {
					test.files = map[string]string{"app.js": test.text}
				}
			}
			c := interpreted(t, test.runtime, test.handler, test.files)
			c.Lazy = true
			f := start(t, c)
			result, err := f.Invoke(t.Context(), []byte("{}"))
			got := string(result.Payload)
			var failure *lambda.FunctionError
			if errors.As(err, &failure) {
				got = failure.Type + ": " + failure.Message
				if failure.Init != test.init {
					t.Errorf("failed at its start: %v", failure.Init)
				}
			} else if err != nil {
				got = err.Error()
			}
			if !strings.HasPrefix(got, test.want) || len(test.want) < 8 && got != test.want {
				t.Errorf("got  %s\nwant %s\nlog: %s", got, test.want, result.Log)
			}
		})
	}
}

// TestRuntimeSurvives shows that a handler that failed goes on with the same process, that
// its traceback is in the log and in the error, and that nothing of the bootstrap is.
func TestRuntimeSurvives(t *testing.T) {
	for runtime, files := range map[string]map[string]string{
		"python3.11": {"app.py": "import os\ndef inner(e):\n    raise ValueError('bad ' + e)\ndef handler(e, c):\n    if isinstance(e, str): inner(e)\n    return os.getpid()\n"},
		"nodejs20.x": {"app.js": "function inner(e) { throw new RangeError('bad ' + e) }\nexports.handler = async (e) => { if (typeof e === 'string') inner(e); return process.pid }"},
	} {
		t.Run(runtime, func(t *testing.T) {
			f := start(t, interpreted(t, runtime, "app.handler", files))
			before, err := f.Call(t.Context(), []byte("1"))
			if err != nil {
				t.Fatal(err)
			}
			result, err := f.Invoke(t.Context(), []byte(`"input"`))
			var failure *lambda.FunctionError
			if !errors.As(err, &failure) || failure.Message != "bad input" {
				t.Fatalf("error %v", err)
			}
			trace := strings.Join(failure.StackTrace, "\n")
			for _, text := range []string{trace, string(result.Log)} {
				if !strings.Contains(text, "inner") || !strings.Contains(text, "app.") {
					t.Errorf("no trace in %s", text)
				}
			}
			if strings.Contains(runtime, "python") && strings.Contains(trace, "python-") {
				t.Errorf("the bootstrap shows in %s", trace)
			}
			after, err := f.Call(t.Context(), []byte("2"))
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("process %s, then %s: %v", before, after, err)
			}
		})
	}
}

// TestRuntimeLogs shows that output comes at once and carries what the service adds.
func TestRuntimeLogs(t *testing.T) {
	for runtime, test := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"python3.11": {
			map[string]string{"app.py": "import logging, sys\nprint('starting')\ndef handler(e, c):\n    print('plain')\n    logging.getLogger().warning('care %s', 1)\n    logging.info('silent')\n    sys.stderr.write('err')\n    return 1"},
			[]string{"starting\n", "plain\n", "[WARNING]\t", "Z\t11111111-2222-3333-4444-555555555555\tcare 1\n", "err\nEND RequestId"},
		},
		"nodejs20.x": {
			map[string]string{"app.js": "console.log('starting')\nexports.handler = async () => { console.warn('care %d', 1); process.stderr.write('err'); return 1 }"},
			[]string{"\tINFO\tstarting\n", "\t11111111-2222-3333-4444-555555555555\tWARN\tcare 1\n", "err\nEND RequestId"},
		},
	} {
		t.Run(runtime, func(t *testing.T) {
			c := interpreted(t, runtime, "app.handler", test.files)
			var streams streams
			c.Stream = streams.open
			f := start(t, c)
			result, err := f.Invoke(t.Context(), []byte("1"))
			if err != nil {
				t.Fatal(err)
			}
			logged := streams.text(t)
			for _, want := range test.want {
				if !strings.Contains(string(result.Log), want) || !strings.Contains(logged, want) {
					t.Errorf("no %q in the result's log:\n%s\nor in the stream:\n%s", want, result.Log, logged)
				}
			}
			for _, line := range []string{"START RequestId: ", "REPORT RequestId: "} {
				if strings.Count(logged, line) != 1 {
					t.Errorf("not one %s in %s", line, logged)
				}
			}
		})
	}
}

// streams collects the log streams of a function.
type streams struct {
	mu    sync.Mutex
	names []string
	all   bytes.Buffer
}

func (s *streams) open(name string) io.Writer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, name)
	return s
}

func (s *streams) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(p)
}

func (s *streams) text(t *testing.T) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.names {
		if !strings.Contains(name, "/[$LATEST]") {
			t.Errorf("stream %q", name)
		}
	}
	return s.all.String()
}

// TestPrepare finds commands without running them.
func TestPrepare(t *testing.T) {
	elf := "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 11) + "\x3e\x00"
	foreign := "MZ" + strings.Repeat("\x00", 30)
	dir := code(t, map[string]string{"bin/x": elf, "foreign/bootstrap": foreign, "script/bootstrap": "#!/bin/sh\n"})
	nothing := func(string) (string, error) { return "", exec.ErrNotFound }
	for _, test := range []struct{ runtime, entrypoint, dir, want string }{
		{"provided.al2023", "bootstrap", "script", ""},
		{"provided", "handler", "script", ""},
		{"provided.al2", "bootstrap", "bin", "the runtime provided.al2: the function has no file bootstrap; build the handlers and package them again"},
		{"provided.al2", "bootstrap", "foreign", "function bootstrap: cannot start bootstrap: it is a program for windows, this machine is"},
		{"go1.x", "../x", "bin", `the runtime go1.x: the entrypoint "../x" is not a file of the function`},
		{"python3.12", "app.handler", "bin", "the runtime python3.12: there is no working Python 3 in the PATH; install it"},
		{"nodejs22.x", "app.handler", "bin", "the runtime nodejs22.x: there is no working Node.js in the PATH; install it"},
		{"java17", "a.B::c", "bin", "the runtime java17: there is no java in the PATH; install a JDK"},
		{"ruby3.2", "a.b", "bin", "the runtime ruby3.2: functions of this runtime cannot be run here"},
		{"python2.7", "a.b", "bin", "the runtime python2.7: Python 2 is not supported"},
		{"", "a.b", "bin", `the runtime "": the settings name none`},
	} {
		r := &lambda.Runtimes{Scripts: t.TempDir(), LookPath: nothing, Getenv: func(string) string { return "" }}
		p, err := r.Prepare(t.Context(), test.runtime, test.entrypoint, filepath.Join(dir, test.dir))
		switch {
		case test.want == "" && (err != nil || p.Command[0] != filepath.Join(dir, test.dir, "bootstrap")):
			t.Errorf("%s: %v %v", test.runtime, p.Command, err)
		case test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)):
			t.Errorf("%s: %v, want %s", test.runtime, err, test.want)
		}
	}
}

// TestPrepareChooses prefers the version of the runtime, passes over wrappers that do not
// work, and says when the version is another one.
func TestPrepareChooses(t *testing.T) {
	bin := code(t, map[string]string{
		"python3.9":   "#!/bin/sh\necho 'no such version' >&2; exit 127\n",
		"python3":     "#!/bin/sh\necho /real/python3; echo 3.11\n",
		"python":      "#!/bin/sh\necho /real/python2; echo 2.7\n",
		"node":        "#!/bin/sh\necho /real/node; echo 20.1.2\n",
		"old/python3": "#!/bin/sh\necho /real/python2; echo 2.7\n",
	})
	in := func(dir string) *lambda.Runtimes {
		return &lambda.Runtimes{
			Scripts: t.TempDir(), LookPath: func(name string) (string, error) { return exec.LookPath(filepath.Join(dir, name)) },
			Getenv: func(string) string { return "" }, // versions that pyenv has installed here are not for this test
		}
	}
	for _, test := range []struct{ runtime, program, note string }{
		{"python3.9", "/real/python3", "the runtime is python3.9, and is run by Python 3.11: there is no python3.9 in the PATH"},
		{"python3.11", "/real/python3", ""},
		{"nodejs20.x", "/real/node", ""},
		{"nodejs22.x", "/real/node", "the runtime is nodejs22.x, and is run by Node.js 20.1.2, the one in the PATH"},
	} {
		p, err := in(bin).Prepare(t.Context(), test.runtime, "app.handler", bin)
		if err != nil || p.Command[0] != test.program || p.Note != test.note {
			t.Errorf("%s: %q %q %v", test.runtime, p.Command, p.Note, err)
			continue
		}
		script := p.Command[slices.IndexFunc(p.Command, func(s string) bool { return strings.HasSuffix(s, ".py") || strings.HasSuffix(s, ".mjs") })]
		if info, err := os.Stat(script); err != nil || info.Size() < 1000 || !filepath.IsAbs(script) {
			t.Errorf("%s: script %s: %v", test.runtime, script, err)
		}
	}
	if _, err := in(filepath.Join(bin, "old")).Prepare(t.Context(), "python3.9", "app.handler", bin); err == nil {
		t.Error("Python 2 was taken for Python 3")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := in(bin).Prepare(ctx, "python3.9", "app.handler", bin); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}
