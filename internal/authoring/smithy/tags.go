package smithy

import (
	"slices"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// The names of members for tags, ARNs and tag keys.
var (
	tagsName    = lazyregexp.New(`^[T|t]ag(s|s?[M|m]ap|[L|l]ist)$`)
	tagKeysName = lazyregexp.New(`^[T|t]ag[K|k]eys$`)
	arnPrefix   = lazyregexp.New(`^[R|r]esource`)
	arnSuffix   = lazyregexp.New(`[A|a]rn|ARN$`)
)

// A tagOperation is one of the three operations by which tags are changed and read.
type tagOperation uint8

const (
	tagResource tagOperation = iota
	untagResource
	listTags
)

// tagOperations gives the name that each operation has by convention, and the member of
// an apiConfig that names another.
var tagOperations = [...]struct{ name, config string }{
	tagResource: {"TagResource", "tagApi"}, untagResource: {"UntagResource", "untagApi"}, listTags: {"ListTagsForResource", "listTagsApi"},
}

// serviceTagOperation finds the operation of a service with the trait tagEnabled; "" if it has
// none.
func (m *Model) serviceTagOperation(service *Shape, op tagOperation) ID {
	enabled := service.Trait(traitTagEnabled)
	if enabled == nil {
		return ""
	}
	names := tagOperations[op]
	if id := ID(enabled.Value.Get("apiConfig").Get(names.config).Str()); id != "" && slices.Contains(service.Operations, id) {
		return id
	}
	found := ID("")
	for _, id := range service.Operations {
		if id.Name() == names.name {
			found = id
		}
	}
	return found
}

// tagOperation finds the operation for a resource within a service; "" if it has none.
func (m *Model) tagOperation(service, resource *Shape, op tagOperation) ID {
	if !service.Has(traitTagEnabled) {
		return ""
	}
	if t := resource.Trait(traitTaggable); t != nil {
		if id := ID(t.Value.Get("apiConfig").Get(tagOperations[op].config).Str()); id != "" {
			return id
		}
	}
	return m.serviceTagOperation(service, op)
}

// tagsMember is the member for tags in the input of an operation, or nil.
func (m *Model) tagsMember(operation ID) *Shape {
	s := m.shapes[operation]
	if s == nil {
		return nil
	}
	var found *Shape
	if input := m.input(s); input != nil {
		for _, member := range input.Members {
			if tagsName.MatchString(member.Name()) {
				found = member
			}
		}
	}
	return found
}

// takesTags reports whether the input of an operation has the tag property of a resource.
func (m *Model) takesTags(index *propertyIndex, operation ID, property string) bool {
	s := m.shapes[operation]
	if s == nil || property == "" {
		return false
	}
	input := m.input(s)
	return input != nil && slices.ContainsFunc(input.Members, func(member *Shape) bool {
		name, known := index.names[member.ID]
		return known && name == property
	})
}

// tagsShape reports whether a shape can hold tags: a list of pairs of strings or a map of
// strings.
func (m *Model) tagsShape(s *Shape) bool {
	switch {
	case s == nil:
		return false
	case s.Type.collection():
		pair := m.target(s.Member("member"))
		return pair != nil && pair.Type == Structure && len(pair.Members) == 2 &&
			!slices.ContainsFunc(pair.Members, func(member *Shape) bool { return !m.targetsString(member) })
	case s.Type == Map:
		return m.targetsString(s.Member("value"))
	}
	return false
}

func (m *Model) targetsString(member *Shape) bool {
	target := m.target(member)
	return target != nil && target.Type.isString()
}

// tagKeysShape reports whether a shape can hold keys of tags: a list of strings.
func (m *Model) tagKeysShape(s *Shape) bool {
	return s != nil && s.Type.collection() && m.targetsString(s.Member("member"))
}

// validTagOperation reports whether an operation has the members that one of its kind
// needs: what it changes, and the ARN of the resource.
func (m *Model) validTagOperation(operation *Shape, op tagOperation) bool {
	input, holder := m.input(operation), m.input(operation)
	if op == listTags {
		holder = m.output(operation)
	}
	if input == nil || holder == nil {
		return false
	}
	count := 0
	for _, member := range holder.Members {
		target := m.target(member)
		if op == untagResource && tagKeysName.MatchString(member.Name()) && m.tagKeysShape(target) ||
			op != untagResource && tagsName.MatchString(member.Name()) && m.tagsShape(target) {
			count++
		}
	}
	return count == 1 && slices.ContainsFunc(input.Members, func(member *Shape) bool {
		name := arnSuffix.ReplaceAllString(arnPrefix.ReplaceAllString(member.Name(), ""), "")
		return name == "" && m.targetsString(member)
	})
}
