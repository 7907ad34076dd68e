package stub

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/api"
)

// A node is an element of XML, or a part of a name in a form.
type node struct {
	name     string
	text     string
	attrs    map[string]string
	children []*node
}

// A dialect is how lists and maps are written in a tree.
type dialect int

const (
	formDialect  dialect = iota // a[b], a[], a repeated
	queryDialect                // A.member.1, A.entry.1.key
	xmlDialect
)

// child returns the first child of that name, or nil.
func (n *node) child(name string) *node {
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

// grow returns the child of that name, a new one if there is none.
func (n *node) grow(name string) *node {
	if c := n.child(name); c != nil {
		return c
	}
	c := &node{name: name}
	n.children = append(n.children, c)
	return c
}

// formTree reads the form of a service that is described by OpenAPI.
func formTree(body []byte) (*node, *fault) {
	return treeOf(body, func(name string) []string {
		return strings.Split(strings.ReplaceAll(name, "]", ""), "[")
	})
}

// queryTree reads the form of the protocol awsQuery.
func queryTree(body []byte) (*node, *fault) {
	return treeOf(body, func(name string) []string { return strings.Split(name, ".") })
}

// maxFields bounds the fields of a form: finding one in the tree takes time for each.
const maxFields = 2000

func treeOf(body []byte, split func(string) []string) (*node, *fault) {
	if bytes.Count(body, []byte("&")) > maxFields {
		return nil, faultf(invalid, "the form has more than %d fields", maxFields)
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, faultf(invalid, "the body is not a form")
	}
	root := &node{}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		path := split(name)
		if len(path) > maxDepth {
			return nil, faultf(invalid, "the name of a field has more than %d parts", maxDepth)
		}
		at := root
		for _, part := range path[:len(path)-1] {
			at = at.grow(part)
		}
		last := path[len(path)-1]
		for i, value := range values[name] {
			c := at.child(last)
			if i > 0 || c == nil || last == "" {
				c = &node{name: last}
				at.children = append(at.children, c)
			}
			c.text = value
		}
	}
	return root, nil
}

// xmlTree reads a document. Entities besides those of XML itself are errors.
func xmlTree(body []byte) (*node, *fault) {
	d := xml.NewDecoder(bytes.NewReader(body))
	root := &node{}
	stack := []*node{root}
	for count := 0; ; count++ {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, faultf(invalid, "the body is not XML: %v", err)
		}
		if len(stack) > maxDepth || count > maxValues {
			return nil, faultf(invalid, "the document has more than %d levels or %d parts", maxDepth, maxValues)
		}
		top := stack[len(stack)-1]
		switch t := token.(type) {
		case xml.StartElement:
			n := &node{name: t.Name.Local, attrs: map[string]string{}}
			for _, a := range t.Attr {
				n.attrs[a.Name.Local] = a.Value
			}
			top.children = append(top.children, n)
			stack = append(stack, n)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top.text += string(t)
		}
	}
	if len(root.children) == 0 {
		return nil, faultf(invalid, "the body has no element")
	}
	return root.children[0], nil
}

// tree reads a value by its shape.
func (d *decoder) tree(shape *api.Shape, n *node, in dialect, at string) any {
	switch shape.Kind {
	case api.Structure, api.Union:
		return d.treeObject(shape, n, in, at)
	case api.List:
		return d.treeList(shape, n.itemsOf(shape, in), in, at)
	case api.Map:
		return d.treeMap(shape, n.entriesOf(in), in, at)
	case api.Any:
		return n.text
	}
	if len(n.children) > 0 {
		d.problems.add(at, "expected text but got an object")
		return nil
	}
	text := n.text
	if shape.Kind != api.String {
		text = strings.TrimSpace(text)
	}
	return d.text(shape, text, at)
}

