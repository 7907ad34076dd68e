package codegen

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A spelling is one of the three ways in which a page writes a type.
type spelling uint8

const (
	spellJSON spelling = iota // [ Tag, ... ]
	spellYAML                 // - Tag, on a line of its own
	spellLong                 // List of Tag
)

// types spells the type of a value, alternatives in the order of the schema.
func (d *docWriter) types(schemas []*document.Value, how spelling) string {
	return d.spell(schemas, how, map[*shape]bool{})
}

// spell keeps the shapes that it is in the middle of: a list can hold itself.
func (d *docWriter) spell(schemas []*document.Value, how spelling, open map[*shape]bool) string {
	s := d.reader.all(schemas)
	if open[s] {
		return html.EscapeString(cmp.Or(s.name, "Map"))
	}
	open[s] = true
	defer delete(open, s)
	var names []string
	forms := slices.DeleteFunc(slices.Clone(s.forms), func(f form) bool { return f.kind == kNull })
	for _, f := range forms {
		name := "Map" // also for what may be anything
		switch f.kind {
		case kBool:
			name = "Boolean"
		case kInt:
			name = "Integer"
		case kNum:
			name = "Double"
		case kStr:
			name = "String"
		case kStruct:
			name = fmt.Sprintf(`<a href="%s">%s</a>`, d.pages[f.object], html.EscapeString(f.object.name))
			if f.object.root { // a schema that refers to itself as a whole
				name = `<a href="README.md">` + html.EscapeString(d.typeName) + "</a>"
			}
		case kList:
			name = d.list(f, how, len(forms) > 1, open)
		case kMap:
			if len(f.values) > 0 {
				name = "Map of " + d.spell(f.values, spellLong, open)
			}
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return cmp.Or(strings.Join(names, ", "), "Map")
}

func (d *docWriter) list(f form, how spelling, several bool, open map[*shape]bool) string {
	item := "Map"
	inner := how
	if how == spellYAML {
		inner = spellJSON
	}
	if len(f.items) > 0 {
		item = d.spell(f.items, inner, open)
	}
	switch {
	case how == spellLong:
		return "List of " + item
	case how == spellYAML && !several:
		return "\n      - " + item
	}
	return "[ " + item + ", ... ]"
}

// constraints are the documented properties of a value besides its type.
type constraints struct {
	allowed              []string // ready for the page
	minLength, maxLength string   // "" for none, and for a minimum of 0
	pattern              string
}

// constraintsOf collects the constraints of a value, including those of alternatives; if
// several alternatives have a keyword, the last one counts.
func (r *reader) constraintsOf(schemas []*document.Value) constraints {
	var c constraints
	for _, node := range schemas {
		r.constrain(&c, node, map[*document.Value]bool{})
	}
	return c
}

func (r *reader) constrain(c *constraints, node *document.Value, seen map[*document.Value]bool) {
	target, _ := r.resolve(node)
	if target == nil || seen[target] {
		return
	}
	seen[target] = true
	for _, v := range enumOf(target) {
		value := plain(v.Text)
		if v.Kind != document.String && v.Kind != document.Number {
			value = plain(string(v.AppendJSON(nil)))
		}
		if !slices.Contains(c.allowed, value) {
			c.allowed = append(c.allowed, value)
		}
	}
	for _, row := range []struct {
		keyword string
		to      *string
	}{{"minLength", &c.minLength}, {"maxLength", &c.maxLength}} {
		if v := target.Get(row.keyword); v != nil && v.Kind == document.Number && v.Text != "0" {
			*row.to = v.Text
		}
	}
	if v := target.Get("pattern"); v != nil {
		c.pattern = v.Text
	}
	for _, keyword := range []string{"oneOf", "anyOf", "allOf"} {
		for _, sub := range items(target.Get(keyword)) {
			r.constrain(c, sub, seen)
		}
	}
}

// plain escapes a text so that Markdown displays it unchanged.
func plain(s string) string {
	return strings.NewReplacer(
		"&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "&#42;", "_", "&#95;", "`", "&#96;",
		`\`, "&#92;", "~", "&#126;", "](", "&#93;(", "\r\n", " ", "\n", " ",
	).Replace(s)
}

// prose is a description: Markdown of the author, but no HTML. Markdown itself displays text
// between backticks unchanged.
func prose(s string) string {
	var b strings.Builder
	for rest := s; rest != ""; {
		i := strings.IndexAny(rest, "`<>&")
		if i < 0 {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:i])
		rest = rest[i:]
		if rest[0] != '`' {
			b.WriteString(html.EscapeString(rest[:1]))
			rest = rest[1:]
			continue
		}
		ticks := rest[:len(rest)-len(strings.TrimLeft(rest, "`"))]
		end := strings.Index(rest[len(ticks):], ticks)
		if end < 0 {
			b.WriteString(ticks)
			rest = rest[len(ticks):]
			continue
		}
		b.WriteString(rest[:end+2*len(ticks)])
		rest = rest[end+2*len(ticks):]
	}
	return b.String()
}
