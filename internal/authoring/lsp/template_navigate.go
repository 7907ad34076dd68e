package lsp

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// namedAt is what the name at an offset declares, at its declaration or where it is used; nil for another place.
func (n *names) namedAt(offset int) (found *declaredName, start, end int) {
	if u := n.useAt(offset); u != nil && offset <= u.end {
		return n.find(u.kind, u.name), u.start, u.end
	}
	for i := range n.declared {
		if start, end := n.inner(n.declared[i].member.KeyAt); start <= offset && offset <= end {
			return &n.declared[i], start, end
		}
	}
	return nil, 0, 0
}

// uses lists the places that use a name.
func (n *names) usesOf(found *declaredName) []nameUse {
	var out []nameUse
	for _, u := range n.uses {
		if found.matches(u.kind) && n.find(u.kind, u.name) == found {
			out = append(out, u)
		}
	}
	return out
}

// templateDefinition is where a name of a template, a type or a property is declared.
func (s *server) templateDefinition(d *snapshot, offset int) any {
	n := d.names()
	if u := n.useAt(offset); u != nil {
		if u.attributeEnd > 0 && offset >= u.attributeStart {
			return s.declaredProperty(d, n.typeOf(u.name), strings.Split(u.attribute, "."))
		}
		if found := n.find(u.kind, u.name); found != nil {
			start, end := n.inner(found.member.KeyAt)
			return location{d.uri, d.lines.span(start, end, s.encoding)}
		}
		return nil
	}
	at := spotAt(d.tree(), offset)
	if at == nil {
		return nil
	}
	pointer := unwrapLoops(at.pointer)
	if len(pointer) == 3 && pointer[0] == "Resources" && pointer[2] == "Type" && !at.isKey {
		return s.declaredProperty(d, at.value.Text, nil)
	}
	if logicalID, tokens, ok := propertyTokens(at.pointer); ok && len(tokens) > 0 && at.isKey {
		return s.declaredProperty(d, n.typeOf(logicalID), tokens)
	}
	return nil
}

// declaredProperty is where a property of a type, or the type itself, is declared: in the schema of a project, or in
// the fragment of a module. It is nil for types that are in no file.
func (s *server) declaredProperty(d *snapshot, typeName string, tokens document.Pointer) any {
	shape := s.typeShape(d, typeName)
	if shape == nil {
		return nil
	}
	var file string
	var place diag.Range
	switch {
	case shape.fragment != nil:
		file = shape.fragment.File
	default:
		file, place = shape.schema.File, shape.schema.TypeName.At
	}
	if !filepath.IsAbs(file) {
		return nil
	}
	if len(tokens) > 0 {
		found, _ := shape.find(tokens)
		if found == nil || found.member == nil {
			return nil
		}
		place = found.member.KeyAt
	}
	in := s.load(file)
	if in == nil {
		return nil
	}
	return location{in.uri, in.lines.span(place.Start.Offset, place.End.Offset, s.encoding)}
}

func (s *server) references(ctx context.Context, d *snapshot, params documentParams) (any, error) {
	if d.role() != templateRole {
		return nil, nil
	}
	n := d.names()
	found, _, _ := n.namedAt(d.lines.offset(params.Position, s.encoding))
	if found == nil {
		return nil, nil
	}
	out := []location{}
	if params.Context.IncludeDeclaration {
		start, end := n.inner(found.member.KeyAt)
		out = append(out, location{d.uri, d.lines.span(start, end, s.encoding)})
	}
	for _, u := range n.usesOf(found) {
		out = append(out, location{d.uri, d.lines.span(u.start, u.end, s.encoding)})
	}
	return out, ctx.Err()
}

func refuseRename(format string, args ...any) error {
	return &responseError{codeRequestFailed, fmt.Sprintf(format, args...)}
}

// renamed finds what is to be renamed at an offset, or says why it cannot be.
func (s *server) renamed(d *snapshot, offset int) (found *declaredName, start, end int, err error) {
	if d.role() != templateRole {
		return nil, 0, 0, refuseRename("only names in templates can be renamed")
	}
	n := d.names()
	found, start, end = n.namedAt(offset)
	if found == nil {
		return nil, 0, 0, refuseRename("there is no logical ID, parameter, condition or mapping here")
	}
	if _, problems := template.ReadDocument(d.name(), []byte(d.text())); problems.HasErrors() {
		return nil, 0, 0, refuseRename("the template has syntax errors; fix them first")
	}
	if found.inLoop() || n.find(found.kind, found.name) != found {
		return nil, 0, 0, refuseRename("%s is declared by a loop, or more than once", found.name)
	}
	if n.macros() {
		return nil, 0, 0, refuseRename("the template has a transform that may use %s under other names", found.name)
	}
	for _, u := range n.usesOf(found) {
		if u.vague {
			return nil, 0, 0, refuseRename("%s is used in a text with escapes, which cannot be changed safely", found.name)
		}
	}
	return found, start, end, nil
}

func (s *server) prepareRename(_ context.Context, d *snapshot, params documentParams) (any, error) {
	found, start, end, err := s.renamed(d, d.lines.offset(params.Position, s.encoding))
	if err != nil {
		return nil, err
	}
	return renamePlace{d.lines.span(start, end, s.encoding), found.name}, nil
}

// alphanumeric are the names that templates may declare.
var alphanumeric = lazyregexp.New(`^[A-Za-z0-9]{1,255}$`)

func (s *server) rename(ctx context.Context, d *snapshot, params documentParams) (any, error) {
	found, _, _, err := s.renamed(d, d.lines.offset(params.Position, s.encoding))
	if err != nil {
		return nil, err
	}
	n, name := d.names(), params.NewName
	if !alphanumeric.MatchString(name) {
		return nil, refuseRename("%q is not a name: use letters and digits, at most 255", diag.Cut(name))
	}
	for _, other := range n.declared {
		shared := other.kind == found.kind || other.kind <= parameterName && found.kind <= parameterName
		if other.name == name && shared && name != found.name || n.loops[name] {
			return nil, refuseRename("the name %s is already used", name)
		}
	}
	start, end := n.inner(found.member.KeyAt)
	edits := []textEdit{{d.lines.span(start, end, s.encoding), name}}
	for _, u := range n.usesOf(found) {
		edits = append(edits, textEdit{d.lines.span(u.start, u.end, s.encoding), name})
	}
	return workspaceEdit{map[string][]textEdit{d.uri: edits}}, ctx.Err()
}
