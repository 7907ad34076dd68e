package template

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// ExpandInput is what transforms run with.
type ExpandInput struct {
	Parameters *Parameters
	Pseudo     Pseudo
	Macros     Macros // nil has none

	// Modules expand the modules of the template. nil leaves them in it.
	Modules Modules

	// Budget is that of the request. Nil means a new one.
	Budget *Budget
}

// Modules know the modules of an account.
type Modules interface {
	// Expand returns the template without modules, made from the budget. Functions are written
	// long. The error is [Errors] for refusals.
	Expand(ctx context.Context, root *document.Value, budget *Budget) (*document.Value, error)
}

// Macros run the transforms that need functions, S3 or the translator.
type Macros interface {
	// Include returns what AWS::Include puts into the template: JSON or YAML. The error is in
	// the words of the service: "S3 bucket [B] does not exist."
	Include(ctx context.Context, location string) ([]byte, error)

	// Transform runs a macro, also AWS::Serverless, and returns the response of its function:
	// {"requestId", "status", "fragment", "errorMessage"}. The error is [ErrNoMacro] if there
	// is no such macro; any other is shown as the reason why the transform failed.
	Transform(ctx context.Context, call MacroCall) ([]byte, error)
}

// ErrNoMacro is the error of [Macros] for a macro that does not exist.
var ErrNoMacro = errors.New("no such macro")

// A MacroCall is the part of a macro's request that the template knows.
type MacroCall struct {
	Name        string // as in the template
	TransformID string // "123456789012::Name"; AWS transforms have no account
	Fragment    json.RawMessage
	Params      json.RawMessage // {} without parameters
	Values      map[string]any  // of the template's parameters
	Secrets     []string        // those of the values that no log may have
}

const (
	maxTransforms = 100 // macros and includes of one template
	maxNested     = 10  // a transform in the result of a transform, and so on
)

// NeedsExpansion reports whether the template has transforms or modules.
func (t *Template) NeedsExpansion() bool { return t.HasTransforms() || len(t.Modules()) > 0 }

// HasTransforms reports whether the template has transforms.
func (t *Template) HasTransforms() bool {
	return t.root.Get("Transform") != nil || hasTransform(t.root)
}

func hasTransform(v *document.Value) bool {
	if slices.ContainsFunc(v.Items, hasTransform) {
		return true
	}
	for _, m := range v.Members {
		if m.Key == "Fn::Transform" || hasTransform(m.Value) {
			return true
		}
	}
	return false
}

// UsedTransforms returns the names of all transforms, those of Fn::Transform included.
func (t *Template) UsedTransforms() []string {
	var out []string
	for _, transform := range t.Transforms {
		out = appendNew(out, transform.Name)
	}
	var walk func(v *document.Value)
	walk = func(v *document.Value) {
		for _, item := range v.Items {
			walk(item)
		}
		for _, m := range v.Members {
			if m.Key == "Fn::Transform" {
				for _, transform := range embeddedTransforms(m.Value) {
					if name := transform.Get("Name"); name != nil && name.Kind == document.String {
						out = appendNew(out, name.Text)
					}
				}
			}
			walk(m.Value)
		}
	}
	walk(t.root)
	return out
}

// embeddedTransforms are the definitions in the value of Fn::Transform: one, or a list of them.
func embeddedTransforms(v *document.Value) []*document.Value {
	if v.Kind == document.Array {
		return v.Items
	}
	return []*document.Value{v}
}

func (t *Template) buildTransforms(r *report) {
	v := t.root.Get("Transform")
	if v == nil || v.Kind == document.Null {
		return
	}
	items := []*document.Value{v}
	if v.Kind == document.Array {
		items = v.Items
	}
	for _, item := range items {
		switch item.Kind {
		case document.String:
			t.Transforms = append(t.Transforms, Transform{Name: item.Text, At: item.At})
		case document.Object:
			name := item.Get("Name")
			if name == nil || name.Kind != document.String || name.Text == "" {
				r.add("transform-name", item.At, document.Pointer{"Transform"})
				continue
			}
			t.Transforms = append(t.Transforms, Transform{Name: name.Text, Parameters: item.Get("Parameters"), At: item.At})
		default:
			r.add("transform-type", item.At, document.Pointer{"Transform"})
		}
	}
}

