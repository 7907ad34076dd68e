package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// The bounds of change sets with nested stacks: a template may nest itself.
const (
	maxNestedDepth     = 10
	maxNestedResources = 2500
)

// A childSet is the change set of a nested stack, made with that of its parent.
type childSet struct {
	stack  *stackRow
	fresh  bool // the stack is not written yet
	set    *changeSetRow
	result *setResult
}

// A setPlanner makes the plan of a change set and those of the nested stacks.
type setPlanner struct {
	engine    *Engine
	stack     *stackRow
	set       *changeSetRow
	options   changeSetOptions
	depth     int
	resources *int             // of all stacks
	budget    *template.Budget // for the templates and plans of the nested stacks, which are kept until all are made
}

// plan plans a deployment. result.failed is why there is no plan, or why it cannot be
// executed.
func (p setPlanner) plan(ctx context.Context, next *plan.Deployment, result *setResult) error {
	input, err := p.engine.planInput(ctx, p.stack, next)
	if err != nil {
		return err
	}
	if *p.resources += len(next.Scope.ActiveResources()); *p.resources > maxNestedResources {
		return refuse("nested-resources", *p.resources, maxNestedResources)
	}
	var live map[string]*plan.LiveState
	if p.options.RevertDrift {
		if live, err = p.engine.readLive(ctx, p.stack, &input); err != nil {
			return err
		}
	}
	if !p.options.DisableValidation {
		if err := p.validate(ctx, input, result); err != nil || result.failed != "" {
			return err
		}
	}
	planned, err := p.engine.planOf(ctx, p.stack, p.set, &input, p.options, result)
	if err != nil || result.failed != "" {
		return err
	}
	if p.options.Nested && p.set.Kind != types.ChangeSetTypeImport {
		if planned, err = p.nested(ctx, input, planned, result); err != nil {
			return err
		}
	}
	if p.options.RevertDrift {
		planned.WithLive(live, input.Resources)
		planned.Drift = liveDrift(live)
	}
	if result.failed == "" && p.set.Kind == types.ChangeSetTypeUpdate && planned.Empty() && !resolvesAgain(next) {
		result.failed = reasonNoChanges
	}
	if !p.options.DisableValidation && result.failed == "" {
		warnings, err := p.engine.filledBuckets(ctx, p.stack, planned)
		if err != nil {
			return err
		}
		result.problems = append(result.problems, warnings...)
	}
	result.plan = store.JSONOf(*planned)
	result.reason = incomplete(input)
	return nil
}

// validate fails a change set whose properties break the schemas of their types, or whose
// names are taken. What it imports has its name already.
func (p setPlanner) validate(ctx context.Context, input planInput, result *setResult) error {
	result.problems = setProblems(input)
	if p.set.Kind != types.ChangeSetTypeImport && !p.options.ImportExisting {
		conflicts, err := p.engine.nameConflicts(ctx, p.stack, input)
		if err != nil {
			return err
		}
		result.problems = append(result.problems, conflicts...)
	}
	var failed []string
	for _, check := range []struct{ name, hook string }{{checkProperties, hookProperties}, {checkNames, hookNames}} {
		if slices.ContainsFunc(result.problems, func(p validationProblem) bool { return p.check == check.name }) {
			failed = append(failed, check.hook)
		}
	}
	if failed != nil {
		result.failed = fmt.Sprintf(reasonEarlyValidation, bracketed(failed))
	}
	return nil
}

// nested makes the change sets of the nested stacks and returns the plan that names them. A
// nested stack without changes is not visited.
func (p setPlanner) nested(ctx context.Context, input planInput, planned *plan.Plan, result *setResult) (*plan.Plan, error) {
	input.Unchanged = map[string]bool{}
	made := map[string]string{}
	for _, id := range plan.Topological(input.Next.Graph()) {
		change := planned.Change(id)
		if change == nil || !natureOf(change.Type).contains {
			continue
		}
		child, err := p.child(ctx, input, planned, change)
		if err != nil {
			return nil, err
		}
		switch {
		case child == nil:
			continue
		case child.result.failed == reasonNoChanges && change.Incidental():
			input.Unchanged[id] = true
			input.Next.Scope.Renew() // the plan before is dropped
			if planned, err = plan.New(input.Input); err != nil {
				return nil, RefusedTemplate(err)
			}
			continue
		case child.result.failed == reasonNoChanges:
			continue
		case child.result.failed != "" && result.failed == "":
			result.failed = fmt.Sprintf(reasonNestedSet, child.set.ARN)
		}
		made[id] = child.set.ARN
		result.children = append(result.children, child)
	}
	for i := range planned.Changes {
		planned.Changes[i].ChangeSet = made[planned.Changes[i].LogicalID]
	}
	return planned, nil
}

