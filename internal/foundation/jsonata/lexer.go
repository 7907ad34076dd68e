package jsonata

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenVariable
	tokenOperator
	tokenString
	tokenNumber
	tokenValue
	tokenRegex
)

type token struct {
	kind   tokenKind
	at     int    // byte where the token starts
	text   string // operator, name, string
	number float64
	value  any
	flags  string // of a regular expression
}

// is reports whether the token is that operator.
func (t *token) is(operator string) bool { return t.kind == tokenOperator && t.text == operator }

// A lexer cuts the source into tokens, one at a time: whether a slash divides or starts
// a regular expression is known to the parser only.
type lexer struct {
	source string
	next   int
}

// doubles are the operators of two characters.
var doubles = []string{"..", ":=", "!=", ">=", "<=", "**", "~>", "?:", "??"}

// singles are the characters that end a name. "!" and "~" are no operators on their own.
const singles = ".[]{}(),@#;:?+-*/%|=<>^&!~"

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' }

// read returns the next token. operand means that an operand may start here, so that a slash
// starts a regular expression.
func (l *lexer) read(operand bool) (token, error) {
	if err := l.skip(); err != nil {
		return token{}, err
	}
	at := l.next
	if at >= len(l.source) {
		return token{kind: tokenEnd, at: at}, nil
	}
	rest := l.source[at:]
	if operand && rest[0] == '/' {
		return l.regex()
	}
	for _, double := range doubles {
		if strings.HasPrefix(rest, double) {
			l.next += 2
			return token{kind: tokenOperator, at: at, text: double}, nil
		}
	}
	switch c := rest[0]; {
	case strings.IndexByte(singles, c) >= 0:
		l.next++
		return token{kind: tokenOperator, at: at, text: rest[:1]}, nil
	case c == '"' || c == '\'':
		return l.quoted(c)
	case c >= '0' && c <= '9':
		return l.numeral()
	case c == '`':
		end := strings.IndexByte(rest[1:], '`')
		if end < 0 {
			l.next = len(l.source)
			return token{}, newError("S0105", at, "`")
		}
		l.next += end + 2
		return token{kind: tokenName, at: at, text: rest[1 : end+1]}, nil
	}
	return l.word(), nil
}

// skip passes over white space and comments.
func (l *lexer) skip() error {
	for l.next < len(l.source) {
		switch {
		case isSpace(l.source[l.next]):
			l.next++
		case strings.HasPrefix(l.source[l.next:], "/*"):
			end := strings.Index(l.source[l.next+2:], "*/")
			if end < 0 {
				return newError("S0106", l.next, "/*")
			}
			l.next += end + 4
		default:
			return nil
		}
	}
	return nil
}

// word reads a name, a variable or one of the words of the language.
func (l *lexer) word() token {
	at := l.next
	end := at
	for end < len(l.source) && !isSpace(l.source[end]) && strings.IndexByte(singles, l.source[end]) < 0 {
		end++
	}
	text := l.source[at:end]
	l.next = end
	if text[0] == '$' {
		return token{kind: tokenVariable, at: at, text: text[1:]}
	}
	switch text {
	case "or", "in", "and":
		return token{kind: tokenOperator, at: at, text: text}
	case "true":
		return token{kind: tokenValue, at: at, text: text, value: true}
	case "false":
		return token{kind: tokenValue, at: at, text: text, value: false}
	case "null":
		return token{kind: tokenValue, at: at, text: text, value: null}
	}
	return token{kind: tokenName, at: at, text: text}
}

// numeral reads a number: no sign, no leading zeros.
func (l *lexer) numeral() (token, error) {
	at := l.next
	length := numberSyntax(l.source[at:])
	if l.source[at] == '0' && at+1 < len(l.source) && l.source[at+1] >= '0' && l.source[at+1] <= '9' {
		length = 1
	}
	text := l.source[at : at+length]
	l.next = at + length
	f, _ := strconv.ParseFloat(text, 64)
	if math.IsInf(f, 0) {
		return token{}, newError("S0102", at, quoteToken(text))
	}
	return token{kind: tokenNumber, at: at, text: text, number: f}, nil
}

var escapes = map[byte]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// quoted reads a string literal in double or single quotes.
func (l *lexer) quoted(quote byte) (token, error) {
	at := l.next
	var b strings.Builder
	for i := at + 1; i < len(l.source); {
		switch c := l.source[i]; c {
		case quote:
			l.next = i + 1
			return token{kind: tokenString, at: at, text: joinPairs(b.String())}, nil
		case '\\':
			if i+1 >= len(l.source) {
				return token{}, newError("S0103", i, "")
			}
			next := l.source[i+1]
			if plain, ok := escapes[next]; ok {
				b.WriteByte(plain)
				i += 2
				continue
			}
			if next != 'u' {
				r, _ := utf8.DecodeRuneInString(l.source[i+1:])
				return token{}, newError("S0103", i, string(r))
			}
			code, err := strconv.ParseUint(l.source[i+2:min(i+6, len(l.source))], 16, 16)
			if err != nil || i+6 > len(l.source) {
				return token{}, newError("S0104", i, "\\u")
			}
			writeRune(&b, rune(code))
			i += 6
		default:
			b.WriteByte(c)
			i++
		}
	}
	return token{}, newError("S0101", at, string(quote))
}

// joinPairs puts surrogates that were escaped one by one together.
func joinPairs(s string) string {
	if !hasLoneSurrogate(s) {
		return s
	}
	return fromUnits(units(s))
}

// regex reads a regular expression with its flags. A slash inside brackets of any kind
// does not end it.
func (l *lexer) regex() (token, error) {
	at := l.next
	depth := 0
	for i := at + 1; i < len(l.source); i++ {
		if l.source[i] == '/' && depth == 0 && !escaped(l.source[at+1:i]) {
			pattern := l.source[at+1 : i]
			if pattern == "" {
				return token{}, newError("S0301", at, "/")
			}
			end := i + 1
			for end < len(l.source) && (l.source[end] == 'i' || l.source[end] == 'm') {
				end++
			}
			l.next = end
			return token{kind: tokenRegex, at: at, text: pattern, flags: l.source[i+1 : end]}, nil
		}
		if l.source[i-1] == '\\' {
			continue
		}
		switch l.source[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
	}
	return token{}, newError("S0302", at, "/")
}

// escaped reports whether what follows text is escaped by a backslash at its end.
func escaped(text string) bool {
	n := 0
	for n < len(text) && text[len(text)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}
