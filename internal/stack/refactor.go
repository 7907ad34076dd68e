package stack

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/uptrace/bun"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/operation"
	"github.com/formwork-dev/formwork/internal/store"
)

// A refactorRow is a stack refactor: it moves resources between stacks and renames them. A
// wake-up after the request finds out what moves; another one after its execution moves it.
type refactorRow struct {
	bun.BaseModel `bun:"table:stack_refactors,alias:rf"`

	ID              string                             `bun:"id,pk"`
	Account         string                             `bun:"account"`
	Region          string                             `bun:"region"`
	Description     string                             `bun:"description"`
	Status          types.StackRefactorStatus          `bun:"status"`
	Reason          string                             `bun:"reason"`
	ExecutionStatus types.StackRefactorExecutionStatus `bun:"execution_status"`
	ExecutionReason string                             `bun:"execution_reason"`
	Mappings        store.JSON[[]refactorMapping]      `bun:"mappings"`
	Moves           store.JSON[[]refactorMove]         `bun:"moves"`
	CreatedAt       store.Time                         `bun:"created_at"`
	RowVersion      int64                              `bun:"row_version"`
}

// A refactorStackRow is a stack of a refactor, with the template that it is to have.
type refactorStackRow struct {
	bun.BaseModel `bun:"table:stack_refactor_stacks,alias:rs"`

	RefactorID   string `bun:"refactor_id,pk"`
	Position     int64  `bun:"position,pk"`
	StackID      string `bun:"stack_id"`
	Name         string `bun:"name"`
	ARN          string `bun:"arn"`
	Fresh        bool   `bun:"fresh"` // the refactor creates the stack
	DeploymentID string `bun:"deployment_id"`
	OperationID  string `bun:"operation_id"` // of its execution, "" for none
}

// A refactorMapping says where a resource is to be. Stacks are numbered by their position.
type refactorMapping struct {
	From   int64  `json:"from"` // -1 for a stack that is not among those of the refactor
	Source string `json:"source"`
	To     int64  `json:"to"`
	Target string `json:"target"`

	Stack string `json:"stack,omitempty"` // that is not among those of the refactor
}

// A refactorMove is a resource that changes its stack or its name.
type refactorMove struct {
	From       int64             `json:"from"`
	Source     string            `json:"source"`
	To         int64             `json:"to"`
	Target     string            `json:"target"`
	Type       string            `json:"type"`
	PhysicalID string            `json:"physicalId"`
	Identifier map[string]string `json:"identifier,omitempty"` // by the name of the property
	Manual     bool              `json:"manual,omitempty"`
	Tagged     bool              `json:"tagged,omitempty"` // the type takes the tags of the service
}

// refactorKind is the kind of wake-up that makes and executes refactors.
const refactorKind = "refactor"

// maxRefactored is how many stacks a refactor has at most.
const maxRefactored = 5

// The reasons of refactors. Those about unsupported types, sections and mappings, and of
// obsolete refactors, are in the words of the service.
const (
	reasonRefactorType      = "Stack Refactor does not support %s."
	reasonRefactorTags      = "Stack Refactor does not support %s because the resource type does not allow tag updates after creation."
	reasonRefactorSections  = "Following template sections are not allowed when creating a stack while refactoring: %s"
	reasonRefactorChanged   = "Following template sections are not allowed to change while refactoring: %s"
	reasonRefactorUnmoved   = "The resource %s defined in the resources mapping did no move from its original stack %s. Review your stack template desired state."
	reasonRefactorAbsent    = "The resource %s defined in the resources mapping does not exist in stack %s."
	reasonRefactorMissing   = "The resource %s defined in the resources mapping does not exist in the template of stack %s."
	reasonRefactorAmbiguous = "The resources %s have several possible sources. Specify them in the resources mapping."
	reasonRefactorModified  = "Stack Refactor does not support modification of resources: %s."
	reasonRefactorCreated   = "Stack Refactor does not support creation of resources: %s."
	reasonRefactorDeleted   = "Stack Refactor does not support deletion of resources: %s."
	reasonRefactorPolicy    = "Stack Refactor does not support stacks with a stack policy."
	reasonRefactorState     = "Stack is in %s state and can not be refactored."
	reasonRefactorLeftover  = "Stack Refactor does not support stacks with resources that failed to be deleted: %s."
	reasonRefactorEmpty     = "Stack Refactor does not support stacks without resources."
	reasonRefactorNothing   = "There are no resources to refactor."
	reasonRefactorUnknown   = "The values of %s are not known before the refactor is executed."
	reasonRefactorObsolete  = "%s: Stack was updated."
	reasonRefactorMoved     = "The resources have changed since the stack refactor was created."
)

