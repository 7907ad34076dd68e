package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// A client is an editor of a few lines: it speaks with a server through pipes.
type client struct {
	t        testing.TB
	in       io.WriteCloser
	serveErr chan error

	mu      sync.Mutex
	next    int
	waiting map[string]chan message
	notes   chan message // what the server says on its own
}

// everything is what a modern client can do.
const everything = `{
	"general": {"positionEncodings": ["utf-16"]},
	"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": true}},
	"textDocument": {
		"completion": {"completionItem": {"snippetSupport": true, "insertTextModeSupport": {"valueSet": [1, 2]}, "documentationFormat": ["markdown", "plaintext"]}},
		"hover": {"contentFormat": ["markdown"]},
		"documentSymbol": {"hierarchicalDocumentSymbolSupport": true},
		"codeAction": {"codeActionLiteralSupport": {}},
		"publishDiagnostics": {"relatedInformation": true, "versionSupport": true}
	}
}`

// dial starts a server and connects with it. Nothing has been said yet.
func dial(t testing.TB, cfg Config) *client {
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	c := &client{t: t, in: inWrite, serveErr: make(chan error, 1), waiting: map[string]chan message{}, notes: make(chan message, 1000)}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		err := Serve(ctx, inRead, outWrite, cfg)
		inRead.Close()
		outWrite.Close()
		c.serveErr <- err
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.read(newFrameReader(outRead))
	}()
	t.Cleanup(func() {
		inWrite.Close()
		cancel()
		<-done
	})
	return c
}

func (c *client) read(r *frameReader) {
	for {
		body, err := r.read()
		if err != nil {
			close(c.notes)
			return
		}
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			c.t.Errorf("the server said %s: %v", body, err)
			continue
		}
		if m.Method == nil {
			m.Params = body
			c.mu.Lock()
			waiting := c.waiting[string(m.ID)]
			delete(c.waiting, string(m.ID))
			c.mu.Unlock()
			if waiting != nil {
				waiting <- m
				continue
			}
		}
		c.notes <- m
	}
}

// connect starts a server and introduces a client with the capabilities.
func connect(t testing.TB, cfg Config, capabilities string) *client {
	c := dial(t, cfg)
	if _, err := c.call("initialize", `{"processId": null, "rootUri": null, "capabilities": `+capabilities+`}`); err != nil {
		t.Fatal(err)
	}
	c.notify("initialized", "{}")
	return c
}

func (c *client) raw(text string) {
	if _, err := io.WriteString(c.in, text); err != nil {
		c.t.Error(err)
	}
}

func (c *client) send(body string) { c.raw(string(appendFrame(nil, []byte(body)))) }

func (c *client) notify(method, params string) {
	c.send(fmt.Sprintf(`{"jsonrpc": "2.0", "method": %q, "params": %s}`, method, params))
}

// begin sends a request; wait gets its answer.
func (c *client) begin(method, params string) (id string, answer chan message) {
	c.mu.Lock()
	c.next++
	id = fmt.Sprint(c.next)
	answer = make(chan message, 1)
	c.waiting[id] = answer
	c.mu.Unlock()
	c.send(fmt.Sprintf(`{"jsonrpc": "2.0", "id": %s, "method": %q, "params": %s}`, id, method, params))
	return id, answer
}

func wait(answer chan message) (json.RawMessage, error) {
	var reply struct {
		Result json.RawMessage `json:"result"`
		Error  *responseError  `json:"error"`
	}
	m := <-answer
	if err := json.Unmarshal(m.Params, &reply); err != nil {
		return nil, err
	}
	if reply.Error != nil {
		return nil, reply.Error
	}
	return reply.Result, nil
}

func (c *client) call(method, params string) (json.RawMessage, error) {
	_, answer := c.begin(method, params)
	return wait(answer)
}

func (c *client) opens(uri, text string) {
	c.notify("textDocument/didOpen", `{"textDocument": {"uri": `+quote(uri)+`, "languageId": "json", "version": 1, "text": `+quote(text)+`}}`)
}

// settled waits until the server has taken everything that was said to it.
func (c *client) settled() { _, _ = c.call("$/settled", "{}") }

// at is the params of a request about a place, given as an offset.
func at(uri, text string, offset int) string {
	p := newLines(text).position(offset, utf16Encoding)
	return fmt.Sprintf(`{"textDocument": {"uri": %q}, "position": {"line": %d, "character": %d}}`, uri, p.Line, p.Character)
}

// published waits for the next diagnostics of a document.
func (c *client) published(uri string) publishParams {
	c.t.Helper()
	for m := range c.notes {
		if m.Method == nil || *m.Method != "textDocument/publishDiagnostics" {
			continue
		}
		var params publishParams
		if err := json.Unmarshal(m.Params, &params); err != nil {
			c.t.Fatal(err)
		}
		if params.URI == uri {
			return params
		}
	}
	c.t.Fatal("the server has gone")
	return publishParams{}
}

// ids lists the codes of diagnostics with their lines, from 1.
func ids(found []diagnostic) string {
	var out []string
	for _, d := range found {
		out = append(out, fmt.Sprintf("%d:%s", d.Range.Start.Line+1, d.Code))
	}
	return strings.Join(out, " ")
}

func decode[T any](t testing.TB, raw json.RawMessage, err error) T {
	t.Helper()
	var out T
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// cut takes the mark out of a text: it is where the cursor stands.
func cut(t testing.TB, marked string) (text string, offset int) {
	t.Helper()
	before, after, found := strings.Cut(marked, "|")
	if !found {
		t.Fatalf("there is no mark in %s", marked)
	}
	return before + after, len(before)
}
