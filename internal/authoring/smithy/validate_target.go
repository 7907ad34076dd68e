package smithy

import (
	"fmt"
	"slices"
	"strings"
)

var targetRules = []rule{
	{"Target", correctness, checkTargets},
	{"ResourceCycle", correctness, checkResourceCycles},
	{"ShapeIdConflict", critical, checkIDConflicts},
	{"SingleOperationBinding", critical, checkSingleOperationBinding},
	{"SingleResourceBinding", critical, checkSingleResourceBinding},
	{"PrivateAccess", further, checkPrivateAccess},
	{"UnitType", further, checkUnit},
}

// checkTargets checks that everything shapes refer to exists and may be referred to so.
func checkTargets(c *check) {
	for _, s := range c.m.all {
		relations(s, func(r relation) bool {
			if target := c.m.Shape(r.to); target != nil {
				c.checkTarget(s, target, r)
			} else {
				c.reportUnresolved(s, r)
			}
			return true
		})
	}
}

func (c *check) reportUnresolved(s *Shape, r relation) {
	suggestion := ""
	if similar := c.similarIDs(r.to); len(similar) > 0 {
		suggestion = ". Did you mean " + strings.Join(similar, ", ") + "?"
	}
	if r.kind == relTarget {
		c.add(ErrorSeverity, s, s.At, "UnresolvedShape", "member shape targets an unresolved shape `%s`%s", r.to, suggestion)
		return
	}
	name := r.kind.String()
	c.add(ErrorSeverity, s, s.At, "UnresolvedShape", "%s shape has %s `%s` relationship to an unresolved shape `%s`%s",
		s.Type, article(name), strings.ToLower(name), r.to, suggestion)
}

// maxSuggestions bounds for how many missing shapes similar ones are looked for: each search
// visits the whole model.
const maxSuggestions = 100

// similarIDs lists the IDs of the model that are the fewest edits away, two at most.
func (c *check) similarIDs(id ID) []string {
	if known, asked := c.similar[id]; asked || len(c.similar) >= maxSuggestions {
		return known
	}
	best := 3
	var out []string
	for other := range c.m.shapes {
		d := editDistance(string(id), string(other), 2)
		if d < 0 || d > best {
			continue
		}
		if d < best {
			best, out = d, nil
		}
		out = append(out, string(other))
	}
	slices.Sort(out)
	c.similar[id] = out
	return out
}

// editDistance is the number of edits between two texts, or -1 if it is above limit.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return -1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal, least := row[0], i
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(diagonal+cost, row[j]+1, row[j-1]+1)
			least = min(least, row[j])
		}
		if least > limit {
			return -1
		}
	}
	if row[len(b)] > limit {
		return -1
	}
	return row[len(b)]
}

// deprecatedRelations are the relations for which a deprecated target is worth a warning.
var deprecatedRelations = map[relationKind]string{
	relTarget: "Member targets a deprecated shape", relResource: "Binds a deprecated resource",
	relOperation: "Binds a deprecated operation", relIdentifier: "Resource identifier targets a deprecated shape",
	relProperty: "Resource property targets a deprecated shape", relInput: "Operation input targets a deprecated shape",
	relOutput: "Operation output targets a deprecated shape", relError: "Operation error targets a deprecated shape",
	relMixin: "Applies a deprecated mixin",
}

