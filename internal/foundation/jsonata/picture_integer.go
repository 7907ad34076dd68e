package jsonata

import (
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
)

// An integerPicture is the format of an integer: the pictures of XPath 3.1's format-integer,
// section 4.6 of its functions.
type integerPicture struct {
	kind    byte // 'a' letters, 'i' roman, 'w' words, '0' digits, '?' a sequence that is not supported
	upper   bool
	title   bool
	ordinal bool

	zero       rune // the zero of the digits
	mandatory  int
	optional   int
	separators []digitSeparator
	regular    int // the distance between separators, if it is the same
	width      int // when read: exactly so many digits; 0 for any number of them
}

// A digitSeparator is left of position digits, counted from the end.
type digitSeparator struct {
	position int
	char     rune
}

// digitZero is the zero of the script that r is a decimal digit of.
func digitZero(r rune) (rune, bool) {
	for _, group := range unicode.Nd.R16 {
		if r >= rune(group.Lo) && r <= rune(group.Hi) {
			return rune(group.Lo) + (r-rune(group.Lo))/10*10, true
		}
	}
	for _, group := range unicode.Nd.R32 {
		if r >= rune(group.Lo) && r <= rune(group.Hi) {
			return rune(group.Lo) + (r-rune(group.Lo))/10*10, true
		}
	}
	return 0, false
}

func parseIntegerPicture(picture string) (*integerPicture, error) {
	p := &integerPicture{}
	primary := picture
	if at := strings.LastIndexByte(picture, ';'); at >= 0 {
		primary = picture[:at]
		p.ordinal = strings.HasPrefix(picture[at+1:], "o")
	}
	switch primary {
	case "A", "a":
		p.kind, p.upper = 'a', primary == "A"
		return p, nil
	case "I", "i":
		p.kind, p.upper = 'i', primary == "I"
		return p, nil
	case "W", "w", "Ww":
		p.kind, p.upper, p.title = 'w', primary == "W", primary == "Ww"
		return p, nil
	}
	runes := []rune(primary)
	slices.Reverse(runes)
	position := 0
	for _, r := range runes {
		zero, digit := digitZero(r)
		switch {
		case digit:
			if p.mandatory > 0 && zero != p.zero {
				return nil, newError("D3131", unplaced, "")
			}
			p.zero = zero
			p.mandatory++
			position++
		case r == '#':
			p.optional++
			position++
		default:
			p.separators = append(p.separators, digitSeparator{position, r})
		}
	}
	if p.mandatory == 0 {
		p.kind = '?'
		return p, nil
	}
	p.kind = '0'
	var places []int
	for _, s := range p.separators {
		if s.char != p.separators[0].char {
			return p, nil
		}
		places = append(places, s.position)
	}
	p.regular = regularDistance(places)
	return p, nil
}

// maxRoman bounds the numbers that are written in Roman numerals: they have an M for
// every thousand.
const maxRoman = 10_000_000

// format writes a whole number.
func (p *integerPicture) format(n float64) (string, error) {
	abs := math.Abs(n)
	var text string
	switch p.kind {
	case 'a':
		text = letters(abs)
	case 'i':
		if abs > maxRoman {
			return "", newError("D3130", unplaced, "")
		}
		text = roman(int(abs))
	case 'w':
		text = words(abs, p.ordinal)
		if !p.title && !p.upper {
			text = strings.ToLower(text)
		}
	case '0':
		text = p.digits(abs)
	default:
		return "", newError("D3130", unplaced, "")
	}
	if p.upper {
		text = strings.ToUpper(text)
	}
	if n < 0 {
		text = "-" + text
	}
	return text, nil
}

// digits writes a number with the digits, separators and the ordinal suffix of a picture.
func (p *integerPicture) digits(n float64) string {
	plain := numberText(n)
	if missing := p.mandatory - len(plain); missing > 0 {
		plain = strings.Repeat("0", missing) + plain
	}
	var b strings.Builder
	for i := range len(plain) {
		left := len(plain) - i
		if i > 0 && p.regular == 0 {
			p.separate(&b, left)
		}
		if i > 0 && p.regular > 0 && left%p.regular == 0 {
			b.WriteRune(p.separators[0].char)
		}
		c := rune(plain[i])
		if c >= '0' && c <= '9' {
			c += p.zero - '0'
		}
		b.WriteRune(c)
	}
	p.separate(&b, 0)
	if p.ordinal {
		b.WriteString(ordinalSuffix(plain))
	}
	return b.String()
}

