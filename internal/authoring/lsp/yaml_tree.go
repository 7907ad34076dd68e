package lsp

import (
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// parseYAML reads any text as the YAML template that it most likely is, as [parseTree] reads JSON: line by line, by
// the indentation. Of the ranges only the offsets are set. Short forms of functions are objects with the long name,
// whose key is at the tag. Anchors and merge keys have no meaning.
func parseYAML(text string) *document.Value {
	p := &yamlParser{text: text}
	p.split()
	if len(p.lines) == 0 {
		return nil
	}
	v := p.block(0, 0)
	for p.i < len(p.lines) && v.Kind == document.Object { // lines that are less indented than the first one
		rest := p.block(p.lines[p.i].indent, 0)
		v.Members = append(v.Members, rest.Members...)
		v.At.End.Offset = max(v.At.End.Offset, rest.At.End.Offset)
	}
	return v
}

// maxYAMLDepth is the maximum depth of the tree of a template.
const maxYAMLDepth = 128

// A yamlLine is a line with content: not blank, not only a comment.
type yamlLine struct {
	indent     int // columns before the content, in bytes
	start, end int // of the content, the end without blanks
}

type yamlParser struct {
	text  string
	lines []yamlLine
	i     int // the line that is read
}

// split finds the lines with content.
func (p *yamlParser) split() {
	for start := 0; start < len(p.text); {
		end := start + lineEnd(p.text[start:])
		line := p.text[start:end]
		content := strings.TrimLeft(line, " \t\ufeff")
		at := end - len(content)
		content = strings.TrimRight(content, " \t")
		if content != "" && content[0] != '#' && content != "---" && content != "..." && content[0] != '%' {
			p.lines = append(p.lines, yamlLine{at - start, at, at + len(content)})
		}
		start = end + 1
	}
}

func (p *yamlParser) line() *yamlLine { return &p.lines[p.i] }

func (p *yamlParser) content() string { return p.text[p.line().start:p.line().end] }

func isDash(content string) bool { return content == "-" || strings.HasPrefix(content, "- ") }

// keyEnd returns the length of the key that a line starts with, and where the value after the colon starts; false
// for a line without a key.
func keyEnd(content string) (key, value int, ok bool) {
	if content[0] == '"' || content[0] == '\'' {
		end, closed := yamlQuoteEnd(content, 0)
		rest := strings.TrimLeft(content[end:], " ")
		if !closed || !strings.HasPrefix(rest, ":") || len(rest) > 1 && rest[1] != ' ' && rest[1] != '\t' {
			return 0, 0, false
		}
		return end, len(content) - len(rest) + 1, true
	}
	if strings.IndexByte("[]{}|>!&*#", content[0]) >= 0 || isDash(content) {
		return 0, 0, false
	}
	for i := 0; i < len(content); i++ {
		switch {
		case content[i] == ':' && (i+1 == len(content) || content[i+1] == ' ' || content[i+1] == '\t'):
			return len(strings.TrimRight(content[:i], " \t")), i + 1, true
		case content[i] == '#' && i > 0 && (content[i-1] == ' ' || content[i-1] == '\t'):
			return 0, 0, false
		}
	}
	return 0, 0, false
}

// yamlQuoteEnd finds the end of the quoted text that starts at start: after its second quote, else the end of the text.
func yamlQuoteEnd(text string, start int) (end int, closed bool) {
	quote := text[start]
	for i := start + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1, true
		}
	}
	return len(text), false
}

// block reads the value that starts at the current line, which is indented by at least indent.
func (p *yamlParser) block(indent, depth int) *document.Value {
	line := *p.line()
	if depth >= maxYAMLDepth {
		for p.i < len(p.lines) && p.line().indent >= indent {
			p.i++
		}
		return &document.Value{At: place(line.start, line.start)}
	}
	switch {
	case isDash(p.content()):
		return p.sequence(line.indent, depth)
	case p.mapped(line.indent):
		return p.mapping(line.indent, depth)
	}
	return p.inline(line.start, indent-1, depth)
}

