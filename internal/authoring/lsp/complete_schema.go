package lsp

import (
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// pathLists are the top-level keys whose arrays name properties by paths.
var pathLists = []string{
	"primaryIdentifier", "additionalIdentifiers", "readOnlyProperties", "writeOnlyProperties", "createOnlyProperties",
	"conditionalCreateOnlyProperties", "deprecatedProperties", "nonPublicProperties",
}

// A meaning is the role of a string in a schema document.
type meaning uint8

const (
	plainText      meaning = iota
	propertyPath           // "/properties/Name"
	definitionPath         // "/definitions/Name"
	reference              // the value of $ref
	requiredName           // a member of the object around
)

// meaningOf returns the role of a string at a place of a schema document. isKey is for keys;
// base is the place of the object whose properties are meant.
func meaningOf(k schema.Kind, at document.Pointer, isKey bool) (m meaning, base document.Pointer) {
	if len(at) == 0 {
		return plainText, nil
	}
	top := at
	if at[0] == "typeConfiguration" {
		base, top = at[:1], at[1:]
	}
	n := len(top)
	switch {
	case isKey && n == 2 && top[0] == "propertyTransform":
		return propertyPath, base
	case isKey && n > 1 && top[n-2] == "dependencies" && schema.Grammar(k, at[:len(at)-2]).Get("properties").Get("$ref") != nil:
		return requiredName, at[:len(at)-2]
	case isKey:
		return plainText, nil
	case n == 2 && isIndex(top[1]) && slices.Contains(pathLists, top[0]),
		n == 3 && top[0] == "additionalIdentifiers",
		n == 2 && top[0] == "tagging" && top[1] == "tagProperty",
		n == 3 && (top[0] == "resourceLink" || top[0] == "moduleLink") && top[1] == "mappings":
		return propertyPath, base
	case n == 2 && top[0] == "nonPublicDefinitions":
		return definitionPath, base
	}
	last := len(at) - 1
	parent := schema.Grammar(k, at[:last])
	if at[last] == "$ref" && parent.Get("properties").Get("$ref") != nil {
		return reference, nil
	}
	if last > 0 && isIndex(at[last]) && at[last-1] == "required" && parent.Get("uniqueItems") != nil {
		return requiredName, at[:last-1]
	}
	if last > 1 && isIndex(at[last]) && at[last-2] == "dependencies" && parent.Get("if") != nil {
		return requiredName, at[:last-2]
	}
	return plainText, nil
}

// shapeAt walks the properties of the document, or of its typeConfiguration.
func (d *snapshot) shapeAt(base document.Pointer) *shape {
	return &shape{root: d.tree(), base: d.tree().Lookup(base)}
}

// forSchema proposes completions for a schema document.
func (p *proposals) forSchema() {
	at := p.cursor.pointer()
	m, base := meaningOf(p.d.kind(), at, p.cursor.key)
	switch m {
	case propertyPath:
		p.paths(base, at)
	case definitionPath:
		p.names("/definitions/", p.d.tree().Get("definitions"), itemReference)
	case reference:
		p.names("#/definitions/", p.d.tree().Get("definitions"), itemReference)
		p.names("#/properties/", p.d.tree().Get("properties"), itemReference)
	case requiredName:
		p.members(base)
	default:
		if p.cursor.key {
			p.keywords()
		} else {
			p.values(at)
		}
	}
}

// names proposes the keys of an object, each after a prefix.
func (p *proposals) names(prefix string, v *document.Value, kind int) {
	if v == nil {
		return
	}
	s := p.d.shapeAt(nil)
	for _, m := range v.Members {
		p.addString(proposal{label: prefix + escapeToken(m.Key), kind: kind, detail: s.words(m.Value), text: describeText(m.Value)})
	}
}

func escapeToken(name string) string { return strings.TrimPrefix(document.Pointer{name}.String(), "/") }

// members proposes the names of the members that an object schema has. A branch of a
// combiner names those of the object around it, too.
func (p *proposals) members(at document.Pointer) {
	d := p.d
	s := d.shapeAt(nil)
	for {
		for _, c := range s.children(s.expand(d.tree().Lookup(at))) {
			q := proposal{label: c.name, kind: itemProperty, detail: s.words(c.node), text: describeText(c.node), value: "[$0]"}
			switch {
			case c.member == nil:
			case p.cursor.key:
				p.addKey(q)
			default:
				p.addString(q)
			}
		}
		n := len(at)
		if n < 2 || !isIndex(at[n-1]) || !slices.Contains([]string{"allOf", "anyOf", "oneOf"}, at[n-2]) {
			return
		}
		at = at[:n-2]
	}
}

// keywords proposes the keys that the meta-schema allows in an object.
func (p *proposals) keywords() {
	k, at := p.d.kind(), p.cursor.container
	grammar := schema.Grammar(k, at)
	known := grammar.Get("properties")
	if known == nil {
		p.missingNames(at)
		return
	}
	required := grammar.Get("required").Strings()
	in := areaOf(k, at)
	for _, m := range known.Members {
		if m.Key == "remote" || m.Key == "taggable" && in == topArea {
			continue // reserved, and deprecated
		}
		value := schema.Grammar(k, at.Append(m.Key))
		q := proposal{label: m.Key, rank: 1, kind: itemKeyword, detail: factsOf(value), text: keywordText(in, m.Key), value: skeleton(value)}
		if slices.Contains(required, m.Key) {
			q.rank, q.detail = 0, strings.TrimSuffix("required; "+q.detail, "; ")
		}
		p.addKey(q)
	}
}

// missingNames proposes, where the author chooses the names, those that the document uses
// and does not declare.
func (p *proposals) missingNames(at document.Pointer) {
	if len(at) == 0 {
		return
	}
	last := at[len(at)-1]
	var wanted []string
	switch {
	case last == "definitions" && len(at) == 1:
		wanted = p.d.references()
	case last == "properties" && (len(at) == 1 || len(at) == 2 && at[0] == "typeConfiguration"):
		wanted = p.d.named(at[:len(at)-1])
	default:
		return
	}
	for _, name := range wanted {
		p.addKey(proposal{label: name, kind: itemProperty, detail: "named elsewhere, not declared", value: "{$0}"})
	}
}

// references are the names of definitions that some $ref names.
func (d *snapshot) references() []string {
	var out []string
	each(d.tree(), func(v *document.Value) {
		ref := v.Get("$ref")
		if ref == nil || ref.Kind != document.String {
			return
		}
		if name, ok := strings.CutPrefix(ref.Text, "#/definitions/"); ok && name != "" && !strings.Contains(name, "/") {
			out = append(out, name)
		}
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// each visits every object and array of a tree.
func each(v *document.Value, visit func(*document.Value)) {
	if v == nil {
		return
	}
	visit(v)
	for _, m := range v.Members {
		each(m.Value, visit)
	}
	for _, item := range v.Items {
		each(item, visit)
	}
}

// named are the top-level properties that lists of paths and required name.
func (d *snapshot) named(base document.Pointer) []string {
	root := d.tree().Lookup(base)
	out := root.Get("required").Strings()
	for _, list := range pathLists {
		each(root.Get(list), func(v *document.Value) {
			if tokens, ok := tokensOf(v.Text); ok && v.Kind == document.String {
				out = append(out, tokens[0])
			}
		})
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// values proposes the words that the meta-schema allows as a value, and what the
// document itself suggests.
func (p *proposals) values(at document.Pointer) {
	grammar := schema.Grammar(p.d.kind(), at)
	words := enumeration(grammar)
	last := at[len(at)-1]
	parent := p.d.tree().Lookup(at[:len(at)-1])
	switch {
	case last == "default" || last == "const":
		words = append(words, enumeration(p.d.shapeAt(nil).resolve(parent))...)
	case len(at) > 2 && at[0] == "handlers" && at[len(at)-2] == "permissions":
		words = append(words, p.d.permissions()...)
	}
	for _, word := range words {
		p.addLiteral(proposal{label: word, kind: itemEnum})
	}
}

// permissions are those that any of the handlers has, as JSON.
func (d *snapshot) permissions() []string {
	var out []string
	handlers := d.tree().Get("handlers")
	if handlers == nil {
		return nil
	}
	for _, m := range handlers.Members {
		for _, permission := range m.Value.Get("permissions").Strings() {
			if permission != "" {
				out = append(out, quote(permission))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// paths proposes the paths of properties: those at the top, and step by step what is below the
// typed path.
func (p *proposals) paths(base, at document.Pointer) {
	s := p.d.shapeAt(base)
	prefix, ok := tokensOf(p.cursor.text)
	var parent document.Pointer
	if ok && len(prefix) > 1 {
		parent = prefix[:len(prefix)-1]
	}
	// A path that is complete may continue.
	for _, below := range []document.Pointer{parent, prefix} {
		if ok || len(below) == 0 {
			p.pathsBelow(s, base, at, below)
		}
		if !ok || len(prefix) == 0 {
			break
		}
	}
	p.incomplete = true // there are others below these
}

func (p *proposals) pathsBelow(s *shape, base, at, parent document.Pointer) {
	identifier := strings.HasSuffix(at[len(base)], "dentifier") || at[len(base)] == "additionalIdentifiers"
	for _, c := range s.below(parent) {
		tokens := parent.Append(c.name)
		q := proposal{label: "/properties" + tokens.String(), kind: itemReference, detail: s.words(c.node), text: describeText(c.node), value: `"$0"`}
		scalar := !strings.HasPrefix(q.detail, "array") && !strings.HasPrefix(q.detail, "object")
		switch {
		case identifier && (!scalar || c.name == "*"), c.name == "*" && !identifier:
			q.rank = 2
		case at[len(at)-1] == "tagProperty" && !strings.Contains(c.name, "Tag"):
			q.rank = 1
		}
		if p.cursor.key {
			p.addKey(q)
		} else {
			p.addString(q)
		}
		p.seen[q.label] = true
	}
}
