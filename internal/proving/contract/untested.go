package contract

import (
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// An Untested clause is one that a run has not exercised.
type Untested struct {
	Clause string // ID, see [Clauses]
	Why    string
}

// untested are the clauses that the selected tests are about and that no result has exercised: their
// tests need handlers that the schema lacks, were skipped, or found nothing to exercise them with.
func untested(s *schema.Schema, selection Selection, results []*Result) []Untested {
	var out []Untested
	for _, clause := range Clauses {
		if (clause.Section == sectionHooks) != (s.Kind == schema.Hook) || clause.Every != "" {
			continue
		}
		exercised := false
		var why []string
		for _, c := range Cases {
			if !slices.Contains(c.Clauses, clause.ID) || !selection.Suite.has(c.Suite) || !selection.Picks(&c) {
				continue
			}
			if missing := c.missing(s); len(missing) > 0 {
				why = append(why, fmt.Sprintf("the schema has no %s handler", strings.Join(missing, " or ")))
				continue
			}
			for _, result := range results {
				if result.ID() != c.ID || result.Phase == Teardown {
					continue
				}
				reason := result.unexercised(clause.ID)
				exercised = exercised || reason == ""
				why = append(why, reason)
			}
		}
		if !exercised && len(why) > 0 {
			slices.Sort(why)
			out = append(out, Untested{clause.ID, strings.Join(slices.Compact(why), "; ")})
		}
	}
	return out
}

// unexercised is why the result says nothing about a clause, "" if it does.
func (r *Result) unexercised(clause string) string {
	if r.Outcome == Skipped {
		return strings.TrimSuffix(strings.TrimSuffix(r.Message, " Skipping test."), ".")
	}
	for _, u := range r.Untested {
		if u.Clause == clause {
			return u.Why
		}
	}
	return ""
}

// missing are the handlers that the case needs and the schema lacks.
func (c *Case) missing(s *schema.Schema) []string {
	return slices.DeleteFunc(slices.Clone(c.Needs), func(handler string) bool { return s.Handler(handler) != nil })
}

// untestedByReason are lines "clause, clause: reason" in the order of the clauses.
func (s *Summary) untestedByReason() []string {
	var reasons []string
	clauses := map[string][]string{}
	for _, u := range s.Untested {
		if clauses[u.Why] == nil {
			reasons = append(reasons, u.Why)
		}
		clauses[u.Why] = append(clauses[u.Why], u.Clause)
	}
	for i, reason := range reasons {
		reasons[i] = strings.Join(clauses[reason], ", ") + ": " + reason
	}
	return reasons
}
