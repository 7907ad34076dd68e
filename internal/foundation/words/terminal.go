package words

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible is a text with every character spelled out that a terminal would obey. Tabs and line
// breaks remain; bytes that are no UTF-8 become U+FFFD.
func Visible(text string) string {
	if utf8.ValidString(text) && strings.IndexFunc(text, obeyed) < 0 {
		return text
	}
	var b strings.Builder
	for i, r := range text { // ranging makes U+FFFD of bytes that are no UTF-8
		switch {
		case r == '\r' && strings.HasPrefix(text[i:], "\r\n"):
			b.WriteRune(r)
		case obeyed(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// obeyed reports whether a terminal obeys the character, or hides text for it, rather than
// showing it: the controls of C0 and C1, and the marks of direction.
func obeyed(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case unicode.IsControl(r), r == '\u061C', r == '\u200E', r == '\u200F', r == '\u2028', r == '\u2029':
		return true
	}
	return r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069'
}

// OneLine is a text without line breaks.
func OneLine(text string) string {
	return strings.NewReplacer("\r\n", " ", "\n", " ").Replace(text)
}

// Flat converts an untrusted text to one line without escape sequences for terminals.
func Flat(text string) string { return Visible(strings.Join(strings.Fields(text), " ")) }

// Pad appends spaces to a text of fewer than width characters.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-len([]rune(text))))
}
