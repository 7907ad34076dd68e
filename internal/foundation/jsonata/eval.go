package jsonata

import (
	"context"
	"errors"
	"time"
)

// An evaluator is one evaluation of an expression, with the rest of its limits.
type evaluator struct {
	config  *Config // with defaults filled in
	natives map[string]*native
	ctx     context.Context
	done    <-chan struct{}

	steps  int64         // left
	memory int64         // bytes left
	depth  int           // of nodes
	calls  int           // of functions
	regex  time.Duration // left
	now    time.Time     // when the evaluation started
}

// Approximate sizes in bytes, for the accounting of memory.
const (
	sizeItem   = 24 // a value in an array or a variable
	sizeArray  = 64
	sizeObject = 96
	sizeEntry  = 48 // a key with its value
	sizeTuple  = 96
	sizeLambda = 256 // with the variables that it keeps alive
)

// movedPerStep is the number of keys that are moved to make place in the time of a step.
const movedPerStep = 256

// checkEvery is the number of steps between two looks at the context.
const checkEvery = 1024

// spend takes n steps; the error reports that none are left or that the context has ended.
func (e *evaluator) spend(n int) error {
	before := e.steps
	e.steps -= int64(n)
	if e.steps < 0 {
		return limitError(LimitSteps, unplaced, "the evaluation takes too many steps", nil)
	}
	if before/checkEvery != e.steps/checkEvery {
		select {
		case <-e.done:
			return limitError(LimitTime, unplaced, "the evaluation was stopped: "+e.ctx.Err().Error(), e.ctx.Err())
		default:
		}
	}
	return nil
}

// grow accounts for bytes of data that are about to be made.
func (e *evaluator) grow(bytes int) error {
	e.memory -= int64(bytes)
	if e.memory < 0 {
		return limitError(LimitMemory, unplaced, "the evaluation makes too much data", nil)
	}
	return nil
}

// deepen is called by every function that recurses over data, with the current depth.
func (e *evaluator) deepen(depth int) error {
	if depth > maxDataDepth {
		return limitError(LimitNesting, unplaced, "the data is nested too deeply", nil)
	}
	return e.spend(1)
}

// place gives an error that has no place yet that of a node.
func place(err error, at int, token string) error {
	var e *Error
	if errors.As(err, &e) {
		if e.Position == unplaced {
			e.Position = at
		}
		if e.Token == "" {
			e.Token = token
		}
	}
	return err
}

// eval evaluates an expression against a context. A resulting sequence of one value counts as
// the value, an empty one as undefined.
func (e *evaluator) eval(n *node, input any, env *frame) (any, error) {
	if e.depth++; e.depth > e.config.MaxDepth {
		return nil, limitError(LimitDepth, n.at, "the evaluation recurses too deeply: a function may call itself for ever, or its call could be made the last thing it does", nil)
	}
	if err := e.spend(1); err != nil {
		return nil, place(err, n.at, "")
	}
	result, err := e.evalKind(n, input, env)
	if err != nil {
		e.depth--
		return nil, place(err, n.at, n.text)
	}
	for i := range n.predicates {
		if result, err = e.filter(n.predicates[i].filter, result, env); err != nil {
			e.depth--
			return nil, err
		}
	}
	if n.group != nil && n.kind != kindPath {
		if result, err = e.groupBy(n.group.pairs, result, env); err != nil {
			e.depth--
			return nil, err
		}
	}
	e.depth--
	if s, ok := result.(*array); ok && s.sequence && !s.tuples {
		if n.keepArray && !s.keepSingleton {
			kept := *s
			kept.keepSingleton = true
			s = &kept
		}
		switch {
		case len(s.items) == 0:
			return nil, nil
		case len(s.items) == 1 && !s.keepSingleton:
			return s.items[0], nil
		}
		return s, nil
	}
	return result, nil
}

func (e *evaluator) evalKind(n *node, input any, env *frame) (any, error) {
	switch n.kind {
	case kindPath:
		return e.path(n, input, env)
	case kindString:
		return n.text, nil
	case kindNumber, kindValue:
		return n.value, nil
	case kindName:
		return e.lookup(input, n.text, 0)
	case kindVariable:
		return e.variable(n, input, env), nil
	case kindWildcard:
		return e.wildcard(input)
	case kindDescendant:
		return e.descendants(input)
	case kindParent:
		value, _ := env.lookup(n.slot.label)
		return value, nil
	case kindRegex:
		return n.regex, nil
	case kindBinary:
		return e.binary(n, input, env)
	case kindNegate:
		return e.negate(n, input, env)
	case kindArray:
		return e.arrayConstructor(n, input, env)
	case kindObject:
		return e.groupBy(n.pairs, input, env)
	case kindCall:
		return e.call(n, input, env, nil, false)
	case kindPartial:
		return e.partial(n, input, env)
	case kindLambda:
		return &lambda{params: n.params, signature: n.signature, body: n.left, input: input, env: env}, e.grow(sizeLambda)
	case kindThunk:
		return &thunk{call: n.left, input: input, env: env}, nil
	case kindCondition, kindElvis, kindCoalesce:
		return e.condition(n, input, env)
	case kindBlock:
		return e.block(n, input, env)
	case kindTransform:
		return e.transform(n, env), nil
	case kindBind:
		value, err := e.eval(n.right, input, env)
		if err == nil {
			env.bind(n.left.text, value)
		}
		return value, err
	case kindApply:
		return e.chain(n, input, env)
	}
	return nil, newError("S0206", n.at, n.text)
}