// separate writes the separators that have position digits on their right. They were
// found from right to left.
func (p *integerPicture) separate(b *strings.Builder, position int) {
	for _, s := range slices.Backward(p.separators) {
		if s.position == position {
			b.WriteRune(s.char)
		}
	}
}

func ordinalSuffix(digits string) string {
	if n := len(digits); n == 1 || digits[n-2] != '1' {
		switch digits[n-1] {
		case '1':
			return "st"
		case '2':
			return "nd"
		case '3':
			return "rd"
		}
	}
	return "th"
}

// letters counts a, b, … z, aa, ab.
func letters(n float64) string {
	var reversed []byte
	for n > 0 {
		reversed = append(reversed, byte('a'+math.Mod(n-1, 26)))
		n = math.Floor((n - 1) / 26)
	}
	slices.Reverse(reversed)
	return string(reversed)
}

var romanNumerals = []struct {
	value int
	text  string
}{
	{1000, "m"}, {900, "cm"}, {500, "d"}, {400, "cd"}, {100, "c"}, {90, "xc"}, {50, "l"},
	{40, "xl"}, {10, "x"}, {9, "ix"}, {5, "v"}, {4, "iv"}, {1, "i"},
}

func roman(n int) string {
	var b strings.Builder
	for _, numeral := range romanNumerals {
		for ; n >= numeral.value; n -= numeral.value {
			b.WriteString(numeral.text)
		}
	}
	return b.String()
}

var (
	fewWords = strings.Fields("Zero One Two Three Four Five Six Seven Eight Nine Ten Eleven Twelve Thirteen " +
		"Fourteen Fifteen Sixteen Seventeen Eighteen Nineteen")
	fewOrdinals = strings.Fields("Zeroth First Second Third Fourth Fifth Sixth Seventh Eighth Ninth Tenth Eleventh " +
		"Twelfth Thirteenth Fourteenth Fifteenth Sixteenth Seventeenth Eighteenth Nineteenth")
	tensWords  = strings.Fields("Twenty Thirty Forty Fifty Sixty Seventy Eighty Ninety")
	magnitudes = strings.Fields("Thousand Million Billion Trillion")
)

// words writes a number in English words, each with a capital.
func words(n float64, ordinal bool) string {
	var b strings.Builder
	writeWords(&b, n, false, ordinal)
	return b.String()
}

// writeWords appends n; follows means that greater parts of the number precede it.
func writeWords(b *strings.Builder, n float64, follows, ordinal bool) {
	lead := func(s string) {
		if follows {
			b.WriteString(s)
		}
	}
	tail := func(rest float64) {
		if rest > 0 {
			writeWords(b, rest, true, ordinal)
		} else if ordinal {
			b.WriteString("th")
		}
	}
	switch {
	case n < 20:
		lead(" and ")
		if ordinal {
			b.WriteString(fewOrdinals[int(n)])
		} else {
			b.WriteString(fewWords[int(n)])
		}
	case n < 100:
		lead(" and ")
		tens, rest := tensWords[int(n)/10-2], math.Mod(n, 10)
		switch {
		case rest > 0:
			b.WriteString(tens + "-")
			writeWords(b, rest, false, ordinal)
		case ordinal:
			b.WriteString(strings.TrimSuffix(tens, "y") + "ieth")
		default:
			b.WriteString(tens)
		}
	case n < 1000:
		lead(", ")
		b.WriteString(fewWords[int(n)/100] + " Hundred")
		tail(math.Mod(n, 100))
	default:
		lead(", ")
		factor, name := 1000.0, 0
		for name < len(magnitudes)-1 && n >= factor*1000 {
			factor *= 1000
			name++
		}
		count := math.Floor(n / factor)
		writeWords(b, count, false, false)
		b.WriteString(" " + magnitudes[name])
		tail(n - count*factor)
	}
}

// wordValues is the number of each word, in lower case.
var wordValues = func() map[string]float64 {
	out := map[string]float64{"hundred": 100, "hundredth": 100}
	for i := range fewWords {
		out[strings.ToLower(fewWords[i])] = float64(i)
		out[strings.ToLower(fewOrdinals[i])] = float64(i)
	}
	for i, word := range tensWords {
		word = strings.ToLower(word)
		out[word] = float64((i + 2) * 10)
		out[strings.TrimSuffix(word, "y")+"ieth"] = float64((i + 2) * 10)
	}
	for i, word := range magnitudes {
		word = strings.ToLower(word)
		out[word] = math.Pow(1000, float64(i+1))
		out[word+"th"] = math.Pow(1000, float64(i+1))
	}
	return out
}()

