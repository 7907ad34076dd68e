package smithy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

var resourceRules = []rule{
	{"ResourceLifecycle", further, checkLifecycles},
	{"ResourceIdentifier", further, checkIdentifiers},
	{"ResourceIdentifierBinding", further, checkIdentifierBindings},
	{"ResourceOperationInputOutput", further, checkResourceProperties},
	{"ReferencesTrait", further, checkReferences},
	{"MemberShouldReferenceResource", further, checkShouldReference},
	{"ServiceBoundResourceOperation", further, checkServiceBound},
}

func checkLifecycles(c *check) {
	for _, s := range c.m.OfType(Resource) {
		for _, l := range s.lifecycle() {
			operation := c.m.Shape(*l.id)
			if operation == nil || operation.Type != Operation {
				continue
			}
			const text = "The `%s` lifecycle operation of this resource targets an invalid operation, `%s`. The targeted operation "
			readonly := l.name == "read" || l.name == "list"
			if readonly != operation.Has(traitReadonly) {
				must := "must not"
				if readonly {
					must = "must"
				}
				c.error(s, text+"%s be marked with the readonly trait.", l.name, operation.ID, must)
			}
			if (l.name == "put" || l.name == "delete") && !operation.Has(traitIdempotent) {
				c.error(s, text+"must be marked as idempotent.", l.name, operation.ID)
			}
		}
	}
}

func checkIdentifiers(c *check) {
	for _, s := range c.m.OfType(Resource) {
		for _, identifier := range s.Identifiers {
			if slices.ContainsFunc(s.Properties, func(p Named) bool { return strings.EqualFold(p.Name, identifier.Name) }) {
				c.error(s, "Resource identifier `%s` cannot also be a resource property", identifier.Name)
			}
		}
		for _, id := range s.Resources {
			if child := c.m.Shape(id); child != nil && child.Type == Resource {
				c.checkChildIdentifiers(s, child)
			}
		}
	}
}

func (c *check) checkChildIdentifiers(parent, child *Shape) {
	var missing, mismatched []string
	for _, identifier := range parent.Identifiers {
		target, has := lookup(child.Identifiers, identifier.Name)
		if !has {
			missing = append(missing, identifier.Name)
		} else if target != identifier.Target {
			mismatched = append(mismatched, fmt.Sprintf("expected the `%s` member to target `%s`, but found a target of `%s`",
				identifier.Name, identifier.Target, target))
		}
	}
	slices.Sort(missing)
	slices.Sort(mismatched)
	if missing != nil {
		c.error(child, "This resource is bound as a child of `%s`, but it is invalid because its `identifiers` property is missing the "+
			"following identifiers that are defined in `%s`: %s", parent.ID, parent.ID, bracketed(missing))
	}
	if mismatched != nil {
		c.error(child, "The `identifiers` property of this resource is incompatible with its binding to `%s`: %s", parent.ID, strings.Join(mismatched, "; "))
	}
}

func checkIdentifierBindings(c *check) {
	seen := map[*Shape]bool{}
	for _, m := range c.shapesWith(traitResourceID, Member) {
		if !seen[m.Container] {
			seen[m.Container] = true
			c.checkBindingConflicts(m.Container)
		}
	}
	for _, s := range c.m.OfType(Resource) {
		for _, id := range s.Resources {
			if child := c.m.Shape(id); child != nil && child.Type == Resource {
				c.checkParentBindings(s, child)
			}
		}
		for _, id := range s.operations() {
			if operation := c.m.Shape(id); operation != nil && operation.Type == Operation {
				c.checkOperationBindings(s, operation)
			}
		}
	}
}

// checkBindingConflicts looks for identifiers that several members claim to carry.
func (c *check) checkBindingConflicts(s *Shape) {
	explicit, all := map[string][]string{}, map[string][]string{}
	var order []string
	for _, m := range s.Members {
		name := m.Name()
		if t := m.Trait(traitResourceID); t != nil {
			name = t.Value.Text
			explicit[name] = append(explicit[name], m.Name())
		}
		if all[name] == nil {
			order = append(order, name)
		}
		all[name] = append(all[name], m.Name())
	}
	for _, name := range order {
		if members := all[name]; len(members) > 1 && slices.Contains(members, name) {
			others := slices.DeleteFunc(slices.Clone(members), func(m string) bool { return m == name })
			c.warning(s, "Implicit resource identifier for '%s' is overridden by `resourceIdentifier` trait on members: '%s'", name, strings.Join(others, "', '"))
		}
		if members := explicit[name]; len(members) > 1 {
			c.error(s, "Conflicting resource identifier member bindings found for identifier '%s' between members: '%s'", name, strings.Join(members, "', '"))
		}
	}
}

func (c *check) checkParentBindings(parent, child *Shape) {
	for _, id := range child.operations() {
		operation := c.m.Shape(id)
		if operation == nil || operation.Type != Operation {
			continue
		}
		bindings := identifierBindings(child, c.m.input(operation))
		var missing []string
		for _, identifier := range parent.Identifiers {
			if !slices.ContainsFunc(bindings, func(b binding) bool { return b.identifier == identifier.Name }) {
				missing = append(missing, identifier.Name)
			}
		}
		if missing != nil {
			c.error(operation, "This operation is bound to the `%s` resource, which is a child of the `%s` resource, and it is missing the "+
				"following resource identifier bindings of `%s`: [%s]", child.ID, parent.ID, parent.ID, tickedSorted(missing))
		}
	}
}

