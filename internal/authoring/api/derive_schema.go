package api

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// JSON is the schema, indented.
func (d *Derived) JSON() []byte { return d.schema.Indented("    ") }

const (
	maxText        = 240 // bytes of a description
	maxDefinitions = 1000
)

// A schemaBuilder makes the definitions of one schema.
type schemaBuilder struct {
	d           *deriver
	names       map[definitionKey]string
	taken       map[string]bool
	definitions []document.Member
}

// A definitionKey is a shape as it is set, without what only responses have, or as it is read.
type definitionKey struct {
	shape *Shape
	set   bool
	as    *Shape // of what is received: the shape in requests, if it matters
}

// pathLists are the lists of a schema that name properties, in its order.
var pathLists = []string{"required", "readOnlyProperties", "createOnlyProperties", "writeOnlyProperties", "primaryIdentifier"}

func (d *deriver) buildSchema() {
	b := &schemaBuilder{d: d, names: map[definitionKey]string{}, taken: map[string]bool{}}
	var properties []document.Member
	paths := map[string][]*document.Value{}
	for _, p := range d.Properties {
		properties = append(properties, document.Member{Key: p.Name, Value: b.property(p)})
		for i, in := range []bool{p.Required, p.ReadOnly, p.CreateOnly, p.WriteOnly, p.Identifier} {
			list, text := pathLists[i], "/properties/"+p.Name
			if list == "required" {
				text = p.Name
			}
			if in {
				paths[list] = append(paths[list], document.NewString(text))
			}
		}
		d.nested(p, paths)
	}
	out := obj("typeName", document.NewString(d.TypeName), "description", document.NewString(cut(d.describe())))
	if d.problems.HasErrors() {
		return
	}
	if len(b.definitions) > 0 {
		slices.SortFunc(b.definitions, func(x, y document.Member) int { return strings.Compare(x.Key, y.Key) })
		out.Set("definitions", &document.Value{Kind: document.Object, Members: b.definitions})
	}
	out.Set("properties", &document.Value{Kind: document.Object, Members: properties})
	for _, name := range pathLists {
		if len(paths[name]) > 0 {
			out.Set(name, document.NewArray(paths[name]...))
		}
	}
	if additional := d.additional(); len(additional) > 0 {
		out.Set("additionalIdentifiers", document.NewArray(additional...))
	}
	out.Set("tagging", d.tagging())
	out.Set("handlers", d.handlers())
	if _, problems := d.Bind(); !problems.HasErrors() {
		out.Set("typeConfiguration", d.binding.configuration(b))
	}
	out.Set("additionalProperties", &document.Value{Kind: document.Bool})
	d.schema = out
}

// nested adds the paths of what within a property cannot be read or changed, unless that is so for the whole of it.
func (d *deriver) nested(p *Property, paths map[string][]*document.Value) {
	if p.ReadOnly || p.Tags {
		return
	}
	add := func(list, choice string, from, to *Member, format, operation string) {
		if from == nil || to == nil {
			return
		}
		for _, path := range (comparisons{map[comparison][]string{}, list == "writeOnlyProperties"}).lacking(from.Shape, to.Shape, 0) {
			paths[list] = append(paths[list], document.NewString("/properties/"+p.Name+path))
			d.note(p.Name+strings.ReplaceAll(path, "/", "."), choice, format, operation)
		}
	}
	if !p.WriteOnly {
		add("writeOnlyProperties", "writeOnly", p.settable(), p.in("read"), "%s does not return it", d.Resource.Read.Name)
	}
	if !p.CreateOnly {
		add("createOnlyProperties", "createOnly", p.in("create"), p.in("update"), "%s does not take it", p.operation("update"))
	}
}

// operation is the name of the operation by which an action has the property.
func (p *Property) operation(action string) string {
	for _, u := range p.Uses {
		if u.Action == action {
			return u.Operation.Name
		}
	}
	return ""
}

// A comparison is of the shape in a request and that in another request or response, at a depth of a property.
type comparison struct {
	set, read *Shape
	depth     int
}

// comparisons are with what is in responses, or in other requests.
type comparisons struct {
	known     map[comparison][]string
	responses bool
}

const maxLacking = 100 // paths within a value

