package lsp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

func TestLifecycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, Config{Version: "1.2.3"})
		refused := func(method, params string, code int) {
			t.Helper()
			_, err := c.call(method, params)
			var got *responseError
			if !errors.As(err, &got) || got.Code != code {
				t.Errorf("%s: %v, want code %d", method, err, code)
			}
		}
		refused("textDocument/hover", `{}`, codeServerNotInitialized)
		c.notify("textDocument/didOpen", `{}`) // passed over
		raw, err := c.call("initialize", `{"capabilities": {"general": {"positionEncodings": ["utf-8", "utf-16"]}}}`)
		result := decode[initializeResult](t, raw, err)
		if result.Capabilities.PositionEncoding != "utf-8" || result.ServerInfo != (serverInfo{"cfn", "1.2.3"}) {
			t.Errorf("it introduces itself as %+v", result)
		}
		refused("initialize", `{"capabilities": {}}`, codeInvalidRequest)
		refused("textDocument/foldingRange", `{}`, codeMethodNotFound)
		refused("$/unknown", `{}`, codeMethodNotFound)
		refused("textDocument/hover", `[]`, codeInvalidParams)
		c.notify("$/unknown", `{}`)
		if raw, err := c.call("textDocument/hover", at("file:///not-open.json", "", 0)); err != nil || string(raw) != "null" {
			t.Errorf("hover in a document that is not open: %s, %v", raw, err)
		}
		if raw, err := c.call("shutdown", "null"); err != nil || string(raw) != "null" {
			t.Errorf("shutdown: %s, %v", raw, err)
		}
		refused("textDocument/hover", `{}`, codeInvalidRequest)
		c.notify("exit", "null")
		if err := <-c.serveErr; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

func TestEnds(t *testing.T) {
	tests := []struct {
		name string
		end  func(c *client)
		want error
	}{
		{"exit without shutdown", func(c *client) { c.notify("exit", "null") }, ErrNoShutdown},
		{"hanging up", func(c *client) { c.in.Close() }, ErrNoShutdown},
		{"hanging up after shutdown", func(c *client) { c.call("shutdown", "null"); c.in.Close() }, nil},
		{"half a message", func(c *client) { c.raw("Content-Length: 10\r\n\r\n{"); c.in.Close() }, io.ErrUnexpectedEOF},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := connect(t, Config{}, everything)
			c.opens("file:///x.json", bucket) // its diagnosis must not keep the server
			test.end(c)
			if err := <-c.serveErr; !errors.Is(err, test.want) || test.want == nil && err != nil {
				t.Errorf("Serve: %v, want %v", err, test.want)
			}
			nothingRuns(t)
		})
	}
}

// nothingRuns fails if the server has left a goroutine behind.
func nothingRuns(t *testing.T) {
	t.Helper()
	if !fixtures.Happens(fixtures.Patience, func() bool { // the reader ends a moment after its input
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return !bytes.Contains(stacks, []byte("lsp.(*server)")) && !bytes.Contains(stacks, []byte("lsp.(*outbox)"))
	}) {
		t.Error("a goroutine of the server is left behind")
	}
}

func TestEndOfContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		in, typing := io.Pipe()
		done := make(chan error)
		go func() { done <- Serve(ctx, in, io.Discard, Config{}) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Serve: %v", err)
		}
		typing.Close() // lets the reading goroutine end
	})
}

// A client that writes everything at once gets all its answers before that of shutdown.
func TestShutdownWaits(t *testing.T) {
	var in []byte
	for _, body := range []string{
		`{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {}}}`,
		`{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": "file:///x.json", "version": 1, "text": ` + quote(bucket) + `}}}`,
	} {
		in = appendFrame(in, []byte(body))
	}
	for i := range 50 {
		in = appendFrame(in, []byte(fmt.Sprintf(`{"jsonrpc": "2.0", "id": %d, "method": "textDocument/hover", "params": %s}`, i+1, at("file:///x.json", bucket, i*20))))
	}
	in = appendFrame(in, []byte(`{"jsonrpc": "2.0", "id": 51, "method": "shutdown"}`))
	in = appendFrame(in, []byte(`{"jsonrpc": "2.0", "method": "exit"}`))
	var out bytes.Buffer
	if err := Serve(t.Context(), bytes.NewReader(in), &out, Config{}); err != nil {
		t.Fatal(err)
	}
	answers := 0
	for r := newFrameReader(&out); ; {
		body, err := r.read()
		if err != nil {
			break
		}
		if bytes.Contains(body, []byte(`"error"`)) {
			t.Errorf("an answer is %s", body)
		}
		if bytes.Contains(body, []byte(`"id":`)) {
			answers++
		}
		if last := bytes.Contains(body, []byte(`"id":51,`)); last != (answers == 52) {
			t.Errorf("shutdown is answer %d", answers)
		}
	}
	if answers != 52 {
		t.Errorf("there are %d answers", answers)
	}
}

