package stacktest

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// covered are what coverage counts.
var covered = []string{"resources", "conditions", "branches"}

// seen is what the runs of a file have covered, by "TEMPLATE NAME".
type seen struct {
	resources            map[string]bool
	conditions, branches map[string]both
	kinds                map[string]string // registered, simulated, delegated or built in, by type
}

// both are the two values of a condition, and whether each was seen.
type both struct{ yes, no bool }

func (b both) with(value bool) both { return both{b.yes || value, b.no || !value} }

func newSeen() *seen {
	return &seen{map[string]bool{}, map[string]both{}, map[string]both{}, map[string]string{}}
}

func (s *seen) join(t *seen) {
	maps.Copy(s.resources, t.resources)
	for key, b := range t.conditions {
		s.conditions[key] = both{s.conditions[key].yes || b.yes, s.conditions[key].no || b.no}
	}
	for key, b := range t.branches {
		s.branches[key] = both{s.branches[key].yes || b.yes, s.branches[key].no || b.no}
	}
}

// note keeps what a step has covered.
func (r *runner) note(out *outcome) {
	s := r.job.seen
	for _, c := range out.calls {
		s.kinds[c.Type] = ""
	}
	of := out.stack.of
	if of == nil || out.refused != nil {
		return
	}
	scope, err := r.job.suite.scope(context.Background(), of, out.stack.parameters)
	if err != nil {
		return // a template that cannot be evaluated was refused, or has transforms
	}
	for _, c := range of.template.Conditions {
		key := of.key(c.Name)
		s.conditions[key] = s.conditions[key].with(scope.Holds(c.Name))
	}
	for logical, resource := range out.after {
		if strings.HasSuffix(string(resource.ResourceStatus), "_COMPLETE") && of.template.Resource(logical) != nil {
			s.resources[of.key(logical)] = true
		}
	}
	for _, resource := range of.template.Resources {
		if scope.Active(resource) {
			for at, condition := range of.ifs(resource.Properties) {
				s.branches[at] = s.branches[at].with(scope.Holds(condition))
			}
		}
	}
}

func (l *loaded) key(name string) string { return l.File + l.CDK + " " + name }

// ifs are the conditions of Fn::If in a value, by where they are.
func (l *loaded) ifs(v *document.Value) map[string]string {
	out := map[string]string{}
	var walk func(v *document.Value)
	walk = func(v *document.Value) {
		if v == nil {
			return
		}
		if of := v.Get("Fn::If"); of != nil && len(of.Items) == 3 {
			out[l.key(fmt.Sprintf("line %d, column %d (%s)", v.At.Start.Line, v.At.Start.Column, of.Items[0].Text))] = of.Items[0].Text
		}
		for _, item := range v.Items {
			walk(item)
		}
		for _, m := range v.Members {
			walk(m.Value)
		}
	}
	walk(v)
	return out
}

// learnKinds asks the server which types of a case are simulated.
func (r *runner) learnKinds(ctx context.Context) error {
	s := r.job.seen
	var names []submit.ResourceName
	for _, typeName := range sortedKeys(s.kinds) {
		names = append(names, submit.ResourceName{TypeName: typeName})
	}
	simulated, err := r.cloud.remote.Simulated(ctx, names)
	if err != nil {
		return err
	}
	for typeName := range s.kinds {
		s.kinds[typeName] = "built in"
		for _, rule := range r.job.suite.suite.Types {
			if rule.Delegate != "" && schema.MatchTarget(rule.Pattern, typeName) {
				s.kinds[typeName] = "delegated"
			}
		}
	}
	for _, of := range simulated {
		s.kinds[of.TypeName] = "simulated"
	}
	for _, request := range r.job.suite.extensions {
		if s.kinds[request.TypeName] != "" {
			s.kinds[request.TypeName] = "registered"
		}
	}
	return nil
}

// A Coverage says what the cases of a file have covered of its templates.
type Coverage struct {
	File   string
	Counts map[string]Count // of resources, conditions and branches
}

// A Count is how many of all were covered, and what is missing, in words.
type Count struct {
	Covered, All int
	Missing      []string
}

// Percent is the covered part; of nothing it is 100.
func (c Count) Percent() int {
	if c.All == 0 {
		return 100
	}
	return c.Covered * 100 / c.All
}

// measure counts what was covered.
func measure(p *prepared, s *seen) *Coverage {
	out := &Coverage{File: p.suite.File, Counts: map[string]Count{}}
	add := func(what string, all, covered int, missing ...string) {
		c := out.Counts[what]
		out.Counts[what] = Count{c.Covered + covered, c.All + all, append(c.Missing, missing...)}
	}
	for _, what := range covered {
		add(what, 0, 0)
	}
	for _, of := range p.templates {
		for _, r := range of.template.Resources {
			if s.resources[of.key(r.LogicalID)] {
				add("resources", 1, 1)
			} else {
				add("resources", 1, 0, r.LogicalID+" was never deployed")
			}
			for _, at := range sortedKeys(of.ifs(r.Properties)) {
				addBoth(add, "branches", "Fn::If in "+strings.TrimPrefix(at, of.key("")), s.branches[at])
			}
		}
		for _, c := range of.template.Conditions {
			addBoth(add, "conditions", c.Name, s.conditions[of.key(c.Name)])
		}
	}
	return out
}

func addBoth(add func(string, int, int, ...string), what, name string, b both) {
	for _, of := range []struct {
		value string
		seen  bool
	}{{"true", b.yes}, {"false", b.no}} {
		if of.seen {
			add(what, 1, 1)
		} else {
			add(what, 1, 0, name+" was never "+of.value)
		}
	}
}

// lacks are the demands that are not met.
func (c *Coverage) lacks(demands []demand) (out diag.List) {
	for _, d := range demands {
		count := c.Counts[d.What]
		if count.Covered*100 >= d.Least*count.All {
			continue
		}
		out.Add(diag.Problem{ID: "stacktest/coverage", At: d.At, Message: fmt.Sprintf("%d%% of the %s are covered (%d of %d), which is less than %d%%", count.Percent(), d.What, count.Covered, count.All, d.Least)})
	}
	return out
}
