package jsonata

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/dlclark/regexp2/v2"
)

// maxPattern bounds the length of a regular expression: compiling takes more than linear
// time.
const maxPattern = 16 << 10

// A regexValue is a regular expression literal. To expressions it is a function that
// takes a string and returns its first match.
type regexValue struct {
	source string
	flags  string
	re     *regexp2.Regexp
}

// A Regexp is a result that is a regular expression.
type Regexp struct{ value *regexValue }

// Source is the expression between the slashes.
func (r *Regexp) Source() string { return r.value.source }

// Flags is the flags after the slashes: "", "i", "m" or both.
func (r *Regexp) Flags() string { return r.value.flags }

// String is the literal.
func (r *Regexp) String() string { return "/" + r.value.source + "/" + r.value.flags }

// MarshalJSON writes null: JSON has no regular expressions.
func (r *Regexp) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// MatchString reports whether the expression matches somewhere in s. The error reports that it
// took longer than Config.RegexTimeout, or too much memory.
func (r *Regexp) MatchString(s string) (bool, error) {
	found, err := r.value.re.MatchRunes(units(wellFormed(s)))
	if err != nil {
		return false, matchError(err)
	}
	return found, nil
}

// compileRegexp compiles a literal. Code points beyond U+FFFF are written as the two
// code units that the strings it is matched with have in their place.
func compileRegexp(pattern, flags string, timeout time.Duration) (*regexValue, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(pattern), maxPattern)
	}
	options := regexp2.ECMAScript
	if strings.Contains(flags, "i") {
		options |= regexp2.IgnoreCase
	}
	if strings.Contains(flags, "m") {
		options |= regexp2.Multiline
	}
	var narrow strings.Builder
	for _, r := range pattern {
		if r >= 0x10000 {
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&narrow, `\u%04X\u%04X`, high, low)
			continue
		}
		narrow.WriteRune(r)
	}
	re, err := regexp2.Compile(narrow.String(), options)
	if err != nil {
		why, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "error parsing regexp: "), " in `")
		return nil, errors.New(why)
	}
	re.MatchTimeout = timeout
	return &regexValue{source: pattern, flags: flags, re: re}, nil
}

func matchError(err error) error {
	if errors.Is(err, regexp2.ErrBacktrackingStackLimit) {
		return limitError(LimitMemory, unplaced, "a regular expression needs too much memory to be matched", err)
	}
	return limitError(LimitTime, unplaced, "a regular expression takes too long to be matched", err)
}

// A match is one match of a matcher: a regular expression, or a function that behaves
// like one. Its offsets count UTF-16 code units.
type match struct {
	text       string
	start, end int
	groups     []any // strings, or nil for a group that took no part
	next       func() (*match, error)
	object     any // as the matcher function returned it, nil for a regular expression
}

// value is the match as functions in the expression see it.
func (m *match) value() any {
	if m.object != nil {
		return m.object
	}
	o := &Object{}
	o.Set("match", m.text)
	o.Set("start", float64(m.start))
	o.Set("end", float64(m.end))
	o.Set("groups", &array{items: m.groups})
	o.Set("next", &closure{run: func(*call, []any) (any, error) {
		following, err := m.next()
		if err != nil || following == nil {
			return nil, err
		}
		return following.value(), nil
	}})
	return o
}

// find looks for the first match from a code unit on.
func (r *regexValue) find(e *evaluator, text []rune, from int) (*match, error) {
	if err := e.spend(1 + (len(text)-from)/32); err != nil {
		return nil, err
	}
	if e.regex <= 0 {
		return nil, matchError(errors.New("the time for regular expressions is used up"))
	}
	start := time.Now()
	m, err := r.re.FindRunesMatchStartingAt(text, from)
	e.regex -= time.Since(start)
	if err != nil {
		return nil, matchError(err)
	}
	if m == nil {
		return nil, nil
	}
	out := &match{start: m.RuneIndex, end: m.RuneIndex + m.RuneLength}
	out.text = fromUnits(text[out.start:out.end])
	size := sizeObject + len(out.text)
	for i := 1; i < m.GroupCount(); i++ {
		group := m.GroupByNumber(i)
		if group == nil || len(group.Captures) == 0 {
			out.groups = append(out.groups, nil)
			continue
		}
		captured := fromUnits(text[group.RuneIndex : group.RuneIndex+group.RuneLength])
		out.groups = append(out.groups, captured)
		size += sizeItem + len(captured)
	}
	out.next = func() (*match, error) {
		if out.end >= len(text) {
			return nil, nil
		}
		following, err := r.find(e, text, out.end)
		if err == nil && following != nil && following.text == "" {
			return nil, newError("D1004", unplaced, "")
		}
		return following, err
	}
	return out, e.grow(size)
}

// applyTo is the regular expression called as a function.
func (r *regexValue) applyTo(e *evaluator, args []any) (any, error) {
	if argument(args, 0) == nil {
		return nil, nil
	}
	text, ok := args[0].(string)
	if !ok {
		return nil, newError("T0410", unplaced, quoteToken("/"+r.source+"/"), "{index}", "1")
	}
	from := 0
	u := units(text)
	if len(args) > 1 {
		if f, ok := args[1].(float64); ok && f > 0 {
			from = min(clampInt(f), len(u))
		}
	}
	m, err := r.find(e, u, from)
	if err != nil || m == nil {
		return nil, err
	}
	return m.value(), nil
}

// firstMatch applies a matcher to a string.
func (c *call) firstMatch(matcher any, text string) (*match, error) {
	if r, ok := matcher.(*regexValue); ok {
		if err := c.grow(4 * len(text)); err != nil {
			return nil, err
		}
		return r.find(c.evaluator, units(text), 0)
	}
	return c.matchBy(matcher, []any{text})
}

// matchBy calls a matcher function and reads what it returns.
func (c *call) matchBy(matcher any, args []any) (*match, error) {
	result, err := c.apply(matcher, args, null, c.env, "")
	if err != nil || result == nil {
		return nil, err
	}
	o, ok := result.(*Object)
	if !ok {
		return nil, newError("T1010", unplaced, "")
	}
	field := func(name string) any { value, _ := o.Get(name); return value }
	start, startOK := field("start").(float64)
	end, endOK := field("end").(float64)
	if !startOK || !endOK {
		return nil, newError("T1010", unplaced, "")
	}
	out := &match{start: clampInt(start), end: clampInt(end), object: o}
	out.text, _ = field("match").(string)
	if groups, ok := field("groups").(*array); ok {
		out.groups = groups.items
	}
	next := field("next")
	out.next = func() (*match, error) {
		if !isFunction(next) {
			return nil, nil
		}
		return c.matchBy(next, nil)
	}
	return out, nil
}

// clampInt is the whole part of f, kept within what indexes need.
func clampInt(f float64) int {
	switch {
	case f != f:
		return 0
	case f > 1<<31:
		return 1 << 31
	case f < -1<<31:
		return -1 << 31
	}
	return int(f)
}