// A client that does not read is given up after a while.
func TestDeafClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, write := io.Pipe()
		defer read.Close()
		in := strings.NewReader(string(appendFrame(nil, []byte(`{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}`))))
		if err := Serve(t.Context(), in, write, Config{}); err == nil || !strings.Contains(err.Error(), "does not read") {
			t.Errorf("Serve: %v", err)
		}
	})
}

func TestMalformedInput(t *testing.T) {
	frame := func(body string) string { return string(appendFrame(nil, []byte(body))) }
	long := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", maxBody+1, strings.Repeat(" ", maxBody+1))
	tests := []struct {
		name, text string
		code       int
		fatal      bool
	}{
		{"no JSON", frame(`{"jsonrpc": "2.0", `), codeParseError, false},
		{"no object", frame(`[1, 2]`), codeInvalidRequest, false},
		{"another version", frame(`{"jsonrpc": "1.0", "id": 1, "method": "shutdown"}`), codeInvalidRequest, false},
		{"an id that is none", frame(`{"jsonrpc": "2.0", "id": {}, "method": "shutdown"}`), codeInvalidRequest, false},
		{"neither method nor id", frame(`{"jsonrpc": "2.0"}`), codeInvalidRequest, false},
		{"params that are none", frame(`{"jsonrpc": "2.0", "id": 1, "method": "shutdown", "params": 5}`), codeInvalidRequest, false},
		{"empty", "Content-Length: 0\r\n\r\n", codeParseError, false},
		{"another encoding", "Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-16\r\n\r\n{}", codeInvalidRequest, false},
		{"too long", long, codeInvalidRequest, false},
		{"nested too deep", frame(strings.Repeat("[", 100000)), codeParseError, false},
		{"no length", "Content-Type: x\r\n\r\n{}", codeParseError, true},
		{"a length that is none", "Content-Length: -1\r\n\r\n{}", codeParseError, true},
		{"two lengths", "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", codeParseError, true},
		{"no header", "hello\r\n\r\n", codeParseError, true},
		{"a header without end", strings.Repeat("X: y\r\n", maxHeader), codeParseError, true},
		{"a line without end", strings.Repeat("x", 2*maxHeader), codeParseError, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := connect(t, Config{}, everything)
			go io.WriteString(c.in, test.text) // the server may stop to read in the middle
			var reply struct{ Error *responseError }
			for m := range c.notes {
				if m.Method == nil {
					reply = decode[struct{ Error *responseError }](t, m.Params, nil)
					break
				}
			}
			if reply.Error == nil || reply.Error.Code != test.code {
				t.Fatalf("the answer is %+v, want code %d", reply.Error, test.code)
			}
			if test.fatal {
				if err := <-c.serveErr; err == nil || errors.Is(err, ErrNoShutdown) {
					t.Errorf("Serve: %v", err)
				}
				return
			}
			if raw, err := c.call("shutdown", "null"); err != nil || string(raw) != "null" {
				t.Errorf("the next request: %s, %v", raw, err)
			}
		})
	}
}

// Lines may end with a newline alone, and utf8 is an old name of utf-8.
func TestLenientHeader(t *testing.T) {
	body := `{"jsonrpc": "2.0", "method": "exit"}`
	in := fmt.Sprintf("content-length: %d\nContent-Type: application/vscode-jsonrpc; charset=utf8\n\n%s", len(body), body)
	if err := Serve(t.Context(), strings.NewReader(in), io.Discard, Config{}); !errors.Is(err, ErrNoShutdown) {
		t.Errorf("Serve: %v", err)
	}
}

