package jsonata

import "strconv"

// A native is a built-in function.
type native struct {
	name      string
	signature *signature
	arity     int // the parameters that a higher-order function fills
	run       func(c *call, args []any) (any, error)
}

// A call is what a built-in function sees of the place where it is called.
type call struct {
	*evaluator
	name  string // as written in the expression
	input any
	env   *frame
}

// A lambda is a function with the context and the variables of the place where it was
// defined.
type lambda struct {
	params    []string
	signature *signature
	body      *node
	native    any // a built-in function with some arguments given; body is nil
	input     any
	env       *frame
}

// A closure is a function made by the evaluator: a transform, a chain, a next match.
type closure struct {
	arity     int
	signature *signature
	run       func(c *call, args []any) (any, error)
}

// A thunk is a call that is still to be made, the value of a body that ends in a call.
type thunk struct {
	call  *node
	input any
	env   *frame
}

// calledName is the name under which a call names its function, "" if it has none.
func calledName(n *node) string {
	switch procedure := n.left; procedure.kind {
	case kindPath:
		return procedure.items[0].text
	case kindVariable:
		return procedure.text
	}
	return ""
}

// call evaluates a function call. With chained, first is one more argument before those
// in the brackets.
func (e *evaluator) call(n *node, input any, env *frame, first any, chained bool) (any, error) {
	procedure, err := e.eval(n.left, input, env)
	if err != nil {
		return nil, err
	}
	name := calledName(n)
	if procedure == nil && e.misspelt(n, env) {
		return nil, newError("T1005", n.at, name)
	}
	args, err := e.arguments(n, input, env, first, chained)
	if err != nil {
		return nil, err
	}
	result, err := e.apply(procedure, args, input, env, name)
	if err != nil {
		return nil, place(err, n.left.at, name)
	}
	return result, nil
}

// misspelt reports whether a function is called by a name that lacks the $.
func (e *evaluator) misspelt(n *node, env *frame) bool {
	if n.left.kind != kindPath {
		return false
	}
	name := n.left.items[0].text
	value, found := env.lookup(name)
	_, builtIn := e.natives[name]
	return found && value != nil || !found && builtIn
}

func (e *evaluator) arguments(n *node, input any, env *frame, first any, chained bool) ([]any, error) {
	args := make([]any, 0, len(n.items)+1)
	if chained {
		args = append(args, first)
	}
	for _, item := range n.items {
		value, err := e.eval(item, input, env)
		if err != nil {
			return nil, err
		}
		args = append(args, value)
	}
	return args, nil
}

// apply calls a function. Calls that its body ends in are made here, one after the
// other, in the depth of this one.
func (e *evaluator) apply(procedure any, args []any, input any, env *frame, name string) (any, error) {
	result, err := e.applyOnce(procedure, args, input, env, name)
	for err == nil {
		t, ok := result.(*thunk)
		if !ok {
			return result, nil
		}
		var next any
		if next, err = e.eval(t.call.left, t.input, t.env); err != nil {
			return nil, err
		}
		if args, err = e.arguments(t.call, t.input, t.env, nil, false); err != nil {
			return nil, err
		}
		name = calledName(t.call)
		result, err = e.applyOnce(next, args, input, env, name)
		err = place(err, t.call.left.at, name)
	}
	return nil, err
}

func (e *evaluator) applyOnce(procedure any, args []any, input any, env *frame, name string) (any, error) {
	if err := e.spend(1); err != nil {
		return nil, err
	}
	if e.calls >= e.config.MaxDepth {
		return nil, limitError(LimitDepth, unplaced, "functions call each other too deeply", nil)
	}
	e.calls++
	defer func() { e.calls-- }()
	switch f := procedure.(type) {
	case *native:
		checked, err := f.signature.check(f.name, args, input)
		if err != nil {
			return nil, err
		}
		return f.run(&call{e, f.name, input, env}, checked)
	case *lambda:
		checked, err := f.signature.check(name, args, input)
		if err != nil {
			return nil, err
		}
		return e.applyLambda(f, checked, name)
	case *closure:
		checked, err := f.signature.check(name, args, input)
		if err != nil {
			return nil, err
		}
		return f.run(&call{e, name, input, env}, checked)
	case *regexValue:
		return f.applyTo(e, args)
	}
	return nil, newError("T1006", unplaced, "")
}

func (e *evaluator) applyLambda(f *lambda, args []any, name string) (any, error) {
	inner := newFrame(f.env)
	for i, param := range f.params {
		var value any
		if i < len(args) {
			value = args[i]
		}
		inner.bind(param, value)
	}
	if f.native == nil {
		return e.eval(f.body, f.input, inner)
	}
	// The parameters of a partially applied function are numbered from 1, whether given
	// already (in f.env) or only now.
	var all []any
	for i := 1; ; i++ {
		value, found := inner.lookup(argumentName(i))
		if !found {
			break
		}
		all = append(all, value)
	}
	return e.apply(f.native, all, f.input, f.env, name)
}

// argumentName is the variable for an argument of a partially applied built-in function.
// No expression can name it.
func argumentName(i int) string { return "(" + strconv.Itoa(i) }

