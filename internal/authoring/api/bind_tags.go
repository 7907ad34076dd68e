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
		if p.Identifier && simple(p) && (strings.HasSuffix(norm(p.Name), "arn") || strings.Contains(p.Uses[0].Member.Shape.Pattern, "arn:")) {
			return p
		}
	}
	return nil
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
		switch {
		case slices.Contains(tagVerbs[1], op.Name):
			out.Untag = b.tagCall(op)
		case slices.Contains(tagVerbs[0], op.Name):
			out.Tag = b.tagCall(op)
		case p.in("read") == nil:
			out.List = b.tagCall(op)
		}
	}
	if out.Tag == nil || out.Untag == nil {
		return nil
	}
	return out
}

// tagCall binds one operation: the member for the ARN, and the one for tags or their keys.
func (b *binder) tagCall(op *Operation) *TagCall {
	out := &TagCall{Call: *b.call(op, "tag"), In: InBody.String()}
	out.Call.Send = nil
	listing := strings.HasPrefix(op.Name, "List")
	for _, m := range op.Members() {
		form, tags := tagForm(m.Shape, false)
		switch {
		case m.Token || b.pages(op, m):
		case tags && !listing && (m.Shape.Kind != List || strings.Contains(norm(m.Name), "tag")):
			out.Form, out.In, out.At = form, m.In.String(), b.inRequest(op, m)
			if m.In == InBody {
				out.Form, out.At = b.onWire(form, m), b.within(out.At, m)
			}
		case m.Required && m.Shape.Kind == String:
			p := b.arnProperty()
			if other := b.params[norm(m.Name)]; other != nil {
				p = other
			}
			out.Call.Send = append(out.Call.Send, Bound{Property: p.Name, Spot: Spot{In: m.In.String(), At: b.inRequest(op, m)}, Shape: &BoundShape{Kind: "string"}, Required: true})
		}
	}
	b.sendHost(&out.Call, op)
	if listing && op.Output != nil {
		for _, m := range op.Output.Members {
			if form, ok := tagForm(m.Shape, false); ok && form.Kind != "keys" {
				out.Form, out.At = b.onWire(form, m), b.within([]string{m.Wire}, m)
			}
		}
	}
	arns := slices.DeleteFunc(slices.Clone(out.Call.Send), func(s Bound) bool { return s.Property != b.arnProperty().Name })
	if out.At == nil || len(arns) != 1 {
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

// tagForm says how a shape has tags: as a map, a list of objects, or a list of keys. Names are
// those of properties or those on the wire.
func tagForm(s *Shape, properties bool) (form TagForm, ok bool) {
	switch s.Kind {
	case Map:
		return TagForm{Kind: "map"}, true
	case List:
		if s.Item.Kind == String {
			return TagForm{Kind: "keys"}, true
		}
		form.Kind = "list"
		for _, m := range s.Item.Members {
			name := m.Wire
			if properties {
				name = pascal(m.Name)
			}
			switch {
			case slices.Contains([]string{"key", "tagkey"}, norm(m.Name)):
				form.Key = name
			case slices.Contains([]string{"value", "tagvalue"}, norm(m.Name)):
				form.Value = name
			}
		}
		return form, form.Key != "" && form.Value != ""
	}
	return TagForm{}, false
}
