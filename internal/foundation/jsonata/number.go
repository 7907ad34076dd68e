package jsonata

import (
	"math"
	"strconv"
	"strings"
)

// numberText writes a number as JavaScript's Number.prototype.toString does: the
// shortest digits that read back the same, plain between 1e-6 and 1e21.
func numberText(f float64) string {
	switch {
	case f == 0:
		return "0" // -0 as well
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	// Go pads the exponent to two digits, JavaScript does not.
	if i := strings.IndexByte(s, 'e'); i >= 0 && s[i+2] == '0' {
		s = s[:i+2] + s[i+3:]
	}
	return s
}

// fifteenDigits rounds a number that is not whole to 15 significant digits, what $string
// shows of it.
func fifteenDigits(f float64) float64 {
	if f == math.Trunc(f) {
		return f
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'e', 14, 64), 64)
	if err != nil {
		return f
	}
	return rounded
}

// roundHalfEven rounds to precision decimal places (before the point if negative). It
// shifts the decimal text, not the binary value, so 1.005 is rounded as it reads.
func roundHalfEven(f float64, precision int) float64 {
	shift := func(f float64, by int) float64 {
		mantissa, exponent, found := strings.Cut(numberText(f), "e")
		if found {
			e, _ := strconv.Atoi(exponent)
			by += e
		}
		shifted, _ := strconv.ParseFloat(mantissa+"e"+strconv.Itoa(by), 64) // out of range is ±Inf or 0
		return shifted
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return f
	}
	if precision != 0 {
		f = shift(f, precision)
	}
	result := math.RoundToEven(f)
	if precision != 0 && !math.IsInf(result, 0) {
		result = shift(result, -precision)
	}
	if result == 0 {
		return 0
	}
	return result
}

// fixed is Number.prototype.toFixed for numbers that are already rounded to places
// digits after the point: ties do not come up.
func fixed(f float64, places int) string {
	if math.Abs(f) >= 1e21 {
		return numberText(f)
	}
	return strconv.FormatFloat(f, 'f', places, 64)
}

// radixText writes a whole number in a base from 2 to 36. Beyond 2^53 the digits that a
// double does not hold are zero.
func radixText(f float64, base int) string {
	if math.IsNaN(f) || math.IsInf(f, 0) || base == 10 {
		return numberText(f)
	}
	if math.Abs(f) < 1<<53 {
		return strconv.FormatInt(int64(f), base)
	}
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	rest := math.Abs(f)
	var reversed []byte
	for rest >= 1<<53 {
		reversed = append(reversed, '0')
		rest /= float64(base)
	}
	for {
		digit := math.Mod(rest, float64(base))
		reversed = append(reversed, digits[int(digit)])
		rest = math.Trunc((rest - digit) / float64(base))
		if rest <= 0 {
			break
		}
	}
	if f < 0 {
		reversed = append(reversed, '-')
	}
	for i, j := 0, len(reversed)-1; i < j; i, j = i+1, j-1 {
		reversed[i], reversed[j] = reversed[j], reversed[i]
	}
	return string(reversed)
}

// parseNumber reads the text that $number takes: a JSON number, or a whole number in
// hexadecimal, octal or binary.
func parseNumber(s string) (float64, bool) {
	if numberSyntax(s) == len(s) && s != "" {
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil
	}
	if len(s) < 3 || s[0] != '0' {
		return 0, false
	}
	base := map[byte]float64{'x': 16, 'X': 16, 'o': 8, 'O': 8, 'b': 2, 'B': 2}[s[1]]
	if base == 0 {
		return 0, false
	}
	total := 0.0
	for i := 2; i < len(s); i++ {
		digit := strings.IndexByte("0123456789abcdef", s[i]|0x20)
		if s[i] < '0' || digit < 0 || float64(digit) >= base {
			return 0, false
		}
		total = total*base + float64(digit)
	}
	return total, true
}

// numberSyntax is the length of the longest number at the start of s:
// -?digits(.digits)?([eE][-+]?digits)?
func numberSyntax(s string) int {
	digits := func(i int) int {
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i
	}
	start := 0
	if strings.HasPrefix(s, "-") {
		start = 1
	}
	end := digits(start)
	if end == start {
		return 0
	}
	if end < len(s) && s[end] == '.' {
		if next := digits(end + 1); next > end+1 {
			end = next
		}
	}
	if end < len(s) && s[end]|0x20 == 'e' {
		sign := end + 1
		if sign < len(s) && (s[sign] == '-' || s[sign] == '+') {
			sign++
		}
		if next := digits(sign); next > sign {
			end = next
		}
	}
	return end
}
