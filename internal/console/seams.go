package console

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/cloudcontrol"
	"github.com/formwork-dev/formwork/internal/handlers"
	"github.com/formwork-dev/formwork/internal/hook"
	"github.com/formwork-dev/formwork/internal/logs"
	"github.com/formwork-dev/formwork/internal/registry"
	"github.com/formwork-dev/formwork/internal/schema"
	"github.com/formwork-dev/formwork/internal/stack"
	"github.com/formwork-dev/formwork/internal/stackset"
)

// A Registry is what the pages show and what their forms change; *registry.Registry is one.
// Queries have Go types, what changes something has the shapes and the rules of the AWS API; a
// refusal is an *awswire.Error, whose message is shown.
type Registry interface {
	Types
	Registrations
	Configurations
	Versions
	Shelf
	Tests
	Changes
}

// Types reads types and their versions.
type Types interface {
	// Types lists types in the order of their keys, at most query.Limit of them.
	Types(ctx context.Context, caller awswire.Caller, query registry.TypeQuery) ([]registry.TypeState, error)

	// TypeVersions lists all versions of a private type, the newest first.
	TypeVersions(ctx context.Context, caller awswire.Caller, kind schema.Kind, typeName string) ([]registry.VersionState, error)

	DescribeType(context.Context, awswire.Caller, *cloudformation.DescribeTypeInput) (*cloudformation.DescribeTypeOutput, error)
}

// Registrations reads how far registrations have come.
type Registrations interface {
	// Registrations lists registrations, the newest first, at most query.Limit of them.
	Registrations(context.Context, awswire.Caller, registry.RegistrationQuery) ([]registry.Registration, error)
}

// Configurations reads type configurations. Their values are masked before they are shown.
type Configurations interface {
	BatchDescribeTypeConfigurations(context.Context, awswire.Caller, *cloudformation.BatchDescribeTypeConfigurationsInput) (*cloudformation.BatchDescribeTypeConfigurationsOutput, error)
}

// Versions changes private types.
type Versions interface {
	SetTypeDefaultVersion(context.Context, awswire.Caller, *cloudformation.SetTypeDefaultVersionInput) (*cloudformation.SetTypeDefaultVersionOutput, error)
	DeregisterType(context.Context, awswire.Caller, *cloudformation.DeregisterTypeInput) (*cloudformation.DeregisterTypeOutput, error)
	TestType(context.Context, awswire.Caller, *cloudformation.TestTypeInput) (*cloudformation.TestTypeOutput, error)
}

// A Shelf activates and deactivates public types in an account.
type Shelf interface {
	ActivateType(context.Context, awswire.Caller, *cloudformation.ActivateTypeInput) (*cloudformation.ActivateTypeOutput, error)
	DeactivateType(context.Context, awswire.Caller, *cloudformation.DeactivateTypeInput) (*cloudformation.DeactivateTypeOutput, error)
}

// Tests reads the runs of TestType.
type Tests interface {
	// TestRuns lists runs, the newest first, at most query.Limit of them.
	TestRuns(ctx context.Context, caller awswire.Caller, query registry.TestQuery) ([]registry.TestRun, error)

	// TestReport is the report of a run as contract.WriteJSON writes it. It is nil during the
	// run, and if the run ended without one.
	TestReport(ctx context.Context, caller awswire.Caller, id string) ([]byte, error)
}

