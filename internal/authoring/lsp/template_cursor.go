package lsp

import (
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A templateCursor is the syntactic context of a place in a template.
type templateCursor struct {
	cursor

	root   *document.Value // the template without what is typed
	yaml   bool
	both   bool // a text alone on its line may become a value or a key
	tag    bool // the short form of a function is typed
	tagged bool // a short form precedes the value, after which no other one is allowed
	sub    bool // a name in ${} is typed
	indent int  // columns before the content of the line
}

func templateCursorAt(d *snapshot, offset int) *templateCursor {
	if d.yaml {
		return yamlCursor(d.text(), offset)
	}
	return jsonTemplateCursor(d, offset)
}

// jsonTemplateCursor is the cursor in a JSON template.
func jsonTemplateCursor(d *snapshot, offset int) *templateCursor {
	c := &templateCursor{cursor: *cursorAt(d.text(), offset), root: d.tree()}
	if c.ok && c.quoted && !c.key {
		c.substitution(d.text(), c.text, offset)
	}
	return c
}

// substitution narrows the cursor to a name in ${}; typed is the text before the cursor, decoded.
func (c *templateCursor) substitution(text, typed string, offset int) {
	open := strings.LastIndex(typed, "${")
	at := c.pointer()
	n := len(at)
	inSub := n > 0 && at[n-1] == "Fn::Sub" || n > 1 && at[n-2] == "Fn::Sub" && at[n-1] == "0"
	if open < 0 || !inSub || strings.Contains(typed[open:], "}") || strings.HasPrefix(typed[open:], "${!") {
		return
	}
	c.sub, c.start, c.end = true, offset, offset
	for c.start > 0 && isNameByte(text[c.start-1]) {
		c.start--
	}
	for c.end < len(text) && isNameByte(text[c.end]) {
		c.end++
	}
	c.text = text[c.start:offset]
}

func isNameByte(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' || b == '.' || b == ':' || b == '_'
}

// cursorMark replaces what is typed in a YAML text, to find it again in the tree.
const cursorMark = "cfn\ue000cursor"

// yamlCursor is the cursor in a YAML template.
func yamlCursor(text string, offset int) *templateCursor {
	offset = max(0, min(offset, len(text)))
	c := &templateCursor{yaml: true}
	line := strings.LastIndexAny(text[:offset], "\r\n") + 1
	stop := offset + lineEnd(text[offset:])
	c.start, c.end = offset, offset
	for c.start > line && isYAMLWord(text[c.start-1]) {
		c.start--
	}
	for c.end < stop && isYAMLWord(text[c.end]) && !(text[c.end] == ':' && (c.end+1 == stop || text[c.end+1] == ' ')) {
		c.end++
	}
	word := text[c.start:offset]
	if c.start > line && (text[c.start-1] == '"' || text[c.start-1] == '\'') && !strings.HasSuffix(strings.TrimRight(text[line:c.start-1], " "), "${") {
		if before := text[line : c.start-1]; before == "" || strings.IndexByte(" [{,(", before[len(before)-1]) >= 0 {
			c.quoted = true
			c.start--
			if c.end < stop && text[c.end] == text[c.start] {
				c.end++
			}
		}
	}
	c.text, c.tag = word, strings.HasPrefix(word, "!")
	before := text[line:c.start]
	c.indent = len(before) - len(strings.TrimLeft(before, " -"))
	alone := strings.TrimLeft(before, " -\ufeff") == ""
	if fields := strings.Fields(before); len(fields) > 0 {
		c.tagged = strings.HasPrefix(fields[len(fields)-1], "!")
	}
	c.root = parseYAML(text[:c.start] + cursorMark + text[c.end:])
	c.locate(text, offset, alone)
	return c
}

func isYAMLWord(b byte) bool { return strings.IndexByte(" \t\"'[]{},#", b) < 0 }

// locate finds the mark in the tree, and takes it out.
func (c *templateCursor) locate(text string, offset int, alone bool) {
	found := findMark(c.root, nil)
	if found == nil {
		return
	}
	c.container, c.name, c.key, c.array = found.container, found.name, found.member != nil && found.isKey, found.in.Kind == document.Array
	switch {
	case c.key:
		if found.member.Key != cursorMark {
			return
		}
		found.member.Key = ""
		c.name = c.text
		after := strings.TrimLeft(text[c.end:], " ")
		c.colon = strings.HasPrefix(after, ":")
		c.ok = true
	case found.value.Text == cursorMark:
		found.value.Kind, found.value.Text = document.Null, ""
		c.ok = true
		c.both = alone && !c.tag && !c.quoted
	default:
		typed, _, _ := strings.Cut(found.value.Text, cursorMark)
		found.value.Text = typed
		if c.start > 0 && c.end <= len(text) {
			c.substitution(text, typed+c.text, offset)
		}
		c.ok = c.sub
	}
	for _, m := range found.in.Members {
		c.others = append(c.others, m.Key)
	}
	for _, item := range found.in.Items {
		c.others = append(c.others, item.Text)
	}
}

// A marked is the key or the text of a tree that contains the mark.
type marked struct {
	in        *document.Value // the object or list around it
	container document.Pointer
	name      string
	member    *document.Member
	isKey     bool
	value     *document.Value
}

func findMark(v *document.Value, at document.Pointer) *marked {
	if v == nil {
		return nil
	}
	for i := range v.Members {
		m := &v.Members[i]
		switch {
		case strings.Contains(m.Key, cursorMark):
			return &marked{in: v, container: at, name: m.Key, member: m, isKey: true}
		case m.Value.Kind == document.String && strings.Contains(m.Value.Text, cursorMark):
			return &marked{in: v, container: at, name: m.Key, member: m, value: m.Value}
		}
		if found := findMark(m.Value, at.Append(m.Key)); found != nil {
			return found
		}
	}
	for i, item := range v.Items {
		name := strconv.Itoa(i)
		if item.Kind == document.String && strings.Contains(item.Text, cursorMark) {
			return &marked{in: v, container: at, name: name, value: item}
		}
		if found := findMark(item, at.Append(name)); found != nil {
			return found
		}
	}
	if len(at) == 0 && v.Kind == document.String && strings.Contains(v.Text, cursorMark) { // the first word of a template
		return &marked{in: &document.Value{Kind: document.Object}, member: &document.Member{Key: v.Text}, isKey: true, value: v}
	}
	return nil
}