func (e *evaluator) variable(n *node, input any, env *frame) any {
	if n.text == "" {
		if a, ok := input.(*array); ok && a.outerWrapper {
			return a.items[0]
		}
		return input
	}
	if value, ok := env.lookup(n.text); ok {
		return value
	}
	if f, ok := e.natives[n.text]; ok {
		return f
	}
	return nil
}

func (e *evaluator) negate(n *node, input any, env *frame) (any, error) {
	value, err := e.eval(n.left, input, env)
	if err != nil || value == nil {
		return nil, err
	}
	ok, err := isNumber(value)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, newError("D1002", n.at, n.text, "{type}", typeName(value))
	}
	return -value.(float64), nil
}

// arrayConstructor puts the values of its items one after the other. Only an item that
// is an array constructor itself stays an array.
func (e *evaluator) arrayConstructor(n *node, input any, env *frame) (any, error) {
	out := &array{cons: n.consArray}
	if err := e.grow(sizeArray); err != nil {
		return nil, err
	}
	for _, item := range n.items {
		value, err := e.eval(item, input, env)
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		added, ok := value.(*array)
		switch {
		case !ok || item.kind == kindArray:
			out.items = append(out.items, value)
			err = e.grow(sizeItem)
		case len(out.items) == 0:
			out.items = added.items[:len(added.items):len(added.items)]
		default:
			out.items = append(out.items, added.items...)
			err = e.grow(sizeItem * len(added.items))
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (e *evaluator) condition(n *node, input any, env *frame) (any, error) {
	value, err := e.eval(n.left, input, env)
	if err != nil {
		return nil, err
	}
	chosen := value != nil
	if n.kind != kindCoalesce {
		if chosen, err = e.truth(value, 0); err != nil {
			return nil, err
		}
	}
	switch {
	case n.kind != kindCondition && chosen:
		return value, nil
	case n.kind != kindCondition, chosen:
		return e.eval(n.right, input, env)
	case n.third != nil:
		return e.eval(n.third, input, env)
	}
	return nil, nil
}

func (e *evaluator) block(n *node, input any, env *frame) (any, error) {
	inner := newFrame(env)
	var result any
	for _, item := range n.items {
		var err error
		if result, err = e.eval(item, input, inner); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// truth is the boolean value of a value; undefined is false.
func (e *evaluator) truth(value any, depth int) (bool, error) {
	switch v := value.(type) {
	case bool:
		return v, nil
	case string:
		return v != "", nil
	case float64:
		ok, err := isNumber(v)
		return ok && v != 0, err
	case *Object:
		return v.Len() > 0, nil
	case *array:
		if err := e.deepen(depth); err != nil {
			return false, err
		}
		found := false
		for _, item := range v.items {
			ok, err := e.truth(item, depth+1)
			if err != nil {
				return false, err
			}
			found = found || ok
		}
		return found, nil
	}
	return false, nil
}

// A groupEntry collects the items that give one key.
type groupEntry struct {
	items []any
	many  bool // more than one item: items are theirs, arrays flattened
	pair  int
}

func (g *groupEntry) add(item any) {
	switch {
	case item == nil:
		return
	case !g.many && g.items[0] == nil:
		g.items[0] = item
		return
	case !g.many:
		g.items, g.many = append([]any(nil), itemsOf(g.items[0])...), true
	}
	g.items = append(g.items, itemsOf(item)...)
}

// context is what the value of the entry is evaluated against.
func (g *groupEntry) context() any {
	if g.many {
		return &array{items: g.items}
	}
	return g.items[0]
}

// groupBy builds an object. Every item of the input gives a key for each pair; the items
// with equal keys together are the context of the pair's value.
func (e *evaluator) groupBy(pairs [][2]*node, input any, env *frame) (any, error) {
	items := itemsOf(input)
	reduce := false
	if a, ok := input.(*array); ok {
		reduce = a.tuples
	}
	if len(items) == 0 && !reduce {
		items = []any{nil}
	}
	keys, entries, err := e.groups(pairs, items, env)
	if err != nil {
		return nil, err
	}
	values := make([]any, 0, len(keys))
	defined := make([]string, 0, len(keys))
	for _, key := range keys {
		known := entries[key]
		context, inner := known.context(), env
		if reduce {
			merged := mergeTuples(known.items)
			context, inner = merged.context, tupleFrame(env, merged)
		}
		value, err := e.eval(pairs[known.pair][1], context, inner)
		if err != nil {
			return nil, err
		}
		if value != nil {
			defined, values = append(defined, key), append(values, value)
		}
	}
	return newObject(defined, values), e.grow(sizeObject)
}

// groups evaluates the keys of all items, in the order of their appearance.
func (e *evaluator) groups(pairs [][2]*node, items []any, env *frame) ([]string, map[string]*groupEntry, error) {
	var keys []string
	entries := map[string]*groupEntry{}
	for _, item := range items {
		context, inner := item, env
		if t, ok := item.(*tuple); ok {
			context, inner = t.context, tupleFrame(env, t)
		}
		for i, pair := range pairs {
			value, err := e.eval(pair[0], context, inner)
			if err != nil {
				return nil, nil, err
			}
			if value == nil {
				continue
			}
			key, ok := value.(string)
			if !ok {
				return nil, nil, newError("T1003", pair[0].at, "", "{type}", typeName(value))
			}
			known, found := entries[key]
			if !found {
				entries[key] = &groupEntry{items: []any{item}, pair: i}
				keys = append(keys, key)
				if err := e.grow(sizeEntry + len(key)); err != nil {
					return nil, nil, err
				}
				continue
			}
			if known.pair != i {
				return nil, nil, newError("D1009", pair[0].at, "")
			}
			known.add(item)
			if err := e.grow(sizeItem); err != nil {
				return nil, nil, err
			}
		}
	}
	return keys, entries, nil
}
