package contract

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

func readComplete(ctx context.Context, r *run) error {
	if err := r.complete(ctx, r.shared.model, "CREATE", "create.read-only"); err != nil {
		return err
	}
	return r.everyReadOnly()
}

// everyReadOnly looks for read-only scalars that no model of the run has had. Objects and arrays may
// be empty, and are left out then; another set of inputs may give a property its value.
func (r *run) everyReadOnly() error {
	s := r.cfg.Schema
	if r.number < len(r.setRuns)-1 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, path := range s.ReadOnly {
		node := s.Property(path.Tokens)
		if len(path.Tokens) != 1 || r.returned[path.Tokens[0]] || slices.Contains(r.cfg.Absent, path.Tokens[0]) || s.IsDeprecated(path.Tokens) || node == nil || !isScalar(s, node) {
			continue
		}
		return r.violation(clauseText("create.read-only"), "no model of CREATE, READ or UPDATE has %s, which is read-only; if it has a value with other inputs only, add a set of those", path.Tokens)
	}
	return nil
}

// isScalar reports whether a schema allows texts, numbers or booleans only.
func isScalar(s *schema.Schema, node *document.Value) bool {
	resolved, err := s.Resolve(node)
	if err != nil {
		return false
	}
	kind := resolved.Get("type")
	return kind != nil && slices.Contains([]string{"string", "integer", "number", "boolean"}, kind.Text)
}

// complete reads a resource and compares which properties it and an earlier model have.
func (r *run) complete(ctx context.Context, model map[string]any, action, clause string) error {
	read, err := r.read(ctx, model)
	if err != nil {
		return err
	}
	if lacks := r.lacks(model, read); lacks != nil {
		return r.violation(clauseText(clause), "the model of %s lacks %s, which has a value: READ returns it", action, lacks)
	}
	if lacks := r.lacks(read, model); lacks != nil {
		return r.violation(clauseText("read.complete"), "the model of READ lacks %s, which has a value: %s returned it", lacks, action)
	}
	return nil
}

// lacks names a property that one model has not and another one has: one of the top level,
// or a read-only one.
func (r *run) lacks(model, other map[string]any) document.Pointer {
	s := r.cfg.Schema
	for _, key := range slices.Sorted(maps.Keys(other)) {
		at := document.Pointer{key}
		if value := other[key]; value == nil || isEmpty(value) || s.IsWriteOnly(at) || s.IsDeprecated(at) {
			continue // an empty collection may be left out
		}
		if _, has := model[key]; !has {
			return at
		}
	}
	for _, path := range s.ReadOnly {
		if s.IsDeprecated(path.Tokens) {
			continue
		}
		paths := []schema.Path{path}
		if len(schema.Present(other, paths)) > 0 && len(schema.Present(model, paths)) == 0 {
			return path.Tokens
		}
	}
	return nil
}

func readPrimary(ctx context.Context, r *run) error {
	return r.readBy(ctx, r.cfg.Schema.PrimaryIdentifier, "read.input")
}

func readAdditional(ctx context.Context, r *run) error {
	tried := false
	for _, paths := range r.cfg.Schema.AdditionalIdentifiers {
		if _, known := schema.Identifier(r.shared.model, paths); !known {
			continue
		}
		tried = true
		if err := r.readBy(ctx, paths, "create.read-additional"); err != nil {
			return err
		}
	}
	if !tried {
		return skipped("The resource has no value for an additional identifier. Skipping test.")
	}
	return nil
}

// readBy reads the shared resource by one of its identifiers alone.
func (r *run) readBy(ctx context.Context, paths []schema.Path, clause string) error {
	event, err := r.operate(ctx, invoke.Request{Action: invoke.Read, Model: r.identity(r.shared.model, paths)})
	switch {
	case err != nil:
		return err
	case event.Status != invoke.Success:
		return r.violation(clauseText(clause), "READ by %s alone ended with %s; expected SUCCESS", names(paths), r.describe(event))
	case !r.sameIdentifier(r.shared.model, event.Model):
		return r.violation(clauseText(clause), "READ by %s alone returned %s, not %s", names(paths), r.name(event.Model), r.name(r.shared.model))
	}
	if differences := r.differences(r.shared.input, event.Model); len(differences) > 0 {
		return r.mismatch(differences)
	}
	return nil
}

func names(paths []schema.Path) string {
	list := make([]string, len(paths))
	for i, p := range paths {
		list[i] = p.Tokens.String()
	}
	return strings.Join(list, " and ")
}

