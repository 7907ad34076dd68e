package contract

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"
)

// match makes a text that a pattern of a schema matches, between two lengths. Patterns
// are ECMAScript; what of that Go's expressions lack is left out of the making (look-ahead,
// look-behind) or an error (references back). The check of the whole model has the last word.
func (g *generator) match(pattern string, least, most int) (string, error) {
	tree, err := syntax.Parse(forGo(pattern), syntax.Perl)
	if err != nil {
		return "", fmt.Errorf("%q is not understood: %w", pattern, err)
	}
	if !matchable(tree) {
		return "", fmt.Errorf("%q matches nothing", pattern)
	}
	longest := 0
	for try := range 6 * attempts {
		// Later tries repeat parts more often, so that a minimum length is reached.
		m := matcher{random: g.random, extra: g.random.IntN(1 + min(try*least/attempts, least)), budget: 4096}
		m.write(tree)
		text := m.out.String()
		if m.budget <= 0 {
			continue
		}
		if missing := least - utf8.RuneCountInString(text); missing > 0 && !endsAnchored(tree) {
			text += letters(g.random, missing)
		}
		length := utf8.RuneCountInString(text)
		if length >= least && length <= most && g.matches(pattern, text) {
			return text, nil
		}
		longest = max(longest, length)
	}
	return "", fmt.Errorf("no text of %q was found that is long or short enough and keeps its look-ahead; the longest had %d characters", pattern, longest)
}

// matches checks a text where Go's own expressions can; otherwise the check of the model
// does.
func (g *generator) matches(pattern, text string) bool {
	re, err := regexp.Compile(forGo(pattern))
	return err != nil || re.MatchString(text)
}

// endsAnchored tells whether nothing may follow what a tree matches.
func endsAnchored(tree *syntax.Regexp) bool {
	switch tree.Op {
	case syntax.OpEndText, syntax.OpEndLine:
		return true
	case syntax.OpConcat, syntax.OpCapture:
		return len(tree.Sub) > 0 && endsAnchored(tree.Sub[len(tree.Sub)-1])
	case syntax.OpAlternate:
		for _, sub := range tree.Sub {
			if endsAnchored(sub) {
				return true
			}
		}
	}
	return false
}

// What Go writes differently.
var (
	javaIdioms    = strings.NewReplacer(`\\`, `\\`, `\Z`, `\z`, `\p{Graph}`, `!-~`)
	unicodeEscape = regexp.MustCompile(`\\u([0-9a-fA-F]{4})`)
	repetition    = regexp.MustCompile(`\{(\d+),(\d+)\}`)
)

// forGo writes a pattern in Go's dialect.
func forGo(pattern string) string {
	pattern = javaIdioms.Replace(withoutLookAround(pattern))
	pattern = unicodeEscape.ReplaceAllString(pattern, `\x{$1}`)
	return repetition.ReplaceAllStringFunc(pattern, func(text string) string {
		parts := repetition.FindStringSubmatch(text)
		if high, err := strconv.Atoi(parts[2]); err != nil || high > 1000 {
			return "{" + parts[1] + ",1000}" // Go allows no more
		}
		return text
	})
}

// withoutLookAround removes the groups (?=…), (?!…), (?<=…) and (?<!…).
func withoutLookAround(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' && i+1 < len(pattern) {
			b.WriteString(pattern[i : i+2])
			i++
			continue
		}
		if hasPrefixAny(pattern[i:], "(?=", "(?!", "(?<=", "(?<!") {
			if end := groupEnd(pattern, i); end > 0 {
				i = end
				continue
			}
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}

// groupEnd finds the parenthesis that closes the one at start, 0 if there is none.
func groupEnd(pattern string, start int) int {
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
				return i
			}
		}
	}
	return 0
}

// matchable tells whether a tree matches any text at all.
func matchable(tree *syntax.Regexp) bool {
	if tree.Op == syntax.OpNoMatch {
		return false
	}
	if tree.Op == syntax.OpConcat || tree.Op == syntax.OpCapture || tree.Op == syntax.OpPlus {
		for _, sub := range tree.Sub {
			if !matchable(sub) {
				return false
			}
		}
	}
	return true
}

// A matcher writes a text along the tree of an expression.
type matcher struct {
	random *rand.Rand
	extra  int // how often more than necessary a part is repeated
	budget int // characters that may still be written
	out    strings.Builder
}

func (m *matcher) write(tree *syntax.Regexp) {
	if m.budget <= 0 {
		return
	}
	switch tree.Op {
	case syntax.OpLiteral:
		for _, r := range tree.Rune {
			m.rune(r)
		}
	case syntax.OpCharClass:
		m.rune(m.class(tree.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		m.rune(rune('a' + m.random.IntN(26)))
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range tree.Sub {
			m.write(sub)
		}
	case syntax.OpAlternate:
		m.write(tree.Sub[m.random.IntN(len(tree.Sub))])
	case syntax.OpStar:
		m.repeat(tree.Sub[0], 0, -1)
	case syntax.OpPlus:
		m.repeat(tree.Sub[0], 1, -1)
	case syntax.OpQuest:
		m.repeat(tree.Sub[0], 0, 1)
	case syntax.OpRepeat:
		m.repeat(tree.Sub[0], tree.Min, tree.Max)
	}
}

func (m *matcher) repeat(sub *syntax.Regexp, least, most int) {
	n := least + m.random.IntN(4+m.extra)
	if most >= 0 {
		n = min(n, most)
	}
	for range n {
		m.write(sub)
	}
}

func (m *matcher) rune(r rune) {
	m.budget--
	m.out.WriteRune(r)
}

// class picks a character, a letter or digit of ASCII where the class has one.
func (m *matcher) class(ranges []rune) rune {
	var plain []rune
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := max(ranges[i], '0'); r <= min(ranges[i+1], 'z'); r++ {
			if r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' {
				plain = append(plain, r)
			}
		}
	}
	if len(plain) > 0 {
		return plain[m.random.IntN(len(plain))]
	}
	if len(ranges) < 2 {
		return 'a'
	}
	i := 2 * m.random.IntN(len(ranges)/2)
	return ranges[i] + rune(m.random.IntN(int(min(ranges[i+1]-ranges[i], 64))+1))
}
