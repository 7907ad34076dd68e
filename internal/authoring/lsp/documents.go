package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// maxOpen bounds the text of an open document. A longer one is forgotten until the client
// sends it whole again; one of more than maxFile is kept, and only said to be too large.
const maxOpen = 32 << 20

// An openDocument is one that the client has open. The server's mutex guards it.
type openDocument struct {
	current   *snapshot   // nil when the text was lost
	stop      func() bool // takes back the diagnosis that is due, nil if none is
	published bool        // the client shows problems of it
}

// A snapshot is an immutable version of a document. Expensive data is computed once, on first
// use.
type snapshot struct {
	uri      string
	file     string // the path, "" for a document that is not a file
	version  *int32
	lines    *lines
	encoding encoding

	tree     func() *document.Value
	place    func() standing
	kind     func() schema.Kind // of a schema
	analysis func() *analysis   // of a schema
	checked  func() diag.List   // the problems of a template
	names    func() *names      // of a template

	ctx    context.Context //nolint:containedctx // ends when a document that is open has changed
	cancel context.CancelFunc
	yaml   bool
}

func (d *snapshot) text() string { return d.lines.text }
func (d *snapshot) role() role   { return d.place().role }

// A role is what a document is to an extension.
type role uint8

const (
	unknownRole role = iota
	schemaRole
	inputsRole
	overridesRole
	templateRole
	stackTestRole
)

// A standing says what a document is, and in which project.
type standing struct {
	role    role
	kind    schema.Kind // of a schema; "" if its content decides
	project Project     // the zero Project if it is in none
}

func (s *server) newSnapshot(uri string, version *int32, text string) *snapshot {
	d := &snapshot{uri: uri, file: pathOf(uri), version: version, lines: newLines(text), encoding: s.encoding}
	d.ctx, d.cancel = context.WithCancel(s.ctx)
	d.yaml = isYAML(d.file, text)
	d.tree = sync.OnceValue(func() *document.Value {
		switch {
		case len(text) > maxFile, d.yaml && len(text) > template.MaxBytes:
			return nil
		case d.yaml:
			return yamlTree(text)
		}
		return parseTree(text)
	})
	d.place = sync.OnceValue(func() standing { return s.standing(d) })
	d.kind = sync.OnceValue(func() schema.Kind { return kindOf(d) })
	d.analysis = sync.OnceValue(func() *analysis { return s.analyse(d) })
	d.checked = sync.OnceValue(func() diag.List { return s.checkTemplate(d) })
	d.names = sync.OnceValue(func() *names { return namesOf(d.tree(), text) })
	return d
}

// standing recognises a document: by its place in a project, else by its content.
func (s *server) standing(d *snapshot) standing {
	if is := s.cfg.StackTests.IsFile; is != nil && is(d.file) {
		return standing{role: stackTestRole}
	}
	base := strings.ToLower(filepath.Base(d.file))
	if d.file != "" && strings.HasSuffix(base, ".json") {
		if project, ok := s.cfg.FindProject(d.file); ok {
			in := standing{project: project}
			name, err := filepath.Rel(project.Dir, d.file)
			dir, base := filepath.Split(filepath.ToSlash(name))
			switch {
			case err != nil:
			case d.file == project.SchemaFile:
				in.role, in.kind = schemaRole, project.Kind
			case name == "overrides.json":
				in.role = overridesRole
			case dir == "inputs/" && strings.HasPrefix(base, "inputs_"):
				in.role = inputsRole
			default:
				in.role, in.kind = d.recognize(base)
			}
			return in
		}
	}
	role, kind := d.recognize(base)
	return standing{role: role, kind: kind}
}

// recognize recognizes schemas among JSON documents, and templates, by their content and the name of the file.
func (d *snapshot) recognize(base string) (role, schema.Kind) {
	if !d.yaml {
		if role, kind := recognizeSchema(d.tree(), base); role != unknownRole {
			return role, kind
		}
	}
	root := d.tree()
	if root == nil && d.yaml && len(d.text()) > template.MaxBytes { // only its beginning is read
		root = parseYAML(d.text()[:maxPlain])
	}
	if isTemplate(root, base) {
		return templateRole, ""
	}
	return unknownRole, ""
}

func recognizeSchema(root *document.Value, base string) (role, schema.Kind) {
	has := func(key string) bool { return root.Get(key) != nil }
	if base == ".rpdk-config" || has("language") || has("artifactType") {
		return unknownRole, ""
	}
	if has("properties") && has("additionalProperties") && !has("primaryIdentifier") && !has("handlers") && strings.Contains(base, "configuration") {
		return schemaRole, schema.TypeConfiguration
	}
	if name := root.Get("typeName"); name != nil && strings.Contains(name.Text, "::") || has("properties") && has("primaryIdentifier") {
		return schemaRole, ""
	}
	return unknownRole, ""
}

// pathOf is the path of a file URI, "" for another one.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return ""
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	return filepath.Clean(filepath.FromSlash(path))
}

