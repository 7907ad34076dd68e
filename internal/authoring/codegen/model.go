package codegen

import (
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A model is the tree of objects below one root: the properties of a resource, or the
// configuration of a type.
type model struct {
	reader  *reader
	root    *object
	objects []*object // everything reachable, root first, in the order of the schema

	// What the create-only pointers say about whole objects: the pointers under which an
	// object sits, and whether it can also be reached without passing one of them.
	within map[*object][]string
	apart  map[*object]bool
}

// readModel resolves the properties of a schema. s is the schema itself or its
// TypeConfiguration; a nil s gives a model without properties.
func (r *reader) readModel(s *schema.Schema) *model {
	m := &model{reader: r, within: map[*object][]string{}, apart: map[*object]bool{}}
	m.root = &object{byName: map[string]*property{}, required: map[string]bool{}}
	if s != nil {
		for _, f := range r.one(s.Root).forms {
			if f.kind == kStruct {
				m.root = f.object
			}
		}
		m.root.title = s.Description
		m.root.required = map[string]bool{}
		for _, name := range s.Required {
			m.root.required[name] = true
		}
	}
	m.root.root, m.root.named = true, true
	m.collect(m.root, map[*object]bool{})
	if s != nil {
		m.mark(s)
	}
	m.cover()
	return m
}

// collect lists the objects below o, and names those without a name from a reference after
// their property.
func (m *model) collect(o *object, seen map[*object]bool) {
	if seen[o] {
		return
	}
	seen[o] = true
	m.objects = append(m.objects, o)
	for _, p := range o.props {
		m.reader.within(p.schemas, map[*shape]bool{}, func(child *object) {
			if !child.named {
				child.named, child.name = true, p.name
				child.parts = append(slices.Clone(o.parts), p.name)
			}
			if !slices.Contains(p.objects, child) {
				p.objects = append(p.objects, child)
			}
			m.collect(child, seen)
		})
	}
}

// within calls f with the objects that a value holds, through lists and maps.
func (r *reader) within(schemas []*document.Value, seen map[*shape]bool, f func(*object)) {
	s := r.all(schemas)
	if seen[s] {
		return
	}
	seen[s] = true
	for _, form := range s.forms {
		switch form.kind {
		case kStruct:
			f(form.object)
		case kList:
			if len(form.items) > 0 {
				r.within(form.items, seen, f)
			}
		case kMap:
			if len(form.values) > 0 {
				r.within(form.values, seen, f)
			}
		}
	}
}

// mark carries the pointer lists of the schema to the properties that they name.
func (m *model) mark(s *schema.Schema) {
	for _, list := range []struct {
		paths []schema.Path
		of    func(*flags) *[]string
	}{
		{s.ReadOnly, func(f *flags) *[]string { return &f.readOnly }},
		{s.WriteOnly, func(f *flags) *[]string { return &f.writeOnly }},
		{s.CreateOnly, func(f *flags) *[]string { return &f.createOnly }},
		{s.ConditionalCreateOnly, func(f *flags) *[]string { return &f.conditional }},
		{s.Deprecated, func(f *flags) *[]string { return &f.deprecated }},
	} {
		for _, path := range list.paths {
			m.reader.follow(m.root, path.Tokens, func(p *property) {
				if to := list.of(&p.paths); !slices.Contains(*to, path.Text) {
					*to = append(*to, path.Text)
				}
			})
		}
	}
}

// follow calls f with the properties at the end of a path. A list is crossed by "*", an index,
// or without a token; a stray "properties" or "items", as in some published schemas, is
// skipped.
func (r *reader) follow(o *object, tokens document.Pointer, f func(*property)) {
	if len(tokens) == 0 {
		return
	}
	p := o.byName[tokens[0]]
	switch {
	case p == nil && tokens[0] == "properties":
		r.follow(o, tokens[1:], f)
	case p == nil:
	case len(tokens) == 1 || strings.Trim(strings.Join(tokens[1:], ""), "*") == "":
		f(p)
	default:
		r.enter(p.schemas, tokens[1:], f, 0)
	}
}

func (r *reader) enter(schemas []*document.Value, tokens document.Pointer, f func(*property), depth int) {
	if depth > 64 || len(tokens) == 0 {
		return // a list that holds nothing but itself
	}
	for _, form := range r.all(schemas).forms {
		switch {
		case form.kind == kStruct:
			r.follow(form.object, tokens, f)
		case form.kind == kList && len(form.items) > 0:
			rest := tokens
			if rest[0] == "*" || rest[0] == "items" || rest[0][0] >= '0' && rest[0][0] <= '9' {
				rest = rest[1:]
			}
			r.enter(form.items, rest, f, depth+1)
		case form.kind == kMap && len(form.values) > 0:
			r.enter(form.values, tokens[1:], f, depth+1)
		}
	}
}

// cover finds which objects are within a create-only property on every way from the
// root, and so cannot be changed although no pointer names their own properties.
func (m *model) cover() {
	var plain func(o *object)
	plain = func(o *object) {
		if m.apart[o] {
			return
		}
		m.apart[o] = true
		for _, p := range o.props {
			if len(p.paths.createOnly) == 0 {
				for _, child := range p.objects {
					plain(child)
				}
			}
		}
	}
	plain(m.root)
	for _, o := range m.objects {
		for _, p := range o.props {
			for _, path := range p.paths.createOnly {
				for _, child := range p.objects {
					m.under(child, path)
				}
			}
		}
	}
}

func (m *model) under(o *object, path string) {
	if slices.Contains(m.within[o], path) {
		return
	}
	m.within[o] = append(m.within[o], path)
	for _, p := range o.props {
		for _, child := range p.objects {
			m.under(child, path)
		}
	}
}