func (c *check) checkOperationBindings(s, operation *Shape) {
	input := c.m.input(operation)
	bindings := identifierBindings(s, input)
	all := true
	for _, identifier := range s.Identifiers {
		i := slices.IndexFunc(bindings, func(b binding) bool { return b.identifier == identifier.Name })
		all = all && i >= 0 && input.Member(bindings[i].member).Target == identifier.Target
	}
	collection := collectionOperation(s, operation.ID)
	if collection && all {
		c.error(operation, "This operation is bound as a collection operation on the `%s` resource, but it improperly binds all of the "+
			"identifiers of the resource to members of the operation input.", s.ID)
	}
	if collection || all {
		return
	}
	const entry = "required member named `%s` that targets `%s`"
	var want, found []string
	for _, identifier := range s.Identifiers {
		want = append(want, fmt.Sprintf(entry, identifier.Name, identifier.Target))
	}
	for _, b := range bindings {
		found = append(found, fmt.Sprintf(entry, b.identifier, b.member))
	}
	slices.Sort(want)
	slices.Sort(found)
	c.error(operation, "This operation does not form a valid instance operation when bound to resource `%s`. All of the identifiers of "+
		"the resource were not implicitly or explicitly bound to the input of the operation. Expected the following identifier bindings: "+
		"%s. Found the following identifier bindings: %s", s.ID, bracketed(want), bracketed(found))
}

func checkResourceProperties(c *check) {
	for _, s := range c.m.OfType(Resource) {
		if len(s.Properties) == 0 {
			continue
		}
		used := map[string]bool{}
		visit := func(name string, id ID) {
			operation := c.m.Shape(id)
			if operation == nil || operation.Type != Operation {
				return
			}
			bound := identifierBindings(s, c.m.output(operation))
			c.checkProperties(s, name, c.m.propertiesShape(c.m.output(operation)), bound, used)
			c.checkProperties(s, name, c.m.propertiesShape(c.m.input(operation)), bound, used)
		}
		for _, l := range s.lifecycle() {
			if l.name != "list" {
				visit(l.name, *l.id)
			}
		}
		for _, id := range s.Operations {
			visit(id.Name(), id)
		}
		for _, p := range s.Properties {
			if !used[p.Name] {
				c.error(s, "Resource property `%s` is not used in the input or output of create or an instance operation.", p.Name)
			}
		}
	}
}

func (c *check) checkProperties(resource *Shape, operation string, s *Shape, bound []binding, used map[string]bool) {
	members := map[string][]string{}
	for _, m := range s.Members {
		name, known := c.bindings.names[m.ID]
		if !known {
			continue
		}
		used[name] = true
		members[name] = append(members[name], m.Name())
		target, isProperty := lookup(resource.Properties, name)
		switch {
		case isProperty && target != m.Target:
			c.error(m, "This member must target `%s`. This member is used as part of the `%s` operation of the `%s` resource and conflicts "+
				"with its `%s` resource property.", target, operation, resource.ID, name)
		case !isProperty && !bindsMember(bound, m.Name()):
			c.error(m, "Member `%s` does not target a property or identifier for resource `%s`. If it is an identifier, apply the `%s` trait. "+
				"If it is a property, apply the `%s` trait. If it is neither, apply the `%s` trait.", m.Name(), resource.ID,
				traitResourceID, traitProperty, traitNotProperty)
		}
	}
	for name, list := range members {
		if len(list) > 1 {
			slices.Sort(list)
			c.error(s, "This shape contains members with conflicting resource property names that resolve to '%s': %s", name, strings.Join(list, ", "))
		}
	}
}

func checkReferences(c *check) {
	for _, s := range c.with[traitReferences] {
		t := s.Trait(traitReferences)
		for _, item := range t.Value.Items {
			c.checkReference(s, t, item)
		}
	}
}

func (c *check) checkReference(s *Shape, t *Trait, item *document.Value) {
	shown := "Reference" + printJSON(item)
	ids := item.Get("ids")
	if s.Type.isString() && ids != nil && len(ids.Members) > 0 {
		c.traitError(s, t, "References applied to string shapes cannot contain 'ids': %s", shown)
	}
	target := c.m.Shape(ID(item.Get("resource").Str()))
	if target == nil {
		return
	}
	var names []string
	for _, identifier := range target.Identifiers {
		names = append(names, identifier.Name)
	}
	switch {
	case target.Type != Resource:
		c.traitError(s, t, "`references` trait reference targets a %s shape not a resource: %s", target.Type, shown)
	case s.Type.isString() && len(names) != 1:
		c.traitError(s, t, "This string shape contains an invalid reference to %s: %s. References on a string shape can only refer to "+
			"resource shapes with exactly one entry in its identifiers property, but this shape has the following identifiers: [%s]",
			target.ID, shown, tickedSorted(names))
	case s.Type == Structure:
		c.checkStructureReference(s, t, target, ids, names, shown)
	}
}

