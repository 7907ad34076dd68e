package contract

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// A watch checks every event of one operation against the rules that the extended suite adds
// to those of check.go. A violation fails the case in which it happened, but the case
// continues: it tests another rule.
type watch struct {
	run      *run
	req      *invoke.Request
	identity []any    // of the request, or of the first event with it
	secrets  []string // write-only values of the request
}

// newWatch is nil where the extended suite is not chosen, and in clean-ups.
func (r *run) newWatch(req *invoke.Request) *watch {
	if r.lenient || req.Action.Hook() || !r.cfg.Selection.Suite.has(SuiteExtended) {
		return nil
	}
	w := &watch{run: r, req: req}
	s := r.cfg.Schema
	if req.Action != invoke.Create && req.Action != invoke.List {
		w.identity, _ = schema.Identifier(req.Model, s.PrimaryIdentifier)
	}
	for _, model := range []map[string]any{req.Model, req.Previous} {
		for _, at := range schema.Present(model, s.WriteOnly) {
			if text, ok := valueAt(model, at).(string); ok && len(text) >= shortestSecret {
				w.secrets = append(w.secrets, text)
			}
		}
	}
	return w
}

// shortestSecret is how long a write-only text must be to be looked for in messages:
// shorter ones are words that everything is full of.
const shortestSecret = 8

// note keeps a violation, each kind once in a set of inputs.
func (w *watch) note(id, format string, args ...any) {
	v := violated(clauseText(id), format, args...)
	key := id + "\n" + v.Message
	if w.run.told[key] {
		return
	}
	w.run.told[key] = true
	w.run.observed = append(w.run.observed, v)
}

// call looks at a call.
func (w *watch) call(c *invoke.Call) {
	if w == nil {
		return
	}
	handler := w.req.Action.Handler()
	if limit := contractLimit(w.req.Action); c.Duration > limit && w.run.cfg.EnforceTimeout >= 0 {
		w.note(handler+".time", "%s took longer than the %s that a call may take", w.req.Action, limit)
	}
	e := c.Event
	if e == nil {
		return
	}
	w.remember(e)
	w.identifier(e, handler)
	w.shape(e, handler)
	w.writeOnly(e)
	switch {
	case e.Status == invoke.Success && w.req.Action == invoke.Delete && e.Model != nil:
		w.note("delete.no-model", "DELETE answered SUCCESS with a resourceModel")
	case e.Status == invoke.InProgress && w.req.Action == invoke.Create:
		w.progress(e)
	}
}

// remember records which top-level properties models have had.
func (w *watch) remember(e *invoke.Event) {
	r := w.run
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, value := range e.Model {
		if value != nil && e.Status == invoke.Success {
			r.returned[key] = true
		}
	}
}

// contractLimit is what the contract grants a call.
func contractLimit(action invoke.Action) time.Duration {
	if action.Synchronous() {
		return invoke.ReadingCallTimeout
	}
	return invoke.MutatingCallTimeout
}

// identifier compares the identifier of an event with that of the request, or of the
// events before.
func (w *watch) identifier(e *invoke.Event, handler string) {
	s := w.run.cfg.Schema
	if w.req.Action == invoke.List {
		for _, item := range e.Models {
			if _, ok := schema.Identifier(item, s.PrimaryIdentifier); !ok {
				w.note("list.identifiers", "LIST returned a model without its primary identifier")
			}
		}
		return
	}
	if w.req.Action == invoke.Delete && e.Status == invoke.Success || len(e.Model) == 0 {
		return
	}
	told, ok := schema.Identifier(e.Model, s.PrimaryIdentifier)
	switch {
	case !ok && e.Status == invoke.Failed && w.req.Action == invoke.Update && w.identity != nil:
		w.note("update.identifier", "UPDATE answered FAILED with a model that lacks the primary identifier")
	case !ok:
		return
	case w.identity == nil:
		w.identity = told
	case !sameValues(w.identity, told):
		id := handler + ".identifier-stays"
		if clauseText(id) == "" {
			id = "update.identifier-stays"
		}
		w.note(id, "%s answered %s with the primary identifier of another resource", w.req.Action, e.Status)
	}
}

