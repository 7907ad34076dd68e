package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// NestedStack is the type of nested stacks, which every update visits.
const NestedStack = "AWS::CloudFormation::Stack"

// New compares a template with the resources of a stack and returns the changes. It
// returns an [*awswire.Error] for what the service rejects at the call.
func New(in Input) (*Plan, error) {
	p := &planner{in: in, fates: map[string]fate{}, changes: map[string]*Change{}, bounds: map[string]bound{}}
	if in.Next != nil {
		if err := p.refuseTypes(); err != nil {
			return nil, err
		}
		p.graph = in.Next.Graph()
		for _, id := range Topological(p.graph) {
			if err := p.deploy(in.Next.Template.Resource(id)); err != nil {
				return nil, err
			}
		}
	}
	if err := p.removals(); err != nil {
		return nil, err
	}
	plan := &Plan{Changes: make([]Change, 0, len(p.changes)), Main: p.main()}
	for _, id := range slices.Sorted(maps.Keys(p.changes)) {
		plan.Changes = append(plan.Changes, *p.changes[id])
	}
	plan.noteModules(&in)
	var err error
	plan.Stack, err = p.stack()
	return plan, err
}

// A fate is what other resources can know of a resource while the plan is made.
type fate uint8

const (
	stays    fate = iota
	added         // nothing is known yet
	replaced      // nothing is known any more
	touched       // its id stays, its attributes may change
	unsure        // both may change
)

type planner struct {
	in      Input
	graph   map[string][]string // of the next template
	fates   map[string]fate
	changes map[string]*Change
	bounds  map[string]bound
}

// A bound is the most that is done with a resource of the next template, and whether that is certain.
type bound struct {
	most    Action
	certain bool
}

// main are the steps of the main phase, with their bounds.
func (p *planner) main() []Step {
	if p.in.Next == nil {
		return nil
	}
	steps := p.in.Next.steps(p.graph, p.in.Import)
	for i := range steps {
		b := p.bounds[steps[i].LogicalID]
		steps[i].Most, steps[i].Certain = b.most, b.certain
	}
	return steps
}

// boundOf is the most that is done with a resource that exists. What it takes from others that may change, and the
// values of dynamic references, are known only at its step. Even an identifier may be another one after an update.
func (d *detailer) boundOf() bound {
	of := d.in.Schemas[d.resource.Type]
	b := bound{
		changeOf(d.was, d.differ, of, !maps.Equal(d.in.Tags, d.in.Next.Tags)),
		!template.HasUnknown(any(d.state.Properties)) && (len(d.differ) > 0 || d.resource.Type != NestedStack),
	}
	may := func(change Action) {
		b.certain = false
		if change.beyond(b.most) {
			b.most = change
		}
	}
	for name, value := range d.state.Properties {
		for _, c := range d.causes.of("Properties", name) {
			if c.parameter != "" || d.bounds[c.resource].most == None {
				continue
			}
			if Recreation(of, name, d.was.Properties[name], template.Unknown) == types.RequiresRecreationAlways {
				may(replacement(of))
			} else {
				may(Update)
			}
		}
		if slices.ContainsFunc(template.DynamicReferences(value), func(ref template.DynamicReference) bool { return ref.Service == "ssm" }) {
			may(Update)
		}
	}
	return b
}

// existing returns the resource that an update of the logical id starts from. One whose
// deletion failed is created again if the template has it again.
func (p *planner) existing(id string) (Resource, bool) {
	r, ok := p.in.Resources[id]
	return r, ok && r.Exists() && r.Status != types.ResourceStatusDeleteFailed
}

func (p *planner) refuseTypes() error {
	var changed []string
	for _, r := range p.in.Next.Scope.ActiveResources() {
		if was, ok := p.existing(r.LogicalID); ok && was.Type != r.Type {
			changed = append(changed, r.LogicalID)
		}
	}
	if changed == nil {
		return nil
	}
	slices.Sort(changed)
	return awswire.ValidationErrorf("Update of resource type is not permitted. The new template modifies resource type of the following resources: [%s]",
		strings.Join(changed, ", "))
}

// references answers for the next template: what is added or replaced is not known.
func (p *planner) references() template.References {
	return Known{
		Resources: p.in.Resources, Outside: p.in.References,
		Open: func(id string) bool {
			_, ok := p.existing(id)
			return !ok || p.fates[id] == added || p.fates[id] == replaced
		},
	}
}

