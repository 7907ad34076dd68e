package stack

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/invoke"
	"github.com/formwork-dev/formwork/internal/operation"
	"github.com/formwork-dev/formwork/internal/store"
)

// Progressed implements [operation.Owner]: it writes what an operation on a resource of a
// stack reported, and wakes the stack.
func (e *Engine) Progressed(ctx context.Context, tx *store.Tx, state operation.State) error {
	s, err := oneRow[stepRow](ctx, tx, "id = ?", state.Key)
	if err != nil || s == nil || s.CallID != state.ID {
		return err // the step is over
	}
	op, err := oneRow[operationRow](ctx, tx, "id = ?", s.OperationID)
	if err != nil || op == nil {
		return err
	}
	p := &progress{engine: e, step: s, before: *s, op: op, state: state, now: e.now()}
	if !p.now.After(s.StartedAt.Add(time.Millisecond)) {
		p.now = store.At(s.StartedAt.Add(time.Millisecond)) // the ids of events have their time
	}
	if err := p.read(ctx, tx); err != nil {
		return err
	}
	p.note()
	if err := p.write(ctx, tx); err != nil || !p.moved() {
		return err
	}
	return e.wakeStack(ctx, tx, op.StackID)
}

// moved reports whether the stack has to look at the step. What else changed, such as the
// identifier of the resource, it reads when it looks the next time.
func (p *progress) moved() bool {
	return p.step.State != p.before.State || p.step.Action != p.before.Action
}

// wakeStack has the stack look at its steps.
func (e *Engine) wakeStack(ctx context.Context, tx *store.Tx, id string) error {
	if err := tx.Wake(ctx, wakeKind, id, time.Time{}); err != nil {
		return fmt.Errorf("wake the stack: %w", err)
	}
	return nil
}

// A progress is what a report changes.
type progress struct {
	engine   *Engine
	step     *stepRow
	before   stepRow // step as it was read
	op       *operationRow
	resource *resourceRow // nil for a cleanup
	original resourceRow  // resource as it was read
	cleanup  *cleanupRow
	state    operation.State
	now      store.Time

	events  []eventRow
	left    []*cleanupRow // physical resources to clean up
	gone    bool          // the resource row is to be deleted
	cleaned bool
}

func (p *progress) read(ctx context.Context, tx *store.Tx) (err error) {
	if p.step.CleanupID != "" {
		p.cleanup, err = oneRow[cleanupRow](ctx, tx, "id = ?", p.step.CleanupID)
		return err
	}
	p.resource, err = oneRow[resourceRow](ctx, tx, "stack_id = ? AND logical_id = ?", p.op.StackID, p.step.LogicalID)
	if p.resource != nil {
		p.original = *p.resource
	}
	return err
}

func (p *progress) note() {
	s, report := p.step, p.state.Progress
	switch {
	case p.cleanup != nil:
		p.noteCleanup()
	case p.resource == nil:
		s.State = stepDone
	case s.State == stepCancelled:
		p.noteStopped()
	case s.Action == actionDelete:
		p.noteDelete()
	case s.Action == actionRemake:
		p.noteRemake()
	default:
		p.noteIdentifier()
		switch {
		case report.Status == types.OperationStatusSuccess && report.Terminal() && !p.state.Reading:
			p.succeed()
		case report.Terminal() && !p.state.Reading:
			p.fail()
		case report.Configured && s.State == stepRunning && s.Action == actionCreate && report.Model != nil && p.express():
			s.CallID = "" // it continues in the background
			p.succeed()
		case report.Configured && s.State == stepRunning && s.Action == actionCreate:
			s.State = stepConfigured
			if report.Model != nil {
				p.resource.Model = store.JSONOf(report.Model) // for those that depend on it
			}
			p.event(eventRow{ID: s.LogicalID + "-" + p.engine.newID(), Status: string(p.resource.Status), Reason: reasonConsistency,
				DetailedStatus: types.DetailedStatusConfigurationComplete}, "")
		}
	}
	s.Seen = false
	if s.State == stepDone || s.State == stepFailed || s.State == stepStopped {
		s.EndedAt = p.now
	}
}

