package jsonata

import (
	"slices"
	"strconv"
)

// resolve turns a tree of the grammar into the form that is evaluated: the operators of
// paths become steps with stages, tail calls are marked, and every % finds the step that
// it refers to. Nodes of the grammar are not used again.
func (p *parser) resolve(n *node) (*node, error) {
	out, err := p.resolveKind(n)
	if err != nil {
		return nil, err
	}
	if n.keepArray {
		out.keepArray = true
	}
	return out, nil
}

func (p *parser) resolveKind(n *node) (*node, error) {
	switch n.kind {
	case kindEnd:
		return nil, newError("S0207", n.at, "(end)")
	case kindName:
		step := *n
		return &node{kind: kindPath, at: n.at, items: []*node{&step}, keepSingleton: n.keepArray}, nil
	case kindParent:
		index := len(p.ancestors)
		out := &node{kind: kindParent, at: n.at, text: "%"}
		out.slot = &ancestor{label: "!" + strconv.Itoa(index), level: 1, index: index}
		p.ancestors = append(p.ancestors, out)
		return out, nil
	case kindBinary:
		return p.resolveBinary(n)
	case kindNegate:
		operand, err := p.resolve(n.left)
		if err != nil {
			return nil, err
		}
		if operand.kind == kindNumber {
			operand.number = -operand.number
			operand.value = operand.number
			return operand, nil
		}
		out := &node{kind: kindNegate, at: n.at, text: n.text, left: operand}
		out.inherit(operand)
		return out, nil
	case kindLambda:
		body, err := p.resolve(n.left)
		if err != nil {
			return nil, err
		}
		return &node{kind: kindLambda, at: n.at, params: n.params, signature: n.signature, left: tailCalls(body)}, nil
	case kindBlock:
		return p.resolveBlock(n)
	case kindTransform:
		out := &node{kind: kindTransform, at: n.at, text: n.text}
		return out, p.resolveInto(out, n, false)
	case kindCall, kindPartial, kindArray, kindObject, kindCondition, kindElvis, kindCoalesce:
		out := &node{kind: n.kind, at: n.at, text: n.text}
		return out, p.resolveInto(out, n, true)
	}
	leaf := *n
	leaf.keepArray = false
	return &leaf, nil
}

// resolveInto resolves the parts of n into out. With inherit, what a % in a part still
// looks for is looked for outside of out; the procedure of a call is no such part.
func (p *parser) resolveInto(out, n *node, inherit bool) error {
	add := func(part *node, inherit bool) (*node, error) {
		if part == nil {
			return nil, nil
		}
		resolved, err := p.resolve(part)
		if err == nil && inherit {
			out.inherit(resolved)
		}
		return resolved, err
	}
	var err error
	for _, item := range n.items {
		if item, err = add(item, inherit); err != nil {
			return err
		}
		out.items = append(out.items, item)
	}
	if out.pairs, err = p.resolvePairs(n.pairs, out); err != nil {
		return err
	}
	call := n.kind == kindCall || n.kind == kindPartial
	if out.left, err = add(n.left, inherit && !call); err != nil {
		return err
	}
	if out.right, err = add(n.right, inherit); err != nil {
		return err
	}
	out.third, err = add(n.third, inherit)
	return err
}

// resolvePairs resolves the entries of an object; with a heir, it inherits what their
// parts look for.
func (p *parser) resolvePairs(pairs [][2]*node, heir *node) ([][2]*node, error) {
	var out [][2]*node
	for _, pair := range pairs {
		for i := range pair {
			part, err := p.resolve(pair[i])
			if err != nil {
				return nil, err
			}
			if heir != nil {
				heir.inherit(part)
			}
			pair[i] = part
		}
		out = append(out, pair)
	}
	return out, nil
}

func (p *parser) resolveBlock(n *node) (*node, error) {
	out := &node{kind: kindBlock, at: n.at, text: n.text}
	if err := p.resolveInto(out, n, true); err != nil {
		return nil, err
	}
	for _, item := range out.items {
		if item.consArray || item.kind == kindPath && item.items[0].consArray {
			out.consArray = true
		}
	}
	return out, nil
}

