package module

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// MaxDepth is how many levels of child modules a module has at most.
const MaxDepth = 3

// maxValues is how deep lists and objects of the result nest.
const maxValues = 128

// Fragments finds the fragments of modules.
type Fragments interface {
	// Fragment returns the fragment of the version of a module that is in use, nil if the
	// type is not known.
	Fragment(ctx context.Context, typeName string) (*Fragment, error)
}

// An Expansion is a template without modules.
type Expansion struct {
	Root *document.Value

	// Modules are the modules of the template and of its modules, the innermost first, in the
	// order of the template.
	Modules []Instance
}

// An Instance is one use of a module.
type Instance struct {
	LogicalID string // concatenated, the outermost first: the prefix of what it contains
	Type      string
	File      string     // of its fragment
	At        diag.Range // of the resource that names it
}

// An Expander expands the modules of a template while it is processed. It implements [template.Modules].
type Expander struct {
	Fragments Fragments
	Instances []Instance // of the template that was expanded last
}

// Expand implements [template.Modules].
func (e *Expander) Expand(ctx context.Context, root *document.Value, budget *template.Budget) (*document.Value, error) {
	expansion, err := Expand(ctx, root, e.Fragments, budget)
	if err != nil {
		return nil, err
	}
	e.Instances = expansion.Modules
	return expansion.Root, nil
}

// Expand replaces the modules of a template. Functions must be written long, as
// [template.ReadDocument] does; transforms must have run. What is made is taken from the budget. The
// error is [template.Errors], that of fragments, or that of the context.
func Expand(ctx context.Context, root *document.Value, fragments Fragments, budget *template.Budget) (*Expansion, error) {
	e := &expander{ctx: ctx, fragments: fragments, budget: budget, units: map[string]*unit{}, sizes: map[*document.Value]int{}}
	u, err := e.expand(root, "")
	if err != nil {
		return nil, err
	}
	return e.finish(root, u)
}

// A unit is a template or a fragment after its own modules were expanded. Nothing in it has the
// prefix of the module that it is used as.
type unit struct {
	file       string
	typeName   string // "" for the template
	parameters []document.Member

	mappings, conditions, resources, outputs []document.Member

	own       map[string]bool     // the resources that are no modules
	from      map[string]origin   // of the resources that come from modules, by logical ID
	groups    map[string][]string // resources of a module, by its concatenated logical ID
	instances []Instance
	depth     int // levels of modules in it
}

// An origin is the path of modules to a resource, the innermost first.
type origin struct{ ids, types []string }

type expander struct {
	ctx       context.Context
	fragments Fragments
	units     map[string]*unit // of fragments, by type
	active    []string         // types that are being expanded, the outermost first
	sizes     map[*document.Value]int
	budget    *template.Budget
	exceeded  error // the refusal of what exceeded the budget
}

// module returns the unit of a type that a resource names.
func (e *expander) module(typeName string, m document.Member) (*unit, error) {
	at := m.Value.Get("Type").At
	if i := slices.Index(e.active, typeName); i >= 0 {
		return nil, refuse("cycle", at, pointer(m), typeName)
	}
	if u := e.units[typeName]; u != nil {
		if len(e.active)+u.depth > MaxDepth {
			return nil, refuse("depth", at, pointer(m), typeName, MaxDepth)
		}
		return u, nil
	}
	if len(e.active) > MaxDepth {
		return nil, refuse("depth", at, pointer(m), typeName, MaxDepth)
	}
	f, err := e.fragments.Fragment(e.ctx, typeName)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, template.Refuse("unknown-types", at, pointer(m), "["+typeName+"]")
	}
	if e.spend(template.Cost(f.Root), at); e.exceeded != nil {
		return nil, e.exceeded
	}
	e.active = append(e.active, typeName)
	u, err := e.expand(f.Root, typeName)
	e.active = e.active[:len(e.active)-1]
	if err != nil {
		return nil, err
	}
	u.file = f.File
	e.units[typeName] = u
	return u, nil
}

// pointer names a resource in its template.
func pointer(m document.Member) document.Pointer { return document.Pointer{"Resources", m.Key} }

