package refactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"golang.org/x/sync/errgroup"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// advance is the worker of refactors. What was interrupted is done anew: until the one
// transaction that moves the resources, nothing is changed.
func (e *Engine) advance(ctx context.Context, id string) (time.Time, error) {
	row, err := store.Find[refactorRow](ctx, e.store.Read(), "id = ?", id)
	switch {
	case err != nil || row == nil:
		return time.Time{}, err
	case row.creating():
		err = e.create(ctx, row)
	case row.ExecutionStatus == types.StackRefactorExecutionStatusExecuteInProgress:
		err = e.execute(ctx, row)
	case row.ExecutionStatus == types.StackRefactorExecutionStatusRollbackInProgress:
		err = e.endRollback(ctx, id)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("stack refactor %s: %w", id, err)
	}
	return time.Time{}, nil
}

// create finds out what a refactor moves, and writes it.
func (e *Engine) create(ctx context.Context, row *refactorRow) error {
	r, problem, err := e.plan(ctx, row, e.accept)
	if err != nil {
		return err
	}
	return e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		return e.finish(ctx, tx, row.ID, r, problem)
	})
}

// plan finds out what a refactor moves. problem says why it cannot be done. load reads
// the template that a stack is to have.
func (e *Engine) plan(ctx context.Context, row *refactorRow, load func(ctx context.Context, s *member) (problem string, err error)) (r *refactoring, problem string, err error) {
	r = &refactoring{
		engine: e, ctx: ctx, mappings: row.Mappings.Get(), types: map[string]*operation.Type{}, from: map[place]place{}, taken: map[place]bool{}, manual: map[place]bool{}, outside: map[string]*stack.Export{},
	}
	rows, err := stacksOf(ctx, e.store.Read(), row.ID)
	if err != nil {
		return nil, "", err
	}
	for i := range rows {
		s := &member{stackRow: rows[i], now: map[string]plan.Resource{}, after: map[string]plan.Resource{}, imports: map[string]string{}}
		if s.stack, err = e.stacks.Member(ctx, e.store.Read(), s.StackID); err != nil {
			return nil, "", err
		}
		if s.stack == nil && s.Fresh {
			s.stack = stack.NewMember(awswire.Place{Account: row.Account, Region: row.Region}, s.StackID, s.Name, row.CreatedAt)
		}
		r.stacks = append(r.stacks, s)
		if problem, err = load(ctx, s); problem != "" || err != nil {
			return r, problem, err
		}
	}
	for _, step := range []func() (string, error){
		func() (string, error) { return r.resources(ctx) }, r.match, r.verify,
		func() (string, error) { return r.conflicts(ctx, e.store.Read()) },
	} {
		problem, err = step()
		if refused, ok := stack.AsRefusal(err); ok {
			problem, err = refused, nil
		}
		if problem != "" || err != nil {
			return r, problem, err
		}
	}
	if len(r.moves()) == 0 {
		problem = reasonNothing
	}
	return r, problem, nil
}

// findType finds a type by its name, once.
func (r *refactoring) findType(ctx context.Context, name string) error {
	if _, found := r.types[name]; found {
		return nil
	}
	typ, err := r.engine.config.Types.Type(ctx, awswire.Caller{Place: r.stacks[0].stack.Place}, name, "")
	var unknown *operation.UnknownTypeError
	if err != nil && !errors.As(err, &unknown) {
		return fmt.Errorf("find the type %s: %w", name, err)
	}
	if err != nil {
		typ = nil
	}
	r.types[name] = typ
	return nil
}

// accept reads the template of a request, as an update of the stack would.
func (e *Engine) accept(ctx context.Context, s *member) (problem string, err error) {
	if problem := s.unfit(s.stack); problem != "" {
		return problem, nil
	}
	s.draft, err = e.stacks.AcceptDraft(ctx, s.stack, s.DeploymentID)
	if refused, ok := stack.AsRefusal(err); ok {
		return s.problem("%s", refused), nil
	}
	if err != nil || s.draft == nil {
		return "", err
	}
	s.next = s.draft.Next
	return s.sections(), nil
}