// wordPattern matches numbers in words.
var wordPattern = func() string {
	words := slices.Sorted(maps.Keys(wordValues))
	slices.Reverse(words) // "sixth" before "six"
	return "(?:" + strings.Join(words, "|") + `|and|[\-, ])+`
}()

// parse reads a number by the picture; what cannot be read is NaN.
func (p *integerPicture) parse(text string) (float64, error) {
	switch p.kind {
	case 'a':
		total := 0.0
		base := byte('a')
		if p.upper {
			base = 'A'
		}
		for i := range len(text) {
			total = total*26 + float64(int(text[i])-int(base)+1)
		}
		return total, nil
	case 'i':
		return parseRoman(text), nil
	case 'w':
		return parseWords(strings.ToLower(text)), nil
	case '0':
		return p.parseDigits(text), nil
	}
	return 0, newError("D3130", unplaced, "")
}

func parseRoman(text string) float64 {
	total, most := 0, 1
	upper := strings.ToUpper(text)
	for i := len(upper) - 1; i >= 0; i-- {
		value := map[byte]int{'M': 1000, 'D': 500, 'C': 100, 'L': 50, 'X': 10, 'V': 5, 'I': 1}[upper[i]]
		switch {
		case value == 0:
			return math.NaN()
		case value < most:
			total -= value
		default:
			most = value
			total += value
		}
	}
	return float64(total)
}

func parseWords(text string) float64 {
	text = strings.NewReplacer(", ", " ", " and ", " ", "-", " ").Replace(text)
	segments := []float64{0}
	for _, word := range strings.Fields(text) {
		value, found := wordValues[word]
		if !found {
			return math.NaN()
		}
		top := &segments[len(segments)-1]
		switch {
		case value >= 100:
			*top *= value
		case *top >= 1000:
			segments = append(segments, value)
		default:
			*top += value
		}
	}
	total := 0.0
	for _, segment := range segments {
		total += segment
	}
	return total
}

func (p *integerPicture) parseDigits(text string) float64 {
	if p.ordinal && len(text) > 2 {
		text = text[:len(text)-2]
	}
	for _, s := range p.separators {
		text = strings.ReplaceAll(text, string(s.char), "")
	}
	if p.zero != '0' {
		text = strings.Map(func(r rune) rune {
			if r >= p.zero && r <= p.zero+9 {
				return r - p.zero + '0'
			}
			return r
		}, text)
	}
	return parseInt(text)
}

// parseInt is JavaScript's: the whole number at the start of text, or NaN.
func parseInt(text string) float64 {
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	sign := 1.0
	if text != "" && (text[0] == '-' || text[0] == '+') {
		if text[0] == '-' {
			sign = -1
		}
		text = text[1:]
	}
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	if end == 0 {
		return math.NaN()
	}
	n, _ := parseNumber(text[:end])
	return sign * n
}

// pictureSteps is the cost of a picture: every digit is held against every separator.
func pictureSteps(picture string) int { return 1 + len(picture) + len(picture)*len(picture)/64 }

func fnFormatInteger(c *call, args []any) (any, error) {
	n, ok := argument(args, 0).(float64)
	if !ok {
		return nil, nil
	}
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return nil, newError("D1001", unplaced, c.name)
	}
	picture, _ := argument(args, 1).(string)
	if err := c.spend(pictureSteps(picture)); err != nil {
		return nil, err
	}
	p, err := parseIntegerPicture(picture)
	if err != nil {
		return nil, err
	}
	text, err := p.format(math.Floor(n))
	if err != nil {
		return nil, err
	}
	return c.made(text)
}

func fnParseInteger(c *call, args []any) (any, error) {
	text, ok := argument(args, 0).(string)
	if !ok {
		return nil, nil
	}
	picture, _ := argument(args, 1).(string)
	if err := c.spend(len(text)/16 + pictureSteps(picture)); err != nil {
		return nil, err
	}
	p, err := parseIntegerPicture(picture)
	if err != nil {
		return nil, err
	}
	return p.parse(text)
}