// expand makes the unit of a template or of a fragment.
func (e *expander) expand(root *document.Value, typeName string) (*unit, error) {
	u := &unit{
		typeName: typeName, parameters: root.Get("Parameters").Distinct(), mappings: slices.Clone(root.Get("Mappings").Distinct()),
		conditions: slices.Clone(root.Get("Conditions").Distinct()), own: map[string]bool{}, from: map[string]origin{}, groups: map[string][]string{},
	}
	resources, outputs := root.Get("Resources").Distinct(), root.Get("Outputs").Distinct()
	children := map[string]*unit{}
	for _, m := range resources {
		if !IsModule(m.Value) {
			u.own[m.Key] = true
			continue
		}
		if err := permitted(m); err != nil {
			return nil, err
		}
		child, err := e.module(m.Value.Get("Type").Text, m)
		if err != nil {
			return nil, err
		}
		children[m.Key] = child
		if e.spend(child.cost(m.Key), m.KeyAt); e.exceeded != nil {
			return nil, e.exceeded
		}
		u.add(m, child)
	}
	if len(children) == 0 {
		u.resources, u.outputs = resources, outputs
		return u, nil
	}
	if err := e.assemble(u, resources, outputs, children); err != nil {
		return nil, err
	}
	return u, u.unique(typeName)
}

// permitted refuses attributes that a module cannot have.
func permitted(m document.Member) error {
	for _, name := range []string{"CreationPolicy", "UpdatePolicy"} {
		if v := m.Value.Member(name); v != nil {
			return refuse("attribute", v.KeyAt, pointer(m).Append(name), name, m.Key)
		}
	}
	for _, name := range []string{"DeletionPolicy", "UpdateReplacePolicy"} {
		if v := m.Value.Get(name); v != nil && v.Text == "Snapshot" {
			return refuse("attribute", v.At, pointer(m).Append(name), name+" Snapshot", m.Key)
		}
	}
	return nil
}

// nameCost is about how many bytes the records of one resource of a module take.
const nameCost = 256

// cost is how many bytes [unit.add] takes for a use of the unit.
func (u *unit) cost(id string) int {
	n := len(u.resources) + len(u.instances) + 1
	for _, ids := range u.groups {
		n += len(ids)
	}
	return n * (nameCost + len(id))
}

// add records what a child module will consist of, before it is instantiated: references to it
// need to know.
func (u *unit) add(m document.Member, child *unit) {
	u.depth = max(u.depth, child.depth+1)
	for _, r := range child.resources {
		id := m.Key + r.Key
		at := child.from[r.Key]
		u.from[id] = origin{append(slices.Clone(at.ids), m.Key), append(slices.Clone(at.types), child.typeName)}
		u.groups[m.Key] = append(u.groups[m.Key], id)
	}
	if len(child.resources) == 0 {
		u.groups[m.Key] = nil
	}
	for name, ids := range child.groups {
		for _, id := range ids {
			u.groups[m.Key+name] = append(u.groups[m.Key+name], m.Key+id)
		}
	}
	for _, i := range child.instances {
		i.LogicalID = m.Key + i.LogicalID
		u.instances = append(u.instances, i)
	}
	u.instances = append(u.instances, Instance{LogicalID: m.Key, Type: child.typeName, File: child.file, At: m.KeyAt})
}

