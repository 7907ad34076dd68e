package contract

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/lint"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/running/drift"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// A Version is one of the two versions of a type that an upgrade is between.
type Version int

// The versions.
const (
	OldVersion Version = iota
	NewVersion
)

func (v Version) String() string { return [...]string{"old version", "new version"}[v] }

// UpgradeConfig says which upgrade is tested, and how. The embedded configuration is that of the new version. Its inputs are
// those of existing templates, so the schema of the old version accepts them; without sets, they are generated from it.
type UpgradeConfig struct {
	StackConfig

	Old          *schema.Schema // of the old version
	OldResources Resources      // as Resources, with models of the old version
	From         string         // what reports call the old version

	// Use makes a version the default version of the type.
	Use func(ctx context.Context, v Version) error

	// LastUpdate returns the models that the latest update of a resource of the stack passed to its handler. Nil means that
	// calls are not seen.
	LastUpdate func() (desired, previous map[string]any)

	Changes   []lint.Change // from the old schema to the new one, with those that the settings accept
	Downgrade bool          // run the tests of the way back, too
	Secrets   *secret.Set   // what the redactors of both versions hide; nil means a set of the run's own
}

// upgradeFile is the part of the IDs of the upgrade tests before "::".
const upgradeFile = "upgrade.py"

// An upgradeCase is one upgrade test.
type upgradeCase struct {
	Case
	why, example string // for cfn explain
	back         bool   // it is about the way back
	run          func(context.Context, *upgradeRun) error
}

// upgradeRule is a test as cfn explain shows it: "upgrade/read", "upgrade/downgrade-update".
func upgradeRule(test, clause, why, example string) diag.Rule {
	name := strings.ReplaceAll(strings.TrimPrefix(test, "upgrade_"), "_", "-")
	return diag.Rule{ID: "upgrade/" + name, Severity: diag.Error, Purpose: clause, Why: why, Example: example}
}

// An upgradeRun takes resources of the old version to the new one, with one set of inputs. The version that is the default one is
// that of the configuration of the embedded run.
type upgradeRun struct {
	*stackRun
	up        *UpgradeConfig
	configs   [2]*StackConfig
	detectors [2]*drift.Detector
	now       Version
	to        Version  // what a test upgrades to: the new version, or the old one to see whether that fails as well
	touched   []string // names of the properties that the latest update changed
}

// An upgradeFault is a violation with the effect by which the rules of changes announce it: "fails", "replaces", "drifts".
type upgradeFault struct {
	*Violation
	effect string
}

func (f *upgradeFault) Unwrap() error { return f.Violation }

// SelectUpgrade returns the upgrade tests that the handlers of the old version allow and a selection takes, and how many of the
// allowed ones it leaves out.
func SelectUpgrade(old *schema.Schema, downgrade bool, selection Selection) (cases []Case, deselected int) {
	picked, deselected := selectUpgrade(old, downgrade, selection)
	for _, c := range picked {
		cases = append(cases, c.Case)
	}
	return cases, deselected
}

// allUpgradeCases are the upgrade tests.
func allUpgradeCases() []Case {
	out := ModuleUpgradeCases()
	for i := range upgradeCases {
		out = append(out, upgradeCases[i].Case)
	}
	return out
}

func selectUpgrade(old *schema.Schema, downgrade bool, selection Selection) (cases []*upgradeCase, deselected int) {
	for i := range upgradeCases {
		switch c := &upgradeCases[i]; {
		case !c.applies(old) || c.back && !downgrade:
		case selection.Picks(&c.Case):
			cases = append(cases, c)
		default:
			deselected++
		}
	}
	return cases, deselected
}

// CheckUpgrade reports what keeps an upgrade from being tested, as [Check] does.
func CheckUpgrade(cfg *UpgradeConfig) error {
	if old, new := cfg.Old.TypeName.Value, cfg.Schema.TypeName.Value; old != new {
		return fmt.Errorf("the old version is one of %s, the new one of %s", old, new)
	}
	if err := cfg.check(cfg.Old); err != nil {
		return fmt.Errorf("the old version: %w", err)
	}
	if cases, _ := selectUpgrade(cfg.Old, cfg.Downgrade, cfg.Selection); len(cases) == 0 {
		return ErrNothingSelected
	}
	return nil
}

// RunUpgrade makes resources with the old version of a type and does with the new one what stacks do with resources, once for
// each set of inputs. Results and leftovers are those of [RunStacks].
func RunUpgrade(ctx context.Context, cfg UpgradeConfig) (*Summary, error) {
	if err := CheckUpgrade(&cfg); err != nil {
		return nil, err
	}
	completeStacks(&cfg.StackConfig)
	if cfg.Secrets == nil {
		cfg.Secrets = &secret.Set{}
	}
	cases, deselected := selectUpgrade(cfg.Old, cfg.Downgrade, cfg.Selection)
	plan := &Plan{Deselected: deselected, Upgrade: cfg.From}
	for _, c := range cases {
		plan.Cases = append(plan.Cases, c.Case)
	}
	return runSets(ctx, &cfg.StackConfig, plan, func(set *InputSet, summary *Summary) {
		newUpgradeRun(&cfg, set, summary).runSet(ctx, cases)
	})
}

