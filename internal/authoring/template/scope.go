package template

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// Pseudo are the values of the pseudo parameters.
type Pseudo struct {
	AccountID        string
	Region           string
	Partition        string // "" follows from the region
	URLSuffix        string // "" follows from the region
	StackName        string
	StackID          string
	NotificationARNs []string
}

// ScopeInput is what a template is evaluated with.
type ScopeInput struct {
	Parameters *Parameters
	Pseudo     Pseudo

	// Budget is that of the request. Nil means a new one.
	Budget *Budget

	// Faulty is what conditions are that cannot be evaluated. Nil refuses them.
	Faulty *bool
}

// A Scope evaluates one template with one set of parameters. It is not changed after it was
// made; several goroutines may use it.
type Scope struct {
	t          *Template
	in         ScopeInput
	values     map[string]Bound
	conditions map[string]bool
	secret     map[string]bool // conditions that depend on a NoEcho parameter
	deciding   map[string]bool // conditions that are being computed; empty afterwards
	budget     *Budget
	implied    func() map[string]string // see [Scope.findImplied]
}

// References resolve values outside of a template. Each method reports whether the value is
// known already; an unknown one becomes [Unknown]. An error is returned as a
// [*ReferenceError].
type References interface {
	Ref(logicalID string) (value any, known bool)
	GetAtt(logicalID, attribute string) (value any, known bool, err error)
	ImportValue(name string) (value string, known bool, err error)
	StackOutput(ref StackOutputRef) (value string, known bool, err error)
}

// A StackOutputRef is the argument of Fn::GetStackOutput.
type StackOutputRef struct {
	StackName, OutputName string
	Region, RoleARN       string // "" are those of the stack that asks
}

// NoReferences resolves no values.
type NoReferences struct{}

// Ref implements [References].
func (NoReferences) Ref(string) (any, bool) { return nil, false }

// GetAtt implements [References].
func (NoReferences) GetAtt(string, string) (any, bool, error) { return nil, false, nil }

// ImportValue implements [References].
func (NoReferences) ImportValue(string) (string, bool, error) { return "", false, nil }

// StackOutput implements [References].
func (NoReferences) StackOutput(StackOutputRef) (string, bool, error) { return "", false, nil }

// NewScope computes the conditions of a template. The template must have passed Check.
func (t *Template) NewScope(in ScopeInput) (*Scope, error) {
	s := newScope(t, in)
	var r report
	for _, c := range t.Conditions {
		if err := r.join(s.decide(c.Name)); err != nil {
			return nil, err
		}
	}
	if r.errs != nil && in.Faulty == nil {
		return nil, r.err()
	}
	for _, c := range t.Conditions {
		if _, decided := s.conditions[c.Name]; !decided {
			s.conditions[c.Name] = *in.Faulty
		}
		s.hiddenCondition(c.Name)
	}
	return s, nil
}

func newScope(t *Template, in ScopeInput) *Scope {
	in.Pseudo = in.Pseudo.complete()
	s := &Scope{
		t: t, in: in, values: map[string]Bound{},
		conditions: map[string]bool{}, secret: map[string]bool{}, deciding: map[string]bool{}, budget: in.Budget,
	}
	if s.budget == nil {
		s.budget = NewBudget()
	}
	s.implied = sync.OnceValue(s.findImplied)
	if in.Parameters != nil {
		for _, b := range in.Parameters.Bound {
			s.values[b.Key] = b
		}
	}
	return s
}

// partitions are those that are not "aws", by the prefix of the region's name.
var partitions = []struct{ prefix, partition, suffix string }{
	{"cn-", "aws-cn", "amazonaws.com.cn"},
	{"us-gov-", "aws-us-gov", "amazonaws.com"},
	{"eusc-", "aws-eusc", "amazonaws.eu"},
	{"us-isob-", "aws-iso-b", "sc2s.sgov.gov"},
	{"us-iso-", "aws-iso", "c2s.ic.gov"},
}

