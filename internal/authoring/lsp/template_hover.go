package lsp

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// explainTemplate explains what is at an offset of a template, and returns its range; "" for nothing.
func (s *server) explainTemplate(d *snapshot, offset int) (text string, start, end int) {
	n := d.names()
	if u := n.useAt(offset); u != nil {
		if u.attribute != "" && u.attributeEnd > 0 && offset >= u.attributeStart {
			return s.attributeText(d, u), u.attributeStart, u.attributeEnd
		}
		if found := n.find(u.kind, u.name); found != nil {
			return s.declaredText(d, found), u.start, u.end
		}
	}
	if w, start, end := pseudoAt(d.text(), offset); w != nil {
		return "**" + w.name + "** — " + plainMarkdown(w.text), start, end
	}
	at := spotAt(d.tree(), offset)
	if at == nil || len(at.pointer) == 0 {
		return "", 0, 0
	}
	return s.explainPlace(d, at), at.start, at.end
}

// pseudoAt is the pseudo parameter that is written at an offset, nil without one.
func pseudoAt(text string, offset int) (w *term, start, end int) {
	start, end = offset, offset
	for start > 0 && isNameByte(text[start-1]) {
		start--
	}
	for end < len(text) && isNameByte(text[end]) {
		end++
	}
	return termIn(pseudoTerms, text[start:end]), start, end
}

// explainPlace explains a key or a value by its place in the template.
func (s *server) explainPlace(d *snapshot, at *spot) string {
	last := len(at.pointer) - 1
	pointer := unwrapLoops(at.pointer)
	if at.isKey {
		if w := functionTerm(at.pointer[last]); w != nil && takesFunctions(pointer[:max(0, len(pointer)-1)]) {
			return "**" + w.name + "** — " + w.text
		}
		if len(pointer) == 2 {
			if found := d.names().find(sectionKind[pointer[0]], pointer[1]); found != nil && sectionKind[pointer[0]] != valueName {
				return s.declaredText(d, found)
			}
		}
	}
	if len(pointer) == 3 && pointer[0] == "Resources" && pointer[2] == "Type" && !at.isKey {
		return s.typeText(d, at.value.Text)
	}
	if logicalID, tokens, ok := propertyTokens(at.pointer); ok && len(tokens) > 0 {
		return s.propertyText(d, d.names().typeOf(logicalID), tokens)
	}
	if len(pointer) > 0 && at.isKey {
		if w := termIn(keysAt(pointer[:len(pointer)-1]), pointer[len(pointer)-1]); w != nil {
			return "**" + w.name + "** — " + plainMarkdown(w.text)
		}
	}
	return ""
}

var sectionKind = map[string]nameKind{
	"Resources": resourceName, "Parameters": parameterName, "Conditions": conditionName, "Mappings": mappingName,
	"Outputs": valueName, "Rules": valueName, "Metadata": valueName, "Transform": valueName,
}

// declaredText explains a name that the template declares.
func (s *server) declaredText(d *snapshot, found *declaredName) string {
	title := "**" + code(found.name) + "**"
	v := found.member.Value
	switch found.kind {
	case resourceName:
		text := title + " — resource"
		if typ := typeName(v); typ != "" {
			text += "\n\n" + s.typeText(d, typ)
		}
		return text
	case parameterName:
		return title + " — parameter" + parameterText(v)
	case conditionName:
		return title + " — condition\n\n" + s.source(d, v)
	}
	return title + " — mapping\n\n" + s.source(d, v)
}

func parameterText(v *document.Value) string {
	text := ""
	if typ := typeName(v); typ != "" {
		text = " of type " + code(typ)
	}
	if described := v.Get("Description"); described != nil && described.Kind == document.String {
		text += "\n\n" + plainMarkdown(words.Cut(described.Text, maxValue))
	}
	hidden := v.Get("NoEcho") != nil
	var lines []string
	for _, key := range []string{"Default", "AllowedValues", "AllowedPattern", "MinLength", "MaxLength", "MinValue", "MaxValue", "NoEcho"} {
		if field := v.Get(key); field != nil && (!hidden || key != "Default" && key != "AllowedValues") {
			lines = append(lines, "- "+key+": "+code(words.Cut(string(field.AppendJSON(nil)), 300)))
		}
	}
	if lines != nil {
		text += "\n\n" + strings.Join(lines, "\n")
	}
	return text
}

