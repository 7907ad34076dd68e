package awswire

import "reflect"

// A Constraint is what a member of an input must satisfy. Its zero fields say nothing.
type Constraint struct {
	// Member is the path of the member from the input, in wire names: "StackName",
	// "Tags[].Key" for the member of a list's elements, "Names[]" for the elements
	// themselves.
	Member string
	// Required members must be there. Of a member below another one that is absent,
	// nothing is required.
	Required bool
	// Pattern is a regular expression that the whole of a string must match.
	Pattern string
	// MinLength and MaxLength bound a string in characters, a list or map in elements.
	MinLength, MaxLength int
	// Min and Max bound a number.
	Min, Max *int64
	// Secret values are not repeated in messages.
	Secret bool
}

type constraint struct{ Constraint }

func compileConstraints(*shape, []Constraint) ([]constraint, error) { return nil, nil }

func (t *Table) check(o *operation, in reflect.Value) error { return nil }
