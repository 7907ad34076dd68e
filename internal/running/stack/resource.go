package stack

import (
	"cmp"
	"context"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// A machine moves the steps of an operation and their resources in one transaction: those that the
// stack starts and ends (run), and those about which an operation on a resource reports (progress).
// It has the rows as they are and as they were read, and writes the difference. What a step can do to
// its resource is in the table turns; only [machine.turn] changes a status, with the event of that.
type machine struct {
	engine *Engine
	op     *operationRow
	now    store.Time

	steps     map[string]*stepRow // by key
	order     []string            // keys of steps
	resources map[string]*resourceRow
	cleanup   map[string]*cleanupRow
	events    []eventRow
	read      readRows

	provisioned map[string]plan.Resource // see known
}

// readRows are rows as the database has them.
type readRows struct {
	steps     map[string]stepRow // by id
	resources map[string]resourceRow
	cleanup   map[string]cleanupRow
}

func newMachine(e *Engine, op *operationRow, now store.Time) machine {
	return machine{
		engine: e, op: op, now: now, steps: map[string]*stepRow{}, resources: map[string]*resourceRow{}, cleanup: map[string]*cleanupRow{},
		read: readRows{map[string]stepRow{}, map[string]resourceRow{}, map[string]cleanupRow{}},
	}
}

// addStep adds a step to those of the operation.
func (m *machine) addStep(s *stepRow) {
	key := s.key()
	if _, known := m.steps[key]; !known {
		m.order = append(m.order, key)
	}
	m.steps[key] = s
}

// gotStep, gotResource and gotCleanup take rows that were read.
func (m *machine) gotStep(s *stepRow) {
	m.addStep(s)
	m.read.steps[s.ID] = *s
}

func (m *machine) gotResource(x *resourceRow) {
	m.resources[x.LogicalID], m.read.resources[x.LogicalID] = x, *x
	m.refresh(x.LogicalID)
}

func (m *machine) gotCleanup(c *cleanupRow) {
	m.cleanup[c.ID], m.read.cleanup[c.ID] = c, *c
}

// statuses are those of a resource to which the same is done.
type statuses struct{ begun, complete, failed, skipped types.ResourceStatus }

var (
	creates = &statuses{types.ResourceStatusCreateInProgress, types.ResourceStatusCreateComplete, types.ResourceStatusCreateFailed, ""}
	updates = &statuses{types.ResourceStatusUpdateInProgress, types.ResourceStatusUpdateComplete, types.ResourceStatusUpdateFailed, ""}
	deletes = &statuses{
		types.ResourceStatusDeleteInProgress, types.ResourceStatusDeleteComplete, types.ResourceStatusDeleteFailed, types.ResourceStatusDeleteSkipped,
	}
	imports  = &statuses{types.ResourceStatusImportInProgress, types.ResourceStatusImportComplete, types.ResourceStatusImportFailed, ""}
	releases = &statuses{types.ResourceStatusImportRollbackInProgress, types.ResourceStatusImportRollbackComplete, types.ResourceStatusImportRollbackFailed, ""}
)

// statusesOf are the statuses that a step moves its resource through.
func statusesOf(s *stepRow, x *resourceRow) *statuses {
	switch s.Action {
	case plan.Create:
		return creates
	case plan.Delete, plan.Retain:
		return deletes
	case plan.Import:
		return imports
	case plan.Release:
		return releases
	case plan.Deploy: // nothing is decided yet
		if !x.exists() {
			return creates
		}
	case plan.Signal:
		if x.fresh() {
			return creates
		}
	}
	return updates
}

// A turn is what happens to a step and its resource.
type turn string

// The turns.
const (
	begins     turn = "begins"
	reports    turn = "reports"    // something about the resource is known, or happens next
	configured turn = "configured" // what depends on the resource may start
	succeeds   turn = "succeeds"
	fails      turn = "fails" // also before anything was called
	cancelled  turn = "cancelled"
	retains    turn = "retains" // the resource is not deleted
	removes    turn = "removes" // the resource begins to be deleted before another one takes its place
	removed    turn = "removed"
	hooked     turn = "hooked" // a hook has a result
)

// An effect is what a turn changes, and its event.
type effect struct {
	status   func(of *statuses) types.ResourceStatus // nil: the status and the reason of the resource stay
	reason   bool                                    // the resource has the reason of the event
	state    plan.State                              // "": that of the step stays
	shown    types.ResourceStatus                    // of the event, "": that of the resource
	detailed types.DetailedStatus                    // of the event
	random   bool                                    // the event has a random id, and no properties
}

var turns = map[turn]effect{
	begins:     {status: func(of *statuses) types.ResourceStatus { return of.begun }, reason: true, state: plan.StepRunning},
	reports:    {reason: true},
	configured: {state: plan.StepConfigured, detailed: types.DetailedStatusConfigurationComplete, random: true},
	succeeds:   {status: func(of *statuses) types.ResourceStatus { return of.complete }, reason: true, state: plan.StepDone},
	fails:      {status: func(of *statuses) types.ResourceStatus { return of.failed }, reason: true, state: plan.StepFailed},
	cancelled:  {status: func(of *statuses) types.ResourceStatus { return of.failed }, reason: true, state: plan.StepCancelled},
	retains:    {status: func(of *statuses) types.ResourceStatus { return of.skipped }, reason: true, state: plan.StepDone},
	removes:    {shown: types.ResourceStatusDeleteInProgress, random: true},
	removed:    {shown: types.ResourceStatusDeleteComplete, random: true},
	hooked:     {random: true},
}

// turn moves a step and its resource, and appends the event.
func (m *machine) turn(s *stepRow, how turn, reason string) {
	m.turnHooked(s, how, reason, store.JSON[eventDetails]{})
}

// turnHooked is turn with the details of a hook.
func (m *machine) turnHooked(s *stepRow, how turn, reason string, details store.JSON[eventDetails]) {
	e, c, x := turns[how], m.cleanup[s.CleanupID], m.resources[s.LogicalID]
	row := newEvent(m.op, m.now)
	row.LogicalID, row.Reason, row.DetailedStatus, row.Details = s.LogicalID, reason, e.detailed, details
	if c != nil {
		if e.status != nil {
			c.Status, c.Reason, c.UpdatedAt = e.status(deletes), reason, m.now
		}
		row.Type, row.PhysicalID, row.Status = c.Type, c.PhysicalID, string(c.Status)
	} else {
		if e.status != nil {
			x.Status = e.status(statusesOf(s, x))
		}
		if e.reason {
			x.Reason = reason
		}
		row.Type, row.PhysicalID, row.Status = x.Type, cmp.Or(s.PhysicalID, x.PhysicalID), string(cmp.Or(e.shown, x.Status))
		m.refresh(x.LogicalID)
	}
	if e.random || c != nil {
		row.ID = s.LogicalID + "-" + m.engine.newID()
	} else {
		row.ID, row.Properties = resourceEventID(row), s.Properties
	}
	m.events = append(m.events, row)
	m.setState(s, cmp.Or(e.state, s.State))
	if how == fails {
		s.Reason = reason
	}
}

// setState moves a step without an event.
func (m *machine) setState(s *stepRow, state plan.State) {
	s.State, s.EndedAt = state, store.Time{}
	if state == plan.StepDone || state == plan.StepFailed || state == plan.StepStopped {
		s.EndedAt = m.now
	}
}

// done ends a step without an event.
func (m *machine) done(s *stepRow) { m.setState(s, plan.StepDone) }

// again has a step wait to do something else with its resource.
func (m *machine) again(s *stepRow, what plan.Action, reason string) {
	s.Action, s.Reason, s.CallID, s.PhysicalID = what, reason, "", ""
	m.setState(s, plan.StepWaiting)
}

// remember keeps the last stable state of a resource that is about to change.
func (m *machine) remember(x *resourceRow) {
	if x.Origin.IsZero() {
		x.Origin = store.JSONOf(origin{Kind: originChanged, Before: x.snapshot()})
	}
}

// discard has a physical resource deleted by the next cleanup.
func (m *machine) discard(logicalID string, old snapshot, policy string) {
	c := &cleanupRow{
		ID: m.engine.newID(), StackID: m.op.StackID, LogicalID: logicalID, Type: old.Type, TypeVersion: old.TypeVersion,
		PhysicalID: old.PhysicalID, Properties: old.Properties, Model: old.Model, DependsOn: old.DependsOn, Policy: policy,
		Module: store.JSONOf(plan.ModuleInfo(old.Metadata.Get())), UpdatedAt: m.now,
	}
	m.cleanup[c.ID] = c
}

// drop removes a resource from the stack.
func (m *machine) drop(x *resourceRow) {
	delete(m.resources, x.LogicalID)
	m.refresh(x.LogicalID)
}

// restore sets a resource to a state.
func (m *machine) restore(x *resourceRow, to snapshot) {
	x.restore(to)
	m.refresh(x.LogicalID)
}

// known are the current states of the resources, for plans. It does not contain resources that
// do not exist yet. It is kept: what changes a resource calls refresh.
func (m *machine) known() map[string]plan.Resource {
	if m.provisioned == nil {
		m.provisioned = make(map[string]plan.Resource, len(m.resources))
		for id := range m.resources {
			m.refresh(id)
		}
	}
	return m.provisioned
}

// refresh has known return a resource as it is now.
func (m *machine) refresh(logicalID string) {
	if m.provisioned == nil {
		return
	}
	if x := m.resources[logicalID]; x != nil && x.PhysicalID != "" {
		m.provisioned[logicalID] = x.resource()
	} else {
		delete(m.provisioned, logicalID)
	}
}

// write writes what changed. The events are written with the last of it.
func (m *machine) write(ctx context.Context, tx *store.Tx) error {
	steps := make(map[string]*stepRow, len(m.steps))
	for _, s := range m.steps {
		steps[s.ID] = s
	}
	if err := store.Save(ctx, tx, m.read.steps, steps); err != nil {
		return err
	}
	for id, x := range m.resources {
		if m.read.resources[id] != *x {
			x.UpdatedAt = m.now
		}
	}
	if err := store.Save(ctx, tx, m.read.resources, m.resources); err != nil {
		return err
	}
	if err := store.Save(ctx, tx, m.read.cleanup, m.cleanup); err != nil {
		return err
	}
	return m.engine.insertEvents(ctx, tx, m.events...)
}
