package template

import (
	"slices"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A referenceKind is what a reference in a template names.
type referenceKind uint8

const (
	refersTo          referenceKind = iota // Ref, ${Name}: a parameter, a pseudo parameter or a resource
	refersToAttribute                      // Fn::GetAtt, ${Name.Attribute}
	refersToMapping                        // Fn::FindInMap
	refersToCondition                      // Condition, Fn::If
)

// A reference is one name that a value uses.
type reference struct {
	kind      referenceKind
	name      string
	attribute string
	at        *document.Value
	path      document.Pointer // from the value that was walked
	function  string           // "Ref", "Fn::GetAtt", "Fn::Sub", "Fn::If", …
}

// A walker finds the references in a value.
type walker struct {
	emit func(reference)
	path document.Pointer

	// branch returns which branch of Fn::If counts: 1, 2, 0 for both, or [noBranch].
	branch func(condition string) int

	conditions bool // Condition is a function here
}

const noBranch = 3

// eachReference finds all references in a value, through both branches of Fn::If.
func eachReference(v *document.Value, emit func(reference)) {
	w := &walker{emit: emit, conditions: true}
	w.walk(v)
}

func (w *walker) found(r reference) {
	r.path = slices.Clone(w.path)
	w.emit(r)
}

func (w *walker) child(token string, v *document.Value) {
	w.path = append(w.path, token)
	w.walk(v)
	w.path = w.path[:len(w.path)-1]
}

func (w *walker) walk(v *document.Value) {
	if v == nil {
		return
	}
	for i, item := range v.Items {
		w.child(itoa(i), item)
	}
	if v.Kind != document.Object {
		return
	}
	if c, ok := callOf(v, w.conditions); ok {
		w.call(c)
		return
	}
	for _, m := range v.Distinct() {
		w.child(m.Key, m.Value)
	}
}

// call finds the references in a function. Its arguments are not steps of the path, so that
// the path names the property that uses what is found.
func (w *walker) call(c call) {
	switch c.name {
	case "Ref", "Condition":
		kind := refersTo
		if c.name == "Condition" {
			kind = refersToCondition
		}
		if c.arg.Kind == document.String {
			w.found(reference{kind: kind, name: c.arg.Text, at: c.at, function: c.name})
			return
		}
	case "Fn::GetAtt":
		if name, attribute, ok := attributeOf(c.arg); ok {
			w.found(reference{kind: refersToAttribute, name: name, attribute: attribute.Text, at: c.at, function: c.name})
			w.inside(attribute)
			return
		}
	case "Fn::Sub":
		w.sub(c)
		return
	case "Fn::FindInMap":
		if c.arg.Kind == document.Array && len(c.arg.Items) > 0 && c.arg.Items[0].Kind == document.String {
			w.found(reference{kind: refersToMapping, name: c.arg.Items[0].Text, at: c.at, function: c.name})
		}
	case "Fn::If":
		if args, ok := arguments(c.arg, 3, 3); ok && args[0].Kind == document.String {
			w.found(reference{kind: refersToCondition, name: args[0].Text, at: c.at, function: c.name})
			taken := 0
			if w.branch != nil {
				taken = w.branch(args[0].Text)
			}
			if taken == 0 || taken == 1 {
				w.inside(args[1])
			}
			if taken == 0 || taken == 2 {
				w.inside(args[2])
			}
			return
		}
	}
	w.inside(c.arg)
}

// inside walks an argument of a function without adding a step to the path, but adds the
// members of an object that is a value.
func (w *walker) inside(v *document.Value) {
	if v == nil {
		return
	}
	for _, item := range v.Items {
		w.inside(item)
	}
	if v.Kind != document.Object {
		return
	}
	if c, ok := callOf(v, w.conditions); ok {
		w.call(c)
		return
	}
	for _, m := range v.Distinct() {
		w.inside(m.Value)
	}
}

func (w *walker) sub(c call) {
	text, variables, ok := subArguments(c.arg)
	if !ok {
		return
	}
	pieces, _ := subPieces(text.Text)
	for _, p := range pieces {
		if p.variable == "" || variables.Member(p.variable) != nil {
			continue
		}
		r := reference{kind: refersTo, name: p.variable, at: c.at, function: c.name}
		if name, attribute, found := cut(p.variable); found {
			r.kind, r.name, r.attribute = refersToAttribute, name, attribute
		}
		w.found(r)
	}
	if variables != nil {
		w.inside(variables)
	}
}

// A DependencyKind is the kind of a dependency of a resource.
type DependencyKind uint8

// The kinds of dependencies. The first three are on resources.
const (
	DependsOn          DependencyKind = iota // the attribute DependsOn
	DependsOnID                              // Ref
	DependsOnAttribute                       // Fn::GetAtt
	DependsOnParameter                       // Ref of a parameter, also as the key of a mapping
	DependsOnPseudo                          // Ref of a pseudo parameter
	DependsOnMapping                         // Fn::FindInMap
	DependsOnCondition                       // Fn::If
)

// A Dependency is one use of something by a resource.
type Dependency struct {
	Kind      DependencyKind
	Name      string // the logical ID, parameter, mapping or condition
	Attribute string // of DependsOnAttribute

	// Path names the value that uses it: /Properties/Tags/0/Value. It is empty for DependsOn.
	Path document.Pointer
}

// OnResource reports whether the dependency is on a resource.
func (d Dependency) OnResource() bool { return d.Kind <= DependsOnAttribute }

// Dependencies returns everything that a resource uses, in the order written: in its
// properties, metadata and policies, through the branch of Fn::If that is taken.
func (s *Scope) Dependencies(r *Resource) []Dependency {
	var out []Dependency
	for _, name := range r.DependsOn {
		if target := s.t.resources[name]; target != nil && s.Active(target) {
			out = append(out, Dependency{Kind: DependsOn, Name: name})
		}
	}
	for _, part := range r.parts() {
		w := &walker{path: document.Pointer{part.name}, branch: s.branch}
		w.emit = func(ref reference) {
			if d, ok := s.t.dependency(ref); ok {
				out = append(out, d)
			}
		}
		w.walk(part.value)
	}
	return out
}

// parts are the parts of a resource that are evaluated.
func (r *Resource) parts() []struct {
	name  string
	value *document.Value
} {
	return []struct {
		name  string
		value *document.Value
	}{{"Properties", r.Properties}, {"Metadata", r.Metadata}, {"CreationPolicy", r.CreationPolicy}, {"UpdatePolicy", r.UpdatePolicy}}
}

func (s *Scope) branch(condition string) int {
	if s.conditions[condition] {
		return 1
	}
	return 2
}

func (t *Template) dependency(ref reference) (Dependency, bool) {
	d := Dependency{Name: ref.name, Attribute: ref.attribute, Path: ref.path}
	switch {
	case ref.kind == refersToMapping:
		d.Kind = DependsOnMapping
	case ref.kind == refersToCondition:
		d.Kind = DependsOnCondition
	case ref.kind == refersToAttribute:
		d.Kind = DependsOnAttribute
	case t.resources[ref.name] != nil:
		d.Kind = DependsOnID
	case t.parameters[ref.name] != nil:
		d.Kind = DependsOnParameter
	case isPseudo(ref.name):
		d.Kind = DependsOnPseudo
	default:
		return d, false
	}
	return d, true
}

func isPseudo(name string) bool {
	_, ok := Pseudo{}.value(name)
	return ok
}

// Needs returns the logical IDs of the resources that must be done before a resource, sorted.
func (s *Scope) Needs(r *Resource) []string {
	var out []string
	for _, d := range s.Dependencies(r) {
		if d.OnResource() {
			out = appendNew(out, d.Name)
		}
	}
	if bucket := s.implied()[r.LogicalID]; bucket != "" {
		out = appendNew(out, bucket)
	}
	slices.Sort(out)
	return out
}

// findImplied returns the buckets that bucket policies need although they do not refer to them: both have the name of the bucket in
// the same words, such as the same Fn::Sub. On AWS the policy waits for the bucket. A bucket that needs its policy is left out.
func (s *Scope) findImplied() map[string]string {
	const bucketType, policyType = "AWS::S3::Bucket", "AWS::S3::BucketPolicy"
	active := s.ActiveResources()
	buckets := map[string]string{} // by name, as written
	for _, r := range active {
		if name := r.Properties.Get("BucketName"); r.Type == bucketType && name != nil {
			buckets[string(name.AppendJSON(nil))] = r.LogicalID
		}
	}
	out := map[string]string{}
	var graph map[string][]string
	for _, r := range active {
		name := r.Properties.Get("Bucket")
		if r.Type != policyType || name == nil || len(buckets) == 0 {
			continue
		}
		bucket := buckets[string(name.AppendJSON(nil))]
		if bucket == "" {
			continue
		}
		if graph == nil {
			graph = map[string][]string{}
			for _, r := range active {
				for _, d := range s.Dependencies(r) {
					if d.OnResource() {
						graph[r.LogicalID] = appendNew(graph[r.LogicalID], d.Name)
					}
				}
			}
		}
		if !reaches(graph, bucket, r.LogicalID) {
			out[r.LogicalID] = bucket
			graph[r.LogicalID] = appendNew(graph[r.LogicalID], bucket)
		}
	}
	return out
}

// reaches reports whether a node of a graph needs another one.
func reaches(graph map[string][]string, from, to string) bool {
	seen := map[string]bool{from: true}
	for open := []string{from}; len(open) > 0; {
		node := open[len(open)-1]
		open = open[:len(open)-1]
		for _, need := range graph[node] {
			if need == to {
				return true
			}
			if !seen[need] {
				seen[need] = true
				open = append(open, need)
			}
		}
	}
	return false
}

// ConditionParameters returns the parameters that a condition depends on, sorted.
func (t *Template) ConditionParameters(name string) []string {
	var out []string
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		c := t.conditions[name]
		if c == nil || seen[name] {
			return
		}
		seen[name] = true
		eachReference(c.Value, func(ref reference) {
			switch {
			case ref.kind == refersToCondition:
				visit(ref.name)
			case ref.kind == refersTo && t.parameters[ref.name] != nil:
				out = appendNew(out, ref.name)
			}
		})
	}
	visit(name)
	slices.Sort(out)
	return out
}

