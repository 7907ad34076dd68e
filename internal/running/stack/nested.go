package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The reasons of nested stacks.
const (
	reasonNested       = "Embedded stack %s was not successfully %s: %s"
	reasonNestedUpdate = "Embedded stack %s was not successfully updated. Currently in %s with reason: %s"
)

// callStack provisions a nested stack: each call looks how far the stack is.
func (e *Engine) callStack(ctx context.Context, request operation.Request) (operation.Progress, error) {
	if request.Action == invoke.Read {
		return e.readNested(ctx, request)
	}
	if request.Callback == nil {
		return e.beginNested(ctx, request)
	}
	s, err := store.Find[stackRow](ctx, e.store.Read(), "arn = ?", request.Identifier)
	if err != nil {
		return operation.Progress{}, err
	}
	if s == nil {
		return operation.Progress{Status: types.OperationStatusFailed, ErrorCode: string(invoke.NotFound), Message: "Stack not found"}, nil
	}
	return e.nestedProgress(ctx, request, s)
}

// readNested reads the outputs of a nested stack.
func (e *Engine) readNested(ctx context.Context, request operation.Request) (operation.Progress, error) {
	s, err := store.Find[stackRow](ctx, e.store.Read(), "arn = ? AND live", request.Identifier)
	if err != nil {
		return operation.Progress{}, err
	}
	if s == nil {
		return operation.Progress{Status: types.OperationStatusFailed, ErrorCode: string(invoke.NotFound), Message: "Stack not found"}, nil
	}
	return finished(s.ARN, nestedModel(request.Desired, s))
}

// nestedModel is what Fn::GetAtt finds of a nested stack.
func nestedModel(desired map[string]any, s *stackRow) map[string]any {
	model := maps.Clone(desired)
	if model == nil {
		model = map[string]any{}
	}
	values := map[string]any{}
	for _, o := range s.Outputs.Get() {
		values[o.Key] = o.Value
	}
	model["Outputs"] = values
	return model
}

// nestedProgress is the progress of the operation on a nested stack.
func (e *Engine) nestedProgress(ctx context.Context, request operation.Request, s *stackRow) (operation.Progress, error) {
	back, err := e.rolledBack(ctx, request, s)
	if err != nil {
		return operation.Progress{}, err
	}
	good := map[invoke.Action][]types.StackStatus{
		invoke.Create: {types.StackStatusCreateComplete},
		invoke.Update: {types.StackStatusUpdateComplete, types.StackStatusCreateComplete},
		invoke.Delete: {types.StackStatusDeleteComplete},
	}[request.Action]
	verb := map[invoke.Action]string{invoke.Create: "created", invoke.Update: "updated", invoke.Delete: "deleted"}[request.Action]
	switch {
	case s.OperationID != "" && inProgress(s.Status):
		return operation.Progress{
			Status: types.OperationStatusInProgress, Identifier: s.ARN, Delay: waitInterval, Callback: []byte(encode(waiting{e.config.Now().UnixMilli()})),
		}, nil
	case slices.Contains(good, s.Status):
		return finished(s.ARN, nestedModel(request.Desired, s))
	case back:
		return finished(s.ARN, nestedModel(request.Desired, s))
	}
	reason, err := e.failureOf(ctx, s)
	switch {
	case err != nil:
		return operation.Progress{}, err
	case request.Action == invoke.Update:
		return refused(s.ARN, reasonNestedUpdate, s.ARN, s.Status, reason)
	}
	return refused(s.ARN, reasonNested, s.ARN, verb, cmp.Or(reason, "Currently in "+string(s.Status)+"."))
}

// failureOf is why a nested stack failed: the reason of the stack, or if it has been rolled back, of the rollback.
func (e *Engine) failureOf(ctx context.Context, s *stackRow) (string, error) {
	if s.Reason != "" {
		return s.Reason, nil
	}
	var rows []eventRow
	err := store.Query(ctx, e.store.Read(), &rows, "SELECT reason FROM stack_events WHERE stack_id = ? AND physical_id = ? AND status IN (?, ?) ORDER BY seq DESC LIMIT 1",
		s.ID, s.ARN, types.StackStatusRollbackInProgress, types.StackStatusUpdateRollbackInProgress)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return strings.TrimSpace(strings.TrimSuffix(rows[0].Reason, reasonRollbackRequested)), nil
}

