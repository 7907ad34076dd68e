package document

import (
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// Limits bound what a parser reads. The zero Limits are the defaults.
type Limits struct {
	Bytes int // the size of the document; 0 means 8 MiB
	Depth int // how deep arrays and objects nest; 0 means 512

	// Values is the maximum number of values. 0 means 131,072 for a YAML document with its aliases
	// expanded, and no limit but the size for JSON.
	Values int
}

func (l Limits) withDefaults() Limits {
	if l.Bytes == 0 {
		l.Bytes = 8 << 20
	}
	if l.Depth == 0 {
		l.Depth = 512
	}
	if l.Values == 0 {
		l.Values = 1 << 17
	}
	return l
}

// ParseJSON reads one JSON document (RFC 8259). The file name is only used in places.
//
// Problems have the IDs document/syntax, document/duplicate-key (a warning: the last one
// counts), document/too-large and document/too-deep. A comma too many or too few is
// reported and read over, so that one run shows them all. The value is nil if the
// document could not be read to its end; with error-severity problems it is of use for
// further messages only.
func ParseJSON(file string, data []byte, limits Limits) (*Value, diag.List) {
	values := limits.Values
	limits = limits.withDefaults()
	limits.Values = values
	p := &parser{file: file, data: data, line: 1, limits: limits}
	if len(data) > limits.Bytes {
		p.report("document/too-large", diag.Position{}, diag.Position{},
			fmt.Sprintf("the document is larger than %d bytes", limits.Bytes), "")
		return nil, p.problems
	}
	if !utf8.Valid(data) {
		p.findInvalidUTF8()
		return nil, p.problems
	}
	if len(data) >= 3 && string(data[:3]) == byteOrderMark {
		p.pos, p.lineStart = 3, 3
	}
	p.space()
	v, ok := p.value(0)
	if !ok {
		return nil, p.problems
	}
	p.space()
	if p.pos < len(p.data) {
		p.syntax("unexpected content after the end of the document", "")
		return nil, p.problems
	}
	return v, p.problems
}

type parser struct {
	file      string
	data      []byte
	pos       int
	line      int
	lineStart int
	limits    Limits
	made      int // values
	problems  diag.List
}

func (p *parser) here() diag.Position {
	return diag.Position{Offset: p.pos, Line: p.line, Column: p.pos - p.lineStart + 1}
}

func (p *parser) from(start diag.Position) diag.Range {
	return diag.Range{File: p.file, Start: start, End: p.here()}
}

func (p *parser) report(id string, start, end diag.Position, message, hint string) {
	p.problems.Add(diag.Problem{ID: id, At: diag.Range{File: p.file, Start: start, End: end}, Message: message, Hint: hint})
}

// syntax reports a fault at the current place.
func (p *parser) syntax(message, hint string) {
	end := p.here()
	if p.pos < len(p.data) {
		_, size := utf8.DecodeRune(p.data[p.pos:])
		end.Offset += size
		end.Column += size
	}
	p.report("document/syntax", p.here(), end, message, hint)
}

func (p *parser) findInvalidUTF8() {
	for p.pos < len(p.data) {
		r, size := utf8.DecodeRune(p.data[p.pos:])
		if r == utf8.RuneError && size == 1 {
			p.syntax(fmt.Sprintf("byte 0x%02X is not UTF-8", p.data[p.pos]), "save the file as UTF-8")
			return
		}
		if r == '\n' {
			p.line, p.lineStart = p.line+1, p.pos+1
		}
		p.pos += size
	}
}

func (p *parser) space() {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case '\n':
			p.line, p.lineStart = p.line+1, p.pos+1
		case ' ', '\t', '\r':
		default:
			return
		}
		p.pos++
	}
}

func (p *parser) peek() byte {
	if p.pos < len(p.data) {
		return p.data[p.pos]
	}
	return 0
}