// event appends an event of the resource.
func (p *progress) event(row eventRow, properties string) {
	row.StackID, row.OperationID, row.ClientToken, row.Kind, row.At = p.op.StackID, p.op.ID, p.op.ClientToken, eventProgress, p.now
	row.LogicalID, row.Properties = p.step.LogicalID, properties
	switch {
	case p.cleanup != nil:
		row.Type, row.PhysicalID = p.cleanup.Type, p.cleanup.PhysicalID
	default:
		row.Type = p.resource.Type
		row.PhysicalID = cmpOr(p.step.PhysicalID, p.resource.PhysicalID)
	}
	if row.ID == "" {
		row.ID = resourceEventID(row)
	}
	p.events = append(p.events, row)
}

// creates reports whether the step makes a physical resource.
func (p *progress) creates() bool {
	return p.state.Request.Action == invoke.Create
}

// noteIdentifier appends the event of a resource whose identifier has become known.
func (p *progress) noteIdentifier() {
	identifier := p.state.Progress.Identifier
	before := p.step.PhysicalID
	if identifier == "" || identifier == before {
		return
	}
	p.step.PhysicalID = identifier
	if identifier == p.state.Request.Placeholder && p.step.Action == actionCreate {
		p.resource.PhysicalID = identifier // nothing has reported it
		return
	}
	switch {
	case before == "" && p.creates():
	case before != "" && p.step.Action == actionUpdate:
		p.resource.Reason = reasonNewIdentifier
		p.event(eventRow{Status: string(p.resource.Status), Reason: reasonNewIdentifier}, p.step.Properties)
		p.now = store.At(p.now.Add(time.Millisecond))
		return
	case before != "" && p.step.Action == actionCreate:
		p.resource.PhysicalID = identifier // the handler knows best
		return
	default:
		return
	}
	if p.step.Action == actionCreate {
		p.resource.PhysicalID = identifier
	}
	p.resource.Reason = reasonInitiated
	p.event(eventRow{Status: string(p.resource.Status), Reason: reasonInitiated}, p.step.Properties)
	p.now = store.At(p.now.Add(time.Millisecond))
}

// succeed updates the resource to the result of the step.
func (p *progress) succeed() {
	s, x := p.step, p.resource
	after := s.Pending.Get()
	before := x.PhysicalID
	x.restore(after)
	x.PhysicalID = cmpOr(s.PhysicalID, before)
	if p.state.Progress.Model != nil {
		x.Model = store.JSONOf(p.state.Progress.Model)
	} else {
		x.Model = after.Properties
	}
	if s.Action == actionImport {
		p.imported()
		return
	}
	if after.Signals != nil && s.Action != actionUpdate && s.Action != actionTag && s.Action != actionRevert {
		s.Action, s.State = actionSignal, stepRunning
		s.CallID = ""
		s.StartedAt = p.now
		return
	}
	p.complete()
}

// complete ends a step with the event of its success.
func (p *progress) complete() {
	s, x := p.step, p.resource
	status := types.ResourceStatusUpdateComplete
	switch s.Action {
	case actionCreate:
		status = types.ResourceStatusCreateComplete
	case actionRevert:
		x.Origin = store.JSON[origin]{}
	}
	x.Status, x.Reason = status, p.op.completion(x.Type)
	s.State, s.PhysicalID = stepDone, x.PhysicalID
	p.event(eventRow{Status: string(status), Reason: x.Reason}, s.Properties)
}

// imported ends the import of a resource. The tags of the stack are put on it next.
func (p *progress) imported() {
	s, x := p.step, p.resource
	x.Status, x.Reason = types.ResourceStatusImportComplete, ""
	s.Action, s.State, s.PhysicalID, s.CallID = actionTag, stepWaiting, x.PhysicalID, ""
	p.event(eventRow{Status: string(x.Status)}, s.Properties)
}

// completion is the reason of events that something is complete: none but in Express mode.
func (op *operationRow) completion(typeName string) string {
	if op.Options.Get().Mode != types.DeploymentConfigModeExpress || typeName == stackType {
		return ""
	}
	return reasonExpress
}

