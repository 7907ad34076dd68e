package console

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/refactor"
	"github.com/formwork-dev/formwork/internal/registry"
	"github.com/formwork-dev/formwork/internal/schema"
	"github.com/formwork-dev/formwork/internal/stack"
)

// A Registry is what the pages show and what their forms change; *registry.Registry is one.
// Queries have Go types, what changes something has the shapes and the rules of the AWS API; a
// refusal is an *awswire.Error, whose message is shown.
type Registry interface {
	// Types lists types in the order of their keys, at most query.Limit of them.
	Types(ctx context.Context, caller awswire.Caller, query registry.TypeQuery) ([]registry.TypeState, error)

	// TypeVersions lists all versions of a private type, the newest first.
	TypeVersions(ctx context.Context, caller awswire.Caller, kind schema.Kind, typeName string) ([]registry.VersionState, error)

	DescribeType(context.Context, awswire.Caller, *cloudformation.DescribeTypeInput) (*cloudformation.DescribeTypeOutput, error)

	// Registrations lists registrations, the newest first, at most query.Limit of them.
	Registrations(context.Context, awswire.Caller, registry.RegistrationQuery) ([]registry.Registration, error)

	BatchDescribeTypeConfigurations(context.Context, awswire.Caller, *cloudformation.BatchDescribeTypeConfigurationsInput) (*cloudformation.BatchDescribeTypeConfigurationsOutput, error)

	SetTypeDefaultVersion(context.Context, awswire.Caller, *cloudformation.SetTypeDefaultVersionInput) (*cloudformation.SetTypeDefaultVersionOutput, error)
	DeregisterType(context.Context, awswire.Caller, *cloudformation.DeregisterTypeInput) (*cloudformation.DeregisterTypeOutput, error)
	TestType(context.Context, awswire.Caller, *cloudformation.TestTypeInput) (*cloudformation.TestTypeOutput, error)

	ActivateType(context.Context, awswire.Caller, *cloudformation.ActivateTypeInput) (*cloudformation.ActivateTypeOutput, error)
	DeactivateType(context.Context, awswire.Caller, *cloudformation.DeactivateTypeInput) (*cloudformation.DeactivateTypeOutput, error)

	// TestRuns lists runs, the newest first, at most query.Limit of them.
	TestRuns(ctx context.Context, caller awswire.Caller, query registry.TestQuery) ([]registry.TestRun, error)

	// TestReport is the report of a run as contract.WriteJSON writes it. It is nil during the
	// run, and if the run ended without one.
	TestReport(ctx context.Context, caller awswire.Caller, id string) ([]byte, error)

	// Subscribe sends changes until ctx is done, then closes the channel. Some may be
	// missing; those made by other servers are.
	Subscribe(ctx context.Context) <-chan registry.Change
}

// Stacks reads stacks, without their secrets, executes and deletes their change sets and detects
// their drift; *stack.Engine does.
type Stacks interface {
	// Stacks lists stacks, the newest first, at most query.Limit of them.
	Stacks(ctx context.Context, query stack.Query) ([]stack.Summary, error)

	// Stack is the stack that a place has under a name or ARN.
	Stack(ctx context.Context, place awswire.Place, name string) (*stack.StackState, error)

	// Events lists events of a stack, the newest first, at most query.Limit of them.
	Events(ctx context.Context, query stack.EventQuery) ([]stack.EventState, error)

	// Timeline is an operation on a stack, the latest one for the id ""; nil for none.
	Timeline(ctx context.Context, place awswire.Place, name, operationID string) (*stack.Timeline, error)

	// Failures are why the latest operation on a stack failed, and its rollback if that failed, too.
	Failures(ctx context.Context, place awswire.Place, name string) ([]stack.Failure, error)

	// LatestOperations lists operations on all stacks, the latest first.
	LatestOperations(ctx context.Context, place awswire.Place, limit int) ([]stack.StackOperation, error)

	// Source is the template of a stack, or of an operation on it.
	Source(ctx context.Context, place awswire.Place, name, operationID string, processed bool) (*stack.Source, error)

	// ChangeSets lists the change sets of a stack that were not executed, the newest first, at
	// most limit of them, without their changes.
	ChangeSets(ctx context.Context, place awswire.Place, stack string, limit int) ([]stack.ChangeSetState, error)

	// ChangeSet is a change set of a stack, by its name or ARN.
	ChangeSet(ctx context.Context, place awswire.Place, stack, name string) (*stack.ChangeSetState, error)

	CreateChangeSet(context.Context, awswire.Caller, *cloudformation.CreateChangeSetInput) (*cloudformation.CreateChangeSetOutput, error)
	GetTemplateSummary(context.Context, awswire.Caller, *cloudformation.GetTemplateSummaryInput) (*cloudformation.GetTemplateSummaryOutput, error)
	CancelUpdateStack(context.Context, awswire.Caller, *cloudformation.CancelUpdateStackInput) (*cloudformation.CancelUpdateStackOutput, error)
	ContinueUpdateRollback(context.Context, awswire.Caller, *cloudformation.ContinueUpdateRollbackInput) (*cloudformation.ContinueUpdateRollbackOutput, error)
	RollbackStack(context.Context, awswire.Caller, *cloudformation.RollbackStackInput) (*cloudformation.RollbackStackOutput, error)
	DeleteStack(context.Context, awswire.Caller, *cloudformation.DeleteStackInput) (*cloudformation.DeleteStackOutput, error)

	ExecuteChangeSet(context.Context, awswire.Caller, *cloudformation.ExecuteChangeSetInput) (*cloudformation.ExecuteChangeSetOutput, error)
	DeleteChangeSet(context.Context, awswire.Caller, *cloudformation.DeleteChangeSetInput) (*cloudformation.DeleteChangeSetOutput, error)

	// Drift is what drift detections found of a stack.
	Drift(ctx context.Context, place awswire.Place, name string) (*stack.DriftState, error)

	DetectStackDrift(context.Context, awswire.Caller, *cloudformation.DetectStackDriftInput) (*cloudformation.DetectStackDriftOutput, error)

	// ListMark and StackMark change when the list of a place or one of its stacks does.
	ListMark(ctx context.Context, place awswire.Place) (stack.Mark, error)
	StackMark(ctx context.Context, place awswire.Place, name string) (stack.Mark, error)
}

// Refactors lists and executes stack refactors; *refactor.Engine does.
type Refactors interface {
	// Refactors lists the refactors that a stack is part of, the newest first, at most limit of them.
	Refactors(ctx context.Context, place awswire.Place, stack string, limit int) ([]refactor.State, error)

	ExecuteStackRefactor(context.Context, awswire.Caller, *cloudformation.ExecuteStackRefactorInput) (*cloudformation.ExecuteStackRefactorOutput, error)

	// Mark changes when a refactor of a stack does.
	Mark(ctx context.Context, place awswire.Place, stack string) (int64, error)
}
