package jsonata

import (
	"errors"
	"math"
	"slices"
	"strconv"
)

func fnBoolean(c *call, args []any) (any, error) {
	value := argument(args, 0)
	if value == nil {
		return nil, nil
	}
	return c.truth(value, 0)
}

func fnNot(c *call, args []any) (any, error) {
	value := argument(args, 0)
	if value == nil {
		return nil, nil
	}
	truth, err := c.truth(value, 0)
	return !truth, err
}

func fnExists(_ *call, args []any) (any, error) { return argument(args, 0) != nil, nil }

func fnType(_ *call, args []any) (any, error) {
	value := argument(args, 0)
	if value == nil {
		return nil, nil
	}
	return typeName(value), nil
}

// overItems calls f for each item of an array argument until it returns false.
func overItems(args []any, f func(item any, i int, list *array) (bool, error)) error {
	list, ok := argument(args, 0).(*array)
	if !ok {
		return nil
	}
	for i, item := range list.items {
		if more, err := f(item, i, list); err != nil || !more {
			return err
		}
	}
	return nil
}

func fnMap(c *call, args []any) (any, error) {
	if argument(args, 0) == nil {
		return nil, nil
	}
	out := newSequence()
	err := overItems(args, func(item any, i int, list *array) (bool, error) {
		value, err := c.applyToItem(args[1], item, float64(i), list)
		if err != nil || value == nil {
			return true, err
		}
		out.items = append(out.items, value)
		return true, c.grow(sizeItem)
	})
	return out, err
}

func fnFilter(c *call, args []any) (any, error) {
	if argument(args, 0) == nil {
		return nil, nil
	}
	out := newSequence()
	err := overItems(args, func(item any, i int, list *array) (bool, error) {
		value, err := c.applyToItem(args[1], item, float64(i), list)
		if err != nil {
			return false, err
		}
		keep, err := c.truth(value, 0)
		if err != nil || !keep {
			return true, err
		}
		out.items = append(out.items, item)
		return true, c.grow(sizeItem)
	})
	return out, err
}

func fnSingle(c *call, args []any) (any, error) {
	if argument(args, 0) == nil {
		return nil, nil
	}
	var result any
	found := false
	err := overItems(args, func(item any, i int, list *array) (bool, error) {
		if f := argument(args, 1); f != nil {
			value, err := c.applyToItem(f, item, float64(i), list)
			if err != nil {
				return false, err
			}
			if keep, err := c.truth(value, 0); err != nil || !keep {
				return true, err
			}
		}
		if found {
			return false, newError("D3138", unplaced, c.name)
		}
		result, found = item, true
		return true, nil
	})
	if err == nil && !found {
		err = newError("D3139", unplaced, c.name)
	}
	return result, err
}

func fnReduce(c *call, args []any) (any, error) {
	list, ok := argument(args, 0).(*array)
	if !ok {
		return nil, nil
	}
	f := args[1]
	wants := arity(f)
	if wants < 2 {
		return nil, newError("D3050", unplaced, c.name)
	}
	result, from := argument(args, 2), 0
	if result == nil && len(list.items) > 0 {
		result, from = list.items[0], 1
	}
	for i := from; i < len(list.items); i++ {
		all := []any{result, list.items[i], float64(i), list}
		var err error
		if result, err = c.apply(f, all[:min(wants, 4)], null, c.env, ""); err != nil {
			return nil, err
		}
	}
	return result, nil
}

func fnZip(c *call, args []any) (any, error) {
	shortest := math.MaxInt
	for _, arg := range args {
		list, ok := arg.(*array)
		if !ok {
			return &array{}, nil
		}
		shortest = min(shortest, len(list.items))
	}
	out := &array{}
	if len(args) == 0 {
		return out, nil
	}
	if err := c.grow((sizeArray + sizeItem*len(args)) * shortest); err != nil {
		return nil, err
	}
	for i := range shortest {
		row := &array{items: make([]any, len(args))}
		for j, arg := range args {
			row.items[j] = arg.(*array).items[i]
		}
		out.items = append(out.items, row)
	}
	return out, c.spend(shortest)
}

func fnAppend(c *call, args []any) (any, error) {
	a, b := argument(args, 0), argument(args, 1)
	if a == nil || b == nil {
		return join(a, b), nil
	}
	if err := c.grow(sizeArray + sizeItem*(len(itemsOf(a))+len(itemsOf(b)))); err != nil {
		return nil, err
	}
	return join(a, b), nil
}

func fnReverse(c *call, args []any) (any, error) {
	list, ok := argument(args, 0).(*array)
	if !ok {
		return nil, nil
	}
	if len(list.items) <= 1 {
		return list, nil
	}
	if err := c.grow(sizeItem * len(list.items)); err != nil {
		return nil, err
	}
	items := slices.Clone(list.items)
	slices.Reverse(items)
	return &array{items: items}, nil
}

