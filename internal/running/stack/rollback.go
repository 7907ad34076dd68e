package stack

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// CancelUpdateStack stops an update: running steps finish, no new ones start, and the stack is
// rolled back.
func (e *Engine) CancelUpdateStack(ctx context.Context, caller awswire.Caller, in *cloudformation.CancelUpdateStackInput) (*cloudformation.CancelUpdateStackOutput, error) {
	err := e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		s, err := requireStack(ctx, tx, caller, in.StackName, "missing")
		if err != nil {
			return err
		}
		token := aws.ToString(in.ClientRequestToken)
		if s.Status != types.StackStatusUpdateInProgress {
			again, err := canceledBefore(ctx, tx, s, token)
			if !again && err == nil {
				err = refuse("cancel")
			}
			return err
		}
		return e.cancelUpdate(ctx, tx, s, token)
	})
	if err != nil {
		return nil, err
	}
	return &cloudformation.CancelUpdateStackOutput{}, nil
}

// canceledBefore reports whether the last operation on a stack was canceled by a request with a token.
func canceledBefore(ctx context.Context, tx *store.Tx, s *stackRow, token string) (bool, error) {
	operations := s.Settings.Get().LastOperations
	if token == "" || len(operations) == 0 {
		return false, nil
	}
	op, err := store.Find[operationRow](ctx, tx, "id = ?", aws.ToString(operations[0].OperationId))
	return err == nil && op != nil && op.Options.Get().CancelToken == token, err
}

// cancelUpdate has the operation of a stack stop, if the transaction commits.
func (e *Engine) cancelUpdate(ctx context.Context, tx *store.Tx, s *stackRow, token string) error {
	op, err := store.Find[operationRow](ctx, tx, "id = ?", s.OperationID)
	if err != nil || op == nil || op.Cancelled {
		return err
	}
	if op.refactored() {
		return refuse("cancel")
	}
	options := op.Options.Get()
	options.CancelToken = token
	op.Options, op.Cancelled = store.JSONOf(options), true
	if err := store.Swap(ctx, tx, op, &op.RowVersion); err != nil {
		return err
	}
	return tx.Wake(ctx, wakeKind, s.ID, time.Time{})
}

// ContinueUpdateRollback tries a rollback again that failed.
func (e *Engine) ContinueUpdateRollback(ctx context.Context, caller awswire.Caller, in *cloudformation.ContinueUpdateRollbackInput) (*cloudformation.ContinueUpdateRollbackOutput, error) {
	force := aws.ToBool(in.ForceRollback)
	if force && len(in.ResourcesToSkip) > 0 {
		return nil, refuse("skip-force")
	}
	err := e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		s, err := requireStack(ctx, tx, caller, in.StackName, "missing")
		if err != nil {
			return err
		}
		if s.ParentID != "" {
			return refuse("continue-child")
		}
		token, hash := aws.ToString(in.ClientRequestToken), requestHash(in)
		if s.Status != types.StackStatusUpdateRollbackFailed {
			again, err := begunBefore(ctx, tx, s, token, hash, "kind = ?", types.OperationTypeContinueRollback)
			if again == nil && err == nil {
				err = refuse("continue", s.ARN, s.Status)
			}
			return err
		}
		if err := e.checkSkipped(ctx, tx, s, in.ResourcesToSkip); err != nil {
			return err
		}
		_, err = e.begin(ctx, tx, s, beginInput{
			kind: types.OperationTypeContinueRollback, status: types.StackStatusUpdateRollbackInProgress,
			options: operationOptions{SkipResources: in.ResourcesToSkip, ForceRollback: force},
			token:   token, hash: hash, caller: caller,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &cloudformation.ContinueUpdateRollbackOutput{}, nil
}

// checkSkipped refuses to skip resources whose rollback has not failed. CHILD.RESOURCE names
// one in a nested stack, by the name of that stack. A nested stack itself can be skipped only
// if it is gone, or going.
func (e *Engine) checkSkipped(ctx context.Context, tx *store.Tx, s *stackRow, skipped []string) error {
	for _, id := range skipped {
		of, logicalID := s, id
		if child, below, nested := strings.Cut(id, "."); nested {
			var err error
			logicalID = below
			if of, err = store.Find[stackRow](ctx, tx, "account = ? AND region = ? AND name = ? AND live AND root_id = ?", s.Account, s.Region, child, cmp.Or(s.RootID, s.ARN)); err != nil {
				return err
			}
			if of == nil || of.Status != types.StackStatusUpdateRollbackFailed {
				return refuse("skip", id)
			}
		}
		x, err := store.Find[resourceRow](ctx, tx, "stack_id = ? AND logical_id = ?", of.ID, logicalID)
		if err != nil {
			return err
		}
		if x == nil || x.Status != types.ResourceStatusUpdateFailed {
			return refuse("skip", id)
		}
		if !natureOf(x.Type).contains {
			continue
		}
		child, err := store.Find[stackRow](ctx, tx, "arn = ?", x.PhysicalID)
		if err != nil {
			return err
		}
		if child != nil && !slices.Contains(skippable, child.Status) {
			return refuse("skip-nested", id, child.Status)
		}
	}
	return nil
}

// skippable are the statuses in which a nested stack can be skipped.
var skippable = []types.StackStatus{types.StackStatusDeleteInProgress, types.StackStatusDeleteComplete, types.StackStatusDeleteFailed}

// RollbackStack takes a stack back that failed and was left as it was.
func (e *Engine) RollbackStack(ctx context.Context, caller awswire.Caller, in *cloudformation.RollbackStackInput) (*cloudformation.RollbackStackOutput, error) {
	out := &cloudformation.RollbackStackOutput{}
	err := e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		s, err := requireStack(ctx, tx, caller, in.StackName, "missing")
		if err != nil {
			return err
		}
		if s.ParentID != "" {
			return refuse("rollback-child")
		}
		token, hash := aws.ToString(in.ClientRequestToken), requestHash(in)
		status := types.StackStatusUpdateRollbackInProgress
		switch s.Status {
		case types.StackStatusUpdateFailed:
		case types.StackStatusCreateFailed:
			status = types.StackStatusRollbackInProgress
		default:
			again, err := begunBefore(ctx, tx, s, token, hash, "kind = ?", types.OperationTypeRollback)
			if err != nil {
				return err
			}
			if again == nil {
				return refuse("rollback", s.ARN, s.Status)
			}
			out.StackId, out.OperationId = aws.String(s.ARN), aws.String(again.ID)
			return nil
		}
		if s.StableDeploymentID == "" {
			status = types.StackStatusRollbackInProgress
		}
		options := operationOptions{OnFailure: types.OnFailureRollback, RetainExceptOnCreate: aws.ToBool(in.RetainExceptOnCreate), Mode: modeOf(in.DeploymentConfig)}
		id, err := e.begin(ctx, tx, s, beginInput{
			kind: types.OperationTypeRollback, status: status, options: options,
			token: token, hash: hash, caller: caller,
		})
		out.StackId, out.OperationId = aws.String(s.ARN), aws.String(id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

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
	if slices.Contains(r.options.SkipResources, x.LogicalID) {
		if was.Gone {
			x.forgetGone(was)
			was.PhysicalID, was.Model = x.PhysicalID, x.Model // what was made in its place, if anything
		}
		r.reverted(s, x, was)
		return nil
	}
	if problem = cmp.Or(unknown, problem); problem != "" {
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
