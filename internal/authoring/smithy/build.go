package smithy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// build settles names, gives shapes their traits, flattens mixins and returns the model.
func (l *loader) build() *Model {
	l.resolve()
	l.attachTraits()
	for _, id := range l.buildOrder() {
		l.buildShape(id)
	}
	l.reportUnclaimed()
	m := &Model{Metadata: l.meta, shapes: make(map[ID]*Shape, 2*len(l.building)+1024)}
	if l.builtin != nil {
		for id, s := range l.builtin.shapes {
			if l.building[id.Root()] == nil {
				m.shapes[id] = s
			}
		}
	}
	for _, s := range l.building {
		m.roots = append(m.roots, s)
		m.shapes[s.ID] = s
		for _, member := range s.Members {
			m.shapes[member.ID] = member
		}
	}
	slices.SortFunc(m.roots, func(a, b *Shape) int { return compareIDs(a.ID, b.ID) })
	for _, s := range m.roots {
		m.all = append(append(m.all, s), s.Members...)
	}
	upgrade(m)
	l.checkTraitShapes(m)
	return m
}

// attachTraits creates the applied traits and gives them to the definitions that they
// name. Those for members that are not written out wait for a mixin to bring the member.
func (l *loader) attachTraits() {
	for _, target := range l.targets {
		traits := l.applied[target][:0]
		for _, t := range l.applied[target] {
			if l.typeOf(t.ID) == "" {
				l.unresolvedTrait(target, t)
			}
			if l.checkTrait(target, t) {
				traits = append(traits, t)
			}
		}
		l.applied[target] = traits
		for _, d := range l.defs[target.Root()] {
			s := d.shape
			if name := target.Member(); name != "" {
				s = d.member(name)
			}
			if s == nil {
				continue
			}
			l.claimed[target] = true
			for _, t := range traits {
				s.own = setTrait(s.own, t)
			}
		}
	}
}

func (l *loader) reportUnclaimed() {
	for _, target := range l.targets {
		if l.claimed[target] {
			continue
		}
		for _, t := range l.applied[target] {
			l.error(t.At, "", fmt.Sprintf("Trait `%s` applied to unknown shape `%s`", t.ID.idiomatic(), target))
		}
	}
}

// checkTraitShapes reports shapes that are used as traits but are not traits.
func (l *loader) checkTraitShapes(m *Model) {
	reported := map[ID]bool{}
	for _, target := range l.targets {
		for _, t := range l.applied[target] {
			s := l.building[t.ID]
			if s == nil || s.Has(traitTrait) || reported[t.ID] {
				continue
			}
			reported[t.ID] = true
			l.error(s.At, s.ID, fmt.Sprintf("Shape `%s` cannot be applied as a trait. If this is a custom trait, please add `@trait` to this shape.", s.ID))
		}
	}
}

// buildOrder lists the defined shapes so that what a shape needs (its mixins, the
// resource it is bound to) comes before it. Shapes on a cycle, and those that need them,
// are left out; the cycles are reported.
func (l *loader) buildOrder() []ID {
	needs := map[ID][]ID{}
	for _, id := range l.defined {
		for _, d := range l.defs[id] {
			for _, need := range append(slices.Clone(d.mixins), d.resource) {
				if need != "" && l.defs[need] != nil {
					needs[id] = append(needs[id], need)
				}
			}
		}
	}
	order := make([]ID, 0, len(l.defined))
	if len(needs) == 0 {
		return append(order, l.defined...)
	}
	components := stronglyConnected(l.defined, needs)
	broken := map[ID]bool{}
	for _, c := range components {
		id := c[0]
		if len(c) > 1 || slices.Contains(needs[id], id) {
			l.reportCycle(c)
			for _, id := range c {
				broken[id] = true
			}
			continue
		}
		if slices.ContainsFunc(needs[id], func(need ID) bool { return broken[need] }) {
			broken[id] = true
			continue
		}
		order = append(order, id)
	}
	return order
}

func (l *loader) reportCycle(cycle []ID) {
	slices.SortFunc(cycle, compareIDs)
	for _, id := range cycle {
		var others []string
		for _, other := range cycle {
			if other != id {
				others = append(others, string(other))
			}
		}
		for _, d := range l.defs[id] {
			l.error(d.shape.At, id, "Unable to resolve mixins; cycles detected between this shape and ["+strings.Join(others, ", ")+"]")
		}
	}
}

// stronglyConnected groups nodes into components, those that others need first
// (Tarjan's algorithm, without recursion: chains may be as long as a file).
func stronglyConnected(nodes []ID, needs map[ID][]ID) [][]ID {
	type frame struct {
		id   ID
		next int
	}
	var (
		out     [][]ID
		stack   []ID
		index   = map[ID]int{}
		low     = map[ID]int{}
		onStack = map[ID]bool{}
	)
	for _, root := range nodes {
		if index[root] != 0 {
			continue
		}
		frames := []frame{{id: root}}
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			if f.next == 0 {
				index[f.id] = len(index) + 1
				low[f.id] = index[f.id]
				stack = append(stack, f.id)
				onStack[f.id] = true
			}
			if f.next < len(needs[f.id]) {
				to := needs[f.id][f.next]
				f.next++
				if index[to] == 0 {
					frames = append(frames, frame{id: to})
				} else if onStack[to] {
					low[f.id] = min(low[f.id], index[to])
				}
				continue
			}
			id := f.id
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				parent := frames[len(frames)-1].id
				low[parent] = min(low[parent], low[id])
			}
			if low[id] != index[id] {
				continue
			}
			i := slices.Index(stack, id)
			component := slices.Clone(stack[i:])
			stack = stack[:i]
			for _, member := range component {
				onStack[member] = false
			}
			out = append(out, component)
		}
	}
	return out
}