// deploy plans one resource of the next template. Those that it needs are planned already.
func (p *planner) deploy(r *template.Resource) error {
	state, err := p.in.Next.Desired(r, p.references())
	if err != nil {
		return err
	}
	was, ok := p.existing(r.LogicalID)
	if !ok {
		p.fates[r.LogicalID] = added
		change := &Change{Action: types.ChangeActionAdd, LogicalID: r.LogicalID, Type: r.Type, After: state.Context()}
		if identifier, ok := p.in.Import[r.LogicalID]; ok {
			change.Action, change.PhysicalID = types.ChangeActionImport, identifier
		}
		p.changes[r.LogicalID] = change
		p.bounds[r.LogicalID] = bound{Create, true}
		if change.Action == types.ChangeActionImport {
			p.bounds[r.LogicalID] = bound{Import, true}
		}
		return nil
	}
	before, err := p.before(r.LogicalID, was)
	if err != nil {
		return err
	}
	change := &Change{Action: types.ChangeActionModify, LogicalID: r.LogicalID, Type: r.Type, PhysicalID: was.PhysicalID}
	d := detailer{planner: p, resource: r, was: was, before: before, state: state, causes: p.in.Next.causesOf(r),
		differ: Differences(was.Properties, state.Properties, p.in.Schemas[r.Type])}
	p.bounds[r.LogicalID] = d.boundOf()
	change.Details = slices.Concat(d.properties(), d.tags(), d.metadata(), d.attributes(), d.automatic())
	if len(change.Details) == 0 && was.Status != types.ResourceStatusUpdateFailed {
		return nil
	}
	change.Before, change.After = before.Context(), state.Context()
	change.conclude(state.UpdateReplacePolicy)
	p.fates[r.LogicalID] = change.fate()
	p.changes[r.LogicalID] = change
	return nil
}

// before is the current resource, with secrets masked. If it is not in the previous template,
// it is shown without its properties, because the secrets in them are unknown.
func (p *planner) before(id string, was Resource) (Desired, error) {
	out := Desired{
		Properties: was.Properties, Metadata: was.Metadata,
		DeletionPolicy: was.DeletionPolicy, UpdateReplacePolicy: was.UpdateReplacePolicy,
	}
	old := p.in.Previous.Resource(id)
	switch {
	case old == nil:
		out.Masked = map[string]any{}
	case p.in.Previous.Conceals(old, p.in.Resources):
		var err error
		if out.Masked, err = p.in.Previous.masked(old, Known{Resources: p.in.Resources, Outside: p.in.References}, p.in.Resources); err != nil {
			return out, err
		}
	}
	return out, nil
}

// conclude derives scope, replacement and policy from the details.
func (c *Change) conclude(replacePolicy string) {
	c.Replacement = types.ReplacementFalse
	for _, d := range c.Details {
		if !slices.Contains(c.Scope, string(d.Attribute)) {
			c.Scope = append(c.Scope, string(d.Attribute))
		}
		switch {
		case d.RequiresRecreation == types.RequiresRecreationNever || c.Replacement == types.ReplacementTrue:
		case d.RequiresRecreation == types.RequiresRecreationAlways && d.Evaluation == types.EvaluationTypeStatic:
			c.Replacement = types.ReplacementTrue
		default:
			c.Replacement = types.ReplacementConditional
		}
	}
	slices.Sort(c.Scope)
	if c.Replacement != types.ReplacementFalse {
		c.PolicyAction = replacePolicies[replacePolicy]
	}
}

// fate is what the change of a resource means for those that refer to it.
func (c *Change) fate() fate {
	handled := slices.ContainsFunc(c.Details, func(d Detail) bool {
		return d.Attribute == types.ResourceAttributeProperties || d.Attribute == types.ResourceAttributeTags
	})
	switch {
	case c.Replacement == types.ReplacementTrue:
		return replaced
	case c.Replacement == types.ReplacementConditional:
		return unsure
	case handled || len(c.Details) == 0:
		return touched
	}
	return stays
}

// The policies that a change names; "" is that of a resource without the attribute.
var (
	replacePolicies = map[string]types.PolicyAction{
		"": types.PolicyActionReplaceAndDelete, "Delete": types.PolicyActionReplaceAndDelete,
		"Retain": types.PolicyActionReplaceAndRetain, "Snapshot": types.PolicyActionReplaceAndSnapshot,
	}
	deletionPolicies = map[string]types.PolicyAction{
		"": types.PolicyActionDelete, "Delete": types.PolicyActionDelete, "Retain": types.PolicyActionRetain,
		"RetainExceptOnCreate": types.PolicyActionRetain, "Snapshot": types.PolicyActionSnapshot,
	}
)

