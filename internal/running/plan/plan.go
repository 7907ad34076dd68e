// Package plan computes what an operation on a stack does, from the processed template, what the stack has and what
// was requested.
//
// It is pure: it reads no row, waits for nothing and knows no time.
package plan

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
)

// A Resource is a resource of a stack as it was last provisioned.
type Resource struct {
	LogicalID  string
	Type       string
	Version    string // of the type that made it
	PhysicalID string

	// Properties are those of the template as they were last sent to the handler, evaluated,
	// dynamic references still in place. Model is what the handler reported, with the values
	// that only the handler knows.
	Properties map[string]any
	Model      map[string]any

	Metadata            any
	DependsOn           []string // all of them, implied ones included, sorted
	DeletionPolicy      string   // "" is Delete
	UpdateReplacePolicy string   // "" is Delete

	Status types.ResourceStatus
}

// Exists reports whether the resource is one that an update starts from. One whose creation
// failed is made anew.
func (r Resource) Exists() bool {
	switch r.Status {
	case types.ResourceStatusCreateFailed, types.ResourceStatusDeleteComplete, types.ResourceStatusDeleteSkipped, types.ResourceStatusImportFailed:
		return false
	}
	return r.PhysicalID != "" // without one, a rollback could not create it again
}

// A Deployment is a template with all that it was or will be evaluated with.
type Deployment struct {
	Template   *template.Template // processed
	Parameters *template.Parameters
	Scope      *template.Scope
	Tags       map[string]string

	custom struct { // whether the template has custom resources
		once sync.Once
		any  bool
	}
}

// Input is what a plan is made of.
type Input struct {
	Previous  *Deployment // nil for a new stack
	Resources map[string]Resource
	Tags      map[string]string         // of the stack, when the resources were provisioned
	Next      *Deployment               // nil to delete the stack
	Schemas   map[string]*schema.Schema // of types, by name; those without a schema are missing

	// Import are the physical ids of the resources that are not created but imported, by
	// their logical ids.
	Import map[string]string

	// Unchanged are nested stacks that are known not to change, by their logical ids.
	Unchanged map[string]bool

	// References resolves values outside of the stack: exports, outputs of other stacks. The
	// plan resolves Ref and GetAtt of the stack's own resources.
	References template.References
}

// A Plan lists the changes of each resource, with their causes.
type Plan struct {
	Changes []Change `json:"changes"` // sorted by logical id

	// Main are the steps of the main phase, one for each resource of the template. Their execution does no more than
	// they say.
	Main []Step `json:"main,omitempty"`

	// Stack names what else is to change: "Outputs", "Parameters", "Tags". With no change
	// of a resource either there is nothing to do.
	Stack []string `json:"stack,omitempty"`

	// Drift is the state of the stack, of a drift-aware change set.
	Drift types.StackDriftStatus `json:"drift,omitempty"`
}

// Empty reports whether there is nothing to do, which the service refuses.
func (p *Plan) Empty() bool { return len(p.Changes) == 0 && len(p.Stack) == 0 }

// Change returns the change of a resource, nil if it does not change.
func (p *Plan) Change(logicalID string) *Change {
	i, ok := slices.BinarySearchFunc(p.Changes, logicalID, func(c Change, id string) int { return strings.Compare(c.LogicalID, id) })
	if !ok {
		return nil
	}
	return &p.Changes[i]
}

// A Change is the change of one resource. Unchanged resources have none.
type Change struct {
	Action       types.ChangeAction `json:"action"` // Add, Modify, Remove, Import, SyncWithActual
	LogicalID    string             `json:"logicalId"`
	Type         string             `json:"type"`
	PhysicalID   string             `json:"physicalId,omitempty"`
	Replacement  types.Replacement  `json:"replacement,omitempty"` // of Modify
	PolicyAction types.PolicyAction `json:"policyAction,omitempty"`
	Scope        []string           `json:"scope,omitempty"` // sorted, distinct
	Details      []Detail           `json:"details,omitempty"`

	// ChangeSet is the ARN of the change set of a nested stack, "" if it has none.
	ChangeSet string `json:"changeSet,omitempty"`

	// Module is the path of modules that the resource comes from, nil for none.
	Module *types.ModuleInfo `json:"module,omitempty"`

	// Live is what a drift-aware change set found of the resource, nil in others.
	Live *LiveState `json:"live,omitempty"`

	// Before and After are the contexts of the resource in a change set, with unknown values
	// as {{changeSet:KNOWN_AFTER_APPLY}}; they may be nil.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// Uncertain reports whether the resource only may change: a value that it takes from
// another resource is known when that one is done. Such a change is not shown with values.
func (c *Change) Uncertain() bool {
	return c.Action == types.ChangeActionModify && len(c.Details) > 0 &&
		!slices.ContainsFunc(c.Details, func(d Detail) bool { return d.View != WithoutValues })
}

// A View says where a change set shows a detail.
type View string

// The views.
const (
	Always        View = ""
	WithValues    View = "with values"
	WithoutValues View = "without values"
)

// A Detail is one reason for a Modify.
type Detail struct {
	Attribute           types.ResourceAttribute   `json:"attribute"`
	Name                string                    `json:"name,omitempty"` // of the property
	Path                string                    `json:"path,omitempty"`
	RequiresRecreation  types.RequiresRecreation  `json:"requiresRecreation,omitempty"`
	Evaluation          types.EvaluationType      `json:"evaluation"`
	ChangeSource        types.ChangeSource        `json:"changeSource"`
	CausingEntity       string                    `json:"causingEntity,omitempty"`
	AttributeChangeType types.AttributeChangeType `json:"attributeChangeType,omitempty"`
	BeforeValue         string                    `json:"beforeValue,omitempty"`
	AfterValue          string                    `json:"afterValue,omitempty"`
	View                View                      `json:"view,omitempty"`
}

// Incidental reports whether a resource is only visited because every update visits it, or
// because of the tags of the stack.
func (c *Change) Incidental() bool {
	return len(c.Details) > 0 && !slices.ContainsFunc(c.Details, func(d Detail) bool {
		return d.ChangeSource != types.ChangeSourceAutomatic && d.Attribute != types.ResourceAttributeTags
	})
}

// Imported are the resources that a plan imports, with their physical ids.
func (p *Plan) Imported() map[string]string {
	out := map[string]string{}
	for _, c := range p.Changes {
		if c.Action == types.ChangeActionImport {
			out[c.LogicalID] = c.PhysicalID
		}
	}
	return out
}

// References answers for the resources of a stack with what is certain before the plan is done.
func (p *Plan) References(input Input) template.References {
	return certain{p, Known{
		Resources: input.Resources, Outside: input.References,
		Open: func(id string) bool {
			c := p.Change(id)
			return c != nil && (c.Action != types.ChangeActionModify || c.Replacement != types.ReplacementFalse)
		},
	}}
}

// certain resolves no attribute of a resource that changes.
type certain struct {
	plan *Plan
	Known
}

// GetAtt implements [template.References].
func (c certain) GetAtt(logicalID, attribute string) (any, bool, error) {
	if change := c.plan.Change(logicalID); change != nil && change.fate() != stays {
		return nil, false, nil
	}
	return c.Known.GetAtt(logicalID, attribute)
}

// ChildSets are the change sets of the nested stacks that a plan changes, by logical id.
func (p *Plan) ChildSets() map[string]string {
	out := map[string]string{}
	for _, c := range p.Changes {
		if c.ChangeSet != "" {
			out[c.LogicalID] = c.ChangeSet
		}
	}
	return out
}
