package jsonata

import (
	"math"
)

// maxRange is the number of entries that the reference allows in a range.
const maxRange = 1e7

func (e *evaluator) binary(n *node, input any, env *frame) (any, error) {
	left, err := e.eval(n.left, input, env)
	if err != nil {
		return nil, err
	}
	if n.text == "and" || n.text == "or" {
		return e.logic(n, left, input, env)
	}
	right, err := e.eval(n.right, input, env)
	if err != nil {
		return nil, err
	}
	switch n.text {
	case "+", "-", "*", "/", "%":
		return arithmetic(n.text, left, right)
	case "=", "!=":
		if left == nil || right == nil {
			return false, nil
		}
		equal, err := e.equal(left, right, 0)
		return equal == (n.text == "="), err
	case "<", "<=", ">", ">=":
		return compare(n.text, left, right)
	case "&":
		return e.concatenate(left, right)
	case "..":
		return e.span(left, right)
	case "in":
		if left == nil || right == nil {
			return false, nil
		}
		items := itemsOf(right)
		for _, item := range items {
			if item == left {
				return true, nil
			}
		}
		return false, e.spend(len(items) / 16)
	}
	return nil, newError("S0206", n.at, n.text)
}

// logic evaluates the right side of and / or only where the left side leaves it open.
func (e *evaluator) logic(n *node, left, input any, env *frame) (any, error) {
	decided, err := e.truth(left, 0)
	if err != nil || decided == (n.text == "or") {
		return decided, err
	}
	right, err := e.eval(n.right, input, env)
	if err != nil {
		return nil, err
	}
	return e.truth(right, 0)
}

func arithmetic(operator string, left, right any) (any, error) {
	for i, side := range []any{left, right} {
		if side == nil {
			continue
		}
		ok, err := isNumber(side)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, newError([]string{"T2001", "T2002"}[i], unplaced, operator, "{type}", typeName(side))
		}
	}
	if left == nil || right == nil {
		return nil, nil
	}
	a, b := left.(float64), right.(float64)
	switch operator {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	case "/":
		return a / b, nil
	}
	return math.Mod(a, b), nil
}

func compare(operator string, left, right any) (any, error) {
	for _, side := range []any{left, right} {
		switch side.(type) {
		case nil, float64, string:
		default:
			return nil, newError("T2010", unplaced, operator, "{type}", typeName(side))
		}
	}
	if left == nil || right == nil {
		return nil, nil
	}
	var order int
	switch a := left.(type) {
	case string:
		b, ok := right.(string)
		if !ok {
			return nil, newError("T2009", unplaced, operator, "{type}", "string and number")
		}
		order = compareText(a, b)
	case float64:
		b, ok := right.(float64)
		if !ok {
			return nil, newError("T2009", unplaced, operator, "{type}", "number and string")
		}
		switch {
		case a < b:
			order = -1
		case a > b:
			order = 1
		case a != b:
			return false, nil // NaN
		}
	}
	switch operator {
	case "<":
		return order < 0, nil
	case "<=":
		return order <= 0, nil
	case ">":
		return order > 0, nil
	}
	return order >= 0, nil
}

func (e *evaluator) concatenate(left, right any) (any, error) {
	var texts [2]string
	for i, side := range []any{left, right} {
		if side == nil {
			continue
		}
		text, err := e.text(side, false, "&")
		if err != nil {
			return nil, err
		}
		texts[i] = text
	}
	if err := e.grow(len(texts[0]) + len(texts[1])); err != nil {
		return nil, err
	}
	return joinText(texts[0], texts[1]), nil
}

// span is the sequence of whole numbers from left to right.
func (e *evaluator) span(left, right any) (any, error) {
	for i, side := range []any{left, right} {
		f, ok := side.(float64)
		if side != nil && (!ok || f != math.Trunc(f) || math.IsInf(f, 0)) {
			return nil, newError([]string{"T2003", "T2004"}[i], unplaced, "..")
		}
	}
	if left == nil || right == nil {
		return nil, nil
	}
	from, to := left.(float64), right.(float64)
	if from > to {
		return nil, nil
	}
	if to-from+1 > maxRange {
		return nil, newError("D2014", unplaced, "..")
	}
	size := int(to-from) + 1
	if err := e.grow(size * sizeItem); err != nil {
		return nil, err
	}
	if err := e.spend(size / 16); err != nil {
		return nil, err
	}
	items := make([]any, size)
	for i := range items {
		items[i] = from + float64(i)
	}
	return newSequence(items...), nil
}

// equal compares by value, at any depth; functions are equal to themselves only.
func (e *evaluator) equal(a, b any, depth int) (bool, error) {
	switch x := a.(type) {
	case *array:
		y, ok := b.(*array)
		if !ok || len(x.items) != len(y.items) {
			return false, nil
		}
		if err := e.deepen(depth); err != nil {
			return false, err
		}
		for i := range x.items {
			same, err := e.equal(x.items[i], y.items[i], depth+1)
			if err != nil || !same {
				return false, err
			}
		}
		return true, e.spend(len(x.items) / 16)
	case *Object:
		y, ok := b.(*Object)
		if !ok || x.Len() != y.Len() {
			return false, nil
		}
		if err := e.deepen(depth); err != nil {
			return false, err
		}
		for key, value := range x.All() {
			other, found := y.Get(key)
			if !found {
				return false, nil
			}
			same, err := e.equal(value, other, depth+1)
			if err != nil || !same {
				return false, err
			}
		}
		return true, e.spend(x.Len() / 16)
	}
	return a == b, nil
}