func fnShuffle(c *call, args []any) (any, error) {
	list, ok := argument(args, 0).(*array)
	if !ok {
		return nil, nil
	}
	if len(list.items) <= 1 {
		return list, nil
	}
	if err := c.grow(sizeItem * len(list.items)); err != nil {
		return nil, err
	}
	items := slices.Clone(list.items)
	for i := len(items) - 1; i > 0; i-- {
		j := min(max(0, int(c.config.Random()*float64(i+1))), i)
		items[i], items[j] = items[j], items[i]
	}
	return &array{items: items}, c.spend(len(items) / 4)
}

func fnSort(c *call, args []any) (any, error) {
	list, ok := argument(args, 0).(*array)
	if !ok {
		return nil, nil
	}
	if len(list.items) <= 1 {
		return list, nil
	}
	f := argument(args, 1)
	after := func(a, b any) (bool, error) {
		value, err := c.apply(f, []any{a, b}, null, c.env, "")
		if err != nil {
			return false, err
		}
		return c.truth(value, 0)
	}
	if f == nil {
		switch {
		case allOf(list, "number"):
			after = func(a, b any) (bool, error) { return a.(float64) > b.(float64), nil }
		case allOf(list, "string"):
			after = func(a, b any) (bool, error) { return compareText(a.(string), b.(string)) > 0, nil }
		default:
			return nil, newError("D3070", unplaced, c.name)
		}
	}
	items, err := c.sort(list.items, after)
	return &array{items: items}, err
}

func fnDistinct(c *call, args []any) (any, error) {
	value := argument(args, 0)
	list, ok := value.(*array)
	if !ok || len(list.items) <= 1 {
		return value, nil
	}
	out := &array{sequence: list.sequence}
	seen := map[any]bool{} // scalars
	var compound []any
	for _, item := range list.items {
		switch item.(type) {
		case *array, *Object:
			known := false
			for _, other := range compound {
				var err error
				if known, err = c.equal(item, other, 0); err != nil {
					return nil, err
				}
				if err := c.spend(1); err != nil {
					return nil, err
				}
				if known {
					break
				}
			}
			if known {
				continue
			}
			compound = append(compound, item)
		default:
			if seen[item] {
				continue
			}
			seen[item] = true
		}
		out.items = append(out.items, item)
		if err := c.grow(2 * sizeItem); err != nil {
			return nil, err
		}
	}
	return out, c.spend(len(list.items) / 8)
}

// keysOf lists the keys of an object, or of all objects in an array, each once.
func (e *evaluator) keysOf(value any, depth int) ([]string, error) {
	switch v := value.(type) {
	case *Object:
		return v.keys, e.spend(1)
	case *array:
		if err := e.deepen(depth); err != nil {
			return nil, err
		}
		merged := &Object{}
		for _, item := range v.items {
			keys, err := e.keysOf(item, depth+1)
			if err != nil {
				return nil, err
			}
			moved := 0
			for _, key := range keys {
				moved += merged.put(key, true)
			}
			if err := e.spend(len(keys)/4 + moved/movedPerStep); err != nil {
				return nil, err
			}
		}
		return merged.keys, nil
	}
	return nil, nil
}

func fnKeys(c *call, args []any) (any, error) {
	keys, err := c.keysOf(argument(args, 0), 0)
	if err != nil {
		return nil, err
	}
	out := newSequence()
	for _, key := range keys {
		out.items = append(out.items, key)
	}
	return out, c.grow(sizeItem * len(keys))
}

func fnLookup(c *call, args []any) (any, error) {
	key, ok := argument(args, 1).(string)
	if !ok {
		key = "undefined"
	}
	return c.lookup(argument(args, 0), key, 0)
}

// spread makes one object for each entry of an object.
func (e *evaluator) spread(value any, depth int) (any, error) {
	switch v := value.(type) {
	case *Object:
		out := newSequence()
		for key, item := range v.All() {
			o := &Object{}
			o.Set(key, item)
			out.items = append(out.items, o)
		}
		return out, e.grow((sizeObject + sizeItem) * v.Len())
	case *array:
		if err := e.deepen(depth); err != nil {
			return nil, err
		}
		out := &array{sequence: len(v.items) == 0}
		for _, item := range v.items {
			inner, err := e.spread(item, depth+1)
			if err != nil {
				return nil, err
			}
			if inner != nil {
				out.items = append(out.items, itemsOf(inner)...)
			}
		}
		return out, e.grow(sizeItem * len(out.items))
	}
	return value, nil
}

func fnSpread(c *call, args []any) (any, error) { return c.spread(argument(args, 0), 0) }

