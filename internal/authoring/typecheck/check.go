package typecheck

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// A Source finds the schemas of resource types.
type Source struct {
	// Schema returns the schema of a type, nil if it is not known.
	Schema func(typeName string) (*schema.Schema, error)

	// Complete reports whether a type whose schema is not known does not exist.
	Complete func(typeName string) bool

	// Names are known type names, for hints.
	Names func() []string
}

// Input is what a template is checked with.
type Input struct {
	Supplied   []template.Supplied  // values of parameters that are not varied
	Parameters *template.Parameters // of all parameters, see [template.Inspection]
	Pseudo     template.Pseudo
	Source     Source
}

// Check returns how the resources and references of a processed template violate the schemas of their types.
// Of conditions and parameters, it tries all combinations within bounds; a remark names what it did not check. The
// error is that of the source or of the context.
func Check(ctx context.Context, t *template.Template, in Input) (diag.List, error) {
	c := &checker{t: t, in: in, scenarios: newScenarios(t, in), schemas: map[string]*schema.Schema{}, seen: map[string]bool{}}
	if err := c.find(ctx); err != nil {
		return nil, err
	}
	for _, r := range t.Resources {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if s := c.schemas[r.Type]; s != nil {
			c.resource(r, s)
		}
	}
	c.attributes()
	c.outputs()
	if c.scenarios.bounded {
		c.add(diag.Problem{
			ID: "resource/combinations", Severity: diag.Info, At: t.Root().At,
			Message: "the conditions have too many combinations to check all of them", Hint: "pass --parameter KEY=VALUE for the parameters that decide them",
		})
	}
	c.found.Sort()
	return c.found, nil
}

type checker struct {
	t         *template.Template
	in        Input
	scenarios *scenarios
	schemas   map[string]*schema.Schema // nil for a type that the source does not know
	found     diag.List
	seen      map[string]bool // problems of copies that a loop made
}

func (c *checker) add(p diag.Problem) {
	key := fmt.Sprintf("%s\x00%v\x00%s", p.ID, p.At, p.Message)
	if !c.seen[key] {
		c.seen[key] = true
		c.found.Add(p)
	}
}

// find looks up the schemas of the types, and reports those that are not known.
func (c *checker) find(ctx context.Context) error {
	var open []string
	var first *template.Resource
	for _, r := range c.t.Resources {
		if r.Type == "" || Unvalidated(r.Type) || template.IsModuleType(r.Type) {
			continue
		}
		if _, asked := c.schemas[r.Type]; !asked {
			if err := ctx.Err(); err != nil {
				return err
			}
			s, err := c.in.Source.Schema(r.Type)
			if err != nil {
				return err
			}
			c.schemas[r.Type] = s
			if s != nil {
				c.lifecycle(r, s)
			}
		}
		if c.schemas[r.Type] != nil || slices.Contains(open, r.Type) || c.unknownType(r) {
			continue
		}
		if first == nil {
			first = r
		}
		open = append(open, r.Type)
	}
	if open != nil {
		c.add(diag.Problem{
			ID: "resource/not-checked", Severity: diag.Info, At: typePlace(first), Pointer: document.Pointer{"Resources", first.LogicalID, "Type"}.String(),
			Message: fmt.Sprintf("%s not checked, because no schema is known: %s", words.Count(len(open), "type"), diag.Cut(strings.Join(open, ", "))),
			Hint:    "pass --schemas with a folder or zip of schemas, or --registry to read them from cfn serve or AWS",
		})
	}
	return nil
}

func typePlace(r *template.Resource) diag.Range {
	if typ := r.Value.Get("Type"); typ != nil {
		return typ.At
	}
	return r.At
}

// unknownType reports a type that does not exist, or that is probably misspelled.
func (c *checker) unknownType(r *template.Resource) bool {
	names := c.in.Source.Names()
	hint := words.DidYouMean(r.Type, names)
	severity := diag.Error
	if !c.in.Source.Complete(r.Type) {
		near := words.Nearest(r.Type, names)
		if near == "" || !sameService(near, r.Type) {
			return false
		}
		severity = diag.Warning
	}
	refused := template.Refused(template.Refuse("unknown-types", typePlace(r), nil, "["+r.Type+"]"))[0]
	c.add(diag.Problem{
		ID: "resource/unknown-type", Severity: severity, At: refused.At, Message: refused.Message, Hint: hint,
		Pointer: document.Pointer{"Resources", r.LogicalID, "Type"}.String(),
	})
	return true
}