// lacking are the paths of members that a value has in a request and not in another request or response; the path "" is the
// whole value, if it has too many.
func (c comparisons) lacking(set, read *Shape, depth int) (paths []string) {
	if set == nil || read == nil || depth > 4 {
		return nil
	}
	key := comparison{set, read, depth}
	if known, compared := c.known[key]; compared {
		return known
	}
	defer func() {
		if len(paths) > maxLacking {
			paths = []string{""}
		}
		c.known[key] = paths
	}()
	switch {
	case (set.Kind == List || set.Kind == Map) && set.Kind == read.Kind:
		for _, path := range c.lacking(set.Item, read.Item, depth+1) {
			paths = append(paths, "/*"+path)
		}
	case (set.Kind == Structure || set.Kind == Union) && set.Kind == read.Kind:
		for _, m := range set.Members {
			name := pascal(m.Name)
			switch other := read.Member(m.Name); {
			case m.ReadOnly || m.Shape.Kind == Any && m.Shape.Refused != "":
			case other == nil || other.WriteOnly && c.responses:
				paths = append(paths, "/"+name)
			default:
				for _, path := range c.lacking(m.Shape, other.Shape, depth+1) {
					paths = append(paths, "/"+name+path)
				}
			}
		}
	}
	return paths
}

func (d *deriver) describe() string {
	if text := d.Resource.Create.Doc; plain(text) != "" {
		return text
	}
	return fmt.Sprintf("The resource %s of %s.", d.Resource.Name, d.API.Name)
}

// additional are the identifiers besides the primary one: those of the settings, and an ARN.
func (d *deriver) additional() (out []*document.Value) {
	for _, names := range d.settings.Additional {
		var set []*document.Value
		for _, name := range names {
			p := d.named(name)
			if p == nil {
				d.fail("api/setting", d.settings.at["settings.additional"], fmt.Sprintf("the resource has no property %q", name), "")
				continue
			}
			set = append(set, document.NewString("/properties/"+p.Name))
		}
		out = append(out, document.NewArray(set...))
	}
	if d.settings.Additional != nil || d.API.Format != "smithy" {
		return out
	}
	if d.binding.List == nil || len(d.binding.List.Send) > 0 {
		return out // handlers look a resource up in the list, which they cannot without its parents
	}
	for _, p := range d.Properties {
		if p.ReadOnly && !p.Identifier && simple(p) && (norm(p.Name) == "arn" || norm(p.Name) == norm(d.Resource.Name)+"arn") {
			d.note(p.Name, "additionalIdentifier", "it is the ARN of the resource")
			return append(out, document.NewArray(document.NewString("/properties/"+p.Name)))
		}
	}
	return out
}

// tags is the property for the tags of the resource, which have keys and values, or nil.
func (d *deriver) tags() *Property {
	for _, p := range d.Properties {
		if p.Tags && !p.ReadOnly && p.settable() != nil {
			if form, ok := tagForm(p.settable().Shape, true); ok && form.Kind != "keys" {
				return p
			}
		}
	}
	return nil
}

func (d *deriver) tagging() *document.Value {
	p := d.tags()
	if p == nil {
		return obj("taggable", document.NewBool(false))
	}
	d.note(p.Name, "tagging", "it contains the tags of the resource")
	return obj("taggable", document.NewBool(true), "tagOnCreate", document.NewBool(p.in("create") != nil), "tagUpdatable", document.NewBool(!p.CreateOnly),
		"cloudFormationSystemTags", document.NewBool(false), "tagProperty", document.NewString("/properties/"+p.Name))
}

func (d *deriver) handlers() *document.Value {
	r := d.Resource
	permissions := func(ops ...*Operation) *document.Value {
		out := document.NewArray()
		for _, op := range ops {
			p := document.NewString(d.API.Prefix + ":" + op.Name)
			if d.API.Prefix != "" && !slices.ContainsFunc(out.Items, func(v *document.Value) bool { return v.Text == p.Text }) {
				out.Items = append(out.Items, p)
			}
		}
		return obj("permissions", out)
	}
	out := obj("create", permissions(r.Create, r.Read), "read", permissions(r.Read))
	if taggable := d.tags() != nil && d.tagged(); len(r.Update) > 0 || taggable {
		ops := append(slices.Clone(r.Update), r.Read)
		if taggable {
			ops = append(ops, r.Tags...)
		}
		out.Set("update", permissions(ops...))
	}
	out.Set("delete", permissions(r.Delete, r.Read))
	if r.List == nil {
		if !slices.ContainsFunc(d.Decisions, func(c Decision) bool { return c.Choice == "no list" }) {
			d.note("", "no list", "the API has no operation to list")
		}
		return out
	}
	list := permissions(r.List)
	parents, required := obj(), document.NewArray()
	for _, p := range d.Properties {
		if p.Parent {
			parents.Set(p.Name, obj("$ref", document.NewString("resource-schema.json#/properties/"+p.Name)))
			required.Items = append(required.Items, document.NewString(p.Name))
		}
	}
	if len(parents.Members) > 0 {
		list.Set("handlerSchema", obj("properties", parents, "required", required))
	}
	out.Set("list", list)
	return out
}

