package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/chromedp/remote"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

// debugPatience bounds what one step may take on a machine that does much else.
const debugPatience = 2 * time.Minute

// A debugRun is a command that runs while a debugger is attached to its handlers.
type debugRun struct {
	t         *testing.T
	out, errs lockedText
	ended     chan int
}

// A lockedText is written and read at the same time.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// startDebug starts a command, which the end of the test ends.
func startDebug(t *testing.T, dir string, environ []string, args ...string) *debugRun {
	t.Helper()
	r := &debugRun{t: t, ended: make(chan int, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.ended <- Main(ctx, Env{Stdin: strings.NewReader(""), Stdout: &r.out, Stderr: &r.errs, Environ: environ, Dir: dir, Version: "1.2.3"}, args)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return r
}

// prints waits until the command has printed what a pattern matches n times, and returns the last group.
func (r *debugRun) prints(pattern string, n int) string {
	r.t.Helper()
	search := regexp.MustCompile(pattern)
	var found [][]string
	fixtures.Happens(debugPatience, func() bool {
		ended := len(r.ended) > 0
		found = search.FindAllStringSubmatch(r.out.String()+r.errs.String(), -1)
		return ended || len(found) >= n
	})
	if len(found) < n {
		r.t.Fatalf("the command does not print %q:\n%s%s", pattern, r.out.String(), r.errs.String())
	}
	return found[n-1][1]
}

// succeeds waits for the end of the command.
func (r *debugRun) succeeds(want string) {
	r.t.Helper()
	select {
	case code := <-r.ended:
		r.ended <- code
		if code != 0 || !strings.Contains(r.out.String(), want) {
			r.t.Errorf("%d\n%s%s\nwant %q", code, r.out.String(), r.errs.String(), want)
		}
	case <-time.After(debugPatience):
		r.t.Fatalf("the command does not end:\n%s%s", r.out.String(), r.errs.String())
	}
}

// A dapClient is a client of the Debug Adapter Protocol, as editors are for debugpy.
type dapClient struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
	seq  int
}

// dapMessage is a response or an event.
type dapMessage struct {
	Type, Command, Event string
	Success              bool
	Message              string
	Body                 json.RawMessage
}

// attachDAP attaches and sets a breakpoint in a line.
func attachDAP(t *testing.T, address, file string, line int) *dapClient {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, debugPatience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(debugPatience)); err != nil {
		t.Fatal(err)
	}
	c := &dapClient{t: t, conn: conn, r: bufio.NewReader(conn)}
	c.request("initialize", `{"adapterID": "test"}`, nil)
	c.send("attach", `{"justMyCode": true}`)
	c.event("initialized", nil)
	var set struct{ Breakpoints []struct{ Verified bool } }
	c.request("setBreakpoints", fmt.Sprintf(`{"source": {"path": %q}, "breakpoints": [{"line": %d}]}`, file, line), &set)
	if len(set.Breakpoints) != 1 || !set.Breakpoints[0].Verified {
		t.Errorf("the breakpoint is %+v", set)
	}
	c.request("configurationDone", `{}`, nil)
	return c
}

func (c *dapClient) send(command, arguments string) {
	c.t.Helper()
	c.seq++
	body := fmt.Sprintf(`{"seq": %d, "type": "request", "command": %q, "arguments": %s}`, c.seq, command, arguments)
	if _, err := fmt.Fprintf(c.conn, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		c.t.Fatal(err)
	}
}

// request sends a request and waits for its response.
func (c *dapClient) request(command, arguments string, body any) {
	c.t.Helper()
	c.send(command, arguments)
	c.await(body, func(m dapMessage) bool { return m.Type == "response" && m.Command == command })
}

func (c *dapClient) event(name string, body any) {
	c.t.Helper()
	c.await(body, func(m dapMessage) bool { return m.Event == name })
}

