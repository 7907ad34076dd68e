package document

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// A yamlText is the text of a YAML document. It converts the places of the YAML library, which
// are lines and characters, to bytes, and finds the ends of values, which the library does not
// report.
type yamlText struct {
	data   []byte // as written, with its byte order mark
	bodyAt int    // start of the text after the mark

	isolated []byte            // what the library is given
	restored *strings.Replacer // of the library's texts; nil when there is nothing to do

	lines      []int // the offset of the first byte of each line: after "\n"
	breaks     []int // the same as the library sees lines: "\r" alone ends one, too
	breakRunes []int // of breaks, how many characters come before
	stops      []int // the offset of every 64th character
}

const runesPerStop = 64

func newYAMLText(data []byte) *yamlText {
	t := &yamlText{data: data}
	if bytes.HasPrefix(data, []byte(byteOrderMark)) {
		t.bodyAt = len(byteOrderMark)
	}
	t.lines, t.breaks, t.breakRunes = []int{t.bodyAt}, []int{t.bodyAt}, []int{0}
	runes := 0
	for i := t.bodyAt; i < len(data); {
		if runes%runesPerStop == 0 {
			t.stops = append(t.stops, i)
		}
		size := 1
		if data[i] >= utf8.RuneSelf {
			_, size = utf8.DecodeRune(data[i:])
		}
		i += size
		runes++
		switch c := data[i-size]; {
		case c == '\n':
			t.lines = append(t.lines, i)
			fallthrough
		case c == '\r' && (i == len(data) || data[i] != '\n'):
			t.breaks, t.breakRunes = append(t.breaks, i), append(t.breakRunes, runes)
		}
	}
	t.isolate()
	return t
}

// isolate hides the characters that are line ends only in YAML 1.1, which the library reads:
// it would fold them into blanks. Their replacements have the same length and occur nowhere
// else in the text.
func (t *yamlText) isolate() {
	t.isolated = t.data[t.bodyAt:]
	var pairs []string
	substitute := rune(0xE000)
	for _, r := range []rune{0x85, 0x2028, 0x2029} {
		if !bytes.ContainsRune(t.isolated, r) {
			continue
		}
		if r == 0x85 { // a character of two bytes
			for substitute = 0xA1; substitute < 0x7FF && bytes.ContainsRune(t.data, substitute); {
				substitute++
			}
		} else {
			for substitute = max(substitute+1, 0xE000); substitute < 0xF8FF && bytes.ContainsRune(t.data, substitute); {
				substitute++
			}
		}
		t.isolated = bytes.ReplaceAll(t.isolated, []byte(string(r)), []byte(string(substitute)))
		pairs = append(pairs, string(substitute), string(r))
	}
	if pairs != nil {
		t.restored = strings.NewReplacer(pairs...)
	}
	// The library also refuses every version that a document may name but 1.1.
	if at := versionDirective.FindSubmatchIndex(t.isolated); at != nil {
		t.isolated = bytes.Clone(t.isolated)
		t.isolated[at[2]] = '1'
	}
}

// versionDirective finds the 2 of %YAML 1.2 among the directives and comments at the top.
var versionDirective = lazyregexp.New(`\A(?:[%#][^\r\n]*[\r\n]+|[\r\n]+)*?%YAML[ \t]+1\.(2)(?:[ \t\r\n]|\z)`)

// restore undoes isolate in a text that comes from the library.
func (t *yamlText) restore(text string) string {
	if t.restored == nil {
		return text
	}
	return t.restored.Replace(text)
}

// unreadable finds the first byte that is not allowed in YAML, and describes it.
func (t *yamlText) unreadable() (at int, what string) {
	for i := t.bodyAt; i < len(t.data); {
		c := t.data[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(t.data[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				return i, fmt.Sprintf("byte 0x%02X is not UTF-8", c)
			case r == 0xFFFE || r == 0xFFFF:
				return i, fmt.Sprintf("the text contains the character U+%04X", r)
			}
			i += size
			continue
		}
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return i, fmt.Sprintf("the text contains the control character U+%04X", c)
		}
		i++
	}
	return 0, ""
}

// offset is the byte at a line and a column of the library, both from 1.
func (t *yamlText) offset(line, column int) int {
	if line < 1 || line > len(t.breaks) {
		return len(t.data)
	}
	rune := t.breakRunes[line-1] + max(column, 1) - 1
	stop := rune / runesPerStop
	if stop >= len(t.stops) {
		return len(t.data)
	}
	at := t.stops[stop]
	for range rune % runesPerStop {
		if at < len(t.data) {
			_, size := utf8.DecodeRune(t.data[at:])
			at += size
		}
	}
	return at
}

