package smithy

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A selector picks shapes of a model. It is compiled once and may be used with any
// model, by several goroutines.
type selector struct {
	text  string
	steps []step

	// local means that the result for a shape depends only on that shape as a start: no step
	// moves to another shape permanently.
	local bool
}

type root []step

// A step takes a shape and passes on the related shapes; next returns false to stop, and so
// does the step then.
type step func(c *selection, s *Shape, next func(*Shape) bool) bool

// A selection is one use of selectors on a model. It caches data of the whole model that
// selectors need and is not safe for concurrent use.
type selection struct {
	m          *Model
	vars       map[string][]*Shape
	reversed   map[ID][]incoming
	withTraits map[ID][]incoming
	found      map[*root][]*Shape
	budget     *budget
}

func newSelection(m *Model) *selection {
	return &selection{m: m, vars: map[string][]*Shape{}, found: map[*root][]*Shape{}, budget: newBudget(m)}
}

// run feeds a shape through steps.
func (c *selection) run(steps []step, s *Shape, next func(*Shape) bool) bool {
	if !c.budget.spend(1, s) {
		return false
	}
	if len(steps) == 0 {
		return next(s)
	}
	return steps[0](c, s, func(s *Shape) bool { return c.run(steps[1:], s, next) })
}

// any reports whether the steps lead from the shape to some shape.
func (c *selection) any(steps []step, s *Shape) bool {
	found := false
	c.run(steps, s, func(*Shape) bool {
		found = true
		return false
	})
	return found
}

// matches reports whether the selector picks the shape. It is only right for selectors
// that are local.
func (c *selection) matches(sel *selector, s *Shape) bool {
	found := false
	c.run(sel.steps, s, func(to *Shape) bool {
		found = found || to == s
		return !found
	})
	return found
}

// pick returns all shapes that the selector picks, built-in ones included, and calls
// each with the variables of the moment if it is set.
func (c *selection) pick(sel *selector, each func(*Shape)) map[*Shape]bool {
	out := map[*Shape]bool{}
	collect := func(s *Shape) bool {
		if each != nil {
			each(s)
		}
		out[s] = true
		return true
	}
	for _, s := range c.m.all {
		clear(c.vars)
		c.run(sel.steps, s, collect)
	}
	for _, s := range c.m.shapes {
		if s.builtin {
			clear(c.vars)
			c.run(sel.steps, s, collect)
		}
	}
	return out
}

func (c *selection) incoming(s *Shape, traits bool) []incoming {
	if traits {
		if c.withTraits == nil {
			c.withTraits = c.m.reverse(true)
		}
		return c.withTraits[s.ID]
	}
	if c.reversed == nil {
		c.reversed = c.m.reverse(false)
	}
	return c.reversed[s.ID]
}

// --- steps

func typeStep(match func(Type) bool) step {
	return func(_ *selection, s *Shape, next func(*Shape) bool) bool { return !match(s.Type) || next(s) }
}

// testStep passes on shapes for which a test holds.
func testStep(test func(c *selection, s *Shape) bool) step {
	return func(c *selection, s *Shape, next func(*Shape) bool) bool { return !test(c, s) || next(s) }
}

func anyOf(alternatives [][]step) step {
	return func(c *selection, s *Shape, next func(*Shape) bool) bool {
		for _, steps := range alternatives {
			if !c.run(steps, s, next) {
				return false
			}
		}
		return true
	}
}

// forwardStep moves along relations; labels nil means any.
func forwardStep(labels []string) step {
	return func(c *selection, s *Shape, next func(*Shape) bool) bool {
		going := true
		relations(s, func(r relation) bool {
			if r.kind != relContainer && follows(labels, r.kind) {
				if to := c.m.shapes[r.to]; to != nil {
					going = next(to)
				}
			}
			return going
		})
		if going && slices.Contains(labels, "trait") {
			for _, t := range s.Traits {
				if to := c.m.shapes[t.ID]; to != nil && !next(to) {
					return false
				}
			}
		}
		return going
	}
}

func backwardStep(labels []string) step {
	traits := slices.Contains(labels, "trait")
	return func(c *selection, s *Shape, next func(*Shape) bool) bool {
		for _, in := range c.incoming(s, traits) {
			if in.kind != relContainer && follows(labels, in.kind) && !next(in.from) {
				return false
			}
		}
		return true
	}
}

func follows(labels []string, kind relationKind) bool {
	return len(labels) == 0 || slices.Contains(labels, relationKinds[kind].label) && relationKinds[kind].label != "" ||
		slices.Contains(labels, "instanceOperation") && kind.instanceOperation()
}

