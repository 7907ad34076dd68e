package template

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/diag"
)

// InspectInput is what a template is inspected with.
type InspectInput struct {
	Supplied []Supplied
	Pseudo   Pseudo
}

// Inspect returns all problems of a template that can be found without an account: first what
// the service refuses whatever the parameters are, then, where all parameters have values,
// what it refuses for these. Transforms other than AWS::LanguageExtensions are not run. The
// error is that of the context.
func Inspect(ctx context.Context, name string, body []byte, in InspectInput) (diag.List, error) {
	t, err := Parse(name, body, ParseOptions{})
	problems := Refused(err).Problems()
	if t == nil {
		return problems, nil
	}
	problems = append(problems, t.Warnings...)
	bound, unbound, err := t.inspectParameters(ctx, in.Supplied)
	if err != nil {
		return nil, err
	}
	problems = append(problems, unbound...)
	more, err := t.inspect(ctx, bound, problems.HasErrors(), in.Pseudo)
	problems = append(problems, more...)
	problems.Sort()
	return problems, err
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

// inspect looks at everything but the document and the parameters.
func (t *Template) inspect(ctx context.Context, bound *Parameters, faulty bool, pseudo Pseudo) (diag.List, error) {
	var out diag.List
	others := slices.DeleteFunc(t.UsedTransforms(), func(name string) bool { return name == LanguageExtensions })
	switch {
	case len(others) > 0:
		return t.notRun(fmt.Sprintf("the template is not checked further: what %s makes of it is not known here", strings.Join(others, ", "))), ctx.Err()
	case t.HasTransforms() && (bound == nil || faulty):
		return t.notRun("the template is not checked further: " + LanguageExtensions + " needs all parameters"), ctx.Err()
	}
	if modules := t.Modules(); modules != nil {
		return t.notRun(fmt.Sprintf("the template is not checked further: it uses the modules %s; cfn module expand checks it with them", strings.Join(modules, ", "))), ctx.Err()
	}
	budget := NewBudget()
	processed, err := t.Expand(ctx, ExpandInput{Parameters: bound, Pseudo: pseudo, Budget: budget})
	refused := Refused(err)
	if err != nil && refused == nil {
		return nil, err
	}
	out = append(out, refused.Problems()...)
	if processed == nil {
		return out, nil
	}
	err = processed.Check(ctx, nil)
	if refused = Refused(err); err != nil && refused == nil {
		return nil, err
	}
	out = append(out, refused.Problems()...)
	if bound == nil || faulty || out.HasErrors() {
		return out, nil
	}
	scope, err := processed.NewScope(ScopeInput{Parameters: bound, Pseudo: pseudo, Budget: budget})
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
