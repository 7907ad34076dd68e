package template

import (
	"slices"
	"strconv"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A Place is where a part of an evaluated value is written.
type Place struct {
	Value *document.Value // a function if the part, or what it is in, is the result of one
	Key   diag.Range      // of the key of the value; the zero Range at the top and of items of lists

	// Inside reports whether the part is inside of the result of Value, which is a function.
	Inside bool

	// Branch reports whether the value of the key is Fn::If, and Value the branch that was taken.
	Branch bool
}

// Locate finds the place of a part of an evaluated value: through the branches of Fn::If that were taken,
// and without the items that AWS::NoValue removed. Value is nil for a part that is not written.
func (s *Scope) Locate(v *document.Value, part document.Pointer) Place {
	place := Place{Value: s.taken(v)}
	for _, token := range part {
		switch {
		case place.Value == nil || place.Inside:
			return place
		case FunctionName(place.Value) != "":
			place.Inside = true
			return place
		case place.Value.Kind == document.Object:
			m := place.Value.Member(token)
			if m == nil {
				return Place{Key: place.Key}
			}
			place.Value, place.Key = s.taken(m.Value), m.KeyAt
			place.Branch = place.Value != m.Value
		case place.Value.Kind == document.Array:
			place = Place{Value: s.item(place.Value, token)}
		default:
			return Place{Key: place.Key}
		}
	}
	return place
}

// taken follows the branches of Fn::If.
func (s *Scope) taken(v *document.Value) *document.Value {
	for v != nil {
		f, ok := callOf(v, false)
		if !ok || f.name != "Fn::If" {
			return v
		}
		args, ok := arguments(f.arg, 3, 3)
		if !ok || args[0].Kind != document.String {
			return v
		}
		v = args[s.branch(args[0].Text)]
	}
	return nil
}

// item finds an item of a list by its index in the evaluated list.
func (s *Scope) item(v *document.Value, token string) *document.Value {
	index, err := strconv.Atoi(token)
	if err != nil {
		return nil
	}
	for _, item := range v.Items {
		item = s.taken(item)
		if f, ok := callOf(item, false); ok && f.name == "Ref" && f.arg.Text == "AWS::NoValue" {
			continue
		}
		if index == 0 {
			return item
		}
		index--
	}
	return nil
}

// Hidden reports whether a value depends on a NoEcho parameter.
func (s *Scope) Hidden(v *document.Value) bool { return v != nil && s.hidden(v) }

// An AttributeUse is a reference to an attribute that is written out.
type AttributeUse struct {
	LogicalID, Attribute string
	At                   diag.Range
	Path                 document.Pointer // /Resources/A/Properties/B/Fn::GetAtt
}

// AttributeUses returns the references to attributes in resources and outputs, through all branches.
func (t *Template) AttributeUses() []AttributeUse {
	var out []AttributeUse
	add := func(v *document.Value, at ...string) {
		if v == nil {
			return
		}
		eachReference(v, func(ref reference) {
			if ref.kind == refersToAttribute && ref.attribute != "" {
				out = append(out, AttributeUse{ref.name, ref.attribute, ref.at.At, append(append(document.Pointer(at).Append(), ref.path...), "Fn::GetAtt")})
			}
		})
	}
	for _, r := range t.Resources {
		for _, part := range r.parts() {
			add(part.value, "Resources", r.LogicalID, part.name)
		}
	}
	for _, o := range t.Outputs {
		add(o.Value, "Outputs", o.Name, "Value")
	}
	return out
}

// Uses are the names that a resource or an output uses, through all branches.
type Uses struct{ Conditions, Parameters []string }

// ResourceUses returns what the properties of a resource, and its existence, depend on.
func (t *Template) ResourceUses(r *Resource) Uses { return t.uses(r.Properties, r.Condition) }

// OutputUses returns what the value of an output, and its existence, depend on.
func (t *Template) OutputUses(o *Output) Uses { return t.uses(o.Value, o.Condition) }

func (t *Template) uses(v *document.Value, condition string) (out Uses) {
	if condition != "" {
		out.Conditions = append(out.Conditions, condition)
	}
	if v != nil {
		eachReference(v, func(ref reference) {
			switch {
			case ref.kind == refersToCondition:
				out.Conditions = appendNew(out.Conditions, ref.name)
			case ref.kind == refersTo && t.parameters[ref.name] != nil:
				out.Parameters = appendNew(out.Parameters, ref.name)
			}
		})
	}
	return out
}

// ConditionTexts returns the texts that conditions compare with, sorted: those that are written in the
// conditions, and in mappings if a condition looks one up.
func (t *Template) ConditionTexts() []string {
	var out []string
	var collect func(v *document.Value)
	collect = func(v *document.Value) {
		if text, ok := scalarText(v); ok {
			out = append(out, text)
		}
		for _, item := range v.Items {
			collect(item)
		}
		for _, m := range v.Members {
			switch m.Key {
			case "Ref", "Condition":
				continue
			case "Fn::FindInMap":
				for _, mapping := range t.Mappings {
					for _, key := range mapping.Value.Distinct() {
						out = append(out, key.Key)
					}
				}
			}
			collect(m.Value)
		}
	}
	for _, c := range t.Conditions {
		collect(c.Value)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Accepts reports whether a value satisfies the constraints of the parameter.
func (p *Parameter) Accepts(value string) bool {
	var r report
	p.checkValue(value, &r)
	return r.errs == nil
}

// A ResultKind is what kind of value a function has, as far as that is known without the values.
type ResultKind uint8

// The kinds of results.
const (
	AnyResult ResultKind = iota
	TextResult
	ListResult
)

// Result returns the kind of the result of a function, and for Fn::GetAtt, whose kind the type of the
// resource decides, the reference.
func (t *Template) Result(v *document.Value) (ResultKind, *AttributeUse) {
	f, ok := callOf(v, false)
	if !ok {
		return AnyResult, nil
	}
	switch f.name {
	case "Fn::Join", "Fn::Sub", "Fn::Base64", "Fn::ImportValue", "Fn::GetStackOutput", "Fn::ToJsonString":
		return TextResult, nil
	case "Fn::Split", "Fn::GetAZs", "Fn::Cidr":
		return ListResult, nil
	case "Ref":
		p := t.parameters[f.arg.Text]
		switch {
		case p != nil && p.IsList():
			return ListResult, nil
		case p != nil || t.resources[f.arg.Text] != nil:
			return TextResult, nil
		}
	case "Fn::GetAtt":
		if name, attribute, ok := attributeOf(f.arg); ok && attribute.Kind == document.String {
			return AnyResult, &AttributeUse{LogicalID: name, Attribute: attribute.Text, At: v.At}
		}
	case "Fn::Select":
		if args, ok := arguments(f.arg, 2, 2); ok {
			if kind, _ := t.Result(args[1]); kind == ListResult {
				return TextResult, nil
			}
		}
	}
	return AnyResult, nil
}

// FunctionName returns the name of the function that a value is: "Fn::Join", "" if it is none.
func FunctionName(v *document.Value) string {
	if f, ok := callOf(v, false); ok {
		return f.name
	}
	return ""
}
