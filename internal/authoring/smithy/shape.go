package smithy

import (
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// An ID is an absolute shape ID: "ns.name#Shape" or "ns.name#Shape$member". The zero ID
// names nothing.
type ID string

// Namespace is the part before "#", "" without one.
func (id ID) Namespace() string {
	if i := strings.IndexByte(string(id), '#'); i >= 0 {
		return string(id[:i])
	}
	return ""
}

// Name is the shape's name, without namespace and member.
func (id ID) Name() string {
	s := string(id)
	if i := strings.IndexByte(s, '#'); i >= 0 {
		s = s[i+1:]
	}
	if i := strings.IndexByte(s, '$'); i >= 0 {
		s = s[:i]
	}
	return s
}

// Member is the part after "$", "" for a shape that is not a member.
func (id ID) Member() string {
	if i := strings.IndexByte(string(id), '$'); i >= 0 {
		return string(id[i+1:])
	}
	return ""
}

// Root is the ID without its member.
func (id ID) Root() ID {
	if i := strings.IndexByte(string(id), '$'); i >= 0 {
		return id[:i]
	}
	return id
}

// WithMember is the ID of a member of the shape.
func (id ID) WithMember(name string) ID { return id + "$" + ID(name) }

// idiomatic is the name of a trait in messages: prelude traits have no namespace there.
func (id ID) idiomatic() string {
	if name, ok := strings.CutPrefix(string(id), preludeNamespace+"#"); ok {
		return name
	}
	return string(id)
}

// compareIDs orders IDs as the reference implementation does: without regard to case,
// then with it.
func compareIDs(a, b ID) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		x, y := lower(a[i]), lower(b[i])
		if x != y {
			return int(x) - int(y)
		}
	}
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(string(a), string(b))
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// validIdentifier follows the grammar of identifiers: underscores first if any, then a
// letter or, after an underscore, a digit.
func validIdentifier(s string) bool {
	i := 0
	for i < len(s) && s[i] == '_' {
		i++
	}
	if i == len(s) || i == 0 && !isLetter(s[0]) {
		return false
	}
	for ; i < len(s); i++ {
		if !isWord(s[i]) {
			return false
		}
	}
	return true
}

// validID reports whether the text is an absolute shape ID, with or without a member.
func validID(text string) bool {
	namespace, rest, found := strings.Cut(text, "#")
	if !found || !validNamespace(namespace) {
		return false
	}
	name, member, hasMember := strings.Cut(rest, "$")
	return validIdentifier(name) && (!hasMember || validIdentifier(member))
}

func validNamespace(text string) bool {
	for part := range strings.SplitSeq(text, ".") {
		if !validIdentifier(part) {
			return false
		}
	}
	return true
}

// A Type is the type of a shape, by its name in the IDL.
type Type string

// The shape types.
const (
	Blob       Type = "blob"
	Boolean    Type = "boolean"
	String     Type = "string"
	Enum       Type = "enum"
	Timestamp  Type = "timestamp"
	Byte       Type = "byte"
	Short      Type = "short"
	Integer    Type = "integer"
	IntEnum    Type = "intEnum"
	Long       Type = "long"
	Float      Type = "float"
	Double     Type = "double"
	BigInteger Type = "bigInteger"
	BigDecimal Type = "bigDecimal"
	Document   Type = "document"
	List       Type = "list"
	Set        Type = "set"
	Map        Type = "map"
	Structure  Type = "structure"
	Union      Type = "union"
	Member     Type = "member"
	Service    Type = "service"
	Resource   Type = "resource"
	Operation  Type = "operation"
)

// typeClass sorts the types into the classes that rules and selectors use.
type typeClass uint8

const (
	simpleType typeClass = iota + 1
	collectionType
	mapType
	namedType // structure and union
	memberType
	serviceType
)

var typeClasses = map[Type]typeClass{
	Blob: simpleType, Boolean: simpleType, String: simpleType, Enum: simpleType, Timestamp: simpleType,
	Byte: simpleType, Short: simpleType, Integer: simpleType, IntEnum: simpleType, Long: simpleType,
	Float: simpleType, Double: simpleType, BigInteger: simpleType, BigDecimal: simpleType, Document: simpleType,
	List: collectionType, Set: collectionType, Map: mapType, Structure: namedType, Union: namedType,
	Member: memberType, Service: serviceType, Resource: serviceType, Operation: serviceType,
}

func (t Type) simple() bool     { return typeClasses[t] == simpleType }
func (t Type) collection() bool { return t == List || t == Set }
func (t Type) isString() bool   { return t == String || t == Enum }

// number reports whether values of the type are JSON numbers.
func (t Type) number() bool {
	switch t {
	case Byte, Short, Integer, IntEnum, Long, Float, Double, BigInteger, BigDecimal:
		return true
	}
	return false
}

// A Trait is one trait on one shape.
type Trait struct {
	ID    ID
	Value *document.Value // an annotation without value holds {}, [] or null, after the type of its definition
	At    diag.Range
}

