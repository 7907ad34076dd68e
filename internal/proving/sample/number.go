package sample

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// maxExponent is the power of ten up to which numbers are calculated with. Beyond it only
// the literals of the schema themselves are tried.
const maxExponent = 400

// rational reads a JSON number exactly. It reports false for what is not a number, and for
// numbers too long to calculate with.
func rational(text string) (*big.Rat, bool) {
	if len(text) > maxExponent {
		return nil, false
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, err := strconv.Atoi(strings.TrimPrefix(text[i+1:], "+"))
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

// literal writes a rational whose denominator has no factors but 2 and 5.
func literal(r *big.Rat) json.Number {
	digits, _ := r.FloatPrec()
	return json.Number(r.FloatString(digits))
}

// A span of numbers: those between low and high that are multiples of step.
type interval struct {
	low, high, step   *big.Rat // nil without a limit
	lowOpen, highOpen bool
	literals          []json.Number // bounds that are too long to calculate with
}

func (iv *interval) narrow(r *rules) {
	for _, bound := range [...]struct {
		value      *document.Value
		open, high bool
	}{{r.minimum, false, false}, {r.above, true, false}, {r.maximum, false, true}, {r.below, true, true}} {
		if bound.value == nil {
			continue
		}
		n, ok := rational(bound.value.Text)
		if !ok {
			iv.literals = append(iv.literals, json.Number(bound.value.Text))
			continue
		}
		side, open, wanted := &iv.low, &iv.lowOpen, 1
		if bound.high {
			side, open, wanted = &iv.high, &iv.highOpen, -1
		}
		switch {
		case *side == nil || n.Cmp(*side) == wanted:
			*side, *open = n, bound.open
		case n.Cmp(*side) == 0:
			*open = *open || bound.open
		}
	}
	if r.multiple == nil {
		return
	}
	if n, ok := rational(r.multiple.Text); ok && n.Sign() > 0 {
		iv.step = common(iv.step, n)
	} else {
		iv.literals = append(iv.literals, "0", json.Number(r.multiple.Text))
	}
}

// common is the least common multiple of two steps, of which the first may be nil.
func common(a, b *big.Rat) *big.Rat {
	if a == nil {
		return b
	}
	// In lowest terms, lcm(p/q, r/s) = lcm(p, r) / gcd(q, s).
	product := new(big.Int).Mul(a.Num(), b.Num())
	product.Quo(product, new(big.Int).GCD(nil, nil, a.Num(), b.Num()))
	return new(big.Rat).SetFrac(product, new(big.Int).GCD(nil, nil, a.Denom(), b.Denom()))
}

// ends are the smallest and the greatest k for which k·step is in the interval, nil where it
// is open-ended.
func (iv *interval) ends(step *big.Rat) (first, last *big.Int) {
	if iv.low != nil {
		q := new(big.Rat).Quo(iv.low, step)
		first = new(big.Int).Div(q.Num(), q.Denom()) // floor, the denominator is positive
		if !q.IsInt() || iv.lowOpen {
			first.Add(first, big.NewInt(1))
		}
	}
	if iv.high != nil {
		q := new(big.Rat).Quo(iv.high, step)
		last = new(big.Int).Div(q.Num(), q.Denom())
		if q.IsInt() && iv.highOpen {
			last.Sub(last, big.NewInt(1))
		}
	}
	return first, last
}

// reach is how far from the near end of a wide interval numbers are drawn.
const reach = 1000

// draw picks a number, or reports false if the interval holds none.
func (iv *interval) draw(integer bool, src *source, sparse bool) (json.Number, bool) {
	var steps []*big.Rat
	switch {
	case integer:
		steps = append(steps, common(iv.step, big.NewRat(1, 1)))
	case iv.step != nil:
		steps = append(steps, iv.step)
	default:
		if !sparse && src.oneIn(2) {
			steps = append(steps, big.NewRat(1, 2))
		}
		steps = append(steps, big.NewRat(1, 1))
		for ten, i := big.NewRat(1, 10), 0; i < 24; i++ { // finer, until one fits
			steps = append(steps, new(big.Rat).Mul(steps[len(steps)-1], ten))
		}
	}
	for _, step := range steps {
		first, last := iv.ends(step)
		if first != nil && last != nil && first.Cmp(last) > 0 {
			continue
		}
		k := pick(first, last, src, sparse)
		return literal(new(big.Rat).Mul(new(big.Rat).SetInt(k), step)), true
	}
	// Between two close neighbours only the bounds or their mean are left.
	if !integer && iv.step == nil && iv.low != nil && iv.high != nil && iv.low.Cmp(iv.high) < 0 {
		return literal(new(big.Rat).Mul(new(big.Rat).Add(iv.low, iv.high), big.NewRat(1, 2))), true
	}
	if !integer && iv.step == nil && iv.low != nil && iv.high != nil && iv.low.Cmp(iv.high) == 0 && !iv.lowOpen && !iv.highOpen {
		return literal(iv.low), true
	}
	return "", false
}

// pick draws from a range of whole numbers, small ones where it is wide or has no end.
func pick(first, last *big.Int, src *source, sparse bool) *big.Int {
	one := big.NewInt(1)
	switch {
	case first == nil && last == nil:
		first, last = one, big.NewInt(100)
	case first == nil:
		first = new(big.Int).Sub(last, big.NewInt(reach))
		if last.Sign() > 0 && first.Sign() <= 0 {
			first = one
		}
	case last == nil:
		last = new(big.Int).Add(first, big.NewInt(reach))
	}
	if sparse {
		return first
	}
	if src.oneIn(8) {
		return last
	}
	if first.Sign() == 0 && last.Sign() > 0 && !src.oneIn(8) {
		first = one // zero often means "unset"
	}
	width := new(big.Int).Sub(last, first)
	n := reach
	if width.IsInt64() && width.Int64() < reach {
		n = int(width.Int64())
	}
	return new(big.Int).Add(first, big.NewInt(int64(src.between(0, n))))
}

// bigHalf is half of a number, towards zero.
func bigHalf(k *big.Int) *big.Int { return new(big.Int).Quo(k, big.NewInt(2)) }

// bigTowardsZero is the next number towards zero.
func bigTowardsZero(k *big.Int) *big.Int { return new(big.Int).Sub(k, big.NewInt(int64(k.Sign()))) }
