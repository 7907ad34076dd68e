package template

import (
	"context"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// Check rejects what the service rejects at the call, whatever the parameters are: arguments
// of functions, unknown names, unknown types. hasType reports whether a type is registered or built in; nil
// accepts every type.
// The error is [Errors].
func (t *Template) Check(ctx context.Context, hasType func(typeName string) bool) error {
	c := &checker{t: t, hasType: hasType}
	c.conditions()
	c.resources(ctx)
	c.outputs()
	c.exports()
	t.checkDynamic(&c.report)
	if err := ctx.Err(); err != nil {
		return err
	}
	c.cycle()
	return c.err()
}

// A checker looks at the functions of a template without evaluating them.
type checker struct {
	report
	t       *Template
	hasType func(typeName string) bool // nil accepts every type

	path       document.Pointer
	in         place
	section    string // the block that unresolved names are reported for
	parents    []string
	unresolved []unresolved
}

func (c *checker) refuse(id string, v *document.Value, args ...any) {
	c.add(id, v.At, c.path, args...)
}

// An unresolved name is one that the template does not declare.
type unresolved struct {
	name string
	at   diag.Range
}

// begin starts a value of a section, end reports its unresolved names.
func (c *checker) begin(section string, in place) {
	c.section, c.in, c.unresolved = section, in, nil
}

func (c *checker) missing(name string, v *document.Value) {
	c.unresolved = append(c.unresolved, unresolved{name, v.At})
}

func (c *checker) end(id string, args ...any) {
	known := c.t.referable
	if c.in != inValues {
		known = c.t.parameterNames
	}
	var all []string
	for _, u := range c.unresolved {
		if !slices.Contains(all, u.name) {
			all = append(all, u.name)
		}
	}
	// The first refusal has all names, as the service returns it; the others are further places.
	for i, u := range c.unresolved {
		names := []string{u.name}
		if i == 0 {
			names = all
		}
		c.addUnknown(id, u.at, nil, u.name, known, append([]any{list(names)}, args...)...)
	}
}

// parameterNames, resourceNames and conditionNames are the names that a template declares.
func (t *Template) parameterNames() (out []string) {
	for _, p := range t.Parameters {
		out = append(out, p.Name)
	}
	return out
}

func (t *Template) resourceNames() (out []string) {
	for _, r := range t.Resources {
		out = append(out, r.LogicalID)
	}
	return out
}

func (t *Template) conditionNames() (out []string) {
	for _, c := range t.Conditions {
		out = append(out, c.Name)
	}
	return out
}

// referable are the names that Ref can have.
func (t *Template) referable() []string { return append(t.parameterNames(), t.resourceNames()...) }

func (c *checker) conditions() {
	c.begin("Conditions", inConditions)
	for _, condition := range c.t.Conditions {
		c.path = document.Pointer{"Conditions", condition.Name}
		if f, ok := callOf(condition.Value, true); !ok || !isLogic(f.name) {
			c.refuse("condition-operation", condition.Value)
			continue
		}
		c.walk(condition.Value)
	}
	c.end("condition-references")
	if cycle := c.t.conditionCycle(); cycle != nil {
		c.add("condition-cycle", c.t.conditions[cycle[0]].At, document.Pointer{"Conditions", cycle[0]}, chain(cycle))
	}
	c.begin("Rules", inRules)
	for _, rule := range c.t.Rules {
		c.path = document.Pointer{"Rules", rule.Name}
		if rule.Condition != nil {
			c.walk(rule.Condition)
		}
		for _, a := range rule.Assertions {
			c.walk(a.Assert)
		}
	}
	c.end("unresolved", "Rules")
}

func isLogic(name string) bool {
	return name == "Fn::Equals" || name == "Fn::And" || name == "Fn::Or" || name == "Fn::Not" || name == "Condition"
}

// conditionCycle returns the first cycle of conditions: a, b, a.
func (t *Template) conditionCycle() []string {
	const busy, done = 1, 2
	state := map[string]int{}
	var path, cycle []string
	var visit func(name string)
	visit = func(name string) {
		c := t.conditions[name]
		if c == nil || cycle != nil || state[name] == done {
			return
		}
		if state[name] == busy {
			cycle = append(slices.Clone(path[slices.Index(path, name):]), name)
			return
		}
		state[name] = busy
		path = append(path, name)
		eachReference(c.Value, func(ref reference) {
			if ref.kind == refersToCondition {
				visit(ref.name)
			}
		})
		path = path[:len(path)-1]
		state[name] = done
	}
	for _, c := range t.Conditions {
		visit(c.Name)
	}
	return cycle
}

func (c *checker) resources(ctx context.Context) {
	c.begin("Resources", inValues)
	var unknown []string
	var at diag.Range
	for _, r := range c.t.Resources {
		if ctx.Err() != nil {
			return
		}
		c.path = document.Pointer{"Resources", r.LogicalID}
		if c.hasType != nil && r.Type != "" && !c.hasType(r.Type) {
			if unknown == nil {
				at = r.At
			}
			unknown = appendNew(unknown, r.Type)
		}
		if r.Condition != "" && c.t.conditions[r.Condition] == nil {
			c.addUnknown("resource-condition", r.Value.Get("Condition").At, c.path.Append("Condition"), r.Condition, c.t.conditionNames, r.Condition)
		}
		for _, name := range r.DependsOn {
			if c.t.resources[name] == nil {
				c.missing(name, r.Value.Get("DependsOn"))
			}
		}
		for _, part := range r.parts() {
			if part.value != nil {
				c.child(part.name, part.value)
			}
		}
		for _, name := range []string{deletionPolicy, replacePolicy} {
			if policy := r.Value.Get(name); policy != nil && !c.literalPolicy(policy) {
				c.child(name, policy)
			}
		}
	}
	c.end("unresolved", "Resources")
	if unknown != nil {
		c.add("unknown-types", at, nil, list(unknown))
	}
}

// literalPolicy reports whether a policy is text. A function in it must not name resources.
func (c *checker) literalPolicy(v *document.Value) bool {
	eachReference(v, func(ref reference) {
		if ref.kind == refersTo && c.t.resources[ref.name] != nil {
			c.missing(ref.name, v)
		}
	})
	return v.Kind == document.String
}

func (c *checker) outputs() {
	c.begin("Outputs", inValues)
	for _, o := range c.t.Outputs {
		c.path = document.Pointer{"Outputs", o.Name}
		if o.Condition != "" && c.t.conditions[o.Condition] == nil {
			c.addUnknown("output-condition", o.At, c.path.Append("Condition"), o.Condition, c.t.conditionNames, o.Condition)
		}
		f, isCall := callOf(o.Value, false)
		if isCall && isLogic(f.name) {
			c.add("output-logic", o.Value.At, c.path.Append("Value"))
			continue
		}
		if !isCall && (o.Value.Kind == document.Object || o.Value.Kind == document.Array) {
			kind := "Map"
			if o.Value.Kind == document.Array {
				kind = "List"
			}
			c.add("output-type", o.Value.At, c.path.Append("Value"), kind)
		}
		c.child("Value", o.Value)
		if o.ExportName != nil {
			c.child("Export", o.ExportName)
		}
	}
	c.end("unresolved", "Outputs")
}

// exports looks at the names of exports that are written out.
func (c *checker) exports() {
	seen := map[string]bool{}
	for _, o := range c.t.Outputs {
		v := o.ExportName
		if v == nil {
			continue
		}
		at := document.Pointer{"Outputs", o.Name, "Export", "Name"}
		if c.outside(v) {
			c.add("export-resource", v.At, at)
			continue
		}
		if _, isCall := callOf(v, false); isCall {
			continue
		}
		name, ok := scalarText(v)
		switch {
		case !ok || !exportName(name):
			c.add("export-name", v.At, at)
		case len(name) > 256:
			c.add("export-length", v.At, at)
		case seen[name]:
			c.add("export-duplicate", v.At, at, list([]string{name}))
		}
		seen[name] = true
	}
}

// outside reports whether a value depends on resources, imported values or Fn::GetAZs.
func (c *checker) outside(v *document.Value) bool {
	found := false
	eachReference(v, func(ref reference) {
		found = found || ref.kind == refersToAttribute || ref.kind == refersTo && c.t.resources[ref.name] != nil
	})
	return found || hasFunction(v, "Fn::ImportValue", "Fn::GetAZs", "Fn::GetStackOutput")
}

// hasFunction reports whether one of the functions is called anywhere in a value.
func hasFunction(v *document.Value, names ...string) bool {
	for _, item := range v.Items {
		if hasFunction(item, names...) {
			return true
		}
	}
	if f, ok := callOf(v, false); ok && slices.Contains(names, f.name) {
		return true
	}
	for _, m := range v.Members {
		if hasFunction(m.Value, names...) {
			return true
		}
	}
	return false
}

// cycle refuses resources that need each other whatever the conditions are: only references
// outside of Fn::If between resources without a condition count. The scope finds the others.
func (c *checker) cycle() {
	needs := map[string][]string{}
	var names []string
	for _, r := range c.t.Resources {
		names = append(names, r.LogicalID)
		if r.Condition != "" {
			continue
		}
		needs[r.LogicalID] = append(needs[r.LogicalID], r.DependsOn...)
		for _, part := range r.parts() {
			w := &walker{branch: func(string) int { return noBranch }, emit: func(ref reference) {
				if (ref.kind == refersTo || ref.kind == refersToAttribute) && c.t.resources[ref.name] != nil {
					needs[r.LogicalID] = append(needs[r.LogicalID], ref.name)
				}
			}}
			w.walk(part.value)
		}
	}
	if cycle := cycles(names, needs); cycle != nil {
		c.add("cycle", c.t.resources[cycle[0]].At, document.Pointer{"Resources", cycle[0]}, list(cycle))
	}
}

func (c *checker) child(token string, v *document.Value) {
	c.path = append(c.path, token)
	c.walk(v)
	c.path = c.path[:len(c.path)-1]
}

// walk checks the functions in a value.
func (c *checker) walk(v *document.Value) {
	for i, item := range v.Items {
		c.child(itoa(i), item)
	}
	if v.Kind != document.Object {
		return
	}
	f, ok := callOf(v, c.in != inValues)
	if !ok {
		for _, m := range v.Distinct() {
			c.child(m.Key, m.Value)
		}
		return
	}
	c.path = append(c.path, f.name)
	c.call(f)
	c.path = c.path[:len(c.path)-1]
}

func (c *checker) call(f call) {
	function := functions[f.name]
	switch {
	case function == nil || function.in&inExtended != 0 && !c.t.processed && !c.t.extended():
		c.refuse("unsupported-function", f.at, f.name)
		return
	case function.in&c.in == 0 && c.in == inConditions:
		c.refuse("condition-function", f.at, f.name)
		return
	case function.in&c.in == 0:
		c.refuse("unsupported-function", f.at, f.name)
		return
	}
	before := len(c.errs)
	function.shape(c, f)
	if len(c.errs) > before {
		return // what is inside would only say it again
	}
	c.parents = append(c.parents, f.name)
	c.inside(f)
	c.parents = c.parents[:len(c.parents)-1]
}

// inside checks the arguments of a function, in which lists and maps are its own.
func (c *checker) inside(f call) {
	if f.name == "Ref" || f.name == "Condition" {
		return
	}
	c.walk(f.arg)
}

// within reports the innermost function around that is one of the names.
func (c *checker) within(names ...string) string {
	for _, parent := range slices.Backward(c.parents) {
		if slices.Contains(names, parent) {
			return strings.TrimSpace(parent)
		}
	}
	return ""
}
