package jsonata

import (
	"math"
	"strings"
)

// A decimalFormat has the characters that a number picture is made of: the properties of
// XPath 3.1's decimal formats, section 4.7 of its functions.
type decimalFormat struct {
	decimal, grouping, exponent, minus, percent, perMille, zero, digit, separator string
}

func newDecimalFormat(options any) decimalFormat {
	f := decimalFormat{".", ",", "e", "-", "%", "‰", "0", "#", ";"}
	o, ok := options.(*Object)
	if !ok {
		return f
	}
	for name, field := range map[string]*string{
		"decimal-separator": &f.decimal, "grouping-separator": &f.grouping, "exponent-separator": &f.exponent,
		"minus-sign": &f.minus, "percent": &f.percent, "per-mille": &f.perMille, "zero-digit": &f.zero,
		"digit": &f.digit, "pattern-separator": &f.separator,
	} {
		if value, _ := o.Get(name); value != nil {
			if text, ok := value.(string); ok && text != "" {
				*field = text
			}
		}
	}
	return f
}

// isDigit reports whether r is one of the ten digits that start with the zero digit.
func (f *decimalFormat) isDigit(r rune) bool {
	zero, _ := runeAt(f.zero)
	return r >= zero && r <= zero+9
}

// isActive reports whether r has a meaning in a picture, the exponent separator apart.
func (f *decimalFormat) isActive(r rune) bool {
	s := string(r)
	return f.isDigit(r) || s == f.decimal || s == f.grouping || s == f.digit || s == f.separator
}

// countDigits counts the mandatory digits in part and, with optional, the optional ones.
func (f *decimalFormat) countDigits(part string, optional bool) int {
	n := 0
	for _, r := range part {
		if f.isDigit(r) || optional && string(r) == f.digit {
			n++
		}
	}
	return n
}

// A subPicture is the format of numbers of one sign.
type subPicture struct {
	picture, prefix, active, suffix  string
	integer, fraction, exponent      string
	hasExponent                      bool
	integerGroups, fractionGroups    []int // digits to the right, to the left of each separator
	regular                          int   // the distance between separators, if it is the same
	minInteger, minFraction, maxFrac int
	scaling, minExponent             int
}

// split cuts a sub-picture into its parts.
func (f *decimalFormat) split(picture string) *subPicture {
	p := &subPicture{picture: picture}
	first := strings.IndexFunc(picture, f.isActive)
	last := strings.LastIndexFunc(picture, f.isActive)
	if first < 0 {
		p.prefix = picture
	} else {
		end := last + len(string([]rune(picture[last:])[0]))
		p.prefix, p.active, p.suffix = picture[:first], picture[first:end], picture[end:]
	}
	mantissa := p.active
	if at := strings.Index(p.active, f.exponent); at >= 0 {
		mantissa = p.active[:at]
		p.exponent, p.hasExponent = p.active[at+len(f.exponent):], true
	}
	p.integer, p.fraction, _ = strings.Cut(mantissa, f.decimal)
	return p
}

// check gives the code of what is wrong with a sub-picture, "" if nothing is. Of several
// faults it is the last one, as in the reference.
func (f *decimalFormat) check(p *subPicture) string {
	twice := func(s string) bool { return strings.Count(p.picture, s) > 1 }
	percent, perMille := strings.Contains(p.picture, f.percent), strings.Contains(p.picture, f.perMille)
	optionalInteger := strings.Index(p.integer, f.digit)
	optionalFraction := strings.LastIndex(p.fraction, f.digit)
	before, after, found := strings.Cut(p.picture, f.decimal)
	faults := []struct {
		code  string
		found bool
	}{
		{"D3081", twice(f.decimal)},
		{"D3082", twice(f.percent)},
		{"D3083", twice(f.perMille)},
		{"D3084", percent && perMille},
		{"D3085", f.countDigits(p.integer+p.fraction, true) == 0},
		{"D3086", p.active == "" || strings.ContainsFunc(p.active, func(r rune) bool {
			return !f.isActive(r) && string(r) != f.exponent
		})},
		{"D3087", found && (strings.HasSuffix(before, f.grouping) || strings.HasPrefix(after, f.grouping))},
		{"D3088", !strings.Contains(p.picture, f.decimal) && strings.HasSuffix(p.integer, f.grouping)},
		{"D3089", strings.Contains(p.picture, f.grouping+f.grouping)},
		{"D3090", optionalInteger >= 0 && f.countDigits(p.integer[:max(0, optionalInteger)], false) > 0},
		{"D3091", optionalFraction >= 0 && f.countDigits(p.fraction[max(0, optionalFraction):], false) > 0},
		{"D3092", p.hasExponent && p.exponent != "" && (percent || perMille)},
		{"D3093", p.hasExponent && (p.exponent == "" || f.countDigits(p.exponent, false) != len([]rune(p.exponent)))},
	}
	code := ""
	for _, fault := range faults {
		if fault.found {
			code = fault.code
		}
	}
	return code
}

