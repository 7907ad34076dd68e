package contract

import (
	"context"
	"fmt"
	"slices"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

func deletePrimary(ctx context.Context, r *run) error {
	model, err := r.createdNow(ctx)
	if err != nil {
		return err
	}
	return r.deleteBy(ctx, model, r.cfg.Schema.PrimaryIdentifier)
}

func deleteAdditional(ctx context.Context, r *run) error {
	tried := false
	for _, paths := range r.cfg.Schema.AdditionalIdentifiers {
		model, err := r.createdNow(ctx)
		if err != nil {
			return err
		}
		if _, known := schema.Identifier(model, paths); !known {
			if err := r.delete(ctx, model); err != nil {
				return err
			}
			continue
		}
		tried = true
		if err := r.deleteBy(ctx, model, paths); err != nil {
			return err
		}
	}
	if !tried {
		return skipped("The resource has no value for an additional identifier. Skipping test.")
	}
	return nil
}

// createdNow creates a resource for this case only.
func (r *run) createdNow(ctx context.Context) (map[string]any, error) {
	input, err := r.createInput()
	if err != nil {
		return nil, err
	}
	return r.create(ctx, input)
}

// deleteBy deletes a resource by one of its identifiers alone, and checks that it is deleted.
func (r *run) deleteBy(ctx context.Context, model map[string]any, paths []schema.Path) error {
	event, err := r.operate(ctx, invoke.Request{Action: invoke.Delete, Model: r.identity(model, paths)})
	if err != nil {
		return err
	}
	if event.Status != invoke.Success {
		return r.violation(clauseText("delete.input"), "DELETE by %s alone ended with %s; expected SUCCESS", names(paths), r.describe(event))
	}
	if err := r.gone(ctx, model, "delete.success"); err != nil {
		return err
	}
	r.live.forget(r.cfg.Schema, model)
	return nil
}

// gone requires a READ to fail with NotFound.
func (r *run) gone(ctx context.Context, model map[string]any, clause string) error {
	return r.fails(ctx, invoke.Request{Action: invoke.Read, Model: model}, invoke.NotFound, clauseText(clause))
}

func deleteFinal(ctx context.Context, r *run) error {
	model, err := r.createdNow(ctx)
	if err != nil {
		return err
	}
	if err := r.delete(ctx, model); err != nil {
		return err
	}
	for n := range readsAfterwards {
		clause := "delete.final"
		if n == 0 {
			clause = "delete.stable"
		}
		if err := r.gone(ctx, model, clause); err != nil {
			return err
		}
	}
	if err := r.fails(ctx, invoke.Request{Action: invoke.Delete, Model: model}, invoke.NotFound, clauseText("delete.final")); err != nil {
		return err
	}
	return r.gone(ctx, model, "delete.final")
}

func deleteCreateAgain(ctx context.Context, r *run) error {
	input, err := r.createInput()
	if err != nil {
		return err
	}
	for n := range 2 {
		event, err := r.operate(ctx, invoke.Request{Action: invoke.Create, Model: input})
		if err != nil {
			return err
		}
		if event.Status != invoke.Success {
			clause := "A create handler ends with SUCCESS once the resource is as requested; its input is valid."
			if n > 0 {
				clause = clauseText("delete.create")
			}
			return r.violation(clause, "CREATE ended with %s; expected SUCCESS", r.describe(event))
		}
		if err := r.delete(ctx, event.Model); err != nil {
			return err
		}
	}
	return nil
}

// lookAround records what LIST returns before the set starts.
func (l *setRun) lookAround(ctx context.Context) {
	l.alone.Lock()
	defer l.alone.Unlock()
	r := l.newRun(l.inputs)
	r.lenient = true
	r.begin(nil)
	if before, _, err := r.inventory(ctx); err == nil {
		l.before = before
	}
}

// everything is what LIST returns without a filter, nil where that cannot be asked for.
func (r *run) everything(ctx context.Context) (map[string]bool, error) {
	found, _, err := r.inventory(ctx)
	return found, err
}

// inventory lists all resources. The result is nil if the schema has no list handler, or the
// handler requires properties to list.
func (r *run) inventory(ctx context.Context) (map[string]bool, []map[string]any, error) {
	s := r.cfg.Schema
	if s.Handler("list") == nil {
		return nil, nil, nil
	}
	model := r.shared.model
	if model == nil && s.Handler("list").Schema != nil {
		input, err := r.createInput()
		if err != nil {
			return nil, nil, nil
		}
		model = input
	}
	req := invoke.Request{Action: invoke.List, Model: r.listModel(model)}
	if event, err := r.operate(ctx, req); err != nil || event.Status != invoke.Success {
		return nil, nil, err
	}
	items, err := r.list(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	found := map[string]bool{}
	for _, item := range items {
		found[r.key(item)] = true
	}
	return found, items, nil
}

// maxRemembered bounds how many deleted resources are read again.
const maxRemembered = 50

// nothingLeft reads all that the set has created, and lists resources that did not exist
// before.
func nothingLeft(ctx context.Context, r *run) error {
	s := r.cfg.Schema
	var left []string
	seen := map[string]bool{}
	leak := func(model map[string]any, how string, certain bool) {
		if seen[r.key(model)] {
			return
		}
		seen[r.key(model)] = true
		line := fmt.Sprintf("%s: %s", r.name(model), how)
		if certain || r.cfg.Cleanup {
			if reason := r.discardQuietly(ctx, model); reason == "" {
				line += "; deleted now"
			} else {
				line += "; " + reason
				r.left.add(reason, r.name(model))
			}
		} else {
			r.left.add(how+" (--cleanup deletes it)", r.name(model))
		}
		left = append(left, line)
	}
	ever := slices.Clone(r.live.ever)
	if len(ever) > maxRemembered {
		ever = ever[len(ever)-maxRemembered:]
	}
	asked := map[string]bool{}
	for _, model := range ever {
		key := r.key(model)
		if key == "" || asked[key] {
			continue
		}
		asked[key] = true
		event, err := r.operate(ctx, invoke.Request{Action: invoke.Read, Model: r.identity(model, s.PrimaryIdentifier)})
		if err != nil {
			return err
		}
		if event.Status == invoke.Success {
			leak(model, "it can still be read", true)
		}
	}
	now, items, err := r.inventory(ctx)
	if err != nil {
		return err
	}
	if now != nil && r.before != nil {
		unreported := 0
		for _, item := range items {
			if key := r.key(item); !r.before[key] && !r.known(key) {
				leak(item, "it was not there before, and no event reported it", asked[key])
				unreported++
			}
		}
		r.left.found(unreported)
	}
	if len(left) == 0 {
		return nil
	}
	clause := "leak.delete"
	if !asked[firstKey(seen)] {
		clause = "leak.identifier"
	}
	return r.violation(clauseText(clause), "%s left behind: %s", words.Count(len(left), "resource"), left[0])
}

func firstKey(keys map[string]bool) string {
	for key := range keys {
		return key
	}
	return ""
}

// discardQuietly deletes a resource without touching what the case has collected.
func (r *run) discardQuietly(ctx context.Context, model map[string]any) string {
	quiet := r.newRun(r.inputs)
	quiet.lenient = true
	reason, _ := quiet.discard(ctx, model)
	return reason
}

// known reports whether a resource belongs to a set that is still running.
func (r *run) known(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.setRuns {
		if l == r.setRun {
			continue
		}
		for _, entry := range l.live.entries {
			if r.key(entry.model) == key {
				return true
			}
		}
	}
	return false
}
