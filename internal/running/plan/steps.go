package plan

import (
	"slices"
)

// An Action is what a step does with its resource.
type Action string

// The actions of steps.
const (
	Deploy  Action = "deploy" // one of the next five: [Step.Refine] decides when the steps before are done
	Create  Action = "create"
	Update  Action = "update"
	Replace Action = "replace" // create the successor, delete the old one in the cleanup
	Remake  Action = "remake"  // delete the old one, then create the successor
	Import  Action = "import"

	None    Action = "none"   // call no handler; the stack's record may change
	Skip    Action = "skip"   // leave it as it is, and count it as rolled back
	Refuse  Action = "refuse" // fail
	Delete  Action = "delete"
	Retain  Action = "retain"  // remove it from the stack without a deletion
	Release Action = "release" // the same for a resource whose import is rolled back
	Revert  Action = "revert"  // back to the last stable state

	// What a step continues with. No plan has these.
	Tag    Action = "tag"    // put the tags of the stack on what was imported
	Unmake Action = "unmake" // delete the successor of a resource that is gone, then revert
	Signal Action = "signal" // wait for signals after the create
)

// A Step is what a phase of an operation does with one resource.
type Step struct {
	LogicalID string   `json:"logicalId"`
	CleanupID string   `json:"cleanupId,omitempty"` // of the [Leftover] that it deletes in place of the resource
	Action    Action   `json:"action"`
	After     []string `json:"after,omitempty"` // keys of the steps that it waits for

	// Most is the largest change of the resource that the plan of a change set lists, "" without one. Certain means
	// that it is known to happen.
	Most    Action `json:"most,omitempty"`
	Certain bool   `json:"certain,omitempty"`

	// Import is the identifier of what becomes the resource if that does not exist.
	Import string `json:"import,omitempty"`

	// Denied are the reasons for which the resource must not be changed in some ways.
	Denied map[Action]string `json:"denied,omitempty"`

	// Unvisited is set of a nested stack in which its change set found no change: it is updated only if its
	// properties have changed.
	Unvisited bool `json:"unvisited,omitempty"`

	// Rebound has a resource that goes back evaluated again: what it refers to is created again, with another
	// identifier.
	Rebound bool `json:"rebound,omitempty"`

	// Rollback means that the resource is taken back, Forced that it counts as taken back whatever its handler
	// answers, and Express that it is complete as soon as it is configured.
	Rollback bool `json:"rollback,omitempty"`
	Forced   bool `json:"forced,omitempty"`
	Express  bool `json:"express,omitempty"`
}

// Key names the step in its phase.
func (s Step) Key() string {
	if s.CleanupID != "" {
		return s.LogicalID + "/" + s.CleanupID
	}
	return s.LogicalID
}

// Have is what a stack has when a phase begins.
type Have struct {
	Resources []Held
	Leftovers []Leftover
}

// A Held is a resource of a stack as phases see it.
type Held struct {
	LogicalID      string
	Type           string
	DependsOn      []string
	DeletionPolicy string
	Exists         bool // an update starts from it
	Deleted        bool // or retained: nothing is left to do

	// Compared to the last stable state, which a rollback restores, a resource is New, Imported, or Changed from
	// what needs Before and was deleted in the meantime if it is Gone.
	New, Imported, Changed, Gone bool
	Before                       []string
}

// A Leftover is what a stack no longer has and is still to be deleted: a resource that was replaced.
type Leftover struct {
	ID        string
	LogicalID string
	Type      string
	DependsOn []string
	Policy    string // Retain: it is not deleted
}

// A Request is what is to be done with a stack.
type Request struct {
	Next *Deployment // of the main phase and the cleanup

	// Planned are the steps of the main phase that a change set has shown, nil without one. They are done exactly.
	Planned []Step

	Import     map[string]string // identifiers of what is imported, by logical id
	OnlyImport bool              // nothing else is changed

	// Children are the change sets of nested stacks, by logical id. With ChildrenPlanned, those without one have
	// no changes.
	Children        map[string]string
	ChildrenPlanned bool

	Policy        *Policy // of the stack; nil allows everything
	NoReplacement string  // why nothing is replaced, "" if it may be
	Skip          []string

	// Backward is a rollback of the parent that takes a nested stack back to the template that it had before.
	Backward bool
	Force    bool // a rollback ignores failures
	Express  bool // nothing waits for resources to become consistent; nested stacks are complete with all of theirs

	Retain               []string // resources that are not deleted
	RetainExceptOnCreate bool     // has a failed creation delete what its policy retains

	Creates bool // a rollback deletes all that the stack has
	Imports bool // a rollback releases what was imported
	Undoes  bool // a deletion is that of a stack whose creation failed
}

// Steps are the steps of a phase.
func (h Have) Steps(at Phase, r Request) []Step {
	switch at {
	case PhaseMain:
		return h.Main(r)
	case PhaseRollback:
		return h.Rollback(r)
	case PhaseCleanup:
		return h.Cleanup(r)
	case PhaseRollbackCleanup:
		return h.RollbackCleanup(r)
	case PhaseDelete:
		return h.Deletion(r)
	}
	return nil
}

