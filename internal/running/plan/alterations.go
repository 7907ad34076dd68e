package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// An Alteration is a property that an update would change, or a resource that it would remove.
type Alteration struct {
	Resource   *template.Resource       // of the next template; of the previous one if it is removed
	Removed    bool                     // the resource is not in the next template
	Name       string                   // of the property; "" for a resource that is removed or gets another type
	Recreation types.RequiresRecreation // Conditionally also if the next value is not known
	Before     string                   // as a change set shows it, "" for nothing
	After      string
	Secret     bool // Before and After may be secrets
}

// Alterations compares two templates as far as they say what the resources have, without what handlers reported.
// Identifiers and attributes of resources that stay are taken to stay the same. The error is the refusal of a cycle.
func Alterations(previous, next *Deployment, schemas map[string]*schema.Schema) ([]Alteration, error) {
	order, err := next.Scope.Order()
	if err != nil {
		return nil, err
	}
	a := &alterer{schemas: schemas, open: map[string]types.RequiresRecreation{}}
	stays := map[string]bool{}
	for _, r := range order {
		stays[r.LogicalID] = true
		old := previous.Resource(r.LogicalID)
		switch {
		case old == nil:
			a.open[r.LogicalID] = types.RequiresRecreationAlways
		case old.Type != r.Type:
			a.open[r.LogicalID] = types.RequiresRecreationAlways
			a.found = append(a.found, Alteration{Resource: r, Recreation: types.RequiresRecreationAlways, Before: old.Type, After: r.Type})
		default:
			a.resource(previous.Scope, old, next.Scope, r)
		}
	}
	for _, r := range previous.Scope.ActiveResources() {
		if !stays[r.LogicalID] {
			a.found = append(a.found, Alteration{Resource: r, Removed: true})
		}
	}
	return a.found, nil
}

type alterer struct {
	schemas map[string]*schema.Schema
	open    map[string]types.RequiresRecreation // resources that are new or replaced: Always, or perhaps
	found   []Alteration
}

func (a *alterer) resource(was *template.Scope, old *template.Resource, is *template.Scope, r *template.Resource) {
	s := a.schemas[r.Type]
	before, after := a.properties(was, old, false), a.properties(is, r, true)
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		left, had := before[name]
		right, has := after[name]
		if had == has && sameValue(left, right) {
			if !has || a.opened(is, r, name) == "" {
				continue
			}
			right = template.Unknown // it is the same only if no resource that it refers to is replaced
		}
		found := Alteration{Resource: r, Name: name, Recreation: Recreation(s, name, left, right), Before: ShownText(left), After: ShownText(right)}
		if found.Recreation == types.RequiresRecreationAlways && !known(right) && a.opened(is, r, name) != types.RequiresRecreationAlways {
			found.Recreation = types.RequiresRecreationConditionally
		}
		found.Secret = was.HasNoEcho(old) || is.HasNoEcho(r) || hasSecret(s, name) ||
			len(template.DynamicReferences(left))+len(template.DynamicReferences(right)) > 0
		a.found = append(a.found, found)
		if found.Recreation != types.RequiresRecreationNever && a.open[r.LogicalID] != types.RequiresRecreationAlways {
			a.open[r.LogicalID] = found.Recreation
		}
	}
}

// hasSecret reports whether a property is write-only or has a part that is.
func hasSecret(s *schema.Schema, name string) bool {
	return s != nil && slices.ContainsFunc(s.WriteOnly, func(p schema.Path) bool { return len(p.Tokens) > 0 && p.Tokens[0] == name })
}

// unevaluated is a value that cannot be computed without the attributes of resources: its expression, with the values
// of the parameters in it.
type unevaluated string

func known(v any) bool {
	_, open := v.(unevaluated)
	return !open && !template.HasUnknown(v)
}

func sameValue(a, b any) bool {
	if text, ok := a.(unevaluated); ok {
		return text == b
	}
	return Equal(a, b)
}

// properties evaluates the properties of a resource. One that cannot be evaluated is [unevaluated].
func (a *alterer) properties(scope *template.Scope, r *template.Resource, next bool) map[string]any {
	refs := standIns{open: a.open}
	if !next {
		refs.open = nil
	}
	scope.Renew()
	value, err := scope.Properties(r, refs)
	out, ok := value.(map[string]any)
	if err == nil && (ok || value == nil) {
		return out
	}
	out = map[string]any{}
	for _, m := range r.Properties.Distinct() {
		scope.Renew()
		value, err := scope.Evaluate(m.Value, refs, "Resources", r.LogicalID, "Properties", m.Key)
		switch {
		case err != nil && next && a.opened(scope, r, m.Key) == types.RequiresRecreationAlways:
			out[m.Key] = template.Unknown
		case err != nil:
			out[m.Key] = expression(scope, r, m)
		case value != nil:
			out[m.Key] = value
		}
	}
	return out
}

func expression(scope *template.Scope, r *template.Resource, m document.Member) unevaluated {
	text := string(m.Value.AppendJSON(nil))
	for _, d := range uses(scope, r, m.Key) {
		if b, ok := scope.Parameters().Get(d.Name); ok && d.Kind == template.DependsOnParameter {
			text += fmt.Sprintf("\x00%s=%s=%s", d.Name, b.Value, b.Resolved)
		}
	}
	return unevaluated(text)
}

// uses are the dependencies of a property.
func uses(scope *template.Scope, r *template.Resource, name string) []template.Dependency {
	return slices.DeleteFunc(scope.Dependencies(r), func(d template.Dependency) bool {
		return !d.Path.HasPrefix(document.Pointer{"Properties", name})
	})
}

// opened is the most that happens to a resource that a property refers to, "" for nothing.
func (a *alterer) opened(scope *template.Scope, r *template.Resource, name string) types.RequiresRecreation {
	var out types.RequiresRecreation
	for _, d := range uses(scope, r, name) {
		if fate := a.open[d.Name]; d.OnResource() && fate != "" && out != types.RequiresRecreationAlways {
			out = fate
		}
	}
	return out
}

// standIns answers with texts that stand for values of resources and other stacks. What is new or replaced is not known.
type standIns struct {
	open map[string]types.RequiresRecreation
}

func standIn(parts ...string) string { return "{{" + strings.Join(parts, ".") + "}}" }

// Ref implements [template.References].
func (s standIns) Ref(logicalID string) (any, bool) {
	return standIn(logicalID), s.open[logicalID] != types.RequiresRecreationAlways
}

// GetAtt implements [template.References].
func (s standIns) GetAtt(logicalID, attribute string) (any, bool, error) {
	return standIn(logicalID, attribute), s.open[logicalID] != types.RequiresRecreationAlways, nil
}

// ImportValue implements [template.References].
func (s standIns) ImportValue(name string) (string, bool, error) {
	return standIn("export", name), true, nil
}

// StackOutput implements [template.References].
func (s standIns) StackOutput(ref template.StackOutputRef) (string, bool, error) {
	return standIn("output", ref.Region, ref.StackName, ref.OutputName), true, nil
}