func newUpgradeRun(cfg *UpgradeConfig, inputs *InputSet, summary *Summary) *upgradeRun {
	old, new := cfg.StackConfig, cfg.StackConfig
	old.Schema, old.Resources = cfg.Old, cfg.OldResources
	old.Redactor = invoke.RedactorConfig{Schema: old.Schema, Secrets: cfg.Secrets}.New()
	new.Redactor = invoke.RedactorConfig{Schema: new.Schema, Secrets: cfg.Secrets}.New()
	u := &upgradeRun{stackRun: newStackRun(&old, inputs, summary), up: cfg, configs: [2]*StackConfig{&old, &new}}
	detector, _ := drift.New(new.Schema, drift.Config{}) // as in newStackRun
	u.detectors = [2]*drift.Detector{u.drift, detector}
	return u
}

// runSet runs the tests with one set of inputs, then deletes what is left.
func (u *upgradeRun) runSet(ctx context.Context, cases []*upgradeCase) {
	cleaning, cleaned := afterwards(ctx, u.cfg.CleanupTimeout)
	defer cleaned()
	u.start = u.cfg.Now()
	u.unusable = u.use(ctx, OldVersion)
	if err := u.makeInputs(); err != nil {
		u.unusable = err
	}
	u.before = u.identifiers(ctx)
	for _, c := range cases {
		if ctx.Err() != nil || u.cfg.Selection.enough(u.summary) {
			break
		}
		result := u.runCase(ctx, c)
		u.record(result)
		u.clean(cleaning, result.broken(), false)
	}
	u.clean(cleaning, true, ctx.Err() != nil)
	for _, id := range slices.Sorted(maps.Keys(u.loose)) {
		u.leave("%s %s: no version deletes it%s", u.cfg.Schema.TypeName.Value, id, u.hint("cfn resource delete %s %s --yes", u.cfg.Schema.TypeName.Value, id))
	}
}

func (u *upgradeRun) runCase(ctx context.Context, c *upgradeCase) *Result {
	u.start, u.calls, u.making, u.to, u.touched = u.cfg.Now(), nil, true, NewVersion, nil
	u.cfg.Reporter.Report(Event{Kind: Started, Case: &c.Case, Set: u.inputs.Number})
	err := u.unusable
	if err == nil && c.Skip != nil {
		if reason := c.Skip(u.up.Old); reason != "" {
			u.making, err = false, skipped(reason)
		}
	}
	if err == nil {
		err = c.run(ctx, u)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = errors.New("the run was interrupted")
	}
	found := announcement{}
	var broken *Violation
	if errors.As(err, &broken) && !u.making && ctx.Err() == nil {
		found = u.announcement(&c.Case, err, broken)
		calls := u.calls
		if before := u.withoutUpgrade(ctx, c); before != "" {
			err = skipped("The old version fails in the same way: " + before)
			found = announcement{}
		}
		u.making, u.calls = false, calls
	}
	result := u.result(&c.Case, err)
	found.complete(result)
	if result.broken() {
		result.HandlerLog = u.handlerLog(ctx)
	}
	return result
}

// withoutUpgrade runs a failed test without an upgrade. It returns why the test fails then, "" if it passes: what the old version does as
// well does not come from the upgrade.
func (u *upgradeRun) withoutUpgrade(ctx context.Context, c *upgradeCase) string {
	if c.last {
		return ""
	}
	u.clean(ctx, true, false)
	u.making, u.to = true, OldVersion
	err := c.run(ctx, u)
	var broken *Violation
	if errors.As(err, &broken) && !u.making {
		return broken.Message
	}
	return ""
}

// use makes a version the default one. What the run does from now on is done by it.
func (u *upgradeRun) use(ctx context.Context, v Version) error {
	err := u.step(ctx, "DEFAULT_VERSION", map[string]any{"Version": v.String()}, func(ctx context.Context) (answer, error) {
		return answer{status: invoke.Success, message: v.String()}, u.up.Use(ctx, v)
	})
	if err != nil {
		return refused(err, "make the "+v.String()+" the default version")
	}
	u.now, u.cfg, u.drift = v, u.configs[v], u.detectors[v]
	return nil
}

// clean deletes the stacks and resources of the tests so far. A thorough one looks, with both versions, for all that ever existed.
// What remains is in u.loose.
func (u *upgradeRun) clean(ctx context.Context, thorough, interrupted bool) {
	u.calls, u.live, u.broken = nil, nil, nil
	if interrupted && u.cfg.Again == "" { // the stacks end with their CloudFormation
		clear(u.stacks)
		maps.Copy(u.loose, u.alive)
	}
	for _, name := range slices.Sorted(maps.Keys(u.stacks)) {
		if reason := u.discardStack(ctx, name); reason != "" {
			u.leave("the stack %s: %s%s", name, reason, u.hint("cfn destroy %s --yes", name))
		}
		delete(u.stacks, name)
	}
	if !thorough && len(u.loose) == 0 {
		return
	}
	for _, v := range []Version{NewVersion, OldVersion} {
		if u.use(ctx, v) != nil {
			return
		}
		for _, id := range u.ever[max(0, len(u.ever)-maxRemembered):] {
			if !u.canRead() || interrupted {
				break
			}
			if _, err := u.read(ctx, id); err == nil {
				u.loose[id] = true
			}
		}
		for _, id := range slices.Sorted(maps.Keys(u.loose)) {
			u.discard(ctx, id) // the other version may know it
		}
	}
}