// assemble puts own resources and outputs and those of modules together.
func (e *expander) assemble(u *unit, resources, outputs []document.Member, children map[string]*unit) error {
	w := &rewriter{e: e, u: u}
	var refused template.Errors // of the modules, which do not depend on each other
	own := func(members []document.Member) ([]document.Member, error) {
		out := make([]document.Member, 0, len(members))
		for _, m := range members {
			if err := e.ctx.Err(); err != nil {
				return nil, err
			}
			child := children[m.Key]
			if child == nil || !IsModule(m.Value) {
				m.Value = w.entry(m.Value)
				out = append(out, m)
				continue
			}
			inner, err := e.instantiate(u, m, w.entry(m.Value), child)
			if e.exceeded != nil {
				return nil, e.exceeded
			}
			if found := template.Refused(err); found != nil {
				refused = append(refused, found...)
				continue
			}
			if err != nil {
				return nil, err
			}
			out = append(out, inner...)
			if len(out) > template.MaxResources {
				return nil, template.Refuse("too-many-resources", m.KeyAt, document.Pointer{"Resources"}, len(out))
			}
		}
		if e.exceeded != nil {
			return nil, e.exceeded
		}
		return out, join(refused)
	}
	// Outputs of modules are appended by instantiate, after those of the template.
	for _, m := range outputs {
		m.Value = w.entry(m.Value)
		u.outputs = append(u.outputs, m)
	}
	var err error
	u.resources, err = own(resources)
	return err
}

// instantiate adds a module under the logical ID of a resource, and returns its resources. call is
// that resource with its references resolved.
func (e *expander) instantiate(u *unit, m document.Member, call *document.Value, child *unit) ([]document.Member, error) {
	parameters, err := bind(m, call, child)
	if err != nil {
		return nil, err
	}
	w := &rewriter{e: e, prefix: m.Key, parameters: parameters, mappings: names(child.mappings)}
	for _, c := range child.mappings {
		e.spend(len(c.Key)+e.size(c.Value), c.KeyAt)
		u.mappings = append(u.mappings, w.prefixed(c, c.Value))
	}
	for _, c := range child.conditions {
		value := w.walk(c.Value, true)
		if hasCall(value, "Fn::If") && !hasCall(c.Value, "Fn::If") { // it comes from a parameter
			return nil, refuse("condition", value.At, pointer(m))
		}
		u.conditions = append(u.conditions, w.prefixed(c, value))
	}
	attributes := attributesOf(call)
	for _, o := range child.outputs {
		value := w.entry(o.Value)
		u.outputs = append(u.outputs, w.prefixed(o, u.conditioned(value, attributes.condition)))
	}
	var out []document.Member
	for _, r := range child.resources {
		if err := e.ctx.Err(); err != nil {
			return nil, err
		}
		value := u.conditioned(w.entry(r.Value), attributes.condition)
		out = append(out, w.prefixed(r, attributes.apply(value)))
		e.spend(len(m.Key)+attributes.cost, r.KeyAt)
	}
	if e.exceeded != nil {
		return nil, e.exceeded
	}
	return out, nil
}

func hasCall(v *document.Value, name string) bool {
	if slices.ContainsFunc(v.Items, func(item *document.Value) bool { return hasCall(item, name) }) {
		return true
	}
	return slices.ContainsFunc(v.Members, func(m document.Member) bool { return m.Key == name || hasCall(m.Value, name) })
}

// names are the keys of members.
func names(members []document.Member) map[string]bool {
	out := make(map[string]bool, len(members))
	for _, m := range members {
		out[m.Key] = true
	}
	return out
}

// unique refuses two things of one kind with one name.
func (u *unit) unique(typeName string) error {
	where := "the template"
	if typeName != "" {
		where = typeName
	}
	for _, section := range []struct {
		name    string
		members []document.Member
	}{{"Mappings", u.mappings}, {"Conditions", u.conditions}, {"Resources", u.resources}, {"Outputs", u.outputs}} {
		seen := map[string]bool{}
		for _, m := range section.members {
			if seen[m.Key] {
				return refuse("name", m.KeyAt, document.Pointer{section.name, m.Key}, m.Key, section.name, where)
			}
			seen[m.Key] = true
		}
	}
	return nil
}