// walkStep moves to everything that a shape refers to.
func walkStep(c *selection, s *Shape, next func(*Shape) bool) bool {
	if c.budget.spent {
		return false
	}
	reached := c.m.closure(s.ID)[1:]
	c.budget.spend(len(reached), s)
	for _, id := range reached {
		if to := c.m.shapes[id]; to != nil && !next(to) {
			return false
		}
	}
	return true
}

// topdownStep walks services and resources down to operations, and passes on those at
// and below a match of the first argument, but not those at and below one of the second.
func topdownStep(qualify, disqualify []step) step {
	return func(c *selection, s *Shape, next func(*Shape) bool) bool {
		if typeClasses[s.Type] != serviceType {
			return true
		}
		seen := map[ID]bool{}
		var visit func(s *Shape, qualified bool) bool
		visit = func(s *Shape, qualified bool) bool {
			if seen[s.ID] {
				return true
			}
			seen[s.ID] = true
			qualified = qualified || c.any(qualify, s)
			if qualified && disqualify != nil && c.any(disqualify, s) {
				qualified = false
			}
			if qualified && !next(s) {
				return false
			}
			going := true
			relations(s, func(r relation) bool {
				if r.kind == relResource || r.kind == relOperation {
					if to := c.m.shapes[r.to]; to != nil {
						going = visit(to, qualified)
					}
				}
				return going
			})
			return going
		}
		return visit(s, false)
	}
}

// recursiveStep applies its argument to its own results until nothing new comes.
func recursiveStep(steps []step) step {
	return func(c *selection, s *Shape, next func(*Shape) bool) bool {
		seen := map[*Shape]bool{}
		queue := []*Shape{s}
		for len(queue) > 0 {
			s, queue = queue[0], queue[1:]
			going := c.run(steps, s, func(to *Shape) bool {
				if seen[to] {
					return true
				}
				seen[to] = true
				queue = append(queue, to)
				return next(to)
			})
			if !going {
				return false
			}
		}
		return true
	}
}

func storeStep(name string, steps []step) step {
	return func(c *selection, s *Shape, next func(*Shape) bool) bool {
		var found []*Shape
		c.run(steps, s, func(to *Shape) bool {
			if !slices.Contains(found, to) {
				found = append(found, to)
			}
			return true
		})
		c.vars[name] = found
		return next(s)
	}
}

func variableStep(name string) step {
	return func(c *selection, _ *Shape, next func(*Shape) bool) bool {
		for _, s := range slices.Clone(c.vars[name]) {
			if !next(s) {
				return false
			}
		}
		return true
	}
}

func rootStep(r *root) step {
	return func(c *selection, _ *Shape, next func(*Shape) bool) bool {
		found, known := c.found[r]
		if !known {
			for s := range c.pick(&selector{steps: *r}, nil) {
				found = append(found, s)
			}
			slices.SortFunc(found, func(a, b *Shape) int { return compareIDs(a.ID, b.ID) })
			c.found[r] = found
		}
		for _, s := range found {
			if !next(s) {
				return false
			}
		}
		return true
	}
}

func inStep(steps []step) step {
	return testStep(func(c *selection, s *Shape) bool {
		found := false
		c.run(steps, s, func(to *Shape) bool {
			found = found || to == s
			return !found
		})
		return found
	})
}

// --- attributes

// An attribute is the value of a path in brackets: nothing (the zero attribute), a text, a
// JSON value, a shape and its attributes, or several attributes.
type attribute struct {
	kind  attributeKind
	text  string
	node  *document.Value
	shape *Shape
	items []attribute
}

type attributeKind uint8

const (
	attrNone attributeKind = iota
	attrText
	attrNode
	attrID
	attrShape
	attrTraits
	attrService
	attrVars
	attrItems
)

func (a attribute) present() bool {
	switch a.kind {
	case attrNone:
		return false
	case attrNode:
		return a.node.Kind != document.Null
	case attrItems:
		return len(a.items) > 0
	}
	return true
}

// flat returns the values to compare: of several attributes each, else the one.
func (a attribute) flat() []attribute {
	if a.kind != attrItems {
		return []attribute{a}
	}
	var out []attribute
	for _, item := range a.items {
		out = append(out, item.flat()...)
	}
	return out
}

func (a attribute) String() string {
	switch a.kind {
	case attrText, attrID:
		return a.text
	case attrShape, attrService:
		return string(a.shape.ID)
	case attrNode:
		switch a.node.Kind {
		case document.String, document.Number:
			return a.node.Text
		case document.Bool:
			return map[bool]string{true: "true", false: "false"}[a.node.Bool]
		}
	}
	return ""
}

