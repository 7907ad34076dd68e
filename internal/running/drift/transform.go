package drift

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/dlclark/regexp2/v2"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/jsonata"
)

// A comparison is one run of a Detector.
type comparison struct {
	*Detector
	ctx   context.Context
	model any // that expressions start from: as expected, recast, without write-only values

	tried    map[string]*attempt       // by pointer
	inputs   map[string]*jsonata.Input // by pointer of the object
	patterns map[string]*regexp2.Regexp
	spent    int   // evaluations
	err      error // that ends the comparison
}

// An attempt is the results of the transforms of one place of the model. They are computed on
// demand: the alternatives after a match are not evaluated.
type attempt struct {
	pending  []step
	results  []result
	problems diag.List
	contexts []*jsonata.Input
}

// A result is the result of an expression, and its place.
type result struct {
	value any
	step
}

// A step is one alternative, to be evaluated on each of the contexts.
type step struct {
	transform *transform
	alternative
}

// alike is called by the comparison of the schema for a place that differs.
func (c *comparison) alike(at document.Pointer, got any, equal func(any) bool) (alike, whole bool) {
	a := c.attempt(at)
	if a == nil || c.err != nil {
		return false, a != nil
	}
	for i := 0; ; i++ {
		for i >= len(a.results) && len(a.pending) > 0 && c.err == nil {
			c.evaluate(a)
		}
		if i >= len(a.results) || c.err != nil {
			return false, true
		}
		if c.fits(a, a.results[i], got, equal) {
			return true, true
		}
	}
}

// attempt returns the state of a place, nil if no transform is defined for it.
func (c *comparison) attempt(at document.Pointer) *attempt {
	key := at.String()
	if a, known := c.tried[key]; known {
		return a
	}
	var a *attempt
	for i := range c.transforms {
		t := &c.transforms[i]
		if !names(t.Path.Tokens, at) {
			continue
		}
		if a == nil {
			a = &attempt{contexts: c.contexts(at)}
		}
		for _, alternative := range t.alternatives {
			a.pending = append(a.pending, step{t, alternative})
		}
	}
	c.tried[key] = a
	return a
}

// names reports whether a path of the schema is that of a place.
func names(path, at document.Pointer) bool {
	if len(path) == 0 || len(path) != len(at) {
		return false
	}
	for i, token := range path {
		if token != "*" && token != at[i] {
			return false
		}
	}
	return true
}

// contexts are what an expression for a place may start from: the nearest object that
// holds the place, then the model.
func (c *comparison) contexts(at document.Pointer) []*jsonata.Input {
	nearest := document.Pointer{}
	v := c.model
	for i, token := range at {
		if _, object := v.(map[string]any); object {
			nearest = at[:i]
		}
		v = schema.Child(v, token)
	}
	out := []*jsonata.Input{c.input(nearest)}
	if len(nearest) > 0 {
		out = append(out, c.input(document.Pointer{}))
	}
	return out
}

func (c *comparison) input(at document.Pointer) *jsonata.Input {
	key := at.String()
	if in := c.inputs[key]; in != nil {
		return in
	}
	v := c.model
	for _, token := range at {
		v = schema.Child(v, token)
	}
	in, err := jsonata.NewInput(v)
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("read the expected model: %w", err)
	}
	c.inputs[key] = in
	return in
}

// evaluate takes the next alternative of an attempt and adds what it gives.
func (c *comparison) evaluate(a *attempt) {
	next := a.pending[0]
	a.pending = a.pending[1:]
	if next.expr == nil {
		a.problems.Add(next.transform.problem("syntax", next.text, next.err))
		return
	}
	var failed error
	worked := false
	for _, context := range a.contexts {
		if c.spent++; c.spent > c.config.Evaluations {
			c.err = fmt.Errorf("the models differ in too many places that have transforms: more than %d evaluations", c.config.Evaluations)
			return
		}
		if context == nil {
			return // c.err has the reason
		}
		value, err := next.expr.Eval(c.ctx, context)
		if c.ended() {
			return
		}
		if _, function := value.(*jsonata.Function); function {
			err = errors.New("its result is a function")
		}
		switch {
		case err != nil:
			failed = cmp.Or(failed, err)
		case value != jsonata.Undefined:
			a.add(result{jsonata.Plain(value), next})
			fallthrough
		default:
			worked = true
		}
	}
	if failed != nil && !worked { // it may be meant for the other context
		a.problems.Add(next.transform.problem("failed", next.text, failed))
	}
}

// ended notes that the time of the comparison is over.
func (c *comparison) ended() bool {
	if c.err == nil && c.ctx.Err() != nil {
		c.err = context.Cause(c.ctx)
	}
	return c.err != nil
}

// add stores a new result.
func (a *attempt) add(r result) {
	text := resultText(r.value)
	for _, known := range a.results {
		if resultText(known.value) == text {
			return
		}
	}
	a.results = append(a.results, r)
}

func resultText(v any) string {
	if re, ok := v.(*jsonata.Regexp); ok {
		return re.String()
	}
	text, err := json.Marshal(v)
	if err != nil { // a regular expression inside of a list writes null; nothing fails
		return fmt.Sprint(v)
	}
	return string(text)
}

// shown are the results as JSON has them: a regular expression is its text.
func (a *attempt) shown() []any {
	out := make([]any, 0, len(a.results))
	for _, r := range a.results {
		if re, ok := r.value.(*jsonata.Regexp); ok {
			r.value = re.String()
		}
		out = append(out, r.value)
	}
	return out
}

// fits returns the result that matches the actual value, nil if none does.
func (c *comparison) fits(a *attempt, r result, got any, equal func(any) bool) bool {
	switch value := r.value.(type) {
	case nil:
		return got == nil
	case *jsonata.Regexp:
		return c.matches(a, r.step, flagged(value), got)
	case string:
		return equal(value) || strings.ContainsAny(value, `\.+*?()[]{}|^$`) && c.matches(a, r.step, value, got)
	}
	return equal(r.value)
}

// flagged is the pattern of a regular expression with its flags inside.
func flagged(re *jsonata.Regexp) string {
	if re.Flags() == "" {
		return re.Source()
	}
	return "(?" + re.Flags() + ":" + re.Source() + ")"
}

// matches reports whether a value is a text that the pattern matches as a whole. A text that
// is not a pattern matches nothing; a match that takes too long is a problem.
func (c *comparison) matches(a *attempt, from step, pattern string, got any) bool {
	text, ok := got.(string)
	if !ok || c.ended() {
		return false
	}
	re, known := c.patterns[pattern]
	if !known {
		// Alone first: "a)(b" is not a pattern, but would be one between the brackets.
		if _, err := schema.CompilePattern(pattern); err == nil {
			re, _ = schema.CompilePattern("^(?:" + pattern + ")$")
		}
		if c.patterns == nil {
			c.patterns = map[string]*regexp2.Regexp{}
		}
		c.patterns[pattern] = re
	}
	if re == nil {
		return false
	}
	found, err := re.MatchString(text)
	if err != nil {
		c.patterns[pattern] = nil // once is enough
		a.problems.Add(from.transform.problem("failed", from.text, errors.New("matching its result as a pattern takes too long")))
		return false
	}
	return found
}