// creating reports whether it is still being found out what moves.
func (r *refactorRow) creating() bool { return r.Status == types.StackRefactorStatusCreateInProgress }

// executing reports whether the stacks are being changed.
func (r *refactorRow) executing() bool {
	return r.ExecutionStatus == types.StackRefactorExecutionStatusExecuteInProgress ||
		r.ExecutionStatus == types.StackRefactorExecutionStatusRollbackInProgress
}

// CreateStackRefactor accepts a refactor. A wake-up finds out what it moves, and whether that
// can be moved.
func (e *Engine) CreateStackRefactor(ctx context.Context, caller awswire.Caller, in *cloudformation.CreateStackRefactorInput) (*cloudformation.CreateStackRefactorOutput, error) {
	row := &refactorRow{
		ID: e.newID(), Account: caller.Account, Region: caller.Region, Description: aws.ToString(in.Description),
		Status: types.StackRefactorStatusCreateInProgress, ExecutionStatus: types.StackRefactorExecutionStatusUnavailable,
		CreatedAt: e.now(), RowVersion: 1,
	}
	stacks, deployments, err := e.refactoredStacks(ctx, caller, row, in)
	if err != nil {
		return nil, err
	}
	mappings, err := refactorMappings(in.ResourceMappings, stacks)
	if err != nil {
		return nil, err
	}
	row.Mappings = store.JSONOf(mappings)
	err = e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		fresh := *row
		for _, model := range []any{&fresh, &stacks, &deployments} {
			if _, err := tx.NewInsert().Model(model).Exec(ctx); err != nil {
				return fmt.Errorf("write the stack refactor: %w", err)
			}
		}
		return tx.Wake(ctx, refactorKind, row.ID, time.Time{})
	})
	if err != nil {
		return nil, err
	}
	operation.Hold(ctx, e.config.Hold, func(ctx context.Context) (bool, error) {
		r, err := oneRow[refactorRow](ctx, e.store.Read(), "id = ?", row.ID)
		return r == nil || !r.creating(), err
	})
	return &cloudformation.CreateStackRefactorOutput{StackRefactorId: aws.String(row.ID)}, nil
}

// refactoredStacks are the stacks of a request with the templates that they are to have, which
// are not read yet.
func (e *Engine) refactoredStacks(ctx context.Context, caller awswire.Caller, row *refactorRow, in *cloudformation.CreateStackRefactorInput) ([]refactorStackRow, []deploymentRow, error) {
	if len(in.StackDefinitions) == 0 {
		return nil, nil, refuse("refactor-none")
	}
	if len(in.StackDefinitions) > maxRefactored {
		return nil, nil, refuse("refactor-many", len(in.StackDefinitions), maxRefactored)
	}
	var stacks []refactorStackRow
	var deployments []deploymentRow
	for i, definition := range in.StackDefinitions {
		s, fresh, err := e.stackToRefactor(ctx, caller, aws.ToString(definition.StackName), aws.ToBool(in.EnableStackCreation))
		if err != nil {
			return nil, nil, err
		}
		if slices.ContainsFunc(stacks, func(other refactorStackRow) bool { return other.StackID == s.ID || other.Name == s.Name }) {
			return nil, nil, refuse("refactor-twice", s.Name)
		}
		original, err := e.source(ctx, caller, definition.TemplateBody, definition.TemplateURL)
		if err != nil {
			return nil, nil, err
		}
		d := deploymentRow{ID: e.newID(), StackID: s.ID, Original: original, CreatedAt: row.CreatedAt}
		deployments = append(deployments, d)
		stacks = append(stacks, refactorStackRow{
			RefactorID: row.ID, Position: int64(i), StackID: s.ID, Name: s.Name, ARN: s.ARN, Fresh: fresh, DeploymentID: d.ID,
		})
	}
	return stacks, deployments, nil
}

