package plan

import "slices"

// RollbackCleanup are the steps after a rollback: they delete what the failed operation created.
func (h Have) RollbackCleanup(r Request) []Step {
	created := slices.DeleteFunc(slices.Clone(h.Resources), func(x Held) bool { return !x.New && !x.Imported })
	return Have{created, h.Leftovers}.deletion(r, true)
}

// Rollback are the steps that take a stack back to its last stable state: all resources of one that was being
// created are deleted.
func (h Have) Rollback(r Request) []Step {
	if r.Creates {
		return h.deletion(r, true)
	}
	rebound := h.rebound()
	var steps []Step
	for _, x := range h.Resources {
		s := Step{LogicalID: x.LogicalID, Action: Revert, Rebound: rebound[x.LogicalID], Rollback: true, Forced: r.Force, Express: r.express(x.Type)}
		switch {
		case x.New && r.Imports, x.Imported && r.Imports:
			s = Step{LogicalID: x.LogicalID, Action: Release}
		case x.Changed:
			s.After = x.Before
		case s.Rebound:
			s.After = x.DependsOn
		default:
			continue
		}
		steps = append(steps, s)
	}
	return steps
}

// rebound are the resources that depend on one that is gone, also by others: it is created again, with another
// identifier, so that those which refer to it go back to something else than they were.
func (h Have) rebound() map[string]bool {
	dependents := map[string][]string{} // in the last stable state
	var next []string
	for _, x := range h.Resources {
		if x.New || x.Imported {
			continue
		}
		needs := x.DependsOn
		if x.Changed {
			needs = x.Before
		}
		for _, on := range needs {
			dependents[on] = append(dependents[on], x.LogicalID)
		}
		if x.Gone {
			next = append(next, x.LogicalID)
		}
	}
	marked := map[string]bool{}
	for len(next) > 0 {
		id := next[0]
		next = next[1:]
		for _, dependent := range dependents[id] {
			if !marked[dependent] {
				marked[dependent] = true
				next = append(next, dependent)
			}
		}
	}
	return marked
}
