package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// screenText writes texts so that a terminal only displays them. Names, messages and logs come
// from handlers, services and untrusted projects: characters that move the cursor, set the
// title, change the direction of text or hide a part of it are written as \u001b. That is also
// their spelling in JSON, so JSON within a text remains JSON.
type screenText struct {
	to io.Writer
	// raw reports whether what is written now is for programs: it passes unchanged. Nil is never.
	raw func() bool

	mu   sync.Mutex
	rest []byte // an incomplete character at the end
}

func (p *screenText) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	whole := text
	if len(p.rest) > 0 {
		whole = append(p.rest, text...)
		p.rest = nil
	}
	if p.raw != nil && p.raw() {
		return p.pass(string(whole), len(text))
	}
	if cut := incomplete(whole); cut > 0 {
		p.rest = append(p.rest, whole[len(whole)-cut:]...)
		whole = whole[:len(whole)-cut]
	}
	return p.pass(visible(string(whole)), len(text))
}

// pass writes the text and counts it as the n bytes that the caller gave.
func (p *screenText) pass(text string, n int) (int, error) {
	if text == "" {
		return n, nil
	}
	if _, err := p.to.Write([]byte(text)); err != nil {
		return 0, err
	}
	return n, nil
}

// end writes the rest of an incomplete character.
func (p *screenText) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.rest) > 0 {
		p.rest = nil
		_, _ = io.WriteString(p.to, "\uFFFD") // see printf
	}
}

// incomplete is the number of bytes of an incomplete character at the end of a text.
func incomplete(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if start := text[len(text)-n]; utf8.RuneStart(start) {
			if start >= utf8.RuneSelf && !utf8.FullRune(text[len(text)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// visible is a text with everything spelled out that a terminal would obey. Tabs and line
// breaks remain; bytes that are no UTF-8 become U+FFFD.
func visible(text string) string {
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

// oneLine is a text that stays on its line.
func oneLine(text string) string {
	return strings.NewReplacer("\r\n", " ", "\n", " ").Replace(text)
}
