package api

import (
	"cmp"
	"slices"
	"strings"
)

// arnProperty is the property by which operations on tags know the resource, or nil.
func (d *deriver) arnProperty() *Property {
	for _, p := range d.Properties {
		if simple(p) && p.in("read") != nil && (norm(p.Name) == "arn" || norm(p.Name) == norm(d.Resource.Name)+"arn") {
			return p
		}
	}
	for _, p := range d.Properties {
		if p.Identifier && simple(p) && (strings.HasSuffix(norm(p.Name), "arn") || onlyARN(p.Uses[0].Member.Shape.Pattern)) {
			return p
		}
	}
	return nil
}

// onlyARN reports whether nothing but an ARN matches a pattern, as far as its beginning says: "^(arn:aws:lambda:)?[a-z]+$" takes
// names, too.
func onlyARN(pattern string) bool {
	rest := strings.TrimLeft(strings.TrimPrefix(pattern, "^"), "(")
	grouped := strings.HasPrefix(strings.TrimPrefix(pattern, "^"), "(")
	return strings.HasPrefix(rest, "arn:") && !(grouped && (strings.Contains(pattern, ")?") || strings.Contains(pattern, "|")))
}

// tagsByCalls reports whether handlers can change and read the tags by operations of the service for them.
func (d *deriver) tagsByCalls() bool {
	unbound := d.unbound
	calls := d.newBinder().tagCalls()
	d.unbound = unbound
	p := d.tags()
	return p != nil && calls != nil && (calls.List != nil || p.in("read") != nil)
}

// tagCalls bind the operations that change tags. They are nil if an update sets the tags.
func (b *binder) tagCalls() *BoundTags {
	p := b.tags()
	if p == nil || !b.tagged() || p.in("update") != nil || b.arnProperty() == nil {
		return nil
	}
	form, ok := tagForm(p.settable().Shape, true)
	if !ok {
		return nil
	}
	out := &BoundTags{Property: p.Name, Form: form}
	for _, op := range b.Resource.Tags {
		switch t := op.Tagging(); {
		case t.Action == RemoveTags:
			out.Untag = b.tagCall(op, t)
		case t.Action == AddTags:
			out.Tag = b.tagCall(op, t)
		case p.in("read") == nil:
			out.List = b.tagCall(op, t)
		}
	}
	if out.Tag == nil || out.Untag == nil {
		return nil
	}
	return out
}

// tagCall binds one operation: the member for the ARN, and the one for tags or their keys.
func (b *binder) tagCall(op *Operation, t Tagging) *TagCall {
	out := &TagCall{Call: *b.call(op, "tag")}
	if t.Member == nil {
		return nil
	}
	out.Call.Send = nil
	for _, m := range op.Members() {
		if m.Token || b.pages(op, m) || !m.Required || m.Shape.Kind != String {
			continue
		}
		p := b.arnProperty()
		if other := b.params[norm(m.Name)]; other != nil {
			p = other
		}
		out.Call.Send = append(out.Call.Send, Bound{Property: p.Name, Spot: Spot{In: m.In.String(), At: b.inRequest(op, m)}, Shape: &BoundShape{Kind: "string"}, Required: true})
	}
	b.sendHost(&out.Call, op)
	out.In, out.Form, out.At = t.Member.In.String(), t.Form, []string{t.Member.Wire}
	if t.Action != ListTags {
		out.At = b.inRequest(op, t.Member)
	}
	if t.Member.In == InBody {
		out.Form, out.At = b.onWire(t.Form, t.Member), b.within(out.At, t.Member)
	}
	arns := slices.DeleteFunc(slices.Clone(out.Call.Send), func(s Bound) bool { return s.Property != b.arnProperty().Name })
	if len(arns) != 1 {
		return nil
	}
	return out
}

// onWire is the form of tags in a body: in XML, maps are lists of entries.
func (b *binder) onWire(form TagForm, m *Member) TagForm {
	if form.Kind == "map" && b.xml() {
		return TagForm{Kind: "list", Key: cmp.Or(m.Shape.KeyName, "key"), Value: cmp.Or(m.Shape.ItemName, "value")}
	}
	return form
}
