package template

import (
	"encoding/json"
	"strconv"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// An evaluator evaluates one value.
type evaluator struct {
	s         *Scope
	refs      References
	path      document.Pointer
	masked    bool
	condition bool // in the section Conditions
	rule      bool // in the section Rules
	budget    *Budget
}

// A call is a function with its argument.
type call struct {
	name string
	arg  *document.Value
	at   *document.Value // the object that the call is
}

// callOf returns the call that an object is. Condition is a function only where conditions
// are, elsewhere it is a key as any other.
func callOf(v *document.Value, conditions bool) (call, bool) {
	if v.Kind != document.Object || len(v.Members) != 1 {
		return call{}, false
	}
	m := v.Members[0]
	if m.Key == "Ref" || len(m.Key) > 4 && m.Key[:4] == "Fn::" || conditions && m.Key == "Condition" {
		return call{m.Key, m.Value, v}, true
	}
	return call{}, false
}

func (e *evaluator) conditional() bool { return e.condition || e.rule }

func (e *evaluator) refuse(id string, v *document.Value, args ...any) error {
	return refuse(id, v.At, e.path.Append(), args...)
}

// spend takes bytes from the budget.
func (e *evaluator) spend(bytes int, v *document.Value) error {
	return e.budget.Spend(bytes, v.At, e.path)
}

// allow refuses what the budget has no room for, before it is made: [evaluator.call] takes the bytes
// of each result.
func (e *evaluator) allow(bytes int, v *document.Value) error {
	return e.budget.allow(bytes, v.At, e.path)
}

func (e *evaluator) eval(v *document.Value) (any, error) {
	switch v.Kind {
	case document.Bool:
		return v.Bool, nil
	case document.Number:
		return json.Number(v.Text), e.spend(scalarCost, v)
	case document.String:
		return v.Text, e.spend(scalarCost, v)
	case document.Array:
		return e.items(v)
	case document.Object:
		if c, ok := callOf(v, e.conditional()); ok {
			return e.call(c)
		}
		return e.members(v)
	}
	return nil, nil
}

func (e *evaluator) items(v *document.Value) (any, error) {
	if err := e.spend(slotCost*len(v.Items), v); err != nil {
		return nil, err
	}
	out := make([]any, 0, len(v.Items))
	for i, item := range v.Items {
		value, err := e.child(itoa(i), item)
		if err != nil {
			return nil, err
		}
		if _, none := value.(noValue); !none {
			out = append(out, value)
		}
	}
	return out, nil
}

func (e *evaluator) members(v *document.Value) (any, error) {
	if err := e.spend(entryCost*(1+len(v.Members)), v); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(v.Members))
	for _, m := range v.Distinct() {
		value, err := e.child(m.Key, m.Value)
		if err != nil {
			return nil, err
		}
		if _, none := value.(noValue); !none {
			out[m.Key] = value
		}
	}
	return out, nil
}

// child evaluates a value one step further down.
func (e *evaluator) child(token string, v *document.Value) (any, error) {
	e.path = append(e.path, token)
	value, err := e.eval(v)
	e.path = e.path[:len(e.path)-1]
	return value, err
}

func (e *evaluator) call(c call) (any, error) {
	f, ok := functions[c.name]
	if !ok || f.eval == nil {
		return nil, e.refuse("unsupported-function", c.at, c.name)
	}
	e.path = append(e.path, c.name)
	value, err := f.eval(e, c)
	if err == nil {
		err = e.spend(costOf(value), c.at)
	}
	e.path = e.path[:len(e.path)-1]
	return value, err
}

// text evaluates to a text. known is false if the text is not known yet.
func (e *evaluator) text(v *document.Value, id string) (s string, known bool, err error) {
	value, err := e.eval(v)
	if err != nil {
		return "", false, err
	}
	if value == Unknown {
		return "", false, nil
	}
	s, ok := toText(value)
	if !ok {
		return "", false, e.refuse(id, v)
	}
	return s, true, nil
}

// toText returns the text of a scalar.
func toText(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// boolean evaluates a condition function.
func (e *evaluator) boolean(v *document.Value) (bool, error) {
	value, err := e.eval(v)
	if err != nil {
		return false, err
	}
	switch b := value.(type) {
	case bool:
		return b, nil
	case string:
		if b == "true" || b == "false" {
			return b == "true", nil
		}
	}
	return false, e.refuse("condition-operation", v)
}

// arguments returns the items of a list with between least and most items.
func arguments(v *document.Value, least, most int) ([]*document.Value, bool) {
	if v.Kind != document.Array || len(v.Items) < least || len(v.Items) > most {
		return nil, false
	}
	return v.Items, true
}
