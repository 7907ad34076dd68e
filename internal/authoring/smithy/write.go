package smithy

import (
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// AST is the model as JSON AST of version 2.0: shapes sorted by ID, mixins kept apart,
// the shapes of this package left out. What version 1.0 implied is written out.
func AST(m *Model) *document.Value {
	root := object(document.Member{Key: "smithy", Value: stringValue("2.0")})
	if len(m.Metadata) > 0 {
		put(root, "metadata", sortedKeys(object(m.Metadata...)))
	}
	shapes := object()
	for _, s := range m.roots {
		put := func(id ID, v *document.Value) {
			shapes.Members = append(shapes.Members, document.Member{Key: string(id), Value: v})
		}
		put(s.ID, astShape(s))
		for _, member := range s.Members {
			if len(member.inMixins) > 0 && len(member.own) > 0 {
				apply := object(document.Member{Key: "type", Value: stringValue("apply")})
				put(member.ID, addTraits(apply, member.own))
			}
		}
	}
	sortMembers(shapes)
	put(root, "shapes", shapes)
	return root
}

// WriteAST writes the model as [AST], indented by four spaces.
func WriteAST(m *Model) []byte { return append(appendIndented(nil, AST(m), 0), '\n') }

// sortedKeys copies a value with the members of all its objects sorted.
func sortedKeys(v *document.Value) *document.Value {
	out := *v
	out.Items, out.Members = slices.Clone(v.Items), slices.Clone(v.Members)
	for i, item := range out.Items {
		out.Items[i] = sortedKeys(item)
	}
	for i, m := range out.Members {
		out.Members[i].Value = sortedKeys(m.Value)
	}
	sortMembers(&out)
	return &out
}

// addTraits adds traits, but for the box of version 1.0: version 2.0 says the same by the
// absence of a default.
func addTraits(v *document.Value, traits []*Trait) *document.Value {
	list := object()
	for _, t := range traits {
		if t.ID != traitBox {
			list.Members = append(list.Members, document.Member{Key: string(t.ID), Value: t.Value})
		}
	}
	if len(list.Members) == 0 {
		return v
	}
	sortMembers(list)
	put(v, "traits", list)
	return v
}

func astReference(id ID) *document.Value {
	return object(document.Member{Key: "target", Value: stringValue(string(id))})
}

func astReferences(ids []ID) *document.Value {
	list := &document.Value{Kind: document.Array}
	for _, id := range ids {
		list.Items = append(list.Items, astReference(id))
	}
	return list
}

// astShape writes a shape as it was defined: without what it has from mixins.
func astShape(s *Shape) *document.Value {
	own := s
	if s.local != nil {
		own = s.local
	}
	kind := s.Type
	traits := s.own
	if kind == Set {
		kind = List
		if findTrait(traits, traitUniqueItems) == nil {
			traits = append(slices.Clone(traits), &Trait{ID: traitUniqueItems, Value: object(), At: s.At})
		}
	}
	v := object(document.Member{Key: "type", Value: stringValue(string(kind))})
	if len(s.Mixins) > 0 {
		put(v, "mixins", astReferences(s.Mixins))
	}
	switch {
	case kind == List || kind == Map:
		for _, member := range s.Members {
			if len(member.inMixins) == 0 {
				put(v, member.Name(), astMember(member))
			}
		}
	case kind == Structure || kind == Union || kind == Enum || kind == IntEnum:
		members := object()
		for _, member := range s.Members {
			if len(member.inMixins) == 0 {
				members.Members = append(members.Members, document.Member{Key: member.Name(), Value: astMember(member)})
			}
		}
		put(v, "members", members)
	case kind == Operation:
		put(v, "input", astReference(s.Input))
		put(v, "output", astReference(s.Output))
		astList(v, "errors", own.Errors)
	case kind == Resource:
		astResource(v, own)
	case kind == Service:
		astService(v, own)
	}
	return addTraits(v, traits)
}

func astMember(member *Shape) *document.Value {
	return addTraits(astReference(member.Target), member.own)
}

// astList adds a list of references, sorted, unless it is empty.
func astList(v *document.Value, key string, ids []ID) {
	if len(ids) == 0 {
		return
	}
	sorted := slices.Clone(ids)
	slices.SortFunc(sorted, compareIDs)
	put(v, key, astReferences(slices.Compact(sorted)))
}

func astNamed(v *document.Value, key string, list []Named) {
	if len(list) == 0 {
		return
	}
	entries := object()
	for _, n := range list {
		put(entries, n.Name, astReference(n.Target))
	}
	put(v, key, entries)
}

func astResource(v *document.Value, s *Shape) {
	astNamed(v, "identifiers", s.Identifiers)
	astNamed(v, "properties", s.Properties)
	for _, l := range s.lifecycle() {
		if *l.id != "" {
			put(v, l.name, astReference(*l.id))
		}
	}
	astList(v, "operations", s.Operations)
	astList(v, "collectionOperations", s.CollectionOperations)
	astList(v, "resources", s.Resources)
}

func astService(v *document.Value, s *Shape) {
	if strings.TrimSpace(s.Version) != "" {
		put(v, "version", stringValue(s.Version))
	}
	astList(v, "operations", s.Operations)
	astList(v, "resources", s.Resources)
	astList(v, "errors", s.Errors)
	if len(s.Rename) > 0 {
		rename := object()
		for _, r := range s.Rename {
			put(rename, string(r.Target), stringValue(r.Name))
		}
		put(v, "rename", rename)
	}
}