// sections says which sections of the template must not be, or not be changed.
func (s *member) sections() string {
	before, after := s.draft.Before, s.draft.Sections
	var wrong []string
	if s.Fresh {
		for _, name := range []string{"Conditions", "Mappings", "Rules"} {
			if len(after[name]) > 0 {
				wrong = append(wrong, name)
			}
		}
		if wrong != nil {
			return s.problem(reasonSections, strings.Join(wrong, ", "))
		}
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		for key, value := range after[name] {
			if was, ok := before[name][key]; !ok || !plan.Equal(was, value) {
				wrong = append(wrong, name)
				break
			}
		}
	}
	if wrong != nil {
		return s.problem(reasonChanged, strings.Join(wrong, ", "))
	}
	return ""
}

// finish writes what a refactor moves, or why it cannot.
func (e *Engine) finish(ctx context.Context, tx *store.Tx, id string, r *refactoring, problem string) error {
	row, err := store.Find[refactorRow](ctx, tx, "id = ?", id)
	if err != nil || row == nil || !row.creating() {
		return err
	}
	for _, s := range r.stacks {
		if problem != "" || !s.Fresh {
			continue
		}
		if problem, err = e.writeFresh(ctx, tx, s); err != nil {
			return err
		}
	}
	for _, s := range r.stacks {
		if problem != "" {
			break
		}
		if err := e.stacks.UpdateDraft(ctx, tx, s.draft); err != nil {
			return err
		}
	}
	obsolete := row.ExecutionStatus == types.StackRefactorExecutionStatusObsolete
	if problem == "" {
		row.Status, row.Moves = types.StackRefactorStatusCreateComplete, store.JSONOf(r.moves())
		if !obsolete {
			row.ExecutionStatus = types.StackRefactorExecutionStatusAvailable
		}
		return store.Swap(ctx, tx, row, &row.RowVersion)
	}
	row.Status, row.Reason = types.StackRefactorStatusCreateFailed, problem
	stacks, err := stacksOf(ctx, tx, id)
	if err != nil {
		return err
	}
	for _, s := range stacks {
		if err := e.stacks.ForgetDraft(ctx, tx, s.DeploymentID); err != nil {
			return err
		}
	}
	return store.Swap(ctx, tx, row, &row.RowVersion)
}

// writeFresh writes a stack that a refactor creates, unless there is one of its name.
func (e *Engine) writeFresh(ctx context.Context, tx *store.Tx, s *member) (problem string, err error) {
	m, err := e.stacks.WriteMember(ctx, tx, s.stack)
	switch {
	case err != nil:
		return "", err
	case m.ID != s.StackID:
		return s.problem("Stack [%s] already exists", s.Name), nil
	}
	return s.unfit(m), nil
}

// execute moves the resources of a refactor, if they are still there and nothing stands
// in the way. Otherwise the stacks stay as they are.
func (e *Engine) execute(ctx context.Context, row *refactorRow) error {
	r, problem, err := e.plan(ctx, row, e.load)
	if err != nil {
		return err
	}
	if problem == "" && !row.Moves.Equal(store.JSONOf(r.moves())) {
		problem = reasonMoved
	}
	if problem == "" {
		if problem, err = e.readMoved(ctx, r); err != nil {
			return err
		}
	}
	err = e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		current, err := store.Find[refactorRow](ctx, tx, "id = ?", row.ID)
		if err != nil || current == nil || current.ExecutionStatus != types.StackRefactorExecutionStatusExecuteInProgress {
			return err
		}
		found := problem
		if found == "" {
			if found, err = r.conflicts(ctx, tx); err != nil {
				return err
			}
		}
		if found != "" {
			return e.beginRollback(ctx, tx, current, found)
		}
		return e.move(ctx, tx, current, r)
	})
	if err != nil {
		return err
	}
	return e.endRollback(ctx, row.ID)
}

// load reads the template that a stack is being changed to.
func (e *Engine) load(ctx context.Context, s *member) (problem string, err error) {
	if s.stack == nil {
		return fmt.Sprintf("Stack [%s] does not exist", s.Name), nil
	}
	if s.draft, err = e.stacks.LoadDraft(ctx, s.stack, s.DeploymentID); err == nil {
		s.next = s.draft.Next
	}
	return "", err
}

// concurrentReads is how many resources are read at once.
const concurrentReads = 64

