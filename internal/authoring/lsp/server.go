package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// Serve serves one client until it exits, hangs up, or ctx ends.
//
//	error                 meaning
//	nil                   exit after shutdown
//	ErrNoShutdown         exit, or the end of the input, without shutdown
//	ctx.Err()             ctx ended
//	other                 the input is not a sequence of messages, or the client does not read
//
// All goroutines have ended when it returns, but for one that waits for the next byte of
// in where ctx ended first, and one that writes where the client does not read; they end
// when in and out are closed.
func Serve(ctx context.Context, in io.Reader, out io.Writer, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{
		cfg: cfg.withDefaults(), out: newOutbox(), ctx: ctx, encoding: utf16Encoding,
		open: map[string]*openDocument{}, cancels: map[string]context.CancelFunc{}, loaded: map[string]*snapshot{},
		slots: make(chan struct{}, maxParallel),
	}
	s.workspace = &workspace{server: s}
	defer s.workspace.end()
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.out.run(out)
	}()
	err := s.loop(in)
	cancel()
	s.closeAll()
	s.tasks.Wait()
	s.out.close()
	late := make(chan struct{})
	stop := s.cfg.AfterFunc(flushTime, func() { close(late) })
	defer stop()
	select {
	case <-written:
	case <-late:
		return errors.New("write to the client: it does not read")
	}
	if writeErr := s.out.failed(); err == nil && writeErr != nil {
		err = fmt.Errorf("write to the client: %w", writeErr)
	}
	return err
}

// flushTime is how long the client may take to read the last messages.
const flushTime = 5 * time.Second

// maxParallel bounds how many requests are worked on at once; others wait.
const maxParallel = 8

// phases of a session.
type phase uint8

const (
	uninitialized phase = iota
	running
	shutDown
)

type server struct {
	cfg    Config
	out    *outbox
	ctx    context.Context // of the session
	tasks  sync.WaitGroup  // goroutines of requests and diagnoses
	slots  chan struct{}
	phase  phase              // of the reading goroutine only
	client clientCapabilities // not changed after initialize

	encoding  encoding // not changed after initialize
	folders   []string // of the workspace, not changed after initialize
	settings  settings // not changed after initialize
	workspace *workspace

	mu      sync.Mutex
	open    map[string]*openDocument      // by URI
	cancels map[string]context.CancelFunc // of the requests that are worked on, by id
	loaded  map[string]*snapshot          // files that are not open, by path
}

// incoming is a message of the reading goroutine.
type incoming struct {
	body []byte
	err  error
}

// loop takes messages until the session ends.
func (s *server) loop(in io.Reader) error {
	messages := make(chan incoming)
	go func() {
		reader := newFrameReader(in)
		for {
			body, err := reader.read()
			select {
			case messages <- incoming{body, err}:
			case <-s.ctx.Done():
				return
			}
			var skipped *skippedError
			if err != nil && !errors.As(err, &skipped) {
				return
			}
		}
	}()
	for {
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case m := <-messages:
			var skipped *skippedError
			switch {
			case errors.Is(m.err, io.EOF):
				return s.ended()
			case errors.As(m.err, &skipped):
				s.send(s.out.refuse(nil, &responseError{codeInvalidRequest, skipped.reason}))
			case m.err != nil:
				s.send(s.out.refuse(nil, &responseError{codeParseError, m.err.Error()}))
				return m.err
			case s.take(m.body):
				return s.ended()
			}
			if err := s.out.failed(); err != nil {
				return fmt.Errorf("write to the client: %w", err)
			}
		}
	}
}

func (s *server) ended() error {
	if s.phase == shutDown {
		return nil
	}
	return ErrNoShutdown
}

// send logs the error of a message that could not be encoded.
func (s *server) send(err error) {
	if err != nil {
		s.cfg.Logger.Error("Message lost", "error", err)
	}
}

// take works on one message and reports whether it was exit.
func (s *server) take(body []byte) (exit bool) {
	m, failure := parseMessage(body)
	if failure != nil {
		s.send(s.out.refuse(m.ID, failure))
		return false
	}
	switch {
	case m.Method == nil: // the answer to a registration
		return false
	case m.ID == nil:
		return s.notification(*m.Method, m.Params)
	}
	s.request(m.ID, *m.Method, m.Params)
	return false
}

// A notice is what a notification does. It runs before the next message is read.
type notice func(s *server, params json.RawMessage) error

var notices = map[string]notice{
	"initialized":                     (*server).initialized,
	"$/cancelRequest":                 (*server).cancelRequest,
	"textDocument/didOpen":            (*server).didOpen,
	"textDocument/didChange":          (*server).didChange,
	"textDocument/didSave":            (*server).didSave,
	"textDocument/didClose":           (*server).didClose,
	"workspace/didChangeWatchedFiles": (*server).didChangeWatchedFiles,
}

func (s *server) notification(method string, params json.RawMessage) (exit bool) {
	if method == "exit" {
		return true
	}
	known := notices[method]
	if known == nil || s.phase != running {
		s.cfg.Logger.Debug("Notification passed over", "method", method)
		return false
	}
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Logger.Error("Panic", "method", method, "error", p, "stack", string(debug.Stack()))
		}
	}()
	if err := known(s, params); err != nil {
		s.cfg.Logger.Warn("Notification failed", "method", method, "error", err)
	}
	return false
}

// A query is a request about a document. It runs in a separate goroutine, on an immutable
// state of the document; its error is sent to the client.
type query func(s *server, ctx context.Context, d *snapshot, params documentParams) (any, error)

