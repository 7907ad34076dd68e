package smithy

import (
	"slices"
)

// A mutability is a set of what may be done with a property.
type mutability uint8

const (
	canCreate mutability = 1 << iota
	canRead
	canWrite
)

// mutabilities gives the meaning of the values of the trait cfnMutability.
var mutabilities = map[string]mutability{
	"full": canCreate | canRead | canWrite, "create-and-read": canCreate | canRead,
	"create": canCreate, "read": canRead, "write": canWrite,
}

// A cfnProperty is one property of a CloudFormation resource, by the name of the members
// behind it.
type cfnProperty struct {
	name       string
	shapes     []ID // members, or the target of an identifier; sorted
	mutability mutability
	explicit   bool // the mutability was given, not derived

	preferred []ID // shapes, the operation's most relevant structure first
}

// A cfnResource is what a resource is to CloudFormation.
type cfnResource struct {
	shape      *Shape
	properties []*cfnProperty // identifiers, then as found
	primary    []string
	additional [][]string
	recursive  []ID // enclosing structures that contain themselves

	excluded map[ID]bool
	modern   bool
}

func (r *cfnResource) property(name string) *cfnProperty {
	for _, p := range r.properties {
		if p.name == name {
			return p
		}
	}
	return nil
}

// set adds a property or replaces the one of its name.
func (r *cfnResource) set(p *cfnProperty) {
	if old := r.property(p.name); old != nil {
		*old = *p
		return
	}
	r.properties = append(r.properties, p)
}

// A fold merges the members of a structure into the properties of a resource.
type fold struct {
	structure *Shape
	operation *Shape // nil for an additional schema
	resource  *Shape
	initial   mutability // of properties that the structure introduces
	adds      mutability // to properties that are already there
}

// deriveCFN works out the properties, mutabilities and identifiers of a resource with
// the trait cfnResource, by the rules of the reference implementation's index.
func deriveCFN(m *Model, resource *Shape, index *propertyIndex, modern bool) *cfnResource {
	r := &cfnResource{shape: resource, excluded: map[ID]bool{}, modern: modern}
	trait := resource.Trait(traitCFNResource).Value
	inherited := m.inheritedIdentifiers(resource)
	for _, identifier := range resource.Identifiers {
		p := &cfnProperty{name: identifier.Name, shapes: []ID{identifier.Target}, explicit: true, mutability: canRead}
		if slices.Contains(inherited, identifier.Name) || resource.Put != "" {
			p.mutability = canCreate | canRead
		}
		r.set(p)
		r.primary = append(r.primary, identifier.Name)
	}
	if read := m.shapes[resource.Read]; read != nil {
		r.addIdentifiers(m.input(read))
		r.fold(m, index, fold{m.propertiesShape(m.output(read)), read, resource, canRead, canRead})
	}
	for _, step := range []struct {
		operation ID
		allows    mutability
	}{{resource.Put, canCreate | canWrite}, {resource.Create, canCreate}, {resource.Update, canWrite}} {
		if operation := m.shapes[step.operation]; operation != nil {
			r.fold(m, index, fold{m.propertiesShape(m.input(operation)), operation, resource, step.allows, step.allows})
		}
	}
	for _, id := range trait.Get("additionalSchemas").Strings() {
		structure := m.structure(ID(id))
		if structure == nil {
			continue
		}
		if !modern {
			r.addIdentifiers(structure)
		}
		r.fold(m, index, fold{structure: structure, resource: resource})
	}
	if primary := trait.Get("primaryIdentifier").Str(); primary != "" {
		r.additional = append(r.additional, r.primary)
		r.primary = []string{primary}
	}
	r.finish()
	return r
}

// inheritedIdentifiers are the names of the identifiers of the resources that bind the
// resource within some service.
func (m *Model) inheritedIdentifiers(resource *Shape) []string {
	var out []string
	for _, service := range m.OfType(Service) {
		resources, _ := m.TopDown(service)
		for _, parent := range resources {
			if slices.Contains(parent.Resources, resource.ID) {
				for _, identifier := range parent.Identifiers {
					out = append(out, identifier.Name)
				}
			}
		}
	}
	return out
}