// A Named is an entry of a map of IDs that keeps its order.
type Named struct {
	Name   string
	Target ID
}

// A Shape is one shape of a model. Which fields have a meaning depends on the type.
// Shapes are not changed once the model is loaded.
type Shape struct {
	ID     ID
	Type   Type
	At     diag.Range
	Traits []*Trait // in effect: those of mixins first, then the shape's own
	Mixins []ID     // in the order applied

	Members   []*Shape // of aggregate shapes and enums, mixins flattened, in order
	Target    ID       // of a member
	Container *Shape   // of a member

	Input, Output ID   // of an operation; smithy.api#Unit when absent
	Errors        []ID // of an operation or a service

	Version string  // of a service
	Rename  []Named // of a service: shape ID to name, Name is the new name

	Identifiers, Properties                 []Named // of a resource
	Put, Create, Read, Update, Delete, List ID      // lifecycle operations of a resource
	Operations                              []ID    // of a service or a resource
	CollectionOperations                    []ID    // of a resource
	Resources                               []ID    // of a service or a resource

	own      []*Trait // the traits that are not inherited from mixins
	local    *Shape   // a shape with mixins, as it was written; nil without mixins
	version  version
	builtin  bool // defined by this package
	inMixins []ID // of a member: the mixin members behind it
}

// Trait returns a trait of the shape, or nil.
func (s *Shape) Trait(id ID) *Trait {
	if s == nil {
		return nil
	}
	return findTrait(s.Traits, id)
}

// Has reports whether the shape has a trait.
func (s *Shape) Has(id ID) bool { return s.Trait(id) != nil }

func findTrait(traits []*Trait, id ID) *Trait {
	for _, t := range traits {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// setTrait adds a trait, or replaces the one of the same ID in its place.
func setTrait(traits []*Trait, t *Trait) []*Trait {
	for i, old := range traits {
		if old.ID == t.ID {
			traits[i] = t
			return traits
		}
	}
	return append(traits, t)
}

// Member returns the member of that name, or nil.
func (s *Shape) Member(name string) *Shape {
	if s == nil {
		return nil
	}
	for _, m := range s.Members {
		if m.Name() == name {
			return m
		}
	}
	return nil
}

// Name is the member's name for a member, else the shape's.
func (s *Shape) Name() string {
	if s.Type == Member {
		return s.ID.Member()
	}
	return s.ID.Name()
}

// String is "(type: `id`)", as messages show a shape.
func (s *Shape) String() string { return "(" + string(s.Type) + ": `" + string(s.ID) + "`)" }

// operations lists all operations that are bound to the shape, each once.
func (s *Shape) operations() []ID {
	var out []ID
	add := func(ids ...ID) {
		for _, id := range ids {
			if id != "" && !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	add(s.Operations...)
	add(s.CollectionOperations...)
	add(s.Put, s.Create, s.Read, s.Update, s.Delete, s.List)
	return out
}

// A lifecycleSlot is one lifecycle operation of a resource.
type lifecycleSlot struct {
	name string
	id   *ID
}

// lifecycle lists the lifecycle operations of a resource, unset ones included.
func (s *Shape) lifecycle() []lifecycleSlot {
	return []lifecycleSlot{
		{"put", &s.Put}, {"create", &s.Create}, {"read", &s.Read}, {"update", &s.Update}, {"delete", &s.Delete}, {"list", &s.List},
	}
}

// lookup finds the target of a name.
func lookup(list []Named, name string) (ID, bool) {
	for _, n := range list {
		if n.Name == name {
			return n.Target, true
		}
	}
	return "", false
}

// A Model is a loaded set of shapes. It is not changed after loading; several
// goroutines may read it.
type Model struct {
	Metadata []document.Member // in the order defined, merged across files

	shapes map[ID]*Shape
	roots  []*Shape // all shapes but members and those of this package, sorted by ID
	all    []*Shape // roots, each followed by its members
}

// Shape returns a shape or member, or nil.
func (m *Model) Shape(id ID) *Shape { return m.shapes[id] }

// target is the shape that a member targets, or nil.
func (m *Model) target(member *Shape) *Shape { return m.shapes[member.Target] }

// traitOn looks for a trait on a member, then on the shape that it targets; on other
// shapes it looks at the shape only.
func (m *Model) traitOn(s *Shape, id ID) *Trait {
	if t := s.Trait(id); t != nil || s.Type != Member {
		return t
	}
	return m.target(s).Trait(id)
}

// metadata returns a metadata value, or nil.
func (m *Model) metadata(key string) *document.Value {
	for _, entry := range m.Metadata {
		if entry.Key == key {
			return entry.Value
		}
	}
	return nil
}

// OfType lists the loaded shapes of the given types, sorted by ID.
func (m *Model) OfType(types ...Type) []*Shape {
	var out []*Shape
	for _, s := range m.roots {
		if slices.Contains(types, s.Type) {
			out = append(out, s)
		}
	}
	return out
}
