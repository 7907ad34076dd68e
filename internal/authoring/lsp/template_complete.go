package lsp

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// templateProposals are the completions at a place of a template.
type templateProposals struct {
	*proposals

	c     *templateCursor
	names *names // without what is typed
}

// forTemplate proposes completions for a template or a file of stack tests.
func (p *proposals) forTemplate(c *templateCursor) {
	p.cursor = &c.cursor
	if !c.ok {
		return
	}
	t := &templateProposals{proposals: p, c: c, names: namesOf(c.root, p.d.text())}
	keys, values := t.keys, t.values
	if p.d.role() == stackTestRole {
		keys, values = t.testKeys, t.testValues
	}
	for _, word := range c.others {
		p.seen[word] = true
	}
	if c.key || c.both {
		at := c.container
		if !c.key {
			at = c.pointer()
		}
		keys(at)
	}
	if !c.key {
		values(c.pointer())
	}
}

// keys proposes the keys of an object.
func (t *templateProposals) keys(at document.Pointer) {
	outer := unwrapLoops(at)
	for _, w := range keysAt(outer) {
		t.addTemplateKey(proposal{label: w.name, kind: itemKeyword, text: plainMarkdown(w.text)}, w.tail)
	}
	if logicalID, tokens, ok := propertyTokens(at); ok {
		t.properties(logicalID, tokens)
	}
	if t.c.key && !t.c.colon && len(t.c.others) > 1 || !takesFunctions(outer) {
		return
	}
	for _, w := range t.functions(outer) {
		t.addTemplateKey(proposal{label: w.name, rank: 5, kind: itemFunction, text: plainMarkdown(w.text)}, w.tail)
	}
}

// takesFunctions reports whether a value of the template language may be a function.
func takesFunctions(at document.Pointer) bool {
	switch {
	case len(at) < 2:
		return false
	case at[0] == "Outputs":
		return len(at) > 2 && (at[2] == "Value" || at[2] == "Export" && len(at) > 3)
	case at[0] == "Resources":
		return len(at) > 3 && (at[2] == "Properties" || at[2] == "Metadata" || at[2] == "CreationPolicy" || at[2] == "UpdatePolicy")
	case at[0] == "Rules":
		return len(at) > 2 && at[2] == "RuleCondition" || len(at) > 4 && at[4] == "Assert"
	}
	return at[0] == "Conditions"
}

func (t *templateProposals) functions(at document.Pointer) []term {
	if !inConditions(at) {
		return functionTerms
	}
	out := slices.Clone(conditionTerms)
	for _, name := range []string{"Ref", "Fn::FindInMap", "Fn::If", "Fn::Sub", "Fn::Join", "Fn::Select", "Fn::Split"} {
		out = append(out, *functionTerm(name))
	}
	return out
}

// properties proposes the properties that a type declares at a place, required ones first, without read-only ones.
func (t *templateProposals) properties(logicalID string, tokens document.Pointer) {
	s := t.server.typeShape(t.d, t.names.typeOf(logicalID))
	if s == nil {
		return
	}
	for _, c := range s.below(tokens) {
		at := tokens.Append(c.name)
		if c.member == nil || s.schema != nil && s.schema.IsReadOnly(at) && !s.schema.IsCreateOnly(at) {
			continue
		}
		q := proposal{label: c.name, rank: 1, kind: itemProperty, detail: s.words(c.node), text: describeText(c.node)}
		if slices.Contains(c.parent.Get("required").Strings(), c.name) {
			q.rank, q.detail = 0, strings.TrimSuffix("required; "+q.detail, "; ")
		}
		if s.schema != nil && s.schema.IsDeprecated(at) {
			q.rank, q.detail = 3, strings.TrimSuffix("deprecated; "+q.detail, "; ")
		}
		t.addTemplateKey(q, opening(s.resolve(c.node)))
	}
}

// opening is what the value of a property starts with.
func opening(node *document.Value) string {
	switch types := typesOf(node); {
	case len(types) != 1:
	case types[0] == "object":
		return "{"
	case types[0] == "array":
		return "["
	}
	return ""
}

