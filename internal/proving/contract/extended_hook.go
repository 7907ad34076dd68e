package contract

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/proving/sample"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

const (
	clauseHookEvery = "A hook judges every model that the schema of its target allows: it answers SUCCESS, or FAILED with a code that refuses the target."
	clauseHookSame  = "A hook answers the same for the same model."
)

const (
	// sampledModels is how many models of a target a hook is shown: one with the required
	// properties only, one with all, the others random.
	sampledModels = 20
	// repeatedModels are shown twice.
	repeatedModels = 5
	// sampleTime is after how long no further model of a target is shown.
	sampleTime = 10 * time.Second
)

// extendedHookCases show a hook models that are generated from the schemas of its targets.
var extendedHookCases = []Case{
	hookModelsCase(invoke.CreatePreProvision, "create"),
	hookModelsCase(invoke.UpdatePreProvision, "update"),
	hookModelsCase(invoke.DeletePreProvision, "delete"),
}

func hookModelsCase(point invoke.Action, word string) Case {
	return Case{
		ID: fmt.Sprintf("extended_hook.py::contract_pre_%s_models", word), Suite: SuiteExtended, Needs: []string{point.Handler()},
		Clause: clauseHookEvery, Clauses: []string{"hook.every-model", "hook.same-verdict"},
		run: func(ctx context.Context, r *run) error { return hookModels(ctx, r, point) },
	}
}

// hookModels shows generated models, and notes how many passed.
func hookModels(ctx context.Context, r *run, point invoke.Action) error {
	targets, err := r.hookTargets(point)
	if err != nil {
		return err
	}
	var notes []string
	for _, target := range targets {
		if target.Schema == nil {
			continue
		}
		note, err := r.sampleTarget(ctx, point, target)
		if err != nil {
			return err
		}
		notes = append(notes, note)
	}
	if len(notes) == 0 {
		return skipped("There is no schema of a target. Skipping test.")
	}
	r.note = strings.Join(notes, "; ")
	return nil
}

// sampleTarget shows the hook models of one target. The note says how many passed.
func (r *run) sampleTarget(ctx context.Context, point invoke.Action, target HookTarget) (note string, err error) {
	random := sampler(target, r.cfg.Seed, point, sample.Random)
	shown, passed := 0, 0
	for start := r.cfg.Now(); shown < sampledModels && r.cfg.Now().Sub(start) < sampleTime; shown++ {
		from := random
		switch shown {
		case 0:
			from = sampler(target, r.cfg.Seed, point, sample.Minimal)
		case 1:
			from = sampler(target, r.cfg.Seed, point, sample.Full)
		}
		model, err := targetModel(from, point, target)
		if err != nil {
			return "", err
		}
		verdict, err := r.hookVerdict(ctx, point, target.Name, model)
		if err != nil {
			return "", err
		}
		if verdict == string(invoke.Success) {
			passed++
		}
		if shown >= repeatedModels {
			continue
		}
		again, err := r.hookVerdict(ctx, point, target.Name, model)
		if err != nil {
			return "", err
		}
		if again != verdict {
			return "", r.violation(clauseHookSame, "%s of %s answered %s, and then %s for the same model", point, target.Name, verdict, again)
		}
	}
	return fmt.Sprintf("%s: %s, %d passed, %d refused", target.Name, words.Count(shown, "generated model"), passed, shown-passed), nil
}

func sampler(target HookTarget, seed uint64, point invoke.Action, profile sample.Profile) *sample.Generator {
	return sample.New(target.Schema, sample.Config{Seed: scopedSeed(seed, string(point)+target.Name, int(profile)), Profile: profile})
}

// hookVerdict is the status of the hook's answer with the code of a failure.
func (r *run) hookVerdict(ctx context.Context, point invoke.Action, target string, model map[string]any) (string, error) {
	event, err := r.operateHook(ctx, point, target, schema.Clone(model))
	if err != nil {
		return "", err
	}
	switch {
	case event.Status != invoke.Failed:
		return string(event.Status), nil
	case event.ErrorCode == invoke.InternalFailure || event.ErrorCode == "HandlerInternalFailure" || event.ErrorCode == "Unknown":
		return "", r.violation(clauseHookEvery, "%s of %s ended with %s for a model that its schema allows", point, target, r.describe(event))
	case event.Message == "":
		return "", r.violation(clauseHookFailed, "%s of %s answered FAILED without a message", point, target)
	}
	return string(event.Status) + " " + string(event.ErrorCode), nil
}
