package schema

import (
	"net/url"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A Path names properties of a model in the lists of a schema, as in
// "/properties/Tags/*/Key".
//
// Published schemas spell paths in more ways than the specification has. Tokens are the
// canonical spelling: "*" wherever an array or a map is crossed, even if the text omits it; no
// inner "properties" or "items" that are keywords rather than names; a missing "/properties"
// or leading slash added. A path to an unknown property is kept as written; a path outside of
// the properties has no Tokens and matches nothing in a model.
type Path struct {
	Text   string // as written
	At     diag.Range
	Tokens document.Pointer // in the model: ["Tags","*","Key"]
}

// String is the path as written.
func (p Path) String() string { return p.Text }

// path reads the text of a path by the properties of the schema, while it is loaded.
func (s *Schema) path(text string, at diag.Range) Path {
	key := pathKey{s.Root, text}
	known, ok := s.refs.paths[key]
	if !ok {
		known = s.readPath(text)
		s.refs.paths[key] = known
	}
	return Path{Text: text, At: at, Tokens: known.tokens}
}

// leadsNowhere reports whether a path of the schema names none of its properties.
func (s *Schema) leadsNowhere(p Path) bool {
	return !s.refs.paths[pathKey{s.Root, p.Text}].leads && !s.brokenOnTheWay(p)
}

// brokenOnTheWay reports whether a path contains a reference that cannot be resolved. The
// reference is reported, and the target of the path is unknown.
func (s *Schema) brokenOnTheWay(p Path) bool {
	if len(s.refs.broken) == 0 || len(s.refs.paths) > maxBrokenPaths {
		return false
	}
	tokens := p.Tokens
	if len(tokens) == 0 {
		tokens, _ = document.ParsePointer(strings.TrimPrefix(p.Text, "#"))
	}
	node := s.Root
	for _, token := range tokens {
		child := node.Get("properties").Get(token)
		if child == nil && token == "properties" {
			continue
		}
		var err error
		if node, err = s.Resolve(child); err != nil {
			return true
		}
	}
	return false
}

type pathKey struct {
	root *document.Value
	text string
}

// A pathMeaning is the canonical form of a path, and whether its property exists.
type pathMeaning struct {
	tokens document.Pointer
	leads  bool
}

func (s *Schema) readPath(text string) pathMeaning {
	if fragment, found := strings.CutPrefix(text, "#"); found {
		if decoded, err := url.PathUnescape(fragment); err == nil {
			text = decoded
		}
	}
	if !strings.HasPrefix(text, "/") {
		text = "/" + text
	}
	tokens, ok := document.ParsePointer(text)
	if !ok || len(tokens) == 0 {
		return pathMeaning{}
	}
	switch {
	case tokens[0] == "properties" && len(tokens) > 1:
		tokens = tokens[1:]
	case s.Root.Get("properties").Get(tokens[0]) == nil:
		return pathMeaning{}
	}
	if canonical := s.canonical(tokens); canonical != nil {
		return pathMeaning{canonical, true}
	}
	return pathMeaning{tokens, false}
}

// maxBrokenPaths is the number of paths above which none is checked for references that cannot
// be resolved, which takes time with every property.
const maxBrokenPaths = 1 << 12

// maxTokens is the number of tokens from which on paths are kept as written: the longest
// published one has nine tokens, and following one costs time with every token.
const maxTokens = 64

// maxPathSteps bounds how many schemas are visited for all paths together. Published schemas
// need some hundreds; beyond the bound paths are kept as written.
const maxPathSteps = 1 << 20

// canonical spells tokens as [Path] promises, or returns nil if they cannot be resolved.
func (s *Schema) canonical(tokens document.Pointer) document.Pointer {
	if len(tokens) > maxTokens {
		return nil
	}
	nodes := s.expand(s.Root)
	var out document.Pointer
	for i := 0; i < len(tokens); i++ {
		if s.refs.pathSteps += len(nodes); s.refs.pathSteps > maxPathSteps {
			return nil
		}
		token := tokens[i]
		if next := s.step(nodes, token); next != nil {
			if isIndex(token) && hasItems(nodes) {
				token = "*"
			}
			nodes, out = next, append(out, token)
			continue
		}
		if crossed := s.step(nodes, "*"); crossed != nil { // an array or a map
			if token == "items" {
				nodes, out = crossed, append(out, "*")
				continue
			}
			if next := s.step(crossed, token); next != nil {
				nodes, out = next, append(out, "*", token)
				continue
			}
		}
		if token == "properties" && i+1 < len(tokens) {
			continue
		}
		head, tail, dotted := strings.Cut(token, ".")
		if !dotted {
			return nil
		}
		tokens = append(append(append(document.Pointer{}, tokens[:i]...), head, tail), tokens[i+1:]...)
		i--
	}
	return out
}

func hasItems(nodes []*document.Value) bool {
	for _, node := range nodes {
		if node.Get("items") != nil {
			return true
		}
	}
	return false
}

func isIndex(token string) bool {
	if token == "" || len(token) > 1 && token[0] == '0' {
		return false
	}
	for i := range len(token) {
		if token[i] < '0' || token[i] > '9' {
			return false
		}
	}
	return true
}

// Property finds the schema of what the model tokens name: through references, items for
// "*" or an index, patternProperties for a key that matches (or "*"), and combiners where
// the object itself does not declare the property. It is the schema after its $ref, nil
// if the schema declares no such property.
func (s *Schema) Property(tokens document.Pointer) *document.Value {
	nodes := s.expand(s.Root)
	for _, token := range tokens {
		nodes = s.step(nodes, token)
	}
	if len(nodes) == 0 {
		return nil
	}
	return nodes[0]
}

const maxBranches = 256

// expand returns the schemas that apply together with or instead of the given one: what
// its $ref names, and the branches of its combiners, each once, itself first. Of a place
// with more than maxBranches schemas the others are left out.
func (s *Schema) expand(nodes ...*document.Value) []*document.Value {
	var out []*document.Value
	seen := map[*document.Value]bool{}
	var visit func(node *document.Value)
	visit = func(node *document.Value) {
		node, err := s.Resolve(node)
		if err != nil || node == nil || seen[node] || len(out) == maxBranches {
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

// step descends one token from any of the schemas; the results are expanded.
func (s *Schema) step(nodes []*document.Value, token string) []*document.Value {
	var next []*document.Value
	s.children(nodes, token, func(node *document.Value) { next = append(next, node) })
	return s.expand(next...)
}

// children calls f for the schemas one token below any of the schemas, as written.
func (s *Schema) children(nodes []*document.Value, token string, f func(*document.Value)) {
	for _, node := range nodes {
		if child := node.Get("properties").Get(token); child != nil {
			f(child)
			continue
		}
		if items := node.Get("items"); items != nil && items.Kind == document.Object && (token == "*" || isIndex(token)) {
			f(items)
		}
		for _, m := range node.Get("patternProperties").Distinct() {
			if token == "*" || s.refs.match(m.Key, token) != noMatch {
				f(m.Value)
			}
		}
	}
}

// IsReference reports whether the schema requires a dynamic reference as a value: its pattern is that of one.
func (s *Schema) IsReference(tokens document.Pointer) bool {
	pattern := s.Property(tokens).Get("pattern")
	return pattern != nil && strings.Contains(pattern.Text, "resolve:")
}

// IsReadOnly reports whether the tokens name a read-only property or something inside one. A
// "*" in the schema's path matches every index and key.
func (s *Schema) IsReadOnly(tokens document.Pointer) bool { return covers(s.ReadOnly, tokens) }

// IsWriteOnly is [Schema.IsReadOnly] for write-only properties.
func (s *Schema) IsWriteOnly(tokens document.Pointer) bool { return covers(s.WriteOnly, tokens) }

// IsCreateOnly is [Schema.IsReadOnly] for create-only properties.
func (s *Schema) IsCreateOnly(tokens document.Pointer) bool { return covers(s.CreateOnly, tokens) }

// IsDeprecated is [Schema.IsReadOnly] for deprecated properties.
func (s *Schema) IsDeprecated(tokens document.Pointer) bool { return covers(s.Deprecated, tokens) }

// IsAttributeList reports whether a property is an array of the arrayType AttributeList.
func (s *Schema) IsAttributeList(tokens document.Pointer) bool {
	in := s.scope()
	for _, token := range tokens {
		in = s.below(in, token)
	}
	return in.attributes
}

func covers(paths []Path, tokens document.Pointer) bool {
	for _, p := range paths {
		if len(p.Tokens) == 0 || len(p.Tokens) > len(tokens) {
			continue
		}
		matches := true
		for i, token := range p.Tokens {
			if token != "*" && token != tokens[i] {
				matches = false
				break
			}
		}
		if matches {
			return true
		}
	}
	return false
}