func (p *parser) resolveBinary(n *node) (*node, error) {
	switch n.text {
	case ".":
		return p.resolveDot(n)
	case "[":
		return p.resolvePredicate(n)
	case "{":
		out, err := p.resolve(n.left)
		if err != nil {
			return nil, err
		}
		if out.group != nil {
			return nil, newError("S0210", n.at, n.text)
		}
		pairs, err := p.resolvePairs(n.pairs, nil)
		if err != nil {
			return nil, err
		}
		out.group = &group{at: n.at, pairs: pairs}
		return out, nil
	case "^":
		return p.resolveSort(n)
	case "@":
		return p.resolveFocus(n)
	case "#":
		return p.resolveIndex(n)
	}
	left, err := p.resolve(n.left)
	if err != nil {
		return nil, err
	}
	right, err := p.resolve(n.right)
	if err != nil {
		return nil, err
	}
	out := &node{kind: kindBinary, at: n.at, text: n.text, left: left, right: right}
	switch n.text {
	case ":=":
		out.kind = kindBind
		out.inherit(right)
	case "~>":
		out.kind = kindApply
		out.keepArray = left.keepArray || right.keepArray
	default:
		out.inherit(left)
		out.inherit(right)
	}
	return out, nil
}

// resolveDot appends the right side as steps to the path on the left.
func (p *parser) resolveDot(n *node) (*node, error) {
	left, err := p.resolve(n.left)
	if err != nil {
		return nil, err
	}
	out := left
	if left.kind != kindPath {
		out = &node{kind: kindPath, at: left.at, items: []*node{left}}
	}
	if left.kind == kindParent {
		out.seeking = []*ancestor{left.slot}
	}
	right, err := p.resolve(n.right)
	if err != nil {
		return nil, err
	}
	if right.kind == kindPath {
		out.items = append(out.items, right.items...)
	} else {
		if right.predicates != nil {
			right.stages, right.predicates = right.predicates, nil
		}
		out.items = append(out.items, right)
	}
	for _, step := range out.items {
		switch step.kind {
		case kindNumber, kindValue:
			return nil, newError("S0213", step.at, quoteToken(step.text))
		case kindString:
			step.kind = kindName
		}
		if step.keepArray {
			out.keepSingleton = true
		}
	}
	for _, end := range []*node{out.items[0], out.items[len(out.items)-1]} {
		if end.kind == kindArray {
			end.consArray = true
		}
	}
	return out, p.resolveParents(out)
}

// lastStep is the node that a predicate or a variable binding after n belongs to.
func lastStep(n *node) *node {
	if n.kind == kindPath {
		return n.items[len(n.items)-1]
	}
	return n
}

func (p *parser) resolvePredicate(n *node) (*node, error) {
	out, err := p.resolve(n.left)
	if err != nil {
		return nil, err
	}
	step := lastStep(out)
	if step.group != nil {
		return nil, newError("S0209", n.at, n.text)
	}
	filter, err := p.resolve(n.right)
	if err != nil {
		return nil, err
	}
	if len(filter.seeking) > 0 {
		for _, slot := range filter.seeking {
			if slot.level == 1 {
				if _, err := p.seek(step, slot); err != nil {
					return nil, err
				}
			} else {
				slot.level--
			}
		}
		step.inherit(filter)
	}
	if out.kind == kindPath {
		step.stages = append(step.stages, stage{filter: filter})
	} else {
		step.predicates = append(step.predicates, stage{filter: filter})
	}
	return out, nil
}

func (p *parser) resolveSort(n *node) (*node, error) {
	out, err := p.resolve(n.left)
	if err != nil {
		return nil, err
	}
	if out.kind != kindPath {
		out = &node{kind: kindPath, at: out.at, items: []*node{out}}
	}
	step := &node{kind: kindSort, at: n.at, text: n.text}
	for _, term := range n.terms {
		expr, err := p.resolve(term.expr)
		if err != nil {
			return nil, err
		}
		step.inherit(expr)
		step.terms = append(step.terms, sortTerm{term.descending, expr})
	}
	out.items = append(out.items, step)
	return out, p.resolveParents(out)
}

