package stack

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// proceed moves the operation on until it has to wait, and returns when to look again at the
// latest.
func (r *run) proceed(ctx context.Context, tx *store.Tx) (time.Time, error) {
	r.note()
	var waits time.Time
	for r.stack.OperationID != "" {
		if err := ctx.Err(); err != nil {
			return time.Time{}, err
		}
		if r.op.Phase == plan.PhaseHooks && !r.op.Cancelled {
			break // for the hooks on the stack
		}
		if r.op.Phase == plan.PhaseValidate || r.op.Phase == plan.PhaseHooks || r.op.Phase == plan.PhaseHooked {
			if err := r.begin(ctx, tx); err != nil {
				return time.Time{}, err
			}
			continue
		}
		var err error
		if waits, err = r.awaitSignals(ctx, tx); err != nil {
			return time.Time{}, err
		}
		r.cancelWaits()
		late := r.late()
		v := plan.Advance(r.nodes(), r.brake(late))
		for _, key := range v.Start {
			if err := r.start(ctx, tx, r.steps[key]); err != nil {
				return time.Time{}, err
			}
		}
		if len(v.Start) > 0 {
			continue // some may have ended already
		}
		if !v.Ended {
			break
		}
		if err := r.endStage(ctx, tx, v, late); err != nil {
			return time.Time{}, err
		}
	}
	if r.stack.OperationID != "" && r.op.Phase == plan.PhaseMain && !r.op.Deadline.IsZero() && (waits.IsZero() || r.op.Deadline.Before(waits)) {
		waits = r.op.Deadline.Time
	}
	return waits, nil
}

// late reports whether the time of the operation is up.
func (r *run) late() bool {
	return !r.op.Deadline.IsZero() && !r.now.Before(r.op.Deadline.Time) && r.op.Phase == plan.PhaseMain
}

// nodes are the steps of the stage, with those of an earlier one that still run.
func (r *run) nodes() []plan.Node {
	out := make([]plan.Node, 0, len(r.order))
	for _, key := range r.order {
		s := r.steps[key]
		state := s.State
		if state == plan.StepFailed && r.options.ForceDelete {
			state = plan.StepDone // the stack is deleted in any case
		}
		out = append(out, plan.Node{Key: key, After: s.Plan.Get().After, State: state})
	}
	return out
}

// brake returns how the stage continues.
func (r *run) brake(late bool) plan.Brake {
	rollsBack := r.options.OnFailure != types.OnFailureDoNothing
	switch {
	case r.op.Phase != plan.PhaseMain, r.options.Backward:
		return plan.KeepOn
	case late && rollsBack, r.op.Cancelled && r.op.Kind == types.OperationTypeCreateStack:
		return plan.Halted
	case late, r.op.Cancelled:
		return plan.Drain
	case rollsBack:
		return plan.Halt
	}
	return plan.KeepOn
}

// endStage moves the operation on from a stage that ended.
func (r *run) endStage(ctx context.Context, tx *store.Tx, v plan.Verdict, late bool) error {
	for _, key := range v.Skip {
		r.setState(r.steps[key], plan.StepSkipped)
	}
	for _, key := range v.Cancel {
		r.cancelStep(r.steps[key])
	}
	how, reason := plan.Succeeded, ""
	switch {
	case late && len(v.Failed) == 0:
		how, reason = plan.Failed, reasonTimeout
	case r.op.Cancelled && r.op.Phase == plan.PhaseMain && len(v.Failed) == 0:
		how, reason = plan.Failed, r.stoppedReason()
	case len(v.Failed) > 0:
		how, reason = plan.Failed, r.failure()
	case r.op.Phase == plan.PhaseMain:
		problem, err := r.commitOutputs(ctx, tx)
		if err != nil {
			return err
		}
		if problem != "" {
			how, reason = plan.Failed, strings.TrimSuffix(problem, ".")+r.requested()
		}
	}
	if r.op.Phase == plan.PhaseMain && how == plan.Failed {
		how = r.failing()
	}
	return r.follow(ctx, tx, how, reason)
}

// failing is the outcome of a deployment that failed.
func (r *run) failing() plan.Outcome {
	switch {
	case r.op.Cancelled && r.op.Kind == types.OperationTypeUpdateStack: // rolls back whatever the options are
	case r.options.OnFailure == types.OnFailureDoNothing:
		return plan.Preserved
	case r.options.OnFailure == types.OnFailureDelete:
		return plan.Deleting
	}
	return plan.Failed
}