// A clock stands still until it is advanced.
type clock struct {
	mu     sync.Mutex
	now    time.Duration
	alarms map[*func()]time.Duration
}

func (c *clock) afterFunc(d time.Duration, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d <= 0 {
		go f()
		return func() bool { return false }
	}
	c.alarms[&f] = c.now + d
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waiting := c.alarms[&f]
		delete(c.alarms, &f)
		return waiting
	}
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += d
	for f, at := range c.alarms {
		if at <= c.now {
			delete(c.alarms, f)
			go (*f)()
		}
	}
}

// Typing: a document is judged when it has rested for a while, and only then. The clock
// is not that of testing/synctest: the library for patterns keeps a goroutine of its own.
func TestDiagnosticsWhileTyping(t *testing.T) {
	now := &clock{alarms: map[*func()]time.Duration{}}
	c := connect(t, Config{Debounce: time.Second, AfterFunc: now.afterFunc}, everything)
	const uri = "file:///bucket.json"
	c.opens(uri, bucket)
	if got := c.published(uri); len(got.Diagnostics) > 0 || *got.Version != 1 {
		t.Errorf("when it was opened: %+v", got)
	}
	change := func(version int, line, from, to int, text string) {
		c.notify("textDocument/didChange", fmt.Sprintf(`{"textDocument": {"uri": %q, "version": %d}, "contentChanges": [
			{"range": {"start": {"line": %d, "character": %d}, "end": {"line": %d, "character": %d}}, "text": %s}]}`, uri, version, line, from, line, to, quote(text)))
		c.settled()
	}
	change(2, 1, 2, 12, `"typName"`)
	now.advance(900 * time.Millisecond)
	change(3, 2, 2, 15, `"describe"`)
	now.advance(900 * time.Millisecond)
	if c.settled(); len(c.notes) > 0 {
		t.Error("it was judged while it changed")
	}
	now.advance(100 * time.Millisecond)
	if got := c.published(uri); *got.Version != 3 ||
		ids(got.Diagnostics) != "1:schema/missing-key 1:schema/missing-key 2:schema/unknown-key 3:schema/unknown-key" {
		t.Errorf("after typing: %s", ids(got.Diagnostics))
	}
	c.notify("textDocument/didChange", fmt.Sprintf(`{"textDocument": {"uri": %q, "version": 4}, "contentChanges": [{"text": %s}]}`, uri, quote("{\n\"typeName\": \"A::B::C\",\n}")))
	c.notify("textDocument/didSave", fmt.Sprintf(`{"textDocument": {"uri": %q}}`, uri))
	if got := c.published(uri); *got.Version != 4 || !strings.HasPrefix(ids(got.Diagnostics), "1:schema/missing-key") {
		t.Errorf("after saving: %+v", got)
	}
	change(5, 1, 0, 1, `x`)
	c.notify("textDocument/didClose", fmt.Sprintf(`{"textDocument": {"uri": %q}}`, uri))
	if got := c.published(uri); len(got.Diagnostics) > 0 || got.Version != nil {
		t.Errorf("after closing: %+v", got)
	}
	now.advance(time.Minute)
	if c.settled(); len(c.notes) > 0 || len(now.alarms) > 0 {
		t.Error("a closed document is judged")
	}
}

// A syntax error in the middle is one problem at its place, in UTF-16 columns.
func TestDiagnosticPlaces(t *testing.T) {
	tests := []struct{ name, encoding, text, want string }{
		{"utf-16", "utf-16", `{"typeName": "A::B::C", "title": "😀é", "x" 1}`, "0:44"},
		{"utf-8", "utf-8", `{"typeName": "A::B::C", "title": "😀é", "x" 1}`, "0:47"},
		{"utf-32", "utf-32", `{"typeName": "A::B::C", "title": "😀é", "x" 1}`, "0:43"},
		{"lines of old", "utf-16", "{\"typeName\": \"A::B::C\",\r\"title\": \"t\"\r\n\"x\" 1}", "2:4"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := connect(t, Config{}, `{"general": {"positionEncodings": ["utf-7", "`+test.encoding+`"]}}`)
			c.opens("file:///x.json", test.text)
			found := c.published("file:///x.json").Diagnostics
			last := found[len(found)-1]
			if got := fmt.Sprintf("%d:%d", last.Range.Start.Line, last.Range.Start.Character); got != test.want || last.Code != "document/syntax" {
				t.Errorf("%s is at %s, want %s", last.Code, got, test.want)
			}
		})
	}
}