// fail ends a step whose operation failed.
func (p *progress) fail() {
	s, x, options := p.step, p.resource, p.op.Options.Get()
	refused := s.Action == actionUpdate && p.state.Progress.ErrorCode == "NotUpdatable" && !p.state.Progress.Own
	if refused && options.OnFailure != types.OnFailureDoNothing {
		s.Action, s.State, s.Reason = actionReplace, stepWaiting, ""
		s.PhysicalID = ""
		return
	}
	reason := p.reason()
	if refused {
		reason = reasonNoReplacement
	}
	status := types.ResourceStatusUpdateFailed
	switch s.Action {
	case actionCreate:
		status = types.ResourceStatusCreateFailed
		if p.state.Progress.Model != nil {
			x.Model = store.JSONOf(p.state.Progress.Model) // the deletion needs what it says
		}
	case actionImport:
		status = types.ResourceStatusImportFailed
		x.PhysicalID = ""
	case actionUpdate:
		p.attempted()
		if options.Backward && p.forced() {
			return
		}
	case actionRevert:
		if p.forced() {
			return
		}
	}
	x.Status, x.Reason, s.State, s.Reason = status, reason, stepFailed, reason
	p.event(eventRow{Status: string(status), Reason: reason}, s.Properties)
	p.leftover()
	if s.Action == actionCreate && options.Backward && options.ForceRollback && x.PhysicalID == "" {
		s.State, p.gone = stepDone, true // the stack does without it
	}
}

// forced ends a step of a rollback that ignores failures: the resource counts as rolled back.
func (p *progress) forced() bool {
	if !p.op.Options.Get().ForceRollback {
		return false
	}
	old := p.step.Pending.Get()
	p.leftover()
	if old.PhysicalID == "" { // of an update
		old.PhysicalID, old.Model = p.resource.PhysicalID, p.resource.Model
	}
	p.resource.restore(old)
	p.step.PhysicalID = old.PhysicalID
	p.complete()
	return true
}

// express reports whether resources are complete as soon as they are configured. Those that
// wait for signals, and stacks, are not.
func (p *progress) express() bool {
	return p.op.Options.Get().Mode == types.DeploymentConfigModeExpress && p.resource.Type != stackType && p.step.Pending.Get().Signals == nil
}

// attempted notes what an update tried that may have changed the resource.
func (p *progress) attempted() {
	p.resource.setBefore(func(before *snapshot) {
		if before.Attempted = p.step.Pending.Get().Properties; before.Attempted.IsZero() {
			before.Attempted = store.JSONOf(map[string]any{})
		}
	})
}

// leftover has the successor of a resource deleted that was made but did not succeed.
func (p *progress) leftover() {
	s, x := p.step, p.resource
	if !p.creates() && s.Action != actionUpdate || s.Action == actionCreate || s.PhysicalID == "" || s.PhysicalID == x.PhysicalID {
		return
	}
	made := s.Pending.Get()
	p.left = append(p.left, &cleanupRow{
		ID: p.engine.newID(), StackID: p.op.StackID, LogicalID: p.step.LogicalID, Type: made.Type, TypeVersion: made.TypeVersion,
		PhysicalID: s.PhysicalID, Properties: made.Properties, Model: store.JSONOf(p.state.Progress.Model), DependsOn: made.DependsOn, Module: store.JSONOf(moduleInfo(made.Metadata.Get())), UpdatedAt: p.now,
	})
}

// reason is that of a failed operation.
func (p *progress) reason() string {
	report := p.state.Progress
	if report.Own {
		return report.Message
	}
	return fmt.Sprintf(`Resource handler returned message: "%s" (RequestToken: %s, HandlerErrorCode: %s)`, report.Message, p.state.Request.Token, report.ErrorCode)
}

// noteStopped notes what became of a resource whose step was cancelled.
func (p *progress) noteStopped() {
	s, x, report := p.step, p.resource, p.state.Progress
	if report.Identifier != "" {
		s.PhysicalID = report.Identifier
	}
	if !report.Terminal() || p.state.Reading {
		return
	}
	s.State = stepStopped
	switch s.Action {
	case actionCreate:
		x.PhysicalID = s.PhysicalID
		if report.Model != nil {
			x.Model = store.JSONOf(report.Model)
		}
	case actionUpdate:
		p.attempted()
	case actionRemake:
		if report.Status == types.OperationStatusSuccess || report.ErrorCode == string(invoke.NotFound) {
			p.noteGone()
		}
	default:
		p.leftover()
	}
}