func fnMerge(c *call, args []any) (any, error) {
	if argument(args, 0) == nil {
		return nil, nil
	}
	out := &Object{}
	err := overItems(args, func(item any, _ int, _ *array) (bool, error) {
		o, ok := item.(*Object)
		if !ok {
			return true, nil
		}
		moved := 0
		for key, value := range o.All() {
			moved += out.put(key, value)
		}
		if err := c.spend(1 + o.Len() + moved/movedPerStep); err != nil {
			return false, err
		}
		return true, c.grow(sizeEntry * o.Len())
	})
	return out, err
}

func fnEach(c *call, args []any) (any, error) {
	out := newSequence()
	o, ok := argument(args, 0).(*Object)
	if !ok {
		return nil, nil
	}
	for key, value := range o.All() {
		result, err := c.applyToItem(args[1], value, key, o)
		if err != nil {
			return nil, err
		}
		if result == nil {
			continue
		}
		out.items = append(out.items, result)
		if err := c.grow(sizeItem); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func fnSift(c *call, args []any) (any, error) {
	o, ok := argument(args, 0).(*Object)
	if !ok {
		return nil, nil
	}
	out := &Object{}
	for key, value := range o.All() {
		keep := value
		if f := argument(args, 1); f != nil {
			var err error
			if keep, err = c.applyToItem(f, value, key, o); err != nil {
				return nil, err
			}
		}
		ok, err := c.truth(keep, 0)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		out.Set(key, value)
		if err := c.grow(sizeEntry); err != nil {
			return nil, err
		}
	}
	if out.Len() == 0 {
		return nil, nil
	}
	return out, c.grow(sizeObject)
}

func fnError(_ *call, args []any) (any, error) {
	e := newError("D3137", unplaced, "error")
	if message, _ := argument(args, 0).(string); message != "" {
		e.Message = message
	}
	return nil, e
}

func fnAssert(_ *call, args []any) (any, error) {
	if holds, _ := argument(args, 0).(bool); holds {
		return nil, nil
	}
	e := newError("D3141", unplaced, "assert")
	if message, _ := argument(args, 1).(string); message != "" {
		e.Message = message
	}
	return nil, e
}

// clone copies a value as its text would be read back: numbers have 15 digits, and a
// function becomes an empty string.
func (e *evaluator) clone(value any, depth int) (any, error) {
	if err := e.deepen(depth); err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case nil:
		return null, nil
	case float64:
		ok, err := isNumber(v)
		if err != nil {
			return nil, err
		}
		if !ok {
			return null, nil
		}
		return fifteenDigits(v), nil
	case *array:
		out := &array{items: make([]any, len(v.items))}
		for i, item := range v.items {
			copied, err := e.clone(item, depth+1)
			if err != nil {
				return nil, err
			}
			out.items[i] = copied
		}
		return out, e.grow(sizeArray + sizeItem*len(v.items))
	case *Object:
		out := &Object{keys: make([]string, 0, v.Len())}
		for key, item := range v.All() {
			copied, err := e.clone(item, depth+1)
			if err != nil {
				return nil, err
			}
			out.Set(key, copied)
		}
		return out, e.grow(sizeObject + sizeEntry*v.Len())
	}
	if isFunction(value) {
		return "", nil
	}
	return value, nil
}

func fnClone(c *call, args []any) (any, error) {
	value := argument(args, 0)
	if value == nil {
		return nil, nil
	}
	if a, ok := value.(*array); ok && a.outerWrapper && len(a.items) > 0 {
		value = a.items[0]
	}
	return c.clone(value, 0)
}

// fnEval compiles and evaluates a text as an expression, within the remaining limits of the
// enclosing evaluation.
func fnEval(c *call, args []any) (any, error) {
	source, ok := argument(args, 0).(string)
	if !ok {
		return nil, nil
	}
	input := c.input
	if focus := argument(args, 1); focus != nil {
		input = focus
		if a, ok := focus.(*array); ok && !a.sequence {
			input = &array{items: []any{a}, sequence: true, outerWrapper: true}
		}
	}
	if err := c.spend(1 + 4*len(source)); err != nil {
		return nil, err
	}
	if err := c.grow(64 * len(source)); err != nil {
		return nil, err
	}
	tree, err := c.config.parse(source)
	if err != nil {
		return nil, evalError("D3120", c.name, err)
	}
	result, err := c.eval(tree, input, c.env)
	if err != nil {
		return nil, evalError("D3121", c.name, err)
	}
	return result, nil
}

// evalError wraps an error inside $eval. Its text and its token may come from data, so it
// contains only the code and the place in the evaluated text. The error of a limit is not
// changed.
func evalError(code, name string, err error) error {
	var inner *Error
	if !errors.As(err, &inner) {
		return err
	}
	if inner.Limit != "" {
		inner.Position, inner.Token = unplaced, ""
		return inner
	}
	why := inner.Code
	if inner.Position >= 0 {
		why += " at " + strconv.Itoa(inner.Position)
	}
	return newError(code, unplaced, name, "{why}", why)
}
