package template

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A Syntax is the language that a template is written in.
type Syntax string

// The languages of templates.
const (
	YAML Syntax = "yaml"
	JSON Syntax = "json"
)

// Formatted is a template in the style of cfn template fmt.
type Formatted struct {
	Text     []byte
	Comments int // of the YAML that JSON has no place for
}

// ErrFormat is the error of a template that cannot be formatted without a change of its meaning.
var ErrFormat = errors.New("the template cannot be formatted without a change of its meaning")

// Format formats a template, in another language if to is not empty. The order of members, comments and the style of
// values are kept within YAML. Its error is a [*diag.Invalid] for a template that cannot be read, or [ErrFormat].
func Format(name string, body []byte, to Syntax) (*Formatted, error) {
	from := YAML
	if isJSON(body) {
		from = JSON
	}
	if to == "" {
		to = from
	}
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	written, err := readForFormat(name, body)
	if err != nil {
		return nil, err
	}
	root := written
	if from == YAML && bytes.IndexByte(body, '\r') >= 0 {
		body = bytes.ReplaceAll(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
		if root, err = readForFormat(name, body); err != nil {
			return nil, ErrFormat
		}
	}
	out := &Formatted{}
	var before []string
	switch {
	case to == JSON:
		out.Text = append(appendJSON(nil, root, 0), '\n')
		if from == YAML {
			out.Comments = len(newFormatter(body, root).comments())
		}
	case from == JSON:
		out.Text = printYAML(root)
	default:
		f := newFormatter(body, root)
		before, out.Text = f.comments(), f.format()
	}
	again, err := readForFormat(name, out.Text)
	if err != nil || !bytes.Equal(again.AppendJSON(nil), written.AppendJSON(nil)) || to == YAML && !slices.Equal(before, newFormatter(out.Text, again).comments()) {
		return nil, ErrFormat
	}
	return out, nil
}

// readForFormat reads a template as it is written. A key that is written twice has no place in another language.
func readForFormat(name string, body []byte) (*document.Value, error) {
	root, problems := ReadDocument(name, body)
	for i := range problems {
		if problems[i].ID == "document/duplicate-key" {
			problems[i].Severity = diag.Error
		}
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if root.Kind != document.Object {
		return nil, Refused(Refuse("structure", root.At, nil)).Problems().Err()
	}
	return root, nil
}

// A formatter edits the lines of a template in YAML: their indentation, blank lines and blanks at their ends. It
// prints no value, so that each is written as its author wrote it.
type formatter struct {
	body   []byte
	inside []span       // scalars and flow collections that span lines, in the order of their starts
	texts  []span       // all scalars and keys
	keys   map[int]bool // where keys of block mappings start

	levels []level
	out    bytes.Buffer
	blanks int // blank lines before the next line
}

type span struct {
	start, end int
	block      bool // a literal or folded scalar: blanks at the ends of lines count
	flow       bool
}

// A level is an indentation that is open, and what it becomes.
type level struct {
	old, now int
	dash     bool
}

const formatIndent = 2

func newFormatter(body []byte, root *document.Value) *formatter {
	f := &formatter{body: body, keys: map[int]bool{}}
	f.collect(root, false)
	order := func(a, b span) int { return a.start - b.start }
	slices.SortStableFunc(f.inside, order)
	slices.SortStableFunc(f.texts, order)
	return f
}

// collect finds the values that lines can be inside of.
func (f *formatter) collect(v *document.Value, inFlow bool) {
	start, end := v.At.Start.Offset, min(v.At.End.Offset, len(f.body))
	at := func() byte {
		if start < len(f.body) {
			return f.body[start]
		}
		return 0
	}()
	multi := start < end && bytes.IndexByte(f.body[start:end], '\n') >= 0
	switch v.Kind {
	case document.Object, document.Array:
		flow := at == '{' || at == '['
		if flow && !inFlow && multi {
			f.inside = append(f.inside, span{start: start, end: end, flow: true})
		}
		inFlow = inFlow || flow
	default:
		s := span{start: start, end: end, block: at == '|' || at == '>'}
		if s.block && bytes.IndexByte(f.header(start), '+') >= 0 { // blank lines after it belong to it
			for s.end < len(f.body) && bytes.IndexByte([]byte(" \t\n"), f.body[s.end]) >= 0 {
				s.end++
			}
			s.end -= len(f.body[start:s.end]) - len(bytes.TrimRight(f.body[start:s.end], " \t"))
		}
		f.texts = append(f.texts, s)
		if multi && !inFlow {
			f.inside = append(f.inside, s)
		}
	}
	for _, item := range v.Items {
		f.collect(item, inFlow)
	}
	for _, m := range v.Members {
		key := span{start: m.KeyAt.Start.Offset, end: min(m.KeyAt.End.Offset, len(f.body))}
		if key.start < key.end && f.body[key.start] != '!' {
			f.texts = append(f.texts, key)
			if !inFlow {
				f.keys[key.start] = true
			}
		}
		f.collect(m.Value, inFlow)
	}
}

// lineEnd is the end of the line that an offset is in.
func (f *formatter) lineEnd(from int) int {
	if n := bytes.IndexByte(f.body[from:], '\n'); n >= 0 {
		return from + n
	}
	return len(f.body)
}

// header is the line of the bar or angle bracket of a block scalar.
func (f *formatter) header(start int) []byte {
	line, _, _ := bytes.Cut(f.body[start:], []byte("\n"))
	text, _, _ := bytes.Cut(line, []byte(" "))
	return text
}

// comments are the comments of the template.
func (f *formatter) comments() []string {
	var out []string
	next := 0
	for i := 0; i < len(f.body); i++ {
		for next < len(f.texts) && f.texts[next].end <= i {
			next++
		}
		if next < len(f.texts) && f.texts[next].start <= i {
			if s := f.texts[next]; s.block { // a comment may follow the bar
				header := s.start + len(f.header(s.start))
				if i < header {
					i = header - 1
					continue
				}
				if eol := f.lineEnd(header); i < eol {
					if text := strings.Trim(string(f.body[header:eol]), " \t\r"); text != "" {
						out = append(out, text)
					}
				}
			}
			i = f.texts[next].end - 1
			continue
		}
		if f.body[i] != '#' || i > 0 && bytes.IndexByte([]byte(" \t\n"), f.body[i-1]) < 0 {
			continue
		}
		line, _, _ := bytes.Cut(f.body[i:], []byte("\n"))
		out = append(out, strings.TrimRight(string(line), " \t\r"))
		i += len(line)
	}
	return out
}

// format writes the lines.
func (f *formatter) format() []byte {
	var comments []string // lines that are indented as the next one
	var indents []int
	start, next := 0, 0
	flush := func(before []level, next int) {
		for i, text := range comments {
			f.comment(before, indents[i], next, text)
		}
		comments, indents = nil, nil
	}
	for start < len(f.body) {
		end := f.lineEnd(start)
		line := string(f.body[start:end])
		text := strings.TrimLeft(line, " ")
		switch trimmed := strings.Trim(line, " \t\r"); {
		case trimmed == "":
			if len(comments) > 0 { // the blank line stays between two comments
				comments, indents = append(comments, ""), append(indents, 0)
			} else {
				f.blanks++
			}
		case trimmed[0] == '#':
			comments, indents = append(comments, trimmed), append(indents, len(line)-len(text))
		default:
			before := slices.Clone(f.levels)
			f.settle(len(line)-len(text), text)
			flush(before, f.levels[len(f.levels)-1].now)
			shift, base := f.line(start, line, text)
			for next < len(f.inside) && f.inside[next].start < start {
				next++
			}
			for next < len(f.inside) && f.inside[next].start < end+1 {
				s := f.inside[next]
				next++
				end = f.continued(s, end, shift, base)
			}
		}
		start = end + 1
	}
	flush(f.levels, 0)
	if n := len(f.texts); n > 0 && f.texts[n-1].block && f.texts[n-1].end == len(f.body) && f.body[len(f.body)-1] != '\n' && bytes.IndexByte(f.header(f.texts[n-1].start), '-') < 0 {
		return bytes.TrimSuffix(f.out.Bytes(), []byte("\n")) // a line end would belong to the text
	}
	return f.out.Bytes()
}

// settle closes and opens the levels for a line.
func (f *formatter) settle(indent int, text string) {
	dash := isDash(text)
	for len(f.levels) > 0 {
		top := f.levels[len(f.levels)-1]
		if top.old < indent || top.old == indent && (dash || !top.dash) {
			break
		}
		f.levels = f.levels[:len(f.levels)-1]
	}
	if len(f.levels) == 0 {
		f.levels = append(f.levels, level{indent, 0, dash})
		return
	}
	if top := f.levels[len(f.levels)-1]; top.old < indent || dash && !top.dash {
		f.levels = append(f.levels, level{indent, top.now + formatIndent, dash})
	}
}

func isDash(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

// line writes a line that is not a continuation. It returns by how much what the line begins is shifted, and how far
// a block scalar of it is indented.
func (f *formatter) line(start int, line, text string) (shift, base int) {
	top := f.levels[len(f.levels)-1]
	at, now := len(line)-len(text), top.now
	prefix := ""
	shift, base = now-at, now+formatIndent
	for isDash(text) {
		rest := strings.TrimLeft(text[1:], " ")
		if rest == "" || rest[0] == '#' {
			break
		}
		inner := at + len(text) - len(rest)
		if !isDash(rest) && !f.keys[start+inner] {
			text, prefix = rest, prefix+"- "
			break
		}
		at, now, text, prefix = inner, now+formatIndent, rest, prefix+"- "
		f.levels = append(f.levels, level{at, now, isDash(rest)})
		shift, base = now-at, now+formatIndent
	}
	f.write(top.now, prefix+strings.TrimRight(text, " \t"))
	return shift, base
}

// write writes a line after the blank lines before it, of which one is kept.
func (f *formatter) write(indent int, text string) {
	if f.blanks > 0 && f.out.Len() > 0 {
		f.out.WriteByte('\n')
	}
	f.blanks = 0
	f.out.WriteString(strings.Repeat(" ", indent) + text + "\n")
}

// comment writes a comment, indented as the next line is, or as the level before it that it belongs to.
func (f *formatter) comment(before []level, indent, next int, text string) {
	if text == "" {
		f.blanks++
		return
	}
	for _, l := range before {
		if l.old <= indent {
			next = max(next, l.now)
		}
	}
	f.write(next, text)
}

// continued writes the lines of a value that began on the line that ends at end. It returns where the last one ends.
func (f *formatter) continued(s span, end, shift, base int) int {
	from := end + 1
	if s.end <= from {
		return end
	}
	last := f.lineEnd(s.end)
	if f.body[s.end-1] == '\n' {
		last = s.end - 1
	}
	lines := strings.Split(string(f.body[from:last]), "\n")
	least := -1
	header := ""
	if s.block {
		header = string(f.header(s.start))
		for _, line := range lines {
			if indent := len(line) - len(strings.TrimLeft(line, " ")); indent < len(line) {
				least = indent
				break
			}
		}
	}
	if least >= 0 && !strings.ContainsAny(header, "123456789") {
		shift = base - least
	}
	for _, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case s.block && indent == len(line) && indent <= least:
			line = ""
		case indent == len(line) && !s.block:
			line = ""
		default:
			line = strings.Repeat(" ", max(indent+shift, 0)) + line[indent:]
		}
		if s.flow {
			line = strings.TrimRight(line, " \t")
		}
		f.out.WriteString(line + "\n")
	}
	return last
}

// appendJSON prints a value as JSON: short lists of scalars and calls of functions on one line.
func appendJSON(b []byte, v *document.Value, depth int) []byte {
	if len(v.Items)+len(v.Members) == 0 || short(v) {
		return appendFlat(b, v)
	}
	line := func(depth int) { b = append(append(b, '\n'), strings.Repeat(" ", depth*formatIndent)...) }
	if v.Kind == document.Array {
		b = append(b, '[')
		for i, item := range v.Items {
			if i > 0 {
				b = append(b, ',')
			}
			line(depth + 1)
			b = appendJSON(b, item, depth+1)
		}
		line(depth)
		return append(b, ']')
	}
	b = append(b, '{')
	for i, m := range v.Members {
		if i > 0 {
			b = append(b, ',')
		}
		line(depth + 1)
		b = append(text(m.Key, m.KeyAt).AppendJSON(b), ": "...)
		b = appendJSON(b, m.Value, depth+1)
	}
	line(depth)
	return append(b, '}')
}

// short reports whether a value is printed on one line: a scalar, a list of scalars, or a function of one of them.
func short(v *document.Value) bool {
	const most = 80
	scalar := func(v *document.Value) bool { return len(v.Items)+len(v.Members) == 0 }
	if FunctionName(v) != "" {
		v = v.Members[0].Value
	}
	return v.Kind != document.Object && !slices.ContainsFunc(v.Items, func(item *document.Value) bool { return !scalar(item) }) && len(v.AppendJSON(nil)) <= most || scalar(v)
}

// appendFlat prints a value on one line.
func appendFlat(b []byte, v *document.Value) []byte {
	open, shut := byte('['), byte(']')
	switch v.Kind {
	case document.Array:
	case document.Object:
		open, shut = '{', '}'
	default:
		return v.AppendJSON(b)
	}
	b = append(b, open)
	for i, item := range v.Items {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendFlat(b, item)
	}
	for i, m := range v.Members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(text(m.Key, m.KeyAt).AppendJSON(append(b, ' ')), ": "...)
		b = appendFlat(b, m.Value)
		if i == len(v.Members)-1 {
			b = append(b, ' ')
		}
	}
	return append(b, shut)
}
