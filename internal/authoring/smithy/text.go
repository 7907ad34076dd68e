package smithy

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decodeString returns the value of the text between the quotes. problem is "" unless the text
// is not a legal string.
func decodeString(body string, block bool) (text, problem string) {
	if strings.IndexByte(body, '\r') >= 0 {
		body = strings.ReplaceAll(strings.ReplaceAll(body, "\r\n", "\n"), "\r", "\n")
	}
	if block {
		if body == "" {
			return "", "Text block is empty"
		}
		rest := strings.TrimLeft(body, " ")
		if rest == "" || rest[0] != '\n' {
			return "", "Text block must start with a new line"
		}
		body = dedent(rest[1:])
	}
	if strings.IndexByte(body, '\\') < 0 && !hasControl(body) {
		return body, ""
	}
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); i++ {
		c := body[i]
		if c != '\\' {
			if c < 0x20 && c != '\t' && c != '\n' {
				return "", "Invalid string character: `" + string(rune(c)) + "`"
			}
			out = append(out, c)
			continue
		}
		i++
		if i == len(body) {
			break
		}
		if body[i] == 'u' {
			r, size, problem := decodeUnicode(body[i+1:])
			if problem != "" {
				return "", problem
			}
			out = utf8.AppendRune(out, r)
			i += size
			continue
		}
		plain, ok := escapes[body[i]]
		if !ok {
			r, _ := utf8.DecodeRuneInString(body[i:])
			return "", "Invalid escape found in string: `\\" + string(r) + "`"
		}
		out = append(out, plain...)
	}
	return string(out), ""
}

// escapes maps the character after a backslash to the escaped one; a line break after a
// backslash is removed.
var escapes = map[byte]string{
	'"': `"`, '\\': `\`, '/': "/", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", '\n': "",
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 && r != '\t' && r != '\n' })
}

// decodeUnicode reads four hexadecimal digits, and the second half of a surrogate pair
// if it follows. size is what was read, in bytes.
func decodeUnicode(s string) (r rune, size int, problem string) {
	unit, problem := hex4(s)
	if problem != "" {
		return 0, 0, problem
	}
	if utf16.IsSurrogate(unit) && strings.HasPrefix(s[4:], `\u`) {
		if low, problem := hex4(s[6:]); problem == "" {
			if pair := utf16.DecodeRune(unit, low); pair != utf8.RuneError {
				return pair, 10, ""
			}
		}
	}
	if utf16.IsSurrogate(unit) {
		unit = utf8.RuneError // half a pair is not a character
	}
	return unit, 4, ""
}

func hex4(s string) (rune, string) {
	var unit rune
	for i := range 4 {
		if i >= len(s) {
			return 0, "Invalid unclosed unicode escape found in string"
		}
		switch c := s[i]; {
		case isDigit(c):
			unit = unit<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			unit = unit<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			unit = unit<<4 | rune(c-'A'+10)
		default:
			r, _ := utf8.DecodeRuneInString(s[i:])
			return 0, "Invalid unicode escape character: `" + string(r) + "`"
		}
	}
	return unit, ""
}

// dedent takes away the spaces that all lines of a text block share, and those that end
// its lines. Lines of spaces alone have no say in what is shared, except the last one.
func dedent(body string) string {
	lines := strings.Split(body, "\n")
	shared := -1
	for i, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if indent == len(line) && i < len(lines)-1 {
			continue
		}
		if shared < 0 || indent < shared {
			shared = indent
		}
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(line[min(max(shared, 0), len(line)):], " ")
	}
	return strings.Join(lines, "\n")
}
