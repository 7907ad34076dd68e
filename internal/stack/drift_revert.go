package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/document"
	"github.com/formwork-dev/formwork/internal/operation"
	"github.com/formwork-dev/formwork/internal/schema"
	"github.com/formwork-dev/formwork/internal/store"
	"github.com/formwork-dev/formwork/internal/template"
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

// readLive reads the resources of a stack, and has the plan start from what they are.
func (e *Engine) readLive(ctx context.Context, s *stackRow, input *PlanInput) (map[string]*LiveState, error) {
	rows, err := allRows[resourceRow](ctx, e.store.Read(), "logical_id", "stack_id = ?", s.ID)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(x resourceRow) bool { return !x.exists() })
	f := driftFinder{engine: e, stack: s, deployment: input.Previous}
	found := make([]*LiveState, len(rows))
	err = each(ctx, len(rows), func(ctx context.Context, i int) (err error) {
		found[i], err = f.live(ctx, &rows[i], input.Types[rows[i].Type])
		return err
	})
	if err != nil {
		return nil, err
	}
	live := map[string]*LiveState{}
	for i, x := range rows {
		live[x.LogicalID] = found[i]
		known := input.Resources[x.LogicalID]
		switch {
		case found[i].Status == types.StackResourceDriftStatusDeleted:
			known.Status = types.ResourceStatusDeleteComplete
		case len(found[i].Values) > 0:
			known.Properties, known.Model = found[i].Properties, found[i].Model
		}
		input.Resources[x.LogicalID] = known
	}
	return live, nil
}

// live reads one resource.
func (f driftFinder) live(ctx context.Context, x *resourceRow, typ *operation.Type) (*LiveState, error) {
	found, model, err := f.find(ctx, x)
	if err != nil {
		return nil, err
	}
	out := &LiveState{Status: found.Status, At: found.CheckedAt.Time}
	if out.Status == types.StackResourceDriftStatusNotChecked {
		out.Status = types.StackResourceDriftStatusUnsupported
	}
	properties := x.Properties.Get()
	hidden := f.hidden(x)
	out.Previous = desired{Properties: properties, masked: maskedMap(properties, hidden)}.context()
	if typ == nil || typ.Schema == nil {
		return out, nil
	}
	for _, path := range typ.Schema.WriteOnly {
		if below(any(properties), path.Tokens) != nil {
			out.ignore(path.Tokens, types.DriftIgnoredReasonWriteOnlyProperty)
		}
	}
	if out.Status != types.StackResourceDriftStatusModified {
		return out, nil
	}
	f.adopt(out, x, typ, properties, model, hidden, found.Differences.Get())
	return out, nil
}

// adopt notes the properties that drifted and can be brought back: not what is secret, and
// not what only a new resource could have.
func (f driftFinder) adopt(out *LiveState, x *resourceRow, typ *operation.Type, properties, model map[string]any, hidden map[string]bool, differences []types.PropertyDifference) {
	actual := withoutStackTags(typ.Schema, properties, model, f.tags(x.LogicalID))
	out.Properties, out.Values = maps.Clone(properties), map[string]LiveValue{}
	for _, d := range differences {
		name := firstToken(aws.ToString(d.PropertyPath))
		if _, done := out.Values[name]; done {
			continue
		}
		is, there := actual[name]
		is = overlap(properties[name], ownTags(typ.Schema, name, properties[name], is))
		switch {
		case hidden[name] || len(template.DynamicReferences(properties[name])) > 0:
			out.ignore([]string{name}, types.DriftIgnoredReasonSensitiveProperty)
			continue
		case recreation(typ, name, properties[name], is) == types.RequiresRecreationAlways, there && equalValues(properties[name], is):
			continue
		}
		out.Values[name] = LiveValue{shownText(properties[name]), shownText(is)}
		out.Properties[name] = is
		if !there {
			delete(out.Properties, name)
		}
	}
	if len(out.Values) == 0 {
		out.Properties = nil
		return
	}
	out.Model = maps.Clone(model)
	for name := range hidden {
		out.Model[name] = properties[name]
	}
}