func readWithoutCreate(ctx context.Context, r *run) error {
	model, err := r.nobody()
	if err != nil {
		return err
	}
	return r.fails(ctx, invoke.Request{Action: invoke.Read, Model: model}, invoke.NotFound, clauseText("read.not-found"))
}

func deleteWithoutCreate(ctx context.Context, r *run) error {
	model, err := r.nobody()
	if err != nil {
		return err
	}
	return r.fails(ctx, invoke.Request{Action: invoke.Delete, Model: model}, invoke.NotFound, clauseText("delete.not-found"))
}

// maxReadable bounds how many members of a list are read.
const maxReadable = 20

func listReadable(ctx context.Context, r *run) error {
	items, err := r.list(ctx, invoke.Request{Model: r.shared.model})
	if err != nil {
		return err
	}
	for _, item := range items[:min(len(items), maxReadable)] {
		identity := r.identity(item, r.cfg.Schema.PrimaryIdentifier)
		event, err := r.operate(ctx, invoke.Request{Action: invoke.Read, Model: identity})
		if err != nil {
			return err
		}
		if event.Status != invoke.Success {
			return r.violation(clauseText("list.readable"), "LIST returned %s, and READ of it ended with %s", r.name(item), r.describe(event))
		}
	}
	return nil
}

func listPages(ctx context.Context, r *run) error {
	models := []map[string]any{r.shared.model}
	second, err := r.second(ctx)
	if err != nil {
		return err
	}
	if second != nil {
		models = append(models, second)
	}
	found := r.pages(ctx, models)
	if second != nil {
		found = first(found, r.delete(ctx, second))
	}
	return found
}

// maxVaried bounds how many properties are changed, one by one, to create a second resource.
const maxVaried = 8

// second creates another resource next to the shared one, nil if that is not possible. Where the
// input of the shared one is refused with AlreadyExists, one of its texts may have to be unique
// although it is not an identifier: each of them is changed in turn. What is made up need not be
// valid for the service, and a service may allow a single resource: no other refusal is a fault.
func (r *run) second(ctx context.Context) (map[string]any, error) {
	input, err := r.another(r.shared.input)
	if err != nil {
		return nil, nil //nolint:nilerr // one resource is enough
	}
	for _, candidate := range append([]map[string]any{input}, r.varied(input)...) {
		event, err := r.operate(ctx, invoke.Request{Action: invoke.Create, Model: candidate})
		if err != nil {
			return nil, err
		}
		if event.Status == invoke.Success {
			return event.Model, nil
		}
		if event.ErrorCode != invoke.AlreadyExists {
			break
		}
	}
	return nil, nil
}

// varied are inputs that differ from one in a single text each, those that are called a name first.
func (r *run) varied(input map[string]any) []map[string]any {
	s := r.cfg.Schema
	var names, others []map[string]any
	for _, key := range slices.Sorted(maps.Keys(input)) {
		at := document.Pointer{key}
		if _, text := input[key].(string); !text || s.IsReadOnly(at) {
			continue
		}
		candidate := schema.Clone(input)
		if candidate[key] = r.otherValue(at, input[key]); candidate[key] == nil || len(s.Check(candidate, schema.CheckConfig{})) > len(s.Check(input, schema.CheckConfig{})) {
			continue
		}
		if strings.Contains(strings.ToLower(key), "name") {
			names = append(names, candidate)
		} else {
			others = append(others, candidate)
		}
	}
	out := slices.Concat(names, others)
	return out[:min(len(out), maxVaried)]
}

// pages lists the models in pages of the handler's own size, and in the shortest that it can make:
// maxResults is only a hint, and not every handler takes it.
func (r *run) pages(ctx context.Context, models []map[string]any) error {
	request := invoke.Request{Action: invoke.List, Model: r.listModel(models[0])}
	paged, err := r.eachOnce(ctx, request, models)
	if err != nil {
		return err
	}
	request.MaxResults = 1
	hinted, err := r.operate(ctx, request)
	if err != nil {
		return err
	}
	if hinted.Status == invoke.Success {
		short, err := r.eachOnce(ctx, request, models)
		if err != nil {
			return err
		}
		paged = paged || short
	}
	if !paged {
		r.untested("list.pages", "LIST returned everything on one page")
	}
	return nil
}