// stoppedReason is why a canceled operation rolls back.
func (r *run) stoppedReason() string {
	if r.options.OnFailure == types.OnFailureDelete {
		return reasonUserInitiated
	}
	return reasonUpdateStopped
}

// requested is what follows the reason of a failure that is rolled back.
func (r *run) requested() string {
	switch r.options.OnFailure {
	case types.OnFailureDoNothing:
		return ""
	case types.OnFailureDelete:
		return ". " + reasonDeleteRequested
	}
	if r.op.Kind == types.OperationTypeUpdateStack {
		return " "
	}
	return ". " + reasonRollbackRequested
}

// failure lists the failed resources.
func (r *run) failure() string {
	failed := map[string][]string{}
	for _, key := range r.order {
		s := r.steps[key]
		if s.State != plan.StepFailed && s.State != plan.StepCancelled {
			continue
		}
		verb := "update"
		switch x := r.resources[s.LogicalID]; {
		case s.Action == plan.Delete:
			verb = "delete"
		case x != nil && x.Status == types.ResourceStatusCreateFailed:
			verb = "create"
		case x != nil && x.Status == types.ResourceStatusImportFailed:
			verb = "import"
		}
		failed[verb] = append(failed[verb], s.LogicalID)
	}
	var parts []string
	for _, verb := range []string{"create", "import", "update", "delete"} {
		if len(failed[verb]) > 0 {
			slices.Sort(failed[verb])
			parts = append(parts, fmt.Sprintf("The following resource(s) failed to %s: %s", verb, bracketed(slices.Compact(failed[verb]))))
		}
	}
	text := strings.Join(parts, ". ")
	if r.op.Phase == plan.PhaseMain && r.op.Kind == types.OperationTypeCreateStack {
		return text + r.requested()
	}
	return text + ". "
}

// cancelStep ends a running step early. The row of its resource records that; the state of the
// resource is known when its operation has ended.
func (r *run) cancelStep(s *stepRow) {
	if x := r.resources[s.LogicalID]; x != nil {
		r.turn(s, cancelled, reasonsCancelled[statusesOf(s, x)])
	}
	switch {
	case s.Reason == reasonHooks:
		r.writes.unhook = append(r.writes.unhook, s.CallID)
		r.setState(s, plan.StepStopped) // nothing was called
	case s.CallID != "":
		r.writes.cancel = append(r.writes.cancel, s.CallID)
		r.setState(s, plan.StepCancelled)
	default:
		r.setState(s, plan.StepStopped)
	}
}

// reasonsCancelled are the reasons of resources whose steps were cancelled.
var reasonsCancelled = map[*statuses]string{creates: reasonCreateCancelled, imports: reasonImportCancelled, updates: reasonUpdateCancelled}

// cancelWaits ends steps that only wait for signals when an update was canceled: other steps
// finish, but a wait may last for hours.
func (r *run) cancelWaits() {
	if !r.op.Cancelled || r.op.Phase != plan.PhaseMain {
		return
	}
	for _, key := range r.order {
		s := r.steps[key]
		x := r.resources[s.LogicalID]
		if s.State == plan.StepRunning && (s.Action == plan.Signal || s.Action == plan.Create && x != nil && natureOf(x.Type).waits) {
			r.cancelStep(s)
		}
	}
}

// follow makes the transition after a stage.
func (r *run) follow(ctx context.Context, tx *store.Tx, how plan.Outcome, reason string) error {
	t, ok := plan.Following(r.op.Kind, r.stack.Status, r.op.Phase, how)
	if !ok {
		return fmt.Errorf("no transition from %s %s %s %s", r.op.Kind, r.stack.Status, r.op.Phase, how)
	}
	if t.Status == types.StackStatusUpdateRollbackInProgress && r.stack.StableDeploymentID == "" {
		t.Status = types.StackStatusRollbackInProgress // there is nothing to go back to
	}
	if how == plan.Succeeded || t.Status == types.StackStatusUpdateComplete || t.Status == types.StackStatusUpdateRollbackComplete {
		reason = ""
	}
	r.leave(how)
	if t.Ended != "" && t.Next != plan.PhaseEnd {
		r.beginRollback(t)
	}
	r.setStatus(t.Status, reason)
	if t.Next == plan.PhaseEnd {
		return r.end(ctx, tx, t)
	}
	r.enter(t.Next)
	return nil
}