// finish makes the template of a unit: everything that is not expanded stays as it was.
func (e *expander) finish(root *document.Value, u *unit) (*Expansion, error) {
	for i, r := range u.resources {
		if from, ok := u.from[r.Key]; ok {
			u.resources[i].Value = withOrigin(r.Value, from)
		}
	}
	sections := map[string][]document.Member{
		"Mappings": u.mappings, "Conditions": u.conditions, "Resources": u.resources, "Outputs": u.outputs,
	}
	out := &document.Value{Kind: document.Object, At: root.At}
	add := func(name string, at diag.Range, kept *document.Value) {
		if members, ok := sections[name]; ok {
			delete(sections, name)
			if kept == nil && len(members) == 0 {
				return
			}
			value := &document.Value{Kind: document.Object, At: at, Members: members}
			if kept != nil {
				value.At = kept.At
			}
			out.Members = append(out.Members, document.Member{Key: name, KeyAt: at, Value: value})
		}
	}
	for _, m := range root.Distinct() {
		if _, expanded := sections[m.Key]; !expanded {
			out.Members = append(out.Members, m)
			continue
		}
		if m.Key == "Resources" { // before which the others stand
			for _, name := range []string{"Mappings", "Conditions"} {
				if root.Member(name) == nil {
					add(name, m.KeyAt, nil)
				}
			}
		}
		add(m.Key, m.KeyAt, m.Value)
	}
	add("Outputs", root.At, nil)
	if depth(out) > maxValues {
		return nil, refuse("values", root.At, nil, maxValues)
	}
	return &Expansion{Root: out, Modules: u.instances}, nil
}

func depth(v *document.Value) int {
	deepest := 0
	for _, item := range v.Items {
		deepest = max(deepest, depth(item))
	}
	for _, m := range v.Members {
		deepest = max(deepest, depth(m.Value))
	}
	return deepest + 1
}

// withOrigin notes in the metadata of a resource which modules it comes from.
func withOrigin(resource *document.Value, from origin) *document.Value {
	at := resource.At
	info := &document.Value{Kind: document.Object, At: at, Members: []document.Member{
		{Key: template.ModuleTypes, KeyAt: at, Value: textAt(strings.Join(from.types, "/"), at)},
		{Key: template.ModuleIDs, KeyAt: at, Value: textAt(strings.Join(from.ids, "/"), at)},
	}}
	note := document.Member{Key: template.ModuleKey, KeyAt: at, Value: info}
	metadata := &document.Value{Kind: document.Object, At: at}
	if own := resource.Get("Metadata"); own != nil && own.Kind == document.Object {
		metadata.At = own.At
		for _, m := range own.Distinct() {
			if m.Key != template.ModuleKey {
				metadata.Members = append(metadata.Members, m)
			}
		}
	}
	metadata.Members = append(metadata.Members, note)
	return with(resource, "Metadata", metadata)
}

// with returns an object with another value of one key.
func with(v *document.Value, key string, value *document.Value) *document.Value {
	out := *v
	out.Members = slices.Clone(v.Distinct())
	for i, m := range out.Members {
		if m.Key == key {
			out.Members[i].Value = value
			return &out
		}
	}
	out.Members = append(out.Members, document.Member{Key: key, KeyAt: value.At, Value: value})
	return &out
}

func textAt(s string, at diag.Range) *document.Value {
	return &document.Value{Kind: document.String, Text: s, At: at}
}

// IsModule reports whether a resource of a template is a module.
func IsModule(resource *document.Value) bool {
	typ := resource.Get("Type")
	return typ != nil && typ.Kind == document.String && template.IsModuleType(typ.Text)
}

// spend takes bytes from the budget. Of what exceeds it e.exceeded keeps the first.
func (e *expander) spend(bytes int, at diag.Range) {
	if err := e.budget.Spend(bytes, at, nil); err != nil && e.exceeded == nil {
		e.exceeded = err
	}
}

// size is the length of the texts in a value; it is not computed further than matters.
func (e *expander) size(v *document.Value) int {
	if n, ok := e.sizes[v]; ok {
		return n
	}
	n := len(v.Text) + 2
	for _, item := range v.Items {
		n += e.size(item)
	}
	for _, m := range v.Members {
		n += len(m.Key) + e.size(m.Value)
	}
	n = min(n, template.MaxMade+1)
	if v.Kind == document.Array || v.Kind == document.Object {
		e.sizes[v] = n
	}
	return n
}

// String names the module in messages.
func (i Instance) String() string { return fmt.Sprintf("%s (%s)", i.LogicalID, i.Type) }