// property is the schema of one property.
func (b *schemaBuilder) property(p *Property) *document.Value {
	m := p.settable()
	if m == nil || p.ReadOnly {
		m = p.Uses[0].Member
	}
	shape := m.Shape
	if p.isText() {
		b.lose(p.Name, "integer", "it is a string here: handlers convert the number")
		shape = digits(shape)
	}
	if taken := b.d.takenAs(p); p.Identifier && (p.ReadOnly || p.Parent && b.d.API.Format == "openapi") && shape.Kind == String && shape.Pattern == "" && shape.Format != "uuid" && len(shape.Enum) == 0 && taken != nil {
		shape = taken
	}
	if m.Sensitive || shape.Sensitive {
		b.lose(p.Name, "sensitive", "a schema does not mark secrets: handlers keep it out of logs and messages")
	}
	out := b.value(shape, p.Name, p.Name, !p.ReadOnly)
	if p.Tags && out.Get("insertionOrder") != nil {
		out.Set("insertionOrder", document.NewBool(false))
	}
	if out.Get("$ref") == nil {
		if text := cut(plain(m.Doc)); text != "" {
			out.Members = append([]document.Member{{Key: "description", Value: document.NewString(text)}}, out.Members...)
		}
		if !p.ReadOnly && m == p.in("create") { // a new resource does not have what only updates set
			b.setDefault(out, m)
		}
		b.relate(out, p, m)
	}
	return out
}

// isText reports whether a property is a string although the API has numbers: an identifier, or what the API has as a string
// elsewhere.
func (p *Property) isText() bool {
	numbers, texts := false, p.Identifier
	for _, u := range p.Uses {
		k := u.Member.Shape.Kind
		numbers = numbers || k == Integer || k == Number
		texts = texts || k == String
	}
	return numbers && texts
}

// digits is the shape of a number as text.
func digits(number *Shape) *Shape {
	fit := map[string]int{"int8": 2, "int16": 4, "int32": 9}[number.Format] // in any case
	return &Shape{Kind: String, Pattern: fmt.Sprintf("^(0|[1-9][0-9]{0,%d})$", cmp.Or(fit, 15)-1)}
}

// takenAs is the shape in which the read takes an identifier, if it says more than responses do; nil otherwise.
func (d *deriver) takenAs(p *Property) *Shape {
	for _, m := range d.Resource.Read.Members() {
		switch {
		case d.params[norm(m.Name)] != p:
		case m.Shape.Kind == Integer:
			return digits(m.Shape)
		case m.Shape.Kind == String && (m.Shape.Pattern != "" || m.Shape.Format == "uuid"):
			return m.Shape
		}
	}
	return nil
}

// setDefault adds a default that fits the type.
func (b *schemaBuilder) setDefault(out *document.Value, m *Member) {
	want := map[string]document.Kind{"string": document.String, "integer": document.Number, "number": document.Number, "boolean": document.Bool}
	kind, simple := want[out.Get("type").Str()]
	if m.Default == nil || !simple || m.Default.Kind != kind || out.Get("format") != nil {
		return
	}
	if enum := out.Get("enum"); enum != nil && !slices.Contains(enum.Strings(), m.Default.Text) {
		return
	}
	out.Set("default", m.Default)
}

func (b *schemaBuilder) relate(out *document.Value, p *Property, m *Member) {
	typeName, path := m.Relation, "/properties/Arn"
	reason := "the model says that it is the ARN of one"
	if p.settings != nil && p.settings.RelationType != "" {
		typeName, path, reason = p.settings.RelationType, p.settings.RelationPath, "the settings say so"
	}
	if strings.Count(typeName, "::") != 2 || out.Get("type").Str() != "string" {
		return
	}
	out.Set("relationshipRef", obj("typeName", document.NewString(typeName), "propertyPath", document.NewString(path)))
	b.d.note(p.Name, "relation to "+typeName, "%s", reason)
}

func (b *schemaBuilder) lose(subject, choice, reason string) {
	b.d.Lost = append(b.d.Lost, Decision{subject, choice, reason})
}