// leave does what the end of a stage means for the rows.
func (r *run) leave(how plan.Outcome) {
	if how != plan.Succeeded {
		return
	}
	switch r.op.Phase {
	case plan.PhaseMain:
		r.settle()
	case plan.PhaseRollback:
		if r.stack.Status == types.StackStatusUpdateRollbackInProgress || r.stack.Status == types.StackStatusImportRollbackInProgress {
			r.stack.DeploymentID = r.stack.StableDeploymentID
		}
	}
}

// settle makes the deployment the stable state: replaced resources are left to the cleanup.
func (r *run) settle() {
	r.stack.StableDeploymentID = r.stack.DeploymentID
	for _, id := range slices.Sorted(maps.Keys(r.resources)) {
		x := r.resources[id]
		if x.Origin.IsZero() {
			continue
		}
		if old, changed := x.before(); changed && !old.Gone && old.PhysicalID != x.PhysicalID {
			r.discard(x.LogicalID, old, x.UpdateReplacePolicy)
		}
		x.Origin = store.JSON[origin]{}
	}
}

// beginRollback ends the operation and starts the one that rolls it back.
func (r *run) beginRollback(t plan.Transition) {
	old := r.op
	old.Status, old.EndedAt, old.Phase = string(t.Ended), r.now, plan.PhaseEnd
	if r.writes.begun {
		// An operation that starts and ends in one transaction is written once.
		r.writes.after = append(r.writes.after, func(ctx context.Context, tx *store.Tx) error {
			return store.Insert(ctx, tx, old)
		})
	} else {
		r.writes.ended = append(r.writes.ended, old)
	}
	r.options.Undoes = old.ID
	kind := types.OperationTypeRollback
	if t.Next == plan.PhaseDelete {
		kind = types.OperationTypeDeleteStack
	}
	r.op = &operationRow{
		ID: r.engine.newID(), StackID: old.StackID, Kind: kind, Status: string(opRunning), Phase: t.Next, ClientToken: old.ClientToken,
		Options: store.JSONOf(r.options), DeploymentID: old.DeploymentID, Caller: old.Caller, StartedAt: r.now, RowVersion: 1,
	}
	r.writes.begun, r.stack.OperationID = true, r.op.ID
	r.addLastOperation()
}

// addLastOperation shows the operation as the latest of the stack.
func (r *run) addLastOperation() {
	settings := r.stack.Settings.Get()
	settings.LastOperations = latest(settings.LastOperations, r.op)
	r.stack.Settings = store.JSONOf(settings)
}

// latest puts an operation before the one that was the latest.
func latest(before []types.OperationEntry, op *operationRow) []types.OperationEntry {
	kind := op.shownKind()
	entry := types.OperationEntry{OperationId: aws.String(op.ID), OperationType: kind}
	if kind == types.OperationTypeRollback && len(before) > 0 {
		return []types.OperationEntry{entry, before[0]}
	}
	return []types.OperationEntry{entry}
}

// end ends the operation.
func (r *run) end(ctx context.Context, tx *store.Tx, t plan.Transition) error {
	r.op.Status, r.op.EndedAt, r.op.Phase = string(t.Ended), r.now, plan.PhaseEnd
	r.stack.OperationID = ""
	changeSet := r.stack.ChangeSetID
	switch t.Status {
	case types.StackStatusDeleteComplete:
		if err := r.deleteStack(ctx, tx); err != nil {
			return err
		}
	case types.StackStatusRollbackComplete:
		r.stack.DeletedAt = r.now
	}
	if err := r.engine.forgetChildren(ctx, tx, changeSet); err != nil {
		return err
	}
	if ended := r.engine.ended; ended != nil {
		if err := ended(ctx, tx, r.stack.ARN); err != nil {
			return err
		}
	}
	r.forgetSteps()
	return nil
}

// forgetSteps deletes the steps of the operation: its events show what happened.
func (r *run) forgetSteps() {
	for _, s := range r.steps {
		if s.State.Active() {
			return // a cancelled one still has its operation: preserved stacks
		}
	}
	r.steps, r.order = map[string]*stepRow{}, nil
}

// deleteStack frees the name of the stack and what it exported.
func (r *run) deleteStack(ctx context.Context, tx *store.Tx) error {
	r.stack.Live, r.stack.DeletedAt, r.stack.ChangeSetID = false, r.now, ""
	for _, table := range []string{"stack_exports", "stack_imports", "stack_signals", "stack_resource_drifts"} {
		if _, err := store.Exec(ctx, tx, "DELETE FROM "+table+" WHERE stack_id = ?", r.stack.ID); err != nil {
			return fmt.Errorf("forget a deleted stack: %w", err)
		}
	}
	return r.engine.forgetSets(ctx, tx, "stack_id = ?", r.stack.ID)
}

