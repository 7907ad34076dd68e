package jsonata

import (
	"math"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// argument is the i-th argument, nil without one.
func argument(args []any, i int) any {
	if i < len(args) {
		return args[i]
	}
	return nil
}

// made accounts for a string that a function returns.
func (e *evaluator) made(s string) (any, error) { return s, e.grow(len(s)) }

// onText makes f a function of one string; undefined stays undefined.
func onText(f func(c *call, s string) (any, error)) func(*call, []any) (any, error) {
	return func(c *call, args []any) (any, error) {
		s, ok := argument(args, 0).(string)
		if !ok {
			return nil, nil
		}
		if err := c.spend(1 + len(s)/256); err != nil {
			return nil, err
		}
		return f(c, s)
	}
}

func fnString(c *call, args []any) (any, error) {
	value := argument(args, 0)
	if value == nil {
		return nil, nil
	}
	pretty, _ := argument(args, 1).(bool)
	text, err := c.text(value, pretty, c.name)
	return text, err
}

// text is the result of $string: strings unchanged, functions empty, all else as JSON.
func (e *evaluator) text(value any, pretty bool, name string) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return "", newError("D3001", unplaced, name)
		}
	case *array:
		if v.outerWrapper && len(v.items) > 0 {
			value = v.items[0]
		}
	case *Object, bool, nullValue:
	default:
		return "", nil
	}
	w := jsonWriter{evaluator: e, pretty: pretty}
	if err := w.write(value, 0); err != nil {
		return "", err
	}
	return w.out.String(), nil
}

// A jsonWriter writes values as JSON.stringify does.
type jsonWriter struct {
	*evaluator
	out    strings.Builder
	pretty bool
}

func (w *jsonWriter) put(s string) error {
	w.out.WriteString(s)
	return w.grow(len(s))
}

func (w *jsonWriter) write(value any, depth int) error {
	if err := w.deepen(depth); err != nil {
		return err
	}
	switch v := value.(type) {
	case nil, nullValue:
		return w.put("null")
	case bool:
		if v {
			return w.put("true")
		}
		return w.put("false")
	case float64:
		ok, err := isNumber(v)
		if err != nil {
			return err
		}
		if !ok {
			return w.put("null")
		}
		return w.put(numberText(fifteenDigits(v)))
	case string:
		return w.put(jsonString(v))
	case *array:
		return w.list(len(v.items), '[', ']', depth, func(i int) error { return w.write(v.items[i], depth+1) })
	case *Object:
		return w.list(v.Len(), '{', '}', depth, func(i int) error {
			key := jsonString(v.keys[i]) + ":"
			if w.pretty {
				key += " "
			}
			if err := w.put(key); err != nil {
				return err
			}
			return w.write(v.at(i), depth+1)
		})
	}
	return w.put(`""`) // a function
}

func (w *jsonWriter) list(n int, open, close byte, depth int, write func(i int) error) error {
	w.out.WriteByte(open)
	for i := range n {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.newLine(depth + 1); err != nil {
			return err
		}
		if err := write(i); err != nil {
			return err
		}
	}
	if n > 0 {
		if err := w.newLine(depth); err != nil {
			return err
		}
	}
	w.out.WriteByte(close)
	return w.grow(2 + n)
}

func (w *jsonWriter) newLine(depth int) error {
	if !w.pretty {
		return nil
	}
	return w.put("\n" + strings.Repeat("  ", depth))
}

// jsonString quotes a string as JSON.stringify does: only what must be escaped is.
func jsonString(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := runeAt(s[i:])
			if r >= 0xD800 && r <= 0xDFFF {
				b.WriteString(`\u`)
				b.WriteString(hex4(uint16(r)))
			} else {
				b.WriteString(s[i : i+size])
			}
			i += size
			continue
		}
		i++
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= ' ':
			b.WriteByte(c)
		case strings.IndexByte("\b\t\n\f\r", c) >= 0:
			b.WriteByte('\\')
			b.WriteByte("btn.fr"[c-'\b'])
		default:
			b.WriteString(`\u`)
			b.WriteString(hex4(uint16(c)))
		}
	}
	b.WriteByte('"')
	return b.String()
}

