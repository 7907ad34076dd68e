package stack

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// A setPayload is the document that hooks on change sets fetch.
type setPayload struct {
	Template         string            `json:"template"`
	ChangedResources []changedResource `json:"changedResources"`
}

// A changedResource is a change as hooks see it.
type changedResource struct {
	Action            string  `json:"action"`
	BeforeContext     *string `json:"beforeContext"`
	AfterContext      *string `json:"afterContext"`
	LineNumber        *int    `json:"lineNumber"`
	LogicalResourceID string  `json:"logicalResourceId"`
	ResourceType      string  `json:"resourceType"`
}

// hookSet is the evaluation of a change set whose plan is made; nil if no hook sees it.
func (e *Engine) hookSet(ctx context.Context, s *stackRow, c *changeSetRow, result *setResult) (*hook.Evaluation, error) {
	if e.config.Hooks == nil || result == nil || result.failed != "" || result.plan.IsZero() {
		return nil, nil
	}
	inUse, err := e.config.Hooks.InUse(ctx, s.caller())
	if err != nil {
		return nil, err
	}
	target := hook.Target{
		Kind: hook.ChangeSet, Name: string(hook.ChangeSet), Action: invoke.CreatePreProvision, LogicalID: c.ARN, StackName: s.Name, RoleARN: s.RoleARN,
	}
	hooks := inUse.For(target)
	if len(hooks) == 0 {
		return nil, nil
	}
	return &hook.Evaluation{
		ID: c.ID + "-set", Owner: HooksOnChangeSet, Key: c.ID, Caller: s.caller(), Target: target, TargetID: c.ARN,
		StackID: s.ARN, ChangeSetID: c.ARN, Hooks: hooks, Payload: encode(payloadOfSet(result)),
	}, nil
}

func payloadOfSet(result *setResult) *setPayload {
	planned := result.plan.Get()
	payload := &setPayload{Template: result.row.Original, ChangedResources: []changedResource{}}
	written, err := template.Parse("", []byte(result.row.Original), template.ParseOptions{})
	if err != nil {
		written = nil // only its lines are missing
	}
	verbs := map[types.ChangeAction]string{types.ChangeActionAdd: "CREATE", types.ChangeActionModify: "UPDATE", types.ChangeActionRemove: "DELETE"}
	for i := range planned.Changes {
		change := &planned.Changes[i]
		if verbs[change.Action] == "" {
			continue
		}
		changed := changedResource{
			Action: verbs[change.Action], BeforeContext: optional(string(change.Before)), AfterContext: optional(string(change.After)),
			LogicalResourceID: change.LogicalID, ResourceType: change.Type,
		}
		if written != nil && change.Action != types.ChangeActionRemove {
			if res := written.Resource(change.LogicalID); res != nil && res.At.Start.Line > 0 {
				changed.LineNumber = aws.Int(res.At.Start.Line)
			}
		}
		payload.ChangedResources = append(payload.ChangedResources, changed)
	}
	return payload
}

// setHooked ends the creation of a change set when its hooks have ended.
func (e *Engine) setHooked(ctx context.Context, tx *store.Tx, outcome hook.Outcome) (bool, error) {
	c, err := store.Find[changeSetRow](ctx, tx, "id = ?", outcome.Key)
	if err != nil || c == nil || !c.creating() || !outcome.Ended {
		return false, err
	}
	c.Status = types.ChangeSetStatusCreateComplete
	if c.ExecutionStatus != types.ExecutionStatusObsolete {
		c.ExecutionStatus = types.ExecutionStatusAvailable
	}
	if len(outcome.Failed) > 0 {
		c.Status, c.ExecutionStatus, c.Reason = types.ChangeSetStatusFailed, types.ExecutionStatusUnavailable, hook.FailedReason(outcome.Failed)
		if err := e.writeHookFailures(ctx, tx, c, outcome.ID); err != nil {
			return false, err
		}
	}
	return false, store.Swap(ctx, tx, c, &c.RowVersion)
}

// writeHookFailures writes the events of DescribeEvents with the hooks that refused a change set.
func (e *Engine) writeHookFailures(ctx context.Context, tx *store.Tx, c *changeSetRow, evaluation string) error {
	s, err := store.Find[stackRow](ctx, tx, "id = ?", c.StackID)
	if err != nil || s == nil {
		return err
	}
	results, err := e.config.Hooks.ResultsOf(ctx, tx, evaluation)
	if err != nil {
		return err
	}
	op := &operationRow{
		ID: e.newID(), StackID: s.ID, Kind: types.OperationTypeCreateChangeset, Status: string(opFailed), Phase: plan.PhaseEnd, ClientToken: c.ClientToken,
		DeploymentID: c.DeploymentID, ChangeSetID: c.ARN, StartedAt: c.CreatedAt, EndedAt: e.now(), RowVersion: 1,
	}
	if err := store.Insert(ctx, tx, op); err != nil {
		return fmt.Errorf("write the operation of a change set: %w", err)
	}
	var events []eventRow
	for i := range results {
		if results[i].Blocks() {
			event := e.stackEvent(s, op, op.EndedAt)
			event.Kind, event.Status, event.Reason, event.Details = eventHook, "", "", hookDetails(&results[i])
			events = append(events, event)
		}
	}
	return e.insertEvents(ctx, tx, events...)
}
