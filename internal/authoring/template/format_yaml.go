package template

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A yamlPrinter writes a template that was JSON as YAML.
type yamlPrinter struct {
	b          strings.Builder
	conditions bool // {"Condition": X} is a function
}

func printYAML(root *document.Value) []byte {
	p := &yamlPrinter{}
	for _, m := range root.Members {
		p.conditions = m.Key == "Conditions" || m.Key == "Rules"
		p.member(m, 0, false)
	}
	if len(root.Members) == 0 {
		p.b.WriteString("{}\n")
	}
	return []byte(p.b.String())
}

func (p *yamlPrinter) indent(n int) { p.b.WriteString(strings.Repeat(" ", n*formatIndent)) }

func (p *yamlPrinter) member(m document.Member, depth int, onLine bool) {
	if !onLine {
		p.indent(depth)
	}
	p.b.WriteString(yamlText(m.Key) + ":")
	p.value(m.Value, depth+1, false)
}

// value writes a value after a key, a dash or a tag; depth is that of what is in it. In a short form no other may begin.
func (p *yamlPrinter) value(v *document.Value, depth int, inShort bool) {
	tag, arg := p.shortForm(v)
	switch {
	case tag != "" && !inShort:
		p.b.WriteString(" " + tag)
		p.value(arg, depth, true)
	case v.Kind == document.Object && len(v.Members) > 0:
		p.b.WriteByte('\n')
		for _, m := range v.Members {
			p.member(m, depth, false)
		}
	case v.Kind == document.Array && len(v.Items) > 0:
		p.b.WriteByte('\n')
		for _, item := range v.Items {
			p.item(item, depth)
		}
	case v.Kind == document.Object:
		p.b.WriteString(" {}\n")
	case v.Kind == document.Array:
		p.b.WriteString(" []\n")
	case v.Kind == document.String:
		p.b.WriteString(" " + blockText(v.Text, depth) + "\n")
	default:
		p.b.WriteString(" " + string(v.AppendJSON(nil)) + "\n")
	}
}

func (p *yamlPrinter) item(v *document.Value, depth int) {
	p.indent(depth)
	p.b.WriteByte('-')
	if tag, _ := p.shortForm(v); tag != "" || v.Kind != document.Object || len(v.Members) == 0 {
		p.value(v, depth+1, false)
		return
	}
	p.b.WriteByte(' ')
	for i, m := range v.Members {
		p.member(m, depth+1, i == 0)
	}
}

// shortForm returns the tag of a function and its argument, "" if it can only be written long.
func (p *yamlPrinter) shortForm(v *document.Value) (string, *document.Value) {
	if v.Kind != document.Object || len(v.Members) != 1 {
		return "", nil
	}
	name, arg := v.Members[0].Key, v.Members[0].Value
	tag := "!" + strings.TrimPrefix(name, "Fn::")
	if shortForms[tag] != name || name == "Condition" && !p.conditions {
		return "", nil
	}
	switch arg.Kind {
	case document.Null, document.Bool, document.Number: // a scalar with a tag is a text
		return "", nil
	case document.String:
		if name == "Fn::GetAtt" {
			return "", nil
		}
	case document.Array:
		texts := arg.Strings()
		if name == "Fn::GetAtt" && len(arg.Items) == 2 && len(texts) == 2 && texts[0] != "" && !strings.Contains(texts[0], ".") {
			return tag, text(texts[0]+"."+texts[1], arg.At)
		}
	}
	return tag, arg
}

var plainWords = map[string]bool{"null": true, "true": true, "false": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true}

// isPlain reports whether all versions of YAML read a text without quotes as the same text.
func isPlain(s string) bool {
	if s == "" || len(s) > 1000 || plainWords[strings.ToLower(s)] || strings.HasPrefix(s, "Fn::ForEach::") || strings.ContainsFunc(s, unprintable) {
		return false
	}
	letter := 'a' <= s[0]|0x20 && s[0]|0x20 <= 'z'
	return (letter || strings.IndexByte("/_$(", s[0]) >= 0) && !strings.Contains(s, ": ") && !strings.Contains(s, " #") &&
		!strings.HasSuffix(s, ":") && !strings.HasSuffix(s, " ")
}

// yamlText writes a text on one line: plain if it can be, else in quotes.
func yamlText(s string) string {
	switch {
	case isPlain(s):
		return s
	case !strings.ContainsFunc(s, unprintable):
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	var b strings.Builder
	for _, part := range strings.SplitAfter(string((&document.Value{Kind: document.String, Text: s}).AppendJSON(nil)), "") {
		r, _ := utf8.DecodeRuneInString(part)
		if r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
			const digits = "0123456789abcdef"
			b.WriteString(`\u` + string([]byte{digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15]}))
			continue
		}
		b.WriteString(part)
	}
	return b.String()
}

// unprintable reports whether a character needs an escape.
func unprintable(r rune) bool {
	return r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == utf8.RuneError || unicode.Is(unicode.Cc, r)
}

// blockText writes a text of several lines as a literal, if no blank of it could get lost; other texts as yamlText.
func blockText(s string, depth int) string {
	body := strings.TrimSuffix(s, "\n")
	lines := strings.Split(body, "\n")
	if len(lines) == 1 && body == s || body == "" || strings.HasSuffix(body, "\n") || strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") {
		return yamlText(s)
	}
	var b strings.Builder
	b.WriteByte('|')
	if body == s {
		b.WriteByte('-')
	}
	for _, line := range lines {
		if strings.ContainsFunc(strings.ReplaceAll(line, "\t", ""), unprintable) || strings.HasSuffix(line, " ") || strings.HasSuffix(line, "\t") || strings.HasPrefix(line, "\t") {
			return yamlText(s)
		}
		b.WriteByte('\n')
		if line != "" {
			b.WriteString(strings.Repeat(" ", depth*formatIndent) + line)
		}
	}
	return b.String()
}
