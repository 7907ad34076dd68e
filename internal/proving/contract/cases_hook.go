package contract

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/proving/sample"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// The rules for the events of hooks, which are those of the official suite.
const (
	clauseHookProgress    = "A hook's event in progress has no error code and no result."
	clauseHookSuccess     = "A hook's event of success has no error code and asks for no callback."
	clauseHookFailed      = "A hook's event of failure has an error code of the handler contract and a message."
	clauseHookCompliant   = "A hook succeeds for a target that complies with it."
	clauseHookRefuses     = "A hook fails, with an error code and a message, for a target that does not comply with it."
	clauseHookUnsupported = "A hook whose target names have wildcards fails with UnsupportedTarget for a type that it does not know."
)

// A HookTarget is a type that a hook looks at.
type HookTarget struct {
	Name   string
	Schema *schema.Schema // nil if none is known, which is enough where there are inputs
}

// hookCases are the tests of hooks in the order in which the official suite runs them.
var hookCases = slices.Concat(
	hookCasesOf(invoke.CreatePreProvision, "create"),
	hookCasesOf(invoke.UpdatePreProvision, "update"),
	hookCasesOf(invoke.DeletePreProvision, "delete"),
)

// hookCasesOf are the three tests of an invocation point; word is its part of the names.
func hookCasesOf(point invoke.Action, word string) []Case {
	id := fmt.Sprintf("handler_pre_%s.py::contract_pre_%s_", word, word)
	needs := []string{point.Handler()}
	return []Case{
		{
			ID: id + "success", Needs: needs, Clause: clauseHookCompliant, Clauses: []string{"hook.compliant"},
			run: func(ctx context.Context, r *run) error { return hookSucceeds(ctx, r, point) },
		},
		{
			ID: id + "failed", Needs: needs, Clause: clauseHookRefuses, Clauses: []string{"hook.non-compliant"},
			run: func(ctx context.Context, r *run) error { return hookFails(ctx, r, point) },
		},
		{
			ID: id + "failed_unsupported_target", Needs: needs, Clause: clauseHookUnsupported, Clauses: []string{"hook.unsupported-target"},
			Skip: func(s *schema.Schema) string { return skipUnlessWildcards(s, point) },
			run:  func(ctx context.Context, r *run) error { return hookUnsupported(ctx, r, point) },
		},
	}
}

func skipUnlessWildcards(s *schema.Schema, point invoke.Action) string {
	h := s.Handler(point.Handler())
	if h != nil && slices.ContainsFunc(h.TargetNames, schema.HasWildcard) {
		return ""
	}
	return "No wildcard hook targets. Skipping test."
}

