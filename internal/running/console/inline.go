package console

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"
)

// Parts of a line are written here and not in a template, which would put white space between
// them.

// markup writes what f puts together. f escapes what it does not write itself.
func markup(f func(b *strings.Builder)) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		f(&b)
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// name is a name that may break after its separators.
func name(text string) templ.Component {
	return markup(func(b *strings.Builder) {
		for i, part := range parts(bounded(text, 300)) {
			if i > 0 {
				b.WriteString("<wbr>")
			}
			b.WriteString(templ.EscapeString(part))
		}
	})
}

// texts is a paragraph of a description.
func (p *page) texts(spans []span) templ.Component {
	return markup(func(b *strings.Builder) {
		for _, s := range spans {
			text := templ.EscapeString(s.Text)
			switch {
			case s.Code:
				b.WriteString("<code>" + text + "</code>")
			case p.outside(s.Link):
				b.WriteString(`<a href="` + templ.EscapeString(s.Link) + `" rel="noopener noreferrer external">` + text + "</a>")
			default:
				b.WriteString(text)
			}
		}
	})
}

// source is JSON text with its colours, one element for each line.
func source(lines [][]token) templ.Component {
	return markup(func(b *strings.Builder) {
		for _, line := range lines {
			b.WriteString("<span>")
			writeTokens(b, line)
			b.WriteString("\n</span>")
		}
	})
}

func writeTokens(b *strings.Builder, line []token) {
	for _, t := range line {
		text := templ.EscapeString(t.Text)
		if t.Class == "" {
			b.WriteString(text)
		} else {
			b.WriteString(`<i class="` + t.Class + `">` + text + "</i>")
		}
	}
}

// coloured is the text of a log line.
func coloured(pieces []piece) templ.Component {
	return markup(func(b *strings.Builder) {
		for _, p := range pieces {
			text := templ.EscapeString(p.Text)
			if p.Class == "" {
				b.WriteString(text)
			} else {
				b.WriteString(`<span class="` + p.Class + `">` + text + "</span>")
			}
		}
	})
}
