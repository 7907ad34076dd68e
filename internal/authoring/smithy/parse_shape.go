package smithy

import (
	"fmt"
	"slices"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// shapeOrApply reads a statement of the shape section.
func (p *parser) shapeOrApply(traits []writtenTrait) bool {
	at := p.at()
	if !p.expect(tokIdentifier) {
		return false
	}
	word := p.lexeme()
	if word == "apply" {
		return p.apply(traits)
	}
	t := Type(word)
	if typeClasses[t] == 0 || t == Member {
		return p.fail("", "Unknown shape type: "+word)
	}
	p.advance()
	if !p.expectSpaces() {
		return false
	}
	id, ok := p.shapeName()
	if !ok {
		return false
	}
	d := p.define(id, t, at)
	switch t {
	case List, Set, Map, Structure, Union:
		ok = p.aggregate(d)
	case Enum, IntEnum:
		ok = p.enum(d)
	case Service:
		ok = p.service(d)
	case Resource:
		ok = p.resource(d)
	case Operation:
		ok = p.operation(d)
	default:
		ok = p.mixins(d)
	}
	if !ok {
		return false
	}
	p.load.define(d)
	p.applyTraits(id, traits)
	return p.lineBreak()
}

// define starts the definition of a shape.
func (p *parser) define(id ID, t Type, at diag.Range) *definition {
	return &definition{shape: &Shape{ID: id, Type: t, At: at, version: p.version}, version: p.version}
}

func (p *parser) shapeName() (ID, bool) {
	at := p.at()
	if !p.expect(tokIdentifier) {
		return "", false
	}
	name := p.lexeme()
	if previous, taken := p.uses[name]; taken {
		return "", p.failAt(at, "", fmt.Sprintf("Shape name `%s` conflicts with imported shape `%s`", name, previous))
	}
	p.advance()
	return ID(p.namespace + "#" + name), true
}

// applyTraits hands traits to the loader once their names are known.
func (p *parser) applyTraits(target ID, traits []writtenTrait) {
	for _, t := range traits {
		p.idAt = t.at
		p.refer(t.name, func(id ID, traitType Type) {
			p.load.apply(application{
				target: target, trait: id, value: coerceAnnotation(t, traitType), at: t.at,
				version: p.version, namespace: p.namespace,
			})
		})
	}
}

// coerceAnnotation gives a trait without a value the empty value of its type.
func coerceAnnotation(t writtenTrait, traitType Type) *document.Value {
	if t.annotation && t.value.Kind == document.Null {
		switch traitType {
		case "", Structure, Map:
			return &document.Value{Kind: document.Object, At: t.value.At}
		case List, Set:
			return &document.Value{Kind: document.Array, At: t.value.At}
		}
	}
	return t.value
}

func (p *parser) apply(before []writtenTrait) bool {
	for _, t := range before {
		if !t.doc {
			return p.fail("", "Traits applied to apply statement")
		}
		p.badDocs(t.at, t.value.Text)
	}
	p.advance()
	if !p.expectWhitespace() {
		return false
	}
	target, ok := p.shapeID()
	if !ok || !p.expectWhitespace() || !p.expect(tokAt, tokLBrace) {
		return false
	}
	var traits []writtenTrait
	if p.kind == tokAt {
		t, ok := p.trait()
		if !ok {
			return false
		}
		traits = append(traits, t)
	} else {
		p.advance()
		p.skipAll()
		if traits, ok = p.traits(); !ok || !p.skip(tokRBrace) {
			return false
		}
	}
	p.refer(target, func(id ID, _ Type) { p.applyTraits(id, traits) })
	return p.lineBreak()
}

// mixins reads an optional "with [A, B]".
func (p *parser) mixins(d *definition) bool {
	p.skipSpaces()
	if !p.isWord("with") {
		return true
	}
	if p.version == version1 {
		return p.fail(d.shape.ID, "Mixins can only be used with Smithy version 2 or later. "+
			"Attempted to use mixins with version `1.0`.")
	}
	p.advance()
	p.skipAll()
	if !p.skip(tokLBracket) {
		return false
	}
	p.skipAll()
	for {
		name, ok := p.shapeID()
		if !ok {
			return false
		}
		p.refer(name, func(id ID, _ Type) { d.addMixin(id) })
		p.skipAll()
		if p.kind == tokRBracket {
			p.advance()
			return true
		}
	}
}

// forResource reads an optional "for Resource".
func (p *parser) forResource(d *definition) bool {
	p.skipSpaces()
	if !p.isWord("for") {
		return true
	}
	if p.version == version1 {
		return p.fail(d.shape.ID, "Structures can only be bound to resources with Smithy version 2 or later. "+
			"Attempted to bind a structure to a resource with version `1.0`.")
	}
	p.advance()
	if !p.expectSpaces() {
		return false
	}
	name, ok := p.shapeID()
	if !ok {
		return false
	}
	p.referTo(name, &d.resource)
	return true
}

func (p *parser) aggregate(d *definition) bool {
	if !p.forResource(d) || !p.mixins(d) {
		return false
	}
	p.skipAll()
	p.dropDocs()
	if !p.skip(tokLBrace) {
		return false
	}
	p.skipWhitespace()
	for p.kind != tokEOF && p.kind != tokRBrace {
		if !p.member(d) {
			return false
		}
		p.skipWhitespace()
	}
	return p.skip(tokRBrace)
}

func (p *parser) member(d *definition) bool {
	traits, ok := p.docsAndTraits(true)
	if !ok {
		return false
	}
	at := p.at()
	if p.kind == tokRBrace && len(traits) == 1 && traits[0].doc {
		p.badDocs(traits[0].at, traits[0].value.Text)
		return true
	}
	elided := p.kind == tokDollar
	if elided {
		p.advance()
	}
	if !p.expect(tokIdentifier) {
		return false
	}
	id := d.shape.ID.WithMember(p.lexeme())
	if d.member(p.lexeme()) != nil {
		return p.fail(d.shape.ID, fmt.Sprintf("Duplicate member of `%s`: '%s'", d.shape.ID, p.lexeme()))
	}
	if elided && p.version == version1 {
		return p.fail(id, "Members can only elide targets in IDL version 2 or later")
	}
	m := &Shape{ID: id, Type: Member, At: at, Container: d.shape, version: p.version}
	p.advance()
	if !elided {
		p.skipSpaces()
		if !p.skip(tokColon) {
			return false
		}
		p.skipSpaces()
		target, ok := p.shapeID()
		if !ok {
			return false
		}
		p.referTo(target, &m.Target)
	}
	p.skipSpaces()
	if p.kind == tokEqual {
		if p.version == version1 {
			return p.fail("", "@default assignment is only supported in IDL version 2 or later")
		}
		if !p.assignment(m, traitDefault) {
			return false
		}
	}
	d.members = append(d.members, m)
	p.applyTraits(id, traits)
	return true
}

// assignment reads "= value" with the end of its line into a trait of the member.
func (p *parser) assignment(m *Shape, trait ID) bool {
	p.advance()
	p.skipSpaces()
	value, ok := p.node()
	if !ok {
		return false
	}
	m.own = setTrait(m.own, &Trait{ID: trait, Value: value, At: value.At})
	p.skipSpaces()
	if p.kind == tokComma {
		p.advance()
	}
	return p.lineBreak()
}

func (p *parser) enum(d *definition) bool {
	if !p.mixins(d) {
		return false
	}
	p.skipAll()
	if !p.skip(tokLBrace) {
		return false
	}
	p.skipWhitespace()
	for p.kind != tokEOF && p.kind != tokRBrace {
		traits, ok := p.docsAndTraits(true)
		if !ok {
			return false
		}
		at := p.at()
		if p.kind == tokRBrace && len(traits) == 1 && traits[0].doc {
			p.badDocs(traits[0].at, traits[0].value.Text)
			break
		}
		if !p.expect(tokIdentifier) {
			return false
		}
		name := p.lexeme()
		if d.member(name) != nil {
			return p.fail(d.shape.ID, "Found conflicting member name, `"+name+"`")
		}
		m := &Shape{ID: d.shape.ID.WithMember(name), Type: Member, At: at, Target: unitID, Container: d.shape, version: p.version}
		d.members = append(d.members, m)
		p.applyTraits(m.ID, traits)
		p.advance()
		p.skipSpaces()
		if p.kind == tokEqual {
			if !p.assignment(m, traitEnumValue) {
				return false
			}
		} else {
			p.skipWhitespace()
		}
	}
	return p.skip(tokRBrace)
}

// body reads the braces of a service or a resource as an object.
func (p *parser) body(d *definition, properties []string) (*document.Value, bool) {
	if !p.mixins(d) {
		return nil, false
	}
	p.skipAll()
	if !p.expect(tokLBrace) {
		return nil, false
	}
	v, ok := p.node()
	if !ok {
		return nil, false
	}
	var additional []string
	for _, m := range v.Members {
		if !slices.Contains(properties, m.Key) {
			additional = append(additional, m.Key)
		}
	}
	if additional != nil {
		p.load.report(Event{ID: modelError, Severity: WarningSeverity, Shape: d.shape.ID, At: v.At,
			Message: additionalProperties(properties, additional)})
	}
	return v, true
}

var (
	serviceProperties  = []string{"type", "version", "operations", "resources", "rename", "errors"}
	resourceProperties = []string{
		"type", "create", "read", "update", "delete", "list", "identifiers", "resources", "operations", "put",
		"properties", "collectionOperations",
	}
)

func (p *parser) service(d *definition) bool {
	v, ok := p.body(d, serviceProperties)
	if !ok {
		return false
	}
	s := d.shape
	if version := v.Get("version"); version != nil {
		if version.Kind != document.String {
			return p.wrongKind(version, "version", "string")
		}
		s.Version = version.Text
	}
	if !p.idList(v, "operations", &s.Operations) || !p.idList(v, "resources", &s.Resources) || !p.idList(v, "errors", &s.Errors) {
		return false
	}
	rename := v.Get("rename")
	if rename == nil {
		return true
	}
	if rename.Kind != document.Object {
		return p.wrongKind(rename, "rename", "object")
	}
	for _, m := range rename.Members {
		if !validID(m.Key) {
			return p.failAt(m.KeyAt, "", "Invalid shape ID: "+m.Key)
		}
		if m.Value.Kind != document.String {
			return p.failAt(m.Value.At, "", "Expected string, but found "+kindName(m.Value.Kind)+".")
		}
		s.Rename = append(s.Rename, Named{Name: m.Value.Text, Target: ID(m.Key)})
	}
	return true
}

func (p *parser) wrongKind(v *document.Value, name, want string) bool {
	return p.failAt(v.At, "", fmt.Sprintf("Expected `%s` to be %s %s; found %s", name, article(want), want, kindName(v.Kind)))
}

// idList reads a member that lists shape IDs. They are strings here: words were already
// taken as references when the object was read.
func (p *parser) idList(v *document.Value, name string, into *[]ID) bool {
	list := v.Get(name)
	if list == nil {
		return true
	}
	if list.Kind != document.Array {
		return p.wrongKind(list, name, "array")
	}
	*into = make([]ID, len(list.Items))
	for i, item := range list.Items {
		if item.Kind != document.String {
			return p.failAt(item.At, "", fmt.Sprintf("Expected array element %d to be a string but found %s.", i, kindName(item.Kind)))
		}
		p.idAt = item.At
		p.referTo(item.Text, &(*into)[i])
	}
	return true
}

// id reads a member that is a shape ID.
func (p *parser) id(v *document.Value, name string, into *ID) bool {
	value := v.Get(name)
	if value == nil {
		return true
	}
	if value.Kind != document.String {
		return p.wrongKind(value, name, "string")
	}
	p.idAt = value.At
	p.referTo(value.Text, into)
	return true
}

func (p *parser) resource(d *definition) bool {
	v, ok := p.body(d, resourceProperties)
	if !ok {
		return false
	}
	s := d.shape
	for _, l := range s.lifecycle() {
		if !p.id(v, l.name, l.id) {
			return false
		}
	}
	if !p.idList(v, "operations", &s.Operations) || !p.idList(v, "resources", &s.Resources) ||
		!p.idList(v, "collectionOperations", &s.CollectionOperations) || !p.idMap(v, "identifiers", &s.Identifiers) {
		return false
	}
	if v.Get("properties") != nil && p.version == version1 {
		return p.fail(s.ID, "Resource properties can only be used with Smithy version 2 or later. "+
			"Attempted to use resource properties with version `1.0`.")
	}
	return p.idMap(v, "properties", &s.Properties)
}

func (p *parser) idMap(v *document.Value, name string, into *[]Named) bool {
	object := v.Get(name)
	if object == nil {
		return true
	}
	if object.Kind != document.Object {
		return p.wrongKind(object, name, "object")
	}
	*into = make([]Named, len(object.Members))
	for i, m := range object.Members {
		if m.Value.Kind != document.String {
			return p.failAt(m.Value.At, "", "Expected string, but found "+kindName(m.Value.Kind)+".")
		}
		(*into)[i].Name = m.Key
		p.idAt = m.Value.At
		p.referTo(m.Value.Text, &(*into)[i].Target)
	}
	return true
}

func (p *parser) operation(d *definition) bool {
	if !p.mixins(d) {
		return false
	}
	p.skipAll()
	if !p.skip(tokLBrace) {
		return false
	}
	p.skipAll()
	s := d.shape
	s.Input, s.Output = unitID, unitID
	defined := map[string]bool{}
	for p.kind != tokEOF && p.kind != tokRBrace {
		if !p.expect(tokIdentifier) {
			return false
		}
		key := p.lexeme()
		if defined[key] {
			return p.fail(s.ID, fmt.Sprintf("Duplicate operation %s property for `%s`", key, s.ID))
		}
		defined[key] = true
		p.advance()
		p.skipAll()
		var ok bool
		switch key {
		case "input":
			ok = p.operationMember(s.ID, &s.Input, p.inputSuffix, traitInput)
		case "output":
			ok = p.operationMember(s.ID, &s.Output, p.outputSuffix, traitOutput)
		case "errors":
			ok = p.skip(tokColon) && p.errorList(s)
		default:
			return p.fail(s.ID, fmt.Sprintf("Unknown property %s for %s", key, s.ID))
		}
		if !ok || !p.expectWhitespace() {
			return false
		}
	}
	return p.skip(tokRBrace)
}

// operationMember reads the input or output of an operation: the name of a structure, or
// a structure that is defined in place.
func (p *parser) operationMember(operation ID, into *ID, suffix string, trait ID) bool {
	if !p.expect(tokColon, tokWalrus) {
		return false
	}
	inline := p.kind == tokWalrus
	p.advance()
	if !inline {
		p.skipAll()
		target, ok := p.shapeID()
		if ok {
			p.referTo(target, into)
		}
		return ok
	}
	if p.version == version1 {
		return p.fail(operation, "Inlined operation inputs and outputs can only be used with Smithy version 2 or later. "+
			"Attempted to use inlined IO with version `1.0`.")
	}
	p.docs = p.docs[:0]
	p.noteDoc()
	traits, ok := p.docsAndTraits(true)
	if !ok {
		return false
	}
	at := p.at()
	traits = append(traits, writtenTrait{
		name: string(trait), at: at, annotation: true, value: &document.Value{Kind: document.Object, At: at},
	})
	d := p.define(ID(p.namespace+"#"+operation.Name()+suffix), Structure, at)
	if !p.aggregate(d) {
		return false
	}
	p.load.define(d)
	p.applyTraits(d.shape.ID, traits)
	*into = d.shape.ID
	return true
}

func (p *parser) errorList(s *Shape) bool {
	if !p.enter() {
		return false
	}
	p.skipAll()
	if !p.skip(tokLBracket) {
		return false
	}
	p.skipAll()
	for p.kind != tokEOF && p.kind != tokRBracket {
		name, ok := p.shapeID()
		if !ok {
			return false
		}
		p.refer(name, func(id ID, _ Type) { s.Errors = append(s.Errors, id) })
		p.skipAll()
	}
	p.leave()
	return p.skip(tokRBracket)
}
