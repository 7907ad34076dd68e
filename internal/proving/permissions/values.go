package permissions

import (
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A reference to a resource of the stack stays visible in an evaluated text as this mark, its logical ID, "." and the
// attribute if there is one, and the mark again.
const mark = "\x01"

// marked answers references with marks.
type marked struct{ of *template.Template }

// Ref implements [template.References].
func (marked) Ref(logicalID string) (any, bool) { return mark + logicalID + mark, true }

// GetAtt implements [template.References].
func (marked) GetAtt(logicalID, attribute string) (any, bool, error) {
	return mark + logicalID + "." + attribute + mark, true, nil
}

// ImportValue implements [template.References].
func (marked) ImportValue(string) (string, bool, error) { return "*", true, nil }

// StackOutput implements [template.References].
func (marked) StackOutput(template.StackOutputRef) (string, bool, error) { return "*", true, nil }

// referred is the logical ID of the resource that a text is a reference to, "" if it is not only that.
func referred(text string) string {
	inner, ok := strings.CutPrefix(text, mark)
	if !ok {
		return ""
	}
	inner, ok = strings.CutSuffix(inner, mark)
	if !ok || strings.Contains(inner, mark) {
		return ""
	}
	logicalID, _, _ := strings.Cut(inner, ".")
	return logicalID
}

// wild is a text with "*" for all that is known only when the resources exist.
func wild(text string) string {
	parts := strings.Split(text, mark)
	for i := range parts {
		if i%2 == 1 {
			parts[i] = "*"
		}
	}
	text = strings.Join(parts, "")
	for strings.Contains(text, "**") {
		text = strings.ReplaceAll(text, "**", "*")
	}
	return text
}

// A leaf is a value of a template that is a text, with the names of the properties that it is in.
type leaf struct {
	path []string
	text string // evaluated, with marks
}

// name is the name of the property that the leaf is in.
func (l leaf) name() string { return l.path[len(l.path)-1] }

// maxLeaves bounds the texts of one resource.
const maxLeaves = 20_000

// leaves are the texts of a resource, through both branches of Fn::If: a condition may depend on values that are not known.
func leaves(scope *template.Scope, r *template.Resource) (out []leaf) {
	refs := marked{scope.Template()}
	var walk func(v *document.Value, path []string)
	add := func(value any, path []string) {
		eachText(value, func(text string) {
			if len(out) < maxLeaves {
				out = append(out, leaf{slices.Clone(path), text})
			}
		})
	}
	walk = func(v *document.Value, path []string) {
		if v == nil || len(out) >= maxLeaves {
			return
		}
		switch name := template.FunctionName(v); {
		case name == "Fn::If" && len(v.Members[0].Value.Items) == 3:
			walk(v.Members[0].Value.Items[1], path)
			walk(v.Members[0].Value.Items[2], path)
		case name != "":
			scope.Renew()
			value, err := scope.Evaluate(v, refs, "Resources", r.LogicalID, "Properties")
			if err != nil {
				value = "*"
			}
			add(value, path)
		case v.Kind == document.Object:
			for _, m := range v.Distinct() {
				walk(m.Value, append(path, m.Key))
			}
		case v.Kind == document.Array:
			for _, item := range v.Items {
				walk(item, path)
			}
		case v.Kind == document.String:
			add(v.Text, path)
		}
	}
	for _, m := range r.Properties.Distinct() {
		walk(m.Value, []string{m.Key})
	}
	return out
}

func eachText(value any, f func(string)) {
	if value == template.Unknown {
		f("*")
		return
	}
	switch v := value.(type) {
	case string:
		f(v)
	case []any:
		for _, item := range v {
			eachText(item, f)
		}
	case map[string]any:
		for _, item := range v {
			eachText(item, f)
		}
	}
}
