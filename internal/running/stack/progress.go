package stack

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// Progressed implements [operation.Owner]: it writes what an operation on a resource of a
// stack reported, and wakes the stack.
func (e *Engine) Progressed(ctx context.Context, tx *store.Tx, state operation.State) error {
	s, err := store.Find[stepRow](ctx, tx, "id = ?", state.Key)
	if err != nil || s == nil || s.CallID != state.ID {
		return err // the step is over
	}
	op, err := store.Find[operationRow](ctx, tx, "id = ?", s.OperationID)
	if err != nil || op == nil {
		return err
	}
	p := newProgress(e, op, s, e.now())
	p.state = state
	if !p.now.After(s.StartedAt.Add(time.Millisecond)) {
		p.now = store.At(s.StartedAt.Add(time.Millisecond)) // the ids of events have their time
	}
	if err := p.readSubject(ctx, tx); err != nil {
		return err
	}
	p.note()
	if err := p.write(ctx, tx); err != nil || !p.moved() {
		return err
	}
	return e.wakeStack(ctx, tx, op.StackID)
}

// wakeStack has the stack look at its steps.
func (e *Engine) wakeStack(ctx context.Context, tx *store.Tx, id string) error {
	if err := tx.Wake(ctx, wakeKind, id, time.Time{}); err != nil {
		return fmt.Errorf("wake the stack: %w", err)
	}
	return nil
}

// A progress is a report about one step.
type progress struct {
	machine

	step     *stepRow
	before   stepRow      // step as it was read
	resource *resourceRow // nil for a cleanup, and for one that is gone
	state    operation.State
}

func newProgress(e *Engine, op *operationRow, s *stepRow, now store.Time) *progress {
	p := &progress{machine: newMachine(e, op, now), step: s, before: *s}
	p.gotStep(s)
	return p
}

// moved reports whether the stack has to look at the step. What else changed, such as the
// identifier of the resource, it reads when it looks the next time.
func (p *progress) moved() bool {
	return p.step.State != p.before.State || p.step.Action != p.before.Action
}

// readSubject reads what the step is about.
func (p *progress) readSubject(ctx context.Context, tx *store.Tx) (err error) {
	if p.step.CleanupID != "" {
		c, err := store.Find[cleanupRow](ctx, tx, "id = ?", p.step.CleanupID)
		if c != nil {
			p.gotCleanup(c)
		}
		return err
	}
	if p.resource, err = store.Find[resourceRow](ctx, tx, "stack_id = ? AND logical_id = ?", p.op.StackID, p.step.LogicalID); p.resource != nil {
		p.gotResource(p.resource)
	}
	return err
}

func (p *progress) note() {
	s, report := p.step, p.state.Progress
	ended := report.Terminal() && !p.state.Reading
	succeeded := report.Status == types.OperationStatusSuccess
	gone := succeeded || report.ErrorCode == string(invoke.NotFound)
	switch {
	case p.cleanup[s.CleanupID] == nil && p.resource == nil:
		p.done(s)
	case s.State == plan.StepCancelled && p.resource != nil:
		p.noteStopped(ended, gone)
	case !report.Terminal() && (s.Action == plan.Delete || s.Action == plan.Remake || s.Action == plan.Unmake):
	case s.Action == plan.Delete && gone:
		p.deleted()
	case s.Action == plan.Delete:
		p.turn(s, fails, p.reason())
	case s.Action == plan.Remake && gone:
		p.noteRemoved()
		p.again(s, plan.Replace, reasonGone)
	case s.Action == plan.Unmake && gone:
		p.noteRemoved()
		p.again(s, plan.Revert, reasonGone)
	case s.Action == plan.Unmake && p.forced():
	case s.Action == plan.Remake, s.Action == plan.Unmake:
		p.turn(s, fails, p.reason())
	default:
		p.noteIdentifier()
		switch {
		case ended && succeeded:
			p.succeed()
		case ended:
			p.fail()
		case report.Configured && s.State == plan.StepRunning && s.Action == plan.Create:
			p.configured()
		}
	}
	s.moved()
}

// deleted ends the deletion of a resource, or of one that was replaced.
func (p *progress) deleted() {
	s := p.step
	if c := p.cleanup[s.CleanupID]; c != nil {
		p.turn(s, succeeds, s.completion())
		delete(p.cleanup, c.ID)
		return
	}
	p.turn(s, succeeds, s.completion())
	if s.Stage == plan.PhaseCleanup || s.Stage == plan.PhaseRollbackCleanup {
		p.drop(p.resource) // the stack continues to exist
	}
}

// configured notes a resource that those may be created after which depend on it. In Express mode it is
// complete, and its operation continues in the background.
func (p *progress) configured() {
	s, model := p.step, p.state.Progress.Model
	if model != nil && p.express() {
		s.CallID = ""
		p.succeed()
		return
	}
	if model != nil {
		p.resource.Model = store.JSONOf(model) // for those that depend on it
	}
	p.turn(s, configured, reasonConsistency)
}

// creates reports whether the step makes a physical resource.
func (p *progress) creates() bool {
	return p.state.Request.Action == invoke.Create
}

