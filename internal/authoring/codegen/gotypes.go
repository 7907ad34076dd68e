package codegen

import (
	"slices"
	"strings"
	"unicode"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A goType is the type of a field or of an element, before it has a spelling.
type goType struct {
	kind kind
	decl *declaration // of structs, enums, unions and recursive lists
	elem *goType      // of kList and kMap
	big  bool         // of kInt and kNum: a json.Number
	null bool         // null is a distinct value here, which matters in lists and maps
}

type declKind uint8

const (
	declStruct declKind = iota
	declUnion
	declEnum
	declNamed // a list or a map that contains itself
)

// The classes decide who is named first; see nameDeclarations.
const (
	classRoot = iota
	classNamed
	classInline
	classDerived
)

// A declaration is one type of the generated package.
type declaration struct {
	kind  declKind
	class int
	name  string   // the Go name, once it is given
	parts []string // what it is called in the schema, outermost first
	owner *declaration
	under string // an alternative suffix for the name of an object: "TypeConfiguration" or ""

	subject string // what the comment says after the name, if not the usual
	title   string // the description in the schema

	object *object // of structs
	model  *model
	fields []*goField

	alternatives []*goType // of unions, in the order of the schema

	enum []*document.Value // of enums
	base *goType           // of enums and of named types
}

type goField struct {
	property *property
	name     string
	typ      *goType
}

// goTypes builds the declarations of one package.
type goTypes struct {
	reader  *reader
	objects map[*object]*declaration
	shapes  map[*shape]*declaration
	open    map[*shape]bool
	decls   []*declaration
	anyUsed bool // some value is free-form

	plugin bool               // types for the library of the official Go plug-in
	unions map[*shape]*object // of the plug-in: several objects as one
}

func newGoTypes(r *reader) *goTypes {
	return &goTypes{reader: r, objects: map[*object]*declaration{}, shapes: map[*shape]*declaration{}, open: map[*shape]bool{}}
}

// add declares everything below the root of m, the root itself under the given name.
func (g *goTypes) add(m *model, name string) *declaration {
	root := &declaration{kind: declStruct, class: classRoot, name: name, object: m.root, model: m, title: m.root.title}
	if name != "Model" {
		root.under = name
	}
	g.objects[m.root] = root
	g.decls = append(g.decls, root)
	g.fill(root)
	return root
}

func (g *goTypes) fill(d *declaration) {
	for _, p := range d.object.props {
		d.fields = append(d.fields, &goField{property: p, typ: g.typeOf(p.schemas, d, p.name)})
	}
}

// typeOf returns the type of a value. The owner and the name of the property name a new
// declaration if the schema has no name for it.
func (g *goTypes) typeOf(schemas []*document.Value, owner *declaration, name string) *goType {
	s := g.reader.all(schemas)
	if d, ok := g.shapes[s]; ok {
		return d.use(s)
	}
	null := false
	var forms []form
	for _, f := range s.forms {
		switch f.kind {
		case kNull:
			null = true
		case kAny:
			g.anyUsed = true
			return &goType{kind: kAny}
		default:
			forms = addNumber(forms, f)
		}
	}
	switch {
	case len(forms) == 0:
		g.anyUsed = true
		return &goType{kind: kAny}
	case len(forms) > 1 && g.plugin:
		return g.pluginUnion(s, forms, owner, name)
	case len(forms) == 1:
		t := g.form(s, forms[0], owner, name)
		t.null = null
		return t
	}
	d := g.derived(declUnion, s, owner, name)
	for _, f := range forms {
		d.alternatives = append(d.alternatives, g.form(nil, f, owner, name))
	}
	return d.use(s)
}

// addNumber appends a form; integer and number together are number.
func addNumber(forms []form, f form) []form {
	if f.kind == kInt || f.kind == kNum {
		for i, g := range forms {
			if g.kind == kInt || g.kind == kNum {
				forms[i] = form{kind: kNum, big: f.big || g.big || f.kind != g.kind}
				return forms
			}
		}
	}
	return append(forms, f)
}

// use is a fresh goType for a declaration of the whole shape.
func (d *declaration) use(s *shape) *goType {
	t := &goType{kind: kStruct, decl: d}
	switch d.kind {
	case declEnum:
		t.kind = d.base.kind
	case declNamed:
		t.kind = d.base.kind
	}
	t.null = slices.ContainsFunc(s.forms, func(f form) bool { return f.kind == kNull })
	return t
}

// derived declares a type that the schema does not name itself, unless a reference did.
func (g *goTypes) derived(k declKind, s *shape, owner *declaration, name string) *declaration {
	d := &declaration{kind: k, class: classDerived, owner: owner, parts: []string{name}}
	if s.name != "" {
		d.class, d.owner, d.parts = classNamed, nil, []string{s.name}
	}
	g.shapes[s] = d
	g.decls = append(g.decls, d)
	return d
}

// form returns the type of one form. s is the shape that has this form alone, nil within a union.
func (g *goTypes) form(s *shape, f form, owner *declaration, name string) *goType {
	switch f.kind {
	case kStruct:
		if f.object.untaggable() != "" {
			g.anyUsed = true
			return &goType{kind: kMap, elem: &goType{kind: kAny}}
		}
		return &goType{kind: kStruct, decl: g.object(f.object, owner)}
	case kList, kMap:
		return g.container(s, f, owner, name)
	case kStr, kInt:
		if values := enumValues(f); len(values) > 0 && s != nil && !f.big && !g.plugin {
			d := g.derived(declEnum, s, owner, name)
			d.enum, d.base = values, &goType{kind: f.kind}
			return d.use(s)
		}
	}
	return &goType{kind: f.kind, big: f.big}
}

func (g *goTypes) container(s *shape, f form, owner *declaration, name string) *goType {
	if s != nil && g.open[s] {
		return g.derived(declNamed, s, owner, name).useOpen(f.kind)
	}
	if s != nil {
		g.open[s] = true
		defer delete(g.open, s)
	}
	schemas := f.items
	if f.kind == kMap {
		schemas = f.values
	}
	t := &goType{kind: f.kind}
	if len(schemas) == 0 {
		g.anyUsed = true
		t.elem = &goType{kind: kAny}
	} else {
		t.elem = g.typeOf(schemas, owner, name)
	}
	if d := g.shapes[s]; s != nil && d != nil { // found to contain itself
		d.base = t
		return &goType{kind: f.kind, decl: d}
	}
	return t
}

// useOpen is [declaration.use] for a type whose base is still being built.
func (d *declaration) useOpen(k kind) *goType {
	d.base = &goType{kind: k}
	return &goType{kind: k, decl: d}
}

// untaggable returns a property name that struct tags do not support, "" if all are supported.
// Such an object becomes a map.
func (o *object) untaggable() string {
	for _, p := range o.props {
		for _, r := range p.name {
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) {
				return p.name
			}
		}
		if p.name == "" {
			return `""`
		}
	}
	return ""
}

// object declares the struct of an object.
func (g *goTypes) object(o *object, owner *declaration) *declaration {
	if d, ok := g.objects[o]; ok {
		return d
	}
	d := &declaration{kind: declStruct, class: classInline, owner: owner, object: o, parts: o.parts, title: o.title, model: owner.model, under: owner.under}
	if o.ref {
		d.class = classNamed
	}
	g.objects[o] = d
	g.decls = append(g.decls, d)
	g.fill(d)
	return d
}

// enumValues returns the values of an enum that have its type.
func enumValues(f form) []*document.Value {
	var out []*document.Value
	for _, v := range f.enum {
		if f.kind == kStr && v.Kind == document.String || f.kind == kInt && v.Kind == document.Number {
			if !slices.ContainsFunc(out, func(w *document.Value) bool { return w.Text == v.Text }) {
				out = append(out, v)
			}
		}
	}
	return out
}