// partial returns a function for a call in which some arguments are left out.
func (e *evaluator) partial(n *node, input any, env *frame) (any, error) {
	procedure, err := e.eval(n.left, input, env)
	if err != nil {
		return nil, err
	}
	if procedure == nil && e.misspelt(n, env) {
		return nil, newError("T1007", n.at, calledName(n))
	}
	out := &lambda{input: input}
	params := make([]string, len(n.items))
	switch f := procedure.(type) {
	case *lambda:
		out.input, out.body, out.native = f.input, f.body, f.native
		out.env = newFrame(f.env)
		params = f.params
	case *native, *closure, *regexValue:
		out.native = f
		out.env = newFrame(nil)
		for i := range params {
			params[i] = argumentName(i + 1)
		}
	default:
		return nil, newError("T1008", n.at, calledName(n))
	}
	for i, param := range params {
		switch {
		case i >= len(n.items):
			out.env.bind(param, nil)
		case n.items[i].kind == kindPlaceholder:
			out.params = append(out.params, param)
		default:
			value, err := e.eval(n.items[i], input, env)
			if err != nil {
				return nil, err
			}
			out.env.bind(param, value)
		}
	}
	return out, e.grow(sizeObject + sizeItem*len(params))
}

// chain evaluates left ~> right: right is a call, which gets the left value as its first
// argument, or a function, which is applied to it or, if left is a function, follows it.
func (e *evaluator) chain(n *node, input any, env *frame) (any, error) {
	left, err := e.eval(n.left, input, env)
	if err != nil {
		return nil, err
	}
	if n.right.kind == kindCall {
		return e.call(n.right, input, env, left, true)
	}
	right, err := e.eval(n.right, input, env)
	if err != nil {
		return nil, err
	}
	if !isFunction(right) {
		return nil, newError("T2006", n.at, n.text, "{type}", typeName(right))
	}
	if !isFunction(left) {
		return e.apply(right, []any{left}, null, env, "")
	}
	return &closure{arity: 1, run: func(c *call, args []any) (any, error) {
		value, err := c.apply(left, []any{argument(args, 0)}, null, nil, "")
		if err != nil {
			return nil, err
		}
		return c.apply(right, []any{value}, null, nil, "")
	}}, e.grow(sizeObject)
}

// arity is the number of arguments that a higher-order function may give to f.
func arity(f any) int {
	switch f := f.(type) {
	case *native:
		return f.arity
	case *lambda:
		return len(f.params)
	case *closure:
		return f.arity
	}
	return 1
}

// applyToItem calls f with as many of an item, its index or key, and the whole as it has
// parameters.
func (c *call) applyToItem(f, item, index, whole any) (any, error) {
	args := []any{item, index, whole}
	return c.apply(f, args[:max(1, min(3, arity(f)))], null, c.env, "")
}

// transformSignature is <(oa):o>: a transform takes an object or an array.
var transformSignature = &signature{params: []parameter{{accepts: "oam"}}}

// transform makes the function |pattern|update,deletions|: it changes the objects that
// the pattern selects, in a copy of what it is applied to.
func (e *evaluator) transform(n *node, env *frame) any {
	run := func(c *call, args []any) (any, error) {
		if len(args) == 0 || args[0] == nil {
			return nil, nil
		}
		copier, found := env.lookup("clone")
		if !found {
			copier = c.natives["clone"]
		}
		if !isFunction(copier) {
			return nil, newError("T2013", n.at, n.text)
		}
		result, err := c.apply(copier, args[:1], null, env, "clone")
		if err != nil {
			return nil, err
		}
		matches, err := c.eval(n.left, result, env)
		if err != nil || matches == nil {
			return result, err
		}
		for _, match := range itemsOf(matches) {
			if err := c.change(n, match, env); err != nil {
				return nil, err
			}
		}
		return result, nil
	}
	return &closure{arity: 1, signature: transformSignature, run: run}
}

// change applies the update and the deletions of a transform to one match.
func (e *evaluator) change(n *node, match any, env *frame) error {
	object, _ := match.(*Object)
	update, err := e.eval(n.right, match, env)
	if err != nil {
		return err
	}
	if update != nil {
		fields, ok := update.(*Object)
		if !ok {
			return newError("T2011", n.right.at, n.text, "{type}", typeName(update))
		}
		if object != nil && object != fields {
			moved := 0
			for key, value := range fields.All() {
				moved += object.put(key, value)
			}
			if err := e.spend(fields.Len() + moved/movedPerStep); err != nil {
				return err
			}
			if err := e.grow(sizeEntry * fields.Len()); err != nil {
				return err
			}
		}
	}
	if n.third == nil {
		return nil
	}
	deletions, err := e.eval(n.third, match, env)
	if err != nil || deletions == nil {
		return err
	}
	for _, key := range itemsOf(deletions) {
		name, ok := key.(string)
		if !ok {
			return newError("T2012", n.third.at, n.text, "{type}", typeName(deletions))
		}
		if object != nil {
			if err := e.spend(1 + object.Len()/movedPerStep); err != nil {
				return err
			}
			object.Delete(name)
		}
	}
	return nil
}