// beginNested starts the operation on a nested stack. It is safe to repeat: an operation has
// the token of the call.
func (e *Engine) beginNested(ctx context.Context, request operation.Request) (operation.Progress, error) {
	name := nestedName(request)
	var s *stackRow
	var err error
	if request.Identifier != "" {
		s, err = store.Find[stackRow](ctx, e.store.Read(), "arn = ?", request.Identifier)
	} else {
		s, err = liveStack(ctx, e.store.Read(), request.Caller, name)
	}
	if err != nil {
		return operation.Progress{}, err
	}
	planned, err := e.plannedChild(ctx, request)
	if err != nil {
		return operation.Progress{}, err
	}
	if planned != nil && request.Identifier == "" {
		if s, err = store.Find[stackRow](ctx, e.store.Read(), "id = ?", planned.StackID); err != nil {
			return operation.Progress{}, err
		}
	}
	if s != nil {
		op, err := store.Find[operationRow](ctx, e.store.Read(), "stack_id = ? AND client_token = ?", s.ID, request.Token)
		if err != nil {
			return operation.Progress{}, err
		}
		if op != nil {
			return e.nestedProgress(ctx, request, s)
		}
		if e.awaitsNested(request, s) {
			return e.stopNested(ctx, s)
		}
	}
	var problem *awswire.Error
	switch request.Action {
	case invoke.Create:
		s, err = e.createNested(ctx, request, name, planned)
	case invoke.Update:
		if s != nil && request.Rollback && s.Status == types.StackStatusUpdateRollbackFailed {
			return e.continueNested(ctx, request, s)
		}
		err = e.updateNested(ctx, request, s, planned)
	case invoke.Delete:
		err = e.deleteNested(ctx, request, s)
	}
	switch {
	case errors.As(err, &problem) && request.Action == invoke.Update && problem.Message == refusals["no-updates"].text:
		return finished(request.Identifier, nestedModel(request.Desired, s))
	case errors.As(err, &problem):
		return refused(request.Identifier, "%s", problem.Message)
	case err != nil:
		return operation.Progress{}, err
	case s == nil:
		return operation.Progress{Status: types.OperationStatusFailed, ErrorCode: string(invoke.NotFound), Message: "Stack not found"}, nil
	}
	if s, err = store.Find[stackRow](ctx, e.store.Read(), "arn = ?", s.ARN); err != nil || s == nil {
		return operation.Progress{}, err
	}
	return e.nestedProgress(ctx, request, s)
}

// awaitsNested reports whether the running operation on a nested stack has to end first. The
// parent started it and has canceled it since: a rollback or a deletion must wait for it.
func (e *Engine) awaitsNested(request operation.Request, s *stackRow) bool {
	if s.OperationID == "" || !inProgress(s.Status) {
		return false
	}
	return request.Action == invoke.Update && request.Rollback ||
		request.Action == invoke.Delete && s.Status != types.StackStatusCreateInProgress && s.Status != types.StackStatusDeleteInProgress
}

// stopNested stops the update that runs on a nested stack. It is safe to be repeated: without
// a callback context, the next call looks again whether the stack is ready.
func (e *Engine) stopNested(ctx context.Context, s *stackRow) (operation.Progress, error) {
	waits := operation.Progress{Status: types.OperationStatusInProgress, Identifier: s.ARN, Delay: waitInterval}
	if s.Status != types.StackStatusUpdateInProgress {
		return waits, nil
	}
	return waits, e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		current, err := store.Find[stackRow](ctx, tx, "id = ?", s.ID)
		if err != nil || current == nil || current.Status != types.StackStatusUpdateInProgress {
			return err
		}
		return e.cancelUpdate(ctx, tx, current, "")
	})
}

