package smithy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// buildDefinition turns a definition into a shape: elided targets found, mixins
// flattened. It is nil if the definition is too broken; the reason is reported.
func (l *loader) buildDefinition(d *definition) *Shape {
	s := d.shape
	s.own = valueOfVersion(s)
	members, ok := l.settleMembers(d)
	if !ok {
		return nil
	}
	var mixins []*Shape
	for _, id := range d.mixins {
		mixin := l.shape(id)
		if mixin == nil {
			l.error(s.At, s.ID, fmt.Sprintf("Cannot apply mixin to %s: %s not found", s.ID, id))
			return nil
		}
		mixins = append(mixins, mixin)
	}
	l.checkPrivateResource(d)
	if len(mixins) > 0 {
		local := *s
		local.Traits, local.Members = local.own, members
		s.local = &local
	}
	s.Mixins = d.mixins
	if !l.checkMixinTypes(s, mixins) {
		return nil
	}
	s.Members = members
	if len(mixins) > 0 {
		if s.Members, ok = l.mixMembers(s, members, mixins); !ok {
			return nil
		}
		inheritReferences(s, mixins)
	}
	s.Traits = s.own
	if len(mixins) > 0 {
		s.Traits = inheritTraits(s.own, mixins)
	}
	for _, m := range s.Members {
		if len(m.inMixins) == 0 {
			m.Traits = m.own
			continue
		}
		var behind []*Shape
		for _, id := range m.inMixins {
			behind = append(behind, l.shape(id.Root()).Member(id.Member()))
		}
		m.Traits = inheritTraits(m.own, behind)
	}
	if !l.checkBuilt(s) {
		return nil
	}
	return s
}

// shape finds a shape that is already built.
func (l *loader) shape(id ID) *Shape {
	if s := l.building[id]; s != nil {
		return s
	}
	if l.builtin != nil {
		return l.builtin.shapes[id]
	}
	return nil
}

// settleMembers finds the targets of elided members and leaves out members that the
// type of the shape does not have.
func (l *loader) settleMembers(d *definition) ([]*Shape, bool) {
	s := d.shape
	members := make([]*Shape, 0, len(d.members))
	for _, m := range d.members {
		if m.Target == "" && !l.findElided(d, m) {
			return nil, false
		}
		if m.Target == "" {
			l.error(m.At, m.ID, "Member target was elided, but no bound resource or mixin contained a matching identifier or member name.")
			continue
		}
		switch {
		case s.Type.collection() && m.Name() != "member":
			l.error(m.At, s.ID, fmt.Sprintf("%s shapes may only have a `member` member, but found `%s`", capitalize(string(s.Type)), m.Name()))
			continue
		case s.Type == Map && m.Name() != "key" && m.Name() != "value":
			l.error(m.At, s.ID, fmt.Sprintf("Map shapes may only have `key` and `value` members, but found `%s`", m.Name()))
			continue
		case (s.Type == Enum || s.Type == IntEnum) && m.Target != unitID:
			kind := "Enum"
			if s.Type == IntEnum {
				kind = "intEnum"
			}
			l.error(s.At, s.ID, fmt.Sprintf("%s members may only target `smithy.api#Unit`, but found `%s`", kind, m.Target))
			continue
		}
		if s.Type == Enum && findTrait(m.own, traitEnumValue) == nil {
			m.own = append(m.own, &Trait{ID: traitEnumValue, Value: document.NewString(m.Name()), At: m.At})
		}
		members = append(members, m)
	}
	return members, true
}

// findElided looks for the target of a member in the resource of "for", then in the
// mixins. false means that the shape cannot be built.
func (l *loader) findElided(d *definition, m *Shape) bool {
	if d.resource != "" {
		from := l.shape(d.resource)
		switch {
		case from == nil:
			l.error(m.At, d.shape.ID, fmt.Sprintf("Cannot apply resource to elided member %s: %s not found", m.ID, d.resource))
			return false
		case from.Type != Resource:
			l.error(m.At, m.ID, fmt.Sprintf("The target of the `for` production must be a resource shape, but found a %s shape: %s", from.Type, d.resource))
		default:
			if target, ok := lookup(from.Properties, m.Name()); ok {
				m.Target = target
			} else if target, ok := lookup(from.Identifiers, m.Name()); ok {
				m.Target = target
			}
		}
	}
	for _, id := range d.mixins {
		if m.Target != "" {
			break
		}
		mixin := l.shape(id)
		if mixin == nil {
			l.error(m.At, d.shape.ID, fmt.Sprintf("Cannot apply mixin to %s: %s not found", m.ID, id))
			return false
		}
		if same := mixin.Member(m.Name()); same != nil {
			m.Target = same.Target
		}
	}
	return true
}

// checkPrivateResource reports a structure bound to another namespace's private resource.
func (l *loader) checkPrivateResource(d *definition) {
	if d.resource == "" || d.resource.Namespace() == d.shape.ID.Namespace() || !l.shape(d.resource).Has(traitPrivate) {
		return
	}
	l.report(Event{ID: "PrivateAccess", Severity: DangerSeverity, Shape: d.shape.ID, At: d.shape.At,
		Message: fmt.Sprintf("This shape has an invalid for relationship that targets a private shape, `%s`, in another namespace.", d.resource)})
}

