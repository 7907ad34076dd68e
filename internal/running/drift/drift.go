// Package drift compares the properties in a template with those that a read handler returned, as
// drift detection does: with the property transforms of the schema.
//
//	d, problems := drift.New(s, drift.Config{})
//	result, err := d.Compare(ctx, expected, actual)
//
// # What is compared
//
// Properties that the template sets; others have defaults that the service fills in, and
// are no drift. Read-only and write-only properties are left out on both sides: the one
// cannot be asked for, the other is never returned. A deprecated property may be missing, and
// an array of the arrayType AttributeList may have more items than the template. Numbers and booleans that were written
// as texts are recast by the schema. Lists whose order the schema calls unimportant are
// compared as sets or multisets, at any depth (see [schema.Schema.Compare]).
//
// # Property transforms
//
// Where a property differs and the schema has a propertyTransform for it (user guide,
// "Preventing false drift detection results"), its alternatives are evaluated in their
// order until one gives what the handler returned. Published schemas do not agree on what
// an expression starts from: some mean the object that holds the property, some the whole
// model. Both are tried, the nearer one first. Of results,
//
//   - a text is equal to itself, and to every text that it matches as a whole, read as a
//     regular expression: a quarter of the published transforms are patterns
//   - null stands for a property that does not exist
//   - nothing at all is not a result, and says nothing
//   - all others are compared as the schema has it for the property.
//
// An alternative that cannot be compiled or evaluated never makes values equal; it is
// among the problems of the result if the property differs.
package drift

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/jsonata"
	wording "github.com/formwork-dev/formwork/internal/foundation/words"
)

// The states of a resource, in the words of DescribeStackResourceDrifts.
const (
	InSync   = "IN_SYNC"
	Modified = "MODIFIED"
)

// The types of a difference, in the words of the same operation.
const (
	Add      = "ADD"       // a list has an item more
	Remove   = "REMOVE"    // a property or an item is missing
	NotEqual = "NOT_EQUAL" // a value is another one
)

// A Result is the outcome of one comparison.
type Result struct {
	Status      string // InSync or Modified
	Differences []Difference

	// Problems are the alternatives of transforms that failed at properties that differ:
	// drift/transform-syntax and drift/transform-failed, both errors, at the transform's
	// place in the schema, with its path as the pointer below "propertyTransform".
	Problems diag.List
}

// A Difference is one place that has drifted.
type Difference struct {
	// PropertyPath is the place, a JSON Pointer into the expected model; of an added item
	// into the actual one.
	PropertyPath document.Pointer

	ExpectedValue  any // nil where nothing was expected
	ActualValue    any // nil where nothing is
	DifferenceType string

	// Transformed are the results of the property's transform, in the order in which they
	// were tried, each once; none of them is the actual value.
	Transformed []any
}

// Config bounds comparisons. The zero Config is ready to use.
type Config struct {
	// Evaluations is how often transforms are evaluated in one comparison, at most. Zero
	// means 20,000.
	Evaluations int

	// Timeout is the time that one comparison may take. Zero means 30 s.
	Timeout time.Duration

	// Transforms bounds each expression; of its zero values MaxSteps means 500,000 here.
	Transforms jsonata.Config
}

// A Detector compares models of one schema. Several goroutines may use it.
type Detector struct {
	schema     *schema.Schema
	config     Config
	transforms []transform
	hidden     []schema.Path // read-only and write-only
}

// A transform is one entry of propertyTransform.
type transform struct {
	schema.Transform
	alternatives []alternative
}

type alternative struct {
	text string
	expr *jsonata.Expr // nil if it cannot be compiled
	err  error
}

// New compiles the transforms of a schema. The problems are those of alternatives that
// cannot be compiled, drift/transform-syntax; the Detector compares without them.
func New(s *schema.Schema, config Config) (*Detector, diag.List) {
	if config.Evaluations == 0 {
		config.Evaluations = 20_000
	}
	if config.Timeout == 0 {
		config.Timeout = 30 * time.Second
	}
	if config.Transforms.MaxSteps == 0 {
		config.Transforms.MaxSteps = 500_000
	}
	d := &Detector{schema: s, config: config, hidden: slices.Concat(s.ReadOnly, s.WriteOnly)}
	var problems diag.List
	for _, entry := range s.PropertyTransform {
		t := transform{Transform: entry}
		for _, text := range entry.Alternatives() {
			expr, err := jsonata.Compile(text, config.Transforms)
			if err != nil {
				problems.Add(t.problem("syntax", text, err))
			}
			t.alternatives = append(t.alternatives, alternative{text, expr, err})
		}
		d.transforms = append(d.transforms, t)
	}
	problems.Sort()
	return d, problems
}

