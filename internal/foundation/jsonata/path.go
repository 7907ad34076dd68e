package jsonata

import (
	"math"
	"slices"
)

// path runs the steps of a path one after the other, each on every value that the step
// before produced.
func (e *evaluator) path(n *node, input any, env *frame) (any, error) {
	if value, ok := simplePath(n, input); ok {
		return value, e.spend(len(n.items))
	}
	values := &array{items: []any{input}, sequence: true}
	if a, ok := input.(*array); ok && n.items[0].kind != kindVariable {
		values = a
	}
	var result, tuples *array
	onTuples := false
	for i, step := range n.items {
		onTuples = onTuples || step.tuple
		var err error
		switch {
		case i == 0 && step.consArray && step.tuple:
			tuples, err = e.tupleStep(step, &array{items: []any{input}}, nil, env)
		case i == 0 && step.consArray:
			var value any
			if value, err = e.eval(step, values, env); err == nil {
				if result = asArray(value); value == nil {
					result = newSequence()
				}
			}
		case onTuples:
			tuples, err = e.tupleStep(step, values, tuples, env)
		default:
			result, err = e.step(step, values, env, i == len(n.items)-1)
		}
		if err != nil {
			return nil, err
		}
		if !onTuples {
			if len(result.items) == 0 {
				break
			}
			if step.focus == "" {
				values = result
			}
		}
	}
	if onTuples {
		result = tuples
		if !n.tuple {
			result = &array{sequence: true, items: make([]any, len(tuples.items))}
			for i, item := range tuples.items {
				result.items[i] = item.(*tuple).context
			}
			if err := e.grow(sizeArray + sizeItem*len(result.items)); err != nil {
				return nil, err
			}
		}
	}
	if n.keepSingleton && !result.keepSingleton {
		kept := *result
		if result.cons && !result.sequence {
			kept = array{items: []any{result}, sequence: true}
		}
		kept.keepSingleton = true
		result = &kept
	}
	if n.group == nil {
		return result, nil
	}
	if onTuples {
		return e.groupBy(n.group.pairs, tuples, env)
	}
	return e.groupBy(n.group.pairs, result, env)
}

// simplePath follows names through objects, the form of nearly every path. It declines
// whatever is not exactly that.
func simplePath(n *node, input any) (any, bool) {
	if n.group != nil || n.keepSingleton {
		return nil, false
	}
	value := input
	for _, step := range n.items {
		o, ok := value.(*Object)
		if !ok || step.kind != kindName || step.stages != nil || step.tuple {
			return nil, false
		}
		if value, ok = o.Get(step.text); !ok {
			value = nil
			break
		}
	}
	if a, ok := value.(*array); ok && a.sequence {
		return nil, false
	}
	return value, true
}

// step evaluates one step against each value and flattens the results into a sequence. An
// array that is the only result of the last step is not flattened.
func (e *evaluator) step(n *node, values *array, env *frame, last bool) (*array, error) {
	if n.kind == kindSort {
		sorted, err := e.sortStep(n, values, env)
		if err != nil {
			return nil, err
		}
		return e.stages(n.stages, sorted, env)
	}
	var results []any
	for _, item := range values.items {
		value, err := e.eval(n, item, env)
		if err != nil {
			return nil, err
		}
		for i := range n.stages {
			if value, err = e.filter(n.stages[i].filter, value, env); err != nil {
				return nil, err
			}
		}
		if value != nil {
			results = append(results, value)
			if err := e.grow(sizeItem); err != nil {
				return nil, err
			}
		}
	}
	if last && len(results) == 1 {
		if only, ok := results[0].(*array); ok && !only.sequence {
			return only, nil
		}
	}
	out := &array{sequence: true}
	flat := true
	for _, value := range results {
		if a, ok := value.(*array); ok && !a.cons {
			flat = false
			break
		}
	}
	if flat {
		out.items = results
		return out, e.grow(sizeArray)
	}
	for _, value := range results {
		if a, ok := value.(*array); ok && !a.cons {
			out.items = append(out.items, a.items...)
			if err := e.grow(sizeItem * len(a.items)); err != nil {
				return nil, err
			}
			continue
		}
		out.items = append(out.items, value)
	}
	return out, nil
}