// fileURI is the URI of an absolute path.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// openFile is the open document of a file, nil if it is not open.
func (s *server) openFile(path string) *snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.open {
		if d.current != nil && d.current.file == path && path != "" {
			return d.current
		}
	}
	return nil
}

// maxLoaded bounds how many files that are not open are remembered.
const maxLoaded = 32

// load is a file as the client sees it: the open document, else the file on disk. It is nil
// for a file that cannot be read.
func (s *server) load(path string) *snapshot {
	if d := s.openFile(path); d != nil {
		return d
	}
	data, err := s.cfg.ReadFile(path)
	if err != nil {
		s.cfg.Logger.Debug("File not read", "path", path, "error", err)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.loaded[path]; known != nil && known.text() == string(data) {
		return known
	}
	if len(s.loaded) >= maxLoaded {
		clear(s.loaded)
	}
	d := s.newSnapshot(fileURI(path), nil, string(data))
	d.cancel() // it is not checked
	s.loaded[path] = d
	return d
}

func (s *server) snapshot(uri string) *snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.open[uri]; d != nil {
		return d.current
	}
	return nil
}

func (s *server) didOpen(raw json.RawMessage) error {
	params, err := decodeParams[openParams](raw)
	if err != nil {
		return err
	}
	return s.set(params.TextDocument.URI, params.TextDocument.Version, params.TextDocument.Text, 0)
}

// set replaces the state of a document and schedules its diagnosis.
func (s *server) set(uri string, version *int32, text string, after time.Duration) error {
	var next *snapshot
	var err error
	if len(text) > maxOpen {
		err = fmt.Errorf("%s has %d bytes, more than the %d that are kept", uri, len(text), maxOpen)
	} else {
		next = s.newSnapshot(uri, version, text)
	}
	s.mu.Lock()
	d := s.open[uri]
	if d == nil {
		d = &openDocument{}
		s.open[uri] = d
	}
	d.replace(next)
	s.schedule(uri, d, after)
	s.mu.Unlock()
	if next != nil {
		s.scheduleDependents(next, max(after, s.cfg.Debounce))
	}
	return err
}

func (s *server) didChange(raw json.RawMessage) error {
	params, err := decodeParams[changeParams](raw)
	if err != nil {
		return err
	}
	uri := params.TextDocument.URI
	s.mu.Lock()
	d := s.open[uri]
	s.mu.Unlock()
	if d == nil {
		return fmt.Errorf("%s is not open", uri)
	}
	var current *lines
	if d.current != nil { // only this goroutine changes it
		current = d.current.lines
	}
	for _, change := range params.ContentChanges {
		switch {
		case change.Range == nil:
			current = newLines(change.Text)
		case current == nil:
			return fmt.Errorf("%s is not known as a whole", uri)
		case len(current.text)+len(change.Text) > maxOpen:
			current = newLines(strings.Repeat(" ", maxOpen+1)) // set forgets it
		default:
			current = newLines(current.replace(*change.Range, change.Text, s.encoding))
		}
	}
	if current == nil {
		return nil
	}
	return s.set(uri, params.TextDocument.Version, current.text, s.cfg.Debounce)
}

func (s *server) didSave(raw json.RawMessage) error {
	params, err := decodeParams[documentParams](raw)
	if err != nil {
		return err
	}
	if d := s.snapshot(params.TextDocument.URI); d != nil && d.role() == schemaRole {
		s.workspace.forget()
	}
	s.refresh(params.TextDocument.URI)
	return nil
}

func (s *server) didClose(raw json.RawMessage) error {
	params, err := decodeParams[documentParams](raw)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.open[params.TextDocument.URI]
	if d == nil {
		return fmt.Errorf("%s is not open", params.TextDocument.URI)
	}
	s.unschedule(d)
	d.replace(nil)
	delete(s.open, params.TextDocument.URI)
	return s.out.notify("textDocument/publishDiagnostics", publishParams{URI: params.TextDocument.URI, Diagnostics: []diagnostic{}})
}

func (s *server) didChangeWatchedFiles(raw json.RawMessage) error {
	if _, err := decodeParams[watchedParams](raw); err != nil {
		return err
	}
	s.workspace.forget()
	s.refresh("")
	return nil
}

// refresh checks everything again, the named document at once: an open document may depend on
// a file on disk, and settings may make a project of a folder.
func (s *server) refresh(first string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uri, d := range s.open {
		if d.current == nil {
			continue
		}
		after := s.cfg.Debounce
		if uri == first {
			after = 0
		}
		d.replace(s.newSnapshot(uri, d.current.version, d.current.text()))
		s.schedule(uri, d, after)
	}
}

// replace sets the state of a document, and ends the work on the one before. The caller holds the mutex.
func (d *openDocument) replace(next *snapshot) {
	if d.current != nil {
		d.current.cancel()
	}
	d.current = next
}
