package codegen

import (
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// kind is one of the forms of a JSON value that a generated type distinguishes.
type kind uint8

const (
	kAny    kind = iota // whatever JSON can hold
	kNull               // null, which every model treats as absent
	kBool               //
	kInt                //
	kNum                //
	kStr                //
	kList               //
	kMap                // an object whose keys are not fixed; without values it is free-form
	kStruct             // an object with named properties
)

// A form is one way in which a value may look. A shape has at most one form of each
// kind, except for kStruct.
type form struct {
	kind   kind
	enum   []*document.Value // of kStr and kInt: the values allowed, nil if all are
	big    bool              // of kInt: the bounds are outside of 64 bits; of kNum: format int64
	items  []*document.Value // of kList: the schemas of an item, none for anything
	values []*document.Value // of kMap: the schemas of a value, none for anything
	object *object           // of kStruct
}

// A shape is all that a schema says about the form of a value: the keywords of the node
// and of everything that it combines, boiled down. It is never narrower than the schema:
// a value that the schema allows fits one of the forms.
type shape struct {
	id    int    // distinct for every shape of a reader, 0 for one that is still being read
	name  string // of the reference that led here, "" if none did
	forms []form // in the order of first appearance; empty without any keyword
}

// An object is a set of named properties. Alternatives that were written inside of one
// node ("oneOf": [{"properties": …}, …]) are one object with the properties of all.
type object struct {
	id       int
	ref      bool     // reached by $ref, so it has a name
	name     string   // its name in the schema: of the definition, or of its property
	parts    []string // from the root of the model or from a definition: what a documentation page is called by
	root     bool
	title    string // description
	props    []*property
	byName   map[string]*property
	required map[string]bool

	named bool // name and parts are final
}

type property struct {
	name    string
	schemas []*document.Value // one for each place that declares it
	objects []*object         // that its value holds, through lists and maps
	paths   flags
}

// flags are the semantics of the pointer lists, for one property of one object.
// Each list holds the pointers of the schema that lead here, such as "/properties/A/*/B".
type flags struct {
	readOnly, writeOnly, createOnly, conditional, deprecated []string
}

// A reader turns the schemas of one document into shapes.
type reader struct {
	schema      *schema.Schema
	shapes      map[*document.Value]*shape
	combined    map[string]*shape
	ids         map[*document.Value]int
	open        map[*document.Value]bool
	objects     int
	examples    int // values of examples that were made
	definitions map[*document.Value]string
}

func newReader(s *schema.Schema) *reader {
	r := &reader{
		schema:      s,
		shapes:      map[*document.Value]*shape{},
		combined:    map[string]*shape{},
		ids:         map[*document.Value]int{},
		open:        map[*document.Value]bool{},
		definitions: map[*document.Value]string{},
	}
	for _, m := range s.Definitions() {
		r.definitions[m.Value] = m.Key
	}
	return r
}

// resolve follows $ref. The second result is the name that the reference gives to its
// target, "" if the node was no reference.
func (r *reader) resolve(node *document.Value) (*document.Value, string) {
	ref := node.Get("$ref")
	if ref == nil || ref.Kind != document.String {
		return node, ""
	}
	target, err := r.schema.Resolve(node)
	if err != nil || target == nil {
		return nil, ""
	}
	if name, ok := r.definitions[target]; ok {
		return target, name
	}
	_, fragment, _ := strings.Cut(ref.Text, "#")
	return target, refName(fragment)
}

// refName is the last part of a pointer that is not a keyword of JSON Schema.
func refName(fragment string) string {
	tokens, ok := document.ParsePointer(fragment)
	for i := len(tokens) - 1; ok && i >= 0; i-- {
		switch tokens[i] {
		case "definitions", "properties", "items", "patternProperties", "oneOf", "anyOf", "allOf":
			continue
		}
		if _, err := strconv.Atoi(tokens[i]); err != nil {
			return tokens[i]
		}
	}
	return "Value"
}

// one returns the shape of one schema.
func (r *reader) one(node *document.Value) *shape {
	target, name := r.resolve(node)
	if target == nil || target.Kind != document.Object {
		return &shape{forms: []form{{kind: kAny}}}
	}
	if s, ok := r.shapes[target]; ok {
		if name != "" {
			s.rename(name)
		}
		return s
	}
	if r.open[target] {
		return &shape{} // a combiner that leads back to itself says nothing new
	}
	r.open[target] = true
	s := r.read(target)
	delete(r.open, target)
	if name != "" {
		s.rename(name)
	}
	s.id = len(r.shapes) + 1
	r.shapes[target] = s
	return s
}

// rename gives the objects that were written in a referenced node the name of the reference.
func (s *shape) rename(name string) {
	if s.name == "" {
		s.name = name
	}
	for _, f := range s.forms {
		if f.object != nil && !f.object.named {
			f.object.ref, f.object.named = true, true
			f.object.name, f.object.parts = name, []string{name}
		}
	}
}

// all returns the shape of a value that several schemas describe, each of which may be
// the one that counts.
func (r *reader) all(nodes []*document.Value) *shape {
	if len(nodes) == 0 {
		return &shape{forms: []form{{kind: kAny}}}
	}
	if len(nodes) == 1 {
		return r.one(nodes[0])
	}
	key := r.key(nodes)
	if s, ok := r.combined[key]; ok {
		return s
	}
	s := &shape{id: -len(r.combined) - 1}
	r.combined[key] = s // before the parts, which may lead back here
	for _, node := range nodes {
		r.join(s, r.one(node))
	}
	if len(s.forms) == 0 {
		s.forms = []form{{kind: kAny}}
	}
	return s
}

func (r *reader) key(nodes []*document.Value) string {
	var b strings.Builder
	for _, node := range nodes {
		target, _ := r.resolve(node)
		id, ok := r.ids[target]
		if !ok {
			id = len(r.ids) + 1
			r.ids[target] = id
		}
		b.WriteString(strconv.Itoa(id))
		b.WriteByte(' ')
	}
	return b.String()
}

// inferred returns the types of a node without "type", from its keywords.
var inferred = []struct {
	kind     kind
	keywords []string
}{
	{kStruct, []string{"properties"}},
	{kMap, []string{"patternProperties", "additionalProperties", "required", "dependencies", "minProperties", "maxProperties"}},
	{kList, []string{"items", "minItems", "maxItems", "uniqueItems", "insertionOrder", "arrayType", "contains"}},
	{kStr, []string{"pattern", "minLength", "maxLength"}},
	{kNum, []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
}

func (r *reader) kinds(node *document.Value) []kind {
	var names []string
	if t := node.Get("type"); t != nil && t.Kind == document.String {
		names = []string{t.Text}
	} else {
		names = t.Strings()
	}
	var kinds []kind
	for _, name := range names {
		k, known := map[string]kind{
			"string": kStr, "integer": kInt, "number": kNum, "boolean": kBool, "array": kList, "object": kMap, "null": kNull,
		}[name]
		if known && !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) > 0 {
		return kinds
	}
	for _, v := range append(items(node.Get("enum")), node.Get("const")) {
		if v == nil {
			continue
		}
		k := [...]kind{document.Null: kNull, document.Bool: kBool, document.Number: kNum, document.String: kStr, document.Array: kList, document.Object: kMap}[v.Kind]
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	for _, row := range inferred {
		if len(kinds) > 0 {
			break
		}
		for _, keyword := range row.keywords {
			if node.Get(keyword) != nil {
				kinds = []kind{row.kind}
				break
			}
		}
	}
	return kinds
}

func items(v *document.Value) []*document.Value {
	if v == nil || v.Kind != document.Array {
		return nil
	}
	return slices.Clone(v.Items)
}

// read combines one node. The combiners are joined by what they add: oneOf and anyOf offer
// alternatives, allOf adds to all of them; if the node has a type, that type decides which of
// them count.
func (r *reader) read(node *document.Value) *shape {
	own := &shape{}
	for _, k := range r.kinds(node) {
		own.forms = append(own.forms, r.form(node, k))
	}
	offered := &shape{}
	for _, keyword := range []string{"oneOf", "anyOf", "allOf"} {
		for _, sub := range items(node.Get(keyword)) {
			if s := r.one(sub); len(s.forms) > 0 {
				r.join(offered, s)
			} else if len(own.forms) == 0 && keyword != "allOf" {
				r.join(offered, &shape{forms: []form{{kind: kAny}}})
			}
		}
	}
	all := node.Get("allOf") != nil
	if len(own.forms) == 0 {
		own = offered
		if all {
			r.merge(own)
		}
		return own
	}
	return r.narrow(own, offered, all)
}

func (r *reader) form(node *document.Value, k kind) form {
	f := form{kind: k}
	switch k {
	case kStr, kInt:
		f.enum = enumOf(node)
		f.big = k == kInt && outside64(node)
	case kNum:
		if format := node.Get("format"); format != nil && format.Text == "int64" {
			f.big = true
		}
	case kList:
		if item := node.Get("items"); item != nil && item.Kind == document.Object {
			f.items = []*document.Value{item}
		}
	case kMap, kStruct:
		f.kind = kMap
		if o := r.object(node); o != nil {
			f.kind, f.object = kStruct, o
		} else if p := node.Get("patternProperties"); p != nil && p.Kind == document.Object {
			for _, m := range p.Members {
				f.values = append(f.values, m.Value)
			}
		}
	}
	return f
}

// object reads the properties of a node; nil if it has none, or more than names.
func (r *reader) object(node *document.Value) *object {
	properties := node.Get("properties")
	if properties == nil || properties.Kind != document.Object || len(properties.Members) == 0 {
		return nil
	}
	if p := node.Get("patternProperties"); p != nil && len(p.Members) > 0 {
		return nil // names and patterns together: a free-form object loses nothing
	}
	r.objects++
	o := &object{id: r.objects, byName: map[string]*property{}, required: map[string]bool{}}
	if d := node.Get("description"); d != nil {
		o.title = d.Text
	}
	for _, m := range properties.Members {
		o.add(m.Key, m.Value)
	}
	for _, name := range node.Get("required").Strings() {
		o.required[name] = true
	}
	return o
}

func (o *object) add(name string, schemas ...*document.Value) {
	p := o.byName[name]
	if p == nil {
		p = &property{name: name}
		o.byName[name] = p
		o.props = append(o.props, p)
	}
	for _, s := range schemas {
		if !slices.Contains(p.schemas, s) {
			p.schemas = append(p.schemas, s)
		}
	}
}

// enumOf returns the values that enum or const allow, nil if there is neither.
func enumOf(node *document.Value) []*document.Value {
	if c := node.Get("const"); c != nil {
		return []*document.Value{c}
	}
	return items(node.Get("enum"))
}

// outside64 reports whether the bounds of an integer cannot be held in 64 bits.
func outside64(node *document.Value) bool {
	for _, keyword := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
		if v := node.Get(keyword); v != nil && v.Kind == document.Number {
			if f, err := strconv.ParseFloat(v.Text, 64); err == nil && (f > 1<<63 || f < -1<<63) {
				return true
			}
		}
	}
	return slices.ContainsFunc(enumOf(node), func(v *document.Value) bool {
		_, err := strconv.ParseInt(v.Text, 10, 64)
		return v.Kind == document.Number && err != nil
	})
}

// join adds the forms of another shape as alternatives. Objects that were written in
// place become one; referenced objects stay apart.
func (r *reader) join(s, other *shape) {
	for _, f := range other.forms {
		i := slices.IndexFunc(s.forms, func(g form) bool {
			if f.kind != kStruct || g.kind != kStruct {
				return f.kind == g.kind
			}
			return f.object == g.object || !f.object.ref && !g.object.ref
		})
		if i < 0 {
			s.forms = append(s.forms, f)
			continue
		}
		g := &s.forms[i]
		g.big = g.big || f.big
		switch f.kind {
		case kStr, kInt:
			g.enum = unite(g.enum, f.enum)
		case kList:
			g.items = unite(g.items, f.items)
		case kMap:
			g.values = unite(g.values, f.values)
		case kStruct:
			if f.object != g.object {
				g.object = r.united(g.object, f.object)
			}
		}
	}
}

// unite joins two lists of which an empty one means everything.
func unite(a, b []*document.Value) []*document.Value {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	out := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// united is a new object with the properties of all; only what all require is required.
func (r *reader) united(objects ...*object) *object {
	r.objects++
	u := &object{id: r.objects, byName: map[string]*property{}, required: map[string]bool{}}
	for _, o := range objects {
		if u.title == "" {
			u.title = o.title
		}
		for _, p := range o.props {
			u.add(p.name, p.schemas...)
		}
	}
	for name := range objects[0].required {
		u.required[name] = !slices.ContainsFunc(objects, func(o *object) bool { return !o.required[name] })
	}
	return u
}

// narrow keeps of the offered alternatives what the node's own types allow.
func (r *reader) narrow(own, offered *shape, all bool) *shape {
	out := &shape{}
	for _, f := range own.forms {
		switch f.kind {
		case kStr, kInt:
			if f.enum == nil {
				f.enum = offered.enums(f.kind)
			}
		case kList:
			for _, g := range offered.forms {
				if g.kind == kList && len(g.items) > 0 {
					f.items = append(slices.Clone(f.items), g.items...)
				}
			}
		case kMap, kStruct:
			out.forms = append(out.forms, r.objectForms(f, offered, all)...)
			continue
		}
		out.forms = append(out.forms, f)
	}
	return out
}

// enums returns the values that the alternatives allow together, nil unless all are limited.
func (s *shape) enums(k kind) []*document.Value {
	for _, f := range s.forms {
		if f.kind == k {
			return f.enum
		}
	}
	return nil
}

// objectForms joins a node's own object with the objects that its combiners offer.
func (r *reader) objectForms(own form, offered *shape, all bool) []form {
	var structs []*object
	free := false
	var maps []*document.Value
	for _, g := range offered.forms {
		switch g.kind {
		case kStruct:
			structs = append(structs, g.object)
		case kMap:
			free = free || len(g.values) == 0
			maps = append(maps, g.values...)
		}
	}
	together := all && len(structs) > 0
	if free || together {
		maps = nil
	}
	free = free && !together
	switch {
	case own.kind == kMap && len(own.values) > 0 && len(structs) > 0, own.kind == kStruct && len(maps) > 0:
		return []form{{kind: kMap}} // names and patterns together
	case own.kind == kMap && len(structs) == 0:
		if len(own.values) == 0 && !free {
			own.values = maps
		}
		return []form{own}
	case own.kind == kStruct && len(structs) > 0:
		u := r.united(append([]*object{own.object}, structs...)...)
		u.title, u.required = own.object.title, own.object.required
		return []form{{kind: kStruct, object: u}}
	case own.kind == kStruct:
		return []form{own}
	case all && len(structs) > 1:
		return []form{{kind: kStruct, object: r.united(structs...)}}
	}
	var forms []form
	for _, o := range structs {
		forms = append(forms, form{kind: kStruct, object: o})
	}
	if free || len(maps) > 0 {
		forms = append(forms, form{kind: kMap, values: maps})
	}
	return forms
}

// merge makes one object of several that must hold at once (allOf). What only adds
// conditions, such as {"required": […]}, counts as an object of its own and is dropped.
func (r *reader) merge(s *shape) {
	var structs []*object
	for _, f := range s.forms {
		if f.kind == kStruct {
			structs = append(structs, f.object)
		}
	}
	if len(structs) == 0 {
		return
	}
	one := structs[0]
	if len(structs) > 1 {
		one = r.united(structs...)
		for _, o := range structs {
			for name := range o.required {
				one.required[name] = one.required[name] || o.required[name]
			}
		}
	}
	s.forms = slices.DeleteFunc(s.forms, func(f form) bool { return f.kind == kStruct || f.kind == kMap })
	s.forms = append(s.forms, form{kind: kStruct, object: one})
}
