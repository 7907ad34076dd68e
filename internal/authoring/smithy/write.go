package smithy

import (
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// AST is the model as JSON AST of version 2.0: shapes sorted by ID, mixins kept apart,
// the shapes of this package left out. What version 1.0 implied is written out.
func AST(m *Model) *document.Value {
	root := document.NewObject(document.Member{Key: "smithy", Value: document.NewString("2.0")})
	if len(m.Metadata) > 0 {
		root.Set("metadata", sortedKeys(document.NewObject(m.Metadata...)))
	}
	shapes := document.NewObject()
	for _, s := range m.roots {
		put := func(id ID, v *document.Value) {
			shapes.Members = append(shapes.Members, document.Member{Key: string(id), Value: v})
		}
		put(s.ID, astShape(s))
		for _, member := range s.Members {
			if len(member.inMixins) > 0 && len(member.own) > 0 {
				apply := document.NewObject(document.Member{Key: "type", Value: document.NewString("apply")})
				put(member.ID, addTraits(apply, member.own))
			}
		}
	}
	sortMembers(shapes)
	root.Set("shapes", shapes)
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
	list := document.NewObject()
	for _, t := range traits {
		if t.ID != traitBox {
			list.Members = append(list.Members, document.Member{Key: string(t.ID), Value: t.Value})
		}
	}
	if len(list.Members) == 0 {
		return v
	}
	sortMembers(list)
	v.Set("traits", list)
	return v
}

func astReference(id ID) *document.Value {
	return document.NewObject(document.Member{Key: "target", Value: document.NewString(string(id))})
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
			traits = append(slices.Clone(traits), &Trait{ID: traitUniqueItems, Value: document.NewObject(), At: s.At})
		}
	}
	v := document.NewObject(document.Member{Key: "type", Value: document.NewString(string(kind))})
	if len(s.Mixins) > 0 {
		v.Set("mixins", astReferences(s.Mixins))
	}
	switch {
	case kind == List || kind == Map:
		for _, member := range s.Members {
			if len(member.inMixins) == 0 {
				v.Set(member.Name(), astMember(member))
			}
		}
	case kind == Structure || kind == Union || kind == Enum || kind == IntEnum:
		members := document.NewObject()
		for _, member := range s.Members {
			if len(member.inMixins) == 0 {
				members.Members = append(members.Members, document.Member{Key: member.Name(), Value: astMember(member)})
			}
		}
		v.Set("members", members)
	case kind == Operation:
		v.Set("input", astReference(s.Input))
		v.Set("output", astReference(s.Output))
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
	v.Set(key, astReferences(slices.Compact(sorted)))
}

func astNamed(v *document.Value, key string, list []Named) {
	if len(list) == 0 {
		return
	}
	entries := document.NewObject()
	for _, n := range list {
		entries.Set(n.Name, astReference(n.Target))
	}
	v.Set(key, entries)
}

func astResource(v *document.Value, s *Shape) {
	astNamed(v, "identifiers", s.Identifiers)
	astNamed(v, "properties", s.Properties)
	for _, l := range s.lifecycle() {
		if *l.id != "" {
			v.Set(l.name, astReference(*l.id))
		}
	}
	astList(v, "operations", s.Operations)
	astList(v, "collectionOperations", s.CollectionOperations)
	astList(v, "resources", s.Resources)
}

func astService(v *document.Value, s *Shape) {
	if strings.TrimSpace(s.Version) != "" {
		v.Set("version", document.NewString(s.Version))
	}
	astList(v, "operations", s.Operations)
	astList(v, "resources", s.Resources)
	astList(v, "errors", s.Errors)
	if len(s.Rename) > 0 {
		rename := document.NewObject()
		for _, r := range s.Rename {
			rename.Set(string(r.Target), document.NewString(r.Name))
		}
		v.Set("rename", rename)
	}
}