// buildShape builds all definitions of a shape; they must agree.
func (l *loader) buildShape(id ID) {
	var built *Shape
	for _, d := range l.defs[id] {
		if !d.version.supports(d.shape.Type) {
			l.error(d.shape.At, id, fmt.Sprintf("%s shapes cannot be used in Smithy version %s", d.shape.Type, d.version))
			continue
		}
		s := l.buildDefinition(d)
		if s == nil {
			continue
		}
		if built != nil {
			l.compareDefinitions(built, s)
			continue
		}
		built = s
	}
	if built != nil {
		l.building[id] = built
	}
}

// compareDefinitions reports a second definition: a note if it says the same.
func (l *loader) compareDefinitions(first, second *Shape) {
	if first.At == second.At {
		return
	}
	if difference := differences(second, first); difference != nil {
		message := fmt.Sprintf("Conflicting shape definition for `%s` found at `%s` and `%s`. %s", first.ID, second.At, first.At,
			strings.Join(difference, "; "))
		l.error(first.At, first.ID, message)
		return
	}
	l.report(Event{ID: "Model.IgnoredDuplicateDefinition", Severity: NoteSeverity, Shape: first.ID, At: first.At,
		Message: fmt.Sprintf("Ignoring duplicate but equivalent shape definition: %s defined at %s and %s", first.ID, second.At, first.At)})
}

// differences lists how two definitions of a shape differ; nil if they do not.
func differences(left, right *Shape) []string {
	var out []string
	if left.Type != right.Type {
		out = append(out, fmt.Sprintf("Left is %s, right is %s", left.Type, right.Type))
	}
	if !slices.Equal(left.Mixins, right.Mixins) {
		out = append(out, fmt.Sprintf("Left mixins: %s, right mixins: %s", bracketed(left.Mixins), bracketed(right.Mixins)))
	}
	for _, t := range left.Traits {
		if other := right.Trait(t.ID); other == nil {
			out = append(out, "Left has trait "+string(t.ID))
		} else if !equalValues(t.Value, other.Value) {
			out = append(out, fmt.Sprintf("Left trait %s differs from right trait. %s vs %s", t.ID, printJSON(t.Value), printJSON(other.Value)))
		}
	}
	for _, t := range right.Traits {
		if !left.Has(t.ID) {
			out = append(out, "Right has trait "+string(t.ID))
		}
	}
	if !sameMembers(left, right) {
		out = append(out, fmt.Sprintf("Members differ: %s vs %s", memberNames(left), memberNames(right)))
	}
	if !sameReferences(left, right) {
		out = append(out, "")
	}
	return out
}

func sameMembers(a, b *Shape) bool {
	return slices.EqualFunc(a.Members, b.Members, func(x, y *Shape) bool {
		return x.ID == y.ID && x.Target == y.Target && slices.EqualFunc(x.Traits, y.Traits, func(s, t *Trait) bool {
			return s.ID == t.ID && equalValues(s.Value, t.Value)
		})
	})
}

func sameReferences(a, b *Shape) bool {
	return a.Input == b.Input && a.Output == b.Output && a.Version == b.Version &&
		slices.Equal(a.Errors, b.Errors) && slices.Equal(a.Operations, b.Operations) && slices.Equal(a.Resources, b.Resources) &&
		slices.Equal(a.CollectionOperations, b.CollectionOperations) && slices.Equal(a.Rename, b.Rename) &&
		slices.Equal(a.Identifiers, b.Identifiers) && slices.Equal(a.Properties, b.Properties) &&
		a.Put == b.Put && a.Create == b.Create && a.Read == b.Read && a.Update == b.Update && a.Delete == b.Delete && a.List == b.List
}

func memberNames(s *Shape) string {
	var names []ID
	for _, m := range s.Members {
		names = append(names, ID(m.Name()))
	}
	return bracketed(names)
}

// bracketed shows a list as "[a, b]".
func bracketed[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = string(item)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// ticked shows a list as "`a`, `b`", in the order given.
func ticked[T ~string](list []T) string {
	if len(list) == 0 {
		return ""
	}
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = "`" + string(item) + "`"
	}
	return strings.Join(texts, ", ")
}

// tickedSorted is ticked in alphabetical order.
func tickedSorted[T ~string](list []T) string {
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	return ticked(sorted)
}

// additionalProperties is the message for members that an object should not have.
func additionalProperties(allowed, found []string) string {
	return fmt.Sprintf("Expected an object with possible properties of %s, but found additional properties: %s",
		tickedSorted(allowed), tickedSorted(found))
}

// emptyValue reports whether a value is absent, null or has nothing in it.
func emptyValue(v *document.Value) bool {
	return v == nil || v.Kind == document.Null || v.Kind == document.Array && len(v.Items) == 0 ||
		v.Kind == document.Object && len(v.Members) == 0
}
