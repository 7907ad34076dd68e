package stack

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// A templateMaker makes random templates of the types of testTypes.
type templateMaker struct{ *rand.Rand }

func (m templateMaker) pick(all ...string) string { return all[m.IntN(len(all))] }

// text makes a value that may refer to resources made before.
func (m templateMaker) text(earlier []string) any {
	if len(earlier) > 0 && m.IntN(3) == 0 {
		other := m.pick(earlier...)
		return []any{
			map[string]any{"Ref": other}, map[string]any{"Fn::GetAtt": []string{other, "Id"}},
			map[string]any{"Fn::GetAtt": []string{other, "Given"}}, map[string]any{"Fn::Sub": "x-${" + other + "}-${P}"},
			map[string]any{"Fn::Join": []any{"-", []any{"a", map[string]any{"Ref": other}}}},
			map[string]any{"Fn::If": []any{"C", map[string]any{"Ref": other}, "plain"}},
		}[m.IntN(6)]
	}
	return []any{
		"a", "b", map[string]any{"Ref": "P"}, map[string]any{"Fn::Sub": "s-${P}"}, map[string]any{"Ref": "AWS::Region"},
		map[string]any{"Fn::FindInMap": []any{"M", map[string]any{"Ref": "P"}, "k"}},
		map[string]any{"Fn::If": []any{"C", "c", map[string]any{"Ref": "AWS::NoValue"}}}, 1, true,
	}[m.IntN(9)]
}

func (m templateMaker) properties(earlier []string) map[string]any {
	out := map[string]any{"Given": m.pick("g", "h")}
	for _, name := range []string{"Name", "Class", "Note"} {
		if m.IntN(2) == 0 {
			out[name] = m.text(earlier)
		}
	}
	if m.IntN(3) == 0 {
		out["Network"] = map[string]any{"Zone": m.text(earlier), "Speed": m.text(earlier)}
	}
	return out
}

func (m templateMaker) template() string {
	resources := map[string]any{}
	var earlier []string
	for _, id := range []string{"A", "B", "D", "E", "F", "G"} {
		if m.IntN(4) == 0 && len(resources) > 0 {
			continue
		}
		r := map[string]any{"Properties": m.properties(earlier)}
		// A type never changes: that is refused.
		r["Type"] = []string{"Acme::Test::Thing", "Acme::Test::Fixed", "Acme::Test::Remade"}[int(id[0])%3]
		if m.IntN(3) == 0 {
			r["Metadata"] = map[string]any{"m": m.text(nil)}
		}
		if m.IntN(3) == 0 {
			r["DeletionPolicy"] = m.pick("Delete", "Retain", "RetainExceptOnCreate")
		}
		if m.IntN(3) == 0 && len(earlier) > 0 {
			r["DependsOn"] = m.pick(earlier...)
		}
		if m.IntN(4) == 0 {
			r["Condition"] = "C" // nothing refers to it
		} else {
			earlier = append(earlier, id)
		}
		resources[id] = r
	}
	data, err := json.Marshal(map[string]any{
		"Parameters": map[string]any{"P": map[string]any{"Type": "String", "Default": "p"}},
		"Mappings":   map[string]any{"M": map[string]any{"p": map[string]any{"k": m.pick("1", "2")}, "q": map[string]any{"k": "3"}}},
		"Conditions": map[string]any{"C": map[string]any{"Fn::Equals": []any{map[string]any{"Ref": "P"}, m.pick("p", "q")}}},
		"Resources":  resources,
	})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// TestPlansOfRandomTemplates holds plans to what they promise: a plan of a template onto
// itself is empty; doing what a plan says gives the next template; and the plan says exactly
// what is done.
func TestPlansOfRandomTemplates(t *testing.T) {
	rounds := 2000
	if testing.Short() {
		rounds = 500
	}
	known := testTypes(t)
	for seed := range rounds {
		maker := templateMaker{rand.New(rand.NewPCG(uint64(seed), 12))}
		m := newStackModel(known)
		var sources []string
		for range 3 {
			source := maker.template()
			parameters := map[string]string{"P": maker.pick("p", "q")}
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
	if jsonText(plan) != jsonText(again) {
		t.Errorf("two plans of the same differ:\n%s\n%s", jsonText(plan), jsonText(again))
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
		if c := plan.Change(id); next.resource(id) == nil && (c == nil || c.Action != types.ChangeActionRemove) {
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
	want, err := next.desired(next.resource(id), Known{Resources: m.resources})
	if err != nil {
		t.Fatal(err)
	}
	if !equalValues(is.Properties, want.Properties) || !equalValues(is.Metadata, want.Metadata) || is.DeletionPolicy != want.DeletionPolicy && c != nil {
		t.Errorf("%s is %s, the template wants %s", id, jsonText(is), jsonText(want))
	}
	was, existed := before[id]
	same := existed && was.PhysicalID == is.PhysicalID
	switch {
	case c == nil && (!same || !equalValues(was.Properties, is.Properties)):
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
	if after := shown(is.Properties); !strings.Contains(string(c.After), jsonText(after)) {
		t.Errorf("%s: the plan shows %s, done is %s", id, c.After, jsonText(after))
	}
}

// pending reports whether a plan shows values that are known only afterwards.
func pending(c *Change) bool { return strings.Contains(string(c.After), Pending) }
