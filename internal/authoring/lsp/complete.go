package lsp

import (
	"context"
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// maxItems bounds one list of proposals; the client requests a new list when more is typed.
const maxItems = 400

// A proposals list is put together for one cursor.
type proposals struct {
	server     *server
	d          *snapshot
	cursor     *cursor
	ctx        context.Context
	incomplete bool
	items      []completionItem
	seen       map[string]bool
}

func (s *server) completion(ctx context.Context, d *snapshot, params documentParams) (any, error) {
	if len(d.text()) > maxFile {
		return nil, nil
	}
	offset := d.lines.offset(params.Position, s.encoding)
	p := &proposals{server: s, d: d, ctx: ctx, items: []completionItem{}, seen: map[string]bool{}}
	if d.role() == templateRole || d.role() == stackTestRole {
		if d.tree() == nil && d.yaml {
			return completionList{false, p.items}, nil
		}
		p.forTemplate(templateCursorAt(d, offset))
		return completionList{p.incomplete, p.items}, ctx.Err()
	}
	c := cursorAt(d.text(), offset)
	p.cursor = c
	if c.ok {
		for _, word := range c.others {
			p.seen[word] = true
		}
		if d.role() == schemaRole {
			p.forSchema()
		} else {
			p.forModel()
		}
	}
	return completionList{p.incomplete, p.items}, ctx.Err()
}

// A proposal is a completion at the cursor.
type proposal struct {
	label  string // the key or the string, decoded; of a literal its JSON
	rank   int    // small ones come first
	kind   int
	detail string
	text   string // explains it, as markdown
	value  string // of a key: a template of its value; "$0" marks the cursor
}

// addKey proposes a key that the object does not have.
func (p *proposals) addKey(q proposal) {
	if p.seen[q.label] {
		return
	}
	tail := ""
	if !p.cursor.colon {
		tail = ": " + q.value
	}
	p.add(q, quote(q.label), tail)
}

// addString proposes a string as a value; in an array only a new one.
func (p *proposals) addString(q proposal) {
	if !p.cursor.array || !p.seen[q.label] {
		p.add(q, quote(q.label), "")
	}
}

// addLiteral proposes a value that is JSON already. Where a quote has been typed it is a
// string.
func (p *proposals) addLiteral(q proposal) {
	isString := strings.HasPrefix(q.label, `"`)
	if p.cursor.quoted && !isString || p.cursor.array && p.seen[decodeString(q.label)] {
		return
	}
	literal := q.label
	if isString {
		q.label = decodeString(literal)
	}
	p.add(q, literal, "")
}

func quote(text string) string {
	return string((&document.Value{Kind: document.String, Text: text}).AppendJSON(nil))
}

// add puts a proposal into the list: a text, and the snippet that follows it.
func (p *proposals) add(q proposal, literal, tail string) {
	if len(p.items) >= maxItems {
		p.incomplete = true
		return
	}
	client := &p.server.client.TextDocument.Completion.CompletionItem
	text, format := literal, formatPlain
	switch {
	case tail == "":
	case client.SnippetSupport:
		format = formatSnippet
		text = strings.NewReplacer(`\`, `\\`, `$`, `\$`, `}`, `\}`).Replace(literal) + tail
	default:
		text += ": "
	}
	if p.cursor.noComma && (tail == "" && !p.cursor.colon || format == formatSnippet) {
		text += ","
	}
	item := completionItem{
		Label: q.label, Kind: q.kind, Detail: q.detail, FilterText: literal,
		SortText: fmt.Sprintf("%02d%04d", q.rank, len(p.items)), InsertTextFormat: format,
		TextEdit: textEdit{p.d.lines.span(p.cursor.start, p.cursor.end, p.server.encoding), text},
	}
	if !p.cursor.quoted && p.cursor.start < p.cursor.end {
		item.FilterText = q.label // a word without quotes is what the client compares with
	}
	if strings.Contains(text, "\n") {
		item.InsertTextMode = 1
	}
	if q.text != "" {
		m := asMarkup(client.DocumentationFormat, q.text)
		item.Documentation = &m
	}
	p.items = append(p.items, item)
}

// skeleton is what a value begins and ends with, by what the meta-schema says of it.
func skeleton(grammar *document.Value) string {
	if v := grammar.Get("const"); v != nil {
		return string(v.AppendJSON(nil)) + "$0"
	}
	types := typesOf(grammar)
	if len(types) == 0 {
		return "$0"
	}
	switch types[0] {
	case "string":
		return `"$0"`
	case "array":
		return "[$0]"
	case "object":
		return "{$0}"
	}
	return "$0"
}
