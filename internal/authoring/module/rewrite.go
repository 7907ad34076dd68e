package module

import (
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A rewriter copies values with other names in them. It has two uses: with u set, the names of what
// is in a module become those of the expanded resources, as "Module.Resource" becomes
// "ModuleResource". With prefix set, everything that a fragment declares gets the prefix, and its
// parameters are replaced by their values.
type rewriter struct {
	e *expander

	u *unit

	prefix     string
	parameters map[string]*document.Value
	mappings   map[string]bool // of the fragment
}

// prefixed is a member under the prefix.
func (w *rewriter) prefixed(m document.Member, value *document.Value) document.Member {
	return document.Member{Key: w.prefix + m.Key, KeyAt: m.KeyAt, Value: value}
}

// entry rewrites a resource or an output.
func (w *rewriter) entry(v *document.Value) *document.Value {
	if v.Kind != document.Object {
		return v
	}
	out := &document.Value{Kind: document.Object, At: v.At}
	for _, m := range v.Distinct() {
		switch m.Key {
		case "Type", "Description":
		case "DependsOn":
			m.Value = w.dependsOn(m.Value)
		case "Condition":
			m.Value = w.named(m.Value)
		default:
			m.Value = w.walk(m.Value, false)
		}
		out.Members = append(out.Members, m)
	}
	return out
}

// named is the name of a condition or a mapping.
func (w *rewriter) named(v *document.Value) *document.Value {
	if v.Kind != document.String || w.prefix == "" {
		return v
	}
	w.e.spend(template.ShallowCost(v)+len(w.prefix)+len(v.Text), v.At)
	return textAt(w.prefix+v.Text, v.At)
}

func (w *rewriter) dependsOn(v *document.Value) *document.Value {
	switch {
	case v.Kind == document.String:
		ids := w.group(v)
		if len(ids) == 1 {
			return ids[0]
		}
		return &document.Value{Kind: document.Array, At: v.At, Items: ids}
	case v.Kind != document.Array:
		return v
	}
	out := &document.Value{Kind: document.Array, At: v.At, Items: []*document.Value{}}
	seen := map[string]bool{}
	for _, item := range v.Items {
		for _, id := range w.group(item) {
			if id.Kind == document.String && seen[id.Text] {
				continue
			}
			seen[id.Text] = true
			out.Items = append(out.Items, id)
		}
	}
	return out
}

// group are the resources that a name in DependsOn stands for: all of a module.
func (w *rewriter) group(v *document.Value) []*document.Value {
	if v.Kind != document.String {
		return []*document.Value{v}
	}
	w.e.spend(template.ShallowCost(v)+len(v.Text)+len(w.prefix), v.At)
	if w.u == nil {
		return []*document.Value{textAt(w.prefix+v.Text, v.At)}
	}
	ids, ok := w.u.groups[strings.ReplaceAll(v.Text, ".", "")]
	if _, resource := w.u.from[v.Text]; !ok || resource || w.u.own[v.Text] {
		id, _ := w.u.resolve(v.Text, true)
		return []*document.Value{textAt(id, v.At)}
	}
	out := make([]*document.Value, 0, len(ids))
	for _, id := range ids {
		w.e.spend(template.ShallowCost(v)+len(id), v.At)
		out = append(out, textAt(id, v.At))
	}
	return out
}

// resolve splits a name with dots into the logical ID of a resource and an attribute. A name that
// leads into no module is its own. whole means that there must be no attribute.
func (u *unit) resolve(name string, whole bool) (id, attribute string) {
	parts := strings.Split(name, ".")
	if len(parts) == 1 {
		return name, ""
	}
	for n := 2; n <= len(parts); n++ {
		id := strings.Join(parts[:n], "")
		if _, ok := u.from[id]; ok && (!whole || n == len(parts)) {
			return id, strings.Join(parts[n:], ".")
		}
	}
	if whole {
		return name, ""
	}
	return parts[0], strings.Join(parts[1:], ".")
}

// walk rewrites a value. Condition is a function only in the section Conditions.
func (w *rewriter) walk(v *document.Value, conditions bool) *document.Value {
	if w.e.spend(template.ShallowCost(v)+len(v.Text), v.At); w.e.exceeded != nil {
		return v
	}
	switch v.Kind {
	case document.Array:
		return w.items(v, conditions)
	case document.Object:
	default:
		return v
	}
	if len(v.Members) == 1 {
		if out := w.call(v, v.Members[0], conditions); out != nil {
			return out
		}
	}
	out := &document.Value{Kind: document.Object, At: v.At, Members: make([]document.Member, 0, len(v.Members))}
	for _, m := range v.Distinct() {
		w.e.spend(len(m.Key), m.KeyAt)
		m.Value = w.walk(m.Value, conditions)
		out.Members = append(out.Members, m)
	}
	return out
}

func (w *rewriter) items(v *document.Value, conditions bool) *document.Value {
	out := &document.Value{Kind: document.Array, At: v.At, Items: make([]*document.Value, 0, len(v.Items))}
	for _, item := range v.Items {
		out.Items = append(out.Items, w.walk(item, conditions))
	}
	return out
}

// call rewrites a function that has names as arguments; it is nil for other values.
func (w *rewriter) call(v *document.Value, m document.Member, conditions bool) *document.Value {
	arg := m.Value
	same := func(arg *document.Value) *document.Value {
		return &document.Value{Kind: document.Object, At: v.At, Members: []document.Member{{Key: m.Key, KeyAt: m.KeyAt, Value: arg}}}
	}
	switch {
	case m.Key == "Ref" && arg.Kind == document.String:
		if value := w.parameters[arg.Text]; value != nil {
			w.e.spend(w.e.size(value), arg.At)
			return value
		}
		return same(textAt(w.id(arg.Text), arg.At))
	case m.Key == "Fn::GetAtt":
		return same(w.getAtt(arg, conditions))
	case m.Key == "Fn::Sub":
		return same(w.sub(arg, conditions))
	case m.Key == "Condition" && conditions:
		return same(w.named(arg))
	case m.Key == "Fn::If" && arg.Kind == document.Array && len(arg.Items) > 0:
		out := w.items(arg, conditions)
		out.Items[0] = w.named(arg.Items[0])
		return same(out)
	case m.Key == "Fn::FindInMap" && arg.Kind == document.Array && len(arg.Items) > 0:
		out := w.items(arg, conditions)
		// The name may be the value of a parameter, and is then that of a mapping here.
		if name := out.Items[0]; arg.Items[0].Kind == document.String || name.Kind == document.String && w.mappings[name.Text] {
			out.Items[0] = w.named(name)
		}
		return same(out)
	}
	return nil
}

// id is the name that Ref has for a resource.
func (w *rewriter) id(name string) string {
	switch {
	case strings.Contains(name, "::"):
		return name // a pseudo parameter
	case w.u != nil:
		id, _ := w.u.resolve(name, true)
		return id
	}
	return w.prefix + name
}

// attribute is a name with an attribute as Fn::GetAtt and Fn::Sub have them.
func (w *rewriter) attribute(name string) (id, attribute string) {
	if w.u != nil {
		return w.u.resolve(name, false)
	}
	id, attribute, _ = strings.Cut(name, ".")
	return w.prefix + id, attribute
}

func (w *rewriter) getAtt(arg *document.Value, conditions bool) *document.Value {
	if arg.Kind == document.String {
		id, attribute := w.attribute(arg.Text)
		return textAt(id+"."+attribute, arg.At)
	}
	if arg.Kind != document.Array || len(arg.Items) == 0 || arg.Items[0].Kind != document.String {
		return w.walk(arg, conditions)
	}
	texts := make([]string, 0, len(arg.Items))
	for _, item := range arg.Items {
		if item.Kind != document.String { // a function says which attribute
			out := w.items(arg, conditions)
			out.Items[0] = textAt(w.id(arg.Items[0].Text), arg.Items[0].At)
			return out
		}
		texts = append(texts, item.Text)
	}
	id, attribute := w.attribute(strings.Join(texts, "."))
	w.e.spend(len(id)+len(attribute), arg.At)
	out := &document.Value{Kind: document.Array, At: arg.At, Items: []*document.Value{textAt(id, arg.Items[0].At)}}
	if attribute != "" {
		out.Items = append(out.Items, textAt(attribute, arg.Items[len(arg.Items)-1].At))
	}
	return out
}

// sub rewrites the argument of Fn::Sub. The value of a parameter goes into the text where it can,
// else it becomes a variable.
func (w *rewriter) sub(arg *document.Value, conditions bool) *document.Value {
	s := &substitution{w: w, taken: map[string]bool{}, keys: map[string]string{}}
	text := arg
	if arg.Kind == document.Array && len(arg.Items) > 0 {
		text = arg.Items[0]
		if len(arg.Items) > 1 {
			variables := w.walk(arg.Items[1], conditions)
			if variables.Kind != document.Object || len(arg.Items) > 2 {
				return w.items(arg, conditions)
			}
			s.variables = variables.Members
		}
	}
	if text.Kind != document.String {
		return w.walk(arg, conditions)
	}
	return s.run(arg, text)
}

// A substitution is one Fn::Sub that is rewritten.
type substitution struct {
	w         *rewriter
	variables []document.Member
	taken     map[string]bool   // names in the text that are no variables
	keys      map[string]string // of new variables, by the name that they replace
}

func (s *substitution) run(arg, text *document.Value) *document.Value {
	for _, m := range s.variables {
		s.keys[m.Key] = m.Key
	}
	// Names of variables are chosen when all names in the text are known.
	size := template.ShallowCost(arg) + len(text.Text)
	eachVariable(text.Text, func(name string) string {
		if _, variable := s.keys[name]; !variable {
			if inline, ok := s.inline(name, text.At); ok {
				s.taken[inline] = true
				size += len(inline)
			}
		}
		return ""
	})
	if s.w.e.spend(size, text.At); s.w.e.exceeded != nil {
		return arg
	}
	replaced := eachVariable(text.Text, func(name string) string {
		if key, ok := s.keys[name]; ok {
			return "${" + key + "}"
		}
		if inline, ok := s.inline(name, text.At); ok && !s.isVariable(inline) {
			return inline
		}
		return "${" + s.variable(name, text.At) + "}"
	})
	out := textAt(replaced, text.At)
	if len(s.variables) == 0 {
		return out
	}
	return &document.Value{Kind: document.Array, At: arg.At, Items: []*document.Value{
		out, {Kind: document.Object, At: arg.At, Members: s.variables},
	}}
}

// isVariable reports whether a piece of text would name one of the variables.
func (s *substitution) isVariable(piece string) bool {
	for _, m := range s.variables {
		if piece == "${"+m.Key+"}" {
			return true
		}
	}
	return false
}

// inline returns what replaces a name in the text: another name, or the value itself.
func (s *substitution) inline(name string, at diag.Range) (string, bool) {
	w := s.w
	value := w.parameters[name]
	switch {
	case value == nil && strings.Contains(name, "."):
		id, attribute := w.attribute(name)
		if attribute != "" {
			id += "." + attribute
		}
		return "${" + id + "}", true
	case value == nil:
		return "${" + w.id(name) + "}", true
	case value.Kind == document.Bool:
		return fmt.Sprint(value.Bool), true
	case value.Kind == document.String || value.Kind == document.Number:
		return value.Text, !strings.ContainsAny(value.Text, "${")
	}
	if ref, ok := refOf(value); ok {
		return "${" + ref + "}", true
	}
	if len(value.Members) == 1 && value.Members[0].Key == "Fn::GetAtt" {
		if parts := value.Members[0].Value.Strings(); len(parts) == 2 && len(value.Members[0].Value.Items) == 2 {
			return "${" + parts[0] + "." + parts[1] + "}", true
		}
	}
	return "", false
}

// refOf returns the name in a Ref.
func refOf(v *document.Value) (string, bool) {
	if v.Kind != document.Object || len(v.Members) != 1 || v.Members[0].Key != "Ref" || v.Members[0].Value.Kind != document.String {
		return "", false
	}
	return v.Members[0].Value.Text, true
}

// variable makes a variable of Fn::Sub for what cannot be written into the text.
func (s *substitution) variable(name string, at diag.Range) string {
	value := s.w.parameters[name]
	if value == nil {
		value = call("Ref", textAt(s.w.id(name), at))
	}
	s.w.e.spend(s.w.e.size(value), at)
	key := name
	for n := 2; s.isVariable("${"+key+"}") || s.taken["${"+key+"}"]; n++ {
		key = fmt.Sprintf("%s%d", name, n)
	}
	s.keys[name] = key
	s.variables = append(s.variables[:len(s.variables):len(s.variables)], document.Member{Key: key, KeyAt: at, Value: value})
	return key
}

// eachVariable replaces the ${Name} in a text of Fn::Sub; ${!Name} is a literal.
func eachVariable(text string, replace func(name string) string) string {
	var b strings.Builder
	for {
		start := strings.Index(text, "${")
		if start < 0 {
			break
		}
		length := strings.IndexByte(text[start:], '}')
		if length < 0 {
			break
		}
		b.WriteString(text[:start])
		if name := text[start+2 : start+length]; strings.HasPrefix(name, "!") {
			b.WriteString(text[start : start+length+1])
		} else {
			b.WriteString(replace(strings.TrimSpace(name)))
		}
		text = text[start+length+1:]
	}
	b.WriteString(text)
	return b.String()
}
