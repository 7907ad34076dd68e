// Package refactor moves resources between stacks and renames them.
//
// A request stores the templates that the stacks are to have. A wake-up finds out which resource each one of the
// templates is (match.go), and why that cannot be (verify). The execution blocks the stacks, plans once more and moves the
// resources in one transaction ([stack.Engine.Move]); if something has changed since, the stacks stay as they are.
package refactor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Config sets up an Engine. Store, Stacks, Types and Operations must be set.
type Config struct {
	Store      *store.Store
	Stacks     *stack.Engine
	Types      operation.Types
	Operations *operation.Engine

	// Hold is how long responses wait for running work to finish. 0 does not wait.
	Hold time.Duration

	Now   func() time.Time // nil is the clock of the store
	NewID func() string    // nil makes random UUIDs
}

// An Engine carries out stack refactors. Any number of goroutines may use it, and any number of processes on one database.
type Engine struct {
	config Config
	store  *store.Store
	stacks *stack.Engine
}

// New returns the engine over a store. Nothing runs until the store runs Workers. A refactor becomes obsolete only if
// [Engine.Obsolete] is called when an operation on a stack begins.
func New(config Config) *Engine {
	if config.Now == nil {
		config.Now = func() time.Time { return config.Store.Now().Time }
	}
	if config.NewID == nil {
		config.NewID = uuid.NewString
	}
	return &Engine{config: config, store: config.Store, stacks: config.Stacks}
}

// wakeKind is the kind of wake-up that makes and executes refactors.
const wakeKind = "refactor"

// Workers are the workers of the engine, by the kind of wake-up.
func (e *Engine) Workers() map[string]store.Worker {
	return map[string]store.Worker{wakeKind: {Run: e.advance, Fail: e.giveUp}}
}

// maxStacks is how many stacks a refactor has at most.
const maxStacks = 5

// CreateStackRefactor accepts a refactor. A wake-up finds out what it moves, and whether that
// can be moved.
func (e *Engine) CreateStackRefactor(ctx context.Context, caller awswire.Caller, in *cloudformation.CreateStackRefactorInput) (*cloudformation.CreateStackRefactorOutput, error) {
	row := &refactorRow{
		ID: e.config.NewID(), Account: caller.Account, Region: caller.Region, Description: aws.ToString(in.Description),
		Status: types.StackRefactorStatusCreateInProgress, ExecutionStatus: types.StackRefactorExecutionStatusUnavailable,
		CreatedAt: store.At(e.config.Now()), RowVersion: 1,
	}
	stacks, drafts, err := e.requested(ctx, caller, row, in)
	if err != nil {
		return nil, err
	}
	mappings, err := mappingsOf(in.ResourceMappings, stacks)
	if err != nil {
		return nil, err
	}
	row.Mappings = store.JSONOf(mappings)
	err = e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		fresh := *row
		if err := errors.Join(store.Insert(ctx, tx, &fresh), store.Insert(ctx, tx, store.Pointers(stacks)...)); err != nil {
			return fmt.Errorf("write the stack refactor: %w", err)
		}
		for _, d := range drafts {
			if err := e.stacks.InsertDraft(ctx, tx, d); err != nil {
				return err
			}
		}
		return tx.Wake(ctx, wakeKind, row.ID, time.Time{})
	})
	if err != nil {
		return nil, err
	}
	operation.Hold(ctx, e.config.Hold, func(ctx context.Context) (bool, error) {
		r, err := store.Find[refactorRow](ctx, e.store.Read(), "id = ?", row.ID)
		return r == nil || !r.creating(), err
	})
	return &cloudformation.CreateStackRefactorOutput{StackRefactorId: aws.String(row.ID)}, nil
}

// requested are the stacks of a request with the templates that they are to have, which
// are not read yet.
func (e *Engine) requested(ctx context.Context, caller awswire.Caller, row *refactorRow, in *cloudformation.CreateStackRefactorInput) ([]stackRow, []*stack.Draft, error) {
	if len(in.StackDefinitions) == 0 {
		return nil, nil, refuse("none")
	}
	if len(in.StackDefinitions) > maxStacks {
		return nil, nil, refuse("many", len(in.StackDefinitions), maxStacks)
	}
	var stacks []stackRow
	var drafts []*stack.Draft
	for i, definition := range in.StackDefinitions {
		m, fresh, err := e.stacks.MemberNamed(ctx, caller, aws.ToString(definition.StackName), aws.ToBool(in.EnableStackCreation))
		if err != nil {
			return nil, nil, err
		}
		if slices.ContainsFunc(stacks, func(other stackRow) bool { return other.StackID == m.ID || other.Name == m.Name }) {
			return nil, nil, refuse("twice", m.Name)
		}
		text, err := e.stacks.TemplateText(ctx, caller, definition.TemplateBody, definition.TemplateURL)
		if err != nil {
			return nil, nil, err
		}
		d := e.stacks.NewDraft(m, text, row.CreatedAt)
		drafts = append(drafts, d)
		stacks = append(stacks, stackRow{
			RefactorID: row.ID, Position: int64(i), StackID: m.ID, Name: m.Name, ARN: m.ARN, Fresh: fresh, DeploymentID: d.ID,
		})
	}
	return stacks, drafts, nil
}

