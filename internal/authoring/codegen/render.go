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

func (p *project) put(files ...File) { p.files = append(p.files, files...) }

// fillAll adds the files that templates make of the same data.
func (p *project) fillAll(data any, rows ...row) {
	for _, r := range rows {
		text, err := render(r.template, data)
		if p.err == nil {
			p.err = err
		}
		p.put(File{Path: r.path, Data: text, Mode: r.mode})
	}
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