// values proposes values at a place.
func (t *templateProposals) values(at document.Pointer) {
	switch {
	case t.c.tag:
		t.tags(unwrapLoops(at))
		return
	case t.c.sub:
		t.variables()
		return
	}
	if t.arguments(at) {
		return
	}
	outer := unwrapLoops(at)
	t.fixed(outer)
	if logicalID, tokens, ok := propertyTokens(at); ok && len(tokens) > 0 {
		t.schemaValues(logicalID, tokens)
	}
	if takesFunctions(outer) && !t.c.quoted {
		t.tags(outer)
	}
}

// arguments proposes the names that a function takes at a place, and reports whether it is one of their places.
func (t *templateProposals) arguments(at document.Pointer) bool {
	n := len(at)
	last, before := at[n-1], ""
	if n > 1 {
		before = at[n-2]
	}
	if _, inside, ok := propertyTokens(at); ok && len(inside) > 0 && last == "Condition" {
		return false // of a policy
	}
	switch {
	case last == "Ref":
		t.references(inConditions(at))
	case last == "Fn::GetAtt":
		t.attributes("")
	case before == "Fn::GetAtt" && last == "0":
		t.declared(itemClass, resourceName)
	case before == "Fn::GetAtt" && last == "1" && len(t.c.others) > 0:
		for _, name := range t.attributesOf(t.c.others[0]) {
			t.addText(proposal{label: name, kind: itemField, detail: "attribute of " + t.c.others[0]})
		}
	case before == "Fn::If" && last == "0", last == "Condition":
		t.declared(itemEvent, conditionName)
	case before == "Fn::FindInMap" && last == "0":
		t.declared(itemVariable, mappingName)
	case before == "Fn::FindInMap" && (last == "1" || last == "2"):
		t.mappingKeys(last == "2")
	case last == "DependsOn", before == "DependsOn":
		t.seen[at[1]] = true // a resource cannot depend on itself
		t.declared(itemClass, resourceName)
	default:
		return false
	}
	return true
}

// declared proposes the names that the template declares.
func (t *templateProposals) declared(kind int, kinds ...nameKind) {
	for _, d := range t.names.of(kinds...) {
		if !d.inLoop() && !(t.c.array && t.seen[d.name]) && !(d.kind == resourceName && t.seen[d.name] && kind == itemClass) {
			t.addText(proposal{label: d.name, kind: kind, detail: t.detail(&d)})
		}
	}
}

// detail is the type of what a name declares.
func (t *templateProposals) detail(d *declaredName) string {
	switch d.kind {
	case parameterName:
		return "parameter " + typeName(d.member.Value)
	case resourceName:
		return typeName(d.member.Value)
	case conditionName:
		return "condition"
	}
	return "mapping"
}

// references proposes what Ref can name.
func (t *templateProposals) references(conditions bool) {
	for _, d := range t.names.of(parameterName, resourceName) {
		if d.inLoop() || conditions && d.kind == resourceName {
			continue
		}
		kind := itemVariable
		if d.kind == resourceName {
			kind = itemClass
		}
		t.addText(proposal{label: d.name, kind: kind, detail: t.detail(&d)})
	}
	for _, w := range pseudoTerms {
		t.addText(proposal{label: w.name, rank: 2, kind: itemValue, text: plainMarkdown(w.text)})
	}
}

// attributesOf are the attributes of a resource.
func (t *templateProposals) attributesOf(logicalID string) []string {
	return t.server.typeShape(t.d, t.names.typeOf(logicalID)).attributes()
}

// attributes proposes LogicalId.Attribute: with a dot the attributes of one resource, else those of all.
func (t *templateProposals) attributes(prefix string) {
	typed, _, dotted := strings.Cut(t.c.text, ".")
	for _, d := range t.names.of(resourceName) {
		if d.inLoop() || dotted && d.name != typed {
			continue
		}
		for _, name := range t.attributesOf(d.name) {
			t.addText(proposal{label: prefix + d.name + "." + name, kind: itemField, rank: 1, detail: "attribute of " + t.detail(&d)})
		}
	}
	t.incomplete = t.incomplete || !dotted
}

