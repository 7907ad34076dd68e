package stack

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/running/plan"
)

// A phase is a stage of an operation. A stage has a step for each resource that it may
// concern; the steps run in the order of their dependencies.
type phase string

// The phases of operations.
const (
	phaseValidate        phase = "validate"
	phaseMain            phase = "main"
	phaseCleanup         phase = "cleanup"
	phaseRollback        phase = "rollback"
	phaseRollbackCleanup phase = "rollback-cleanup"
	phaseDelete          phase = "delete"
	phaseEnd             phase = ""

	// Before anything else, an operation waits for the hooks on its stack.
	phaseHooks  phase = "hooks"
	phaseHooked phase = "hooked"

	// phaseStopping is where the steps are that were cancelled and still run. The steps of
	// the next stage on the same resources wait for them.
	phaseStopping phase = "stopping"
)

// The actions of steps that become another one, which no plan has. A step that plans say to deploy becomes one of
// those that [plan.Step.Refine] decides.
const (
	actionTag    plan.Action = "tag"    // put the tags of the stack on what was imported
	actionUnmake plan.Action = "unmake" // delete the successor of a resource that is gone, then revert
	actionSignal plan.Action = "signal" // wait for signals after the create
)

// A stepState is how far a step is.
type stepState string

// The states of steps.
const (
	stepWaiting    stepState = "waiting"
	stepRunning    stepState = "running"
	stepConfigured stepState = "configured" // dependents may start
	stepDone       stepState = "done"
	stepFailed     stepState = "failed"
	stepCancelled  stepState = "cancelled" // its operation continues, its result is ignored
	stepStopped    stepState = "stopped"   // cancelled, and its operation ended
	stepSkipped    stepState = "skipped"   // never started, since something before it failed
)

// active reports whether the operation of a step still runs.
func (s stepState) active() bool {
	return s == stepRunning || s == stepConfigured || s == stepCancelled
}

// opens reports whether the steps after it may start.
func (s stepState) opens() bool {
	return s == stepConfigured || s == stepDone || s == stepStopped
}

// A node is a step as the machine sees it.
type node struct {
	Key   string
	After []string
	State stepState
}

// A verdict is what to do next in a stage.
type verdict struct {
	Start  []string // steps whose dependencies are done, in the order of the nodes
	Cancel []string // steps that run and are to be cancelled
	Skip   []string // steps that never run

	Ended  bool
	Failed []string // of an ended stage
}

// A brake is how a stage continues.
type brake int

const (
	keepOn   brake = iota // everything that does not depend on a failed step runs to its end
	halt                  // the first failure ends the stage: what runs is cancelled
	halted                // the same without a failure
	stopping              // nothing new starts, what runs ends
)

// decide looks at a stage.
func decide(nodes []node, b brake) verdict {
	var v verdict
	state := make(map[string]stepState, len(nodes))
	active := false
	for _, n := range nodes {
		state[n.Key] = n.State
		active = active || n.State.active()
		if n.State == stepFailed {
			v.Failed = append(v.Failed, n.Key)
		}
	}
	if b == halted || b == halt && len(v.Failed) > 0 {
		for _, n := range nodes {
			switch n.State {
			case stepRunning, stepConfigured:
				v.Cancel = append(v.Cancel, n.Key)
			case stepWaiting:
				v.Skip = append(v.Skip, n.Key)
			}
		}
		v.Ended = true
		return v
	}
	for _, n := range nodes {
		if n.State == stepWaiting && b != stopping && ready(n, state) {
			v.Start = append(v.Start, n.Key)
		}
	}
	if len(v.Start) > 0 || active {
		return v
	}
	for _, n := range nodes {
		if n.State == stepWaiting {
			v.Skip = append(v.Skip, n.Key)
		}
	}
	v.Ended = true
	return v
}

// ready reports whether a step may start. A dependency that is not a step of the stage is
// done.
func ready(n node, state map[string]stepState) bool {
	for _, before := range n.After {
		if s, ok := state[before]; ok && !s.opens() {
			return false
		}
	}
	return true
}

// An outcome is how a stage ended.
type outcome string

// The outcomes of stages.
const (
	succeeded outcome = "succeeded"
	failed    outcome = "failed"
	preserved outcome = "preserved" // failed, and rollback is disabled
	deleting  outcome = "deleting"  // failed, and the stack is to be deleted
	invalid   outcome = "invalid"   // refused before anything was touched
)

// A transition is the next stage of an operation when a stage ends.
type transition struct {
	next   phase
	status types.StackStatus
	ended  types.BeaconStackOperationStatus // of an operation that is over
}

type transitionKey struct {
	kind    types.OperationType
	phase   phase
	outcome outcome
}

const (
	opSucceeded = types.BeaconStackOperationStatusSucceeded
	opFailed    = types.BeaconStackOperationStatusFailed
	opRunning   = types.BeaconStackOperationStatusInProgress
)

// opImport is an operation that executes a change set of the type IMPORT. The API has no
// type for it: it shows as an update.
const opImport types.OperationType = "IMPORT"

// shownKind is the type that the API has for an operation.
func (op *operationRow) shownKind() types.OperationType {
	if op.Kind == opImport {
		return types.OperationTypeUpdateStack
	}
	return op.Kind
}