func (p *parser) resolveFocus(n *node) (*node, error) {
	out, err := p.resolve(n.left)
	if err != nil {
		return nil, err
	}
	step := lastStep(out)
	if step.stages != nil || step.predicates != nil {
		return nil, newError("S0215", n.at, n.text)
	}
	if step.kind == kindSort {
		return nil, newError("S0216", n.at, n.text)
	}
	if n.keepArray {
		step.keepArray = true
	}
	step.focus = n.right.text
	step.tuple = true
	return out, nil
}

func (p *parser) resolveIndex(n *node) (*node, error) {
	out, err := p.resolve(n.left)
	if err != nil {
		return nil, err
	}
	step := lastStep(out)
	if out.kind != kindPath {
		out = &node{kind: kindPath, at: out.at, items: []*node{step}}
		if step.predicates != nil {
			step.stages, step.predicates = step.predicates, nil
		}
	}
	if step.stages == nil {
		step.index = n.right.text
	} else {
		step.stages = append(step.stages, stage{index: n.right.text})
	}
	step.tuple = true
	return out, nil
}

// inherit makes n look for what part, one of its parts, still looks for.
func (n *node) inherit(part *node) {
	n.seeking = append(n.seeking, part.seeking...)
	if part.kind == kindParent {
		n.seeking = append(n.seeking, part.slot)
	}
}

// resolveParents goes back along a path to the steps that the parents in its last step refer
// to. Parents that are not found there are resolved outside of the path.
func (p *parser) resolveParents(path *node) error {
	last := path.items[len(path.items)-1]
	slots := slices.Clone(last.seeking)
	if last.kind == kindParent {
		slots = append(slots, last.slot)
	}
	for _, slot := range slots {
		index := len(path.items) - 2
		for slot.level > 0 {
			if index < 0 {
				path.seeking = append(path.seeking, slot)
				break
			}
			step := path.items[index]
			index--
			// Steps that bind their focus share one context.
			for index >= 0 && step.focus != "" && path.items[index].focus != "" {
				step = path.items[index]
				index--
			}
			var err error
			if slot, err = p.seek(step, slot); err != nil {
				return err
			}
		}
	}
	return nil
}

// seek goes back over one node towards the ancestor of slot.
func (p *parser) seek(n *node, slot *ancestor) (*ancestor, error) {
	switch n.kind {
	case kindName, kindWildcard:
		slot.level--
		if slot.level == 0 {
			if n.ancestor != nil {
				p.ancestors[slot.index].slot.label = n.ancestor.label
			}
			n.ancestor = slot
			n.tuple = true
		}
	case kindParent:
		slot.level++
	case kindBlock:
		if len(n.items) > 0 {
			n.tuple = true
			return p.seek(n.items[len(n.items)-1], slot)
		}
	case kindPath:
		n.tuple = true
		index := len(n.items) - 1
		slot, err := p.seek(n.items[index], slot)
		for index--; err == nil && slot.level > 0 && index >= 0; index-- {
			slot, err = p.seek(n.items[index], slot)
		}
		return slot, err
	default:
		return nil, newError("S0217", n.at, kindNames[n.kind])
	}
	return slot, nil
}

// tailCalls wraps the calls whose value is the value of the whole body: they are made
// after the body has been left, so that recursion through them takes no depth.
func tailCalls(body *node) *node {
	if body.predicates != nil || body.group != nil || body.keepArray {
		return body // something is done with the value after the call
	}
	switch body.kind {
	case kindCall:
		return &node{kind: kindThunk, at: body.at, left: body}
	case kindCondition:
		body.right = tailCalls(body.right)
		if body.third != nil {
			body.third = tailCalls(body.third)
		}
	case kindElvis, kindCoalesce:
		body.right = tailCalls(body.right)
	case kindBlock:
		if len(body.items) > 0 {
			body.items[len(body.items)-1] = tailCalls(body.items[len(body.items)-1])
		}
	}
	return body
}
