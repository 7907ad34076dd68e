package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A LiveState is the state of a resource that a drift-aware change set found. Its execution
// starts from there, and a rollback restores it.
type LiveState struct {
	Status   types.StackResourceDriftStatus        `json:"status"`
	Ignored  []types.ResourceDriftIgnoredAttribute `json:"ignored,omitempty"`
	At       time.Time                             `json:"at"`
	Previous json.RawMessage                       `json:"previous,omitempty"` // as the previous deployment left it

	// Values are the properties that drifted and are brought back, by name.
	Values map[string]LiveValue `json:"values,omitempty"`

	// Properties and Model replace the stack's record of the resource, if Values has any.
	Properties map[string]any `json:"properties,omitempty"`
	Model      map[string]any `json:"model,omitempty"`
}

// A LiveValue is a property that drifted, as text.
type LiveValue struct {
	Previous string `json:"previous"`
	Actual   string `json:"actual"`
}

// Ignore notes an attribute whose drift does not count.
func (l *LiveState) Ignore(tokens []string, reason types.DriftIgnoredReason) {
	path := "/Properties" + document.Pointer(tokens).String()
	if !slices.ContainsFunc(l.Ignored, func(a types.ResourceDriftIgnoredAttribute) bool { return aws.ToString(a.Path) == path }) {
		l.Ignored = append(l.Ignored, types.ResourceDriftIgnoredAttribute{Path: &path, Reason: reason})
	}
}

// showLive adds what was found of a resource to its change.
func (c *Change) showLive(out *types.ResourceChange, values bool) {
	if c.Live == nil {
		return
	}
	out.ResourceDriftStatus, out.ResourceDriftIgnoredAttributes = c.Live.Status, c.Live.Ignored
	if values {
		out.PreviousDeploymentContext = text(string(c.Live.Previous))
	}
	for i := range out.Details {
		target := out.Details[i].Target
		if values && target.Path != nil {
			target.BeforeValueFrom, target.AfterValueFrom = types.BeforeValueFromPreviousDeploymentState, types.AfterValueFromTemplate
		}
		value, ok := c.Live.Values[aws.ToString(target.Name)]
		if !ok {
			continue
		}
		target.Drift = &types.LiveResourceDrift{PreviousValue: aws.String(value.Previous), ActualValue: aws.String(value.Actual), DriftDetectionTimestamp: &c.Live.At}
		if values && target.AttributeChangeType != types.AttributeChangeTypeSyncWithActual {
			target.BeforeValueFrom = types.BeforeValueFromActualState
		}
	}
}

// WithLive adds the actual states of the resources to a plan. A resource that already matches
// the template, but not the stack's record, is a separate kind of change.
func (p *Plan) WithLive(live map[string]*LiveState, resources map[string]Resource) {
	for _, id := range slices.Sorted(maps.Keys(live)) {
		l := live[id]
		if c := p.Change(id); c != nil {
			c.Live = l
			continue
		}
		if len(l.Values) == 0 {
			continue
		}
		r := resources[id]
		change := Change{
			Action: types.ChangeActionSyncWithActual, LogicalID: id, Type: r.Type, PhysicalID: r.PhysicalID, Live: l,
			Scope: []string{string(types.ResourceAttributeProperties)}, Before: l.Previous,
			After: Desired{Properties: l.Properties}.Context(),
		}
		for _, name := range slices.Sorted(maps.Keys(l.Values)) {
			change.Details = append(change.Details, Detail{
				Attribute: types.ResourceAttributeProperties, Name: name, Path: document.Pointer{"Properties", name}.String(),
				RequiresRecreation: types.RequiresRecreationNever, Evaluation: types.EvaluationTypeStatic, ChangeSource: types.ChangeSourceNoModification,
				AttributeChangeType: types.AttributeChangeTypeSyncWithActual, BeforeValue: l.Values[name].Previous, AfterValue: l.Values[name].Actual,
			})
		}
		i, _ := slices.BinarySearchFunc(p.Changes, id, func(c Change, id string) int { return strings.Compare(c.LogicalID, id) })
		p.Changes = slices.Insert(p.Changes, i, change)
	}
}
