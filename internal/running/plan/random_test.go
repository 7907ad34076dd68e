package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// TestPlansOfRandomTemplates holds plans to what they promise: a plan of a template onto
// itself is empty; doing what a plan says gives the next template; and the plan says exactly
// what is done.
func TestPlansOfRandomTemplates(t *testing.T) {
	rounds := 2000
	if testing.Short() {
		rounds = 500
	}
	known := testSchemas(t)
	for seed := range rounds {
		maker := fixtures.Templates{Rand: rand.New(rand.NewPCG(uint64(seed), 12))}
		m := newStackModel(known)
		var sources []string
		for range 3 {
			source := maker.Template()
			parameters := map[string]string{"P": maker.Pick("p", "q")}
			sources = append(sources, fmt.Sprint(source, parameters))
			next := deployment(t, source, parameters)
			if !step(t, m, next) {
				t.Fatalf("seed %d, after:\n%s", seed, strings.Join(sources, "\n"))
			}
		}
	}
}

// step plans and applies one template and reports whether all held.
func step(t *testing.T, m *stackModel, next *Deployment) bool {
	t.Helper()
	plan, again := m.plan(t, next), m.plan(t, next)
	if JSONText(plan) != JSONText(again) {
		t.Errorf("two plans of the same differ:\n%s\n%s", JSONText(plan), JSONText(again))
	}
	before := maps.Clone(m.resources)
	m.apply(t, plan, next)
	var want []string
	for _, r := range next.Scope.ActiveResources() {
		want = append(want, r.LogicalID)
		checkResource(t, m, next, r.LogicalID, before, plan)
	}
	if got := slices.Sorted(maps.Keys(m.resources)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("the stack has %v, the template %v", got, want)
	}
	for id := range before {
		if c := plan.Change(id); next.Resource(id) == nil && (c == nil || c.Action != types.ChangeActionRemove) {
			t.Errorf("%s is not in the template, and the plan does not remove it", id)
		}
	}
	if same := m.plan(t, next); !same.Empty() {
		t.Errorf("the same template again: %s", summary(same))
	}
	return !t.Failed()
}

func checkResource(t *testing.T, m *stackModel, next *Deployment, id string, before map[string]Resource, plan *Plan) {
	t.Helper()
	c := plan.Change(id)
	is := m.resources[id]
	want, err := next.Desired(next.Resource(id), Known{Resources: m.resources})
	if err != nil {
		t.Fatal(err)
	}
	if !Equal(is.Properties, want.Properties) || !Equal(is.Metadata, want.Metadata) || is.DeletionPolicy != want.DeletionPolicy && c != nil {
		t.Errorf("%s is %s, the template wants %s", id, JSONText(is), JSONText(want))
	}
	was, existed := before[id]
	same := existed && was.PhysicalID == is.PhysicalID
	switch {
	case c == nil && (!same || !Equal(was.Properties, is.Properties)):
		t.Errorf("%s is not in the plan, and changed", id)
	case c == nil:
	case (c.Action == types.ChangeActionAdd) == existed:
		t.Errorf("%s: the plan has %s", id, c.Action)
	case c.Replacement == types.ReplacementFalse && !same:
		t.Errorf("%s was replaced, which the plan does not say", id)
	case c.Replacement == types.ReplacementTrue && same && !pending(c):
		t.Errorf("%s was not replaced, which the plan says", id)
	}
	// An attribute of a resource that is updated is shown as it was.
	if c == nil || slices.ContainsFunc(is.DependsOn, func(other string) bool { return plan.Change(other) != nil }) {
		return
	}
	if after := shown(is.Properties); !strings.Contains(string(c.After), JSONText(after)) {
		t.Errorf("%s: the plan shows %s, done is %s", id, c.After, JSONText(after))
	}
}

// pending reports whether a plan shows values that are known only afterwards.
func pending(c *Change) bool { return strings.Contains(string(c.After), Pending) }
