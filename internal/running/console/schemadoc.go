package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

const (
	// maxShown is how many properties one page of documentation has. Deeper ones are on
	// separate pages, which the properties link to.
	maxShown = 300

	// maxSteps bounds the work for one page, whatever the schema says.
	maxSteps = 100_000

	maxHits   = 100
	maxDepth  = 24
	maxText   = 8 << 10 // bytes of one description
	maxValues = 60      // allowed values of one property
)

// A property is one property of a schema as its documentation shows it, or a group of
// alternatives.
type property struct {
	Name     string   // "" of a group
	Label    string   // of a group: "one of, 2"
	Path     []string // in a model; "*" for the items of lists and the values of maps
	Type     string   // "list of Tag"
	Required bool
	Marks    []string // "primary identifier", "create-only" …
	Facts    []fact
	Values   []string // that are allowed
	Text     []block  // the description
	Children []*property
	Deeper   string // why the children are omitted: "more" or "recursive"; "" if they are not
	node     *document.Value
	within   []*document.Value // the objects around it, against endless descent
}

// A fact is a constraint: "pattern", "^[a-z]+$".
type fact struct{ Name, Value string }

// Anchor is the place of a property on its page.
func (p *property) Anchor() string { return "p-" + anchorOf(p.Path) }

// Dotted is the path of a property as people write it.
func (p *property) Dotted() string { return strings.Join(p.Path, ".") }

// anchorOf encodes a path for an address. Different paths have different anchors.
func anchorOf(path []string) string {
	var b strings.Builder
	for i, token := range path {
		if i > 0 {
			b.WriteByte('.')
		}
		for j := 0; j < len(token); j++ {
			if c := token[j]; c == '-' || c == '_' || c == '*' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
				b.WriteByte(c)
			} else {
				fmt.Fprintf(&b, "~%02x", c)
			}
		}
	}
	return b.String()
}

// A schemaReader documents the properties of one schema, for one page.
type schemaReader struct {
	*schema.Schema
	marks []mark
	steps int // how much was looked at
}

// tired counts a step, and reports whether there were too many.
func (r *schemaReader) tired() bool {
	r.steps++
	return r.steps > maxSteps
}

// A mark is a list of paths of a schema with what it means to be in it.
type mark struct {
	label string
	paths []schema.Path
}

func newSchemaReader(s *schema.Schema) *schemaReader {
	r := &schemaReader{Schema: s, marks: []mark{
		{"primary identifier", s.PrimaryIdentifier}, {"additional identifier", slices.Concat(s.AdditionalIdentifiers...)},
		{"create-only", s.CreateOnly}, {"conditionally create-only", s.ConditionalCreateOnly},
		{"read-only", s.ReadOnly}, {"write-only", s.WriteOnly}, {"deprecated", s.Deprecated}, {"not public", s.NonPublic},
	}}
	return r
}

// document returns the properties below a path, the empty path for all, as deep as fits a
// page. ok is false if the path does not exist.
func (r *schemaReader) document(path []string) (properties []*property, parent *property, ok bool) {
	root := r.Root
	if len(path) > 0 {
		node := r.Property(path)
		if node == nil {
			return nil, nil, false
		}
		parent = r.property(path[len(path)-1], path, node, nil)
		root = node
	}
	top := &property{Path: path, node: root}
	if parent != nil {
		top = parent
	}
	left := maxShown
	for level := []*property{top}; len(level) > 0; {
		var next []*property
		for _, p := range level {
			left -= r.expand(p, left)
			next = append(next, flatten(p.Children)...)
		}
		level = next
	}
	return top.Children, parent, true
}