func (c *check) checkStructureReference(s *Shape, t *Trait, target *Shape, ids *document.Value, names []string, shown string) {
	members := names
	implicit := ids == nil || len(ids.Members) == 0
	if !implicit {
		members = nil
		var extra []string
		for _, m := range ids.Members {
			members = append(members, m.Value.Text)
			if !slices.Contains(names, m.Key) {
				extra = append(extra, m.Key)
			}
		}
		if len(ids.Members) != len(names) {
			prefix := "Not enough identifiers"
			if len(names) < len(ids.Members) {
				prefix = "Too many identifiers"
			}
			c.traitError(s, t, "%s were provided in the `ids` properties of %s. Expected %d identifiers(s), but found %d. This resource requires "+
				"bindings for the following identifiers: [%s].", prefix, shown, len(names), len(ids.Members), tickedSorted(names))
		}
		if extra != nil {
			c.traitError(s, t, "`references` trait %s contains extraneous resource identifier bindings, [%s], that are not actually identifier "+
				"names of the resource, `%s`. This resource has the following identifier names: [%s]", shown, tickedSorted(extra), target.ID, tickedSorted(names))
		}
	}
	var reasons []string
	for _, name := range members {
		m := s.Member(name)
		switch {
		case m == nil && implicit:
			reasons = append(reasons, fmt.Sprintf("implicit binding of `%s` is not part of the structure (set \"rel\" to \"collection\" to "+
				"create a collection binding)", name))
		case m == nil:
			reasons = append(reasons, fmt.Sprintf("`%s` refers to a member that is not part of the structure", name))
		case !c.m.targetsString(m):
			reasons = append(reasons, fmt.Sprintf("`%s` refers to a member that does not target a string shape", name))
		}
	}
	if reasons != nil {
		slices.Sort(reasons)
		c.traitError(s, t, "`references` trait %s is invalid for the following reasons: %s", shown, strings.Join(reasons, "; "))
	}
}

func checkShouldReference(c *check) {
	type key struct {
		name   string
		target ID
	}
	resources := map[key][]ID{}
	for _, s := range c.m.OfType(Resource) {
		for _, identifier := range s.Identifiers {
			k := key{identifier.Name, identifier.Target}
			resources[k] = append(resources[k], s.ID)
		}
	}
	for _, m := range c.m.all {
		if m.Type != Member {
			continue
		}
		candidates := resources[key{m.Name(), m.Target}]
		if candidates == nil || !c.m.targetsString(m) {
			continue
		}
		ignored := append(referenced(m), referenced(m.Container)...)
		for _, id := range c.bindingResources(m) {
			ignored = append(append(ignored, id), c.m.Shape(id).Resources...)
		}
		left := slices.DeleteFunc(slices.Clone(candidates), func(id ID) bool { return slices.Contains(ignored, id) })
		if len(left) > 0 {
			c.warning(m, "This member appears to reference the following resources without being included in a `@references` trait: [%s]", tickedSorted(left))
		}
	}
}

// referenced are the resources that the trait of a shape refers to.
func referenced(s *Shape) []ID {
	var out []ID
	if t := s.Trait(traitReferences); t != nil {
		for _, item := range t.Value.Items {
			out = append(out, ID(item.Get("resource").Str()))
		}
	}
	return out
}

// bindingResources are the resources from which the shape is reachable.
func (c *check) bindingResources(s *Shape) []ID {
	var out []ID
	seen := map[ID]bool{s.ID: true}
	queue := []ID{s.ID}
	for len(queue) > 0 {
		id := queue[0]
		queue = queue[1:]
		for _, in := range c.reverse[id] {
			if in.kind == relContainer || seen[in.from.ID] {
				continue
			}
			seen[in.from.ID] = true
			if in.from.Type == Resource {
				out = append(out, in.from.ID)
			}
			queue = append(queue, in.from.ID)
		}
	}
	return out
}

func checkServiceBound(c *check) {
	for _, service := range c.m.OfType(Service) {
		resources, _ := c.m.TopDown(service)
		for _, id := range service.Operations {
			operation := c.m.Shape(id)
			var better []ID
			for _, r := range resources {
				implicit := func(s *Shape) bool {
					return s != nil && slices.ContainsFunc(s.Members, func(m *Shape) bool {
						target, known := lookup(r.Identifiers, m.Name())
						return known && m.Has(traitRequired) && m.Target == target
					})
				}
				if implicit(c.m.input(operation)) || implicit(c.m.output(operation)) {
					better = append(better, r.ID)
				}
			}
			if better != nil {
				c.add(WarningSeverity, operation, service.At, string(service.ID)+"."+id.Name(), "The `%s` operation is bound to the `%s` service "+
					"but has members that match identifiers of the following resource shapes: [%s]. It may be more accurately bound to one of them "+
					"than directly to the service.", id, service.ID, tickedSorted(better))
			}
		}
	}
}