// value is the schema of a shape. hint names a definition without a name, path is the value in
// what is lost.
func (b *schemaBuilder) value(s *Shape, hint, path string, set bool) *document.Value {
	switch s.Kind {
	case Boolean:
		return obj("type", document.NewString("boolean"))
	case Integer, Number:
		out := obj("type", document.NewString(s.Kind.String()))
		b.numbers(out, s)
		return out
	case String, Blob, Timestamp:
		return b.text(s, path)
	case List:
		out := obj("type", document.NewString("array"))
		if s.Unique {
			out.Set("uniqueItems", document.NewBool(true))
		}
		out.Set("insertionOrder", document.NewBool(!s.Unique))
		lengths(out, s, "minItems", "maxItems")
		out.Set("items", b.value(s.Item, singular(hint), path+".*", set))
		return out
	case Map:
		pattern := ".*"
		switch {
		case s.Key == nil:
		case len(s.Key.Enum) > 0:
			names := make([]string, len(s.Key.Enum))
			for i, name := range s.Key.Enum {
				names[i] = regexp.QuoteMeta(name)
			}
			pattern = "^(" + strings.Join(names, "|") + ")$"
		case s.Key.Pattern != "" && b.usable(s.Key.Pattern, path):
			pattern = s.Key.Pattern
		case s.Key.MinLen != nil && *s.Key.MinLen > 1:
			most := ""
			if s.Key.MaxLen != nil {
				most = fmt.Sprint(*s.Key.MaxLen)
			}
			if length := fmt.Sprintf("^.{%d,%s}$", *s.Key.MinLen, most); b.usable(length, path) {
				pattern = length
			}
		}
		out := obj("type", document.NewString("object"), "patternProperties", obj(pattern, b.value(s.Item, singular(hint), path+".*", set)),
			"additionalProperties", document.NewBool(false))
		b.notEmpty(out, set)
		return out
	case Structure, Union:
		return obj("$ref", document.NewString("#/definitions/"+b.define(s, hint, path, set)))
	}
	b.lose(path, "free object", "the API does not describe its members")
	return obj("type", document.NewString("object"))
}

func (b *schemaBuilder) numbers(out *document.Value, s *Shape) {
	for _, bound := range []struct{ key, value string }{{"minimum", s.Minimum}, {"maximum", s.Maximum}} {
		_, err := strconv.ParseInt(bound.value, 10, 64)
		rounded := s.Kind == Integer && errors.Is(err, strconv.ErrRange) // as -9223372036854776000
		if bound.value != "" && !rounded {
			out.Set(bound.key, &document.Value{Kind: document.Number, Text: bound.value})
		}
	}
}

func lengths(out *document.Value, s *Shape, least, most string) {
	for _, bound := range []struct {
		key   string
		value *int
	}{{least, s.MinLen}, {most, s.MaxLen}} {
		if bound.value != nil && *bound.value >= 0 {
			out.Set(bound.key, &document.Value{Kind: document.Number, Text: fmt.Sprint(*bound.value)})
		}
	}
}

// encoded is the length of a number of bytes in Base64.
func encoded(bytes *int) *int {
	if bytes == nil || *bytes > math.MaxInt32 {
		return nil
	}
	n := (*bytes + 2) / 3 * 4
	return &n
}

func (b *schemaBuilder) text(s *Shape, path string) *document.Value {
	out := obj("type", document.NewString("string"))
	switch s.Kind {
	case Timestamp:
		out.Set("format", document.NewString("date-time"))
		return out
	case Blob:
		lengths(out, &Shape{MinLen: encoded(s.MinLen), MaxLen: encoded(s.MaxLen)}, "minLength", "maxLength")
		out.Set("pattern", document.NewString("^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"))
		return out
	}
	if len(s.Enum) > 0 {
		values := document.NewArray()
		for _, value := range s.Enum {
			if !slices.ContainsFunc(values.Items, func(v *document.Value) bool { return v.Text == value }) {
				values.Items = append(values.Items, document.NewString(value))
			}
		}
		out.Set("enum", values)
		return out
	}
	lengths(out, s, "minLength", "maxLength")
	switch {
	case s.Pattern != "" && b.usable(s.Pattern, path):
		out.Set("pattern", document.NewString(s.Pattern))
	case s.Format == "uuid" && (s.MaxLen == nil || *s.MaxLen >= 36):
		out.Set("pattern", document.NewString("^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"))
	case slices.Contains([]string{"date", "email", "uri", "hostname", "ipv4", "ipv6"}, s.Format):
		out.Set("format", document.NewString(s.Format))
	}
	return out
}

