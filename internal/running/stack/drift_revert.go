package stack

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// readLive reads the resources of a stack, and has the plan start from what they are.
func (e *Engine) readLive(ctx context.Context, s *stackRow, input *planInput) (map[string]*plan.LiveState, error) {
	rows, err := store.FindAll[resourceRow](ctx, e.store.Read(), "logical_id", "stack_id = ?", s.ID)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(x resourceRow) bool { return !x.exists() })
	f := driftFinder{engine: e, stack: s, deployment: input.Previous}
	found := make([]*plan.LiveState, len(rows))
	err = each(ctx, len(rows), func(ctx context.Context, i int) (err error) {
		found[i], err = f.live(ctx, &rows[i], input.Types[rows[i].Type])
		return err
	})
	if err != nil {
		return nil, err
	}
	live := map[string]*plan.LiveState{}
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
func (f driftFinder) live(ctx context.Context, x *resourceRow, typ *operation.Type) (*plan.LiveState, error) {
	found, model, err := f.find(ctx, x)
	if err != nil {
		return nil, err
	}
	out := &plan.LiveState{Status: found.Status, At: found.CheckedAt.Time}
	if out.Status == types.StackResourceDriftStatusNotChecked {
		out.Status = types.StackResourceDriftStatusUnsupported
	}
	properties := x.Properties.Get()
	hidden := f.hidden(x)
	out.Previous = plan.Desired{Properties: properties, Masked: maskedMap(properties, hidden)}.Context()
	if typ == nil || typ.Schema == nil {
		return out, nil
	}
	for _, path := range typ.Schema.WriteOnly {
		if plan.Below(any(properties), path.Tokens) != nil {
			out.Ignore(path.Tokens, types.DriftIgnoredReasonWriteOnlyProperty)
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
func (f driftFinder) adopt(out *plan.LiveState, x *resourceRow, typ *operation.Type, properties, model map[string]any, hidden map[string]bool, differences []types.PropertyDifference) {
	actual := withoutStackTags(typ.Schema, properties, model, f.tags(x.LogicalID))
	out.Properties, out.Values = maps.Clone(properties), map[string]plan.LiveValue{}
	for _, d := range differences {
		name := firstToken(aws.ToString(d.PropertyPath))
		if _, done := out.Values[name]; done {
			continue
		}
		is, there := actual[name]
		is = overlap(properties[name], ownTags(typ.Schema, name, properties[name], is))
		switch {
		case hidden[name] || len(template.DynamicReferences(properties[name])) > 0:
			out.Ignore([]string{name}, types.DriftIgnoredReasonSensitiveProperty)
			continue
		case plan.Recreation(typ.Schema, name, properties[name], is) == types.RequiresRecreationAlways, there && plan.Equal(properties[name], is):
			continue
		}
		out.Values[name] = plan.LiveValue{Previous: plan.ShownText(properties[name]), Actual: plan.ShownText(is)}
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

// adoptLive updates the stack's record of its resources to what a change set found. A deleted
// resource is created again.
func adoptLive(ctx context.Context, tx *store.Tx, s *stackRow, planned *plan.Plan) error {
	for i := range planned.Changes {
		c := &planned.Changes[i]
		if c.Live == nil || len(c.Live.Values) == 0 && c.Live.Status != types.StackResourceDriftStatusDeleted {
			continue
		}
		x, err := store.Find[resourceRow](ctx, tx, "stack_id = ? AND logical_id = ?", s.ID, c.LogicalID)
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
		if err := store.Update(ctx, tx, x, "physical_id", "properties", "model", "status"); err != nil {
			return fmt.Errorf("adopt the state of a resource: %w", err)
		}
	}
	return nil
}

// liveDrift is the state of a stack as a drift-aware change set found its resources.
func liveDrift(live map[string]*plan.LiveState) types.StackDriftStatus {
	var rows []driftRow
	for id, l := range live {
		rows = append(rows, driftRow{LogicalID: id, Status: l.Status})
	}
	if status, _, _ := stackDrift(rows); status != types.StackDriftStatusNotChecked {
		return status
	}
	return types.StackDriftStatusUnknown
}