// Expand runs the transforms and returns the processed template, which has none: those inside
// of the template first, innermost first; then the macros of the section Transform in their
// order, AWS::LanguageExtensions, and AWS::Serverless. Then it expands modules. A template
// without both is returned unchanged. The error is [Errors], that of the context, or that of [Room].
func (t *Template) Expand(ctx context.Context, in ExpandInput) (*Template, error) {
	if !t.NeedsExpansion() {
		return t, nil
	}
	x := &expansion{t: t, in: in, extended: t.processed, budget: in.Budget}
	if x.budget == nil {
		x.budget = BudgetOf(ctx)
	}
	root, err := x.embedded(ctx, t.root, 0)
	if err != nil {
		return nil, err
	}
	if root, err = x.declared(ctx, root); err != nil {
		return nil, err
	}
	if root, err = x.modules(ctx, root); err != nil {
		return nil, err
	}
	var r report
	// The JSON of what weighs more than twice as much is not written: it is longer than half of the weight.
	if weight(root) > 2*MaxBytes || len(root.AppendJSON(nil)) > MaxBytes {
		r.add("too-large", t.root.At, nil)
		return nil, r.err()
	}
	out := &Template{name: t.name, root: root, processed: x.extended, Warnings: t.Warnings}
	out.build(&r)
	return out, r.err()
}

type expansion struct {
	t        *Template
	in       ExpandInput
	extended bool // AWS::LanguageExtensions ran
	ran      int  // number of transforms
	budget   *Budget
	bound    map[string]any // the parameters as a macro sees them; nil until the first one runs
}

// declared runs the transforms of the section Transform, also those that a macro adds.
func (x *expansion) declared(ctx context.Context, root *document.Value) (*document.Value, error) {
	type due struct {
		Transform
		depth int
	}
	var pending []due
	for depth := 0; ; {
		if root.Kind != document.Object {
			return nil, refuse("structure", root.At, nil)
		}
		step := &Template{name: x.t.name, root: root}
		var r report
		step.buildTransforms(&r)
		if r.errs != nil {
			return nil, r.err()
		}
		root = without(root, "Transform")
		for _, transform := range step.Transforms {
			pending = append(pending, due{transform, depth})
		}
		if len(pending) == 0 {
			return root, nil
		}
		slices.SortStableFunc(pending, func(a, b due) int { return turn(a.Name) - turn(b.Name) })
		next := pending[0]
		pending = pending[1:]
		if next.depth >= maxNested {
			return nil, refuse("transform-nested", next.At, nil, maxNested)
		}
		var err error
		if root, err = x.top(ctx, root, next.Transform); err != nil {
			return nil, err
		}
		depth = next.depth + 1
	}
}

// turn is when a transform of the section runs.
func turn(name string) int {
	switch name {
	case LanguageExtensions:
		return 1
	case Serverless:
		return 2
	}
	return 0
}

func (x *expansion) top(ctx context.Context, root *document.Value, transform Transform) (*document.Value, error) {
	if transform.Name == LanguageExtensions {
		x.extended = true
		return x.extend(ctx, root)
	}
	result, err := x.run(ctx, transform, root)
	if err != nil {
		return nil, err
	}
	if transform.Name == Include {
		result = merged(root, result)
	}
	return x.embedded(ctx, result, 1)
}

// embedded runs Fn::Transform in a value, the innermost first.
func (x *expansion) embedded(ctx context.Context, v *document.Value, nested int) (*document.Value, error) {
	if !hasTransform(v) {
		return v, nil
	}
	if nested > maxNested {
		return nil, refuse("transform-nested", v.At, nil, maxNested)
	}
	if err := x.budget.Spend(ShallowCost(v), v.At, nil); err != nil {
		return nil, err
	}
	out := *v
	out.Items, out.Members = make([]*document.Value, 0, len(v.Items)), make([]document.Member, 0, len(v.Members))
	for _, item := range v.Items {
		item, err := x.embedded(ctx, item, nested)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, item)
	}
	var own *document.Member
	for _, m := range v.Distinct() {
		if m.Key == "Fn::Transform" {
			own = &m
			continue
		}
		value, err := x.embedded(ctx, m.Value, nested)
		if err != nil {
			return nil, err
		}
		out.Members = append(out.Members, document.Member{Key: m.Key, KeyAt: m.KeyAt, Value: value})
	}
	if own == nil {
		return &out, nil
	}
	return x.here(ctx, &out, own.Value, nested)
}