func (p Pseudo) complete() Pseudo {
	partition, suffix := "aws", "amazonaws.com"
	for _, other := range partitions {
		if len(p.Region) >= len(other.prefix) && p.Region[:len(other.prefix)] == other.prefix {
			partition, suffix = other.partition, other.suffix
			break
		}
	}
	if p.Partition == "" {
		p.Partition = partition
	}
	if p.URLSuffix == "" {
		p.URLSuffix = suffix
	}
	return p
}

// value returns the value of a pseudo parameter.
func (p Pseudo) value(name string) (any, bool) {
	switch name {
	case "AWS::AccountId":
		return p.AccountID, true
	case "AWS::Region":
		return p.Region, true
	case "AWS::Partition":
		return p.Partition, true
	case "AWS::URLSuffix":
		return p.URLSuffix, true
	case "AWS::StackName":
		return p.StackName, true
	case "AWS::StackId":
		return p.StackID, true
	case "AWS::NoValue":
		return noValue{}, true
	case "AWS::NotificationARNs":
		out := make([]any, len(p.NotificationARNs))
		for i, arn := range p.NotificationARNs {
			out[i] = arn
		}
		return out, true
	}
	return nil, false
}

// Template returns the template that the scope evaluates.
func (s *Scope) Template() *Template { return s.t }

// Parameters returns the parameters that the scope evaluates with.
func (s *Scope) Parameters() *Parameters { return s.in.Parameters }

// Pseudo returns the values of the pseudo parameters.
func (s *Scope) Pseudo() Pseudo { return s.in.Pseudo }

// Budget returns what the values of the scope are taken from.
func (s *Scope) Budget() *Budget { return s.budget }

// Renew begins another request: what was made before does not count.
func (s *Scope) Renew() { s.budget.made.Store(0) }

func (s *Scope) evaluator(refs References, pointer ...string) *evaluator {
	return &evaluator{s: s, refs: refs, path: pointer, budget: s.budget}
}

// Holds reports whether a condition is true.
func (s *Scope) Holds(condition string) bool { return s.conditions[condition] }

// Active reports whether the resource's condition, if any, is true.
func (s *Scope) Active(r *Resource) bool {
	return r.Condition == "" || s.conditions[r.Condition]
}

// OutputActive reports whether the output's condition, if any, is true.
func (s *Scope) OutputActive(o *Output) bool {
	return o.Condition == "" || s.conditions[o.Condition]
}

// ActiveResources returns the resources whose condition is true, in the template's order.
func (s *Scope) ActiveResources() []*Resource {
	var out []*Resource
	for _, r := range s.t.Resources {
		if s.Active(r) {
			out = append(out, r)
		}
	}
	return out
}

// decide computes a condition and those it depends on.
func (s *Scope) decide(name string) error {
	if _, done := s.conditions[name]; done {
		return nil
	}
	c := s.t.conditions[name]
	if s.deciding[name] {
		return refuse("condition-cycle", c.At, document.Pointer{"Conditions", name}, chain(s.t.conditionCycle()))
	}
	s.deciding[name] = true
	defer delete(s.deciding, name)
	e := s.evaluator(NoReferences{}, "Conditions", name)
	e.condition = true
	v, err := e.boolean(c.Value)
	if err != nil {
		return err
	}
	s.conditions[name] = v
	return nil
}

func chain(names []string) string { return strings.Join(names, " -> ") }

// hidden reports whether a value depends on a NoEcho parameter.
func (s *Scope) hidden(v *document.Value) bool {
	found := false
	eachReference(v, func(ref reference) {
		switch ref.kind {
		case refersTo:
			found = found || s.values[ref.name].NoEcho
		case refersToCondition:
			found = found || s.hiddenCondition(ref.name)
		}
	})
	return found
}

// hiddenCondition reports whether a condition depends on a NoEcho parameter. All conditions
// are computed when the scope is created.
func (s *Scope) hiddenCondition(name string) bool {
	hidden, done := s.secret[name]
	c := s.t.conditions[name]
	if !done && c != nil {
		hidden = s.hidden(c.Value)
		s.secret[name] = hidden
	}
	return hidden
}

// Properties evaluates the properties of a resource: a map[string]any, nil if it has none.
func (s *Scope) Properties(r *Resource, refs References) (any, error) {
	return s.Evaluate(r.Properties, refs, "Resources", r.LogicalID, "Properties")
}

