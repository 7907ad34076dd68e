package schema

import (
	"strings"
	"sync"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// Grammar returns the part of the meta-schema of a kind for a place of a document, for tools
// that propose values: a schema in the subset of draft-07 that the folder meta uses, with its
// own $ref resolved, but not those inside it. It is nil where the meta-schema has no rules:
// below unknown keys, below patternProperties and data, and inside "contains", which allows
// all of draft-07.
func Grammar(k Kind, at document.Pointer) *document.Value {
	m := loadMeta()
	name, known := metaNames[k]
	if !known {
		return nil
	}
	node, name := m.follow(m.parsed[metaBase+name], name)
	for _, token := range at {
		if node == nil {
			return nil
		}
		node, name = m.step(node, name, token)
	}
	return node
}

// step descends one token in a meta-schema; for an index it chooses the alternative for
// arrays.
func (m *metaSchema) step(node *document.Value, name, token string) (*document.Value, string) {
	if child := node.Get("properties").Get(token); child != nil {
		return m.follow(child, name)
	}
	if items := node.Get("items"); items != nil && isIndex(token) {
		return m.follow(items, name)
	}
	for _, member := range node.Get("patternProperties").Distinct() {
		if metaPatterns()[member.Key].match(token) == matches {
			return m.follow(member.Value, name)
		}
	}
	if others := node.Get("additionalProperties"); others != nil && others.Kind == document.Object {
		return m.follow(others, name)
	}
	for _, keyword := range [...]string{"then", "else"} {
		if branch := node.Get(keyword); branch != nil {
			branch, file := m.follow(branch, name)
			if found, file := m.step(branch, file, token); found != nil {
				return found, file
			}
		}
	}
	return nil, name
}

// metaPatterns are the keys of patternProperties in the meta-schemas, compiled.
var metaPatterns = sync.OnceValue(func() map[string]*pattern {
	out := map[string]*pattern{}
	var visit func(v *document.Value)
	visit = func(v *document.Value) {
		for _, m := range v.Get("patternProperties").Distinct() {
			out[m.Key] = compile(m.Key)
		}
		for _, m := range v.Distinct() {
			visit(m.Value)
		}
	}
	for _, root := range loadMeta().parsed {
		visit(root)
	}
	return out
})

// follow resolves the references of meta-schemas, which name a document of the folder or
// stay in their own. Those to draft-07 lead out of the folder.
func (m *metaSchema) follow(node *document.Value, name string) (*document.Value, string) {
	for range len(m.parsed) + 1 {
		ref := node.Get("$ref")
		if ref == nil || ref.Kind != document.String {
			return node, name
		}
		file, fragment, _ := strings.Cut(ref.Text, "#")
		if file != "" {
			name = file
		}
		pointer, _ := document.ParsePointer(fragment)
		node = m.parsed[metaBase+name].Lookup(pointer)
	}
	return node, name
}
