package lsp

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// isYAML reports whether a document is read as YAML: by its name, else by its first character.
func isYAML(file, text string) bool {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".json":
		return false
	case ".yaml", ".yml":
		return true
	}
	text = strings.TrimLeft(text, "\ufeff \t\r\n")
	return text == "" || text[0] != '{' && text[0] != '['
}

// yamlTree is a YAML template as a tree, of which only the offsets of ranges count.
func yamlTree(text string) *document.Value {
	v, problems := document.ParseYAMLDialect("", []byte(text), document.Limits{Bytes: template.MaxBytes, Depth: maxYAMLDepth}, yamlDialect)
	if v == nil || problems.HasErrors() {
		return parseYAML(text)
	}
	return v
}

// yamlDialect is that of templates; of the short form of Fn::GetAtt, the text stays whole.
var yamlDialect = document.Dialect{
	Booleans: true,
	Tag: func(tag string, at diag.Range, v *document.Value) *document.Value {
		return called(tag, at.Start.Offset, v)
	},
}

// isTemplate recognizes CloudFormation templates by their sections.
func isTemplate(root *document.Value, base string) bool {
	if root == nil || root.Kind != document.Object {
		return false
	}
	if root.Get("AWSTemplateFormatVersion") != nil {
		return true
	}
	resources := root.Get("Resources")
	if resources == nil {
		return false
	}
	if strings.Contains(base, "template") || strings.HasSuffix(base, ".cfn.yaml") || strings.HasSuffix(base, ".cfn.json") {
		return true
	}
	return slices.ContainsFunc(resources.Members, func(m document.Member) bool {
		typ := m.Value.Get("Type")
		return typ != nil && typ.Kind == document.String && strings.Contains(typ.Text, "::") || strings.HasPrefix(m.Key, "Fn::")
	})
}

// A nameKind is what a name in a template names.
type nameKind uint8

const (
	resourceName nameKind = iota
	parameterName
	conditionName
	mappingName
	valueName // of Ref: a parameter or a resource
)

// A declaredName is a parameter, resource, condition or mapping of a template.
type declaredName struct {
	kind   nameKind
	name   string // with ${…} in a loop
	member *document.Member
}

// A nameUse is a place of a template that names another part of it.
type nameUse struct {
	kind            nameKind
	name, attribute string
	start, end      int  // of the name
	attributeStart  int  // of the attribute
	attributeEnd    int  // 0 without one
	vague           bool // the range is that of the text around the name
}

// names are the names that a template declares and uses. They are found in broken templates, too.
type names struct {
	text     string
	root     *document.Value
	declared []declaredName
	uses     []nameUse
	loops    map[string]bool  // the variables of Fn::ForEach
	byName   map[string][]int // indices of declared
	inLoops  []int            // those whose names depend on a loop
}

func namesOf(root *document.Value, text string) *names {
	n := &names{text: text, root: root, loops: map[string]bool{}, byName: map[string][]int{}}
	for _, section := range []struct {
		name string
		kind nameKind
	}{{"Parameters", parameterName}, {"Mappings", mappingName}, {"Conditions", conditionName}, {"Resources", resourceName}} {
		n.declare(root.Get(section.name), section.kind, 0)
	}
	n.section(root.Get("Resources"), false)
	n.section(root.Get("Outputs"), false)
	if v := root.Get("Conditions"); v != nil {
		n.walk(v, true, 0)
	}
	if v := root.Get("Rules"); v != nil {
		n.walk(v, true, 0)
	}
	n.interfaces(root.Get("Metadata").Get("AWS::CloudFormation::Interface"))
	n.uses = slices.DeleteFunc(n.uses, func(u nameUse) bool { return n.loops[u.name] })
	slices.SortStableFunc(n.uses, func(a, b nameUse) int { return a.start - b.start })
	return n
}

// declare adds the names of a section, and of the loops in it.
func (n *names) declare(section *document.Value, kind nameKind, depth int) {
	if section == nil || depth > maxFollow {
		return
	}
	for i := range section.Members {
		m := &section.Members[i]
		if !strings.HasPrefix(m.Key, "Fn::ForEach::") {
			d := declaredName{kind, m.Key, m}
			n.byName[m.Key] = append(n.byName[m.Key], len(n.declared))
			if d.inLoop() && len(n.inLoops) < maxBranches {
				n.inLoops = append(n.inLoops, len(n.declared))
			}
			n.declared = append(n.declared, d)
			continue
		}
		if items := m.Value.Items; len(items) > 2 {
			n.loops[items[0].Text] = true
			n.declare(items[2], kind, depth+1)
		}
	}
}

