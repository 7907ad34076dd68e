package smithy

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// tokenKind is the kind of a token of the IDL. Its names are part of syntax errors.
type tokenKind uint8

const (
	tokSpace tokenKind = iota
	tokNewline
	tokComma
	tokComment
	tokDoc
	tokAt
	tokString
	tokTextBlock
	tokColon
	tokWalrus
	tokIdentifier
	tokDot
	tokPound
	tokDollar
	tokNumber
	tokLBrace
	tokRBrace
	tokLBracket
	tokRBracket
	tokLParen
	tokRParen
	tokEqual
	tokEOF
	tokError
)

// tokens is the name of each kind and its spelling in a list of expected tokens.
var tokens = [...]struct{ name, example string }{
	tokSpace: {"SPACE", " "}, tokNewline: {"NEWLINE", `\n`}, tokComma: {"COMMA", ","}, tokComment: {"COMMENT", "//"},
	tokDoc: {"DOC_COMMENT", "///"}, tokAt: {"AT", "@"}, tokString: {"STRING", `"`}, tokTextBlock: {"TEXT_BLOCK", `"""`},
	tokColon: {"COLON", ":"}, tokWalrus: {"WALRUS", ":="}, tokIdentifier: {"IDENTIFIER", ""}, tokDot: {"DOT", "."},
	tokPound: {"POUND", "#"}, tokDollar: {"DOLLAR", "$"}, tokNumber: {"NUMBER", ""}, tokLBrace: {"LBRACE", "{"},
	tokRBrace: {"RBRACE", "}"}, tokLBracket: {"LBRACKET", "["}, tokRBracket: {"RBRACKET", "]"}, tokLParen: {"LPAREN", "("},
	tokRParen: {"RPAREN", ")"}, tokEqual: {"EQUAL", "="}, tokEOF: {"EOF", ""}, tokError: {"ERROR", ""},
}

func (k tokenKind) describe(lexeme string) string {
	if lexeme == "" {
		return tokens[k].name
	}
	return tokens[k].name + "('" + lexeme + "')"
}

func (k tokenKind) whitespace() bool { return k <= tokComment }

// A lexer splits a file of the IDL into tokens. The current token is in its fields;
// next moves on. It never fails: what is not a token becomes tokError, with a reason.
type lexer struct {
	file string
	src  string

	kind       tokenKind
	start, end int
	line       int    // of the current token, from 1
	lineStart  int    // offset of that line
	text       string // of a string or text block: the decoded value
	reason     string // of tokError

	pos        int // start of the next token
	nextLine   int
	nextLineAt int
}

func newLexer(file, src string) *lexer {
	l := &lexer{file: file, src: src, nextLine: 1}
	if strings.HasPrefix(src, "\xef\xbb\xbf") {
		l.pos, l.nextLineAt = 3, 3
	}
	l.next()
	return l
}

func (l *lexer) lexeme() string { return l.src[l.start:l.end] }

// at is the place of the current token.
func (l *lexer) at() diag.Range {
	start := diag.Position{Offset: l.start, Line: l.line, Column: l.start - l.lineStart + 1}
	end := diag.Position{Offset: l.end, Line: l.line, Column: l.end - l.lineStart + 1}
	if l.nextLine != l.line {
		end.Line, end.Column = l.nextLine, l.end-l.nextLineAt+1
	}
	return diag.Range{File: l.file, Start: start, End: end}
}

// column counts as the reference implementation does, in UTF-16 code units, so that the
// texts of syntax errors agree.
func (l *lexer) column() int { return utf16Column(l.src[l.lineStart:l.start]) }

