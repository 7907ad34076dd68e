package lsp

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// An encoding is the unit in which the columns of positions are counted.
type encoding string

const (
	utf8Encoding  encoding = "utf-8"
	utf16Encoding encoding = "utf-16" // what every client understands
	utf32Encoding encoding = "utf-32"
)

// agree picks the first encoding of the client's list that is known here.
func agree(offered []string) encoding {
	for _, name := range offered {
		switch e := encoding(name); e {
		case utf8Encoding, utf16Encoding, utf32Encoding:
			return e
		}
	}
	return utf16Encoding
}

// units is the width of a character in the encoding.
func (e encoding) units(r rune, size int) int {
	switch {
	case e == utf8Encoding:
		return size
	case e == utf16Encoding && r > 0xFFFF:
		return 2
	}
	return 1
}

// A lines is a text with the offsets of its lines. Lines end as in the protocol: with "\n",
// "\r\n" or "\r".
type lines struct {
	text   string
	starts []int

	// marks counts the characters before every stretch of markEvery bytes, so that columns in
	// a line of some megabytes need no scan of the line. It is nil for a text of ASCII only,
	// where every encoding counts bytes.
	marks []mark
}

type mark struct{ utf16, utf32 int }

const markEvery = 1 << 10

func newLines(text string) *lines {
	l := &lines{text: text, starts: make([]int, 1, 1+strings.Count(text, "\n"))}
	ascii := true
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\r':
			if i+1 < len(text) && text[i+1] == '\n' {
				i++
			}
			l.starts = append(l.starts, i+1)
		case c == '\n':
			l.starts = append(l.starts, i+1)
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	if ascii {
		return l
	}
	var m mark
	for i, r := range text {
		for len(l.marks)*markEvery <= i {
			l.marks = append(l.marks, m)
		}
		m.utf16 += utf16Encoding.units(r, 0)
		m.utf32++
	}
	for len(l.marks)*markEvery <= len(text) {
		l.marks = append(l.marks, m)
	}
	return l
}

// count is the number of units before an offset.
func (l *lines) count(offset int, e encoding) int {
	if l.marks == nil || e == utf8Encoding {
		return offset
	}
	from := offset / markEvery
	n := l.marks[from].utf16
	if e == utf32Encoding {
		n = l.marks[from].utf32
	}
	at := from * markEvery
	for at > 0 && at < len(l.text) && !utf8.RuneStart(l.text[at]) {
		at++ // the mark counts the character that began before it
	}
	for at < offset {
		r, size := utf8.DecodeRuneInString(l.text[at:])
		if at += size; at > offset {
			break
		}
		n += e.units(r, size)
	}
	return n
}

// end is the offset behind the last character of a line, before its line break.
func (l *lines) end(line int) int {
	if line+1 == len(l.starts) {
		return len(l.text)
	}
	end := l.starts[line+1] - 1
	if end > l.starts[line] && l.text[end] == '\n' && l.text[end-1] == '\r' {
		end--
	}
	return end
}

// offset is the offset of a position in the text. As the protocol requires, a column after the
// end of its line is that end; a line after the last one is the end of the text, and half of a
// character is its start.
func (l *lines) offset(p position, e encoding) int {
	if uint64(p.Line) >= uint64(len(l.starts)) {
		return len(l.text)
	}
	at, end := l.starts[p.Line], l.end(int(p.Line))
	for left := int(p.Character); left > 0 && at < end; {
		r, size := utf8.DecodeRuneInString(l.text[at:])
		if left -= e.units(r, size); left < 0 {
			break
		}
		at += size
	}
	return at
}

// position is the place of an offset, which is brought into the text.
func (l *lines) position(offset int, e encoding) position {
	offset = max(0, min(offset, len(l.text)))
	line := sort.SearchInts(l.starts, offset+1) - 1
	return position{uint32(line), uint32(l.count(offset, e) - l.count(l.starts[line], e))}
}

func (l *lines) span(start, end int, e encoding) span {
	return span{l.position(start, e), l.position(max(start, end), e)}
}

// replace replaces a range with text. A range whose end is before its start is read in
// reverse.
func (l *lines) replace(at span, text string, e encoding) string {
	start, end := l.offset(at.Start, e), l.offset(at.End, e)
	if start > end {
		start, end = end, start
	}
	return l.text[:start] + text + l.text[end:]
}