// Compare is [New] and [Detector.Compare] in one, for a schema that is used once.
func Compare(ctx context.Context, s *schema.Schema, expected, actual any, config Config) (Result, error) {
	d, _ := New(s, config)
	return d.Compare(ctx, expected, actual)
}

// Compare compares two models in the shapes of encoding/json, numbers as json.Number. It
// changes neither of them.
//
// The errors: a model is not an object; ctx has ended, which the error wraps; the transforms
// need more time or evaluations than the Config allows.
func (d *Detector) Compare(ctx context.Context, expected, actual any) (Result, error) {
	for name, model := range map[string]any{"expected": expected, "actual": actual} {
		if _, ok := model.(map[string]any); !ok {
			return Result{}, fmt.Errorf("compare models: the %s model is not an object", name)
		}
	}
	want := d.schema.Recast(schema.Without(expected, d.schema.WriteOnly))
	ctx, cancel := context.WithTimeoutCause(ctx, d.config.Timeout, fmt.Errorf("evaluating the transforms takes longer than %s", d.config.Timeout))
	defer cancel()
	c := &comparison{
		Detector: d, ctx: ctx, model: want,
		tried:  map[string]*attempt{},
		inputs: map[string]*jsonata.Input{},
	}
	differences := d.schema.Compare(
		withoutHollow(expected, schema.Without(want, d.hidden)),
		schema.Without(d.schema.Recast(actual), d.hidden),
		schema.CompareConfig{AllowExtra: true, Alike: c.alike},
	)
	if c.err != nil {
		return Result{}, fmt.Errorf("compare models: %w", c.err)
	}
	result := Result{Status: InSync}
	for _, found := range differences {
		result.Status = Modified
		difference := Difference{PropertyPath: found.Pointer, ExpectedValue: found.Want, ActualValue: found.Got, DifferenceType: NotEqual}
		switch found.Kind {
		case "missing":
			difference.DifferenceType = Remove
		case "extra":
			difference.DifferenceType = Add
		}
		if tried := c.tried[found.Pointer.String()]; tried != nil && found.Kind != "extra" {
			difference.Transformed = tried.shown()
			result.Problems.Add(tried.problems...)
		}
		result.Differences = append(result.Differences, difference)
	}
	result.Problems.Sort()
	return result, nil
}

// withoutHollow takes away the objects of which nothing is left after the removal of
// properties, and lists of such objects: a handler does not return them, either.
func withoutHollow(before, after any) any {
	if object, ok := after.(map[string]any); ok {
		held, _ := before.(map[string]any)
		for key, value := range object {
			if value = withoutHollow(held[key], value); isHollow(value) && !isHollow(held[key]) {
				delete(object, key)
			}
		}
	}
	if list, ok := after.([]any); ok {
		held, _ := before.([]any)
		for i, item := range list {
			if i < len(held) {
				withoutHollow(held[i], item)
			}
		}
	}
	return after
}

// isHollow reports whether a value is an object without members or a list of such.
func isHollow(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		for _, item := range v {
			if !isHollow(item) {
				return false
			}
		}
		return len(v) > 0
	}
	return false
}

// problem reports that an alternative cannot be used. The error contains no values of a model.
func (t *transform) problem(what, text string, err error) diag.Problem {
	words := map[string]string{"syntax": "is not JSONata", "failed": "fails"}
	return diag.Problem{
		ID: "drift/transform-" + what, At: t.Expression.At,
		Pointer: document.Pointer{"propertyTransform", t.Path.Text}.String(),
		Message: fmt.Sprintf("the transform %s of %s %s: %v", strconv.Quote(wording.Cut(text, 60)), t.Path.Text, words[what], err),
	}
}
