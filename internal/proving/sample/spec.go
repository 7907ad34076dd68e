package sample

import (
	"slices"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A spec is what one value must fulfil: all of the rules, and none of the refused schemas.
// It comes from one way of choosing among the branches of the combiners.
type spec struct {
	sources []*document.Value // what the value must match, as written
	rules   []*rules
	refused []*document.Value
	types   types
	hints   []*document.Value
	verify  bool // fitting the rules is not all
}

// maxRules bounds the schemas that apply to one value.
const maxRules = 512

// A chooser numbers the ways of choosing among branches: attempt 0 takes the best branch
// everywhere, the following ones vary the first choice fastest.
type chooser struct {
	rest   int // of the number of the attempt
	ways   int // the product of all choices met, bounded
	src    source
	choice int
}

// maxWays bounds how many combinations of branches are tried for one value.
const maxWays = 32

// order brings the indexes of n branches into the order in which they are to be tried.
func (c *chooser) pick(n int, rank func(i int) int) int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	c.choice++
	draw := c.src.at(c.choice)
	draw.shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	slices.SortStableFunc(order, func(i, j int) int { return rank(i) - rank(j) })
	chosen := order[c.rest%n]
	c.rest /= n
	c.ways = min(c.ways*n, maxWays)
	return chosen
}

// expand follows references and combiners, choosing by c, and sums up what applies.
func (r *run) expand(nodes []*document.Value, at document.Pointer, c *chooser, sparse bool) (*spec, error) {
	sp := &spec{sources: nodes, types: anyType}
	seen := map[*document.Value]bool{}
	queue := slices.Clone(nodes)
	for i := 0; i < len(queue); i++ {
		node, err := r.g.schema.Resolve(queue[i])
		if err != nil || node == nil || seen[node] {
			continue // a reference without an end accepts everything, as in Check
		}
		seen[node] = true
		if r.steps++; len(seen) > maxRules {
			return nil, fault(at, "allOf", "more than %d schemas apply to it at once", maxRules)
		}
		k := r.g.rulesOf(node)
		if k.never {
			return nil, fault(at, "false", "its schema allows nothing")
		}
		if k.anything {
			sp.hints = append(sp.hints, k.hints...)
			sp.rules = append(sp.rules, k)
			continue
		}
		sp.rules = append(sp.rules, k)
		sp.types &= k.types
		sp.hints = append(sp.hints, k.hints...)
		sp.verify = sp.verify || k.mustVerify
		queue = append(queue, k.allOf...)
		for _, branches := range [][]*document.Value{k.anyOf, k.oneOf} {
			if len(branches) == 0 {
				continue
			}
			chosen := c.pick(len(branches), func(i int) int { return r.rank(branches[i], at, sparse) })
			queue = append(queue, branches[chosen])
			if len(k.oneOf) > 0 && &branches[0] == &k.oneOf[0] {
				sp.refused = append(append(sp.refused, branches[:chosen]...), branches[chosen+1:]...)
			}
		}
		if k.not != nil {
			sp.refused = append(sp.refused, k.not)
		}
		queue = r.conditional(k, sp, c, queue)
	}
	if sp.types == 0 {
		return nil, fault(at, "type", "its schemas have no type in common")
	}
	return sp, nil
}

// conditional decides for one side of if, then, else.
func (r *run) conditional(k *rules, sp *spec, c *chooser, queue []*document.Value) []*document.Value {
	if k.condition == nil || k.then == nil && k.otherwise == nil {
		return queue
	}
	side := k.then
	if c.pick(2, func(int) int { return 0 }) == 0 {
		queue = append(queue, k.condition)
	} else {
		side = k.otherwise
		sp.refused = append(sp.refused, k.condition)
	}
	if side != nil {
		queue = append(queue, side)
	}
	return queue
}

// rank orders branches: those that no input can fulfil come last, and where little room
// is left those first that need the least nesting.
func (r *run) rank(branch *document.Value, at document.Pointer, sparse bool) int {
	node, err := r.g.schema.Resolve(branch)
	if err != nil || node == nil {
		return 0
	}
	rank := 0
	if sparse {
		rank = r.g.height(node)
	}
	if !r.readOnly {
		for _, name := range r.g.rulesOf(node).required {
			if r.g.schema.IsReadOnly(at.Append(name)) {
				rank += 2 * endless
			}
		}
	}
	return rank
}

// endless is the height of a schema that requires itself within itself.
const endless = 1 << 20

// maxPasses bounds the search for heights. It is also the greatest height that is
// distinguished from an infinite one.
const maxPasses = 64

// height is how deeply values nest at the least that fit a schema.
func (g *Generator) height(node *document.Value) int {
	if _, known := g.heights[node]; known {
		return g.heights[node]
	}
	if g.heights == nil {
		g.heights = map[*document.Value]int{}
	}
	var all []*document.Value
	stack := []*document.Value{node}
	for len(stack) > 0 {
		n, err := g.schema.Resolve(stack[len(stack)-1])
		stack = stack[:len(stack)-1]
		if err != nil || n == nil {
			continue
		}
		if _, known := g.heights[n]; known {
			continue
		}
		g.heights[n] = endless
		all = append(all, n)
		stack = g.below(n, stack)
	}
	for range maxPasses {
		changed := false
		for i := len(all) - 1; i >= 0; i-- {
			if h := g.estimate(all[i]); h < g.heights[all[i]] {
				g.heights[all[i]], changed = h, true
			}
		}
		if !changed {
			break
		}
	}
	return g.heights[node]
}

// below appends the schemas that estimate reads.
func (g *Generator) below(n *document.Value, to []*document.Value) []*document.Value {
	k := g.rulesOf(n)
	to = append(append(append(to, k.allOf...), k.anyOf...), k.oneOf...)
	for _, m := range k.properties {
		to = append(to, m.Value)
	}
	if k.items != nil {
		to = append(to, k.items)
	}
	return append(to, k.tuple...)
}

// known is the height found up to this pass.
func (g *Generator) known(node *document.Value) int {
	resolved, err := g.schema.Resolve(node)
	if err != nil || resolved == nil {
		return 0
	}
	return g.heights[resolved]
}

func (g *Generator) estimate(n *document.Value) int {
	k := g.rulesOf(n)
	if k.never {
		return endless
	}
	height := 0
	for _, branch := range k.allOf {
		height = max(height, g.known(branch))
	}
	for _, branches := range [][]*document.Value{k.anyOf, k.oneOf} {
		if len(branches) == 0 {
			continue
		}
		least := endless
		for _, branch := range branches {
			least = min(least, g.known(branch))
		}
		height = max(height, least)
	}
	if k.listed || k.types&^(typeObject|typeArray) != 0 && k.types != anyType {
		return height
	}
	if k.types&typeObject != 0 {
		for _, name := range k.required {
			if child := k.property[name]; child != nil {
				height = max(height, min(endless, 1+g.known(child)))
			}
		}
	}
	if k.types&typeArray != 0 && k.minItems > 0 {
		for _, child := range append(slices.Clone(k.tuple), k.items) {
			if child != nil {
				height = max(height, min(endless, 1+g.known(child)))
			}
		}
	}
	return height
}