func utf16Column(before string) int {
	n := 1
	for _, r := range before {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

func (l *lexer) peek(ahead int) byte {
	if l.pos+ahead < len(l.src) {
		return l.src[l.pos+ahead]
	}
	return 0
}

// newline steps over the line break at the current place.
func (l *lexer) newline() {
	if l.src[l.pos] == '\r' && l.peek(1) == '\n' {
		l.pos++
	}
	l.pos++
	l.nextLine++
	l.nextLineAt = l.pos
}

var punctuation = [128]tokenKind{
	',': tokComma, '@': tokAt, '$': tokDollar, '.': tokDot, '{': tokLBrace, '}': tokRBrace, '[': tokLBracket,
	']': tokRBracket, '(': tokLParen, ')': tokRParen, '#': tokPound, '=': tokEqual,
}

// next moves to the next token. At the end of the file it stays on tokEOF.
func (l *lexer) next() tokenKind {
	l.start, l.line, l.lineStart = l.pos, l.nextLine, l.nextLineAt
	l.text, l.reason = "", ""
	l.kind = l.scan()
	l.end = l.pos
	return l.kind
}

func (l *lexer) scan() tokenKind {
	if l.pos >= len(l.src) {
		return tokEOF
	}
	switch c := l.src[l.pos]; {
	case c == ' ' || c == '\t':
		for l.peek(0) == ' ' || l.peek(0) == '\t' {
			l.pos++
		}
		return tokSpace
	case c == '\n' || c == '\r':
		l.newline()
		return tokNewline
	case isLetter(c) || c == '_':
		return l.identifier()
	case c < 128 && punctuation[c] != tokSpace:
		l.pos++
		return punctuation[c]
	case c == ':':
		l.pos++
		if l.peek(0) == '=' {
			l.pos++
			return tokWalrus
		}
		return tokColon
	case c == '"':
		return l.quoted()
	case c == '/':
		return l.comment()
	case c == '-' || isDigit(c):
		return l.number()
	}
	r, size := utf8.DecodeRuneInString(l.src[l.pos:])
	l.pos += size
	return l.fail("Unexpected character: '" + string(r) + "'")
}

func (l *lexer) fail(reason string) tokenKind {
	l.reason = reason
	return tokError
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isWord(c byte) bool   { return isLetter(c) || isDigit(c) || c == '_' }

func (l *lexer) identifier() tokenKind {
	for l.peek(0) == '_' {
		l.pos++
	}
	if !isWord(l.peek(0)) {
		return l.failHere("Expected a valid identifier character, but found '" + l.charForMessage() + "'")
	}
	for isWord(l.peek(0)) {
		l.pos++
	}
	return tokIdentifier
}

// charForMessage shows the character at the current place.
func (l *lexer) charForMessage() string {
	if l.pos >= len(l.src) {
		return "[EOF]"
	}
	r, _ := utf8.DecodeRuneInString(l.src[l.pos:])
	return string(r)
}

// failHere is an error whose reason contains the current position of the lexer.
func (l *lexer) failHere(message string) tokenKind {
	return l.fail(fmt.Sprintf("Syntax error at line %d, column %d: %s",
		l.nextLine, utf16Column(l.src[l.nextLineAt:l.pos]), message))
}

func (l *lexer) comment() tokenKind {
	l.pos++
	if l.peek(0) != '/' {
		l.pos = min(l.pos+1, len(l.src))
		return l.fail("Expected a '/' to follow '/' to form a comment.")
	}
	l.pos++
	kind := tokComment
	if l.peek(0) == '/' {
		l.pos++
		kind = tokDoc
	}
	for l.pos < len(l.src) && l.src[l.pos] != '\n' && l.src[l.pos] != '\r' {
		l.pos++
	}
	if l.pos < len(l.src) {
		l.newline()
	}
	return kind
}

func (l *lexer) digits() bool {
	from := l.pos
	for isDigit(l.peek(0)) {
		l.pos++
	}
	return l.pos > from
}

func (l *lexer) number() tokenKind {
	from := l.pos
	invalid := func(why string) tokenKind {
		return l.fail(fmt.Sprintf("Invalid number '%s': %s", l.src[from:l.pos], why))
	}
	if l.src[l.pos] == '-' {
		l.pos++
	}
	whole := l.pos
	if !l.digits() {
		return invalid("'-' must be followed by a digit")
	}
	if l.src[whole] == '0' && l.pos > whole+1 {
		return invalid("leading zeros are not allowed")
	}
	if l.peek(0) == '.' {
		l.pos++
		if !l.digits() {
			return invalid("'.' must be followed by a digit")
		}
	}
	if c := l.peek(0); c == 'e' || c == 'E' {
		l.pos++
		if c := l.peek(0); c == '+' || c == '-' {
			l.pos++
		}
		if !l.digits() {
			return invalid("'e', '+', and '-' must be followed by a digit")
		}
	}
	return tokNumber
}

// quoted reads a string or a text block.
func (l *lexer) quoted() tokenKind {
	l.pos++
	block := false
	if l.peek(0) == '"' {
		l.pos++
		if l.peek(0) != '"' {
			return tokString
		}
		l.pos++
		block = true
	}
	kind, step := tokString, "Error parsing quoted string: "
	if block {
		kind, step = tokTextBlock, "Error parsing text block: "
	}
	from := l.pos
	plain := true
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		if c == '"' && (!block || l.peek(1) == '"' && l.peek(2) == '"') {
			break
		}
		plain = plain && c != '\\' && c != '\r' && c >= 0x20
		switch {
		case c == '\n' || c == '\r':
			l.newline()
		case c == '\\' && (l.peek(1) == '\n' || l.peek(1) == '\r'):
			l.pos++
			l.newline()
		case c == '\\' && l.pos+1 < len(l.src):
			l.pos += 2
		default:
			l.pos++
		}
	}
	if l.pos >= len(l.src) {
		l.failHere("Expected: '\"', but found '[EOF]'")
		return l.fail(step + l.reason)
	}
	body := l.src[from:l.pos]
	l.pos++
	if block {
		l.pos += 2
	} else if plain {
		l.text = body
		return kind
	}
	text, problem := decodeString(body, block)
	if problem != "" {
		return l.fail(step + problem)
	}
	l.text = text
	return kind
}
