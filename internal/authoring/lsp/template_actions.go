package lsp

import (
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

var (
	nearHint     = lazyregexp.New(`did you mean ("(?:[^"\\]|\\.)*")\?`)
	requiredHint = lazyregexp.New(`^add the property ("(?:[^"\\]|\\.)*")$`)
)

// templateFixes turns the hint of a problem of a template into edits, each of which repairs it.
func (s *server) templateFixes(d *snapshot, p diag.Problem) []fix {
	start, end := p.At.Start.Offset, p.At.End.Offset
	if !p.At.Start.Known() || d.isOther(p.At.File) || end > len(d.text()) || start >= end {
		return nil
	}
	var out []fix
	if m := nearHint.FindStringSubmatch(p.Hint); m != nil {
		if near, err := strconv.Unquote(m[1]); err == nil {
			out = append(out, d.replacement(p, near)...)
		}
	}
	pointer, ok := document.ParsePointer(p.Pointer)
	if !ok {
		return out
	}
	if m := requiredHint.FindStringSubmatch(p.Hint); m != nil {
		if name, err := strconv.Unquote(m[1]); err == nil {
			out = append(out, s.addProperty(d, pointer, name)...)
		}
	}
	if p.ID == "resource/unknown-property" || p.ID == "resource/read-only" {
		out = append(out, d.removal(start)...)
	}
	return out
}

// replacement replaces what a problem is about: an attribute, or a key or a text as a whole.
func (d *snapshot) replacement(p diag.Problem, near string) []fix {
	n := d.names()
	start, end := p.At.Start.Offset, p.At.End.Offset
	if p.ID == "resource/attribute" || p.ID == "resource/attribute-not-read-only" {
		for _, u := range n.uses {
			if u.attributeEnd > 0 && start <= u.start && u.attributeEnd <= end && strings.Contains(p.Message, u.attribute) {
				return []fix{{"replace with " + near, u.attributeStart, u.attributeEnd, near}}
			}
		}
		return nil
	}
	start, end = n.inner(p.At)
	if strings.ContainsAny(d.text()[start:end], "\r\n{[!") {
		return nil
	}
	var text string
	switch {
	case d.text()[p.At.Start.Offset] == '"':
		text = strings.TrimSuffix(strings.TrimPrefix(quote(near), `"`), `"`)
	case d.text()[p.At.Start.Offset] == '\'':
		text = strings.ReplaceAll(near, "'", "''")
	default:
		text = yamlScalar(near, true)
	}
	return []fix{{"replace with " + near, start, end, text}}
}

// addProperty adds a property to the object that lacks it, as its first.
func (s *server) addProperty(d *snapshot, at document.Pointer, name string) []fix {
	object := d.tree().Lookup(at)
	value := `""`
	if logicalID, tokens, ok := propertyTokens(at.Append(name)); ok {
		if shape := s.typeShape(d, d.names().typeOf(logicalID)); shape != nil {
			if found, _ := shape.find(tokens); found != nil {
				value = emptyValue(shape.resolve(found.node))
			}
		}
	}
	title := "add " + name
	switch {
	case object == nil && len(at) == 3 && at[2] == "Properties" && d.yaml:
		return d.insertYAML(title, d.tree().Lookup(at[:2]), "Properties", name, value)
	case object == nil || object.Kind != document.Object:
		return nil
	case !d.yaml:
		return insertion(d, diag.Problem{Pointer: at.String()}, quote(name)+": "+value)
	case d.text()[object.At.Start.Offset] == '{':
		text := name + ": " + value
		if len(object.Members) > 0 {
			text += ", "
		}
		return []fix{{title, object.At.Start.Offset + 1, object.At.Start.Offset + 1, text}}
	}
	return d.insertYAML(title, object, "", name, value)
}

// insertYAML adds a member before the first one of a mapping, in an object of the given name unless that is "".
func (d *snapshot) insertYAML(title string, object *document.Value, in, name, value string) []fix {
	if object == nil || len(object.Members) == 0 || d.text()[object.At.Start.Offset] == '{' {
		return nil
	}
	at := object.Members[0].KeyAt.Start.Offset
	line := strings.LastIndexAny(d.text()[:at], "\r\n") + 1
	space := strings.Repeat(" ", at-line)
	text := name + ": " + value + "\n" + space
	if in != "" {
		text = in + ":\n" + space + "  " + text
	}
	return []fix{{title, at, at, text}}
}

func emptyValue(node *document.Value) string {
	switch types := typesOf(node); {
	case len(types) == 0:
	case types[0] == "object":
		return "{}"
	case types[0] == "array":
		return "[]"
	case types[0] == "boolean":
		return "false"
	case types[0] == "integer", types[0] == "number":
		return "0"
	}
	return `""`
}

// removal removes the member whose key starts at an offset, if it is not the only one.
func (d *snapshot) removal(start int) []fix {
	spot := spotAt(d.tree(), start)
	if spot == nil || !spot.isKey {
		return nil
	}
	parent := d.tree().Lookup(spot.pointer[:len(spot.pointer)-1])
	if len(parent.Members) < 2 {
		return nil
	}
	text, end := d.text(), max(spot.end, spot.value.At.End.Offset)
	title := "remove " + spot.pointer[len(spot.pointer)-1]
	line := strings.LastIndexAny(text[:start], "\r\n") + 1
	if d.yaml && text[parent.At.Start.Offset] != '{' {
		next := end + lineEnd(text[end:])
		if strings.TrimSpace(text[line:start]) != "" {
			return nil // the first member of an item
		}
		if rest := strings.TrimSpace(text[end:next]); rest != "" && rest[0] != '#' {
			return nil
		}
		for next < len(text) && (text[next] == '\r' || text[next] == '\n') {
			next++
			if text[next-1] == '\n' {
				break
			}
		}
		return []fix{{title, line, next, ""}}
	}
	after := len(text) - len(strings.TrimLeft(text[end:], " \t\r\n"))
	if after < len(text) && text[after] == ',' {
		after++
		after = len(text) - len(strings.TrimLeft(text[after:], " \t\r\n"))
		return []fix{{title, start, after, ""}}
	}
	before := strings.TrimRight(text[:start], " \t\r\n")
	if strings.HasSuffix(before, ",") {
		return []fix{{title, len(before) - 1, end, ""}}
	}
	return nil
}
