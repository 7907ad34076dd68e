package smithy

import (
	"slices"
)

// TopDown lists the resources and operations in the closure of a service or resource,
// each once, sorted by ID.
func (m *Model) TopDown(from *Shape) (resources, operations []*Shape) {
	seen := map[ID]bool{}
	queue := []*Shape{from}
	add := func(ids []ID) {
		for _, id := range ids {
			s := m.shapes[id]
			if s == nil || seen[id] {
				continue
			}
			seen[id] = true
			switch s.Type {
			case Resource:
				resources = append(resources, s)
				queue = append(queue, s)
			case Operation:
				operations = append(operations, s)
			}
		}
	}
	for i := 0; i < len(queue); i++ {
		add(queue[i].operations())
		add(queue[i].Resources)
	}
	byID := func(a, b *Shape) int { return compareIDs(a.ID, b.ID) }
	slices.SortFunc(resources, byID)
	slices.SortFunc(operations, byID)
	return resources, operations
}

// input is the input structure of an operation, or nil.
func (m *Model) input(operation *Shape) *Shape { return m.structure(operation.Input) }

func (m *Model) output(operation *Shape) *Shape { return m.structure(operation.Output) }

func (m *Model) structure(id ID) *Shape {
	if s := m.shapes[id]; s != nil && s.Type == Structure {
		return s
	}
	return nil
}

// A binding maps an identifier of a resource to a member of a structure.
type binding struct {
	identifier, member string
}

// identifierBindings finds the members for identifiers: those with the trait, and required
// members with the name and target of an identifier.
func identifierBindings(resource, structure *Shape) []binding {
	if structure == nil {
		return nil
	}
	var out []binding
	explicit := map[string]bool{}
	for _, member := range structure.Members {
		if t := member.Trait(traitResourceID); t != nil {
			explicit[t.Value.Text] = true
		}
	}
	for _, member := range structure.Members {
		name := member.Name()
		if t := member.Trait(traitResourceID); t != nil {
			out = append(out, binding{t.Value.Text, name})
			continue
		}
		target, known := lookup(resource.Identifiers, name)
		if known && !explicit[name] && member.Has(traitRequired) && member.Target == target {
			out = append(out, binding{name, name})
		}
	}
	return out
}

func bindsMember(bindings []binding, member string) bool {
	return slices.ContainsFunc(bindings, func(b binding) bool { return b.member == member })
}

// collectionOperation reports whether an operation is bound to a resource as one on the
// collection, rather than on an instance.
func collectionOperation(resource *Shape, operation ID) bool {
	return slices.Contains(resource.CollectionOperations, operation) || resource.Create == operation || resource.List == operation
}

// propertiesShape is the structure whose members are properties: the target of the first
// member marked as nested properties, else the input or output itself.
func (m *Model) propertiesShape(structure *Shape) *Shape {
	if structure == nil {
		return m.shapes[unitID]
	}
	for _, member := range structure.Members {
		if member.Has(traitNestedProperties) {
			if target := m.structure(member.Target); target != nil {
				return target
			}
		}
	}
	return structure
}

// A propertyIndex knows which members of the inputs and outputs of resource operations
// are properties of the resource.
type propertyIndex struct {
	none  map[ID]bool   // members that need no property, as false or true; absent: they need a property
	names map[ID]string // members that are a property: its name
}

func newPropertyIndex(m *Model) *propertyIndex {
	x := &propertyIndex{none: map[ID]bool{}, names: map[ID]string{}}
	marks := m.notPropertyTraits()
	for _, resource := range m.OfType(Resource) {
		for _, id := range resource.operations() {
			operation := m.shapes[id]
			if operation == nil || operation.Type != Operation {
				continue
			}
			x.add(m, resource, m.input(operation), marks)
			x.add(m, resource, m.output(operation), marks)
		}
	}
	return x
}

// notPropertyTraits are the traits that make a member no property.
func (m *Model) notPropertyTraits() []ID {
	var out []ID
	for _, s := range m.shapes {
		if s.Has(traitNotProperty) && s.Has(traitTrait) {
			out = append(out, s.ID)
		}
	}
	return out
}

func (x *propertyIndex) add(m *Model, resource, structure *Shape, marks []ID) {
	if structure == nil {
		return
	}
	bindings := identifierBindings(resource, structure)
	properties := m.propertiesShape(structure)
	for _, member := range properties.Members {
		x.none[member.ID] = bindsMember(bindings, member.Name()) || slices.ContainsFunc(marks, member.Has)
		if _, named := lookup(resource.Properties, member.Name()); named || !x.none[member.ID] {
			x.names[member.ID] = propertyName(member)
		}
	}
	if properties != structure {
		for _, member := range structure.Members {
			x.none[member.ID] = true
		}
	}
}

// propertyName is the name of the property that a member is.
func propertyName(member *Shape) string {
	if t := member.Trait(traitProperty); t != nil {
		if name := t.Value.Get("name").Str(); name != "" {
			return name
		}
	}
	return member.Name()
}
