package lint

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

func changeIDs(changes []Change) []string {
	var out []string
	for _, c := range changes {
		if !slices.Contains(out, c.ID) {
			out = append(out, c.ID)
		}
	}
	return out
}

// TestChangeRules derives a case from every row: the examples differ by such a change and
// not by a more severe one, and an example does not differ from itself.
func TestChangeRules(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range ChangeRules() {
		t.Run(rule.ID, func(t *testing.T) {
			if seen[rule.ID] {
				t.Error("the ID is taken")
			}
			seen[rule.ID] = true
			if rule.Purpose == "" || rule.Why == "" || strings.HasPrefix(rule.ID, "compatible/") != (rule.Severity == Compatible) {
				t.Errorf("the row is not complete: %+v", rule)
			}
			if rule.Effect != "" && !strings.HasPrefix(rule.Effect, "fails: ") && !strings.HasPrefix(rule.Effect, "replaces: ") && !strings.HasPrefix(rule.Effect, "drifts: ") {
				t.Errorf("the effect %q", rule.Effect)
			}
			if rule.Old == "" && rule.New == "" {
				return // said of folders, or of what no example shows
			}
			old, new := soundWith(t, rule.Old), soundWith(t, rule.New)
			changes := Diff(old, new)
			i := slices.IndexFunc(changes, func(c Change) bool { return c.ID == rule.ID })
			if i < 0 {
				t.Fatalf("not reported, only %+v", changes)
			}
			if c := changes[i]; c.Severity != rule.Severity || c.Message == "" || !c.At.Start.Known() || c.Pointer == "" && rule.ID != "compatible/other" {
				t.Errorf("%+v", c)
			}
			if again := Diff(new, soundWith(t, rule.New)); len(again) > 0 {
				t.Errorf("the new example against itself: %+v", again)
			}
		})
	}
}

// breakingLedger are the pairs whose ids are not those of guard-rail, with the reason.
var breakingLedger = map[string]string{
	"aws-cloudformation-stack.h2 breaking/RQ001": "required was [TemplateURL] and is [StackName]: guard-rail takes a replaced entry for no addition",
}

// TestBreakingPairs compares with guard-rail's findings on pairs of published versions.
func TestBreakingPairs(t *testing.T) {
	dir := fixtures.Dir(t, "schemas/breaking")
	data, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var pairs map[string]struct {
		IDs, Allow []string
		Exit       *int
	}
	if err := json.Unmarshal(data, &pairs); err != nil {
		t.Fatal(err)
	}
	upstream := map[string]bool{}
	for _, rule := range ChangeRules() {
		if rule.Upstream != "" {
			upstream[rule.ID] = true
		}
	}
	if len(upstream) != 40 {
		t.Errorf("guard-rail has 40 rules with state, the table has %d", len(upstream))
	}
	for name, want := range pairs {
		old, _ := load(t, filepath.Join(dir, name, "old.json"))
		new, _ := load(t, filepath.Join(dir, name, "new.json"))
		changes := Diff(old, new)
		got := changeIDs(changes)
		for _, id := range want.IDs {
			if !slices.Contains(got, id) && breakingLedger[name+" "+id] == "" {
				t.Errorf("%s: %s is not reported", name, id)
			}
		}
		for _, id := range got {
			if upstream[id] && !slices.Contains(want.IDs, id) && !slices.Contains(want.Allow, id) && breakingLedger[name+" "+id] == "" {
				t.Errorf("%s: %s is reported, not by guard-rail: %+v", name, id, changes[slices.IndexFunc(changes, func(c Change) bool { return c.ID == id })])
			}
		}
		breaking := slices.ContainsFunc(changes, func(c Change) bool { return c.Severity == Breaking })
		if want.Exit != nil && breaking != (*want.Exit == 3) {
			t.Errorf("%s: breaking %v, want exit %d: %+v", name, breaking, *want.Exit, changes[:min(3, len(changes))])
		}
		if back := Diff(new, old); (len(back) == 0) != (len(changes) == 0) {
			t.Errorf("%s: %d changes one way, %d the other", name, len(changes), len(back))
		}
	}
}