func (d *decoder) treeObject(shape *api.Shape, n *node, in dialect, at string) any {
	out := map[string]any{}
	known := map[string]bool{}
	var names []string
	for _, m := range shape.Members {
		known[m.Wire] = true
		names = append(names, m.Wire)
		where := at + "." + m.Wire
		if m.Attribute && in == xmlDialect {
			if text, ok := n.attrs[m.Wire[strings.LastIndex(m.Wire, ":")+1:]]; ok {
				out[m.Name] = d.text(m.Shape, text, where)
			}
			continue
		}
		var found []*node
		for _, c := range n.children {
			if c.name == m.Wire {
				found = append(found, c)
			}
		}
		switch {
		case len(found) == 0:
		case m.Shape.Kind == api.List && (m.Flat && in == xmlDialect || in == formDialect && len(found) > 1):
			out[m.Name] = d.treeList(m.Shape, found, in, where)
		case m.Shape.Kind == api.Map && m.Flat && in == xmlDialect:
			out[m.Name] = d.treeMap(m.Shape, found, in, where)
		case m.Flat && in == queryDialect && m.Shape.Kind == api.List:
			out[m.Name] = d.treeList(m.Shape, found[0].numbered(), in, where)
		case m.Flat && in == queryDialect && m.Shape.Kind == api.Map:
			out[m.Name] = d.treeMap(m.Shape, found[0].numbered(), in, where)
		default:
			out[m.Name] = d.tree(m.Shape, found[0], in, where)
		}
	}
	for _, c := range n.children {
		if !known[c.name] && !shape.More {
			d.problems.unknown(at+"."+c.name, "member", c.name, names)
		}
	}
	if shape.Kind == api.Union && len(out) != 1 {
		d.problems.add(at, "exactly one member must be set, not %d", len(out))
	}
	return out
}

// numbered are the children whose names are numbers, in their order.
func (n *node) numbered() []*node {
	out := slices.DeleteFunc(slices.Clone(n.children), func(c *node) bool {
		_, err := strconv.ParseUint(c.name, 10, 31)
		return err != nil
	})
	slices.SortStableFunc(out, func(a, b *node) int {
		x, _ := strconv.Atoi(a.name)
		y, _ := strconv.Atoi(b.name)
		return cmp.Compare(x, y)
	})
	return out
}

// itemsOf are the elements of a list.
func (n *node) itemsOf(shape *api.Shape, in dialect) []*node {
	item := cmp.Or(shape.ItemName, "member")
	switch in {
	case queryDialect:
		if c := n.child(item); c != nil {
			return c.numbered()
		}
		return nil
	case xmlDialect:
		return slices.DeleteFunc(slices.Clone(n.children), func(c *node) bool { return c.name != item })
	}
	if len(n.children) == 0 && n.text != "" {
		return []*node{n}
	}
	if slices.ContainsFunc(n.children, func(c *node) bool { return c.name == "" }) {
		return n.children
	}
	return n.numbered()
}

// entriesOf are the entries of a map.
func (n *node) entriesOf(in dialect) []*node {
	switch in {
	case queryDialect:
		if c := n.child("entry"); c != nil {
			return c.numbered()
		}
		return nil
	case xmlDialect:
		return slices.DeleteFunc(slices.Clone(n.children), func(c *node) bool { return c.name != "entry" })
	}
	return n.children
}

func (d *decoder) treeList(shape *api.Shape, items []*node, in dialect, at string) any {
	out := []any{}
	for i, n := range items {
		where := at + "[" + strconv.Itoa(i) + "]"
		out = append(out, d.tree(orAny(shape.Item), n, in, where))
	}
	return out
}

func (d *decoder) treeMap(shape *api.Shape, entries []*node, in dialect, at string) any {
	out := map[string]any{}
	for _, n := range entries {
		if in == formDialect {
			out[n.name] = d.tree(orAny(shape.Item), n, in, at+"."+n.name)
			continue
		}
		key, value := n.child(cmp.Or(shape.KeyName, "key")), n.child(cmp.Or(shape.ItemName, "value"))
		if key == nil || value == nil {
			d.problems.add(at, "an entry has no key or no value")
			continue
		}
		out[key.text] = d.tree(orAny(shape.Item), value, in, at+"."+cut(key.text))
	}
	return out
}