// here runs the Fn::Transform of one object, which is given without it. Those of a list run one after
// the other, each on what the one before has made.
func (x *expansion) here(ctx context.Context, result, arg *document.Value, nested int) (*document.Value, error) {
	definitions := embeddedTransforms(arg)
	if len(definitions) == 0 {
		return nil, refuse("transform-name", arg.At, nil)
	}
	for _, definition := range definitions {
		name := definition.Get("Name")
		if name == nil || name.Kind != document.String || name.Text == "" {
			return nil, refuse("transform-name", definition.At, nil)
		}
		transform := Transform{Name: name.Text, Parameters: definition.Get("Parameters"), At: definition.At}
		made, err := x.run(ctx, transform, result)
		if err != nil {
			return nil, err
		}
		if transform.Name == Include {
			made = merged(result, made)
		}
		result = made
	}
	return x.embedded(ctx, result, nested+1)
}

// merged puts what was included into the object around; its keys win.
func merged(rest, included *document.Value) *document.Value {
	if included.Kind != document.Object || len(rest.Members) == 0 {
		return included
	}
	return merge(rest, included)
}

// merge returns an object with the members of both; of the sections of a template the members.
func merge(base, over *document.Value) *document.Value {
	out := &document.Value{Kind: document.Object, At: base.At}
	for _, m := range base.Distinct() {
		if other := over.Member(m.Key); other != nil {
			m.Value = combine(m.Key, m.Value, other.Value)
		}
		out.Members = append(out.Members, m)
	}
	for _, m := range over.Distinct() {
		if base.Member(m.Key) == nil {
			out.Members = append(out.Members, m)
		}
	}
	return out
}

// combine adds an included section to that of the template.
func combine(key string, base, over *document.Value) *document.Value {
	if slices.Contains(sections, key) && base.Kind == document.Object && over.Kind == document.Object {
		return merge(base, over)
	}
	return over
}

func without(v *document.Value, key string) *document.Value {
	out := *v
	out.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m document.Member) bool { return m.Key == key })
	return &out
}

// run runs one transform but AWS::LanguageExtensions.
func (x *expansion) run(ctx context.Context, transform Transform, fragment *document.Value) (*document.Value, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if x.ran++; x.ran > maxTransforms {
		return nil, refuse("transform-nested", transform.At, nil, maxNested)
	}
	if transform.Name == Include {
		return x.include(ctx, transform)
	}
	if x.in.Macros == nil {
		return nil, x.unavailable(transform)
	}
	params := json.RawMessage("{}")
	if transform.Parameters != nil {
		params = transform.Parameters.AppendJSON(nil)
	}
	values, err := x.values(transform)
	if err == nil {
		err = x.budget.Spend(weight(fragment), transform.At, nil)
	}
	if err != nil {
		return nil, err
	}
	response, err := x.in.Macros.Transform(ctx, MacroCall{
		Name: transform.Name, TransformID: x.id(transform.Name), Fragment: without(fragment, "Transform").AppendJSON(nil),
		Params: params, Values: values, Secrets: x.secrets(),
	})
	switch {
	case errors.Is(err, ErrNoMacro):
		return nil, x.unavailable(transform)
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, refuse("transform-failed", transform.At, nil, x.id(transform.Name), err)
	}
	return x.response(transform, response)
}

func (x *expansion) unavailable(transform Transform) error {
	return refuse("transform-unavailable", transform.At, nil, x.id(transform.Name))
}

// id is what the service calls a macro.
func (x *expansion) id(name string) string {
	if len(name) > 5 && name[:5] == "AWS::" {
		return name
	}
	return x.in.Pseudo.AccountID + "::" + name
}

// values are the parameters as a macro sees them.
func (x *expansion) values(transform Transform) (map[string]any, error) {
	if x.bound != nil {
		return x.bound, nil
	}
	out := map[string]any{}
	if x.in.Parameters != nil {
		for _, b := range x.in.Parameters.Bound {
			if err := x.budget.Spend(b.cost(), transform.At, nil); err != nil {
				return nil, err
			}
			out[b.Key] = b.any()
		}
	}
	x.bound = out
	return out, nil
}