// stackToRefactor finds a stack, or makes one that is not written yet.
func (e *Engine) stackToRefactor(ctx context.Context, caller awswire.Caller, name string, creation bool) (s *stackRow, fresh bool, err error) {
	if name == "" {
		return nil, false, refuse("name-required")
	}
	if s, err = findStack(ctx, e.store.Read(), caller, name); err != nil {
		return nil, false, err
	}
	switch {
	case s == nil && (!creation || isARN(name)), s != nil && !s.Live:
		return nil, false, refuse("missing", name)
	case s == nil:
		return e.newStack(caller, name), true, nil
	}
	return s, creation && s.Status == types.StackStatusReviewInProgress, nil
}

// refactorMappings are the mappings of a request.
func refactorMappings(in []types.ResourceMapping, stacks []refactorStackRow) ([]refactorMapping, error) {
	position := func(l *types.ResourceLocation) int64 {
		i := slices.IndexFunc(stacks, func(s refactorStackRow) bool {
			return aws.ToString(l.StackName) == s.Name || aws.ToString(l.StackName) == s.ARN
		})
		return int64(i)
	}
	out := []refactorMapping{}
	sources, targets := map[string]bool{}, map[string]bool{}
	for _, m := range in {
		if m.Source == nil || m.Destination == nil {
			return nil, refuse("refactor-mapping")
		}
		mapped := refactorMapping{
			From: position(m.Source), Source: aws.ToString(m.Source.LogicalResourceId),
			To: position(m.Destination), Target: aws.ToString(m.Destination.LogicalResourceId),
		}
		if mapped.Source == "" || mapped.Target == "" {
			return nil, refuse("refactor-mapping")
		}
		if mapped.To < 0 {
			return nil, refuse("refactor-stack", aws.ToString(m.Destination.StackName))
		}
		if mapped.From < 0 {
			mapped.Stack = aws.ToString(m.Source.StackName)
		}
		source, target := fmt.Sprint(mapped.From, mapped.Stack, "/", mapped.Source), fmt.Sprint(mapped.To, "/", mapped.Target)
		if sources[source] || targets[target] {
			return nil, refuse("refactor-mapped-twice")
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
		row, err := requireRefactor(ctx, tx, caller, id)
		if err != nil {
			return err
		}
		if row.ExecutionStatus != types.StackRefactorExecutionStatusAvailable {
			return refuse("refactor-execution", id, row.ExecutionStatus)
		}
		row.ExecutionStatus = types.StackRefactorExecutionStatusExecuteInProgress
		if err := store.Swap(ctx, tx, row, &row.RowVersion); err != nil {
			return err
		}
		stacks, err := stacksOfRefactor(ctx, tx, id)
		if err != nil {
			return err
		}
		for i := range stacks {
			if err := e.beginRefactor(ctx, tx, caller, &stacks[i]); err != nil {
				return err
			}
		}
		return tx.Wake(ctx, refactorKind, id, time.Time{})
	})
	if err != nil {
		return nil, err
	}
	operation.Hold(ctx, e.config.Hold, func(ctx context.Context) (bool, error) {
		row, err := oneRow[refactorRow](ctx, e.store.Read(), "id = ?", id)
		return row == nil || !row.executing(), err
	})
	return &cloudformation.ExecuteStackRefactorOutput{}, nil
}