// noteGone notes that the resource was deleted before its successor was created.
func (p *progress) noteGone() {
	p.resource.setBefore(func(before *snapshot) { before.Gone = true })
}

// noteRemake follows the deletion of a resource that is to be created anew.
func (p *progress) noteRemake() {
	s, x, report := p.step, p.resource, p.state.Progress
	switch {
	case !report.Terminal():
	case report.Status == types.OperationStatusSuccess, report.ErrorCode == string(invoke.NotFound):
		p.noteGone()
		s.Action, s.State, s.Reason, s.PhysicalID = actionReplace, stepWaiting, reasonGone, ""
	default:
		reason := p.reason()
		x.Status, x.Reason, s.State, s.Reason = types.ResourceStatusUpdateFailed, reason, stepFailed, reason
		p.event(eventRow{Status: string(x.Status), Reason: reason}, s.Properties)
	}
}

// noteDelete follows the deletion of a resource.
func (p *progress) noteDelete() {
	s, x, report := p.step, p.resource, p.state.Progress
	if !report.Terminal() {
		return
	}
	if report.Status == types.OperationStatusSuccess || report.ErrorCode == string(invoke.NotFound) {
		x.Status, x.Reason, s.State = types.ResourceStatusDeleteComplete, p.op.completion(x.Type), stepDone
		p.event(eventRow{Status: string(x.Status), Reason: x.Reason}, s.Properties)
		p.gone = s.Stage == phaseCleanup || s.Stage == phaseRollbackCleanup
		return
	}
	reason := p.reason()
	x.Status, x.Reason, s.State, s.Reason = types.ResourceStatusDeleteFailed, reason, stepFailed, reason
	p.event(eventRow{Status: string(x.Status), Reason: reason}, s.Properties)
}

// noteCleanup follows the deletion of what was replaced.
func (p *progress) noteCleanup() {
	s, c, report := p.step, p.cleanup, p.state.Progress
	if !report.Terminal() {
		return
	}
	status, reason := types.ResourceStatusDeleteComplete, p.op.completion(c.Type)
	s.State, p.cleaned = stepDone, true
	if report.Status != types.OperationStatusSuccess && report.ErrorCode != string(invoke.NotFound) {
		status, reason = types.ResourceStatusDeleteFailed, p.reason()
		s.State, s.Reason, p.cleaned = stepFailed, reason, false
	}
	c.Status, c.Reason, c.UpdatedAt = status, reason, p.now
	p.event(eventRow{ID: s.LogicalID + "-" + p.engine.newID(), Status: string(status), Reason: reason}, "")
}

func (p *progress) write(ctx context.Context, tx *store.Tx) error {
	if err := store.Update(ctx, tx, &p.before, p.step); err != nil {
		return err
	}
	switch {
	case p.gone:
		if _, err := tx.NewDelete().Model(p.resource).WherePK().Exec(ctx); err != nil {
			return fmt.Errorf("forget a resource: %w", err)
		}
	case p.resource != nil && *p.resource != p.original:
		p.resource.UpdatedAt = p.now
		if err := store.Update(ctx, tx, &p.original, p.resource); err != nil {
			return err
		}
	}
	switch {
	case p.cleanup != nil && p.cleaned:
		if _, err := tx.NewDelete().Model(p.cleanup).WherePK().Exec(ctx); err != nil {
			return fmt.Errorf("forget a resource: %w", err)
		}
	case p.cleanup != nil:
		if err := upsert(ctx, tx, []*cleanupRow{p.cleanup}, "(id)", cleanupColumns); err != nil {
			return err
		}
	}
	if err := upsert(ctx, tx, p.left, "(id)", cleanupColumns); err != nil {
		return err
	}
	return p.engine.insertEvents(ctx, tx, p.events)
}
