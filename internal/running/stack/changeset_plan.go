package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/authoring/typecheck"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A setResult is what the making of a plan came to.
type setResult struct {
	failed   string // the reason of a change set that FAILED
	reason   string // of one that did not
	plan     store.JSON[plan.Plan]
	row      *deploymentRow // processed
	problems []validationProblem
	children []*childSet
}

// planSet is the worker of change sets: it processes the template, makes the plan, and
// writes what came of it.
func (e *Engine) planSet(ctx context.Context, id string) (time.Time, error) {
	c, err := store.Find[changeSetRow](ctx, e.store.Read(), "id = ?", id)
	if err != nil || c == nil || !c.creating() || !c.Plan.IsZero() { // with a plan, it waits for hooks
		return time.Time{}, err
	}
	s, err := store.Find[stackRow](ctx, e.store.Read(), "id = ?", c.StackID)
	if err != nil || s == nil {
		return time.Time{}, err
	}
	result, err := e.makePlan(ctx, s, c)
	if refused, ok := AsRefusal(err); ok {
		result, err = &setResult{failed: refused}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("make the plan of %s: %w", c.ARN, err)
	}
	evaluation, err := e.hookSet(ctx, s, c, result)
	if err != nil {
		return time.Time{}, fmt.Errorf("find the hooks of %s: %w", c.ARN, err)
	}
	return time.Time{}, e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error { return e.finishSet(ctx, tx, s, id, result, evaluation) })
}

// makePlan processes the template of a change set and plans it.
func (e *Engine) makePlan(ctx context.Context, s *stackRow, c *changeSetRow) (*setResult, error) {
	row, err := store.Find[deploymentRow](ctx, e.store.Read(), "id = ?", c.DeploymentID)
	if err != nil || row == nil {
		return nil, err
	}
	options, result := c.Options.Get(), &setResult{row: row}
	next, err := e.processDeployment(ctx, s.caller(), s, row, options.ResourceTypes)
	if err != nil {
		return nil, err
	}
	return result, setPlanner{engine: e, stack: s, set: c, options: options, resources: new(int), budget: template.NewBudget()}.plan(ctx, next, result)
}

// planOf creates the plan of a change set. It looks up the resources to import: result.failed
// is why one cannot be imported.
func (e *Engine) planOf(ctx context.Context, s *stackRow, c *changeSetRow, input *planInput, options changeSetOptions, result *setResult) (planned *plan.Plan, err error) {
	switch {
	case c.Kind == types.ChangeSetTypeImport:
		if planned, err = e.planImport(ctx, s, *input, options); err == nil {
			result.failed, err = e.lookUpImports(ctx, s, *input, planned)
		}
		return planned, err
	case options.ImportExisting:
		if input.Import, result.failed, err = e.findExisting(ctx, s, *input); err != nil || result.failed != "" {
			return nil, err
		}
	}
	planned, err = plan.New(input.Input)
	return planned, RefusedTemplate(err)
}

// AsRefusal returns the message of an error in the request.
func AsRefusal(err error) (string, bool) {
	var refused *awswire.Error
	if !errors.As(err, &refused) {
		return "", false
	}
	return refused.Message, true
}

// setProblems validates the known properties of the resources of a change set.
func setProblems(in planInput) []validationProblem {
	var out []validationProblem
	known := plan.Known{Resources: in.Resources, Outside: in.References}
	for _, r := range in.Next.Scope.ActiveResources() {
		typ := in.Types[r.Type]
		if typ == nil || typ.Schema == nil || typ.LateValidation || typecheck.Unvalidated(r.Type) {
			continue
		}
		value, err := in.Next.Scope.Properties(r, known)
		if err != nil {
			continue // plan.New refuses it
		}
		for _, p := range typecheck.Properties(typ.Schema, value) {
			out = append(out, validationProblem{
				check: checkProperties, logicalID: r.LogicalID, typeName: r.Type, reason: p.String(), path: "/Resources/" + r.LogicalID + "/Properties" + p.At.String(),
			})
		}
	}
	return out
}