// DeletionPolicy returns the policy of a resource, "" if it has none. The service accepts Fn::If
// here even without AWS::LanguageExtensions.
func (s *Scope) DeletionPolicy(r *Resource) (string, error) {
	return s.policy(r, deletionPolicy, r.DeletionPolicy)
}

// UpdateReplacePolicy returns the policy of a resource, "" if it has none. The service accepts
// functions here even without AWS::LanguageExtensions.
func (s *Scope) UpdateReplacePolicy(r *Resource) (string, error) {
	return s.policy(r, replacePolicy, r.UpdateReplacePolicy)
}

// policy evaluates a policy that is not written out.
func (s *Scope) policy(r *Resource, name, written string) (string, error) {
	v := r.Value.Get(name)
	if v == nil || v.Kind == document.String {
		return written, nil
	}
	value, err := s.Evaluate(v, NoReferences{}, "Resources", r.LogicalID, name)
	if err != nil {
		return "", err
	}
	policy, ok := toText(value)
	at := document.Pointer{"Resources", r.LogicalID, name}
	switch {
	case !ok:
		return "", refuse("policy-string", v.At, at, name)
	case !slices.Contains(policies[name], policy):
		return "", refuse("deletion-policy", v.At, at, name, policy, r.LogicalID)
	case policy == "Snapshot" && !slices.Contains(snapshotTypes, r.Type):
		return "", refuse("snapshot", v.At, at, r.Type)
	}
	return policy, nil
}

// UnknownSplit returns the refusal of the first Fn::Join in the properties of a resource whose list is an
// Fn::Split of a text that is not known yet: the service joins a placeholder then. It is nil if there is none.
func (s *Scope) UnknownSplit(r *Resource, refs References) error {
	var found error
	var walk func(v *document.Value)
	walk = func(v *document.Value) {
		if v == nil || found != nil {
			return
		}
		if f, ok := callOf(v, false); ok && f.name == "Fn::Join" && len(f.arg.Items) == 2 {
			if list, ok := callOf(f.arg.Items[1], false); ok && list.name == "Fn::Split" {
				if value, err := s.Evaluate(list.at, refs); err == nil && value == Unknown {
					found = refuse("join", v.At, nil)
					return
				}
			}
		}
		for _, item := range v.Items {
			walk(item)
		}
		for _, m := range v.Members {
			walk(m.Value)
		}
	}
	walk(r.Properties)
	return found
}

// Metadata evaluates the metadata of a resource, nil if it has none.
func (s *Scope) Metadata(r *Resource, refs References) (any, error) {
	return s.Evaluate(r.Metadata, refs, "Resources", r.LogicalID, "Metadata")
}

// Evaluate evaluates any value of the template; the pointer says where it is.
func (s *Scope) Evaluate(v *document.Value, refs References, pointer ...string) (any, error) {
	if v == nil {
		return nil, nil
	}
	value, err := s.evaluator(refs, pointer...).eval(v)
	if _, none := value.(noValue); none {
		return nil, err
	}
	return value, err
}

// Check refuses what depends on the parameters, as the service does at the call: rules,
// references to resources whose condition is false, keys that a mapping does not have, cycles.
func (s *Scope) Check(ctx context.Context) error {
	r := report{}
	if err := r.join(s.CheckRules()); err != nil {
		return err
	}
	for _, resource := range s.ActiveResources() {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, policy := range []func(*Resource) (string, error){s.DeletionPolicy, s.UpdateReplacePolicy} {
			_, err := policy(resource)
			if err := r.join(err); err != nil {
				return err
			}
		}
		for _, part := range resource.parts() {
			value, err := s.Evaluate(part.value, NoReferences{}, "Resources", resource.LogicalID, part.name)
			if err := r.join(err); err != nil {
				return err
			}
			if part.name == "Properties" {
				if places := SecurePlaces(resource.Type, value, true); places != nil {
					r.add("dynamic-secure", part.value.At, document.Pointer{"Resources", resource.LogicalID}, list(places))
				}
			}
		}
	}
	for _, o := range s.t.Outputs {
		if !s.OutputActive(o) {
			continue
		}
		_, err := s.Output(o, NoReferences{})
		if err := r.join(err); err != nil {
			return err
		}
	}
	if _, err := s.Order(); err != nil {
		if err := r.join(err); err != nil {
			return err
		}
	}
	return r.err()
}

