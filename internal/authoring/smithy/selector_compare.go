package smithy

import (
	"math/big"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// A comparator compares two attributes, by the operator that names it.
type comparator func(left, right attribute, fold bool) bool

var comparators = map[string]comparator{
	"=":  equalPair,
	"!=": eachPair(func(a, b string) bool { return a != b }),
	"^=": eachPair(strings.HasPrefix),
	"$=": eachPair(strings.HasSuffix),
	"*=": eachPair(strings.Contains),
	">":  numeric(func(n int) bool { return n > 0 }),
	">=": numeric(func(n int) bool { return n >= 0 }),
	"<":  numeric(func(n int) bool { return n < 0 }),
	"<=": numeric(func(n int) bool { return n <= 0 }),
	"?=": func(left, right attribute, _ bool) bool {
		return left.present() && right.String() == "true" || !left.present() && right.String() == "false"
	},
	"{<}": projection(func(a, b []attribute, fold bool) bool { return subset(a, b, fold) }),
	"{<<}": projection(func(a, b []attribute, fold bool) bool {
		return subset(a, b, fold) && !subset(b, a, fold)
	}),
	"{=}": projection(func(a, b []attribute, fold bool) bool {
		return subset(a, b, fold) && subset(b, a, fold)
	}),
	"{!=}": func(left, right attribute, fold bool) bool {
		return left.kind != attrItems || right.kind != attrItems ||
			!(subset(left.flat(), right.flat(), fold) && subset(right.flat(), left.flat(), fold))
	},
}

func equalPair(left, right attribute, fold bool) bool {
	return eachPair(func(a, b string) bool { return a == b })(left, right, fold)
}

// eachPair holds if it holds for some value on the left and some on the right.
func eachPair(compare func(a, b string) bool) comparator {
	return func(left, right attribute, fold bool) bool {
		for _, l := range left.flat() {
			for _, r := range right.flat() {
				if !l.present() || !r.present() {
					continue
				}
				a, b := l.String(), r.String()
				if fold {
					a, b = strings.ToLower(a), strings.ToLower(b)
				}
				if compare(a, b) {
					return true
				}
			}
		}
		return false
	}
}

func numeric(holds func(int) bool) comparator {
	return eachPair(func(a, b string) bool {
		if !isNumber(a) || !isNumber(b) {
			return false
		}
		return holds(compareNumbers(a, b))
	})
}

func isNumber(text string) bool {
	if text == "" || len(text) > 400 {
		return false
	}
	_, _, err := big.ParseFloat(text, 10, 64, big.ToNearestEven)
	return err == nil && !strings.ContainsAny(text, "xXpPiIn_")
}

// projection compares attributes that both are lists.
func projection(compare func(a, b []attribute, fold bool) bool) comparator {
	return func(left, right attribute, fold bool) bool {
		return left.kind == attrItems && right.kind == attrItems && compare(left.flat(), right.flat(), fold)
	}
}

func subset(a, b []attribute, fold bool) bool {
	for _, item := range a {
		if !equalPair(item, attribute{kind: attrItems, items: b}, fold) {
			return false
		}
	}
	return true
}
