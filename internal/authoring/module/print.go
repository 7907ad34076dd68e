package module

import (
	"bytes"
	"encoding/json"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A Line says where a line of a printed template was written.
type Line struct {
	Line int        // of the output, from 1
	At   diag.Range // of the key, or of the value of a list
}

// Print writes a template as indented JSON and returns the source map: the position of every line
// that has one.
func Print(root *document.Value) ([]byte, []Line) {
	p := &printer{line: 1}
	p.note(root.At)
	p.value(root, "")
	p.out.WriteByte('\n')
	return p.out.Bytes(), p.lines
}

type printer struct {
	out   bytes.Buffer
	line  int
	lines []Line
}

func (p *printer) note(at diag.Range) {
	if at.Start.Known() {
		p.lines = append(p.lines, Line{p.line, at})
	}
}

// next begins a line.
func (p *printer) next(indent string) {
	p.out.WriteByte('\n')
	p.out.WriteString(indent)
	p.line++
}

func (p *printer) value(v *document.Value, indent string) {
	members := v.Distinct()
	switch {
	case v.Kind == document.Object && len(members) > 0:
		p.out.WriteByte('{')
		for i, m := range members {
			if i > 0 {
				p.out.WriteByte(',')
			}
			p.next(indent + "  ")
			p.note(m.KeyAt)
			p.out.Write(quoted(m.Key))
			p.out.WriteString(": ")
			p.value(m.Value, indent+"  ")
		}
		p.next(indent)
		p.out.WriteByte('}')
	case v.Kind == document.Array && len(v.Items) > 0:
		p.out.WriteByte('[')
		for i, item := range v.Items {
			if i > 0 {
				p.out.WriteByte(',')
			}
			p.next(indent + "  ")
			p.note(item.At)
			p.value(item, indent+"  ")
		}
		p.next(indent)
		p.out.WriteByte(']')
	case v.Kind == document.Object:
		p.out.WriteString("{}")
	default:
		p.out.Write(v.AppendJSON(nil))
	}
}

func quoted(key string) json.RawMessage {
	return (&document.Value{Kind: document.String, Text: key}).AppendJSON(nil)
}
