package api

import (
	"cmp"
	"slices"
	"strings"
)

// headers adds to the keys the headers that calls require, and that only users of the type know.
func (b *binder) headers() {
	for _, step := range b.Resource.Steps() {
		for _, m := range step.Operation.Params {
			if b.configured(m) && !slices.ContainsFunc(b.out.Auth.Keys, func(k BoundKey) bool { return k.In == "header" && strings.EqualFold(k.Name, m.Wire) }) {
				key := BoundKey{In: "header", Name: m.Wire, Property: b.keyProperty(m.Wire), Secret: secret(m), doc: cmp.Or(cut(m.Doc), "What is sent as the header "+m.Wire+".")}
				if m.Shape.Kind == String {
					key.shape = m.Shape
				}
				b.out.Auth.Keys = append(b.out.Auth.Keys, key)
			}
		}
	}
}

// configured reports whether a parameter is in the type configuration: a header that a call requires, and that no property is.
func (b *binder) configured(m *Member) bool {
	return b.API.Format == "openapi" && m.In == InHeader && m.needed() && norm(m.Name) != "ifmatch"
}

// fixed are the parameters that have the same value in every request.
func (b *binder) fixed(op *Operation, action string) (out []Fixed) {
	for _, m := range op.Params {
		if m.Fixed != "" && !m.usual() && !m.Token && !b.pages(op, m) && b.identified(op, m, action) == nil {
			out = append(out, Fixed{Spot{In: m.In.String(), At: []string{m.Wire}}, m.Fixed})
		}
	}
	return out
}

// needed reports whether a request without the member is refused.
func (m *Member) needed() bool {
	return m.Required && m.Default == nil && m.Fixed == "" && !m.Token && !m.usual()
}

// usual reports whether clients send a header in any case.
func (m *Member) usual() bool {
	return m.In == InHeader && slices.Contains([]string{"accept", "contenttype", "authorization"}, norm(m.Name))
}