func (c *check) checkTarget(s, target *Shape, r relation) {
	if r.kind != relMixin && r.kind != relContainer {
		if target.Has(traitTrait) {
			c.error(s, "Found a %s reference to trait definition `%s`. Trait definitions cannot be targeted by members or "+
				"referenced by shapes in any other context other than applying them as traits.", relationName(r.kind, s), r.to)
			return
		}
		if target.Type != Member && target.Has(traitMixin) {
			c.error(s, "Illegal %s reference to mixin `%s`; shapes marked with the mixin trait can only be referenced to apply "+
				"them as a mixin.", relationName(r.kind, s), r.to)
			return
		}
	}
	c.checkDeprecatedTarget(s, target, r.kind)
	wrongType := func(want Type) {
		c.error(s, "%s shape `%s` relationships must target a %s shape, but found %s", s.Type, strings.ToLower(r.kind.String()), want, target)
	}
	switch r.kind {
	case relProperty, relTarget:
		if typeClasses[target.Type] == serviceType || target.Type == Member {
			c.error(s, "Members cannot target %s shapes, but found %s", target.Type, target)
		}
	case relMapKey:
		if key := c.m.target(target); key != nil && !key.Type.isString() {
			c.error(s, "Map key member targets %s, but is expected to target a string", key)
		}
	case relResource:
		if target.Type != Resource {
			wrongType(Resource)
		}
	case relOperation:
		if target.Type != Operation {
			wrongType(Operation)
		}
	case relInput, relOutput:
		if target.Type != Structure {
			wrongType(Structure)
		} else if target.Has(traitError) {
			c.error(s, "Operation %s targets an invalid structure `%s` that is marked with the `error` trait.", relationKinds[r.kind].label, target.ID)
		}
	case relError:
		if target.Type != Structure {
			wrongType(Structure)
		} else if !target.Has(traitError) {
			c.error(s, "`%s` cannot be bound as an error because it is not marked with the `error` trait.", target.ID)
		}
	case relIdentifier:
		if !target.Type.isString() {
			wrongType(String)
		}
	case relCreate, relRead, relUpdate, relDelete, relList, relPut:
		if target.Type != Operation {
			c.error(s, "Resource %s lifecycle operation must target an operation, but found %s", relationKinds[r.kind].label, target)
		}
	case relCollectionOperation:
		if target.Type != Operation {
			wrongType(Operation)
		}
	case relMixin:
		if !target.Has(traitMixin) {
			c.error(s, "Attempted to use %s as a mixin, but it is not marked with the mixin trait", target.ID)
		}
	}
}

// relationName is the name of a relation in messages, where members are named by the type of
// their container.
func relationName(kind relationKind, s *Shape) string {
	if kind == relMember {
		return map[Type]string{
			List: "LIST_MEMBER", Set: "SET_MEMBER", Map: "MAP_VALUE", Structure: "STRUCTURE_MEMBER", Union: "UNION_MEMBER",
			Enum: "ENUM_MEMBER", IntEnum: "INT_ENUM_MEMBER",
		}[s.Type]
	}
	return kind.String()
}

func (c *check) checkDeprecatedTarget(s, target *Shape, kind relationKind) {
	text, t := deprecatedRelations[kind], target.Trait(traitDeprecated)
	if text == "" || t == nil {
		return
	}
	text += ", " + string(target.ID)
	if message := t.Value.Get("message").Str(); message != "" {
		text += ". " + message
	}
	if since := t.Value.Get("since").Str(); since != "" {
		text += " (since " + since + ")"
	}
	c.events = append(c.events, Event{ID: "DeprecatedShape." + string(target.ID), Severity: WarningSeverity, Shape: s.ID, Message: text, At: s.At})
}

func checkResourceCycles(c *check) {
	for _, s := range c.m.OfType(Resource) {
		if chain := c.resourceCycle(s); chain != nil {
			last := chain[len(chain)-1]
			parents := chain[:len(chain)-1]
			c.error(c.m.Shape(last), "Circular resource hierarchy found: %s -> %s", joinIDs(parents, " -> "), last)
		}
	}
}

// resourceCycle follows the resources of a resource; it returns the way to the first
// that was met before. As in the reference implementation "before" means anywhere.
func (c *check) resourceCycle(s *Shape) []ID {
	var visited []ID
	seen := map[ID]bool{}
	var walk func(s *Shape) []ID
	walk = func(s *Shape) []ID {
		if seen[s.ID] {
			return append(visited[max(0, len(visited)-maxCyclePath):], s.ID)
		}
		if !c.budget.spend(cycleStep, s) {
			return nil
		}
		visited, seen[s.ID] = append(visited, s.ID), true
		for _, id := range s.Resources {
			if child := c.m.Shape(id); child != nil && child.Type == Resource {
				if chain := walk(child); chain != nil {
					return chain
				}
			}
		}
		return nil
	}
	return walk(s)
}

