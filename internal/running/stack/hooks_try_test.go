package stack

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/running/hook"
)

// tried are the results of a trial, as lines.
func (g *rig) tried(in HookTrial) string {
	g.t.Helper()
	in.StackName = aws.String("s")
	results, err := g.TryHooks(g.t.Context(), owner, in)
	if err != nil {
		return refusal(g.t, err)
	}
	var lines []string
	for _, r := range results {
		lines = append(lines, fmt.Sprintf("%s %s %s %s %s: %s", r.TypeName, r.Action, r.TargetName, r.LogicalID, r.Status, r.Reason))
	}
	if listed, err := g.config.Hooks.Results(g.t.Context(), hook.Query{Place: owner.Place}); err != nil || len(listed) > 0 {
		g.t.Errorf("%d results are listed, %v", len(listed), err)
	}
	if n := len(g.world.hooks.offered); n != 0 {
		g.t.Errorf("%d payloads are left", n)
	}
	return strings.Join(lines, "\n")
}

// TestTryHooks ends hooks in all ways: a trial has the results of the operation.
func TestTryHooks(t *testing.T) {
	for what, target := range hookedTargets {
		if target.after == "" || what == "removal of a resource" {
			continue
		}
		for how, outcome := range hookOutcomes {
			if what != "CREATE of a resource" && how != "passes" && how != "refuses" {
				continue // how a hook ends does not depend on its target
			}
			for _, mode := range []string{"FAIL", "WARN"} {
				t.Run(what+"/"+how+"/"+mode, func(t *testing.T) {
					t.Parallel()
					inBubble(t, func(g *rig) {
						if target.before != "" {
							g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things(target.before))})
						}
						hooks := &g.world.hooks
						hooks.add(hookName, on(mode), target.target)
						hooks.answer(hookName, outcome.answers...)
						hooks.gone = outcome.gone
						ids := fmt.Sprint(g.world.ids())
						got := g.tried(HookTrial{Template: aws.String(things(target.after))})
						reason := outcome.reason
						if !outcome.passes() && mode == "WARN" {
							reason += ". Failure was ignored under WARN mode."
						}
						if !strings.HasPrefix(got, hookName) || !strings.HasSuffix(got, " HOOK_"+outcome.status+": "+reason) || strings.Contains(got, "\n") {
							t.Errorf("the trial is %s", got)
						}
						if calls := len(hooks.seen()); calls != outcome.calls {
							t.Errorf("%d calls of the hook, want %d", calls, outcome.calls)
						}
						if after := fmt.Sprint(g.world.ids()); after != ids {
							t.Errorf("the resources were %s and are %s", ids, after)
						}
					})
				})
			}
		}
	}
}

// TestTryHooksTargets has one hook see everything that an operation would show it, in the order in which it does.
func TestTryHooksTargets(t *testing.T) {
	inBubble(t, func(g *rig) {
		first := "Parameters: {N: {Type: String}, P: {Type: String, Default: s3cret, NoEcho: true}}\n" +
			things("A: {Properties: {Note: !Ref N}}", "B: {Properties: {Note: !Ref A, Secret: !Ref P}}")
		number := func(value string) []types.Parameter {
			return []types.Parameter{{ParameterKey: aws.String("N"), ParameterValue: &value}}
		}
		hooks := &g.world.hooks
		if got := g.tried(HookTrial{Template: aws.String("Resources: {")}); got != "" {
			t.Errorf("without hooks, the template is not read: %s", got)
		}
		hooks.add(hookName, on("FAIL"), "CHANGE_SET", "STACK", "Acme::Test::Thing")
		if got, want := g.tried(HookTrial{Template: aws.String(first)}), "ValidationError: Parameters: [N] must have values"; got != want {
			t.Errorf("without a parameter: %s", got)
		}
		got := g.tried(HookTrial{Template: aws.String(first), Parameters: number("1")})
		if shape(got) != "CREATE CHANGE_SET, CREATE STACK, CREATE A, CREATE B" {
			t.Errorf("the creation: %s", got)
		}
		seen := hooks.seen()
		if model := encode(seen[3].RequestData.TargetModel); !strings.Contains(model, `"Note":"{{changeSet:KNOWN_AFTER_APPLY}}"`) {
			t.Errorf("B is shown as %s", model)
		}
		if all := strings.Join(hooks.all, "\n"); !strings.Contains(all, `"action":"CREATE"`) || !strings.Contains(all, `"previousTemplate":""`) {
			t.Errorf("the payloads are %s", all)
		}
		hooks.hooks = nil
		g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(first), Parameters: number("1")})
		hooks.add(hookName, on("FAIL"), "CHANGE_SET", "STACK", "Acme::Test::Thing")
		hooks.all = nil
		if got := g.tried(HookTrial{Template: aws.String(first), Parameters: number("2")}); shape(got) != "CREATE CHANGE_SET, UPDATE STACK, UPDATE A" {
			t.Errorf("the update: %s", got)
		}
		if got := g.tried(HookTrial{Template: aws.String(first)}); shape(got) != "CREATE CHANGE_SET, UPDATE STACK" {
			t.Errorf("an update without changes: %s", got)
		}
		seen = hooks.seen()
		if model := encode(seen[6].RequestData.TargetModel); !strings.Contains(model, `"previousResourceProperties":{"Note":"1"}`) || !strings.Contains(model, `"resourceProperties":{"Note":"2"}`) {
			t.Errorf("A is shown as %s", model)
		}
	})
}

// shape are the actions and targets of a trial.
func shape(tried string) string {
	var out []string
	for line := range strings.Lines(tried) {
		if words := strings.Fields(line); len(words) > 4 {
			name := words[2]
			if strings.Contains(name, "::") {
				name = words[3]
			}
			out = append(out, words[1]+" "+name)
		}
	}
	return strings.Join(out, ", ")
}
