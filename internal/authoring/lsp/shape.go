package lsp

import (
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A shape walks the properties that the tree of a schema declares. Unlike schema.Schema
// it knows the places of their names, and it takes trees of broken documents.
type shape struct {
	root *document.Value // the document, in which references resolve
	base *document.Value // whose properties are walked: root, or its typeConfiguration
}

// A declared is one property, or the items of an array or the values of a map under the
// name "*".
type declared struct {
	name   string
	member *document.Member // nil for items
	node   *document.Value  // its schema, as written
	parent *document.Value  // the object schema that declares it
}

// The bounds of a walk. Published schemas stay below a tenth of them.
const (
	maxFollow   = 32
	maxBranches = 64
)

// target is the value that a local reference names, nil for others and for dead ones.
func (s *shape) target(ref string) *document.Value {
	fragment, ok := strings.CutPrefix(strings.TrimPrefix(ref, "resource-schema.json"), "#")
	if !ok {
		return nil
	}
	pointer, ok := document.ParsePointer(fragment)
	if !ok {
		return nil
	}
	return s.root.Lookup(pointer)
}

// resolve follows local references.
func (s *shape) resolve(node *document.Value) *document.Value {
	for range maxFollow {
		ref := node.Get("$ref")
		if ref == nil || ref.Kind != document.String {
			return node
		}
		node = s.target(ref.Text)
	}
	return nil
}

// expand returns the schemas that apply at a place: the resolved ones, and the branches of
// their combiners.
func (s *shape) expand(nodes ...*document.Value) []*document.Value {
	var out []*document.Value
	seen := map[*document.Value]bool{}
	var visit func(*document.Value)
	visit = func(node *document.Value) {
		node = s.resolve(node)
		if node == nil || seen[node] || len(out) == maxBranches {
			return
		}
		seen[node] = true
		out = append(out, node)
		for _, keyword := range [...]string{"allOf", "anyOf", "oneOf"} {
			if branches := node.Get(keyword); branches != nil {
				for _, branch := range branches.Items {
					visit(branch)
				}
			}
		}
	}
	for _, node := range nodes {
		visit(node)
	}
	return out
}

// children lists the properties of the schemas, each name once, in the order written.
func (s *shape) children(nodes []*document.Value) []declared {
	var out []declared
	seen := map[string]bool{}
	add := func(d declared) {
		if !seen[d.name] {
			seen[d.name] = true
			out = append(out, d)
		}
	}
	for _, node := range nodes {
		if properties := node.Get("properties"); properties != nil {
			for i := range properties.Members {
				m := &properties.Members[i]
				add(declared{m.Key, m, m.Value, node})
			}
		}
		if items := node.Get("items"); items != nil && items.Kind == document.Object {
			add(declared{"*", nil, items, node})
		}
		if others := node.Get("additionalProperties"); others != nil && others.Kind == document.Object {
			add(declared{"*", nil, others, node})
		}
		if patterns := node.Get("patternProperties"); patterns != nil {
			for i := range patterns.Members {
				add(declared{"*", nil, patterns.Members[i].Value, node})
			}
		}
	}
	return out
}

// child finds one of the children.
func (s *shape) child(nodes []*document.Value, name string) *declared {
	var crossed *declared
	for _, d := range s.children(nodes) {
		if d.name == name {
			return &d
		}
		if d.name == "*" && (d.node != nil) {
			crossed = &d
		}
	}
	if crossed == nil {
		return nil
	}
	if parent := crossed.parent; parent.Get("items") != nil && !isIndex(name) && parent.Get("patternProperties") == nil && parent.Get("additionalProperties") == nil {
		return nil
	}
	return crossed
}

func isIndex(token string) bool {
	for i := range len(token) {
		if token[i] < '0' || token[i] > '9' {
			return false
		}
	}
	return token != ""
}

// find follows the tokens of a model: names, and "*", indices or keys of a map. It
// returns what the last one names, with the tokens in the one true spelling; nil if they
// cannot be resolved. An array or a map that is crossed without a token is crossed.
func (s *shape) find(tokens document.Pointer) (*declared, document.Pointer) {
	if len(tokens) > maxFollow {
		return nil, nil
	}
	nodes := s.expand(s.base)
	var found *declared
	var out document.Pointer
	for _, token := range tokens {
		next := s.child(nodes, token)
		if next == nil {
			crossed := s.child(nodes, "*")
			if crossed == nil || token == "properties" || token == "items" {
				return nil, nil
			}
			if next = s.child(s.expand(crossed.node), token); next == nil {
				return nil, nil
			}
			out = append(out, "*")
		}
		found, out = next, append(out, next.name)
		nodes = s.expand(next.node)
	}
	return found, out
}

// below lists the declarations directly below the tokens; nil if they cannot be resolved.
func (s *shape) below(tokens document.Pointer) []declared {
	if len(tokens) == 0 {
		return s.children(s.expand(s.base))
	}
	found, _ := s.find(tokens)
	if found == nil {
		return nil
	}
	return s.children(s.expand(found.node))
}

// tokensOf reads the text of a path in the lists of a schema: "/properties/Tags/*/Key".
func tokensOf(text string) (document.Pointer, bool) {
	text = strings.TrimPrefix(text, "#")
	if text != "" && !strings.HasPrefix(text, "/") {
		text = "/" + text
	}
	tokens, ok := document.ParsePointer(text)
	if !ok || len(tokens) == 0 {
		return nil, false
	}
	if tokens[0] == "properties" {
		tokens = tokens[1:]
	}
	return tokens, len(tokens) > 0
}

// words describes the type of a property in a few words: "array of string".
func (s *shape) words(node *document.Value) string {
	resolved := s.resolve(node)
	if resolved == nil {
		return ""
	}
	types := typesOf(resolved)
	text := strings.Join(types, " or ")
	if len(types) == 1 && types[0] == "array" {
		if items := s.resolve(resolved.Get("items")); items != nil {
			if inner := strings.Join(typesOf(items), " or "); inner != "" {
				text += " of " + inner
			}
		}
	}
	if text == "" {
		for _, keyword := range [...]string{"oneOf", "anyOf", "allOf"} {
			if resolved.Get(keyword) != nil {
				return keyword
			}
		}
	}
	return text
}

// typesOf is the value of "type" as a list.
func typesOf(node *document.Value) []string {
	t := node.Get("type")
	switch {
	case t == nil && (node.Get("properties") != nil || node.Get("patternProperties") != nil):
		return []string{"object"}
	case t == nil:
		return nil
	case t.Kind == document.String:
		return []string{t.Text}
	}
	return t.Strings()
}