// mapped reports whether the lines of an indentation are a mapping: one of them has a key. The first ones may be
// keys that are being typed.
func (p *yamlParser) mapped(indent int) bool {
	for i := p.i; i < len(p.lines) && p.lines[i].indent >= indent; i++ {
		line := p.lines[i]
		content := p.text[line.start:line.end]
		if _, _, ok := keyEnd(content); ok && line.indent == indent {
			return true
		}
		if line.indent != indent || strings.ContainsAny(content, " \"'[{|>") || content[0] == '!' || content[0] == '&' {
			return false
		}
	}
	return false
}

func (p *yamlParser) sequence(indent, depth int) *document.Value {
	v := &document.Value{Kind: document.Array, At: place(p.line().start, p.line().start)}
	for p.i < len(p.lines) && p.line().indent == indent && isDash(p.content()) {
		line := p.line()
		rest := strings.TrimLeft(p.content()[1:], " \t")
		var item *document.Value
		switch {
		case rest == "" || rest[0] == '#':
			item = p.after(line.start+1, indent, false, depth)
		default: // the rest of the line is a block of its own
			at := line.end - len(rest)
			line.indent, line.start = line.indent+at-line.start, at
			if _, _, ok := keyEnd(rest); ok || isDash(rest) {
				item = p.block(line.indent, depth+1)
			} else {
				item = p.inline(at, indent, depth+1)
			}
		}
		v.Items = append(v.Items, item)
		v.At.End.Offset = max(v.At.End.Offset, item.At.End.Offset)
	}
	return v
}

// mapping reads the members at an indentation, and those that are indented too far.
func (p *yamlParser) mapping(indent, depth int) *document.Value {
	v := &document.Value{Kind: document.Object, At: place(p.line().start, p.line().start)}
	for p.i < len(p.lines) && p.line().indent >= indent {
		line := *p.line()
		content := p.content()
		if isDash(content) {
			if line.indent == indent {
				break // an item of the list around
			}
			p.sequence(line.indent, depth+1) // a list without a key
			continue
		}
		key, value, ok := keyEnd(content)
		if !ok {
			key, value = len(content), len(content)
			if i := strings.Index(content, " #"); i >= 0 {
				key = len(strings.TrimRight(content[:i], " \t"))
			}
		}
		m := document.Member{Key: yamlText(content[:key]), KeyAt: place(line.start, line.start+key)}
		rest := strings.TrimLeft(content[value:], " \t")
		switch {
		case !ok:
			p.i++
			m.Value = &document.Value{At: place(line.start+key, line.start+key)}
		case rest == "" || rest[0] == '#':
			m.Value = p.after(line.start+value, line.indent, true, depth)
		default:
			m.Value = p.inline(line.end-len(rest), line.indent, depth+1)
		}
		v.Members = append(v.Members, m)
		v.At.End.Offset = max(v.At.End.Offset, m.KeyAt.End.Offset, m.Value.At.End.Offset)
	}
	return v
}

// after reads the value of a key, or an item, that has nothing more on its line.
func (p *yamlParser) after(end, indent int, member bool, depth int) *document.Value {
	p.i++
	if p.i < len(p.lines) && (p.line().indent > indent || member && p.line().indent == indent && isDash(p.content())) {
		return p.block(p.line().indent, depth+1)
	}
	return &document.Value{At: place(end, end)}
}

// inline reads a value that starts within the current line; its further lines are indented by more than indent.
// Afterwards the current line is the one after the value.
func (p *yamlParser) inline(start, indent, depth int) *document.Value {
	line := *p.line()
	content := p.text[start:line.end]
	switch content[0] {
	case '!', '&':
		return p.tagged(start, indent, depth)
	case '|', '>':
		return p.literal(start, indent)
	case '[', '{':
		f := &flowParser{text: p.text[:p.limit(indent)], pos: start}
		v := f.value(depth)
		p.skipTo(f.pos)
		return v
	case '"', '\'':
		end, closed := yamlQuoteEnd(p.text[:p.limit(indent)], start)
		if !closed || end > start+maxPlain {
			end = start + len(strings.TrimRight(content, " \t"))
		}
		p.skipTo(end)
		return &document.Value{Kind: document.String, Text: yamlText(p.text[start:end]), At: place(start, end)}
	}
	return p.plain(start, indent)
}

