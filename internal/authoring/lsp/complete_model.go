package lsp

import (
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// forModel proposes completions for an input or overrides.json.
func (p *proposals) forModel() {
	of := p.server.projectSchema(p.d)
	if of == nil {
		return
	}
	at := p.cursor.pointer()
	if p.d.role() == overridesRole {
		switch {
		case p.cursor.key && len(at) == 1:
			for _, word := range []string{"CREATE", "UPDATE"} {
				p.addKey(proposal{label: word, kind: itemKeyword, text: overrideTexts[word], value: "{$0}"})
			}
			return
		case p.cursor.key && len(at) == 2:
			p.pointers(of, at[0] == "UPDATE")
			return
		}
	}
	tokens, ok := modelPath(p.d.role(), at)
	if !ok {
		return
	}
	s := of.shapeAt(nil)
	if p.cursor.key {
		p.modelKeys(of, s, tokens[:len(tokens)-1])
		return
	}
	found, _ := s.find(tokens)
	if found == nil {
		return
	}
	for _, node := range s.expand(found.node) {
		p.modelValues(node)
	}
}

var overrideTexts = map[string]string{
	"CREATE": "Values that take the place of generated ones in create requests: JSON pointers into the model, without `/properties`.",
	"UPDATE": "The same for update requests. Without it those of CREATE are used.",
}

// modelKeys proposes the properties of an object in a model, required ones first. Read-only
// properties are not inputs.
func (p *proposals) modelKeys(of *snapshot, s *shape, parent document.Pointer) {
	loaded := of.analysis().schema()
	for _, c := range s.below(parent) {
		if c.member == nil || loaded.IsReadOnly(parent.Append(c.name)) {
			continue
		}
		q := proposal{label: c.name, rank: 1, kind: itemProperty, detail: s.words(c.node), text: describeText(c.node), value: skeleton(s.resolve(c.node))}
		if slices.Contains(c.parent.Get("required").Strings(), c.name) {
			q.rank, q.detail = 0, strings.TrimSuffix("required; "+q.detail, "; ")
		}
		p.addKey(q)
	}
}

// modelValues proposes the values that a schema names.
func (p *proposals) modelValues(node *document.Value) {
	words := enumeration(node)
	for _, keyword := range [...]string{"default", "examples"} {
		switch v := node.Get(keyword); {
		case v == nil:
		case keyword == "examples":
			for _, item := range v.Items {
				words = append(words, string(item.AppendJSON(nil)))
			}
		default:
			words = append(words, string(v.AppendJSON(nil)))
		}
	}
	for i, word := range words {
		if !slices.Contains(words[:i], word) && len(word) <= maxValue {
			p.addLiteral(proposal{label: word, kind: itemValue})
		}
	}
}

// maxValue bounds the JSON of a proposed value.
const maxValue = 1 << 10

// pointers proposes the places of a model that can be overridden: those at the top, and step
// by step what is below the typed pointer.
func (p *proposals) pointers(of *snapshot, update bool) {
	loaded, s := of.analysis().schema(), of.shapeAt(nil)
	prefix, ok := overridePath(p.cursor.text)
	if !ok {
		return
	}
	var parents []document.Pointer
	if len(prefix) > 0 {
		parents = append(parents, prefix[:len(prefix)-1])
	}
	if len(prefix) > 0 && prefix[len(prefix)-1] != "" {
		parents = append(parents, prefix)
	}
	for _, parent := range parents {
		for _, c := range s.below(parent) {
			name := c.name
			if name == "*" {
				if c.parent.Get("items") == nil {
					continue // any key of a map
				}
				name = "0"
			}
			tokens := parent.Append(name)
			if loaded.IsReadOnly(tokens) || update && loaded.IsCreateOnly(tokens) {
				continue
			}
			p.addKey(proposal{label: tokens.String(), kind: itemReference, detail: s.words(c.node), text: describeText(c.node), value: skeleton(s.resolve(c.node))})
			p.seen[tokens.String()] = true
		}
	}
	p.incomplete = true
}

// describeText is the description of a property, for readers of markdown.
func describeText(node *document.Value) string {
	v := node.Get("description")
	if v == nil || v.Kind != document.String {
		return ""
	}
	return plainMarkdown(words.Cut(v.Text, maxValue))
}