// expand gives a property its children if there is room for them, and returns how many it
// has got.
func (r *schemaReader) expand(p *property, room int) int {
	holder, path := r.holder(p.node, p.Path)
	if holder == nil {
		return 0
	}
	if slices.Contains(p.within, holder) {
		p.Deeper = "recursive"
		return 0
	}
	inner := p.within != nil // not what the page is about
	if inner && (len(p.within) >= maxDepth || members(holder.Get("properties")) > room) {
		p.Deeper = "more"
		return 0
	}
	children := r.children(holder, path, append(slices.Clone(p.within), holder), 0)
	size := len(flatten(children))
	if inner && size > room {
		p.Deeper = "more"
		return 0
	}
	p.Children = children
	return size
}

// holder is the schema of the objects that a value is or consists of: that of the items of
// a list, with the path to them. It is nil if the value is not an object.
func (r *schemaReader) holder(node *document.Value, path []string) (*document.Value, []string) {
	for range maxDepth {
		node = r.resolved(node)
		if node == nil || node.Kind != document.Object {
			return nil, nil
		}
		if items := node.Get("items"); items != nil && items.Kind == document.Object {
			node, path = items, append(slices.Clone(path), "*")
			continue
		}
		return node, path
	}
	return nil, nil
}

// resolved follows references; nil for those that cannot be resolved.
func (r *schemaReader) resolved(node *document.Value) *document.Value {
	target, err := r.Resolve(node)
	if err != nil {
		return nil
	}
	return target
}

// children are the properties of an object, those of its alternatives as groups.
func (r *schemaReader) children(holder *document.Value, path []string, within []*document.Value, depth int) []*property {
	if depth > 4 || r.tired() { // combiners within combiners
		return nil
	}
	var out []*property
	required := holder.Get("required").Strings()
	for _, m := range holder.Get("properties").Distinct() {
		if r.tired() {
			return out
		}
		p := r.property(m.Key, appendPath(path, m.Key), m.Value, within)
		p.Required = slices.Contains(required, m.Key)
		out = append(out, p)
	}
	for _, m := range holder.Get("patternProperties").Distinct() {
		p := r.property("*", appendPath(path, "*"), m.Value, within)
		p.Facts = append([]fact{{"name", m.Key}}, p.Facts...)
		out = append(out, p)
	}
	if extra := holder.Get("additionalProperties"); extra != nil && extra.Kind == document.Object {
		out = append(out, r.property("*", appendPath(path, "*"), extra, within))
	}
	for _, combiner := range []struct{ key, label string }{{"allOf", "all of"}, {"oneOf", "one of"}, {"anyOf", "any of"}} {
		list := holder.Get(combiner.key)
		if list == nil || list.Kind != document.Array {
			continue
		}
		for i, item := range list.Items {
			node := r.resolved(item)
			if node == nil || slices.Contains(within, node) || r.tired() {
				continue
			}
			inner := r.children(node, path, append(slices.Clone(within), node), depth+1)
			inner = slices.DeleteFunc(inner, func(p *property) bool { return p.Name != "" && declares(out, p.Name) })
			if len(inner) == 0 {
				continue
			}
			if combiner.key == "allOf" {
				out = append(out, inner...)
				continue
			}
			label := fmt.Sprintf("%s %d, alternative %d", combiner.label, len(list.Items), i+1)
			if title := node.Get("title"); title != nil && title.Text != "" {
				label += ": " + bounded(title.Text, 200)
			}
			out = append(out, &property{Label: label, Path: path, Children: inner})
		}
	}
	return out
}

// members is how many keys an object has, repeated ones included.
func members(v *document.Value) int {
	if v == nil {
		return 0
	}
	return len(v.Members)
}

func declares(properties []*property, name string) bool {
	return slices.ContainsFunc(properties, func(p *property) bool { return p.Name == name })
}

func appendPath(path []string, token string) []string { return append(slices.Clone(path), token) }

