package module

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// bind returns the values of the parameters of a module: the properties of the resource that uses
// it, or the defaults. Constraints are not enforced, as in the service.
func bind(m document.Member, call *document.Value, child *unit) (map[string]*document.Value, error) {
	given := call.Get("Properties")
	out := map[string]*document.Value{}
	var missing []string
	for _, p := range child.parameters {
		value, standard := given.Get(p.Key), p.Value.Get("Default")
		if value == nil || isNoValue(value) && standard != nil {
			if standard != nil {
				value = standard
			}
		}
		if value == nil {
			missing = append(missing, p.Key)
			continue
		}
		out[p.Key] = listed(p.Value, value)
	}
	var refused template.Errors
	if missing != nil {
		at := m.KeyAt
		if properties := call.Member("Properties"); properties != nil && properties.KeyAt.Start.Known() {
			at = properties.KeyAt
		}
		refused = append(refused, template.Refused(template.Refuse("parameter-missing", at, pointer(m).Append("Properties"), "["+strings.Join(missing, ", ")+"]"))...)
	}
	return out, join(refused, undeclared(m, given, child))
}

// undeclared refuses properties that the module has no parameters for. The first refusal has all names, as the
// service returns it; the others are the places of theirs.
func undeclared(m document.Member, given *document.Value, child *unit) template.Errors {
	declared := names(child.parameters)
	var unknown []document.Member
	var all []string
	for _, p := range given.Distinct() {
		if !declared[p.Key] {
			unknown, all = append(unknown, p), append(all, p.Key)
		}
	}
	var out template.Errors
	for i, p := range unknown {
		shown := []string{p.Key}
		if i == 0 {
			shown = all
		}
		refused := template.Refused(template.Refuse("parameter-undeclared", p.KeyAt, pointer(m).Append("Properties", p.Key), "["+strings.Join(shown, ", ")+"]"))
		refused[0].Hint = words.DidYouMean(p.Key, slices.Sorted(maps.Keys(declared)))
		out = append(out, refused...)
	}
	return out
}

// join is refusals as an error, nil for none.
func join(refusals ...template.Errors) error {
	if all := slices.Concat(refusals...); len(all) > 0 {
		return all
	}
	return nil
}

func isNoValue(v *document.Value) bool {
	name, ok := refOf(v)
	return ok && name == "AWS::NoValue"
}

// listed splits the text for a parameter that is a list.
func listed(parameter, value *document.Value) *document.Value {
	typ := parameter.Get("Type")
	if value.Kind != document.String || typ == nil || typ.Text != "CommaDelimitedList" && !strings.HasPrefix(typ.Text, "List<") {
		return value
	}
	out := &document.Value{Kind: document.Array, At: value.At, Items: []*document.Value{}}
	if value.Text == "" {
		return out
	}
	for part := range strings.SplitSeq(value.Text, ",") {
		out.Items = append(out.Items, textAt(strings.TrimSpace(part), value.At))
	}
	return out
}

// The attributes of a resource that uses a module are those of the resources in it.
type attributes struct {
	dependsOn []*document.Value
	condition *document.Value
	policies  []document.Member
	cost      int
}

func attributesOf(call *document.Value) attributes {
	var a attributes
	switch d := call.Get("DependsOn"); {
	case d == nil:
	case d.Kind == document.Array:
		a.dependsOn = d.Items
	default:
		a.dependsOn = []*document.Value{d}
	}
	for _, d := range a.dependsOn {
		a.cost += len(d.Text) + 2
	}
	if c := call.Get("Condition"); c != nil && c.Kind == document.String {
		a.condition = c
	}
	for _, name := range []string{"DeletionPolicy", "UpdateReplacePolicy"} {
		if m := call.Member(name); m != nil {
			a.policies = append(a.policies, *m)
		}
	}
	return a
}

// apply adds the attributes to a resource of the module, whose own policies have precedence.
func (a attributes) apply(resource *document.Value) *document.Value {
	for _, policy := range a.policies {
		if resource.Get(policy.Key) == nil {
			resource = with(resource, policy.Key, policy.Value)
		}
	}
	if len(a.dependsOn) == 0 {
		return resource
	}
	var all []*document.Value
	named := map[string]bool{}
	switch own := resource.Get("DependsOn"); {
	case own == nil:
	case own.Kind == document.Array:
		all = slices.Clone(own.Items)
	default:
		all = []*document.Value{own}
	}
	for _, d := range all {
		named[d.Text] = true
	}
	for _, d := range a.dependsOn {
		if !named[d.Text] {
			named[d.Text] = true
			all = append(all, d)
		}
	}
	return with(resource, "DependsOn", &document.Value{Kind: document.Array, At: a.dependsOn[0].At, Items: all})
}

// conditioned makes a resource or output of a module depend on the condition of the module, too.
func (u *unit) conditioned(v, condition *document.Value) *document.Value {
	if condition == nil {
		return v
	}
	own := v.Get("Condition")
	if own == nil {
		return with(v, "Condition", condition)
	}
	if own.Kind != document.String {
		return v
	}
	value := call("Fn::And", &document.Value{Kind: document.Array, At: own.At, Items: []*document.Value{
		call("Condition", condition), call("Condition", own),
	}})
	name := condition.Text + "And" + own.Text
	for {
		i := slices.IndexFunc(u.conditions, func(m document.Member) bool { return m.Key == name })
		if i < 0 {
			u.conditions = append(u.conditions, document.Member{Key: name, KeyAt: own.At, Value: value})
			break
		}
		if bytes.Equal(u.conditions[i].Value.AppendJSON(nil), value.AppendJSON(nil)) {
			break
		}
		name += "Both" // the name is that of another condition
	}
	return with(v, "Condition", textAt(name, own.At))
}

// call is a function with its argument.
func call(function string, arg *document.Value) *document.Value {
	return &document.Value{Kind: document.Object, At: arg.At, Members: []document.Member{{Key: function, KeyAt: arg.At, Value: arg}}}
}