// Changes reports when to look again.
type Changes interface {
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

	// Source is the template of a stack.
	Source(ctx context.Context, place awswire.Place, name string, processed bool) (*stack.Source, error)

	// ChangeSets lists the change sets of a stack that were not executed, the newest first, at
	// most limit of them, without their changes.
	ChangeSets(ctx context.Context, place awswire.Place, stack string, limit int) ([]stack.ChangeSetState, error)

	// ChangeSet is a change set of a stack, by its name or ARN.
	ChangeSet(ctx context.Context, place awswire.Place, stack, name string) (*stack.ChangeSetState, error)

	ExecuteChangeSet(context.Context, awswire.Caller, *cloudformation.ExecuteChangeSetInput) (*cloudformation.ExecuteChangeSetOutput, error)
	DeleteChangeSet(context.Context, awswire.Caller, *cloudformation.DeleteChangeSetInput) (*cloudformation.DeleteChangeSetOutput, error)

	// Refactors lists the refactors that a stack is part of, the newest first, at most limit of them.
	Refactors(ctx context.Context, place awswire.Place, stack string, limit int) ([]stack.RefactorState, error)

	ExecuteStackRefactor(context.Context, awswire.Caller, *cloudformation.ExecuteStackRefactorInput) (*cloudformation.ExecuteStackRefactorOutput, error)

	// Drift is what drift detections found of a stack.
	Drift(ctx context.Context, place awswire.Place, name string) (*stack.DriftState, error)

	DetectStackDrift(context.Context, awswire.Caller, *cloudformation.DetectStackDriftInput) (*cloudformation.DetectStackDriftOutput, error)

	// ListMark and StackMark change when the list of a place or one of its stacks does.
	ListMark(ctx context.Context, place awswire.Place) (stack.Mark, error)
	StackMark(ctx context.Context, place awswire.Place, name string) (stack.Mark, error)
}

// Hooks reads the results of hooks; *hook.Engine does.
type Hooks interface {
	// Results lists results, the newest first, at most query.Limit of them.
	Results(ctx context.Context, query hook.Query) ([]hook.Result, error)
}

// StackSets reads stack sets; *stackset.Engine does.
type StackSets interface {
	// Sets lists sets, by name, at most query.Limit of them.
	Sets(ctx context.Context, query stackset.Query) ([]stackset.Summary, error)

	// Set is a set by its name or id, with its instances and operations.
	Set(ctx context.Context, place awswire.Place, name string) (*stackset.State, error)

	// Mark changes whenever a set of a place, or an operation on one, does.
	Mark(ctx context.Context, place awswire.Place) (int64, error)
}

// Requests reads the requests of Cloud Control; *cloudcontrol.Engine does.
type Requests interface {
	// Requests lists requests, the newest first, at most query.Limit of them.
	Requests(ctx context.Context, query cloudcontrol.RequestQuery) ([]cloudcontrol.RequestState, error)

	// Mark changes whenever a request of a place does.
	Mark(ctx context.Context, place awswire.Place) (int64, error)
}

// Places knows where there is something to look at.
type Places interface {
	// Places lists the accounts and regions that hold something, in any order.
	Places(context.Context) ([]awswire.Place, error)
}

// Calls reads the calls of handlers, secrets already hidden; implemented by *handlers.Pool.
type Calls interface {
	// Invocations lists calls, the latest first, without their requests and replies.
	Invocations(ctx context.Context, query handlers.InvocationQuery) ([]handlers.Invocation, error)

	// Invocation is one call with all of it; nil for one that is not kept, or not any more.
	Invocation(ctx context.Context, place awswire.Place, id string) (*handlers.Invocation, error)
}

// Logs reads what handlers wrote, secrets already hidden. *logs.Service does.
type Logs interface {
	// Groups names the log groups of a place, sorted.
	Groups(ctx context.Context, place awswire.Place) ([]string, error)

	// Lines reads a group, oldest line first. With an empty after it returns the last
	// lines, else those that follow the line whose ID is after; at most limit of either.
	// A group that does not exist has no lines. An ID that is not known any more is as
	// good as empty.
	Lines(ctx context.Context, place awswire.Place, group, after string, limit int) ([]LogLine, error)

	// StreamLines reads one stream of a group: its first lines since a time, at most limit
	// of them. What does not exist has no lines.
	StreamLines(ctx context.Context, place awswire.Place, group, stream string, since time.Time, limit int) ([]LogLine, error)
}

// A LogLine is one line of a log group. Its text is of any length and any content.
type LogLine = logs.Event
