package lsp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// The error codes of JSON-RPC 2.0 and of the language server protocol.
const (
	codeParseError           = -32700
	codeInvalidRequest       = -32600
	codeMethodNotFound       = -32601
	codeInvalidParams        = -32602
	codeInternalError        = -32603
	codeServerNotInitialized = -32002
	codeRequestCancelled     = -32800
	codeRequestFailed        = -32803
)

// A responseError is the error of a request as the client sees it.
type responseError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *responseError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// A message is what arrives: a request has a method and an id, a notification a method
// only, a response an id only.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// parseMessage reads one message. The error is the response to the client; the id is part of
// it if it could be read.
func parseMessage(data []byte) (*message, *responseError) {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		if json.Valid(data) {
			return &message{}, &responseError{codeInvalidRequest, "the message is not a request object: " + err.Error()}
		}
		return &message{}, &responseError{codeParseError, "the message is not JSON: " + err.Error()}
	}
	if string(m.ID) == "null" {
		m.ID = nil
	}
	if len(m.ID) > 0 && m.ID[0] != '"' && m.ID[0] != '-' && (m.ID[0] < '0' || m.ID[0] > '9') {
		return &message{}, &responseError{codeInvalidRequest, "an id is a number or a string"}
	}
	if m.Version != "2.0" {
		return &m, &responseError{codeInvalidRequest, `the message does not say "jsonrpc": "2.0"`}
	}
	if m.Method == nil && m.ID == nil {
		return &m, &responseError{codeInvalidRequest, "the message has neither a method nor an id"}
	}
	if p := bytes.TrimSpace(m.Params); len(p) > 0 && p[0] != '{' && p[0] != '[' && string(p) != "null" {
		return &m, &responseError{codeInvalidRequest, "params is neither an object nor an array"}
	}
	return &m, nil
}

// decodeParams reads the params of a method. Unknown members are passed over: clients are
// often newer than servers.
func decodeParams[T any](raw json.RawMessage) (T, error) {
	var params T
	if len(raw) == 0 {
		return params, &responseError{codeInvalidParams, "there are no params"}
	}
	if err := json.Unmarshal(raw, &params); err != nil {
		return params, &responseError{codeInvalidParams, "the params cannot be read: " + err.Error()}
	}
	return params, nil
}

// An outbox writes messages in the order in which they were added. Adding never waits for the
// client: a client that writes without reading must not block the reader of its messages.
type outbox struct {
	mu      sync.Mutex
	changed *sync.Cond
	queue   [][]byte
	closed  bool
	err     error // of the first write that failed; nothing is written after it
}

func newOutbox() *outbox {
	o := &outbox{}
	o.changed = sync.NewCond(&o.mu)
	return o
}

// run writes until the outbox is closed and empty, or a write fails.
func (o *outbox) run(w io.Writer) {
	for {
		o.mu.Lock()
		for len(o.queue) == 0 && !o.closed {
			o.changed.Wait()
		}
		batch := o.queue
		o.queue = nil
		o.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for _, body := range batch {
			if _, err := w.Write(appendFrame(nil, body)); err != nil {
				o.mu.Lock()
				o.err, o.closed, o.queue = err, true, nil
				o.mu.Unlock()
				return
			}
		}
	}
}

// close lets run end when everything has been written.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.changed.Signal()
}

// failed is the error of the first write that failed.
func (o *outbox) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

func (o *outbox) put(v any) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	o.mu.Lock()
	if !o.closed {
		o.queue = append(o.queue, body)
	}
	o.mu.Unlock()
	o.changed.Signal()
	return nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encode a message: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// notify sends a notification.
func (o *outbox) notify(method string, params any) error {
	return o.put(struct {
		Version string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", method, params})
}

// request sends a request; its answer is of no interest.
func (o *outbox) request(id, method string, params any) error {
	return o.put(struct {
		Version string `json:"jsonrpc"`
		ID      string `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", id, method, params})
}

// respond sends the result of a request.
func (o *outbox) respond(id json.RawMessage, result any) error {
	return o.put(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", id, result})
}

// refuse sends the error of a request; a nil id is that of a message without a readable one.
func (o *outbox) refuse(id json.RawMessage, e *responseError) error {
	if id == nil {
		id = json.RawMessage("null")
	}
	return o.put(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *responseError  `json:"error"`
	}{"2.0", id, e})
}
