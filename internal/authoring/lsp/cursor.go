package lsp

import (
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A cursor is the syntactic context of a place in a text.
type cursor struct {
	// ok is false where nothing can be proposed: outside of the document's object or
	// array, in a comment, or behind an element that is complete.
	ok bool

	container document.Pointer // the object or array that is typed into
	array     bool             // it is an array
	key       bool             // a key is typed, not a value
	name      string           // of a value its key or index; of a key the typed text
	others    []string         // the keys, or the strings, beside it in the same container

	// The existing text: text is the typed text before the cursor, decoded. A proposal
	// replaces the range from start to end, including quotes.
	text       string
	start, end int
	quoted     bool

	colon   bool // the key has its colon
	noComma bool // another element follows, and no comma is between
}

// pointer is the place of the value that is typed.
func (c *cursor) pointer() document.Pointer { return c.container.Append(c.name) }

type frameState uint8

const (
	wantsElement frameState = iota // a key, or an item
	wantsColon
	wantsValue
	wantsComma
)

// A frame is an array or object that is open at some place of the text.
type frame struct {
	array bool
	stray bool // no value belongs there, so that no pointer leads into it
	state frameState
	key   string // of an object, the last one
	index int    // of an array, the items that are complete
	seen  []string
}

// at names the element that is read or comes next.
func (f *frame) at() string {
	if f.array {
		return strconv.Itoa(f.index)
	}
	return f.key
}

// complete notes that an element has ended.
func (f *frame) complete() {
	f.state = wantsComma
	if f.array {
		f.index++
	}
}

// cursorAt reads the text up to an offset by the rules of [parseTree], so that its
// pointers lead to values of that tree.
func cursorAt(text string, offset int) *cursor {
	offset = max(0, min(offset, len(text)))
	c := &cursor{start: offset, end: offset}
	var open opened
	s := &scanner{text: text[:offset], typing: true}
	t, ahead := s.next(), s.next()
	for ; t.kind != endToken; t, ahead = ahead, s.next() {
		if ahead.kind == endToken && touches(s.text, t) {
			break
		}
		open.take(s.text, t, ahead)
	}
	if s.comment {
		return c
	}
	isKey := false
	if t.kind != endToken {
		c.within(text, t)
		rest := scanner{text: text, pos: c.end}
		isKey = c.quoted && rest.next().kind == colonToken
	}
	if isKey {
		open.closeArrays()
	}
	if !open.describe(c, t.kind != endToken, isKey, strings.ContainsAny(s.text[open.last:], "\r\n")) {
		return c
	}
	c.ok = true
	c.lookAhead(text)
	return c
}

// touches reports whether what comes after the token would continue it: a word, or a string
// without its second quote, at the very end of the text.
func touches(text string, t token) bool {
	return (t.kind == wordToken || t.kind == stringToken && !t.closed) && t.end == len(text)
}

// opened is the stack of open containers, outermost first.
type opened struct {
	frames []frame
	deeper int  // number of open containers below maxDepth, which are ignored
	done   bool // the document's value is complete
	last   int  // the end of the last token
}

func (o *opened) top() *frame { return &o.frames[len(o.frames)-1] }

func (o *opened) has(array bool) bool {
	return slices.ContainsFunc(o.frames, func(f frame) bool { return f.array == array })
}

// close ends the innermost array, or object, with all that was left open inside of it.
func (o *opened) close(array bool) {
	for more := o.has(array); more; {
		f := *o.top()
		o.frames = o.frames[:len(o.frames)-1]
		switch {
		case len(o.frames) == 0:
			o.done = true
		case !f.stray:
			o.top().complete()
		}
		more = f.array != array
	}
}

// closeArrays ends the arrays that were left open before a key.
func (o *opened) closeArrays() {
	for len(o.frames) > 0 && o.top().array && o.has(false) {
		o.frames = o.frames[:len(o.frames)-1]
		o.top().complete()
	}
}

// skip passes over what nests too deep.
func (o *opened) skip(t token) bool {
	switch t.kind {
	case openObject, openArray:
		if o.deeper > 0 || len(o.frames) >= maxDepth {
			o.deeper++
			return true
		}
	case closeObject, closeArray:
		if o.deeper > 0 {
			if o.deeper--; o.deeper == 0 {
				o.top().complete()
			}
			return true
		}
	}
	return o.deeper > 0
}

// take reads one token that ends before the cursor.
func (o *opened) take(text string, t, ahead token) {
	o.last = t.end
	if o.done || o.skip(t) {
		return
	}
	isKey := t.kind == stringToken && ahead.kind == colonToken
	if isKey {
		o.closeArrays()
	}
	if len(o.frames) == 0 {
		switch t.kind {
		case openObject, openArray:
			o.frames = append(o.frames, frame{array: t.kind == openArray})
		case stringToken, wordToken:
			o.done = true
		}
		return
	}
	f := o.top()
	switch t.kind {
	case openObject, openArray:
		o.frames = append(o.frames, frame{array: t.kind == openArray, stray: f.stray || !f.array && f.state != wantsValue})
	case closeObject, closeArray:
		o.close(t.kind == closeArray)
	case commaToken:
		f.state = wantsElement
	case colonToken:
		if f.state == wantsColon {
			f.state = wantsValue
		}
	case stringToken, wordToken:
		word := decodeString(text[t.start:t.end])
		switch {
		case f.array:
			f.seen = append(f.seen, word)
			f.complete()
		case f.state == wantsValue && !isKey:
			f.complete()
		default:
			f.key, f.state = word, wantsColon
			f.seen = append(f.seen, word)
		}
	}
}

// describe sets what is expected after the tokens up to here. typing means that the token is
// incomplete, isKey that it is followed by a colon, newLine that it is on a separate line.
func (o *opened) describe(c *cursor, typing, isKey, newLine bool) bool {
	if len(o.frames) == 0 || o.done || o.deeper > 0 || o.top().stray {
		return false
	}
	f := o.top()
	complete := f.state == wantsComma || f.state == wantsColon
	if complete && !typing && !newLine {
		return false
	}
	for i := range o.frames[:len(o.frames)-1] {
		c.container = append(c.container, o.frames[i].at())
	}
	c.array = f.array
	c.others = f.seen
	c.key = !f.array && (f.state != wantsValue || isKey)
	c.name = f.at()
	if c.key {
		c.name = c.text
	}
	return true
}

// within fills in the string or word that is typed.
func (c *cursor) within(text string, t token) {
	offset := c.start
	c.start = t.start
	c.quoted = t.kind == stringToken
	if !c.quoted {
		c.text = text[t.start:offset]
		c.end = max(offset, wordEnd(text, t.start))
		return
	}
	c.text = decodeString(text[t.start:offset])
	end, closed := stringEnd(text, t.start)
	if !closed {
		c.end = max(offset, t.start+len(cutString(text[t.start:end])))
		return
	}
	s := scanner{text: text, pos: end}
	if next := s.next(); next.kind == wordToken && !strings.ContainsAny(text[end:next.start], "\r\n") {
		return // the quote that was found begins another string
	}
	c.end = end
}

// lookAhead reads the rest of the container.
func (c *cursor) lookAhead(text string) {
	c.others = slices.Clip(c.others)
	s := &scanner{text: text, pos: c.end}
	depth := 0
	t, ahead := s.next(), s.next()
	switch t.kind {
	case colonToken:
		c.colon = true
	case stringToken, wordToken, openObject, openArray:
		c.noComma = true
	}
	for ; t.kind != endToken; t, ahead = ahead, s.next() {
		switch t.kind {
		case openObject, openArray:
			depth++
		case closeObject, closeArray:
			if depth--; depth < 0 {
				return
			}
		case stringToken:
			if isKey := ahead.kind == colonToken; depth == 0 && isKey != c.array {
				c.others = append(c.others, decodeString(text[t.start:t.end]))
			}
		}
	}
}
