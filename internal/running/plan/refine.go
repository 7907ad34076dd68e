package plan

import (
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
)

// RefineInput is what is known when the steps before a step are done.
type RefineInput struct {
	Next *Deployment

	// Current is the current resource, nil if it does not exist yet.
	Current      *Resource
	PreviousTags map[string]string // of the stack, when Current was provisioned

	// Resources are the current states of all resources: the dependencies are done.
	Resources  map[string]Resource
	References template.References // for values outside of the stack

	Schema *schema.Schema // of the type, nil for one without

	// Refreshed reports whether the value of a dynamic reference in the properties has changed since the resource
	// was provisioned; nil for never.
	Refreshed func(properties map[string]any) bool
}

// A Refined is a step whose action is certain, with the values that are sent for the resource.
type Refined struct {
	Action  Action
	Refused string // why nothing is done, "" if it is

	Properties map[string]any // evaluated, dynamic references still in place
	Masked     map[string]any // as events show them
	Metadata   any
	DependsOn  []string // all of them, sorted

	DeletionPolicy      string
	UpdateReplacePolicy string
}

// Refine decides what a step of the main phase does: a change that a plan could only list as possible is now
// certain or not. A missing attribute is an [*AttributeError] in an error of package template.
func (s Step) Refine(in RefineInput) (Refined, error) {
	r := in.Next.Resource(s.LogicalID)
	if r == nil {
		return Refined{}, fmt.Errorf("the template has no resource %s", s.LogicalID)
	}
	state, err := in.Next.Desired(r, Known{Resources: in.Resources, Outside: in.References})
	if err != nil {
		return Refined{}, err
	}
	if template.HasUnknown(any(state.Properties)) {
		return Refined{}, fmt.Errorf("resource %s refers to an unknown value", s.LogicalID)
	}
	out := Refined{
		Action: s.action(in, state), Properties: state.Properties, Masked: state.Shown(), Metadata: state.Metadata,
		DependsOn: in.Next.Scope.Needs(r), DeletionPolicy: state.DeletionPolicy, UpdateReplacePolicy: state.UpdateReplacePolicy,
	}
	if out.Refused = s.Denied[out.Action]; out.Refused == "" && s.Most != "" && out.Action.beyond(s.Most) {
		out.Refused = fmt.Sprintf(reasonWidened, widened[out.Action])
	}
	return out, nil
}

// reasonWidened is why a step does not do more than its change set shows.
const reasonWidened = "The change set does not show that this resource is %s. Its type or a value from outside of the stack has changed since: create the change set again."

var widened = map[Action]string{Create: "created", Update: "updated", Replace: "replaced", Remake: "replaced"}

var sizes = map[Action]int{Update: 1, Replace: 2, Remake: 2, Create: 3, Import: 3}

// beyond reports whether a change of a resource is larger than another one.
func (a Action) beyond(b Action) bool { return sizes[a] > sizes[b] }

// action is what is done with the resource.
func (s Step) action(in RefineInput, state Desired) Action {
	exists := in.Current != nil && in.Current.Exists()
	switch {
	case !exists && s.Import != "":
		return Import
	case !exists:
		return Create
	case s.Action != Deploy:
		return s.Action
	}
	differ := Differences(in.Current.Properties, state.Properties, in.Schema)
	change := changeOf(*in.Current, differ, in.Schema, !maps.Equal(in.PreviousTags, in.Next.Tags))
	switch {
	case change == None && in.Refreshed != nil && in.Refreshed(state.Properties):
		return Update
	case change == Update && s.Unvisited && len(differ) == 0 && in.Current.Status != types.ResourceStatusUpdateFailed:
		return None
	}
	return change
}