// Main are the steps that bring a stack to its next template: one for each resource, and one for each that the
// policy of the stack does not let go.
func (h Have) Main(r Request) []Step {
	held := make(map[string]*Held, len(h.Resources))
	for i := range h.Resources {
		held[h.Resources[i].LogicalID] = &h.Resources[i]
	}
	steps := slices.Clone(r.Planned)
	if steps == nil {
		steps = r.Next.steps(r.Next.Graph(), r.Import)
	}
	for i := range steps {
		s := &steps[i]
		typeName := r.Next.Template.Resource(s.LogicalID).Type
		s.Denied = r.denied(s.LogicalID, typeName)
		s.Rollback, s.Forced, s.Express = r.Backward, r.Backward && r.Force, r.express(typeName)
		s.Unvisited = r.ChildrenPlanned && typeName == NestedStack && r.Children[s.LogicalID] == ""
		if x := held[s.LogicalID]; x != nil && x.Exists {
			switch {
			case r.OnlyImport:
				s.Action = None
			case slices.Contains(r.Skip, s.LogicalID):
				s.Action = Skip
			}
		}
	}
	for _, x := range h.removed(r.Next) {
		if reason := r.Policy.denies("Update:Delete", x.LogicalID, x.Type); reason != "" {
			steps = append(steps, Step{LogicalID: x.LogicalID, Action: Refuse, Denied: map[Action]string{Refuse: reason}})
		}
	}
	return steps
}

// steps are those that deploy a template, given its graph.
func (d *Deployment) steps(needs map[string][]string, imports map[string]string) []Step {
	steps := []Step{}
	for _, res := range d.Scope.ActiveResources() {
		steps = append(steps, Step{LogicalID: res.LogicalID, Action: Deploy, After: needs[res.LogicalID], Import: imports[res.LogicalID]})
	}
	return steps
}

// denied are the changes of a resource that are not allowed.
func (r Request) denied(id, typeName string) map[Action]string {
	modify, replace := r.Policy.denies("Update:Modify", id, typeName), r.Policy.denies("Update:Replace", id, typeName)
	if replace == "" {
		replace = r.NoReplacement
	}
	out := map[Action]string{}
	for action, reason := range map[Action]string{Update: modify, Replace: replace, Remake: replace} {
		if reason != "" {
			out[action] = reason
		}
	}
	return out
}

// removed are the resources that a template no longer has.
func (h Have) removed(next *Deployment) (out []Held) {
	active := map[string]bool{}
	for _, res := range next.Scope.ActiveResources() {
		active[res.LogicalID] = true
	}
	for _, x := range h.Resources {
		if !active[x.LogicalID] {
			out = append(out, x)
		}
	}
	return out
}

// Cleanup are the steps after the main phase: they delete what was replaced and what the template no longer has.
func (h Have) Cleanup(r Request) []Step {
	return Have{h.removed(r.Next), h.Leftovers}.deletion(r, false)
}

// Deletion are the steps that delete a stack.
func (h Have) Deletion(r Request) []Step { return h.deletion(r, r.Undoes) }

// deletion are the steps that delete resources, those first that others do not depend on. undoes means that what
// the operation created or imported was never part of a stable state.
func (h Have) deletion(r Request, undoes bool) []Step {
	var steps []Step
	needs := map[string][]string{} // by key
	for _, x := range h.Resources {
		if x.Deleted {
			continue
		}
		s := Step{LogicalID: x.LogicalID, Action: Delete, Express: r.express(x.Type)}
		if r.retains(x, undoes) {
			s.Action = Retain
		}
		steps = append(steps, s)
		needs[s.Key()] = x.DependsOn
	}
	for _, l := range h.Leftovers {
		s := Step{LogicalID: l.LogicalID, CleanupID: l.ID, Action: Delete, Express: r.express(l.Type)}
		if l.Policy == "Retain" {
			s.Action = Retain
		}
		steps = append(steps, s)
		needs[s.Key()] = l.DependsOn
	}
	dependents := map[string][]string{} // by logical id
	for _, s := range steps {
		for _, on := range needs[s.Key()] {
			dependents[on] = append(dependents[on], s.Key())
		}
	}
	for i, s := range steps {
		steps[i].After = slices.DeleteFunc(slices.Clone(dependents[s.LogicalID]), func(key string) bool { return key == s.Key() })
	}
	return steps
}

// express reports whether resources of a type are complete as soon as they are configured.
func (r Request) express(typeName string) bool { return r.Express && typeName != NestedStack }

// retains reports whether a resource is kept when its stack no longer has it.
func (r Request) retains(x Held, undoes bool) bool {
	switch {
	case slices.Contains(r.Retain, x.LogicalID), undoes && x.Imported:
		return true
	case undoes && x.New && (r.RetainExceptOnCreate || x.DeletionPolicy == "RetainExceptOnCreate"):
		return false
	}
	return x.DeletionPolicy == "Retain" || x.DeletionPolicy == "RetainExceptOnCreate"
}