// value reads one value; false means that the text cannot be read further.
func (p *parser) value(depth int) (*Value, bool) {
	start := p.here()
	if p.made++; p.limits.Values > 0 && p.made > p.limits.Values {
		p.report("document/too-large", start, start, fmt.Sprintf("the document has more than %d values here", p.limits.Values), "")
		return nil, false
	}
	switch c := p.peek(); {
	case c == '{' || c == '[':
		if depth >= p.limits.Depth {
			p.report("document/too-deep", start, start, fmt.Sprintf("arrays and objects are nested deeper than %d levels", p.limits.Depth), "")
			return nil, false
		}
		if c == '{' {
			return p.object(depth)
		}
		return p.array(depth)
	case c == '"':
		text, ok := p.string()
		return &Value{Kind: String, Text: text, At: p.from(start)}, ok
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case p.pos >= len(p.data):
		if depth == 0 {
			p.syntax("the document is empty", "")
		} else {
			p.syntax("the document ends where a value should be", "")
		}
		return nil, false
	}
	return p.word()
}

func (p *parser) word() (*Value, bool) {
	start := p.here()
	end := p.pos
	for end < len(p.data) && (p.data[end] >= 'a' && p.data[end] <= 'z' || p.data[end] >= 'A' && p.data[end] <= 'Z') {
		end++
	}
	v := &Value{}
	switch word := string(p.data[p.pos:end]); word {
	case "null":
	case "true", "false":
		v.Kind, v.Bool = Bool, word == "true"
	case "True", "False", "None", "NaN", "Infinity":
		p.syntax(word+" is not a JSON value", "JSON knows true, false and null, in lower case")
		return nil, false
	default:
		p.unexpected("a value")
		return nil, false
	}
	p.pos = end
	v.At = p.from(start)
	return v, true
}

func (p *parser) unexpected(wanted string) {
	if p.pos >= len(p.data) {
		p.syntax("the document ends where "+wanted+" should be", "")
		return
	}
	r, _ := utf8.DecodeRune(p.data[p.pos:])
	hint := ""
	switch r {
	case '\'':
		hint = `strings need double quotes: "…"`
	case '/', '#':
		hint = "JSON has no comments"
	}
	p.syntax(fmt.Sprintf("found %q where %s should be", r, wanted), hint)
}

func (p *parser) array(depth int) (*Value, bool) {
	v := &Value{Kind: Array}
	start := p.here()
	p.pos++
	ok := p.list(']', func() bool {
		item, ok := p.value(depth + 1)
		if ok {
			v.Items = append(v.Items, item)
		}
		return ok
	})
	v.At = p.from(start)
	return v, ok
}

func (p *parser) object(depth int) (*Value, bool) {
	v := &Value{Kind: Object}
	start := p.here()
	seen := map[string]diag.Range{}
	p.pos++
	ok := p.list('}', func() bool {
		keyStart := p.here()
		if p.peek() != '"' {
			p.unexpected("a key in double quotes")
			return false
		}
		key, ok := p.string()
		if !ok {
			return false
		}
		m := Member{Key: key, KeyAt: p.from(keyStart)}
		p.space()
		if p.peek() != ':' {
			p.unexpected(`":" after the key ` + strconv.Quote(key))
			return false
		}
		p.pos++
		p.space()
		if first, again := seen[key]; again {
			p.problems.Add(diag.Problem{
				ID: "document/duplicate-key", Severity: diag.Warning, At: m.KeyAt,
				Message: fmt.Sprintf("duplicate key %q; the last one is used", key),
				Hint:    "remove or rename one of them",
				Related: []diag.Note{{At: first, Message: "the first one"}},
			})
		}
		seen[key] = m.KeyAt
		if m.Value, ok = p.value(depth + 1); ok {
			v.Members = append(v.Members, m)
		}
		return ok
	})
	v.At = p.from(start)
	return v, ok
}

