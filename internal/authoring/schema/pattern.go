package schema

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

// matchTimeout bounds one match. A published pattern is known that backtracks for more
// than ten seconds on a short string.
const matchTimeout = 250 * time.Millisecond

// maxStack bounds the memory of one match, in words: enough for strings of some hundred
// thousand characters.
const maxStack = 4 << 20

// verdict is the outcome of a match: a pattern that cannot be used, or takes too long,
// says nothing about the string.
type verdict uint8

const (
	undecided verdict = iota
	matches
	noMatch
)

// A pattern is a regular expression of a schema. Its dialect is that of the published
// schemas: ECMAScript in Unicode mode (without it \p{L} and \A are plain letters), where
// the Java idioms that occur mean what they mean in Java.
type pattern struct {
	text     string
	re       *regexp2.Regexp
	err      error // why it cannot be used
	timeouts atomic.Int32
}

// A pattern that ran into its time-out this often is not tried again, nor is any other of
// a schema whose patterns together did: a hostile schema costs less than two seconds in
// all, not that for every string.
const (
	maxTimeouts       = 2
	maxSchemaTimeouts = 4
)

// maxPattern bounds the length of a pattern in bytes: compiling takes more than linear time.
const maxPattern = 16 << 10

func compile(text string) *pattern {
	p := &pattern{text: text}
	if len(text) > maxPattern {
		p.err = fmt.Errorf("it has %d bytes, more than %d", len(text), maxPattern)
		return p
	}
	p.re, p.err = regexp2.Compile(rewrite(text), PatternOptions, regexp2.OptionMaxBacktrackingStackSize(maxStack))
	if p.err == nil {
		p.re.MatchTimeout = matchTimeout
	}
	return p
}

// CompilePattern compiles a pattern as [Schema.Check] does, for those who look into
// patterns themselves: rewritten to the dialect of the engine, which is what the result's
// String returns, and bounded in the time and the memory of one match. A schema looks for
// a match anywhere in a text. The error says, in one line, why the pattern cannot be used.
func CompilePattern(text string) (*regexp2.Regexp, error) {
	p := compile(text)
	if p.err != nil {
		return nil, errors.New(p.reason())
	}
	return p.re, nil
}

// PatternOptions are the options with which patterns of schemas are compiled.
const PatternOptions = regexp2.ECMAScript | regexp2.Unicode

// match looks for the pattern anywhere in the text, as in draft-07.
func (p *pattern) match(text string) verdict {
	if p.err != nil || p.timeouts.Load() >= maxTimeouts {
		return undecided
	}
	found, err := p.re.MatchString(text)
	switch {
	case err != nil:
		p.timeouts.Add(1)
		return undecided
	case found:
		return matches
	}
	return noMatch
}

// match matches with a pattern of the schema.
func (r *references) match(pattern, text string) verdict {
	if r.timeouts.Load() >= maxSchemaTimeouts {
		return undecided
	}
	p := r.pattern(pattern)
	tried := p.err == nil && p.timeouts.Load() < maxTimeouts
	result := p.match(text)
	if result == undecided && tried {
		r.timeouts.Add(1)
	}
	return result
}

// GivesUp reports whether a match with a pattern of the schema, with this text or an earlier
// one, was stopped because it takes too much time or memory. [Schema.Check] then decides
// nothing by the pattern.
func (s *Schema) GivesUp(pattern, text string) bool {
	s.refs.match(pattern, text)
	return s.refs.pattern(pattern).timeouts.Load() > 0
}

// reason returns why the pattern cannot be used, in one line.
func (p *pattern) reason() string {
	text := strings.TrimPrefix(p.err.Error(), "error parsing regexp: ")
	if i := strings.Index(text, " in `"); i >= 0 {
		text = text[:i]
	}
	return text
}

// addPattern compiles a pattern of the schema while it is loaded.
func (r *references) addPattern(text string) {
	if r.patterns[text] == nil {
		r.patterns[text] = compile(text)
	}
}

// pattern returns the compiled form of a pattern of the schema.
func (r *references) pattern(text string) *pattern {
	if p := r.patterns[text]; p != nil {
		return p
	}
	return compile(text)
}

// rewrite turns the idioms of Java's engine that occur in published schemas into what
// ECMAScript compiles, each exactly: X+{m,n} into (?:X+){m,n}, ${m,n} into $, \p{Graph}
// into its range of ASCII, [\w-.] into [\w\-.], \x{60} into \u{60}.
func rewrite(text string) string {
	s := &patternScanner{text: text}
	for s.pos < len(s.text) {
		s.next()
	}
	return string(s.out)
}

// A patternScanner copies a pattern atom by atom. It treats unknown syntax as a character:
// only the engine validates patterns.
type patternScanner struct {
	text   string
	pos    int
	out    []byte
	atom   int   // start in out of the last atom, which a quantifier would repeat
	groups []int // starts of the open groups
	// Syntax that not every engine supports.
	doubled, surrogates, unicode, lateFlags, classRange, longHex bool
}

const (
	graphClass = `\p{Graph}`
	pairRange  = `\uDC00-\uDBFF` // within a range of pairs: backwards for who sees halves
)

