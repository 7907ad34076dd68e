package schema

import (
	"strings"
	"unicode/utf8"
)

// Alternatives splits the expression at $OR, the operator that CloudFormation adds to
// JSONata: each alternative is an expression, without the blanks around it. Only a $OR
// between whole expressions separates; in a string, a regular expression, a comment, a
// quoted name, or inside of brackets it is what JSONata takes it for (resource-schema.txt:
// "it is not supported as part of a string").
func (t Transform) Alternatives() []string {
	var out []string
	s := transformScanner{text: t.Expression.Value}
	start := 0
	for s.pos < len(s.text) {
		at := s.pos
		if word := s.next(); word == "$OR" && s.depth == 0 {
			out = append(out, strings.TrimSpace(s.text[start:at]))
			start = s.pos
		}
	}
	return append(out, strings.TrimSpace(s.text[start:]))
}

// A transformScanner scans a JSONata expression only to track its nesting: it accepts invalid
// expressions.
type transformScanner struct {
	text    string
	pos     int
	depth   int  // of open brackets
	operand bool // the last token ends an operand, so that a slash divides
}

// next reads one token and returns it if it is a word or a variable.
func (s *transformScanner) next() string {
	switch c := s.text[s.pos]; {
	case strings.HasPrefix(s.text[s.pos:], "/*"):
		s.skipPast("*/", 2)
	case c == '"' || c == '\'':
		s.skipString(c)
		s.operand = true
	case c == '`':
		s.skipPast("`", 1)
		s.operand = true
	case c == '/' && !s.operand:
		s.skipRegexp()
		s.operand = true
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		s.pos++
	case isWord(c):
		start := s.pos
		for s.pos++; s.pos < len(s.text) && isWord(s.text[s.pos]); s.pos++ {
		}
		word := s.text[start:s.pos]
		s.operand = word != "and" && word != "or" && word != "in" && word != "$OR"
		return word
	default:
		s.pos++
		s.operand = c == ')' || c == ']' || c == '}'
		switch c {
		case '(', '[', '{':
			s.depth++
		case ')', ']', '}':
			s.depth--
		}
	}
	return ""
}

func isWord(c byte) bool {
	return c == '$' || c == '_' || c >= utf8.RuneSelf || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (s *transformScanner) skipPast(end string, from int) {
	i := strings.Index(s.text[s.pos+from:], end)
	if i < 0 {
		s.pos = len(s.text)
		return
	}
	s.pos += from + i + len(end)
}

func (s *transformScanner) skipString(quote byte) {
	for s.pos++; s.pos < len(s.text); s.pos++ {
		switch s.text[s.pos] {
		case '\\':
			s.pos++
		case quote:
			s.pos++
			return
		}
	}
	s.pos = len(s.text)
}

// skipRegexp ends at a slash outside of brackets, as the reference does.
func (s *transformScanner) skipRegexp() {
	depth := 0
	for s.pos++; s.pos < len(s.text); s.pos++ {
		switch s.text[s.pos] {
		case '\\':
			s.pos++
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '/':
			if depth == 0 {
				s.pos++
				return
			}
		}
	}
	s.pos = len(s.text)
}
