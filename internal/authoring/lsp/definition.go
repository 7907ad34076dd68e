package lsp

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

func (s *server) definition(_ context.Context, d *snapshot, params documentParams) (any, error) {
	if d.role() == templateRole {
		return s.templateDefinition(d, d.lines.offset(params.Position, s.encoding)), nil
	}
	if d.role() == stackTestRole {
		return s.stackTestDefinition(d, d.lines.offset(params.Position, s.encoding)), nil
	}
	at := spotAt(d.tree(), d.lines.offset(params.Position, s.encoding))
	if at == nil {
		return nil, nil
	}
	in := d
	var found *declared
	if d.role() == schemaRole {
		text := at.value.Text
		if at.isKey {
			text = at.pointer[len(at.pointer)-1]
		}
		m, base := meaningOf(d.kind(), at.pointer, at.isKey)
		switch m {
		case propertyPath:
			if tokens, ok := tokensOf(text); ok {
				found, _ = d.shapeAt(base).find(tokens)
			}
		case requiredName:
			found = declaredMember(d, base, text)
		case definitionPath:
			return s.referred(d, "#"+text), nil
		case reference:
			return s.referred(d, text), nil
		}
	} else if tokens, ok := modelPath(d.role(), at.pointer); ok {
		if in = s.projectSchema(d); in == nil {
			return nil, nil
		}
		found, _ = in.shapeAt(nil).find(tokens)
	}
	if found == nil {
		return nil, nil
	}
	place := found.node.At
	if found.member != nil {
		place = found.member.KeyAt
	}
	return location{in.uri, in.lines.span(place.Start.Offset, place.End.Offset, s.encoding)}, nil
}

// declaredMember finds a member of the object schema at a place; that of a branch of a
// combiner may be declared around it.
func declaredMember(d *snapshot, at document.Pointer, name string) *declared {
	s := d.shapeAt(nil)
	for {
		if found := s.child(s.expand(d.tree().Lookup(at)), name); found != nil && found.member != nil {
			return found
		}
		n := len(at)
		if n < 2 || !isIndex(at[n-1]) {
			return nil
		}
		at = at[:n-2]
	}
}

// referred is the place that a $ref names, in this document or in a file next to it.
func (s *server) referred(d *snapshot, ref string) any {
	file, fragment, _ := strings.Cut(ref, "#")
	in := d
	switch {
	case file == "" || file == "resource-schema.json":
	case strings.Contains(file, ":") || filepath.IsAbs(file) || d.file == "":
		return nil // on the network, or nowhere
	default:
		if in = s.load(filepath.Join(filepath.Dir(d.file), filepath.FromSlash(file))); in == nil {
			return nil
		}
	}
	pointer, ok := document.ParsePointer(fragment)
	if !ok {
		return nil
	}
	place := in.tree()
	at := place.Lookup(pointer)
	if at == nil {
		return nil
	}
	out := at.At
	if n := len(pointer); n > 0 {
		if m := place.Lookup(pointer[:n-1]).Member(pointer[n-1]); m != nil {
			out = m.KeyAt
		}
	}
	return location{in.uri, in.lines.span(out.Start.Offset, out.End.Offset, s.encoding)}
}