// stages applies the predicates and the position variables of a step to its tuples.
func (e *evaluator) stages(stages []stage, values *array, env *frame) (*array, error) {
	for _, stage := range stages {
		if stage.filter == nil {
			numbered := &array{sequence: true, tuples: true, items: make([]any, len(values.items))}
			for i, item := range values.items {
				t := item.(*tuple).copy()
				t.set(stage.index, float64(i))
				numbered.items[i] = t
			}
			if err := e.grow(sizeTuple * len(values.items)); err != nil {
				return nil, err
			}
			values = numbered
			continue
		}
		filtered, err := e.filter(stage.filter, values, env)
		if err != nil {
			return nil, err
		}
		values = filtered
	}
	return values, nil
}

// tupleStep is a step of a path that binds variables: it works on tuples of a context and the
// bound variables.
func (e *evaluator) tupleStep(n *node, values, tuples *array, env *frame) (*array, error) {
	if n.kind == kindSort {
		return e.tupleSort(n, values, tuples, env)
	}
	if tuples == nil {
		tuples = &array{}
		for _, item := range values.items {
			tuples.items = append(tuples.items, &tuple{context: item})
		}
	}
	out := &array{sequence: true, tuples: true}
	for _, item := range tuples.items {
		current := item.(*tuple)
		value, err := e.eval(n, current.context, tupleFrame(env, current))
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		rows := itemsOf(value)
		if err := e.grow((sizeTuple + sizeItem*len(current.names)) * len(rows)); err != nil {
			return nil, err
		}
		if err := e.spend(len(rows)); err != nil {
			return nil, err
		}
		for position, row := range rows {
			next := current.copy()
			if inner, ok := row.(*tuple); ok {
				next.context = inner.context
				for i, name := range inner.names {
					next.set(name, inner.values[i])
				}
				out.items = append(out.items, next)
				continue
			}
			if n.focus != "" {
				next.set(n.focus, row)
			} else {
				next.context = row
			}
			if n.index != "" {
				next.set(n.index, float64(position))
			}
			if n.ancestor != nil {
				next.set(n.ancestor.label, current.context)
			}
			out.items = append(out.items, next)
		}
	}
	return e.stages(n.stages, out, env)
}

func (e *evaluator) tupleSort(n *node, values, tuples *array, env *frame) (*array, error) {
	var out *array
	if tuples != nil {
		sorted, err := e.sortStep(n, tuples, env)
		if err != nil {
			return nil, err
		}
		out = sorted
	} else {
		sorted, err := e.sortStep(n, values, env)
		if err != nil {
			return nil, err
		}
		out = &array{sequence: true, tuples: true}
		for i, item := range sorted.items {
			row := &tuple{context: item}
			if n.index != "" {
				row.set(n.index, float64(i))
			}
			out.items = append(out.items, row)
		}
		if err := e.grow(sizeTuple * len(out.items)); err != nil {
			return nil, err
		}
	}
	return e.stages(n.stages, out, env)
}

// mergeTuples makes one tuple of several: each of its values is those of all of them.
func mergeTuples(items []any) *tuple {
	first := items[0].(*tuple)
	merged := first.copy()
	entries := make([]groupEntry, 1, len(first.names)+1) // of the context, then of each variable
	entries[0].items = []any{first.context}
	for _, value := range first.values {
		entries = append(entries, groupEntry{items: []any{value}})
	}
	for _, item := range items[1:] {
		t := item.(*tuple)
		entries[0].add(t.context)
		for i, name := range t.names {
			if at := slices.Index(merged.names, name); at >= 0 {
				entries[at+1].add(t.values[i])
				continue
			}
			merged.set(name, nil)
			entries = append(entries, groupEntry{items: []any{t.values[i]}})
		}
	}
	merged.context = entries[0].context()
	for i := range merged.values {
		merged.values[i] = entries[i+1].context()
	}
	return merged
}

