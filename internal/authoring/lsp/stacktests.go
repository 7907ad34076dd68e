package lsp

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// StackTests is the format of the files of stack tests.
type StackTests struct {
	IsFile func(name string) bool // nil: no file is one
	Schema *document.Value        // a JSON schema

	// Names is the keyword of the schema that says what keys, or a text, are names of in the template: "resources",
	// "parameters", "conditions" or "outputs".
	Names string

	Check func(name string, text []byte) diag.List
}

func (t *StackTests) shape() *shape { return &shape{root: t.Schema, base: t.Schema} }

// namesIn is what the keys of an object, or a text, are names of; "" if they are not.
func (t *StackTests) namesIn(s *shape, at document.Pointer, keys bool) string {
	nodes := s.expand(s.base)
	if len(at) > 0 {
		found, _ := s.find(at)
		if found == nil {
			return ""
		}
		nodes = s.expand(found.node)
	}
	for _, node := range nodes {
		if keys {
			node = node.Get("propertyNames")
		}
		if v := node.Get(t.Names); v != nil {
			return v.Text
		}
	}
	return ""
}

// A testedName is a name that a template of a stack test declares.
type testedName struct {
	in     *snapshot
	member *document.Member
	of     *declaredName // nil for an output
}

// tested are the names of one kind in the templates of a stack test.
func (s *server) tested(d *snapshot, what string) (out []testedName) {
	for _, in := range s.testedTemplates(d) {
		n := in.names()
		if what == "outputs" {
			if outputs := in.tree().Get("Outputs"); outputs != nil {
				for i := range outputs.Members {
					out = append(out, testedName{in, &outputs.Members[i], nil})
				}
			}
			continue
		}
		var kinds []nameKind
		switch what {
		case "resources":
			kinds = []nameKind{resourceName}
		case "parameters":
			kinds = []nameKind{parameterName}
		case "conditions":
			kinds = []nameKind{conditionName}
		case "references":
			kinds = []nameKind{resourceName, parameterName}
		}
		for _, declared := range n.of(kinds...) {
			if !declared.inLoop() {
				out = append(out, testedName{in, declared.member, &declared})
			}
		}
	}
	return out
}

// maxTested bounds the templates of a stack test whose names are known.
const maxTested = 20

// testedTemplates are the templates that a stack test names.
func (s *server) testedTemplates(d *snapshot) (out []*snapshot) {
	root := d.tree()
	files := []*document.Value{root.Get("template")}
	if named := root.Get("templates"); named != nil {
		for _, m := range named.Members {
			files = append(files, m.Value)
		}
	}
	for _, v := range files {
		if v == nil || v.Kind != document.String || v.Text == "" || d.file == "" || len(out) == maxTested {
			continue
		}
		path := filepath.FromSlash(v.Text)
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(d.file), path)
		}
		if in := s.load(path); in != nil && in.tree() != nil {
			out = append(out, in)
		}
	}
	return out
}

// testKeys proposes the keys of an object of a stack test: those of the format, then names of the template.
func (t *templateProposals) testKeys(at document.Pointer) {
	of := &t.server.cfg.StackTests
	s := of.shape()
	for _, c := range s.below(at) {
		if c.member == nil {
			continue
		}
		q := proposal{label: c.name, rank: 1, kind: itemKeyword, text: describeText(c.node)}
		switch {
		case slices.Contains(c.parent.Get("required").Strings(), c.name):
			q.rank, q.detail = 0, "required"
		case strings.HasPrefix(c.name, "$"):
			q.rank, q.kind = 5, itemFunction
		}
		t.addTemplateKey(q, openingOf(s, c.node))
	}
	for _, name := range t.server.tested(t.d, of.namesIn(s, at, true)) {
		t.addTemplateKey(proposal{label: name.member.Key, rank: 2, kind: itemVariable, detail: typeName(name.member.Value)}, "")
	}
}

// openingOf is what a value starts with, if there is only one form of it.
func openingOf(s *shape, node *document.Value) string {
	for _, n := range s.expand(node) {
		if n.Get("anyOf") != nil {
			return ""
		}
		if out := opening(n); out != "" {
			return out
		}
	}
	return ""
}

// testValues proposes the values at a place of a stack test.
func (t *templateProposals) testValues(at document.Pointer) {
	of := &t.server.cfg.StackTests
	s := of.shape()
	what := of.namesIn(s, at, false)
	if len(at) > 0 && at[len(at)-1] == "Ref" {
		what = "references"
	}
	for _, name := range t.server.tested(t.d, what) {
		if t.c.array && t.seen[name.member.Key] {
			continue
		}
		t.addText(proposal{label: name.member.Key, kind: itemVariable, detail: typeName(name.member.Value)})
	}
	found, _ := s.find(at)
	if found == nil {
		return
	}
	for _, node := range s.expand(found.node) {
		if words := node.Get("enum"); words != nil {
			for _, word := range words.Items {
				t.addJSON(string(word.AppendJSON(nil)), "")
			}
		}
	}
}

// testedAt is the name of the template that a key or a text of a stack test is; nil for another one.
func (s *server) testedAt(d *snapshot, at *spot) *testedName {
	of := &s.cfg.StackTests
	shape, last := of.shape(), len(at.pointer)-1
	text := at.value.Text
	var what string
	switch {
	case last < 0:
		return nil
	case at.isKey:
		text, what = at.pointer[last], of.namesIn(shape, at.pointer[:last], true)
	case at.pointer[last] == "Ref":
		what = "references"
	default:
		what = of.namesIn(shape, at.pointer, false)
	}
	for _, name := range s.tested(d, what) {
		if name.member.Key == text {
			return &name
		}
	}
	return nil
}

// explainStackTest explains a key or a value of a stack test.
func (s *server) explainStackTest(d *snapshot, at *spot) string {
	if name := s.testedAt(d, at); name != nil {
		if name.of == nil {
			return "**" + code(name.member.Key) + "** — output\n\n" + describeText(&document.Value{Kind: document.Object, Members: []document.Member{{Key: "description", Value: name.member.Value.Get("Description")}}})
		}
		return s.declaredText(name.in, name.of)
	}
	shape := s.cfg.StackTests.shape()
	found, canonical := shape.find(at.pointer)
	if found == nil || found.member == nil {
		return ""
	}
	return nodeText(shape, canonical[len(canonical)-1], found, nil)
}

// stackTestDefinition is where a name of a stack test is declared in the template.
func (s *server) stackTestDefinition(d *snapshot, offset int) any {
	at := spotAt(d.tree(), offset)
	if at == nil {
		return nil
	}
	name := s.testedAt(d, at)
	if name == nil {
		return nil
	}
	start, end := name.in.names().inner(name.member.KeyAt)
	return location{name.in.uri, name.in.lines.span(start, end, s.encoding)}
}
