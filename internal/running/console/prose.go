package console

import (
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// A block is a paragraph, or an item of a list, of a description.
type block struct {
	Item  bool
	Spans []span
}

// A span is a piece of a paragraph: text, code, or a link.
type span struct {
	Text string
	Code bool
	Link string // http or https; "" for none
}

// inline finds the markup of a description: code between backticks, a link in Markdown, a
// plain address.
var inline = lazyregexp.New("`([^`\n]+)`" + `|\[([^\]\n]{1,300})\]\((https?://[^\s()<>"]{1,500})\)|https?://[^\s<>"()\[\]` + "`" + `]{1,500}`)

const maxBlocks = 60

// prose reads a description: some Markdown, as authors of schemas write it, and no HTML,
// which stays text.
func prose(text string) []block {
	var blocks []block
	text = strings.ReplaceAll(bounded(text, maxText), "\r\n", "\n")
	for _, paragraph := range strings.Split(text, "\n") {
		paragraph = strings.TrimSpace(paragraph)
		if paragraph == "" {
			continue
		}
		if len(blocks) == maxBlocks {
			return append(blocks, block{Spans: []span{{Text: "…"}}})
		}
		var b block
		for _, bullet := range []string{"* ", "- ", "+ ", "• "} {
			if rest, found := strings.CutPrefix(paragraph, bullet); found {
				b.Item, paragraph = true, strings.TrimSpace(rest)
				break
			}
		}
		b.Spans = spans(paragraph)
		blocks = append(blocks, b)
	}
	return blocks
}

// firstLine is the beginning of a description, for lists.
func firstLine(text string) []span {
	for _, b := range prose(bounded(text, 300)) {
		return b.Spans
	}
	return nil
}

func spans(text string) []span {
	var out []span
	plain := func(s string) {
		if s != "" {
			out = append(out, span{Text: s})
		}
	}
	if !strings.Contains(text, "`") && !strings.Contains(text, "://") {
		plain(text)
		return out
	}
	for text != "" {
		at := inline.FindStringSubmatchIndex(text)
		if at == nil {
			plain(text)
			break
		}
		plain(text[:at[0]])
		match := text[at[0]:at[1]]
		switch {
		case at[2] >= 0:
			out = append(out, span{Text: text[at[2]:at[3]], Code: true})
		case at[4] >= 0:
			out = append(out, link(text[at[4]:at[5]], text[at[6]:at[7]]))
		default:
			address := strings.TrimRight(match, ".,;:!?'*_")
			out = append(out, link(address, address))
			plain(match[len(address):])
		}
		text = text[at[1]:]
	}
	return out
}

func link(text, address string) span {
	if !web(address) {
		return span{Text: text}
	}
	return span{Text: text, Link: address}
}
