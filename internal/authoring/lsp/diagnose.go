package lsp

import (
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// schedule schedules the diagnosis of a document, and replaces an earlier schedule. The caller
// holds the mutex.
func (s *server) schedule(uri string, d *openDocument, after time.Duration) {
	s.unschedule(d)
	s.tasks.Add(1)
	d.stop = s.cfg.AfterFunc(after, func() {
		defer s.tasks.Done()
		s.diagnose(uri)
	})
}

func (s *server) unschedule(d *openDocument) {
	if d.stop != nil && d.stop() {
		s.tasks.Done()
	}
	d.stop = nil
}

// scheduleDependents schedules the diagnosis of the inputs and overrides of a changed schema, and of templates.
func (s *server) scheduleDependents(changed *snapshot, after time.Duration) {
	if changed.file == "" || changed.role() != schemaRole {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for uri, d := range s.open {
		if d.current == nil || d.current == changed {
			continue
		}
		switch in := d.current.place(); {
		case in.role == templateRole:
			d.replace(s.newSnapshot(uri, d.current.version, d.current.text()))
			s.schedule(uri, d, after)
		case in.role != schemaRole && in.project.SchemaFile == changed.file:
			s.schedule(uri, d, after)
		}
	}
}

// closeAll takes back every diagnosis that is due.
func (s *server) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.open {
		s.unschedule(d)
	}
}

// diagnose checks a document and publishes the problems, unless the document has changed
// since.
func (s *server) diagnose(uri string) {
	d := s.snapshot(uri)
	ours := true
	var found []diagnostic
	if d != nil {
		select {
		case s.slots <- struct{}{}:
		case <-s.ctx.Done():
			return
		}
		found, ours = s.judge(d)
		<-s.slots
	} else {
		found = []diagnostic{{Severity: 1, Code: "document/too-large", Source: source,
			Message: fmt.Sprintf("the document is larger than %d bytes and is not checked", maxOpen)}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	current := s.open[uri]
	if current == nil || current.current != d || s.ctx.Err() != nil {
		return
	}
	if !ours && !current.published {
		return
	}
	current.published = len(found) > 0
	params := publishParams{URI: uri, Diagnostics: found}
	if d != nil && s.client.TextDocument.PublishDiagnostics.VersionSupport {
		params.Version = d.version
	}
	s.send(s.out.notify("textDocument/publishDiagnostics", params))
}

// source is the name of this program next to its diagnostics.
const source = "cfn"

// maxDiagnostics bounds the diagnostics of one document.
const maxDiagnostics = 500

// judge finds the problems of a document; ours is false for an unsupported one. A panic is
// logged, and finds nothing.
func (s *server) judge(d *snapshot) (found []diagnostic, ours bool) {
	found = []diagnostic{}
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Logger.Error("Panic", "while", "diagnosing", "uri", d.uri, "error", p, "stack", string(debug.Stack()))
		}
	}()
	ours = d.role() != unknownRole
	for _, p := range s.problems(d) {
		if len(found) == maxDiagnostics {
			break
		}
		found = append(found, s.diagnostic(d, p))
	}
	return found, ours
}

// problems are the problems of a document, in its order.
func (s *server) problems(d *snapshot) diag.List {
	switch d.role() {
	case schemaRole:
		return d.analysis().problems
	case inputsRole, overridesRole:
		return s.inputProblems(d)
	case templateRole:
		return d.checked()
	case stackTestRole:
		return s.cfg.StackTests.Check(d.name(), []byte(d.text()))
	}
	return nil
}

// An analysis is the loaded schema of a document.
type analysis struct {
	problems diag.List

	// schema never returns nil; of a broken document it is that of [parseTree], whose
	// places mean nothing.
	schema func() *schema.Schema
}

// name is what problems call a document.
func (d *snapshot) name() string {
	if d.file != "" {
		return d.file
	}
	return "untitled.json"
}

func (s *server) analyse(d *snapshot) *analysis {
	config := s.cfg.Schema
	config.Kind = d.kind()
	loaded, problems := schema.Load(d.name(), []byte(d.text()), config)
	if loaded == nil {
		return &analysis{problems, sync.OnceValue(func() *schema.Schema { return repaired(d, config) })}
	}
	if s.cfg.Lint != nil {
		problems = s.cfg.Lint(loaded, problems)
	}
	return &analysis{problems, func() *schema.Schema { return loaded }}
}

// repaired is the schema of a document that cannot be read to its end.
func repaired(d *snapshot, config schema.Config) *schema.Schema {
	if tree := d.tree(); tree != nil && tree.Kind == document.Object {
		if loaded, _ := schema.Load(d.name(), tree.AppendJSON(nil), config); loaded != nil {
			return loaded
		}
	}
	loaded, _ := schema.Load(d.name(), []byte("{}"), config)
	return loaded
}

// kindOf recognises the kind of a schema document as schema.Load does, by the keys of its
// two upper levels.
func kindOf(d *snapshot) schema.Kind {
	if k := d.place().kind; k != "" {
		return k
	}
	outline := &document.Value{Kind: document.Object}
	if tree := d.tree(); tree != nil {
		for _, m := range tree.Members {
			v := &document.Value{Kind: m.Value.Kind}
			switch m.Value.Kind {
			case document.String:
				v.Text = m.Value.Text
			case document.Object:
				for _, inner := range m.Value.Members {
					v.Members = append(v.Members, document.Member{Key: inner.Key, Value: &document.Value{}})
				}
			default:
				v.Kind = document.Null
			}
			outline.Members = append(outline.Members, document.Member{Key: m.Key, Value: v})
		}
	}
	loaded, _ := schema.Load(d.name(), outline.AppendJSON(nil), schema.Config{})
	if loaded == nil {
		return schema.Resource
	}
	return loaded.Kind
}

// diagnostic is a problem in the format of the protocol.
func (s *server) diagnostic(d *snapshot, p diag.Problem) diagnostic {
	out := diagnostic{Severity: int(p.Severity) + 1, Code: p.ID, Source: source, Message: p.Message}
	if p.Hint != "" {
		out.Message += "\n" + p.Hint
	}
	start, end := d.extent(p)
	out.Range = d.lines.span(start, end, s.encoding)
	if !s.client.TextDocument.PublishDiagnostics.RelatedInformation {
		return out
	}
	notes := p.Related
	if d.isOther(p.At.File) {
		notes = append([]diag.Note{{At: p.At, Message: "it is in this document"}}, notes...)
	}
	for _, note := range notes {
		if at, ok := s.locate(d, note.At); ok {
			out.Related = append(out.Related, related{at, note.Message})
		}
	}
	return out
}

// isOther reports whether a place is in another file than the document.
func (d *snapshot) isOther(file string) bool {
	return file != "" && file != d.name() && file != d.inProject()
}

// inProject is how problems with inputs call the document.
func (d *snapshot) inProject() string {
	name, err := filepath.Rel(d.place().project.Dir, d.file)
	if err != nil {
		return d.name()
	}
	return filepath.ToSlash(name)
}

// extent is the range of the document at which a problem is displayed. An object of many lines
// is represented by its key, or by its first line, to keep the range short.
func (d *snapshot) extent(p diag.Problem) (start, end int) {
	if !p.At.Start.Known() || d.isOther(p.At.File) {
		return 0, 0
	}
	start, end = min(p.At.Start.Offset, len(d.text())), min(p.At.End.Offset, len(d.text()))
	if end <= start {
		return start, start
	}
	broken := strings.IndexAny(d.text()[start:end], "\r\n")
	if broken < 0 {
		return start, end
	}
	pointer, ok := document.ParsePointer(p.Pointer)
	if ok && len(pointer) > 0 {
		last := len(pointer) - 1
		if m := d.tree().Lookup(pointer[:last]).Member(pointer[last]); m != nil && m.Value.At.Start.Offset == start {
			return m.KeyAt.Start.Offset, m.KeyAt.End.Offset
		}
	}
	return start, start + max(broken, 1)
}

// locate finds a place of a problem, which may be in another file.
func (s *server) locate(d *snapshot, at diag.Range) (location, bool) {
	in := d
	if d.isOther(at.File) {
		path := at.File
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(d.name()), filepath.FromSlash(path))
		}
		if in = s.load(path); in == nil {
			return location{}, false
		}
	}
	if !at.Start.Known() {
		return location{in.uri, span{}}, true
	}
	return location{in.uri, in.lines.span(at.Start.Offset, at.End.Offset, s.encoding)}, true
}