// sameService reports whether two type names have the same first two parts, so that the third is misspelled.
func sameService(a, b string) bool {
	return a[:strings.LastIndex(a, "::")+1] == b[:strings.LastIndex(b, "::")+1]
}

// lifecycle reports a type that its publisher gives up.
func (c *checker) lifecycle(r *template.Resource, s *schema.Schema) {
	v := s.Root.Get("lifecycle")
	status := v.Get("status")
	if status == nil || status.Kind != document.String {
		return
	}
	text := fmt.Sprintf("the type %s has the status %q", r.Type, status.Text)
	if date := v.Get("date"); date != nil && date.Kind == document.String {
		text += " since " + date.Text
	}
	c.add(diag.Problem{ID: "resource/lifecycle", Severity: diag.Warning, At: typePlace(r), Pointer: document.Pointer{"Resources", r.LogicalID, "Type"}.String(), Message: text})
}

// A finding is one problem of a resource and the scenarios that have it. Its place and its text identify it: an item
// of a list has another index where an item before it is left out.
type finding struct {
	problem   diag.Problem
	text      string
	scenarios []int
}

// resource checks the properties of one resource in all scenarios in which it exists.
func (c *checker) resource(r *template.Resource, s *schema.Schema) {
	uses := c.t.ResourceUses(r)
	var all []*finding
	var tried []scenario
	for _, scenario := range c.scenarios.of(uses) {
		if !scenario.Active(r) && slices.ContainsFunc(c.t.Conditions, func(d *template.Condition) bool { return d.Name == r.Condition }) {
			continue
		}
		value, ok := properties(scenario.Scope, r)
		if !ok {
			continue // the check of the template reports it
		}
		tried = append(tried, scenario)
		p := &part{checker: c, resource: r, schema: s, scope: scenario.Scope, value: value}
		for _, problem := range p.problems() {
			_, text, _ := strings.Cut(problem.Message, ": ")
			i := slices.IndexFunc(all, func(f *finding) bool {
				return f.problem.ID == problem.ID && f.problem.At == problem.At && f.text == text
			})
			if i < 0 {
				all, i = append(all, &finding{problem: problem, text: text}), len(all)
			}
			if n := len(tried) - 1; !slices.Contains(all[i].scenarios, n) {
				all[i].scenarios = append(all[i].scenarios, n)
			}
		}
	}
	for _, f := range all {
		f.problem.Message += when(f.scenarios, tried, uses.Conditions)
		c.add(f.problem)
	}
}

// properties evaluates the properties of a resource. One that cannot be evaluated, which the check of the template
// reports, is not known.
func properties(scope *template.Scope, r *template.Resource) (any, bool) {
	scope.Renew()
	value, err := scope.Properties(r, template.NoReferences{})
	if err == nil {
		return value, true
	}
	if template.FunctionName(r.Properties) != "" {
		return nil, false
	}
	return known(scope, r.Properties, document.Pointer{"Resources", r.LogicalID, "Properties"}), true
}

// known is what is known of a value of which a part cannot be evaluated.
func known(scope *template.Scope, v *document.Value, at document.Pointer) any {
	scope.Renew()
	value, err := scope.Evaluate(v, template.NoReferences{}, at...)
	switch {
	case err == nil:
		return value
	case template.FunctionName(v) != "":
		return template.Unknown
	case v.Kind == document.Object:
		out := map[string]any{}
		for _, m := range v.Distinct() {
			if value := known(scope, m.Value, at.Append(m.Key)); value != nil {
				out[m.Key] = value
			}
		}
		return out
	case v.Kind == document.Array:
		out := []any{}
		for i, item := range v.Items {
			if value := known(scope, item, at.Append(strconv.Itoa(i))); value != nil {
				out = append(out, value)
			}
		}
		return out
	}
	return template.Unknown
}