// section finds what the resources or the outputs use.
func (n *names) section(v *document.Value, below bool) {
	if v == nil {
		return
	}
	for _, m := range v.Members {
		if strings.HasPrefix(m.Key, "Fn::ForEach::") && !below {
			for i, item := range m.Value.Items {
				if i == 2 {
					n.section(item, true)
				} else {
					n.walk(item, false, 0)
				}
			}
			continue
		}
		for _, part := range m.Value.Members {
			switch {
			case part.Key == "Condition" && part.Value.Kind == document.String:
				n.use(conditionName, part.Value)
			case part.Key == "DependsOn":
				n.dependencies(part.Value)
			default:
				n.walk(part.Value, false, 0)
			}
		}
	}
}

func (n *names) dependencies(v *document.Value) {
	if v.Kind == document.String {
		n.use(resourceName, v)
	}
	for _, item := range v.Items {
		if item.Kind == document.String {
			n.use(resourceName, item)
		}
	}
}

// interfaces finds the parameters that are named for the form in the console.
func (n *names) interfaces(v *document.Value) {
	if groups := v.Get("ParameterGroups"); groups != nil {
		for _, group := range groups.Items {
			if parameters := group.Get("Parameters"); parameters != nil {
				for _, item := range parameters.Items {
					if item.Kind == document.String {
						n.use(parameterName, item)
					}
				}
			}
		}
	}
	if labels := v.Get("ParameterLabels"); labels != nil {
		for _, m := range labels.Members {
			start, end := n.inner(m.KeyAt)
			n.uses = append(n.uses, nameUse{kind: parameterName, name: m.Key, start: start, end: end})
		}
	}
}

// inner is the range of a scalar without its quotes.
func (n *names) inner(at diag.Range) (start, end int) {
	start, end = at.Start.Offset, min(at.End.Offset, len(n.text))
	if end-start > 1 && (n.text[start] == '"' || n.text[start] == '\'') {
		start++
		if n.text[end-1] == n.text[start-1] {
			end--
		}
	}
	return start, end
}

func (n *names) use(kind nameKind, v *document.Value) {
	start, end := n.inner(v.At)
	n.uses = append(n.uses, nameUse{kind: kind, name: v.Text, start: start, end: end, vague: start > end || n.text[start:end] != v.Text})
}

// walk finds the functions in a value. conditions means that Condition is one.
func (n *names) walk(v *document.Value, conditions bool, depth int) {
	if v == nil || depth > maxDepth {
		return
	}
	for _, item := range v.Items {
		n.walk(item, conditions, depth+1)
	}
	for _, m := range v.Members {
		arg := m.Value
		switch {
		case m.Key == "Ref" && arg.Kind == document.String:
			n.value(arg, valueName)
		case m.Key == "Fn::GetAtt":
			n.getAtt(arg)
		case m.Key == "Fn::Sub":
			n.sub(arg)
		case m.Key == "Condition" && arg.Kind == document.String && conditions:
			n.use(conditionName, arg)
		case m.Key == "Fn::If" && len(arg.Items) > 0 && arg.Items[0].Kind == document.String:
			n.use(conditionName, arg.Items[0])
		case m.Key == "Fn::FindInMap" && len(arg.Items) > 0 && arg.Items[0].Kind == document.String:
			n.use(mappingName, arg.Items[0])
		case strings.HasPrefix(m.Key, "Fn::ForEach::") && len(arg.Items) > 0:
			n.loops[arg.Items[0].Text] = true
		}
		n.walk(arg, conditions || m.Key == "Fn::And" || m.Key == "Fn::Or" || m.Key == "Fn::Not", depth+1)
	}
}

// value adds a name that may have an attribute after a dot.
func (n *names) value(v *document.Value, kind nameKind) {
	if strings.HasPrefix(v.Text, "AWS::") {
		return
	}
	start, end := n.inner(v.At)
	u := nameUse{kind: kind, start: start, end: end, vague: start > end || n.text[start:end] != v.Text}
	u.name, u.attribute, _ = strings.Cut(v.Text, ".")
	if u.attribute != "" && !u.vague {
		u.end = start + len(u.name)
		u.attributeStart, u.attributeEnd = u.end+1, end
	}
	n.uses = append(n.uses, u)
}

func (n *names) getAtt(v *document.Value) {
	if v.Kind == document.String {
		n.value(v, resourceName)
		return
	}
	if len(v.Items) == 0 || v.Items[0].Kind != document.String {
		return
	}
	n.value(v.Items[0], resourceName)
	if len(v.Items) > 1 && v.Items[1].Kind == document.String && len(n.uses) > 0 {
		u := &n.uses[len(n.uses)-1]
		u.attribute = v.Items[1].Text
		u.attributeStart, u.attributeEnd = n.inner(v.Items[1].At)
	}
}

