package lsp

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// projectSchema is the schema that inputs and overrides are for, nil without one.
func (s *server) projectSchema(d *snapshot) *snapshot {
	if file := d.place().project.SchemaFile; file != "" {
		return s.load(file)
	}
	return nil
}

// inputProblems checks an input or overrides.json.
func (s *server) inputProblems(d *snapshot) diag.List {
	text, masked := mask(d.text())
	of := s.projectSchema(d)
	if of == nil || s.cfg.CheckInputs == nil || of.kind() != schema.Resource {
		_, problems := document.ParseJSON(d.name(), []byte(text), document.Limits{})
		return problems
	}
	found := of.analysis()
	if found.problems.HasErrors() {
		_, problems := document.ParseJSON(d.name(), []byte(text), document.Limits{})
		problems.Add(diag.Problem{ID: "inputs/no-schema", Severity: diag.Info,
			Message: "only the syntax was checked: the schema " + filepath.Base(of.file) + " has errors",
			Related: []diag.Note{{At: diag.Range{File: of.file}, Message: "the schema"}}})
		return problems
	}
	all, err := s.cfg.CheckInputs(s.overlay(d.place().project.Dir), found.schema())
	if err != nil {
		return diag.List{{ID: "inputs/unread", Severity: diag.Info, Message: err.Error()}}
	}
	var problems diag.List
	for _, p := range all {
		if p.At.File != d.inProject() || p.ID == "inputs/schema" && masked.hides(d.text(), p.At) {
			continue
		}
		problems.Add(p)
	}
	problems.Sort()
	return problems
}

// exportMark is what an input holds in the place of an export of a stack.
var exportMark = lazyregexp.New(`\{\{[-A-Za-z0-9:\s]+?\}\}`)

// marks are the parts of a text that are replaced by exports.
type marks [][]int

// mask replaces {{Name}} with text of the same length, so that an input can be checked without
// exports: inside of a string by letters, outside of one by a number.
func mask(text string) (string, marks) {
	found := marks(exportMark.FindAllStringIndex(text, -1))
	if len(found) == 0 {
		return text, nil
	}
	out := []byte(text)
	s := &scanner{text: text}
	t := s.next()
	for _, m := range found {
		for t.kind != endToken && t.end <= m[0] {
			t = s.next()
		}
		if t.kind == stringToken && t.start < m[0] {
			copy(out[m[0]:], "xx")
			copy(out[m[1]-2:], "xx")
			continue
		}
		for i := m[0]; i < m[1]; i++ {
			if out[i] != '\n' && out[i] != '\r' {
				out[i] = ' '
			}
		}
		out[m[0]] = '0'
	}
	return string(out), found
}

// hides reports whether a scalar is not known because it holds an export.
func (m marks) hides(text string, at diag.Range) bool {
	start, end := at.Start.Offset, min(at.End.Offset, len(text))
	if start >= end || text[start] == '[' || text[start] == '{' && !strings.HasPrefix(text[start:], "{{") {
		return false
	}
	return slices.ContainsFunc(m, func(mark []int) bool { return mark[0] < end && start < mark[1] })
}

// overlay is the folder of a project as it is in the editor.
func (s *server) overlay(dir string) fs.FS {
	o := &overlay{base: os.DirFS(dir), files: map[string]string{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.open {
		if d.current == nil || d.current.file == "" {
			continue
		}
		if name, err := filepath.Rel(dir, d.current.file); err == nil && filepath.IsLocal(name) {
			text, _ := mask(d.current.text())
			o.files[filepath.ToSlash(name)] = text
		}
	}
	return o
}

// An overlay is a folder in which some files have another content.
type overlay struct {
	base  fs.FS
	files map[string]string
}

func (o *overlay) Open(name string) (fs.File, error) {
	if text, ok := o.files[name]; ok {
		return &memoryFile{Reader: *bytes.NewReader([]byte(text)), name: path.Base(name), size: int64(len(text))}, nil
	}
	return o.base.Open(name)
}

// ReadDir adds the files that are not saved yet.
func (o *overlay) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(o.base, name)
	for file, text := range o.files {
		base := path.Base(file)
		if path.Dir(file) != name || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == base }) {
			continue
		}
		entries = append(entries, fs.FileInfoToDirEntry(&memoryFile{name: base, size: int64(len(text))}))
		err = nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// A memoryFile is a file and its own description.
type memoryFile struct {
	bytes.Reader
	name string
	size int64
}

func (f *memoryFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *memoryFile) Close() error               { return nil }
func (f *memoryFile) Name() string               { return f.name }
func (f *memoryFile) Size() int64                { return f.size }
func (f *memoryFile) Mode() fs.FileMode          { return 0o444 }
func (f *memoryFile) ModTime() time.Time         { return time.Time{} }
func (f *memoryFile) IsDir() bool                { return false }
func (f *memoryFile) Sys() any                   { return nil }

var _ io.Reader = (*memoryFile)(nil)

// modelPath is where a pointer into an input or into overrides.json leads in the model.
// ok is false for CREATE and UPDATE themselves.
func modelPath(r role, pointer document.Pointer) (tokens document.Pointer, ok bool) {
	if r == inputsRole {
		return pointer, true
	}
	if len(pointer) < 2 {
		return nil, false
	}
	tokens, ok = overridePath(pointer[1])
	return append(tokens, pointer[2:]...), ok
}

// overridePath reads a key of overrides.json, which is a pointer into the model or the
// bare name of a property.
func overridePath(text string) (document.Pointer, bool) {
	if !strings.HasPrefix(text, "/") {
		text = "/" + text
	}
	tokens, ok := document.ParsePointer(text)
	return slices.Clip(tokens), ok
}

// sizeName says how much of something there is.
func sizeName(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