// child makes the change set of one nested stack, nil if its template is not known yet.
func (p setPlanner) child(ctx context.Context, input planInput, planned *plan.Plan, change *plan.Change) (*childSet, error) {
	properties, err := input.Next.Scope.Properties(input.Next.Resource(change.LogicalID), planned.References(input.Input))
	if err != nil {
		return nil, RefusedTemplate(err)
	}
	desired, _ := properties.(map[string]any)
	if template.HasUnknown(desired["TemplateURL"]) {
		return nil, nil
	}
	s, e := p.stack, p.engine
	request := operation.Request{
		Caller: s.caller(), Token: e.newID(), StackID: s.ARN, StackName: s.Name, LogicalID: change.LogicalID, Desired: desired, StackTags: input.Next.Tags,
	}
	child := &childSet{result: &setResult{}}
	kind := types.ChangeSetTypeUpdate
	if child.stack, err = store.Find[stackRow](ctx, e.store.Read(), "arn = ? AND live", change.PhysicalID); err != nil {
		return nil, err
	}
	if child.stack == nil {
		kind, child.fresh = types.ChangeSetTypeCreate, true
		child.stack = e.newStack(request.Caller, nestedName(request))
		child.stack.ParentID, child.stack.RootID, child.stack.RoleARN = s.ARN, cmp.Or(s.RootID, s.ARN), s.RoleARN
		child.stack.Protected, child.stack.Reason = s.Protected, reasonUserInitiated
	}
	child.set = p.childRow(child.stack, change.LogicalID, kind)
	child.result.row = &deploymentRow{
		ID: child.set.DeploymentID, StackID: child.stack.ID, CreatedAt: child.set.CreatedAt,
	}
	err = p.fill(ctx, child, request)
	if refused, ok := AsRefusal(err); ok {
		child.result.failed, err = refused, nil
	}
	return child, err
}

// childRow is the row of the change set of a nested stack.
func (p setPlanner) childRow(s *stackRow, logicalID string, kind types.ChangeSetType) *changeSetRow {
	e := p.engine
	row := &changeSetRow{
		ID: e.newID(), StackID: s.ID, Account: s.Account, Region: s.Region, Live: true, Kind: kind, Options: store.JSONOf(p.options),
		Status: types.ChangeSetStatusCreateInProgress, ExecutionStatus: types.ExecutionStatusUnavailable, ClientToken: p.set.ClientToken,
		DeploymentID: e.newID(), ParentID: p.set.ARN, RootID: cmp.Or(p.set.RootID, p.set.ARN), CreatedAt: e.now(), RowVersion: 1,
	}
	name := p.set.Name + "-" + logicalID
	row.Name = name[:min(len(name), 128-13)] + "-" + row.ID[:12]
	row.ARN = changeSetARN(s.caller(), row)
	return row
}

// fill plans the deployment of a nested stack.
func (p setPlanner) fill(ctx context.Context, child *childSet, request operation.Request) error {
	e := p.engine
	if p.depth == maxNestedDepth {
		return refuse("nested-depth", maxNestedDepth)
	}
	var previous *deploymentRow
	if !child.fresh {
		if !slices.Contains(updatable, child.stack.Status) && !slices.Contains(preservable, child.stack.Status) {
			return refuse("state", child.stack.ARN, child.stack.Status)
		}
		var err error
		if previous, err = store.Find[deploymentRow](ctx, e.store.Read(), "id = ?", child.stack.DeploymentID); err != nil {
			return err
		}
	}
	row, next, err := e.newDeployment(ctx, request.Caller, child.stack, nestedInput(request, previous))
	if row != nil {
		row.ID, child.result.row = child.set.DeploymentID, row
	}
	if err != nil {
		return err
	}
	if err := p.budget.Spend(len(row.Original)+len(row.Processed), next.Template.Root().At, nil); err != nil {
		return RefusedTemplate(err)
	}
	options := p.options
	options.Import = nil
	below := setPlanner{engine: e, stack: child.stack, set: child.set, options: options, depth: p.depth + 1, resources: p.resources, budget: p.budget}
	if err := below.plan(ctx, next, child.result); err != nil {
		return err
	}
	return RefusedTemplate(p.budget.Spend(len(child.result.plan.Text()), next.Template.Root().At, nil))
}

