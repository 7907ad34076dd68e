package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// A decimal is a JSON number, exactly: ±0.DIGITS · 10^exponent. It never multiplies the
// exponent out, so that 1e999999999 costs as little as 1.
type decimal struct {
	negative bool
	digits   string // without zeros at either end; "" is zero
	exponent int64  // of the point before the first digit
}

// maxExponent is where exponents stop growing; a literal would need 18 digits for more.
const maxExponent = int64(1e18)

// decimalOf reads the number types that a decoded model may contain. It returns false for
// other values.
func decimalOf(v any) (decimal, bool) {
	switch v := v.(type) {
	case json.Number:
		return parseDecimal(string(v))
	case float64:
		return parseDecimal(strconv.FormatFloat(v, 'g', -1, 64))
	case int:
		return parseDecimal(strconv.Itoa(v))
	case int64:
		return parseDecimal(strconv.FormatInt(v, 10))
	}
	return decimal{}, false
}

func parseDecimal(text string) (decimal, bool) {
	var d decimal
	rest, negative := strings.CutPrefix(text, "-")
	mantissa, exponent := rest, ""
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		mantissa, exponent = rest[:i], rest[i+1:]
		unsigned := strings.TrimLeft(exponent, "+-")
		if !allDigits(unsigned) || len(exponent)-len(unsigned) > 1 {
			return d, false
		}
	}
	whole, fraction, pointed := strings.Cut(mantissa, ".")
	if !allDigits(whole) || len(whole) > 1 && whole[0] == '0' || pointed && !allDigits(fraction) {
		return d, false
	}
	if exponent != "" {
		n, err := strconv.ParseInt(exponent, 10, 64)
		if err != nil || n > maxExponent || n < -maxExponent {
			n = maxExponent
			if exponent[0] == '-' {
				n = -maxExponent
			}
		}
		d.exponent = n
	}
	all := whole + fraction
	d.digits = strings.TrimLeft(all, "0")
	d.exponent += int64(len(whole) - (len(all) - len(d.digits)))
	d.digits = strings.TrimRight(d.digits, "0")
	if d.digits == "" {
		return decimal{}, true
	}
	d.negative = negative
	return d, true
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func (d decimal) isInteger() bool { return d.digits == "" || d.exponent >= int64(len(d.digits)) }

// compare returns -1, 0 or 1.
func (d decimal) compare(e decimal) int {
	sign := func(d decimal) int {
		switch {
		case d.digits == "":
			return 0
		case d.negative:
			return -1
		}
		return 1
	}
	if a, b := sign(d), sign(e); a != b || a == 0 {
		return cmp.Compare(a, b)
	}
	magnitude := cmp.Or(cmp.Compare(d.exponent, e.exponent), strings.Compare(d.digits, e.digits))
	if d.negative {
		return -magnitude
	}
	return magnitude
}

// key is a text that equal numbers share.
func (d decimal) key() string {
	if d.digits == "" {
		return "0"
	}
	sign := ""
	if d.negative {
		sign = "-"
	}
	return sign + d.digits + "e" + strconv.FormatInt(d.exponent, 10)
}

// maxDigits bounds the numbers that are divided; parsing takes quadratic time.
const maxDigits = 4096

// multipleOf reports whether d is a whole multiple of e, which is not zero. Numbers too
// long to divide are taken to be multiples.
func (d decimal) multipleOf(e decimal) bool {
	if d.digits == "" || e.digits == "" || len(d.digits) > maxDigits || len(e.digits) > maxDigits {
		return true
	}
	// d/e = (a/b) · 10^shift with whole a, b.
	shift := (d.exponent - int64(len(d.digits))) - (e.exponent - int64(len(e.digits)))
	if shift < -maxDigits {
		return false // a has too few digits to be divided by such a power
	}
	a, _ := new(big.Int).SetString(d.digits, 10)
	b, _ := new(big.Int).SetString(e.digits, 10)
	// Beyond this many powers of ten no further factor of b can be divided away.
	shift = min(shift, 4*maxDigits)
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(max(shift, -shift)), nil)
	if shift >= 0 {
		a.Mul(a, power)
	} else {
		b.Mul(b, power)
	}
	return new(big.Int).Rem(a, b).Sign() == 0
}

// String is for messages: the literal's value, short for numbers of everyday size.
func (d decimal) String() string {
	if d.digits == "" {
		return "0"
	}
	sign := ""
	if d.negative {
		sign = "-"
	}
	switch n := int64(len(d.digits)); {
	case d.exponent >= n && d.exponent <= 21:
		return sign + d.digits + strings.Repeat("0", int(d.exponent-n))
	case d.exponent > 0 && d.exponent < n:
		return sign + d.digits[:d.exponent] + "." + d.digits[d.exponent:]
	case d.exponent <= 0 && d.exponent > -6:
		return sign + "0." + strings.Repeat("0", int(-d.exponent)) + d.digits
	}
	return fmt.Sprintf("%s0.%se%d", sign, d.digits, d.exponent)
}
