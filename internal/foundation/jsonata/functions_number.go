package jsonata

import "math"

// onNumber makes f a function of one number; undefined stays undefined.
func onNumber(f func(c *call, n float64) (any, error)) func(*call, []any) (any, error) {
	return func(c *call, args []any) (any, error) {
		n, ok := argument(args, 0).(float64)
		if !ok {
			return nil, nil
		}
		return f(c, n)
	}
}

// plain makes a function of package math a function of one number.
func plain(f func(float64) float64) func(*call, []any) (any, error) {
	return onNumber(func(_ *call, n float64) (any, error) { return f(n), nil })
}

func fnNumber(_ *call, args []any) (any, error) {
	switch v := argument(args, 0).(type) {
	case nil:
		return nil, nil
	case float64:
		return v, nil
	case bool:
		if v {
			return 1.0, nil
		}
		return 0.0, nil
	case string:
		if n, ok := parseNumber(v); ok {
			return n, nil
		}
	}
	return nil, newError("D3030", unplaced, "number")
}

func fnRound(_ *call, args []any) (any, error) {
	n, ok := argument(args, 0).(float64)
	if !ok {
		return nil, nil
	}
	precision, _ := argument(args, 1).(float64)
	if precision != math.Trunc(precision) {
		return math.NaN(), nil
	}
	return roundHalfEven(n, clampInt(precision)), nil
}

func fnPower(c *call, args []any) (any, error) {
	base, ok := argument(args, 0).(float64)
	if !ok {
		return nil, nil
	}
	exponent, ok := argument(args, 1).(float64)
	if !ok {
		exponent = math.NaN()
	}
	result := math.Pow(base, exponent)
	if math.IsNaN(result) || math.IsInf(result, 0) || math.IsNaN(exponent) {
		return nil, newError("D3061", unplaced, c.name)
	}
	return result, nil
}

func fnSqrt(c *call, n float64) (any, error) {
	if n < 0 {
		return nil, newError("D3060", unplaced, c.name)
	}
	return math.Sqrt(n), nil
}

func fnRandom(c *call, _ []any) (any, error) { return c.config.Random(), nil }

func fnFormatBase(c *call, args []any) (any, error) {
	n, ok := argument(args, 0).(float64)
	if !ok {
		return nil, nil
	}
	base := 10.0
	if given, ok := argument(args, 1).(float64); ok {
		base = roundHalfEven(given, 0)
	}
	if !(base >= 2 && base <= 36) {
		return nil, newError("D3100", unplaced, c.name)
	}
	return c.made(radixText(roundHalfEven(n, 0), int(base)))
}

// numbers is the array argument of an aggregation, nil without one.
func numbers(c *call, args []any) (*array, error) {
	list, ok := argument(args, 0).(*array)
	if !ok {
		return nil, nil
	}
	return list, c.spend(1 + len(list.items)/16)
}

func fnSum(c *call, args []any) (any, error) {
	list, err := numbers(c, args)
	if err != nil || list == nil {
		return nil, err
	}
	total := 0.0
	for _, item := range list.items {
		n, _ := item.(float64)
		total += n
	}
	return total, nil
}

func fnCount(_ *call, args []any) (any, error) {
	if list, ok := argument(args, 0).(*array); ok {
		return float64(len(list.items)), nil
	}
	return 0.0, nil
}

// extreme makes $max and $min.
func extreme(pick func(a, b float64) float64) func(*call, []any) (any, error) {
	return func(c *call, args []any) (any, error) {
		list, err := numbers(c, args)
		if err != nil || list == nil || len(list.items) == 0 {
			return nil, err
		}
		best, _ := list.items[0].(float64)
		for _, item := range list.items[1:] {
			n, _ := item.(float64)
			best = pick(best, n)
		}
		return best, nil
	}
}

func fnAverage(c *call, args []any) (any, error) {
	list, err := numbers(c, args)
	if err != nil || list == nil || len(list.items) == 0 {
		return nil, err
	}
	total, err := fnSum(c, args)
	if err != nil {
		return nil, err
	}
	return total.(float64) / float64(len(list.items)), nil
}
