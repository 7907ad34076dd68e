package stack

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// revertNested takes a nested stack that was updated back to what it had before the update of
// its parent.
func (e *Engine) revertNested(ctx context.Context, request operation.Request, s, parent *stackRow) error {
	settings, options, err := e.inherited(ctx, parent)
	if err != nil {
		return err
	}
	options.Backward, options.OnFailure = true, types.OnFailureRollback
	row, undoes, err := e.deploymentBefore(ctx, s, parent)
	if err != nil {
		return err
	}
	if row.ID == s.DeploymentID {
		return refuse("no-updates") // it was not updated, or has rolled itself back
	}
	options.Undoes = undoes
	return e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		current, err := store.Find[stackRow](ctx, tx, "id = ?", s.ID)
		if err != nil || current == nil {
			return err
		}
		if inProgress(current.Status) {
			return refuse("state", current.ARN, current.Status)
		}
		current.UpdatedAt, current.ChangeSetID = e.now(), ""
		_, err = e.begin(ctx, tx, current, beginInput{
			kind: types.OperationTypeRollback, status: types.StackStatusUpdateRollbackInProgress, deployment: row,
			options: options, settings: settings, token: request.Token, caller: request.Caller,
		})
		return err
	})
}

// deploymentBefore is the deployment that a nested stack had before the operation that its parent undoes, with the update
// that it had first since then: that of the parent or, if that has not updated it, one of those that the parent had later. It
// returns the current deployment if none has. Which came first is in the updates themselves: a clock may be set back.
func (e *Engine) deploymentBefore(ctx context.Context, s, parent *stackRow) (row *deploymentRow, undoes string, err error) {
	op, err := store.Find[operationRow](ctx, e.store.Read(), "id = ?", parent.OperationID)
	if err != nil {
		return nil, "", err
	}
	ofParent, err := e.updates(ctx, parent)
	if err != nil {
		return nil, "", err
	}
	updates, err := e.updates(ctx, s)
	if err != nil {
		return nil, "", err
	}
	first := ""
	if op != nil {
		first = op.Options.Get().Undoes
	}
	undone := func(id string) bool {
		i := slices.IndexFunc(ofParent, func(update operationRow) bool { return update.ID == id })
		for i >= 0 && ofParent[i].ID != first {
			i = madeBy(ofParent, ofParent[i].Options.Get().Before)
		}
		return i >= 0
	}
	id := s.DeploymentID
	for i := madeBy(updates, id); i >= 0; i = madeBy(updates, updates[i].Options.Get().Before) {
		if options := updates[i].Options.Get(); undone(options.Parent) {
			id, undoes = options.Before, updates[i].ID
		}
	}
	row, err = store.Find[deploymentRow](ctx, e.store.Read(), "id = ?", id)
	if err == nil && row == nil {
		err = fmt.Errorf("the deployment %s of %s does not exist", id, s.ARN)
	}
	return row, undoes, err
}

// updates are the updates and imports of a stack, also those that were rolled back, in any order.
func (e *Engine) updates(ctx context.Context, s *stackRow) ([]operationRow, error) {
	return store.FindAll[operationRow](ctx, e.store.Read(), "id", "stack_id = ? AND kind IN (?, ?)", s.ID, types.OperationTypeUpdateStack, plan.ImportOperation)
}

// madeBy is the index of the update that made a deployment, -1 for none. Each makes a new one.
func madeBy(updates []operationRow, deploymentID string) int {
	return slices.IndexFunc(updates, func(update operationRow) bool { return update.DeploymentID == deploymentID })
}

// rolledBack reports whether the nested stack was rolled back by this call, and that has
// succeeded: the stack is as its parent wants it.
func (e *Engine) rolledBack(ctx context.Context, request operation.Request, s *stackRow) (bool, error) {
	if !request.Rollback || s.Status != types.StackStatusUpdateRollbackComplete {
		return false, nil
	}
	op, err := store.Find[operationRow](ctx, e.store.Read(), "stack_id = ? AND client_token = ? AND kind IN (?, ?)", s.ID, request.Token,
		types.OperationTypeContinueRollback, types.OperationTypeRollback)
	return op != nil && op.Status == string(opSucceeded), err
}

// continueNested continues the rollback of a nested stack that has failed, when that of its
// parent is continued. What the parent is to skip of it is named by its name.
func (e *Engine) continueNested(ctx context.Context, request operation.Request, s *stackRow) (operation.Progress, error) {
	parent, err := store.Find[stackRow](ctx, e.store.Read(), "arn = ?", request.StackID)
	if err != nil || parent == nil {
		return operation.Progress{}, err
	}
	running, err := store.Find[operationRow](ctx, e.store.Read(), "id = ?", parent.OperationID)
	if err != nil || running == nil {
		return operation.Progress{}, err
	}
	if running.Kind != types.OperationTypeContinueRollback {
		return e.nestedProgress(ctx, request, s)
	}
	asked := running.Options.Get()
	options := operationOptions{ForceRollback: asked.ForceRollback, Mode: asked.Mode}
	for _, id := range asked.SkipResources {
		if below, own := strings.CutPrefix(id, s.Name+"."); own {
			options.SkipResources = append(options.SkipResources, below)
		} else if strings.Contains(id, ".") {
			options.SkipResources = append(options.SkipResources, id) // of a stack further down
		}
	}
	err = e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		current, err := store.Find[stackRow](ctx, tx, "id = ?", s.ID)
		if err != nil || current == nil || current.Status != types.StackStatusUpdateRollbackFailed {
			return err
		}
		_, err = e.begin(ctx, tx, current, beginInput{
			kind: types.OperationTypeContinueRollback, status: types.StackStatusUpdateRollbackInProgress, options: options,
			token: request.Token, caller: request.Caller,
		})
		return err
	})
	if err != nil {
		return operation.Progress{}, err
	}
	if s, err = store.Find[stackRow](ctx, e.store.Read(), "id = ?", s.ID); err != nil || s == nil {
		return operation.Progress{}, err
	}
	return e.nestedProgress(ctx, request, s)
}