// when says which conditions or parameters some of the scenarios have, "" for all of them.
func when(which []int, tried []scenario, conditions []string) string {
	if len(which) == len(tried) {
		return ""
	}
	first := tried[which[0]]
	if first.varied != "" {
		return ", if " + first.varied
	}
	state := func(name string) string { return fmt.Sprintf("%s is %t", name, first.Holds(name)) }
	var parts []string
	for _, name := range conditions {
		alone := true // exactly the scenarios in which the condition is as in the first one
		for i, s := range tried {
			alone = alone && (s.Holds(name) == first.Holds(name)) == slices.Contains(which, i)
		}
		if alone {
			return ", if " + state(name)
		}
		parts = append(parts, state(name))
	}
	if parts == nil {
		return ""
	}
	return ", if " + diag.Cut(strings.Join(parts, " and "))
}

// attributes checks the references to attributes.
func (c *checker) attributes() {
	for _, use := range c.t.AttributeUses() {
		r := c.t.Resource(use.LogicalID)
		if r == nil || c.schemas[r.Type] == nil {
			continue
		}
		s, tokens := c.schemas[r.Type], document.Pointer(strings.Split(use.Attribute, "."))
		problem := diag.Problem{At: use.At, Pointer: use.Path.String()}
		switch {
		case !HasAttribute(s, use.Attribute):
			problem.ID, problem.Message = "resource/attribute", strings.TrimSuffix(AttributeText(r.Type, use.Attribute), ".")
			problem.Hint = AttributeHint(s, r.Type, use.Attribute)
		case !strings.HasPrefix(r.Type, "AWS::") && !s.IsReadOnly(tokens):
			problem.ID, problem.Severity = "resource/attribute-not-read-only", diag.Warning
			problem.Message = fmt.Sprintf("Requested attribute %s must be a readonly property in schema for %s", use.Attribute, r.Type)
			problem.Hint = words.DidYouMean(use.Attribute, attributeNames(s, r.Type))
		default:
			continue
		}
		c.add(problem)
	}
}

// AttributeHint says what to write instead of an attribute that a type does not have, "" if nothing is known.
func AttributeHint(s *schema.Schema, typeName, attribute string) string {
	if Hides(s, attribute) {
		return "the property is write-only: its value cannot be read"
	}
	return words.DidYouMean(attribute, attributeNames(s, typeName))
}

// attributeNames are the names of the attributes that Fn::GetAtt can read: those that are read-only, and of types of AWS the
// other properties, too.
func attributeNames(s *schema.Schema, typeName string) []string {
	var out []string
	if strings.HasPrefix(typeName, "AWS::") {
		for _, p := range s.Properties() {
			if !Hides(s, p.Key) {
				out = append(out, p.Key)
			}
		}
	}
	for _, p := range s.ReadOnly {
		out = append(out, strings.Join(p.Tokens, "."))
	}
	return out
}

// outputs checks that the values of outputs are texts.
func (c *checker) outputs() {
	for _, o := range c.t.Outputs {
		for _, scenario := range c.scenarios.of(c.t.OutputUses(o)) {
			if !scenario.OutputActive(o) {
				continue
			}
			place := scenario.Locate(o.Value, nil)
			if place.Value == nil || c.result(place.Value) != template.ListResult {
				continue
			}
			at := document.Pointer{"Outputs", o.Name, "Value"}
			c.found = append(c.found, template.Refused(template.Refuse("output-type", place.Value.At, at, "List")).Problems()...)
			break
		}
	}
}

// result returns the kind of the result of a function, also of an attribute.
func (c *checker) result(v *document.Value) template.ResultKind {
	kind, use := c.t.Result(v)
	if use == nil {
		return kind
	}
	r := c.t.Resource(use.LogicalID)
	if r == nil || c.schemas[r.Type] == nil || !HasAttribute(c.schemas[r.Type], use.Attribute) {
		return template.AnyResult
	}
	s, tokens := c.schemas[r.Type], document.Pointer(strings.Split(use.Attribute, "."))
	list, text := s.Allows(tokens, "array"), allowsText(s, tokens)
	switch {
	case s.Allows(tokens, "object"):
	case list && !text:
		return template.ListResult
	case text && !list:
		return template.TextResult
	}
	return template.AnyResult
}

func allowsText(s *schema.Schema, tokens document.Pointer) bool {
	return slices.ContainsFunc([]string{"string", "integer", "number", "boolean"}, func(name string) bool { return s.Allows(tokens, name) })
}