// incomplete is the warning of a change set with resources that import what there is not yet, or that
// join what is split only after the execution; "" if it is complete.
func incomplete(in planInput) string {
	var missing []string
	for _, r := range in.Next.Scope.ActiveResources() {
		lookup := &importLookup{References: plan.Known{Resources: in.Resources, Outside: in.References}}
		if _, err := in.Next.Scope.Properties(r, lookup); err != nil {
			continue
		}
		for _, name := range lookup.missing {
			missing = append(missing, fmt.Sprintf(reasonSetResource, r.LogicalID, fmt.Sprintf(reasonImportMissing, name)))
		}
		if err := in.Next.Scope.UnknownSplit(r, lookup.References); err != nil {
			missing = append(missing, fmt.Sprintf(reasonSetResource, r.LogicalID, err))
		}
	}
	if missing == nil {
		return ""
	}
	return incompletePrefix + strings.Join(missing, ", ")
}

// An importLookup records missing exports.
type importLookup struct {
	template.References
	missing []string
}

// ImportValue implements [template.References].
func (l *importLookup) ImportValue(name string) (string, bool, error) {
	value, known, err := l.References.ImportValue(name)
	if err == nil && !known {
		l.missing = append(l.missing, name)
	}
	return value, known, err
}

// finishSet writes the plan of a change set, unless that was deleted in the meantime. With an
// evaluation the change set waits for its hooks.
func (e *Engine) finishSet(ctx context.Context, tx *store.Tx, s *stackRow, id string, result *setResult, evaluation *hook.Evaluation) error {
	c, err := store.Find[changeSetRow](ctx, tx, "id = ?", id)
	if err != nil || c == nil || !c.creating() {
		return err
	}
	before := *c
	c.settle(result)
	if evaluation != nil {
		c.Status, c.ExecutionStatus = types.ChangeSetStatusCreateInProgress, before.ExecutionStatus
		if _, err := e.config.Hooks.Begin(ctx, tx, evaluation); err != nil {
			return err
		}
	}
	if result.row != nil {
		if err := store.Update(ctx, tx, result.row, "processed", "description", "modules", "resources"); err != nil {
			return fmt.Errorf("write the processed template: %w", err)
		}
	}
	if err := e.writeProblems(ctx, tx, s, c, result.problems); err != nil {
		return err
	}
	if err := e.writeChildren(ctx, tx, result.children); err != nil {
		return err
	}
	return store.Swap(ctx, tx, c, &c.RowVersion)
}

// settle is what became of the making of a change set.
func (c *changeSetRow) settle(result *setResult) {
	c.Plan, c.Reason = result.plan, result.reason
	c.Status = types.ChangeSetStatusCreateComplete
	if c.ExecutionStatus != types.ExecutionStatusObsolete {
		c.ExecutionStatus = types.ExecutionStatusAvailable
	}
	if result.failed != "" {
		c.Status, c.ExecutionStatus, c.Reason = types.ChangeSetStatusFailed, types.ExecutionStatusUnavailable, result.failed
	}
}

// writeProblems writes the events of DescribeEvents with what the validation of a change set
// found.
func (e *Engine) writeProblems(ctx context.Context, tx *store.Tx, s *stackRow, c *changeSetRow, problems []validationProblem) error {
	if len(problems) == 0 {
		return nil
	}
	status := opSucceeded
	if slices.ContainsFunc(problems, func(p validationProblem) bool { return !p.warns() }) {
		status = opFailed
	}
	op := &operationRow{
		ID: e.newID(), StackID: s.ID, Kind: types.OperationTypeCreateChangeset, Status: string(status), Phase: plan.PhaseEnd, ClientToken: c.ClientToken,
		DeploymentID: c.DeploymentID, ChangeSetID: c.ARN, StartedAt: c.CreatedAt, EndedAt: e.now(), RowVersion: 1,
	}
	if err := store.Insert(ctx, tx, op); err != nil {
		return fmt.Errorf("write the operation of a change set: %w", err)
	}
	var events []eventRow
	for _, p := range problems {
		events = append(events, e.validationEvent(op, op.EndedAt, p))
	}
	return e.insertEvents(ctx, tx, events...)
}