// variables proposes what ${} can name.
func (t *templateProposals) variables() {
	if own := t.c.root.Lookup(t.c.container); own != nil && t.c.array && len(own.Items) > 1 {
		for _, m := range own.Items[1].Members {
			t.addText(proposal{label: m.Key, kind: itemVariable, detail: "variable of Fn::Sub"})
		}
	}
	if !strings.Contains(t.c.text, ".") {
		t.references(inConditions(t.c.container))
	}
	if !inConditions(t.c.container) {
		t.attributes("")
	}
}

// mappingKeys proposes the first or second keys of the mapping of Fn::FindInMap.
func (t *templateProposals) mappingKeys(second bool) {
	if len(t.c.others) == 0 {
		return
	}
	d := t.names.find(mappingName, t.c.others[0])
	if d == nil {
		return
	}
	add := func(m document.Member) { t.addText(proposal{label: m.Key, kind: itemValue, detail: d.name}) }
	done := map[string]bool{}
	for _, m := range d.member.Value.Members {
		if !second {
			add(m)
			continue
		}
		for _, inner := range m.Value.Members {
			if !done[inner.Key] {
				done[inner.Key] = true
				add(inner)
			}
		}
	}
}

// fixed proposes the values of keys of the template language.
func (t *templateProposals) fixed(at document.Pointer) {
	if len(at) == 0 {
		return
	}
	key := at[0]
	if len(at) == 3 {
		key += " " + at[2]
	}
	switch {
	case key == "Resources Type":
		t.types()
	case key == "Parameters Type":
		for _, name := range template.ParameterTypes() {
			t.addText(proposal{label: name, kind: itemValue})
		}
	case key == "Parameters Default" && t.names.root != nil:
		if allowed := t.names.root.Lookup(at[:2].Append("AllowedValues")); allowed != nil {
			for _, item := range allowed.Items {
				t.addJSON(string(item.AppendJSON(nil)), "")
			}
		}
	case len(at) == 1 || len(at) == 3 || len(at) == 2 && at[0] == "Transform":
		for _, value := range fixedValues[key] {
			if value == "true" || value == "false" {
				t.addJSON(value, "")
			} else {
				t.addText(proposal{label: value, kind: itemEnum})
			}
		}
	}
}

// types proposes the modules and resource types whose names contain what is typed.
func (t *templateProposals) types() {
	typed := strings.ToLower(t.c.text)
	fits := func(name string) bool { return strings.Contains(strings.ToLower(name), typed) }
	for _, name := range slices.Sorted(maps.Keys(t.server.workspace.fragments(t.d.file))) {
		if fits(name) {
			t.addText(proposal{label: name, kind: itemModule, detail: "module"})
		}
	}
	all := t.server.workspace.names()
	for rank, prefix := range []string{"", "AWS::"} { // private types first
		for _, name := range all {
			if strings.HasPrefix(name, "AWS::") == (prefix != "") && fits(name) {
				t.addText(proposal{label: name, kind: itemClass, rank: rank})
			}
		}
	}
	t.incomplete = true
}

// schemaValues proposes the values that a schema names.
func (t *templateProposals) schemaValues(logicalID string, tokens document.Pointer) {
	s := t.server.typeShape(t.d, t.names.typeOf(logicalID))
	if s == nil {
		return
	}
	found, _ := s.find(tokens)
	if found == nil {
		return
	}
	for _, node := range s.expand(found.node) {
		words := enumeration(node)
		if v := node.Get("default"); v != nil {
			words = append(words, string(v.AppendJSON(nil)))
		}
		if v := node.Get("examples"); v != nil {
			for _, item := range v.Items {
				words = append(words, string(item.AppendJSON(nil)))
			}
		}
		for i, word := range words {
			if !slices.Contains(words[:i], word) && len(word) <= maxValue && word != "" && word[0] != '{' && word[0] != '[' {
				t.addJSON(word, s.words(node))
			}
		}
	}
}