func sameValues(a, b []any) bool {
	for i := range a {
		if i >= len(b) || fmt.Sprint(a[i]) != fmt.Sprint(b[i]) && !reflect.DeepEqual(a[i], b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}

// shapeClauses are the clauses by the keywords of JSON Schema.
var shapeClauses = map[string]string{
	"type": "shape.any", "enum": "shape.any", "const": "shape.any",
	"minimum": "shape.numbers", "maximum": "shape.numbers", "exclusiveMinimum": "shape.numbers", "exclusiveMaximum": "shape.numbers", "multipleOf": "shape.numbers",
	"minLength": "shape.strings", "maxLength": "shape.strings", "pattern": "shape.strings",
	"minItems": "shape.arrays", "maxItems": "shape.arrays", "uniqueItems": "shape.arrays", "contains": "shape.arrays",
}

// shape checks the models of an event. Nulls are the matter of another clause. IN_PROGRESS repeats the model of the request:
// where that breaks the schema, the last event must say so.
func (w *watch) shape(e *invoke.Event, handler string) {
	violations := func(model map[string]any) []schema.Violation {
		return w.run.cfg.Schema.Check(withoutNulls(model), schema.CheckConfig{Shape: true})
	}
	check := func(model map[string]any) {
		found := violations(model)
		if len(found) > 0 && e.Status == invoke.InProgress {
			for _, requested := range violations(w.req.Model) {
				found = slices.DeleteFunc(found, func(v schema.Violation) bool { return v.String() == requested.String() })
			}
		}
		for _, v := range found {
			id, known := shapeClauses[v.Keyword]
			if !known {
				id = "shape.objects"
			}
			w.note(id, "%s answered %s with a model that breaks the schema: %s", w.req.Action, e.Status, withoutIndexes(v))
		}
	}
	if e.Model != nil {
		check(e.Model)
	}
	for _, model := range e.Models {
		check(model)
	}
}

// withoutIndexes removes the item numbers from a violation, to group repeated ones.
func withoutIndexes(v schema.Violation) string {
	v.Pointer = starred(v.Pointer)
	return v.String()
}

// writeOnly looks for write-only values where the core suite does not.
func (w *watch) writeOnly(e *invoke.Event) {
	s := w.run.cfg.Schema
	const id = "protocol.write-only-anywhere"
	for _, secret := range w.secrets {
		if strings.Contains(e.Message, secret) {
			w.note(id, "%s answered %s with a write-only value in its message", w.req.Action, e.Status)
		}
	}
	models := e.Models
	if e.Status == invoke.Failed && e.Model != nil {
		models = append(models[:len(models):len(models)], e.Model)
	}
	for _, model := range models {
		for _, at := range schema.Present(model, s.WriteOnly) {
			if !isEmpty(valueAt(model, at)) {
				w.note(id, "%s answered %s with a value at %s, which is write-only", w.req.Action, e.Status, at)
			}
		}
	}
}

// progress compares the model of a create in progress with the request: requested properties
// are either still missing or have the requested values.
func (w *watch) progress(e *invoke.Event) {
	want := map[string]any{}
	for key, value := range w.req.Model {
		if _, there := e.Model[key]; there {
			want[key] = value
		}
	}
	for _, d := range w.run.differences(want, e.Model) {
		if d.Kind == "changed" {
			w.note("create.in-progress-model", "CREATE answered IN_PROGRESS with another value at %s than was requested", d.Pointer)
		}
	}
}

// findNull finds a member that is null, or an item.
func findNull(v any, at document.Pointer) (document.Pointer, bool) {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			if member == nil {
				return at.Append(key), true
			}
			if place, found := findNull(member, at.Append(key)); found {
				return place, true
			}
		}
	case []any:
		for _, item := range v {
			if item == nil {
				return at.Append("*"), true
			}
			if place, found := findNull(item, at.Append("*")); found {
				return place, true
			}
		}
	}
	return nil, false
}
