package lsp

import (
	"encoding/json"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// maxDepth is the maximum depth of the tree of an invalid document, as that of a valid one.
const maxDepth = 512

// parseTree reads any text as the JSON document that it most likely is: missing parts are null
// or left out, extra ones are skipped. Of the ranges only the offsets are set. A text without
// a value returns nil.
func parseTree(text string) *document.Value {
	p := &treeParser{scanner: scanner{text: text}}
	p.advance()
	p.advance()
	for p.current.kind != endToken {
		if v := p.value(0); v != nil {
			return v
		}
		p.advance()
	}
	return nil
}

// A treeParser looks one token ahead: a string before a colon is a key.
type treeParser struct {
	scanner
	current, ahead  token
	objects, arrays int // how many are open
}

func (p *treeParser) advance() { p.current, p.ahead = p.ahead, p.next() }

func (p *treeParser) atKey() bool {
	return p.current.kind == stringToken && p.ahead.kind == colonToken
}

func place(start, end int) diag.Range {
	return diag.Range{Start: diag.Position{Offset: start}, End: diag.Position{Offset: end}}
}

// value reads a value, or returns nil at a token that starts none.
func (p *treeParser) value(depth int) *document.Value {
	t := p.current
	switch t.kind {
	case stringToken:
		p.advance()
		return &document.Value{Kind: document.String, Text: decodeString(p.text[t.start:t.end]), At: place(t.start, t.end)}
	case wordToken:
		p.advance()
		return scalar(p.text[t.start:t.end], place(t.start, t.end))
	case openObject, openArray:
		if depth >= maxDepth {
			return p.skip()
		}
		if t.kind == openObject {
			return p.object(depth)
		}
		return p.array(depth)
	}
	return nil
}

func scalar(text string, at diag.Range) *document.Value {
	v := &document.Value{At: at}
	switch {
	case text == "true", text == "false":
		v.Kind, v.Bool = document.Bool, text == "true"
	case text != "null" && json.Valid([]byte(text)):
		v.Kind, v.Text = document.Number, text
	}
	return v
}

// skip passes over an array or an object.
func (p *treeParser) skip() *document.Value {
	start := p.current.start
	for open := 0; p.current.kind != endToken; {
		switch p.current.kind {
		case openObject, openArray:
			open++
		case closeObject, closeArray:
			open--
		}
		p.advance()
		if open <= 0 {
			break
		}
	}
	return &document.Value{At: place(start, p.current.start)}
}

func (p *treeParser) object(depth int) *document.Value {
	v := &document.Value{Kind: document.Object}
	start := p.current.start
	p.objects++
	defer func() { p.objects-- }()
	p.advance()
	for {
		switch t := p.current; t.kind {
		case closeObject:
			p.advance()
			v.At = place(start, t.end)
			return v
		case closeArray:
			if p.arrays > 0 { // it closes the array around this object, which was left open
				v.At = place(start, t.start)
				return v
			}
			p.advance()
		case endToken:
			v.At = place(start, t.start)
			return v
		case stringToken, wordToken:
			v.Members = append(v.Members, p.member(depth))
		case openObject, openArray:
			p.value(depth + 1) // a value without a key
		default:
			p.advance()
		}
	}
}

func (p *treeParser) member(depth int) document.Member {
	key := p.current
	p.advance()
	m := document.Member{Key: decodeString(p.text[key.start:key.end]), KeyAt: place(key.start, key.end)}
	if p.current.kind == colonToken {
		p.advance()
		if !p.atKey() {
			m.Value = p.value(depth + 1)
		}
	}
	if m.Value == nil {
		m.Value = &document.Value{At: place(key.end, key.end)}
	}
	return m
}

func (p *treeParser) array(depth int) *document.Value {
	v := &document.Value{Kind: document.Array}
	start := p.current.start
	p.arrays++
	defer func() { p.arrays-- }()
	p.advance()
	for {
		t := p.current
		switch {
		case t.kind == closeArray:
			p.advance()
			v.At = place(start, t.end)
			return v
		case t.kind == endToken, p.objects > 0 && (t.kind == closeObject || p.atKey()):
			v.At = place(start, t.start)
			return v
		}
		if item := p.value(depth + 1); item != nil {
			v.Items = append(v.Items, item)
			continue
		}
		p.advance()
	}
}