func (l *loader) checkMixinTypes(s *Shape, mixins []*Shape) bool {
	var wrong []ID
	for _, mixin := range mixins {
		if mixin.Type != s.Type {
			wrong = append(wrong, mixin.ID)
		}
	}
	if wrong == nil {
		return true
	}
	l.error(s.At, s.ID, fmt.Sprintf("Mixins may only be mixed into shapes of the same type. The following mixins were applied to the "+
		"%s shape `%s` which are not %s shapes: [%s]", s.Type, s.ID, s.Type, tickedSorted(wrong)))
	return false
}

// mixMembers puts the members of mixins, in their order, before the shape's own. A
// member that both have keeps the place of the mixin and gains the shape's traits.
func (l *loader) mixMembers(s *Shape, own, mixins []*Shape) ([]*Shape, bool) {
	var out []*Shape
	find := func(list []*Shape, name string) *Shape {
		i := slices.IndexFunc(list, func(m *Shape) bool { return m.Name() == name })
		if i < 0 {
			return nil
		}
		return list[i]
	}
	for _, mixin := range mixins {
		for _, inherited := range mixin.Members {
			name := inherited.Name()
			m := find(out, name)
			switch {
			case m != nil && m.Target != inherited.Target:
				l.error(inherited.At, s.ID, fmt.Sprintf("Member conflicts with an inherited mixin member: `%s`", m.ID))
				return nil, false
			case m != nil:
			case find(own, name) != nil:
				m = find(own, name)
				if m.Target != inherited.Target {
					l.error(m.At, m.ID, fmt.Sprintf("Member conflicts with an inherited mixin member: `%s`", inherited.ID))
				}
				out = append(out, m)
			default:
				m = &Shape{ID: s.ID.WithMember(name), Type: Member, At: inherited.At, Target: inherited.Target, Container: s, version: s.version}
				if traits := l.applied[m.ID]; len(traits) > 0 {
					l.claimed[m.ID] = true
					m.own = slices.Clone(traits)
				}
				out = append(out, m)
			}
			m.inMixins = append(m.inMixins, inherited.ID)
		}
	}
	for _, m := range own {
		if find(out, m.Name()) == nil {
			out = append(out, m)
		}
	}
	return out, true
}

// inheritTraits puts the traits of mixins before a shape's own; later ones win. The
// mixin trait itself and what it lists as local stay behind.
func inheritTraits(own []*Trait, mixins []*Shape) []*Trait {
	var out []*Trait
	for _, mixin := range mixins {
		marker := mixin.Trait(traitMixin)
		for _, t := range mixin.Traits {
			if marker != nil && (t.ID == traitMixin || slices.Contains(marker.Value.Get("localTraits").Strings(), string(t.ID))) {
				continue
			}
			out = setTrait(out, t)
		}
	}
	for _, t := range own {
		out = setTrait(out, t)
	}
	return out
}

// inheritReferences puts what mixins bind before what the shape binds itself.
func inheritReferences(s *Shape, mixins []*Shape) {
	var errors, operations, resources []ID
	var rename []Named
	version := ""
	union := func(into *[]ID, ids []ID) {
		for _, id := range ids {
			if !slices.Contains(*into, id) {
				*into = append(*into, id)
			}
		}
	}
	for _, from := range append(slices.Clone(mixins), s) {
		union(&errors, from.Errors)
		union(&operations, from.Operations)
		union(&resources, from.Resources)
		for _, r := range from.Rename {
			i := slices.IndexFunc(rename, func(old Named) bool { return old.Target == r.Target })
			if i >= 0 {
				rename[i] = r
			} else {
				rename = append(rename, r)
			}
		}
		if from.Version != "" {
			version = from.Version
		}
	}
	s.Errors, s.Operations, s.Resources, s.Rename, s.Version = errors, operations, resources, rename, version
}

// checkBuilt applies the rules that a shape of its type must keep to exist at all.
func (l *loader) checkBuilt(s *Shape) bool {
	message := ""
	switch s.Type {
	case List, Set, Map:
		want := []string{"member"}
		if s.Type == Map {
			want = []string{"key", "value"}
		}
		var missing []string
		for _, name := range want {
			if s.Member(name) == nil {
				missing = append(missing, name)
			}
		}
		if len(missing) > 0 {
			noun := "member"
			if len(missing) > 1 {
				noun = "members"
			}
			message = fmt.Sprintf("Missing required %s of shape `%s`: %s", noun, s.ID, strings.Join(missing, ", "))
		}
		slices.SortFunc(s.Members, func(a, b *Shape) int { return strings.Compare(a.Name(), b.Name()) })
	case Enum:
		if len(s.Members) == 0 {
			message = "enum must have at least one entry"
		}
	case IntEnum:
		if len(s.Members) == 0 {
			message = "intEnum shapes must have at least one member"
		}
	case Operation:
		if s.Has(traitMixin) && (s.Input != unitID || s.Output != unitID) {
			message = fmt.Sprintf("Operation shapes with the mixin trait MUST target `smithy.api#Unit` for their input and output. "+
				"Operation mixin shape `%s` defines one or both of these properties.", s.ID)
		}
	case Resource:
		if s.Has(traitMixin) && (len(s.Identifiers)+len(s.Properties)+len(s.Resources)+len(s.operations()) > 0) {
			message = fmt.Sprintf("Resource shapes with the mixin trait may not define any properties. Resource mixin shape `%s` "+
				"defines one or more properties.", s.ID)
		}
	}
	if message != "" {
		l.error(s.At, s.ID, message)
		return false
	}
	return true
}

// capitalize makes the first letter a capital.
func capitalize(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