// limit is where a value in brackets or quotes ends at the latest: before a line that is not indented further and
// has a key, or is an item.
func (p *yamlParser) limit(indent int) int {
	for i := p.i + 1; i < len(p.lines); i++ {
		line := p.lines[i]
		content := p.text[line.start:line.end]
		if _, _, ok := keyEnd(content); line.indent <= indent && (ok || isDash(content)) {
			return line.start
		}
	}
	return len(p.text)
}

// skipTo goes to the first line that starts after an offset.
func (p *yamlParser) skipTo(offset int) {
	for p.i < len(p.lines) && p.line().start < offset {
		p.i++
	}
}

// tagged reads a value with a tag or an anchor.
func (p *yamlParser) tagged(start, indent, depth int) *document.Value {
	line := *p.line()
	content := p.text[start:line.end]
	length := strings.IndexAny(content, " \t")
	if length < 0 {
		length = len(content)
	}
	tag, rest := content[:length], strings.TrimLeft(content[length:], " \t")
	var v *document.Value
	switch {
	case depth >= maxYAMLDepth:
		p.i++
		v = &document.Value{At: place(start+length, start+length)}
	case rest == "" || rest[0] == '#':
		v = p.after(start+length, indent, false, depth)
	default:
		v = p.inline(line.end-len(rest), indent, depth+1)
	}
	return called(tag, start, v)
}

// called is the function that a tag names, with its argument; other tags have no meaning.
func called(tag string, start int, v *document.Value) *document.Value {
	name := template.LongName(tag)
	if name == "" {
		return v
	}
	at := place(start, start+len(tag))
	return &document.Value{Kind: document.Object, At: place(start, max(at.End.Offset, v.At.End.Offset)), Members: []document.Member{{Key: name, KeyAt: at, Value: v}}}
}

// literal reads a text after | or >, with the lines that are indented further.
func (p *yamlParser) literal(start, indent int) *document.Value {
	end := p.line().end
	first := end + lineEnd(p.text[end:])
	p.i++
	for p.i < len(p.lines) && p.line().indent > indent {
		end = p.line().end
		p.i++
	}
	text := ""
	if first < end {
		text = strings.TrimLeft(p.text[first:end], "\r\n")
	}
	return &document.Value{Kind: document.String, Text: text, At: place(start, end)}
}

// maxPlain bounds the bytes of a text of several lines, but for those after | and >.
const maxPlain = 64 << 10

// plain reads a text without quotes, which further lines without keys continue.
func (p *yamlParser) plain(start, indent int) *document.Value {
	end := p.plainEnd(start)
	text := p.text[start:end]
	commented := end < p.line().end
	for p.i++; p.i < len(p.lines) && p.line().indent > indent && !commented; p.i++ {
		content := p.content()
		if _, _, ok := keyEnd(content); ok || isDash(content) {
			break
		}
		if len(text) > maxPlain {
			break
		}
		stop := p.plainEnd(p.line().start)
		commented = stop < p.line().end
		text += " " + p.text[p.line().start:stop]
		end = stop
	}
	v := scalar(text, place(start, end))
	if v.Kind == document.Null && text != "" && text != "null" && text != "~" {
		v.Kind, v.Text = document.String, strings.ToValidUTF8(text, "\ufffd")
	}
	return v
}

// plainEnd is where a text without quotes ends on the current line: before a comment.
func (p *yamlParser) plainEnd(start int) int {
	content := p.text[start:p.line().end]
	for _, mark := range []string{" #", "\t#"} {
		if i := strings.Index(content, mark); i >= 0 {
			content = content[:i]
		}
	}
	return start + len(strings.TrimRight(content, " \t"))
}

// yamlText is the text of a key or a value on one line, as far as it can be decoded.
func yamlText(literal string) string {
	switch {
	case strings.HasPrefix(literal, `"`):
		return decodeString(literal)
	case strings.HasPrefix(literal, "'"):
		inner := strings.TrimSuffix(literal[1:], "'")
		return strings.ToValidUTF8(strings.ReplaceAll(inner, "''", "'"), "\ufffd")
	}
	return strings.ToValidUTF8(literal, "\ufffd")
}

// A flowParser reads the values in brackets, up to the end of its text.
type flowParser struct {
	text string
	pos  int
}