// eachOnce lists, and looks for models that are in the list not once. It reports whether there
// was more than one page.
func (r *run) eachOnce(ctx context.Context, request invoke.Request, models []map[string]any) (paged bool, err error) {
	clause := clauseText("list.pages")
	before := len(r.calls)
	items, err := r.list(ctx, request)
	if err != nil {
		return false, err
	}
	seen := map[string]bool{}
	for _, item := range items {
		if key := r.key(item); seen[key] {
			return false, r.violation(clause, "LIST returned %s twice", r.name(item))
		} else {
			seen[key] = true
		}
	}
	for _, model := range models {
		if !seen[r.key(model)] {
			return false, r.violation(clause, "%s is on none of the pages of LIST", r.name(model))
		}
	}
	return len(r.calls) > before+1, nil
}

// key is the primary identifier of a model as a text, "" if it has none.
func (r *run) key(model map[string]any) string {
	values, ok := schema.Identifier(model, r.cfg.Schema.PrimaryIdentifier)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%q", values)
}

// listModel is the input of a LIST: the properties that the handlerSchema of the list handler
// requires, from the given model.
func (r *run) listModel(model map[string]any) map[string]any {
	h := r.cfg.Schema.Handler("list")
	out := map[string]any{}
	if h == nil || h.Schema == nil {
		return out
	}
	for _, name := range h.Schema.Get("required").Strings() {
		if value, has := model[name]; has {
			out[name] = value
		}
	}
	return out
}

// listFilter finds the properties that the handler filters by: with another value of them
// it leaves the shared resource out. It has to do so too when the value of another one is
// right. A handler that filters by none, or by one, has nothing to get wrong.
func listFilter(ctx context.Context, r *run) error {
	filters, err := r.filters()
	if err != nil {
		return err
	}
	base := r.listModel(r.shared.model)
	ask := func(filter map[string]any) (bool, error) {
		model := maps.Clone(base)
		maps.Copy(model, filter)
		items, err := r.list(ctx, invoke.Request{Model: model})
		return slices.ContainsFunc(items, func(item map[string]any) bool { return r.sameIdentifier(item, r.shared.model) }), err
	}
	var used []filter // those that it filters by
	for _, f := range filters {
		found, err := ask(map[string]any{f.name: f.wrong})
		if err != nil {
			return err
		}
		if !found {
			used = append(used, f)
		}
	}
	switch len(used) {
	case 0:
		r.untested("list.filter", "the handler filters by none of the properties")
	case 1:
		r.untested("list.filter", "the handler filters by one property only")
	}
	for i, own := range used {
		other := used[(i+1)%len(used)]
		if own.name == other.name {
			break
		}
		found, err := ask(map[string]any{other.name: other.wrong, own.name: own.right})
		if err != nil {
			return err
		}
		if found {
			return r.violation(clauseText("list.filter"), "LIST with another %s leaves the resource out, but returns it when its own %s is in the request too", other.name, own.name)
		}
	}
	return nil
}

// A filter is a property with the value that the shared resource has, and another one.
type filter struct {
	name         string
	right, wrong any
}

// maxFilters bounds the properties that are filtered by.
const maxFilters = 6

// filters are properties that a list may filter by: those of the handlerSchema if there is
// one, scalars of the resource otherwise.
func (r *run) filters() ([]filter, error) {
	s := r.cfg.Schema
	other, err := r.draw()
	if err != nil {
		return nil, err
	}
	var allowed map[string]bool
	if h := s.Handler("list"); h != nil && h.Schema != nil {
		allowed = map[string]bool{}
		if properties := h.Schema.Get("properties"); properties != nil {
			for _, m := range properties.Members {
				allowed[m.Key] = true
			}
		}
	}
	required := r.listModel(r.shared.model)
	var out []filter
	for _, m := range s.Properties() {
		right, wrong := r.shared.model[m.Key], other[m.Key]
		_, fixed := required[m.Key]
		if fixed || allowed != nil && !allowed[m.Key] || s.IsWriteOnly(document.Pointer{m.Key}) || !scalar(right) || !scalar(wrong) || fmt.Sprint(right) == fmt.Sprint(wrong) {
			continue
		}
		if out = append(out, filter{m.Key, right, wrong}); len(out) == maxFilters {
			break
		}
	}
	if len(out) < 2 {
		return nil, skipped("There are no two properties that a list could filter by. Skipping test.")
	}
	return out, nil
}

func scalar(v any) bool {
	switch v.(type) {
	case nil, []any, map[string]any:
		return false
	}
	return true
}