// transitions are those of all operations but rollbacks.
var transitions = map[transitionKey]transition{
	{types.OperationTypeCreateStack, phaseMain, succeeded}: {phaseEnd, types.StackStatusCreateComplete, opSucceeded},
	{types.OperationTypeCreateStack, phaseMain, failed}:    {phaseRollback, types.StackStatusRollbackInProgress, opFailed},
	{types.OperationTypeCreateStack, phaseMain, preserved}: {phaseEnd, types.StackStatusCreateFailed, opFailed},
	{types.OperationTypeCreateStack, phaseMain, deleting}:  {phaseDelete, types.StackStatusDeleteInProgress, opFailed},
	{types.OperationTypeCreateStack, phaseMain, invalid}:   {phaseEnd, types.StackStatusCreateFailed, opFailed},

	{types.OperationTypeUpdateStack, phaseMain, succeeded}:    {phaseCleanup, types.StackStatusUpdateCompleteCleanupInProgress, ""},
	{types.OperationTypeUpdateStack, phaseMain, failed}:       {phaseRollback, types.StackStatusUpdateRollbackInProgress, opFailed},
	{types.OperationTypeUpdateStack, phaseMain, preserved}:    {phaseEnd, types.StackStatusUpdateFailed, opFailed},
	{types.OperationTypeUpdateStack, phaseMain, invalid}:      {phaseEnd, types.StackStatusUpdateFailed, opFailed},
	{types.OperationTypeUpdateStack, phaseCleanup, succeeded}: {phaseEnd, types.StackStatusUpdateComplete, opSucceeded},
	{types.OperationTypeUpdateStack, phaseCleanup, failed}:    {phaseEnd, types.StackStatusUpdateComplete, opSucceeded},

	{opImport, phaseMain, succeeded}: {phaseEnd, types.StackStatusImportComplete, opSucceeded},
	{opImport, phaseMain, failed}:    {phaseRollback, types.StackStatusImportRollbackInProgress, opFailed},

	{types.OperationTypeDeleteStack, phaseDelete, succeeded}: {phaseEnd, types.StackStatusDeleteComplete, opSucceeded},
	{types.OperationTypeDeleteStack, phaseDelete, failed}:    {phaseEnd, types.StackStatusDeleteFailed, opFailed},
}

// rollbacks are the transitions of rollbacks, by the status of the stack, which determines the
// state that they restore.
var rollbacks = map[types.StackStatus]map[transitionKey]transition{
	types.StackStatusRollbackInProgress: {
		{phase: phaseRollback, outcome: succeeded}: {phaseEnd, types.StackStatusRollbackComplete, opSucceeded},
		{phase: phaseRollback, outcome: failed}:    {phaseEnd, types.StackStatusRollbackFailed, opFailed},
	},
	types.StackStatusUpdateRollbackInProgress: {
		{phase: phaseRollback, outcome: succeeded}: {phaseRollbackCleanup, types.StackStatusUpdateRollbackCompleteCleanupInProgress, ""},
		{phase: phaseRollback, outcome: failed}:    {phaseEnd, types.StackStatusUpdateRollbackFailed, opFailed},
		{phase: phaseMain, outcome: succeeded}:     {phaseCleanup, types.StackStatusUpdateRollbackCompleteCleanupInProgress, ""}, // see operationOptions.Backward
		{phase: phaseMain, outcome: failed}:        {phaseEnd, types.StackStatusUpdateRollbackFailed, opFailed},
	},
	types.StackStatusUpdateRollbackCompleteCleanupInProgress: {
		{phase: phaseRollbackCleanup, outcome: succeeded}: {phaseEnd, types.StackStatusUpdateRollbackComplete, opSucceeded},
		{phase: phaseRollbackCleanup, outcome: failed}:    {phaseEnd, types.StackStatusUpdateRollbackComplete, opSucceeded},
		{phase: phaseCleanup, outcome: succeeded}:         {phaseEnd, types.StackStatusUpdateRollbackComplete, opSucceeded},
		{phase: phaseCleanup, outcome: failed}:            {phaseEnd, types.StackStatusUpdateRollbackComplete, opSucceeded},
	},
	types.StackStatusImportRollbackInProgress: {
		{phase: phaseRollback, outcome: succeeded}: {phaseEnd, types.StackStatusImportRollbackComplete, opSucceeded},
		{phase: phaseRollback, outcome: failed}:    {phaseEnd, types.StackStatusImportRollbackFailed, opFailed},
	},
}

// following returns the transition of an operation whose stage ended.
func following(kind types.OperationType, status types.StackStatus, at phase, how outcome) (transition, bool) {
	if table, ok := rollbacks[status]; ok {
		t, ok := table[transitionKey{phase: at, outcome: how}]
		return t, ok
	}
	t, ok := transitions[transitionKey{kind, at, how}]
	return t, ok
}

// inProgress are the statuses in which no other operation may start.
func inProgress(status types.StackStatus) bool {
	return slices.Contains([]types.StackStatus{
		types.StackStatusCreateInProgress, types.StackStatusRollbackInProgress, types.StackStatusDeleteInProgress,
		types.StackStatusUpdateInProgress, types.StackStatusUpdateCompleteCleanupInProgress,
		types.StackStatusUpdateRollbackInProgress, types.StackStatusUpdateRollbackCompleteCleanupInProgress,
		types.StackStatusImportInProgress, types.StackStatusImportRollbackInProgress,
	}, status)
}