// noteIdentifier appends the event of a resource whose identifier has become known.
func (p *progress) noteIdentifier() {
	s, x, identifier, reason := p.step, p.resource, p.state.Progress.Identifier, reasonInitiated
	before := s.PhysicalID
	if identifier == "" || identifier == before {
		return
	}
	s.PhysicalID = identifier
	if s.Action == plan.Create {
		x.PhysicalID = identifier
	}
	switch {
	case s.Action == plan.Create && identifier == p.state.Request.Placeholder:
		return // nothing has reported it
	case before == "" && p.creates():
	case p.creates() && before != p.state.Request.Placeholder:
		made := s.Pending.Get()
		made.PhysicalID = before
		p.discard(s.LogicalID, made, "") // who knows which of them exists
		return
	case before != "" && s.Action == plan.Update:
		reason = reasonNewIdentifier
	default:
		return
	}
	p.turn(s, reports, reason)
	p.now = store.At(p.now.Add(time.Millisecond))
}

// succeed updates the resource to the result of the step.
func (p *progress) succeed() {
	s, x, after := p.step, p.resource, p.step.Pending.Get()
	before := x.PhysicalID
	x.restore(after)
	x.PhysicalID = cmp.Or(s.PhysicalID, before)
	x.Model = after.Properties
	if p.state.Progress.Model != nil {
		x.Model = store.JSONOf(p.state.Progress.Model)
	}
	if s.Action == plan.Import {
		s.PhysicalID = x.PhysicalID
		p.turn(s, succeeds, "")
		p.again(s, plan.Tag, "") // the tags of the stack are put on it next
		s.PhysicalID = x.PhysicalID
		return
	}
	signaled := after.Signals != nil && s.Action != plan.Update && s.Action != plan.Tag && s.Action != plan.Revert
	switch {
	case signaled && after.Signals.Simulated:
		s.PhysicalID = x.PhysicalID
		p.turn(s, succeeds, reasonSimulated)
		return
	case signaled:
		s.Action, s.CallID, s.StartedAt = plan.Signal, "", p.now
		p.setState(s, plan.StepRunning)
		return
	}
	p.complete()
}

// complete ends a step with the event of its success.
func (p *progress) complete() {
	s, x := p.step, p.resource
	if s.Action == plan.Revert || s.Action == plan.Unmake {
		x.Origin = store.JSON[origin]{}
	}
	s.PhysicalID = x.PhysicalID
	p.turn(s, succeeds, s.completion())
}

// completion is the reason of events that a resource is complete: none but in Express mode.
func (s *stepRow) completion() string {
	if s.Plan.Get().Express {
		return reasonExpress
	}
	return ""
}

// fail ends a step whose operation failed.
func (p *progress) fail() {
	s, x, planned := p.step, p.resource, p.step.Plan.Get()
	reason := p.reason()
	if s.Action == plan.Update && p.state.Progress.ErrorCode == "NotUpdatable" && !p.state.Progress.Own {
		denied := planned.Denied[plan.Replace]
		if denied == "" {
			p.again(s, plan.Replace, "")
			return
		}
		reason = denied
	}
	switch s.Action {
	case plan.Create:
		if p.state.Progress.Model != nil {
			x.Model = store.JSONOf(p.state.Progress.Model) // the deletion needs what it says
		}
	case plan.Import:
		x.PhysicalID = ""
	case plan.Update:
		p.attempted()
	}
	if (s.Action == plan.Update || s.Action == plan.Revert) && p.forced() {
		return
	}
	p.turn(s, fails, reason)
	p.leftover()
	if s.Action == plan.Create && planned.Forced && x.PhysicalID == "" {
		p.drop(x) // the stack does without it
		p.done(s)
	}
}

// forced ends a step of a rollback that ignores failures: the resource counts as rolled back.
func (p *progress) forced() bool {
	if !p.step.Plan.Get().Forced {
		return false
	}
	old := p.step.Pending.Get()
	p.leftover()
	if old.PhysicalID == "" || old.Gone { // of an update, or of what cannot be created again
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
	return p.step.Plan.Get().Express && p.step.Pending.Get().Signals == nil
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
	if !p.creates() && s.Action != plan.Update || s.Action == plan.Create || s.PhysicalID == "" || s.PhysicalID == x.PhysicalID {
		return
	}
	made := s.Pending.Get()
	made.PhysicalID, made.Model = s.PhysicalID, store.JSONOf(p.state.Progress.Model)
	p.discard(s.LogicalID, made, "")
}

// reason is that of a failed operation.
func (p *progress) reason() string {
	report := p.state.Progress
	if report.Own {
		return report.Message
	}
	return fmt.Sprintf(`Resource handler returned message: "%s" (RequestToken: %s, HandlerErrorCode: %s)`, report.Message, p.state.Request.Token, report.ErrorCode)
}

// noteStopped notes the state of a resource whose step was cancelled. gone means that a deletion succeeded.
func (p *progress) noteStopped(ended, gone bool) {
	s, x, report := p.step, p.resource, p.state.Progress
	if report.Identifier != "" {
		s.PhysicalID = report.Identifier
	}
	if !ended {
		return
	}
	p.setState(s, plan.StepStopped)
	switch s.Action {
	case plan.Create:
		x.PhysicalID = s.PhysicalID
		if report.Model != nil {
			x.Model = store.JSONOf(report.Model)
		}
	case plan.Update:
		p.attempted()
	case plan.Remake, plan.Unmake:
		if gone {
			p.noteRemoved()
		}
	default:
		p.leftover()
	}
}

// noteRemoved notes that a resource was deleted before another one takes its place: its successor or, in a rollback, its
// predecessor, which is created again.
func (p *progress) noteRemoved() {
	p.turn(p.step, removed, "")
	if p.step.Action == plan.Unmake {
		p.resource.PhysicalID, p.resource.Model = "", object{}
		return
	}
	p.resource.setBefore(func(before *snapshot) { before.Gone = true })
}
