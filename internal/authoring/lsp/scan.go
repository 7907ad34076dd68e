package lsp

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// While a user types, a document is invalid most of the time. This scanner reads invalid JSON:
// it turns every text into tokens, and never fails.

type tokenKind uint8

const (
	endToken tokenKind = iota
	stringToken
	wordToken // numbers, true, false, null, and anything else
	openObject
	closeObject
	openArray
	closeArray
	commaToken
	colonToken
)

var punctuation = map[byte]tokenKind{
	'{': openObject, '}': closeObject, '[': openArray, ']': closeArray, ',': commaToken, ':': colonToken,
}

// A token is a stretch of the text.
type token struct {
	kind       tokenKind
	start, end int
	closed     bool // of a string: it has its second quote
}

// A scanner reads the tokens of a text one by one. Comments are passed over: they are no
// JSON, and no reason to misread what follows them.
type scanner struct {
	text string
	pos  int

	// typing means that the text ends at the cursor: a string without its second quote extends
	// to the end of the text. Otherwise it ends before what is probably not part of it.
	typing bool

	comment bool // the text ends within a comment
}

func (s *scanner) next() token {
	s.space()
	start := s.pos
	if start >= len(s.text) {
		return token{kind: endToken, start: len(s.text), end: len(s.text)}
	}
	c := s.text[start]
	if kind, ok := punctuation[c]; ok {
		s.pos++
		return token{kind: kind, start: start, end: s.pos}
	}
	if c == '"' {
		end, closed := stringEnd(s.text, start)
		if !closed && (!s.typing || end < len(s.text)) {
			end = start + len(cutString(s.text[start:end]))
		}
		s.pos = end
		return token{kind: stringToken, start: start, end: end, closed: closed}
	}
	s.pos = wordEnd(s.text, start)
	return token{kind: wordToken, start: start, end: s.pos}
}

func (s *scanner) space() {
	for s.pos < len(s.text) {
		switch rest := s.text[s.pos:]; {
		case strings.IndexByte(" \t\r\n\f\v", rest[0]) >= 0:
			s.pos++
		case strings.HasPrefix(rest, "\ufeff"):
			s.pos += len("\ufeff")
		case strings.HasPrefix(rest, "//"):
			end := lineEnd(rest)
			s.pos += end
			s.comment = end == len(rest)
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest, "*/")
			if end < 0 {
				s.pos, s.comment = len(s.text), true
				return
			}
			s.pos += end + len("*/")
		default:
			return
		}
	}
}

func lineEnd(text string) int {
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		return i
	}
	return len(text)
}

// stringEnd finds the end of the string that starts at start: after its second quote, or at
// the end of its line without one.
func stringEnd(text string, start int) (end int, closed bool) {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1, true
		case '\\':
			if i+1 < len(text) && text[i+1] != '\n' && text[i+1] != '\r' {
				i++
			}
		case '\n', '\r':
			return i, false
		}
	}
	return len(text), false
}

// cutString ends a string without a second quote before what is probably not part of it.
func cutString(text string) string {
	if i := strings.IndexAny(text, ",]}"); i > 0 {
		text = text[:i]
	}
	return strings.TrimRight(text, " \t")
}

// wordEnd finds the end of a word that starts at start. A word is never empty.
func wordEnd(text string, start int) int {
	i := start
	for i < len(text) && !strings.ContainsRune("{}[],:\" \t\r\n\f\v", rune(text[i])) {
		i++
	}
	return max(i, min(start+1, len(text)))
}

// decodeString is the text between the quotes; what cannot be decoded is left out.
func decodeString(literal string) string {
	inner := strings.TrimPrefix(literal, `"`)
	if n := len(inner); n > 0 && inner[n-1] == '"' && len(literal) > 1 {
		inner = inner[:n-1]
	}
	if strings.IndexByte(inner, '\\') < 0 {
		return strings.ToValidUTF8(inner, string(utf8.RuneError))
	}
	var decoded string
	if json.Unmarshal([]byte(`"`+inner+`"`), &decoded) == nil {
		return decoded
	}
	return inner
}