// subVariable is ${Name} in a text as it is written.
var subVariable = lazyregexp.New(`\$\{\s*([A-Za-z0-9_.:]+)\s*\}`)

// sub finds the names in the text of Fn::Sub.
func (n *names) sub(v *document.Value) {
	text, own := v, (*document.Value)(nil)
	if len(v.Items) > 0 {
		text = v.Items[0]
	}
	if len(v.Items) > 1 {
		own = v.Items[1]
	}
	if text.Kind != document.String {
		return
	}
	start, end := text.At.Start.Offset, min(text.At.End.Offset, len(n.text))
	if start > end {
		return
	}
	found := subVariable.FindAllStringSubmatchIndex(n.text[start:end], -1)
	if len(found) != len(subVariable.FindAllStringIndex(text.Text, -1)) {
		for _, m := range subVariable.FindAllStringSubmatch(text.Text, -1) {
			n.variable(nameUse{start: start, end: end, vague: true}, m[1], own)
		}
		return
	}
	for _, m := range found {
		n.variable(nameUse{start: start + m[2], end: start + m[3]}, n.text[start+m[2]:start+m[3]], own)
	}
}

func (n *names) variable(u nameUse, text string, own *document.Value) {
	if strings.HasPrefix(text, "AWS::") || own.Member(text) != nil {
		return
	}
	u.kind = valueName
	u.name, u.attribute, _ = strings.Cut(text, ".")
	if u.attribute != "" {
		u.kind = resourceName
		if !u.vague {
			u.attributeEnd = u.end
			u.end = u.start + len(u.name)
			u.attributeStart = u.end + 1
		}
	}
	n.uses = append(n.uses, u)
}

// find returns what a name of a kind declares, nil for an unknown one. A resource in a loop has many names.
func (n *names) find(kind nameKind, name string) *declaredName {
	for _, i := range n.byName[name] {
		if d := &n.declared[i]; d.matches(kind) {
			return d
		}
	}
	for _, i := range n.inLoops {
		if d := &n.declared[i]; d.matches(kind) && d.generates(name) {
			return d
		}
	}
	return nil
}

func (d *declaredName) inLoop() bool { return strings.ContainsAny(d.name, "$&") }

func (d *declaredName) matches(kind nameKind) bool {
	return d.kind == kind || kind == valueName && (d.kind == parameterName || d.kind == resourceName)
}

// loopVariable is a variable in a name: ${Name} or &{Name}.
var loopVariable = lazyregexp.New(`[$&]\{[^}]*\}`)

// generates reports whether a loop can make a name.
func (d *declaredName) generates(name string) bool {
	parts := loopVariable.FindAllStringIndex(d.name, -1)
	if len(parts) > maxFollow || len(d.name) > maxValue {
		return false
	}
	var pattern strings.Builder
	last := 0
	for _, part := range parts {
		pattern.WriteString(regexp.QuoteMeta(d.name[last:part[0]]) + "[A-Za-z0-9]*")
		last = part[1]
	}
	pattern.WriteString(regexp.QuoteMeta(d.name[last:]))
	matched, err := regexp.MatchString("^"+pattern.String()+"$", name)
	return err == nil && matched
}

// useAt is the use whose name, or attribute, is at an offset; nil without one.
func (n *names) useAt(offset int) *nameUse {
	for i := range n.uses {
		if u := &n.uses[i]; u.start <= offset && offset <= max(u.end, u.attributeEnd) {
			return u
		}
	}
	return nil
}

// of lists the names of some kinds, in the order of the template.
func (n *names) of(kinds ...nameKind) []declaredName {
	var out []declaredName
	for _, d := range n.declared {
		if slices.Contains(kinds, d.kind) && d.name != "" {
			out = append(out, d)
		}
	}
	return out
}

// typeOf is the type of a resource, "" for an unknown one.
func (n *names) typeOf(logicalID string) string {
	if d := n.find(resourceName, logicalID); d != nil {
		return typeName(d.member.Value)
	}
	return ""
}

func typeName(resource *document.Value) string {
	if v := resource.Get("Type"); v != nil && v.Kind == document.String {
		return v.Text
	}
	return ""
}

// macros reports whether transforms other than AWS::LanguageExtensions change the template, so that names may be
// used where this package does not see it.
func (n *names) macros() bool {
	v := n.root.Get("Transform")
	if v == nil {
		return false
	}
	listed := []*document.Value{v}
	if v.Kind == document.Array {
		listed = v.Items
	}
	return slices.ContainsFunc(listed, func(item *document.Value) bool { return item.Text != template.LanguageExtensions })
}