// secrets are the values of parameters with NoEcho.
func (x *expansion) secrets() (out []string) {
	if x.in.Parameters == nil {
		return nil
	}
	for _, b := range x.in.Parameters.Bound {
		if b.NoEcho {
			out = append(out, b.Value, b.Resolved)
		}
	}
	return out
}

// response reads what the function of a macro answered.
func (x *expansion) response(transform Transform, response []byte) (*document.Value, error) {
	name := x.id(transform.Name)
	bounds := x.limits(6 << 20)
	root, problems := document.ParseJSON(name, response, bounds)
	if err := x.read(transform, root, len(response) <= bounds.Bytes && tooMany(problems)); err != nil {
		return nil, err
	}
	if problems.HasErrors() || root == nil || root.Kind != document.Object {
		return nil, refuse("transform-malformed", transform.At, nil, name)
	}
	status, fragment, message := root.Get("status"), root.Get("fragment"), root.Get("errorMessage")
	switch {
	case status == nil || status.Kind != document.String:
		return nil, refuse("transform-malformed", transform.At, nil, name)
	case status.Text != "success" && status.Text != "SUCCESS" && message != nil && message.Text != "":
		return nil, refuse("transform-failed", transform.At, nil, name, message.Text)
	case status.Text != "success" && status.Text != "SUCCESS":
		return nil, refuse("transform-silent", transform.At, nil, name)
	case fragment == nil || fragment.Kind == document.Null:
		return nil, refuse("transform-malformed", transform.At, nil, name)
	}
	return fragment, nil
}

// include reads what AWS::Include names. Its location may use parameters.
func (x *expansion) include(ctx context.Context, transform Transform) (*document.Value, error) {
	fail := func(format string, args ...any) error {
		return refuse("transform-failed", transform.At, nil, Include, fmt.Sprintf(format, args...))
	}
	where := transform.Parameters.Get("Location")
	if where == nil {
		return nil, fail("The location parameter is missing.")
	}
	value, err := x.scope(x.t.root).Evaluate(where, NoReferences{}, "Transform")
	location, ok := toText(value)
	if err != nil || !ok || location == "" {
		return nil, fail("The location parameter is not a valid S3 uri.")
	}
	if x.in.Macros == nil {
		return nil, fail("%s cannot be read here.", location)
	}
	body, err := x.in.Macros.Include(ctx, location)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fail("%v", err)
	}
	bounds := x.limits(MaxBytes)
	root, problems := readDocument(location, body, bounds)
	if err := x.read(transform, root, len(body) <= bounds.Bytes && tooMany(problems)); err != nil {
		return nil, err
	}
	if problems.HasErrors() || root == nil {
		return nil, fail("The specified S3 object's content should be valid Yaml/JSON")
	}
	return root, nil
}

// scope evaluates with the data that is known before the transforms: parameters, mappings,
// conditions.
func (x *expansion) scope(root *document.Value) *Scope {
	known := &Template{name: x.t.name, root: root, processed: true}
	known.index()
	known.Parameters, known.parameters = x.t.Parameters, x.t.parameters
	known.buildMappings(&report{})
	known.buildConditions(&report{})
	return newScope(known, ScopeInput{Parameters: x.in.Parameters, Pseudo: x.in.Pseudo, Budget: x.budget})
}

// limits are those of what a transform answers: no more than the budget has room for.
func (x *expansion) limits(bytes int) document.Limits {
	return document.Limits{Bytes: bytes, Depth: limits.Depth, Values: min(limits.Values, 1+x.budget.left()/valueCost)}
}

// read takes what a transform answered from the budget. tooMany means that it was not read to its end.
func (x *expansion) read(transform Transform, root *document.Value, tooMany bool) error {
	if tooMany {
		return exceeded(transform.At, nil)
	}
	return x.budget.Spend(Cost(root), transform.At, nil)
}

// extendError is the refusal of AWS::LanguageExtensions.
func extendError(at diag.Range, format string, args ...any) error {
	return refuse("transform-failed", at, nil, LanguageExtensions, fmt.Sprintf(format, args...))
}
