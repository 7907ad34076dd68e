package codegen

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"strings"
)

//go:embed templates
var templates embed.FS

// A row is a file of a project that a template makes.
type row struct {
	template, path string
	mode           Mode
}

// A project collects the files of a project.
type project struct {
	files []File
	err   error // of the first template that could not be filled in
}

func (p *project) add(files ...File) { p.files = append(p.files, files...) }

// fill adds the files that templates make of the same data.
func (p *project) fill(data any, rows ...row) {
	for _, r := range rows {
		text, err := render(r.template, data)
		if p.err == nil {
			p.err = err
		}
		p.add(File{Path: r.path, Data: text, Mode: r.mode})
	}
}

// result is what a generator returns.
func (p *project) result() ([]File, error) {
	if p.err != nil {
		return nil, p.err
	}
	return p.files, nil
}

// render fills in a template; Go sources come out as gofmt writes them, and in Java no more than one line is blank.
func render(name string, data any) ([]byte, error) {
	text, err := templates.ReadFile("templates/" + name)
	if err != nil {
		return nil, fmt.Errorf("generate %s: %w", name, err)
	}
	out, err := Fill(name, string(text), data)
	if err == nil && strings.HasSuffix(name, ".go.tmpl") {
		out, err = format.Source(out)
	}
	if err != nil {
		return nil, fmt.Errorf("generate %s: %w", name, err)
	}
	if strings.HasSuffix(name, ".java") {
		out = bytes.ReplaceAll(out, []byte("\n\n\n"), []byte("\n\n"))
	}
	return out, nil
}

// A quoting is how sources in a language have lists of texts.
type quoting struct {
	quote      func(string) string
	begin, end string // of a list in a list
	width      int    // of items on one line; longer lists have lines of their own; 0 means no limit
}

// list is the items of a list.
func (q quoting) list(texts []string) string {
	quoted := mapped(texts, q.quote)
	line := strings.Join(quoted, ", ")
	if q.width == 0 || len(line) <= q.width {
		return line
	}
	return "\n    " + strings.Join(quoted, ",\n    ") + ",\n"
}
