package lsp

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// A spot is the key or the scalar that is at a place of a document.
type spot struct {
	pointer document.Pointer
	isKey   bool
	value   *document.Value // the scalar, or the value of the key
	start   int
	end     int
}

// spotAt finds the key or scalar at an offset, nil between them.
func spotAt(root *document.Value, offset int) *spot {
	var pointer document.Pointer
	for v := root; v != nil; {
		var next *document.Value
		switch v.Kind {
		case document.Object:
			for i := range v.Members {
				m := &v.Members[i]
				if at := m.KeyAt; at.Start.Offset <= offset && offset < at.End.Offset {
					return &spot{pointer.Append(m.Key), true, m.Value, at.Start.Offset, at.End.Offset}
				}
				if at := m.Value.At; at.Start.Offset <= offset && offset < at.End.Offset {
					pointer, next = pointer.Append(m.Key), m.Value
					break
				}
			}
		case document.Array:
			for i, item := range v.Items {
				if at := item.At; at.Start.Offset <= offset && offset < at.End.Offset {
					pointer, next = pointer.Append(fmt.Sprint(i)), item
					break
				}
			}
		default:
			return &spot{pointer, false, v, v.At.Start.Offset, v.At.End.Offset}
		}
		v = next
	}
	return nil
}

func (s *server) hover(ctx context.Context, d *snapshot, params documentParams) (any, error) {
	offset := d.lines.offset(params.Position, s.encoding)
	var parts []string
	var at *span
	if d.role() == templateRole {
		if text, start, end := s.explainTemplate(d, offset); text != "" {
			parts = append(parts, text)
			r := d.lines.span(start, end, s.encoding)
			at = &r
		}
	} else if found := spotAt(d.tree(), offset); found != nil {
		if text := s.explain(d, found); text != "" {
			parts = append(parts, text)
			r := d.lines.span(found.start, found.end, s.encoding)
			at = &r
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	explained := map[string]bool{}
	for _, p := range s.problems(d) {
		start, end := d.extent(p)
		if offset < start || offset >= max(end, start+1) || explained[p.ID] {
			continue
		}
		if text := s.ruleText(p.ID); text != "" {
			explained[p.ID] = true
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return nil, nil
	}
	return hover{asMarkup(s.client.TextDocument.Hover.ContentFormat, strings.Join(parts, "\n\n---\n\n")), at}, nil
}

// explain says what a key or a string of a document means.
func (s *server) explain(d *snapshot, at *spot) string {
	switch d.role() {
	case schemaRole:
		return explainSchema(d, at)
	case inputsRole, overridesRole:
		return s.explainModel(d, at)
	case stackTestRole:
		return s.explainStackTest(d, at)
	}
	return ""
}

func explainSchema(d *snapshot, at *spot) string {
	k := d.kind()
	m, base := meaningOf(k, at.pointer, at.isKey)
	text := at.value.Text
	if at.isKey {
		text = at.pointer[len(at.pointer)-1]
	}
	switch m {
	case propertyPath:
		if tokens, ok := tokensOf(text); ok {
			return propertyText(d, base, tokens)
		}
		return ""
	case definitionPath, reference:
		return definitionText(d, text)
	case requiredName:
		return memberText(d, base, text)
	}
	if !at.isKey {
		at = &spot{pointer: at.pointer, isKey: true}
		if n := len(at.pointer); n > 1 && isIndex(at.pointer[n-1]) {
			at.pointer = at.pointer[:n-1]
		}
	}
	return keyText(d, at.pointer)
}

// keyText explains a key of a schema document: a keyword, or a name of the author's own.
func keyText(d *snapshot, at document.Pointer) string {
	k, last := d.kind(), len(at)-1
	if last < 0 {
		return ""
	}
	parent := schema.Grammar(k, at[:last])
	if parent.Get("properties").Get(at[last]) != nil {
		text := "**" + at[last] + "**"
		if facts := factsOf(schema.Grammar(k, at)); facts != "" {
			text += " — " + facts
		}
		return text + "\n\n" + keywordText(areaOf(k, at[:last]), at[last])
	}
	if areaOf(k, at) != propertyArea || last < 1 {
		return ""
	}
	switch at[last-1] {
	case "definitions":
		return definitionText(d, "#"+at.String())
	case "properties":
		return memberText(d, at[:last-1], at[last])
	}
	return ""
}

// memberText explains a member of the object schema at a place. A property of the model is
// explained with everything in the schema about it.
func memberText(d *snapshot, base document.Pointer, name string) string {
	tokens := document.Pointer{name}
	rest := base
	for len(rest) >= 2 && rest[len(rest)-2] == "properties" {
		tokens = append(document.Pointer{rest[len(rest)-1]}, tokens...)
		rest = rest[:len(rest)-2]
	}
	if len(rest) == 0 || len(rest) == 1 && rest[0] == "typeConfiguration" {
		return propertyText(d, rest, tokens)
	}
	s := d.shapeAt(nil)
	found := s.child(s.expand(d.tree().Lookup(base)), name)
	if found == nil {
		return ""
	}
	return nodeText(s, name, found, nil)
}

// propertyText explains a property of the model.
func propertyText(d *snapshot, base, tokens document.Pointer) string {
	s := d.shapeAt(base)
	found, canonical := s.find(tokens)
	if found == nil {
		return ""
	}
	loaded := d.analysis().schema()
	if len(base) > 0 {
		loaded = nil
	}
	return nodeText(s, "/properties"+canonical.String(), found, semantics(loaded, canonical))
}

// semantics are the words for what the lists of a schema say about a property.
func semantics(s *schema.Schema, tokens document.Pointer) []string {
	if s == nil {
		return nil
	}
	var out []string
	lists := []struct {
		name  string
		paths []schema.Path
	}{
		{"primary identifier", s.PrimaryIdentifier}, {"read-only", s.ReadOnly}, {"write-only", s.WriteOnly}, {"create-only", s.CreateOnly},
		{"create-only under conditions", s.ConditionalCreateOnly}, {"deprecated", s.Deprecated}, {"not public", s.NonPublic},
	}
	for _, list := range lists {
		if slices.ContainsFunc(list.paths, func(p schema.Path) bool { return leadsTo(p, tokens) }) {
			out = append(out, list.name)
		}
	}
	for _, paths := range s.AdditionalIdentifiers {
		if slices.ContainsFunc(paths, func(p schema.Path) bool { return leadsTo(p, tokens) }) {
			out = append(out, "additional identifier")
			break
		}
	}
	if t := s.Tagging; t.Taggable && slices.Equal(t.Property.Tokens, tokens) {
		out = append(out, "holds the tags")
	}
	for _, t := range s.PropertyTransform {
		if slices.Equal(t.Path.Tokens, tokens) {
			out = append(out, "transformed")
		}
	}
	return out
}

// leadsTo reports whether a path names the property or something around it.
func leadsTo(p schema.Path, tokens document.Pointer) bool {
	return len(p.Tokens) > 0 && tokens.HasPrefix(p.Tokens)
}

// nodeText explains a declared property: its type, its semantics, its description, its
// bounds.
func nodeText(s *shape, title string, d *declared, semantics []string) string {
	var b strings.Builder
	b.WriteString("**" + code(title) + "**")
	if words := s.words(d.node); words != "" {
		b.WriteString(" — " + words)
	}
	if d.member != nil && slices.Contains(d.parent.Get("required").Strings(), d.name) {
		semantics = append([]string{"required"}, semantics...)
	}
	if len(semantics) > 0 {
		b.WriteString("\n\n*" + strings.Join(semantics, ", ") + "*")
	}
	description := describeText(d.node)
	resolved := s.resolve(d.node)
	if description == "" {
		description = describeText(resolved)
	}
	if description != "" {
		b.WriteString("\n\n" + description)
	}
	if bounds := boundsOf(resolved); bounds != "" {
		b.WriteString("\n\n" + bounds)
	}
	return b.String()
}

// boundsOf lists the keywords of a property that bound its values.
func boundsOf(node *document.Value) string {
	var lines []string
	for _, keyword := range [...]string{
		"enum", "const", "default", "pattern", "format", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum",
		"exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "insertionOrder",
	} {
		if v := node.Get(keyword); v != nil {
			lines = append(lines, "- "+keyword+": "+code(words.Cut(string(v.AppendJSON(nil)), 300)))
		}
	}
	return strings.Join(lines, "\n")
}

// definitionText explains what a reference or a path of a definition names.
func definitionText(d *snapshot, text string) string {
	s := d.shapeAt(nil)
	if !strings.Contains(text, "#") {
		text = "#" + text
	}
	node := s.target(text)
	if node == nil {
		return ""
	}
	_, fragment, _ := strings.Cut(text, "#")
	uses := 0
	each(d.tree(), func(v *document.Value) {
		if ref := v.Get("$ref"); ref != nil && s.target(ref.Text) == node {
			uses++
		}
	})
	return nodeText(s, fragment, &declared{node: node}, []string{"used in " + sizeName(uses, "place", "places")})
}

// explainModel explains a key or a value of an input or of overrides.json.
func (s *server) explainModel(d *snapshot, at *spot) string {
	if d.role() == overridesRole && len(at.pointer) == 1 {
		if text := overrideTexts[at.pointer[0]]; text != "" && at.isKey {
			return "**" + at.pointer[0] + "** — " + text
		}
		return ""
	}
	tokens, ok := modelPath(d.role(), at.pointer)
	of := s.projectSchema(d)
	if of == nil || !ok {
		return ""
	}
	text := propertyText(of, nil, tokens)
	if !at.isKey && exportMark.MatchString(at.value.Text) {
		text += "\n\n`{{Name}}` stands for the export of that name: `cfn test` takes it from the environment variable `CFN_EXPORT_Name` or the file of `--exports`."
	}
	if text == "" {
		return ""
	}
	return text + "\n\n" + code(filepath.Base(of.file))
}

// ruleText explains the rule that a problem breaks.
func (s *server) ruleText(id string) string {
	rule, known := s.rule(id)
	if !known {
		return ""
	}
	text := "**" + id + "** — " + plainMarkdown(rule.Purpose)
	if rule.Why != "" {
		text += "\n\n" + plainMarkdown(rule.Why)
	}
	if rule.Example != "" {
		text += "\n\n```\n" + rule.Example + "\n```"
	}
	return text
}

func (s *server) rule(id string) (Explanation, bool) {
	for _, rule := range schema.Rules() {
		if rule.ID == id {
			return Explanation{rule.Purpose, rule.Why, rule.Example}, true
		}
	}
	if s.cfg.Explain != nil {
		return s.cfg.Explain(id)
	}
	return Explanation{}, false
}

// plainMarkdown keeps text of others from being read as markup: a description could load
// pictures or hide a link.
func plainMarkdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "#", `\#`, "|", `\|`, "!", `\!`, "~", `\~`).Replace(text)
}

// code formats a text of one line as code; one with backticks is unchanged.
func code(text string) string {
	if strings.Contains(text, "`") {
		return plainMarkdown(text)
	}
	return "`" + text + "`"
}

// asMarkup gives a text in the form that the client likes best.
func asMarkup(formats []string, text string) markup {
	if slices.Contains(formats, "markdown") {
		return markup{"markdown", text}
	}
	return markup{"plaintext", plain(text)}
}

// plain takes the markup out of a text of this package.
func plain(text string) string {
	var b strings.Builder
	inCode := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '`':
			inCode = !inCode
		case inCode:
			b.WriteByte(c)
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case c != '*':
			b.WriteByte(c)
		}
	}
	return b.String()
}