// removals plans the resources that the next template does not have. Their references to
// others are shown as unknown, as the service does.
func (p *planner) removals() error {
	for id, was := range p.in.Resources {
		if _, stays := p.graph[id]; stays || was.Status == types.ResourceStatusDeleteComplete {
			continue
		}
		change := &Change{
			Action: types.ChangeActionRemove, LogicalID: id, Type: was.Type, PhysicalID: was.PhysicalID,
			PolicyAction: deletionPolicies[was.DeletionPolicy],
		}
		state := Desired{DeletionPolicy: was.DeletionPolicy, UpdateReplacePolicy: was.UpdateReplacePolicy}
		if old := p.in.Previous.Resource(id); old != nil {
			var err error
			if state, err = p.in.Previous.Desired(old, template.NoReferences{}); err != nil {
				return err
			}
		}
		change.Before = state.Context()
		p.changes[id] = change
	}
	return nil
}

// Resource returns the active resource of a deployment, or nil.
func (d *Deployment) Resource(id string) *template.Resource {
	if d == nil {
		return nil
	}
	if r := d.Template.Resource(id); r != nil && d.Scope.Active(r) {
		return r
	}
	return nil
}

// Desired is a resource as a template wants it.
type Desired struct {
	Properties          map[string]any
	Metadata            any
	DeletionPolicy      string
	UpdateReplacePolicy string

	Masked map[string]any // Properties to show; nil if they are shown unchanged
}

// Desired evaluates a resource with the known values.
func (d *Deployment) Desired(r *template.Resource, known template.References) (Desired, error) {
	var out Desired
	var err error
	if out.DeletionPolicy, err = d.Scope.DeletionPolicy(r); err != nil {
		return out, err
	}
	if out.UpdateReplacePolicy, err = d.Scope.UpdateReplacePolicy(r); err != nil {
		return out, err
	}
	properties, err := d.Scope.Properties(r, known)
	if err != nil {
		return out, err
	}
	if properties == template.Unknown {
		return out, errUnknownProperties(r.LogicalID)
	}
	out.Properties, _ = properties.(map[string]any)
	if out.Metadata, err = d.Scope.Metadata(r, known); err != nil {
		return out, err
	}
	if resources := resourcesOf(known); d.Conceals(r, resources) {
		if out.Masked, err = d.masked(r, known, resources); err != nil {
			return out, err
		}
	}
	return out, nil
}

func errUnknownProperties(id string) error {
	return awswire.ValidationErrorf("[/Resources/%s/Properties] properties must not depend on other resources as a whole", id)
}

// Shown returns the properties to show, none as an empty map.
func (d Desired) Shown() map[string]any {
	switch {
	case d.Masked != nil:
		return d.Masked
	case d.Properties == nil:
		return map[string]any{}
	}
	return d.Properties
}

// Context is the resource as a change set shows it.
func (d Desired) Context() json.RawMessage {
	out := map[string]any{}
	out["Properties"] = shown(d.Shown())
	if d.Metadata != nil {
		out["Metadata"] = shown(d.Metadata)
	}
	if d.DeletionPolicy != "" {
		out["DeletionPolicy"] = d.DeletionPolicy
	}
	if d.UpdateReplacePolicy != "" {
		out["UpdateReplacePolicy"] = d.UpdateReplacePolicy
	}
	return json.RawMessage(JSONText(out))
}

// stack finds what changes besides the resources.
func (p *planner) stack() ([]string, error) {
	previous, next := p.in.Previous, p.in.Next
	if next == nil {
		return nil, nil
	}
	var out []string
	outputs, err := p.outputsChange()
	if err != nil {
		return nil, err
	}
	if outputs {
		out = append(out, "Outputs")
	}
	if previous == nil {
		return out, nil
	}
	if !previous.Parameters.Equal(next.Parameters) {
		out = append(out, "Parameters")
	}
	if !maps.Equal(previous.Tags, next.Tags) {
		out = append(out, "Tags")
	}
	return out, nil
}

// outputsChange reports whether the outputs of the next template differ from the present
// ones for another reason than a change of a resource.
func (p *planner) outputsChange() (bool, error) {
	evaluate := func(d *Deployment, known template.References) (map[string]template.OutputValue, error) {
		out := map[string]template.OutputValue{}
		if d == nil {
			return out, nil
		}
		for _, o := range d.Template.Outputs {
			if !d.Scope.OutputActive(o) {
				continue
			}
			value, err := d.Scope.Output(o, known)
			if err != nil {
				return nil, err
			}
			out[o.Name] = value
		}
		return out, nil
	}
	after, err := evaluate(p.in.Next, p.references())
	if err != nil {
		return false, err
	}
	before, err := evaluate(p.in.Previous, Known{Resources: p.in.Resources, Outside: p.in.References})
	if err != nil {
		return true, nil // what could not be evaluated any more is replaced by what can
	}
	return !maps.EqualFunc(before, after, func(was, is template.OutputValue) bool {
		if !is.Known {
			was.Value, was.Known = "", false
		}
		return was == is
	}), nil
}
