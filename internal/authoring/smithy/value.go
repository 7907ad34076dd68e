package smithy

import (
	"math/big"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// equalValues compares two values, wherever they were written. Numbers are equal if they
// are the same number, objects whatever the order of their members.
func equalValues(a, b *document.Value) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case document.Bool:
		return a.Bool == b.Bool
	case document.String:
		return a.Text == b.Text
	case document.Number:
		return a.Text == b.Text || compareNumbers(a.Text, b.Text) == 0
	case document.Array:
		if len(a.Items) != len(b.Items) {
			return false
		}
		for i := range a.Items {
			if !equalValues(a.Items[i], b.Items[i]) {
				return false
			}
		}
	case document.Object:
		if len(a.Members) != len(b.Members) {
			return false
		}
		for _, m := range a.Members {
			other := b.Get(m.Key)
			if other == nil || !equalValues(m.Value, other) {
				return false
			}
		}
	}
	return true
}

// number reads a JSON number exactly. Exponents that would take a large part of the
// memory are cut off: nothing that models say needs them.
func number(text string) *big.Rat {
	if i := strings.IndexAny(text, "eE"); i >= 0 && len(text)-i > 5 {
		f, _, err := big.ParseFloat(text, 10, 64, big.ToNearestEven)
		if f == nil || err != nil && !f.IsInf() {
			return new(big.Rat)
		}
		if f.IsInf() {
			return new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(int64(f.Sign())), 1<<14))
		}
		exponent := f.MantExp(nil)
		if exponent > 1<<14 || exponent < -1<<14 {
			f.SetMantExp(f, -exponent+(1<<14)*sign(exponent))
		}
		r, _ := f.Rat(nil)
		return r
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return new(big.Rat)
	}
	return r
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

func compareNumbers(a, b string) int { return number(a).Cmp(number(b)) }

// isFloat reports whether a number is written with a fraction or an exponent.
func isFloat(text string) bool { return strings.ContainsAny(text, ".eE") }

// kindName is the name that messages use for the kind of a value.
func kindName(k document.Kind) string { return k.String() }

// printJSON is a value as compact JSON.
func printJSON(v *document.Value) string { return string(v.AppendJSON(nil)) }

func article(word string) string {
	if strings.ContainsAny(word[:1], "aeiouAEIOU") {
		return "an"
	}
	return "a"
}