// writeChildren writes the change sets of nested stacks, with the stacks that are new.
func (e *Engine) writeChildren(ctx context.Context, tx *store.Tx, children []*childSet) error {
	for _, child := range children {
		s, c := *child.stack, *child.set
		c.settle(child.result)
		if child.fresh {
			if err := e.writeReview(ctx, tx, s.caller(), &s, &c); err != nil {
				return err
			}
		} else {
			current, err := store.Find[stackRow](ctx, tx, "id = ?", s.ID)
			if err != nil {
				return err
			}
			if current == nil || current.DeploymentID != s.DeploymentID || current.OperationID != s.OperationID {
				c.ExecutionStatus = types.ExecutionStatusObsolete
			}
		}
		row := *child.result.row
		if err := errors.Join(store.Insert(ctx, tx, &row), store.Insert(ctx, tx, &c)); err != nil {
			return fmt.Errorf("write the change set of a nested stack: %w", err)
		}
		if err := e.writeProblems(ctx, tx, &s, &c, child.result.problems); err != nil {
			return err
		}
		if err := e.writeChildren(ctx, tx, child.result.children); err != nil {
			return err
		}
	}
	return nil
}

// childrenReady refuses the execution of a change set if that of a nested stack cannot be
// executed any more.
func childrenReady(ctx context.Context, tx *store.Tx, c *changeSetRow) error {
	rows, err := store.FindAll[changeSetRow](ctx, tx, "id", "account = ? AND region = ? AND root_id = ? AND live", c.Account, c.Region, c.ARN)
	if err != nil {
		return err
	}
	for _, child := range rows {
		if child.ExecutionStatus != types.ExecutionStatusAvailable {
			return refuse("change-set-executed", child.ARN, child.ExecutionStatus)
		}
	}
	return nil
}

// forgetChildren deletes the change sets below one that were not executed, with the stacks
// that only they made.
func (e *Engine) forgetChildren(ctx context.Context, tx *store.Tx, rootARN string) error {
	if rootARN == "" {
		return nil
	}
	rows, err := store.FindAll[changeSetRow](ctx, tx, "id", "root_id = ? AND live", rootARN)
	if err != nil {
		return err
	}
	for _, c := range rows {
		if err := e.forgetSet(ctx, tx, &c); err != nil {
			return err
		}
		s, err := store.Find[stackRow](ctx, tx, "id = ? AND status = ?", c.StackID, types.StackStatusReviewInProgress)
		if err != nil {
			return err
		}
		if s == nil {
			continue
		}
		if _, err := store.Exec(ctx, tx, "DELETE FROM stack_events WHERE stack_id = ?", s.ID); err != nil {
			return fmt.Errorf("delete the events of a nested stack in review: %w", err)
		}
		if err := store.Delete(ctx, tx, s); err != nil {
			return fmt.Errorf("delete a nested stack in review: %w", err)
		}
	}
	return nil
}

// plannedChild is the change set of a nested stack, nil without one.
func (e *Engine) plannedChild(ctx context.Context, request operation.Request) (*changeSetRow, error) {
	parent, err := store.Find[stackRow](ctx, e.store.Read(), "arn = ?", request.StackID)
	if err != nil || parent == nil {
		return nil, err
	}
	op, err := store.Find[operationRow](ctx, e.store.Read(), "id = ?", parent.OperationID)
	if err != nil || op == nil {
		return nil, err
	}
	arn := op.Options.Get().Nested[request.LogicalID]
	if arn == "" {
		return nil, nil
	}
	return store.Find[changeSetRow](ctx, e.store.Read(), "arn = ?", arn)
}

// plannedInput is the deployment of a nested stack as its change set showed it, with the
// values that are known now.
func (e *Engine) plannedInput(ctx context.Context, in deploymentInput, c *changeSetRow) (deploymentInput, error) {
	if c == nil || !c.Live {
		return in, nil
	}
	row, err := store.Find[deploymentRow](ctx, e.store.Read(), "id = ?", c.DeploymentID)
	if err != nil || row == nil {
		return in, err
	}
	in.URL = nil
	if slices.ContainsFunc(row.Parameters.Get().Bound, func(b template.Bound) bool { return b.Unknown }) {
		in.Body = &row.Original // a transform may have seen the value
		return in, nil
	}
	in.UsePrevious, in.Previous = true, row
	return in, nil
}

// executeChild marks the change set of a nested stack as executed, and adds what it says to
// the operation.
func (e *Engine) executeChild(ctx context.Context, tx *store.Tx, s *stackRow, c *changeSetRow, begin *beginInput) error {
	if c == nil || !c.Live {
		return nil
	}
	current, err := store.Find[changeSetRow](ctx, tx, "id = ? AND live", c.ID)
	if err != nil || current == nil {
		return err
	}
	planned := current.Plan.Get()
	current.Live, current.ExecutionStatus = false, types.ExecutionStatusExecuteInProgress
	if err := store.Swap(ctx, tx, current, &current.RowVersion); err != nil {
		return err
	}
	begin.options.Import, begin.options.Nested, begin.options.NestedPlanned = planned.Imported(), planned.ChildSets(), true
	begin.changeSet, s.ChangeSetID = current.ARN, current.ARN
	return nil
}