// nestedInput is the deployment from the properties of a nested stack.
func nestedInput(request operation.Request, previous *deploymentRow) deploymentInput {
	in := deploymentInput{URL: aws.String(fmt.Sprint(request.Desired["TemplateURL"])), Previous: previous, Expanded: true, Tags: []types.Tag{},
		Capabilities: []types.Capability{types.CapabilityCapabilityIam, types.CapabilityCapabilityNamedIam, types.CapabilityCapabilityAutoExpand}}
	parameters, _ := request.Desired["Parameters"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(parameters)) {
		value := parameterText(parameters[key])
		if template.HasUnknown(parameters[key]) {
			value = plan.Pending
			if in.Unknown == nil {
				in.Unknown = map[string]bool{}
			}
			in.Unknown[key] = true
		}
		in.Parameters = append(in.Parameters, types.Parameter{ParameterKey: aws.String(key), ParameterValue: aws.String(value)})
	}
	tags := maps.Clone(request.StackTags)
	if tags == nil {
		tags = map[string]string{}
	}
	list, _ := request.Desired["Tags"].([]any)
	for _, item := range list {
		if t, ok := item.(map[string]any); ok {
			key, _ := plan.Scalar(t["Key"])
			value, _ := plan.Scalar(t["Value"])
			tags[key] = value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		in.Tags = append(in.Tags, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	in.NotificationARNs = []string{} // without the property there are none: a nested stack does not inherit those of its parent
	arns, _ := request.Desired["NotificationARNs"].([]any)
	for _, arn := range arns {
		text, _ := plan.Scalar(arn)
		in.NotificationARNs = append(in.NotificationARNs, text)
	}
	return in
}

// parameterText is the value of a parameter of a nested stack: lists are joined with commas.
func parameterText(value any) string {
	list, ok := value.([]any)
	if !ok {
		text, _ := plan.Scalar(value)
		return text
	}
	parts := make([]string, len(list))
	for i, item := range list {
		parts[i], _ = plan.Scalar(item)
	}
	return strings.Join(parts, ",")
}

func (e *Engine) createNested(ctx context.Context, request operation.Request, name string, planned *changeSetRow) (*stackRow, error) {
	parent, err := store.Find[stackRow](ctx, e.store.Read(), "arn = ?", request.StackID)
	if err != nil || parent == nil {
		return nil, err
	}
	s := e.newStack(request.Caller, name)
	if planned != nil && planned.Live {
		if s, err = store.Find[stackRow](ctx, e.store.Read(), "id = ?", planned.StackID); err != nil || s == nil {
			return nil, err
		}
	}
	s.ParentID, s.RootID, s.RoleARN, s.Protected = parent.ARN, cmp.Or(parent.RootID, parent.ARN), parent.RoleARN, parent.Protected
	in, err := e.plannedInput(ctx, nestedInput(request, nil), planned)
	if err != nil {
		return nil, err
	}
	row, next, err := e.newDeployment(ctx, request.Caller, s, in)
	if err != nil {
		return nil, err
	}
	settings, options, err := e.inherited(ctx, parent)
	if err != nil {
		return nil, err
	}
	settings.Resources = len(next.Scope.ActiveResources())
	if err := e.checkNesting(ctx, parent, s, settings.Resources); err != nil {
		return nil, err
	}
	if text, ok := plan.Scalar(request.Desired["TimeoutInMinutes"]); ok {
		if n, err := strconv.ParseInt(text, 10, 32); err == nil {
			settings.TimeoutInMinutes = int32(n)
		}
	}
	err = e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		fresh := *s
		taken, err := liveStack(ctx, tx, request.Caller, s.Name)
		switch {
		case err != nil:
			return err
		case taken == nil:
			if err := store.Insert(ctx, tx, &fresh); err != nil {
				return fmt.Errorf("write the nested stack: %w", err)
			}
		case taken.ID != s.ID || taken.Status != types.StackStatusReviewInProgress:
			return nil
		}
		begin := beginInput{
			kind: types.OperationTypeCreateStack, status: types.StackStatusCreateInProgress, deployment: row,
			options: options, settings: settings, token: request.Token, caller: request.Caller,
		}
		if err := e.executeChild(ctx, tx, &fresh, planned, &begin); err != nil {
			return err
		}
		_, err = e.begin(ctx, tx, &fresh, begin)
		return err
	})
	return s, err
}

// checkNesting refuses a nested stack that is too deep, or with which the stacks of its root have
// too many resources: a template may nest itself. Nested stacks that begin at the same moment may
// exceed the limit of resources together; those below them do not.
func (e *Engine) checkNesting(ctx context.Context, parent, s *stackRow, resources int) error {
	depth := 1
	for up := parent; up != nil && up.ParentID != ""; depth++ {
		if depth == maxNestedDepth {
			return refuse("nested-depth", maxNestedDepth)
		}
		var err error
		if up, err = store.Find[stackRow](ctx, e.store.Read(), "arn = ?", up.ParentID); err != nil {
			return err
		}
	}
	stacks, err := store.FindAll[stackRow](ctx, e.store.Read(), "id", "account = ? AND region = ? AND root_id = ? AND live", s.Account, s.Region, s.RootID)
	if err != nil {
		return err
	}
	for i := range stacks {
		if stacks[i].ID != s.ID {
			resources += stacks[i].Settings.Get().Resources
		}
	}
	if resources > maxNestedResources {
		return refuse("nested-resources", resources, maxNestedResources)
	}
	return nil
}

// inherited are the options that a nested stack has from its parent. A nested stack that
// fails is left to the rollback of the parent.
func (e *Engine) inherited(ctx context.Context, parent *stackRow) (*stackSettings, operationOptions, error) {
	options := operationOptions{OnFailure: types.OnFailureRollback}
	settings := &stackSettings{}
	op, err := store.Find[operationRow](ctx, e.store.Read(), "id = ?", parent.OperationID)
	if err != nil || op == nil {
		return settings, options, err
	}
	running := op.Options.Get()
	options.Mode, options.DisableValidation, options.RetainExceptOnCreate = running.Mode, true, running.RetainExceptOnCreate
	if running.OnFailure == types.OnFailureDoNothing {
		options.OnFailure = running.OnFailure
	}
	settings.DisableRollback, settings.Mode = options.OnFailure == types.OnFailureDoNothing, running.Mode
	return settings, options, nil
}

func (e *Engine) updateNested(ctx context.Context, request operation.Request, s *stackRow, planned *changeSetRow) error {
	if s == nil {
		return awswire.ValidationErrorf("Stack with id %s does not exist", request.Identifier)
	}
	parent, err := store.Find[stackRow](ctx, e.store.Read(), "arn = ?", request.StackID)
	if err != nil || parent == nil {
		return err
	}
	if request.Rollback {
		return e.revertNested(ctx, request, s, parent)
	}
	previous, err := store.Find[deploymentRow](ctx, e.store.Read(), "id = ?", s.DeploymentID)
	if err != nil || previous == nil {
		return err
	}
	in, err := e.plannedInput(ctx, nestedInput(request, previous), planned)
	if err != nil {
		return err
	}
	row, next, err := e.newDeployment(ctx, request.Caller, s, in)
	if err != nil {
		return err
	}
	changed, err := e.changes(ctx, s, previous, row, next)
	if err != nil {
		return err
	}
	if !changed {
		return refuse("no-updates")
	}
	settings, options, err := e.inherited(ctx, parent)
	if err != nil {
		return err
	}
	settings.Resources = len(next.Scope.ActiveResources())
	if err := e.checkNesting(ctx, parent, s, settings.Resources); err != nil {
		return err
	}
	options.Parent = parent.OperationID
	return e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		current, err := store.Find[stackRow](ctx, tx, "id = ?", s.ID)
		if err != nil || current == nil {
			return err
		}
		if inProgress(current.Status) {
			return refuse("state", current.ARN, current.Status)
		}
		current.UpdatedAt = e.now()
		begin := beginInput{
			kind: types.OperationTypeUpdateStack, status: types.StackStatusUpdateInProgress, deployment: row,
			options: options, settings: settings, token: request.Token, caller: request.Caller,
		}
		current.ChangeSetID = ""
		if err := e.executeChild(ctx, tx, current, planned, &begin); err != nil {
			return err
		}
		_, err = e.begin(ctx, tx, current, begin)
		return err
	})
}

func (e *Engine) deleteNested(ctx context.Context, request operation.Request, s *stackRow) error {
	if s == nil || !s.Live {
		return nil
	}
	return e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		current, err := store.Find[stackRow](ctx, tx, "id = ?", s.ID)
		if err != nil || current == nil {
			return err
		}
		if inProgress(current.Status) {
			if current.Status == types.StackStatusCreateInProgress {
				return e.stopCreate(ctx, tx, current)
			}
			return nil // it is looked at again
		}
		_, err = e.begin(ctx, tx, current, beginInput{
			kind: types.OperationTypeDeleteStack, status: types.StackStatusDeleteInProgress, token: request.Token, caller: request.Caller,
		})
		return err
	})
}
