package cloudcontrol

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// HooksOwner is the owner of the evaluations of requests; their key is the token of the request.
const HooksOwner = "cloudcontrol"

// hookPoints are the invocation points of requests.
var hookPoints = map[invoke.Action]invoke.Action{
	invoke.Create: invoke.CreatePreProvision, invoke.Update: invoke.UpdatePreProvision, invoke.Delete: invoke.DeletePreProvision,
}

// hooksFor are the hooks that a request has to pass.
func (e *Engine) hooksFor(ctx context.Context, caller awswire.Caller, typeName string, action invoke.Action) (hook.Target, []hook.Hook, error) {
	target := hook.Target{Kind: hook.CloudControl, Name: typeName, Action: hookPoints[action]}
	if e.config.Hooks == nil {
		return target, nil, nil
	}
	inUse, err := e.config.Hooks.InUse(ctx, caller)
	return target, inUse.For(target), err
}

// evaluation has hooks evaluate a request that begins; its operation begins when they let it pass.
func (row *requestRow) evaluation(caller awswire.Caller, target hook.Target, hooks []hook.Hook, spec operation.Spec, previous map[string]any) *hook.Evaluation {
	target.LogicalID = row.HooksToken
	desired := spec.Request.Desired
	if spec.Request.Action == invoke.Delete {
		desired = nil
	}
	id := row.Identifier
	if id == "" {
		id = row.HooksToken
	}
	return &hook.Evaluation{
		ID: row.HooksToken, Owner: HooksOwner, Key: row.Token, Caller: caller, Target: target, TargetID: id, Token: row.HooksToken,
		Desired: desired, Previous: previous, Hooks: hooks, Then: &spec,
	}
}

// previous are the properties of a resource that is about to be deleted, as far as they can be
// read.
func (e *Engine) previous(ctx context.Context, caller awswire.Caller, typ *operation.Type, request operation.Request) (map[string]any, error) {
	if request.Action != invoke.Delete {
		return request.Previous, nil
	}
	_, model, err := e.read(ctx, caller, typ, request.Identifier)
	var refused *awswire.Error
	if errors.As(err, &refused) {
		return request.Desired, nil // the deletion will find out what is wrong
	}
	return model, err
}

// Hooked implements hook.Owner: a request that hooks stop fails.
func (e *Engine) Hooked(ctx context.Context, tx *store.Tx, outcome hook.Outcome) (bool, error) {
	row := &requestRow{}
	err := store.Get(ctx, tx, row, "WHERE token = ?", outcome.Key)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil // forgotten
	case err != nil:
		return false, fmt.Errorf("read a request: %w", err)
	case !running[row.Status] || row.HooksToken != outcome.ID:
		return false, nil
	}
	row.EventAt = store.At(e.config.Now())
	if len(outcome.Failed) > 0 && outcome.Ended {
		row.Status, row.EndedAt, row.Model = types.OperationStatusFailed, row.EventAt, ""
		row.ErrorCode, row.Message = string(types.HandlerErrorCodeInvalidRequest), hook.FailedReason(outcome.Failed)
	}
	return outcome.Ended && len(outcome.Failed) == 0, store.Swap(ctx, tx, row, &row.RowVersion)
}

// hookEvents are the invocations of hooks for a request, in the order of their names.
func (e *Engine) hookEvents(ctx context.Context, row *requestRow) ([]types.HookProgressEvent, error) {
	if row.HooksToken == "" || e.config.Hooks == nil {
		return nil, nil
	}
	results, err := e.config.Hooks.Results(ctx, hook.Query{
		Place: awswire.Place{Account: row.Account, Region: row.Region}, Kind: hook.CloudControl, TargetID: row.HooksToken,
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(results, func(a, b hook.Result) int { return strings.Compare(a.TypeName, b.TypeName) })
	var out []types.HookProgressEvent
	for i := range results {
		r := &results[i]
		at := r.InvokedAt
		if r.Ended() {
			at = r.EndedAt
		}
		out = append(out, types.HookProgressEvent{
			FailureMode: aws.String(string(r.FailureMode)), HookEventTime: &at.Time, HookStatus: aws.String(string(r.Status)),
			HookStatusMessage: aws.String(r.Reason), HookTypeArn: &r.TypeARN, HookTypeName: &r.TypeName, HookTypeVersionId: &r.Version,
			InvocationPoint: aws.String(string(cfn.HookInvocationPointPreProvision)),
		})
	}
	return out, nil
}
