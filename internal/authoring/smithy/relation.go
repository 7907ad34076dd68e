package smithy

// A relation is one way in which a shape refers to another.
type relation struct {
	kind relationKind
	to   ID // a shape that may be missing
}

type relationKind uint8

const (
	relResource relationKind = iota
	relOperation
	relCollectionOperation
	relPut
	relCreate
	relRead
	relUpdate
	relDelete
	relList
	relIdentifier
	relProperty
	relContainer
	relTarget
	relInput
	relOutput
	relError
	relMember
	relMapKey
	relTrait
	relMixin
)

// relations gives each kind its name in messages and its label in selectors; "" if it
// has none. operation is set for bindings of operations.
var relationKinds = [...]struct{ name, label string }{
	relResource: {"RESOURCE", "resource"}, relOperation: {"OPERATION", "operation"},
	relCollectionOperation: {"COLLECTION_OPERATION", "collectionOperation"},
	relPut:                 {"PUT", "put"}, relCreate: {"CREATE", "create"}, relRead: {"READ", "read"}, relUpdate: {"UPDATE", "update"},
	relDelete: {"DELETE", "delete"}, relList: {"LIST", "list"}, relIdentifier: {"IDENTIFIER", "identifier"},
	relProperty: {"PROPERTY", "property"}, relContainer: {"MEMBER_CONTAINER", ""}, relTarget: {"MEMBER_TARGET", ""},
	relInput: {"INPUT", "input"}, relOutput: {"OUTPUT", "output"}, relError: {"ERROR", "error"}, relMember: {"MEMBER", "member"},
	relMapKey: {"MAP_KEY", "member"}, relTrait: {"TRAIT", "trait"}, relMixin: {"MIXIN", "mixin"},
}

func (k relationKind) String() string { return relationKinds[k].name }

// instanceOperation reports whether the kind binds an operation to an instance of a resource.
func (k relationKind) instanceOperation() bool {
	switch k {
	case relOperation, relRead, relUpdate, relDelete, relPut:
		return true
	}
	return false
}

// relations calls yield with everything a shape refers to but traits, until it returns
// false.
func relations(s *Shape, yield func(relation) bool) {
	list := func(kind relationKind, ids ...ID) bool {
		for _, id := range ids {
			if id != "" && !yield(relation{kind, id}) {
				return false
			}
		}
		return true
	}
	named := func(kind relationKind, entries []Named) bool {
		for _, n := range entries {
			if !yield(relation{kind, n.Target}) {
				return false
			}
		}
		return true
	}
	if s.Type == Member {
		if list(relContainer, s.Container.ID) && s.Container.Type != Enum && s.Container.Type != IntEnum {
			list(relTarget, s.Target)
		}
		return
	}
	if !list(relMixin, s.Mixins...) {
		return
	}
	switch s.Type {
	case Service:
		_ = list(relOperation, s.Operations...) && list(relResource, s.Resources...) && list(relError, s.Errors...)
	case Resource:
		_ = named(relIdentifier, s.Identifiers) && named(relProperty, s.Properties) && list(relResource, s.Resources...) &&
			list(relList, s.List) && list(relCreate, s.Create) && list(relPut, s.Put) && list(relRead, s.Read) &&
			list(relUpdate, s.Update) && list(relDelete, s.Delete) && list(relOperation, s.Operations...) &&
			list(relCollectionOperation, s.CollectionOperations...)
	case Operation:
		_ = (s.Input == unitID || list(relInput, s.Input)) && (s.Output == unitID || list(relOutput, s.Output)) && list(relError, s.Errors...)
	default:
		for _, m := range s.Members {
			kind := relMember
			if s.Type == Map && m.Name() == "key" {
				kind = relMapKey
			}
			if !yield(relation{kind, m.ID}) {
				return
			}
		}
	}
}

// An incoming relation is one seen from its target.
type incoming struct {
	kind relationKind
	from *Shape
}

// reverse lists the relations to each shape; with traits, those of trait applications too.
func (m *Model) reverse(traits bool) map[ID][]incoming {
	out := make(map[ID][]incoming, len(m.all))
	add := func(s *Shape) {
		relations(s, func(r relation) bool {
			out[r.to] = append(out[r.to], incoming{r.kind, s})
			return true
		})
		if traits {
			for _, t := range s.Traits {
				out[t.ID] = append(out[t.ID], incoming{relTrait, s})
			}
		}
	}
	for _, s := range m.all {
		add(s)
	}
	return out
}

// closure lists the IDs of all shapes that are reachable from a shape by members, targets and
// bindings, itself first. It accepts cycles.
func (m *Model) closure(from ID) []ID {
	seen := map[ID]bool{from: true}
	out := []ID{from}
	for i := 0; i < len(out); i++ {
		s := m.shapes[out[i]]
		if s == nil {
			continue
		}
		relations(s, func(r relation) bool {
			if r.kind != relContainer && !seen[r.to] {
				seen[r.to] = true
				out = append(out, r.to)
			}
			return true
		})
	}
	return out
}
