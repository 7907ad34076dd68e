package plan

import "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

// A Phase of an operation has a step for each resource that it may concern; the steps run in the order of their
// dependencies.
type Phase string

// The phases of operations.
const (
	PhaseValidate        Phase = "validate"
	PhaseMain            Phase = "main"
	PhaseCleanup         Phase = "cleanup"
	PhaseRollback        Phase = "rollback"
	PhaseRollbackCleanup Phase = "rollback-cleanup"
	PhaseDelete          Phase = "delete"
	PhaseEnd             Phase = ""

	// Before anything else, an operation waits for the hooks on its stack.
	PhaseHooks  Phase = "hooks"
	PhaseHooked Phase = "hooked"

	// PhaseStopping is where the steps are that were cancelled and still run. The steps of
	// the next phase on the same resources wait for them.
	PhaseStopping Phase = "stopping"
)

// First is the phase that an operation begins with. A rollback that deploys what a nested stack had before is backward.
func First(kind types.OperationType, backward bool) Phase {
	switch {
	case kind == types.OperationTypeDeleteStack:
		return PhaseDelete
	case (kind == types.OperationTypeRollback || kind == types.OperationTypeContinueRollback) && !backward:
		return PhaseRollback
	}
	return PhaseMain
}

// An Outcome is how a phase ended.
type Outcome string

// The outcomes of phases.
const (
	Succeeded Outcome = "succeeded"
	Failed    Outcome = "failed"
	Preserved Outcome = "preserved" // failed, and rollback is disabled
	Deleting  Outcome = "deleting"  // failed, and the stack is to be deleted
)

// A Transition is what follows when a phase ends.
type Transition struct {
	Next   Phase
	Status types.StackStatus
	Ended  types.BeaconStackOperationStatus // of an operation that is over
}

type transitionKey struct {
	kind    types.OperationType
	phase   Phase
	outcome Outcome
}

// ImportOperation is an operation that executes a change set of the type IMPORT. The API has no
// type for it: it shows as an update.
const ImportOperation types.OperationType = "IMPORT"

// The ends of operations.
const (
	succeeded = types.BeaconStackOperationStatusSucceeded
	failed    = types.BeaconStackOperationStatusFailed
)

// transitions are those of all operations but rollbacks.
var transitions = map[transitionKey]Transition{
	{types.OperationTypeCreateStack, PhaseMain, Succeeded}: {PhaseEnd, types.StackStatusCreateComplete, succeeded},
	{types.OperationTypeCreateStack, PhaseMain, Failed}:    {PhaseRollback, types.StackStatusRollbackInProgress, failed},
	{types.OperationTypeCreateStack, PhaseMain, Preserved}: {PhaseEnd, types.StackStatusCreateFailed, failed},
	{types.OperationTypeCreateStack, PhaseMain, Deleting}:  {PhaseDelete, types.StackStatusDeleteInProgress, failed},

	{types.OperationTypeUpdateStack, PhaseMain, Succeeded}:    {PhaseCleanup, types.StackStatusUpdateCompleteCleanupInProgress, ""},
	{types.OperationTypeUpdateStack, PhaseMain, Failed}:       {PhaseRollback, types.StackStatusUpdateRollbackInProgress, failed},
	{types.OperationTypeUpdateStack, PhaseMain, Preserved}:    {PhaseEnd, types.StackStatusUpdateFailed, failed},
	{types.OperationTypeUpdateStack, PhaseCleanup, Succeeded}: {PhaseEnd, types.StackStatusUpdateComplete, succeeded},
	{types.OperationTypeUpdateStack, PhaseCleanup, Failed}:    {PhaseEnd, types.StackStatusUpdateComplete, succeeded},

	{ImportOperation, PhaseMain, Succeeded}: {PhaseEnd, types.StackStatusImportComplete, succeeded},
	{ImportOperation, PhaseMain, Failed}:    {PhaseRollback, types.StackStatusImportRollbackInProgress, failed},

	{types.OperationTypeDeleteStack, PhaseDelete, Succeeded}: {PhaseEnd, types.StackStatusDeleteComplete, succeeded},
	{types.OperationTypeDeleteStack, PhaseDelete, Failed}:    {PhaseEnd, types.StackStatusDeleteFailed, failed},
}

// rollbacks are the transitions of rollbacks, by the status of the stack, which determines the
// state that they restore.
var rollbacks = map[types.StackStatus]map[transitionKey]Transition{
	types.StackStatusRollbackInProgress: {
		{phase: PhaseRollback, outcome: Succeeded}: {PhaseEnd, types.StackStatusRollbackComplete, succeeded},
		{phase: PhaseRollback, outcome: Failed}:    {PhaseEnd, types.StackStatusRollbackFailed, failed},
	},
	types.StackStatusUpdateRollbackInProgress: {
		{phase: PhaseRollback, outcome: Succeeded}: {PhaseRollbackCleanup, types.StackStatusUpdateRollbackCompleteCleanupInProgress, ""},
		{phase: PhaseRollback, outcome: Failed}:    {PhaseEnd, types.StackStatusUpdateRollbackFailed, failed},
		{phase: PhaseMain, outcome: Succeeded}:     {PhaseCleanup, types.StackStatusUpdateRollbackCompleteCleanupInProgress, ""}, // see [Request.Backward]
		{phase: PhaseMain, outcome: Failed}:        {PhaseEnd, types.StackStatusUpdateRollbackFailed, failed},
	},
	types.StackStatusUpdateRollbackCompleteCleanupInProgress: {
		{phase: PhaseRollbackCleanup, outcome: Succeeded}: {PhaseEnd, types.StackStatusUpdateRollbackComplete, succeeded},
		{phase: PhaseRollbackCleanup, outcome: Failed}:    {PhaseEnd, types.StackStatusUpdateRollbackComplete, succeeded},
		{phase: PhaseCleanup, outcome: Succeeded}:         {PhaseEnd, types.StackStatusUpdateRollbackComplete, succeeded},
		{phase: PhaseCleanup, outcome: Failed}:            {PhaseEnd, types.StackStatusUpdateRollbackComplete, succeeded},
	},
	types.StackStatusImportRollbackInProgress: {
		{phase: PhaseRollback, outcome: Succeeded}: {PhaseEnd, types.StackStatusImportRollbackComplete, succeeded},
		{phase: PhaseRollback, outcome: Failed}:    {PhaseEnd, types.StackStatusImportRollbackFailed, failed},
	},
}

// Following returns what follows a phase that ended.
func Following(kind types.OperationType, status types.StackStatus, at Phase, how Outcome) (Transition, bool) {
	if table, ok := rollbacks[status]; ok {
		t, ok := table[transitionKey{phase: at, outcome: how}]
		return t, ok
	}
	t, ok := transitions[transitionKey{kind, at, how}]
	return t, ok
}
