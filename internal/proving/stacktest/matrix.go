package stacktest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// maxSolutions bounds the search for parameters that make conditions true or false.
const maxSolutions = 4096

// variants are the runs of a matrix over the parameters and conditions of a template. Without a matrix there is one.
func variants(ctx context.Context, r *reader, m *matrix, of *loaded, p *prepared) []variant {
	if m == nil {
		return []variant{nil}
	}
	out := []variant{nil}
	for _, a := range m.Parameters {
		values := a.Values
		declared := of.template.Parameter(a.Name)
		switch {
		case declared == nil:
			r.add("value", a.At, "", "the template has no parameter %s", a.Name)
			continue
		case len(values) == 0 && len(declared.AllowedValues) == 0:
			r.add("value", a.At, "list the values", "the parameter %s has no AllowedValues", a.Name)
			continue
		case len(values) == 0:
			values = declared.AllowedValues
		}
		out = product(out, a.Name, values, maxCases+1)
		if len(out) > maxCases {
			r.add("value", m.At, "", "the matrix has more than %d variants", maxCases)
			return nil
		}
	}
	if len(m.Conditions) > 0 {
		out = solved(ctx, r, m, of, p, out)
	}
	out = slices.DeleteFunc(out, func(v variant) bool {
		return slices.ContainsFunc(m.Exclude, func(row []document.Member) bool { return v.has(row) })
	})
	for _, row := range m.Include {
		out = append(out, variant(row))
	}
	if len(out) == 0 && !r.problems.HasErrors() {
		r.add("value", m.At, "", "the matrix has no variant")
	}
	return out
}

// product has each variant with each value of a parameter, and at most so many.
func product(of []variant, name string, values []string, limit int) (out []variant) {
	for _, v := range of {
		for _, value := range values {
			if len(out) == limit {
				return out
			}
			out = append(out, append(slices.Clone(v), document.Member{Key: name, Value: &document.Value{Kind: document.String, Text: value}}))
		}
	}
	return out
}

// has reports whether a variant has all values of a row.
func (v variant) has(row []document.Member) bool {
	for _, m := range row {
		want, _ := scalar(m.Value)
		i := slices.IndexFunc(v, func(own document.Member) bool { return own.Key == m.Key })
		if i < 0 {
			return false
		}
		if got, _ := scalar(v[i].Value); got != want {
			return false
		}
	}
	return true
}

// solved has variants in which the conditions have the wanted values, with parameters that make them so.
func solved(ctx context.Context, r *reader, m *matrix, of *loaded, p *prepared, given []variant) (out []variant) {
	wanted := []map[string]bool{{}}
	for _, a := range m.Conditions {
		if of.template.Condition(a.Name) == nil {
			r.add("value", a.At, "", "the template has no condition %s", a.Name)
			return nil
		}
		var next []map[string]bool
		for _, w := range wanted {
			for _, value := range a.Values {
				more := map[string]bool{a.Name: value == "true"}
				for name, v := range w {
					more[name] = v
				}
				next = append(next, more)
			}
		}
		if wanted = next; len(wanted)*len(given) > maxCases {
			r.add("value", m.At, "", "the matrix has more than %d variants", maxCases)
			return nil
		}
	}
	for _, v := range given {
		for _, want := range wanted {
			solution, found := p.solve(ctx, of, v, want)
			if !found {
				r.add("value", m.At, "", "no values of parameters were found that make %s", conditionText(want))
				continue
			}
			out = append(out, solution)
		}
	}
	return out
}

func conditionText(want map[string]bool) string {
	var parts []string
	for _, name := range sortedKeys(want) {
		parts = append(parts, fmt.Sprintf("%s %t", name, want[name]))
	}
	return strings.Join(parts, " and ")
}

// solve finds values of the parameters that the conditions depend on.
func (p *prepared) solve(ctx context.Context, of *loaded, given variant, want map[string]bool) (variant, bool) {
	var names []string
	for condition := range want {
		names = append(names, of.template.ConditionParameters(condition)...)
	}
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		return slices.ContainsFunc(given, func(m document.Member) bool { return m.Key == name })
	})
	candidates := []variant{given}
	texts := of.template.ConditionTexts()
	for _, name := range names {
		declared := of.template.Parameter(name)
		if declared == nil {
			continue
		}
		var values []string
		for _, value := range slices.Concat(declared.AllowedValues, texts, []string{"", "other"}) {
			if declared.Accepts(value) && !slices.Contains(values, value) {
				values = append(values, value)
			}
		}
		if declared.Default != nil && !slices.Contains(values, *declared.Default) {
			values = append(values, *declared.Default)
		}
		candidates = product(candidates, name, values, maxSolutions)
	}
	for _, candidate := range candidates {
		if ctx.Err() != nil {
			break
		}
		scope, err := p.scope(ctx, of, inputsOf(p.suite.Defaults.Parameters, candidate))
		if err != nil {
			continue
		}
		ok := true
		for condition, value := range want {
			ok = ok && scope.Holds(condition) == value
		}
		if ok {
			return candidate, true
		}
	}
	return nil, false
}

// inputsOf joins values of parameters, of which the later ones count.
func inputsOf(lists ...[]document.Member) (out []document.Member) {
	for _, list := range lists {
		for _, m := range list {
			if i := slices.IndexFunc(out, func(n document.Member) bool { return n.Key == m.Key }); i >= 0 {
				out[i] = m
				continue
			}
			out = append(out, m)
		}
	}
	return out
}

// scope evaluates a template with parameters. Values that only the server has are left open.
func (p *prepared) scope(ctx context.Context, of *loaded, parameters []document.Member) (*template.Scope, error) {
	var supplied []template.Supplied
	for _, m := range parameters {
		if text, ok := scalar(m.Value); ok && of.template.Parameter(m.Key) != nil {
			supplied = append(supplied, template.Supplied{Key: m.Key, Value: text, HasValue: true})
		}
	}
	bound, err := of.template.Bind(ctx, template.BindInput{Supplied: supplied, Store: storedAnything{of.template}})
	if err != nil {
		return nil, err
	}
	return of.template.NewScope(template.ScopeInput{Parameters: bound, Pseudo: template.Pseudo{AccountID: p.suite.Account, Region: p.suite.Region, StackName: "stack"}})
}

// storedAnything has a value for every parameter of Systems Manager that a template names.
type storedAnything struct{ of *template.Template }

func (storedAnything) StoredParameters(_ context.Context, names []string) (map[string]template.Stored, error) {
	out := map[string]template.Stored{}
	for _, name := range names {
		out[name] = template.Stored{Type: "String", Value: name}
	}
	return out, nil
}
