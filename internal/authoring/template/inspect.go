package template

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// InspectInput is what a template is inspected with.
type InspectInput struct {
	Supplied []Supplied
	Pseudo   Pseudo

	// Modules expand the modules of the template. With nil, one that uses modules is not checked further.
	Modules Modules

	// AllModules means that a module that Modules does not have does not exist.
	AllModules bool
}

// An Inspection is what is known of a template without an account.
type Inspection struct {
	Problems diag.List

	// Template is the processed template, nil if the template cannot be read or expanded. With problems
	// it may be incomplete.
	Template *Template

	// Parameters have a value for every parameter. One that was not given, and has no default, is
	// [Bound.Unknown]; so are those whose values are in a store.
	Parameters *Parameters
}

// Inspect returns all problems of a template that can be found without an account, see [Examine].
func Inspect(ctx context.Context, name string, body []byte, in InspectInput) (diag.List, error) {
	out, err := Examine(ctx, name, body, in)
	if out == nil {
		return nil, err
	}
	return out.Problems, err
}

// Examine finds the problems of a template: first what the service refuses whatever the parameters are,
// then, where all parameters have values, what it refuses for these. Transforms other than
// AWS::LanguageExtensions are not run. The error is that of the context or of the modules.
func Examine(ctx context.Context, name string, body []byte, in InspectInput) (*Inspection, error) {
	t, err := Parse(name, body, ParseOptions{})
	out := &Inspection{Problems: Refused(err).Problems()}
	if t == nil {
		return out, nil
	}
	out.Problems = append(out.Problems, t.Warnings...)
	bound, unbound, err := t.inspectParameters(ctx, in.Supplied)
	if err != nil {
		return nil, err
	}
	out.Problems = append(out.Problems, unbound...)
	out.Parameters = t.openParameters(in.Supplied)
	more, err := t.inspect(ctx, bound, out, in)
	out.Problems = append(out.Problems, more...)
	out.Problems.Sort()
	return out, err
}

// openParameters binds what is given and the defaults, and leaves the others open.
func (t *Template) openParameters(supplied []Supplied) *Parameters {
	given := map[string]string{}
	for _, s := range supplied {
		given[s.Key] = s.Value
	}
	out := &Parameters{}
	for _, p := range t.Parameters {
		value, known := given[p.Name]
		if !known && p.Default != nil {
			value, known = *p.Default, true
		}
		out.Bound = append(out.Bound, Bound{Key: p.Name, Value: value, List: p.IsList(), NoEcho: p.NoEcho, Unknown: !known || p.IsStored()})
	}
	return out
}

// inspectParameters binds the given values. Without a value for every parameter it returns
// nil.
func (t *Template) inspectParameters(ctx context.Context, supplied []Supplied) (*Parameters, diag.List, error) {
	bound, err := t.Bind(ctx, BindInput{Supplied: supplied, Store: declaredStore{t}})
	if err == nil {
		return bound, nil, nil
	}
	refused := Refused(err)
	if refused == nil {
		return nil, nil, err
	}
	var out diag.List
	for _, problem := range refused.Problems() {
		if problem.ID == "template/parameter-missing" || problem.ID == "template/parameter-ssm-value" {
			problem.Severity = diag.Info
			problem.Message += "; what depends on parameters is not checked"
			problem.Hint = "pass --parameter KEY=VALUE for each"
		}
		out.Add(problem)
	}
	return nil, out, nil
}

// declaredStore has a parameter of the declared type for every name: whether the real one
// exists is not known here.
type declaredStore struct{ t *Template }

func (s declaredStore) StoredParameters(_ context.Context, names []string) (map[string]Stored, error) {
	out := map[string]Stored{}
	for _, p := range s.t.Parameters {
		typ := "String"
		if p.IsList() {
			typ = "StringList"
		}
		for _, name := range names {
			if _, taken := out[name]; !taken && p.IsStored() {
				out[name] = Stored{Type: typ, Value: name}
			}
		}
	}
	return out, nil
}

// inspect looks at everything but the document and the parameters, and sets the processed template.
func (t *Template) inspect(ctx context.Context, bound *Parameters, found *Inspection, in InspectInput) (diag.List, error) {
	var out diag.List
	faulty := found.Problems.HasErrors()
	others := slices.DeleteFunc(t.UsedTransforms(), func(name string) bool { return name == LanguageExtensions })
	switch modules := t.Modules(); {
	case len(others) > 0:
		return t.notRun(fmt.Sprintf("the template is not checked further: what %s makes of it is not known here", strings.Join(others, ", "))), ctx.Err()
	case t.HasTransforms() && faulty:
		return t.notRun("the template is not checked further: " + LanguageExtensions + " needs all parameters"), ctx.Err()
	case modules != nil && in.Modules == nil:
		return t.notRun(fmt.Sprintf("the template is not checked further: it uses the modules %s; cfn module expand checks it with them", strings.Join(modules, ", "))), ctx.Err()
	}
	budget, values := NewBudget(), bound
	if bound == nil {
		values = found.Parameters
	}
	processed, err := t.Expand(ctx, ExpandInput{Parameters: values, Pseudo: in.Pseudo, Modules: in.Modules, Budget: budget})
	refused := Refused(err)
	switch {
	case err != nil && refused == nil:
		return nil, err
	case t.Modules() != nil && !in.AllModules && len(refused) > 0 && refused[0].ID == "template/unknown-types":
		return t.notRun(refused[0].Message + ": the module was not found, and the template is not checked further"), nil
	case err != nil && bound == nil && t.HasTransforms():
		return t.notRun("the template is not checked further: " + LanguageExtensions + " needs all parameters"), nil
	}
	out = append(out, refused.Problems()...)
	if processed == nil {
		return out, nil
	}
	found.Template = processed
	err = processed.Check(ctx, nil)
	if refused = Refused(err); err != nil && refused == nil {
		return nil, err
	}
	out = append(out, refused.Problems()...)
	if bound == nil || faulty || out.HasErrors() {
		return out, nil
	}
	scope, err := processed.NewScope(ScopeInput{Parameters: bound, Pseudo: in.Pseudo, Budget: budget})
	if err == nil {
		err = scope.Check(ctx)
	}
	if refused = Refused(err); err != nil && refused == nil {
		return nil, err
	}
	return append(out, refused.Problems()...), nil
}

func (t *Template) notRun(message string) diag.List {
	at := t.root.At
	if m := t.root.Member("Transform"); m != nil {
		at = m.KeyAt
	}
	return diag.List{{ID: "template/not-expanded", Severity: diag.Info, At: at, Message: message}}
}