// analyse derives the sizes and the places of the separators.
func (f *decimalFormat) analyse(p *subPicture) {
	for at := 0; ; at += len(f.grouping) {
		next := strings.Index(p.integer[at:], f.grouping)
		if next < 0 {
			break
		}
		at += next
		p.integerGroups = append(p.integerGroups, f.countDigits(p.integer[at:], true))
	}
	for at := 0; ; at += len(f.grouping) {
		next := strings.Index(p.fraction[at:], f.grouping)
		if next < 0 {
			break
		}
		at += next
		p.fractionGroups = append(p.fractionGroups, f.countDigits(p.fraction[:at], true))
	}
	p.regular = regularDistance(p.integerGroups)
	p.minInteger = f.countDigits(p.integer, false)
	p.scaling = p.minInteger
	p.minFraction = f.countDigits(p.fraction, false)
	p.maxFrac = f.countDigits(p.fraction, true)
	if p.minInteger == 0 && p.maxFrac == 0 {
		if p.hasExponent {
			p.minFraction, p.maxFrac = 1, 1
		} else {
			p.minInteger = 1
		}
	}
	if p.hasExponent && p.minInteger == 0 && strings.Contains(p.integer, f.digit) {
		p.minInteger = 1
	}
	if p.minInteger == 0 && p.minFraction == 0 {
		p.minFraction = 1
	}
	p.minExponent = f.countDigits(p.exponent, false)
}

// regularDistance is the distance of separators that occur at every multiple of it, or 0.
func regularDistance(places []int) int {
	if len(places) == 0 {
		return 0
	}
	factor := places[0]
	for _, place := range places[1:] {
		for a, b := place, factor; ; a, b = b, a%b {
			if b == 0 {
				factor = a
				break
			}
		}
	}
	if factor == 0 {
		return 0
	}
	for i := range places {
		found := false
		for _, place := range places {
			found = found || place == (i+1)*factor
		}
		if !found {
			return 0
		}
	}
	return factor
}

func fnFormatNumber(c *call, args []any) (any, error) {
	n, ok := argument(args, 0).(float64)
	if !ok {
		return nil, nil
	}
	picture, _ := argument(args, 1).(string)
	f := newDecimalFormat(argument(args, 2))
	if err := c.spend(pictureSteps(picture)); err != nil {
		return nil, err
	}
	parts := strings.Split(picture, f.separator)
	if len(parts) > 2 {
		return nil, newError("D3080", unplaced, c.name)
	}
	var pictures []*subPicture
	for _, part := range parts {
		p := f.split(part)
		if code := f.check(p); code != "" {
			return nil, newError(code, unplaced, c.name)
		}
		f.analyse(p)
		pictures = append(pictures, p)
	}
	p := pictures[0]
	if !(n >= 0) {
		if len(pictures) == 2 {
			p = pictures[1]
		} else {
			p.prefix = f.minus + p.prefix
		}
	}
	if p.maxFrac > 100 {
		return nil, newError("D1001", unplaced, c.name)
	}
	return c.made(f.format(n, p))
}

// format writes a number by its sub-picture.
func (f *decimalFormat) format(n float64, p *subPicture) string {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return p.prefix + numberText(math.Abs(n)) + p.suffix
	}
	n = math.Abs(n)
	if strings.Contains(p.picture, f.percent) {
		n *= 100
	} else if strings.Contains(p.picture, f.perMille) {
		n *= 1000
	}
	exponent := 0
	if p.minExponent > 0 && n != 0 {
		high, low := math.Pow(10, float64(p.scaling)), math.Pow(10, float64(p.scaling-1))
		for n < low {
			n *= 10
			exponent--
		}
		for n > high {
			n /= 10
			exponent++
		}
	}
	integer, fraction, _ := strings.Cut(fixed(roundHalfEven(n, p.maxFrac), p.maxFrac), ".")
	integer = strings.TrimLeft(integer, "0")
	fraction = strings.TrimRight(fraction, "0")
	integer = strings.Repeat("0", max(0, p.minInteger-len(integer))) + integer
	fraction += strings.Repeat("0", max(0, p.minFraction-len(fraction)))

	var out strings.Builder
	out.WriteString(p.prefix)
	out.WriteString(f.group(integer, p))
	if fraction != "" && strings.Contains(p.picture, f.decimal) {
		out.WriteString(f.decimal)
		for i := range len(fraction) {
			for _, place := range p.fractionGroups {
				if place == i && i > 0 {
					out.WriteString(f.grouping)
				}
			}
			out.WriteString(f.digits(fraction[i : i+1]))
		}
	}
	if p.hasExponent {
		out.WriteString(f.exponent)
		if exponent < 0 {
			out.WriteString(f.minus)
		}
		text := numberText(math.Abs(float64(exponent)))
		out.WriteString(f.digits(strings.Repeat("0", max(0, p.minExponent-len(text))) + text))
	}
	out.WriteString(p.suffix)
	return out.String()
}

// group writes the integer part with its separators.
func (f *decimalFormat) group(integer string, p *subPicture) string {
	var out strings.Builder
	for i := range len(integer) {
		left := len(integer) - i // digits from here to the end
		separated := p.regular > 0 && left%p.regular == 0
		for _, place := range p.integerGroups {
			separated = separated || p.regular == 0 && place == left
		}
		if separated && i > 0 {
			out.WriteString(f.grouping)
		}
		out.WriteString(f.digits(integer[i : i+1]))
	}
	return out.String()
}

// digits writes ASCII digits in the family of the zero digit.
func (f *decimalFormat) digits(text string) string {
	if f.zero == "0" {
		return text
	}
	zero, _ := runeAt(f.zero)
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return zero + r - '0'
		}
		return r
	}, text)
}
