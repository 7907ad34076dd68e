package template

import (
	"slices"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A folder computes the functions of a template with AWS::LanguageExtensions that depend on
// literals only. Fn::Length also counts lists that parameters have: its value is part of the
// processed template.
type folder struct{ scope *Scope }

func (f *folder) spend(bytes int, v *document.Value) error {
	return f.scope.budget.Spend(bytes, v.At, nil)
}

// foldable are the functions that are computed.
var foldable = []string{"Fn::Join", "Fn::Sub", "Fn::Split", "Fn::Select", "Fn::FindInMap", "Fn::Base64", "Fn::Length", "Fn::ToJsonString"}

func (f *folder) section(name string, v *document.Value) (*document.Value, error) {
	if name != "Resources" {
		return f.fold(v)
	}
	if err := f.spend(ShallowCost(v), v); err != nil {
		return nil, err
	}
	out := *v
	out.Members = slices.Clone(v.Members)
	for i, m := range out.Members {
		resource := m.Value
		for _, policy := range []string{deletionPolicy, replacePolicy} {
			value := resource.Get(policy)
			if value == nil || value.Kind == document.String {
				continue
			}
			made, err := f.policy(policy, value)
			if err != nil {
				return nil, err
			}
			resource = replace(resource, policy, made)
		}
		folded, err := f.fold(resource)
		if err != nil {
			return nil, err
		}
		out.Members[i].Value = folded
	}
	return &out, nil
}

// policy computes a DeletionPolicy or UpdateReplacePolicy that is a function.
func (f *folder) policy(name string, v *document.Value) (*document.Value, error) {
	e := f.scope.evaluator(NoReferences{}, name)
	e.condition = true
	value, err := e.eval(v)
	if ends(err) {
		return nil, err
	}
	if _, none := value.(noValue); none {
		return nil, extendError(v.At, "AWS::NoValue is not supported for DeletionPolicy or UpdateReplacePolicy")
	}
	s, ok := toText(value)
	if err != nil || !ok {
		return nil, extendError(v.At, "Every %s member must be a string", name)
	}
	return text(s, v.At), nil
}

// fold computes what can be computed in a value. What does not change is shared.
func (f *folder) fold(v *document.Value) (*document.Value, error) {
	out := v
	change := func() error {
		if out != v {
			return nil
		}
		clone := *v
		clone.Items, clone.Members = slices.Clone(v.Items), slices.Clone(v.Members)
		out = &clone
		return f.spend(ShallowCost(v), v)
	}
	for i, item := range v.Items {
		made, err := f.fold(item)
		if err != nil {
			return nil, err
		}
		if made == item {
			continue
		}
		if err := change(); err != nil {
			return nil, err
		}
		out.Items[i] = made
	}
	for i, m := range v.Members {
		made, err := f.fold(m.Value)
		if err != nil {
			return nil, err
		}
		if made == m.Value {
			continue
		}
		if err := change(); err != nil {
			return nil, err
		}
		out.Members[i].Value = made
	}
	c, ok := callOf(out, false)
	if !ok || !slices.Contains(foldable, c.name) || !f.computable(c) {
		return out, nil
	}
	return f.compute(c)
}

// computable reports whether a function depends on literals, and for Fn::Length parameters.
func (f *folder) computable(c call) bool {
	if c.name == "Fn::Length" {
		ok := !hasFunction(c.arg, "Fn::GetAtt", "Fn::ImportValue", "Fn::GetAZs", "Fn::Cidr", "Fn::GetStackOutput", "Fn::If", "Fn::Transform")
		eachReference(c.arg, func(ref reference) {
			b, bound := f.scope.values[ref.name]
			ok = ok && (ref.kind == refersToMapping || ref.kind == refersTo && bound && !b.Unknown)
		})
		return ok
	}
	if c.name == "Fn::Sub" {
		literal := true
		eachReference(c.at, func(reference) { literal = false })
		return literal && !hasAnyCall(c.arg)
	}
	return !hasAnyCall(c.arg)
}

func hasAnyCall(v *document.Value) bool {
	if _, ok := callOf(v, false); ok {
		return true
	}
	if slices.ContainsFunc(v.Items, hasAnyCall) {
		return true
	}
	return slices.ContainsFunc(v.Members, func(m document.Member) bool { return hasAnyCall(m.Value) })
}

func (f *folder) compute(c call) (*document.Value, error) {
	value, err := f.scope.evaluator(NoReferences{}).call(c)
	if err == nil {
		err = f.spend(nodesOf(value), c.at)
	}
	if err != nil {
		return nil, foldError(c, err)
	}
	return fromAny(value, c.at.At), nil
}

// foldError words a refusal as the transform does.
func foldError(c call, err error) error {
	at := c.at.At
	if ends(err) {
		return err
	}
	refused := Refused(err)
	switch refused[0].ID {
	case "template/select-range":
		return extendError(at, "Fn::Select index out of bounds")
	case "template/mapping-key":
		return extendError(at, "Fn::FindInMap cannot find key '%s' in map '%s'", c.arg.Items[1].Text, c.arg.Items[0].Text)
	case "template/mapping-missing":
		return extendError(at, "Fn::FindInMap cannot find map '%s' in Mappings", c.arg.Items[0].Text)
	case "template/length":
		return extendError(at, "%s", refused[0].Message)
	case "template/split":
		if len(c.arg.Items) == 2 && c.arg.Items[0].Text == "" {
			return extendError(at, "Fn::Split delimiter cannot be empty")
		}
	}
	return extendError(at, "%s layout is incorrect", c.name)
}