func hookSucceeds(ctx context.Context, r *run, point invoke.Action) error {
	targets, err := r.hookTargets(point)
	if err != nil {
		return err
	}
	for _, target := range targets {
		model, err := r.hookModel(point, target, false)
		if err != nil {
			return err
		}
		event, err := r.operateHook(ctx, point, target.Name, model)
		if err == nil && event.Status == invoke.Failed {
			err = r.violation(clauseHookCompliant, "%s of %s ended with %s; expected SUCCESS", point, target.Name, r.describe(event))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func hookFails(ctx context.Context, r *run, point invoke.Action) error {
	targets, err := r.hookTargets(point)
	if err != nil {
		return err
	}
	for _, target := range targets {
		if target.Name == schema.StackTarget || target.Name == schema.ChangeSetTarget {
			continue // shown without a model, there is nothing to refuse about them
		}
		model, err := r.hookModel(point, target, true)
		if err != nil {
			return err
		}
		if err := r.hookRefuses(ctx, point, target.Name, model, "", clauseHookRefuses); err != nil {
			return err
		}
	}
	return nil
}

// hookUnsupported passes an unknown type to the hook.
func hookUnsupported(ctx context.Context, r *run, point invoke.Action) error {
	random := rand.New(rand.NewPCG(r.cfg.Seed, uint64(len(point))))
	word := func(letters string, n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	const capitals, small, digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "0123456789"
	part := func() string { return word(capitals, 1) + word(small+digits, 7) }
	name := part() + "::" + part() + "::" + part()
	arn := fmt.Sprintf("arn:aws:%s:us-east-1:%s:%s", word(small, 6), word(digits, 12), word(small, 8))
	properties := func() map[string]any {
		return map[string]any{"id": arn, "property1": word(small+capitals+digits, 2+random.IntN(25)), "property2": 1 + random.IntN(100)}
	}
	model := map[string]any{"resourceProperties": properties()}
	if point == invoke.UpdatePreProvision {
		model["previousResourceProperties"] = properties()
	}
	return r.hookRefuses(ctx, point, name, model, "UnsupportedTarget", clauseHookUnsupported)
}

// hookRefuses wants a FAILED event with a message, and with the code unless it is empty.
func (r *run) hookRefuses(ctx context.Context, point invoke.Action, target string, model map[string]any, code invoke.Code, clause string) error {
	event, err := r.operateHook(ctx, point, target, model)
	switch {
	case err != nil:
		return err
	case event.Status != invoke.Failed || code != "" && event.ErrorCode != code:
		due := strings.TrimSpace("FAILED " + string(code))
		return r.violation(clause, "%s of %s ended with %s; expected %s", point, target, r.describe(event), due)
	case event.Message == "":
		return r.violation(clauseHookFailed, "%s of %s answered FAILED without a message", point, target)
	}
	return nil
}

// hookTargets are the types that the handler of a point names, wildcards expanded, in
// their order.
func (r *run) hookTargets(point invoke.Action) ([]HookTarget, error) {
	h := r.cfg.Schema.Handler(point.Handler())
	var out []HookTarget
	for _, pattern := range h.TargetNames {
		if pattern == schema.StackTarget || pattern == schema.ChangeSetTarget {
			out = append(out, HookTarget{Name: pattern})
			continue
		}
		found := false
		for _, target := range r.cfg.HookTargets {
			if schema.MatchTarget(pattern, target.Name) {
				found = true
				out = append(out, target)
			}
		}
		if !found && schema.HasWildcard(pattern) {
			return nil, fmt.Errorf("no known type matches the target name %s: add the schema of one to target-schemas/", pattern)
		}
		if !found {
			out = append(out, HookTarget{Name: pattern})
		}
	}
	slices.SortFunc(out, func(a, b HookTarget) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(out, func(a, b HookTarget) bool { return a.Name == b.Name }), nil
}

// hookKinds are the parts of the names of input files by invocation points.
var hookKinds = map[invoke.Action]string{
	invoke.CreatePreProvision: "pre_create", invoke.UpdatePreProvision: "pre_update", invoke.DeletePreProvision: "pre_delete",
}

// hookModel is the input of the hook: from the inputs, or generated from the schema of the
// target with the overrides applied. Non-compliant values cannot be generated: they must be in
// an input or an override.
func (r *run) hookModel(point invoke.Action, target HookTarget, invalid bool) (map[string]any, error) {
	if target.Name == schema.StackTarget || target.Name == schema.ChangeSetTarget {
		return map[string]any{}, nil
	}
	kind := hookKinds[point]
	kinds := []string{kind}
	if invalid {
		kinds = []string{"invalid_" + kind, "invalid"}
	}
	if r.inputs.Number > 0 {
		for _, kind := range kinds {
			if targets := r.inputs.Hook[kind]; targets != nil {
				if model, ok := targets[target.Name].(map[string]any); ok {
					return schema.Clone(model), nil
				}
				return nil, fmt.Errorf("inputs_%d_%s.json has no model of %s, a target of the hook", r.inputs.Number, kind, target.Name)
			}
		}
		return nil, fmt.Errorf("inputs/inputs_%d_%s.json is missing; the test needs it", r.inputs.Number, kinds[0])
	}
	overrides := r.hookOverrides(point, target.Name, invalid)
	if invalid && len(overrides) == 0 {
		return nil, fmt.Errorf("no non-compliant input found: write inputs/inputs_1_%s.json and inputs/inputs_1_%s.json with {%q: {\"resourceProperties\": {…}}}, or add %s to overrides.json",
			kind, kinds[0], target.Name, strings.ToUpper("invalid_"+string(point)))
	}
	model, err := r.generateTarget(point, target)
	for _, o := range overrides {
		invoke.Put(model, o.Pointer, o.Value)
	}
	return model, err
}

// hookOverrides are those of a point and a target: of the invalid ones the particular
// before the general.
func (r *run) hookOverrides(point invoke.Action, target string, invalid bool) []Override {
	o := r.cfg.Inputs.Overrides
	if o == nil {
		return nil
	}
	if !invalid {
		return o.Hook[string(point)][target]
	}
	if found := o.Hook["INVALID_"+string(point)][target]; len(found) > 0 {
		return found
	}
	return o.Hook["INVALID"][target]
}

// generateTarget makes the model of a target from its schema.
func (r *run) generateTarget(point invoke.Action, target HookTarget) (map[string]any, error) {
	if target.Schema == nil {
		return nil, fmt.Errorf("no schema for the target %s: add it to target-schemas/, or write inputs/inputs_1_%s.json", target.Name, hookKinds[point])
	}
	return targetModel(newSource(target.Schema, r.cfg.Seed, string(point)+target.Name, 0), point, target)
}

// targetModel makes a model of a target as the hook gets it.
func targetModel(g *sample.Generator, point invoke.Action, target HookTarget) (map[string]any, error) {
	first, err := g.Create()
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", target.Name, err)
	}
	model := map[string]any{"resourceProperties": first}
	if point != invoke.UpdatePreProvision {
		return model, nil
	}
	updated, err := g.Update(first)
	if err != nil { // none of it can be changed
		updated = schema.Clone(first)
	}
	return map[string]any{"resourceProperties": updated, "previousResourceProperties": first}, nil
}

// operateHook lets the hook judge a target.
func (r *run) operateHook(ctx context.Context, point invoke.Action, target string, model map[string]any) (*invoke.Event, error) {
	kind := "RESOURCE"
	if target == schema.StackTarget || target == schema.ChangeSetTarget {
		kind = target
	}
	return r.operate(ctx, invoke.Request{Action: point, Target: invoke.Target{Name: target, Type: kind, Model: model}})
}

// checkHookEvent applies the rules to an event of a hook.
func checkHookEvent(action invoke.Action, e *invoke.Event) *Violation {
	if !slices.Contains(e.Members, "hookStatus") {
		return violated(clauseHookProgress, "%s answered %s as status: a hook answers with hookStatus", action, e.Status)
	}
	switch e.Status {
	case invoke.InProgress:
		switch {
		case e.ErrorCode != "":
			return violated(clauseHookProgress, "%s answered IN_PROGRESS with the error code %s", action, e.ErrorCode)
		case slices.Contains(e.Members, "result"):
			return violated(clauseHookProgress, "%s answered IN_PROGRESS with a result", action)
		}
	case invoke.Failed:
		switch {
		case e.ErrorCode == "":
			return violated(clauseHookFailed, "%s answered FAILED without an error code", action)
		case !e.ErrorCode.Known():
			return violated(clauseHookFailed, "%s answered FAILED with the error code %q, which the handler contract does not have", action, string(e.ErrorCode))
		case e.CallbackDelay != 0:
			return violated(clauseHookFailed, "%s answered FAILED with a callbackDelaySeconds of %g", action, e.CallbackDelay.Seconds())
		}
	default:
		switch {
		case e.ErrorCode != "":
			return violated(clauseHookSuccess, "%s answered %s with the error code %s", action, e.Status, e.ErrorCode)
		case e.CallbackDelay != 0:
			return violated(clauseHookSuccess, "%s answered %s with a callbackDelaySeconds of %g", action, e.Status, e.CallbackDelay.Seconds())
		}
	}
	return nil
}