// property describes one property without its children.
func (r *schemaReader) property(name string, path []string, node *document.Value, within []*document.Value) *property {
	p := &property{Name: name, Path: path, node: node, within: within, Type: r.typeName(node, 0)}
	target := r.resolved(node)
	for _, m := range r.marks {
		if slices.ContainsFunc(m.paths, func(at schema.Path) bool { return slices.Equal(at.Tokens, path) }) {
			p.Marks = append(p.Marks, m.label)
		}
	}
	for _, n := range []*document.Value{node, target} {
		if text := n.Get("description"); text != nil && text.Kind == document.String && len(p.Text) == 0 {
			p.Text = prose(text.Text)
		}
	}
	if target != nil {
		p.Facts, p.Values = r.constraints(target)
	}
	return p
}

// typeName spells the type of a value: "string", "list of Tag", "map of string".
func (r *schemaReader) typeName(node *document.Value, depth int) string {
	if depth > 6 || r.tired() {
		return "…"
	}
	name := definitionName(node)
	target := r.resolved(node)
	if target == nil {
		return cmp.Or(name, "unknown")
	}
	var names []string
	switch declared := target.Get("type"); {
	case declared != nil && declared.Kind == document.String:
		names = []string{declared.Text}
	case declared != nil:
		names = declared.Strings()
	case target.Get("properties") != nil || target.Get("patternProperties") != nil:
		names = []string{"object"}
	case target.Get("items") != nil:
		names = []string{"array"}
	default:
		return cmp.Or(name, r.alternatives(target, depth), "any")
	}
	for i, n := range names {
		switch n {
		case "array":
			names[i] = r.listName(target, depth)
		case "object":
			if names[i] = cmp.Or(name, title(target), "object"); names[i] == "object" && target.Get("properties") == nil {
				names[i] = r.mapName(target, depth)
			}
		}
		names[i] = bounded(names[i], 200)
	}
	return strings.Join(names, " or ")
}

func (r *schemaReader) listName(target *document.Value, depth int) string {
	what := "list of "
	if unique := target.Get("uniqueItems"); unique != nil && unique.Bool {
		what = "set of "
	}
	if items := target.Get("items"); items != nil && items.Kind == document.Object {
		return what + r.typeName(items, depth+1)
	}
	return what + "any"
}

func (r *schemaReader) mapName(target *document.Value, depth int) string {
	if patterns := target.Get("patternProperties").Distinct(); len(patterns) > 0 {
		return "map of " + r.typeName(patterns[0].Value, depth+1)
	}
	if extra := target.Get("additionalProperties"); extra != nil && extra.Kind == document.Object {
		return "map of " + r.typeName(extra, depth+1)
	}
	return "object"
}