// enter starts a stage with the steps that are planned for it.
func (r *run) enter(next plan.Phase) {
	r.op.Phase = next
	r.keepStopping()
	if next == plan.PhaseMain {
		r.replaceUndeleted()
	}
	for _, s := range r.have().Steps(next, r.request()) {
		r.step(s)
	}
}

// have is what the stack has, for plans.
func (r *run) have() plan.Have {
	var have plan.Have
	for _, id := range slices.Sorted(maps.Keys(r.resources)) {
		x := r.resources[id]
		before, changed := x.before()
		kind := x.Origin.Get().Kind
		have.Resources = append(have.Resources, plan.Held{
			LogicalID: id, Type: x.Type, DependsOn: x.DependsOn.Get(), DeletionPolicy: x.DeletionPolicy, Exists: x.exists(),
			Deleted: x.Status == types.ResourceStatusDeleteComplete || x.Status == types.ResourceStatusDeleteSkipped,
			New:     kind == originNew, Imported: kind == originImported, Changed: changed, Gone: before.Gone, Before: before.DependsOn.Get(),
		})
	}
	for _, id := range slices.Sorted(maps.Keys(r.cleanup)) {
		c := r.cleanup[id]
		have.Leftovers = append(have.Leftovers, plan.Leftover{ID: id, LogicalID: c.LogicalID, Type: c.Type, DependsOn: c.DependsOn.Get(), Policy: c.Policy})
	}
	return have
}

// request is what the operation was begun for, for plans.
func (r *run) request() plan.Request {
	o := &r.options
	request := plan.Request{
		Next: r.next, Planned: r.prepared.main, Import: o.Import, OnlyImport: r.op.Kind == plan.ImportOperation, Children: o.Nested, ChildrenPlanned: o.NestedPlanned,
		Retain: o.RetainResources, RetainExceptOnCreate: o.RetainExceptOnCreate, Undoes: o.OnFailure == types.OnFailureDelete,
		Backward: o.Backward, Force: o.ForceRollback, Express: o.Mode == types.DeploymentConfigModeExpress,
		Creates: r.stack.Status == types.StackStatusRollbackInProgress, Imports: r.stack.Status == types.StackStatusImportRollbackInProgress,
	}
	if o.OnFailure == types.OnFailureDoNothing {
		request.NoReplacement = reasonNoReplacement
	}
	if request.Backward {
		request.Skip = o.SkipResources
	} else if text := cmp.Or(o.PolicyDuringUpdate, r.stack.Policy); text != "" {
		request.Policy, _ = plan.ParsePolicy(text) // what is kept was parsed before
	}
	return request
}

// replaceUndeleted leaves what an earlier cleanup could not delete to the next one: the template gets another one.
func (r *run) replaceUndeleted() {
	for _, res := range r.next.Scope.ActiveResources() {
		if x := r.resources[res.LogicalID]; x != nil && x.Status == types.ResourceStatusDeleteFailed {
			r.discard(x.LogicalID, x.snapshot(), "")
			r.drop(x)
		}
	}
}

// keepStopping takes the steps that were cancelled and still run along to the next stage,
// and forgets the others.
func (r *run) keepStopping() {
	steps, order := r.steps, r.order
	r.steps, r.order = map[string]*stepRow{}, nil
	for _, key := range order {
		if s := steps[key]; s.State == plan.StepCancelled {
			s.Stage, s.OperationID = plan.PhaseStopping, r.op.ID
			r.addStep(s)
		}
	}
}

// step adds a step to the stage.
func (r *run) step(planned plan.Step) {
	if stopping := stoppingKey(planned.LogicalID); r.steps[stopping] != nil {
		planned.After = append(slices.Clone(planned.After), stopping)
	}
	r.addStep(&stepRow{
		ID: r.engine.newID(), OperationID: r.op.ID, Stage: r.op.Phase, LogicalID: planned.LogicalID, CleanupID: planned.CleanupID,
		Plan: store.JSONOf(planned), Action: planned.Action, State: plan.StepWaiting, Seen: true,
	})
	if planned.Rebound {
		x := r.resources[planned.LogicalID]
		r.remember(x)
		x.setBefore(func(before *snapshot) { before.Rebound = true })
	}
}