// readMoved looks whether what moves is still there.
func (e *Engine) readMoved(ctx context.Context, r *refactoring) (problem string, err error) {
	moves := r.moves()
	problems := make([]string, len(moves))
	all, within := errgroup.WithContext(ctx)
	all.SetLimit(concurrentReads)
	for i, m := range moves {
		all.Go(func() error {
			from := r.stacks[m.From]
			progress, err := e.config.Operations.Read(within, from.stack.ReadRequest(m.Source, r.types[m.Type], m.PhysicalID))
			if err == nil && progress.Status != types.OperationStatusSuccess {
				problems[i] = from.problem("%s", cmp.Or(progress.Message, fmt.Sprintf("Resource of type '%s' with identifier '%s' was not found.", m.Type, m.PhysicalID)))
			}
			return err
		})
	}
	err = all.Wait()
	for _, problem := range problems {
		if problem != "" {
			return problem, err
		}
	}
	return "", err
}

// move moves the resources and makes the templates those of the stacks, in the transaction.
func (e *Engine) move(ctx context.Context, tx *store.Tx, row *refactorRow, r *refactoring) error {
	parts := make([]*stack.Part, len(r.stacks))
	for i, s := range r.stacks {
		parts[i] = s.part()
		parts[i].Outputs, parts[i].Imports, parts[i].Needs = s.outputs, slices.Sorted(maps.Keys(s.imports)), s.needs()
	}
	var moves []stack.Move
	for _, m := range r.moves() {
		moves = append(moves, m.Move)
	}
	if err := e.stacks.Move(ctx, tx, parts, moves); err != nil {
		return err
	}
	row.ExecutionStatus, row.ExecutionReason = types.StackRefactorExecutionStatusExecuteComplete, ""
	return store.Swap(ctx, tx, row, &row.RowVersion)
}

// eachStack does something to the stacks of a refactor, then writes how far it is.
func (e *Engine) eachStack(ctx context.Context, tx *store.Tx, row *refactorRow, do func(p *stack.Part) error) error {
	stacks, err := stacksOf(ctx, tx, row.ID)
	if err != nil {
		return err
	}
	for i := range stacks {
		if err := do(stacks[i].part()); err != nil {
			return err
		}
	}
	return store.Swap(ctx, tx, row, &row.RowVersion)
}

// beginRollback begins to take the stacks back to what they were.
func (e *Engine) beginRollback(ctx context.Context, tx *store.Tx, row *refactorRow, problem string) error {
	row.ExecutionStatus, row.ExecutionReason = types.StackRefactorExecutionStatusRollbackInProgress, problem
	if err := e.eachStack(ctx, tx, row, func(p *stack.Part) error { return e.stacks.RevertMove(ctx, tx, p, problem) }); err != nil {
		return err
	}
	return tx.Wake(ctx, wakeKind, row.ID, time.Time{})
}

// endRollback ends the rollback of a refactor: no resource was moved.
func (e *Engine) endRollback(ctx context.Context, id string) error {
	return e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := store.Find[refactorRow](ctx, tx, "id = ?", id)
		if err != nil || row == nil || row.ExecutionStatus != types.StackRefactorExecutionStatusRollbackInProgress {
			return err
		}
		row.ExecutionStatus = types.StackRefactorExecutionStatusRollbackComplete
		return e.eachStack(ctx, tx, row, func(p *stack.Part) error { return e.stacks.EndRevertedMove(ctx, tx, p) })
	})
}

// giveUp fails the creation of a refactor that can never succeed, or has its execution rolled back. A
// rollback ends with the stacks where they are: no resource was moved.
func (e *Engine) giveUp(ctx context.Context, id, reason string) error {
	return e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := store.Find[refactorRow](ctx, tx, "id = ?", id)
		switch {
		case err != nil || row == nil:
			return err
		case row.creating():
			return e.finish(ctx, tx, id, &refactoring{}, reason)
		case row.ExecutionStatus == types.StackRefactorExecutionStatusExecuteInProgress:
			return e.beginRollback(ctx, tx, row, reason)
		case row.ExecutionStatus != types.StackRefactorExecutionStatusRollbackInProgress:
			return nil
		}
		row.ExecutionStatus, row.ExecutionReason = types.StackRefactorExecutionStatusRollbackFailed, reason
		return e.eachStack(ctx, tx, row, func(p *stack.Part) error { return e.stacks.GiveUpMove(ctx, tx, p, reason) })
	})
}