// Order returns the active resources so that each comes after those that it needs; otherwise
// in the order written. The error is the refusal of a cycle.
func (s *Scope) Order() ([]*Resource, error) {
	active := s.ActiveResources()
	needs := make(map[string][]string, len(active))
	for _, r := range active {
		needs[r.LogicalID] = s.Needs(r)
	}
	names := make([]string, len(active))
	for i, r := range active {
		names[i] = r.LogicalID
	}
	if cycle := cycles(names, needs); cycle != nil {
		return nil, refuse("cycle", s.t.resources[cycle[0]].At, document.Pointer{"Resources", cycle[0]}, list(cycle))
	}
	out := make([]*Resource, 0, len(active))
	done := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if done[name] || s.t.resources[name] == nil || !s.Active(s.t.resources[name]) {
			return
		}
		done[name] = true
		for _, need := range needs[name] {
			visit(need)
		}
		out = append(out, s.t.resources[name])
	}
	for _, name := range names {
		visit(name)
	}
	return out, nil
}

// cycles returns the names that are in a cycle, in the given order: those that remain after
// repeatedly removing names without dependencies and names without dependents.
func cycles(names []string, needs map[string][]string) []string {
	left := prune(names, needs)
	reverse := map[string][]string{}
	for _, name := range left {
		for _, need := range needs[name] {
			reverse[need] = append(reverse[need], name)
		}
	}
	return prune(left, reverse)
}

// prune takes away the names that need none of those that are left.
func prune(names []string, needs map[string][]string) []string {
	open := make(map[string]int, len(names))
	for _, name := range names {
		open[name] = 0
	}
	users := map[string][]string{}
	for _, name := range names {
		for _, need := range needs[name] {
			if _, ok := open[need]; ok {
				open[name]++
				users[need] = append(users[need], name)
			}
		}
	}
	var ready []string
	for _, name := range names {
		if open[name] == 0 {
			ready = append(ready, name)
		}
	}
	gone := map[string]bool{}
	for len(ready) > 0 {
		name := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		gone[name] = true
		for _, user := range users[name] {
			if open[user]--; open[user] == 0 {
				ready = append(ready, user)
			}
		}
	}
	var left []string
	for _, name := range names {
		if !gone[name] {
			left = append(left, name)
		}
	}
	return left
}