var queries = map[string]query{
	"textDocument/hover":          (*server).hover,
	"textDocument/completion":     (*server).completion,
	"textDocument/definition":     (*server).definition,
	"textDocument/documentSymbol": (*server).documentSymbol,
	"textDocument/codeAction":     (*server).codeAction,
	"textDocument/references":     (*server).references,
	"textDocument/rename":         (*server).rename,
	"textDocument/prepareRename":  (*server).prepareRename,
	"textDocument/codeLens":       (*server).codeLens,
}

func (s *server) request(id json.RawMessage, method string, raw json.RawMessage) {
	switch {
	case s.phase == shutDown:
		s.send(s.out.refuse(id, &responseError{codeInvalidRequest, "the server is shut down"}))
	case method == "initialize":
		s.initialize(id, raw)
	case s.phase == uninitialized:
		s.send(s.out.refuse(id, &responseError{codeServerNotInitialized, "the first request is initialize"}))
	case method == "shutdown":
		s.phase = shutDown
		s.settle()
		s.send(s.out.respond(id, nil))
	case queries[method] == nil:
		s.send(s.out.refuse(id, &responseError{codeMethodNotFound, "there is no method " + method}))
	default:
		s.ask(id, method, raw)
	}
}

// settle waits until every request has its answer.
func (s *server) settle() {
	s.closeAll()
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		s.tasks.Wait()
	}()
	select {
	case <-settled:
	case <-s.ctx.Done():
	}
}

// ask starts to work on a request.
func (s *server) ask(id json.RawMessage, method string, raw json.RawMessage) {
	params, err := decodeParams[documentParams](raw)
	if err != nil {
		s.send(s.out.refuse(id, asResponse(err)))
		return
	}
	d := s.snapshot(params.TextDocument.URI)
	if d == nil { // not open, or too large
		s.send(s.out.respond(id, nil))
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	key := string(id)
	s.mu.Lock()
	s.cancels[key] = cancel
	s.mu.Unlock()
	s.tasks.Go(func() {
		result, err := s.answer(ctx, method, d, params)
		s.mu.Lock()
		delete(s.cancels, key)
		s.mu.Unlock()
		if ctx.Err() != nil {
			err = &responseError{codeRequestCancelled, "the request was cancelled"}
		}
		cancel()
		if err != nil {
			s.send(s.out.refuse(id, asResponse(err)))
			return
		}
		s.send(s.out.respond(id, result))
	})
}

// answer runs a query. A panic in one is its own failure, not that of the server.
func (s *server) answer(ctx context.Context, method string, d *snapshot, params documentParams) (result any, err error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Logger.Error("Panic", "method", method, "uri", d.uri, "error", p, "stack", string(debug.Stack()))
			result, err = nil, &responseError{codeInternalError, "a bug in cfn; its log says more"}
		}
	}()
	if d.role() == unknownRole { // not an open document
		return nil, nil
	}
	return queries[method](s, ctx, d, params)
}

func asResponse(err error) *responseError {
	var known *responseError
	if errors.As(err, &known) {
		return known
	}
	return &responseError{codeRequestFailed, err.Error()}
}

func (s *server) initialize(id, raw json.RawMessage) {
	if s.phase != uninitialized {
		s.send(s.out.refuse(id, &responseError{codeInvalidRequest, "the server is initialized already"}))
		return
	}
	params, err := decodeParams[initializeParams](raw)
	if err != nil {
		s.send(s.out.refuse(id, asResponse(err)))
		return
	}
	s.phase = running
	s.client = params.Capabilities
	s.encoding = agree(params.Capabilities.General.PositionEncodings)
	s.folders = params.folders()
	s.configure(params.InitializationOptions)
	result := initializeResult{
		Capabilities: serverCapabilities{
			PositionEncoding: string(s.encoding),
			TextDocumentSync: syncOptions{OpenClose: true, Change: 2},
			HoverProvider:    true, DefinitionProvider: true, DocumentSymbolProvider: true,
			CompletionProvider: completionOptions{TriggerCharacters: []string{`"`, "/", "#", ":", "!", ".", "{"}},
			CodeLensProvider:   &struct{}{},
			ReferencesProvider: true, RenameProvider: renameOptions{PrepareProvider: true},
		},
		ServerInfo: serverInfo{"cfn", s.cfg.Version},
	}
	result.Capabilities.CodeActionProvider = s.client.TextDocument.CodeAction.LiteralSupport != nil
	if s.client.TextDocument.CodeAction.LiteralSupport != nil {
		result.Capabilities.CodeActionProvider = codeActionOptions{[]string{quickFix}}
	}
	s.cfg.Logger.Debug("Initialized", slog.String("encoding", string(s.encoding)))
	s.send(s.out.respond(id, result))
}

// initialized registers for changes that other programs make.
func (s *server) initialized(json.RawMessage) error {
	if !s.client.Workspace.DidChangeWatchedFiles.DynamicRegistration {
		return nil
	}
	return s.out.request("watch", "client/registerCapability", registrationParams{[]registration{{
		ID: "watch", Method: "workspace/didChangeWatchedFiles",
		Options: watchOptions{[]watcher{{"**/*.json"}, {"**/*.{yaml,yml,template}"}, {"**/.rpdk-config"}, {"**/modules/**"}}},
	}}})
}

func (s *server) cancelRequest(raw json.RawMessage) error {
	params, err := decodeParams[struct {
		ID json.RawMessage `json:"id"`
	}](raw)
	if err != nil {
		return err
	}
	s.mu.Lock()
	cancel := s.cancels[string(params.ID)]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return nil
}
