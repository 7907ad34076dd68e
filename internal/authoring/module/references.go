package module

import (
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// references looks for names that the fragment does not declare: in Ref, Fn::GetAtt, Fn::Sub,
// DependsOn and conditions. CloudFormation then rejects every template that uses the module,
// so they are reported here; the official tool leaves it to cfn-lint.
func (c *fragmentCheck) references() {
	r := &referenceCheck{fragmentCheck: c}
	for _, section := range []struct {
		name  string
		names *[]string
	}{{"Parameters", &r.parameters}, {"Resources", &r.resources}, {"Conditions", &r.conditions}} {
		value := c.root.Get(section.name)
		if value == nil || value.Kind != document.Object {
			continue
		}
		for _, m := range value.Members {
			*section.names = append(*section.names, m.Key)
		}
	}
	for _, m := range c.root.Get("Resources").Distinct() {
		at := document.Pointer{"Resources", m.Key}
		r.names(m.Value.Get("DependsOn"), at.Append("DependsOn"))
		if condition := m.Value.Member("Condition"); condition != nil {
			r.condition(condition.Value, at.Append("Condition"))
		}
		for _, key := range []string{"Properties", "Metadata", "UpdatePolicy", "CreationPolicy"} {
			r.walk(m.Value.Get(key), at.Append(key))
		}
	}
	r.walk(c.root.Get("Conditions"), document.Pointer{"Conditions"})
	for _, m := range c.root.Get("Outputs").Distinct() {
		if condition := m.Value.Member("Condition"); condition != nil {
			r.condition(condition.Value, document.Pointer{"Outputs", m.Key, "Condition"})
		}
		r.walk(m.Value.Get("Value"), document.Pointer{"Outputs", m.Key, "Value"})
	}
}

type referenceCheck struct {
	*fragmentCheck
	parameters, resources, conditions []string
}

// walk visits the functions of a value.
func (r *referenceCheck) walk(v *document.Value, at document.Pointer) {
	if v == nil {
		return
	}
	for i, item := range v.Items {
		r.walk(item, at.Append(fmt.Sprint(i)))
	}
	single := len(v.Members) == 1 // a function is the only key
	for _, m := range v.Members {
		below := at.Append(m.Key)
		switch {
		case single && m.Key == "Ref":
			r.known(m.Value, below, "Ref", m.Value.Text, append(r.parameters[:len(r.parameters):len(r.parameters)], r.resources...))
		case single && m.Key == "Fn::GetAtt":
			r.getAtt(m.Value, below)
		case single && m.Key == "Fn::Sub":
			r.sub(m.Value, below)
		case single && m.Key == "Condition" && m.Value.Kind == document.String:
			r.condition(m.Value, below)
		case single && m.Key == "Fn::If" && len(m.Value.Items) > 0:
			r.condition(m.Value.Items[0], below.Append("0"))
		}
		r.walk(m.Value, below)
	}
}

// known reports a text that is not one of the names.
func (r *referenceCheck) known(v *document.Value, at document.Pointer, function, name string, names []string) {
	if v.Kind != document.String && v.Kind != document.Array || strings.HasPrefix(name, "AWS::") {
		return
	}
	for _, known := range names {
		if known == name || strings.HasPrefix(name, known+".") {
			return // a dot leads into a module
		}
	}
	hint := words.DidYouMean(name, names)
	if hint == "" {
		hint = "declare it in the fragment, or take it as a parameter"
	}
	r.problems.Add(diag.Problem{
		ID: "module/ref-unresolved", Severity: diag.Warning, At: v.At, Pointer: at.String(), Hint: hint,
		Message: fmt.Sprintf("%s refers to %q, which the fragment does not declare", function, diag.Cut(name)),
	})
}

func (r *referenceCheck) condition(v *document.Value, at document.Pointer) {
	if v.Kind == document.String {
		r.known(v, at, "the condition", v.Text, r.conditions)
	}
}

// names looks at a name or a list of names of resources.
func (r *referenceCheck) names(v *document.Value, at document.Pointer) {
	switch {
	case v == nil:
	case v.Kind == document.String:
		r.known(v, at, "DependsOn", v.Text, r.resources)
	default:
		for i, item := range v.Items {
			if item.Kind == document.String {
				r.known(item, at.Append(fmt.Sprint(i)), "DependsOn", item.Text, r.resources)
			}
		}
	}
}

func (r *referenceCheck) getAtt(v *document.Value, at document.Pointer) {
	switch {
	case v.Kind == document.String:
		name, _, _ := strings.Cut(v.Text, ".")
		r.known(v, at, "Fn::GetAtt", name, r.resources)
	case len(v.Items) > 0 && v.Items[0].Kind == document.String:
		r.known(v.Items[0], at.Append("0"), "Fn::GetAtt", v.Items[0].Text, r.resources)
	}
}

// substituted finds the names in a text of Fn::Sub; ${!Name} is a literal.
var substituted = lazyregexp.New(`\$\{([^!}][^}]*)\}`)

func (r *referenceCheck) sub(v *document.Value, at document.Pointer) {
	names := append(r.parameters[:len(r.parameters):len(r.parameters)], r.resources...)
	text := v
	if v.Kind == document.Array && len(v.Items) > 0 {
		text = v.Items[0]
		if len(v.Items) > 1 {
			for _, m := range v.Items[1].Members {
				names = append(names, m.Key)
			}
		}
	}
	if text.Kind != document.String {
		return
	}
	for _, m := range substituted.FindAllStringSubmatch(text.Text, -1) {
		name := strings.TrimSpace(m[1])
		if i := strings.IndexByte(name, '.'); i > 0 {
			name = name[:i]
		}
		r.known(text, at, "Fn::Sub", name, names)
	}
}