func joinIDs(ids []ID, separator string) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = string(id)
	}
	return strings.Join(texts, separator)
}

func checkIDConflicts(c *check) {
	byName := map[string][]*Shape{}
	for _, s := range c.m.all {
		name := strings.ToLower(string(s.ID))
		byName[name] = append(byName[name], s)
	}
	for _, group := range byName {
		if len(group) < 2 {
			continue
		}
		for _, s := range group {
			var others []ID
			for _, other := range group {
				if other != s {
					others = append(others, other.ID)
				}
			}
			slices.SortFunc(others, compareIDs)
			c.error(s, "Shape ID `%s` conflicts with other shape IDs in the model: [%s]", s.ID, ticked(others))
		}
	}
}

func checkSingleOperationBinding(c *check) {
	for _, service := range c.m.OfType(Service) {
		resources, operations := c.m.TopDown(service)
		for _, operation := range operations {
			var containers []string
			if slices.Contains(service.Operations, operation.ID) {
				containers = append(containers, service.String())
			}
			for _, r := range resources {
				if slices.Contains(r.operations(), operation.ID) {
					containers = append(containers, r.String())
				}
			}
			if len(containers) > 1 {
				slices.Sort(containers)
				c.error(operation, "An operation can appear only once in an entire service closure. This operation is illegally bound "+
					"into the `%s` service closure from multiple shapes: %s", service.ID, strings.Join(containers, ", "))
			}
		}
	}
}

func checkSingleResourceBinding(c *check) {
	for _, service := range c.m.OfType(Service) {
		resources, _ := c.m.TopDown(service)
		for _, resource := range resources {
			var containers []ID
			for _, parent := range append([]*Shape{service}, resources...) {
				if slices.Contains(parent.Resources, resource.ID) {
					containers = append(containers, parent.ID)
				}
			}
			if len(containers) > 1 {
				c.error(resource, "A resource can appear only once in an entire service closure. This resource is illegally bound into "+
					"the `%s` service closure from multiple shapes: [%s]", service.ID, tickedSorted(containers))
			}
		}
	}
}

func checkPrivateAccess(c *check) {
	private := func(from *Shape, to ID) bool {
		return from.ID.Namespace() != to.Namespace() && c.m.Shape(to).Has(traitPrivate)
	}
	const text = "This shape has an invalid %s relationship that targets a private shape, `%s`, in another namespace."
	for _, s := range c.m.all {
		relations(s, func(r relation) bool {
			if private(s, r.to) {
				c.error(s, text, strings.ToLower(relationName(r.kind, s)), r.to)
			}
			return true
		})
		for _, t := range s.Traits {
			if private(s, t.ID) {
				c.warning(s, text, "trait", t.ID)
			}
		}
	}
}

func checkUnit(c *check) {
	for _, in := range c.reverse[unitID] {
		switch in.kind {
		case relInput, relOutput:
		case relTarget:
			if t := in.from.Container.Type; t != Union && t != Enum && t != IntEnum {
				c.error(in.from, "Only members of a union, enum, or intEnum can reference smithy.api#Unit")
			}
		default:
			c.error(in.from, "This shape has an invalid %s reference to smithy.api#Unit", relationName(in.kind, in.from))
		}
	}
}

// contexts describes relations by kind: "{member target: [a, b], output: [c]}".
func contexts(byKind map[relationKind][]ID) string {
	var parts []string
	for kind := range relationKinds {
		ids := byKind[relationKind(kind)]
		if len(ids) == 0 {
			continue
		}
		sorted := slices.Clone(ids)
		slices.Sort(sorted)
		name := strings.ReplaceAll(strings.ToLower(relationKind(kind).String()), "_", " ")
		parts = append(parts, fmt.Sprintf("%s: %s", name, bracketed(slices.Compact(sorted))))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