// filter keeps the values for which the predicate holds: a number is a position, from
// the end if negative; an array of numbers is a list of positions.
func (e *evaluator) filter(predicate *node, value any, env *frame) (*array, error) {
	values := asArray(value)
	out := &array{sequence: true, tuples: values.tuples}
	if err := e.grow(sizeArray); err != nil {
		return nil, err
	}
	if predicate.kind == kindNumber {
		if i, ok := position(predicate.number, len(values.items)); ok && values.items[i] != nil {
			if a, ok := values.items[i].(*array); ok {
				return a, nil
			}
			out.items = append(out.items, values.items[i])
		}
		return out, nil
	}
	for i, item := range values.items {
		context, inner := item, env
		if t, ok := item.(*tuple); ok {
			context, inner = t.context, tupleFrame(env, t)
		}
		result, err := e.eval(predicate, context, inner)
		if err != nil {
			return nil, err
		}
		times, err := e.selects(result, i, len(values.items))
		if err != nil {
			return nil, place(err, predicate.at, "")
		}
		for range times {
			out.items = append(out.items, item)
		}
		if err := e.grow(sizeItem * times); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// selects is how many times the result of a predicate selects the item at index.
func (e *evaluator) selects(result any, index, length int) (int, error) {
	numeric, err := isNumber(result)
	if err != nil {
		return 0, err
	}
	list, isArray := result.(*array)
	if isArray {
		numeric = true
		for _, item := range list.items {
			ok, err := isNumber(item)
			if err != nil {
				return 0, err
			}
			numeric = numeric && ok
		}
	}
	if !numeric {
		ok, err := e.truth(result, 0)
		if err != nil || !ok {
			return 0, err
		}
		return 1, nil
	}
	times := 0
	for _, item := range itemsOf(result) {
		if i, ok := position(item.(float64), length); ok && i == index {
			times++
		}
	}
	if isArray {
		return times, e.spend(len(list.items) / 8)
	}
	return times, nil
}

// position turns a number into an index, counted from the end if it is negative.
func position(f float64, length int) (int, bool) {
	f = math.Floor(f)
	if f < 0 {
		f += float64(length)
	}
	if f < 0 || f >= float64(length) {
		return 0, false
	}
	return int(f), true
}

// sortStep sorts values by the terms. Undefined is last, equal values keep their order.
func (e *evaluator) sortStep(n *node, values *array, env *frame) (*array, error) {
	after := func(a, b any) (bool, error) {
		for _, term := range n.terms {
			x, err := e.sortKey(term.expr, a, env)
			if err != nil {
				return false, err
			}
			y, err := e.sortKey(term.expr, b, env)
			if err != nil {
				return false, err
			}
			order, err := sortOrder(x, y, term)
			if err != nil {
				return false, place(err, term.expr.at, "")
			}
			if order != 0 {
				return order > 0, nil
			}
		}
		return false, nil
	}
	items, err := e.sort(values.items, after)
	if err != nil {
		return nil, err
	}
	return &array{items: items, tuples: values.tuples, sequence: true}, nil
}

func (e *evaluator) sortKey(expr *node, item any, env *frame) (any, error) {
	if t, ok := item.(*tuple); ok {
		return e.eval(expr, t.context, tupleFrame(env, t))
	}
	return e.eval(expr, item, env)
}

// sortOrder compares two keys. The direction of the term does not concern undefined.
func sortOrder(x, y any, term sortTerm) (int, error) {
	switch {
	case x == nil && y == nil:
		return 0, nil
	case x == nil:
		return 1, nil
	case y == nil:
		return -1, nil
	}
	for _, key := range []any{x, y} {
		if name := typeName(key); name != "string" && name != "number" {
			return 0, newError("T2008", unplaced, "", "{type}", name)
		}
	}
	order := 0
	switch a := x.(type) {
	case string:
		b, ok := y.(string)
		if !ok {
			return 0, newError("T2007", unplaced, "", "{type}", "string and number")
		}
		order = compareText(a, b)
	case float64:
		b, ok := y.(float64)
		switch {
		case !ok:
			return 0, newError("T2007", unplaced, "", "{type}", "number and string")
		case a < b:
			order = -1
		case a > b:
			order = 1
		}
	}
	if term.descending {
		order = -order
	}
	return order, nil
}

// sort is a stable merge sort; after reports whether a belongs behind b.
func (e *evaluator) sort(items []any, after func(a, b any) (bool, error)) ([]any, error) {
	if err := e.grow(sizeItem * len(items)); err != nil {
		return nil, err
	}
	if err := e.spend(len(items)); err != nil {
		return nil, err
	}
	if len(items) <= 1 {
		return items, nil
	}
	middle := len(items) / 2
	left, err := e.sort(items[:middle], after)
	if err != nil {
		return nil, err
	}
	right, err := e.sort(items[middle:], after)
	if err != nil {
		return nil, err
	}
	out := make([]any, 0, len(items))
	for len(left) > 0 && len(right) > 0 {
		swap, err := after(left[0], right[0])
		if err != nil {
			return nil, err
		}
		if swap {
			out, right = append(out, right[0]), right[1:]
		} else {
			out, left = append(out, left[0]), left[1:]
		}
	}
	return append(append(out, left...), right...), nil
}

// lookup is the value of a key; on an array, the values of all its items.
func (e *evaluator) lookup(input any, key string, depth int) (any, error) {
	switch v := input.(type) {
	case *Object:
		value, _ := v.Get(key)
		return value, nil
	case *array:
		if err := e.deepen(depth); err != nil {
			return nil, err
		}
		out := newSequence()
		for _, item := range v.items {
			value, err := e.lookup(item, key, depth+1)
			if err != nil {
				return nil, err
			}
			if value != nil {
				out.items = append(out.items, itemsOf(value)...)
			}
		}
		if err := e.spend(len(v.items) / 4); err != nil {
			return nil, err
		}
		return out, e.grow(sizeArray + sizeItem*len(out.items))
	}
	return nil, nil
}

// wildcard is all values of an object, or the items of an array, arrays flattened.
func (e *evaluator) wildcard(input any) (any, error) {
	if a, ok := input.(*array); ok && a.outerWrapper && len(a.items) > 0 {
		input = a.items[0]
	}
	values := innerValues(input)
	out := newSequence()
	for _, value := range values {
		a, ok := value.(*array)
		if !ok {
			out.items = append(out.items, value)
			continue
		}
		flat, err := e.flatten(nil, a, 0)
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, flat...)
		out.sequence = false
	}
	return out, e.grow(sizeArray + sizeItem*len(out.items))
}

// innerValues is the values of an object or the items of an array.
func innerValues(value any) []any {
	switch v := value.(type) {
	case *array:
		return v.items
	case *Object:
		if v.large == nil {
			return v.values
		}
		out := make([]any, v.Len())
		for i := range out {
			out[i] = v.at(i)
		}
		return out
	}
	return nil
}

func (e *evaluator) flatten(out []any, a *array, depth int) ([]any, error) {
	if err := e.deepen(depth); err != nil {
		return nil, err
	}
	var err error
	for _, item := range a.items {
		inner, ok := item.(*array)
		if !ok {
			out = append(out, item)
		} else if out, err = e.flatten(out, inner, depth+1); err != nil {
			return nil, err
		}
	}
	return out, e.spend(len(a.items) / 8)
}

// descendants is the input and everything in it, objects before what they hold.
func (e *evaluator) descendants(input any) (any, error) {
	out := newSequence()
	var walk func(value any, depth int) error
	walk = func(value any, depth int) error {
		if err := e.deepen(depth); err != nil {
			return err
		}
		if _, isArray := value.(*array); !isArray {
			out.items = append(out.items, value)
			if err := e.grow(sizeItem); err != nil {
				return err
			}
		}
		for _, item := range innerValues(value) {
			if err := walk(item, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	if input == nil {
		return nil, nil
	}
	return out, walk(input, 0)
}