// tags proposes functions: short forms in YAML, but not after a short form; objects in JSON.
func (t *templateProposals) tags(at document.Pointer) {
	if t.c.tagged {
		return
	}
	short := map[string]string{}
	for _, tag := range template.ShortNames() {
		short[template.LongName(tag)] = tag
	}
	for _, w := range t.functions(at) {
		q := proposal{label: w.name, rank: 5, kind: itemFunction, text: plainMarkdown(w.text)}
		switch tag := short[w.name]; {
		case !t.c.yaml && t.server.client.TextDocument.Completion.CompletionItem.SnippetSupport && !t.c.quoted:
			t.addSnippet(q, `{"`+w.name+`": `+map[string]string{"[": "[$0]", "{": "{$0}", "get": `["$0"]`, "": `"$0"`}[w.tail]+"}")
		case t.c.yaml && tag != "":
			q.label = tag
			t.addSnippet(q, tag+" ")
		}
	}
}

// addText proposes a text as a value.
func (t *templateProposals) addText(q proposal) {
	literal := quote(q.label)
	switch {
	case t.c.sub:
		literal = q.label
	case t.c.yaml && !t.c.quoted:
		literal = yamlScalar(q.label, true)
	}
	if q.detail != "" && q.label == q.detail {
		q.detail = ""
	}
	t.add(q, literal, "")
}

// addJSON proposes a value that is written as JSON.
func (t *templateProposals) addJSON(literal, detail string) {
	var text string
	if json.Unmarshal([]byte(literal), &text) == nil {
		t.addText(proposal{label: text, kind: itemEnum, detail: detail})
		return
	}
	if t.c.quoted {
		return
	}
	t.add(proposal{label: literal, kind: itemEnum, detail: detail}, literal, "")
}

// plainYAML are texts that need no quotes in YAML.
var plainYAML = lazyregexp.New(`^[A-Za-z_./][A-Za-z0-9_./@+-]*(:[A-Za-z0-9_./@+:-]+)*$|^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)

// yamlScalar writes a text in YAML, with quotes where it would be something else without them.
func yamlScalar(text string, value bool) string {
	v := parseYAML("k: " + text).Get("k")
	strict, problems := template.ReadYAML("", []byte("k: "+text), document.Limits{})
	isText := plainYAML.MatchString(text) && v != nil && v.Kind == document.String && len(problems) == 0 && strict.Get("k") != nil && strict.Get("k").Kind == document.String
	if isText || !value && plainYAML.MatchString(text) {
		return text
	}
	return quote(text)
}

// addTemplateKey proposes a key that the object does not have.
func (t *templateProposals) addTemplateKey(q proposal, opening string) {
	if t.seen[q.label] {
		return
	}
	if !t.c.yaml {
		q.value = map[string]string{"{": "{$0}", "[": "[$0]", "get": `["$0"]`}[opening]
		if q.value == "" {
			q.value = "$0"
		}
		t.addKey(q)
		return
	}
	tail := ""
	if !t.c.colon {
		tail = ": "
		if space := "\n" + strings.Repeat(" ", t.c.indent+2); t.asIs() && !t.c.quoted {
			switch opening {
			case "{":
				tail = ":" + space + "$0"
			case "[":
				tail = ":" + space + "- $0"
			}
		}
	}
	literal := yamlScalar(q.label, false)
	if t.c.quoted {
		literal = quote(q.label)
	}
	switch {
	case tail == ": " || tail == "":
		t.addSnippet(q, literal+tail)
	default:
		t.add(q, literal, tail)
	}
}

// asIs reports whether the client inserts lines as they are.
func (t *templateProposals) asIs() bool {
	client := &t.server.client.TextDocument.Completion.CompletionItem
	return client.SnippetSupport && slices.Contains(client.InsertTextMode.ValueSet, 1)
}

// addSnippet proposes a text that is complete: a snippet if it contains $0, else plain text.
func (t *templateProposals) addSnippet(q proposal, text string) {
	if len(t.items) >= maxItems {
		t.incomplete = true
		return
	}
	before := len(t.items)
	t.add(q, text, "")
	if len(t.items) > before && strings.Contains(text, "$0") {
		t.items[before].InsertTextFormat = formatSnippet
	}
	if len(t.items) > before {
		t.items[before].FilterText = q.label
	}
}
