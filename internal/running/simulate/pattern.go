package simulate

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// spelled are the texts that a pattern spells out, by fixed rules: its literal parts, the first of alternatives, nothing
// that may be left out, and "simulated" with some characters where anything may be. An ARN has the partition, the region
// and the account of the caller where the pattern allows them.
func (m *maker) spelled(pattern string, at document.Pointer) []string {
	parsed, err := syntax.Parse(portable(pattern), syntax.Perl)
	if err != nil {
		return nil
	}
	parsed = chosen(parsed, strings.HasSuffix(strings.ToLower(propertyName(at)), "arn"))
	var out []string
	if segments := split(parsed); len(segments) >= 3 {
		out = append(out, m.segments(segments))
	}
	var b strings.Builder
	m.spell(&b, parsed)
	return append(out, b.String())
}

var (
	lookaround = lazyregexp.New(`\(\?<?[!=]`)
	unicodes   = lazyregexp.New(`\\u([0-9a-fA-F]{4})`)
	possessive = lazyregexp.New(`([*+?}])\+`)
	counts     = lazyregexp.New(`\{(\d+)(,?)(\d*)\}`)
)

// portable is a pattern in the syntax of Go. What Go does not have, such as lookaheads, is left out: what is spelled is
// matched with the pattern itself.
func portable(pattern string) string {
	for range 16 {
		found := lookaround.FindStringIndex(pattern)
		if found == nil {
			break
		}
		pattern = pattern[:found[0]] + pattern[closing(pattern, found[0]):]
	}
	pattern = possessive.ReplaceAllString(unicodes.ReplaceAllString(pattern, `\x{$1}`), "$1")
	return counts.ReplaceAllStringFunc(pattern, func(count string) string {
		parts := counts.FindStringSubmatch(count)
		if len(parts[1]) > 3 {
			return "+"
		}
		if len(parts[3]) > 3 {
			return "{" + parts[1] + ",}"
		}
		return count
	})
}

// closing is behind the parenthesis that closes the one at start.
func closing(pattern string, start int) int {
	depth, class := 0, false
	for i := start; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(pattern)
}

// chosen is a pattern without the groups and anchors around it, of alternatives the first one that is an ARN, or is not.
func chosen(re *syntax.Regexp, arn bool) *syntax.Regexp {
	for {
		switch re.Op {
		case syntax.OpCapture:
			re = re.Sub[0]
			continue
		case syntax.OpConcat:
			var inner []*syntax.Regexp
			for _, sub := range re.Sub {
				if !anchors(sub) {
					inner = append(inner, sub)
				}
			}
			if len(inner) == 1 {
				re = inner[0]
				continue
			}
		case syntax.OpAlternate:
			best := re.Sub[0]
			for _, sub := range re.Sub {
				if arn == strings.Contains(sub.String(), "arn:") {
					best = sub
					break
				}
			}
			re = best
			continue
		}
		return re
	}
}

func anchors(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpEmptyMatch, syntax.OpWordBoundary:
		return true
	}
	return false
}

// split divides a pattern at the colons that it spells out.
func split(re *syntax.Regexp) [][]*syntax.Regexp {
	out := [][]*syntax.Regexp{nil}
	add := func(part *syntax.Regexp) { out[len(out)-1] = append(out[len(out)-1], part) }
	parts := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		parts = re.Sub
	}
	for _, part := range parts {
		if part.Op != syntax.OpLiteral {
			add(part)
			continue
		}
		for i, text := range strings.Split(string(part.Rune), ":") {
			if i > 0 {
				out = append(out, nil)
			}
			if text != "" {
				add(&syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune(text)})
			}
		}
	}
	return out
}

// segments spells out an ARN.
func (m *maker) segments(segments [][]*syntax.Regexp) string {
	var out []string
	for i, parts := range segments {
		re := &syntax.Regexp{Op: syntax.OpConcat, Sub: parts}
		var likely []string
		switch {
		case i == 1 && len(segments) < 6: // one part stands for several
			likely = []string{m.expand("${partition}:${service}:${region}:${account}")}
		case len(segments) < 6:
		case i == 1:
			likely = []string{m.builtin("partition")}
		case i == 2:
			likely = []string{m.builtin("service")}
		case i == 3:
			likely = []string{m.request.Caller.Region, ""}
		case i == 4:
			likely = []string{m.request.Caller.Account, ""}
		}
		out = append(out, m.segment(re, likely))
	}
	return strings.Join(out, ":")
}

func (m *maker) segment(re *syntax.Regexp, likely []string) string {
	if whole, err := regexp.Compile("^(?:" + re.String() + ")$"); err == nil {
		for _, text := range likely {
			if whole.MatchString(text) {
				return text
			}
		}
	}
	var b strings.Builder
	m.spell(&b, re)
	return b.String()
}

// maxSpelled bounds the length of a text that a pattern spells out.
const maxSpelled = 2048

// spell writes the text of a pattern.
func (m *maker) spell(b *strings.Builder, re *syntax.Regexp) {
	if b.Len() > maxSpelled {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteString(m.characters(re, 1, 1))
	case syntax.OpCapture, syntax.OpAlternate:
		m.spell(b, re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			m.spell(b, sub)
		}
	case syntax.OpStar:
		m.repeat(b, re.Sub[0], 0, -1)
	case syntax.OpPlus:
		m.repeat(b, re.Sub[0], 1, -1)
	case syntax.OpQuest:
		m.repeat(b, re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		m.repeat(b, re.Sub[0], re.Min, re.Max)
	}
}

func (m *maker) repeat(b *strings.Builder, re *syntax.Regexp, least, most int) {
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	switch re.Op {
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		if most != 1 {
			b.WriteString(m.characters(re, least, most))
			return
		}
	}
	for range least {
		m.spell(b, re)
	}
}

// characters are as many characters of a class as are usual within the limits; most is -1 if there is none.
func (m *maker) characters(re *syntax.Regexp, least, most int) string {
	all := func(alphabet string) bool {
		return strings.IndexFunc(alphabet, func(r rune) bool { return !contains(re, r) }) < 0
	}
	length := max(least, 17)
	if most >= 0 {
		length = min(length, most)
	}
	switch {
	case all(hexDigits+"-") && least == 36 && most == 36:
		return m.uuid()
	case all(lowers+digits) && length >= 12 && least != most:
		return "simulated" + m.random(length-len("simulated"), hexDigits)
	case all(hexDigits):
		return m.random(length, hexDigits)
	case all(digits + uppers):
		return m.random(length, digits+uppers)
	case all(digits[1:]):
		return m.random(length, digits[1:])
	case all(lowers):
		return m.random(length, lowers)
	case all(uppers):
		return m.random(length, uppers)
	case len(re.Rune) > 0:
		return strings.Repeat(string(re.Rune[0]), length)
	}
	return strings.Repeat("-", length)
}

// contains reports whether a class has a character.
func contains(re *syntax.Regexp, r rune) bool {
	if re.Op != syntax.OpCharClass {
		return true
	}
	for i := 0; i+1 < len(re.Rune); i += 2 {
		if re.Rune[i] <= r && r <= re.Rune[i+1] {
			return true
		}
	}
	return false
}