// mappingsOf are the mappings of a request.
func mappingsOf(in []types.ResourceMapping, stacks []stackRow) ([]mapping, error) {
	position := func(l *types.ResourceLocation) int64 {
		i := slices.IndexFunc(stacks, func(s stackRow) bool {
			return aws.ToString(l.StackName) == s.Name || aws.ToString(l.StackName) == s.ARN
		})
		return int64(i)
	}
	out := []mapping{}
	sources, targets := map[string]bool{}, map[string]bool{}
	for _, m := range in {
		if m.Source == nil || m.Destination == nil {
			return nil, refuse("mapping")
		}
		mapped := mapping{
			From: position(m.Source), Source: aws.ToString(m.Source.LogicalResourceId),
			To: position(m.Destination), Target: aws.ToString(m.Destination.LogicalResourceId),
		}
		if mapped.Source == "" || mapped.Target == "" {
			return nil, refuse("mapping")
		}
		if mapped.To < 0 {
			return nil, refuse("stack", aws.ToString(m.Destination.StackName))
		}
		if mapped.From < 0 {
			mapped.Stack = aws.ToString(m.Source.StackName)
		}
		source, target := fmt.Sprint(mapped.From, mapped.Stack, "/", mapped.Source), fmt.Sprint(mapped.To, "/", mapped.Target)
		if sources[source] || targets[target] {
			return nil, refuse("mapped-twice")
		}
		sources[source], targets[target] = true, true
		out = append(out, mapped)
	}
	return out, nil
}

// ExecuteStackRefactor begins to move the resources of a refactor.
func (e *Engine) ExecuteStackRefactor(ctx context.Context, caller awswire.Caller, in *cloudformation.ExecuteStackRefactorInput) (*cloudformation.ExecuteStackRefactorOutput, error) {
	id := aws.ToString(in.StackRefactorId)
	err := e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := require(ctx, tx, caller, id)
		if err != nil {
			return err
		}
		if row.ExecutionStatus != types.StackRefactorExecutionStatusAvailable {
			return refuse("execution", id, row.ExecutionStatus)
		}
		row.ExecutionStatus = types.StackRefactorExecutionStatusExecuteInProgress
		if err := store.Swap(ctx, tx, row, &row.RowVersion); err != nil {
			return err
		}
		stacks, err := stacksOf(ctx, tx, id)
		if err != nil {
			return err
		}
		for i := range stacks {
			if err := e.begin(ctx, tx, caller, &stacks[i]); err != nil {
				return err
			}
		}
		return tx.Wake(ctx, wakeKind, id, time.Time{})
	})
	if err != nil {
		return nil, err
	}
	operation.Hold(ctx, e.config.Hold, func(ctx context.Context) (bool, error) {
		row, err := store.Find[refactorRow](ctx, e.store.Read(), "id = ?", id)
		return row == nil || !row.executing(), err
	})
	return &cloudformation.ExecuteStackRefactorOutput{}, nil
}

// begin begins the operation on one of the stacks: nothing else can begin until it ends.
func (e *Engine) begin(ctx context.Context, tx *store.Tx, caller awswire.Caller, rs *stackRow) error {
	m, err := e.stacks.Member(ctx, tx, rs.StackID)
	if err != nil {
		return err
	}
	if problem := rs.unfit(m); problem != "" {
		return refuse("state", problem)
	}
	part := rs.part()
	if err := e.stacks.BeginMove(ctx, tx, caller, m, part, rs.RefactorID); err != nil {
		return err
	}
	rs.OperationID = part.OperationID
	if err := store.Update(ctx, tx, rs, "operation_id"); err != nil {
		return fmt.Errorf("write the operation of a refactor: %w", err)
	}
	return nil
}

// unfit says why a stack cannot be refactored as it is, "" if it can.
func (rs *stackRow) unfit(m *stack.Member) string {
	switch {
	case m == nil:
		return fmt.Sprintf("Stack [%s] does not exist", rs.Name)
	case rs.Fresh && m.InReview:
		return ""
	case rs.Fresh || !m.Updatable:
		return rs.problem(reasonState, m.Status)
	case m.HasPolicy:
		return rs.problem(reasonPolicy)
	}
	return ""
}

// problem is a reason that names the stack.
func (rs *stackRow) problem(format string, args ...any) string {
	return rs.ARN + ": " + fmt.Sprintf(format, args...)
}

// Obsolete marks the refactors of a stack that something else begins to change.
func (e *Engine) Obsolete(ctx context.Context, tx *store.Tx, stackID, stackARN string) error {
	_, err := store.Exec(ctx, tx, "UPDATE stack_refactors SET execution_status = ?, execution_reason = ?, row_version = row_version + 1 WHERE execution_status IN (?, ?) AND "+ofStack,
		types.StackRefactorExecutionStatusObsolete, fmt.Sprintf(reasonObsolete, stackARN), types.StackRefactorExecutionStatusUnavailable, types.StackRefactorExecutionStatusAvailable, stackID)
	if err != nil {
		return fmt.Errorf("mark stack refactors obsolete: %w", err)
	}
	return nil
}
