package cli

import (
	"io"
	"sync"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/foundation/words"
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
	return p.pass(words.Visible(string(whole)), len(text))
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
