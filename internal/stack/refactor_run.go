package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/operation"
	"github.com/formwork-dev/formwork/internal/plan"
	"github.com/formwork-dev/formwork/internal/store"
	"github.com/formwork-dev/formwork/internal/template"
)

// refactor is the worker of refactors. What was interrupted is done anew: until the one
// transaction that moves the resources, nothing is changed.
func (e *Engine) refactor(ctx context.Context, id string) (time.Time, error) {
	row, err := oneRow[refactorRow](ctx, e.store.Read(), "id = ?", id)
	switch {
	case err != nil || row == nil:
		return time.Time{}, err
	case row.creating():
		err = e.makeRefactor(ctx, row)
	case row.ExecutionStatus == types.StackRefactorExecutionStatusExecuteInProgress:
		err = e.executeRefactor(ctx, row)
	case row.ExecutionStatus == types.StackRefactorExecutionStatusRollbackInProgress:
		err = e.endRefactorRollback(ctx, id)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("stack refactor %s: %w", id, err)
	}
	return time.Time{}, nil
}

// makeRefactor finds out what a refactor moves, and writes it.
func (e *Engine) makeRefactor(ctx context.Context, row *refactorRow) error {
	r, problem, err := e.planRefactor(ctx, row, e.acceptRefactored)
	if err != nil {
		return err
	}
	return e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		return e.finishRefactor(ctx, tx, row.ID, r, problem)
	})
}