// source is a value as it is written.
func (s *server) source(d *snapshot, v *document.Value) string {
	start, end := v.At.Start.Offset, min(v.At.End.Offset, len(d.text()))
	if start >= end {
		return ""
	}
	text := words.Cut(d.text()[start:end], maxValue)
	if strings.Contains(text, "```") {
		return plainMarkdown(text)
	}
	return "```\n" + text + "\n```"
}

// typeText explains a type.
func (s *server) typeText(d *snapshot, name string) string {
	text := "**" + code(name) + "**"
	shape := s.typeShape(d, name)
	if shape == nil {
		return text + "\n\nNo schema of this type is known."
	}
	if shape.fragment != nil {
		text += " — module"
		if described := shape.fragment.Root.Get("Description"); described != nil {
			text += "\n\n" + plainMarkdown(words.Cut(described.Text, maxValue))
		}
		return text + "\n\n" + code(filepath.Base(shape.fragment.File))
	}
	loaded := shape.schema
	if loaded.Description != "" {
		text += "\n\n" + plainMarkdown(words.Cut(loaded.Description, maxValue))
	}
	var facts []string
	if len(loaded.Required) > 0 {
		facts = append(facts, "- required: "+code(words.Cut(strings.Join(loaded.Required, ", "), 300)))
	}
	if ids := pathNames(loaded.PrimaryIdentifier); ids != nil {
		facts = append(facts, "- `Ref`: "+code(strings.Join(ids, "|")))
	}
	if names := shape.attributes(); names != nil {
		facts = append(facts, "- attributes: "+code(words.Cut(strings.Join(names, ", "), 300)))
	}
	if loaded.Handler("update") == nil {
		facts = append(facts, "- each update of a property is a replacement: the type has no update handler")
	}
	if facts != nil {
		text += "\n\n" + strings.Join(facts, "\n")
	}
	if filepath.IsAbs(loaded.File) {
		text += "\n\n" + code(filepath.Base(loaded.File))
	}
	return text
}

func pathNames(paths []schema.Path) []string {
	var out []string
	for _, p := range paths {
		out = append(out, strings.Join(p.Tokens, "."))
	}
	return out
}

// propertyText explains a property of a type: its documentation, what an update of it does, its bounds.
func (s *server) propertyText(d *snapshot, typeName string, tokens document.Pointer) string {
	shape := s.typeShape(d, typeName)
	if shape == nil {
		return ""
	}
	found, canonical := shape.find(tokens)
	if found == nil {
		return ""
	}
	text := nodeText(shape.shape, strings.Join(canonical, "."), found, nil)
	if shape.schema != nil {
		text += "\n\n" + behavior(shape.schema, canonical)
	}
	return text + "\n\n" + code(typeName)
}

// behavior says what the lists of a schema mean for a template that sets a property.
func behavior(s *schema.Schema, tokens document.Pointer) string {
	var out []string
	conditional := slices.ContainsFunc(s.ConditionalCreateOnly, func(p schema.Path) bool { return leadsTo(p, tokens) })
	switch {
	case s.IsReadOnly(tokens) && !s.IsCreateOnly(tokens):
		out = append(out, "Read-only: the service sets it, and `Fn::GetAtt` returns it.")
	case s.IsCreateOnly(tokens):
		out = append(out, "Update: replacement.")
	case s.Handler("update") == nil:
		out = append(out, "Update: replacement, because the type has no update handler.")
	case conditional:
		out = append(out, "Update: replacement under some conditions.")
	default:
		out = append(out, "Update: no replacement.")
	}
	if s.IsWriteOnly(tokens) {
		out = append(out, "Write-only: the service does not return it, so that drift is not detected.")
	}
	if s.IsDeprecated(tokens) {
		out = append(out, "Deprecated.")
	}
	return strings.Join(out, " ")
}

// attributeText explains what Fn::GetAtt reads.
func (s *server) attributeText(d *snapshot, u *nameUse) string {
	name := d.names().typeOf(u.name)
	if template.IsModuleType(name) {
		return ""
	}
	return s.propertyText(d, name, strings.Split(u.attribute, "."))
}