// position is the place of a byte.
func (t *yamlText) position(offset int) diag.Position {
	line := sort.SearchInts(t.lines, offset+1)
	return diag.Position{Offset: offset, Line: max(line, 1), Column: offset - t.lines[max(line, 1)-1] + 1}
}

// start is where the value of a node starts, after its anchor and tag. An alias starts at its
// star.
func (t *yamlText) start(n *yaml.Node) int {
	at := t.offset(n.Line, n.Column)
	anchor := n.Kind != yaml.AliasNode && n.Anchor != ""
	tag := n.Style&yaml.TaggedStyle != 0 || n.Tag == "!"
	for (anchor || tag) && at < len(t.data) {
		switch {
		case t.data[at] == '&' && anchor:
			anchor = false
		case t.data[at] == '!' && tag:
			tag = false
		default:
			return at
		}
		end := t.propertyEnd(at)
		if n.Kind == yaml.ScalarNode && n.Value == "" && n.Style&quoted == 0 && !anchor && !tag {
			return end // the value is nothing; what comes next is another one
		}
		at = t.skip(end, "")
	}
	return at
}

// propertyEnd is where an anchor or a tag ends.
func (t *yamlText) propertyEnd(at int) int {
	stops := " \t\r\n,[]{}"
	if bytes.HasPrefix(t.data[at:], []byte("!<")) {
		stops = ">"
	}
	i := bytes.IndexAny(t.data[at:], stops)
	switch {
	case i < 0:
		return len(t.data)
	case stops == ">":
		return at + i + 1
	}
	return at + i
}

// skip skips blanks, line ends, comments and the given characters.
func (t *yamlText) skip(at int, signs string) int {
	for at < len(t.data) {
		switch c := t.data[at]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n' || strings.IndexByte(signs, c) >= 0:
			at++
		case c == '#':
			for at < len(t.data) && t.data[at] != '\n' && t.data[at] != '\r' {
				at++
			}
		default:
			return at
		}
	}
	return at
}

// collectionEnd is where a list or a mapping ends that starts at a byte and whose last
// value ends at another: after its bracket if it has one.
func (t *yamlText) collectionEnd(n *yaml.Node, start, last int) int {
	if start >= len(t.data) || n.Style&yaml.FlowStyle == 0 || t.data[start] != '[' && t.data[start] != '{' {
		return last
	}
	if len(n.Content) == 0 {
		last = start + 1
	}
	if end := t.skip(last, ",:?"); end < len(t.data) && (t.data[end] == ']' || t.data[end] == '}') {
		return end + 1
	}
	return last
}

// scalarEnd is where a scalar ends that starts at a byte.
func (t *yamlText) scalarEnd(n *yaml.Node, start int) int {
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		for i := start + 1; i < len(t.data); i++ {
			switch t.data[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return len(t.data)
	case n.Style&yaml.SingleQuotedStyle != 0:
		for i := start + 1; i < len(t.data); i++ {
			if t.data[i] == '\'' {
				if i+1 == len(t.data) || t.data[i+1] != '\'' {
					return i + 1
				}
				i++
			}
		}
		return len(t.data)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return t.blockEnd(n, start)
	}
	return t.plainEnd(n.Value, start)
}

// plainEnd follows the characters of a plain scalar, which may go over several lines: its
// value differs from what is written in blanks only.
func (t *yamlText) plainEnd(value string, start int) int {
	end, at := start, start
	source := t.isolated
	blank := func(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
	for i := range len(value) {
		if blank(value[i]) {
			continue
		}
		for at-t.bodyAt < len(source) && blank(source[at-t.bodyAt]) {
			at++
		}
		at++
		end = at
	}
	return min(end, len(t.data))
}

// blockEnd finds the last line of a literal or folded scalar that is indented as its first
// line of text is. The end is after the last character of that line.
func (t *yamlText) blockEnd(n *yaml.Node, start int) int {
	lineEnd := func(at int) int {
		for at < len(t.data) && t.data[at] != '\n' && t.data[at] != '\r' {
			at++
		}
		return at
	}
	after := func(at int) int {
		if at < len(t.data) && t.data[at] == '\r' && at+1 < len(t.data) && t.data[at+1] == '\n' {
			at++
		}
		return min(at+1, len(t.data))
	}
	end := lineEnd(start)
	body := strings.TrimLeft(n.Value, "\n")
	own := len(body) - len(strings.TrimLeft(body, " ")) // blanks that belong to the text
	indent := -1
	for at := after(end); at < len(t.data); {
		text := at
		for text < len(t.data) && t.data[text] == ' ' {
			text++
		}
		stop := lineEnd(at)
		if text < stop { // not blank
			if indent < 0 {
				indent = text - at - own
			}
			if body == "" || text-at < indent {
				return end
			}
			end = stop
		}
		at = after(stop)
	}
	return end
}