func (c *dapClient) await(body any, wanted func(dapMessage) bool) {
	c.t.Helper()
	for {
		size := 0
		for {
			line, err := c.r.ReadString('\n')
			if err != nil {
				c.t.Fatal(err)
			}
			if value, found := strings.CutPrefix(strings.TrimSpace(line), "Content-Length:"); found {
				size, _ = strconv.Atoi(strings.TrimSpace(value))
			}
			if strings.TrimSpace(line) == "" {
				break
			}
		}
		text := make([]byte, size)
		if _, err := io.ReadFull(c.r, text); err != nil {
			c.t.Fatal(err)
		}
		var m dapMessage
		if err := json.Unmarshal(text, &m); err != nil {
			c.t.Fatal(err)
		}
		if m.Type == "response" && !m.Success {
			c.t.Fatalf("%s: %s", m.Command, m.Message)
		}
		if !wanted(m) {
			continue
		}
		if body != nil {
			if err := json.Unmarshal(m.Body, body); err != nil {
				c.t.Fatal(err)
			}
		}
		return
	}
}

// stops waits until the handlers meet the breakpoint, checks where, and continues.
func (c *dapClient) stops(function, file string, line int) {
	c.t.Helper()
	var stopped struct {
		Reason   string
		ThreadID int `json:"threadId"`
	}
	c.event("stopped", &stopped)
	var stack struct {
		StackFrames []struct {
			Name   string
			Line   int
			Source struct{ Path string }
		}
	}
	c.request("stackTrace", fmt.Sprintf(`{"threadId": %d}`, stopped.ThreadID), &stack)
	if at := stack.StackFrames[0]; stopped.Reason != "breakpoint" || at.Name != function || at.Source.Path != file || at.Line != line {
		c.t.Errorf("stopped by a %s in %+v", stopped.Reason, at)
	}
	c.send("continue", fmt.Sprintf(`{"threadId": %d}`, stopped.ThreadID)) // the process may end before it answers
}

// debugModes are the options of where handlers run whose debugger is attached: with a network of their own, with that of
// the machine, and without a sandbox.
func debugModes(t *testing.T) [][]string {
	t.Helper()
	if err := sandbox.Check(); err != nil {
		t.Log("without a sandbox only: ", err)
		return [][]string{{"--sandbox=off"}}
	}
	return [][]string{{"--sandbox=required"}, {"--sandbox=required", "--network=host"}, {"--sandbox=off"}}
}

// TestDebugGo attaches Delve to a handler in Go, in the sandbox and without it: it stops in a breakpoint and
// responds when Delve has detached.
func TestDebugGo(t *testing.T) {
	delve, err := exec.LookPath("dlv")
	if err != nil {
		t.Skip("skipped: dlv, the debugger of Go, is not installed")
	}
	root := t.TempDir()
	dir := filepath.Join(root, "examples", "tps-report")
	for from, to := range map[string]string{"../../examples/tps-report": dir, "../../sdk": filepath.Join(root, "sdk")} {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range debugModes(t) {
		r := startDebug(t, dir, os.Environ(), append([]string{"invoke", "resource", "CREATE", "requests/create.json", "--debug"}, mode...)...)
		pid := r.prints(`waits for a debugger: dlv attach (\d+)\n`, 1)
		ctx, cancel := context.WithTimeout(t.Context(), debugPatience)
		defer cancel()
		cmd := exec.CommandContext(ctx, delve, "attach", pid, "--allow-non-terminal-interactive=true")
		cmd.Stdin = strings.NewReader("break resource.Create\ncontinue\nclearall\nquit\nn\n")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Create() ") || !strings.Contains(string(out), "resource.go:") {
			t.Fatalf("%q: %v\n%s", mode, err, out)
		}
		r.succeeds("SUCCESS")
	}
}

// TestDebugPython attaches to handlers in Python, in a sandbox and without, and meets a breakpoint.
func TestDebugPython(t *testing.T) {
	dir, environ := pythonProject(t)
	packages := filepath.Join(os.Getenv("FORMWORK_CLIENTS"), "debugpy")
	if _, err := os.Stat(filepath.Join(packages, "debugpy")); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("FORMWORK_CLIENTS has no folder debugpy: see .ci/run")
		}
		t.Skip("FORMWORK_CLIENTS has no folder debugpy with the package of that name")
	}
	environ = append(environ, "PYTHONPATH="+packages)
	handlers := filepath.Join(dir, "src", "acme_foo_bar", "handlers.py")
	for _, mode := range debugModes(t) {
		r := startDebug(t, dir, environ, append([]string{"invoke", "resource", "READ", "request.json", "--debug", "--debug-port", "0"}, mode...)...)
		address := r.prints(`process \d+ waits for a debugger: attach a client of debugpy, such as VS Code, to (127\.0\.0\.1:\d+)\n`, 1)
		c := attachDAP(t, address, handlers, 7)
		c.stops("resource", handlers, 7)
		r.succeeds("hello")
		if strings.Contains(r.errs.String(), "left processes behind") || strings.Contains(r.errs.String(), "frozen modules") {
			t.Errorf("%q:\n%s", mode, r.errs.String())
		}
	}
}