func hex4(n uint16) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[n>>12], digits[n>>8&15], digits[n>>4&15], digits[n&15]})
}

func fnSubstring(c *call, args []any) (any, error) {
	s, ok := argument(args, 0).(string)
	if !ok {
		return nil, nil
	}
	start, ok := argument(args, 1).(float64)
	if !ok && argument(args, 2) != nil {
		return "", nil // an index that is not a number, in JavaScript
	}
	if err := c.spend(1 + len(s)/64); err != nil {
		return nil, err
	}
	size := codePoints(s)
	if float64(size)+start < 0 {
		start = 0
	}
	end := float64(size)
	if length, ok := argument(args, 2).(float64); ok {
		if length <= 0 {
			return "", nil
		}
		if end = start + length; start < 0 {
			end += float64(size)
		}
	}
	from := func(f float64) int { // an index of Array.prototype.slice
		i := clampInt(f)
		if i < 0 {
			i += size
		}
		return max(0, min(i, size))
	}
	return c.made(sliceCodePoints(s, from(start), from(end)))
}

// around makes $substringBefore and $substringAfter.
func around(cut func(s string, at, length int) string) func(*call, []any) (any, error) {
	return onPair(func(c *call, s, part string) (any, error) {
		at := strings.Index(s, part)
		if at < 0 {
			return s, nil
		}
		return c.made(cut(s, at, len(part)))
	})
}

// onPair makes f a function of two strings.
func onPair(f func(c *call, s, other string) (any, error)) func(*call, []any) (any, error) {
	return func(c *call, args []any) (any, error) {
		s, ok := argument(args, 0).(string)
		if !ok {
			return nil, nil
		}
		other, ok := argument(args, 1).(string)
		if !ok {
			other = "undefined" // the result in JavaScript
		}
		if err := c.spend(1 + len(s)/256); err != nil {
			return nil, err
		}
		return f(c, s, other)
	}
}

func fnLowercase(c *call, s string) (any, error) {
	if ascii(s) {
		return c.made(strings.ToLower(s))
	}
	return c.made(eachWellFormed(s, cases.Lower(language.Und).String))
}

func fnUppercase(c *call, s string) (any, error) {
	if ascii(s) {
		return c.made(strings.ToUpper(s))
	}
	return c.made(eachWellFormed(s, cases.Upper(language.Und).String))
}

// eachWellFormed applies f to the parts of s between lone surrogates.
func eachWellFormed(s string, f func(string) string) string {
	if !hasLoneSurrogate(s) {
		return f(s)
	}
	var b strings.Builder
	from := 0
	for i := 0; i < len(s); {
		_, size := runeAt(s[i:])
		if isSurrogate(s[i:]) {
			b.WriteString(f(s[from:i]))
			b.WriteString(s[i : i+size])
			from = i + size
		}
		i += size
	}
	b.WriteString(f(s[from:]))
	return b.String()
}

func fnLength(c *call, s string) (any, error) { return float64(codePoints(s)), nil }

// fnTrim makes one space of every run of white space and removes those at the ends.
func fnTrim(c *call, s string) (any, error) {
	words := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' })
	return c.made(strings.Join(words, " "))
}

func fnPad(c *call, args []any) (any, error) {
	s, ok := argument(args, 0).(string)
	if !ok {
		return nil, nil
	}
	width, _ := argument(args, 1).(float64)
	padding, _ := argument(args, 2).(string)
	if padding == "" {
		padding = " "
	}
	missing := math.Floor(math.Abs(width)) - float64(codePoints(s))
	if !(missing > 0) {
		return s, nil
	}
	per := codePoints(padding)
	if err := c.grow(clampInt(missing) / per * len(padding)); err != nil {
		return nil, err
	}
	n := clampInt(missing)
	fill := sliceCodePoints(strings.Repeat(padding, n/per+1), 0, n)
	if width > 0 {
		return c.made(joinText(s, fill))
	}
	return c.made(joinText(fill, s))
}