// Of an object of many lines only its key is underlined.
func TestLongRanges(t *testing.T) {
	c := connect(t, Config{}, everything)
	c.opens("file:///x.json", replaced(`"Name": {`, "\"Name_\": {\n\"items\": 5,\n"))
	for _, d := range c.published("file:///x.json").Diagnostics {
		if d.Range.Start.Line != d.Range.End.Line {
			t.Errorf("%s has the range %+v", d.Code, d.Range)
		}
	}
}

// Inputs are judged by the schema as it is in the editor, not as it was saved.
func TestInputs(t *testing.T) {
	config := withProject(map[string]string{"acme-store-bucket.json": bucket})
	config.CheckInputs = func(files fs.FS, s *schema.Schema) (diag.List, error) {
		data, err := fs.ReadFile(files, "inputs/inputs_1_create.json")
		if err != nil {
			return nil, err
		}
		at := func(start int) diag.Range {
			return diag.Range{File: "inputs/inputs_1_create.json", Start: diag.Position{Offset: start, Line: 1, Column: start + 1}, End: diag.Position{Offset: start + 1, Line: 1, Column: start + 2}}
		}
		problems := diag.List{{ID: "inputs/other", At: diag.Range{File: "inputs/inputs_2_create.json"}}}
		if s.Property([]string{"Size"}) == nil {
			problems.Add(diag.Problem{ID: "inputs/size", Message: string(data), At: at(1)})
		}
		return append(problems, diag.Problem{ID: "inputs/schema", At: at(bytes.IndexByte(data, '0'))}), nil
	}
	c := connect(t, config, everything)
	const in, of = "file:///work/inputs/inputs_1_create.json", "file:///work/acme-store-bucket.json"
	c.opens(in, `{"Size": {{Size}}, "Name": "{{Name}}"}`)
	if got := c.published(in); len(got.Diagnostics) > 0 {
		t.Errorf("by the schema on disk: %+v", got)
	}
	c.opens(of, replaced(`"Size": {`, `"Weight": {`))
	got := c.published(in)
	if ids(got.Diagnostics) != "1:inputs/size" || got.Diagnostics[0].Message != `{"Size": 0       , "Name": "xxNamexx"}` {
		t.Errorf("by the schema in the editor: %+v", got)
	}
	c.notify("textDocument/didChange", `{"textDocument": {"uri": "`+of+`", "version": 2}, "contentChanges": [{"text": "{\"typeName\": 5}"}]}`)
	if got := c.published(in); ids(got.Diagnostics) != "1:inputs/no-schema" {
		t.Errorf("by a broken schema: %+v", got)
	}
	c.notify("workspace/didChangeWatchedFiles", `{"changes": []}`)
	if got := c.published(in); ids(got.Diagnostics) != "1:inputs/no-schema" {
		t.Errorf("after a change on disk: %+v", got)
	}
}

// Nothing is said about documents of another trade.
func TestOtherDocuments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, Config{}, everything)
		c.opens("file:///package.json", `{"name": "x", "properties": 5,}`)
		c.opens("file:///.rpdk-config", `{"typeName": "A::B::C", "language": "go"}`)
		time.Sleep(time.Minute)
		synctest.Wait()
		for len(c.notes) > 0 {
			if m := <-c.notes; *m.Method != "client/registerCapability" {
				t.Errorf("the server said %s %s", *m.Method, m.Params)
			}
		}
	})
}

