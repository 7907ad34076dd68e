package template

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// scalar converts an evaluated scalar to a document.
func scalar(value any, at diag.Range) *document.Value {
	out := &document.Value{At: at}
	switch v := value.(type) {
	case string:
		out.Kind, out.Text = document.String, v
	case json.Number:
		out.Kind, out.Text = document.Number, v.String()
	case float64:
		out.Kind, out.Text = document.Number, strconv.FormatFloat(v, 'g', -1, 64)
	case int:
		out.Kind, out.Text = document.Number, strconv.Itoa(v)
	case bool:
		out.Kind, out.Bool = document.Bool, v
	}
	return out
}

// equal reports whether the service takes two values for equal: scalars by their text, lists and
// maps by their items.
func equal(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	}
	text, isText := toText(a)
	other, otherIsText := toText(b)
	if isText || otherIsText {
		return isText == otherIsText && text == other
	}
	return !isContainer(b)
}

func isContainer(value any) bool {
	switch value.(type) {
	case []any, map[string]any:
		return true
	}
	return false
}

func evalCondition(e *evaluator, f call) (any, error) {
	name := f.arg.Text
	if f.arg.Kind != document.String || e.s.t.conditions[name] == nil {
		return nil, e.refuse("condition-unresolved", f.at, list([]string{name}))
	}
	if e.condition {
		if err := e.s.decide(name); err != nil {
			return nil, err
		}
	}
	return e.s.conditions[name], nil
}

func evalEquals(e *evaluator, f call) (any, error) {
	args, ok := arguments(f.arg, 2, 2)
	if !ok {
		return nil, e.refuse("equals", f.at)
	}
	a, err := e.eval(args[0])
	if err != nil {
		return nil, err
	}
	b, err := e.eval(args[1])
	if err != nil {
		return nil, err
	}
	return equal(a, b), nil
}

// evalAnd evaluates all arguments: a fault in one is found whatever the others are.
func evalAnd(e *evaluator, f call) (any, error) { return e.every(f, true) }

func evalOr(e *evaluator, f call) (any, error) { return e.every(f, false) }

// every reports whether all arguments are true (and), or any is (or).
func (e *evaluator) every(f call, and bool) (any, error) {
	args, ok := arguments(f.arg, 2, 10)
	if !ok {
		return nil, e.refuse("and-or", f.at, f.name)
	}
	result := and
	for _, arg := range args {
		v, err := e.boolean(arg)
		if err != nil {
			return nil, err
		}
		if v != and {
			result = v
		}
	}
	return result, nil
}

func evalNot(e *evaluator, f call) (any, error) {
	args, ok := arguments(f.arg, 1, 1)
	if !ok {
		return nil, e.refuse("not", f.at)
	}
	v, err := e.boolean(args[0])
	return !v, err
}

// lists evaluates two arguments to lists of texts; a single value is a list of one.
func (e *evaluator) lists(f call) (a, b []string, err error) {
	args, ok := arguments(f.arg, 2, 2)
	if !ok {
		return nil, nil, e.refuse("rule-function", f.at, f.name, "a list of two arguments")
	}
	if a, err = e.texts(args[0]); err != nil {
		return nil, nil, err
	}
	b, err = e.texts(args[1])
	return a, b, err
}

func (e *evaluator) texts(v *document.Value) ([]string, error) {
	value, err := e.eval(v)
	if err != nil {
		return nil, err
	}
	items, ok := value.([]any)
	if !ok {
		items = []any{value}
	}
	n := 0
	for _, item := range items {
		nested, _ := item.([]any)
		n += max(1, len(nested))
	}
	if err := e.spend(slotCost*n, v); err != nil {
		return nil, err
	}
	out := make([]string, 0, n)
	for _, item := range items {
		if nested, ok := item.([]any); ok { // a list of lists of parameters
			for _, inner := range nested {
				s, _ := toText(inner)
				out = append(out, s)
			}
			continue
		}
		s, ok := toText(item)
		if !ok {
			return nil, e.refuse("rule-function", v, "rule", "lists of strings")
		}
		out = append(out, s)
	}
	return out, nil
}

func evalContains(e *evaluator, f call) (any, error) {
	options, value, err := e.lists(f)
	if err != nil {
		return nil, err
	}
	return len(value) == 1 && slices.Contains(options, value[0]), nil
}

func evalEachEquals(e *evaluator, f call) (any, error) {
	values, want, err := e.lists(f)
	if err != nil {
		return nil, err
	}
	return len(want) == 1 && !slices.ContainsFunc(values, func(v string) bool { return v != want[0] }), nil
}

func evalEachIn(e *evaluator, f call) (any, error) {
	values, options, err := e.lists(f)
	if err != nil {
		return nil, err
	}
	allowed := make(map[string]bool, len(options))
	for _, option := range options {
		allowed[option] = true
	}
	return !slices.ContainsFunc(values, func(v string) bool { return !allowed[v] }), nil
}

// evalRefAll returns the values of all parameters of a type.
func evalRefAll(e *evaluator, f call) (any, error) {
	return e.parameters(f, func(p *Parameter) bool { return p.Type == f.arg.Text })
}

// evalValueOf evaluates Fn::ValueOf and Fn::ValueOfAll. Attributes of parameters are those of
// resources in EC2 and Route 53, which are not supported: the value is the parameter itself if
// the attribute is the one that the type names, and nothing otherwise.
func evalValueOf(e *evaluator, f call) (any, error) {
	args, ok := arguments(f.arg, 2, 2)
	if !ok {
		return nil, e.refuse("rule-function", f.at, f.name, "a list of two arguments")
	}
	name, attribute := args[0].Text, args[1].Text
	out, err := e.parameters(f, func(p *Parameter) bool {
		matches := p.Name == name
		if f.name == "Fn::ValueOfAll" {
			matches = p.Type == name
		}
		return matches && strings.HasSuffix(strings.TrimSuffix(p.Type, ">"), "::"+attribute)
	})
	if err == nil && f.name == "Fn::ValueOf" && len(out) == 1 {
		return out[0], nil
	}
	return out, err
}

// parameters returns the values of those parameters that are bound and match.
func (e *evaluator) parameters(f call, matches func(p *Parameter) bool) ([]any, error) {
	out, size := []any{}, 0
	for _, p := range e.s.t.Parameters {
		b, bound := e.s.values[p.Name]
		if !bound || !matches(p) {
			continue
		}
		size += b.cost()
		if err := e.allow(size, f.at); err != nil {
			return nil, err
		}
		out = append(out, b.any())
	}
	return out, nil
}

// CheckRules refuses parameters that the section Rules does not allow, with the description
// of the assertion that fails.
func (s *Scope) CheckRules() error {
	var r report
	for _, rule := range s.t.Rules {
		if err := r.join(s.checkRule(rule, &r)); err != nil {
			return err
		}
	}
	return r.err()
}

func (s *Scope) checkRule(rule *Rule, r *report) error {
	e := s.evaluator(NoReferences{}, "Rules", rule.Name)
	e.rule = true
	if rule.Condition != nil {
		holds, err := e.boolean(rule.Condition)
		if err != nil || !holds {
			return err
		}
	}
	for i, assertion := range rule.Assertions {
		holds, err := e.boolean(assertion.Assert)
		if err != nil {
			return err
		}
		if !holds {
			r.add("rule-failed", assertion.Assert.At, document.Pointer{"Rules", rule.Name, "Assertions", itoa(i)}, rule.Name, assertion.Description)
		}
	}
	return nil
}