func fnContains(c *call, args []any) (any, error) {
	s, ok := argument(args, 0).(string)
	if !ok {
		return nil, nil
	}
	if token, ok := argument(args, 1).(string); ok {
		return strings.Contains(s, token), c.spend(1 + len(s)/256)
	}
	if !isFunction(argument(args, 1)) {
		return nil, nil
	}
	m, err := c.firstMatch(args[1], s)
	return m != nil, err
}

// limitArgument reads a limit: none is -1, and one below zero is a fault.
func limitArgument(c *call, args []any, at int, code string) (float64, error) {
	limit, ok := argument(args, at).(float64)
	if !ok {
		return math.Inf(1), nil
	}
	if limit < 0 {
		return 0, newError(code, unplaced, c.name)
	}
	return limit, nil
}

func fnMatch(c *call, args []any) (any, error) {
	s, ok := argument(args, 0).(string)
	if !ok {
		return nil, nil
	}
	limit, err := limitArgument(c, args, 2, "D3040")
	if err != nil {
		return nil, err
	}
	out := newSequence()
	if limit <= 0 {
		return out, nil
	}
	m, err := c.firstMatch(args[1], s)
	for err == nil && m != nil && float64(len(out.items)) < limit {
		o := &Object{}
		o.Set("match", m.text)
		o.Set("index", float64(m.start))
		o.Set("groups", &array{items: m.groups})
		out.items = append(out.items, o)
		if err = c.grow(sizeObject); err == nil {
			m, err = m.next()
		}
	}
	return out, err
}

func fnReplace(c *call, args []any) (any, error) {
	s, ok := argument(args, 0).(string)
	if !ok {
		return nil, nil
	}
	limit, err := limitArgument(c, args, 3, "D3011")
	if err != nil {
		return nil, err
	}
	pattern, isText := argument(args, 1).(string)
	if isText && pattern == "" {
		return nil, newError("D3010", unplaced, c.name)
	}
	if limit <= 0 {
		return s, nil
	}
	if isText {
		return replaceText(c, s, pattern, argument(args, 2), limit)
	}
	if !isFunction(argument(args, 1)) {
		return s, nil
	}
	return replaceMatches(c, s, args[1], argument(args, 2), limit)
}

func replaceText(c *call, s, pattern string, replacement any, limit float64) (any, error) {
	n := strings.Count(s, pattern)
	with, ok := replacement.(string)
	if n > 0 && !ok {
		return nil, newError("D3012", unplaced, c.name, "{type}", typeName(replacement))
	}
	if limit < float64(n) {
		n = int(math.Ceil(limit))
	}
	if err := c.grow(len(s) + n*max(0, len(with)-len(pattern))); err != nil {
		return nil, err
	}
	if err := c.spend(n + len(s)/256); err != nil {
		return nil, err
	}
	return joinPairs(strings.Replace(s, pattern, with, n)), nil
}

func replaceMatches(c *call, s string, matcher, replacement any, limit float64) (any, error) {
	m, err := c.firstMatch(matcher, s)
	if err != nil || m == nil {
		return s, err
	}
	var out strings.Builder
	cut := newUnitCutter(s)
	position := 0
	for count := 0.0; m != nil && count < limit; count++ {
		var with any
		if template, ok := replacement.(string); ok {
			if with, err = c.expandTemplate(template, m); err != nil {
				return nil, err
			}
		} else if with, err = c.apply(replacement, []any{m.value()}, null, c.env, ""); err != nil {
			return nil, err
		}
		text, ok := with.(string)
		if !ok {
			return nil, newError("D3012", unplaced, c.name, "{type}", typeName(with))
		}
		before := cut(position, m.start)
		if err := c.grow(len(before) + len(text)); err != nil {
			return nil, err
		}
		out.WriteString(before)
		out.WriteString(text)
		position = m.start + unitLength(m.text)
		if m, err = m.next(); err != nil {
			return nil, err
		}
	}
	out.WriteString(cut(position, math.MaxInt))
	return c.made(joinPairs(out.String()))
}

// newUnitCutter returns a function that cuts s by UTF-16 code units.
func newUnitCutter(s string) func(start, end int) string {
	if ascii(s) {
		return func(start, end int) string { return sliceUnits(s, start, end) }
	}
	u := units(s)
	return func(start, end int) string {
		start = max(0, min(start, len(u)))
		return fromUnits(u[start:max(start, min(end, len(u)))])
	}
}