// Masked evaluates the properties of a resource as events show them: a NoEcho parameter is
// **** before any function runs. Where such a parameter decides what the properties are made
// of, they are {"****": "****"}.
func (s *Scope) Masked(r *Resource, refs References) (any, error) {
	if r.Properties == nil {
		return nil, nil
	}
	e := s.evaluator(refs, "Resources", r.LogicalID, "Properties")
	e.masked = true
	value, err := e.eval(r.Properties)
	if errors.Is(err, errHidden) {
		return map[string]any{Mask: Mask}, nil
	}
	return value, err
}

// Secrets are the values of the NoEcho parameters.
func (s *Scope) Secrets() (values []string) {
	for _, bound := range s.values {
		if bound.NoEcho {
			values = append(values, bound.Value, bound.Resolved)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// HasNoEcho reports whether the value of a resource's properties depends on a NoEcho
// parameter, so that Masked differs from Properties.
func (s *Scope) HasNoEcho(r *Resource) bool {
	return r.Properties != nil && s.hidden(r.Properties)
}

// An OutputValue is an evaluated output.
type OutputValue struct {
	Name        string
	Description string
	Value       string
	ExportName  string // "" if it is not exported
	Known       bool   // the value is; else Value is empty
}

// Output evaluates an output. The error is a refusal if the value is not a string.
func (s *Scope) Output(o *Output, refs References) (OutputValue, error) {
	out := OutputValue{Name: o.Name, Description: o.Description}
	at := document.Pointer{"Outputs", o.Name}
	value, err := s.Evaluate(o.Value, refs, at.Append("Value")...)
	if err != nil {
		return out, err
	}
	if value != Unknown {
		if out.Value, out.Known = toText(value); !out.Known {
			return out, refuse("output-type", o.Value.At, at.Append("Value"), typeName(value))
		}
	}
	if o.ExportName == nil {
		return out, nil
	}
	name, err := s.Evaluate(o.ExportName, refs, at.Append("Export", "Name")...)
	if err != nil {
		return out, err
	}
	text, ok := toText(name)
	switch {
	case !ok || !exportName(text):
		return out, refuse("export-name", o.ExportName.At, at.Append("Export", "Name"))
	case len(text) > 256:
		return out, refuse("export-length", o.ExportName.At, at.Append("Export", "Name"))
	}
	out.ExportName = text
	return out, nil
}

func exportName(name string) bool {
	for _, c := range name {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != ':' && c != '-' {
			return false
		}
	}
	return name != ""
}

// typeName is what the service calls the type of a value that should be a string.
func typeName(value any) string {
	switch value.(type) {
	case []any:
		return "List"
	case map[string]any:
		return "Map"
	}
	return "Null"
}

// Unknown is a value that is not known yet.
var Unknown any = unknown{}

type unknown struct{}

func (unknown) String() string { return "(known after apply)" }

// HasUnknown reports whether a value is or contains [Unknown].
func HasUnknown(value any) bool {
	switch v := value.(type) {
	case unknown:
		return true
	case []any:
		for _, item := range v {
			if HasUnknown(item) {
				return true
			}
		}
	case map[string]any:
		for _, item := range v {
			if HasUnknown(item) {
				return true
			}
		}
	}
	return false
}

// ReplaceUnknown returns a copy of a value with a text in the places of [Unknown].
func ReplaceUnknown(value any, text string) any {
	switch v := value.(type) {
	case unknown:
		return text
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = ReplaceUnknown(item, text)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = ReplaceUnknown(item, text)
		}
		return out
	}
	return value
}

// noValue is the value of Ref: AWS::NoValue: the member or item that has it is removed.
type noValue struct{}

var errHidden = errors.New("a NoEcho parameter decides the structure")