func (f *flowParser) space() {
	for f.pos < len(f.text) {
		switch c := f.text[f.pos]; {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			f.pos++
		case c == '#' && strings.IndexByte(" \t\r\n", f.text[f.pos-1]) >= 0:
			f.pos += lineEnd(f.text[f.pos:])
		default:
			return
		}
	}
}

// peek is the next character that is not a space, 0 at the end.
func (f *flowParser) peek() byte {
	f.space()
	if f.pos < len(f.text) {
		return f.text[f.pos]
	}
	return 0
}

func (f *flowParser) value(depth int) *document.Value {
	start := f.pos
	switch c := f.peek(); {
	case c == 0 || depth >= maxYAMLDepth:
		f.pos = len(f.text)
		return &document.Value{At: place(start, start)}
	case c == '[' || c == '{':
		return f.collection(c, depth)
	case c == '!' || c == '&':
		start = f.pos
		for f.pos < len(f.text) && strings.IndexByte(" \t\r\n,]}", f.text[f.pos]) < 0 {
			f.pos++
		}
		tag := f.text[start:f.pos]
		if next := f.peek(); next == ',' || next == ']' || next == '}' || next == 0 {
			return called(tag, start, &document.Value{At: place(start+len(tag), start+len(tag))})
		}
		return called(tag, start, f.value(depth+1))
	}
	return f.scalar()
}

func (f *flowParser) scalar() *document.Value {
	start := f.pos
	if c := f.text[start]; c == '"' || c == '\'' {
		end, closed := yamlQuoteEnd(f.text, start)
		if !closed {
			end = start + len(cutString(f.text[start:start+lineEnd(f.text[start:])]))
		}
		f.pos = max(end, start+1)
		return &document.Value{Kind: document.String, Text: yamlText(f.text[start:f.pos]), At: place(start, f.pos)}
	}
	for f.pos < len(f.text) {
		c := f.text[f.pos]
		next := byte(' ')
		if f.pos+1 < len(f.text) {
			next = f.text[f.pos+1]
		}
		if strings.IndexByte(",[]{}\r\n", c) >= 0 || c == ':' && strings.IndexByte(" \t\r\n,]}", next) >= 0 || c == ' ' && next == '#' {
			break
		}
		f.pos++
	}
	text := strings.TrimRight(f.text[start:f.pos], " \t")
	at := place(start, start+len(text))
	v := scalar(text, at)
	if v.Kind == document.Null && text != "" && text != "null" && text != "~" {
		v.Kind, v.Text = document.String, strings.ToValidUTF8(text, "\ufffd")
	}
	return v
}

// collection reads a list or an object after its bracket.
func (f *flowParser) collection(open byte, depth int) *document.Value {
	v := &document.Value{Kind: document.Array, At: place(f.pos, f.pos)}
	if open == '{' {
		v.Kind = document.Object
	}
	f.pos++
	for {
		c := f.peek()
		v.At.End.Offset = f.pos
		switch {
		case c == 0:
			return v
		case c == ']' || c == '}':
			f.pos++
			v.At.End.Offset = f.pos
			return v
		case c == ',' || c == ':':
			f.pos++
			continue
		}
		item := f.value(depth + 1)
		if f.peek() != ':' {
			if v.Kind == document.Array {
				v.Items = append(v.Items, item)
			} else if item.Kind != document.Object && item.Kind != document.Array {
				v.Members = append(v.Members, document.Member{Key: flowKey(item, f.text), KeyAt: item.At, Value: &document.Value{At: place(item.At.End.Offset, item.At.End.Offset)}})
			}
			continue
		}
		f.pos++
		m := document.Member{Key: flowKey(item, f.text), KeyAt: item.At, Value: &document.Value{At: place(f.pos, f.pos)}}
		if next := f.peek(); next != ',' && next != ']' && next != '}' && next != 0 {
			m.Value = f.value(depth + 1)
		}
		if v.Kind == document.Object {
			v.Members = append(v.Members, m)
		} else { // a pair in a list is an object
			v.Items = append(v.Items, &document.Value{Kind: document.Object, At: place(item.At.Start.Offset, m.Value.At.End.Offset), Members: []document.Member{m}})
		}
	}
}

// flowKey is the text of a value that is a key.
func flowKey(v *document.Value, text string) string {
	if v.Kind == document.String {
		return v.Text
	}
	return text[v.At.Start.Offset:v.At.End.Offset]
}