// TestDebugPythonInstalls: debugpy is installed once if the project does not have it.
func TestDebugPythonInstalls(t *testing.T) {
	dir, environ := pythonProject(t)
	debug := func(args ...string) (int, string) {
		code, out, errs := runIn(t.Context(), dir, environ, append([]string{"invoke", "resource", "READ", "request.json", "--debug", "--debug-port", "0"}, args...)...)
		return code, out + errs
	}
	if code, text := debug(); code == 0 || !strings.Contains(text, "debugpy, the debugger of Python, could not be installed") || !strings.Contains(text, "hint: install it yourself: python -m pip install debugpy") {
		t.Errorf("without debugpy: %d\n%s", code, text)
	}
	if code, text := debug("--no-build"); code == 0 || !strings.Contains(text, "debugpy, the debugger of Python, is not installed") {
		t.Errorf("--no-build: %d\n%s", code, text)
	}
	wheels := ""
	for _, entry := range environ {
		if value, found := strings.CutPrefix(entry, "PIP_FIND_LINKS="); found {
			wheels = value
		}
	}
	// Of debugpy, this has as much as cfn uses. Nobody attaches.
	writePackage(t, wheels, "debugpy", "1.8.99", "def listen(address):\n    print('at', address)\n\n\ndef wait_for_client():\n    pass\n")
	if code, text := debug(); code != 0 || !strings.Contains(text, "-m pip install debugpy\n") || !strings.Contains(text, "at ('127.0.0.1', ") || !strings.Contains(text, "hello") {
		t.Fatalf("the first call: %d\n%s", code, text)
	}
	if code, text := debug(); code != 0 || strings.Contains(text, "pip install") || !strings.Contains(text, "hello") {
		t.Errorf("the second call: %d\n%s", code, text)
	}
}

// debugTypeScript is a handler whose lines differ from those of the compiled one.
const debugTypeScript = `interface Request {
  action: string;
}

// Comments and types are not compiled.
type Reply = { status: string; resourceModel?: object; resourceModels?: object[] };

export async function entrypoint(request: Request): Promise<Reply> {
  const word: string = 'hello';
  return { status: 'SUCCESS', resourceModel: { Id: word } };
}

export const testEntrypoint = entrypoint;
`

// debugTypeScriptProject writes a project that the compiler of FORMWORK_CLIENTS compiles.
func debugTypeScriptProject(t *testing.T) (dir string, environ []string) {
	t.Helper()
	modules := filepath.Join(os.Getenv("FORMWORK_CLIENTS"), "typescript", "node_modules")
	if _, err := os.Stat(filepath.Join(modules, ".bin", "tsc")); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("FORMWORK_CLIENTS has no folder typescript: see .ci/run")
		}
		t.Skip("FORMWORK_CLIENTS has no folder typescript with the compiler")
	}
	dir, environ = typeScriptProject(t)
	if err := os.Mkdir(filepath.Join(dir, "node_modules"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(modules, "typescript"), filepath.Join(dir, "node_modules", "typescript")); err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(dir, "package.json"), `{"name": "acme", "version": "1.0.0", "private": true, "scripts": {"build": "tsc"}}`)
	writeText(t, filepath.Join(dir, "tsconfig.json"), `{"compilerOptions": {"target": "ES2021", "module": "commonjs", "rootDir": "src", "outDir": "dist", "types": []}, "include": ["src/**/*.ts"]}`)
	writeText(t, filepath.Join(dir, "src", "handlers.ts"), debugTypeScript)
	return dir, environ
}