// alternatives spells a value that only combiners say the type of.
func (r *schemaReader) alternatives(target *document.Value, depth int) string {
	var names []string
	for _, key := range []string{"oneOf", "anyOf", "allOf"} {
		list := target.Get(key)
		if list == nil {
			continue
		}
		for _, item := range list.Items[:min(len(list.Items), 6)] {
			if name := r.typeName(item, depth+1); name != "any" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, " or ")
}

// definitionName is the name that a reference gives to a value, "" for none.
func definitionName(node *document.Value) string {
	ref := node.Get("$ref")
	if ref == nil {
		return ""
	}
	return bounded(ref.Text[strings.LastIndexAny(ref.Text, "/#")+1:], 100)
}

func title(node *document.Value) string {
	if t := node.Get("title"); t != nil && t.Kind == document.String {
		return bounded(t.Text, 100)
	}
	return ""
}

// factNames are the keywords that a page displays unchanged, in this order.
var factNames = []fact{
	{"const", "always"}, {"default", "default"}, {"format", "format"}, {"pattern", "pattern"}, {"multipleOf", "multiple of"},
	{"arrayType", "list type"}, {"examples", "for example"},
}

// rangeNames are the pairs of keywords that bound something.
var rangeNames = []struct{ least, most, name, exact string }{
	{"minLength", "maxLength", "length", ""},
	{"minimum", "maximum", "value", ""},
	{"exclusiveMinimum", "exclusiveMaximum", "value", " (not included)"},
	{"minItems", "maxItems", "items", ""},
	{"minProperties", "maxProperties", "properties", ""},
}

// constraints collects what a value must be, and the values that it may have.
func (r *schemaReader) constraints(target *document.Value) (facts []fact, values []string) {
	for _, f := range factNames {
		v := target.Get(f.Name)
		if v == nil {
			continue
		}
		facts = append(facts, fact{Name: f.Value, Value: literal(v)})
	}
	for _, n := range rangeNames {
		least, most := target.Get(n.least), target.Get(n.most)
		var text string
		switch {
		case least != nil && most != nil && least.Text == most.Text:
			text = "exactly " + literal(least)
		case least != nil && most != nil:
			text = literal(least) + " to " + literal(most)
		case least != nil:
			text = "from " + literal(least)
		case most != nil:
			text = "up to " + literal(most)
		default:
			continue
		}
		facts = append(facts, fact{n.name, text + n.exact})
	}
	if v := target.Get("insertionOrder"); v != nil && v.Kind == document.Bool && !v.Bool {
		facts = append(facts, fact{"order", "any"})
	}
	if v := target.Get("additionalProperties"); v != nil && v.Kind == document.Bool && v.Bool {
		facts = append(facts, fact{"other properties", "allowed"})
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		if text := requiredSets(target.Get(key)); text != "" {
			facts = append(facts, fact{"requires", text})
		}
	}
	if list := target.Get("enum"); list != nil {
		for i, v := range list.Items {
			if i == maxValues {
				values = append(values, fmt.Sprintf("… and %d more", len(list.Items)-i))
				break
			}
			values = append(values, literal(v))
		}
	}
	return facts, values
}

// requiredSets spells alternatives that only say which properties must be there.
func requiredSets(list *document.Value) string {
	if list == nil || list.Kind != document.Array {
		return ""
	}
	var sets []string
	for _, item := range list.Items {
		if names := item.Get("required").Strings(); len(names) > 0 {
			sets = append(sets, strings.Join(names, " and "))
		}
	}
	return bounded(strings.Join(sets, ", or "), 1000)
}

// literal is a value as in a document, strings without their quotes.
func literal(v *document.Value) string {
	if v.Kind == document.String {
		if v.Text == "" {
			return `""`
		}
		return bounded(v.Text, 1000)
	}
	return bounded(string(v.AppendJSON(nil)), 1000)
}

// search finds the properties whose name has a text in it, or whose path does if the text
// has a dot or a slash. A definition that is used in several places is found in the first.
// all is false if there may be more.
func (r *schemaReader) search(text string) (hits []*property, all bool) {
	text = strings.ToLower(strings.ReplaceAll(strings.Trim(text, "/"), "/", "."))
	matches := func(p *property) bool {
		if strings.Contains(text, ".") {
			return strings.Contains(strings.ToLower(p.Dotted()), text)
		}
		return strings.Contains(strings.ToLower(p.Name), text)
	}
	seen := map[*document.Value]bool{}
	level := []*property{{node: r.Root}}
	for len(level) > 0 {
		var next []*property
		for _, p := range level {
			holder, path := r.holder(p.node, p.Path)
			if holder == nil || seen[holder] {
				continue
			}
			seen[holder] = true
			for _, child := range flatten(r.children(holder, path, []*document.Value{holder}, 0)) {
				if r.tired() {
					return hits, false
				}
				if matches(child) {
					if len(hits) == maxHits {
						return hits, false
					}
					hits = append(hits, child)
				}
				next = append(next, child)
			}
		}
		level = next
	}
	return hits, true
}

// flatten puts the properties of groups in place of the groups.
func flatten(properties []*property) []*property {
	var out []*property
	for _, p := range properties {
		if p.Name == "" {
			out = append(out, flatten(p.Children)...)
		} else {
			out = append(out, p)
		}
	}
	return out
}