// beginRefactor begins the operation on one of the stacks: nothing else can begin until it ends.
func (e *Engine) beginRefactor(ctx context.Context, tx *store.Tx, caller awswire.Caller, rs *refactorStackRow) error {
	s, err := oneRow[stackRow](ctx, tx, "id = ?", rs.StackID)
	if err != nil {
		return err
	}
	if problem := rs.unfit(s); problem != "" {
		return refuse("refactor-state", problem)
	}
	begin := beginInput{
		kind: types.OperationTypeUpdateStack, status: types.StackStatusUpdateInProgress, deployment: &deploymentRow{ID: rs.DeploymentID},
		options: operationOptions{Refactor: rs.RefactorID}, caller: caller,
	}
	if rs.Fresh {
		begin.kind, begin.status = types.OperationTypeCreateStack, types.StackStatusCreateInProgress
	} else {
		s.UpdatedAt = e.now()
	}
	if rs.OperationID, err = e.begin(ctx, tx, s, begin); err != nil {
		return err
	}
	if _, err := tx.NewUpdate().Model(rs).Column("operation_id").WherePK().Exec(ctx); err != nil {
		return fmt.Errorf("write the operation of a refactor: %w", err)
	}
	return tx.CancelWake(ctx, wakeKind, s.ID) // the worker of refactors moves it
}

// unfit says why a stack cannot be refactored as it is, "" if it can.
func (rs *refactorStackRow) unfit(s *stackRow) string {
	switch {
	case s == nil:
		return fmt.Sprintf("Stack [%s] does not exist", rs.Name)
	case rs.Fresh && s.Live && s.Status == types.StackStatusReviewInProgress && s.OperationID == "":
		return ""
	case rs.Fresh || !s.Live || !slices.Contains(updatable, s.Status) || s.OperationID != "":
		return rs.problem(reasonRefactorState, s.Status)
	case s.Policy != "":
		return rs.problem(reasonRefactorPolicy)
	}
	return ""
}

// problem is a reason that names the stack.
func (rs *refactorStackRow) problem(format string, args ...any) string {
	return rs.ARN + ": " + fmt.Sprintf(format, args...)
}

// obsoleteRefactors marks the refactors of a stack that something else begins to change.
func (e *Engine) obsoleteRefactors(ctx context.Context, tx *store.Tx, s *stackRow) error {
	_, err := tx.NewUpdate().Model((*refactorRow)(nil)).Set("execution_status = ?", types.StackRefactorExecutionStatusObsolete).
		Set("execution_reason = ?", fmt.Sprintf(reasonRefactorObsolete, s.ARN)).Set("row_version = row_version + 1").
		Where("execution_status IN (?, ?)", types.StackRefactorExecutionStatusUnavailable, types.StackRefactorExecutionStatusAvailable).
		Where("id IN (SELECT refactor_id FROM stack_refactor_stacks WHERE stack_id = ?)", s.ID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("mark stack refactors obsolete: %w", err)
	}
	return nil
}

// refactored reports whether an operation belongs to a refactor, which moves it.
func (op *operationRow) refactored() bool { return op.Options.Get().Refactor != "" }

// requireRefactor finds a refactor of the caller.
func requireRefactor(ctx context.Context, db selecting, caller awswire.Caller, id string) (*refactorRow, error) {
	row, err := oneRow[refactorRow](ctx, db, "id = ? AND account = ? AND region = ?", id, caller.Account, caller.Region)
	if err == nil && row == nil {
		err = refuse("refactor-missing", id)
	}
	return row, err
}

// stacksOfRefactor are the stacks of a refactor in the order of the request.
func stacksOfRefactor(ctx context.Context, db selecting, id string) ([]refactorStackRow, error) {
	return allRows[refactorStackRow](ctx, db, "position", "refactor_id = ?", id)
}