// ignore notes an attribute whose drift does not count.
func (l *LiveState) ignore(tokens []string, reason types.DriftIgnoredReason) {
	path := "/Properties" + document.Pointer(tokens).String()
	if !slices.ContainsFunc(l.Ignored, func(a types.ResourceDriftIgnoredAttribute) bool { return aws.ToString(a.Path) == path }) {
		l.Ignored = append(l.Ignored, types.ResourceDriftIgnoredAttribute{Path: &path, Reason: reason})
	}
}

// ownTags removes the tags that were added outside of the stack: they are kept.
func ownTags(s *schema.Schema, name string, wanted, actual any) any {
	tags, ok := actual.([]any)
	if !ok || !slices.Equal(s.Tagging.Property.Tokens, []string{name}) {
		return actual
	}
	list, _ := wanted.([]any)
	return slices.DeleteFunc(slices.Clone(tags), func(tag any) bool {
		return !slices.ContainsFunc(list, func(own any) bool { return tagKey(own) == tagKey(tag) })
	})
}

// firstToken is the property that a path is in.
func firstToken(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
}

func maskedMap(properties map[string]any, hidden map[string]bool) map[string]any {
	out, _ := masked(any(properties), hidden).(map[string]any)
	return out
}

// withLive adds the actual states of the resources to a plan. A resource that already matches
// the template, but not the stack's record, is a separate kind of change.
func (p *Plan) withLive(live map[string]*LiveState, input PlanInput) {
	var rows []driftRow
	for _, id := range slices.Sorted(maps.Keys(live)) {
		l := live[id]
		rows = append(rows, driftRow{LogicalID: id, Status: l.Status})
		if c := p.Change(id); c != nil {
			c.Live = l
			continue
		}
		if len(l.Values) == 0 {
			continue
		}
		r := input.Resources[id]
		change := Change{
			Action: types.ChangeActionSyncWithActual, LogicalID: id, Type: r.Type, PhysicalID: r.PhysicalID, Live: l,
			Scope: []string{string(types.ResourceAttributeProperties)}, Before: l.Previous,
			After: desired{Properties: l.Properties}.context(),
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
	p.Drift, _, _ = stackDrift(rows)
	if p.Drift == types.StackDriftStatusNotChecked {
		p.Drift = types.StackDriftStatusUnknown
	}
}

// showLive adds what was found of a resource to its change.
func (c *Change) showLive(out *types.ResourceChange, values bool) {
	if c.Live == nil {
		return
	}
	out.ResourceDriftStatus, out.ResourceDriftIgnoredAttributes = c.Live.Status, c.Live.Ignored
	if values {
		out.PreviousDeploymentContext = text(c.Live.Previous)
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

// adoptLive updates the stack's record of its resources to what a change set found. A deleted
// resource is created again.
func adoptLive(ctx context.Context, tx *store.Tx, s *stackRow, plan *Plan) error {
	for i := range plan.Changes {
		c := &plan.Changes[i]
		if c.Live == nil || len(c.Live.Values) == 0 && c.Live.Status != types.StackResourceDriftStatusDeleted {
			continue
		}
		x, err := oneRow[resourceRow](ctx, tx, "stack_id = ? AND logical_id = ?", s.ID, c.LogicalID)
		if err != nil {
			return err
		}
		if x == nil {
			continue
		}
		if c.Live.Status == types.StackResourceDriftStatusDeleted {
			x.PhysicalID, x.Model, x.Status = "", object{}, types.ResourceStatusDeleteComplete
		} else {
			x.Properties, x.Model = store.JSONOf(c.Live.Properties), store.JSONOf(c.Live.Model)
		}
		if _, err := tx.NewUpdate().Model(x).Column("physical_id", "properties", "model", "status").WherePK().Exec(ctx); err != nil {
			return fmt.Errorf("adopt the state of a resource: %w", err)
		}
	}
	return nil
}