func (s *patternScanner) next() {
	rest := s.text[s.pos:]
	switch c := rest[0]; c {
	case '\\':
		s.atom = len(s.out)
		s.escape(false)
	case '[':
		s.atom = len(s.out)
		s.class()
	case '(':
		s.groups = append(s.groups, len(s.out))
		if flags := leadingFlags(rest); flags > 0 && s.pos > 0 && rest[flags-1] == ')' {
			s.lateFlags = true
		}
		s.copy(1)
	case ')':
		if n := len(s.groups); n > 0 {
			s.atom, s.groups = s.groups[n-1], s.groups[:n-1]
		}
		s.copy(1)
	case '+', '*', '?':
		s.copy(1)
		if s.atom < len(s.out)-1 && countLength(s.text[s.pos:]) > 0 {
			s.doubled = true
			s.out = append(s.out[:s.atom], append([]byte("(?:"), append(s.out[s.atom:len(s.out):len(s.out)], ')')...)...)
		}
	case '{':
		n := countLength(rest)
		if n > 0 && s.pos > 0 && rest[1] != '0' && (s.text[s.pos-1] == '$' || s.text[s.pos-1] == '^') && s.atom == len(s.out)-1 {
			s.pos += n // the end of a text, 128 times over, is the end of the text
			return
		}
		s.copy(max(1, n))
	default:
		s.atom = len(s.out)
		_, size := utf8.DecodeRuneInString(rest)
		s.copy(size)
	}
}

func (s *patternScanner) copy(n int) {
	s.out = append(s.out, s.text[s.pos:s.pos+n]...)
	s.pos += n
}

// escape copies one escape sequence, in a class or outside of one. It reports whether the
// sequence matches a set of characters.
func (s *patternScanner) escape(inClass bool) (set bool) {
	rest := s.text[s.pos:]
	switch {
	case strings.HasPrefix(rest, graphClass):
		s.unicode = true
		s.pos += len(graphClass)
		if inClass {
			s.out = append(s.out, "!-~"...)
		} else {
			s.out = append(s.out, "[!-~]"...)
		}
		return true
	case len(rest) > 2 && strings.IndexByte("pPx", rest[1]) >= 0 && rest[2] == '{':
		end := strings.IndexByte(rest, '}')
		if end < 0 {
			break
		}
		if rest[1] == 'x' {
			s.longHex = true
			s.out = append(s.out, `\u`...)
			s.pos += 2
			s.copy(end - 1)
			return false
		}
		s.unicode = true
		s.copy(end + 1)
		return true
	case len(rest) >= len(pairRange) && strings.EqualFold(rest[:len(pairRange)], pairRange):
		s.surrogates = true
	}
	set = len(rest) > 1 && strings.IndexByte("wWdDsS", rest[1]) >= 0
	s.copy(1)
	if s.pos < len(s.text) {
		_, size := utf8.DecodeRuneInString(s.text[s.pos:])
		s.copy(size)
	}
	return set
}

// class copies a character class. A "-" after a set is not a range: it is escaped.
func (s *patternScanner) class() {
	s.copy(1)
	if s.pos < len(s.text) && s.text[s.pos] == '^' {
		s.copy(1)
	}
	for s.pos < len(s.text) && s.text[s.pos] != ']' {
		if s.text[s.pos] != '\\' {
			_, size := utf8.DecodeRuneInString(s.text[s.pos:])
			s.copy(size)
			continue
		}
		set := s.escape(true)
		if rest := s.text[s.pos:]; set && len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			s.classRange = true
			s.out = append(s.out, '\\')
			s.copy(1)
		}
	}
	if s.pos < len(s.text) {
		s.copy(1)
	}
}

// countLength is the length of a counted quantifier {m}, {m,} or {m,n} at the start of the
// text, 0 if it is not one.
func countLength(text string) int {
	if text == "" || text[0] != '{' {
		return 0
	}
	end := strings.IndexByte(text, '}')
	if end < 0 {
		return 0
	}
	least, most, bounded := strings.Cut(text[1:end], ",")
	if !allDigits(least) || bounded && most != "" && !allDigits(most) {
		return 0
	}
	return end + 1
}

// leadingFlags is the length of "(?i" with what ends the flags, 0 if a group has none.
func leadingFlags(group string) int {
	if !strings.HasPrefix(group, "(?") {
		return 0
	}
	i := 2
	for i < len(group) && (group[i] >= 'a' && group[i] <= 'z' || group[i] == '-') {
		i++
	}
	if i == 2 || i == len(group) {
		return 0
	}
	return i + 1
}

// notPortable returns the part of a pattern that this tool supports and the official one,
// which is written in Python, does not, and what to write instead.
func notPortable(text string) (reason, hint string) {
	s := &patternScanner{text: text}
	for s.pos < len(s.text) {
		s.next()
	}
	switch {
	case s.doubled:
		return "it repeats a repetition, as in +{1,8}", "leave one of the two out"
	case s.surrogates:
		return "it has a range of surrogate pairs", `leave it out, or write the characters themselves`
	case s.unicode:
		return `it has a class \p{…} of Unicode`, "list the characters that are meant"
	case s.lateFlags:
		return "it switches flags like (?i) on in the middle", "put them at the start, or list both cases"
	case s.classRange:
		return `a class has "-" between a set like \w and a character`, `write the "-" last`
	case s.longHex:
		return `it has an escape \x{…}`, `write \xHH`
	}
	return "", ""
}