// expandTemplate replaces $0, $1 and so on; $$ is a dollar, and a dollar before anything else
// is a literal. It reads as many digits as the number of groups has.
func (e *evaluator) expandTemplate(template string, m *match) (string, error) {
	var b strings.Builder
	put := func(text string) error {
		b.WriteString(text)
		return e.grow(len(text))
	}
	for {
		at := strings.IndexByte(template, '$')
		if at < 0 {
			break
		}
		if err := put(template[:at]); err != nil {
			return "", err
		}
		template = template[at+1:]
		switch {
		case strings.HasPrefix(template, "$"):
			b.WriteByte('$')
			template = template[1:]
			continue
		case strings.HasPrefix(template, "0"):
			if err := put(m.text); err != nil {
				return "", err
			}
			template = template[1:]
			continue
		}
		digits := 1
		for n := len(m.groups); n >= 10; n /= 10 {
			digits++
		}
		index, length := leadingInt(template, digits)
		if digits > 1 && index > len(m.groups) {
			index, length = leadingInt(template, digits-1)
		}
		if length == 0 {
			b.WriteByte('$')
			continue
		}
		if index >= 1 && index <= len(m.groups) {
			text, _ := m.groups[index-1].(string)
			if err := put(text); err != nil {
				return "", err
			}
		}
		template = template[length:]
	}
	err := put(template)
	return b.String(), err
}

// leadingInt reads up to most digits at the start of s.
func leadingInt(s string, most int) (n, length int) {
	for length < most && length < len(s) && s[length] >= '0' && s[length] <= '9' {
		n = n*10 + int(s[length]-'0')
		length++
	}
	return n, length
}

func fnSplit(c *call, args []any) (any, error) {
	s, ok := argument(args, 0).(string)
	if !ok {
		return nil, nil
	}
	limit, err := limitArgument(c, args, 2, "D3020")
	if err != nil {
		return nil, err
	}
	out := &array{}
	if limit <= 0 {
		return out, nil
	}
	add := func(part string) error {
		out.items = append(out.items, part)
		return c.grow(sizeItem + len(part))
	}
	switch separator := argument(args, 1).(type) {
	case string:
		return out, splitText(c, s, separator, math.Floor(limit), add)
	case nil:
		return out, add(s)
	}
	m, err := c.firstMatch(args[1], s)
	if err != nil {
		return nil, err
	}
	cut := newUnitCutter(s)
	start := 0
	for ; m != nil && float64(len(out.items)) < limit; m, err = m.next() {
		if err := add(cut(start, m.start)); err != nil {
			return nil, err
		}
		start = m.end
	}
	if err != nil {
		return nil, err
	}
	if float64(len(out.items)) < limit {
		err = add(cut(start, math.MaxInt))
	}
	return out, err
}

// splitText cuts s at every separator; an empty one cuts it into its code units.
func splitText(c *call, s, separator string, limit float64, add func(string) error) error {
	if err := c.spend(1 + len(s)/64); err != nil {
		return err
	}
	count := 0.0
	if separator == "" {
		for _, u := range units(s) {
			if count++; count > limit {
				return nil
			}
			if err := add(fromUnits([]rune{u})); err != nil {
				return err
			}
		}
		return nil
	}
	for {
		if count++; count > limit {
			return nil
		}
		part, rest, found := strings.Cut(s, separator)
		if err := add(part); err != nil || !found {
			return err
		}
		s = rest
	}
}

func fnJoin(c *call, args []any) (any, error) {
	list, ok := argument(args, 0).(*array)
	if !ok {
		return nil, nil
	}
	separator, _ := argument(args, 1).(string)
	size := 0
	parts := make([]string, 0, len(list.items))
	for _, item := range list.items {
		part, _ := item.(string)
		parts = append(parts, part)
		size += len(part) + len(separator)
	}
	if err := c.grow(size); err != nil {
		return nil, err
	}
	return joinPairs(strings.Join(parts, separator)), c.spend(1 + len(parts)/16)
}