// list reads elements up to the closing bracket. A comma before the bracket and a
// missing comma between elements are reported and forgiven.
func (p *parser) list(closing byte, element func() bool) bool {
	p.space()
	for p.peek() != closing {
		if !element() {
			return false
		}
		p.space()
		switch c := p.peek(); c {
		case ',':
			comma := p.here()
			p.pos++
			end := p.here()
			p.space()
			if p.peek() == closing {
				p.report("document/syntax", comma, end, fmt.Sprintf("unexpected comma before the closing %q", closing), "remove the comma")
			}
		case closing:
		case '"', '{', '[':
			p.syntax("a comma is missing between two elements", "")
		default:
			p.unexpected(fmt.Sprintf("a comma or %q", closing))
			return false
		}
	}
	p.pos++
	return true
}

func (p *parser) number() (*Value, bool) {
	start := p.here()
	digits := func() bool {
		n := p.pos
		for p.peek() >= '0' && p.peek() <= '9' {
			p.pos++
		}
		return p.pos > n
	}
	if p.peek() == '-' {
		p.pos++
	}
	whole := p.pos
	ok := digits()
	if ok && p.data[whole] == '0' && p.pos > whole+1 {
		p.report("document/syntax", start, p.here(), "a number has a leading zero", "")
		return nil, false
	}
	if ok && p.peek() == '.' {
		p.pos++
		ok = digits()
	}
	if ok && (p.peek() == 'e' || p.peek() == 'E') {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		ok = digits()
	}
	if !ok {
		p.unexpected("a digit")
		return nil, false
	}
	return &Value{Kind: Number, Text: string(p.data[start.Offset:p.pos]), At: p.from(start)}, true
}

func (p *parser) string() (string, bool) {
	start := p.here()
	p.pos++
	plain := p.pos
	for p.pos < len(p.data) && p.data[p.pos] != '"' && p.data[p.pos] != '\\' && p.data[p.pos] >= 0x20 {
		p.pos++
	}
	text := p.data[plain:p.pos:p.pos]
	for p.pos < len(p.data) {
		switch c := p.data[p.pos]; {
		case c == '"':
			p.pos++
			return string(text), true
		case c == '\\':
			r, ok := p.escape()
			if !ok {
				return "", false
			}
			text = utf8.AppendRune(text, r)
		case c < 0x20:
			p.syntax("a string runs over the end of its line or holds a control character", `write it as an escape: \n, \t, \u00XX`)
			return "", false
		default:
			text = append(text, c)
			p.pos++
		}
	}
	p.report("document/syntax", start, p.here(), "unterminated string", `close it with "`)
	return "", false
}

// escape reads one escape sequence; half of a surrogate pair becomes U+FFFD.
func (p *parser) escape() (rune, bool) {
	if p.pos+1 >= len(p.data) {
		p.syntax("the document ends within an escape", "")
		return 0, false
	}
	switch c := p.data[p.pos+1]; c {
	case '"', '\\', '/':
		p.pos += 2
		return rune(c), true
	case 'b', 'f', 'n', 'r', 't':
		p.pos += 2
		return map[byte]rune{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}[c], true
	case 'u':
		r, ok := p.hex()
		if !ok {
			return 0, false
		}
		if utf16.IsSurrogate(r) {
			before := p.pos
			if p.pos+1 < len(p.data) && p.data[p.pos] == '\\' && p.data[p.pos+1] == 'u' {
				low, ok := p.hex()
				if !ok {
					return 0, false
				}
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					return pair, true
				}
				p.pos = before // not its other half: keep it alone
			}
			return utf8.RuneError, true
		}
		return r, true
	}
	p.syntax("JSON has no such escape", `a backslash itself is written \\`)
	return 0, false
}

func (p *parser) hex() (rune, bool) {
	if p.pos+6 <= len(p.data) {
		if n, err := strconv.ParseUint(string(p.data[p.pos+2:p.pos+6]), 16, 16); err == nil {
			p.pos += 6
			return rune(n), true
		}
	}
	p.syntax(`\u wants four hexadecimal digits`, "")
	return 0, false
}

const hexDigits = "0123456789abcdef"

// appendString writes a JSON string without the HTML escapes of encoding/json.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r < 0x20:
			b = append(b, `\u00`...)
			b = append(b, hexDigits[r>>4], hexDigits[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}