// planRefactor finds out what a refactor moves. problem says why it cannot be done. load reads
// the template that a stack is to have.
func (e *Engine) planRefactor(ctx context.Context, row *refactorRow, load func(ctx context.Context, s *refactoredStack) (problem string, err error)) (r *refactoring, problem string, err error) {
	r = &refactoring{
		engine: e, ctx: ctx, mappings: row.Mappings.Get(), types: map[string]*operation.Type{}, from: map[place]place{}, taken: map[place]bool{}, manual: map[place]bool{}, outside: map[string]*exportRow{},
	}
	rows, err := stacksOfRefactor(ctx, e.store.Read(), row.ID)
	if err != nil {
		return nil, "", err
	}
	for i := range rows {
		s := &refactoredStack{refactorStackRow: rows[i], now: map[string]plan.Resource{}, after: map[string]plan.Resource{}, imports: map[string]string{}}
		if s.row, err = oneRow[stackRow](ctx, e.store.Read(), "id = ?", s.StackID); err != nil {
			return nil, "", err
		}
		if s.row == nil && s.Fresh {
			s.row = s.created(row)
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
		if refused, ok := asRefusal(err); ok {
			problem, err = refused, nil
		}
		if problem != "" || err != nil {
			return r, problem, err
		}
	}
	if len(r.moves()) == 0 {
		problem = reasonRefactorNothing
	}
	return r, problem, nil
}

// created is a stack that a refactor creates, before its execution.
func (rs *refactorStackRow) created(row *refactorRow) *stackRow {
	return &stackRow{
		ID: rs.StackID, Account: row.Account, Region: row.Region, Name: rs.Name, ARN: rs.ARN, Live: true, Status: types.StackStatusReviewInProgress,
		Reason: reasonUserInitiated, CreatedAt: row.CreatedAt, RowVersion: 1,
	}
}

// findType finds a type by its name, once.
func (r *refactoring) findType(ctx context.Context, name string) error {
	if _, found := r.types[name]; found {
		return nil
	}
	typ, err := r.engine.findType(ctx, r.stacks[0].row.caller(), name)
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

// acceptRefactored reads the template of a request, as an update of the stack would.
func (e *Engine) acceptRefactored(ctx context.Context, s *refactoredStack) (problem string, err error) {
	if problem := s.unfit(s.row); problem != "" {
		return problem, nil
	}
	stored, err := oneRow[deploymentRow](ctx, e.store.Read(), "id = ?", s.DeploymentID)
	if err != nil || stored == nil {
		return "", err
	}
	previous, err := oneRow[deploymentRow](ctx, e.store.Read(), "id = ?", s.row.DeploymentID)
	if err != nil {
		return "", err
	}
	if err = e.readRefactored(ctx, s, stored, previous); err == nil {
		return s.sections(previous)
	}
	if refused, ok := asRefusal(err); ok {
		return s.problem("%s", refused), nil
	}
	return "", err
}

// readRefactored reads a template with the parameters that its stack has.
func (e *Engine) readRefactored(ctx context.Context, s *refactoredStack, stored, previous *deploymentRow) error {
	parsed, err := template.Parse("", []byte(stored.Original), template.ParseOptions{})
	if err != nil {
		return refusedTemplate(err)
	}
	in := deploymentInput{
		Body: &stored.Original, Previous: previous,
		Capabilities: []types.Capability{types.CapabilityCapabilityIam, types.CapabilityCapabilityNamedIam, types.CapabilityCapabilityAutoExpand},
	}
	before := in.previousParameters()
	for _, p := range parsed.Parameters {
		if before == nil {
			break
		}
		if _, ok := before.Get(p.Name); ok {
			in.Parameters = append(in.Parameters, types.Parameter{ParameterKey: &p.Name, UsePreviousValue: aws.Bool(true)})
		}
	}
	row, err := e.acceptDeployment(ctx, s.row.caller(), s.row, in)
	if err == nil && row.Processed == "" {
		_, err = e.processDeployment(ctx, s.row.caller(), s.row, row, nil)
	}
	if err != nil {
		return err
	}
	row.ID, row.CreatedAt, row.Capabilities = stored.ID, stored.CreatedAt, stored.Capabilities
	if previous != nil {
		row.Capabilities = previous.Capabilities
	}
	s.deployment = row
	s.next, err = deploymentOf(s.row, row, nil)
	return err
}

// sections says which sections of the template must not be, or not be changed.
func (s *refactoredStack) sections(previous *deploymentRow) (string, error) {
	var before, after map[string]map[string]any
	parts := func(text string) (map[string]map[string]any, error) {
		var all store.JSON[map[string]any] // numbers keep their digits
		err := all.Scan(text)
		out := map[string]map[string]any{}
		for _, name := range []string{"Conditions", "Mappings", "Parameters", "Rules"} {
			out[name], _ = all.Get()[name].(map[string]any)
		}
		return out, err
	}
	after, err := parts(s.deployment.Processed)
	if err != nil {
		return "", err
	}
	var wrong []string
	if s.Fresh {
		for _, name := range []string{"Conditions", "Mappings", "Rules"} {
			if len(after[name]) > 0 {
				wrong = append(wrong, name)
			}
		}
		if wrong != nil {
			return s.problem(reasonRefactorSections, strings.Join(wrong, ", ")), nil
		}
		return "", nil
	}
	if previous != nil {
		if before, err = parts(previous.Processed); err != nil {
			return "", err
		}
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
		return s.problem(reasonRefactorChanged, strings.Join(wrong, ", ")), nil
	}
	return "", nil
}

// finishRefactor writes what a refactor moves, or why it cannot.
func (e *Engine) finishRefactor(ctx context.Context, tx *store.Tx, id string, r *refactoring, problem string) error {
	row, err := oneRow[refactorRow](ctx, tx, "id = ?", id)
	if err != nil || row == nil || !row.creating() {
		return err
	}
	for _, s := range r.stacks {
		if problem != "" || !s.Fresh {
			continue
		}
		if problem, err = e.writeRefactored(ctx, tx, s, row); err != nil {
			return err
		}
	}
	for _, s := range r.stacks {
		if problem != "" {
			break
		}
		columns := []string{"processed", "parameters", "tags", "capabilities", "notification_arns", "description"}
		if _, err := tx.NewUpdate().Model(s.deployment).Column(columns...).WherePK().Exec(ctx); err != nil {
			return fmt.Errorf("write the processed template: %w", err)
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
	_, err = tx.NewDelete().Model((*deploymentRow)(nil)).Where("id IN (SELECT deployment_id FROM stack_refactor_stacks WHERE refactor_id = ?)", id).Exec(ctx)
	if err != nil {
		return fmt.Errorf("forget the templates of a refactor: %w", err)
	}
	return store.Swap(ctx, tx, row, &row.RowVersion)
}

// writeRefactored writes a stack that a refactor creates, unless there is one of its name.
func (e *Engine) writeRefactored(ctx context.Context, tx *store.Tx, s *refactoredStack, row *refactorRow) (problem string, err error) {
	taken, err := liveStack(ctx, tx, s.row.caller(), s.Name)
	switch {
	case err != nil:
		return "", err
	case taken != nil && taken.ID == s.StackID:
		return s.unfit(taken), nil
	case taken != nil:
		return s.problem("Stack [%s] already exists", s.Name), nil
	}
	fresh := s.created(row)
	if _, err := tx.NewInsert().Model(fresh).Exec(ctx); err != nil {
		return "", fmt.Errorf("write the stack: %w", err)
	}
	return "", e.insertEvents(ctx, tx, e.stackEvent(fresh, nil, e.now()))
}

// executeRefactor moves the resources of a refactor, if they are still there and nothing stands
// in the way. Otherwise the stacks stay as they are.
func (e *Engine) executeRefactor(ctx context.Context, row *refactorRow) error {
	r, problem, err := e.planRefactor(ctx, row, e.loadRefactored)
	if err != nil {
		return err
	}
	if problem == "" && !row.Moves.Equal(store.JSONOf(r.moves())) {
		problem = reasonRefactorMoved
	}
	if problem == "" {
		if problem, err = e.readMoved(ctx, r); err != nil {
			return err
		}
	}
	err = e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		current, err := oneRow[refactorRow](ctx, tx, "id = ?", row.ID)
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
			return e.beginRefactorRollback(ctx, tx, current, found)
		}
		return e.moveRefactored(ctx, tx, current, r)
	})
	if err != nil {
		return err
	}
	return e.endRefactorRollback(ctx, row.ID)
}

// loadRefactored reads the template that a stack is being changed to.
func (e *Engine) loadRefactored(ctx context.Context, s *refactoredStack) (problem string, err error) {
	if s.row == nil {
		return fmt.Sprintf("Stack [%s] does not exist", s.Name), nil
	}
	s.deployment, s.next, err = e.loadDeployment(ctx, e.store.Read(), s.row, s.DeploymentID, nil)
	return "", err
}

// readMoved looks whether what moves is still there.
func (e *Engine) readMoved(ctx context.Context, r *refactoring) (problem string, err error) {
	moves := r.moves()
	problems := make([]string, len(moves))
	err = each(ctx, len(moves), func(ctx context.Context, i int) error {
		m := moves[i]
		from, typ := r.stacks[m.From], r.types[m.Type]
		request := readRequest(from.row, m.Source, typ, m.PhysicalID, identifierModel(typ.Schema, m.PhysicalID))
		progress, err := e.config.Operations.Read(ctx, request)
		if err == nil && progress.Status != types.OperationStatusSuccess {
			problems[i] = from.problem("%s", cmp.Or(progress.Message, fmt.Sprintf("Resource of type '%s' with identifier '%s' was not found.", m.Type, m.PhysicalID)))
		}
		return err
	})
	for _, problem := range problems {
		if problem != "" {
			return problem, err
		}
	}
	return "", err
}
