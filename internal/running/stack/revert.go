package stack

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// startRevert takes a resource back to its last stable state.
func (r *run) startRevert(ctx context.Context, tx *store.Tx, s *stepRow) error {
	x := r.resources[s.LogicalID]
	was, _ := x.before()
	typ, unknown := r.prepared.typeOf(was.Type)
	old, problem, err := r.rebound(ctx, tx, s.LogicalID, typ, was)
	if err != nil {
		return err
	}
	s.Properties = old.Shown.Text()
	if old.Shown.IsZero() && r.hidesSecrets(x.LogicalID) {
		s.Properties = encode(map[string]any{template.Mask: template.Mask})
	} else if old.Shown.IsZero() {
		s.Properties = stringified(old.Properties.Get()).Text()
	}
	problem = cmp.Or(unknown, problem)
	if slices.Contains(r.options.SkipResources, x.LogicalID) || problem != "" && s.Plan.Get().Forced {
		if was.Gone {
			x.forgetGone(was)
			was.PhysicalID, was.Model = x.PhysicalID, x.Model // what was made in its place, if anything
		}
		r.reverted(s, x, was)
		return nil
	}
	if problem != "" {
		r.turn(s, fails, problem)
		return nil
	}
	if typ == nil {
		return errUnprepared
	}
	tags := r.stable != nil && plan.Taggable(typ.Schema) && !maps.Equal(r.stable.Tags, r.next.Tags)
	changed := !old.Attempted.IsZero() || !x.Properties.Equal(old.Properties) || tags || x.Status == types.ResourceStatusUpdateFailed && natureOf(x.Type).contains
	switch {
	case old.Gone:
		r.remake(s, x, old, typ)
	case old.PhysicalID == x.PhysicalID && !changed, old.PhysicalID != x.PhysicalID && old.Properties.Equal(was.Properties):
		r.reverted(s, x, old)
	default:
		r.revert(s, x, was, old, typ)
	}
	return nil
}

// rebound is what a resource goes back to: what it was, or that with the identifiers that others have
// now. What only a new resource could have stays as it was.
func (r *run) rebound(ctx context.Context, tx *store.Tx, logicalID string, typ *operation.Type, was snapshot) (old snapshot, problem string, err error) {
	if !was.Rebound || r.stable == nil || r.stable.Resource(logicalID) == nil {
		return was, "", nil
	}
	state, err := r.stable.Desired(r.stable.Resource(logicalID), plan.Known{Resources: r.known(), Outside: values{run: r, ctx: ctx, tx: tx}})
	if err != nil {
		if failure := unevaluated(ctx, err); failure != nil {
			return was, "", failure
		}
		return was, EvaluationProblem(err), nil
	}
	for _, d := range plan.Differences(was.Properties.Get(), state.Properties, schemaOf(typ)) {
		if d.Recreation == types.RequiresRecreationAlways || template.HasUnknown(any(state.Properties)) {
			return was, "", nil
		}
	}
	old = was
	old.Properties, old.Shown = store.JSONOf(state.Properties), stringified(state.Shown())
	return old, "", nil
}

// revert updates a resource to what it was: the resource itself, or its predecessor, which still exists.
func (r *run) revert(s *stepRow, x *resourceRow, was, old snapshot, typ *operation.Type) {
	r.turn(s, begins, "")
	if x.PhysicalID != old.PhysicalID {
		if x.PhysicalID != "" {
			r.discard(x.LogicalID, x.snapshot(), "")
		}
		r.restore(x, was)
	}
	previous := x.Properties
	if !old.Attempted.IsZero() {
		previous = old.Attempted
	}
	old.TypeVersion = typ.Version
	s.PhysicalID, s.Pending = x.PhysicalID, store.JSONOf(old)
	r.call(s, typ, operation.Request{
		Action: invoke.Update, Identifier: x.PhysicalID, Desired: old.Properties.Get(), Previous: previous.Get(),
	})
}

// remake creates a resource again that was deleted for its successor. The successor is deleted first, as
// the resource was: there may be only one of them.
func (r *run) remake(s *stepRow, x *resourceRow, old snapshot, typ *operation.Type) {
	if s.Reason != reasonGone {
		r.turn(s, begins, "")
	}
	x.forgetGone(old)
	for _, id := range slices.Sorted(maps.Keys(r.cleanup)) { // a creation of the successor that failed
		if c := r.cleanup[id]; x.PhysicalID == "" && c.LogicalID == x.LogicalID && c.Status == "" && c.PhysicalID != old.PhysicalID {
			x.PhysicalID, x.Properties, x.Model = c.PhysicalID, c.Properties, c.Model
			if len(x.Model.Get()) == 0 { // those that refer to it need its identifier, if it stays
				x.Model = store.JSONOf(IdentifierModel(typ.Schema, x.PhysicalID))
			}
			delete(r.cleanup, id)
		}
	}
	r.refresh(x.LogicalID)
	old.TypeVersion = typ.Version
	s.Reason, s.PhysicalID, s.Pending = "", x.PhysicalID, store.JSONOf(old)
	if x.PhysicalID == "" {
		r.call(s, typ, operation.Request{Action: invoke.Create, Desired: old.Properties.Get()})
		return
	}
	s.Action = plan.Unmake
	r.turn(s, removes, "")
	r.call(s, typ, r.deleteRequest(x.Type, x.PhysicalID, x.Properties, x.Model))
}

// forgetGone removes the identifier of a resource that was deleted.
func (r *resourceRow) forgetGone(was snapshot) {
	if r.PhysicalID == was.PhysicalID {
		r.PhysicalID, r.Model = "", object{}
	}
}

// reverted takes a resource back without a call: its predecessor is still there, or nothing
// was changed.
func (r *run) reverted(s *stepRow, x *resourceRow, old snapshot) {
	if untouched := x.PhysicalID == old.PhysicalID && x.Status != types.ResourceStatusUpdateFailed; untouched {
		x.Origin = store.JSON[origin]{}
		r.restore(x, old)
		r.done(s)
		return
	}
	if x.PhysicalID != old.PhysicalID && x.PhysicalID != "" {
		r.discard(x.LogicalID, x.snapshot(), "")
	}
	x.restore(old)
	x.Origin = store.JSON[origin]{}
	r.turn(s, succeeds, "")
}