func TestCancellation(t *testing.T) {
	asked, release := make(chan bool), make(chan bool)
	config := Config{Explain: func(string) (Explanation, bool) {
		asked <- true
		<-release
		return Explanation{}, false
	}, Lint: func(s *schema.Schema, found diag.List) diag.List {
		return diag.List{{ID: "slow/rule", At: s.Root.At}}
	}}
	c := connect(t, config, everything)
	c.opens("file:///x.json", `{"typeName": "A::B::C"}`)
	id, answer := c.begin("textDocument/hover", at("file:///x.json", "", 0))
	<-asked
	c.notify("$/cancelRequest", `{"id": `+id+`}`)
	c.notify("$/cancelRequest", `{"id": "never"}`)
	// The server goes on while the request is worked on.
	if _, err := c.call("textDocument/documentSymbol", `{"textDocument": {"uri": "file:///x.json"}}`); err != nil {
		t.Error(err)
	}
	close(release)
	_, err := wait(answer)
	var got *responseError
	if !errors.As(err, &got) || got.Code != codeRequestCancelled {
		t.Errorf("the answer is %v", err)
	}
}

// A bug in one request is its own failure, and is logged.
func TestPanics(t *testing.T) {
	var log bytes.Buffer
	config := Config{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Lint: func(*schema.Schema, diag.List) diag.List {
			panic("the impossible happened")
		},
	}
	c := connect(t, config, everything)
	c.opens("file:///x.json", `{"typeName": "A::B::C"}`)
	if got := c.published("file:///x.json"); got.Diagnostics == nil || len(got.Diagnostics) > 0 {
		t.Errorf("diagnostics: %+v", got)
	}
	_, err := c.call("textDocument/hover", at("file:///x.json", "", 3))
	var got *responseError
	if !errors.As(err, &got) || got.Code != codeInternalError {
		t.Errorf("hover: %v", err)
	}
	c.call("shutdown", "null")
	c.notify("exit", "null")
	if err := <-c.serveErr; err != nil {
		t.Error(err)
	}
	if text := log.String(); strings.Count(text, "the impossible happened") < 2 || !strings.Contains(text, "method=textDocument/hover") {
		t.Errorf("the log is\n%s", text)
	}
}

// Many requests and changes at once end with the last state.
func TestConcurrentEdits(t *testing.T) {
	c := connect(t, Config{Debounce: time.Microsecond}, everything)
	const uri = "file:///x.json"
	c.opens(uri, bucket)
	var answers []chan message
	for i := range 200 {
		c.notify("textDocument/didChange", fmt.Sprintf(`{"textDocument": {"uri": %q, "version": %d}, "contentChanges": [
			{"range": {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 0}}, "text": " "}]}`, uri, i+2))
		for _, method := range []string{"hover", "completion", "definition", "documentSymbol"} {
			_, answer := c.begin("textDocument/"+method, at(uri, bucket, i*7))
			answers = append(answers, answer)
		}
	}
	for _, answer := range answers {
		if _, err := wait(answer); err != nil {
			t.Fatal(err)
		}
	}
	for got := c.published(uri); *got.Version != 201; got = c.published(uri) {
	}
}

func TestLargeDocuments(t *testing.T) {
	c := connect(t, withProject(nil), everything)
	const uri = "file:///work/acme-store-bucket.json"
	c.opens(uri, bucket)
	c.published(uri)
	c.notify("textDocument/didChange", fmt.Sprintf(`{"textDocument": {"uri": %q, "version": 2}, "contentChanges": [{"text": %s}]}`, uri, quote(bucket+strings.Repeat(" ", maxFile))))
	if got := c.published(uri); ids(got.Diagnostics) != "1:document/too-large" {
		t.Errorf("a large document: %s", ids(got.Diagnostics))
	}
	c.notify("textDocument/didChange", fmt.Sprintf(`{"textDocument": {"uri": %q, "version": 3}, "contentChanges": [{"text": %s}]}`, uri, quote(strings.Repeat(" ", maxOpen+1))))
	if got := c.published(uri); ids(got.Diagnostics) != "1:document/too-large" {
		t.Errorf("a document too large to keep: %s", ids(got.Diagnostics))
	}
	if raw, err := c.call("textDocument/hover", at(uri, "", 0)); err != nil || string(raw) != "null" {
		t.Errorf("hover: %s, %v", raw, err)
	}
	c.notify("textDocument/didChange", fmt.Sprintf(`{"textDocument": {"uri": %q, "version": 4}, "contentChanges": [{"text": %s}]}`, uri, quote(bucket)))
	if got := c.published(uri); len(got.Diagnostics) > 0 || *got.Version != 4 {
		t.Errorf("after it was sent again: %+v", got)
	}
}