// forMessage is the attribute as a message template shows it.
func (a attribute) forMessage() string {
	switch a.kind {
	case attrNode:
		return printJSON(a.node)
	case attrItems:
		var texts []string
		for _, item := range a.flat() {
			texts = append(texts, item.forMessage())
		}
		slices.Sort(texts)
		return "[" + strings.Join(texts, ", ") + "]"
	}
	return a.String()
}

func textAttribute(text string) attribute { return attribute{kind: attrText, text: text} }

func lengthAttribute(n int) attribute { return textAttribute(itoa(n)) }

func (c *selection) path(a attribute, path []string) attribute {
	for _, key := range path {
		if !a.present() {
			break
		}
		a = c.property(a, key)
	}
	return a
}

func (c *selection) property(a attribute, key string) attribute {
	switch a.kind {
	case attrText:
		if key == "(length)" {
			return lengthAttribute(utf8.RuneCountInString(a.text))
		}
	case attrNode:
		return nodeProperty(a.node, key)
	case attrID:
		id := ID(a.text)
		switch key {
		case "name":
			return textAttribute(id.Name())
		case "namespace":
			return textAttribute(id.Namespace())
		case "member":
			if id.Member() != "" {
				return textAttribute(id.Member())
			}
		case "(length)":
			return lengthAttribute(len(a.text))
		}
	case attrShape:
		return c.shapeProperty(a.shape, key)
	case attrTraits:
		return traitsProperty(a.shape, key)
	case attrService:
		switch key {
		case "id":
			return attribute{kind: attrID, text: string(a.shape.ID)}
		case "version":
			return textAttribute(a.shape.Version)
		}
	case attrVars:
		out := attribute{kind: attrItems}
		for _, s := range c.vars[key] {
			out.items = append(out.items, attribute{kind: attrShape, shape: s})
		}
		return out
	case attrItems:
		if key == "(first)" {
			if flat := a.flat(); len(flat) > 0 {
				return flat[0]
			}
			return attribute{}
		}
		out := attribute{kind: attrItems}
		for _, item := range a.items {
			if v := c.property(item, key); v.present() {
				out.items = append(out.items, v)
			}
		}
		return out
	}
	return attribute{}
}

func (c *selection) shapeProperty(s *Shape, key string) attribute {
	switch {
	case key == "id":
		return attribute{kind: attrID, text: string(s.ID)}
	case key == "trait":
		return attribute{kind: attrTraits, shape: s}
	case key == "service" && s.Type == Service:
		return attribute{kind: attrService, shape: s}
	case key == "var":
		return attribute{kind: attrVars}
	}
	return attribute{}
}

func traitsProperty(s *Shape, key string) attribute {
	out := attribute{kind: attrItems}
	switch key {
	case "(length)":
		return lengthAttribute(len(s.Traits))
	case "(keys)":
		for _, t := range s.Traits {
			out.items = append(out.items, attribute{kind: attrID, text: string(t.ID)})
		}
	case "(values)":
		for _, t := range s.Traits {
			out.items = append(out.items, attribute{kind: attrNode, node: t.Value})
		}
	default:
		t := s.Trait(absoluteTrait(key))
		if t == nil {
			return attribute{}
		}
		return attribute{kind: attrNode, node: t.Value}
	}
	return out
}

// absoluteTrait gives the name of a trait in a selector its namespace.
func absoluteTrait(name string) ID {
	if strings.Contains(name, "#") {
		return ID(name)
	}
	return ID(preludeNamespace + "#" + name)
}

func nodeProperty(v *document.Value, key string) attribute {
	out := attribute{kind: attrItems}
	node := func(v *document.Value) attribute { return attribute{kind: attrNode, node: v} }
	switch v.Kind {
	case document.Object:
		switch key {
		case "(length)":
			return lengthAttribute(len(v.Members))
		case "(keys)":
			for _, m := range v.Members {
				out.items = append(out.items, node(document.NewString(m.Key)))
			}
			return out
		case "(values)":
			for _, m := range v.Members {
				out.items = append(out.items, node(m.Value))
			}
			return out
		}
		if member := v.Get(key); member != nil {
			return node(member)
		}
	case document.Array:
		switch key {
		case "(length)":
			return lengthAttribute(len(v.Items))
		case "(values)":
			for _, item := range v.Items {
				out.items = append(out.items, node(item))
			}
			return out
		}
	case document.String:
		if key == "(length)" {
			return lengthAttribute(utf8.RuneCountInString(v.Text))
		}
	}
	return attribute{}
}