// compiledLine is the line of the compiled handlers for a line of their source, both from 0 on, by the
// source map: groups of base-64 numbers of variable length, each the difference to the one before.
func compiledLine(t *testing.T, dir string, source int) int {
	t.Helper()
	var m struct{ Sources, Mappings any }
	data, err := os.ReadFile(filepath.Join(dir, "dist", "handlers.js.map"))
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(m.Sources); got != "[../src/handlers.ts]" {
		t.Errorf("the source map is of %s", got)
	}
	at := 0
	for line, groups := range strings.Split(m.Mappings.(string), ";") {
		for _, group := range strings.Split(groups, ",") {
			var numbers []int
			value, shift := 0, 0
			for _, digit := range []byte(group) {
				d := strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", digit)
				value |= d & 31 << shift
				if shift += 5; d&32 == 0 {
					number := value >> 1
					if value&1 == 1 {
						number = -number
					}
					numbers, value, shift = append(numbers, number), 0, 0
				}
			}
			if len(numbers) < 4 {
				continue
			}
			if at += numbers[2]; at == source {
				return line
			}
		}
	}
	t.Fatalf("the source map has no line %d", source)
	return 0
}

// A cdpClient speaks the protocol of Chrome DevTools, as editors and "node inspect" do for Node.js.
type cdpClient struct {
	t    *testing.T
	ctx  context.Context
	conn *remote.Conn
	id   int64
}

