package smithy

import (
	"fmt"
	"slices"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// A stage defines when a rule runs. Nothing runs after an error of the first stage: the other
// rules require that all references of shapes are resolved. The reference implementation stops
// after errors of the second stage as well; here one run reports everything.
type stage uint8

const (
	correctness stage = iota // that what shapes refer to exists and is of the right kind
	critical                 // that traits mean what they say
	further
)

// A rule checks one thing of a whole model.
type rule struct {
	id    string // of its events, and the first part of the ids of variants
	stage stage
	check func(c *check)
}

// rules are all validators, by the ids that the reference implementation gives them.
var rules = slices.Concat(
	targetRules, traitRules, enumRules, resourceRules, serviceRules, operationRules, httpRules, shapeRules, awsRules,
)

// Validate checks a loaded model and returns all events, those of loading included, sorted by
// place. Events that the model suppresses have the severity SUPPRESSED. If loading found an
// error, nothing more is checked.
func Validate(m *Model, loaded Events) Events {
	c := &check{m: m, events: slices.Clone(loaded), picked: map[string]map[*Shape]bool{}, similar: map[ID][]string{},
		patterns: patterns{compiled: map[string]func(string) bool{}, left: maxMatchTime}, budget: newBudget(m)}
	c.selection = newSelection(m)
	c.selection.budget = c.budget
	c.decorator = c.readDecorator()
	if c.events.hasErrors() {
		return c.finish()
	}
	c.index()
	for s := correctness; s <= further; s++ {
		for _, r := range rules {
			if r.stage == s {
				c.id = r.id
				r.check(c)
			}
		}
		if s == correctness && c.events.hasErrors() {
			return c.finish()
		}
	}
	c.runModelValidators()
	return c.finish()
}

// A check is one run of the rules, with the data that several of them need.
type check struct {
	m         *Model
	id        string // of the rule that is running
	events    Events
	decorator decorator

	with      map[ID][]*Shape // the loaded shapes that have a trait, members included
	reverse   map[ID][]incoming
	selection *selection
	picked    map[string]map[*Shape]bool
	bindings  *propertyIndex
	closures  map[ID][]ID
	patterns  patterns
	similar   map[ID][]string
	budget    *budget
}

func (c *check) index() {
	c.with = map[ID][]*Shape{}
	for _, s := range c.m.all {
		for _, t := range s.Traits {
			c.with[t.ID] = append(c.with[t.ID], s)
		}
	}
	c.reverse = c.m.reverse(false)
	c.selection.reversed = c.reverse
	c.bindings = newPropertyIndex(c.m)
	c.closures = map[ID][]ID{}
}

func (c *check) finish() Events {
	if c.budget.spent {
		c.events = append(c.events, c.budget.event())
	}
	for i := range c.events {
		c.decorator.decorate(c.m, &c.events[i])
	}
	c.events.Sort()
	return c.events
}

// closure is [Model.closure], kept.
func (c *check) closure(id ID) []ID {
	if c.closures[id] == nil {
		c.closures[id] = c.m.closure(id)
		if !c.budget.spend(len(c.closures[id]), c.m.shapes[id]) {
			c.closures[id] = c.closures[id][:1]
		}
	}
	return c.closures[id]
}

// pick returns the shapes that a selector picks; it is the same for the whole run.
func (c *check) pick(text string) map[*Shape]bool {
	if found, known := c.picked[text]; known {
		return found
	}
	sel, err := parseSelector(text)
	if err != nil {
		return nil // reported where it is written
	}
	c.picked[text] = c.selection.pick(sel, nil)
	return c.picked[text]
}

// --- reporting

// add reports an event on a shape at a place. suffix is appended to the id of the rule.
func (c *check) add(severity Severity, s *Shape, at diag.Range, suffix, format string, args ...any) {
	id := c.id
	if suffix != "" {
		id += "." + suffix
	}
	c.events = append(c.events, Event{ID: id, Severity: severity, Shape: s.ID, At: at, Message: fmt.Sprintf(format, args...)})
}

func (c *check) error(s *Shape, format string, args ...any) {
	c.add(ErrorSeverity, s, s.At, "", format, args...)
}

func (c *check) danger(s *Shape, format string, args ...any) {
	c.add(DangerSeverity, s, s.At, "", format, args...)
}

func (c *check) warning(s *Shape, format string, args ...any) {
	c.add(WarningSeverity, s, s.At, "", format, args...)
}

func (c *check) note(s *Shape, format string, args ...any) {
	c.add(NoteSeverity, s, s.At, "", format, args...)
}

// traitError reports at the place of a trait.
func (c *check) traitError(s *Shape, t *Trait, format string, args ...any) {
	c.add(ErrorSeverity, s, t.At, "", format, args...)
}

func (c *check) traitDanger(s *Shape, t *Trait, format string, args ...any) {
	c.add(DangerSeverity, s, t.At, "", format, args...)
}

func (c *check) traitWarning(s *Shape, t *Trait, format string, args ...any) {
	c.add(WarningSeverity, s, t.At, "", format, args...)
}

// --- helpers of rules

// shapesWith lists the shapes of the given types that have a trait; no types means any.
func (c *check) shapesWith(trait ID, types ...Type) []*Shape {
	if len(types) == 0 {
		return c.with[trait]
	}
	var out []*Shape
	for _, s := range c.with[trait] {
		if slices.Contains(types, s.Type) {
			out = append(out, s)
		}
	}
	return out
}

// services calls f with each service and the operations in its closure.
func (c *check) services(f func(service *Shape, operations []*Shape)) {
	for _, s := range c.m.OfType(Service) {
		_, operations := c.m.TopDown(s)
		f(s, operations)
	}
}

// traitDefinitions are the traits that are in use, sorted by ID.
func (c *check) usedTraits() []*Shape {
	var out []*Shape
	for id := range c.with {
		if s := c.m.Shape(id); s != nil {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *Shape) int { return compareIDs(a.ID, b.ID) })
	return out
}

// protocols are the traits of a service that define protocols, sorted by ID.
func (c *check) protocols(service *Shape) []*Shape {
	return c.definedBy(service, "smithy.api#protocolDefinition")
}

// authSchemes are the traits of a service that define authentication, sorted by ID.
func (c *check) authSchemes(service *Shape) []*Shape {
	return c.definedBy(service, traitAuthDefinition)
}

func (c *check) definedBy(s *Shape, definition ID) []*Shape {
	var out []*Shape
	for _, t := range s.Traits {
		if d := c.m.Shape(t.ID); d.Has(definition) {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b *Shape) int { return compareIDs(a.ID, b.ID) })
	return out
}

// names lists the IDs of shapes.
func names(shapes []*Shape) []ID {
	out := make([]ID, len(shapes))
	for i, s := range shapes {
		out[i] = s.ID
	}
	return out
}
