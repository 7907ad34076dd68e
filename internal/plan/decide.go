package plan

import (
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/schema"
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

	Schema *schema.Schema // of the type, nil for one without

	// Refreshed means that the value of a dynamic reference in the properties has changed
	// since the resource was provisioned.
	Refreshed bool
}

// Decide decides the action for a resource when its dependencies are done: a change that a
// plan could only list as possible is now certain or not. A missing attribute is an
// [*AttributeError] in an error of package template.
func Decide(in DecideInput) (Decision, error) {
	r := in.Next.Resource(in.LogicalID)
	if r == nil {
		return Decision{}, fmt.Errorf("the template has no resource %s", in.LogicalID)
	}
	state, err := in.Next.Desired(r, Known{Resources: in.Resources, Outside: in.References})
	if err != nil {
		return Decision{}, err
	}
	if template.HasUnknown(any(state.Properties)) {
		return Decision{}, fmt.Errorf("resource %s refers to an unknown value", in.LogicalID)
	}
	return Decision{
		Verb: in.verb(r, state), Properties: state.Properties, Masked: state.Shown(), Metadata: state.Metadata,
		DependsOn: in.Next.Scope.Needs(r), DeletionPolicy: state.DeletionPolicy, UpdateReplacePolicy: state.UpdateReplacePolicy,
	}, nil
}

func (in DecideInput) verb(r *template.Resource, state Desired) Verb {
	if in.Current == nil || !in.Current.Exists() {
		return DoCreate
	}
	tags := Taggable(in.Schema) && !maps.Equal(in.PreviousTags, in.Next.Tags)
	verb := DoNothing
	if tags || in.Refreshed || r.Type == nestedStack || in.Current.Status == types.ResourceStatusUpdateFailed {
		verb = DoUpdate
	}
	for _, d := range Differences(in.Current.Properties, state.Properties, in.Schema) {
		verb = DoUpdate
		if d.Recreation == types.RequiresRecreationAlways {
			return Replacement(in.Schema)
		}
	}
	return verb
}

// Replacement returns how resources of a type are replaced. The engine asks too when a
// handler refuses an update with NotUpdatable.
func Replacement(s *schema.Schema) Verb {
	if s != nil && s.ReplacementStrategy == "delete_then_create" {
		return DoRemake
	}
	return DoReplace
}

// Taggable reports whether the tags of the stack reach resources of a type in updates.
func Taggable(s *schema.Schema) bool {
	return s != nil && s.Tagging.TagUpdatable && (s.Handler("update") != nil || len(s.Handlers) == 0)
}
