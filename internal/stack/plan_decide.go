package stack

import (
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/operation"
	"github.com/formwork-dev/formwork/internal/template"
)

// A Verb is what is done with a resource when those that it needs are done.
type Verb string

// The verbs.
const (
	DoNothing Verb = "nothing" // no handler is called; the stack's record may change
	DoCreate  Verb = "create"
	DoUpdate  Verb = "update"
	DoReplace Verb = "replace" // create the successor, delete the old one in the cleanup
	DoRemake  Verb = "remake"  // delete the old one, then create the successor
)

// A Decision is what is done with one resource, with the values that are sent for it.
type Decision struct {
	Verb       Verb
	Properties map[string]any // evaluated, dynamic references still in place
	Masked     map[string]any // as events show them
	Metadata   any
	DependsOn  []string // all of them, sorted

	DeletionPolicy      string
	UpdateReplacePolicy string
}

// DecideInput is what a decision is made of.
type DecideInput struct {
	Next      *Deployment
	LogicalID string

	// Current is the current resource, nil if it does not exist yet.
	Current      *Resource
	PreviousTags map[string]string // of the stack, when Current was provisioned

	// Resources are the current states of all resources: the dependencies are done.
	Resources  map[string]Resource
	References template.References // for values outside of the stack

	Type *operation.Type

	// Refreshed means that the value of a dynamic reference in the properties has changed
	// since the resource was provisioned.
	Refreshed bool
}

// Decide decides the action for a resource when its dependencies are done: a change that a
// plan could only list as possible is now certain or not. A missing attribute is an
// [*AttributeError] in an error of package template.
func Decide(in DecideInput) (Decision, error) {
	r := in.Next.resource(in.LogicalID)
	if r == nil {
		return Decision{}, fmt.Errorf("the template has no resource %s", in.LogicalID)
	}
	state, err := in.Next.desired(r, Known{Resources: in.Resources, Outside: in.References})
	if err != nil {
		return Decision{}, err
	}
	if template.HasUnknown(any(state.Properties)) {
		return Decision{}, fmt.Errorf("resource %s refers to an unknown value", in.LogicalID)
	}
	return Decision{
		Verb: in.verb(r, state), Properties: state.Properties, Masked: state.properties(), Metadata: state.Metadata,
		DependsOn: in.Next.Scope.Needs(r), DeletionPolicy: state.DeletionPolicy, UpdateReplacePolicy: state.UpdateReplacePolicy,
	}, nil
}

func (in DecideInput) verb(r *template.Resource, state desired) Verb {
	if in.Current == nil || !in.Current.exists() {
		return DoCreate
	}
	tags := taggable(in.Type) && !maps.Equal(in.PreviousTags, in.Next.Tags)
	verb := DoNothing
	if tags || in.Refreshed || r.Type == nestedStack || in.Current.Status == types.ResourceStatusUpdateFailed {
		verb = DoUpdate
	}
	for _, d := range differences(in.Current.Properties, state.Properties, in.Type) {
		verb = DoUpdate
		if d.recreation == types.RequiresRecreationAlways {
			return Replacement(in.Type)
		}
	}
	return verb
}

// Replacement returns how resources of a type are replaced. The engine asks too when a
// handler refuses an update with NotUpdatable.
func Replacement(typ *operation.Type) Verb {
	if typ != nil && typ.Schema != nil && typ.Schema.ReplacementStrategy == "delete_then_create" {
		return DoRemake
	}
	return DoReplace
}

// taggable reports whether the tags of the stack reach resources of a type in updates.
func taggable(typ *operation.Type) bool {
	return typ != nil && typ.Schema != nil && typ.Schema.Tagging.TagUpdatable && (typ.Schema.Handler("update") != nil || len(typ.Schema.Handlers) == 0)
}