// addIdentifiers adds the members that are marked as additional identifiers.
func (r *cfnResource) addIdentifiers(structure *Shape) {
	if structure == nil {
		return
	}
	for _, member := range structure.Members {
		if !member.Has(traitCFNAdditionalID) {
			continue
		}
		r.set(&cfnProperty{name: member.Name(), shapes: []ID{member.ID}, preferred: []ID{member.ID}, mutability: canRead})
		r.additional = append(r.additional, []string{member.Name()})
	}
}

func (r *cfnResource) fold(m *Model, index *propertyIndex, f fold) {
	r.exclude(m, index, f.structure, map[ID]bool{})
	var bound []binding
	if f.operation != nil {
		bound = identifierBindings(f.resource, m.input(f.operation))
	}
	for _, member := range f.structure.Members {
		if bindsMember(bound, member.Name()) || r.modern && r.excluded[member.ID] {
			continue
		}
		explicit := mutability(0)
		if t := m.traitOn(member, traitCFNMutability); t != nil {
			explicit = mutabilities[t.Value.Text]
		}
		p := r.property(member.Name())
		switch {
		case p == nil:
			p = &cfnProperty{name: member.Name(), shapes: []ID{member.ID}, mutability: f.initial}
			if explicit != 0 {
				p.mutability, p.explicit = explicit, true
			}
			r.set(p)
		case p.explicit:
			continue
		default:
			if !slices.Contains(p.shapes, member.ID) {
				p.shapes = append(p.shapes, member.ID)
			}
			if explicit != 0 {
				p.mutability, p.explicit = explicit, true
			} else {
				p.mutability |= f.adds
			}
		}
		if f.initial&canCreate != 0 { // the input is more relevant than the output
			p.preferred = append([]ID{member.ID}, p.preferred...)
		} else {
			p.preferred = append(p.preferred, member.ID)
		}
	}
}

// exclude notes the members that are no properties, in a structure and in those within
// it. Structures that contain themselves are noted too: the reference implementation
// runs out of stack on them.
func (r *cfnResource) exclude(m *Model, index *propertyIndex, structure *Shape, visits map[ID]bool) {
	if onPath, seen := visits[structure.ID]; seen {
		if onPath && !slices.Contains(r.recursive, structure.ID) {
			r.recursive = append(r.recursive, structure.ID)
		}
		return
	}
	visits[structure.ID] = true
	for _, member := range structure.Members {
		if member.Has(traitCFNExclude) || index.none[member.ID] {
			r.excluded[member.ID] = true
		} else if target := m.structure(member.Target); target != nil {
			r.exclude(m, index, target, visits)
		}
	}
	visits[structure.ID] = false
}

// finish drops what is excluded and puts the shapes of each property in order.
func (r *cfnResource) finish() {
	kept := r.properties[:0]
	for _, p := range r.properties {
		drop := func(id ID) bool { return r.excluded[id] }
		p.shapes = slices.DeleteFunc(p.shapes, drop)
		p.preferred = slices.DeleteFunc(p.preferred, drop)
		slices.SortFunc(p.shapes, compareIDs)
		if len(p.shapes) > 0 {
			kept = append(kept, p)
		}
	}
	r.properties = kept
}

// representative is the shape that defines the property's documentation, constraints and name.
func (r *cfnResource) representative(p *cfnProperty) ID {
	if r.modern && len(p.preferred) > 0 {
		return p.preferred[0]
	}
	return p.shapes[0]
}

// The lists of a schema that a mutability puts a property on.
func (u mutability) createOnly() bool { return u&canCreate != 0 && u&canWrite == 0 }
func (u mutability) readOnly() bool   { return u == canRead }
func (u mutability) writeOnly() bool {
	return u == canCreate || u&canWrite != 0 && u&canRead == 0
}