// usable reports whether a schema can have a pattern, and notes if not.
func (b *schemaBuilder) usable(pattern, path string) bool {
	_, err := schema.CompilePattern(pattern)
	if err != nil {
		b.lose(path, "pattern", fmt.Sprintf("%q is not a regular expression of schemas: %v", cut(pattern), err))
	}
	return err == nil
}

// notEmpty requires a member of an object: forms of awsQuery have no empty ones.
func (b *schemaBuilder) notEmpty(out *document.Value, set bool) {
	if set && b.d.API.Protocol == "awsQuery" {
		out.Set("minProperties", &document.Value{Kind: document.Number, Text: "1"})
	}
}

// define adds a definition for a structure and returns its name.
func (b *schemaBuilder) define(s *Shape, hint, path string, set bool) string {
	key := definitionKey{shape: s, set: set}
	if name, known := b.names[key]; known {
		return name
	}
	base := pascal(s.Name)
	if base == "" {
		base = pascal(hint)
	}
	base = base[:min(len(base), 60)]
	name := base
	for i := 2; b.taken[name]; i++ {
		name = fmt.Sprint(base, i)
	}
	b.names[key], b.taken[name] = name, true
	if len(b.names) > maxDefinitions {
		b.d.fail("api/too-large", b.d.Resource.At, fmt.Sprintf("the schema would have more than %d definitions", maxDefinitions), "ignore properties in the settings")
		return name
	}
	out := obj("type", document.NewString("object"))
	if text := cut(plain(s.Doc)); text != "" {
		out.Set("description", document.NewString(text))
	}
	properties, required, alternatives := obj(), document.NewArray(), document.NewArray()
	seen := map[string]bool{}
	for _, m := range s.Members {
		if set && m.ReadOnly || !set && m.WriteOnly {
			continue
		}
		inner := pascal(m.Name)
		place := path + "." + inner
		switch {
		case inner == "" || len(inner) > 64 || seen[inner]:
			b.lose(place, "left out", fmt.Sprintf("%q is not a name that a schema can have besides the others", cut(m.Name)))
			continue
		case m.Shape.Kind == Any && m.Shape.Refused != "" && m.Shape.Refused != undescribed:
			b.lose(place, "left out", m.Shape.Refused)
			continue
		}
		if m.Sensitive {
			b.lose(place, "sensitive", "a schema does not mark secrets: handlers keep it out of logs and messages")
		}
		seen[inner] = true
		properties.Set(inner, b.value(m.Shape, base+inner, place, set))
		switch {
		case s.Kind == Union:
			alternatives.Items = append(alternatives.Items, obj("required", document.NewArray(document.NewString(inner))))
		case m.Required:
			required.Items = append(required.Items, document.NewString(inner))
		}
	}
	if len(properties.Members) > 0 {
		out.Set("properties", properties)
	}
	if len(required.Items) > 0 {
		out.Set("required", required)
	} else {
		b.notEmpty(out, set)
	}
	if len(alternatives.Items) > 1 {
		out.Set("oneOf", alternatives)
	}
	out.Set("additionalProperties", document.NewBool(false))
	b.definitions = append(b.definitions, document.Member{Key: name, Value: out})
	return name
}

var (
	markup = lazyregexp.New(`<[^<>]{1,200}>`)
	spaces = lazyregexp.New(`\s+`)
)

// plain is a text without markup, on one line.
func plain(text string) string {
	text = text[:min(len(text), 8192)]
	return strings.TrimSpace(spaces.ReplaceAllString(markup.ReplaceAllString(strings.ToValidUTF8(text, ""), " "), " "))
}

// cut is the beginning of a text, up to the end of a sentence or word.
func cut(text string) string {
	text = plain(text)
	if i := strings.Index(text, ". "); i > 20 && i < maxText {
		return text[:i+1]
	}
	if len(text) <= maxText {
		return text
	}
	text = strings.ToValidUTF8(text[:maxText], "")
	if i := strings.LastIndexByte(text, ' '); i > 0 {
		text = text[:i]
	}
	return text + " …"
}

// obj is an object of keys and values in turn.
func obj(pairs ...any) *document.Value {
	out := &document.Value{Kind: document.Object}
	for i := 0; i < len(pairs); i += 2 {
		out.Set(pairs[i].(string), pairs[i+1].(*document.Value))
	}
	return out
}
