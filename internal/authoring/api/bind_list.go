package api

import (
	"slices"
	"strconv"
	"strings"
)

// list binds the operation that lists resources. One whose items do not say which resources they
// are, or that needs more than the parents, is dropped.
func (b *binder) list() {
	op := b.Resource.List
	if op == nil {
		return
	}
	out := b.call(op, "list")
	reason := b.listRequest(out, op)
	if reason == "" {
		reason = b.listResponse(out, op)
	}
	if reason != "" {
		b.Resource.List = nil
		b.note("", "no list", "%s", reason)
		return
	}
	out.Page = b.page(op, out)
	b.out.List = out
}

func (b *binder) listRequest(out *Call, op *Operation) (reason string) {
	for _, m := range op.Members() {
		p := b.identified(op, m, "list")
		switch {
		case p != nil && p.Parent:
			out.Send = append(out.Send, Bound{Property: p.Name, Spot: Spot{In: m.In.String(), At: b.inRequest(op, m)}, Shape: b.ofProperty(p, m, m.In.String()), Required: true})
		case m.needed() && !b.configured(m) && !b.pages(op, m):
			return op.Name + " requires " + m.Name
		}
	}
	b.sendHost(out, op)
	return ""
}

// listResponse finds the items, and the properties in them.
func (b *binder) listResponse(out *Call, op *Operation) (reason string) {
	item, path := b.items(op)
	if item == nil {
		return op.Name + " does not return a list"
	}
	out.Items = path
	own := b.ownIdentifiers()
	if item.Kind == String || item.Kind == Integer {
		if len(own) != 1 {
			return "the items of " + op.Name + " are no objects"
		}
		shape := b.ofProperty(own[0], &Member{Shape: item}, "body")
		out.Receive = []Bound{{Property: own[0].Name, Spot: Spot{In: "body", At: []string{}}, Shape: shape}}
		return ""
	}
	b.beside(item.Members)
	for _, m := range item.Members {
		p := b.find(m.Name)
		if p == nil || p.WriteOnly || slices.ContainsFunc(out.Receive, func(x Bound) bool { return x.Property == p.Name }) || !b.alike(p, m) {
			continue
		}
		out.Receive = append(out.Receive, Bound{Property: p.Name, Spot: Spot{In: "body", At: []string{m.Wire}}, Shape: b.ofProperty(p, m, "body")})
	}
	for _, p := range own {
		if !slices.ContainsFunc(out.Receive, func(x Bound) bool { return x.Property == p.Name }) {
			return "the items of " + op.Name + " do not have " + p.Name
		}
	}
	return ""
}

// alike reports whether a member of an item has the kind of the property.
func (b *binder) alike(p *Property, m *Member) bool {
	m2 := p.in("read")
	if m2 == nil {
		m2 = p.Uses[0].Member
	}
	return m2.Shape.Kind == m.Shape.Kind
}

// ownIdentifiers are the identifiers that are not those of parents.
func (b *binder) ownIdentifiers() (out []*Property) {
	for _, p := range b.Properties {
		if p.Identifier && !p.Parent {
			out = append(out, p)
		}
	}
	return out
}

// items finds the list in the response: where the paging says, else the list of objects that have
// the identifier, else the only list.
func (b *binder) items(op *Operation) (item *Shape, path []string) {
	s := op.Output
	if s == nil {
		return nil, nil
	}
	if s.Kind == List {
		return s.Item, []string{}
	}
	if op.Paging != nil && op.Paging.Items != "" {
		list, path := b.follow(s, op.Paging.Items)
		if list == nil {
			return nil, nil
		}
		return list.Item, path
	}
	type found struct {
		item *Shape
		path []string
	}
	var lists []found
	collect := func(of *Shape, path ...string) {
		for _, m := range of.Members {
			if m.Shape.Kind == List && m.Shape.Item != nil {
				lists = append(lists, found{m.Shape.Item, b.within(append(slices.Clip(path), m.Wire), m)})
			}
		}
	}
	collect(s)
	for _, m := range s.Members {
		if m.Shape.Kind == Structure {
			collect(m.Shape, m.Wire)
		}
	}
	var own []string
	for _, p := range b.ownIdentifiers() {
		for _, u := range p.Uses {
			own = append(own, norm(u.Member.Name))
		}
	}
	for _, l := range lists {
		if slices.ContainsFunc(l.item.Members, func(m *Member) bool { return slices.Contains(own, norm(m.Name)) }) {
			return l.item, l.path
		}
	}
	if len(lists) == 1 {
		return lists[0].item, lists[0].path
	}
	return nil, nil
}

// follow returns the shape at a path with dots in a response, and the path on the wire; nil if there is none.
func (b *binder) follow(at *Shape, dotted string) (*Shape, []string) {
	var path []string
	for _, name := range strings.Split(dotted, ".") {
		m := at.Member(name)
		if m == nil {
			return nil, nil
		}
		at, path = m.Shape, b.within(append(path, m.Wire), m)
	}
	return at, path
}

const pageCount = 100 // items that are asked for

// page says how the list is read, nil if it comes at once.
func (b *binder) page(op *Operation, list *Call) *Page {
	if op.Paging == nil {
		return nil
	}
	find := func(name string) *Member {
		for _, m := range op.Members() {
			if name != "" && m.Name == name {
				return m
			}
		}
		return nil
	}
	token := find(op.Paging.In)
	if token == nil {
		return nil
	}
	out := &Page{Style: "token", Spot: Spot{In: token.In.String(), At: b.inRequest(op, token)}}
	switch norm(token.Name) {
	case "page", "pagenumber", "pagenum":
		out.Style, out.First = "number", 1
		if token.Shape.Minimum == "0" {
			out.First = 0
		}
	case "offset", "start", "startindex", "skip":
		out.Style = "offset"
	}
	if op.Paging.Out != "" && out.Style == "token" {
		if _, out.Next = b.follow(op.Output, op.Paging.Out); out.Next == nil {
			return nil
		}
	}
	if out.Style == "token" && out.Next == nil {
		if !slices.Contains([]string{"after", "startingafter"}, norm(token.Name)) || len(list.Items) == 0 {
			return nil
		}
		out.Style = "last"
	}
	if size := find(op.Paging.Size); size != nil {
		out.Size, out.Count = &Spot{In: size.In.String(), At: b.inRequest(op, size)}, pageCount
		if most, err := strconv.Atoi(size.Shape.Maximum); err == nil && most > 0 {
			out.Count = min(most, pageCount)
		}
	}
	return out
}