func attachCDP(t *testing.T, address string) *cdpClient {
	t.Helper()
	response, err := http.Get("http://" + address + "/json/list") //nolint:gosec,noctx // of this machine
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var targets []struct {
		URL string `json:"webSocketDebuggerUrl"`
	}
	if err := json.NewDecoder(response.Body).Decode(&targets); err != nil || len(targets) != 1 {
		t.Fatalf("%v %v", targets, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), debugPatience)
	t.Cleanup(cancel)
	conn, err := remote.DialContext(ctx, targets[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &cdpClient{t: t, ctx: ctx, conn: conn}
}

// send makes a request without waiting for the answer: a program that ends may not give it.
func (c *cdpClient) send(method, params string) {
	c.t.Helper()
	c.id++
	if err := c.conn.Write(c.ctx, &cdproto.Message{ID: c.id, Method: cdproto.MethodType(method), Params: jsonv2.Value(params)}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cdpClient) request(method, params string) {
	c.t.Helper()
	c.send(method, params)
	for {
		var m cdproto.Message
		if err := c.conn.Read(c.ctx, &m); err != nil {
			c.t.Fatal(err)
		}
		if m.ID != c.id {
			continue
		}
		if m.Error != nil {
			c.t.Fatalf("%s: %v", method, m.Error)
		}
		return
	}
}

// paused waits until the program stops, and returns where, and the breakpoints that it has met.
func (c *cdpClient) paused() (function string, line int, met string) {
	c.t.Helper()
	for {
		var m cdproto.Message
		if err := c.conn.Read(c.ctx, &m); err != nil {
			c.t.Fatal(err)
		}
		if m.Method != "Debugger.paused" {
			continue
		}
		var event struct {
			CallFrames []struct {
				FunctionName string
				Location     struct{ LineNumber int }
			}
			HitBreakpoints []string
		}
		if err := json.Unmarshal(m.Params, &event); err != nil || len(event.CallFrames) == 0 {
			c.t.Fatalf("%s: %v", m.Params, err)
		}
		at := event.CallFrames[0]
		return at.FunctionName, at.Location.LineNumber, strings.Join(event.HitBreakpoints, " ")
	}
}

// TestDebugTypeScript attaches to handlers in TypeScript and meets a breakpoint of a source.
func TestDebugTypeScript(t *testing.T) {
	dir, environ := debugTypeScriptProject(t)
	for _, mode := range debugModes(t) {
		r := startDebug(t, dir, environ, append([]string{"invoke", "resource", "READ", "request.json", "--debug", "--debug-port", "0"}, mode...)...)
		c := attachCDP(t, r.prints(`process \d+ waits for a debugger: node inspect (127\.0\.0\.1:\d+)\n`, 1))
		line := compiledLine(t, dir, 9) // return, from 0 on
		if line == 9 {
			t.Fatal("the compiled line is that of the source: this shows nothing")
		}
		url := "file://" + filepath.Join(dir, "dist", "handlers.js")
		c.request("Debugger.enable", `{}`)
		c.request("Debugger.setBreakpointByUrl", fmt.Sprintf(`{"url": %q, "lineNumber": %d}`, url, line))
		c.request("Runtime.runIfWaitingForDebugger", `{}`)
		c.paused() // at the start
		c.request("Debugger.resume", `{}`)
		if function, at, met := c.paused(); function != "entrypoint" || at != line || !strings.Contains(met, url) {
			t.Errorf("paused in %s, line %d, at the breakpoint %q; want line %d of %s", function, at, met, line, url)
		}
		c.send("Debugger.resume", `{}`)
		r.succeeds("hello")
		if strings.Contains(r.errs.String(), "source map") {
			t.Errorf("a warning: %s", r.errs.String())
		}
	}
	// A build of the project's own may not write maps.
	writeText(t, filepath.Join(dir, "package.json"), `{"name": "acme", "version": "1.0.0", "private": true, "scripts": {"build": "tsc --removeComments"}}`)
	r := startDebug(t, dir, append(environ, "PATH="+filepath.Join(os.Getenv("FORMWORK_CLIENTS"), "typescript", "node_modules", ".bin")+":"+os.Getenv("PATH")),
		"invoke", "resource", "READ", "request.json", "--debug", "--debug-port", "0")
	r.prints(`(dist/handlers\.js has no source map)`, 1)
}

// TestDebugTests: cfn test waits for a debugger, and then has no time limits: somebody looks around.
func TestDebugTests(t *testing.T) {
	dir, environ := debugTypeScriptProject(t)
	file := filepath.Join(dir, "acme-foo-bar.json")
	model, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, file, strings.Replace(string(model), `"handlers": {`, `"handlers": {"create": {"permissions": ["a:b"]}, "delete": {"permissions": ["a:b"]}, `, 1))
	writeText(t, filepath.Join(dir, "src", "handlers.ts"), `declare function setTimeout(f: () => void, ms: number): void;
export async function entrypoint(request: { action: string }): Promise<object> {
  await new Promise<void>((resolve) => setTimeout(resolve, 2500));
  return { status: 'SUCCESS', ...(request.action === 'CREATE' ? { resourceModel: { Id: 'x' } } : {}) };
}
`)
	r := startDebug(t, dir, environ, "test", "--debug", "--debug-port", "0", "--enforce-timeout", "1", "--", "-k", "contract_create_delete")
	c := attachCDP(t, r.prints(`process \d+ waits for a debugger: node inspect (127\.0\.0\.1:\d+)\n`, 1))
	c.request("Debugger.enable", `{}`)
	c.request("Runtime.runIfWaitingForDebugger", `{}`)
	c.paused()
	c.send("Debugger.resume", `{}`)
	r.succeeds(" 1 passed")
}

// TestDebugServer: cfn start-lambda waits for a debugger at once, also after a change, and the functions have a
// port each.
func TestDebugServer(t *testing.T) {
	dir, environ := debugTypeScriptProject(t)
	address, err := freeAddress(0)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(address)
	r := startDebug(t, dir, environ, "start-lambda", "--port", "0", "--debug", "--debug-port", port, "--watch")
	const waits = `process \d+ waits for a debugger: node inspect (127\.0\.0\.1:\d+)\n`
	run := func(n int) {
		t.Helper()
		c := attachCDP(t, r.prints(waits, n))
		c.request("Debugger.enable", `{}`)
		c.request("Runtime.runIfWaitingForDebugger", `{}`)
		c.paused()
		c.send("Debugger.resume", `{}`)
	}
	if got := r.prints(waits, 1); got != address {
		t.Errorf("waits at %s, want %s", got, address)
	}
	run(1)
	endpoint := r.prints(` at (http://\S+)`, 1)
	call := func(function, want string) {
		t.Helper()
		i := startDebug(t, dir, environ, "invoke", "resource", "READ", "request.json", "--endpoint", endpoint, "--function-name", function, "--debug")
		if function == testEntrypoint {
			run(2)
		}
		i.succeeds(want)
	}
	call(typeFunction, "hello")
	call(testEntrypoint, "hello")
	if got := r.prints(waits, 2); got == address {
		t.Errorf("both functions wait at %s", got)
	}
	writeText(t, filepath.Join(dir, "src", "handlers.ts"), strings.Replace(debugTypeScript, "hello", "good evening", 1))
	r.prints(`(handlers\.ts changed; built in)`, 1)
	if got := r.prints(waits, 3); got != address {
		t.Errorf("after a change, the handlers wait at %s, want %s", got, address)
	}
	run(3)
	call(typeFunction, "good evening")
}

// TestDebugJava attaches jdb to handlers in Java and meets a breakpoint.
func TestDebugJava(t *testing.T) {
	needsJava(t)
	if _, err := exec.LookPath("jdb"); err != nil {
		t.Skip("jdb is not installed")
	}
	dir := javaProject(t, "hello")
	for _, mode := range debugModes(t) {
		r := startDebug(t, dir, os.Environ(), append([]string{"invoke", "resource", "READ", "request.json", "--debug", "--debug-port", "0"}, mode...)...)
		address := r.prints(`process \d+ waits for a debugger: jdb -attach (127\.0\.0\.1:\d+)\n`, 1)
		jdb := exec.CommandContext(t.Context(), "jdb", "-attach", address)
		jdb.Env = append(os.Environ(), "JAVA_TOOL_OPTIONS=-Djava.io.tmpdir="+t.TempDir())
		var printed lockedText
		jdb.Stdout, jdb.Stderr = &printed, &printed
		in, err := jdb.StdinPipe()
		if err == nil {
			err = jdb.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		shows := func(text string) {
			t.Helper()
			if !fixtures.Happens(debugPatience, func() bool { return strings.Contains(printed.String(), text) }) {
				t.Fatalf("jdb does not print %q:\n%s", text, printed.String())
			}
		}
		shows("main[1]") // before, it does not continue
		_, _ = io.WriteString(in, "stop in acme.Handler.handleRequest\n")
		shows("Deferring breakpoint")
		_, _ = io.WriteString(in, "cont\n")
		shows("Breakpoint hit")
		_, _ = io.WriteString(in, "where\n")
		shows("acme.Handler.handleRequest (Handler.java:7)")
		_, _ = io.WriteString(in, "cont\n")
		r.succeeds("hello")
		_ = in.Close()
		_ = jdb.Wait() // it ends with the handlers
	}
}

// TestDebugOptions: what does not fit is refused.
func TestDebugOptions(t *testing.T) {
	dir, environ := pythonProject(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, taken, _ := net.SplitHostPort(listener.Addr().String())
	invoke := []string{"invoke", "resource", "READ", "request.json"}
	for _, test := range []struct {
		args []string
		want string
	}{
		{append(invoke, "--debug-port", "5005"), "option --debug-port: only allowed with --debug"},
		{append(invoke, "--debug", "--debug-port", "65536"), "65536 is not a port"},
		{append(invoke, "--debug", "--debug-port", taken), "the handlers cannot wait for a debugger at port " + taken},
		{[]string{"test", "--debug-port", "1"}, "only allowed with --debug"},
		{[]string{"start-lambda", "--debug-port", "1"}, "only allowed with --debug"},
		{[]string{"test", "--in-stack", "--debug"}, "option --debug: not allowed with --in-stack"},
	} {
		code, _, errs := runIn(t.Context(), dir, environ, test.args...)
		if code == 0 || !strings.Contains(errs, test.want) {
			t.Errorf("%q: %d\n%s\nwant %q", test.args, code, errs, test.want)
		}
	}
	settings, err := os.ReadFile(filepath.Join(dir, ".rpdk-config"))
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(dir, ".rpdk-config"), string(bytes.ReplaceAll(bytes.ReplaceAll(settings, []byte("python312"), []byte("go")), []byte("python3.12"), []byte("provided.al2023"))))
	if code, _, errs := runIn(t.Context(), dir, environ, append(invoke, "--debug", "--debug-port", "5005")...); code == 0 || !strings.Contains(errs, "--debug-port is for handlers in Python, TypeScript and Java") {
		t.Errorf("Go: %d\n%s", code, errs)
	}
}
